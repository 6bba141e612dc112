// The ulp sweep of one primitive's meaning (for transcendentals: its decomposition) against long
// double.
//
// SweepPoints gives the operands: bit patterns spread evenly over all floats, and uniform points in
// the ranges where the functions change. SweepJudge takes results, keeps the largest error in ulp
// of the exact result and where it was, and counts values that are wrong in kind (NaN, infinity or
// the sign of zero). Sweeper runs the evaluator's program over them; tests/support/ulp_sweep.h runs
// kernels. Used by the short sweep (null), the long one (cpu) and the GPU's.
#ifndef JITFUSE_TESTS_TEST_UTIL_SCALAR_SWEEP_H_
#define JITFUSE_TESTS_TEST_UTIL_SCALAR_SWEEP_H_

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <sstream>
#include <string>

#include "ir/scalar_expr.h"
#include "ir/scalar_value.h"
#include "ir/wide_scalar.h"

namespace jitfuse::internal {

struct SweepResult {
  long double max_ulp = 0;
  std::string where;
  int64_t wrong_kind = 0;
};

// The same operands for every executor.
class SweepPoints {
 public:
  explicit SweepPoints(DType dtype) : dtype_(dtype) {}

  // Point i of `points`; to be asked in ascending order.
  void At(int64_t i, int64_t points, ScalarValue* in) {
    in[0] = First(i, points);
    in[1] = Second(i);
  }

 private:
  uint64_t Next() { return state_ = state_ * 6364136223846793005u + 1442695040888963407u; }
  double Uniform(double range) { return (static_cast<double>(Next() >> 11) * 0x1p-52 - 1) * range; }
  ScalarValue Number(double v) const { return ScalarFromDouble(dtype_, v); }

  ScalarValue First(int64_t i, int64_t points) {
    const bool wide = dtype_ == DType::kF64;
    switch (i % 4) {
      case 0:
        if (wide) return Put<double>(std::bit_cast<double>(Next()));
        return Put<float>(std::bit_cast<float>(static_cast<uint32_t>(
            (0x100000000u / static_cast<uint64_t>(points)) * static_cast<uint64_t>(i) +
            (Next() >> 56))));
      case 1:
        return Number(Uniform(wide ? 760 : 120));
      case 2:
        return Number(Uniform(8));
      default:
        return Number(Uniform(1.5));
    }
  }

  ScalarValue Second(int64_t i) {
    const double y = Uniform(i % 4 == 0 ? 300 : i % 4 == 1 ? 20 : 3);
    return Number(i % 16 < 4 ? std::nearbyint(y) : y);
  }

  DType dtype_;
  uint64_t state_ = 0x9e3779b97f4a7c15u;
};

class SweepJudge {
 public:
  // `any_sign_of_zero`: where the exact result is 0, either will do.
  SweepJudge(ScalarOp op, DType dtype, bool any_sign_of_zero = false)
      : def_(GetScalarOp(op)), dtype_(dtype), any_sign_of_zero_(any_sign_of_zero) {}

  const SweepResult& result() const { return result_; }

  // `in`: two operands, of which a unary op has the first.
  void See(const ScalarValue* in, ScalarValue out) {
    const long double args[2] = {ScalarToLongDouble(dtype_, in[0]),
                                 ScalarToLongDouble(dtype_, in[1])};
    if (dtype_ == DType::kF64 && std::fabs(args[0]) > def_.range_f64) return;
    const long double got = ScalarToLongDouble(dtype_, out), want = def_.wide(args);
    const WideElem settled = SettleRange(dtype_, {want, def_.max_ulp_f32 * UlpOf(dtype_, want)});
    if (std::isinf(settled.bound) &&
        (std::isinf(got) || std::fabs(got - want) < 8 * UlpOf(dtype_, want)))
      return;
    const bool wrong_zero =
        want == 0 && (got != 0 || (std::signbit(got) != std::signbit(want) && !any_sign_of_zero_));
    if (std::isnan(got) != std::isnan(want) || std::isinf(got) != std::isinf(settled.value) ||
        wrong_zero) {
      Report(args, got, want, ++result_.wrong_kind == 1);
      return;
    }
    if (std::isnan(got) || std::isinf(got)) return;
    const long double ulp = std::fabs(got - want) / ErrorUnit(def_, dtype_, want);
    if (ulp <= result_.max_ulp) return;
    result_.max_ulp = ulp;
    Report(args, got, want, result_.wrong_kind == 0);
  }

 private:
  void Report(const long double* args, long double got, long double want, bool first) {
    if (!first) return;
    std::ostringstream text;
    text << def_.name << " " << DTypeName(dtype_) << " at " << std::hexfloat << args[0];
    if (def_.arity > 1) text << ", " << args[1];
    text << std::defaultfloat << ": got " << got << ", exact " << want;
    result_.where = text.str();
  }

  const ScalarOpDef& def_;
  DType dtype_;
  bool any_sign_of_zero_;
  SweepResult result_;
};

class Sweeper {
 public:
  Sweeper(ScalarOp op, DType dtype) : points_(dtype), judge_(op, dtype) {
    const ScalarOpDef& def = GetScalarOp(op);
    program_.num_args = def.arity;
    ScalarInst inst{op, dtype, {-1, -1, -1}, 0};
    for (int k = 0; k < def.arity; ++k) {
      program_.insts.push_back({ScalarOp::kArg, dtype, {-1, -1, -1}, static_cast<uint64_t>(k)});
      inst.in[k] = static_cast<int16_t>(k);
    }
    program_.insts.push_back(inst);
    program_.results = {static_cast<int16_t>(def.arity)};
    program_ = ExpandDecomps(program_);
  }

  SweepResult Run(int64_t points) {
    for (int64_t i = 0; i < points; ++i) {
      ScalarValue in[2], out;
      points_.At(i, points, in);
      EvalScalarProgram(program_, in, &out);
      judge_.See(in, out);
    }
    return judge_.result();
  }

 private:
  SweepPoints points_;
  SweepJudge judge_;
  ScalarProgram program_;
};

// Whether a row serves results in f16 and bf16 alone: these may miss by a 32nd of such an ulp.
inline bool IsFor16BitTypes(const ScalarOpDef& def) {
  return def.name.size() > 3 && def.name.substr(def.name.size() - 3) == "_16";
}

// The rows that the sweeps visit: whatever is rounded by a decomposition. (What is only part of
// others has no `wide`, and is swept with them.)
template <typename F>
void ForEachSweptOp(F f, DType dtype = DType::kF32) {
  for (int i = static_cast<int>(ScalarOp::kConst) + 1; i < static_cast<int>(ScalarOp::kCount);
       ++i) {
    const ScalarOpDef& def = GetScalarOp(static_cast<ScalarOp>(i));
    if (def.rule == ScalarTypeRule::kSame && def.eval == nullptr && def.wide != nullptr &&
        IsIn(dtype, def.domain) && HasDecomp(def.op, DType::kF32))
      f(def);
  }
}

// Arguments of f16 and bf16, every `step`-th of them; results rounded to the format are the
// correctly rounded ones, or (where the exact result is within a hair of a tie) their neighbour.
inline void SweepHalves(const ScalarOpDef& def, uint32_t step) {
  if (def.arity != 1) return;
  const DType f32 = DType::kF32;
  const long double bound = IsFor16BitTypes(def) ? 0.5L + 1.0L / 32 : 0.501L;
  for (DType t : {DType::kF16, DType::kBF16}) {
    const long double top = t == DType::kF16 ? 65519.0L : 0x1.feffp127L;
    for (uint32_t bits = 0; bits < 65536; bits += step) {
      const auto stored = static_cast<uint16_t>(bits);
      const ScalarValue in = LoadScalar(t, &stored);
      const float got =
          ConvertScalar(f32, t, EvalScalarInst({def.op, f32, {0, -1, -1}, 0}, &f32, &in)).f32;
      const long double x = in.f32, want = def.wide(&x);
      if (std::isnan(want) || std::isinf(want)) {
        ASSERT_EQ(std::isnan(got), std::isnan(want)) << def.name << " " << in.f32;
        ASSERT_EQ(std::isinf(got), std::isinf(want)) << def.name << " " << in.f32;
      } else if (std::isinf(got)) {
        ASSERT_GE(std::fabs(want), top) << def.name << " " << in.f32;
      } else {
        ASSERT_LE(std::fabs(got - want), bound * UlpOf(t, want))
            << def.name << " " << DTypeName(t) << " " << in.f32;
      }
    }
  }
}

}  // namespace jitfuse::internal

#endif  // JITFUSE_TESTS_TEST_UTIL_SCALAR_SWEEP_H_
