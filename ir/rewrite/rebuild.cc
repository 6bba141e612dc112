#include "ir/rewrite/rebuild.h"

#include "ir/support/check.h"
#include "ir/support/status.h"

namespace jitfuse::internal {
namespace {

bool IsSource(const Node& node) {
  return node.kind() == OpKind::kInput || node.kind() == OpKind::kScalar;
}

}  // namespace

GraphRewriter::GraphRewriter(const Graph& from) : from_(from) {
  to_.InheritFrom(from);
  first_.reserve(static_cast<size_t>(from.size()));
  int32_t results = 0;
  for (NodeId id = 0; id < from.size(); ++id) {
    first_.push_back(results);
    results += static_cast<int32_t>(from.node(id).types.size());
  }
  map_.resize(static_cast<size_t>(results));
  for (int i = 0; i < static_cast<int>(from.inputs().size()) && status_.ok(); ++i) {
    NodeId id = from.inputs()[static_cast<size_t>(i)];
    const Node& node = from.node(id);
    absl::StatusOr<Value> value = node.kind() == OpKind::kScalar
                                      ? to_.AddScalar(from.input_name(i), node.types[0].dtype)
                                      : to_.AddInput(from.input_name(i), node.types[0]);
    status_ = value.status();
    if (value.ok()) Set({id, 0}, *value);
  }
}

Value GraphRewriter::Map(Value old) const {
  JF_CHECK(IsMapped(old));
  return MapSlot(old);
}

void GraphRewriter::Set(Value old, Value now) {
  map_[static_cast<size_t>(first_[static_cast<size_t>(old.node)] + old.result)] = now;
}

absl::Status GraphRewriter::Copy(NodeId id) {
  JF_RETURN_IF_ERROR(status_);
  const Node& node = from_.node(id);
  if (IsSource(node)) return absl::OkStatus();
  if (node.kind() == OpKind::kConstant) {
    Set({id, 0}, to_.AddConstantBits(node.types[0].dtype, from_.ConstantValue(id)));
    return absl::OkStatus();
  }
  absl::InlinedVector<Value, 4> in;
  for (Value v : node.in) in.push_back(Map(v));
  JF_ASSIGN_OR_RETURN(Value copy, to_.Add(node.op, in, node.attrs));
  for (int32_t r = 0; r < static_cast<int32_t>(node.types.size()); ++r)
    Set({id, r}, {copy.node, r});
  return absl::OkStatus();
}

absl::StatusOr<Graph> GraphRewriter::Finish() && {
  JF_RETURN_IF_ERROR(status_);
  for (Value v : from_.outputs()) JF_RETURN_IF_ERROR(to_.AddOutput(Map(v)));
  return std::move(to_);
}

std::vector<bool> LiveNodes(const Graph& graph) {
  std::vector<bool> live(static_cast<size_t>(graph.size()));
  for (Value v : graph.outputs()) live[static_cast<size_t>(v.node)] = true;
  for (NodeId id = graph.size() - 1; id >= 0; --id) {
    if (!live[static_cast<size_t>(id)]) continue;
    for (Value v : graph.node(id).in) live[static_cast<size_t>(v.node)] = true;
  }
  return live;
}

absl::StatusOr<Graph> RemoveDeadNodes(const Graph& graph) {
  std::vector<bool> live = LiveNodes(graph);
  GraphRewriter rewriter(graph);
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (live[static_cast<size_t>(id)]) JF_RETURN_IF_ERROR(rewriter.Copy(id));
  }
  return std::move(rewriter).Finish();
}

}  // namespace jitfuse::internal
