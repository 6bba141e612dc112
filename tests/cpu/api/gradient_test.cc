// Gradients through the public API on the CPU: within a Builder, as two Functions, given by the
// user; and their errors.
#include "api/gradient.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "api/inspect.h"
#include "api/jitfuse.h"

namespace jitfuse {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

CompileOptions Cpu() {
  CompileOptions options;
  options.device = DeviceKind::kCpu;
  return options;
}

Array Values(DType dtype, std::vector<std::int64_t> dims, std::vector<double> values) {
  return *Array::FromValues(dtype, dims, values);
}

// Numbers without a pattern, within (-1, 1).
Array Numbers(DType dtype, std::vector<std::int64_t> dims, std::uint64_t state) {
  std::int64_t n = 1;
  for (std::int64_t d : dims) n *= d;
  std::vector<double> values;
  for (std::int64_t i = 0; i < n; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    values.push_back(static_cast<double>(static_cast<std::int64_t>(state) >> 40) * 0x1p-23);
  }
  return Values(dtype, dims, values);
}

// A compiled function's results against the evaluator's bounds.
void ExpectRight(const Function& f, const std::vector<Array>& inputs, const Rng& rng = {}) {
  RunOptions options;
  options.rng = rng;
  auto results = f.Run(inputs, options);
  ASSERT_TRUE(results.ok()) << results.status().message();
  auto checks = Check(f.ToText(), inputs, *results, rng);
  ASSERT_TRUE(checks.ok()) << checks.status().message();
  for (const CheckResult& c : *checks) EXPECT_TRUE(c.ok) << c.where << "\n" << f.ToText();
}

TEST(GradientApi, ValueAndGradientInOneFunction) {
  for (DType dtype : {DType::kF32, DType::kF64, DType::kBF16}) {
    Builder b;
    Tensor x = b.Input("x", dtype, {"n", 64}), w = b.Input("w", dtype, {64}),
           bias = b.Input("b", dtype, {64});
    Tensor y = Gelu(LayerNorm(x, w, bias));
    Tensor loss = Sum(Multiply(y, y), {0, 1});
    std::vector<Tensor> grads = Gradient(loss, {x, w, bias});
    auto f = b.Compile({loss, grads[0], grads[1], grads[2]}, Cpu());
    ASSERT_TRUE(f.ok()) << f.status().message();
    EXPECT_EQ(grads[0].type_string(), x.type_string());
    EXPECT_EQ(grads[1].type_string(), w.type_string());
    for (std::int64_t n : {1, 7, 33})
      ExpectRight(*f,
                  {Numbers(dtype, {n, 64}, 1), Numbers(dtype, {64}, 2), Numbers(dtype, {64}, 3)});
  }
}

TEST(GradientApi, CrossEntropyOfAnMlp) {
  Builder b;
  Tensor x = b.Input("x", DType::kF32, {"n", 20}), t = b.Input("t", DType::kI64, {"n"}),
         w1 = b.Input("w1", DType::kF32, {32, 20}), b1 = b.Input("b1", DType::kF32, {32}),
         w2 = b.Input("w2", DType::kF32, {10, 32});
  Tensor loss = CrossEntropy(Linear(Relu(Linear(x, w1, b1)), w2), t);
  std::vector<Tensor> results = Gradient(loss, {w1, b1, w2});
  results.push_back(loss);
  auto f = b.Compile(results, Cpu());
  ASSERT_TRUE(f.ok()) << f.status().message();
  ExpectRight(*f, {Numbers(DType::kF32, {6, 20}, 1), Values(DType::kI64, {6}, {0, 9, 3, 3, 1, 7}),
                   Numbers(DType::kF32, {32, 20}, 2), Numbers(DType::kF32, {32}, 3),
                   Numbers(DType::kF32, {10, 32}, 4)});
}

TEST(GradientApi, IndicesPoolsAndScans) {
  Builder b;
  Tensor x = b.Input("x", DType::kF32, {6, 16}), i = b.Input("i", DType::kI64, {9});
  Tensor rows = Take(x, i, 0);
  Tensor pooled = MaxPool(rows, {3}, {2}, {1});
  Tensor scanned = Cumsum(AvgPool(x, {2}), 1);
  Tensor loss = Add(Sum(Multiply(pooled, pooled), {0, 1}), Sum(Exp(scanned), {0, 1}));
  auto f = b.Compile(Gradient(loss, {x}), Cpu());
  ASSERT_TRUE(f.ok()) << f.status().message();
  const std::vector<Array> in = {Numbers(DType::kF32, {6, 16}, 5),
                                 Values(DType::kI64, {9}, {0, 5, 5, -1, 2, 2, 2, 0, 4})};
  ExpectRight(*f, in);
  const auto first = (*f->Run(in))[0].ToVector(), second = (*f->Run(in))[0].ToVector();
  EXPECT_EQ(*first, *second);
}

TEST(GradientApi, SecondOrderAndVjp) {
  Builder b;
  Tensor x = b.Input("x", DType::kF64, {3}), v = b.Input("v", DType::kF64, {3});
  Tensor y = Multiply(Multiply(x, x), x);
  Tensor first = Vjp({y}, {v}, {x})[0];               // 3 x^2 v
  Tensor second = Gradient(Sum(first, {0}), {x})[0];  // 6 x v
  auto f = b.Compile({first, second}, Cpu());
  ASSERT_TRUE(f.ok()) << f.status().message();
  auto r = f->Run({Values(DType::kF64, {3}, {1, 2, 3}), Values(DType::kF64, {3}, {1, 1, 2})});
  ASSERT_TRUE(r.ok()) << r.status().message();
  EXPECT_THAT(*(*r)[0].ToVector(), ElementsAre(3, 12, 54));
  EXPECT_THAT(*(*r)[1].ToVector(), ElementsAre(6, 12, 36));
}

TEST(GradientApi, StopGradientAndZeros) {
  Builder b;
  Tensor x = b.Input("x", DType::kF32, {2}), y = b.Input("y", DType::kF32, {2});
  Tensor loss = Sum(Multiply(StopGradient(x), x), {0});
  auto f = b.Compile(Gradient(loss, {x, y}), Cpu());
  ASSERT_TRUE(f.ok()) << f.status().message();
  auto r = f->Run({Values(DType::kF32, {2}, {3, 5}), Values(DType::kF32, {2}, {1, 1})});
  ASSERT_TRUE(r.ok()) << r.status().message();
  EXPECT_THAT(*(*r)[0].ToVector(), ElementsAre(3, 5));
  EXPECT_THAT(*(*r)[1].ToVector(), ElementsAre(0, 0));
}

// A straight-through estimator: rounds, but passes the gradient.
TEST(GradientApi, CustomGradient) {
  Builder b;
  Tensor x = b.Input("x", DType::kF32, {"n"}), k = b.Input("k", DType::kI32, {"n"});
  Tensor y = Round(Multiply(x, b.Constant(DType::kF32, 2)));
  int calls = 0;
  y = CustomGradient({x, k}, {y},
                     [&](const std::vector<Tensor>& in, const std::vector<Tensor>& out,
                         const std::vector<Tensor>& g) -> std::vector<Tensor> {
                       ++calls;
                       EXPECT_EQ(in[0].type_string(), "f32[n]");
                       EXPECT_EQ(out.size(), 1u);
                       return {Multiply(g[0], in[0])};
                     })[0];
  Tensor loss = Sum(Multiply(y, y), {0});
  auto f = b.Compile({loss, Gradient(loss, {x})[0]}, Cpu());
  ASSERT_TRUE(f.ok()) << f.status().message();
  EXPECT_EQ(calls, 1);
  auto r = f->Run({Values(DType::kF32, {3}, {0.6, 1.2, -2}), Values(DType::kI32, {3}, {1, 1, 1})});
  ASSERT_TRUE(r.ok()) << r.status().message();
  EXPECT_EQ((*(*r)[0].ToVector())[0], 1 + 4 + 16);
  // 2 y x, of y = 1, 2, -4.
  EXPECT_THAT(*(*r)[1].ToVector(),
              ElementsAre(::testing::DoubleNear(1.2, 1e-6), ::testing::DoubleNear(4.8, 1e-6), 16));
}

// What was made of x before its root is a constant, and so is another root of x.
TEST(GradientApi, RootsAreTensorsOfTheirOwn) {
  Builder b;
  Tensor x = b.Input("x", DType::kF32, {"n"}), square = Multiply(x, x);
  Tensor r = GradientRoot(x), other = GradientRoot(x);
  Tensor loss = Sum(Multiply(Multiply(r, square), other), {0});
  std::vector<Tensor> results = Gradient(loss, {r, other, x});
  auto f = b.Compile(results, Cpu());
  ASSERT_TRUE(f.ok()) << f.status().message();
  EXPECT_EQ(f->ToText().find("gradient_mark"), std::string::npos) << f->ToText();
  EXPECT_EQ(b.ToText(results).find("gradient_mark"), std::string::npos);
  auto run = f->Run({Values(DType::kF32, {2}, {2, 3})});
  ASSERT_TRUE(run.ok()) << run.status().message();
  EXPECT_THAT(*(*run)[0].ToVector(), ElementsAre(8, 27));
  EXPECT_THAT(*(*run)[1].ToVector(), ElementsAre(8, 27));
  EXPECT_THAT(*(*run)[2].ToVector(), ElementsAre(32, 108));
  auto split = SplitForwardBackward({Sum(Multiply(r, r), {0})}, {x}, Cpu());
  ASSERT_TRUE(split.ok()) << split.status().message();
  EXPECT_EQ(split->backward.ToText().find("gradient_mark"), std::string::npos);
  Tensor i = b.Input("i", DType::kI32, {2});
  EXPECT_FALSE(GradientRoot(i).valid());
  EXPECT_THAT(b.TakeStatus().message(), HasSubstr("no input is a float"));
  EXPECT_FALSE(GradientRoot(Tensor()).valid());
}

// The gradient reads tensors of the Builder itself, and can be differentiated again through them.
TEST(GradientApi, CustomGradientInTheBuilder) {
  Builder b;
  Tensor x = b.Input("x", DType::kF64, {"n"}), k = b.Input("k", DType::kI32, {"n"});
  Tensor e = Exp(x), zeros = Multiply(x, b.Constant(DType::kF64, 0));
  Tensor g = GradientRoot(zeros);
  Tensor grad = Multiply(Multiply(g, e), b.Constant(DType::kF64, 10));
  Tensor y = CustomGradient({x, k}, {e}, {g}, {grad, Tensor()})[0];
  Tensor dx = Gradient(Sum(y, {0}), {x})[0];
  Tensor ddx = Gradient(Sum(dx, {0}), {x})[0];
  auto f = b.Compile({y, dx, ddx}, Cpu());
  ASSERT_TRUE(f.ok()) << f.status().message();
  auto r = f->Run({Values(DType::kF64, {2}, {0, 1}), Values(DType::kI32, {2}, {1, 1})});
  ASSERT_TRUE(r.ok()) << r.status().message();
  EXPECT_THAT(*(*r)[0].ToVector(), ElementsAre(1, ::testing::DoubleNear(std::exp(1), 1e-12)));
  for (std::size_t i : {1u, 2u})
    EXPECT_THAT(*(*r)[i].ToVector(),
                ElementsAre(10, ::testing::DoubleNear(10 * std::exp(1), 1e-12)));
  // One that is no function of its cotangent, and one that is left out.
  Tensor h = GradientRoot(zeros);
  Tensor constant = CustomGradient({x}, {Exp(e)}, {h}, {e})[0];
  Tensor none = CustomGradient({x}, {Exp(e)}, {GradientRoot(zeros)}, {Tensor()})[0];
  auto two =
      b.Compile({Gradient(Sum(constant, {0}), {x})[0], Gradient(Sum(none, {0}), {x})[0]}, Cpu());
  ASSERT_TRUE(two.ok()) << two.status().message();
  r = two->Run({Values(DType::kF64, {2}, {0, 0}), Values(DType::kI32, {2}, {1, 1})});
  ASSERT_TRUE(r.ok()) << r.status().message();
  EXPECT_THAT(*(*r)[0].ToVector(), ElementsAre(1, 1));
  EXPECT_THAT(*(*r)[1].ToVector(), ElementsAre(0, 0));
}

TEST(GradientApi, CustomGradientInTheBuilderErrors) {
  Builder b, another;
  Tensor x = b.Input("x", DType::kF32, {4}), k = b.Input("k", DType::kI32, {4});
  Tensor s = Sum(x, {0}), g = GradientRoot(x), y = another.Input("y", DType::kF32, {4});
  const auto error = [&](const std::vector<Tensor>& t) {
    EXPECT_FALSE(t[0].valid());
    return b.TakeStatus().message();
  };
  EXPECT_THAT(error(CustomGradient({x}, {x}, {}, {g})),
              HasSubstr("0 cotangents for 1 float outputs"));
  EXPECT_THAT(error(CustomGradient({x}, {s}, {g}, {g})),
              HasSubstr("cotangent 0 is f32[4], expected f32[]"));
  EXPECT_THAT(error(CustomGradient({x}, {x, Exp(x)}, {g, g}, {g})),
              HasSubstr("cotangent 0 stands for two"));
  EXPECT_THAT(error(CustomGradient({x}, {x}, {g}, {})), HasSubstr("0 gradients for 1 inputs"));
  EXPECT_THAT(error(CustomGradient({x}, {x}, {g}, {s})),
              HasSubstr("gradient 0 is f32[], expected f32[4]"));
  EXPECT_THAT(error(CustomGradient({k}, {x}, {g}, {g})),
              HasSubstr("gradient 0 is given for i32[4], which has none"));
  EXPECT_THAT(error(CustomGradient({x}, {x}, {g}, {y})),
              HasSubstr("gradient 0 belongs to another Builder"));
  EXPECT_THAT(error(CustomGradient({x}, {x}, {y}, {g})),
              HasSubstr("cotangent 0 belongs to another Builder"));
}

TEST(GradientApi, SplitTrainingStep) {
  Builder b;
  Tensor x = b.Input("x", DType::kF32, {"n", 32}), w = b.Input("w", DType::kF32, {16, 32}),
         bias = b.Input("b", DType::kF32, {16});
  Tensor h = Dropout(Gelu(Linear(x, w, bias)), 0.25);
  Tensor y = Softmax(h);
  auto split = SplitForwardBackward({y}, {x, w, bias}, Cpu());
  ASSERT_TRUE(split.ok()) << split.status().message();
  EXPECT_EQ(split->num_outputs, 1);
  EXPECT_THAT(split->cotangents, ElementsAre(0));
  EXPECT_THAT(split->decisions, HasSubstr("an output"));
  Tensor g = b.Input("g", DType::kF32, {"n", 16});
  auto whole = b.Compile(Vjp({y}, {g}, {x, w, bias}), Cpu());
  ASSERT_TRUE(whole.ok()) << whole.status().message();
  const std::vector<Array> in = {Numbers(DType::kF32, {5, 32}, 1),
                                 Numbers(DType::kF32, {16, 32}, 2), Numbers(DType::kF32, {16}, 3)};
  const Array cotangent = Numbers(DType::kF32, {5, 16}, 4);
  RunOptions options;
  options.rng.seed = 77;
  options.rng.offset = 5;
  auto forward = split->forward.Run(in, options);
  ASSERT_TRUE(forward.ok()) << forward.status().message();
  auto args = split->BackwardInputs(in, *forward, {cotangent});
  ASSERT_TRUE(args.ok()) << args.status().message();
  auto backward = split->backward.Run(*args, options);
  ASSERT_TRUE(backward.ok()) << backward.status().message() << split->backward.ToText();
  auto want = whole->Run({in[0], in[1], in[2], cotangent}, options);
  ASSERT_TRUE(want.ok()) << want.status().message();
  for (std::size_t i = 0; i < want->size(); ++i) {
    const auto a = *(*backward)[i].ToVector(), e = *(*want)[i].ToVector();
    ASSERT_EQ(a.size(), e.size());
    for (std::size_t k = 0; k < a.size(); ++k) EXPECT_NEAR(a[k], e[k], 1e-5) << i << " " << k;
  }
  EXPECT_THAT(split->BackwardInputs(in, *forward, {}).status().message(),
              HasSubstr("BackwardInputs: 0 cotangents, expected 1"));
}

TEST(GradientApi, Text) {
  const std::string text =
      "graph f(%x: f32[n,4], %i: i32[n]) -> (f32[]) {\n  %0 = exp(%x) : f32[n,4]\n"
      "  %1 = sum(%0) : f32[]\n  return %1\n}\n";
  GradientTextOptions options;
  options.with_values = true;
  auto gradient = GradientText(text, {"x"}, options);
  ASSERT_TRUE(gradient.ok()) << gradient.status().message();
  EXPECT_EQ(*FormatText(*gradient), *gradient);
  auto f = CompileText(*gradient, Cpu());
  ASSERT_TRUE(f.ok()) << f.status().message();
  EXPECT_EQ(f->num_outputs(), 2);
  EXPECT_THAT(GradientText(text, {"y"}).status().message(), HasSubstr("there is no input 'y'"));
  EXPECT_THAT(GradientText(text, {"i"}).status().message(),
              HasSubstr("input 1, i, is i32[n]; expected a float"));
  auto split = SplitForwardBackwardText(text, {"x"});
  ASSERT_TRUE(split.ok()) << split.status().message();
  EXPECT_THAT(split->backward, HasSubstr("graph f_backward"));
}

TEST(GradientApi, Errors) {
  const auto error = [](const std::vector<Tensor>& t, Builder& b) {
    EXPECT_FALSE(t[0].valid());
    return b.TakeStatus().message();
  };
  Builder b;
  Tensor x = b.Input("x", DType::kF32, {4}), i = b.Input("i", DType::kI32, {4}), s = Sum(x, {0});
  EXPECT_THAT(error(Gradient(x, {x}), b),
              HasSubstr("Gradient: the loss is f32[4], expected a float of rank 0"));
  EXPECT_THAT(error(Gradient(s, {i}), b), HasSubstr("Gradient: wrt 0 is i32[4]"));
  EXPECT_THAT(error(Gradient(s, {Tensor()}), b), HasSubstr("wrt 0 is an invalid tensor"));
  EXPECT_THAT(error(Vjp({x}, {s}, {x}), b),
              HasSubstr("Vjp: cotangent 0 is f32[], expected f32[4]"));
  EXPECT_THAT(error(Vjp({x}, {}, {x}), b), HasSubstr("Vjp: 0 cotangents for 1 outputs"));
  Builder other;
  Tensor y = other.Input("y", DType::kF32, {4});
  EXPECT_THAT(error(Gradient(s, {y}), b), HasSubstr("wrt 0 belongs to another Builder"));
  const auto none = [](const std::vector<Tensor>&, const std::vector<Tensor>&,
                       const std::vector<Tensor>&) { return std::vector<Tensor>(); };
  EXPECT_THAT(
      error(CustomGradient({x}, {s}, none), b),
      HasSubstr("CustomGradient: 0 gradients, expected one for each of the 1 float inputs"));
  EXPECT_THAT(error(Vjp({x, x}, {Tensor(), y}, {x}), b),
              HasSubstr("Vjp: cotangent 1 belongs to another Builder"));
  const auto twice = [](const std::vector<Tensor>&, const std::vector<Tensor>&,
                        const std::vector<Tensor>& g) { return std::vector<Tensor>{g[0]}; };
  Tensor e = Exp(x);
  EXPECT_THAT(error(CustomGradient({x}, {e, e}, twice), b),
              HasSubstr("CustomGradient: output 1 is given twice"));
  EXPECT_FALSE(Gradient(Tensor(), {x})[0].valid());
  Builder failed("failed");  // gives no valid tensors from then on
  Tensor u = failed.Input("u", DType::kF32, {}), v = Exp(u);
  EXPECT_FALSE(failed.Input("u", DType::kF32, {}).valid());
  EXPECT_FALSE(Gradient(v, {u})[0].valid());
  EXPECT_FALSE(Vjp({v}, {v}, {u})[0].valid());
  EXPECT_FALSE(CustomGradient({u}, {v}, none)[0].valid());
  EXPECT_FALSE(failed.Compile(Gradient(v, {u})).ok());
  EXPECT_THAT(SplitForwardBackward({s}, {s}).status().message(),
              HasSubstr("wrt 0, f32[], is no input of the Builder"));
}

}  // namespace
}  // namespace jitfuse
