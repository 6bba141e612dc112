// Gradients of whole graphs: their text, errors, random and deep chains, gradients that users give.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ir/autodiff.h"
#include "ir/expand.h"
#include "ir/op_enum.h"
#include "tests/test_util/autodiff_fixture.h"

namespace jitfuse::internal {
namespace {

using ::testing::HasSubstr;

// Text of gradients reads back as the same graph, and the same graph gives the same text.
TEST_F(Autodiff, TextRoundTrip) {
  const Graph graph = ParsedGraph(
      "graph f(%x: bf16[n,8], %w: f32[8], %t: i64[n]) -> (bf16[n,8], f32[]) {\n"
      "  %y = layer_norm(%x, %w) : bf16[n,8]\n  %c = cast(%y) {dtype=f32} : f32[n,8]\n"
      "  %l = cross_entropy(%c, %t) : f32[]\n  return %y, %l\n}\n");
  for (Cotangents c : {Cotangents::kInputs}) {
    absl::StatusOr<Graph> gradient =
        Gradient(graph, {0, 1}, {.cotangents = c, .with_values = true});
    ASSERT_TRUE(gradient.ok()) << gradient.status();
    const std::string text = GraphToString(*gradient);
    absl::StatusOr<Graph> again = ParseGraph(text);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(again->Fingerprint(), gradient->Fingerprint());
    EXPECT_EQ(GraphToString(*again), text);
    EXPECT_EQ(GraphToString(*Gradient(graph, {0, 1}, {.cotangents = c, .with_values = true})),
              text);
  }
}

TEST_F(Autodiff, Errors) {
  const Graph graph = Body("%x: f32[4,8], %i: i32[4,8]", "f32[4,8]", "  %r = exp(%x) : f32[4,8]");
  const auto message = [](const absl::StatusOr<Graph>& g) {
    return std::string(g.status().message());
  };
  EXPECT_EQ(message(Gradient(graph, {0})),
            "gradient of f: expected one result, a float of rank 0, got f32[4,8]; sum it, or pass "
            "cotangents for the results");
  const GradientOptions vjp{.cotangents = Cotangents::kInputs};
  EXPECT_EQ(message(Gradient(graph, {1}, vjp)),
            "gradient of f: input 1, i, is i32[4,8]; expected a float, others have no gradient");
  EXPECT_EQ(message(Gradient(graph, {2}, vjp)),
            "gradient of f: wrt has 2, expected the position of an input: 0 to 1");
  EXPECT_EQ(message(Gradient(graph, {}, vjp)), "gradient of f: wrt is empty, expected inputs");
  const Graph whole = Body("%x: f32[4]", "i64[]", "  %r = argmax(%x) : i64[]");
  EXPECT_EQ(message(Gradient(whole, {0}, vjp)),
            "gradient of f: no result is a float, so there is nothing to differentiate");
  const Graph segment = Body("%x: f32[4], %o: i64[4]", "f32[4]",
                             "  %r = segment_add(%x, %x, %o, %o, %o) {axis=0} : f32[4]");
  EXPECT_EQ(
      message(Gradient(segment, {0}, vjp)),
      "gradient of segment_add(f32[4], f32[4], i64[4], i64[4], i64[4]): order, begin and end "
      "are not the results of one group_positions along the axis, so where each element of src "
      "went is not known");
}

// Ops on top of each other, values used again and again.
TEST_F(Autodiff, RandomChains) {
  const std::vector<std::string> one = {
      "tanh",   "sigmoid",  "gelu",    "silu",        "sin",        "atan", "softplus",
      "square", "negative", "softmax", "log_softmax", "layer_norm", "erf",  "mish"};
  const std::vector<std::string> two = {"add",   "subtract",  "multiply", "maximum",
                                        "hypot", "logaddexp", "swiglu"};
  for (int seed = 0; seed < 40; ++seed) {
    std::mt19937 rng(static_cast<unsigned>(seed));
    const auto pick = [&rng](size_t n) { return static_cast<size_t>(rng() % n); };
    std::vector<std::string> values = {"x", "y", "z"};
    std::string body = "  %z = broadcast(%w) {shape=[3,4]} : f64[3,4]\n";
    for (int i = 0; i < 12; ++i) {
      const std::string name = absl::StrCat("v", i), a = values[pick(values.size())],
                        b = values[pick(values.size())];
      const std::string type = " : f64[3,4]\n";
      switch (pick(5)) {
        case 0:
          absl::StrAppend(&body, "  %s", i, " = sum(%", a,
                          ") {axes=[1], keepdims=true} : f64[3,1]\n", "  %", name, " = multiply(%",
                          b, ", %s", i, ")", type);
          break;
        case 1:
          absl::StrAppend(&body, "  %t", i, " = transpose(%", a, ") : f64[4,3]\n  %m", i,
                          " = matmul(%", b, ", %t", i, ") : f64[3,3]\n  %", name, " = matmul(%m", i,
                          ", %", a, ")", type);
          break;
        case 2:
        case 3:
          absl::StrAppend(&body, "  %", name, " = ", two[pick(two.size())], "(%", a, ", %", b, ")",
                          type);
          break;
        default:
          absl::StrAppend(&body, "  %", name, " = ", one[pick(one.size())], "(%", a, ")", type);
      }
      // Kept small: products of products grow fast.
      absl::StrAppend(&body, "  %", name, "s = tanh(%", name, ")", type);
      values.push_back(name + "s");
    }
    absl::StrAppend(&body, "  %r = add(%", values.back(), ", %", values[values.size() - 2],
                    ") : f64[3,4]");
    Check("%x: f64[3,4], %y: f64[3,4], %w: f64[4]", "f64[3,4]", body, -1, 1);
  }
}

// index_add as it expands is differentiated too.
TEST_F(Autodiff, ExpandedSumsByIndex) {
  const Graph graph = Body("%x: f64[4,3], %i: i64[5], %s: f64[5,3]", "f64[4,3]",
                           "  %r = index_add(%x, %i, %s) {axis=0} : f64[4,3]");
  absl::StatusOr<Graph> expanded = Expand(graph);
  ASSERT_TRUE(expanded.ok());
  ExpectGradient(*expanded, RandomInputs(*expanded, &rng_, -1, 1), &rng_);
}

// A gradient that the user gives takes the place of the ops' own, once for all of its outputs.
class CustomAutodiff : public Autodiff {
 protected:
  // y0 = x0 * x1, y1 = exp(x0) marked; r = y0 + y1 * y1.
  void SetUp() override {
    x_ = *graph_.AddInput("x", {DType::kF64, {Dim(2)}});
    w_ = *graph_.AddInput("w", {DType::kF64, {Dim(2)}});
    Value y0 = *graph_.Add(Op::kMultiply, {x_, w_});
    Value y1 = *graph_.Add(Op::kExp, {x_});
    const Value m0 = *graph_.Add(Op::kGradientMark, {y0}, {{"id", int64_t{0}}});
    const Value m1 = *graph_.Add(Op::kGradientMark, {y1}, {{"id", int64_t{0}}});
    Value square = *graph_.Add(Op::kMultiply, {m1, m1});
    ASSERT_TRUE(graph_.AddOutput(*graph_.Add(Op::kAdd, {m0, square})).ok());
    custom_.inputs = {x_, w_};
    custom_.outputs = {m0, m1};
    // Not the real one: 100 g0 + 1000 g1 y1, and g0 x.
    custom_.backward = ParsedGraph(
        "graph b(%x: f64[2], %w: f64[2], %y0: f64[2], %y1: f64[2], %g0: f64[2], %g1: f64[2]) -> "
        "(f64[2], f64[2]) {\n  %a = multiply(%g0, 100) : f64[2]\n  %b = multiply(%g1, %y1) : "
        "f64[2]\n"
        "  %c = multiply(%b, 1000) : f64[2]\n  %d = add(%a, %c) : f64[2]\n"
        "  %e = multiply(%g0, %x) : f64[2]\n  return %d, %e\n}\n");
  }
  absl::StatusOr<Graph> Differentiated() {
    return Gradient(
        graph_, {0, 1},
        {.cotangents = Cotangents::kInputs, .custom = absl::MakeConstSpan(&custom_, 1)});
  }
  Graph graph_;
  Value x_, w_;
  CustomGradient custom_;
};

TEST_F(CustomAutodiff, TakesTheOpsPlace) {
  absl::StatusOr<Graph> gradient = Differentiated();
  ASSERT_TRUE(gradient.ok()) << gradient.status();
  auto out =
      EvalDeclared(*gradient, {Numbers(DType::kF64, {2}, {0, 0}), Numbers(DType::kF64, {2}, {3, 4}),
                               Numbers(DType::kF64, {2}, {1, 2})});
  ASSERT_TRUE(out.ok()) << out.status();
  // y1 = 1, so the cotangent of y1 is 2 g.
  EXPECT_EQ((*out)[0].Number(0), 100 + 1000 * 2);
  EXPECT_EQ((*out)[0].Number(1), 2 * (100 + 1000 * 2));
  EXPECT_EQ((*out)[1].Number(1), 0);
}

TEST_F(CustomAutodiff, Errors) {
  EXPECT_THAT(
      std::string(Gradient(graph_, {0}, {.cotangents = Cotangents::kInputs}).status().message()),
      HasSubstr("gradient_mark(f64[2]): no custom gradient of id 0 is given"));
  custom_.backward = ParsedGraph("graph b(%x: f64[2]) -> (f64[2]) {\n  return %x\n}\n");
  EXPECT_THAT(std::string(Differentiated().status().message()),
              HasSubstr("b takes 1 inputs, got 6"));
  custom_.outputs[0] = x_;
  EXPECT_THAT(std::string(Differentiated().status().message()),
              HasSubstr("expected gradient_mark"));
}

// A chain deeper than any stack.
TEST_F(Autodiff, DeepChains) {
  Graph graph;
  Value v = *graph.AddInput("x", {DType::kF32, {Dim(4)}});
  for (int i = 0; i < 50000; ++i) v = *graph.Add(i % 2 ? Op::kTanh : Op::kSilu, {v});
  ASSERT_TRUE(graph.AddOutput(v).ok());
  absl::StatusOr<Graph> gradient = Gradient(graph, {0}, {.cotangents = Cotangents::kInputs});
  ASSERT_TRUE(gradient.ok()) << gradient.status();
  EXPECT_GT(gradient->size(), 100000);
}

}  // namespace
}  // namespace jitfuse::internal
