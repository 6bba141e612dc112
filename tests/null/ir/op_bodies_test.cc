// Bodies of ir/ops.inc mean what their rows say, within the bounds that the rows publish: compared
// with plain C++ at many points, and in f32 with themselves in f64.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "ir/support/float_bits.h"
#include "tests/test_util/op_rows.h"

namespace jitfuse::internal {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

double Eval(const OpDef& def, DType dtype, std::vector<double> args) {
  std::vector<DType> types = OperandTypes(def, dtype);
  auto program =
      BuildScalarProgram(def.body, def.args, types, Defaults(def), {ResultType(def, dtype)});
  EXPECT_TRUE(program.ok()) << def.name << ": " << program.status();
  if (!program.ok()) return 0;
  std::vector<ScalarValue> in;
  for (size_t i = 0; i < args.size(); ++i) in.push_back(ScalarFromDouble(types[i], args[i]));
  ScalarValue out;
  EvalScalarProgram(*program, in.data(), &out);
  return ScalarToDouble(program->insts[static_cast<size_t>(program->results[0])].dtype, out);
}

double EvalF32(const OpDef& def, std::vector<double> args) {
  return Eval(def, DType::kF32, std::move(args));
}

double Ulps(DType dtype, double got, long double want) {
  bool f32 = dtype == DType::kF32;
  double rounded = f32 ? static_cast<double>(static_cast<float>(want)) : static_cast<double>(want);
  if (std::isnan(want) || std::isinf(rounded)) {
    bool same = std::isnan(want) ? std::isnan(got) : got == rounded;
    return same ? 0 : std::numeric_limits<double>::infinity();
  }
  int lowest = f32 ? -149 : -1074;
  int exponent = want == 0 ? lowest : std::max(std::ilogb(want) - (f32 ? 23 : 52), lowest);
  return static_cast<double>(std::fabs(static_cast<long double>(got) - want) /
                             std::ldexp(1.0L, exponent));
}

std::vector<float> Points() {
  std::vector<float> points = {0.0f, -0.0f, 1.0f, -1.0f, 3.0f,   -3.0f,
                               6.0f, kInf,  kNan, 1e30f, 1e-30f, -1e-30f};
  for (float x = 1e-6f; x < 800; x *= 1.0173f) {
    points.push_back(x);
    points.push_back(-x);
  }
  return points;
}

using Meaning = std::function<long double(long double)>;
long double Sigmoid(long double x) {
  return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x));
}

TEST(OpBodies, UnaryBodiesMeanWhatTheySay) {
  const std::map<std::string, Meaning> meanings = {
      {"negative", [](auto x) { return -x; }},
      {"abs", [](auto x) { return std::fabs(x); }},
      {"square", [](auto x) { return x * x; }},
      {"reciprocal", [](auto x) { return 1 / x; }},
      {"sign", [](auto x) { return x > 0    ? 1.0L
                                   : x < 0  ? -1.0L
                                   : x == 0 ? 0.0L
                                            : x; }},
      {"floor", [](auto x) { return std::floor(x); }},
      {"ceil", [](auto x) { return std::ceil(x); }},
      {"trunc", [](auto x) { return std::trunc(x); }},
      {"round", [](auto x) { return std::nearbyint(x); }},
      {"isnan", [](auto x) { return std::isnan(x) ? 1.0L : 0.0L; }},
      {"isinf", [](auto x) { return std::isinf(x) ? 1.0L : 0.0L; }},
      {"isfinite", [](auto x) { return std::isfinite(x) ? 1.0L : 0.0L; }},
      {"exp", [](auto x) { return std::exp(x); }},
      {"exp2", [](auto x) { return std::exp2(x); }},
      {"expm1", [](auto x) { return std::expm1(x); }},
      {"log", [](auto x) { return std::log(x); }},
      {"log2", [](auto x) { return std::log2(x); }},
      {"log1p", [](auto x) { return std::log1p(x); }},
      {"sqrt", [](auto x) { return std::sqrt(x); }},
      {"rsqrt", [](auto x) { return 1 / std::sqrt(x); }},
      {"tanh", [](auto x) { return std::tanh(x); }},
      {"erf", [](auto x) { return std::erf(x); }},
      {"erfc", [](auto x) { return std::erfc(x); }},
      {"relu", [](auto x) { return x > 0 || std::isnan(x) ? x : 0.0L; }},
      {"relu6", [](auto x) { return std::isnan(x) ? x : std::min(std::max(x, 0.0L), 6.0L); }},
      {"leaky_relu", [](auto x) { return x > 0 ? x : x * 0.01L; }},
      {"elu", [](auto x) { return x > 0 ? x : std::expm1(x); }},
      {"clamp", [](auto x) { return x; }},
      {"sigmoid", [](auto x) { return Sigmoid(x); }},
      {"silu", [](auto x) { return x * Sigmoid(x); }},
      {"gelu", [](auto x) { return x * std::erfc(-x * std::sqrt(0.5L)) / 2; }},
      {"gelu_tanh",
       [](auto x) {
         long double u = 2 * std::sqrt(2 / std::acos(-1.0L)) * (x + 0.044715L * x * x * x);
         return std::isinf(u) && x > 0 ? x : x * Sigmoid(u);
       }},
      {"mish",
       [](auto x) {
         long double t = std::exp(x);  // tanh(log(1 + t)), with no cancellation
         return x > 40 ? x : x * (t * (t + 2)) / (t * (t + 2) + 2);
       }},
      {"hardswish",
       [](auto x) { return x * (std::isnan(x) ? x : std::min(std::max(x + 3, 0.0L), 6.0L)) / 6; }},
      {"hardsigmoid",
       [](auto x) { return std::isnan(x) ? x : std::min(std::max(x + 3, 0.0L), 6.0L) / 6; }},
      {"softplus",
       [](auto x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }},
      {"softsign", [](auto x) { return x / (1 + std::fabs(x)); }},
      {"log10", [](auto x) { return std::log10(x); }},
      {"sin", [](auto x) { return std::sin(x); }},
      {"cos", [](auto x) { return std::cos(x); }},
      {"tan", [](auto x) { return std::tan(x); }},
      {"asin", [](auto x) { return std::asin(x); }},
      {"acos", [](auto x) { return std::acos(x); }},
      {"atan", [](auto x) { return std::atan(x); }},
      {"sinh", [](auto x) { return std::sinh(x); }},
      {"cosh", [](auto x) { return std::cosh(x); }},
      {"asinh", [](auto x) { return std::asinh(x); }},
      {"acosh", [](auto x) { return std::acosh(x); }},
      {"atanh", [](auto x) { return std::atanh(x); }},
      {"signbit", [](auto x) { return std::signbit(x) ? 1.0L : 0.0L; }},
      {"selu",
       [](auto x) {
         const long double scale = 1.0507009873554804934193349852946L;
         return scale * (x > 0 ? x : 1.6732632423543772848170429916717L * std::expm1(x));
       }},
      {"celu", [](auto x) { return x > 0 ? x : std::expm1(x); }},
      {"hardtanh", [](auto x) { return std::isnan(x) ? x : std::min(std::max(x, -1.0L), 1.0L); }},
      {"logsigmoid",
       [](auto x) {
         return std::isnan(x) ? x : std::min(x, 0.0L) - std::log1p(std::exp(-std::fabs(x)));
       }},
      {"tanhshrink",
       [](auto x) {
         if (!(std::fabs(x) < 0.1L)) return x - std::tanh(x);
         const long double c[] = {
             1 / 3.0L,         -2 / 15.0L,          17 / 315.0L,          -62 / 2835.0L,
             1382 / 155925.0L, -21844 / 6081075.0L, 929569 / 638512875.0L};
         long double sum = 0;
         for (int k = 6; k >= 0; --k) sum = sum * x * x + c[k];
         return x * x * x * sum;
       }},
      {"softshrink",
       [](auto x) {
         return x > 0.5L ? x - 0.5L : x < -0.5L ? x + 0.5L : x == x ? 0.0L : x;
       }},
      {"hardshrink", [](auto x) { return std::fabs(x) <= 0.5L ? 0.0L : x; }},
  };
  std::set<std::string> seen;
  for (const OpDef* def : AllOps()) {
    if (def->kind != OpKind::kPointwise || def->args.size() != 1 ||
        !IsIn(DType::kF32, def->domain) || def->op == Op::kCast)
      continue;
    auto it = meanings.find(std::string(def->name));
    // NumPy's meaning of every row is in the stored vectors; this test adds its bound.
    if (it == meanings.end()) continue;
    seen.insert(it->first);
    for (DType dtype : {DType::kF32, DType::kF64}) {
      double worst = 0;
      float at = 0;
      for (float x : Points()) {
        double ulps = Ulps(dtype, Eval(*def, dtype, {x}), it->second(x));
        if (ulps > worst) {
          worst = ulps;
          at = x;
        }
      }
      EXPECT_LE(worst, dtype == DType::kF32 ? def->max_ulp_f32 : def->max_ulp_f64)
          << def->name << " in " << DTypeName(dtype) << " at " << at << " gives "
          << Eval(*def, dtype, {at}) << ", meant " << static_cast<double>(it->second(at));
    }
  }
  EXPECT_EQ(seen.size(), meanings.size());
}

// Holds for rows of any number of operands, and for one that nobody wrote a meaning down for: in
// f64 the same body says what it means, far more exactly than f32 can be wrong.
TEST(OpBodies, BodiesInF32KeepTheirBoundAgainstF64) {
  // An attribute is rounded to the compute type: half an ulp of a factor, or of a result.
  constexpr double kOfAttributes = 1;
  std::vector<float> points;  // those whose exponentials stay within the range of f32
  for (float x : Points()) {
    if (std::fabs(x) < 80) points.push_back(x);
  }
  int checked = 0;
  for (const OpDef* def : AllOps()) {
    const std::vector<DType> types = OperandTypes(*def, DType::kF32);
    if (def->kind != OpKind::kPointwise || !IsIn(DType::kF32, def->domain) ||
        !IsIn(DType::kF64, def->domain) || def->op == Op::kCast ||
        !std::isfinite(def->max_ulp_f32) || ResultType(*def, DType::kF32) != DType::kF32 ||
        def->name == "nextafter")  // whose meaning is one of each type
      continue;
    ++checked;
    double worst = 0;
    std::string at;
    const size_t n = points.size();
    for (size_t i = 0; i < (types.size() == 1 ? n : 6 * n); ++i) {
      std::vector<double> x;
      for (size_t k = 0; k < types.size(); ++k) {
        const double v = points[(i * (1 + 16 * k) + 31 * k) % n];
        x.push_back(types[k] == DType::kBool ? v > 0 : v);
      }
      const double got = Eval(*def, DType::kF32, x), want = Eval(*def, DType::kF64, x);
      // What only f64 can hold is not meant.
      if (std::fabs(want) > 0 && std::fabs(want) < 0x1p-126) continue;
      const double ulps = Ulps(DType::kF32, got, want);
      if (ulps > worst) {
        worst = ulps;
        at = absl::StrJoin(x, ", ");
      }
    }
    EXPECT_LE(worst, def->max_ulp_f32 + kOfAttributes) << def->name << "(" << at << ")";
  }
  EXPECT_GT(checked, 60);
}

TEST(OpBodies, BinaryBodiesMeanWhatTheySay) {
  auto f = [](const char* name, double x, double y) { return EvalF32(*FindOp(name), {x, y}); };
  EXPECT_EQ(f("add", 1, 2), 3);
  EXPECT_EQ(f("subtract", 1, 2), -1);
  EXPECT_EQ(f("multiply", 3, 2), 6);
  EXPECT_EQ(f("divide", 3, 2), 1.5);
  EXPECT_EQ(f("pow", 2, 10), 1024);
  EXPECT_TRUE(std::isnan(f("minimum", kNan, 1)) && std::isnan(f("minimum", 1, kNan)));
  EXPECT_TRUE(std::isnan(f("maximum", kNan, 1)) && std::isnan(f("maximum", 1, kNan)));
  EXPECT_FALSE(std::signbit(f("maximum", -0.0, 0.0)));
  EXPECT_TRUE(std::signbit(f("minimum", 0.0, -0.0)));
  EXPECT_EQ(f("less", 1, 2), 1);
  EXPECT_EQ(f("less_equal", 2, 2), 1);
  EXPECT_EQ(f("greater", 1, 2), 0);
  EXPECT_EQ(f("greater_equal", 2, 2), 1);
  EXPECT_EQ(f("equal", kNan, kNan), 0);
  EXPECT_EQ(f("not_equal", kNan, kNan), 1);
}

// Every number of a 16-bit type against the walk along its bit patterns, in order of value.
void CheckNextAfter(DType dtype, float (*from_bits)(uint16_t), uint16_t infinity) {
  const OpDef& def = *FindOp("nextafter");
  auto next = [&](float x, float y) { return static_cast<float>(Eval(def, dtype, {x, y})); };
  const uint16_t sign = 0x8000;
  for (uint16_t bits = 0; bits <= infinity; ++bits) {
    const float x = from_bits(bits);
    const float above = from_bits(bits == infinity ? bits : bits + 1);
    const float below = bits == 0 ? -from_bits(1) : from_bits(bits - 1);
    ASSERT_EQ(next(x, kInf), above) << x;
    ASSERT_EQ(next(x, -kInf), below) << x;
    ASSERT_EQ(next(-x, -kInf), -above) << x;
    ASSERT_EQ(next(-x, kInf), -below) << x;
    ASSERT_EQ(next(x, x), x) << x;
    ASSERT_EQ(next(x, above), above) << x;
    ASSERT_EQ(next(x, below), below) << x;
    ASSERT_TRUE(std::isnan(next(x, kNan)) && std::isnan(next(kNan, x))) << x;
  }
  EXPECT_TRUE(std::signbit(next(0.0f, -0.0f)));
  EXPECT_TRUE(std::signbit(next(-from_bits(1), 0.0f)));
  EXPECT_EQ(next(from_bits(1), -1.0f), 0);
  EXPECT_EQ(next(from_bits(sign), 1.0f), from_bits(1));
}

TEST(OpBodies, NextAfterOfEvery16BitNumber) {
  CheckNextAfter(DType::kF16, F32FromF16, 0x7c00);
  CheckNextAfter(DType::kBF16, F32FromBF16, 0x7f80);
}

int64_t EvalInt(const char* name, DType dtype, int64_t x, int64_t y) {
  const OpDef& def = *FindOp(name);
  std::vector<DType> types(def.args.size(), dtype);
  auto program = BuildScalarProgram(def.body, def.args, types, Defaults(def), {dtype});
  EXPECT_TRUE(program.ok()) << program.status();
  ScalarValue in[2] = {ScalarFromInt(dtype, x), ScalarFromInt(dtype, y)};
  ScalarValue out;
  EvalScalarProgram(*program, in, &out);
  return out.i;
}

double EvalFloat(const char* name, DType dtype, double x, double y) {
  const OpDef& def = *FindOp(name);
  auto program = BuildScalarProgram(def.body, def.args, {dtype, dtype}, Defaults(def), {dtype});
  EXPECT_TRUE(program.ok()) << program.status();
  ScalarValue in[2] = {ScalarFromDouble(dtype, x), ScalarFromDouble(dtype, y)};
  ScalarValue out;
  EvalScalarProgram(*program, in, &out);
  return ScalarToDouble(dtype, out);
}

TEST(OpBodies, RemaindersThatRoundToTheDivisorAreTheDivisor) {
  for (DType d : {DType::kF32, DType::kF64}) {
    const double least = d == DType::kF32 ? 0x1p-149 : 0x1p-1074;
    for (double x : {least, 1e-40, 1e-20, 1e-10 * (d == DType::kF32 ? 1 : 1e-10)}) {
      for (double y : {3.0, 1.5, 0x1p100}) {
        EXPECT_EQ(EvalFloat("float_remainder", d, -x, y), y) << x;
        EXPECT_EQ(EvalFloat("float_floor_divide", d, -x, y), -1) << x;
        EXPECT_EQ(EvalFloat("float_remainder", d, x, -y), -y) << x;
        EXPECT_EQ(EvalFloat("float_floor_divide", d, x, -y), -1) << x;
        EXPECT_EQ(EvalFloat("float_remainder", d, x, y), ScalarToDouble(d, ScalarFromDouble(d, x)));
        EXPECT_EQ(EvalFloat("float_floor_divide", d, x, y), 0);
      }
    }
    for (double n : {-7, -1, 0, 2, 1000}) {
      EXPECT_EQ(EvalFloat("float_remainder", d, n * 3, 3), 0) << n;
      EXPECT_EQ(EvalFloat("float_floor_divide", d, n * 3, 3), n) << n;
    }
  }
}

// Of the quotient before it is rounded, which is that of Python, NumPy and PyTorch for finite x.
TEST(OpBodies, FloorDivideOfFloats) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  for (DType d : {DType::kF32, DType::kF64}) {
    EXPECT_EQ(EvalFloat("float_floor_divide", d, 1, 0.1), 9);
    EXPECT_EQ(EvalFloat("float_floor_divide", d, -1, 0.1), -10);
    EXPECT_EQ(EvalFloat("float_floor_divide", d, 7, -2), -4);
    EXPECT_EQ(EvalFloat("float_floor_divide", d, 1, 0), kInf);
    EXPECT_EQ(EvalFloat("float_floor_divide", d, -1, 0), -kInf);
    EXPECT_EQ(EvalFloat("float_floor_divide", d, kInf, 3), kInf);
    EXPECT_EQ(EvalFloat("float_floor_divide", d, 1, kInf), 0);
    EXPECT_EQ(EvalFloat("float_floor_divide", d, -1, kInf), -1);
    EXPECT_TRUE(std::signbit(EvalFloat("float_floor_divide", d, 0, -3)));
    EXPECT_TRUE(std::isnan(EvalFloat("float_floor_divide", d, 0, 0)));
    EXPECT_TRUE(std::isnan(EvalFloat("float_floor_divide", d, kInf, kInf)));
    for (double other : {-kInf, -3.0, -0.0, 0.0, 3.0, kInf, kNaN}) {
      EXPECT_TRUE(std::isnan(EvalFloat("float_floor_divide", d, kNaN, other))) << other;
      EXPECT_TRUE(std::isnan(EvalFloat("float_floor_divide", d, other, kNaN))) << other;
    }
  }
}

TEST(OpBodies, IntegerBodiesMeanWhatTheySay) {
  for (DType d : {DType::kI8, DType::kI32, DType::kI64}) {
    EXPECT_EQ(EvalInt("floor_divide", d, -7, 2), -4);
    EXPECT_EQ(EvalInt("remainder", d, -7, 2), 1);
    EXPECT_EQ(EvalInt("trunc_divide", d, -7, 2), -3);
    EXPECT_EQ(EvalInt("fmod", d, -7, 2), -1);
    EXPECT_EQ(EvalInt("floor_divide", d, 7, 0), 0);
    EXPECT_EQ(EvalInt("fmod", d, 7, 0), 0);
    EXPECT_EQ(EvalInt("relu", d, -5, 0), 0);
    EXPECT_EQ(EvalInt("sign", d, -5, 0), -1);
    EXPECT_EQ(EvalInt("bitwise_and", d, 12, 10), 8);
    EXPECT_EQ(EvalInt("bitwise_or", d, 12, 10), 14);
    EXPECT_EQ(EvalInt("bitwise_xor", d, 12, 10), 6);
    EXPECT_EQ(EvalInt("bitwise_not", d, 12, 0), -13);
  }
  EXPECT_EQ(EvalInt("logical_and", DType::kBool, 1, 0), 0);
  EXPECT_EQ(EvalInt("logical_or", DType::kBool, 1, 0), 1);
  EXPECT_EQ(EvalInt("logical_xor", DType::kBool, 1, 1), 0);
  EXPECT_EQ(EvalInt("logical_not", DType::kBool, 1, 0), 0);
  EXPECT_EQ(EvalInt("bitwise_not", DType::kBool, 1, 0), 0);
  EXPECT_EQ(EvalInt("add", DType::kI8, 127, 1), -128);
}

}  // namespace
}  // namespace jitfuse::internal
