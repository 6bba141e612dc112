// The ulp sweep of kernels: the points of tests/test_util/scalar_sweep.h through the tensor op of
// the primitive's name, on a device, judged by the table's published bounds.
//
// In: a device kind and how many points of f32 and f64 an op gets. Every f16 and bf16 value is
// taken. Out: gtest failures that name op, dtype and the worst point; the worst error of each op is
// recorded as a test property.
#ifndef JITFUSE_TESTS_SUPPORT_ULP_SWEEP_H_
#define JITFUSE_TESTS_SUPPORT_ULP_SWEEP_H_

#include <cstdint>

#include "api/options.h"

namespace jitfuse_test {

// Every rounded op, points spread over all floats and where functions change.
void SweepFloats(jitfuse::DeviceKind kind, std::int64_t points_f32, std::int64_t points_f64);
// Every rounded op of one operand, one f32 value of each `step` neighbours (a power of two): 2^32 /
// step of them an op.
void SweepFloatsByStep(jitfuse::DeviceKind kind, std::uint32_t step);
void SweepEveryHalf(jitfuse::DeviceKind kind);
// gelu, no primitive's op: one f32 value of each `step` neighbours, every f16 and bf16 value.
void SweepGelu(jitfuse::DeviceKind kind, std::uint32_t step);

}  // namespace jitfuse_test

#endif  // JITFUSE_TESTS_SUPPORT_ULP_SWEEP_H_
