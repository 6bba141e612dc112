// The semantics page, line by line, for single primitives: NaN and zero, casts, integers, shifts.
// Decompositions are held to the same tables as the direct meaning.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

#include "ir/scalar_expr.h"
#include "ir/scalar_value.h"
#include "ir/support/float_bits.h"

namespace jitfuse::internal {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::numeric_limits<double>::quiet_NaN();

ScalarValue Apply(ScalarOp op, DType type, std::vector<ScalarValue> in) {
  ScalarProgram p;
  p.num_args = static_cast<int>(in.size());
  const ScalarOpDef& def = GetScalarOp(op);
  ScalarInst inst{op, def.rule == ScalarTypeRule::kSame ? type : DType::kBool, {-1, -1, -1}, 0};
  for (size_t k = 0; k < in.size(); ++k) {
    p.insts.push_back({ScalarOp::kArg, type, {-1, -1, -1}, k});
    inst.in[k] = static_cast<int16_t>(k);
  }
  p.insts.push_back(inst);
  p.results = {static_cast<int16_t>(in.size())};
  static auto* expansions = new std::map<std::pair<ScalarOp, DType>, ScalarProgram>;
  auto [expansion, fresh] = expansions->try_emplace({op, type});
  if (fresh) expansion->second = ExpandDecomps(p);
  ScalarValue direct, expanded;
  EvalScalarProgram(p, in.data(), &direct);
  EvalScalarProgram(expansion->second, in.data(), &expanded);
  EXPECT_EQ(direct.bits(), expanded.bits())
      << def.name << " " << DTypeName(type) << ": the decomposition differs";
  return direct;
}

double Number(ScalarOp op, DType type, std::vector<double> in) {
  std::vector<ScalarValue> registers;
  for (double v : in) registers.push_back(ScalarFromDouble(type, v));
  ScalarValue r = Apply(op, type, registers);
  return ScalarToDouble(GetScalarOp(op).rule == ScalarTypeRule::kSame ? type : DType::kBool, r);
}

void ExpectSame(double got, double want) {
  if (std::isnan(want)) {
    EXPECT_TRUE(std::isnan(got)) << got;
  } else {
    EXPECT_EQ(got, want);
    EXPECT_EQ(std::signbit(got), std::signbit(want)) << "sign of zero";
  }
}

TEST(ScalarSemantics, MinimumAndMaximum) {
  for (DType t : {DType::kF32, DType::kF64}) {
    for (ScalarOp op : {ScalarOp::kMinimum, ScalarOp::kMaximum}) {
      for (double other : {0.0, 1.0, kInf, -kInf, kNan}) {
        ExpectSame(Number(op, t, {kNan, other}), kNan);
        ExpectSame(Number(op, t, {other, kNan}), kNan);
      }
    }
    ExpectSame(Number(ScalarOp::kMaximum, t, {-0.0, 0.0}), 0.0);
    ExpectSame(Number(ScalarOp::kMaximum, t, {0.0, -0.0}), 0.0);
    ExpectSame(Number(ScalarOp::kMinimum, t, {-0.0, 0.0}), -0.0);
    ExpectSame(Number(ScalarOp::kMinimum, t, {0.0, -0.0}), -0.0);
    ExpectSame(Number(ScalarOp::kMaximum, t, {-0.0, -0.0}), -0.0);
    ExpectSame(Number(ScalarOp::kMinimum, t, {-kInf, 3}), -kInf);
    ExpectSame(Number(ScalarOp::kMaximum, t, {2, 3}), 3);
  }
  EXPECT_EQ(Number(ScalarOp::kMaximum, DType::kI8, {-128, 127}), 127);
  EXPECT_EQ(Number(ScalarOp::kMinimum, DType::kU8, {200, 100}), 100);
  EXPECT_EQ(Number(ScalarOp::kMaximum, DType::kBool, {0, 1}), 1);
}

TEST(ScalarSemantics, ComparisonsWithNan) {
  for (DType t : {DType::kF32, DType::kF64}) {
    for (ScalarOp op :
         {ScalarOp::kEq, ScalarOp::kLt, ScalarOp::kLe, ScalarOp::kGt, ScalarOp::kGe}) {
      EXPECT_EQ(Number(op, t, {kNan, 1}), 0);
      EXPECT_EQ(Number(op, t, {kNan, kNan}), 0);
    }
    EXPECT_EQ(Number(ScalarOp::kNe, t, {kNan, kNan}), 1);
    EXPECT_EQ(Number(ScalarOp::kEq, t, {0.0, -0.0}), 1);
    for (double v : {0.0, 1.0, kInf, -kInf, kNan}) {
      EXPECT_EQ(Number(ScalarOp::kIsNan, t, {v}), std::isnan(v));
      EXPECT_EQ(Number(ScalarOp::kIsInf, t, {v}), std::isinf(v));
      EXPECT_EQ(Number(ScalarOp::kIsFinite, t, {v}), std::isfinite(v));
    }
  }
  EXPECT_EQ(Number(ScalarOp::kLt, DType::kBool, {0, 1}), 1);
}

TEST(ScalarSemantics, SignOfZeroAndNanOfUnaryOps) {
  for (DType t : {DType::kF32, DType::kF64}) {
    for (ScalarOp op : {ScalarOp::kExpm1, ScalarOp::kLog1p, ScalarOp::kTanh, ScalarOp::kErf,
                        ScalarOp::kSin, ScalarOp::kSqrt, ScalarOp::kFloor, ScalarOp::kCeil,
                        ScalarOp::kTrunc, ScalarOp::kRoundEven}) {
      SCOPED_TRACE(std::string(GetScalarOp(op).name));
      ExpectSame(Number(op, t, {0.0}), 0.0);
      ExpectSame(Number(op, t, {-0.0}), -0.0);
      ExpectSame(Number(op, t, {kNan}), kNan);
    }
    ExpectSame(Number(ScalarOp::kSign, t, {-0.0}), 0.0);
    ExpectSame(Number(ScalarOp::kSign, t, {kNan}), kNan);
    ExpectSame(Number(ScalarOp::kSign, t, {-kInf}), -1);
    ExpectSame(Number(ScalarOp::kNeg, t, {0.0}), -0.0);
    ExpectSame(Number(ScalarOp::kAbs, t, {-0.0}), 0.0);
    ExpectSame(Number(ScalarOp::kCopySign, t, {3, -0.0}), -3);
    ExpectSame(Number(ScalarOp::kReciprocal, t, {-0.0}), -kInf);
    ExpectSame(Number(ScalarOp::kRsqrt, t, {0.0}), kInf);
    ExpectSame(Number(ScalarOp::kRsqrt, t, {-1}), kNan);
    ExpectSame(Number(ScalarOp::kRsqrt, t, {kInf}), 0.0);
    ExpectSame(Number(ScalarOp::kRoundEven, t, {2.5}), 2);
    ExpectSame(Number(ScalarOp::kRoundEven, t, {-0.5}), -0.0);
  }
}

TEST(ScalarSemantics, LimitsOfTranscendentals) {
  for (DType t : {DType::kF32, DType::kF64}) {
    ExpectSame(Number(ScalarOp::kExp, t, {-kInf}), 0.0);
    ExpectSame(Number(ScalarOp::kExp, t, {kInf}), kInf);
    ExpectSame(Number(ScalarOp::kExp, t, {0}), 1);
    ExpectSame(Number(ScalarOp::kExp, t, {1e30}), kInf);
    ExpectSame(Number(ScalarOp::kExp, t, {-1e30}), 0.0);
    ExpectSame(Number(ScalarOp::kExp, t, {kNan}), kNan);
    ExpectSame(Number(ScalarOp::kExp2, t, {10}), 1024);
    ExpectSame(Number(ScalarOp::kExp2, t, {-kInf}), 0.0);
    ExpectSame(Number(ScalarOp::kExpm1, t, {-kInf}), -1);
    ExpectSame(Number(ScalarOp::kExpm1, t, {kInf}), kInf);
    for (ScalarOp op : {ScalarOp::kLog, ScalarOp::kLog2}) {
      ExpectSame(Number(op, t, {0.0}), -kInf);
      ExpectSame(Number(op, t, {-0.0}), -kInf);
      ExpectSame(Number(op, t, {-1}), kNan);
      ExpectSame(Number(op, t, {-kInf}), kNan);
      ExpectSame(Number(op, t, {kInf}), kInf);
      ExpectSame(Number(op, t, {1}), 0.0);
      ExpectSame(Number(op, t, {kNan}), kNan);
    }
    ExpectSame(Number(ScalarOp::kLog2, t, {1024}), 10);
    ExpectSame(Number(ScalarOp::kLog2, t, {0x1p-126}), -126);
    ExpectSame(Number(ScalarOp::kLog1p, t, {-1}), -kInf);
    ExpectSame(Number(ScalarOp::kLog1p, t, {-1.5}), kNan);
    ExpectSame(Number(ScalarOp::kLog1p, t, {kInf}), kInf);
    for (ScalarOp op : {ScalarOp::kTanh, ScalarOp::kErf}) {
      ExpectSame(Number(op, t, {kInf}), 1);
      ExpectSame(Number(op, t, {-kInf}), -1);
      ExpectSame(Number(op, t, {1e-40}),
                 ScalarToDouble(t, ScalarFromDouble(
                                       t, op == ScalarOp::kTanh ? 1e-40 : 1.1283791670955126e-40)));
    }
    ExpectSame(Number(ScalarOp::kErfc, t, {kInf}), 0.0);
    ExpectSame(Number(ScalarOp::kErfc, t, {-kInf}), 2);
    ExpectSame(Number(ScalarOp::kErfc, t, {0}), 1);
    ExpectSame(Number(ScalarOp::kErfc, t, {kNan}), kNan);
    ExpectSame(Number(ScalarOp::kSin, t, {kInf}), kNan);
    ExpectSame(Number(ScalarOp::kCos, t, {-kInf}), kNan);
    ExpectSame(Number(ScalarOp::kCos, t, {0}), 1);
  }
  ExpectSame(Number(ScalarOp::kSin, DType::kF64, {0x1p46}), kNan);
}

TEST(ScalarSemantics, PowHasTheSpecialCasesOfC) {
  const double values[] = {0.0,
                           -0.0,
                           0.5,
                           -0.5,
                           1,
                           -1,
                           1.5,
                           -1.5,
                           2,
                           -2,
                           3,
                           -3,
                           1e10,
                           -1e10,
                           kInf,
                           -kInf,
                           kNan,
                           4294967296.0,
                           4503599627370497.0};
  for (DType t : {DType::kF32, DType::kF64}) {
    for (double x : values) {
      for (double y : values) {
        double a = ScalarToDouble(t, ScalarFromDouble(t, x)),
               b = ScalarToDouble(t, ScalarFromDouble(t, y));
        double want = t == DType::kF32 ? std::pow(static_cast<float>(a), static_cast<float>(b))
                                       : std::pow(a, b);
        double got = Number(ScalarOp::kPow, t, {a, b});
        SCOPED_TRACE(testing::Message() << a << " ^ " << b);
        if (std::isnan(want) || std::isinf(want) || want == 0) {
          ExpectSame(got, want);
        } else {
          EXPECT_NEAR(got / want, 1, 1e-6);
        }
      }
    }
  }
}

TEST(ScalarSemantics, FloatToIntegerTruncatesSaturatesAndNanIsZero) {
  struct Case {
    double from;
    DType to;
    double want;
  };
  const Case cases[] = {
      {2.9, DType::kI32, 2},
      {-2.9, DType::kI32, -2},
      {kNan, DType::kI32, 0},
      {kInf, DType::kI32, 2147483647},
      {-kInf, DType::kI32, -2147483648.0},
      {300, DType::kU8, 255},
      {-1, DType::kU8, 0},
      {-0.9, DType::kU8, 0},
      {128, DType::kI8, 127},
      {-129, DType::kI8, -128},
      {kNan, DType::kU8, 0},
      {40000, DType::kI16, 32767},
      {70000, DType::kU16, 65535},
      {-1e30, DType::kU64, 0},
      {kInf, DType::kU32, 4294967295.0},
      {1e30, DType::kI64, 9223372036854775807.0},
      {-1e30, DType::kI64, -9223372036854775808.0},
      {1e30, DType::kU64, 18446744073709551615.0},
      {kNan, DType::kBool, 1},
      {-0.0, DType::kBool, 0},
      {1e-40, DType::kBool, 1},
      {255.99, DType::kU8, 255},
  };
  for (DType from : {DType::kF32, DType::kF64}) {
    for (const Case& c : cases) {
      ScalarValue v = ConvertScalar(from, c.to, ScalarFromDouble(from, c.from));
      EXPECT_EQ(ScalarToDouble(c.to, v), c.want) << c.from << " -> " << DTypeName(c.to);
    }
  }
  EXPECT_EQ(ConvertScalar(DType::kF64, DType::kI64, Put<double>(9223372036854774784.0)).i,
            9223372036854774784);
  EXPECT_EQ(ConvertScalar(DType::kF32, DType::kI64, Put<float>(0x1p63f)).i, INT64_MAX);
  EXPECT_EQ(ConvertScalar(DType::kF32, DType::kU64, Put<float>(0x1p63f)).u, uint64_t{1} << 63);
}

TEST(ScalarSemantics, IntegerConversionsWrapAndToBoolCompares) {
  EXPECT_EQ(ConvertScalar(DType::kI32, DType::kI8, ScalarFromInt(DType::kI32, 300)).i, 44);
  EXPECT_EQ(ConvertScalar(DType::kI32, DType::kU8, ScalarFromInt(DType::kI32, -1)).u, 255u);
  EXPECT_EQ(ConvertScalar(DType::kI8, DType::kU64, ScalarFromInt(DType::kI8, -1)).u, UINT64_MAX);
  EXPECT_EQ(ConvertScalar(DType::kU64, DType::kI64, ScalarFromInt(DType::kU64, -1)).i, -1);
  EXPECT_EQ(ConvertScalar(DType::kI32, DType::kBool, ScalarFromInt(DType::kI32, 256)).u, 1u);
  EXPECT_EQ(ConvertScalar(DType::kBool, DType::kF64, ScalarFromInt(DType::kBool, 1)).f64, 1);
  EXPECT_EQ(ConvertScalar(DType::kI64, DType::kF32, ScalarFromInt(DType::kI64, INT64_MAX)).f32,
            0x1p63f);
}

TEST(ScalarSemantics, ConversionsIntoNarrowFloatsRoundOnce) {
  // Through f32, 1 + 2^-11 + 2^-30 would become 1 + 2^-11 and then fall to even.
  EXPECT_EQ(ConvertScalar(DType::kF64, DType::kF16, Put<double>(1 + 0x1p-11 + 0x1p-30)).f32,
            1 + 0x1p-10f);
  EXPECT_EQ(ConvertScalar(DType::kF64, DType::kBF16, Put<double>(1 + 0x1p-8 + 0x1p-40)).f32,
            1 + 0x1p-7f);
  EXPECT_EQ(ConvertScalar(DType::kF64, DType::kF16, Put<double>(65520)).f32, kInf);
  EXPECT_EQ(ConvertScalar(DType::kF64, DType::kF16, Put<double>(65519.999)).f32, 65504);
  EXPECT_EQ(
      ConvertScalar(DType::kI64, DType::kBF16, ScalarFromInt(DType::kI64, (int64_t{257} << 48) + 1))
          .f32,
      std::ldexp(258.0f, 48));
  EXPECT_EQ(
      ConvertScalar(DType::kI64, DType::kBF16, ScalarFromInt(DType::kI64, int64_t{257} << 48)).f32,
      std::ldexp(256.0f, 48));
  EXPECT_EQ(ConvertScalar(DType::kU64, DType::kBF16, ScalarFromInt(DType::kU64, -1)).f32, 0x1p64f);
  EXPECT_EQ(ConvertScalar(DType::kI32, DType::kF16, ScalarFromInt(DType::kI32, 2049)).f32, 2048);
  EXPECT_EQ(ConvertScalar(DType::kI32, DType::kF16, ScalarFromInt(DType::kI32, 100000)).f32, kInf);
  EXPECT_EQ(ConvertScalar(DType::kF32, DType::kF16, Put<float>(0x1p-25f)).f32, 0);
  EXPECT_EQ(ConvertScalar(DType::kF32, DType::kF16, Put<float>(0x1.8p-25f)).f32, 0x1p-24f);
}

TEST(ScalarSemantics, EveryHalfValueLoadsStoresAndRoundTrips) {
  for (DType t : {DType::kF16, DType::kBF16}) {
    const int fraction = t == DType::kF16 ? 10 : 7, bias = t == DType::kF16 ? 15 : 127,
              top = t == DType::kF16 ? 31 : 255;
    for (uint32_t bits = 0; bits < 65536; ++bits) {
      uint16_t stored = static_cast<uint16_t>(bits), back = 0;
      ScalarValue v = LoadScalar(t, &stored);
      const int exponent = static_cast<int>(bits >> fraction) & top;
      const int mantissa = static_cast<int>(bits) & ((1 << fraction) - 1);
      const double sign = bits >> 15 ? -1 : 1;
      if (exponent == top) {
        ASSERT_EQ(std::isnan(v.f32), mantissa != 0);
        ASSERT_TRUE(mantissa != 0 || v.f32 == sign * kInf);
      } else {
        const double want =
            exponent == 0 ? std::ldexp(mantissa, 1 - bias - fraction)
                          : std::ldexp((1 << fraction) + mantissa, exponent - bias - fraction);
        ASSERT_EQ(v.f32, sign * want);
        ASSERT_EQ(std::signbit(v.f32), bits >> 15 != 0);
      }
      StoreScalar(t, v, &back);
      if (std::isnan(v.f32)) {
        ASSERT_TRUE(std::isnan(LoadScalar(t, &back).f32));
      } else {
        ASSERT_EQ(back, stored);
        ASSERT_EQ(ConvertScalar(DType::kF32, t, v).bits(), v.bits()) << "a value of the grid stays";
      }
    }
  }
}

// Every pair of neighbouring f16 and bf16 values: what lies between rounds to the nearer, ties to
// even.
TEST(ScalarSemantics, HalfwayPointsRoundToEven) {
  for (DType t : {DType::kF16, DType::kBF16}) {
    const uint16_t last = t == DType::kF16 ? 0x7bff : 0x7f7f;
    for (uint16_t bits = 0; bits < last; ++bits) {
      const uint16_t next = static_cast<uint16_t>(bits + 1);
      const double low = LoadScalar(t, &bits).f32, high = LoadScalar(t, &next).f32,
                   middle = (low + high) / 2;
      const double even = bits % 2 == 0 ? low : high;
      ASSERT_EQ(ConvertScalar(DType::kF64, t, Put<double>(middle)).f32, even);
      ASSERT_EQ(ConvertScalar(DType::kF64, t, Put<double>(std::nextafter(middle, kInf))).f32, high);
      ASSERT_EQ(ConvertScalar(DType::kF64, t, Put<double>(std::nextafter(middle, -kInf))).f32, low);
      ASSERT_EQ(ConvertScalar(DType::kF32, t, Put<float>(static_cast<float>(-middle))).f32, -even);
    }
  }
}

TEST(ScalarSemantics, LoadAndStoreEveryDType) {
  for (int i = 0; i < kNumDTypes; ++i) {
    const auto t = static_cast<DType>(i);
    for (double number : {0.0, 1.0, 100.0, -1.0}) {
      if (number < 0 && (IsUnsigned(t) || t == DType::kBool)) continue;
      uint8_t bytes[9] = {};
      bytes[ItemSize(t)] = 0xaa;
      ScalarValue v = ScalarFromDouble(t, number);
      StoreScalar(t, v, bytes);
      EXPECT_EQ(bytes[ItemSize(t)], 0xaa) << DTypeName(t);
      EXPECT_EQ(LoadScalar(t, bytes).bits(), v.bits()) << DTypeName(t);
    }
  }
  const uint8_t odd = 7;
  EXPECT_EQ(LoadScalar(DType::kBool, &odd).u, 1u) << "any byte but 0 is true";
}

int64_t Low(DType t) { return static_cast<int64_t>(ScalarFromDouble(t, -kInf).i); }

TEST(ScalarSemantics, IntegerDivision) {
  struct Row {
    int64_t a, b, floor, rem, trunc, fmod;
  };
  const Row rows[] = {{7, 2, 3, 1, 3, 1},     {-7, 2, -4, 1, -3, -1}, {7, -2, -4, -1, -3, 1},
                      {-7, -2, 3, -1, 3, -1}, {6, 3, 2, 0, 2, 0},     {-6, 3, -2, 0, -2, 0},
                      {5, 0, 0, 0, 0, 0},     {-5, 0, 0, 0, 0, 0},    {0, 0, 0, 0, 0, 0},
                      {0, -3, 0, 0, 0, 0},    {1, 100, 0, 1, 0, 1},   {-1, 100, -1, 99, 0, -1}};
  for (DType t : {DType::kI8, DType::kI16, DType::kI32, DType::kI64}) {
    for (const Row& r : rows) {
      std::vector<ScalarValue> in = {ScalarFromInt(t, r.a), ScalarFromInt(t, r.b)};
      EXPECT_EQ(Apply(ScalarOp::kFloorDivide, t, in).i, r.floor) << r.a << " // " << r.b;
      EXPECT_EQ(Apply(ScalarOp::kRemainder, t, in).i, r.rem) << r.a << " % " << r.b;
      EXPECT_EQ(Apply(ScalarOp::kTruncDivide, t, in).i, r.trunc);
      EXPECT_EQ(Apply(ScalarOp::kFmod, t, in).i, r.fmod);
    }
    std::vector<ScalarValue> lowest = {ScalarFromInt(t, Low(t)), ScalarFromInt(t, -1)};
    EXPECT_EQ(Apply(ScalarOp::kFloorDivide, t, lowest).i, Low(t)) << "MIN / -1 wraps";
    EXPECT_EQ(Apply(ScalarOp::kTruncDivide, t, lowest).i, Low(t));
    EXPECT_EQ(Apply(ScalarOp::kRemainder, t, lowest).i, 0);
    EXPECT_EQ(Apply(ScalarOp::kFmod, t, lowest).i, 0);
  }
  for (DType t : {DType::kU8, DType::kU16, DType::kU32, DType::kU64}) {
    const uint64_t top = ScalarFromInt(t, -1).u;
    for (ScalarOp op : {ScalarOp::kFloorDivide, ScalarOp::kTruncDivide}) {
      EXPECT_EQ(Apply(op, t, {ScalarFromInt(t, -1), ScalarFromInt(t, 2)}).u, top / 2);
      EXPECT_EQ(Apply(op, t, {ScalarFromInt(t, 0), ScalarFromInt(t, -1)}).u, 0u);
      EXPECT_EQ(Apply(op, t, {ScalarFromInt(t, -1), ScalarFromInt(t, -1)}).u, 1u);
      EXPECT_EQ(Apply(op, t, {ScalarFromInt(t, 9), ScalarFromInt(t, 0)}).u, 0u);
    }
    for (ScalarOp op : {ScalarOp::kRemainder, ScalarOp::kFmod}) {
      EXPECT_EQ(Apply(op, t, {ScalarFromInt(t, -1), ScalarFromInt(t, 16)}).u, 15u);
      EXPECT_EQ(Apply(op, t, {ScalarFromInt(t, 9), ScalarFromInt(t, 0)}).u, 0u);
    }
  }
}

// All pairs of 8-bit values against 64-bit arithmetic.
TEST(ScalarSemantics, AllNarrowDivisions) {
  for (int64_t a = -128; a < 128; ++a) {
    for (int64_t b = -128; b < 128; ++b) {
      std::vector<ScalarValue> in = {ScalarFromInt(DType::kI8, a), ScalarFromInt(DType::kI8, b)};
      const int64_t floor =
          b == 0
              ? 0
              : static_cast<int64_t>(std::floor(static_cast<double>(a) / static_cast<double>(b)));
      ASSERT_EQ(Apply(ScalarOp::kFloorDivide, DType::kI8, in).i, static_cast<int8_t>(floor));
      ASSERT_EQ(Apply(ScalarOp::kRemainder, DType::kI8, in).i, b == 0 ? 0 : a - floor * b);
    }
  }
}

TEST(ScalarSemantics, ArithmeticWraps) {
  for (DType t : {DType::kI8, DType::kI16, DType::kI32, DType::kI64}) {
    ScalarValue low = ScalarFromInt(t, Low(t)), one = ScalarFromInt(t, 1),
                high = ScalarFromInt(t, ~Low(t));
    EXPECT_EQ(Apply(ScalarOp::kAdd, t, {high, one}).i, Low(t));
    EXPECT_EQ(Apply(ScalarOp::kSub, t, {low, one}).i, ~Low(t));
    EXPECT_EQ(Apply(ScalarOp::kMul, t, {low, low}).i, 0);
    EXPECT_EQ(Apply(ScalarOp::kNeg, t, {low}).i, Low(t));
    EXPECT_EQ(Apply(ScalarOp::kAbs, t, {low}).i, Low(t));
    EXPECT_EQ(Apply(ScalarOp::kSign, t, {low}).i, -1);
  }
  ScalarValue u16 = ScalarFromInt(DType::kU16, -1);
  EXPECT_EQ(Apply(ScalarOp::kMul, DType::kU16, {u16, u16}).u, 1u);
  EXPECT_EQ(Apply(ScalarOp::kNeg, DType::kU8, {ScalarFromInt(DType::kU8, 1)}).u, 255u);
  EXPECT_EQ(Apply(ScalarOp::kAbs, DType::kU8, {ScalarFromInt(DType::kU8, 200)}).u, 200u);
  EXPECT_EQ(Apply(ScalarOp::kSign, DType::kU8, {ScalarFromInt(DType::kU8, 200)}).u, 1u);
  EXPECT_EQ(Apply(ScalarOp::kNot, DType::kBool, {ScalarFromInt(DType::kBool, 1)}).u, 0u);
  EXPECT_EQ(Apply(ScalarOp::kNot, DType::kU8, {ScalarFromInt(DType::kU8, 1)}).u, 254u);
}

TEST(ScalarSemantics, ShiftsByTheWidthAndMore) {
  for (int i = 0; i < kNumDTypes; ++i) {
    const auto t = static_cast<DType>(i);
    if (!IsInt(t)) continue;
    const int width = 8 * ItemSize(t);
    const ScalarValue ones = ScalarFromInt(t, -1);
    const int64_t beyond[] = {width, width + 1, 100, -1};
    for (int64_t count : beyond) {
      ScalarValue c = ScalarFromInt(t, count);
      EXPECT_EQ(Apply(ScalarOp::kShl, t, {ones, c}).u, 0u) << DTypeName(t) << " << " << count;
      EXPECT_EQ(Apply(ScalarOp::kShr, t, {ones, c}).u, IsSigned(t) ? ones.u : 0u)
          << DTypeName(t) << " >> " << count;
      EXPECT_EQ(Apply(ScalarOp::kShr, t, {ScalarFromInt(t, 5), c}).u, 0u);
    }
    EXPECT_EQ(Apply(ScalarOp::kShl, t, {ScalarFromInt(t, 1), ScalarFromInt(t, width - 1)}).bits(),
              ScalarFromInt(t, static_cast<int64_t>(uint64_t{1} << (width - 1))).bits());
    EXPECT_EQ(Apply(ScalarOp::kShr, t, {ones, ScalarFromInt(t, width - 1)}).bits(),
              ScalarFromInt(t, IsSigned(t) ? -1 : 1).bits());
  }
}

// The decomposition for CPUs without an fma instruction.
TEST(ScalarSemantics, ScalesByPowersOfTwoRoundedOnce) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> exponent(-20, 20), mantissa(1, 2);
  for (auto [type, bias, limit] :
       {std::tuple(DType::kF32, 0x1.8p23, 200), {DType::kF64, 0x1.8p52, 2000}}) {
    std::uniform_int_distribution<int> power(-limit, limit);
    for (int i = 0; i < 20000; ++i) {
      const int n = i == 0 ? -limit : i == 1 ? limit : power(random);
      const double a =
          (i % 2 == 0 ? 1 : -1) * std::ldexp(mantissa(random), static_cast<int>(exponent(random)));
      const double got = Number(ScalarOp::kScalePow2Raw, type, {a, n + bias});
      ExpectSame(got,
                 type == DType::kF64 ? std::ldexp(a, n) : std::ldexp(static_cast<float>(a), n));
    }
  }
}

TEST(ScalarSemantics, EmulatedFmaRoundsOnce) {
  uint64_t state = 1;
  auto next = [&state] { return state = state * 6364136223846793005u + 1442695040888963407u; };
  for (DType t : {DType::kF32, DType::kF64}) {
    ScalarProgram p;
    p.num_args = 3;
    for (uint64_t k = 0; k < 3; ++k) p.insts.push_back({ScalarOp::kArg, t, {-1, -1, -1}, k});
    p.insts.push_back({ScalarOp::kFma, t, {0, 1, 2}, 0});
    p.results = {3};
    const ScalarProgram emulated = ExpandDecomps(p, {.fma = false});
    for (int i = 0; i < 50000; ++i) {
      ScalarValue in[3], want, got;
      for (ScalarValue& v : in) {
        const double m = static_cast<double>(next() >> 11) * 0x1p-53 + 0.5;
        const int e = static_cast<int>(next() >> 58) - 32;
        v = ScalarFromDouble(t, std::ldexp(next() >> 63 ? -m : m, e));
      }
      if (i % 3 == 0)
        in[2] = ScalarFromDouble(
            t, -ScalarToDouble(t, in[0]) * ScalarToDouble(t, in[1]));  // cancellation
      EvalScalarProgram(p, in, &want);
      EvalScalarProgram(emulated, in, &got);
      ASSERT_EQ(ScalarToDouble(t, got), ScalarToDouble(t, want))
          << ScalarToDouble(t, in[0]) << " " << ScalarToDouble(t, in[1]) << " "
          << ScalarToDouble(t, in[2]);
    }
  }
  for (double x : {kInf, -kInf, kNan, 0.0, 1e308, 1e-300}) {
    ScalarProgram p;
    p.num_args = 1;
    p.insts = {{ScalarOp::kArg, DType::kF64, {-1, -1, -1}, 0},
               {ScalarOp::kFma, DType::kF64, {0, 0, 0}, 0}};
    p.results = {1};
    ScalarValue in = Put<double>(x), got;
    EvalScalarProgram(ExpandDecomps(p, {.fma = false}), &in, &got);
    ExpectSame(got.f64, std::fma(x, x, x));
  }
}

}  // namespace
}  // namespace jitfuse::internal
