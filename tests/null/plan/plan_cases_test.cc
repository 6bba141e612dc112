// CheckCase: what it lets pass, and what not.
#include "tests/support/plan_cases.h"

#include <algorithm>
#include <string>

#include "codegen/plan/interpret_plan.h"
#include "gtest/gtest-spi.h"
#include "gtest/gtest.h"
#include "ir/scalar_value.h"
#include "tests/support/plan_kit.h"

namespace jitfuse::internal {
namespace {

// How many failures the case has where the results are the interpreter's, times `factor`.
int FailuresOf(const PlanCase& c, double factor) {
  testing::TestPartResultArray results;
  testing::ScopedFakeTestPartResultReporter reporter(
      testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &results);
  CheckCase(c, [&](absl::Span<void* const> buffers, absl::Span<const size_t>,
                   absl::Span<const uint64_t> scalars) {
    const absl::Status status = InterpretPlan(c.plan, buffers, scalars, c.symbols);
    const DType dtype = c.plan.params[1].dtype;
    for (int64_t i = 0; i < c.elements[1]; ++i) {
      char* at = static_cast<char*>(buffers[1]) + i * ItemSize(dtype);
      const double value = ScalarToDouble(ComputeType(dtype), LoadScalar(dtype, at));
      StoreScalar(dtype, ScalarFromDouble(dtype, value * factor), at);
    }
    return status;
  });
  return results.size();
}

// Also of rows so long that each result is less than the step from 1 to the next number: what is
// wrong by more than the op's bound and a rounding is seen, what is within them passes.
TEST(CheckCase, SoftmaxIsHeldToItsBound) {
  struct Type {
    DType dtype;
    double close, wrong;
  };
  for (const Type& t :
       {Type{DType::kBF16, 1 + 0x1p-8, 1 + 0x1p-6}, Type{DType::kF16, 1 + 0x1p-11, 1 + 0x1p-9},
        Type{DType::kF32, 1 + 0x1p-21, 1 + 0x1p-18}, Type{DType::kF64, 1 + 0x1p-50, 1 + 0x1p-47}}) {
    for (const int64_t columns : {100, 20000}) {
      PlanCase c{Softmax(t.dtype, 2, columns, 64, 1, 1, 0), {2 * columns, 2 * columns}, {}};
      c.op = Op::kSoftmax;
      EXPECT_EQ(FailuresOf(c, 1), 0);
      EXPECT_EQ(FailuresOf(c, t.close), 0) << DTypeName(t.dtype) << ", " << columns;
      EXPECT_GT(FailuresOf(c, t.wrong), 0) << DTypeName(t.dtype) << ", " << columns;
      EXPECT_GT(FailuresOf(c, 0), 0);
    }
  }
}

TEST(CheckCase, CasesOfSoftmaxSayWhatTheyAre) {
  const auto is_softmax = [](const PlanCase& c) { return c.plan.name.rfind("softmax_", 0) == 0; };
  for (const PlanCase& c : RowCases()) EXPECT_EQ(c.op.has_value(), is_softmax(c)) << c.plan.name;
  const std::vector<PlanCase> planned = PlannedCases(*TargetFor("sm_90"));
  const auto said = std::count_if(planned.begin(), planned.end(),
                                  [](const PlanCase& c) { return c.op.has_value(); });
  EXPECT_GE(said, 8);  // of other plans it would be wrong: they do more
  for (const PlanCase& c : planned) EXPECT_TRUE(!c.op || is_softmax(c)) << c.plan.name;
}

}  // namespace
}  // namespace jitfuse::internal
