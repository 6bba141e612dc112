#include "cpu_backend/emit_llvm.h"

#include <algorithm>
#include <bit>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "codegen/plan/access_map.h"
#include "cpu_backend/emit_llvm_internal.h"
#include "ir/support/status.h"

namespace jitfuse::internal {
namespace {

constexpr int kMaxLanes = 64;
constexpr int kRowBufferAlign = 64;

bool IsPowerOfTwo(int v) { return v > 0 && std::has_single_bit(static_cast<unsigned>(v)); }

}  // namespace

CpuFeatures FeaturesOf(const Target& target) {
  if (target.arch == "x86-64-v2") return {};
  if (target.arch == "x86-64-v3") return {.f16c = true, .fma = true, .avx2 = true};
  if (target.arch == "x86-64-v4") return {.f16c = true, .fma = true, .avx2 = true, .avx512 = true};
  auto has = [&](std::string_view name) {
    return std::find(target.features.begin(), target.features.end(),
                     absl::StrCat("+", ToAbsl(name))) != target.features.end();
  };
  return {.f16c = has("f16c"),
          .fma = has("fma"),
          .avx2 = has("avx2"),
          .avx512 = has("avx512f") && has("avx512bw") && has("avx512dq") && has("avx512vl")};
}

absl::StatusOr<KernelSource> EmitLlvm(const KernelPlan& plan, const Target& target) {
  return LlvmEmitter(plan, target).Emit();
}

absl::Status LlvmEmitter::Check() const {
  auto refuse = [&](const auto&... parts) {
    return InternalError("cannot emit kernel ", plan_.name, " for the CPU: ", parts...);
  };
  if (target_.kind != TargetKind::kCpu) return refuse("the target is ", TargetToString(target_));
  const auto* schedule = std::get_if<CpuSchedule>(&plan_.schedule);
  if (schedule == nullptr) return refuse("it has no CPU schedule");
  if (!IsPowerOfTwo(schedule->lanes) || schedule->lanes > kMaxLanes ||
      !IsPowerOfTwo(schedule->unroll)) {
    return refuse("lanes ", schedule->lanes, " and unroll ", schedule->unroll,
                  " must be powers of two, lanes at most ", kMaxLanes);
  }
  if (!plan_.keep.empty() && !NumElements(plan_.inner).IsConstant() && plan_.inner_bound <= 0) {
    return refuse("a row of ", ShapeToString(plan_.inner),
                  " cannot be kept: its size has no bound");
  }
  if (!plan_.scans.empty() && (schedule->lanes != 1 || schedule->unroll != 1))
    return refuse("a scan takes one element after another, not ", schedule->lanes, " lanes");
  if (plan_.HasSegments() && (schedule->lanes != 1 || schedule->unroll != 1))
    return refuse("a segment is added one element after another, not ", schedule->lanes, " lanes");
  if (!plan_.IsRow() && plan_.stages.size() != 1)
    return refuse("a flat plan has one stage, not ", plan_.stages.size());
  if (schedule->tile > 0 &&
      (plan_.IsRow() || schedule->tile_axis < 0 || schedule->tile_axis >= plan_.num_parallel() - 1))
    return refuse("tiles along axis ", schedule->tile_axis);
  return absl::OkStatus();
}

absl::StatusOr<KernelSource> LlvmEmitter::Emit() {
  JF_RETURN_IF_ERROR(Check());
  lanes_ = plan_.cpu().lanes;
  unroll_ = plan_.cpu().unroll;
  vector_axis_ = VectorAxis(plan_);
  scalar_.assign(plan_.insts.size(), "");
  coordinates_.assign(plan_.parallel.size() + plan_.inner.size(), 0);
  ClassifyInsts();
  EmitEntry();
  const bool by_row = plan_.IsRow() && !plan_.columns;
  int row_axes = plan_.num_parallel() - (by_row || plan_.parallel.empty() ? 0 : 1);
  LlvmText::Loop rows = text_.BeginLoop(I64::Named("%row_begin"), I64::Named("%row_end"), 1, "row");
  const bool tiled = plan_.cpu().tile > 0;
  const bool blocks = plan_.HasColumnSums();
  if (!tiled && !blocks) SetCoordinates(rows.index, 0, row_axes);
  if (tiled) {
    EmitTiles(rows.index);
  } else if (blocks) {
    EmitBlock(rows.index);
  } else if (by_row) {
    for (size_t s = 0; s < plan_.stages.size(); ++s) EmitStage(static_cast<int>(s));
  } else if (plan_.columns) {
    EmitColumns(I64::Named("%col_begin"), I64::Named("%col_end"));
  } else {
    EmitVectorLoop(0, I64::Named("%col_begin"), I64::Named("%col_end"));
  }
  text_.EndLoop(rows);
  if (streams_)
    text_.Line("call void @llvm.x86.sse.sfence()");  // streamed stores are seen before the work
                                                     // counts as done
  JF_RETURN_IF_ERROR(error_);

  KernelSource source;
  source.lang = SourceLang::kLlvm;
  source.entry = plan_.name;
  source.arch = target_.arch;
  if (!target_.features.empty()) source.options = {absl::StrJoin(target_.features, ",")};
  source.size_args = sizes_;
  source.rows =
      NumElements(absl::MakeSpan(plan_.parallel).subspan(0, static_cast<size_t>(row_axes)));
  source.cols = by_row || plan_.parallel.empty() ? SizeExpr(1) : plan_.parallel.back();
  source.bytes_per_row = BytesPerRow();
  if (tiled) {
    source.rows = TileRows();
    source.bytes_per_row = source.bytes_per_row * plan_.cpu().tile;
  }
  if (blocks) {
    source.rows = plan_.Blocks();
    source.bytes_per_row = source.bytes_per_row * plan_.block_rows;
  }
  source.grain_bytes = plan_.cpu().grain_bytes;
  source.col_multiple = col_multiple_;
  source.text = text_.Finish(
      Head(source), absl::StrCat("define void @", plan_.name,
                                 "(ptr %buffers, ptr %scalars, ptr %sizes, i64 %row_begin, ",
                                 "i64 %row_end, i64 %col_begin, i64 %col_end) nounwind"));
  source.text += helpers_;
  return source;
}

std::string LlvmEmitter::Head(const KernelSource& source) const {
  std::string head;
  for (absl::string_view line : absl::StrSplit(plan_.head, '\n', absl::SkipEmpty()))
    absl::StrAppend(&head, "; ", line, "\n");
  std::vector<std::string> sizes;
  for (const SizeExpr& e : source.size_args) sizes.push_back(e.ToString());
  absl::StrAppend(&head, "; rows ", source.rows.ToString(), ", cols ", source.cols.ToString(),
                  ", col_multiple ", source.col_multiple, ", sizes [", absl::StrJoin(sizes, ", "),
                  "], ", lanes_, " lanes, unroll ", unroll_, ", ", source.arch, "\n");
  return head;
}

// Buffers, host scalars, row buffers. Size arguments are added by Size() as they are met.
void LlvmEmitter::EmitEntry() {
  for (size_t i = 0; i < plan_.params.size(); ++i) {
    buffers_.push_back(text_.Entry(
        "load ptr, ptr ", text_.Entry("getelementptr ptr, ptr %buffers, i64 ", i), ", align 8"));
  }
  for (size_t i = 0; i < plan_.scalars.size(); ++i) {
    DType dtype = ComputeType(plan_.scalars[i]);  // f16 and bf16 come as their float
    std::string type = MemoryType(dtype, 1);
    std::string value =
        text_.Entry("load ", type, ", ptr ",
                    text_.Entry("getelementptr i64, ptr %scalars, i64 ", i), ", align 8");
    host_scalars_.push_back(dtype == DType::kBool ? text_.Entry("icmp ne i8 ", value, ", 0")
                                                  : value);
  }
  if (plan_.keep.empty()) return;
  SizeExpr points = NumElements(plan_.inner);
  int64_t room = points.IsConstant() ? points.constant() : plan_.inner_bound;
  if (plan_.columns) {
    room *= int64_t{PickCopies()} * lanes_;
  } else {
    room += lanes_;  // the last vector of a row may be a partial one
  }
  for (int k : plan_.keep)
    kept_[k] =
        text_.Alloca(absl::StrCat("[", room, " x ", KeptType(TypeOf(k), 1), "]"), kRowBufferAlign);
}

// A bool is kept as an i8, any other value as its register.
std::string LlvmEmitter::KeptType(DType dtype, int lanes) const {
  return dtype == DType::kBool ? MemoryType(dtype, lanes) : RegisterType(dtype, lanes);
}

I64 LlvmEmitter::Size(const SizeExpr& e) {
  if (e.IsConstant()) return e.constant();
  for (size_t i = 0; i < sizes_.size(); ++i) {
    if (sizes_[i] == e) return I64::Named(size_names_[i]);
  }
  std::string address = text_.Entry("getelementptr i64, ptr %sizes, i64 ", sizes_.size());
  sizes_.push_back(e);
  size_names_.push_back(text_.Entry("load i64, ptr ", address, ", align 8  ; ", e.ToString()));
  return I64::Named(size_names_.back());
}

// Coordinates of axes [first, last) from a row-major linear index over them.
void LlvmEmitter::SetCoordinates(I64 linear, int first, int last) {
  for (int axis = last - 1; axis >= first; --axis) {
    I64 extent = Size(plan_.extent(axis));
    coordinates_[static_cast<size_t>(axis)] = axis == first ? linear : text_.URem(linear, extent);
    if (axis != first) linear = text_.UDiv(linear, extent);
  }
}

// Which instructions have a value per vector: those that depend on the vectorised axis.
void LlvmEmitter::ClassifyInsts() {
  in_vector_.assign(plan_.insts.size(), false);
  for (size_t i = 0; i < plan_.insts.size(); ++i) {
    const Inst& inst = plan_.insts[i];
    if (plan_.IsRow() && !plan_.columns && !inst.elem) continue;
    in_vector_[i] =
        std::find(plan_.keep.begin(), plan_.keep.end(), static_cast<int>(i)) != plan_.keep.end();
    if (inst.kind == Inst::Kind::kLoad)
      in_vector_[i] =
          in_vector_[i] || DependsOnVector(plan_.accesses[static_cast<size_t>(inst.access)]);
    if (inst.kind == Inst::Kind::kIndex) in_vector_[i] = in_vector_[i] || inst.axis == vector_axis_;
    if (inst.kind == Inst::Kind::kScan || inst.kind == Inst::Kind::kResult ||
        inst.kind == Inst::Kind::kSegment)
      in_vector_[i] = true;
    if (inst.kind != Inst::Kind::kOp && inst.kind != Inst::Kind::kLoad) continue;
    for (int in : inst.in)
      in_vector_[i] = in_vector_[i] || (in >= 0 && in_vector_[static_cast<size_t>(in)]);
  }
}

// A value above the vector loop, as a scalar.
std::string LlvmEmitter::Scalar(int i) {
  const Inst& inst = this->inst(i);
  switch (inst.kind) {
    case Inst::Kind::kConst:
      return ConstantOf(inst.dtype, inst.bits, 1);
    case Inst::Kind::kScalar:
      return host_scalars_[static_cast<size_t>(inst.scalar)];
    case Inst::Kind::kIndex:
      return coordinates_[static_cast<size_t>(inst.axis)].text;
    case Inst::Kind::kSize:
      return Size(plan_.sizes[static_cast<size_t>(inst.size)]).text;
    case Inst::Kind::kResult:
      return results_[{inst.stage, inst.reduce, inst.which}];
    default:
      break;
  }
  if (scalar_[static_cast<size_t>(i)].empty())
    error_.Update(
        InternalError("kernel ", plan_.name, ": value ", i, " is used before it is made"));
  return scalar_[static_cast<size_t>(i)];
}

void LlvmEmitter::EmitScalarInst(int i) {
  const Inst& inst = this->inst(i);
  if (inst.kind == Inst::Kind::kLoad) scalar_[static_cast<size_t>(i)] = LoadScalarAt(i);
  if (inst.kind != Inst::Kind::kOp) return;
  absl::InlinedVector<std::string, 3> in;
  for (int k : inst.in) {
    if (k >= 0) in.push_back(Scalar(k));
  }
  scalar_[static_cast<size_t>(i)] = ApplyPlanOp(inst, in, 1);
}

// A value inside the vector loop, as a vector of the body's lanes.
std::string LlvmEmitter::Operand(int i, int copy, const Body& body) {
  const Inst& inst = this->inst(i);
  auto index = static_cast<size_t>(i);
  if (inst.kind == Inst::Kind::kConst) return ConstantOf(inst.dtype, inst.bits, body.lanes);
  if (!in_vector_[index]) {
    auto it = splats_.find({i, body.lanes});
    return it != splats_.end() ? it->second
                               : text_.Splat(RegisterType(inst.dtype, 1), Scalar(i), body.lanes);
  }
  std::string& value = vector_[static_cast<size_t>(copy)][index];
  if (!value.empty()) return value;
  if (auto kept = kept_.find(i); kept != kept_.end()) {
    value = text_.Value("load ", KeptType(inst.dtype, body.lanes), ", ptr ",
                        KeptAddress(i, copy, body), ", align ", KeptAlign(i, body));
    if (inst.dtype == DType::kBool) value = Decode(DType::kBool, value, body.lanes);
    return value;
  }
  if (inst.kind == Inst::Kind::kIndex) {
    std::string type = RegisterType(DType::kI64, body.lanes);
    std::string first =
        text_.Splat("i64", text_.Add(body.index, int64_t{copy} * body.lanes).text, body.lanes);
    return value = body.lanes == 1
                       ? first
                       : text_.Value("add ", type, " ", first, ", ", Iota("i64", body.lanes));
  }
  error_.Update(InternalError("kernel ", plan_.name, ": element value ", i,
                              " is used in a stage that neither lists nor keeps it"));
  return "poison";
}

std::string LlvmEmitter::KeptAddress(int i, int copy, const Body& body) {
  I64 first = plan_.columns ? I64(0) : body.index;
  I64 offset = text_.Add(kept_offset_, text_.Add(first, int64_t{copy} * body.lanes));
  return text_.Value("getelementptr ", KeptType(TypeOf(i), 1), ", ptr ", kept_[i], ", i64 ",
                     offset.text);
}

// Vectors begin at multiples of the lane count within a row of the last inner axis. Rows lie one
// after another: what a partial vector writes beyond its row is overwritten by the next one, or
// falls into the spare vector at the end.
int LlvmEmitter::KeptAlign(int i, const Body& body) const {
  int size = TypeOf(i) == DType::kF16 || TypeOf(i) == DType::kBF16 ? 4 : ItemSize(TypeOf(i));
  bool whole =
      plan_.columns || plan_.inner.size() == 1 || plan_.inner.back().KnownDivisor() % lanes_ == 0;
  return whole && body.lanes == lanes_ ? std::min(size * body.lanes, kRowBufferAlign) : size;
}

void LlvmEmitter::EmitStage(int s) {
  const Stage& stage = plan_.stages[static_cast<size_t>(s)];
  for (int i : stage.row_insts_before) EmitScalarInst(i);
  bool has_loop =
      !stage.elem_insts.empty() || !stage.reduces.empty() || !stage.column_sums.empty() ||
      std::any_of(stage.stores.begin(), stage.stores.end(), [](const Store& t) { return t.elem; });
  if (has_loop) {
    int first = plan_.num_parallel(), last = vector_axis_;
    I64 width = Size(plan_.extent(vector_axis_));
    SizeExpr outer = 1;
    for (int axis = first; axis < last; ++axis) outer = outer * plan_.extent(axis);
    BeginScans();
    BeginReduces(s, width, outer);
    if (outer.Is(1)) {
      for (int axis = first; axis < last; ++axis) coordinates_[static_cast<size_t>(axis)] = 0;
      kept_offset_ = 0;
      EmitVectorLoop(s, 0, width);
    } else {
      LlvmText::Loop loop = text_.BeginLoop(0, Size(outer), 1, "outer inner axes");
      SetCoordinates(loop.index, first, last);
      const bool places = !plan_.keep.empty() || plan_.HasColumnSums();
      kept_offset_ = places ? text_.Mul(loop.index, width) : I64(0);
      EmitVectorLoop(s, 0, width);
      text_.EndLoop(loop);
    }
    FinishReduces(s);
  }
  for (int i : stage.row_insts_after) EmitScalarInst(i);
  for (const Store& store : stage.stores) {
    if (!store.elem) StoreScalarAt(store.access, Scalar(store.value), TypeOf(store.value));
  }
}

// How many vectors an iteration takes: the schedule's unroll, less where the axis is short.
int LlvmEmitter::PickCopies() const {
  if (vector_axis_ < 0) return 1;
  const SizeExpr& extent = plan_.extent(vector_axis_);
  if (!extent.IsConstant()) return unroll_;
  int64_t vectors = extent.constant() / lanes_;
  if (vectors >= 4 * unroll_ && vectors % unroll_ != 0) return unroll_;
  for (int copies = unroll_; copies > 1; --copies) {
    if (vectors >= copies && vectors % copies == 0) return copies;
  }
  return static_cast<int>(std::clamp<int64_t>(vectors, 1, unroll_));
}

LlvmEmitter::Rest LlvmEmitter::PickRest(int s, int copies) const {
  if (vector_axis_ < 0) return Rest::kScalars;
  int64_t divisor = plan_.extent(vector_axis_).KnownDivisor();
  if (divisor % (int64_t{copies} * lanes_) == 0) return Rest::kNone;
  if (divisor % lanes_ == 0) return Rest::kVectors;
  const Stage& stage = plan_.stages[static_cast<size_t>(s)];
  auto loads = [&](int i) {
    return inst(i).kind != Inst::Kind::kLoad || Maskable(access_of(i), false, i);
  };
  auto stores = [&](const Store& store) {
    return !IsVectorStore(store) || Maskable(store.access, true);
  };
  bool maskable = (cpu_.avx2 || cpu_.avx512) &&
                  std::all_of(stage.elem_insts.begin(), stage.elem_insts.end(), loads) &&
                  std::all_of(stage.stores.begin(), stage.stores.end(), stores);
  return maskable ? Rest::kMasked : Rest::kScalars;
}

bool LlvmEmitter::IsVectorStore(const Store& store) const { return store.elem || !plan_.IsRow(); }

// The loop over the vector axis: what does not depend on it first, then full bodies, then the rest.
void LlvmEmitter::EmitVectorLoop(int s, const I64& begin, const I64& end) {
  const Stage& stage = plan_.stages[static_cast<size_t>(s)];
  bases_.clear();
  splats_.clear();
  for (int i : stage.elem_insts) {
    if (!in_vector_[static_cast<size_t>(i)]) EmitScalarInst(i);
  }
  for (int i : stage.elem_insts) {
    if (inst(i).kind == Inst::Kind::kLoad && in_vector_[static_cast<size_t>(i)])
      BaseOf(access_of(i), i);
  }
  for (const Store& store : stage.stores) {
    if (IsVectorStore(store)) BaseOf(store.access);
  }
  int copies = PickCopies();
  Rest rest = PickRest(s, copies);
  int64_t step = int64_t{copies} * lanes_;
  if (!plan_.IsRow()) col_multiple_ = step;
  I64 full = text_.Sub(end, begin);
  if (rest != Rest::kNone)
    full = IsPowerOfTwo(copies) ? text_.RoundDown(full, step)
                                : text_.Mul(text_.UDiv(full, step), step);
  I64 full_end = text_.Add(begin, full);
  if (!full.Is(0) &&
      !(vector_axis_ >= 0 && plan_.extent(vector_axis_).IsConstant() &&
        plan_.extent(vector_axis_).constant() < step) &&
      vector_axis_ >= 0) {
    EmitSplats(s, lanes_);
    EmitFullBodies(s, begin, full_end, copies);
  } else {
    full_end = begin;
  }
  if (rest == Rest::kNone) return;
  if (Blocked()) InitBlock();
  if (rest == Rest::kScalars && copies > 1 && lanes_ > 1 &&
      vector_axis_ >= 0) {  // whole vectors, then single elements
    I64 vectors_end = text_.Add(begin, text_.RoundDown(text_.Sub(end, begin), lanes_));
    if (vectors_end.text != full_end.text) {
      EmitSplats(s, lanes_);
      EmitLoop(s, full_end, vectors_end, {.lanes = lanes_});
    }
    full_end = vectors_end;
  }
  int lanes = rest == Rest::kScalars ? 1 : lanes_;
  EmitSplats(s, lanes);
  EmitLoop(s, full_end, end, {.lanes = lanes, .masked = rest == Rest::kMasked, .limit = end});
  if (Blocked()) FlushBlock();
}

// The part of a vector loop that takes `copies` whole vectors an iteration.
void LlvmEmitter::EmitFullBodies(int s, const I64& begin, const I64& end, int copies) {
  PlanPrefetches(s, begin, end, copies);
  Body body{.lanes = lanes_, .copies = copies, .prefetching = true};
  if (Blocked()) {
    int64_t step = int64_t{copies} * lanes_ * kBlockIterations;
    LlvmText::Loop blocks = text_.BeginLoop(begin, end, step, "block");
    InitBlock();
    EmitLoop(s, blocks.index, text_.UMin(text_.Add(blocks.index, step), end), body);
    FlushBlock();
    text_.EndLoop(blocks);
  } else if (MayStream(s)) {
    std::string streamed = text_.NewLabel("streamed"), plain = text_.NewLabel("plain"),
                joined = text_.NewLabel("joined");
    text_.BranchIf(StreamCondition(s, begin), streamed, plain);
    text_.Label(streamed);
    body.streaming = true;
    EmitLoop(s, begin, end, body);
    streams_ = true;
    text_.Branch(joined);
    text_.Label(plain);
    body.streaming = body.prefetching = false;
    EmitLoop(s, begin, end, body);
    text_.Branch(joined);
    text_.Label(joined);
  } else {
    EmitLoop(s, begin, end, body);
  }
}

// Splats of scalars that the vector loop uses, made before it.
void LlvmEmitter::EmitSplats(int s, int lanes) {
  const Stage& stage = plan_.stages[static_cast<size_t>(s)];
  auto splat = [&](int i) {
    if (i < 0 || in_vector_[static_cast<size_t>(i)] || inst(i).kind == Inst::Kind::kConst) return;
    auto [it, inserted] = splats_.try_emplace({i, lanes});
    if (inserted) it->second = text_.Splat(RegisterType(TypeOf(i), 1), Scalar(i), lanes);
  };
  for (int i : stage.elem_insts) {
    const bool reads = inst(i).kind == Inst::Kind::kOp || inst(i).kind == Inst::Kind::kScan;
    if (reads && in_vector_[static_cast<size_t>(i)])
      std::for_each(inst(i).in, inst(i).in + 3, splat);
  }
  for (const PlanReduce& reduce : stage.reduces)
    std::for_each(reduce.in.begin(), reduce.in.end(), splat);
  for (const ColumnSum& sum : stage.column_sums)
    std::for_each(sum.reduce.in.begin(), sum.reduce.in.end(), splat);
  for (const Store& store : stage.stores) {
    if (IsVectorStore(store)) splat(store.value);
  }
}

void LlvmEmitter::EmitLoop(int s, const I64& begin, const I64& end, Body body) {
  if (begin.constant && end.constant && *begin.constant >= *end.constant) return;
  LlvmText::Loop loop = text_.BeginLoop(begin, end, int64_t{body.copies} * body.lanes,
                                        body.masked       ? "masked"
                                        : body.lanes == 1 ? "single elements"
                                                          : "vectors");
  body.index = loop.index;
  if (body.masked) body.mask = MaskOf(body.index, body.limit, body.lanes);
  EmitBody(s, body);
  text_.EndLoop(loop);
}

// All copies of an instruction one after another, so that their latencies overlap; stores last, so
// that in-place outputs are safe.
void LlvmEmitter::EmitBody(int s, const Body& body) {
  const Stage& stage = plan_.stages[static_cast<size_t>(s)];
  vector_.assign(static_cast<size_t>(body.copies), std::vector<std::string>(plan_.insts.size()));
  std::vector<I64> index;
  for (int c = 0; c < body.copies; ++c)
    index.push_back(text_.Add(body.index, int64_t{c} * body.lanes));
  for (int i : stage.elem_insts) {
    if (!in_vector_[static_cast<size_t>(i)]) continue;
    for (int c = 0; c < body.copies; ++c) {
      vector_[static_cast<size_t>(c)][static_cast<size_t>(i)] =
          VectorInst(i, c, index[static_cast<size_t>(c)], body);
    }
  }
  Accumulate(body);
  AddToColumnSums(s, body);
  if (body.prefetching) EmitPrefetches(body);
  for (int c = 0; c < body.copies; ++c) {
    for (int i : stage.elem_insts) {
      if (kept_.contains(i)) StoreKept(i, c, body);
    }
    for (const Store& store : stage.stores) {
      if (IsVectorStore(store))
        StoreVector(store.access, Operand(store.value, c, body), TypeOf(store.value),
                    index[static_cast<size_t>(c)], body);
    }
  }
}

// An instruction's value; empty: Operand makes it where it is used.
std::string LlvmEmitter::VectorInst(int i, int copy, const I64& index, const Body& body) {
  if (inst(i).kind == Inst::Kind::kLoad) return LoadVector(i, copy, index, body);
  if (inst(i).kind == Inst::Kind::kScan) return ScanValue(i, body);
  if (inst(i).kind == Inst::Kind::kSegment) return SegmentValue(i, index, body);
  if (inst(i).kind != Inst::Kind::kOp) return "";
  absl::InlinedVector<std::string, 3> in;
  for (int k : inst(i).in) {
    if (k >= 0) in.push_back(Operand(k, copy, body));
  }
  return ApplyPlanOp(inst(i), in, body.lanes);
}

void LlvmEmitter::StoreKept(int i, int copy, const Body& body) {
  std::string value = Operand(i, copy, body);
  if (TypeOf(i) == DType::kBool) value = Encode(DType::kBool, DType::kBool, value, body.lanes);
  text_.Line("store ", KeptType(TypeOf(i), body.lanes), " ", value, ", ptr ",
             KeptAddress(i, copy, body), ", align ", KeptAlign(i, body));
}

// What a row moves at least: each access once over the axes it depends on.
SizeExpr LlvmEmitter::BytesPerRow() const {
  auto bytes = [&](const AccessMap& access) {
    int first = plan_.num_parallel() - (plan_.IsRow() && !plan_.columns ? 0 : 1);
    int end = plan_.num_parallel() + static_cast<int>(plan_.inner.size());
    SizeExpr points = 1;
    for (int axis = std::max(first, 0); axis < end; ++axis) {
      bool depends = !access.terms.empty();
      for (const auto& [a, coef] : access.linear.coefs) depends = depends || a == axis;
      if (depends) points = points * plan_.extent(axis);
    }
    return points * ItemSize(param(access).dtype);
  };
  SizeExpr sum = 0;
  std::vector<const AccessMap*> seen;
  auto add = [&](const AccessMap& access) {
    if (std::any_of(seen.begin(), seen.end(),
                    [&](const AccessMap* other) { return *other == access; }))
      return;
    seen.push_back(&access);
    sum = sum + bytes(access);
  };
  for (const AccessMap& access : plan_.accesses) add(access);
  for (const Stage& stage : plan_.stages) {
    for (const Store& store : stage.stores) add(store.access);
  }
  return sum;
}

}  // namespace jitfuse::internal
