#include "codegen/fusion/memory_plan.h"

#include <gtest/gtest.h>

#include <random>

namespace jitfuse::internal {
namespace {

bool Meet(const LiveBuffer& a, const LiveBuffer& b) {
  return a.first <= b.last && b.first <= a.last;
}

// Buffers that are alive together are apart, aligned, and inside the arena, for these symbol
// values.
void ExpectSound(const std::vector<LiveBuffer>& values, const MemoryPlan& plan,
                 std::vector<int64_t> symbols) {
  ASSERT_EQ(plan.offsets.size(), values.size());
  int64_t total = plan.total_bytes.Eval(symbols);
  for (size_t i = 0; i < values.size(); ++i) {
    int64_t begin = plan.offsets[i].Eval(symbols), end = begin + values[i].bytes.Eval(symbols);
    EXPECT_EQ(begin % kBufferAlign, 0);
    EXPECT_GE(begin, 0);
    EXPECT_LE(end, total);
    for (size_t j = 0; j < i; ++j) {
      int64_t other = plan.offsets[j].Eval(symbols),
              other_end = other + values[j].bytes.Eval(symbols);
      if (begin == end || other == other_end || !Meet(values[i], values[j])) continue;
      EXPECT_TRUE(end <= other || other_end <= begin)
          << i << " [" << begin << "," << end << ") and " << j << " [" << other << "," << other_end
          << ")";
    }
  }
}

TEST(MemoryPlan, RandomBuffersNeverOverlap) {
  std::mt19937 rng(7);
  for (int round = 0; round < 300; ++round) {
    std::vector<LiveBuffer> values;
    int count = static_cast<int>(rng() % 40);
    for (int i = 0; i < count; ++i) {
      int first = static_cast<int>(rng() % 30);
      SizeExpr bytes(static_cast<int64_t>(rng() % 5000));
      if (rng() % 2)
        bytes = SizeExpr::Symbol(static_cast<SymbolId>(rng() % 2)) *
                SizeExpr(static_cast<int64_t>(4 << (rng() % 8)));
      if (rng() % 5 == 0) bytes = bytes * SizeExpr::Symbol(1) + SizeExpr(12);
      values.push_back({bytes, first, first + static_cast<int>(rng() % 6), rng() % 8 == 0});
    }
    MemoryPlan plan = PlanMemory(values);
    for (std::vector<int64_t> symbols :
         {std::vector<int64_t>{0, 0}, {1, 1}, {7, 300}, {1000, 3}, {512, 512}})
      ExpectSound(values, plan, symbols);
  }
}

TEST(MemoryPlan, AChainNeedsTwoBuffers) {
  for (SizeExpr bytes : {SizeExpr(1 << 20), SizeExpr::Symbol(0) * SizeExpr(4096)}) {
    std::vector<LiveBuffer> values;
    for (int i = 0; i < 50; ++i) values.push_back({bytes, i, i + 1});
    MemoryPlan plan = PlanMemory(values);
    EXPECT_EQ(plan.total_bytes.Eval({256}), 2 << 20);
  }
}

// Whatever the others are: they lie as they do without it.
TEST(MemoryPlan, BuffersApartAddTheirBytes) {
  const std::vector<LiveBuffer> values = {
      {1024, 0, 1}, {SizeExpr::Symbol(0) * 4, 0, 3}, {512, 2, 3}};
  const MemoryPlan without = PlanMemory(values);
  std::vector<LiveBuffer> more = values;
  more.insert(more.begin() + 1, {SizeExpr::Symbol(0) * 4 + 2, 1, 1, /*apart=*/true});
  more.push_back({300, 3, 3, /*apart=*/true});
  const MemoryPlan with = PlanMemory(more);
  EXPECT_EQ(with.offsets[3], without.offsets[2]);
  EXPECT_EQ(with.offsets[1], without.total_bytes);
  EXPECT_EQ(with.total_bytes.Eval({64}), without.total_bytes.Eval({64}) + 512 + 512);
}

TEST(MemoryPlan, BestFitTakesTheSmallestHole) {
  // Two holes, of 1024 and 512 bytes, between buffers that stay.
  std::vector<LiveBuffer> values = {{1024, 0, 0}, {256, 0, 9}, {512, 0, 0},
                                    {256, 0, 9},  {512, 1, 2}, {1024, 1, 2}};
  MemoryPlan plan = PlanMemory(values);
  EXPECT_TRUE(plan.offsets[4] == plan.offsets[2]);
  EXPECT_TRUE(plan.offsets[5] == plan.offsets[0]);
  EXPECT_TRUE(plan.total_bytes.Is(2048));
}

TEST(MemoryPlan, NeighbouringHolesBecomeOne) {
  std::vector<LiveBuffer> values = {
      {256, 0, 0}, {256, 0, 0}, {256, 0, 0}, {256, 0, 5}, {768, 1, 1}};
  EXPECT_TRUE(PlanMemory(values).total_bytes.Is(1024));
}

TEST(MemoryPlan, NothingIsNothing) {
  EXPECT_TRUE(PlanMemory({}).total_bytes.Is(0));
  EXPECT_TRUE(PlanMemory({{0, 0, 3}}).total_bytes.Is(0));
}

TEST(MemoryPlan, SymbolicSizesThatDifferShareTheLargerSlot) {
  SizeExpr n = SizeExpr::Symbol(0);
  MemoryPlan plan = PlanMemory({{n * SizeExpr(256), 0, 0}, {n * SizeExpr(1024), 1, 1}});
  EXPECT_EQ(plan.total_bytes.Eval({3}), 3072);
  EXPECT_NE(MemoryPlanToString({{n * SizeExpr(256), 0, 0}}, PlanMemory({{n * SizeExpr(256), 0, 0}}),
                               {"n"})
                .find("n*256 bytes at 0, steps 0..0"),
            std::string::npos);
}

// A backward chain: gradients behind an activation (even ones, read by two products each) and
// before it, and scratch of the sums beside the former.
TEST(MemoryPlan, WhatHasHeldAsMuchIsTakenFirst) {
  const SizeExpr n = SizeExpr::Symbol(0), large = n * SizeExpr(2048);
  const SizeExpr scratch = CeilDiv(n, SizeExpr(64)) * SizeExpr(4096);
  std::vector<LiveBuffer> values;
  for (int layer = 0; layer < 5; ++layer) {
    const int step = 3 * layer;
    values.push_back({large, step, step + 2});
    values.push_back({scratch, step, step});
    values.push_back({large, step + 2, step + 3});
  }
  const MemoryPlan plan = PlanMemory(values);
  ExpectSound(values, plan, {4096});
  EXPECT_EQ(plan.total_bytes.Eval({4096}), 2 * 4096 * 2048 + 64 * 4096);
}

TEST(MemoryPlan, LentMemoryIsLentToOneAtATime) {
  std::mt19937 rng(11);
  int lent = 0;
  for (int round = 0; round < 300; ++round) {
    std::vector<LiveBuffer> values;
    std::vector<Lender> lenders;
    const auto bytes = [&] {
      const SizeExpr size(static_cast<int64_t>(rng() % 4) * 64);
      return rng() % 2 ? size * SizeExpr::Symbol(static_cast<SymbolId>(rng() % 2)) : size;
    };
    for (int i = static_cast<int>(rng() % 20); i > 0; --i) {
      const int first = static_cast<int>(rng() % 20);
      values.push_back({bytes(), first, first + static_cast<int>(rng() % 5)});
    }
    for (int i = static_cast<int>(rng() % 4); i > 0; --i)
      lenders.push_back({bytes(), static_cast<int>(rng() % 24)});
    const std::vector<int> by = LendMemory(values, lenders);
    ASSERT_EQ(by.size(), values.size());
    for (size_t i = 0; i < values.size(); ++i) {
      if (by[i] < 0) continue;
      ++lent;
      const Lender& lender = lenders[static_cast<size_t>(by[i])];
      EXPECT_LT(values[i].last, lender.until);
      for (std::vector<int64_t> symbols : {std::vector<int64_t>{0, 0}, {1, 9}, {300, 7}})
        EXPECT_LE(values[i].bytes.Eval(symbols), lender.bytes.Eval(symbols));
      for (size_t j = 0; j < i; ++j) {
        if (by[j] == by[i]) EXPECT_FALSE(Meet(values[i], values[j])) << i << " " << j;
      }
    }
  }
  EXPECT_GT(lent, 100);
}

// The last product writes the lender: what is alive then stays, all else takes turns.
TEST(MemoryPlan, LendersServeTheLastBuffersFirst) {
  const SizeExpr bytes = SizeExpr::Symbol(0) * SizeExpr(64);
  std::vector<LiveBuffer> values;
  for (int i = 0; i < 8; ++i) values.push_back({bytes, i, i + 1});
  const std::vector<int> by = LendMemory(values, {{bytes, 8}});
  EXPECT_EQ(by, (std::vector<int>{0, -1, 0, -1, 0, -1, 0, -1}));
  EXPECT_EQ(LendMemory(values, {{bytes, 0}, {SizeExpr(64), 9}}), std::vector<int>(8, -1));
}

}  // namespace
}  // namespace jitfuse::internal
