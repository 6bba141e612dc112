// fmod of floats: known values through the ops, and both parts of the CPU's form (the decomposition
// and the loop's steps) against C's fmod.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "ir/eval.h"
#include "ir/op_def.h"
#include "ir/scalar_decomps.h"
#include "ir/scalar_expr.h"
#include "ir/scalar_value.h"
#include "ir/support/float_bits.h"
#include "tests/test_util/fmod_points.h"

namespace jitfuse::internal {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

double Evaluate(const ScalarProgram& program, DType dtype, double x, double y) {
  const ScalarValue in[] = {ScalarFromDouble(dtype, x), ScalarFromDouble(dtype, y)};
  ScalarValue out;
  EvalScalarProgram(program, in, &out);
  return ScalarToDouble(dtype, out);
}

ScalarProgram Program(std::string_view body, DType dtype) {
  auto program = BuildScalarProgram(body, {"a", "b"}, {dtype, dtype}, nullptr, {dtype});
  EXPECT_TRUE(program.ok()) << program.status();
  return *std::move(program);
}

ScalarProgram BodyOf(const char* op, DType dtype) {
  const OpDef& def = *FindOp(op);
  auto program = BuildScalarProgram(def.body, def.args, {dtype, dtype}, nullptr, {dtype});
  EXPECT_TRUE(program.ok()) << program.status();
  return *std::move(program);
}

void ExpectIs(double got, double want, const std::string& what) {
  EXPECT_TRUE(std::isnan(want) ? std::isnan(got)
                               : got == want && std::signbit(got) == std::signbit(want))
      << what << " gave " << got << ", not " << want;
}

struct Row {
  DType dtype;
  double x, y, fmod, remainder;
};

TEST(Fmod, KnownValues) {
  constexpr DType kAll[] = {DType::kF16, DType::kBF16, DType::kF32, DType::kF64};
  constexpr double kMax = std::numeric_limits<double>::max();
  std::vector<Row> rows = {
      {DType::kF32, 1e20, 3, 2, 2},
      {DType::kF32, -1e20, 3, -2, 1},
      {DType::kF32, 1e20, -3, 2, -1},
      {DType::kF32, 0x1p127, 0x1p-149, 0, 0},
      {DType::kF32, 0x1.fffffep127, 11, 9, 9},
      {DType::kF64, 1e20, 3, 1, 1},
      {DType::kF64, -kMax, 0x1p-1074, -0.0, 0},
      {DType::kF64, 0x1p1023, 3, 2, 2},
      {DType::kF64, -0x1p1023, 3, -2, 1},
      {DType::kF64, 0x1p-1060, 0x3p-1074, 0x1p-1074, 0x1p-1074},
      {DType::kF16, 65504, 3, 2, 2},
      {DType::kF16, 65504, 0x3p-24, 0x2p-24, 0x2p-24},
      {DType::kBF16, 0x1p127, 3, 2, 2},
      {DType::kBF16, -0x1p127, 3, -2, 1},
  };
  for (DType d : kAll) {
    for (const Row& r : {Row{d, 7, 3, 1, 1},
                         Row{d, -7, 3, -1, 2},
                         Row{d, 7, -3, 1, -2},
                         Row{d, -7, -3, -1, -1},
                         Row{d, 6, 3, 0, 0},
                         Row{d, -6, 3, -0.0, 0},
                         Row{d, 6, -3, 0, -0.0},
                         Row{d, 0, 3, 0, 0},
                         Row{d, -0.0, 3, -0.0, 0},
                         Row{d, 0, -3, 0, -0.0},
                         Row{d, 5, kInf, 5, 5},
                         Row{d, 5, -kInf, 5, -kInf},
                         Row{d, -5, kInf, -5, kInf},
                         Row{d, -5, -kInf, -5, -5},
                         Row{d, 5, 0, kNan, kNan},
                         Row{d, 0, 0, kNan, kNan},
                         Row{d, 0, -0.0, kNan, kNan},
                         Row{d, kInf, 3, kNan, kNan},
                         Row{d, -kInf, kInf, kNan, kNan},
                         Row{d, kInf, 0, kNan, kNan},
                         Row{d, kNan, 3, kNan, kNan},
                         Row{d, 3, kNan, kNan, kNan},
                         Row{d, kNan, kNan, kNan, kNan}})
      rows.push_back(r);
  }
  for (const Row& r : rows) {
    const std::string what =
        std::string(DTypeName(r.dtype)) + " " + std::to_string(r.x) + ", " + std::to_string(r.y);
    ExpectIs(Evaluate(BodyOf("float_fmod", r.dtype), r.dtype, r.x, r.y), r.fmod, "fmod " + what);
    ExpectIs(Evaluate(BodyOf("float_remainder", r.dtype), r.dtype, r.x, r.y), r.remainder,
             "remainder " + what);
  }
}

// Without the CPU's fma too: what stands for it in f64 is not exact everywhere.
TEST(Fmod, TheDecompositionIsExact) {
  for (DType dtype : {DType::kF32, DType::kF64}) {
    const ScalarProgram fmod = Program("fmod(a, b)", dtype);
    for (bool has_fma : {true, false}) {
      const ScalarProgram expanded = ExpandDecomps(fmod, {.fma = has_fma});
      EXPECT_GT(expanded.insts.size(), fmod.insts.size());
      FmodPoints points(dtype);
      for (int i = 0; i < 20000; ++i) {
        const auto [x, y] = points.Next();
        const double got = Evaluate(expanded, dtype, x, y), want = FmodPoints::Exact(x, y);
        ASSERT_TRUE(FmodPoints::Same(got, want))
            << DTypeName(dtype) << " " << x << ", " << y << ": " << got << ", not " << want;
      }
    }
  }
}

// The share of quotients that the decomposition leaves to the loop.
TEST(Fmod, SmallQuotientsNeedNoLoop) {
  for (auto [dtype, text, most] : {std::tuple(DType::kF32, decomp::kFmodF32, 0x1p24),
                                   {DType::kF64, decomp::kFmodF64, 0x1p26}}) {
    // What reaches fmod_raw, in its place.
    std::string body(text);
    body.replace(body.find("copysign(fmod_raw("), 18, "");
    body.resize(body.rfind(", q), a)"));
    const ScalarProgram reaches = Program(body, dtype);
    std::mt19937_64 rng(5);
    for (int i = 0; i < 2000; ++i) {
      const double y = ScalarToDouble(
          dtype, ScalarFromDouble(
                     dtype, std::ldexp(1 + std::ldexp(double(rng() >> 12), -52), i % 200 - 100)));
      const double quotient = std::exp2(std::uniform_real_distribution<>(-3, std::log2(most))(rng));
      const double x = ScalarToDouble(dtype, ScalarFromDouble(dtype, y * quotient));
      if (x / y >= most) continue;
      EXPECT_EQ(Evaluate(reaches, dtype, x, y), std::fmod(x, y)) << x << ", " << y;
      const double large = ScalarToDouble(dtype, ScalarFromDouble(dtype, y * (2 * most + i)));
      EXPECT_EQ(Evaluate(reaches, dtype, large, y), large);
    }
  }
}

// As the CPU's emitter has it (cpu_backend/emit_llvm_fmod.cc).
class Loop {
 public:
  explicit Loop(DType dtype) : dtype_(dtype) {
    const DType types[] = {dtype, dtype, DType::kBool};
    const std::string_view names[] = {"a", "b", "c"};
    begin_ = *BuildScalarProgram(decomp::kFmodBegin, {"a", "b"}, {dtype, dtype}, nullptr, types);
    step_ = Program(dtype == DType::kF64 ? decomp::kFmodStepF64 : decomp::kFmodStepF32, dtype);
    end_ = *BuildScalarProgram(decomp::kFmodEnd, names, types, nullptr, {dtype});
  }

  double Run(double x, double y) {
    const ScalarValue in[] = {ScalarFromDouble(dtype_, x), ScalarFromDouble(dtype_, y)};
    ScalarValue begun[3], out;
    EvalScalarProgram(begin_, in, begun);
    double left = ScalarToDouble(dtype_, begun[0]);
    const double divisor = ScalarToDouble(dtype_, begun[1]);
    int steps = 0;
    do {
      left = Evaluate(step_, dtype_, left, divisor);
    } while (++steps < 1000 && std::fabs(left) >= divisor);
    most_steps_ = std::max(most_steps_, steps);
    const ScalarValue end[] = {ScalarFromDouble(dtype_, left), begun[1], begun[2]};
    EvalScalarProgram(end_, end, &out);
    return ScalarToDouble(dtype_, out);
  }
  int most_steps() const { return most_steps_; }

 private:
  DType dtype_;
  ScalarProgram begin_, step_, end_;
  int most_steps_ = 0;
};

TEST(Fmod, TheLoopIsExactAndEnds) {
  for (DType dtype : {DType::kF32, DType::kF64}) {
    Loop loop(dtype);
    FmodPoints points(dtype);
    for (int i = 0; i < 20000; ++i) {
      auto [x, y] = points.Next();
      x = std::fabs(x);
      y = std::fabs(y);
      const double got = loop.Run(x, y), want = FmodPoints::Exact(x, y);
      ASSERT_TRUE(FmodPoints::Same(got, want))
          << DTypeName(dtype) << " " << x << ", " << y << ": " << got << ", not " << want;
    }
    // 11 bits of 277, 25 of 2098.
    EXPECT_LE(loop.most_steps(), dtype == DType::kF32 ? 26 : 84);
    EXPECT_GT(loop.most_steps(), dtype == DType::kF32 ? 15 : 50);
  }
}

}  // namespace
}  // namespace jitfuse::internal
