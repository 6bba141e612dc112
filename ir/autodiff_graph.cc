// Gradients of whole graphs. Declared in autodiff.h.
#include <functional>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ir/autodiff.h"
#include "ir/builder.h"
#include "ir/subgraph.h"
#include "ir/support/status.h"

namespace jitfuse::internal {
namespace {

absl::StatusOr<std::vector<Value>> CheckWrt(const Graph& graph, absl::Span<const int> wrt) {
  const auto count = static_cast<int>(graph.inputs().size());
  std::vector<Value> values;
  for (int i : wrt) {
    if (i < 0 || i >= count)
      return InvalidArgument("gradient of ", graph.name(), ": wrt has ", i,
                             ", expected the position of an input: 0 to ", count - 1);
    const Value v{graph.inputs()[static_cast<size_t>(i)], 0};
    if (!IsFloat(graph.type(v).dtype)) {
      return InvalidArgument("gradient of ", graph.name(), ": input ", i, ", ", graph.input_name(i),
                             ", is ", graph.TypeString(v),
                             "; expected a float, others have no gradient");
    }
    values.push_back(v);
  }
  if (values.empty())
    return InvalidArgument("gradient of ", graph.name(), ": wrt is empty, expected inputs");
  return values;
}

absl::Status CheckScalarResult(const Graph& graph) {
  const bool one = graph.outputs().size() == 1;
  if (one && IsFloat(graph.type(graph.outputs()[0]).dtype) &&
      graph.type(graph.outputs()[0]).dims.empty())
    return absl::OkStatus();
  std::string got;
  for (Value v : graph.outputs())
    absl::StrAppend(&got, got.empty() ? "" : ", ", graph.TypeString(v));
  return InvalidArgument(
      "gradient of ", graph.name(), ": expected one result, a float of rank 0, got ",
      got.empty() ? "none" : got, "; sum it, or pass cotangents for the results");
}

// Inputs of the types of the float outputs, called ct0, ct1 ... by the outputs' positions; for the
// others, of node -1.
absl::StatusOr<std::vector<Value>> AddCotangents(const Graph& graph, Graph* joint) {
  std::set<std::string, std::less<>> names;
  for (int k = 0; k < static_cast<int>(joint->inputs().size()); ++k)
    names.emplace(joint->input_name(k));
  std::vector<Value> cotangents;
  bool any = false;
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    const TensorType& type = graph.type(graph.outputs()[i]);
    cotangents.emplace_back();
    if (!IsFloat(type.dtype)) continue;
    any = true;
    std::string name = absl::StrCat("ct", i);
    while (!names.insert(name).second) name += "_";
    JF_ASSIGN_OR_RETURN(cotangents.back(), joint->AddInput(name, type));
  }
  if (!any)
    return InvalidArgument("gradient of ", graph.name(),
                           ": no result is a float, so there is nothing to differentiate");
  return cotangents;
}

}  // namespace

absl::StatusOr<JointGraph> BuildJointGraph(const Graph& graph, absl::Span<const int> wrt,
                                           const GradientOptions& options) {
  JF_ASSIGN_OR_RETURN(std::vector<Value> inputs, CheckWrt(graph, wrt));
  JointGraph joint{graph, {}, {}};
  std::vector<Value> cotangents;
  if (options.cotangents == Cotangents::kInputs) {
    JF_ASSIGN_OR_RETURN(cotangents, AddCotangents(graph, &joint.graph));
    for (Value v : cotangents) {
      if (v.node >= 0) joint.cotangents.push_back(v);
    }
  } else {
    JF_RETURN_IF_ERROR(CheckScalarResult(graph));
    cotangents = {joint.graph.AddConstant(graph.type(graph.outputs()[0]).dtype, 1)};
  }
  const std::vector<Value> outputs(graph.outputs().begin(), graph.outputs().end());
  JF_ASSIGN_OR_RETURN(joint.gradients,
                      AddVjp(&joint.graph, {outputs, cotangents, inputs, options.custom}));
  for (size_t i = 0; i < inputs.size(); ++i) {
    Value& g = joint.gradients[i];
    if (g.node < 0) {
      JF_ASSIGN_OR_RETURN(g, AddZerosLike(&joint.graph, inputs[i]));
    }
    // Sizes may be spelled otherwise where guards make them equal.
    JF_ASSIGN_OR_RETURN(g, ReshapeTo(&joint.graph, g, joint.graph.type(inputs[i]).dims));
  }
  return joint;
}

absl::StatusOr<Graph> Gradient(const Graph& graph, absl::Span<const int> wrt,
                               const GradientOptions& options) {
  JF_ASSIGN_OR_RETURN(JointGraph joint, BuildJointGraph(graph, wrt, options));
  std::vector<SubgraphInput> inputs;
  for (int i = 0; i < static_cast<int>(joint.graph.inputs().size()); ++i)
    inputs.push_back(
        {{joint.graph.inputs()[static_cast<size_t>(i)], 0}, joint.graph.input_name(i)});
  std::vector<Value> outputs;
  if (options.with_values) outputs.assign(graph.outputs().begin(), graph.outputs().end());
  outputs.insert(outputs.end(), joint.gradients.begin(), joint.gradients.end());
  return Subgraph(joint.graph, inputs, outputs);
}

}  // namespace jitfuse::internal
