// Every known chain (bench/common/known_chains.h) is planned as few kernels as it can be, for a GPU
// and for a CPU, and moves no more than what was asked for.
#include <gtest/gtest.h>

#include "bench/common/plan_chain.h"

namespace jitfuse_bench {
namespace {

TEST(KnownChains, AreAtTheirLeastNumberOfKernels) {
  ASSERT_GE(KnownChains().size(), 40u);
  for (const KnownChain& chain : KnownChains()) {
    for (const char* arch : {"sm_90", "x86-64-v3"}) {
      auto plan = PlanChain(chain, arch);
      ASSERT_TRUE(plan.ok()) << chain.name << ": " << plan.status();
      EXPECT_EQ(plan->kernels, chain.least) << chain.name << " for " << arch << "\n" << plan->text;
      // A loss that is one op of the list may be two kernels, with a value of each row between.
      EXPECT_LE(plan->bytes, plan->unfused_bytes + plan->unfused_bytes / 100) << chain.name;
    }
  }
}

}  // namespace
}  // namespace jitfuse_bench
