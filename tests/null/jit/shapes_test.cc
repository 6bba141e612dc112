// How many kernels streams of shapes compile, on a GPU that compiles nothing: an sm_90.
#include <algorithm>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "ir/text.h"
#include "jit/call_cache.h"
#include "tests/null/jit/timed_backend.h"
#include "tests/test_util/shape_chains.h"

namespace jitfuse::internal {
namespace {

alignas(64) char g_memory[64];

class Stream {
 public:
  Stream(const ShapeChain& chain, Dynamic dynamic) : chain_(chain) {
    Options options;
    options.dynamic = dynamic;
    cache_ = std::make_unique<CallCache>(*ParseGraph(chain.text), options, &backend_, &kernels_);
  }

  // `offset`: bytes from aligned memory to each input.
  std::shared_ptr<const BoundCall> Call(int64_t n, int64_t m, size_t offset = 0) {
    const std::vector<std::vector<int64_t>> dims = ChainInputs(chain_, n, m);
    std::vector<TensorView> views;
    for (const auto& d : dims) views.push_back({g_memory + offset, DType::kF32, d, {}});
    absl::StatusOr<std::shared_ptr<const BoundCall>> bound = cache_->Find(views, {});
    EXPECT_TRUE(bound.ok()) << chain_.name << " of " << n << " x " << m << ": " << bound.status();
    return bound.ok() ? *bound : nullptr;
  }
  int64_t kernels() const { return cache_->stats().compiled; }
  CallCache& cache() { return *cache_; }

 private:
  const ShapeChain& chain_;
  TimedBackend backend_;
  KernelCache kernels_;
  std::unique_ptr<CallCache> cache_;
};

TEST(ShapesTest, FewKernelsServeAThousandShapes) {
  for (const ShapeChain& chain : kShapeChains) {
    Stream stream(chain, Dynamic::kAll);
    for (auto [n, m] : RandomShapes(1000)) ASSERT_NE(stream.Call(n, m), nullptr);
    EXPECT_LE(stream.kernels(), 8) << chain.name;
    EXPECT_GE(stream.kernels(), 1) << chain.name;
  }
}

TEST(ShapesTest, RowsOfAnySizeAreReadInVectors) {
  Stream stream(kShapeChains[0], Dynamic::kAll);
  for (int64_t m : {1, 63, 64, 5000, 8192}) {
    const std::shared_ptr<const BoundCall> bound = stream.Call(40, m);
    ASSERT_NE(bound, nullptr);
    const CudaSchedule& s = bound->executable->plans.at(0).cuda();
    EXPECT_TRUE(s.window) << m;
    EXPECT_EQ(s.vec, 4) << m;
    EXPECT_GT(s.items, 0) << m;
  }
}

TEST(ShapesTest, UnalignedMemoryIsOneMoreClass) {
  Stream stream(kShapeChains[1], Dynamic::kAll);
  const auto aligned = stream.Call(40, 1000), other = stream.Call(40, 1000, 4),
             another = stream.Call(40, 1000, 8);
  EXPECT_NE(aligned->executable, other->executable);
  EXPECT_EQ(other->executable, another->executable);
}

TEST(ShapesTest, BatchSizesCompileNothingAfterTheFirstFew) {
  for (const ShapeChain& chain : kShapeChains) {
    Stream stream(chain, Dynamic::kLeading);
    std::mt19937_64 random(5);
    for (int64_t n : {1, 2}) stream.Call(n, 768);
    const Counters after_two = stream.cache().stats();
    for (int call = 0; call < 1000; ++call)
      stream.Call(1 + static_cast<int64_t>(random() % 8192), 768);
    EXPECT_EQ(stream.cache().stats().compiles, after_two.compiles) << chain.name;
    EXPECT_EQ(stream.kernels(), after_two.compiled) << chain.name;
  }
}

TEST(ShapesTest, WithNoDynamicSizesEachShapeHasItsOwnCode) {
  Stream stream(kShapeChains[0], Dynamic::kNone);
  const auto a = stream.Call(40, 1000), b = stream.Call(41, 1000);
  EXPECT_NE(a->executable, b->executable);
  EXPECT_TRUE(NumElements(a->executable->outputs[0].dims).Is(40000));
}

TEST(ShapesTest, BucketsArePowersOfTwo) {
  EXPECT_EQ(ReducedBucket(1), 256);
  EXPECT_EQ(ReducedBucket(256), 256);
  EXPECT_EQ(ReducedBucket(257), 1024);
  EXPECT_EQ(ReducedBucket(4096), 4096);
  EXPECT_EQ(ReducedBucket(4097), 8192);
  EXPECT_EQ(ReducedBucket(65536), 65536);
  EXPECT_EQ(ReducedBucket(65537), 0);
}

}  // namespace
}  // namespace jitfuse::internal
