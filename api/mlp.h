// Linear layers with what follows them, and perceptrons of them, as ops of a Builder: what one
// would write out with Linear, Relu and Dropout, and fused as that is.
//
// weight is [out, in], bias [out] or an invalid Tensor: none. As with ops, an error (such as a
// value that is no Activation) gives an invalid Tensor and comes out of Builder::status() and
// Compile.
#ifndef JITFUSE_API_MLP_H_
#define JITFUSE_API_MLP_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tensor.h"

namespace jitfuse {
inline namespace v1 {

enum class Activation : std::uint8_t {
  kNone = 0,
  kElu,
  kGelu,      // with erf
  kGeluTanh,  // its approximation with tanh
  kHardswish,
  kLeakyRelu,  // slope 0.01
  kMish,
  kRelu,
  kRelu6,
  kSelu,
  kSigmoid,
  kSilu,
  kSoftplus,
  kSquaredRelu,
  kTanh
};
Tensor Activate(const Tensor& x, Activation activation);

// Linear layers over one input, such as the projections of an attention: Linear(x, weights[i],
// biases[i]) for each; biases may be empty, or have invalid Tensors. Where weights (and biases) are
// bound (Function::Bind) they become one product with the weights put side by side once, if that
// makes fewer kernels; else they are a product each, and explain() says why (docs/gemm.md).
std::vector<Tensor> GroupedLinear(const Tensor& x, const std::vector<Tensor>& weights,
                                  const std::vector<Tensor>& biases = {});
// The same with the weights in one tensor [layers, out, in], and the biases in one [layers, out] or
// an invalid Tensor: one batched product, bound or not.
std::vector<Tensor> GroupedLinear(const Tensor& x, const Tensor& weights, std::int64_t layers,
                                  const Tensor& biases = {});

struct LinearLayer {
  Tensor weight, bias;
};
// activation(x weight^T + bias), then dropout of probability p where p is above 0.
Tensor LinearActivation(const Tensor& x, const LinearLayer& layer, Activation activation,
                        double dropout = 0);

struct MlpOptions {
  Activation activation = Activation::kRelu;         // between the layers
  Activation output_activation = Activation::kNone;  // behind the last one
  double dropout = 0;                                // between the layers; 0 for inference
};
// The layers one after the other, from x [..., in]. Without layers it is x.
Tensor Mlp(const Tensor& x, const std::vector<LinearLayer>& layers, const MlpOptions& options = {});

// Inputs for an MLP of sizes[0] to sizes[1] to ... features: layer0_weight, layer0_bias,
// layer1_weight ..., in this order.
std::vector<LinearLayer> MlpInputs(Builder& builder, DType dtype,
                                   const std::vector<std::int64_t>& sizes, bool bias = true,
                                   const std::string& prefix = "layer");

}  // namespace v1
}  // namespace jitfuse

#endif  // JITFUSE_API_MLP_H_
