// Functions with bound inputs, end to end on the CPU: results, what is computed once, errors.
#include <atomic>
#include <cmath>
#include <numeric>
#include <random>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/inspect.h"
#include "api/jitfuse.h"

namespace jitfuse {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using Dims = std::vector<std::int64_t>;

CompileOptions On(DeviceKind kind) {
  CompileOptions o;
  o.device = kind;
  return o;
}

Array Random(DType dtype, Dims dims, unsigned seed) {
  std::mt19937 rng(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::size_t n = 1;
  for (std::int64_t d : dims) n *= static_cast<std::size_t>(d);
  std::vector<double> values(n);
  for (double& v : values) v = uniform(rng);
  return *Array::FromValues(dtype, std::move(dims), values);
}

std::vector<double> Values(const StatusOr<std::vector<Array>>& results, std::size_t i = 0) {
  if (!results.ok()) {
    ADD_FAILURE() << results.status().message();
    return {};
  }
  return *(*results)[i].ToVector();
}

std::string ErrorOf(const StatusOr<Function>& f) {
  return f.ok() ? "no error" : std::string(f.status().message());
}

// relu(linear(x, w, b)) with sizes that are symbols.
Function Layer(DType dtype, DeviceKind kind = DeviceKind::kCpu) {
  Builder b("layer");
  Tensor x = b.Input("x", dtype, {"m", "k"}), w = b.Input("w", dtype, {"n", "k"}),
         c = b.Input("b", dtype, {"n"});
  return *b.Compile({Relu(Linear(x, w, c))}, On(kind));
}

TEST(BindTest, ResultsAreThoseOfTheFunctionOfAllInputs) {
  for (DType dtype : {DType::kF32, DType::kBF16}) {
    Function f = Layer(dtype);
    for (auto [n, k] : {std::pair{96, 64}, {33, 20}, {5, 1}, {1, 7}}) {
      const Array w = Random(dtype, {n, k}, 1), b = Random(dtype, {n}, 2);
      Function g = *f.Bind({{"w", w}, {"b", b}});
      EXPECT_EQ(g.num_inputs(), 1);
      for (std::int64_t m : {64, 1, 7, 129}) {
        const Array x = Random(dtype, {m, k}, 3);
        const std::vector<double> bound = Values(g.Run({x})), all = Values(f.Run({x, w, b}));
        ASSERT_EQ(bound.size(), all.size());
        // A sum of k products of numbers up to 1, in another order.
        const double most = (dtype == DType::kF32 ? 0x1p-23 : 0x1p-7) * k;
        for (std::size_t i = 0; i < all.size(); ++i) ASSERT_NEAR(bound[i], all[i], most) << i;
      }
    }
  }
}

TEST(BindTest, TheWeightIsPackedOnceForAllBatches) {
  Function f = Layer(DType::kF32);
  const Array w = Random(DType::kF32, {256, 128}, 1), b = Random(DType::kF32, {256}, 2);
  Function g = *f.Bind({{"w", w}, {"b", b}});
  for (std::int64_t m : {64, 65, 64, 66})
    ASSERT_TRUE(g.Run({Random(DType::kF32, {m, 128}, 3)}).ok());
  const std::string text = *g.Explain({Random(DType::kF32, {64, 128}, 3)});
  EXPECT_THAT(text, HasSubstr("bound_input"));
  EXPECT_THAT(text, HasSubstr("%w: f32[256,128]"));
  if (text.find("oneDNN") == std::string::npos) GTEST_SKIP() << "this build has no oneDNN";
  EXPECT_THAT(text, HasSubstr("B in a layout of oneDNN's own"));
  EXPECT_THAT(text, HasSubstr("bound_packed"));
  EXPECT_LE(g.stats().prepared, 1);
  EXPECT_EQ(f.stats().prepared, 0);
}

TEST(BindTest, SizesThatTheArrayDecidesAreConstants) {
  Function g = *Layer(DType::kF32).Bind("w", Random(DType::kF32, {12, 8}, 1));
  const std::vector<InputInfo> inputs = InputsOf(g);
  ASSERT_EQ(inputs.size(), 2u);
  EXPECT_EQ(inputs[0].name, "x");
  EXPECT_THAT(inputs[0].dims, ElementsAre("m", "8"));
  EXPECT_THAT(inputs[1].dims, ElementsAre("12"));
  EXPECT_THAT(g.BoundInputs(), ElementsAre("w"));
  const auto refused = g.Run({Random(DType::kF32, {3, 9}, 1), Random(DType::kF32, {12}, 1)});
  EXPECT_THAT(refused.status().message(), HasSubstr("x"));
  EXPECT_THAT(refused.status().message(), HasSubstr("expected 8"));
}

// That two sizes are one is known by the product alone.
TEST(BindTest, SizesThatAnOpEquatesAreConstantsToo) {
  Builder b;
  Tensor x = b.Input("x", DType::kF32, {"m", "k"}), w = b.Input("w", DType::kF32, {"j", "n"});
  Function g =
      *b.Compile({Matmul(x, w)}, On(DeviceKind::kCpu))->Bind("w", Random(DType::kF32, {8, 4}, 1));
  EXPECT_THAT(InputsOf(g)[0].dims, ElementsAre("m", "8"));
}

TEST(BindTest, WhatIsNoMatrixIsHeldAsItIs) {
  Builder b("affine");
  Tensor x = b.Input("x", DType::kF32, {"n"}), s = b.Scalar("s", DType::kF32),
         t = b.Input("t", DType::kI32, {"n"});
  Function f = *b.Compile({x * s + Cast(t, DType::kF32)}, On(DeviceKind::kCpu));
  const Array xs = *Array::FromValues(DType::kF32, {3}, {1, 2, 3}),
              ts = *Array::FromValues(DType::kI32, {3}, {10, 20, 30});
  Function g = *f.Bind({{"s", Array::Scalar(DType::kF32, 2)}, {"t", ts}});
  EXPECT_THAT(Values(g.Run({xs})), ElementsAre(12, 24, 36));
  Function all = *g.Bind("x", xs);
  EXPECT_EQ(all.num_inputs(), 0);
  EXPECT_THAT(Values(all.Run({})), ElementsAre(12, 24, 36));
}

TEST(BindTest, TheArrayStaysAliveAndTheInterpreterBindsToo) {
  for (DeviceKind kind : {DeviceKind::kCpu, DeviceKind::kInterpret}) {
    Function g;
    {
      Function f = Layer(DType::kF32, kind);
      g = *f.Bind({{"w", *Array::FromValues(DType::kF32, {2, 2}, {1, 2, 3, 4})},
                   {"b", *Array::FromValues(DType::kF32, {2}, {0.5, -100})}});
    }
    EXPECT_THAT(Values(g.Run({*Array::FromValues(DType::kF32, {1, 2}, {1, 1})})),
                ElementsAre(3.5, 0));
  }
}

TEST(BindTest, StridedWeightsAreReadWhereTheyLie) {
  Builder b;
  Tensor x = b.Input("x", DType::kF32, {"m", 2}), w = b.Input("w", DType::kF32, {2, 2});
  Function f = *b.Compile({Matmul(x, w)}, On(DeviceKind::kCpu));
  const std::vector<float> storage = {1, -1, 2, -1, 3, -1, 4, -1};
  const Array apart = Array::View(storage.data(), DType::kF32, {2, 2}, {4, 2});
  Function g = *f.Bind("w", apart);
  for (int i = 0; i < 2; ++i)
    EXPECT_THAT(Values(g.Run({*Array::FromValues(DType::kF32, {1, 2}, {1, 10})})),
                ElementsAre(31, 42));
}

TEST(BindTest, RebindTakesOtherContentsAndUnbindGivesTheInputsBack) {
  Function f = Layer(DType::kF32);
  std::vector<float> w = {1, 2, 3, 4};
  const Array view = Array::View(w.data(), DType::kF32, {2, 2}),
              b = *Array::FromValues(DType::kF32, {2}, {0, 0}),
              x = *Array::FromValues(DType::kF32, {1, 2}, {1, 1});
  Function g = *f.Bind({{"w", view}, {"b", b}});
  EXPECT_THAT(Values(g.Run({x})), ElementsAre(3, 7));
  w = {5, 6, 7, 8};
  Function h = *g.Rebind({{"w", view}});
  EXPECT_THAT(Values(h.Run({x})), ElementsAre(11, 15));
  EXPECT_THAT(Values(h.Unbind({"b"})->Run({x, b})), ElementsAre(11, 15));
  Function all = *h.Unbind();
  EXPECT_EQ(all.num_inputs(), 3);
  EXPECT_THAT(Values(all.Run({x, view, b})), ElementsAre(11, 15));
  EXPECT_THAT(ErrorOf(f.Rebind({{"w", view}})), HasSubstr("'w' is not bound; Bind it"));
  EXPECT_THAT(ErrorOf(f.Unbind({"w"})), HasSubstr("'w' is not bound"));
}

TEST(BindTest, ErrorsNameTheInputAndWhatWasExpected) {
  Function f = Layer(DType::kF32);
  const Array w = Random(DType::kF32, {12, 8}, 1);
  EXPECT_THAT(ErrorOf(f.Bind("u", w)),
              HasSubstr("graph layer: no input is called 'u'; expected one of x, w, b"));
  EXPECT_THAT(ErrorOf(f.Bind("w", Random(DType::kBF16, {12, 8}, 1))),
              HasSubstr("input 1 'w' is bound to an array of bf16; expected f32[n,k]"));
  EXPECT_THAT(ErrorOf(f.Bind("w", Random(DType::kF32, {12}, 1))),
              HasSubstr("input 1 'w' (f32[n,k]) of shape [12]: expected rank 2, got 1"));
  EXPECT_THAT(ErrorOf(f.Bind({{"w", w}, {"b", Random(DType::kF32, {13}, 1)}})),
              HasSubstr("input 2 'b' (f32[n]) of shape [13]: dim 0 is 13, expected 12"));
  Function g = *f.Bind("w", w);
  EXPECT_THAT(ErrorOf(g.Bind("b", Random(DType::kF32, {13}, 1))), HasSubstr("expected 12"));
  EXPECT_THAT(ErrorOf(g.Bind("w", w)), HasSubstr("'w' is bound already; Rebind it, or Unbind it"));
  EXPECT_THAT(ErrorOf(f.Bind({{"w", w}, {"w", w}})), HasSubstr("'w' is given twice"));
  EXPECT_THAT(ErrorOf(Function().Bind("w", w)), HasSubstr("this Function is empty"));
  const Array on_gpu = Array::View(w.data(), DType::kF32, {12, 8}, {}, {DeviceKind::kCuda, 0});
  EXPECT_THAT(ErrorOf(f.Bind("w", on_gpu)), HasSubstr("binding 'w'"));
  EXPECT_THAT(ErrorOf(f.Bind("w", on_gpu)), HasSubstr("is on GPU 0"));
  const Array nothing = Array::View(static_cast<void*>(nullptr), DType::kF32, {12, 8});
  EXPECT_THAT(ErrorOf(f.Bind("w", nothing)), HasSubstr("no data"));
  const Array b = Random(DType::kF32, {12}, 1), x = Random(DType::kF32, {3, 8}, 1);
  EXPECT_THAT(g.Run({x, w, b}).status().message(), HasSubstr("expected 2 inputs (1 are bound)"));
}

TEST(BindTest, ConflictsOfSizesNameTheOp) {
  Builder b;
  Tensor x = b.Input("x", DType::kF32, {"m", 16}), w = b.Input("w", DType::kF32, {"k", "n"});
  Function f = *b.Compile({Matmul(x, w)}, On(DeviceKind::kCpu));
  EXPECT_THAT(ErrorOf(f.Bind("w", Random(DType::kF32, {8, 4}, 1))), HasSubstr("matmul"));
}

TEST(BindTest, RandomOpsDrawAsBefore) {
  Builder b;
  Tensor x = b.Input("x", DType::kF32, {"n"}), w = b.Input("w", DType::kF32, {"n"});
  Function f = *b.Compile({Dropout(x, 0.5) * w}, On(DeviceKind::kCpu));
  const Array xs = Random(DType::kF32, {100}, 1), ws = Random(DType::kF32, {100}, 2);
  RunOptions options;
  options.rng.seed = 7;
  Function g = *f.Bind("w", ws);
  EXPECT_EQ(Values(g.Run({xs}, options)), Values(f.Run({xs, ws}, options)));
  EXPECT_EQ(Values(f.Bind("x", xs)->Run({ws}, options)), Values(f.Run({xs, ws}, options)));
}

TEST(BindTest, ExplainKeepsTheAuthorsNamesAndTellsWhatIsComputedOnce) {
  Function f = *CompileText(
      "graph f(%x: f32[m,k], %w: f32[k,n]) -> (f32[m,n]) {\n %scaled = exp(%w) : f32[k,n]\n %y = "
      "matmul(%x, %scaled) : f32[m,n]\n return %y\n}",
      On(DeviceKind::kCpu));
  Function g = *f.Bind("w", Random(DType::kF32, {16, 8}, 1));
  const std::string text = *g.Explain({Random(DType::kF32, {4, 16}, 1)});
  EXPECT_THAT(text, HasSubstr("%scaled = exp(%w)"));
  EXPECT_THAT(text, HasSubstr("bound_once"));
  EXPECT_THAT(*g.ExplainJson({Random(DType::kF32, {4, 16}, 1)}), HasSubstr("\"once\": true"));
  EXPECT_THAT(*f.Explain({Random(DType::kF32, {4, 16}, 1), Random(DType::kF32, {16, 8}, 1)}),
              Not(HasSubstr("bound_once")));
}

TEST(BindTest, CallsAreVerified) {
  CompileOptions options = On(DeviceKind::kCpu);
  options.verify = 2;
  Builder b;
  Tensor x = b.Input("x", DType::kF32, {"m", "k"}), w = b.Input("w", DType::kF32, {"n", "k"});
  Function f = *b.Compile({Relu(Linear(x, w))}, options);
  Function g = *f.Bind("w", Random(DType::kF32, {16, 8}, 1));
  ASSERT_TRUE(g.Run({Random(DType::kF32, {4, 8}, 1)}).ok());
  EXPECT_EQ(g.stats().verified, 1);
}

TEST(BindConcurrencyTest, ManyThreadsPackOnceAndGetTheSame) {
  Function f = Layer(DType::kF32);
  const Array w = Random(DType::kF32, {64, 48}, 1), b = Random(DType::kF32, {64}, 2);
  Function g = *f.Bind({{"w", w}, {"b", b}});
  std::atomic<int> right{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 6; ++t) {
    threads.emplace_back([&, t] {
      const Array x = Random(DType::kF32, {32 + t % 2, 48}, t);
      const auto first = g.Run({x}), second = g.Run({x});
      right +=
          first.ok() && second.ok() && *(*first)[0].ToVector() == *(*second)[0].ToVector() ? 1 : 0;
      Function own = *g.Rebind({{"b", b}});
      right += own.Run({x}).ok() ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 12);
  EXPECT_LE(g.stats().prepared, 1);
}

// ---- Linear layers over one input.

std::vector<Array> Weights(const std::vector<std::int64_t>& sizes, std::int64_t k) {
  std::vector<Array> out;
  for (std::size_t i = 0; i < sizes.size(); ++i)
    out.push_back(Random(DType::kF32, {sizes[i], k}, 10 + static_cast<unsigned>(i)));
  return out;
}

TEST(GroupedLinearTest, BoundWeightsAreOneProductAndGiveTheSame) {
  Builder b;
  Tensor x = b.Input("x", DType::kF32, {"m", 32});
  std::vector<Tensor> w, c;
  for (int i = 0; i < 3; ++i) {
    w.push_back(b.Input("w" + std::to_string(i), DType::kF32, {48, 32}));
    c.push_back(b.Input("b" + std::to_string(i), DType::kF32, {48}));
  }
  Function f = *b.Compile(GroupedLinear(x, w, c), On(DeviceKind::kCpu));
  const std::vector<Array> weights = Weights({48, 48, 48}, 32);
  const Array xs = Random(DType::kF32, {17, 32}, 1);
  std::vector<Array> all = {xs};
  std::vector<std::pair<std::string, Array>> bindings;
  for (int i = 0; i < 3; ++i) {
    const Array bias = Random(DType::kF32, {48}, 20 + static_cast<unsigned>(i));
    all.push_back(weights[static_cast<std::size_t>(i)]);
    all.push_back(bias);
    bindings.push_back({"w" + std::to_string(i), all[all.size() - 2]});
    bindings.push_back({"b" + std::to_string(i), bias});
  }
  Function g = *f.Bind(bindings);
  for (std::size_t o = 0; o < 3; ++o) {
    const std::vector<double> bound = Values(g.Run({xs}), o), apart = Values(f.Run(all), o);
    ASSERT_EQ(bound.size(), apart.size());
    for (std::size_t i = 0; i < bound.size(); ++i) ASSERT_NEAR(bound[i], apart[i], 1e-5);
  }
  const std::string text = *g.Explain({xs});
  if (text.find("oneDNN") == std::string::npos) GTEST_SKIP() << "this build has no oneDNN";
  EXPECT_THAT(text, HasSubstr("gemm_grouped"));
  EXPECT_THAT(*f.Explain(all), HasSubstr("gemm_apart"));
}

TEST(GroupedLinearTest, StackedWeightsAreOneBatchedProduct) {
  Builder b;
  Tensor x = b.Input("x", DType::kF32, {"b", "t", 8}), w = b.Input("w", DType::kF32, {2, 4, 8}),
         c = b.Input("c", DType::kF32, {2, 4});
  Function f = *b.Compile(GroupedLinear(x, w, 2, c), On(DeviceKind::kCpu));
  Builder apart;
  Tensor x2 = apart.Input("x", DType::kF32, {"b", "t", 8});
  std::vector<Tensor> ws = {apart.Input("u", DType::kF32, {4, 8}),
                            apart.Input("v", DType::kF32, {4, 8})};
  Function h = *apart.Compile(GroupedLinear(x2, ws), On(DeviceKind::kCpu));
  const Array xs = Random(DType::kF32, {3, 5, 8}, 1), stacked = Random(DType::kF32, {2, 4, 8}, 2);
  const Array zero = *Array::FromValues(DType::kF32, {2, 4}, std::vector<double>(8, 0));
  const auto* data = static_cast<const float*>(stacked.data());
  const std::vector<Array> parts = {xs, Array::View(data, DType::kF32, {4, 8}),
                                    Array::View(data + 32, DType::kF32, {4, 8})};
  for (std::size_t o = 0; o < 2; ++o) {
    const auto one = Values(f.Run({xs, stacked, zero}), o), two = Values(h.Run(parts), o);
    ASSERT_EQ(one.size(), two.size());
    for (std::size_t i = 0; i < one.size(); ++i) ASSERT_NEAR(one[i], two[i], 1e-5);
  }
}

TEST(GroupedLinearTest, WrongCountsAreErrors) {
  Builder b;
  Tensor x = b.Input("x", DType::kF32, {"m", 8}), w = b.Input("w", DType::kF32, {4, 8});
  GroupedLinear(x, {w, w}, {w});
  EXPECT_THAT(b.TakeStatus().message(), HasSubstr("GroupedLinear: 2 weights and 1 biases"));
  GroupedLinear(x, w, 2);
  EXPECT_THAT(b.TakeStatus().message(), HasSubstr("expected weights [layers, out, in]"));
  GroupedLinear(x, b.Input("three", DType::kF32, {3, 4, 8}), 2);
  EXPECT_THAT(b.TakeStatus().message(), HasSubstr("2 layers with weights of f32[3,4,8]"));
}

TEST(BindTest, SizesThatNoNumberGivesAreErrors) {
  const Function f = *CompileText(
      "graph f(%x: f32[4*n], %y: f32[n]) -> (f32[4*n], f32[n]) {\n %0 = relu(%x) : f32[4*n]\n "
      "%1 = relu(%y) : f32[n]\n return %0, %1\n}",
      On(DeviceKind::kCpu));
  EXPECT_THAT(f.Bind({{"x", Random(DType::kF32, {10}, 1)}}).status().message(),
              HasSubstr("dim 0 is 10, expected a multiple of 4"));
  EXPECT_TRUE(f.Bind({{"x", Random(DType::kF32, {12}, 1)}}).ok());
}

}  // namespace
}  // namespace jitfuse
