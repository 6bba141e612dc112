// Kernels of random graphs, compiled by NVRTC for sm_90 with no GPU.
#include "gtest/gtest.h"
#include "jit/cuda/nvrtc_compile.h"
#include "tests/graph_fuzz/slice.h"

namespace jitfuse::internal {
namespace {

class NvrtcGraphFuzz : public testing::Test {
 protected:
  void SetUp() override {
    absl::StatusOr<const NvrtcApi*> api = LoadNvrtcApi();
    if (!api.ok()) GTEST_SKIP() << api.status();
  }
};

TEST_F(NvrtcGraphFuzz, CasesThatOnceFailed) { RunKeptCases({"nvrtc"}); }
TEST_F(NvrtcGraphFuzz, AFixedSlice) { EXPECT_EQ(RunSlice(7000, 60, 1e9, {"nvrtc"}), 60); }
TEST_F(NvrtcGraphFuzz, ASliceOfToday) { EXPECT_GT(RunSlice(SeedOfToday(), 60, 8, {"nvrtc"}), 0); }

}  // namespace
}  // namespace jitfuse::internal
