// The reference evaluator: both modes against hand-written results, bounds that are neither
// violated nor absurd, bad inputs.
#include "ir/eval.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "absl/strings/str_cat.h"
#include "ir/op_enum.h"
#include "ir/text.h"
#include "ir/wide_scalar.h"

namespace jitfuse::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::numeric_limits<double>::quiet_NaN();

Graph Parse(const std::string& text) {
  auto graph = ParseGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  return graph.ok() ? *std::move(graph) : Graph();
}

HostTensor Numbers(DType dtype, std::vector<int64_t> dims, const std::vector<double>& values) {
  HostTensor t = HostTensor::Make(dtype, std::move(dims));
  EXPECT_EQ(t.size(), static_cast<int64_t>(values.size()));
  for (size_t i = 0; i < values.size(); ++i) t.SetNumber(static_cast<int64_t>(i), values[i]);
  return t;
}

HostTensor Random(DType dtype, std::vector<int64_t> dims, uint64_t seed, double range) {
  HostTensor t = HostTensor::Make(dtype, std::move(dims));
  for (int64_t i = 0; i < t.size(); ++i) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    t.SetNumber(i, (static_cast<double>(seed >> 11) * 0x1p-52 - 1) * range);
  }
  return t;
}

std::vector<double> Values(const HostTensor& t) {
  std::vector<double> v;
  for (int64_t i = 0; i < t.size(); ++i) v.push_back(t.Number(i));
  return v;
}

struct Both {
  std::vector<HostTensor> declared;
  std::vector<WideTensor> wide;
};

// Both modes; the declared result must lie within the wide bounds.
Both Eval(const Graph& graph, const std::vector<HostTensor>& inputs) {
  Both both;
  auto declared = EvalDeclared(graph, inputs);
  auto wide = EvalWide(graph, inputs);
  EXPECT_TRUE(declared.ok()) << declared.status();
  EXPECT_TRUE(wide.ok()) << wide.status();
  if (!declared.ok() || !wide.ok()) return both;
  both = {*std::move(declared), *std::move(wide)};
  EXPECT_EQ(both.declared.size(), both.wide.size());
  for (size_t i = 0; i < both.wide.size(); ++i) {
    CompareResult r = Compare(both.wide[i], both.declared[i]);
    EXPECT_TRUE(r.ok) << "output " << i << ": " << r.text;
  }
  return both;
}

Both Eval(const std::string& text, const std::vector<HostTensor>& inputs) {
  return Eval(Parse(text), inputs);
}

// One op over one input of 1 dim.
std::vector<double> Unary(const std::string& op, DType in, const std::vector<double>& values,
                          const std::string& result = "") {
  const std::string n = absl::StrCat("[", values.size(), "]");
  const std::string from = std::string(DTypeName(in)) + n, to = result.empty() ? from : result + n;
  Both both = Eval(
      "graph f(%x: " + from + ") -> (" + to + ") {\n %0 = " + op + " : " + to + "\n return %0\n}",
      {Numbers(in, {static_cast<int64_t>(values.size())}, values)});
  return both.declared.empty() ? std::vector<double>() : Values(both.declared[0]);
}

TEST(Evaluator, PointwiseBroadcastsAndConstants) {
  Both b = Eval(R"(
graph f(%x: f32[2,3], %y: f32[3], %s: scalar f32) -> (f32[2,3]) {
  %0 = multiply(%x, %y) : f32[2,3]
  %1 = add(%0, %s) : f32[2,3]
  %2 = relu(%1) : f32[2,3]
  %3 = add(%2, 0.5) : f32[2,3]
  return %3
})",
                {Numbers(DType::kF32, {2, 3}, {1, 2, 3, -4, -5, -6}),
                 Numbers(DType::kF32, {3}, {1, 10, 100}), Numbers(DType::kF32, {}, {-1})});
  EXPECT_THAT(Values(b.declared[0]), ElementsAre(0.5, 19.5, 299.5, 0.5, 0.5, 0.5));
}

TEST(Evaluator, SymbolsBindAndRankZeroAndSizeZeroWork) {
  const Graph g = Parse(R"(
graph f(%x: f32[n,2]) -> (f32[n], f32[]) {
  %0 = sum(%x) {axes=[1]} : f32[n]
  %1 = sum(%x) {axes=[0,1]} : f32[]
  return %0, %1
})");
  Both b = Eval(g, {Numbers(DType::kF32, {3, 2}, {1, 2, 3, 4, 5, 6})});
  EXPECT_THAT(Values(b.declared[0]), ElementsAre(3, 7, 11));
  EXPECT_THAT(Values(b.declared[1]), ElementsAre(21));
  b = Eval(g, {HostTensor::Make(DType::kF32, {0, 2})});
  EXPECT_EQ(b.declared[0].size(), 0);
  EXPECT_THAT(Values(b.declared[1]), ElementsAre(0));
}

TEST(Evaluator, ViewsAndIota) {
  Both b = Eval(R"(
graph f(%x: i32[2,3]) -> (i32[3,2], i32[6], i32[2,2,3], i64[2,3]) {
  %0 = transpose(%x) {perm=[1,0]} : i32[3,2]
  %1 = reshape(%0) {shape=[6]} : i32[6]
  %2 = broadcast(%x) {shape=[2,2,3]} : i32[2,2,3]
  %3 = iota() {shape=[2,3], axis=1, dtype=i64} : i64[2,3]
  return %0, %1, %2, %3
})",
                {Numbers(DType::kI32, {2, 3}, {1, 2, 3, 4, 5, 6})});
  EXPECT_THAT(Values(b.declared[0]), ElementsAre(1, 4, 2, 5, 3, 6));
  EXPECT_THAT(Values(b.declared[1]), ElementsAre(1, 4, 2, 5, 3, 6));
  EXPECT_THAT(Values(b.declared[2]), ElementsAre(1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6));
  EXPECT_THAT(Values(b.declared[3]), ElementsAre(0, 1, 2, 0, 1, 2));
}

TEST(Evaluator, ClampLimitsBeyondAnIntegerTypeSaturate) {
  EXPECT_THAT(Unary("clamp(%x) {min=-1, max=300}", DType::kU8, {0, 7, 255}),
              ElementsAre(0, 7, 255));
  EXPECT_THAT(Unary("clamp(%x) {min=-1, max=300}", DType::kI8, {-128, -1, 7, 127}),
              ElementsAre(-1, -1, 7, 127));
  EXPECT_THAT(Unary("clamp(%x) {min=-1, max=4294967301}", DType::kU32, {0, 7, 4294967295}),
              ElementsAre(0, 7, 4294967295));
  EXPECT_THAT(Unary("clamp(%x) {min=-1, max=300}", DType::kU64, {0, 7, 301}),
              ElementsAre(0, 7, 300));
  EXPECT_THAT(Unary("clamp(%x)", DType::kI64, {-5, 7}), ElementsAre(-5, 7));
}

TEST(Evaluator, ReductionsOfNarrowIntegersAndBools) {
  Both b =
      Eval(R"(
graph f(%x: i8[4], %p: bool[3]) -> (i64[], i64[], i8[], i8[], bool[], bool[], i64[]) {
  %0 = sum(%x) : i64[]
  %1 = prod(%x) : i64[]
  %2 = max(%x) : i8[]
  %3 = min(%x) : i8[]
  %4 = any(%p) : bool[]
  %5 = all(%p) : bool[]
  %6 = sum(%p) : i64[]
  return %0, %1, %2, %3, %4, %5, %6
})",
           {Numbers(DType::kI8, {4}, {100, 100, -3, 2}), Numbers(DType::kBool, {3}, {1, 0, 1})});
  const double want[] = {199, -60000, 100, -3, 1, 0, 2};
  for (size_t i = 0; i < 7; ++i) {
    EXPECT_THAT(Values(b.declared[i]), ElementsAre(want[i])) << i;
    EXPECT_EQ(b.wide[i].bound[0], 0) << i;
  }
}

TEST(Evaluator, ArgmaxTakesTheFirstAndTheFirstNan) {
  const std::string text = R"(
graph f(%x: f32[3,4]) -> (i64[3], i64[3]) {
  %0 = argmax(%x) {axes=[1]} : i64[3]
  %1 = argmin(%x) {axes=[1]} : i64[3]
  return %0, %1
})";
  Both b = Eval(text, {Numbers(DType::kF32, {3, 4},
                               {1, 5, 5, -2, 3, kNan, 9, kNan, -kInf, -kInf, kInf, kInf})});
  EXPECT_THAT(Values(b.declared[0]), ElementsAre(1, 1, 2));
  EXPECT_THAT(Values(b.declared[1]), ElementsAre(3, 1, 0));
}

TEST(Evaluator, ArgmaxOfNearlyEqualValuesAcceptsEither) {
  const Graph g = Parse(R"(
graph f(%x: f32[2]) -> (i64[]) {
  %0 = exp(%x) : f32[2]
  %1 = argmax(%0) : i64[]
  return %1
})");
  Both near = Eval(g, {Numbers(DType::kF32, {2}, {1, 1.0000001})});
  EXPECT_EQ(near.wide[0].bound[0], 1) << "exp may round either way";
  Both far = Eval(g, {Numbers(DType::kF32, {2}, {1, 1.001})});
  EXPECT_EQ(far.wide[0].bound[0], 0);
  HostTensor wrong = Numbers(DType::kI64, {}, {0});
  EXPECT_FALSE(Compare(far.wide[0], wrong).ok);
  EXPECT_TRUE(Compare(near.wide[0], wrong).ok);
}

TEST(Evaluator, MatMulInEveryLayout) {
  const std::vector<double> a = {1, 2, 3, 4, 5, 6}, b = {1, 0, 2, -1, 3, 1};  // [2,3] x [3,2]
  const std::vector<double> at = {1, 4, 2, 5, 3, 6}, bt = {1, 2, 3, 0, -1, 1};
  for (const char* dtype : {"f32", "f64", "f16", "i32", "i8"}) {
    for (bool ta : {false, true}) {
      for (bool tb : {false, true}) {
        const DType t = *ParseDType(dtype);
        const std::string d = dtype;
        Both r = Eval(
            "graph f(%a: " + d + (ta ? "[3,2]" : "[2,3]") + ", %b: " + d +
                (tb ? "[2,3]" : "[3,2]") + ") -> (" + d + "[2,2]) {\n" +
                " %0 = matmul(%a, %b) {transpose_a=" + (ta ? "true" : "false") +
                ", transpose_b=" + (tb ? "true" : "false") + "} : " + d + "[2,2]\n return %0\n}",
            {Numbers(t, ta ? std::vector<int64_t>{3, 2} : std::vector<int64_t>{2, 3}, ta ? at : a),
             Numbers(t, tb ? std::vector<int64_t>{2, 3} : std::vector<int64_t>{3, 2},
                     tb ? bt : b)});
        EXPECT_THAT(Values(r.declared[0]), ElementsAre(14, 1, 32, 1)) << dtype << ta << tb;
      }
    }
  }
}

TEST(Evaluator, MatMulBroadcastsItsBatchAndTakesEmptyK) {
  Both b = Eval(R"(
graph f(%a: f32[2,1,1,2], %b: f32[3,2,1]) -> (f32[2,3,1,1]) {
  %0 = matmul(%a, %b) : f32[2,3,1,1]
  return %0
})",
                {Numbers(DType::kF32, {2, 1, 1, 2}, {1, 2, 3, 4}),
                 Numbers(DType::kF32, {3, 2, 1}, {1, 1, 10, 0, 0, 10})});
  EXPECT_THAT(Values(b.declared[0]), ElementsAre(3, 10, 20, 7, 30, 40));
  Both empty = Eval(
      "graph f(%a: f32[2,k], %b: f32[k,2]) -> (f32[2,2]) {\n %0 = matmul(%a, %b) : f32[2,2]\n "
      "return %0\n}",
      {HostTensor::Make(DType::kF32, {2, 0}), HostTensor::Make(DType::kF32, {0, 2})});
  EXPECT_THAT(Values(empty.declared[0]), ElementsAre(0, 0, 0, 0));
}

TEST(Evaluator, IntegerMatMulWraps) {
  Both b = Eval(
      "graph f(%a: i8[1,2], %b: i8[2,1]) -> (i8[1,1]) {\n %0 = matmul(%a, %b) : i8[1,1]\n return "
      "%0\n}",
      {Numbers(DType::kI8, {1, 2}, {100, 100}), Numbers(DType::kI8, {2, 1}, {100, -3})});
  EXPECT_THAT(Values(b.declared[0]), ElementsAre(static_cast<int8_t>(9700)));
}

// CPUs with dot products of bf16 take a subnormal number for 0: an infinity times it is either.
TEST(Evaluator, Bf16MatMulOfInfinityAndASubnormal) {
  for (const auto& [t, either] : {std::pair("bf16", true), std::pair("f32", false)}) {
    const DType dtype = *ParseDType(t);
    for (double small : {1e-40, 1e-30}) {
      const std::string type = std::string(t);
      Both b = Eval("graph f(%a: " + type + "[1,2], %b: " + type + "[2,1]) -> (" + type +
                        "[1,1]) {\n %0 = matmul(%a, %b) : " + type + "[1,1]\n return %0\n}",
                    {Numbers(dtype, {1, 2}, {-kInf, 1}), Numbers(dtype, {2, 1}, {small, 1})});
      EXPECT_EQ(b.wide[0].value[0], -kInf);
      EXPECT_EQ(std::isinf(b.wide[0].bound[0]), either && small < 1e-38) << t << " " << small;
    }
  }
}

TEST(Evaluator, SoftmaxEdgeRows) {
  std::vector<double> row = Unary("softmax(%x)", DType::kF32, {1000, 1000, -1000});
  EXPECT_THAT(row, ElementsAre(0.5, 0.5, 0));
  for (double v : Unary("softmax(%x)", DType::kF32, {-kInf, -kInf})) EXPECT_TRUE(std::isnan(v));
  for (double v : Unary("softmax(%x)", DType::kF32, {kInf, 1})) EXPECT_TRUE(std::isnan(v));
  for (double v : Unary("softmax(%x)", DType::kF32, {kNan, 1})) EXPECT_TRUE(std::isnan(v));
  EXPECT_THAT(Unary("softmax(%x)", DType::kF32, {0, -kInf}), ElementsAre(1, 0));
}

TEST(Evaluator, MeanDoesNotOverflowAndEmptyMeanIsNan) {
  const Graph g = Parse("graph f(%x: f32[n]) -> (f32[]) {\n %0 = mean(%x) : f32[]\n return %0\n}");
  Both b = Eval(g, {Numbers(DType::kF32, {4}, {3e38, 3e38, 3e38, 3e38})});
  EXPECT_NEAR(b.declared[0].Number(0) / 3e38, 1, 1e-6);
  EXPECT_LE(b.wide[0].bound[0], 1e-5L * 3e38L);
  Both empty = Eval(g, {HostTensor::Make(DType::kF32, {0})});
  EXPECT_TRUE(std::isnan(empty.declared[0].Number(0)));
}

// Two passes overflow where Welford's one pass does not.
TEST(Evaluator, MomentsOfWhatOverflowsMayBeAnything) {
  const Graph g = Parse(
      "graph f(%x: f32[3]) -> (f32[], f32[]) {\n %0, %1 = moments(%x) : f32[], f32[]\n return %0, "
      "%1\n}");
  Both b = Eval(g, {Numbers(DType::kF32, {3}, {-3.4e38, -3.4e38, 1})});
  EXPECT_EQ(b.wide[0].bound[0], kInf);
  EXPECT_EQ(b.wide[1].bound[0], kInf);
  Both small = Eval(g, {Numbers(DType::kF32, {3}, {-3e37, -3e37, 1})});
  EXPECT_LT(small.wide[0].bound[0], 1e33L);
}

TEST(Evaluator, HalfResultsRoundAfterEveryOp) {
  // 2048 + 1 is not an f16: the declared value of (x + 1) + 1 stays 2048; fused in f32 it would be
  // 2050.
  Both b = Eval(R"(
graph f(%x: f16[1]) -> (f16[1]) {
  %0 = add(%x, 1) : f16[1]
  %1 = add(%0, 1) : f16[1]
  return %1
})",
                {Numbers(DType::kF16, {1}, {2048})});
  EXPECT_THAT(Values(b.declared[0]), ElementsAre(2048));
  EXPECT_TRUE(Compare(b.wide[0], Numbers(DType::kF16, {1}, {2050})).ok)
      << "the fused result is right, too";
  EXPECT_FALSE(Compare(b.wide[0], Numbers(DType::kF16, {1}, {2056})).ok);
}

TEST(Evaluator, CastsTheUserWroteAlwaysRound) {
  Both b = Eval(R"(
graph f(%x: f32[1]) -> (f32[1]) {
  %0 = cast(%x) {dtype=bf16} : bf16[1]
  %1 = cast(%0) {dtype=f32} : f32[1]
  return %1
})",
                {Numbers(DType::kF32, {1}, {1.003})});
  EXPECT_THAT(Values(b.declared[0]), ElementsAre(1));
  EXPECT_EQ(b.wide[0].bound[0], 0) << "exact: " << static_cast<double>(b.wide[0].value[0]);
}

TEST(Evaluator, ExactInputsGiveExactSumsDifferencesAndQuotients) {
  for (const char* op : {"add(%x, 0.1)", "subtract(%x, 0.1)", "divide(%x, 3)", "sqrt(%x)",
                         "relu(%x)", "floor(%x)", "reciprocal(%x)", "negative(%x)"}) {
    const Graph g = Parse(std::string("graph f(%x: f32[3]) -> (f32[3]) {\n %0 = ") + op +
                          " : f32[3]\n return %0\n}");
    Both b = Eval(g, {Numbers(DType::kF32, {3}, {1, 7.25, 0.3})});
    for (long double bound : b.wide[0].bound) EXPECT_EQ(bound, 0) << op;
  }
}

TEST(Evaluator, BoundsCoverAFusedMultiplyAdd) {
  const Graph g = Parse(R"(
graph f(%a: f32[1], %b: f32[1], %c: f32[1]) -> (f32[1]) {
  %0 = multiply(%a, %b) : f32[1]
  %1 = add(%0, %c) : f32[1]
  return %1
})");
  const float a = 1.1f, b = 1.3f, c = -1.43f;
  Both r = Eval(g, {Numbers(DType::kF32, {1}, {a}), Numbers(DType::kF32, {1}, {b}),
                    Numbers(DType::kF32, {1}, {c})});
  EXPECT_NE(std::fma(a, b, c), r.declared[0].Number(0)) << "the case is worth something";
  EXPECT_TRUE(Compare(r.wide[0], Numbers(DType::kF32, {1}, {std::fma(a, b, c)})).ok);
  EXPECT_FALSE(Compare(r.wide[0], Numbers(DType::kF32, {1}, {std::fma(a, b, c) + 5e-7f})).ok);
}

// The bound of a long softmax or norm must stay within some tens of ulp: else it would hide
// mistakes.
TEST(Evaluator, BoundsAreUseful) {
  struct Case {
    const char* op;
    double limit;  // of bound / ulp, where the result is not tiny
  };
  for (const Case& c : {Case{"softmax(%x)", 200}, Case{"log_softmax(%x)", 200},
                        Case{"layer_norm(%x)", 2000}, Case{"gelu(%x)", 300}, Case{"silu(%x)", 40},
                        Case{"tanh(%x)", 3}, Case{"sigmoid(%x)", 12}, Case{"exp(%x)", 3}}) {
    const Graph g = Parse(std::string("graph f(%x: f32[2,1000]) -> (f32[2,1000]) {\n %0 = ") +
                          c.op + " : f32[2,1000]\n return %0\n}");
    Both b = Eval(g, {Random(DType::kF32, {2, 1000}, 7, 4)});
    for (size_t i = 0; i < b.wide[0].value.size(); ++i) {
      if (std::fabs(b.wide[0].value[i]) < 0.1L && std::string(c.op) != "softmax(%x)") continue;
      ASSERT_LE(b.wide[0].bound[i], c.limit * UlpOf(DType::kF32, b.wide[0].value[i]))
          << c.op << " " << static_cast<double>(b.wide[0].value[i]);
    }
  }
}

TEST(Evaluator, SumsMayBeTakenInAnyOrder) {
  const int64_t n = 5000;
  const Graph g = Parse("graph f(%x: f32[n]) -> (f32[]) {\n %0 = sum(%x) : f32[]\n return %0\n}");
  const HostTensor x = Random(DType::kF32, {n}, 3, 1000);
  Both b = Eval(g, {x});
  for (int64_t lanes : {1, 8, 32, 1024}) {
    std::vector<float> acc(static_cast<size_t>(lanes));
    for (int64_t i = 0; i < n; ++i)
      acc[static_cast<size_t>(i % lanes)] += static_cast<float>(x.Number(i));
    for (size_t w = acc.size(); w > 1; w /= 2) {
      for (size_t i = 0; i < w / 2; ++i) acc[i] += acc[i + w / 2];
    }
    CompareResult r = Compare(b.wide[0], Numbers(DType::kF32, {}, {acc[0]}));
    EXPECT_TRUE(r.ok) << lanes << " lanes: " << r.text;
  }
  HostTensor missing = x;
  missing.SetNumber(17, 0);
  EXPECT_FALSE(Compare(b.wide[0], EvalDeclared(g, {missing})->at(0)).ok)
      << "one lost element is seen";
}

TEST(Evaluator, DiscontinuitiesAcceptBothSides) {
  const Graph g = Parse(R"(
graph f(%x: f32[2]) -> (f32[2], bool[2], i32[2], f32[2]) {
  %0 = exp(%x) : f32[2]
  %1 = floor(%0) : f32[2]
  %2 = greater(%0, 1) : bool[2]
  %3 = cast(%0) {dtype=i32} : i32[2]
  %4 = where(%2, %x, -5.0) : f32[2]
  return %1, %2, %3, %4
})");
  Both b = Eval(g, {Numbers(DType::kF32, {2}, {0, 1})});
  for (size_t out = 0; out < 3; ++out) {
    EXPECT_EQ(b.wide[out].bound[0], 1) << out;
    EXPECT_EQ(b.wide[out].bound[1], 0) << out;
  }
  EXPECT_GE(b.wide[3].bound[0], 5);
  EXPECT_EQ(b.wide[3].bound[1], 0);
}

TEST(Evaluator, OverflowIsExactWhereItIsCertain) {
  Both b = Eval("graph f(%x: f32[3]) -> (f32[3]) {\n %0 = exp(%x) : f32[3]\n return %0\n}",
                {Numbers(DType::kF32, {3}, {100, 88.72284, -200})});
  EXPECT_EQ(b.wide[0].value[0], kInf);
  EXPECT_EQ(b.wide[0].bound[0], 0);
  EXPECT_FALSE(Compare(b.wide[0], Numbers(DType::kF32, {3}, {3.4e38, 3.4e38, 0})).ok);
}

TEST(Evaluator, NanIsExpectedExactly) {
  const Graph g = Parse("graph f(%x: f32[2]) -> (f32[2]) {\n %0 = log(%x) : f32[2]\n return %0\n}");
  Both b = Eval(g, {Numbers(DType::kF32, {2}, {-1, 1})});
  EXPECT_FALSE(Compare(b.wide[0], Numbers(DType::kF32, {2}, {0, 0})).ok);
  EXPECT_TRUE(Compare(b.wide[0], Numbers(DType::kF32, {2}, {kNan, 0})).ok);
  EXPECT_FALSE(Compare(b.wide[0], Numbers(DType::kF32, {2}, {kNan, kNan})).ok);
}

TEST(Evaluator, SixtyFourBitIntegersAreExact) {
  const Graph g =
      Parse("graph f(%x: i64[2]) -> (i64[2]) {\n %0 = multiply(%x, 3) : i64[2]\n return %0\n}");
  HostTensor x = HostTensor::Make(DType::kI64, {2});
  x.Set(0, ScalarFromInt(DType::kI64, (int64_t{1} << 61) + 1));
  x.Set(1, ScalarFromInt(DType::kI64, INT64_MAX / 3));
  Both b = Eval(g, {x});
  EXPECT_EQ(b.wide[0].value[1], static_cast<long double>(INT64_MAX / 3 * 3));
  HostTensor off = b.declared[0];
  off.Set(1, ScalarFromInt(DType::kI64, INT64_MAX / 3 * 3 - 1));
  EXPECT_FALSE(Compare(b.wide[0], off).ok) << "one unit in the 63rd bit is seen";
}

TEST(Evaluator, LongChainsDoNotRecurse) {
  Graph g;
  Value v = *g.AddInput("x", {DType::kF32, {2}});
  for (int i = 0; i < 20000; ++i) v = *g.Add(Op::kNegative, {v});
  ASSERT_TRUE(g.AddOutput(v).ok());
  Both b = Eval(g, {Numbers(DType::kF32, {2}, {1, -2})});
  EXPECT_THAT(Values(b.declared[0]), ElementsAre(1, -2));
}

TEST(Evaluator, OutputsMayRepeatAndBeInputs) {
  Both b = Eval(
      "graph f(%x: f32[1]) -> (f32[1], f32[1], f32[1]) {\n %0 = exp(%x) : f32[1]\n return %0, %x, "
      "%0\n}",
      {Numbers(DType::kF32, {1}, {0})});
  ASSERT_EQ(b.declared.size(), 3u);
  EXPECT_EQ(b.declared[1].Number(0), 0);
  EXPECT_EQ(b.declared[2].Number(0), 1);
}

std::string Message(const Graph& g, const std::vector<HostTensor>& inputs) {
  auto r = EvalDeclared(g, inputs);
  EXPECT_FALSE(r.ok());
  EXPECT_EQ(EvalWide(g, inputs).status(), r.status());
  return r.ok() ? "" : std::string(r.status().message());
}

TEST(Evaluator, BadInputsAreNamed) {
  const Graph g = Parse(
      "graph f(%x: f32[n,3], %y: f32[n]) -> (f32[n,3]) {\n %0 = relu(%x) : f32[n,3]\n return "
      "%0\n}");
  const HostTensor x = HostTensor::Make(DType::kF32, {2, 3}),
                   y = HostTensor::Make(DType::kF32, {2});
  EXPECT_THAT(Message(g, {x}), HasSubstr("f: got 1 inputs, expected 2"));
  EXPECT_THAT(Message(g, {HostTensor::Make(DType::kF64, {2, 3}), y}),
              HasSubstr("input 0 (x: f32[n,3]): got dtype f64, expected f32"));
  EXPECT_FALSE(Message(g, {HostTensor::Make(DType::kF32, {2, 4}), y}).empty());
  EXPECT_FALSE(Message(g, {HostTensor::Make(DType::kF32, {2}), y}).empty());
  EXPECT_FALSE(Message(g, {x, HostTensor::Make(DType::kF32, {5})}).empty());
  HostTensor torn = x;
  torn.bytes.pop_back();
  EXPECT_THAT(Message(g, {torn, y}), HasSubstr("got 23 bytes for dims [2,3]"));
  EXPECT_THAT(Message(g, {HostTensor{DType::kF32, {-1, 3}, {}}, y}), HasSubstr("got dims [-1,3]"));
}

TEST(Evaluator, TooLargeAResultIsAnError) {
  const Graph g = Parse(
      "graph f(%x: f32[n]) -> (f32[n*1048576,1048576]) {\n %0 = iota() {shape=[n*1048576,1048576], "
      "axis=0, dtype=f32} : f32[n*1048576,1048576]\n return %0\n}");
  EXPECT_THAT(Message(g, {HostTensor::Make(DType::kF32, {1 << 10})}),
              HasSubstr("too large to evaluate"));
}

// NumPy's answers, except for exponents of +-0.5, which it takes as square roots.
TEST(EvalWide, PowAtTheEndsOfTheRange) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  struct Row {
    double x, y, result;
  };
  for (DType dtype : {DType::kF32, DType::kF64, DType::kBF16}) {
    const Graph g = Parse(absl::StrCat(
        "graph f(%x: ", std::string(DTypeName(dtype)), "[1], %y: ", std::string(DTypeName(dtype)),
        "[1]) -> (", std::string(DTypeName(dtype)),
        "[1]) {\n %0 = pow(%x, %y) : ", std::string(DTypeName(dtype)), "[1]\n return %0\n}"));
    for (const Row& r : {Row{-kInf, -0x1p63, 0},
                         Row{-kInf, 0x1p63, kInf},
                         Row{-kInf, 0x1p64, kInf},
                         Row{-kInf, -0x1p100, 0},
                         Row{-kInf, 3, -kInf},
                         Row{-kInf, -3, -0.0},
                         Row{-kInf, 0.25, kInf},
                         Row{-kInf, -0.25, 0},
                         Row{-kInf, kInf, kInf},
                         Row{-kInf, -kInf, 0},
                         Row{kInf, -0x1p63, 0},
                         Row{-2, -0x1p63, 0},
                         Row{-2, 0x1p63, kInf},
                         Row{-0.5, -0x1p63, kInf},
                         Row{-1, 0x1p63, 1},
                         Row{-1, -0x1p63, 1},
                         Row{-1, kInf, 1},
                         Row{-1, 3, -1},
                         Row{-1, 127, -1},
                         Row{-0.0, -0x1p63, kInf},
                         Row{-0.0, 0x1p63, 0},
                         Row{-0.0, -3, -kInf},
                         Row{-0.0, 3, -0.0},
                         Row{-0.0, 0.25, 0},
                         Row{-2, 0.25, std::nan("")},
                         Row{std::nan(""), 0, 1},
                         Row{1, std::nan(""), 1}}) {
      const absl::StatusOr<std::vector<WideTensor>> wide =
          EvalWide(g, {Numbers(dtype, {1}, {r.x}), Numbers(dtype, {1}, {r.y})});
      ASSERT_TRUE(wide.ok());
      const long double got = (*wide)[0].value[0];
      EXPECT_TRUE(std::isnan(r.result) ? std::isnan(got) : got == r.result)
          << r.x << " ^ " << r.y << ": " << got;
      if (r.result == 0)
        EXPECT_EQ(std::signbit(got), std::signbit(r.result)) << r.x << " ^ " << r.y;
      const CompareResult same = Compare((*wide)[0], Numbers(dtype, {1}, {r.result}));
      EXPECT_TRUE(same.ok) << same.text;
    }
    if (dtype == DType::kF64) {
      const auto odd =
          EvalWide(g, {Numbers(dtype, {1}, {-kInf}), Numbers(dtype, {1}, {9007199254740991.0})});
      EXPECT_EQ((*odd)[0].value[0], -kInf);
    }
  }
}

TEST(Compare, TextNamesTheWorstElement) {
  WideTensor expect{{2, 2}, DType::kF32, {1, 2, 3, 4}, {0.5, 0.5, 0.5, 0.5}};
  CompareResult r = Compare(expect, Numbers(DType::kF32, {2, 2}, {1, 2.25, 4, 4}));
  EXPECT_FALSE(r.ok);
  EXPECT_EQ(r.worst, 2);
  EXPECT_EQ(r.max_ratio, 2);
  EXPECT_EQ(r.max_ulp, 1 / 0x1p-22);
  EXPECT_THAT(r.text, HasSubstr("element [1,0]: got 4, expected 3 +- 0.5"));
  EXPECT_FALSE(Compare(expect, Numbers(DType::kF32, {4}, {1, 2, 3, 4})).ok) << "other dims";
  EXPECT_FALSE(Compare(expect, Numbers(DType::kF64, {2, 2}, {1, 2, 3, 4})).ok) << "another dtype";
}

}  // namespace
}  // namespace jitfuse::internal
