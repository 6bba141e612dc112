#include "ir/value_names.h"

#include <algorithm>
#include <limits>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/support/hash128.h"
#include "ir/support/status.h"
#include "ir/text.h"

namespace jitfuse::internal {
namespace {

bool IsSource(const Node& node) {
  return node.kind() == OpKind::kInput || node.kind() == OpKind::kScalar;
}

// Inputs are in the order of their nodes.
size_t InputPosition(const Graph& graph, NodeId id) {
  const auto& inputs = graph.inputs();
  return static_cast<size_t>(std::lower_bound(inputs.begin(), inputs.end(), id) - inputs.begin());
}

std::string AttrText(const AttrValue& value, absl::Span<const std::string> symbols) {
  if (const auto* b = std::get_if<bool>(&value)) return *b ? "true" : "false";
  if (const auto* i = std::get_if<int64_t>(&value)) return absl::StrCat(*i);
  if (const auto* f = std::get_if<double>(&value))
    return LiteralToString(DType::kF64, ScalarFromDouble(DType::kF64, *f));
  if (const auto* d = std::get_if<DType>(&value)) return std::string(DTypeName(*d));
  if (const auto* list = std::get_if<std::vector<int64_t>>(&value))
    return absl::StrCat("[", absl::StrJoin(*list, ","), "]");
  return ShapeToString(std::get<std::vector<Dim>>(value), symbols);
}

// By node: a hash of the whole computation that gives it.
std::vector<Hash128> Computations(const Graph& graph) {
  std::vector<Hash128> out;
  out.reserve(static_cast<size_t>(graph.size()));
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph.node(id);
    Hasher h;
    h.String(node.def().name);
    if (IsSource(node)) h.Int(static_cast<int64_t>(InputPosition(graph, id)));
    for (const Value& v : node.in) h.Hash(out[static_cast<size_t>(v.node)]).Int(v.result);
    for (const Attr& a : node.attrs) h.String(a.name).String(AttrText(a.value, {}));
    for (const TensorType& t : node.types) h.String(TypeToString(t, {}));
    out.push_back(h.Finish());
  }
  return out;
}

}  // namespace

ValueNamer::ValueNamer(const Graph& graph, ValueNames names)
    : graph_(&graph), names_(std::move(names)) {
  for (const auto& [value, name] : names_) {
    taken_.insert(name);
    int32_t number = 0;
    if (absl::SimpleAtoi(name, &number) && number >= 0)
      first_ = std::max(first_, int64_t{number} + 1);
  }
}

std::string ValueNamer::operator()(Value v) const {
  const Node& node = graph_->node(v);
  if (IsSource(node))
    return absl::StrCat("%", graph_->input_name(static_cast<int>(InputPosition(*graph_, v.node))));
  if (auto it = names_.find(v); it != names_.end()) return absl::StrCat("%", it->second);
  std::string number = absl::StrCat(first_ + v.node);
  if (node.types.size() > 1) absl::StrAppend(&number, "_", v.result);
  while (taken_.contains(number)) number += "_";
  return absl::StrCat("%", number);
}

std::string OperandToString(const Graph& graph, Value v, const ValueNamer& name) {
  return graph.node(v).kind() == OpKind::kConstant
             ? LiteralToString(graph.type(v).dtype, graph.ConstantValue(v.node))
             : name(v);
}

std::string NodeToString(const Graph& graph, NodeId id, const ValueNamer& name) {
  const Node& node = graph.node(id);
  std::vector<std::string> results, types, args;
  for (int r = 0; r < static_cast<int>(node.types.size()); ++r) {
    results.push_back(name({id, r}));
    types.push_back(graph.TypeString({id, r}));
  }
  for (Value v : node.in) args.push_back(OperandToString(graph, v, name));
  for (const Attr& a : node.attrs)
    args.push_back(absl::StrCat(ToAbsl(a.name), "=", AttrText(a.value, graph.symbols().names)));
  return absl::StrCat(absl::StrJoin(results, ", "), " = ", ToAbsl(node.def().name), "(",
                      absl::StrJoin(args, ", "), ") : ", absl::StrJoin(types, ", "));
}

std::pair<Graph, std::vector<std::string>> WithNamedOutputs(const Graph& graph,
                                                            const ValueNames& names) {
  std::vector<std::pair<Value, std::string>> sorted(names.begin(), names.end());
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return std::pair(a.first.node, a.first.result) < std::pair(b.first.node, b.first.result);
  });
  std::pair<Graph, std::vector<std::string>> out{graph, {}};
  for (auto& [value, name] : sorted) {
    if (out.first.AddOutput(value).ok()) out.second.push_back(std::move(name));
  }
  return out;
}

ValueNames FindNames(const Graph& marked, absl::Span<const std::string> names, const Graph& graph) {
  const std::vector<Hash128> theirs = Computations(marked), ours = Computations(graph);
  absl::flat_hash_map<Hash128, NodeId> by_computation;
  for (NodeId id = 0; id < graph.size(); ++id)
    by_computation.emplace(ours[static_cast<size_t>(id)], id);
  ValueNames out;
  const size_t before = marked.outputs().size() - names.size();
  for (size_t i = 0; i < names.size(); ++i) {
    const Value v = marked.outputs()[before + i];
    auto it = by_computation.find(theirs[static_cast<size_t>(v.node)]);
    if (it == by_computation.end() || IsSource(graph.node(it->second))) continue;
    out.emplace(Value{it->second, v.result}, names[i]);  // the first name stays
  }
  return out;
}

}  // namespace jitfuse::internal
