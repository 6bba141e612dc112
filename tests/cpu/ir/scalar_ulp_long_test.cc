// The long ulp sweep of the primitives' own programs, in the evaluator: 2^19 f32 points each, a
// quarter of them spread evenly over all floats (every 2^15th), the rest where functions change.
// (Compiled kernels: ulp_sweep_cpu_test.cc.)
#include <gtest/gtest.h>

#include "tests/test_util/scalar_sweep.h"

namespace jitfuse::internal {
namespace {

TEST(ScalarUlpLong, F32) {
  int rows = 0;
  ForEachSweptOp([&](const ScalarOpDef&) { ++rows; });
  ASSERT_GT(rows, 0);
  ForEachSweptOp([&](const ScalarOpDef& def) {
    const SweepResult r = Sweeper(def.op, DType::kF32).Run(int64_t{1} << 19);
    EXPECT_EQ(r.wrong_kind, 0) << r.where;
    EXPECT_LE(r.max_ulp, def.max_ulp_f32) << r.where;
    RecordProperty(std::string(def.name), testing::PrintToString(static_cast<double>(r.max_ulp)));
  });
}

TEST(ScalarUlpLong, F64) {
  ForEachSweptOp(
      [&](const ScalarOpDef& def) {
        const SweepResult r = Sweeper(def.op, DType::kF64).Run(int64_t{1} << 18);
        EXPECT_EQ(r.wrong_kind, 0) << r.where;
        EXPECT_LE(r.max_ulp, def.max_ulp_f64) << r.where;
      },
      DType::kF64);
}

TEST(ScalarUlpLong, EveryHalfArgument) {
  ForEachSweptOp([](const ScalarOpDef& def) { SweepHalves(def, 1); });
}

}  // namespace
}  // namespace jitfuse::internal
