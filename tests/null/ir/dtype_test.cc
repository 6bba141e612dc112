// Numbers that are no dtype's: callers of the API can make them.
#include "ir/dtype.h"

#include <gtest/gtest.h>

namespace jitfuse::internal {
namespace {

TEST(DTypeTest, EveryNumberHasANameAndASize) {
  for (int i = 0; i < 256; ++i) {
    const auto d = static_cast<DType>(i);
    if (i < kNumDTypes) {
      EXPECT_GT(ItemSize(d), 0);
      EXPECT_EQ(ParseDType(DTypeName(d)), d);
    } else {
      EXPECT_EQ(ItemSize(d), 0) << i;
      EXPECT_EQ(DTypeName(d), "invalid") << i;
    }
  }
}

}  // namespace
}  // namespace jitfuse::internal
