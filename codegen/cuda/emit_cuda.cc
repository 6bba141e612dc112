// The skeleton of a kernel, the Flat idiom, and the loop over vectors that both idioms share.
#include "codegen/cuda/emit_cuda.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "codegen/cuda/emit_context.h"
#include "codegen/cuda/prelude.h"
#include "codegen/plan/window.h"
#include "ir/support/status.h"

namespace jitfuse::internal {
namespace {

bool IsPowerOfTwo(int v) { return v > 0 && std::has_single_bit(static_cast<unsigned>(v)); }

bool Divides(int64_t divisor, const SizeExpr& size) { return size.KnownDivisor() % divisor == 0; }

// A line of a comment: no control characters, and no backslash that would join it with the next
// line.
std::string CommentLine(absl::string_view text) {
  std::string out = "//";
  if (!text.empty()) out += " ";
  for (char c : text) out.push_back(static_cast<unsigned char>(c) < 32 || c == '\\' ? ' ' : c);
  return out;
}

std::string_view RoleName(ParamRole role) {
  return role == ParamRole::kInput ? "input" : role == ParamRole::kOutput ? "output" : "scratch";
}

std::string ScheduleComment(const CudaSchedule& s) {
  const std::string held = s.items == 0 ? "loops" : absl::StrCat(s.items);
  switch (s.emitter) {
    case CudaEmitter::kFlat:
      return absl::StrCat("flat, ", s.items, " x ", s.vec, " elements a thread");
    case CudaEmitter::kTile:
      return absl::StrCat("tile, ", s.tile, " x ", s.tile, " elements a block");
    case CudaEmitter::kColumn:
      return absl::StrCat("column, ", s.rows_per_block, " x ", s.vec, " rows a block, ",
                          s.threads_per_row, " threads a row, ", held);
    case CudaEmitter::kRow:
      break;
  }
  return absl::StrCat("row, ", s.rows_per_block, " rows a block, ", s.threads_per_row,
                      " threads a row, ", held, " x ", s.vec, s.window ? ", windows" : "");
}

std::string HeadComment(const KernelPlan& plan, const CudaSchedule& s, const Target& target,
                        const KernelSource& source) {
  std::string out;
  auto line = [&](const std::string& text) { absl::StrAppend(&out, CommentLine(text), "\n"); };
  line(absl::StrCat("Jitfuse kernel ", plan.name, " for ", target.arch));
  for (absl::string_view text : absl::StrSplit(plan.head, '\n', absl::SkipEmpty()))
    line(absl::StrCat("  ", text));
  for (size_t k = 0; k < plan.params.size(); ++k) {
    const Param& p = plan.params[k];
    line(absl::StrCat("p", k, ": ", ToAbsl(RoleName(p.role)), " ", ToAbsl(DTypeName(p.dtype)),
                      ", align ", p.align, p.may_alias ? ", may be an output's buffer" : ""));
  }
  for (size_t k = 0; k < plan.scalars.size(); ++k)
    line(absl::StrCat("h", k, ": ", ToAbsl(DTypeName(plan.scalars[k]))));
  for (size_t k = 0; k < source.size_args.size(); ++k)
    line(absl::StrCat("z", k, " = ", source.size_args[k].ToString()));
  line(absl::StrCat(ScheduleComment(s), "; ", plan.offset_bits, "-bit offsets"));
  line(absl::StrCat("launch: grid ", source.grid.ToString(), ", ", source.threads, " threads"));
  return out;
}

const CudaSchedule* ScheduleOf(const KernelPlan& plan) {
  return std::get_if<CudaSchedule>(&plan.schedule);
}

// Code that waits for memory gains nothing from ptxas's last passes, which take a tenth of a small
// kernel's compile time. Without them erf is a fifth longer, sin, cos and tan have a stack frame,
// and 64-bit types take a third more instructions or registers; long chains were not measured.
bool IsAsGoodCompiledQuickly(const KernelPlan& plan) {
  constexpr size_t kMaxInsts = 64;
  constexpr ScalarOp kBetterInFull[] = {ScalarOp::kSin, ScalarOp::kCos, ScalarOp::kTan,
                                        ScalarOp::kErf, ScalarOp::kLgamma};
  return plan.insts.size() <= kMaxInsts &&
         std::none_of(plan.insts.begin(), plan.insts.end(), [&](const Inst& i) {
           return ItemSize(i.dtype) > 4 ||
                  (i.kind == Inst::Kind::kOp &&
                   std::find(std::begin(kBetterInFull), std::end(kBetterInFull), i.op) !=
                       std::end(kBetterInFull));
         });
}

struct Emitted {
  KernelSource source;  // without text
  std::string head, body;
};

absl::StatusOr<Emitted> EmitOne(const KernelPlan& plan, const Target& target) {
  if (target.kind != TargetKind::kCuda)
    return InternalError("EmitCuda(", plan.name, "): ", TargetToString(target),
                         " is no CUDA target");
  const CudaSchedule* schedule = ScheduleOf(plan);
  if (schedule == nullptr)
    return InternalError("EmitCuda(", plan.name, "): the plan has no CUDA schedule");
  Emitter emitter(plan, *schedule, plan.name);
  JF_RETURN_IF_ERROR(emitter.Run());
  Emitted out;
  out.body = emitter.TakeBody();
  out.source.lang = SourceLang::kCuda;
  out.source.entry = plan.name;
  out.source.arch = target.arch;
  // fma is formed by the planner alone.
  out.source.options = {"--fmad=false"};
  if (schedule->emitter == CudaEmitter::kFlat && IsAsGoodCompiledQuickly(plan))
    out.source.options.emplace_back(kQuickOption);
  out.source.size_args = emitter.size_args();
  out.source.grid = emitter.grid();
  out.source.threads = schedule->threads;
  out.head = HeadComment(plan, *schedule, target, out.source);
  return out;
}

}  // namespace

Emitter::Emitter(const KernelPlan& plan, const CudaSchedule& schedule, std::string entry)
    : plan_(plan),
      schedule_(schedule),
      entry_(std::move(entry)),
      index_type_(plan.offset_bits == 32 ? "unsigned" : "unsigned long long"),
      signed_type_(plan.offset_bits == 32 ? "int" : "long long"),
      inner_points_(NumElements(plan.inner)),
      parallel_points_(NumElements(plan.parallel)),
      kept_(plan.insts.size()) {
  for (int id : plan.keep) kept_[static_cast<size_t>(id)] = true;
  if (schedule.window) window_ = WindowOf(plan, schedule.vec);
  FindColumns();
}

absl::Status Emitter::Check() const {
  const CudaSchedule& s = schedule_;
  auto bad = [&](const auto&... what) {
    return InternalError("EmitCuda(", plan_.name, "): ", what...);
  };
  if (s.threads < 1 || s.threads > 1024 || (s.threads > 32 && s.threads % 32 != 0))
    return bad(s.threads, " threads in a block");
  if (!IsPowerOfTwo(s.vec) || s.vec > 16) return bad("vectors of ", s.vec, " elements");
  if (plan_.offset_bits != 32 && plan_.offset_bits != 64)
    return bad(plan_.offset_bits, "-bit offsets");
  if (s.items < (HasRows() ? 0 : 1)) return bad(s.items, " items");
  if (!HasRows()) {
    if (plan_.stages.size() != 1 || plan_.IsRow())
      return bad("a Flat schedule for a plan with rows");
    if (!plan_.keep.empty()) return bad("values kept between the stages of a Flat plan");
    if (s.vec > s.threads) return bad("fewer threads than elements of a vector");
    if (IsTile() && (s.vec != 1 || s.items != 1 || !IsPowerOfTwo(s.tile) || s.tile < 1 ||
                     s.threads % s.tile != 0 || TransposedLoads(plan_, s.tile_axis).empty()))
      return bad("tiles of ", s.tile, " along axis ", s.tile_axis);
    return absl::OkStatus();
  }
  if (!IsPowerOfTwo(s.threads_per_row) || s.threads_per_row * s.rows_per_block != s.threads) {
    return bad(s.rows_per_block, " rows of ", s.threads_per_row, " threads are not a block of ",
               s.threads);
  }
  if (s.window && (!IsRow() || s.vec == 1 || plan_.HasColumnSums() || !plan_.scans.empty() ||
                   window_ == nullptr))
    return bad("windows of ", s.vec, " elements of rows that allow none");
  if (!plan_.scans.empty() && (s.vec != 1 || s.items != 0 || !plan_.keep.empty() ||
                               (s.threads_per_row > 1 && s.rows_per_block != 1)))
    return bad("a scan takes one element a thread, rows of a block or of a thread");
  if (IsColumn() && (!plan_.scans.empty() || !Divides(s.vec, plan_.parallel.back())))
    return bad("vectors of ", s.vec, " columns, of ", plan_.parallel.back().ToString());
  if (plan_.HasColumnSums() && (!IsRow() || s.threads_per_row < 32 || s.rows_per_block > 1 ||
                                (!s.sums_in_memory && !InRegisters())))
    return bad("column sums of rows that ", s.threads, " threads do not hold alone");
  if (InRegisters()) return absl::OkStatus();
  if (inner_points_.IsConstant() && s.items > 0) {
    return bad("rows of ", inner_points_.constant(), " do not fit ", s.threads_per_row,
               " threads of ", s.items, " x ", s.vec);
  }
  if (!plan_.keep.empty()) return bad("values kept between stages of a row that is read again");
  return absl::OkStatus();
}

// Inner points that the threads of a row take at once.
int64_t Emitter::InnerPerItem() const {
  return int64_t{IsRow() ? schedule_.vec : 1} * schedule_.threads_per_row;
}

bool Emitter::InRegisters() const {
  const int64_t capacity = schedule_.items * InnerPerItem();
  if (inner_points_.IsConstant())
    return schedule_.items > 0 && inner_points_.constant() <= capacity;
  return plan_.inner_bound > 0 && plan_.inner_bound <= capacity;
}

void Emitter::Signature(std::string* text) const {
  bool aliased = false;
  for (const Param& p : plan_.params) aliased |= p.may_alias;
  std::vector<std::string> params;
  for (size_t k = 0; k < plan_.params.size(); ++k) {
    const Param& p = plan_.params[k];
    // An output that may be an input's buffer promises nothing; which one it is, is not known here.
    const bool restricted = p.role == ParamRole::kInput ? !p.may_alias : !aliased;
    params.push_back(absl::StrCat(p.role == ParamRole::kInput ? "const " : "",
                                  ToAbsl(CudaStoredType(p.dtype)), "* ",
                                  restricted ? "__restrict__ " : "", "p", k));
  }
  for (size_t k = 0; k < plan_.scalars.size(); ++k) {
    const DType d = plan_.scalars[k];
    params.push_back(
        absl::StrCat(d == DType::kBool ? "unsigned char" : ToAbsl(CudaType(d)), " h", k));
  }
  for (size_t k = 0; k < size_args_.size(); ++k) params.push_back(absl::StrCat("long long z", k));
  absl::StrAppend(text, "extern \"C\" __global__ void __launch_bounds__(", schedule_.threads, ")\n",
                  entry_, "(", absl::StrJoin(params, ", "), ") {\n");
  for (size_t k = 0; k < size_args_.size(); ++k) {
    if (index_sizes_[k])
      absl::StrAppend(text, "  const ", index_type_, " n", k, " = (", index_type_, ")z", k, ";\n");
  }
}

absl::Status Emitter::Run() {
  JF_RETURN_IF_ERROR(Check());
  out_.Indent();
  if (IsTile()) {
    Tile();
  } else if (HasRows()) {
    Row();
  } else {
    Flat();
  }
  out_.Dedent().Line("}");
  std::string signature;
  Signature(&signature);
  functions_.Raw(signature);
  return absl::OkStatus();
}

// ---- Flat.

void Emitter::Flat() {
  const int vec = schedule_.vec;
  const int64_t per_block = int64_t{schedule_.threads} * schedule_.items * vec;
  const SizeExpr& total = parallel_points_;
  const SizeExpr whole =
      Divides(vec, total) ? total : FloorDiv(total, SizeExpr(vec)) * SizeExpr(vec);
  grid_ = CeilDiv(total, SizeExpr(per_block));
  const std::string block =
      plan_.offset_bits == 32 ? "blockIdx.x" : "(unsigned long long)blockIdx.x";
  Loop loop;
  loop.vec = vec;
  loop.items = loop.kept_items = schedule_.items;
  loop.index = "e";
  const std::string thread =
      loop.items == 1 ? absl::StrCat(block, " * ", Unsigned(schedule_.threads), " + threadIdx.x")
                      : absl::StrCat("(", block, " * ", Unsigned(loop.items), " + i) * ",
                                     Unsigned(schedule_.threads), " + threadIdx.x");
  loop.index_at = vec == 1 ? thread : absl::StrCat("(", thread, ") * ", Unsigned(vec));
  if (!Divides(per_block, total)) loop.guard = absl::StrCat("e < ", SizeText(whole, false));
  if (!whole.Is(0)) Items(plan_.stages[0], 0, loop);
  if (!Divides(vec, total)) FlatTail(whole, total);
}

// The elements after the last whole vector: one a thread, by the last block.
void Emitter::FlatTail(const SizeExpr& whole, const SizeExpr& total) {
  out_.Block("if (blockIdx.x == gridDim.x - 1 && threadIdx.x < ", SizeText(total - whole, false),
             ")");
  Loop loop;
  loop.index = "e";
  loop.index_at = absl::StrCat(SizeText(whole, false), " + threadIdx.x");
  Items(plan_.stages[0], 0, loop);
  out_.End();
}

// ---- A loop over vectors: all loads of all items first, then per item the values, the stores and
// the reductions' accumulation.

Point Emitter::PointOf(const Loop& loop, bool element) const {
  const std::string at =
      element && loop.vec > 1 ? absl::StrCat("(", loop.index, " + j)") : loop.index;
  if (IsRow()) return {"row", at};
  if (IsColumn()) return {element && loop.vec > 1 ? "(row + j)" : "row", loop.index};
  return {at, "", "", element && loop.vec > 1 ? loop.index : ""};
}

namespace {
void OpenGuard(const std::string& guard, Writer* out) {
  if (!guard.empty()) out->Block("if (", guard, ")");
}
void CloseGuard(const std::string& guard, Writer* out) {
  if (!guard.empty()) out->End();
}
}  // namespace

void Emitter::Items(const Stage& stage, int number, const Loop& loop) {
  ItemLoads(stage, loop);
  ItemValues(stage, number, loop);
}

// `body` where the variables of an item stand, for each; `item` is what its loads' names end in.
void Emitter::EachItem(const Loop& loop, const std::function<void(const std::string& item)>& body) {
  const bool unrolled = loop.items > 1, block = unrolled || !loop.batch.empty();
  if (unrolled) {
    out_.Line("#pragma unroll");
    out_.Block("for (int i = 0; i < ", loop.items, "; ++i)");
  } else if (block) {
    out_.Line("{").Indent();
  }
  if (!loop.index_at.empty())
    out_.Line("const ", index_type_, " ", loop.index, " = ", loop.index_at, ";");
  OpenGuard(loop.guard, &out_);
  body(absl::StrCat(loop.batch, unrolled ? "[i]" : ""));
  CloseGuard(loop.guard, &out_);
  if (block) out_.End();
}

// The loads of all items, where they are made apart.
void Emitter::ItemLoads(const Stage& stage, const Loop& loop) {
  if (!LoadsApart(loop)) return;
  bool any = false;
  for (int id : stage.elem_insts) {
    const Inst& i = inst(id);
    if (i.kind != Inst::Kind::kLoad) continue;
    const AccessShape shape = LoadShape(id, loop);
    if (loop.vec > 1 && shape.kind != AccessKind::kVector) continue;
    if (ComesLate(id, loop)) continue;
    out_.Line(RawType(LoadAccess(i), shape, loop.vec), " r", id, loop.batch,
              loop.items > 1 ? absl::StrCat("[", loop.items, "]") : "", ";");
    any = true;
  }
  if (any) EachItem(loop, [&](const std::string& item) { LoadBatch(stage, loop, item); });
}

// One item that is not apart: the loads stand before the values in the same block.
void Emitter::ItemValues(const Stage& stage, int number, const Loop& loop) {
  EachItem(loop, [&](const std::string& item) {
    if (!LoadsApart(loop)) LoadBatch(stage, loop, item);
    Vector(stage, number, loop, item);
  });
}

void Emitter::LoadBatch(const Stage& stage, const Loop& loop, const std::string& item) {
  for (int id : stage.elem_insts) {
    const Inst& i = inst(id);
    if (i.kind != Inst::Kind::kLoad) continue;
    const AccessMap& access = LoadAccess(i);
    const AccessShape shape = LoadShape(id, loop);
    if (ComesLate(id, loop)) continue;
    // Scalars are batched where there are several items; alone, they are loaded where they are
    // used.
    if (shape.kind != AccessKind::kVector && (loop.vec > 1 || item.empty())) continue;
    const std::string declared =
        item.empty() ? absl::StrCat("const ", RawType(access, shape, loop.vec), " ") : "";
    out_.Line(declared, "r", id, item, " = ", RawLoad(id, shape, PointOf(loop, false), loop.vec),
              ";");
  }
}

void Emitter::Vector(const Stage& stage, int number, const Loop& loop, const std::string& item) {
  if (loop.vec == 1) {
    if (plan_.keep.empty()) {
      kept_index_.clear();
    } else {
      const std::string first = loop.kept_from == 0 ? "" : absl::StrCat(loop.kept_from, " + ");
      kept_index_ = loop.kept_items > 1 ? absl::StrCat("[", first, "i]")
                                        : absl::StrCat("[", loop.kept_from, "]");
    }
    Element(stage, number, loop, item);
  } else {
    kept_index_ = loop.kept_items > 1 ? absl::StrCat("[i * ", loop.vec, " + j]") : "[j]";
    VectorPrologue(stage, number, loop);
    out_.Line("#pragma unroll");
    out_.Block("for (int j = 0; j < ", loop.vec, "; ++j)");
    OpenGuard(loop.elem_guard, &out_);
    if (IsColumn()) column_ = "[j]";
    Element(stage, number, loop, item);
    column_.clear();
    CloseGuard(loop.elem_guard, &out_);
    out_.End();
  }
  VectorEpilogue(stage, number, loop);
}

// What is per vector: values that all elements share, bases of strided accesses, room for what the
// elements give.
void Emitter::VectorPrologue(const Stage& stage, int number, const Loop& loop) {
  const Point point = PointOf(loop, false);
  const std::vector<bool> early = PositionsOnceAVector(stage, loop);
  for (int id : stage.elem_insts) {
    if (inst(id).kind != Inst::Kind::kLoad) {
      if (early[static_cast<size_t>(id)]) Statement(id, point);
      continue;
    }
    const AccessMap& access = LoadAccess(inst(id));
    const AccessShape shape = LoadShape(id, loop);
    if (shape.kind == AccessKind::kUniform && !IsKept(id)) Statement(id, point);
    if (shape.kind == AccessKind::kVector && ComesLate(id, loop)) {
      out_.Line("const ", RawType(access, shape, loop.vec), " r", id, " = ",
                RawLoad(id, shape, point, loop.vec), ";");
    }
    if (shape.kind == AccessKind::kStrided) {
      out_.Line("const ", ToAbsl(CudaStoredType(ParamType(access))), "* const q", id, " = ",
                Address(access, point), ";");
    }
  }
  for (size_t k = 0; k < stage.stores.size(); ++k) {
    const Store& store = stage.stores[k];
    if (!store.elem || Shape(store.access, loop).kind != AccessKind::kVector) continue;
    out_.Line(
        RoomFor(store, Shape(store.access, loop), loop.vec, absl::StrCat("w", k)).declaration);
  }
  for (size_t r = 0; r < stage.reduces.size() && !IsColumn(); ++r) {
    for (size_t k = 0; k < stage.reduces[r].in.size(); ++k) {
      const DType dtype = stage.reduces[r].dtypes[k];
      out_.Line(ToAbsl(CudaType(dtype)), " x", number, "_", r, "_", k, "[", loop.vec, "];");
    }
  }
  if (loop.elem_guard.empty() || stage.reduces.empty()) return;
  out_.Line("#pragma unroll");
  out_.Block("for (int j = 0; j < ", loop.vec, "; ++j)");
  for (size_t r = 0; r < stage.reduces.size(); ++r) {
    const PlanReduce& reduce = stage.reduces[r];
    for (size_t k = 0; k < reduce.in.size(); ++k) {
      out_.Line("x", number, "_", r, "_", k,
                "[j] = ", CudaLiteral(reduce.dtypes[k], reduce.init[k]), ";");
    }
  }
  out_.End();
}

void Emitter::Element(const Stage& stage, int number, const Loop& loop, const std::string& item) {
  const Point point = PointOf(loop, true);
  const std::vector<bool> early = PositionsOnceAVector(stage, loop);
  for (int id : stage.elem_insts) {
    const Inst& i = inst(id);
    if (i.kind != Inst::Kind::kLoad) {
      if (!early[static_cast<size_t>(id)]) Statement(id, point);
      continue;
    }
    const AccessMap& access = LoadAccess(i);
    const AccessShape shape = LoadShape(id, loop);
    const DType dtype = ParamType(access);
    std::string value;
    if (shape.kind == AccessKind::kVector) {
      value = VectorElement(access, shape, loop.vec,
                            absl::StrCat("r", id, ComesLate(id, loop) ? "" : item));
    } else if (loop.vec == 1 && !item.empty() && !IsLate(id)) {
      value = CudaLoadedValue(dtype, absl::StrCat("r", id, item));
    } else if (shape.kind == AccessKind::kStrided) {
      value = CudaLoadedValue(
          dtype,
          absl::StrCat("q", id, "[",
                       shape.step.Is(1) ? "j" : absl::StrCat("j * ", SizeText(shape.step, true)),
                       "]"));
    } else if (shape.kind == AccessKind::kUniform && !IsKept(id)) {
      continue;  // declared once for the vector
    } else {
      value = Value(id, point);
    }
    if (IsKept(id)) {
      out_.Line(Operand(id), " = ", value, ";");
    } else {
      out_.Line("const ", ToAbsl(CudaType(i.dtype)), " v", id, " = ", value, ";");
    }
  }
  for (size_t r = 0; r < stage.reduces.size() && loop.vec > 1; ++r) {
    if (IsColumn()) {
      Accumulate(stage, number, static_cast<int>(r), loop);
      continue;
    }
    for (size_t k = 0; k < stage.reduces[r].in.size(); ++k) {
      out_.Line("x", number, "_", r, "_", k, "[j] = ", Operand(stage.reduces[r].in[k]), ";");
    }
  }
  AddToColumnSums(stage, number, loop);
  for (size_t k = 0; k < stage.stores.size(); ++k) {
    const Store& store = stage.stores[k];
    if (!store.elem) continue;
    if (const AccessShape shape = Shape(store.access, loop); shape.kind == AccessKind::kVector) {
      const StoreRoom room = RoomFor(store, shape, loop.vec, absl::StrCat("w", k));
      out_.Line(room.element, " = ", StoreOperand(stage, store), ";");
    } else {
      const std::string guard = StoreGuard(store, point);
      out_.Line(guard.empty() ? "" : absl::StrCat("if (", guard, ") "),
                Indexed(store.access, point), " = ",
                CudaStoredValue(ParamType(store.access), StoreOperand(stage, store)), ";");
    }
  }
}

// Vector stores, and the vector's elements combined as a tree, then with what the thread has so
// far.
void Emitter::VectorEpilogue(const Stage& stage, int number, const Loop& loop) {
  for (size_t k = 0; k < stage.stores.size(); ++k) {
    const Store& store = stage.stores[k];
    const AccessShape shape = Shape(store.access, loop);
    if (!store.elem || shape.kind != AccessKind::kVector) continue;
    const std::string guard = StoreGuard(store, PointOf(loop, false));
    OpenGuard(guard, &out_);
    VectorStore(store, shape, PointOf(loop, false), loop.vec, absl::StrCat("w", k));
    CloseGuard(guard, &out_);
  }
  if (IsColumn() && loop.vec > 1) return;
  for (size_t r = 0; r < stage.reduces.size(); ++r) {
    const PlanReduce& reduce = stage.reduces[r];
    auto elements = [&](int j) {
      std::vector<std::string> names;
      for (size_t k = 0; k < reduce.in.size(); ++k) {
        names.push_back(loop.vec == 1 ? Operand(reduce.in[k])
                                      : absl::StrCat("x", number, "_", r, "_", k, "[", j, "]"));
      }
      return names;
    };
    for (int s = 1; s < loop.vec; s *= 2) {
      for (int j = 0; j < loop.vec; j += 2 * s)
        out_.Line(CombineCall(reduce, elements(j), elements(j + s)), ";");
    }
    out_.Line(
        CombineCall(reduce, Accumulators(reduce, number, static_cast<int>(r), loop.accumulators),
                    elements(0)),
        ";");
  }
}

absl::StatusOr<KernelSource> EmitCuda(const KernelPlan& plan, const Target& target) {
  JF_ASSIGN_OR_RETURN(Emitted kernel, EmitOne(plan, target));
  kernel.source.text = absl::StrCat(kernel.head, "\n", PreludeFor(kernel.body), "\n", kernel.body);
  return std::move(kernel.source);
}

absl::StatusOr<KernelSource> EmitCudaBatch(absl::Span<const KernelPlan> plans,
                                           const Target& target) {
  KernelSource out;
  out.lang = SourceLang::kCuda;
  out.arch = target.arch;
  std::string bodies;
  for (const KernelPlan& plan : plans) {
    JF_ASSIGN_OR_RETURN(Emitted kernel, EmitOne(plan, target));
    const std::vector<std::string>& own = kernel.source.options;
    if (bodies.empty()) out.options = own;
    std::erase_if(out.options, [&](const std::string& o) {
      return std::find(own.begin(), own.end(), o) == own.end();
    });
    absl::StrAppend(&bodies, "\n", kernel.head, kernel.body);
  }
  out.text = PreludeFor(bodies) + bodies;
  return out;
}

}  // namespace jitfuse::internal
