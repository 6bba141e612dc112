// The published ulp bounds on a GPU: every f16 and bf16 value, 2^19 f32 points an op.
#include <gtest/gtest.h>

#include "api/context.h"
#include "tests/support/ulp_sweep.h"

namespace jitfuse_test {
namespace {

TEST(GpuUlp, Floats) {
  jitfuse::Status gpu = jitfuse::DeviceStatus(jitfuse::DeviceKind::kCuda);
  if (!gpu.ok()) GTEST_SKIP() << gpu.message();
  SweepFloats(jitfuse::DeviceKind::kCuda, std::int64_t{1} << 19, std::int64_t{1} << 17);
}

TEST(GpuUlp, Gelu) {
  jitfuse::Status gpu = jitfuse::DeviceStatus(jitfuse::DeviceKind::kCuda);
  if (!gpu.ok()) GTEST_SKIP() << gpu.message();
  SweepGelu(jitfuse::DeviceKind::kCuda, 1u << 8);
}

TEST(GpuUlp, EveryHalf) {
  jitfuse::Status gpu = jitfuse::DeviceStatus(jitfuse::DeviceKind::kCuda);
  if (!gpu.ok()) GTEST_SKIP() << gpu.message();
  SweepEveryHalf(jitfuse::DeviceKind::kCuda);
}

}  // namespace
}  // namespace jitfuse_test
