// Bound inputs on a real GPU: results, what is computed once, capture, the weight's lifetime.
#include <cmath>
#include <string>
#include <vector>

#include "api/jitfuse.h"
#include "api/runtime.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/gpu/driver_function.h"

namespace jitfuse {
namespace {

using ::testing::HasSubstr;

constexpr Device kGpu = {DeviceKind::kCuda, 0};

class BindGpuTest : public testing::Test {
 protected:
  void SetUp() override {
    if (Status s = DeviceStatus(DeviceKind::kCuda); !s.ok()) GTEST_SKIP() << s.message();
  }

  static Array Make(DType dtype, std::vector<std::int64_t> dims, double scale = 1) {
    std::int64_t n = 1;
    for (std::int64_t d : dims) n *= d;
    std::vector<double> v;
    for (std::int64_t i = 0; i < n; ++i) v.push_back(scale * std::sin(static_cast<double>(i)));
    return *Array::FromValues(dtype, dims, v)->CopyTo(kGpu);
  }
  static CompileOptions Gpu() {
    CompileOptions options;
    options.device = DeviceKind::kCuda;
    return options;
  }
  // relu((x @ exp(w)) + b), whose exp is computed once where w is bound.
  static Function Layer(DType dtype) {
    Builder b("layer");
    Tensor x = b.Input("x", dtype, {"m", "k"}), w = b.Input("w", dtype, {"k", "n"}),
           c = b.Input("b", dtype, {"n"});
    return *b.Compile({Relu(Matmul(x, Exp(w)) + c)}, Gpu());
  }
  static void ExpectNear(const Array& got, const Array& want, double most) {
    const std::vector<double> a = *got.ToVector(), b = *want.ToVector();
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i)
      ASSERT_NEAR(a[i], b[i], most * (1 + std::abs(b[i]))) << i;
  }
};

TEST_F(BindGpuTest, ResultsAreThoseOfTheFunctionOfAllInputs) {
  for (DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
    for (auto [k, n] : {std::pair{64, 128}, {33, 47}}) {
      Function f = Layer(dtype);
      const Array w = Make(dtype, {k, n}), b = Make(dtype, {n});
      Function g = *f.Bind({{"w", w}, {"b", b}});
      for (std::int64_t m : {1, 16, 17, 100}) {
        const Array x = Make(dtype, {m, k}, 0.1);
        ExpectNear((*g.Run({x}))[0], (*f.Run({x, w, b}))[0],
                   dtype == DType::kF32   ? 1e-5
                   : dtype == DType::kF16 ? 2e-3
                                          : 2e-2);
      }
      EXPECT_EQ(g.stats().prepared, 1);
      EXPECT_THAT(*g.Explain({Make(dtype, {16, k})}), HasSubstr("bound_once"));
    }
  }
}

TEST_F(BindGpuTest, WarmPreparesForACapture) {
  const jitfuse_test::StreamOfGpu0 stream;
  Function f = Layer(DType::kF32);
  Function g = *f.Bind({{"w", Make(DType::kF32, {32, 16})}, {"b", Make(DType::kF32, {16})}});
  RunOptions options;
  options.stream = stream.get();
  const std::vector<Array> in = {Make(DType::kF32, {8, 32})};
  const std::vector<Array> out = {Make(DType::kF32, {8, 16})};
  {
    Function cold = *g.Rebind({{"b", Make(DType::kF32, {16})}});
    jitfuse_test::Captured(stream.get(), [&] {
      const Status refused = cold.RunInto(in, out, options);
      EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition) << refused.message();
    });
  }
  ASSERT_TRUE(g.Warm(in, options).ok());
  EXPECT_EQ(g.stats().prepared, 1);
  void* instance = jitfuse_test::Captured(stream.get(), [&] {
    const Status s = g.RunInto(in, out, options);
    EXPECT_TRUE(s.ok()) << s.message();
  });
  jitfuse_test::Replay(instance, stream.get());
  ExpectNear(out[0], (*g.Run(in))[0], 1e-6);
  EXPECT_EQ(g.stats().prepared, 1);
}

TEST_F(BindGpuTest, StreamsMayEndBeforeTheFunction) {
  const Array w = Make(DType::kF32, {32, 16}), b = Make(DType::kF32, {16});
  const std::vector<Array> in = {Make(DType::kF32, {8, 32})};
  Function f = Layer(DType::kF32);
  const Array want = (*f.Run({in[0], w, b}))[0];
  Function g = *f.Bind({{"w", w}, {"b", b}});
  for (int i = 0; i < 3; ++i) {
    const std::vector<Array> out = {Make(DType::kF32, {8, 16})};
    const jitfuse_test::StreamOfGpu0 stream;
    RunOptions options;
    options.stream = stream.get();
    ASSERT_TRUE(g.RunInto(in, out, options).ok());
    ASSERT_EQ((*internal::LoadDriverApi())->StreamSynchronize(stream.get()), 0);
    ExpectNear(out[0], want, 1e-6);
  }
  EXPECT_EQ(g.stats().prepared, 1);
  ExpectNear((*g.Run(in))[0], want, 1e-6);
  g = Function();
  ExpectNear((*f.Bind({{"w", w}, {"b", b}})->Run(in))[0], want, 1e-6);
}

// Its memory goes when what reads it has run, also while another stream is captured.
TEST_F(BindGpuTest, DroppedWhileItsCallsRun) {
  constexpr std::int64_t kN = 1024;
  const Array w = Make(DType::kF32, {kN, kN}, 0.01), b = Make(DType::kF32, {kN});
  const std::vector<Array> in = {Make(DType::kF32, {4 * kN, kN})};
  Function f = Layer(DType::kF32);
  const Array want = (*f.Run({in[0], w, b}))[0];
  const std::vector<Array> out = {Make(DType::kF32, {4 * kN, kN})};
  const jitfuse_test::StreamOfGpu0 stream, captured;
  RunOptions options;
  options.stream = stream.get();
  {
    Function g = *f.Bind({{"w", w}, {"b", b}});
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(g.RunInto(in, out, options).ok());
    jitfuse_test::Captured(captured.get(), [&] { g = Function(); });
  }
  const Array other = Make(DType::kF32, {kN, kN}, 7);  // may lie where the product's operand did
  ASSERT_EQ((*internal::LoadDriverApi())->StreamSynchronize(stream.get()), 0);
  ExpectNear(out[0], want, 1e-4);
}

TEST_F(BindGpuTest, WhereTheWeightIsIsWhereCallsRun) {
  Function f = Layer(DType::kF32);
  const Array on_host = *Array::FromValues(DType::kF32, {2, 2}, {1, 2, 3, 4});
  EXPECT_THAT(f.Bind("w", on_host).status().message(), HasSubstr("is on the CPU"));
  Function g = *f.Bind("w", Make(DType::kF32, {2, 2}));
  EXPECT_FALSE(g.Run({on_host, Make(DType::kF32, {2})}).ok());
}

TEST_F(BindGpuTest, GroupedProductsAreOne) {
  Builder b;
  Tensor x = b.Input("x", DType::kF16, {"m", 64});
  std::vector<Tensor> w;
  std::vector<std::pair<std::string, Array>> bindings;
  for (int i = 0; i < 3; ++i) {
    const std::string name = "w" + std::to_string(i);
    w.push_back(b.Input(name, DType::kF16, {96, 64}));
    bindings.push_back({name, Make(DType::kF16, {96, 64}, 0.1 * (i + 1))});
  }
  Function f = *b.Compile(GroupedLinear(x, w), Gpu());
  Function g = *f.Bind(bindings);
  const Array xs = Make(DType::kF16, {40, 64}, 0.5);
  std::vector<Array> all = {xs};
  for (const auto& [name, array] : bindings) all.push_back(array);
  const std::vector<Array> one = *g.Run({xs}), apart = *f.Run(all);
  for (std::size_t i = 0; i < 3; ++i) ExpectNear(one[i], apart[i], 4e-3);
  EXPECT_THAT(*g.Explain({xs}), HasSubstr("gemm_grouped"));
}

}  // namespace
}  // namespace jitfuse
