#include "codegen/plan/interpret_plan.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "codegen/plan/access_map.h"
#include "ir/support/status.h"

namespace jitfuse::internal {
namespace {

constexpr int64_t kBlock = 64;  // elements reduced one after the other before blocks are paired

// An access with its sizes evaluated.
struct FlatAffine {
  int64_t constant = 0;
  std::vector<std::pair<size_t, int64_t>> coefs;
  int64_t At(const std::vector<int64_t>& axes) const {
    int64_t v = constant;
    for (const auto& [axis, coef] : coefs) v += coef * axes[axis];
    return v;
  }
};
struct FlatAccess {
  size_t param = 0;
  FlatAffine linear;
  struct Term {
    FlatAffine linear;
    int64_t div, mod, coef;
  };
  std::vector<Term> terms;
  struct Mask {
    FlatAffine linear;
    std::vector<Term> terms;
    int64_t lo, hi;
  };
  std::vector<Mask> masks;
  int64_t indirect = 0;  // extent of the gathered axis
  static int64_t Sum(const FlatAffine& linear, const std::vector<Term>& terms,
                     const std::vector<int64_t>& axes) {
    int64_t v = linear.At(axes);
    for (const Term& t : terms) {
      int64_t x = t.linear.At(axes) / t.div;
      v += t.coef * (t.mod == 0 ? x : x % t.mod);
    }
    return v;
  }
  int64_t At(const std::vector<int64_t>& axes) const { return Sum(linear, terms, axes); }
  bool Holds(const std::vector<int64_t>& axes) const {
    return std::all_of(masks.begin(), masks.end(), [&](const Mask& m) {
      int64_t v = Sum(m.linear, m.terms, axes);
      return m.lo <= v && v < m.hi;
    });
  }
};

// Makes FlatAccesses; `position` is where the axes' values hold that of kIndirectAxis.
class Flattener {
 public:
  Flattener(absl::Span<const int64_t> symbols, size_t position)
      : symbols_(symbols), position_(position) {}

  FlatAccess operator()(const AccessMap& a) const {
    FlatAccess out;
    out.param = static_cast<size_t>(a.param);
    out.linear = Linear(a.linear);
    out.terms = Terms(a.terms);
    for (const AccessMask& m : a.masks)
      out.masks.push_back(
          {Linear(m.linear), Terms(m.terms), m.lo.Eval(symbols_), m.hi.Eval(symbols_)});
    if (a.indirect) out.indirect = a.indirect->Eval(symbols_);
    return out;
  }

 private:
  FlatAffine Linear(const Affine& a) const {
    FlatAffine out;
    out.constant = a.constant.Eval(symbols_);
    for (const auto& [axis, coef] : a.coefs) {
      out.coefs.push_back(
          {axis == kIndirectAxis ? position_ : static_cast<size_t>(axis), coef.Eval(symbols_)});
    }
    return out;
  }
  std::vector<FlatAccess::Term> Terms(const std::vector<IndexTerm>& terms) const {
    std::vector<FlatAccess::Term> out;
    for (const IndexTerm& t : terms) {
      // An extent of 0 can make a divisor 0; then no point is ever visited.
      out.push_back({Linear(t.linear), std::max<int64_t>(1, t.div.Eval(symbols_)),
                     t.mod.Eval(symbols_), t.coef.Eval(symbols_)});
    }
    return out;
  }

  absl::Span<const int64_t> symbols_;
  size_t position_;
};

// Accumulators of one reduction over one row: blocks in order, then pairs of equally long runs.
class Accumulator {
 public:
  explicit Accumulator(const PlanReduce& reduce) : reduce_(reduce), k_(reduce.in.size()) {
    for (uint64_t bits : reduce.init) init_.push_back(ScalarValue::FromBits(bits));
    Reset();
  }
  void Reset() {
    runs_.clear();
    block_ = init_;
    in_block_ = 0;
  }
  void Add(const ScalarValue* lifted) {
    Combine(block_.data(), lifted, block_.data());
    if (++in_block_ == kBlock) Flush();
  }
  const std::vector<ScalarValue>& Finish() {
    std::vector<ScalarValue> acc = block_;
    while (!runs_.empty()) {
      Combine(runs_.back().acc.data(), acc.data(), acc.data());
      runs_.pop_back();
    }
    result_ = acc;
    return result_;
  }

 private:
  struct Run {
    int64_t blocks;
    std::vector<ScalarValue> acc;
  };
  void Combine(const ScalarValue* a, const ScalarValue* b, ScalarValue* out) {
    args_.assign(a, a + k_);
    args_.insert(args_.end(), b, b + k_);
    EvalScalarProgram(reduce_.combine, args_.data(), out);
  }
  void Flush() {
    Run run{1, block_};
    while (!runs_.empty() && runs_.back().blocks == run.blocks) {
      Combine(runs_.back().acc.data(), run.acc.data(), run.acc.data());
      run.blocks *= 2;
      runs_.pop_back();
    }
    runs_.push_back(std::move(run));
    block_ = init_;
    in_block_ = 0;
  }

  const PlanReduce& reduce_;
  size_t k_;
  std::vector<ScalarValue> init_, block_, args_, result_;
  int64_t in_block_ = 0;
  std::vector<Run> runs_;
};

bool NextPoint(absl::Span<const int64_t> extents, size_t first, std::vector<int64_t>* axes) {
  for (size_t d = extents.size(); d-- > 0;) {
    if (++(*axes)[first + d] < extents[d]) return true;
    (*axes)[first + d] = 0;
  }
  return false;
}

int64_t Product(absl::Span<const int64_t> extents) {
  int64_t n = 1;
  for (int64_t e : extents) n *= e;
  return n;
}

class Machine {
 public:
  Machine(const KernelPlan& plan, absl::Span<void* const> buffers,
          absl::Span<const uint64_t> scalars, absl::Span<const int64_t> symbols)
      : plan_(plan), buffers_(buffers), scalars_(scalars) {
    for (const SizeExpr& e : plan.sizes) sizes_.push_back(e.Eval(symbols));
    Flattener flatten(symbols, plan.parallel.size() + plan.inner.size());
    for (const AccessMap& a : plan.accesses) accesses_.push_back(flatten(a));
    parallel_ = EvalDims(plan.parallel, symbols);
    inner_ = EvalDims(plan.inner, symbols);
    if (plan.HasColumnSums()) block_rows_ = std::max<int64_t>(1, plan.block_rows.Eval(symbols));
    scans_.resize(plan.scans.size());
    size_t n = plan.insts.size();
    values_.resize(n);
    stamp_.assign(n, 0);
    kept_slot_.assign(n, -1);
    for (int id : plan.keep) {
      kept_slot_[static_cast<size_t>(id)] = static_cast<int>(kept_.size());
      kept_.emplace_back(static_cast<size_t>(std::max<int64_t>(0, Product(inner_))));
    }
    for (const Stage& s : plan.stages) {
      StageState state;
      for (const PlanReduce& r : s.reduces) state.accumulators.emplace_back(r);
      for (const Store& st : s.stores) state.stores.push_back(flatten(st.access));
      std::vector<bool> listed(n, false);
      for (int id : s.elem_insts) listed[static_cast<size_t>(id)] = true;
      for (int id : plan.keep) {
        if (!listed[static_cast<size_t>(id)] && kept_by_now_.contains(id))
          state.reload.push_back(id);
        if (listed[static_cast<size_t>(id)]) kept_by_now_.insert(id);
      }
      stages_.push_back(std::move(state));
    }
  }

  absl::Status Run() {
    axes_.assign(parallel_.size() + inner_.size() + 1, 0);  // the last: the position of a gather
    if (Product(parallel_) == 0) return absl::OkStatus();
    int64_t row = 0;
    do {
      if (row % block_rows_ == 0) BeginBlock();
      row_stamp_ = ++clock_;
      for (size_t s = 0; s < plan_.stages.size(); ++s) JF_RETURN_IF_ERROR(RunStage(s));
      if (++row % block_rows_ == 0) EndBlock(row / block_rows_ - 1);
    } while (NextPoint(parallel_, 0, &axes_));
    if (row % block_rows_ != 0) EndBlock(row / block_rows_);
    return absl::OkStatus();
  }

 private:
  struct StageState {
    std::vector<Accumulator> accumulators;
    std::vector<FlatAccess> stores;
    std::vector<int> reload;  // kept by an earlier stage
    std::vector<std::vector<ScalarValue>> results;
    std::vector<std::vector<ScalarValue>> columns;  // by column sum: [inner point, accumulator]
  };

  void BeginBlock() {
    for (size_t s = 0; s < stages_.size(); ++s) {
      const std::vector<ColumnSum>& sums = plan_.stages[s].column_sums;
      stages_[s].columns.assign(sums.size(), {});
      for (size_t c = 0; c < sums.size(); ++c) {
        for (int64_t point = Product(inner_); point > 0; --point) {
          for (uint64_t bits : sums[c].reduce.init)
            stages_[s].columns[c].push_back(ScalarValue::FromBits(bits));
        }
      }
    }
  }

  void EndBlock(int64_t block) {
    const int64_t points = Product(inner_);
    for (size_t s = 0; s < stages_.size(); ++s) {
      const std::vector<ColumnSum>& sums = plan_.stages[s].column_sums;
      for (size_t c = 0; c < sums.size(); ++c) {
        const size_t k = sums[c].params.size();
        for (size_t j = 0; j < k; ++j) {
          const DType dtype = sums[c].reduce.dtypes[j];
          char* at = static_cast<char*>(buffers_[static_cast<size_t>(sums[c].params[j])]) +
                     block * points * ItemSize(dtype);
          for (size_t p = 0; p < static_cast<size_t>(points); ++p, at += ItemSize(dtype))
            StoreScalar(dtype, stages_[s].columns[c][p * k + j], at);
        }
      }
    }
  }

  absl::Status AddToColumns(const Stage& stage, StageState& state, size_t point) {
    for (size_t c = 0; c < stage.column_sums.size(); ++c) {
      const PlanReduce& reduce = stage.column_sums[c].reduce;
      ScalarValue* sum = &state.columns[c][point * reduce.in.size()];
      lifted_.assign(sum, sum + reduce.in.size());
      for (int in : reduce.in) {
        JF_RETURN_IF_ERROR(CheckReady(in));
        lifted_.push_back(values_[static_cast<size_t>(in)]);
      }
      EvalScalarProgram(reduce.combine, lifted_.data(), sum);
    }
    return absl::OkStatus();
  }

  absl::Status RunStage(size_t s) {
    const Stage& stage = plan_.stages[s];
    StageState& state = stages_[s];
    for (int id : stage.row_insts_before) JF_RETURN_IF_ERROR(Execute(id, row_stamp_));
    for (Accumulator& a : state.accumulators) a.Reset();
    for (size_t i = 0; i < scans_.size(); ++i) {
      scans_[i].now.clear();
      for (uint64_t bits : plan_.scans[i].init)
        scans_[i].now.push_back(ScalarValue::FromBits(bits));
    }
    for (size_t i = parallel_.size(); i < axes_.size(); ++i) axes_[i] = 0;
    if (Product(inner_) > 0) {
      int64_t point = 0;
      do {
        JF_RETURN_IF_ERROR(RunPoint(stage, state, point++));
      } while (!inner_.empty() && NextPoint(inner_, parallel_.size(), &axes_));
    }
    state.results.clear();
    for (Accumulator& a : state.accumulators) state.results.push_back(a.Finish());
    for (int id : stage.row_insts_after) JF_RETURN_IF_ERROR(Execute(id, row_stamp_));
    for (size_t i = 0; i < stage.stores.size(); ++i) {
      if (!stage.stores[i].elem) JF_RETURN_IF_ERROR(Write(stage.stores[i], state.stores[i]));
    }
    return absl::OkStatus();
  }

  absl::Status RunPoint(const Stage& stage, StageState& state, int64_t point) {
    elem_stamp_ = ++clock_;
    auto at = static_cast<size_t>(point);
    for (int id : state.reload) {
      values_[static_cast<size_t>(id)] =
          kept_[static_cast<size_t>(kept_slot_[static_cast<size_t>(id)])][at];
      stamp_[static_cast<size_t>(id)] = elem_stamp_;
    }
    for (int id : stage.elem_insts) {
      JF_RETURN_IF_ERROR(Execute(id, elem_stamp_));
      int slot = kept_slot_[static_cast<size_t>(id)];
      if (slot >= 0) kept_[static_cast<size_t>(slot)][at] = values_[static_cast<size_t>(id)];
    }
    for (size_t r = 0; r < stage.reduces.size(); ++r) {
      lifted_.clear();
      for (int in : stage.reduces[r].in) {
        JF_RETURN_IF_ERROR(CheckReady(in));
        lifted_.push_back(values_[static_cast<size_t>(in)]);
      }
      state.accumulators[r].Add(lifted_.data());
    }
    JF_RETURN_IF_ERROR(AddToColumns(stage, state, at));
    for (size_t i = 0; i < stage.stores.size(); ++i) {
      if (stage.stores[i].elem) JF_RETURN_IF_ERROR(Write(stage.stores[i], state.stores[i]));
    }
    return absl::OkStatus();
  }

  absl::Status CheckReady(int id) const {
    bool elem = plan_.insts[static_cast<size_t>(id)].elem;
    if (stamp_[static_cast<size_t>(id)] == (elem ? elem_stamp_ : row_stamp_))
      return absl::OkStatus();
    return InternalError("plan ", plan_.name, ": %", id,
                         " is read where it is neither computed nor kept");
  }

  absl::StatusOr<char*> Address(const FlatAccess& a) const {
    int64_t offset = a.At(axes_);
    if (plan_.offset_bits == 32 && (offset > std::numeric_limits<int32_t>::max() ||
                                    offset < std::numeric_limits<int32_t>::min())) {
      return InternalError("plan ", plan_.name, ": offset ", offset, " does not fit 32 bits");
    }
    return static_cast<char*>(buffers_[a.param]) + offset * ItemSize(plan_.params[a.param].dtype);
  }

  absl::Status Write(const Store& store, const FlatAccess& access) {
    JF_RETURN_IF_ERROR(CheckReady(store.value));
    if (!access.Holds(axes_)) return absl::OkStatus();
    JF_ASSIGN_OR_RETURN(char* address, Address(access));
    DType from = ComputeType(plan_.insts[static_cast<size_t>(store.value)].dtype);
    DType to = plan_.params[access.param].dtype;
    StoreScalar(to, ConvertScalar(from, to, values_[static_cast<size_t>(store.value)]), address);
    return absl::OkStatus();
  }

  absl::Status Execute(int id, int64_t stamp) {
    const Inst& inst = plan_.insts[static_cast<size_t>(id)];
    ScalarValue& out = values_[static_cast<size_t>(id)];
    switch (inst.kind) {
      case Inst::Kind::kLoad: {
        const FlatAccess& access = accesses_[static_cast<size_t>(inst.access)];
        out = ScalarValue::FromBits(0);
        if (!access.Holds(axes_)) break;
        if (inst.in[0] >= 0) JF_RETURN_IF_ERROR(TakePosition(inst.in[0], access.indirect));
        JF_ASSIGN_OR_RETURN(const char* address, Address(access));
        out = LoadScalar(plan_.params[access.param].dtype, address);
        break;
      }
      case Inst::Kind::kConst:
        out = ScalarValue::FromBits(inst.bits);
        break;
      case Inst::Kind::kScalar:
        out = ScalarValue::FromBits(scalars_[static_cast<size_t>(inst.scalar)]);
        break;
      case Inst::Kind::kIndex:
        out = ScalarFromInt(DType::kI64, axes_[static_cast<size_t>(inst.axis)]);
        break;
      case Inst::Kind::kSize:
        out = ScalarFromInt(DType::kI64, sizes_[static_cast<size_t>(inst.size)]);
        break;
      case Inst::Kind::kResult: {
        const auto& results = stages_[static_cast<size_t>(inst.stage)].results;
        out = results[static_cast<size_t>(inst.reduce)][static_cast<size_t>(inst.which)];
        break;
      }
      case Inst::Kind::kScan:
        JF_RETURN_IF_ERROR(TakeIn(inst));
        out = scans_[static_cast<size_t>(inst.scan)].seen[static_cast<size_t>(inst.which)];
        break;
      case Inst::Kind::kSegment:
        JF_RETURN_IF_ERROR(AddSegment(inst, &out));
        break;
      case Inst::Kind::kOp:
        JF_RETURN_IF_ERROR(Operate(inst, &out));
        break;
    }
    stamp_[static_cast<size_t>(id)] = stamp;
    return absl::OkStatus();
  }

  absl::Status AddSegment(const Inst& inst, ScalarValue* out) {
    for (int in : inst.in) JF_RETURN_IF_ERROR(CheckReady(in));
    auto value = [&](int k) { return values_[static_cast<size_t>(inst.in[k])]; };
    const FlatAccess &from = accesses_[static_cast<size_t>(inst.access)],
                     &order = accesses_[static_cast<size_t>(inst.order)];
    const DType types[3] = {inst.dtype, inst.dtype, inst.dtype};
    ScalarInst add;
    add.op = ScalarOp::kAdd;
    add.dtype = inst.dtype;
    add.in[0] = 0;
    add.in[1] = 1;
    ScalarValue terms[3] = {value(0), {}, {}};
    for (int64_t q = value(1).i; q < value(2).i && order.Holds(axes_); ++q) {
      axes_.back() = q;
      JF_ASSIGN_OR_RETURN(const char* position, Address(order));
      if (from.indirect > 0)
        JF_RETURN_IF_ERROR(MoveTo(LoadScalar(DType::kI64, position).i, from.indirect));
      JF_ASSIGN_OR_RETURN(const char* address, Address(from));
      terms[1] = LoadScalar(plan_.params[from.param].dtype, address);
      terms[0] = EvalScalarInst(add, types, terms);
    }
    *out = terms[0];
    return absl::OkStatus();
  }

  absl::Status TakePosition(int id, int64_t extent) {
    JF_RETURN_IF_ERROR(CheckReady(id));
    return MoveTo(values_[static_cast<size_t>(id)].i, extent);
  }

  // Kernels move a position into range; here it is an error.
  absl::Status MoveTo(int64_t index, int64_t extent) {
    if (index < -extent || index >= extent) {
      return InvalidArgument("plan ", plan_.name, ": index ", index,
                             " is out of range for an axis of size ", extent);
    }
    axes_.back() = index < 0 ? index + extent : index;
    return absl::OkStatus();
  }

  absl::Status TakeIn(const Inst& inst) {
    if (inst.which != 0) return absl::OkStatus();
    const PlanScan& scan = plan_.scans[static_cast<size_t>(inst.scan)];
    ScanState& state = scans_[static_cast<size_t>(inst.scan)];
    std::vector<ScalarValue> args = state.now;
    for (size_t j = 0; j < scan.dtypes.size(); ++j) {
      JF_RETURN_IF_ERROR(CheckReady(inst.in[j]));
      args.push_back(values_[static_cast<size_t>(inst.in[j])]);
    }
    if (scan.exclusive) state.seen = state.now;
    EvalScalarProgram(scan.combine, args.data(), state.now.data());
    if (!scan.exclusive) state.seen = state.now;
    return absl::OkStatus();
  }

  absl::Status Operate(const Inst& inst, ScalarValue* out) {
    ScalarInst op;
    op.op = inst.op;
    op.dtype = inst.dtype;
    DType types[3] = {};
    ScalarValue in[3];
    for (int k = 0; k < GetScalarOp(inst.op).arity; ++k) {
      JF_RETURN_IF_ERROR(CheckReady(inst.in[k]));
      op.in[k] = static_cast<int16_t>(k);
      types[k] = ComputeType(plan_.insts[static_cast<size_t>(inst.in[k])].dtype);
      in[k] = values_[static_cast<size_t>(inst.in[k])];
    }
    *out = EvalScalarInst(op, types, in);
    return absl::OkStatus();
  }

  const KernelPlan& plan_;
  absl::Span<void* const> buffers_;
  absl::Span<const uint64_t> scalars_;
  std::vector<int64_t> sizes_, parallel_, inner_;
  int64_t block_rows_ = std::numeric_limits<int64_t>::max();  // of a plan with column sums
  std::vector<FlatAccess> accesses_;
  std::vector<StageState> stages_;
  struct ScanState {
    std::vector<ScalarValue> now, seen;  // after the last element; what its instructions give
  };
  std::vector<ScanState> scans_;
  absl::flat_hash_set<int> kept_by_now_;
  std::vector<int> kept_slot_;
  std::vector<std::vector<ScalarValue>> kept_;
  std::vector<ScalarValue> values_, lifted_;
  std::vector<int64_t> stamp_;  // when each value was last computed
  int64_t clock_ = 0, row_stamp_ = 0, elem_stamp_ = 0;
  std::vector<int64_t> axes_;
};

}  // namespace

absl::Status InterpretPlan(const KernelPlan& plan, absl::Span<void* const> buffers,
                           absl::Span<const uint64_t> scalars, absl::Span<const int64_t> symbols) {
  if (buffers.size() != plan.params.size() || scalars.size() != plan.scalars.size()) {
    return InvalidArgument("plan ", plan.name, " takes ", plan.params.size(), " buffers and ",
                           plan.scalars.size(), " scalars, not ", buffers.size(), " and ",
                           scalars.size());
  }
  for (SymbolId s : PlanSymbols(plan)) {
    if (static_cast<size_t>(s) >= symbols.size())
      return InvalidArgument("plan ", plan.name, ": no value for symbol ", s);
  }
  return Machine(plan, buffers, scalars, symbols).Run();
}

}  // namespace jitfuse::internal
