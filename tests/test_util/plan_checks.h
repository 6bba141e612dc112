// What the tests of plans by graph text share: results by plans within the evaluator's bounds, and
// the number of kernels.
#ifndef JITFUSE_TESTS_TEST_UTIL_PLAN_CHECKS_H_
#define JITFUSE_TESTS_TEST_UTIL_PLAN_CHECKS_H_

#include <gtest/gtest.h>

#include <optional>
#include <string_view>
#include <vector>

#include "codegen/fusion/partition.h"
#include "ir/eval.h"
#include "ir/expand.h"
#include "tests/test_util/run_plan.h"

namespace jitfuse::internal {

// Plans for the interpreter, a GPU and a CPU, fused and not.
inline void ExpectPlansAgree(const Graph& graph, const std::vector<HostTensor>& inputs,
                             const std::vector<WideTensor>& want) {
  for (std::string_view arch : {"interpret", "sm_90", "x86-64-v3"}) {
    for (bool fuse : {true, false}) {
      Options options;
      options.fuse = fuse;
      absl::StatusOr<std::vector<HostTensor>> got =
          RunGraphByPlans(graph, inputs, *TargetFor(arch), options);
      ASSERT_TRUE(got.ok()) << got.status() << " " << arch;
      for (size_t o = 0; o < got->size(); ++o) {
        CompareResult r = Compare(want[o], (*got)[o]);
        EXPECT_TRUE(r.ok) << arch << " output " << o << ": " << r.text;
      }
    }
  }
}

inline void ExpectKernels(std::string_view text, int kernels) {
  absl::StatusOr<Graph> expanded = Expand(*ParseGraph(text));
  ASSERT_TRUE(expanded.ok());
  auto none = [](DType) { return std::optional<Reason>(Reason::kGemmNoLibrary); };
  absl::StatusOr<FusionPlan> plan = Partition(*expanded, *TargetFor("sm_90"), {}, none);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(static_cast<int>(plan->groups.size()), kernels) << FusionPlanToString(*expanded, *plan);
  absl::Status legal = VerifyFusionPlan(*expanded, *plan);
  EXPECT_TRUE(legal.ok()) << legal << "\n" << FusionPlanToString(*expanded, *plan);
}

}  // namespace jitfuse::internal

#endif  // JITFUSE_TESTS_TEST_UTIL_PLAN_CHECKS_H_
