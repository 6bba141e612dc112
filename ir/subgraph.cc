#include "ir/subgraph.h"

#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "ir/copy_graph.h"
#include "ir/op_enum.h"
#include "ir/support/status.h"

namespace jitfuse::internal {
namespace {

bool IsSource(const Node& node) {
  return node.kind() == OpKind::kInput || node.kind() == OpKind::kScalar;
}

// By node: whether a result needs it, looking behind no input.
std::vector<bool> Needed(const Graph& from, const absl::flat_hash_map<Value, Value>& map,
                         absl::Span<const Value> outputs) {
  std::vector<bool> needed(static_cast<size_t>(from.size()), false);
  auto need = [&](Value v) {
    if (!map.contains(v)) needed[static_cast<size_t>(v.node)] = true;
  };
  for (Value v : outputs) need(v);
  for (NodeId id = from.size(); id-- > 0;) {
    if (!needed[static_cast<size_t>(id)]) continue;
    for (Value v : from.node(id).in) need(v);
  }
  return needed;
}

absl::StatusOr<absl::flat_hash_map<Value, Value>> AddInputs(const Graph& from,
                                                            absl::Span<const SubgraphInput> inputs,
                                                            Graph* to) {
  absl::flat_hash_map<Value, Value> map;
  absl::flat_hash_set<std::string> taken;
  for (const SubgraphInput& input : inputs) {
    std::string name = input.name;
    while (!taken.insert(name).second) name += "_";
    const TensorType& type = from.type(input.value);
    JF_ASSIGN_OR_RETURN(Value v, from.node(input.value).kind() == OpKind::kScalar
                                     ? to->AddScalar(name, type.dtype)
                                     : to->AddInput(name, type));
    map[input.value] = v;
  }
  return map;
}

}  // namespace

absl::StatusOr<Graph> Subgraph(const Graph& from, absl::Span<const SubgraphInput> inputs,
                               absl::Span<const Value> outputs) {
  Graph to;
  to.InheritFrom(from);
  JF_ASSIGN_OR_RETURN(auto map, AddInputs(from, inputs, &to));
  const std::vector<bool> needed = Needed(from, map, outputs);
  for (NodeId id = 0; id < from.size(); ++id) {
    if (!needed[static_cast<size_t>(id)]) continue;
    const Node& node = from.node(id);
    Value made;
    if (IsSource(node)) {
      return InternalError(ToAbsl(from.name()), ": value ", id, " of type ",
                           from.TypeString({id, 0}), " is needed, but is none of the inputs");
    }
    if (node.kind() == OpKind::kConstant) {
      made = to.AddConstantBits(node.types[0].dtype, from.ConstantValue(id));
    } else {
      std::vector<Value> in;
      for (Value v : node.in) in.push_back(map.at(v));
      JF_ASSIGN_OR_RETURN(made, to.Add(node.op, in, node.attrs));
    }
    for (int32_t r = 0; r < static_cast<int32_t>(node.types.size()); ++r)
      map.try_emplace(Value{id, r}, Value{made.node, r});
  }
  for (Value v : outputs) JF_RETURN_IF_ERROR(to.AddOutput(map.at(v)));
  return to;
}

absl::StatusOr<std::vector<Value>> Inline(const Graph& from, absl::Span<const Value> inputs,
                                          Graph* to) {
  if (inputs.size() != from.inputs().size()) {
    return InvalidArgument(ToAbsl(from.name()), " takes ", from.inputs().size(), " inputs, got ",
                           inputs.size());
  }
  std::vector<Dim> symbols;
  for (const std::string& name : from.symbols().names) symbols.push_back(to->SymbolNamed(name));
  auto source = [&](const Node&, int position) { return inputs[static_cast<size_t>(position)]; };
  auto rename = [&](Attrs* attrs) {
    for (Attr& a : *attrs) {
      auto* dims = std::get_if<std::vector<Dim>>(&a.value);
      if (dims == nullptr) continue;
      for (Dim& d : *dims)
        d = d.Substitute([&](SymbolId s) { return symbols[static_cast<size_t>(s)]; });
    }
  };
  return CopyNodes(from, source, rename, to);
}

}  // namespace jitfuse::internal
