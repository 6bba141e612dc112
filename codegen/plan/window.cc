#include "codegen/plan/window.h"

#include <algorithm>

#include "codegen/plan/access_map.h"
#include "codegen/plan/streams.h"

namespace jitfuse::internal {
namespace {

// Whether the axes from `begin` to before `end` are walked one element after another.
bool WalksDense(const KernelPlan& plan, const AccessMap& a, int begin, int end) {
  SizeExpr step(1);
  for (int axis = end - 1; axis >= begin; --axis) {
    if (plan.extent(axis).Is(1)) continue;
    if (!(CoefOf(a.linear, axis) == step)) return false;
    step = step * plan.extent(axis);
  }
  return true;
}

bool IsPlain(const AccessMap& a) { return a.masks.empty() && a.terms.empty() && !a.indirect; }

bool IsAligned(const KernelPlan& plan, const AccessMap& a, int vec) {
  const Param& param = plan.params[static_cast<size_t>(a.param)];
  return param.align >= std::min(16, vec * ItemSize(param.dtype));
}

bool WalksRow(const KernelPlan& plan, const AccessMap& a, int vec) {
  const int rows = plan.num_parallel(), all = rows + static_cast<int>(plan.inner.size());
  return IsPlain(a) && IsAligned(plan, a, vec) && WalksDense(plan, a, rows, all);
}

}  // namespace

const AccessMap* WindowOf(const KernelPlan& plan, int vec) {
  for (const Stream& s : ElemStreams(plan)) {
    if (s.heavy && WalksRow(plan, *s.access, vec)) return s.access;
  }
  return nullptr;
}

bool FitsWindow(const KernelPlan& plan, const AccessMap& a, const AccessMap& leader, int vec) {
  if (!WalksRow(plan, a, vec)) return false;
  const auto alike = [vec](const SizeExpr& x, const SizeExpr& y) {
    return (x - y).KnownDivisor() % vec == 0;
  };
  if (!alike(a.linear.constant, leader.linear.constant)) return false;
  for (int axis = 0; axis < plan.num_parallel(); ++axis) {
    if (!alike(CoefOf(a.linear, axis), CoefOf(leader.linear, axis))) return false;
  }
  return true;
}

bool CrossesWindow(const KernelPlan& plan, const AccessMap& a, const AccessMap& leader, int vec) {
  const int size = ItemSize(plan.params[static_cast<size_t>(a.param)].dtype);
  const bool in_words = (size == 2 || size == 4) && (vec * size == 8 || vec * size == 16);
  return in_words && WalksRow(plan, a, vec) && !FitsWindow(plan, a, leader, vec);
}

bool IsDenseAccess(const KernelPlan& plan, const AccessMap& a, int vec) {
  return !plan.IsRow() && IsPlain(a) && IsAligned(plan, a, vec) &&
         WalksDense(plan, a, 0, plan.num_parallel()) && a.linear.constant.KnownDivisor() % vec == 0;
}

}  // namespace jitfuse::internal
