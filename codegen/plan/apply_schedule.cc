// ApplySchedule: what each stage computes and what is kept from one to the next. Declared in
// schedule.h.
//
// A value that a later stage needs may be kept (held per row at compute width) or computed again
// from its loads. For each border between stages the frontier is the set of values nearest to the
// later stage's roots that an earlier stage has computed. Keeping the frontier is one choice,
// keeping the loads below it the other; values that come cheaply from what is already kept, or from
// data that all rows share, are never kept. On a CPU a row that fits is in the cache anyway, so
// that reading it again with vectors is cheaper than keeping a copy.
#include <algorithm>
#include <limits>

#include "codegen/plan/access_map.h"
#include "codegen/plan/schedule.h"
#include "codegen/plan/streams.h"
#include "ir/support/check.h"
#include "ir/support/status.h"

namespace jitfuse::internal {
namespace {

constexpr int kCheap = 6;  // issue slots for which nothing new is kept if the operands are at hand
constexpr int kDear =
    12;  // issue slots above which the frontier is kept though loads would be fewer
// On a GPU at most 32 registers of each of 1024 threads.
constexpr int64_t kMostKept = int64_t{32} * 4 * 1024;
// On a CPU a core's second cache has at least this many bytes.
constexpr int64_t kCachedRow = 256 * 1024;
constexpr int kCacheLine = 64;
constexpr int kReload = 3;  // issue slots of reading a cached vector again

class KeepPlanner {
 public:
  KeepPlanner(const KernelPlan& plan, const Target& target) : plan_(plan), target_(target) {
    size_t n = plan.insts.size();
    first_.assign(n, -1);
    last_.assign(n, -1);
    shared_.assign(n, false);
    cached_.assign(n, false);
    for (size_t i = 0; i < n; ++i) {
      const Inst& inst = plan.insts[i];
      shared_[i] = IsShared(i);
      cached_[i] = target.kind == TargetKind::kCpu && inst.kind == Inst::Kind::kLoad && inst.elem &&
                   IsVectorAccess(plan, plan.accesses[static_cast<size_t>(inst.access)], 1);
    }
  }

  // keep: whether anything may be held. False if that does not fit.
  bool Run(bool keep) {
    keep_.assign(plan_.insts.size(), false);
    lists_.assign(plan_.stages.size(), {});
    for (size_t s = 0; s < plan_.stages.size(); ++s) {
      if (keep && s > 0) KeepFor(static_cast<int>(s));
      List(static_cast<int>(s));
    }
    return !keep || Fits();
  }

  std::vector<int> Kept() const {
    std::vector<int> out;
    for (size_t i = 0; i < keep_.size(); ++i) {
      if (keep_[i]) out.push_back(static_cast<int>(i));
    }
    return out;
  }
  std::vector<std::vector<int>>& lists() { return lists_; }

  // Whether some stage reads again, per row, what an earlier one had and the chip no longer has.
  bool Rereads() const {
    std::vector<int> times(plan_.insts.size(), 0);
    for (const auto& list : lists_) {
      for (int id : list) ++times[static_cast<size_t>(id)];
    }
    int point = 0;  // bytes
    for (size_t i = 0; i < times.size(); ++i) {
      if (times[i] > 1 && plan_.insts[i].kind == Inst::Kind::kLoad && !shared_[i])
        point += plan_.columns ? kCacheLine : ItemSize(ParamOf(i).dtype);
    }
    if (point == 0) return false;
    if (target_.kind != TargetKind::kCpu) return true;
    const int64_t points = InnerPoints(plan_);  // 0: nobody knows
    return points == 0 || points > kCachedRow / point;
  }

 private:
  const Inst& At(int id) const { return plan_.insts[static_cast<size_t>(id)]; }
  const Param& ParamOf(size_t load) const {
    const AccessMap& access = plan_.accesses[static_cast<size_t>(plan_.insts[load].access)];
    return plan_.params[static_cast<size_t>(access.param)];
  }
  bool Computed(int id) const { return first_[static_cast<size_t>(id)] >= 0; }

  // Row values, and elem values that do not differ between rows.
  bool IsShared(size_t i) const {
    const Inst& inst = plan_.insts[i];
    if (inst.kind == Inst::Kind::kLoad) {
      if (inst.elem && NumElements(plan_.parallel).Is(1)) return false;  // there is one row only
      if (inst.in[0] >= 0 && !shared_[static_cast<size_t>(inst.in[0])]) return false;
      for (int axis = 0; axis < plan_.num_parallel(); ++axis) {
        if (!plan_.extent(axis).Is(1) &&
            UsesAxis(plan_.accesses[static_cast<size_t>(inst.access)], axis))
          return false;
      }
      return true;
    }
    if (inst.kind == Inst::Kind::kResult) return false;
    if (inst.kind == Inst::Kind::kIndex)
      return inst.axis >= plan_.num_parallel() || plan_.extent(inst.axis).Is(1);
    for (int in : inst.in) {
      if (in >= 0 && !shared_[static_cast<size_t>(in)]) return false;
    }
    return true;
  }

  std::vector<int> Roots(int stage) const {
    std::vector<int> roots;
    const Stage& s = plan_.stages[static_cast<size_t>(stage)];
    for (const PlanReduce& r : s.reduces) roots.insert(roots.end(), r.in.begin(), r.in.end());
    for (const ColumnSum& sum : s.column_sums)
      roots.insert(roots.end(), sum.reduce.in.begin(), sum.reduce.in.end());
    for (const Store& st : s.stores) {
      if (st.elem) roots.push_back(st.value);
    }
    return roots;
  }

  // Elem instructions below `roots`; where `stop` holds, the instruction is given to `at_stop` and
  // not entered.
  template <typename Stop, typename AtStop, typename Visit>
  void Walk(std::vector<int> stack, Stop stop, AtStop at_stop, Visit visit) const {
    std::vector<bool> seen(plan_.insts.size(), false);
    while (!stack.empty()) {
      int id = stack.back();
      stack.pop_back();
      if (!At(id).elem || seen[static_cast<size_t>(id)]) continue;
      seen[static_cast<size_t>(id)] = true;
      if (stop(id)) {
        at_stop(id);
        continue;
      }
      visit(id);
      for (int in : At(id).in) {
        if (in >= 0) stack.push_back(in);
      }
    }
  }

  bool IsKept(int id) const { return keep_[static_cast<size_t>(id)] && Computed(id); }

  void KeepFor(int stage) {
    std::vector<int> frontier, loads;
    Walk(
        Roots(stage),
        [&](int id) { return IsKept(id) || (Computed(id) && !shared_[static_cast<size_t>(id)]); },
        [&](int id) {
          if (!IsKept(id)) frontier.push_back(id);
        },
        [](int) {});
    int cost = 0;
    Walk(
        frontier, [&](int id) { return IsKept(id); }, [](int) {},
        [&](int id) {
          const Inst& inst = At(id);
          if (inst.kind == Inst::Kind::kLoad && !shared_[static_cast<size_t>(id)]) {
            if (cached_[static_cast<size_t>(id)]) {
              cost += kReload;
            } else {
              loads.push_back(id);
            }
          }
          if (inst.kind == Inst::Kind::kOp) cost += GetScalarOp(inst.op).cost;
        });
    bool nothing_new = loads.empty() && cost <= kCheap;
    if (nothing_new || frontier.empty()) return;
    bool keep_loads = !loads.empty() && loads.size() < frontier.size() && cost <= kDear;
    for (int id : keep_loads ? loads : frontier)
      keep_[static_cast<size_t>(id)] = !cached_[static_cast<size_t>(id)];
  }

  void List(int stage) {
    std::vector<int>& list = lists_[static_cast<size_t>(stage)];
    Walk(
        Roots(stage), [&](int id) { return IsKept(id) && first_[static_cast<size_t>(id)] < stage; },
        [&](int id) { last_[static_cast<size_t>(id)] = stage; },
        [&](int id) { list.push_back(id); });
    std::sort(list.begin(), list.end());
    for (int id : list) {
      if (!Computed(id)) first_[static_cast<size_t>(id)] = stage;
    }
  }

  // The most that is held at once over any border.
  bool Fits() const {
    for (int border = 1; border < static_cast<int>(plan_.stages.size()); ++border) {
      int values = 0, bytes = 4;
      for (size_t i = 0; i < keep_.size(); ++i) {
        if (!keep_[i] || first_[i] >= border || last_[i] < border) continue;
        ++values;
        bytes = std::max(bytes, ItemSize(ComputeType(plan_.insts[i].dtype)));
      }
      if (values > 0 && !RowFits(plan_, target_, values, bytes)) return false;
    }
    return true;
  }

  const KernelPlan& plan_;
  const Target& target_;
  std::vector<int> first_,
      last_;  // the stage that computes a value, the last one that reads it kept
  std::vector<bool> keep_, shared_, cached_;
  std::vector<std::vector<int>> lists_;
};

void ListFlat(KernelPlan* plan) {
  std::vector<int>& list = plan->stages[0].elem_insts;
  list.resize(plan->insts.size());
  for (size_t i = 0; i < list.size(); ++i) list[i] = static_cast<int>(i);
}

void ListRow(KernelPlan* plan, const Target& target) {
  KeepPlanner keeping(*plan, target);
  // On a GPU a scanned row is walked in chunks, which leave nothing in registers.
  bool fits = keeping.Run(true) && (plan->scans.empty() || target.kind != TargetKind::kCuda);
  KeepPlanner rereading(*plan, target);
  if (!fits) rereading.Run(false);
  KeepPlanner& chosen = fits ? keeping : rereading;
  plan->keep = chosen.Kept();
  const bool cpu = target.kind == TargetKind::kCpu;  // reads again what fits, from its caches
  if ((!fits || cpu) && chosen.Rereads()) plan->notes.push_back({-1, Reason::kRowReread, ""});
  for (size_t s = 0; s < plan->stages.size(); ++s)
    plan->stages[s].elem_insts = std::move(chosen.lists()[s]);
}

}  // namespace

int64_t InnerPoints(const KernelPlan& plan) {
  SizeExpr n = NumElements(plan.inner);
  return n.IsConstant() ? n.constant() : plan.inner_bound;
}

bool HasLongScan(const KernelPlan& plan) {
  if (plan.scans.empty() || NumElements(plan.inner).Is(0)) return false;
  int64_t points = InnerPoints(plan);
  return points == 0 || points > kLongScan;
}

bool RowFits(const KernelPlan& plan, const Target& target, int values, int bytes) {
  SizeExpr n = NumElements(plan.inner);
  int64_t points = InnerPoints(plan);
  if (points == 0) return n.IsConstant();  // an empty row fits, an unknown one does not
  int64_t row = 0;
  // A block of threads that goes through many rows is alone on its core, if need be.
  const int64_t most = target.max_row_bytes_kept * (plan.HasColumnSums() ? 2 : 1);
  if (__builtin_mul_overflow(points, static_cast<int64_t>(values) * bytes, &row) || row > most)
    return false;
  // Of columns, at least 32 are held side by side.
  constexpr int64_t kColumns = 32;
  if (plan.columns && row > kMostKept / kColumns) return false;
  return target.kind != TargetKind::kCuda || row <= kMostKept;
}

absl::Status ApplySchedule(KernelPlan* plan, const Target& target) {
  if (plan->stages.empty()) return InternalError("plan ", plan->name, " has no stages");
  std::erase_if(plan->notes, [](const Note& n) {
    return n.reason == Reason::kRowReread || n.reason == Reason::kScalarAccess ||
           n.reason == Reason::kStridedReduce || n.reason == Reason::kScanInOrder ||
           n.reason == Reason::kTransposedAccess || n.reason == Reason::kSegmentInOrder ||
           n.reason == Reason::kColumnSumsInMemory;
  });
  plan->keep.clear();
  plan->columns = target.kind != TargetKind::kInterpret && plan->scans.empty() &&
                  !plan->HasColumnSums() && LieSideBySide(*plan);
  if (plan->IsRow()) {
    ListRow(plan, target);
  } else {
    ListFlat(plan);
  }
  if (plan->HasSegments()) plan->notes.push_back({-1, Reason::kSegmentInOrder, ""});
  switch (target.kind) {
    case TargetKind::kCuda:
      plan->schedule = PickCudaSchedule(*plan, target, &plan->notes);
      break;
    case TargetKind::kCpu:
      plan->schedule = PickCpuSchedule(*plan, target, &plan->notes);
      break;
    case TargetKind::kInterpret:
      plan->schedule = std::monostate();
      break;
  }
  return absl::OkStatus();
}

}  // namespace jitfuse::internal
