// Reported faults: what is computed (NaN, zeros, casts, rounding, sums, ties). See
// reported_faults.h.
#ifndef JITFUSE_TESTS_SUPPORT_REPORTED_FAULTS_VALUES_H_
#define JITFUSE_TESTS_SUPPORT_REPORTED_FAULTS_VALUES_H_

#include "tests/support/reported_faults.h"

namespace jitfuse_test {

TEST_F(ReportedFaults, Case1_NaNInOneOperandOfMaxMinAndClamp) {
  const Values x0 = {-3, kNaN, -1, 0, 1, kNaN}, y0 = {0, 0, kNaN, 0, 0, kNaN};
  for (DType dtype : kFloats) {
    for (size_t n : {size_t{1}, size_t{6}, size_t{7}, size_t{4096}}) {
      Values x, y;
      for (size_t i = 0; i < n; ++i) x.push_back(x0[i % 6]), y.push_back(y0[i % 6]);
      Builder b;
      Tensor a = b.Input("a", dtype, {"n"}), c = b.Input("c", dtype, {"n"});
      Function f = Compile(b, {Relu(a), Clamp(a, 0.5), Clamp(a, -1, 1), Maximum(a, c),
                               Maximum(c, a), Minimum(a, c), Minimum(c, a)});
      const Dims dims = {static_cast<int64_t>(n)};
      std::vector<Values> r = Run(f, {Make(dtype, dims, x), Make(dtype, dims, y)});
      ASSERT_EQ(r.size(), 7u);
      auto both = [](double p, double q, bool max) {
        return std::isnan(p) || std::isnan(q) ? kNaN : max ? std::fmax(p, q) : std::fmin(p, q);
      };
      Values max, min;
      for (size_t i = 0; i < n; ++i)
        max.push_back(both(x[i], y[i], true)), min.push_back(both(x[i], y[i], false));
      ExpectSame(r[0], Each(x, [&](double v) { return both(v, 0, true); }), "relu");
      ExpectSame(r[1], Each(x, [&](double v) { return both(v, 0.5, true); }), "clamp(min)");
      ExpectSame(r[2], Each(x, [&](double v) { return both(both(v, -1, true), 1, false); }),
                 "clamp");
      ExpectSame(r[3], max, "maximum(a, c)");
      ExpectSame(r[4], max, "maximum(c, a)");
      ExpectSame(r[5], min, "minimum(a, c)");
      ExpectSame(r[6], min, "minimum(c, a)");
    }
  }
}

TEST_F(ReportedFaults, Case4_TimesZeroIsNotZero) {
  const Values x = {1, kNaN, kInf, -kInf, -1, -0.0};
  for (DType dtype : kFloats) {
    ExpectSame(Map(dtype, x, [](Tensor t) { return t * 0.0; }), {0, kNaN, kNaN, kNaN, -0.0, -0.0},
               "x*0");
    ExpectSame(Map(dtype, x, [](Tensor t) { return 0.0 * t; }), {0, kNaN, kNaN, kNaN, -0.0, -0.0},
               "0*x");
    ExpectSame(Map(dtype, x, [](Tensor t) { return t * 0.0 + 1.0; }), {1, kNaN, kNaN, kNaN, 1, 1},
               "x*0+1");
    ExpectSame(Map(dtype, x, [](Tensor t) { return t - t; }), {0, kNaN, kNaN, kNaN, 0, 0}, "x-x");
  }
}

TEST_F(ReportedFaults, Case6_ProductAndQuotientOfExponentials) {
  Builder b;
  Tensor x = b.Input("a", DType::kF32, {"n"}), y = b.Input("b", DType::kF32, {"n"});
  std::vector<Values> r =
      Run(Compile(b, {Exp(x) * Exp(y), Exp(x) / Exp(x)}),
          {Make(DType::kF32, {2}, {100, 1}), Make(DType::kF32, {2}, {-110, 1})});
  ASSERT_EQ(r.size(), 2u);
  EXPECT_TRUE(std::isnan(r[0][0]));
  EXPECT_NEAR(r[0][1], std::exp(2.0), 4e-6);
  EXPECT_TRUE(std::isnan(r[1][0]));
  EXPECT_EQ(r[1][1], 1);
}

TEST_F(ReportedFaults, Case7_AddingPositiveZeroIsNoNoOp) {
  const Values x = {-0.5, -0.1, -0.9};
  ExpectSame(Map(DType::kF32, x, [](Tensor t) { return 1.0 / (Ceil(t) + 0.0); }),
             {kInf, kInf, kInf}, "+0.0");
  ExpectSame(Map(DType::kF32, x, [](Tensor t) { return 1.0 / (Ceil(t) + -0.0); }),
             {-kInf, -kInf, -kInf}, "+(-0.0)");
  Builder b;
  Tensor t = b.Input("x", DType::kF32, {"n"}), z = b.Scalar("z", DType::kF32);
  Function f = Compile(b, {1.0 / (Ceil(t) + z)});
  for (double zero : {0.0, -0.0}) {
    ExpectSame(Run1(f, {Make(DType::kF32, {3}, x), Array::Scalar(DType::kF32, zero)}),
               Values(3, std::copysign(kInf, zero)), "a zero given when called");
  }
}

TEST_F(ReportedFaults, Case10_WrittenRoundTripsStay) {
  Values x = Random(16, 1);
  for (int i = 0; i < 20; ++i) x.push_back(static_cast<float>(i) / 7.0f);
  for (DType narrow : {DType::kBF16, DType::kF16}) {
    const Values want = *Array::FromValues(narrow, {36}, x)->ToVector();
    ExpectSame(Map(DType::kF32, x, [&](Tensor t) { return Cast(Cast(t, narrow), DType::kF32); }),
               want, "round trip");
    Builder b;
    Tensor t = b.Input("x", DType::kF32, {4, 9});
    Tensor y = Cast(Cast(t, narrow), DType::kF32);
    std::vector<Values> r =
        Run(Compile(b, {y, Sum(y, {1}), Sigmoid(y)}), {Make(DType::kF32, {4, 9}, x)});
    ASSERT_EQ(r.size(), 3u);
    ExpectSame(r[0], want, "with readers");
    for (size_t row = 0; row < 4; ++row) {
      const double sum = std::accumulate(want.begin() + static_cast<int>(9 * row),
                                         want.begin() + static_cast<int>(9 * row + 9), 0.0);
      EXPECT_NEAR(r[1][row], sum, 1e-5);
    }
    Builder b2;
    Tensor before = Cast(Cast(Sigmoid(b2.Input("x", DType::kF32, {"n"})), narrow), DType::kF32);
    const Values after = Run1(Compile(b2, {before}), {Make(DType::kF32, {36}, x)});
    ExpectSame(after, *Array::FromValues(narrow, {36}, after)->ToVector(), "after a sigmoid");
  }
}

// q*cos + cat(-q2, q1)*sin: no worse than bf16 after every op, with fixed and with symbolic sizes.
TEST_F(ReportedFaults, Case12_RotaryChain) {
  auto round = [](double v) {
    const auto bits = std::bit_cast<uint32_t>(static_cast<float>(v));
    return static_cast<double>(
        std::bit_cast<float>((bits + 0x7fffu + (bits >> 16 & 1)) & 0xffff0000u));
  };
  for (bool symbolic : {false, true}) {
    for (int64_t heads : {2, 1}) {
      Builder b;
      const jitfuse::DimSpec length = symbolic ? jitfuse::DimSpec("s") : jitfuse::DimSpec(7);
      Tensor q = b.Input("q", DType::kBF16, {1, heads, length, 16});
      Tensor cos = b.Input("cos", DType::kBF16, {1, length, 16});
      Tensor sin = b.Input("sin", DType::kBF16, {1, length, 16});
      std::vector<Tensor> halves = Split(q, {8, 8}, -1);
      Tensor turned = jitfuse::Concatenate({-halves[1], halves[0]}, -1);
      Function f = Compile(b, {q * cos + turned * sin});
      const auto n = static_cast<size_t>(heads) * 7 * 16;
      const Values x = Each(Random(n, 12), round), c = Each(Random(7 * 16, 13), round),
                   s = Each(Random(7 * 16, 14), round);
      const Values got =
          Run1(f, {Make(DType::kBF16, {1, heads, 7, 16}, x), Make(DType::kBF16, {1, 7, 16}, c),
                   Make(DType::kBF16, {1, 7, 16}, s)});
      ASSERT_EQ(got.size(), n);
      double ours = 0, op_by_op = 0;
      for (size_t i = 0; i < n; ++i) {
        const size_t j = i % 16, at = i % (7 * 16);
        const double other = j < 8 ? -x[i + 8] : x[i - 8];
        const double exact = x[i] * c[at] + other * s[at];
        ours = std::fmax(ours, std::fabs(got[i] - exact));
        op_by_op = std::fmax(op_by_op,
                             std::fabs(round(round(x[i] * c[at]) + round(other * s[at])) - exact));
      }
      EXPECT_LE(ours, op_by_op);
      EXPECT_GT(op_by_op, 0);
    }
  }
}

TEST_F(ReportedFaults, Case14_MeanDoesNotOverflowInItsSum) {
  Builder b;
  Tensor x = b.Input("x", DType::kF16, {"n", "m"});
  Function f = Compile(b, {Mean(x), Mean(x, {0}), Mean(x, {1})});
  auto expect = [&](Dims dims, double value) {
    const auto n = static_cast<size_t>(dims[0] * dims[1]);
    for (const Values& r : Run(f, {Make(DType::kF16, dims, Values(n, value))})) {
      for (double v : r) ASSERT_EQ(v, value);
    }
  };
  expect({1, 100000}, 1);
  expect({100000, 1}, 1);
  expect({20, 15}, 60000);
}

TEST_F(ReportedFaults, Case15_LongSumsDoNotPin) {
  auto expect = [](Dims dims, const std::vector<std::int64_t>& axes, double value) {
    Builder b;
    Function f = Compile(b, {Mean(b.Input("x", DType::kF32, {dims[0], dims[1]}), axes)});
    const Array one = Make(DType::kF32, {1, 1}, {value});  // read again and again by strides of 0
    const Array x = Array::View(one.data(), DType::kF32, dims, {0, 0}, one.device());
    for (double v : Run1(f, {x})) ASSERT_NEAR(v, value, 2.4e-7) << dims[0] << "x" << dims[1];
  };
  expect({20000000, 2}, {0}, 1);
  expect({2, 20000000}, {1}, 1);
  expect({4500, 4500}, {}, -1);
  expect({4500, 4500}, {0}, -1);
  expect({4500, 4500}, {1}, -1);
}

TEST_F(ReportedFaults, Case17_VarianceFarFromZero) {
  Builder b;
  Tensor x = b.Input("x", DType::kF32, {8, 4096});
  Function f = Compile(b, {Var(x, {1}), LayerNorm(x)});
  for (double base : {1e3, 1e4, 1e5, 1e6}) {
    Values v = Random(8 * 4096, 17);
    for (double& e : v) e = static_cast<float>(base + e);
    std::vector<Values> r = Run(f, {Make(DType::kF32, {8, 4096}, v)});
    ASSERT_EQ(r.size(), 2u);
    for (size_t row = 0; row < 8; ++row) {
      double mean = 0, var = 0;
      for (size_t i = 0; i < 4096; ++i) mean += v[row * 4096 + i] / 4096;
      for (size_t i = 0; i < 4096; ++i) var += std::pow(v[row * 4096 + i] - mean, 2) / 4096;
      EXPECT_NEAR(r[0][row] / var, 1, base < 1e6 ? 1e-3 : 1e-2) << base;
    }
    for (double y : r[1]) ASSERT_TRUE(std::isfinite(y) && std::fabs(y) < 10) << base;
  }
}

TEST_F(ReportedFaults, Case49_FloatToNarrowIntegers) {
  const Values x = {-1.9, -1, 0.99, 127.5, -129, 300.7, 1e10, kNaN, kInf, -kInf};
  struct Range {
    DType dtype;
    double lo, hi;
  };
  for (Range t :
       {Range{DType::kU8, 0, 255}, Range{DType::kI8, -128, 127}, Range{DType::kI16, -32768, 32767},
        Range{DType::kI32, -2147483648.0, 2147483647.0}, Range{DType::kI64, -0x1p63, 0x1p63}}) {
    for (DType from : {DType::kF16, DType::kBF16, DType::kF32, DType::kF64}) {
      const Values stored = *Array::FromValues(from, {10}, x)->ToVector();
      const Values want = Each(stored, [&](double v) {
        return std::isnan(v) ? 0 : std::fmin(std::fmax(std::trunc(v), t.lo), t.hi) + 0.0;
      });
      ExpectSame(Map(from, x, [&](Tensor v) { return Cast(v, t.dtype); }), want, "cast alone");
      ExpectSame(Map(from, x, [&](Tensor v) { return Cast(Negative(Negative(v)), t.dtype); }), want,
                 "cast in a chain");
    }
  }
}

TEST_F(ReportedFaults, Case52_HostScalarsBesideDeviceTensors) {
  Builder b;
  Tensor x = b.Input("x", DType::kF32, {"n"});
  Tensor two = b.Scalar("two", DType::kI64), half = b.Scalar("f", DType::kF32);
  Tensor flag = b.Scalar("flag", DType::kBool);
  Function f = Compile(b, {x * two, half * two, half * flag, half + flag});
  auto r = f.Run({Make(DType::kF32, {2}, {1, 1}), Array::ScalarInt(DType::kI64, 2),
                  Array::Scalar(DType::kF32, 1.5), Array::Scalar(DType::kBool, 1)});
  ASSERT_TRUE(r.ok()) << r.status().message();
  const Values want[] = {{2, 2}, {3}, {1.5}, {2.5}};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ((*r)[i].dtype(), DType::kF32);
    EXPECT_EQ(*(*r)[i].ToVector(), want[i]);
  }
}

TEST_F(ReportedFaults, Case53_TheFourIntegerDivisions) {
  for (DType dtype : {DType::kI8, DType::kI16, DType::kI32, DType::kI64}) {
    Builder b;
    Tensor x = b.Input("x", dtype, {19, 1}), d = b.Input("d", dtype, {5});
    Function f = Compile(b, {FloorDivide(x, d), Remainder(x, d), TruncDivide(x, d), Fmod(x, d)});
    Values xs(19);
    std::iota(xs.begin(), xs.end(), -9.0);
    const Values ds = {-3, -2, 2, 3, 0};
    std::vector<Values> r = Run(f, {Make(dtype, {19, 1}, xs), Make(dtype, {5}, ds)});
    ASSERT_EQ(r.size(), 4u);
    for (size_t i = 0; i < 19 * 5; ++i) {
      const double a = xs[i / 5], c = ds[i % 5];
      const double floored = c == 0 ? 0 : std::floor(a / c), cut = c == 0 ? 0 : std::trunc(a / c);
      EXPECT_EQ(r[0][i], floored) << a << " " << c;
      EXPECT_EQ(r[1][i], c == 0 ? 0 : a - c * floored) << a << " " << c;
      EXPECT_EQ(r[2][i], cut) << a << " " << c;
      EXPECT_EQ(r[3][i], c == 0 ? 0 : a - c * cut) << a << " " << c;
    }
  }
}

TEST_F(ReportedFaults, Case55_LogOfAPower) {
  const Values nan = Map(DType::kF32, {-1.5}, [](Tensor x) { return Log(Pow(x, x)); });
  ASSERT_EQ(nan.size(), 1u);
  EXPECT_TRUE(std::isnan(nan[0]));
  const Values y = Map(DType::kF32, {-1.5}, [](Tensor x) { return Log(Pow(x, x * 0.0 + 2.0)); });
  ASSERT_EQ(y.size(), 1u);
  EXPECT_NEAR(y[0], std::log(2.25), 1e-6);
}

TEST_F(ReportedFaults, Case57_GeluWrittenOutInEveryFloat) {
  const Values x = {-3, -1, -0.25, 0, 0.5, 1, 2.5};
  for (DType dtype : kFloats) {
    const double bound = dtype == DType::kF64    ? 1e-14
                         : dtype == DType::kF32  ? 1e-5
                         : dtype == DType::kBF16 ? 1e-2
                                                 : 2e-3;
    const Values erf =
        Map(dtype, x, [](Tensor t) { return t * 0.5 * (1.0 + jitfuse::Erf(t / std::sqrt(2.0))); });
    const Values quick = Map(dtype, x, [](Tensor t) { return t * Sigmoid(1.702 * t); });
    ASSERT_EQ(erf.size(), x.size());
    ASSERT_EQ(quick.size(), x.size());
    for (size_t i = 0; i < x.size(); ++i) {
      const double e = x[i] * 0.5 * (1 + std::erf(x[i] / std::sqrt(2.0)));
      const double q = x[i] / (1 + std::exp(-1.702 * x[i]));
      EXPECT_NEAR(erf[i], e, bound * (dtype == DType::kF64 ? std::fabs(x[i]) : 1)) << x[i];
      EXPECT_NEAR(quick[i], q, bound) << x[i];
    }
  }
}

TEST_F(ReportedFaults, Case61_TheFirstOfEqualsWins) {
  std::mt19937 rng(61);
  for (DType dtype : {DType::kI32, DType::kF32}) {
    constexpr size_t kSide = 1028;
    Values v(kSide * kSide);
    for (double& e : v) e = static_cast<double>(rng() % 8);
    Builder b;
    Tensor x = b.Input("x", dtype, {"n", "m"});
    Function f = Compile(
        b, {Argmax(x, {0}), Argmax(x, {1}), Argmin(x, {0}), Argmin(x, {1}), Argmax(x), Argmin(x)});
    std::vector<Values> r = Run(f, {Make(dtype, {kSide, kSide}, v)});
    ASSERT_EQ(r.size(), 6u);
    for (size_t i = 0; i < kSide; ++i) {
      size_t max0 = 0, max1 = 0, min0 = 0, min1 = 0;
      for (size_t k = 1; k < kSide; ++k) {
        if (v[k * kSide + i] > v[max0 * kSide + i]) max0 = k;
        if (v[k * kSide + i] < v[min0 * kSide + i]) min0 = k;
        if (v[i * kSide + k] > v[i * kSide + max1]) max1 = k;
        if (v[i * kSide + k] < v[i * kSide + min1]) min1 = k;
      }
      ASSERT_EQ(r[0][i], max0);
      ASSERT_EQ(r[1][i], max1);
      ASSERT_EQ(r[2][i], min0);
      ASSERT_EQ(r[3][i], min1);
    }
    EXPECT_EQ(r[4][0], std::max_element(v.begin(), v.end()) - v.begin());
    EXPECT_EQ(r[5][0], std::min_element(v.begin(), v.end()) - v.begin());
    for (int64_t n = 1; n <= 40; ++n) {
      for (const Values& all_equal :
           Run(f, {Make(dtype, {1, n}, Values(static_cast<size_t>(n), 3))}))
        for (double index : all_equal) ASSERT_EQ(index, 0);
    }
  }
}

TEST_F(ReportedFaults, Case93_ContractionDoesNotBreakSoftmax) {
  Values x = Random(64 * 1000, 93), y = Random(64 * 1000, 94);
  for (size_t row = 0; row < 64; row += 4) {
    for (size_t i = 0; i < 1000; ++i) y[row * 1000 + i] = -x[row * 1000 + i];
  }
  Builder b;
  Tensor a = b.Input("x", DType::kF32, {64, 1000}), c = b.Input("y", DType::kF32, {64, 1000});
  Tensor z = a / 1e-6 + c / 1e-6;
  std::vector<Values> r = Run(Compile(b, {z, Softmax(z)}),
                              {Make(DType::kF32, {64, 1000}, x), Make(DType::kF32, {64, 1000}, y)});
  ASSERT_EQ(r.size(), 2u);
  for (size_t row = 0; row < 64; ++row) {
    double sum = 0;
    for (size_t i = 0; i < 1000; ++i) {
      if (row % 4 == 0) ASSERT_EQ(r[0][row * 1000 + i], 0);
      ASSERT_LE(r[1][row * 1000 + i], 1);
      sum += r[1][row * 1000 + i];
    }
    ASSERT_NEAR(sum, 1, 1e-5) << row;
  }
}

}  // namespace jitfuse_test

#endif  // JITFUSE_TESTS_SUPPORT_REPORTED_FAULTS_VALUES_H_
