// The short ulp sweep: the published bounds hold on a million points in all for f32 and some for
// f64; a part of the f16 and bf16 values.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/test_util/scalar_sweep.h"

namespace jitfuse::internal {
namespace {

void ExpectWithinBounds(DType dtype, int64_t points) {
  int rows = 0;
  ForEachSweptOp(
      [&](const ScalarOpDef& def) {
        ++rows;
        const SweepResult r = Sweeper(def.op, dtype).Run(points);
        EXPECT_EQ(r.wrong_kind, 0) << r.where;
        EXPECT_LE(r.max_ulp, dtype == DType::kF64 ? def.max_ulp_f64 : def.max_ulp_f32) << r.where;
        EXPECT_GT(r.max_ulp, 0.3) << def.name << ": no points reached it";
      },
      dtype);
  EXPECT_GE(rows, 26);
}

TEST(ScalarUlp, F32) { ExpectWithinBounds(DType::kF32, 80000); }

TEST(ScalarUlp, F64) { ExpectWithinBounds(DType::kF64, 12000); }

// Every 7th f16 and bf16 argument (tests/cpu sweeps them all).
TEST(ScalarUlp, HalfArguments) {
  ForEachSweptOp([](const ScalarOpDef& def) { SweepHalves(def, 7); });
}

TEST(ScalarUlp, BoundedFunctionsStayInBounds) {
  for (DType t : {DType::kF32, DType::kF64}) {
    for (ScalarOp op : {ScalarOp::kTanh, ScalarOp::kErf, ScalarOp::kSin, ScalarOp::kCos}) {
      for (int i = -20000; i <= 20000; ++i) {
        const ScalarValue in = ScalarFromDouble(t, i * 0x1p-11 * 1.0009765625);
        const double y =
            std::fabs(ScalarToDouble(t, EvalScalarInst({op, t, {0, -1, -1}, 0}, &t, &in)));
        ASSERT_LE(y, 1) << GetScalarOp(op).name << " " << i;
      }
    }
  }
}

}  // namespace
}  // namespace jitfuse::internal
