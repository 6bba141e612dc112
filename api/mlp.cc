#include "api/mlp.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <limits>

#include "api/builder_state.h"
#include "api/ops.h"
#include "api/random.h"
#include "ir/support/status.h"

namespace jitfuse {
inline namespace v1 {
namespace {

using Apply = Tensor (*)(const Tensor&);

// In the order of the enumeration.
constexpr Apply kActivations[] = {
    [](const Tensor& x) { return x; },
    [](const Tensor& x) { return Elu(x); },
    [](const Tensor& x) { return Gelu(x); },
    [](const Tensor& x) { return GeluTanh(x); },
    [](const Tensor& x) { return Hardswish(x); },
    [](const Tensor& x) { return LeakyRelu(x); },
    [](const Tensor& x) { return Mish(x); },
    [](const Tensor& x) { return Relu(x); },
    [](const Tensor& x) { return Relu6(x); },
    [](const Tensor& x) { return Selu(x); },
    [](const Tensor& x) { return Sigmoid(x); },
    [](const Tensor& x) { return Silu(x); },
    [](const Tensor& x) { return Softplus(x); },
    [](const Tensor& x) { return Square(Relu(x)); },
    [](const Tensor& x) { return Tanh(x); },
};
static_assert(std::size(kActivations) == static_cast<std::size_t>(Activation::kTanh) + 1);

}  // namespace

Tensor Activate(const Tensor& x, Activation activation) {
  const auto i = static_cast<std::size_t>(activation);
  if (i < std::size(kActivations)) return kActivations[i](x);
  return detail::BuilderState::Fail(
      detail::BuilderState::Of(x),
      internal::InvalidArgument("Activate: ", i, " is no Activation, expected 0 (kNone) to ",
                                std::size(kActivations) - 1, " (kTanh)"));
}

std::vector<Tensor> GroupedLinear(const Tensor& x, const std::vector<Tensor>& weights,
                                  const std::vector<Tensor>& biases) {
  if (!biases.empty() && biases.size() != weights.size()) {
    const Tensor failed = detail::BuilderState::Fail(
        detail::BuilderState::Of(x),
        internal::InvalidArgument("GroupedLinear: ", weights.size(), " weights and ", biases.size(),
                                  " biases; expected one for each, or none"));
    return std::vector<Tensor>(weights.size(), failed);
  }
  std::vector<Tensor> out;
  for (std::size_t i = 0; i < weights.size(); ++i)
    out.push_back(Linear(x, weights[i], biases.empty() ? Tensor() : biases[i]));
  return out;
}

// [layers, rows, out] in one batched product; then layer by layer [..., out].
std::vector<Tensor> GroupedLinear(const Tensor& x, const Tensor& weights, std::int64_t layers,
                                  const Tensor& biases) {
  std::vector<DimSpec> dims = x.dims();
  const bool others =
      weights.rank() == 3 && !weights.dims()[0].is_name() && weights.dims()[0].size() != layers;
  if (layers < 1 || dims.empty() || weights.rank() != 3 || others) {
    const Tensor failed = detail::BuilderState::Fail(
        detail::BuilderState::Of(x),
        internal::InvalidArgument("GroupedLinear: ", layers, " layers with weights of ",
                                  weights.type_string(), " over ", x.type_string(),
                                  "; expected weights [layers, out, in] and an input [..., in]"));
    return std::vector<Tensor>(static_cast<std::size_t>(std::max<std::int64_t>(layers, 0)), failed);
  }
  const Tensor rows = Reshape(x, {1, -1, dims.back()});
  Tensor product = Matmul(rows, weights, false, /*transpose_b=*/true);
  if (biases.valid()) product = Add(product, Unsqueeze(biases, {1}));
  dims.back() = weights.dims()[1];
  std::vector<Tensor> out;
  constexpr std::int64_t kEnd = std::numeric_limits<std::int64_t>::max();
  for (std::int64_t i = 0; i < layers; ++i)
    out.push_back(Reshape(Slice(product, {i, 0, 0}, {i + 1, kEnd, kEnd}), dims));
  return out;
}

Tensor LinearActivation(const Tensor& x, const LinearLayer& layer, Activation activation,
                        double dropout) {
  Tensor y = Activate(Linear(x, layer.weight, layer.bias), activation);
  return dropout == 0 ? y : Dropout(y, dropout);
}

Tensor Mlp(const Tensor& x, const std::vector<LinearLayer>& layers, const MlpOptions& options) {
  Tensor y = x;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const bool last = i + 1 == layers.size();
    y = LinearActivation(y, layers[i], last ? options.output_activation : options.activation,
                         last ? 0 : options.dropout);
  }
  return y;
}

std::vector<LinearLayer> MlpInputs(Builder& builder, DType dtype,
                                   const std::vector<std::int64_t>& sizes, bool bias,
                                   const std::string& prefix) {
  std::vector<LinearLayer> layers;
  for (std::size_t i = 0; i + 1 < sizes.size(); ++i) {
    const std::string name = prefix + std::to_string(i);
    LinearLayer layer;
    layer.weight = builder.Input(name + "_weight", dtype, {sizes[i + 1], sizes[i]});
    if (bias) layer.bias = builder.Input(name + "_bias", dtype, {sizes[i + 1]});
    layers.push_back(layer);
  }
  return layers;
}

}  // namespace v1
}  // namespace jitfuse
