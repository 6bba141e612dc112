#include "jit/size_plan.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace jitfuse::internal {
namespace {

using ::testing::ElementsAre;

const SizeExpr kN = SizeExpr::Symbol(0), kM = SizeExpr::Symbol(1);

TEST(SizePlanTest, ValuesLieInTheOrderOfTheSizes) {
  SizePlan plan;
  const std::vector<SizeExpr> sizes = {7,  kN * 4,          kM,         kN * 4, 0, CeilDiv(kN, 4),
                                       kM, Max(kN, kM) - 1, kN * kM + 3};
  for (size_t i = 0; i < sizes.size(); ++i) EXPECT_EQ(plan.Add(sizes[i]), i);
  EXPECT_EQ(plan.size(), sizes.size());
  EXPECT_THAT(plan.Eval({5, 3}), ElementsAre(7, 20, 3, 20, 0, 2, 3, 4, 18));
  EXPECT_THAT(plan.Eval({0, 1}), ElementsAre(7, 0, 1, 0, 0, 0, 1, 0, 3));
  EXPECT_THAT(SizePlan().Eval({}), ElementsAre());
}

// More distinct sizes than a new one is compared with.
TEST(SizePlanTest, ManySizes) {
  SizePlan plan;
  for (int round = 0; round < 2; ++round) {
    for (int64_t i = 0; i < 200; ++i) plan.Add(kN * (i + 1));
  }
  const std::vector<int64_t> values = plan.Eval({3});
  ASSERT_EQ(values.size(), 400u);
  for (size_t i = 0; i < values.size(); ++i)
    EXPECT_EQ(values[i], 3 * static_cast<int64_t>(i % 200 + 1));
}

TEST(SizePlanTest, TheGreatestOfSizesAreThoseThatNoneIsAMultipleOf) {
  EXPECT_THAT(GreatestOf({kN * 64, kN * 4096, kN}), ElementsAre(kN * 4096));
  EXPECT_THAT(GreatestOf({kN * 4096, kN * 64, kN * 4096}), ElementsAre(kN * 4096));
  EXPECT_THAT(GreatestOf({8, 3, kN, 4}), ElementsAre(8, 3, kN));
  // Which is more depends on the symbols, n = 0 among them.
  EXPECT_THAT(GreatestOf({kN * 2, kN * 3, kM, kN * kM}), ElementsAre(kN * 2, kN * 3, kM, kN * kM));
  EXPECT_THAT(GreatestOf({}), ElementsAre());
  EXPECT_EQ(GreatestOf(std::vector<SizeExpr>(100, kN)).size(), 100u);
}

}  // namespace
}  // namespace jitfuse::internal
