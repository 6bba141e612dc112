// EvalWideAt gives what EvalWide gives, of what is asked for alone, and what that costs; samples;
// how differences are counted.
#include <algorithm>
#include <cmath>
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/eval.h"
#include "ir/eval_sample.h"
#include "ir/text.h"
#include "tests/support/graph_sweep.h"

namespace jitfuse::internal {
namespace {

using ::testing::ElementsAre;

bool SameBits(long double a, long double b) {
  return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
}

// Of every op in every dtype, and of graphs of several, some elements; of every other graph with
// values that are special.
TEST(EvalAtTest, SomeElementsAreThoseOfTheWhole) {
  constexpr double kNoLimit = 1e18;
  int64_t compared = 0, number = 0;
  for (const jitfuse_test::SweepCase& c : jitfuse_test::SweepCases()) {
    const bool specials = c.both_values ? ++number % 2 == 0 : c.specials;
    for (const jitfuse_test::SweepCall& call : jitfuse_test::SweepCalls(c)) {
      if (call.layout != "dense" || call.size != 0 || call.specials != specials) continue;
      auto prepared = PrepareCalls(call.made);
      ASSERT_TRUE(prepared.ok()) << c.name << ": " << prepared.status();
      std::vector<HostTensor> inputs;
      for (const FuzzTensor& t : (*prepared)[0].inputs) inputs.push_back(t.logical);
      const std::vector<WideTensor>& whole = (*prepared)[0].expect;
      std::vector<std::vector<int64_t>> at;
      for (const WideTensor& t : whole) at.push_back(SampleElements(t.dims, 4, 3, at.size()));
      auto some = EvalWideAt(call.made.graph, inputs, at, kNoLimit);
      ASSERT_TRUE(some.ok()) << c.name << ": " << some.status() << "\n" << c.text;
      ASSERT_TRUE(some->has_value()) << c.name;
      for (size_t o = 0; o < whole.size(); ++o) {
        const WideTensor& got = (**some)[o];
        ASSERT_EQ(got.at, at[o]);
        ASSERT_EQ(got.dims, whole[o].dims);
        for (size_t i = 0; i < at[o].size(); ++i, ++compared) {
          const auto from = static_cast<size_t>(at[o][i]);
          ASSERT_TRUE(SameBits(got.value[i], whole[o].value[from]) &&
                      SameBits(got.bound[i], whole[o].bound[from]))
              << c.name << ", output " << o << ", element " << from << ": got " << got.value[i]
              << " +- " << got.bound[i] << ", expected " << whole[o].value[from] << " +- "
              << whole[o].bound[from] << "\n"
              << c.text;
        }
      }
    }
  }
  EXPECT_GT(compared, 10000);
}

HostTensor Filled(std::vector<int64_t> dims) {
  HostTensor t = HostTensor::Make(DType::kF32, std::move(dims));
  for (int64_t i = 0; i < t.size(); ++i) t.SetNumber(i, static_cast<double>(i % 17) / 8 - 1);
  return t;
}

// Whether element 0 and the last one of each output can be had within `work`.
bool Within(const char* text, const std::vector<HostTensor>& inputs, double work) {
  const Graph graph = *ParseGraph(text);
  const std::vector<WideTensor> shapes = *EvalWide(graph, inputs);
  std::vector<std::vector<int64_t>> at;
  for (const WideTensor& t : shapes) at.push_back({0, static_cast<int64_t>(t.value.size()) - 1});
  auto made = EvalWideAt(graph, inputs, at, work);
  EXPECT_TRUE(made.ok()) << made.status();
  return made.ok() && made->has_value();
}

TEST(EvalAtTest, RowsCostWhatTheyNeed) {
  const std::vector<HostTensor> wide = {Filled({4000, 16})};
  constexpr char kSoftmax[] =
      "graph f(%x: f32[n,16]) -> (f32[n,16]) { %0 = softmax(%x) {axis=1} : f32[n,16] return %0 }";
  EXPECT_TRUE(Within(kSoftmax, wide, 1000));
  EXPECT_FALSE(Within(kSoftmax, wide, 10));
  // Down the columns each element needs them whole: two of 16 columns, some ops each.
  constexpr char kColumns[] =
      "graph f(%x: f32[n,16]) -> (f32[n,16]) { %0 = softmax(%x) {axis=0} : f32[n,16] return %0 }";
  EXPECT_FALSE(Within(kColumns, wide, 4000));
  EXPECT_TRUE(Within(kColumns, wide, 200000));
  // Through a product that needs a row of the one and a column of the other.
  const std::vector<HostTensor> product = {Filled({300, 200}), Filled({200, 100})};
  constexpr char kProduct[] =
      "graph f(%x: f32[n,200], %w: f32[200,100]) -> (f32[n,100]) { %0 = matmul(%x, %w) : "
      "f32[n,100] %1 = gelu(%0) : f32[n,100] return %1 }";
  EXPECT_TRUE(Within(kProduct, product, 4000));
  EXPECT_FALSE(Within(kProduct, product, 300));
  // Every element comes from all rows.
  constexpr char kMean[] =
      "graph f(%x: f32[n,16]) -> (f32[n,16]) { %0 = exp(%x) : f32[n,16] %1 = mean(%0) {axes=[0,1], "
      "keepdims=true} : f32[1,1] %2 = subtract(%0, %1) : f32[n,16] return %2 }";
  EXPECT_FALSE(Within(kMean, wide, 64000));
}

TEST(EvalAtTest, AnIndexOutOfRangeIsAnErrorWhereItIsNeeded) {
  const Graph graph = *ParseGraph(
      "graph f(%x: f32[4], %i: i64[3]) -> (f32[3]) { %0 = exp(%x) : f32[4] %1 = take(%0, %i) : "
      "f32[3] return %1 }");
  HostTensor i = HostTensor::Make(DType::kI64, {3});
  i.SetNumber(2, 9);
  const std::vector<HostTensor> inputs = {Filled({4}), i};
  const std::vector<std::vector<int64_t>> first = {{0}}, last = {{2}};
  EXPECT_TRUE(EvalWideAt(graph, inputs, first, 1000).ok());
  EXPECT_THAT(std::string(EvalWideAt(graph, inputs, last, 1000).status().message()),
              ::testing::HasSubstr("index 9 is out of range for axis 0 of size 4"));
}

// Bounds of f32 products cover TF32's rounding under numerics=fast, in all ways to ask.
TEST(EvalFastTest, ProductsMayRoundTheirFactors) {
  const Graph graph = *ParseGraph(
      "graph f(%x: f32[2,3], %w: f32[3,2]) -> (f32[2,2]) { %0 = matmul(%x, %w) : f32[2,2] return "
      "%0 "
      "}");
  HostTensor x = HostTensor::Make(DType::kF32, {2, 3}), w = HostTensor::Make(DType::kF32, {3, 2});
  for (int64_t i = 0; i < 6; ++i) {
    x.SetNumber(i, 1 + static_cast<double>(i + 1) / 7);
    w.SetNumber(i, 2 - static_cast<double>(i) / 3);
  }
  const std::vector<HostTensor> inputs = {x, w};
  // The factors with 10 bits after the point, rounded towards 0.
  HostTensor tf32 = HostTensor::Make(DType::kF32, {2, 2});
  const auto cut = [](double v) {
    int exponent = 0;
    const double fraction = std::frexp(v, &exponent);
    return std::ldexp(std::trunc(std::ldexp(fraction, 11)), exponent - 11);
  };
  for (int64_t m = 0; m < 2; ++m) {
    for (int64_t n = 0; n < 2; ++n) {
      double sum = 0;
      for (int64_t k = 0; k < 3; ++k) sum += cut(x.Number(m * 3 + k)) * cut(w.Number(k * 2 + n));
      tf32.SetNumber(m * 2 + n, sum);
    }
  }
  EXPECT_FALSE(Compare((*EvalWide(graph, inputs))[0], tf32).ok);
  const CompareResult fast = Compare((*EvalWide(graph, inputs, Numerics::kFast))[0], tf32);
  EXPECT_TRUE(fast.ok) << fast.text;
  EXPECT_GT(fast.max_ratio, 0.05);
  const std::vector<std::vector<int64_t>> at = {{0, 3}};
  EXPECT_TRUE(Compare((**EvalWideAt(graph, inputs, at, 1e6, Numerics::kFast))[0], tf32).ok);
  EXPECT_FALSE(Compare((**EvalWideAt(graph, inputs, at, 1e6))[0], tf32).ok);
  tf32.SetNumber(0, tf32.Number(0) * 1.01);
  EXPECT_FALSE(Compare((*EvalWide(graph, inputs, Numerics::kFast))[0], tf32).ok);
}

TEST(SampleTest, PiecesOfRowsWithTheFirstAndTheLast) {
  EXPECT_THAT(SampleElements({}, 4, 4, 1), ElementsAre(0));
  EXPECT_THAT(SampleElements({2, 0}, 4, 4, 1), ElementsAre());
  EXPECT_THAT(SampleElements({5}, 4, 4, 1), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(SampleElements({100}, 2, 3, 1), ElementsAre(0, 1, 2, 99));
  for (const std::vector<int64_t>& dims :
       {std::vector<int64_t>{100000}, {1000, 100}, {10, 100, 100}, {100000, 1}, {1, 100000}}) {
    const std::vector<int64_t> at = SampleElements(dims, 16, 8, 7);
    EXPECT_TRUE(std::is_sorted(at.begin(), at.end()));
    EXPECT_EQ(std::adjacent_find(at.begin(), at.end()), at.end());
    EXPECT_EQ(at.front(), 0);
    EXPECT_EQ(at.back(), 99999);
    EXPECT_LE(at.size(), 16u * 8u);
    EXPECT_GE(at.size(), 8u);
    EXPECT_EQ(at, SampleElements(dims, 16, 8, 7));
    EXPECT_NE(at, SampleElements(dims, 16, 8, 8));
  }
}

TEST(SampleTest, TheSeedComesFromTheBytesOfTheInputs) {
  std::vector<HostTensor> a = {Filled({4}), Filled({2})}, b = a;
  EXPECT_EQ(SampleSeed(a), SampleSeed(b));
  b[1].SetNumber(1, 5);
  EXPECT_NE(SampleSeed(a), SampleSeed(b));
}

TEST(SampleTest, AsLargeAsTheWorkAllows) {
  const Graph graph = *ParseGraph(
      "graph f(%x: f32[n,256]) -> (f32[n,256]) { %0 = softmax(%x) {axis=1} : f32[n,256] return %0 "
      "}");
  const std::vector<HostTensor> inputs = {Filled({2000, 256})};
  size_t last = 2000 * 256;
  for (double work : {1e6, 1e5, 1e4}) {
    auto made = EvalWideSample(graph, inputs, work);
    ASSERT_TRUE(made.ok() && made->has_value()) << work;
    const size_t size = (**made)[0].value.size();
    EXPECT_LT(size, last);
    EXPECT_GT(size, 0u);
    last = size;
  }
  EXPECT_FALSE(EvalWideSample(graph, inputs, 100)->has_value());
}

TEST(CompareTest, DifferencesAreCountedAndMeasured) {
  const auto make = [](std::vector<double> v) {
    HostTensor t = HostTensor::Make(DType::kF32, {static_cast<int64_t>(v.size())});
    for (size_t i = 0; i < v.size(); ++i) t.SetNumber(static_cast<int64_t>(i), v[i]);
    return t;
  };
  WideTensor expect{{4}, DType::kF32, {1, 2, 3, 4}, {0.5L, 0.25L, 1, INFINITY}, {}};
  const CompareResult whole = Compare(expect, make({1, 2.5, 2, 9}));
  EXPECT_EQ(whole.compared, 3);  // where the bound is infinite nothing is compared
  EXPECT_EQ(whole.beyond, 1);
  EXPECT_FALSE(whole.ok);
  EXPECT_EQ(whole.worst, 1);
  EXPECT_EQ(whole.max_error, 1);
  EXPECT_EQ(whole.max_ratio, 2);
  EXPECT_EQ(whole.sum_error, 1.5);
  EXPECT_EQ(whole.sum_ratio, 3);
  // Some elements of a tensor of two rows, by their place in the whole.
  WideTensor some{{2, 3}, DType::kF32, {2, 6}, {0.5L, 0.5L}, std::vector<int64_t>{1, 5}};
  HostTensor got = HostTensor::Make(DType::kF32, {2, 3});
  for (int64_t i = 0; i < 6; ++i) got.SetNumber(i, static_cast<double>(i + 1));
  EXPECT_TRUE(Compare(some, got).ok);
  EXPECT_EQ(Compare(some, got).compared, 2);
  got.SetNumber(0, 100);  // which is not one of them
  EXPECT_TRUE(Compare(some, got).ok);
  got.SetNumber(5, 9);
  EXPECT_FALSE(Compare(some, got).ok);
  EXPECT_EQ(Compare(some, got).worst, 5);
  EXPECT_THAT(Compare(some, got).text, ::testing::HasSubstr("element [1,2]: got 9, expected 6"));
  EXPECT_FALSE(Compare(some, make({1, 2, 3, 4, 5, 6})).ok);  // other dims
  EXPECT_EQ(Compare(expect, make({1, 2, NAN, 4})).max_error, INFINITY);
}

}  // namespace
}  // namespace jitfuse::internal
