#include "codegen/plan/verify_plan.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "codegen/plan/access_map.h"
#include "codegen/plan/schedule.h"
#include "codegen/plan/streams.h"
#include "codegen/plan/window.h"
#include "ir/support/status.h"

namespace jitfuse::internal {
namespace {

constexpr int64_t kShared = 48 * 1024;  // bytes that a block may have without asking

bool IsPowerOfTwo(int v) { return v > 0 && std::has_single_bit(static_cast<unsigned>(v)); }

class Verifier {
 public:
  explicit Verifier(const KernelPlan& plan)
      : plan_(plan), num_axes_(plan.num_parallel() + static_cast<int>(plan.inner.size())) {}

  absl::Status Run() {
    JF_RETURN_IF_ERROR(Params());
    for (size_t i = 0; i < plan_.insts.size(); ++i)
      JF_RETURN_IF_ERROR(CheckInst(static_cast<int>(i)));
    for (const AccessMap& a : plan_.accesses) JF_RETURN_IF_ERROR(Access(a, num_axes_));
    JF_RETURN_IF_ERROR(Stages());
    JF_RETURN_IF_ERROR(Stores());
    if (plan_.HasColumnSums()) JF_RETURN_IF_ERROR(ColumnSums());
    if (std::holds_alternative<CudaSchedule>(plan_.schedule)) return Cuda(plan_.cuda());
    if (std::holds_alternative<CpuSchedule>(plan_.schedule)) return Cpu(plan_.cpu());
    return absl::OkStatus();
  }

 private:
  template <typename... Args>
  absl::Status Fail(const Args&... args) const {
    return InternalError("plan ", plan_.name, ": ", args...);
  }
  const Inst& At(int id) const { return plan_.insts[static_cast<size_t>(id)]; }
  DType Reg(int id) const { return ComputeType(At(id).dtype); }
  bool Valid(int id) const { return id >= 0 && id < static_cast<int>(plan_.insts.size()); }

  absl::Status Params() const {
    if (plan_.parallel.empty()) return Fail("no parallel axis");
    if (plan_.stages.empty()) return Fail("no stage");
    if (plan_.offset_bits != 32 && plan_.offset_bits != 64)
      return Fail("offset_bits ", plan_.offset_bits);
    if (plan_.scalars.size() != plan_.scalar_values.size())
      return Fail("scalars and scalar_values differ in number");
    std::vector<int> reads(plan_.params.size(), 0), writes(plan_.params.size(), 0);
    for (const AccessMap& a : plan_.accesses) {
      if (a.param < 0 || a.param >= static_cast<int>(reads.size()))
        return Fail("an access of parameter ", a.param);
      ++reads[static_cast<size_t>(a.param)];
    }
    for (const Stage& s : plan_.stages) {
      for (const Store& st : s.stores) {
        if (st.access.param < 0 || st.access.param >= static_cast<int>(writes.size()))
          return Fail("a store to parameter ", st.access.param);
        ++writes[static_cast<size_t>(st.access.param)];
      }
      for (const ColumnSum& sum : s.column_sums) {
        for (int p : sum.params) {
          if (p < 0 || p >= static_cast<int>(writes.size()))
            return Fail("a column sum in parameter ", p);
          ++writes[static_cast<size_t>(p)];
        }
      }
    }
    for (size_t p = 0; p < plan_.params.size(); ++p) {
      const Param& param = plan_.params[p];
      if (!IsPowerOfTwo(param.align) || param.align > 16)
        return Fail("parameter ", p, " has alignment ", param.align);
      if (param.role == ParamRole::kInput && (reads[p] == 0 || writes[p] != 0))
        return Fail("input parameter ", p, " is not read, or is written");
      if (param.role == ParamRole::kOutput && (writes[p] != 1 || reads[p] != 0))
        return Fail("output parameter ", p, " is not written once");
      if (param.role == ParamRole::kScratch &&
          (writes[p] > 1 || (reads[p] == 0) == (writes[p] == 0)))
        return Fail("scratch parameter ", p, " is neither written once nor read");
      if (param.may_alias && param.role != ParamRole::kInput)
        return Fail("parameter ", p, " is no input but may alias");
    }
    return absl::OkStatus();
  }

  absl::Status Access(const AccessMap& a, int axes) const {
    auto affine_ok = [&](const Affine& f) {
      int last = -1;
      for (const auto& [axis, coef] : f.coefs) {
        bool known = axis < axes || (axis == kIndirectAxis && a.indirect);
        if (axis <= last || !known || coef.Is(0)) return false;
        last = axis;
      }
      return true;
    };
    auto terms_ok = [&](const std::vector<IndexTerm>& terms) {
      return std::all_of(terms.begin(), terms.end(), [&](const IndexTerm& t) {
        return affine_ok(t.linear) && !t.IsPlain() && !t.div.Is(0) && !t.linear.coefs.empty();
      });
    };
    bool ok = affine_ok(a.linear) && terms_ok(a.terms);
    for (const AccessMask& m : a.masks) ok = ok && affine_ok(m.linear) && terms_ok(m.terms);
    if (!ok) return Fail("malformed access ", AccessToString(a));
    if (a.indirect && !UsesIndirect(a))
      return Fail("access ", AccessToString(a), " has a position but does not use it");
    std::optional<Range> range = OffsetRange(plan_, a);
    if (range && plan_.offset_bits == 32 &&
        (range->hi > std::numeric_limits<int32_t>::max() ||
         range->lo < std::numeric_limits<int32_t>::min())) {
      return Fail("access ", AccessToString(a), " needs 64-bit offsets");
    }
    return absl::OkStatus();
  }

  absl::Status CheckInst(int id) const {
    const Inst& i = At(id);
    for (int in : i.in) {
      if (in >= id) return Fail("%", id, " reads %", in, ", which is not before it");
      if (in >= 0 && !i.elem && At(in).elem)
        return Fail("row value %", id, " reads %", in, ", which differs along the row");
    }
    if (!plan_.IsRow() && !i.elem) return Fail("%", id, " of a flat plan is not elem");
    auto in_range = [](int v, size_t n) { return v >= 0 && v < static_cast<int>(n); };
    switch (i.kind) {
      case Inst::Kind::kLoad: {
        if (!in_range(i.access, plan_.accesses.size())) return Fail("%", id, " has no access");
        const AccessMap& a = plan_.accesses[static_cast<size_t>(i.access)];
        if (i.dtype != ComputeType(plan_.params[static_cast<size_t>(a.param)].dtype))
          return Fail("%", id, " loads another dtype than its parameter's");
        if (a.indirect.has_value() != (i.in[0] >= 0) || i.in[1] >= 0 || i.in[2] >= 0)
          return Fail("%", id, ": an indirect load has one operand, its position, any other none");
        if (a.indirect && At(i.in[0]).dtype != DType::kI64)
          return Fail("%", id, " is at a position that is no i64");
        if (a.indirect && a.indirect->IsConstant() && a.indirect->constant() < 1)
          return Fail("%", id, " picks from an axis of size ", a.indirect->constant());
        return i.elem ? absl::OkStatus() : Access(a, plan_.num_parallel());
      }
      case Inst::Kind::kConst:
        return absl::OkStatus();
      case Inst::Kind::kScalar:
        if (!in_range(i.scalar, plan_.scalars.size())) return Fail("%", id, " has no scalar");
        if (i.dtype != ComputeType(plan_.scalars[static_cast<size_t>(i.scalar)]))
          return Fail("%", id, " has another dtype than its scalar");
        return absl::OkStatus();
      case Inst::Kind::kIndex:
        if (!in_range(i.axis, static_cast<size_t>(i.elem ? num_axes_ : plan_.num_parallel())))
          return Fail("%", id, " has no axis");
        return i.dtype == DType::kI64 ? absl::OkStatus()
                                      : Fail("%", id, " is an index but not i64");
      case Inst::Kind::kSize:
        if (!in_range(i.size, plan_.sizes.size()) ||
            plan_.sizes[static_cast<size_t>(i.size)].IsConstant())
          return Fail("%", id, " has no symbolic size");
        return i.dtype == DType::kI64 ? absl::OkStatus() : Fail("%", id, " is a size but not i64");
      case Inst::Kind::kResult:
        return Result(id);
      case Inst::Kind::kScan:
        return Scan(id);
      case Inst::Kind::kSegment:
        return Segment(id);
      case Inst::Kind::kOp:
        return Op(id);
    }
    return Fail("%", id, " is of no kind");
  }

  absl::Status Result(int id) const {
    const Inst& i = At(id);
    if (i.elem || i.stage < 0 || i.stage >= static_cast<int>(plan_.stages.size()))
      return Fail("%", id, " is the result of no stage");
    const std::vector<PlanReduce>& reduces = plan_.stages[static_cast<size_t>(i.stage)].reduces;
    if (i.reduce < 0 || i.reduce >= static_cast<int>(reduces.size()))
      return Fail("%", id, " is the result of no reduction");
    const PlanReduce& r = reduces[static_cast<size_t>(i.reduce)];
    if (i.which < 0 || i.which >= static_cast<int>(r.dtypes.size()) ||
        r.dtypes[static_cast<size_t>(i.which)] != i.dtype) {
      return Fail("%", id, " is no accumulator of its reduction");
    }
    return absl::OkStatus();
  }

  absl::Status Scan(int id) const {
    const Inst& i = At(id);
    if (!i.elem || plan_.inner.size() != 1)
      return Fail("%", id, " scans, but not along the one inner axis");
    if (i.scan < 0 || i.scan >= static_cast<int>(plan_.scans.size()))
      return Fail("%", id, " belongs to no scan");
    const PlanScan& s = plan_.scans[static_cast<size_t>(i.scan)];
    size_t k = s.dtypes.size();
    if (k == 0 || k > kMaxScanAccumulators || s.init.size() != k ||
        s.combine.num_args != static_cast<int>(2 * k) || s.combine.results.size() != k)
      return Fail("%", id, " belongs to a malformed scan");
    if (i.which < 0 || i.which >= static_cast<int>(k) ||
        i.dtype != s.dtypes[static_cast<size_t>(i.which)])
      return Fail("%", id, " is no accumulator of its scan");
    for (size_t j = 0; j < kMaxScanAccumulators; ++j) {
      if ((i.in[j] >= 0) != (j < k)) return Fail("%", id, " has not one operand an accumulator");
      if (j >= k) break;
      const ScalarInst& result = s.combine.insts[static_cast<size_t>(s.combine.results[j])];
      if (!At(i.in[j]).elem || Reg(i.in[j]) != s.dtypes[j] || result.dtype != s.dtypes[j])
        return Fail("%", id, ": accumulator ", j, " of its scan has two types");
    }
    return absl::OkStatus();
  }

  absl::Status Segment(int id) const {
    const Inst& i = At(id);
    auto access = [this](int a) {
      return a >= 0 && a < static_cast<int>(plan_.accesses.size())
                 ? &plan_.accesses[static_cast<size_t>(a)]
                 : nullptr;
    };
    const AccessMap *from = access(i.access), *order = access(i.order);
    if (from == nullptr || order == nullptr) return Fail("%", id, " adds from no access");
    if (plan_.IsRow()) return Fail("%", id, " adds a segment in a plan with rows");
    if (i.in[0] < 0 || i.in[1] < 0 || i.in[2] < 0 || Reg(i.in[0]) != i.dtype ||
        i.dtype != ComputeType(i.dtype) || i.dtype == DType::kBool)
      return Fail("%", id, " adds no segment to a number");
    if (At(i.in[1]).dtype != DType::kI64 || At(i.in[2]).dtype != DType::kI64)
      return Fail("%", id, " begins or ends at what is no i64");
    if (ComputeType(plan_.params[static_cast<size_t>(from->param)].dtype) != i.dtype)
      return Fail("%", id, " adds another dtype than its parameter's");
    if (plan_.params[static_cast<size_t>(order->param)].dtype != DType::kI64)
      return Fail("%", id, " is ordered by what is no i64");
    for (const AccessMap* a : {from, order}) {
      if (a->indirect && a->indirect->IsConstant() && a->indirect->constant() < 1)
        return Fail("%", id, " picks from an axis of size ", a->indirect->constant());
    }
    return absl::OkStatus();
  }

  // Accumulator 0 takes the elements in; the others only follow.
  absl::Status FollowsFirst(int stage, int id, const std::vector<int>& list) const {
    const Inst& i = At(id);
    if (i.kind != Inst::Kind::kScan) return absl::OkStatus();
    int first = 0;
    for (int other : list) {
      if (At(other).kind != Inst::Kind::kScan || At(other).scan != i.scan || At(other).which != 0)
        continue;
      if (other > id || ++first > 1) break;
    }
    return first == 1 ? absl::OkStatus()
                      : Fail("stage ", stage, ": scan ", i.scan,
                             " does not take each element once before %", id);
  }

  absl::Status Op(int id) const {
    const Inst& i = At(id);
    const ScalarOpDef& def = GetScalarOp(i.op);
    for (int k = 0; k < 3; ++k) {
      if ((i.in[k] >= 0) != (k < def.arity))
        return Fail("%", id, " has the wrong number of operands for ", ToAbsl(def.name));
    }
    bool ok = true;
    switch (def.rule) {
      case ScalarTypeRule::kSame:
        for (int k = 0; k < def.arity; ++k) ok = ok && Reg(i.in[k]) == i.dtype;
        break;
      case ScalarTypeRule::kCompare:
        ok = Reg(i.in[0]) == Reg(i.in[1]) && i.dtype == DType::kBool;
        break;
      case ScalarTypeRule::kPredicate:
        ok = i.dtype == DType::kBool;
        break;
      case ScalarTypeRule::kSelect:
        ok = Reg(i.in[0]) == DType::kBool && Reg(i.in[1]) == i.dtype && Reg(i.in[2]) == i.dtype;
        break;
      case ScalarTypeRule::kConvert:
        break;
      case ScalarTypeRule::kBitcast:
        ok = ItemSize(Reg(i.in[0])) == ItemSize(i.dtype);
        break;
    }
    int chosen = def.rule == ScalarTypeRule::kSelect ? 1 : 0;
    ok = ok && IsIn(Reg(i.in[chosen]), def.domain) &&
         (i.op == ScalarOp::kConvert || i.dtype == ComputeType(i.dtype));
    return ok ? absl::OkStatus() : Fail("%", id, ": operand types do not suit ", ToAbsl(def.name));
  }

  absl::Status Stages() {
    if (!plan_.IsRow() &&
        (plan_.stages.size() != 1 || !plan_.stages[0].reduces.empty() || !plan_.keep.empty())) {
      return Fail("a flat plan has one stage and neither reduces nor keeps");
    }
    kept_.assign(plan_.insts.size(), false);
    row_ready_.assign(plan_.insts.size(), false);
    for (int id : plan_.keep) {
      if (!Valid(id) || !At(id).elem) return Fail("%", id, " is kept but is no elem value");
      kept_[static_cast<size_t>(id)] = true;
    }
    std::vector<bool> held(plan_.insts.size(), false);  // kept, and computed by an earlier stage
    for (size_t s = 0; s < plan_.stages.size(); ++s)
      JF_RETURN_IF_ERROR(CheckStage(static_cast<int>(s), &held));
    return absl::OkStatus();
  }

  absl::Status RowList(int stage, const std::vector<int>& list, bool after) {
    for (int id : list) {
      if (!Valid(id) || At(id).elem)
        return Fail("stage ", stage, " lists %", id, " as a row value");
      if (row_ready_[static_cast<size_t>(id)]) return Fail("row value %", id, " is listed twice");
      if (At(id).kind == Inst::Kind::kResult && (!after || At(id).stage != stage))
        return Fail("stage ", stage, " reads the result %", id, " too early");
      for (int in : At(id).in) {
        if (in >= 0 && !row_ready_[static_cast<size_t>(in)])
          return Fail("stage ", stage, ": %", id, " reads %", in, ", which is not computed yet");
      }
      row_ready_[static_cast<size_t>(id)] = true;
    }
    return absl::OkStatus();
  }

  absl::Status CheckStage(int s, std::vector<bool>* held) {
    const Stage& stage = plan_.stages[static_cast<size_t>(s)];
    JF_RETURN_IF_ERROR(RowList(s, stage.row_insts_before, false));
    std::vector<bool> here = *held;
    auto ready = [&](int id) {
      return At(id).elem ? here[static_cast<size_t>(id)] : row_ready_[static_cast<size_t>(id)];
    };
    int last = -1;
    for (int id : stage.elem_insts) {
      if (!Valid(id) || !At(id).elem) return Fail("stage ", s, " lists %", id, " as an elem value");
      if (id <= last) return Fail("stage ", s, " lists %", id, " out of order");
      last = id;
      for (int in : At(id).in) {
        if (in >= 0 && !ready(in))
          return Fail("stage ", s, ": %", id, " reads %", in,
                      ", which is neither computed there nor kept");
      }
      JF_RETURN_IF_ERROR(FollowsFirst(s, id, stage.elem_insts));
      here[static_cast<size_t>(id)] = true;
    }
    for (const PlanReduce& r : stage.reduces) JF_RETURN_IF_ERROR(Reduce(s, r, here));
    for (const ColumnSum& sum : stage.column_sums) JF_RETURN_IF_ERROR(Reduce(s, sum.reduce, here));
    for (const Store& st : stage.stores) {
      if (!Valid(st.value)) return Fail("stage ", s, " stores nothing");
      if (st.elem && !ready(st.value))
        return Fail("stage ", s, " stores %", st.value,
                    ", which is neither computed there nor kept");
    }
    JF_RETURN_IF_ERROR(RowList(s, stage.row_insts_after, true));
    for (const Store& st : stage.stores) {
      if (!st.elem && (At(st.value).elem || !ready(st.value)))
        return Fail("stage ", s, " stores %", st.value,
                    " per row, which is no row value or not computed");
    }
    for (size_t i = 0; i < held->size(); ++i) (*held)[i] = kept_[i] && here[i];
    return absl::OkStatus();
  }

  absl::Status Reduce(int s, const PlanReduce& r, const std::vector<bool>& here) const {
    size_t k = r.in.size();
    if (k == 0 || r.dtypes.size() != k || r.init.size() != k ||
        r.combine.num_args != static_cast<int>(2 * k) || r.combine.results.size() != k) {
      return Fail("stage ", s, " has a malformed reduction");
    }
    for (size_t j = 0; j < k; ++j) {
      if (!Valid(r.in[j]) || !At(r.in[j]).elem || !here[static_cast<size_t>(r.in[j])])
        return Fail("stage ", s, " reduces %", r.in[j], ", which it has not");
      const ScalarInst& result = r.combine.insts[static_cast<size_t>(r.combine.results[j])];
      if (Reg(r.in[j]) != r.dtypes[j] || result.dtype != r.dtypes[j])
        return Fail("stage ", s, ": accumulator ", j, " has two types");
    }
    return absl::OkStatus();
  }

  absl::Status ColumnSums() const {
    if (!plan_.IsRow() || plan_.columns || !plan_.scans.empty())
      return Fail("column sums of what has no rows, or scans them");
    if (plan_.block_rows.IsConstant() && plan_.block_rows.constant() < 1)
      return Fail("blocks of ", plan_.block_rows.ToString(), " rows");
    const SizeExpr elements = plan_.Blocks() * NumElements(plan_.inner);
    for (const Stage& s : plan_.stages) {
      for (const ColumnSum& sum : s.column_sums) {
        if (sum.params.size() != sum.reduce.in.size())
          return Fail("a column sum has not one buffer an accumulator");
        for (size_t j = 0; j < sum.params.size(); ++j) {
          const Param& p = plan_.params[static_cast<size_t>(sum.params[j])];
          if (p.role != ParamRole::kScratch || p.dtype != sum.reduce.dtypes[j] ||
              !(p.scratch_bytes == elements * ItemSize(p.dtype)))
            return Fail("the buffer p", sum.params[j], " is not that of blocks of rows");
        }
      }
    }
    return absl::OkStatus();
  }

  absl::Status Stores() const {
    for (const Stage& s : plan_.stages) {
      for (const Store& st : s.stores) {
        if (!plan_.IsRow() && !st.elem) return Fail("a store of a flat plan is not elem");
        if (st.access.indirect || (!st.access.masks.empty() && !(plan_.IsRow() && st.elem)))
          return Fail("store ", AccessToString(st.access), " has a position, or masks per row");
        JF_RETURN_IF_ERROR(Access(st.access, st.elem ? num_axes_ : plan_.num_parallel()));
        int axes = st.elem ? num_axes_ : plan_.num_parallel();
        bool empty = false;
        for (int axis = 0; axis < axes; ++axis) empty = empty || plan_.extent(axis).Is(0);
        for (int axis = 0; axis < axes && !empty; ++axis) {
          if (plan_.extent(axis).Is(1) || UsesAxis(st.access, axis)) continue;
          return Fail("store ", AccessToString(st.access),
                      " writes one element at all points of axis ", axis);
        }
      }
    }
    return absl::OkStatus();
  }

  absl::Status Cuda(const CudaSchedule& s) const {
    const bool column = s.emitter == CudaEmitter::kColumn;
    if ((s.emitter == CudaEmitter::kRow || column) != plan_.IsRow() || column != plan_.columns)
      return Fail("flat, row and column are mixed up in the schedule");
    if (!IsPowerOfTwo(s.vec) || s.vec > 16 || s.threads < 32 || s.threads > 1024 || s.items < 0)
      return Fail("impossible schedule");
    if (s.emitter == CudaEmitter::kTile) return Tile(s);
    if (!plan_.IsRow())
      return s.items >= 1 ? absl::OkStatus() : Fail("a flat schedule without items");
    if (!IsPowerOfTwo(s.threads_per_row) || s.threads != s.threads_per_row * s.rows_per_block)
      return Fail("threads are not rows times threads per row");
    if (column) JF_RETURN_IF_ERROR(Column(s));
    if (!plan_.scans.empty() && (s.vec != 1 || s.items != 0))
      return Fail("a scan takes one element after another");
    if (!plan_.keep.empty() && s.items == 0) return Fail("a row is kept but looped over");
    if (plan_.HasColumnSums() &&
        (s.rows_per_block > 1 || s.threads_per_row < 32 || (s.items == 0 && !s.sums_in_memory)))
      return Fail("column sums of rows that are looped over, or of several at once");
    if (s.window && (column || s.vec == 1 || plan_.HasColumnSums() || !plan_.scans.empty() ||
                     WindowOf(plan_, s.vec) == nullptr))
      return Fail("windows of ", s.vec, " elements of rows that allow none");
    const int64_t held = int64_t{s.items} * (column ? 1 : s.vec) * s.threads_per_row;
    if (s.items > 0 &&
        (InnerPoints(plan_) > held || (InnerPoints(plan_) == 0 && !NumElements(plan_.inner).Is(0))))
      return Fail("a row is longer than its threads hold");
    return absl::OkStatus();
  }

  absl::Status Tile(const CudaSchedule& s) const {
    const std::vector<int> loads = TransposedLoads(plan_, s.tile_axis);
    if (loads.empty()) return Fail("no load lies along the axis ", s.tile_axis, " of the tiles");
    if (s.vec != 1 || s.items != 1 || !IsPowerOfTwo(s.tile) || s.threads % s.tile != 0)
      return Fail("impossible tiles");
    int64_t bytes = 0;
    for (int k : loads) {
      const AccessMap& a = plan_.accesses[static_cast<size_t>(k)];
      const int size = ItemSize(plan_.params[static_cast<size_t>(a.param)].dtype);
      bytes += int64_t{s.tile} * (s.tile + std::max(1, 4 / size)) * size;
    }
    return bytes <= kShared ? absl::OkStatus() : Fail("tiles of ", bytes, " bytes do not fit");
  }

  absl::Status Column(const CudaSchedule& s) const {
    if (!plan_.scans.empty()) return Fail("a scan in columns");
    if (plan_.parallel.back().KnownDivisor() % s.vec != 0)
      return Fail("vectors of ", s.vec, " columns do not divide ",
                  plan_.parallel.back().ToString());
    int64_t bytes = 0;
    for (const Stage& stage : plan_.stages) {
      for (const PlanReduce& r : stage.reduces) {
        for (DType d : r.dtypes) bytes += int64_t{ItemSize(d)} * s.threads * s.vec;
      }
    }
    if (s.threads_per_row > 1 && bytes > kShared)
      return Fail("accumulators of ", bytes, " bytes do not fit shared memory");
    return absl::OkStatus();
  }

  absl::Status Cpu(const CpuSchedule& s) const {
    if (!plan_.scans.empty() && (s.lanes != 1 || s.unroll != 1))
      return Fail("a scan takes one element after another");
    if (s.tile != 0 && (!IsPowerOfTwo(s.tile) || TransposedLoads(plan_, s.tile_axis).empty()))
      return Fail("no load lies along the axis ", s.tile_axis, " of the tiles");
    if (plan_.HasSegments() && (s.lanes != 1 || s.unroll != 1))
      return Fail("a segment is added one element after another");
    return IsPowerOfTwo(s.lanes) && s.unroll >= 1 && s.grain_bytes > 0
               ? absl::OkStatus()
               : Fail("impossible schedule");
  }

  const KernelPlan& plan_;
  int num_axes_;
  std::vector<bool> kept_, row_ready_;
};

// Offsets that a tensor of these dims and strides spans.
std::optional<Range> Span(const Shape& dims, const Shape& strides) {
  Range r;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (!dims[d].IsConstant() || !strides[d].IsConstant()) return std::nullopt;
    int64_t end = (dims[d].constant() - 1) * strides[d].constant();
    if (dims[d].Is(0)) return Range{0, -1};
    (end < 0 ? r.lo : r.hi) += end;
  }
  return r;
}

// Whether some point, of at most 100,000, has its masks and an offset outside of `span`.
bool LeavesSomewhere(const KernelPlan& plan, const AccessMap& a, const Range& span) {
  constexpr int64_t kMaxPoints = 100000;
  Shape all = plan.parallel;
  all.insert(all.end(), plan.inner.begin(), plan.inner.end());
  if (a.indirect) all.push_back(*a.indirect);
  if (!IsStatic(all)) return false;
  std::vector<int64_t> extents = EvalDims(all, {}), at(extents.size(), 0);
  std::optional<int64_t> points = CheckedNumElements(extents);
  for (int64_t n = std::min(kMaxPoints, points.value_or(kMaxPoints)); n > 0; --n) {
    int64_t offset = MasksHold(a, at, {}) ? EvalAccess(a, at, {}) : span.lo;
    if (offset < span.lo || offset > span.hi) return true;
    for (size_t d = at.size(); d-- > 0;) {
      if (++at[d] < extents[d]) break;
      at[d] = 0;
    }
  }
  return false;
}

absl::Status CheckScratch(const KernelPlan& plan, const AccessMap& a) {
  const Param& param = plan.params[static_cast<size_t>(a.param)];
  std::optional<Range> range = OffsetRange(plan, a);
  if (!range || range->hi < range->lo || !param.scratch_bytes.IsConstant()) return absl::OkStatus();
  if (range->lo >= 0 && (range->hi + 1) * ItemSize(param.dtype) <= param.scratch_bytes.constant())
    return absl::OkStatus();
  return InternalError("plan ", plan.name, ": ", AccessToString(a), " reaches ", range->lo, "..",
                       range->hi, " of ", param.scratch_bytes.constant(), " bytes of scratch");
}

}  // namespace

absl::Status VerifyPlan(const KernelPlan& plan) { return Verifier(plan).Run(); }

absl::Status VerifyAccesses(const KernelPlan& plan, const Graph& graph,
                            const EdgeLayouts& layouts) {
  auto check = [&](const AccessMap& a) -> absl::Status {
    const Param& param = plan.params[static_cast<size_t>(a.param)];
    if (param.role == ParamRole::kScratch) return CheckScratch(plan, a);
    const auto& known = param.role == ParamRole::kInput ? layouts.reads : layouts.writes;
    auto it = known.find(param.value);
    const Shape& dims = graph.type(param.value).dims;
    std::optional<Range> span =
        Span(dims, it == known.end() ? ContiguousStrides(dims) : it->second.strides);
    std::optional<Range> range = OffsetRange(plan, a);
    if (!span || !range || range->hi < range->lo) return absl::OkStatus();
    if (range->lo >= span->lo && range->hi <= span->hi) return absl::OkStatus();
    // Masks may keep it inside in ways that ranges do not show.
    if (!a.masks.empty() && !LeavesSomewhere(plan, a, *span)) return absl::OkStatus();
    return InternalError("plan ", plan.name, ": ", AccessToString(a), " reaches ", range->lo, "..",
                         range->hi, " of ", graph.TypeString(param.value));
  };
  for (const AccessMap& a : plan.accesses) JF_RETURN_IF_ERROR(check(a));
  for (const Stage& s : plan.stages) {
    for (const Store& st : s.stores) JF_RETURN_IF_ERROR(check(st.access));
  }
  return absl::OkStatus();
}

}  // namespace jitfuse::internal
