// Emitted CUDA sources run on the CPU (tests/support/cuda_on_host.h) against the plan interpreter:
// every idiom, guards, tails and layouts.
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/cuda_on_host.h"
#include "tests/support/plan_cases.h"

namespace jitfuse::internal {
namespace {

void RunOnHost(const std::vector<PlanCase>& cases) {
  std::vector<KernelPlan> plans;
  for (const PlanCase& c : cases) plans.push_back(c.plan);
  absl::StatusOr<CudaOnHost> host = CudaOnHost::Compile(plans, *TargetFor("sm_90"));
  if (absl::IsUnavailable(host.status())) GTEST_SKIP() << host.status();
  ASSERT_TRUE(host.ok()) << host.status();
  for (size_t k = 0; k < cases.size(); ++k) {
    CheckCase(cases[k], [&](absl::Span<void* const> buffers, absl::Span<const size_t>,
                            absl::Span<const uint64_t> scalars) {
      return host->Run(k, buffers, scalars, cases[k].symbols);
    });
  }
}

TEST(EmulatedCuda, Flat) { RunOnHost(FlatCases()); }
TEST(EmulatedCuda, Layouts) { RunOnHost(LayoutCases()); }
TEST(EmulatedCuda, Rows) { RunOnHost(RowCases()); }
TEST(EmulatedCuda, Conversions) { RunOnHost(ConversionCases()); }
TEST(EmulatedCuda, Primitives) { RunOnHost(PrimitiveCases()); }
TEST(EmulatedCuda, Planned) { RunOnHost(PlannedCases(*TargetFor("sm_90"))); }

}  // namespace
}  // namespace jitfuse::internal
