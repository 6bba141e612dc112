// Linear layers and perceptrons by one call: the graphs that one would write out, their values,
// what they are called as inputs, errors.
#include "api/mlp.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "api/inspect.h"
#include "api/jitfuse.h"

namespace jitfuse {
namespace {

using ::testing::HasSubstr;

CompileOptions OnCpu() {
  CompileOptions options;
  options.device = DeviceKind::kCpu;
  return options;
}

TEST(MlpTest, IsTheGraphThatOneWouldWrite) {
  Builder b("mlp"), written("mlp");
  Tensor x = b.Input("x", DType::kF32, {"n", 8});
  const auto layers = MlpInputs(b, DType::kF32, {8, 16, 4});
  ASSERT_EQ(layers.size(), 2u);
  Tensor y = written.Input("x", DType::kF32, {"n", 8});
  Tensor w0 = written.Input("layer0_weight", DType::kF32, {16, 8});
  Tensor b0 = written.Input("layer0_bias", DType::kF32, {16});
  Tensor w1 = written.Input("layer1_weight", DType::kF32, {4, 16});
  Tensor b1 = written.Input("layer1_bias", DType::kF32, {4});
  MlpOptions options;
  options.activation = Activation::kGeluTanh;
  options.output_activation = Activation::kSigmoid;
  options.dropout = 0.25;
  EXPECT_EQ(b.ToText({Mlp(x, layers, options)}),
            written.ToText({Sigmoid(Linear(Dropout(GeluTanh(Linear(y, w0, b0)), 0.25), w1, b1))}));
  EXPECT_TRUE(b.status().ok());
}

TEST(MlpTest, WithoutBiasesAndWithAPrefix) {
  Builder b("mlp");
  Tensor x = b.Input("x", DType::kBF16, {"n", 8});
  const auto layers = MlpInputs(b, DType::kBF16, {8, 16, 4}, false, "up");
  const std::string text = b.ToText({Mlp(x, layers)});
  EXPECT_THAT(text, HasSubstr("%up0_weight: bf16[16,8], %up1_weight: bf16[4,16]"));
  EXPECT_THAT(text, HasSubstr("relu"));
  EXPECT_EQ(text.find("bias"), std::string::npos);
}

TEST(MlpTest, NoLayersAreTheInput) {
  Builder b("mlp");
  Tensor x = b.Input("x", DType::kF32, {"n", 8});
  EXPECT_TRUE(MlpInputs(b, DType::kF32, {8}).empty());
  EXPECT_EQ(b.ToText({Mlp(x, {})}), b.ToText({x}));
}

TEST(MlpTest, Values) {
  Builder b("mlp");
  Tensor x = b.Input("x", DType::kF64, {"n", 2});
  StatusOr<Function> f = b.Compile({Mlp(x, MlpInputs(b, DType::kF64, {2, 3, 1}))}, OnCpu());
  ASSERT_TRUE(f.ok()) << f.status().message();
  const auto array = [](std::vector<std::int64_t> dims, std::vector<double> values) {
    return Array::FromValues(DType::kF64, dims, values).value();
  };
  const StatusOr<std::vector<Array>> y =
      f->Run({array({2, 2}, {1, 2, -1, 0.5}), array({3, 2}, {1, 0, 0, 1, -1, -1}),
              array({3}, {0, 1, 2}), array({1, 3}, {1, 10, 100}), array({1}, {0.5})});
  ASSERT_TRUE(y.ok()) << y.status().message();
  // Rows: relu(1, 3, -1) and relu(-1, 1.5, 2.5).
  EXPECT_EQ(y->at(0).ToVector().value(), (std::vector<double>{31.5, 265.5}));
}

TEST(ActivateTest, EveryActivationIsItsFunction) {
  const std::vector<std::pair<Activation, std::function<double(double)>>> known = {
      {Activation::kNone, [](double x) { return x; }},
      {Activation::kElu, [](double x) { return x > 0 ? x : std::expm1(x); }},
      {Activation::kGelu, [](double x) { return x * 0.5 * std::erfc(-x / std::sqrt(2)); }},
      {Activation::kGeluTanh,
       [](double x) {
         return x * 0.5 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
       }},
      {Activation::kHardswish, [](double x) { return x * std::fmin(std::fmax(x + 3, 0), 6) / 6; }},
      {Activation::kLeakyRelu, [](double x) { return x > 0 ? x : 0.01 * x; }},
      {Activation::kMish, [](double x) { return x * std::tanh(std::log1p(std::exp(x))); }},
      {Activation::kRelu, [](double x) { return std::fmax(x, 0); }},
      {Activation::kRelu6, [](double x) { return std::fmin(std::fmax(x, 0), 6); }},
      {Activation::kSelu,
       [](double x) {
         return 1.0507009873554805 * (x > 0 ? x : 1.6732632423543772 * std::expm1(x));
       }},
      {Activation::kSigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }},
      {Activation::kSilu, [](double x) { return x / (1 + std::exp(-x)); }},
      {Activation::kSoftplus, [](double x) { return std::log1p(std::exp(x)); }},
      {Activation::kSquaredRelu, [](double x) { return x > 0 ? x * x : 0; }},
      {Activation::kTanh, [](double x) { return std::tanh(x); }},
  };
  ASSERT_EQ(known.size(), static_cast<std::size_t>(Activation::kTanh) + 1);
  const std::vector<double> values = {-4, -1.5, -0.25, 0, 0.5, 2, 7};
  for (const auto& [activation, want] : known) {
    Builder b("f");
    Tensor y = Activate(b.Input("x", DType::kF64, {7}), activation);
    StatusOr<Function> f = b.Compile({y}, OnCpu());
    ASSERT_TRUE(f.ok()) << f.status().message();
    const std::vector<double> got =
        f->Run({Array::FromValues(DType::kF64, {7}, values).value()}).value()[0].ToVector().value();
    for (std::size_t i = 0; i < values.size(); ++i)
      EXPECT_NEAR(got[i], want(values[i]), 1e-12) << static_cast<int>(activation) << values[i];
  }
}

TEST(MlpTest, ErrorsAreThoseOfTheOps) {
  Builder b("mlp");
  Tensor x = b.Input("x", DType::kF32, {"n", 7});
  EXPECT_FALSE(Mlp(x, MlpInputs(b, DType::kF32, {8, 4})).valid());
  EXPECT_THAT(b.status().message(), HasSubstr("linear(f32[n,7], f32[4,8]"));
  Builder other("mlp");
  MlpOptions options;
  options.dropout = 2;
  Tensor y = other.Input("x", DType::kF32, {"n", 8});
  EXPECT_FALSE(Mlp(y, MlpInputs(other, DType::kF32, {8, 4, 2}), options).valid());
  EXPECT_THAT(other.status().message(), HasSubstr("dropout"));
}

TEST(ActivateTest, AValueThatIsNoActivationIsAnError) {
  for (const int wrong : {200, static_cast<int>(Activation::kTanh) + 1}) {
    Builder b("f");
    Tensor x = b.Input("x", DType::kF32, {"n", 8});
    Tensor y = Activate(x, static_cast<Activation>(wrong));
    EXPECT_FALSE(y.valid());
    EXPECT_EQ(b.status().code(), StatusCode::kInvalidArgument);
    const std::string message = "Activate: " + std::to_string(wrong) + " is no Activation";
    EXPECT_THAT(b.status().message(), HasSubstr(message));
    EXPECT_THAT(b.Compile({y}, OnCpu()).status().message(), HasSubstr(message));
  }
  Builder b("mlp");
  MlpOptions options;
  options.activation = static_cast<Activation>(200);
  Tensor x = b.Input("x", DType::kF32, {"n", 8});
  EXPECT_FALSE(Mlp(x, MlpInputs(b, DType::kF32, {8, 4, 2}), options).valid());
  EXPECT_THAT(b.status().message(), HasSubstr("Activate: 200"));
  EXPECT_FALSE(Activate(Tensor(), static_cast<Activation>(200)).valid());
}

}  // namespace
}  // namespace jitfuse
