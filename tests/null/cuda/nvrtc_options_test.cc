// What NVRTC is told, by its version.
#include "codegen/cuda/emit_cuda.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ir/support/status.h"
#include "jit/cuda/nvrtc_compile.h"

namespace jitfuse::internal {
namespace {

using ::testing::Contains;
using ::testing::Not;

TEST(NvrtcOptions, OldVersionsAreNotToldWhatTheyDoNotKnow) {
  KernelSource source;
  source.arch = "sm_90";
  source.options = {"--fmad=false", std::string(kQuickOption)};
  for (auto [major, minor, knows] :
       {std::tuple(12, 4, false), {12, 8, false}, {12, 9, true}, {13, 0, true}}) {
    NvrtcApi nvrtc{};
    nvrtc.major = major;
    nvrtc.minor = minor;
    const std::vector<std::string> options = NvrtcOptions(nvrtc, source);
    EXPECT_THAT(options, Contains("--fmad=false"));
    EXPECT_THAT(options, Contains("--gpu-architecture=sm_90"));
    if (knows) {
      EXPECT_THAT(options, Contains(std::string(kQuickOption))) << major << "." << minor;
    } else {
      EXPECT_THAT(options, Not(Contains(std::string(kQuickOption)))) << major << "." << minor;
    }
  }
}

}  // namespace
}  // namespace jitfuse::internal
