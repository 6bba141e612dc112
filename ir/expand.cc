#include "ir/expand.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "ir/builder.h"
#include "ir/infer.h"
#include "ir/op_enum.h"
#include "ir/reduce_program.h"
#include "ir/support/status.h"

namespace jitfuse::internal {
namespace {

Expansion Done(const Chain& c, Value v) {
  if (!c.ok()) return c.status();
  return absl::InlinedVector<Value, 1>{v};
}

// Every composite begins by computing in the compute type of x, and ends in its own dtype.
DType DTypeOf(const Graph& graph, const Node& node) { return graph.type(node.in[0]).dtype; }

struct Reduced {
  Value first, second;
};

Reduced Reduce(Chain* c, Op op, Value x, std::vector<int64_t> axes, bool keepdims) {
  Value v = c->Add(op, {x}, {{"axes", std::move(axes)}, {"keepdims", keepdims}});
  return {v, {v.node, 1}};
}

std::vector<int64_t> LastAxes(size_t rank, int64_t count) {
  std::vector<int64_t> axes;
  for (int64_t i = static_cast<int64_t>(rank) - count; i < static_cast<int64_t>(rank); ++i)
    axes.push_back(i);
  return axes;
}

// x times weight plus bias, where they are given, back in x's dtype.
Expansion ScaleAndShift(Chain* c, const Node& node, Value y, DType compute, DType dtype) {
  if (node.in.size() > 1) y = c->Add(Op::kMultiply, {y, c->Cast(node.in[1], compute)});
  if (node.in.size() > 2) y = c->Add(Op::kAdd, {y, c->Cast(node.in[2], compute)});
  return Done(*c, c->Cast(y, dtype));
}

// The operand; one of rank 0 becomes one element along one axis.
Value AtLeastOneAxis(Chain* c, const Node& node) {
  return node.types[0].dims.empty() ? c->Reshape(node.in[0], Shape{Dim(1)}) : node.in[0];
}

}  // namespace

Expansion ExpandStopGradient(Graph*, const Node& node) {
  return absl::InlinedVector<Value, 1>{node.in[0]};
}

Expansion ExpandToReshape(Graph* graph, const Node& node) {
  Chain c(graph);
  return Done(c, c.Reshape(node.in[0], node.types[0].dims));
}

// Where m is an infinity the sum says nothing: log(sum(exp(x))) is m itself.
Expansion ExpandLogsumexp(Graph* graph, const Node& node) {
  Chain c(graph);
  DType dtype = DTypeOf(*graph, node);
  Value x = c.Cast(node.in[0], ComputeType(dtype));
  auto [m, s] = Reduce(&c, Op::kMaxSumexp, x, node.Get<std::vector<int64_t>>("axes"),
                       node.Get<bool>("keepdims"));
  Value sum = c.Add(Op::kAdd, {m, c.Add(Op::kLog, {s})});
  Value y = c.Add(Op::kWhere, {c.Add(Op::kIsInf, {m}), m, sum});
  return Done(c, c.Cast(y, dtype));
}

Expansion ExpandSoftmax(Graph* graph, const Node& node) {
  Chain c(graph);
  DType dtype = DTypeOf(*graph, node);
  Value x = c.Cast(AtLeastOneAxis(&c, node), ComputeType(dtype));
  auto [m, s] = Reduce(&c, Op::kMaxSumexp, x, {node.Get<int64_t>("axis")}, true);
  // The same shift as max_sumexp's own (a row of all -inf still gives 0 * inf), so that a kernel
  // computes each exp once.
  Value all_low = c.Add(
      Op::kEqual, {m, c.Constant(ComputeType(dtype), -std::numeric_limits<double>::infinity())});
  Value shift = c.Add(Op::kWhere, {all_low, c.Constant(ComputeType(dtype), 0), m});
  Value e = c.Add(Op::kExp, {c.Add(Op::kSubtract, {x, shift})});
  // One division a row. The sum is 1 to the row's length, or 0 or NaN, where both ways give NaN.
  Value factor = c.Add(Op::kReciprocal, {s});
  if (node.Get<bool>("zero_rows"))
    factor = c.Add(Op::kWhere, {all_low, c.Constant(ComputeType(dtype), 0), factor});
  Value y = c.Add(Op::kMultiply, {e, factor});
  return Done(c, c.Reshape(c.Cast(y, dtype), node.types[0].dims));
}

Expansion ExpandLogSoftmax(Graph* graph, const Node& node) {
  Chain c(graph);
  DType dtype = DTypeOf(*graph, node);
  Value x = c.Cast(AtLeastOneAxis(&c, node), ComputeType(dtype));
  auto [m, s] = Reduce(&c, Op::kMaxSumexp, x, {node.Get<int64_t>("axis")}, true);
  Value shifted = c.Add(Op::kSubtract, {x, m});
  Value y = c.Cast(c.Add(Op::kSubtract, {shifted, c.Add(Op::kLog, {s})}), dtype);
  return Done(c, c.Reshape(y, node.types[0].dims));
}

Expansion ExpandLayerNorm(Graph* graph, const Node& node) {
  Chain c(graph);
  DType dtype = DTypeOf(*graph, node);
  DType compute = ComputeType(dtype);
  Value x = c.Cast(node.in[0], compute);
  auto axes = LastAxes(node.types[0].dims.size(), node.Get<int64_t>("norm_dims"));
  auto [mean, var] = Reduce(&c, Op::kMoments, x, axes, true);
  Value centred = c.Add(Op::kSubtract, {x, mean});
  Value scale =
      c.Add(Op::kRsqrt, {c.Add(Op::kAdd, {var, c.Constant(compute, node.Get<double>("eps"))})});
  return ScaleAndShift(&c, node, c.Add(Op::kMultiply, {centred, scale}), compute, dtype);
}

Expansion ExpandRmsNorm(Graph* graph, const Node& node) {
  Chain c(graph);
  DType dtype = DTypeOf(*graph, node);
  DType compute = ComputeType(dtype);
  Value x = c.Cast(node.in[0], compute);
  auto axes = LastAxes(node.types[0].dims.size(), node.Get<int64_t>("norm_dims"));
  Value mean_square = Reduce(&c, Op::kMean, c.Add(Op::kSquare, {x}), axes, true).first;
  Value scale = c.Add(
      Op::kRsqrt, {c.Add(Op::kAdd, {mean_square, c.Constant(compute, node.Get<double>("eps"))})});
  return ScaleAndShift(&c, node, c.Add(Op::kMultiply, {x, scale}), compute, dtype);
}

// One plain matrix product whatever the rank of x, so that libraries take it with its bias. No
// casts: the product itself accumulates in f32.
Expansion ExpandLinear(Graph* graph, const Node& node) {
  Chain c(graph);
  Shape dims = graph->type(node.in[0]).dims;
  Dim inner = dims.back();
  dims.pop_back();
  Value x = dims.size() == 1 ? node.in[0] : c.Reshape(node.in[0], {NumElements(dims), inner});
  Value y = c.Add(Op::kMatMul, {x, node.in[1]}, {{"transpose_b", true}});
  if (node.in.size() > 2) y = c.Add(Op::kAdd, {y, node.in[2]});
  return Done(c, c.Reshape(y, node.types[0].dims));
}

namespace {

std::vector<bool> Live(const Graph& graph) {
  std::vector<bool> live(static_cast<size_t>(graph.size()), false);
  for (Value v : graph.outputs()) live[static_cast<size_t>(v.node)] = true;
  for (NodeId id = graph.size(); id-- > 0;) {
    if (!live[static_cast<size_t>(id)]) continue;
    for (Value v : graph.node(id).in) live[static_cast<size_t>(v.node)] = true;
  }
  return live;
}

// One rebuild: each live node's copy or replacement, in order.
class Rebuild {
 public:
  explicit Rebuild(const Graph& from) : from_(from), map_(static_cast<size_t>(from.size())) {
    to_.InheritFrom(from);
  }

  // `make` gives a value per result of the node, whose operands are mapped already.
  template <typename Make>
  absl::StatusOr<Graph> Run(const Make& make) && {
    std::vector<bool> live = Live(from_);
    int next_input = 0;
    for (NodeId id = 0; id < from_.size(); ++id) {
      const Node& node = from_.node(id);
      if (node.kind() == OpKind::kInput || node.kind() == OpKind::kScalar) {
        JF_RETURN_IF_ERROR(CopySource(id, next_input++));
      } else if (node.kind() == OpKind::kConstant) {
        if (live[static_cast<size_t>(id)])
          Set(id, {to_.AddConstantBits(node.types[0].dtype, from_.ConstantValue(id))});
      } else if (live[static_cast<size_t>(id)]) {
        Node mapped = node;
        for (Value& v : mapped.in) v = Map(v);
        JF_ASSIGN_OR_RETURN(auto results, make(&to_, mapped));
        JF_RETURN_IF_ERROR(CheckSame(node, results));
        Set(id, std::move(results));
      }
    }
    for (Value v : from_.outputs()) JF_RETURN_IF_ERROR(to_.AddOutput(Map(v)));
    return std::move(to_);
  }

 private:
  Value Map(Value v) const {
    return map_[static_cast<size_t>(v.node)][static_cast<size_t>(v.result)];
  }
  void Set(NodeId id, absl::InlinedVector<Value, 1> results) {
    map_[static_cast<size_t>(id)] = std::move(results);
  }

  absl::Status CopySource(NodeId id, int position) {
    const Node& node = from_.node(id);
    const std::string& name = from_.input_name(position);
    absl::StatusOr<Value> v = node.kind() == OpKind::kInput
                                  ? to_.AddInput(name, node.types[0])
                                  : to_.AddScalar(name, node.types[0].dtype);
    if (v.ok()) Set(id, {*v});
    return v.status();
  }

  // Sizes may be spelled otherwise where guards make them equal.
  absl::Status CheckSame(const Node& node, absl::Span<const Value> results) const {
    if (results.size() != node.types.size()) {
      return InternalError(ToAbsl(node.def().name), ": its expansion has ", results.size(),
                           " results, expected ", node.types.size());
    }
    for (size_t i = 0; i < results.size(); ++i) {
      const TensorType& t = to_.type(results[i]);
      if (t.dtype == node.types[i].dtype && to_.SameShape(t.dims, node.types[i].dims)) continue;
      return InternalError(ToAbsl(node.def().name), ": its expansion is ",
                           TypeToString(t, to_.symbols().names), ", expected ",
                           TypeToString(node.types[i], to_.symbols().names));
    }
    return absl::OkStatus();
  }

  const Graph& from_;
  Graph to_;
  std::vector<absl::InlinedVector<Value, 1>> map_;
};

Expansion Copy(Graph* graph, const Node& node) {
  JF_ASSIGN_OR_RETURN(Value v, graph->Add(node.op, node.in, node.attrs));
  absl::InlinedVector<Value, 1> results(node.types.size(), v);
  for (size_t i = 0; i < results.size(); ++i) results[i].result = static_cast<int32_t>(i);
  return results;
}

bool IsPlainScan(const Node& node) {
  return node.kind() == OpKind::kScan && !node.Get<bool>("reverse") &&
         !node.types[0].dims[static_cast<size_t>(node.Get<int64_t>("axis"))].Is(1);
}

// Of one element: the element itself or, without it, what the accumulators begin with.
Expansion ExpandShortScan(Graph* graph, const Node& node) {
  Chain c(graph);
  const TensorType& type = node.types[0];
  if (!node.Get<bool>("exclusive")) return Done(c, c.Cast(node.in[0], type.dtype));
  JF_ASSIGN_OR_RETURN(auto programs, BuildReducePrograms(*graph, node, false));
  ScalarValue args[5] = {}, neutral;
  std::copy(programs[0].init.begin(), programs[0].init.end(), args);
  EvalScalarProgram(programs[0].finalize, args, &neutral);
  Value v = graph->AddConstantBits(type.dtype, neutral);
  JF_ASSIGN_OR_RETURN(v, BroadcastTo(graph, v, type.dims));
  return absl::InlinedVector<Value, 1>{v};
}

Expansion ExpandScan(Graph* graph, const Node& node) {
  const auto axis = node.Get<int64_t>("axis");
  if (node.types[0].dims[static_cast<size_t>(axis)].Is(1)) return ExpandShortScan(graph, node);
  Chain c(graph);
  const Attrs flipped = {{"axes", std::vector<int64_t>{axis}}};
  Value x = c.Add(Op::kFlip, {node.in[0]}, flipped);
  Value y = c.Add(node.op, {x}, {{"axis", axis}, {"exclusive", node.Get<bool>("exclusive")}});
  return Done(c, c.Add(Op::kFlip, {y}, flipped));
}

Expansion ExpandNode(Graph* graph, const Node& node) {
  if (node.kind() == OpKind::kScan && !IsPlainScan(node)) return ExpandScan(graph, node);
  return node.kind() == OpKind::kComposite ? node.def().expand(graph, node) : Copy(graph, node);
}

// A reduction of rank 0 reduces one element: groups and plans know it as an axis of size 1.
Expansion ReduceOneElement(Graph* graph, const Node& node) {
  Node row = node;
  JF_ASSIGN_OR_RETURN(
      row.in[0], graph->Add(Op::kReshape, {node.in[0]}, {{"shape", std::vector<Dim>{Dim(1)}}}));
  row.attrs = {{"axes", std::vector<int64_t>{0}}, {"keepdims", false}};
  return Copy(graph, row);
}

Expansion BroadcastOperands(Graph* graph, const Node& node) {
  if (node.kind() == OpKind::kReduce && node.Get<std::vector<int64_t>>("axes").empty())
    return ReduceOneElement(graph, node);
  if (node.kind() != OpKind::kPointwise) return Copy(graph, node);
  Node wide = node;
  for (Value& v : wide.in) {
    JF_ASSIGN_OR_RETURN(v, BroadcastTo(graph, v, node.types[0].dims));
  }
  return Copy(graph, wide);
}

bool HasComposite(const Graph& graph) {
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph.node(id);
    if (node.kind() == OpKind::kComposite) return true;
    if (node.kind() == OpKind::kScan && !IsPlainScan(node)) return true;
  }
  return false;
}

}  // namespace

absl::StatusOr<Graph> Expand(const Graph& graph) {
  if (!HasComposite(graph)) return Rebuild(graph).Run(BroadcastOperands);
  JF_ASSIGN_OR_RETURN(Graph primitive, Rebuild(graph).Run(ExpandNode));
  return Rebuild(primitive).Run(BroadcastOperands);
}

}  // namespace jitfuse::internal
