#include "ir/expand_kit.h"

#include <utility>

#include "ir/support/status.h"

namespace jitfuse::internal {

Calc::Calc(Graph* graph, const Node& node)
    : graph_(graph),
      node_(node),
      dtype_(node.in.empty() ? node.types[0].dtype : graph->type(node.in[0]).dtype),
      compute_(ComputeType(dtype_)),
      chain_(graph) {}

Value Calc::Along(Value vector, size_t axis, size_t rank) {
  if (!ok()) return {};
  Shape dims(rank, Dim(1));
  dims[axis] = Dims(vector)[0];
  return Reshape(vector, dims);
}

Value Calc::Iota(Dim size, size_t axis, size_t rank, DType dtype) {
  std::vector<Dim> dims(rank, Dim(1));
  dims[axis] = std::move(size);
  return Apply(
      Op::kIota, {},
      {{"shape", std::move(dims)}, {"axis", static_cast<int64_t>(axis)}, {"dtype", dtype}});
}

Pair Calc::Reduce(Op op, Value x, std::vector<int64_t> axes, bool keepdims) {
  Value v = Apply(op, {x}, {{"axes", std::move(axes)}, {"keepdims", keepdims}});
  return {v, {v.node, 1}};
}

Value Calc::Count(Value x, const std::vector<int64_t>& axes, bool keepdims) {
  if (!ok()) return {};
  const TensorType type = graph_->type(x);
  Dim n(1);
  for (int64_t axis : axes) n = n * type.dims[static_cast<size_t>(axis)];
  if (n.IsConstant()) return Number(type.dtype, static_cast<double>(n.constant()));
  Value ones = Apply(Op::kBroadcast, {Number(type.dtype, 1)},
                     {{"shape", std::vector<Dim>(type.dims.begin(), type.dims.end())}});
  return Sum(ones, axes, keepdims);
}

Value Calc::Size(const Dim& size, DType dtype) {
  if (size.IsConstant()) return Number(dtype, static_cast<double>(size.constant()));
  Value one = Number(dtype, 1);
  return SumAll(Apply(Op::kBroadcast, {one}, {{"shape", std::vector<Dim>{size}}}));
}

Value Calc::Affine(Value x, size_t weight, size_t bias, size_t axis) {
  const size_t rank = node_.types[0].dims.size();
  if (Has(weight)) x = Mul(x, Along(In(weight), axis, rank));
  if (Has(bias)) x = Add(x, Along(In(bias), axis, rank));
  return x;
}

Value Calc::InverseDeviation(Value var) {
  return Apply(Op::kRsqrt, {Add(var, Number(node_.Get<double>("eps")))});
}

Expansion Calc::Results(std::initializer_list<Value> values) {
  absl::InlinedVector<Value, 1> out;
  for (Value v : values) out.push_back(Cast(v, node_.types[out.size()].dtype));
  if (!ok()) return status();
  return out;
}

std::vector<int64_t> AxesBut(size_t rank, int64_t axis) {
  std::vector<int64_t> axes;
  for (int64_t i = 0; i < static_cast<int64_t>(rank); ++i) {
    if (i != axis) axes.push_back(i);
  }
  return axes;
}

}  // namespace jitfuse::internal
