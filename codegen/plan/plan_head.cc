#include "codegen/plan/plan_head.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/support/status.h"

namespace jitfuse::internal {
namespace {

constexpr size_t kMaxName = 60;
constexpr size_t kMaxHeadNodes = 200;

}  // namespace

std::string PlanName(const Graph& graph, const Group& group, int index) {
  std::string name = absl::StrCat("k", index);
  size_t left_out = 0;
  auto computes = [&graph](NodeId id) {
    OpKind kind = graph.node(id).kind();
    return kind == OpKind::kPointwise || kind == OpKind::kReduce || kind == OpKind::kJoin ||
           kind == OpKind::kGather || kind == OpKind::kScan || kind == OpKind::kSegment;
  };
  bool only_views = std::none_of(group.nodes.begin(), group.nodes.end(), computes);
  for (NodeId id : group.nodes) {
    const Node& node = graph.node(id);
    bool named = computes(id) || (only_views && node.kind() != OpKind::kConstant);
    if (!named) continue;
    std::string part = absl::StrCat("_", ToAbsl(node.def().name));
    if (left_out > 0 || name.size() + part.size() > kMaxName - 12) {
      ++left_out;
    } else {
      name += part;
    }
  }
  if (group.nodes.empty()) name += "_copy";
  if (left_out > 0) absl::StrAppend(&name, "_and_", left_out);
  return name;
}

std::string GroupText(const Graph& graph, const Group& group) {
  return GroupText(graph, group, ValueNamer(graph));
}

std::string GroupText(const Graph& graph, const Group& group, const ValueNamer& name) {
  std::string out;
  for (Value v : group.inputs) {
    if (graph.node(v).kind() != OpKind::kConstant)
      absl::StrAppend(&out, name(v), " : ", graph.TypeString(v), "\n");
  }
  size_t written = 0;
  for (NodeId id : group.nodes) {
    if (graph.node(id).kind() == OpKind::kConstant) continue;
    if (++written > kMaxHeadNodes) continue;
    absl::StrAppend(&out, NodeToString(graph, id, name), "\n");
  }
  if (written > kMaxHeadNodes) absl::StrAppend(&out, "... ", written - kMaxHeadNodes, " more\n");
  std::vector<std::string> results;
  for (Value v : group.outputs) results.push_back(OperandToString(graph, v, name));
  return absl::StrCat(out, "return ", absl::StrJoin(results, ", "), "\n");
}

}  // namespace jitfuse::internal
