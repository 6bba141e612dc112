// What the expansions of composites share: arithmetic on values in one compute type.
//
// In: the graph that is built and the composite, whose operands are values of it. A Calc computes
// in the compute type of operand 0; after the first error the rest does nothing, and Results tells
// it. Nodes stand in the order in which they are made, and numbers of values and kernels' texts
// follow from it: of the arguments of one call at most one may make nodes, since compilers evaluate
// them in any order (within braces it is from left to right).
// Must not know: which op is expanded.
#ifndef JITFUSE_IR_EXPAND_KIT_H_
#define JITFUSE_IR_EXPAND_KIT_H_

#include <initializer_list>
#include <vector>

#include "ir/builder.h"
#include "ir/expand.h"
#include "ir/op_enum.h"

namespace jitfuse::internal {

struct Pair {
  Value first, second;
};

class Calc {
 public:
  // Without operands: in the compute type of the result.
  Calc(Graph* graph, const Node& node);

  const Node& node() const { return node_; }
  DType dtype() const { return dtype_; }      // of operand 0
  DType compute() const { return compute_; }  // its compute type
  bool Has(size_t operand) const { return node_.in.size() > operand; }
  Value In(size_t operand) { return chain_.Cast(node_.in[operand], compute_); }
  const Shape& Dims(Value v) const { return graph_->type(v).dims; }  // only while nothing failed

  Value Number(double v) { return chain_.Constant(compute_, v); }
  Value Number(DType dtype, double v) { return chain_.Constant(dtype, v); }
  Value Apply(Op op, std::initializer_list<Value> in, Attrs attrs = {}) {
    return chain_.Add(op, in, std::move(attrs));
  }
  Value Add(Value a, Value b) { return Apply(Op::kAdd, {a, b}); }
  Value Sub(Value a, Value b) { return Apply(Op::kSubtract, {a, b}); }
  Value Mul(Value a, Value b) { return Apply(Op::kMultiply, {a, b}); }
  Value Div(Value a, Value b) { return Apply(Op::kDivide, {a, b}); }
  Value Where(Value c, Value a, Value b) { return Apply(Op::kWhere, {c, a, b}); }
  Value Cast(Value v, DType dtype) { return chain_.Cast(v, dtype); }
  Value Reshape(Value v, absl::Span<const Dim> dims) { return chain_.Reshape(v, dims); }
  // A vector along `axis` of a tensor of that rank.
  Value Along(Value vector, size_t axis, size_t rank);
  // 0, 1 .. along `axis` of a tensor of that rank, whose other dims are 1.
  Value Iota(Dim size, size_t axis, size_t rank, DType dtype);
  Pair Reduce(Op op, Value x, std::vector<int64_t> axes, bool keepdims);
  Value Sum(Value x, std::vector<int64_t> axes, bool keepdims) {
    return Reduce(Op::kSum, x, std::move(axes), keepdims).first;
  }
  Value SumAll(Value x) { return Apply(Op::kSum, {x}); }
  // The number of elements along `axes` of x, as a tensor where it is not known.
  Value Count(Value x, const std::vector<int64_t>& axes, bool keepdims);
  // A size as a number of rank 0, also where it is not known.
  Value Size(const Dim& size, DType dtype);
  // x times operand `weight` plus operand `bias`, vectors along `axis`, where they are given.
  Value Affine(Value x, size_t weight, size_t bias, size_t axis);
  // rsqrt(v + the attribute eps).
  Value InverseDeviation(Value var);

  bool ok() const { return chain_.ok(); }
  const absl::Status& status() const { return chain_.status(); }
  // The results, cast to the node's types.
  Expansion Results(std::initializer_list<Value> values);

 private:
  Graph* graph_;
  const Node& node_;
  DType dtype_, compute_;
  Chain chain_;
};

std::vector<int64_t> AxesBut(size_t rank, int64_t axis);

}  // namespace jitfuse::internal

#endif  // JITFUSE_IR_EXPAND_KIT_H_
