// Row: threads share the inner points of a parallel point, accumulate alone, then across lanes by
// shuffles, then across warps through one shared slot per warp and one barrier; every thread ends
// with the results.
#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "codegen/cuda/emit_context.h"
#include "ir/support/status.h"

namespace jitfuse::internal {
namespace {

// Iterations of a loop before its sum goes to a second accumulator, so that rounding errors grow
// slowly.
constexpr int kFlush = 64;
// Up to so many warps a row, every thread combines their partial results one by one; beyond, by
// shuffles.
constexpr int kSequentialWarps = 8;

bool Divides(int64_t divisor, const SizeExpr& size) { return size.KnownDivisor() % divisor == 0; }

}  // namespace

void Emitter::Row() {
  if (plan_.HasColumnSums()) return RowBlocks();
  const int vectors = IsColumn() ? schedule_.vec : 1;
  grid_ = CeilDiv(parallel_points_, SizeExpr(int64_t{schedule_.rows_per_block} * vectors));
  if (IsColumn()) {
    ColumnPrologue();
  } else {
    RowPrologue();
  }
  RowLoopValues();
  for (size_t k = 0; k < plan_.stages.size(); ++k) RowStage(plan_.stages[k], static_cast<int>(k));
}

// Which thread of a row it is, and which row of the block.
void Emitter::RowThreads() {
  const CudaSchedule& s = schedule_;
  if (s.rows_per_block == 1) {
    out_.Line("const unsigned lane = threadIdx.x;");
    return;
  }
  out_.Line("const unsigned lane = threadIdx.x % ", s.threads_per_row, "u;");
  out_.Line("const unsigned slot = threadIdx.x / ", s.threads_per_row, "u;");
}

void Emitter::RowPrologue() {
  const CudaSchedule& s = schedule_;
  const std::string block =
      plan_.offset_bits == 32 ? "blockIdx.x" : "(unsigned long long)blockIdx.x";
  RowThreads();
  if (s.rows_per_block == 1) {
    out_.Line("const ", index_type_, " row = blockIdx.x;");
  } else {
    LiveRow(absl::StrCat(block, " * ", Unsigned(s.rows_per_block), " + slot"), s.rows_per_block);
  }
}

// `row`: the thread's first row; `rows`: those of a block.
void Emitter::LiveRow(const std::string& row, int rows) {
  live_guard_ = !Divides(rows, parallel_points_);
  if (!live_guard_) {
    out_.Line("const ", index_type_, " row = ", row, ";");
    return;
  }
  store_guard_ = "live";
  // Threads beyond the last row compute it once more and store nothing, so that barriers and
  // shuffles stay whole.
  const std::string points = SizeText(parallel_points_, false);
  out_.Line("const ", index_type_, " wanted_row = ", row, ";");
  out_.Line("const bool live = wanted_row < ", points, ";");
  out_.Line("const ", index_type_, " row = live ? wanted_row : ", points, " - ",
            Unsigned(IsColumn() ? schedule_.vec : 1), ";");
}

// Row bases and kept values.
void Emitter::RowLoopValues() {
  for (const Stage& stage : plan_.stages) {
    for (int id : stage.elem_insts) {
      if (inst(id).kind == Inst::Kind::kLoad) DeclareRowBase(LoadAccess(inst(id)));
    }
    for (const Store& store : stage.stores) {
      if (store.elem) DeclareRowBase(store.access);
    }
  }
  if (schedule_.window) DeclareWindow();
  for (int id : plan_.keep) {
    out_.Line(ToAbsl(CudaType(inst(id).dtype)), " v", id, "[",
              std::max(1, schedule_.items * schedule_.vec) + EdgeItems(), "];");
  }
}

void Emitter::RowStage(const Stage& stage, int number) {
  RowInsts(stage.row_insts_before);
  const bool has_loop =
      !stage.elem_insts.empty() || !stage.reduces.empty() || !stage.column_sums.empty() ||
      std::any_of(stage.stores.begin(), stage.stores.end(), [](const Store& s) { return s.elem; });
  DeclareAccumulators(stage, number, "a");
  DeclareScans(stage);
  if (has_loop && !inner_points_.Is(0)) {
    if (ScansChunks()) {
      ScanLoop(stage, number);
    } else if (InRegisters()) {
      RegisterLoop(stage, number);
    } else {
      StreamLoop(stage, number);
    }
  }
  if (!stage.reduces.empty()) AcrossThreads(stage, number);
  RowInsts(stage.row_insts_after);
  RowStores(stage);
}

void Emitter::RowInsts(const std::vector<int>& insts) {
  std::vector<int> columns;
  for (int id : insts) {
    if (!HasColumns(id)) {
      Statement(id, {"row", ""});
      continue;
    }
    if (inst(id).kind == Inst::Kind::kResult) continue;  // is in its accumulator
    columns.push_back(id);
    out_.Line(ToAbsl(CudaType(inst(id).dtype)), " v", id, "[", schedule_.vec, "];");
  }
  if (columns.empty()) return;
  EachColumn([&](const Point& point) {
    for (int id : columns) Statement(id, point);
  });
}

// The row is read once: `items` vectors a thread, all loads first.
void Emitter::RegisterLoop(const Stage& stage, int number) {
  const CudaSchedule& s = schedule_;
  const int64_t per_item = InnerPerItem();
  const int step = IsRow() ? s.vec : 1;
  const std::string points = SizeText(inner_points_, false);
  Loop loop;
  loop.vec = s.vec;
  loop.items = loop.kept_items = s.items;
  loop.index = "c";
  const std::string thread =
      s.items == 1 ? "lane" : absl::StrCat("(i * ", s.threads_per_row, "u + lane)");
  loop.window = s.window;
  loop.index_at = absl::StrCat(s.window ? "head + " : "", thread,
                               step == 1 ? "" : absl::StrCat(" * ", step, "u"));
  const std::string inside = absl::StrCat("c < ", s.window ? "tail" : points);
  const int64_t least = inner_points_.IsConstant() ? inner_points_.constant() - MostEdges() : 0;
  const int64_t full = std::max<int64_t>(0, least) / per_item;  // items that need no guard
  if (full < s.items) loop.guard = full == 0 ? inside : absl::StrCat("i < ", full, " || ", inside);
  if (!s.window && !Divides(step, inner_points_))
    loop.elem_guard = absl::StrCat("c + j < ", points);
  // Braces: the names of one stage's loop must not meet those of the next.
  out_.Line("{").Indent();
  if (s.window) ItemLoads(stage, EdgeLoop());
  Items(stage, number, loop);
  if (s.window) ItemValues(stage, number, EdgeLoop());
  out_.End();
}

// Iterations of a stream loop that are in flight together: enough loads, but neither more code nor
// more registers than they are worth.
int Emitter::StreamUnroll(const Stage& stage) const {
  const auto work = static_cast<int>(stage.elem_insts.size() + 1) * schedule_.vec;
  const auto loads =
      static_cast<int>(std::count_if(stage.elem_insts.begin(), stage.elem_insts.end(),
                                     [&](int id) { return inst(id).kind == Inst::Kind::kLoad; }));
  // ptxas (13) spills the conditions of masked loads of columns in flight together.
  const bool masked =
      IsColumn() && std::any_of(stage.elem_insts.begin(), stage.elem_insts.end(), [&](int id) {
        return inst(id).kind == Inst::Kind::kLoad && !LoadAccess(inst(id)).masks.empty();
      });
  if (work > 512 || loads > 3 || (masked && loads > 1)) return 1;
  return work > 256 || loads > 1 ? 2 : 4;
}

// The row is read in a loop, once a stage.
void Emitter::StreamLoop(const Stage& stage, int number) {
  const CudaSchedule& s = schedule_;
  const int64_t stride = InnerPerItem();
  const int step = IsRow() ? s.vec : 1;
  const std::string first = absl::StrCat(s.window ? "head + " : "", "lane",
                                         step == 1 ? "" : absl::StrCat(" * ", step, "u"));
  const std::string points = s.window ? "tail" : SizeText(inner_points_, false);
  const bool two_levels = !stage.reduces.empty() && !(inner_points_.IsConstant() &&
                                                      inner_points_.constant() <= kFlush * stride);
  Loop loop;
  loop.vec = s.vec;
  loop.index = "c";
  loop.window = s.window;
  if (!s.window && !Divides(step, inner_points_))
    loop.elem_guard = absl::StrCat("c + j < ", points);
  std::string begin = first, end = points;
  if (s.window) {
    out_.Line("{").Indent();
    ItemLoads(stage, EdgeLoop());
  }
  if (two_levels) {
    out_.Block("for (", index_type_, " c0 = ", first, "; c0 < ", points,
               "; c0 += ", Unsigned(kFlush * stride), ")");
    DeclareAccumulators(stage, number, "s");
    loop.accumulators = "s";
    out_.Line("const ", index_type_, " stop = c0 + ", Unsigned(kFlush * stride), ";");
    out_.Line("const ", index_type_, " end = stop < ", points, " ? stop : ", points, ";");
    begin = "c0";
    end = "end";
  }
  out_.Line("#pragma unroll ", StreamUnroll(stage));
  out_.Block("for (", index_type_, " c = ", begin, "; c < ", end, "; c += ", Unsigned(stride), ")");
  Items(stage, number, loop);
  out_.End();
  if (two_levels) {
    AddSecondLevel(stage, number);
    out_.End();
  }
  if (!s.window) return;
  ItemValues(stage, number, EdgeLoop());
  out_.End();
}

// What a run of iterations has summed, to the accumulators.
void Emitter::AddSecondLevel(const Stage& stage, int number) {
  EachColumn([&](const Point&) {
    for (size_t r = 0; r < stage.reduces.size(); ++r) {
      const PlanReduce& reduce = stage.reduces[r];
      const int n = static_cast<int>(r);
      out_.Line(CombineCall(reduce, Accumulators(reduce, number, n, "a"),
                            Accumulators(reduce, number, n, "s")),
                ";");
    }
  });
}

void Emitter::RowStores(const Stage& stage) {
  std::string guard = schedule_.threads_per_row > 1 ? "lane == 0" : "";
  if (live_guard_) guard = guard.empty() ? "live" : "live && lane == 0";
  const bool any = std::any_of(stage.stores.begin(), stage.stores.end(),
                               [](const Store& store) { return !store.elem; });
  if (!any) return;
  if (!guard.empty()) out_.Block("if (", guard, ")");
  EachColumn([&](const Point& point) {
    for (const Store& store : stage.stores) {
      if (store.elem) continue;
      out_.Line(Indexed(store.access, point), " = ",
                CudaStoredValue(ParamType(store.access), StoreOperand(stage, store)), ";");
    }
  });
  if (!guard.empty()) out_.End();
}

// ---- Accumulators.

std::vector<std::string> Emitter::Accumulators(const PlanReduce& reduce, int stage, int number,
                                               std::string_view prefix) const {
  std::vector<std::string> names;
  for (size_t k = 0; k < reduce.in.size(); ++k)
    names.push_back(absl::StrCat(ToAbsl(prefix), stage, "_", number, "_", k, column_));
  return names;
}

void Emitter::DeclareAccumulators(const Stage& stage, int number, std::string_view prefix) {
  if (IsColumn() && schedule_.vec > 1) {
    DeclareColumnAccumulators(stage, number, prefix);
    return;
  }
  for (size_t r = 0; r < stage.reduces.size(); ++r) {
    const PlanReduce& reduce = stage.reduces[r];
    const std::vector<std::string> names =
        Accumulators(reduce, number, static_cast<int>(r), prefix);
    for (size_t k = 0; k < names.size(); ++k) {
      out_.Line(ToAbsl(CudaType(reduce.dtypes[k])), " ", names[k], " = ",
                CudaLiteral(reduce.dtypes[k], reduce.init[k]), ";");
    }
  }
}

// a = combine(a, b), as a function of its own; equal programs share one.
std::string Emitter::CombineName(const PlanReduce& reduce) {
  for (const auto& [known, name] : combines_) {
    if (known.dtypes == reduce.dtypes && known.insts == reduce.combine.insts &&
        known.results == reduce.combine.results)
      return name;
  }
  const std::string name = absl::StrCat(entry_, "_combine", combines_.size());
  combines_.push_back({{reduce.dtypes, reduce.combine.insts, reduce.combine.results}, name});
  std::vector<std::string> a, b, params;
  std::vector<DType> types = reduce.dtypes;
  types.insert(types.end(), reduce.dtypes.begin(), reduce.dtypes.end());
  for (size_t k = 0; k < reduce.dtypes.size(); ++k) {
    a.push_back(absl::StrCat("a", k));
    b.push_back(absl::StrCat("b", k));
    params.push_back(absl::StrCat(ToAbsl(CudaType(reduce.dtypes[k])), "& a", k));
  }
  for (size_t k = 0; k < b.size(); ++k)
    params.push_back(absl::StrCat(ToAbsl(CudaType(reduce.dtypes[k])), " b", k));
  std::vector<std::string> args = a;
  args.insert(args.end(), b.begin(), b.end());
  functions_.Block("JF_FN void ", name, "(", absl::StrJoin(params, ", "), ")");
  Program(reduce.combine, args, types, a, &functions_);
  functions_.End().Blank();
  return name;
}

std::string Emitter::CombineCall(const PlanReduce& reduce, const std::vector<std::string>& a,
                                 const std::vector<std::string>& b) {
  return absl::StrCat(CombineName(reduce), "(", absl::StrJoin(a, ", "), ", ",
                      absl::StrJoin(b, ", "), ")");
}

// ---- Across the threads of a row.

void Emitter::AcrossThreads(const Stage& stage, int number) {
  const int threads = schedule_.threads_per_row;
  if (threads == 1) return;
  if (IsColumn()) {
    AcrossColumnThreads(stage, number);
    return;
  }
  AcrossLanes(stage, number, std::min(threads, 32));
  if (threads > 32) {
    ThroughShared(stage, number);
  } else {
    Broadcast(stage, number, threads);
  }
}

namespace {
// Template arguments of the shuffles: the width of a segment, and the lanes that exist.
std::string Lanes(int width, int threads) {
  return absl::StrCat(
      "<", width, ", ",
      threads >= 32 ? "0xffffffffu" : absl::StrCat("0x", absl::Hex((1u << threads) - 1), "u"), ">");
}
}  // namespace

// The segment's first lane gets the result, operands in the order of lanes.
void Emitter::AcrossLanes(const Stage& stage, int number, int width) {
  out_.Line("#pragma unroll");
  out_.Block("for (int m = 1; m < ", width, "; m *= 2)");
  for (size_t r = 0; r < stage.reduces.size(); ++r) {
    const PlanReduce& reduce = stage.reduces[r];
    const std::vector<std::string> a = Accumulators(reduce, number, static_cast<int>(r), "a");
    std::vector<std::string> b;
    for (const std::string& name : a)
      b.push_back(absl::StrCat("jf_down", Lanes(width, schedule_.threads), "(", name, ", m)"));
    out_.Line(CombineCall(reduce, a, b), ";");
  }
  out_.End();
}

// All lanes take the first one's bits: a combine need not be commutative to the last bit.
void Emitter::Broadcast(const Stage& stage, int number, int width) {
  for (size_t r = 0; r < stage.reduces.size(); ++r) {
    for (const std::string& name :
         Accumulators(stage.reduces[r], number, static_cast<int>(r), "a")) {
      out_.Line(name, " = jf_first", Lanes(width, schedule_.threads), "(", name, ");");
    }
  }
}

void Emitter::ThroughShared(const Stage& stage, int number) {
  const int warps = schedule_.threads_per_row / 32;
  const bool one_row = schedule_.rows_per_block == 1;
  const std::string base = one_row ? "" : absl::StrCat("slot * ", warps, "u + ");
  auto each = [&](auto fn) {
    for (size_t r = 0; r < stage.reduces.size(); ++r) {
      const PlanReduce& reduce = stage.reduces[r];
      const std::vector<std::string> names = Accumulators(reduce, number, static_cast<int>(r), "a");
      for (size_t k = 0; k < names.size(); ++k)
        fn(reduce, k, names[k], absl::StrCat("m", names[k].substr(1)));
    }
  };
  each([&](const PlanReduce& reduce, size_t k, const std::string&, const std::string& shared) {
    out_.Line("__shared__ ", ToAbsl(CudaType(reduce.dtypes[k])), " ", shared, "[",
              warps * schedule_.rows_per_block, "];");
  });
  out_.Block("if (lane % 32u == 0u)");
  each([&](const PlanReduce&, size_t, const std::string& name, const std::string& shared) {
    out_.Line(shared, "[", base, "lane / 32u] = ", name, ";");
  });
  out_.End();
  out_.Line("__syncthreads();");
  if (warps > kSequentialWarps) {
    each([&](const PlanReduce& reduce, size_t k, const std::string& name,
             const std::string& shared) {
      const std::string load = absl::StrCat(shared, "[", base, "lane % 32u]");
      if (warps == 32) {
        out_.Line(name, " = ", load, ";");
      } else {
        out_.Line(name, " = lane % 32u < ", warps, "u ? ", load, " : ",
                  CudaLiteral(reduce.dtypes[k], reduce.init[k]), ";");
      }
    });
    AcrossLanes(stage, number, warps);
    Broadcast(stage, number, 32);
    return;
  }
  each([&](const PlanReduce&, size_t, const std::string& name, const std::string& shared) {
    out_.Line(name, " = ", shared, "[", one_row ? "0" : absl::StrCat("slot * ", warps, "u"), "];");
  });
  out_.Line("#pragma unroll");
  out_.Block("for (unsigned k = 1; k < ", warps, "u; ++k)");
  for (size_t r = 0; r < stage.reduces.size(); ++r) {
    const PlanReduce& reduce = stage.reduces[r];
    const std::vector<std::string> a = Accumulators(reduce, number, static_cast<int>(r), "a");
    std::vector<std::string> b;
    for (const std::string& name : a)
      b.push_back(absl::StrCat("m", name.substr(1), "[", base, "k]"));
    out_.Line(CombineCall(reduce, a, b), ";");
  }
  out_.End();
}

}  // namespace jitfuse::internal
