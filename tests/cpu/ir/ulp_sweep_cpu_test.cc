// The published ulp bounds in compiled CPU kernels: every f16 and bf16 value, 2^14 f32 points an
// op. (The long sweep of what they compute is scalar_ulp_long_test.cc.)
#include <gtest/gtest.h>

#include "tests/support/ulp_sweep.h"

namespace jitfuse_test {
namespace {

TEST(CpuUlp, Floats) {
  SweepFloats(jitfuse::DeviceKind::kCpu, std::int64_t{1} << 14, std::int64_t{1} << 12);
}

TEST(CpuUlp, EveryHalf) { SweepEveryHalf(jitfuse::DeviceKind::kCpu); }

}  // namespace
}  // namespace jitfuse_test
