#include "ir/support/lru.h"

#include <gtest/gtest.h>

#include <string>

namespace jitfuse::internal {
namespace {

TEST(LruTest, WhatWasAskedForLongestAgoMakesRoom) {
  Lru<int, std::string> map(3);
  for (int i : {1, 2, 3}) EXPECT_EQ(map.Insert(i, std::to_string(i)), std::to_string(i));
  ASSERT_NE(map.Find(1), nullptr);
  map.Insert(4, "4");
  EXPECT_EQ(map.size(), 3u);
  EXPECT_EQ(map.Find(2), nullptr);
  for (int i : {1, 3, 4}) {
    ASSERT_NE(map.Find(i), nullptr) << i;
    EXPECT_EQ(*map.Find(i), std::to_string(i));
  }
  for (int i = 10; i < 1000; ++i) map.Insert(i, "");
  EXPECT_EQ(map.size(), 3u);
}

TEST(LruTest, WhatIsThereStays) {
  Lru<int, std::string> map(2);
  map.Insert(1, "first");
  EXPECT_EQ(map.Insert(1, "second"), "first");
  EXPECT_EQ(map.size(), 1u);
}

}  // namespace
}  // namespace jitfuse::internal
