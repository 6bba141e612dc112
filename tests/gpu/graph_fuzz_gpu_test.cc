// A slice of the graph fuzzer on a GPU, and the cases that once failed elsewhere.
#include "api/context.h"
#include "tests/graph_fuzz/slice.h"

namespace jitfuse::internal {
namespace {

TEST(GpuGraphFuzz, CasesOfEveryRun) {
  Status gpu = DeviceStatus(DeviceKind::kCuda);
  if (!gpu.ok()) GTEST_SKIP() << gpu.message();
  EXPECT_GT(RunSlice(1, 100, 120, {"cuda"}), 0);
}

TEST(GpuGraphFuzz, CasesOfToday) {
  Status gpu = DeviceStatus(DeviceKind::kCuda);
  if (!gpu.ok()) GTEST_SKIP() << gpu.message();
  EXPECT_GT(RunSlice(SeedOfToday(), 1000, 15, {"cuda"}), 0);
}

TEST(GpuGraphFuzz, KeptCases) {
  Status gpu = DeviceStatus(DeviceKind::kCuda);
  if (!gpu.ok()) GTEST_SKIP() << gpu.message();
  RunKeptCases({"cuda"});
}

}  // namespace
}  // namespace jitfuse::internal
