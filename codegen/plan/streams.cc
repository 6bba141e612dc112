#include "codegen/plan/streams.h"

#include <algorithm>

#include "codegen/plan/access_map.h"

namespace jitfuse::internal {
namespace {

// Rows fewer than this are not worth vectors of columns.
constexpr int64_t kMinColumns = 8;

bool IsHeavy(const KernelPlan& plan, const AccessMap& a) {
  const int axes = plan.num_parallel() + static_cast<int>(plan.inner.size());
  for (int axis = 0; axis < axes; ++axis) {
    if (!plan.extent(axis).Is(1) && !UsesAxis(a, axis)) return false;
  }
  // One flat axis walked by remainder is a broadcast too.
  return !(a.linear.coefs.empty() && a.terms.size() == 1 && !a.terms[0].mod.Is(0));
}

bool StepsByOne(const AccessMap& a, int axis) {
  std::optional<SizeExpr> step = StrideAlong(a, axis);
  return step && step->Is(1);
}

}  // namespace

std::vector<Stream> ElemStreams(const KernelPlan& plan) {
  std::vector<Stream> out;
  std::vector<bool> seen(plan.accesses.size(), false);
  for (const Inst& i : plan.insts) {
    if (i.kind != Inst::Kind::kLoad || !i.elem || seen[static_cast<size_t>(i.access)]) continue;
    seen[static_cast<size_t>(i.access)] = true;
    const AccessMap& a = plan.accesses[static_cast<size_t>(i.access)];
    out.push_back({&a, IsHeavy(plan, a), false});
  }
  for (const Stage& s : plan.stages) {
    for (const Store& st : s.stores) {
      if (st.elem) out.push_back({&st.access, true, true});
    }
  }
  return out;
}

bool LieSideBySide(const KernelPlan& plan) {
  if (!plan.IsRow()) return false;
  const SizeExpr& neighbours = plan.parallel.back();
  if (neighbours.IsConstant() && neighbours.constant() < kMinColumns) return false;
  const int side = plan.num_parallel() - 1,
            along = plan.num_parallel() - 1 + static_cast<int>(plan.inner.size());
  bool any = false;
  for (const Stream& s : ElemStreams(plan)) {
    if (!s.heavy) continue;
    if (StepsByOne(*s.access, along) && !plan.extent(along).Is(1)) return false;
    any = any || StepsByOne(*s.access, side);
  }
  return any;
}

std::vector<int> TransposedLoads(const KernelPlan& plan, int axis) {
  std::vector<int> out;
  const int last = plan.num_parallel() - 1;
  if (plan.IsRow() || axis < 0 || axis >= last) return out;
  for (size_t k = 0; k < plan.accesses.size(); ++k) {
    const AccessMap& a = plan.accesses[k];
    std::optional<SizeExpr> step = StrideAlong(a, last);
    if (!a.indirect && StepsByOne(a, axis) && step && !step->Is(0) && !step->Is(1) &&
        IsHeavy(plan, a))
      out.push_back(static_cast<int>(k));
  }
  return out;
}

int TransposedAxis(const KernelPlan& plan) {
  int best = -1, most = 0;
  for (int axis = plan.num_parallel() - 2; axis >= 0; --axis) {
    if (plan.extent(axis).Is(1)) continue;
    int bytes = 0;
    for (int k : TransposedLoads(plan, axis))
      bytes += ItemSize(
          plan.params[static_cast<size_t>(plan.accesses[static_cast<size_t>(k)].param)].dtype);
    if (bytes > most) {
      best = axis;
      most = bytes;
    }
  }
  return best;
}

bool WalksStrided(const KernelPlan& plan) {
  const std::vector<Stream> streams = ElemStreams(plan);
  return std::any_of(streams.begin(), streams.end(), [&](const Stream& s) {
    return s.heavy && !IsUniformAccess(plan, *s.access) && !IsVectorAccess(plan, *s.access, 1);
  });
}

}  // namespace jitfuse::internal
