#include "ir/autodiff.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "ir/autodiff_rules.h"
#include "ir/builder.h"
#include "ir/infer.h"
#include "ir/op_enum.h"
#include "ir/subgraph.h"
#include "ir/support/status.h"

namespace jitfuse::internal {
namespace {

std::string CallOf(const Graph& graph, const Node& node) {
  std::vector<TensorType> types;
  for (Value v : node.in) types.push_back(graph.type(v));
  return CallToString(node.def(), types, graph.symbols().names);
}

// One walk from results to what they were made of. Nodes are visited by falling id, so that all of
// a value's uses come before its own node; maps hold what is reached, not the whole graph.
class Sweep {
 public:
  Sweep(Graph* graph, const VjpRequest& request) : graph_(graph), request_(request) {}

  absl::StatusOr<std::vector<Value>> Run() {
    for (const CustomGradient& c : request_.custom) JF_RETURN_IF_ERROR(AddCustom(c));
    JF_RETURN_IF_ERROR(Start());
    Collect();
    FindActive();
    for (size_t i = order_.size(); i-- > 0;) {
      if (active_.contains(order_[i])) JF_RETURN_IF_ERROR(Visit(order_[i]));
    }
    std::vector<Value> gradients;
    for (Value v : request_.wrt) {
      JF_ASSIGN_OR_RETURN(Value g, Total(v));
      gradients.push_back(g);
    }
    return gradients;
  }

 private:
  absl::Status Start() {
    for (Value v : request_.leaves) leaves_.insert(v);
    for (Value v : request_.wrt) wrt_.insert(v);
    for (size_t i = 0; i < request_.outputs.size(); ++i) {
      if (request_.cotangents[i].node >= 0)
        JF_RETURN_IF_ERROR(Contribute(request_.outputs[i], request_.cotangents[i], "a cotangent"));
    }
    return absl::OkStatus();
  }

  // All of a custom gradient happens at its first mark, behind which all of its inputs lie.
  absl::Status AddCustom(const CustomGradient& custom) {
    NodeId first = graph_->size();
    for (Value v : custom.outputs) {
      if (graph_->node(v).op != Op::kGradientMark)
        return InvalidArgument("custom gradient: output of ", graph_->TypeString(v), " is made by ",
                               ToAbsl(graph_->node(v).def().name), ", expected gradient_mark");
      first = std::min(first, v.node);
    }
    for (Value v : custom.inputs) {
      if (v.node >= first)
        return InvalidArgument("custom gradient: an input of ", graph_->TypeString(v),
                               " comes after a result, expected all inputs before");
    }
    for (Value v : custom.outputs) custom_[v.node] = {&custom, first};
    return absl::OkStatus();
  }

  const CustomGradient* CustomOf(NodeId id) const {
    auto it = custom_.find(id);
    return it == custom_.end() ? nullptr : it->second.custom;
  }

  // What outputs with a cotangent depend on, by rising id; a leaf is not looked behind.
  void Collect() {
    std::vector<Value> stack;
    absl::flat_hash_set<NodeId> seen;
    for (size_t i = 0; i < request_.outputs.size(); ++i) {
      if (request_.cotangents[i].node >= 0) stack.push_back(request_.outputs[i]);
    }
    while (!stack.empty()) {
      const Value v = stack.back();
      stack.pop_back();
      if (leaves_.contains(v) || !seen.insert(v.node).second) continue;
      order_.push_back(v.node);
      if (auto it = custom_.find(v.node); it != custom_.end()) {
        const std::vector<Value>& in = it->second.custom->inputs;
        stack.push_back({it->second.first, 0});
        stack.insert(stack.end(), in.begin(), in.end());
        continue;
      }
      const absl::Span<const Value> in = graph_->node(v).in;
      stack.insert(stack.end(), in.begin(), in.end());
    }
    std::sort(order_.begin(), order_.end());
  }

  bool Wanted(Value v) const {
    if (!IsFloat(graph_->type(v).dtype)) return false;
    return wrt_.contains(v) || (!leaves_.contains(v) && active_.contains(v.node));
  }

  // Nodes through which an entry of wrt reaches an output.
  void FindActive() {
    for (NodeId id : order_) {
      const Node& node = graph_->node(id);
      if (HowDifferentiated(node.def()) == GradHow::kZero) continue;
      const CustomGradient* custom = CustomOf(id);
      const absl::Span<const Value> in =
          custom != nullptr ? absl::MakeConstSpan(custom->inputs) : absl::MakeConstSpan(node.in);
      if (std::any_of(in.begin(), in.end(), [&](Value v) { return Wanted(v); })) active_.insert(id);
    }
  }

  // Adds to the gradient of v a value of a shape that broadcasts with that of v: it is summed over
  // what v lacks, and the same along what it lacks itself.
  absl::Status Contribute(Value v, Value g, const std::string& from) {
    const Shape dims = graph_->type(v).dims;
    JF_ASSIGN_OR_RETURN(g, SumTo(g, dims));
    const Shape given = graph_->type(g).dims;
    if (given.size() != dims.size() || !graph_->SameShape(given, dims)) {
      absl::StatusOr<Value> wide = BroadcastTo(graph_, g, dims);
      if (!wide.ok())
        return InternalError("gradient: ", from, " gives ", graph_->TypeString(g), ", expected ",
                             graph_->TypeString(v));
      g = *wide;
    }
    parts_[v].push_back(g);
    return absl::OkStatus();
  }

  // Over the leading axes that `dims` has not, and those that are 1 there.
  absl::StatusOr<Value> SumTo(Value g, const Shape& dims) {
    const Shape from = graph_->type(g).dims;
    const auto lead =
        static_cast<std::ptrdiff_t>(from.size()) - static_cast<std::ptrdiff_t>(dims.size());
    std::vector<int64_t> axes;
    for (size_t i = 0; i < from.size(); ++i) {
      const auto at = static_cast<std::ptrdiff_t>(i) - lead;
      if (at < 0 || (dims[static_cast<size_t>(at)].Is(1) && !from[i].Is(1)))
        axes.push_back(static_cast<int64_t>(i));
    }
    if (axes.empty()) return g;
    JF_ASSIGN_OR_RETURN(g, CastTo(graph_, g, ComputeType(graph_->type(g).dtype)));
    JF_ASSIGN_OR_RETURN(g, graph_->Add(Op::kSum, {g}, {{"axes", axes}, {"keepdims", true}}));
    if (lead <= 0) return g;
    const Shape summed = graph_->type(g).dims;
    return ReshapeTo(graph_, g, absl::MakeConstSpan(summed).subspan(static_cast<size_t>(lead)));
  }

  // The gradient of v in its dtype; of node -1 if there was no contribution. Several are added in
  // the compute type.
  absl::StatusOr<Value> Total(Value v) {
    auto it = parts_.find(v);
    if (it == parts_.end()) return Value{};
    const DType dtype = graph_->type(v).dtype;
    Value sum = it->second[0];
    for (size_t i = 1; i < it->second.size(); ++i) {
      JF_ASSIGN_OR_RETURN(sum, CastTo(graph_, sum, ComputeType(dtype)));
      JF_ASSIGN_OR_RETURN(Value part, CastTo(graph_, it->second[i], ComputeType(dtype)));
      JF_ASSIGN_OR_RETURN(sum, graph_->Add(Op::kAdd, {sum, part}));
    }
    JF_ASSIGN_OR_RETURN(sum, CastTo(graph_, sum, dtype));
    it->second = {sum};
    return sum;
  }

  absl::Status VisitCustom(const CustomGradient& custom) {
    std::vector<Value> in;
    if (custom.reads_primals) {
      in = custom.inputs;
      in.insert(in.end(), custom.outputs.begin(), custom.outputs.end());
    }
    bool any = false;
    for (Value v : custom.outputs) {
      if (!IsFloat(graph_->type(v).dtype)) continue;
      JF_ASSIGN_OR_RETURN(Value g, Total(v));
      any = any || g.node >= 0;
      if (g.node < 0) {
        JF_ASSIGN_OR_RETURN(g, AddZerosLike(graph_, v));
      }
      in.push_back(g);
    }
    if (!any) return absl::OkStatus();
    in.insert(in.end(), custom.captured.begin(), custom.captured.end());
    absl::StatusOr<std::vector<Value>> grads = Inline(custom.backward, in, graph_);
    if (!grads.ok()) return Annotate(grads.status(), "custom gradient");
    size_t next = 0;
    for (Value v : custom.inputs) {
      if (!IsFloat(graph_->type(v).dtype)) continue;
      if (next == grads->size())
        return InvalidArgument("custom gradient: ", next,
                               " results, expected one for each float input");
      const Value g = (*grads)[next++];
      if (graph_->type(g).dtype != graph_->type(v).dtype ||
          !graph_->SameShape(graph_->type(g).dims, graph_->type(v).dims))
        return InvalidArgument("custom gradient: result ", next - 1, " is ", graph_->TypeString(g),
                               ", expected ", graph_->TypeString(v), " as the input");
      if (Wanted(v)) JF_RETURN_IF_ERROR(Contribute(v, g, "a custom gradient"));
    }
    return absl::OkStatus();
  }

  absl::Status Visit(NodeId id) {
    if (auto it = custom_.find(id); it != custom_.end())
      return it->second.first == id ? VisitCustom(*it->second.custom) : absl::OkStatus();
    const Node node = graph_->node(id);
    std::vector<Value> g;
    bool any = false;
    for (size_t r = 0; r < node.types.size(); ++r) {
      JF_ASSIGN_OR_RETURN(Value total, Total({id, static_cast<int32_t>(r)}));
      any = any || total.node >= 0;
      g.push_back(total);
    }
    if (!any) return absl::OkStatus();
    std::vector<bool> wanted;
    for (Value v : node.in) wanted.push_back(Wanted(v));
    return Differentiate(id, node, g, wanted);
  }

  absl::Status Differentiate(NodeId id, const Node& node, absl::Span<const Value> g,
                             const std::vector<bool>& wanted) {
    GradRule rule(graph_, node, {id, 0}, g, wanted);
    switch (HowDifferentiated(node.def())) {
      case GradHow::kZero:
        return absl::OkStatus();
      case GradHow::kRule:
        FindGradRule(node.op)(rule);
        if (rule.uses_expansion()) ByExpansion(&rule);
        break;
      case GradHow::kText:
        node.kind() == OpKind::kReduce ? GradReduceByText(rule) : GradByText(rule);
        break;
      case GradHow::kBody:
        GradByBody(rule);
        break;
      case GradHow::kExpansion:
        ByExpansion(&rule);
        break;
      case GradHow::kNone:
        return Unimplemented("gradient: ", CallOf(*graph_, node), ": ", ToAbsl(node.def().name),
                             " has none");
    }
    JF_RETURN_IF_ERROR(
        Annotate(rule.Finish(), absl::StrCat("gradient of ", CallOf(*graph_, node))));
    for (const GradRule::Part& part : rule.parts())
      JF_RETURN_IF_ERROR(
          Contribute(node.in[part.operand], part.value, std::string(node.def().name)));
    return absl::OkStatus();
  }

  // The composite once more, as what it stands for: expansion finds the same nodes again.
  void ByExpansion(GradRule* rule) {
    const Node& node = rule->node();
    Expansion results = node.def().expand(graph_, node);
    if (!results.ok()) return rule->Fail(results.status());
    std::vector<Value> outputs(results->begin(), results->end()), g, wrt;
    for (size_t r = 0; r < outputs.size(); ++r) g.push_back(rule->RawG(r));
    // An operand that is given twice has all of its gradient with the first.
    for (size_t i = 0; i < node.in.size(); ++i) {
      if (rule->Wants(i)) wrt.push_back(node.in[i]);
    }
    std::vector<Value> leaves(node.in.begin(), node.in.end());
    absl::StatusOr<std::vector<Value>> grads =
        AddVjp(graph_, {outputs, g, wrt, {}, absl::MakeConstSpan(leaves)});
    if (!grads.ok()) return rule->Fail(grads.status());
    absl::flat_hash_set<Value> given;
    size_t next = 0;
    for (size_t i = 0; i < node.in.size(); ++i) {
      if (!rule->Wants(i)) continue;
      const Value grad = (*grads)[next++];
      if (given.insert(node.in[i]).second && grad.node >= 0) rule->Give(i, grad);
    }
  }

  Graph* graph_;
  const VjpRequest& request_;
  struct Custom {
    const CustomGradient* custom;
    NodeId first;  // the mark with the lowest id
  };
  absl::flat_hash_map<NodeId, Custom> custom_;
  absl::flat_hash_set<Value> leaves_, wrt_;
  std::vector<NodeId> order_;
  absl::flat_hash_set<NodeId> active_;
  absl::flat_hash_map<Value, absl::InlinedVector<Value, 2>> parts_;
};

}  // namespace

absl::StatusOr<std::vector<Value>> AddVjp(Graph* graph, const VjpRequest& request) {
  return Sweep(graph, request).Run();
}

absl::StatusOr<Value> AddZerosLike(Graph* graph, Value like) {
  const TensorType type = graph->type(like);
  return BroadcastTo(graph, graph->AddConstant(type.dtype, 0), type.dims);
}

}  // namespace jitfuse::internal
