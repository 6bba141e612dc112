#include "ir/rng.h"

#include <utility>
#include <vector>

#include "ir/support/status.h"

namespace jitfuse::internal {

RngRole RngRoleOf(const Graph& graph, size_t i) {
  if (i >= graph.inputs().size()) return RngRole::kNone;
  const Node& node = graph.node(graph.inputs()[i]);
  if (node.kind() != OpKind::kScalar || node.types[0].dtype != DType::kU64) return RngRole::kNone;
  const std::string& name = graph.input_name(static_cast<int>(i));
  if (name == kRngSeedName) return RngRole::kSeed;
  return name == kRngOffsetName ? RngRole::kOffset : RngRole::kNone;
}

std::vector<RngRole> RngRolesOf(const Graph& graph) {
  std::vector<RngRole> roles;
  bool any = false;
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    roles.push_back(RngRoleOf(graph, i));
    any = any || roles.back() != RngRole::kNone;
  }
  return any ? roles : std::vector<RngRole>();
}

absl::StatusOr<Graph> RngFromMemory(const Graph& graph) {
  Graph out;
  out.InheritFrom(graph);
  std::vector<NodeId> map(static_cast<size_t>(graph.size()));
  size_t next_input = 0;
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph.node(id);
    absl::StatusOr<Value> made;
    if (node.kind() == OpKind::kInput || node.kind() == OpKind::kScalar) {
      const size_t i = next_input++;
      const std::string& name = graph.input_name(static_cast<int>(i));
      const bool by_value = node.kind() == OpKind::kScalar && RngRoleOf(graph, i) == RngRole::kNone;
      made =
          by_value ? out.AddScalar(name, node.types[0].dtype) : out.AddInput(name, node.types[0]);
    } else if (node.kind() == OpKind::kConstant) {
      made = out.AddConstantBits(node.types[0].dtype, graph.ConstantValue(id));
    } else {
      std::vector<Value> in;
      for (Value v : node.in) in.push_back({map[static_cast<size_t>(v.node)], v.result});
      made = out.Add(node.op, in, node.attrs);
    }
    if (!made.ok()) return made.status();
    map[static_cast<size_t>(id)] = made->node;
  }
  for (Value v : graph.outputs())
    JF_RETURN_IF_ERROR(out.AddOutput({map[static_cast<size_t>(v.node)], v.result}));
  return out;
}

}  // namespace jitfuse::internal
