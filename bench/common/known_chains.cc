#include "bench/common/known_chains.h"

#include <cmath>
#include <cstdint>

namespace jitfuse_bench {
namespace {

using jitfuse::Builder;
using jitfuse::DType;
using jitfuse::Tensor;
using Tensors = std::vector<Tensor>;

constexpr std::int64_t kCols = 4096;

// Rows of kCols elements; n of them.
Tensor Rows(Builder& b, const char* name, DType dtype = DType::kF32) {
  return b.Input(name, dtype, {"n", kCols});
}
Tensor Row(Builder& b, const char* name, DType dtype = DType::kF32) {
  return b.Input(name, dtype, {kCols});
}
Tensor Images(Builder& b, const char* name) {
  return b.Input(name, DType::kF32, {"n", 64, 28, 28});
}
Tensor Channels(Builder& b, const char* name) { return b.Input(name, DType::kF32, {64}); }
Tensor Number(Builder& b, double value) { return b.Constant(DType::kF32, value); }

// ---- Pointwise ----

Tensors AddRelu(Builder& b) {
  Tensor x = Rows(b, "x"), y = Rows(b, "y");
  return {Relu(Add(x, y))};
}
Tensors MulTanh(Builder& b) {
  Tensor x = Rows(b, "x"), y = Rows(b, "y");
  return {Tanh(Multiply(x, y))};
}
Tensors MulAddRelu(Builder& b) {
  Tensor x = Rows(b, "x"), y = Rows(b, "y"), z = Rows(b, "z");
  return {Relu(Add(Multiply(x, y), z))};
}
Tensors AddSigmoid(Builder& b) {
  Tensor x = Rows(b, "x"), y = Rows(b, "y");
  return {Sigmoid(Add(x, y))};
}
Tensors BiasGelu(Builder& b) {
  Tensor x = Rows(b, "x", DType::kBF16), bias = Row(b, "bias", DType::kBF16);
  return {Gelu(Add(x, bias))};
}
Tensors GeluDropout(Builder& b) { return {Dropout(Gelu(Rows(b, "x", DType::kBF16)), 0.1)}; }
Tensors BiasDropoutResidual(Builder& b) {
  Tensor x = Rows(b, "x"), bias = Row(b, "bias"), residual = Rows(b, "residual");
  return {Add(Dropout(Add(x, bias), 0.1), residual)};
}
Tensors SwishGate(Builder& b) {
  Tensor x = Rows(b, "x"), gate = Rows(b, "gate");
  return {Multiply(Silu(x), gate)};
}
Tensors SwigluOfHalves(Builder& b) {
  Tensor x = b.Input("x", DType::kBF16, {"n", 2 * kCols});
  return {Swiglu(Slice(x, {0, kCols}), Slice(x, {0, 0}, {INT64_MAX, kCols}))};
}
Tensors Geglu(Builder& b) {
  Tensor x = Rows(b, "x"), gate = Rows(b, "gate");
  return {Multiply(GeluTanh(gate), x)};
}
Tensors MishScale(Builder& b) {
  Tensor x = Rows(b, "x"), scale = Row(b, "scale");
  return {Multiply(Mish(x), scale)};
}
Tensors MishWrittenOut(Builder& b) {
  Tensor x = Rows(b, "x");
  return {Multiply(x, Tanh(Log1p(Exp(x))))};
}
Tensors PreluBias(Builder& b) {
  Tensor x = Rows(b, "x"), bias = Row(b, "bias"), slope = Row(b, "slope");
  return {Prelu(Add(x, bias), slope)};
}
Tensors HardswishScale(Builder& b) {  // squeeze and excite
  Tensor x = Images(b, "x"), scale = b.Input("scale", DType::kF32, {"n", 64, 1, 1});
  return {Multiply(Hardswish(x), Hardsigmoid(scale))};
}
Tensors LayerScaleResidual(Builder& b) {
  Tensor x = Rows(b, "x"), gamma = Row(b, "gamma"), residual = Rows(b, "residual");
  return {Add(residual, Multiply(gamma, x))};
}
Tensors Rotary(Builder& b) {
  Tensor x = b.Input("x", DType::kBF16, {"n", 2048, 32, 128});
  Tensor cosine = b.Input("cosine", DType::kF32, {2048, 1, 128});
  Tensor sine = b.Input("sine", DType::kF32, {2048, 1, 128});
  Tensor low = Slice(x, {0, 0, 0, 0}, {INT64_MAX, INT64_MAX, INT64_MAX, 64});
  Tensor high = Slice(x, {0, 0, 0, 64});
  Tensor turned = jitfuse::Concatenate({Negative(high), low}, 3);
  return {Cast(Add(Multiply(x, cosine), Multiply(turned, sine)), DType::kBF16)};
}
Tensors TransposeAdd(Builder& b) {
  Tensor x = b.Input("x", DType::kF32, {kCols, "n"}), y = Rows(b, "y");
  return {Add(Transpose(x), y)};
}
Tensors FakeQuantize(Builder& b) {
  Tensor x = Rows(b, "x"), scale = b.Scalar("scale", DType::kF32);
  return {Multiply(Clamp(Round(Divide(x, scale)), -128, 127), scale)};
}
Tensors ExponentialAverage(Builder& b) {
  Tensor average = Rows(b, "average"), x = Rows(b, "x"), decay = b.Scalar("decay", DType::kF32);
  return {Lerp(x, average, decay)};
}
Tensors SgdMomentum(Builder& b) {
  Tensor p = Rows(b, "p"), g = Rows(b, "g"), m = Rows(b, "m");
  Tensor lr = b.Scalar("lr", DType::kF32), mu = b.Scalar("mu", DType::kF32);
  Tensor moved = Add(Multiply(mu, m), g);
  return {Subtract(p, Multiply(lr, moved)), moved};
}
Tensors AdamW(Builder& b) {
  Tensor p = Rows(b, "p"), g = Rows(b, "g"), m = Rows(b, "m"), v = Rows(b, "v");
  Tensor lr = b.Scalar("lr", DType::kF32), c1 = b.Scalar("correction1", DType::kF32);
  Tensor c2 = b.Scalar("correction2", DType::kF32);
  Tensor first = Lerp(m, g, Number(b, 0.1)), second = Lerp(v, Square(g), Number(b, 0.001));
  Tensor step = Divide(Divide(first, c1), Add(Sqrt(Divide(second, c2)), Number(b, 1e-8)));
  Tensor decayed = Multiply(p, Subtract(Number(b, 1), Multiply(lr, Number(b, 0.01))));
  return {Subtract(decayed, Multiply(lr, step)), first, second};
}
Tensors BinaryCrossEntropyWithLogitsEach(Builder& b) {
  Tensor x = Rows(b, "x"), target = Rows(b, "target");
  return {BinaryCrossEntropyWithLogits(x, target, {}, {}, 0)};
}
Tensors SmoothL1Each(Builder& b) {
  Tensor x = Rows(b, "x"), target = Rows(b, "target");
  return {SmoothL1Loss(x, target, 1, 0)};
}

// ---- Rows ----

Tensors SoftmaxRows(Builder& b) { return {Softmax(Rows(b, "x", DType::kBF16))}; }
Tensors LogSoftmaxRows(Builder& b) { return {LogSoftmax(Rows(b, "x"))}; }
Tensors SoftmaxTemperature(Builder& b) {
  Tensor x = Rows(b, "x"), t = b.Scalar("temperature", DType::kF32);
  return {Softmax(Divide(x, t))};
}
Tensors CausalSoftmax(Builder& b) {
  Tensor x = b.Input("x", DType::kBF16, {"n", 1024, 1024});
  Tensor keep = Tril(Broadcast(b.Constant(DType::kBool, 1), {1024, 1024}));
  return {Softmax(Where(keep, x, b.Constant(DType::kBF16, -INFINITY)))};
}
Tensors AttentionScores(Builder& b) {
  Tensor scores = b.Input("scores", DType::kBF16, {"n", 16, 1024, 1024});
  Tensor mask = b.Input("mask", DType::kBF16, {"n", 1, 1, 1024});
  return {Dropout(Softmax(Add(Multiply(scores, b.Constant(DType::kBF16, 0.125)), mask)), 0.1)};
}
Tensors LayerNormRelu(Builder& b) {
  Tensor x = Rows(b, "x"), w = Row(b, "w"), bias = Row(b, "bias");
  return {Relu(LayerNorm(x, w, bias))};
}
Tensors LayerNormGeluDropout(Builder& b) {
  Tensor x = Rows(b, "x"), w = Row(b, "w"), bias = Row(b, "bias");
  return {Dropout(Gelu(LayerNorm(x, w, bias)), 0.1)};
}
Tensors ResidualLayerNorm(Builder& b) {
  Tensor x = Rows(b, "x"), residual = Rows(b, "residual"), w = Row(b, "w"), bias = Row(b, "bias");
  Tensor sum = Add(x, residual);
  return {LayerNorm(sum, w, bias), sum};
}
Tensors DropoutAddLayerNorm(Builder& b) {
  Tensor x = Rows(b, "x", DType::kBF16), residual = Rows(b, "residual", DType::kBF16);
  Tensor w = Row(b, "w", DType::kBF16), bias = Row(b, "bias", DType::kBF16);
  return {LayerNorm(Add(Dropout(x, 0.1), residual), w, bias)};
}
Tensors RmsNormGelu(Builder& b) {
  Tensor x = Rows(b, "x"), w = Row(b, "w");
  return {Gelu(RmsNorm(x, w))};
}
Tensors ResidualRmsNorm(Builder& b) {
  Tensor x = Rows(b, "x", DType::kBF16), residual = Rows(b, "residual", DType::kBF16);
  Tensor w = Row(b, "w", DType::kBF16), sum = Add(x, residual);
  return {RmsNorm(sum, w), sum};
}
Tensors RmsNormQuantize(Builder& b) {  // to i8, with a scale for each row
  Tensor x = Rows(b, "x"), w = Row(b, "w");
  Tensor y = RmsNorm(x, w), scale = Divide(Max(Abs(y), {1}, true), Number(b, 127));
  return {Cast(Round(Divide(y, scale)), DType::kI8), scale};
}
Tensors EmbeddingAddLayerNorm(Builder& b) {
  Tensor ids = b.Input("ids", DType::kI64, {"n", 512});
  Tensor table = b.Input("table", DType::kF32, {30000, 768});
  Tensor positions = b.Input("positions", DType::kF32, {512, 768});
  Tensor w = b.Input("w", DType::kF32, {768}), bias = b.Input("bias", DType::kF32, {768});
  return {LayerNorm(Add(Embedding(ids, table), positions), w, bias)};
}
Tensors CrossEntropyEach(Builder& b) {
  Tensor x = Rows(b, "x", DType::kBF16), target = b.Input("target", DType::kI64, {"n"});
  return {CrossEntropy(x, target, {}, 1, -100, 0, 0)};
}
Tensors L2Normalize(Builder& b) {
  Tensor x = Rows(b, "x");
  return {Divide(x, Maximum(VectorNorm(x, {1}, true), Number(b, 1e-12)))};
}
Tensors CosineSimilarity(Builder& b) {
  Tensor x = Rows(b, "x"), y = Rows(b, "y");
  Tensor norms = Multiply(VectorNorm(x, {1}), VectorNorm(y, {1}));
  return {Divide(Sum(Multiply(x, y), {1}), Maximum(norms, Number(b, 1e-8)))};
}
Tensors Standardize(Builder& b) {
  Tensor x = Rows(b, "x");
  return {Divide(Subtract(x, Mean(x, {1}, true)), Std(x, {1}, true))};
}
Tensors MeanAndVariance(Builder& b) {
  Tensor x = Rows(b, "x");
  return {Mean(x, {1}), Var(x, {1})};
}
Tensors LogSumExpRows(Builder& b) { return {Logsumexp(Rows(b, "x"), {1})}; }
Tensors ArgmaxOfSoftmax(Builder& b) { return {Argmax(Softmax(Rows(b, "x")), {1})}; }
Tensors SumOfSquares(Builder& b) { return {Sum(Square(Rows(b, "x")), {1})}; }
Tensors MeanAbsOfColumns(Builder& b) { return {Mean(Abs(Rows(b, "x")), {0})}; }

// ---- Images ----

Tensors BatchNormRelu(Builder& b) {
  Tensor x = Images(b, "x"), mean = Channels(b, "mean"), var = Channels(b, "var");
  Tensor w = Channels(b, "w"), bias = Channels(b, "bias");
  return {Relu(BatchNorm(x, mean, var, w, bias))};
}
Tensors BatchNormTrainingRelu(Builder& b) {
  Tensor x = Images(b, "x"), mean = Channels(b, "mean"), var = Channels(b, "var");
  Tensor w = Channels(b, "w"), bias = Channels(b, "bias");
  Tensors results = BatchNormTraining(x, mean, var, w, bias);
  results[0] = Relu(results[0]);
  return results;
}
Tensors GroupNormSilu(Builder& b) {
  Tensor x = Images(b, "x"), w = Channels(b, "w"), bias = Channels(b, "bias");
  return {Silu(GroupNorm(x, 8, w, bias))};
}
Tensors InstanceNormRelu(Builder& b) {
  Tensor x = Images(b, "x"), w = Channels(b, "w"), bias = Channels(b, "bias");
  return {Relu(InstanceNorm(x, w, bias))};
}
Tensors MaxPoolRelu(Builder& b) { return {Relu(MaxPool(Images(b, "x"), {2, 2}))}; }
Tensors GlobalAveragePool(Builder& b) { return {Mean(Images(b, "x"), {2, 3})}; }

// ---- All rows before the next op ----

Tensors CrossEntropyMean(Builder& b) {
  Tensor x = Rows(b, "x", DType::kBF16), target = b.Input("target", DType::kI64, {"n"});
  return {CrossEntropy(x, target)};
}
Tensors ClipByNorm(Builder& b) {
  Tensor x = Rows(b, "x"), limit = b.Scalar("limit", DType::kF32);
  Tensor scale = Minimum(Divide(limit, VectorNorm(x)), Number(b, 1));
  return {Multiply(x, scale)};
}

// ---- Backward passes, recomputing what of the forward pass is cheap ----

Tensors GeluBackward(Builder& b) {
  Tensor x = Rows(b, "x", DType::kBF16), bias = Row(b, "bias", DType::kBF16);
  Tensor g = Rows(b, "g", DType::kBF16);
  return jitfuse::Vjp({Gelu(Add(x, bias))}, {g}, {x, bias});
}
Tensors ReluBackward(Builder& b) {
  Tensor x = Rows(b, "x"), bias = Row(b, "bias"), g = Rows(b, "g");
  return jitfuse::Vjp({Relu(Add(x, bias))}, {g}, {x, bias});
}
Tensors LayerNormBackward(Builder& b) {
  Tensor x = Rows(b, "x", DType::kBF16), w = Row(b, "w", DType::kBF16);
  Tensor bias = Row(b, "bias", DType::kBF16), g = Rows(b, "g", DType::kBF16);
  return jitfuse::Vjp({LayerNorm(x, w, bias)}, {g}, {x, w, bias});
}
Tensors RmsNormBackward(Builder& b) {
  Tensor x = Rows(b, "x"), w = Row(b, "w"), g = Rows(b, "g");
  return jitfuse::Vjp({RmsNorm(x, w)}, {g}, {x, w});
}
Tensors SoftmaxBackward(Builder& b) {
  Tensor x = Rows(b, "x", DType::kBF16), g = Rows(b, "g", DType::kBF16);
  return jitfuse::Vjp({Softmax(x)}, {g}, {x});
}
Tensors CrossEntropyBackward(Builder& b) {
  Tensor x = Rows(b, "x", DType::kBF16), target = b.Input("target", DType::kI64, {"n"});
  Tensor g = b.Input("g", DType::kBF16, {"n"});
  return jitfuse::Vjp({CrossEntropy(x, target, {}, 1, -100, 0.0, /*reduction=*/0)}, {g}, {x});
}

}  // namespace

const std::vector<KnownChain>& KnownChains() {
  static const auto* chains = new std::vector<KnownChain>{
      {"relu(x+y)", 1, AddRelu},
      {"tanh(x*y)", 1, MulTanh},
      {"relu(x*y+z)", 1, MulAddRelu},
      {"sigmoid(x+y)", 1, AddSigmoid},
      {"gelu(x+bias) bf16", 1, BiasGelu},
      {"dropout(gelu(x)) bf16", 1, GeluDropout},
      {"dropout(x+bias)+residual", 1, BiasDropoutResidual},
      {"silu(x)*gate", 1, SwishGate},
      {"swiglu of the halves of a row, bf16", 1, SwigluOfHalves},
      {"gelu_tanh(gate)*x", 1, Geglu},
      {"mish(x)*scale", 1, MishScale},
      {"mish written out", 1, MishWrittenOut},
      {"prelu(x+bias)", 1, PreluBias},
      {"hardswish(x)*hardsigmoid(channel scale)", 1, HardswishScale},
      {"gamma*x+residual", 1, LayerScaleResidual},
      {"rotary embedding bf16", 1, Rotary},
      {"transpose(x)+y", 1, TransposeAdd},
      {"fake quantize", 1, FakeQuantize},
      {"exponential moving average", 1, ExponentialAverage},
      {"SGD with momentum, two results", 1, SgdMomentum},
      {"AdamW, three results", 1, AdamW},
      {"binary cross entropy with logits, each", 1, BinaryCrossEntropyWithLogitsEach},
      {"smooth l1 loss, each", 1, SmoothL1Each},
      {"softmax bf16", 1, SoftmaxRows},
      {"log_softmax", 1, LogSoftmaxRows},
      {"softmax(x/temperature)", 1, SoftmaxTemperature},
      {"causal softmax bf16", 1, CausalSoftmax},
      {"attention scores: scale, mask, softmax, dropout, bf16", 1, AttentionScores},
      {"layer_norm, relu", 1, LayerNormRelu},
      {"layer_norm, gelu, dropout", 1, LayerNormGeluDropout},
      {"x+residual, layer_norm, two results", 1, ResidualLayerNorm},
      {"dropout, add, layer_norm bf16", 1, DropoutAddLayerNorm},
      {"rms_norm, gelu", 1, RmsNormGelu},
      {"x+residual, rms_norm bf16, two results", 1, ResidualRmsNorm},
      {"rms_norm, quantize to i8 by rows", 1, RmsNormQuantize},
      {"embedding, add, layer_norm", 1, EmbeddingAddLayerNorm},
      {"cross entropy of each row, bf16", 1, CrossEntropyEach},
      {"l2 normalize rows", 1, L2Normalize},
      {"cosine similarity of rows", 1, CosineSimilarity},
      {"standardize rows", 1, Standardize},
      {"mean and variance of rows", 1, MeanAndVariance},
      {"logsumexp of rows", 1, LogSumExpRows},
      {"argmax of softmax", 1, ArgmaxOfSoftmax},
      {"sum of squares of rows", 1, SumOfSquares},
      {"mean abs of columns", 1, MeanAbsOfColumns, 2,
       "the columns are 64 blocks, half of the cores of an H100; chunks of rows, joined by a "
       "second "
       "kernel, are for all of them and move 3% more"},
      {"batch_norm (inference), relu", 1, BatchNormRelu},
      {"batch_norm (training), relu, five results", 1, BatchNormTrainingRelu, 1,
       "a block per channel, so half of the cores of an H100, reads its images twice; rows are not "
       "split of whose results elements are made"},
      {"group_norm, silu", 1, GroupNormSilu},
      {"instance_norm, relu", 1, InstanceNormRelu},
      {"max_pool 2x2, relu", 1, MaxPoolRelu},
      {"global average pool", 1, GlobalAveragePool},
      {"cross entropy, mean over rows, bf16", 2, CrossEntropyMean},
      {"clip by global norm", 1, ClipByNorm, 1,
       "one kernel, but of one block, which reads all twice: two or three kernels of many blocks "
       "would be faster; rows are not split of whose results elements are made"},
      {"gelu backward, bias gradient, bf16", 2, GeluBackward},
      {"relu backward, bias gradient", 2, ReluBackward},
      {"layer_norm backward, three gradients, bf16", 2, LayerNormBackward},
      {"rms_norm backward, two gradients", 2, RmsNormBackward},
      {"softmax backward bf16", 1, SoftmaxBackward},
      {"cross entropy backward, each row, bf16", 1, CrossEntropyBackward},
  };
  return *chains;
}

}  // namespace jitfuse_bench
