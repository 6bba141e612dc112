#include "ir/rng.h"

#include <vector>

#include "ir/copy_graph.h"
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
  auto source = [&](const Node& node, int position) {
    const std::string& name = graph.input_name(position);
    const bool by_value = node.kind() == OpKind::kScalar &&
                          RngRoleOf(graph, static_cast<size_t>(position)) == RngRole::kNone;
    return by_value ? out.AddScalar(name, node.types[0].dtype) : out.AddInput(name, node.types[0]);
  };
  JF_RETURN_IF_ERROR(CopyGraph(graph, source, [](Attrs*) {}, &out));
  return out;
}

}  // namespace jitfuse::internal
