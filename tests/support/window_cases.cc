#include <algorithm>
#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/support/plan_cases.h"
#include "tests/support/plan_kit.h"

namespace jitfuse::internal {
namespace {

constexpr int64_t kRows = 5, kColumns = 1001, kWithGap = 1009;  // the gap: vectors of 8 elements

// Where the rows of an operand begin.
struct RowsAt {
  int64_t stride = kColumns, begin = 0;

  int64_t elements() const { return begin + (kRows - 1) * stride + kColumns; }
  void ApplyTo(AccessMap* access) const {
    for (auto& [axis, coef] : access->linear.coefs) {
      if (axis == 0) coef = SizeExpr(stride);
    }
    access->linear.constant = SizeExpr(begin);
  }
};

PlanCase WindowCase(DType dtype, int offset_bits, bool kept, RowsAt in, RowsAt out, bool in_place) {
  constexpr int kThreads = 32;
  const int vec = std::min(8, 16 / ItemSize(dtype)), pass = kThreads * vec;
  const int items = kept ? (static_cast<int>(kColumns) + vec - 1 + pass - 1) / pass : 0;
  PlanCase c{LayerNorm(dtype, kRows, kColumns, kThreads, 2, vec, items),
             {in.elements(), out.elements(), kRows},
             {}};
  c.in_place = in_place;
  c.plan.name = absl::StrCat(c.plan.name, "_", offset_bits, kept ? "_kept" : "_again", "_from_",
                             in.stride, "_", in.begin, in_place ? "_in_place" : "");
  c.plan.offset_bits = offset_bits;
  c.plan.params[0].may_alias = in_place;
  for (AccessMap& access : c.plan.accesses) in.ApplyTo(&access);
  for (Stage& stage : c.plan.stages) {
    for (Store& store : stage.stores) {
      if (store.elem) out.ApplyTo(&store.access);
    }
  }
  std::get<CudaSchedule>(c.plan.schedule).window = true;
  return c;
}

}  // namespace

std::vector<PlanCase> WindowCases() {
  const RowsAt dense, gaps{kWithGap, 0}, later{kColumns, 3}, later_by_a_vector{kColumns, 11};
  std::vector<PlanCase> cases;
  for (DType dtype : {DType::kF32, DType::kBF16}) {
    for (int offset_bits : {32, 64}) {
      for (bool kept : {true, false}) {
        const auto add = [&](RowsAt in, RowsAt out, bool in_place) {
          cases.push_back(WindowCase(dtype, offset_bits, kept, in, out, in_place));
        };
        add(dense, dense, true);
        add(gaps, dense, false);
        add(gaps, gaps, true);
        add(later, later_by_a_vector, false);
      }
    }
  }
  return cases;
}

}  // namespace jitfuse::internal
