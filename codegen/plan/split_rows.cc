#include "codegen/plan/split_rows.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "codegen/plan/access_map.h"
#include "codegen/plan/plan_finish.h"
#include "codegen/plan/schedule.h"
#include "codegen/plan/streams.h"

namespace jitfuse::internal {
namespace {

// What keeps a target busy: so many chunks, none of fewer points.
struct Share {
  int64_t chunks, points;
};
// A GPU that also writes what it reads gains from more blocks than are resident at once, which do
// not march in step.
constexpr Share kGpu{512, 8 * 1024}, kGpuStoring{2048, 8 * 1024}, kCpu{64, 64 * 1024};

// The plans of a group number their scratch buffers together.
int FreeScratch(const KernelPlan& plan) {
  int free = 0;
  for (const Param& p : plan.params) free = std::max(free, p.scratch + 1);
  return free;
}

bool StoresElements(const KernelPlan& plan) {
  return std::any_of(plan.stages.begin(), plan.stages.end(), [](const Stage& s) {
    return std::any_of(s.stores.begin(), s.stores.end(), [](const Store& st) { return st.elem; });
  });
}

// Chunks store elements themselves, but know no result of a whole row.
bool NeedsNoWholeRow(const KernelPlan& plan) {
  return plan.stages.size() == 1 && !plan.stages[0].reduces.empty() && plan.scans.empty() &&
         !plan.HasColumnSums();
}

Share ShareOf(const KernelPlan& plan, const Target& target) {
  if (target.kind != TargetKind::kCuda) return kCpu;
  return NeedsNoWholeRow(plan) && StoresElements(plan) ? kGpuStoring : kGpu;
}
constexpr int64_t kColumns = 64;      // rows side by side that are reduced together
constexpr int64_t kGranularity = 64;  // chunks of neighbours begin at multiples of it
// Rows shorter than so many chunks are left alone where it is not known that they are few.
constexpr int64_t kChunksIfUnknown = 8;
constexpr int64_t kWorthIt = 4;  // chunks of a row

struct Split {
  int axis = 0;         // of the plan, an inner one: it is cut
  SizeExpr length;      // of a chunk along it
  SizeExpr chunks;      // of a row
  int64_t most = 0;     // chunks in any call
  bool ragged = false;  // the last chunk may end beyond the axis
  int place = 0;        // the new parallel axis
};

// The longest inner axis, as far as that is known.
int CutAxis(const KernelPlan& plan) {
  const int first = plan.num_parallel(), end = first + static_cast<int>(plan.inner.size());
  int best = first;
  for (int axis = first + 1; axis < end; ++axis) {
    const SizeExpr &old = plan.extent(best), &now = plan.extent(axis);
    if (!old.IsConstant()) break;
    if (!now.IsConstant() || now.constant() >= old.constant()) best = axis;
  }
  return best;
}

std::optional<Split> PickSplit(const KernelPlan& plan, const Target& target) {
  if (!plan.IsRow() || target.kind == TargetKind::kInterpret) return std::nullopt;
  const Share share = ShareOf(plan, target);
  const bool columns = LieSideBySide(plan);
  const SizeExpr rows = NumElements(plan.parallel);
  const SizeExpr units = columns ? CeilDiv(rows, kColumns) : rows;
  const int64_t least = columns ? share.points / kColumns : share.points, n = InnerPoints(plan);
  if (rows.Is(0) || n < least * (units.IsConstant() ? kWorthIt : kChunksIfUnknown))
    return std::nullopt;
  if (units.IsConstant() && units.constant() * kWorthIt > share.chunks) return std::nullopt;
  Split s;
  s.axis = CutAxis(plan);
  s.place = columns ? plan.num_parallel() - 1 : plan.num_parallel();
  const int last = plan.num_parallel() + static_cast<int>(plan.inner.size()) - 1;
  const SizeExpr& extent = plan.extent(s.axis);
  const SizeExpr others = NumElements(plan.inner).DivExact(extent).value_or(SizeExpr(1));
  const int64_t granularity = s.axis == last && !columns ? kGranularity : 1;
  const SizeExpr shortest = Max(CeilDiv(least, others), granularity);
  const SizeExpr wanted =
      Max(Min(CeilDiv(extent, shortest), FloorDiv(share.chunks, Max(units, 1))), 1);
  s.length = CeilDiv(CeilDiv(extent, granularity), wanted) * granularity;
  s.chunks = Max(CeilDiv(extent, s.length), 1);
  if (s.chunks.IsConstant() && s.chunks.constant() < 2) return std::nullopt;
  s.most = s.chunks.IsConstant() ? s.chunks.constant() : share.chunks;
  s.ragged = !(s.length * s.chunks == extent);
  return s;
}

// ---- Building plans from a plan's instructions.
class Copier {
 public:
  Copier(const KernelPlan& old, KernelPlan* out) : old_(old), out_(out), to_(old.insts.size(), -1) {
    out->head = old.head;
    out->params = old.params;
    out->scalars = old.scalars;
    out->scalar_values = old.scalar_values;
    out->sizes = old.sizes;
    out->notes = old.notes;
    out->stages.resize(1);
  }

  int Add(Inst inst) {
    out_->insts.push_back(inst);
    return static_cast<int>(out_->insts.size() - 1);
  }
  // A row value or one of the elements, listed where it is computed.
  int AddRow(Inst inst) {
    out_->stages[0].row_insts_before.push_back(Add(inst));
    return out_->stages[0].row_insts_before.back();
  }
  int AddOp(ScalarOp op, DType dtype, bool elem, std::initializer_list<int> in) {
    Inst i;
    i.kind = Inst::Kind::kOp;
    i.op = op;
    i.dtype = dtype;
    i.elem = elem;
    std::copy(in.begin(), in.end(), i.in);
    return elem ? Add(i) : AddRow(i);
  }
  int AddIndex(int axis, bool elem) {
    Inst i;
    i.kind = Inst::Kind::kIndex;
    i.dtype = DType::kI64;
    i.axis = axis;
    i.elem = elem;
    return elem ? Add(i) : AddRow(i);
  }
  int AddSize(const SizeExpr& size) {
    Inst i;
    i.dtype = DType::kI64;
    if (size.IsConstant()) {
      i.bits = ScalarFromInt(DType::kI64, size.constant()).bits();
      return AddRow(i);
    }
    i.kind = Inst::Kind::kSize;
    i.size = static_cast<int>(out_->sizes.size());
    out_->sizes.push_back(size);
    return AddRow(i);
  }
  int AddAccess(AccessMap access) {
    out_->accesses.push_back(std::move(access));
    return static_cast<int>(out_->accesses.size() - 1);
  }

  // What `roots` are made of, below which nothing is asked for.
  std::vector<bool> Needed(const std::vector<int>& roots) const {
    std::vector<bool> needed(old_.insts.size(), false);
    for (int id : roots) needed[static_cast<size_t>(id)] = true;
    for (size_t i = needed.size(); i-- > 0;) {
      for (int in : old_.insts[i].in) {
        if (needed[i] && in >= 0) needed[static_cast<size_t>(in)] = true;
      }
    }
    return needed;
  }
  int Now(int id) const { return to_[static_cast<size_t>(id)]; }
  void Becomes(size_t id, int now) { to_[id] = now; }
  Inst Moved(size_t id) const {
    Inst i = old_.insts[id];
    for (int& in : i.in) in = in < 0 ? in : Now(in);
    return i;
  }

 private:
  const KernelPlan& old_;
  KernelPlan* out_;
  std::vector<int> to_;
};

// ---- The chunks.
class Chunks {
 public:
  Chunks(const KernelPlan& old, const Split& split) : old_(old), split_(split), copy_(old, &out_) {}

  KernelPlan Build() {
    out_.parallel = old_.parallel;
    out_.parallel.insert(out_.parallel.begin() + split_.place, split_.chunks);
    out_.inner = old_.inner;
    const int x = split_.axis - old_.num_parallel();
    out_.inner[static_cast<size_t>(x)] = split_.length;
    const SizeExpr others = NumElements(old_.inner).DivExact(old_.extent(split_.axis)).value_or(0);
    if (old_.inner_bound > 0 && others.IsConstant())
      out_.inner_bound = old_.inner_bound + kGranularity * others.constant();
    MoveInsts();
    MoveReduces();
    MoveStores();
    return std::move(out_);
  }

 private:
  int Axis(int axis) const {
    return axis == kIndirectAxis || axis < split_.place ? axis : axis + 1;
  }
  int Within() const { return Axis(split_.axis); }

  Affine Move(const Affine& a) const {
    Affine out;
    out.constant = a.constant;
    for (const auto& [axis, coef] : a.coefs) {
      AddTo(&out, Axis(axis), coef);
      if (axis == split_.axis) AddTo(&out, split_.place, coef * split_.length);
    }
    return out;
  }
  void Move(std::vector<IndexTerm>* terms) const {
    for (IndexTerm& t : *terms) t.linear = Move(t.linear);
  }
  AccessMap Move(AccessMap a) const {
    const bool cut = split_.ragged && UsesAxis(a, split_.axis);
    a.linear = Move(a.linear);
    Move(&a.terms);
    for (AccessMask& m : a.masks) {
      m.linear = Move(m.linear);
      Move(&m.terms);
    }
    if (!cut) return a;
    Affine at;
    at.coefs.push_back({split_.axis, 1});
    a.masks.push_back({Move(at), {}, 0, old_.extent(split_.axis)});
    return a;
  }

  // The coordinate along the axis that was cut.
  int Along() {
    if (along_ >= 0) return along_;
    const int chunk = copy_.AddIndex(split_.place, false);
    const int first =
        copy_.AddOp(ScalarOp::kMul, DType::kI64, false, {chunk, copy_.AddSize(split_.length)});
    along_ =
        copy_.AddOp(ScalarOp::kAdd, DType::kI64, true, {first, copy_.AddIndex(Within(), true)});
    return along_;
  }

  void MoveInsts() {
    std::vector<int> roots;
    for (const PlanReduce& r : old_.stages[0].reduces)
      roots.insert(roots.end(), r.in.begin(), r.in.end());
    for (const Store& st : old_.stages[0].stores) {
      if (st.elem) roots.push_back(st.value);
    }
    const std::vector<bool> needed = copy_.Needed(roots);
    for (size_t id = 0; id < old_.insts.size(); ++id) {
      if (!needed[id]) continue;
      Inst i = copy_.Moved(id);
      if (i.kind == Inst::Kind::kIndex && i.axis == split_.axis) {
        copy_.Becomes(id, Along());
        continue;
      }
      if (i.kind == Inst::Kind::kIndex) i.axis = Axis(i.axis);
      if (i.kind == Inst::Kind::kLoad)
        i.access = copy_.AddAccess(Move(old_.accesses[static_cast<size_t>(i.access)]));
      copy_.Becomes(id, i.elem ? copy_.Add(i) : copy_.AddRow(i));
    }
  }

  // What lies beyond the axis counts as the neutral element.
  void MoveReduces() {
    int inside = -1;
    if (split_.ragged) {
      const int along = Along();
      const int end = copy_.AddSize(old_.extent(split_.axis));
      inside = copy_.AddOp(ScalarOp::kLt, DType::kBool, true, {along, end});
    }
    Stage& stage = out_.stages[0];
    for (PlanReduce r : old_.stages[0].reduces) {
      for (size_t j = 0; j < r.in.size(); ++j) {
        r.in[j] = copy_.Now(r.in[j]);
        if (inside < 0) continue;
        Inst neutral;
        neutral.dtype = r.dtypes[j];
        neutral.bits = r.init[j];
        neutral.elem = true;
        r.in[j] = copy_.AddOp(ScalarOp::kSelect, r.dtypes[j], true,
                              {inside, r.in[j], copy_.Add(neutral)});
      }
      stage.reduces.push_back(std::move(r));
    }
    const Shape strides = ContiguousStrides(out_.parallel);
    for (size_t r = 0; r < stage.reduces.size(); ++r) {
      for (size_t j = 0; j < stage.reduces[r].in.size(); ++j) {
        Inst result;
        result.kind = Inst::Kind::kResult;
        result.dtype = stage.reduces[r].dtypes[j];
        result.stage = 0;
        result.reduce = static_cast<int>(r);
        result.which = static_cast<int>(j);
        const int value = copy_.Add(result);
        stage.row_insts_after.push_back(value);
        Store store{value, {}, false};
        store.access.param = static_cast<int>(out_.params.size());
        for (int axis = 0; axis < out_.num_parallel(); ++axis)
          AddTo(&store.access.linear, axis, strides[static_cast<size_t>(axis)]);
        Param param;
        param.role = ParamRole::kScratch;
        param.dtype = result.dtype;
        param.scratch =
            FreeScratch(old_) + static_cast<int>(out_.params.size() - old_.params.size());
        param.scratch_bytes = NumElements(out_.parallel) * ItemSize(result.dtype);
        out_.params.push_back(param);
        stage.stores.push_back(std::move(store));
      }
    }
  }

  // Nothing is written beyond the axis.
  void MoveStores() {
    for (const Store& st : old_.stages[0].stores) {
      if (st.elem) out_.stages[0].stores.push_back({copy_.Now(st.value), Move(st.access), true});
    }
  }

  const KernelPlan& old_;
  const Split& split_;
  KernelPlan out_;
  Copier copy_;
  int along_ = -1;
};

// ---- What is made of the chunks' results.
KernelPlan Finish(const KernelPlan& old, const Split& split, const KernelPlan& chunks) {
  KernelPlan out;
  Copier copy(old, &out);
  out.parallel = old.parallel;
  out.inner = {split.chunks};
  out.inner_bound = split.chunks.IsConstant() ? 0 : split.most;
  std::vector<int> roots;
  for (const Store& st : old.stages[0].stores) {
    if (!st.elem) roots.push_back(st.value);
  }
  const std::vector<bool> needed = copy.Needed(roots);
  Stage& stage = out.stages[0];
  auto list = [&](const std::vector<int>& from, std::vector<int>* to) {
    for (int id : from) {
      if (needed[static_cast<size_t>(id)]) to->push_back(copy.Now(id));
    }
  };
  auto move = [&](const std::vector<int>& ids) {
    for (int id : ids) {
      if (!needed[static_cast<size_t>(id)]) continue;
      Inst i = copy.Moved(static_cast<size_t>(id));
      if (i.kind == Inst::Kind::kLoad)
        i.access = copy.AddAccess(old.accesses[static_cast<size_t>(i.access)]);
      copy.Becomes(static_cast<size_t>(id), copy.Add(i));
    }
  };
  // Loads of the scratch buffers stand first; they need nothing.
  size_t store = 0;
  for (PlanReduce r : old.stages[0].reduces) {
    for (size_t j = 0; j < r.in.size(); ++j, ++store) {
      const AccessMap& written = chunks.stages[0].stores[store].access;
      AccessMap read;
      read.param = static_cast<int>(out.params.size());
      out.params.push_back(chunks.params[static_cast<size_t>(written.param)]);
      for (const auto& [axis, coef] : written.linear.coefs) {
        const int now = axis < split.place    ? axis
                        : axis == split.place ? old.num_parallel()
                                              : axis - 1;
        AddTo(&read.linear, now, coef);
      }
      Inst load;
      load.kind = Inst::Kind::kLoad;
      load.dtype = r.dtypes[j];
      load.access = copy.AddAccess(std::move(read));
      load.elem = true;
      r.in[j] = copy.Add(load);
    }
    stage.reduces.push_back(std::move(r));
  }
  move(old.stages[0].row_insts_before);
  move(old.stages[0].row_insts_after);
  list(old.stages[0].row_insts_before, &stage.row_insts_before);
  list(old.stages[0].row_insts_after, &stage.row_insts_after);
  for (Store st : old.stages[0].stores) {
    if (st.elem) continue;
    st.value = copy.Now(st.value);
    stage.stores.push_back(std::move(st));
  }
  return out;
}

// Where it is not known that rows are few: below which number they are.
std::string FewDetail(const KernelPlan& plan, const Target& target) {
  if (IsStatic(plan.parallel)) return "";
  const int64_t few = ShareOf(plan, target).chunks / kWorthIt;
  if (!LieSideBySide(plan)) return absl::StrCat("where there are less than ", few);
  return absl::StrCat("where there are less than ", few * kColumns, ", ", kColumns,
                      " of which are reduced together");
}

}  // namespace

std::vector<KernelPlan> SplitRows(KernelPlan plan, const Target& target, int offset_bits) {
  std::vector<KernelPlan> out;
  const std::optional<Split> split = PickSplit(plan, target);
  if (!split || !NeedsNoWholeRow(plan)) {
    if (split && plan.scans.empty()) {
      plan.notes.push_back({-1, Reason::kFewLongRows, FewDetail(plan, target)});
    }
    out.push_back(std::move(plan));
    return out;
  }
  out.push_back(Chunks(plan, *split).Build());
  out.push_back(Finish(plan, *split, out[0]));
  for (KernelPlan& p : out) p.offset_bits = OffsetBits(p, offset_bits);
  out[0].notes.clear();
  return out;
}

}  // namespace jitfuse::internal
