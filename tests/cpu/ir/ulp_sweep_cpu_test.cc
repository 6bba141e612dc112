// The published ulp bounds in compiled CPU kernels: every f16 and bf16 value; of f32 one value of
// each 2^14 neighbours (2^18 an op, JITFUSE_ULP_STEP=256: 2^24) for ops of one operand, and 2^15
// points where functions change for all. (The sweep of the primitives' own programs in the
// evaluator is scalar_ulp_long_test.cc.)
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "tests/support/ulp_sweep.h"

namespace jitfuse_test {
namespace {

TEST(CpuUlp, Floats) {
  SweepFloats(jitfuse::DeviceKind::kCpu, std::int64_t{1} << 15, std::int64_t{1} << 14);
}

std::uint32_t Step(std::uint32_t otherwise) {
  const char* step = std::getenv("JITFUSE_ULP_STEP");
  return step == nullptr || *step == '\0' ? otherwise
                                          : static_cast<std::uint32_t>(std::stoul(step));
}

TEST(CpuUlp, FloatsByStep) { SweepFloatsByStep(jitfuse::DeviceKind::kCpu, Step(1u << 14)); }

TEST(CpuUlp, Gelu) { SweepGelu(jitfuse::DeviceKind::kCpu, Step(1u << 8)); }

TEST(CpuUlp, EveryHalf) { SweepEveryHalf(jitfuse::DeviceKind::kCpu); }

}  // namespace
}  // namespace jitfuse_test
