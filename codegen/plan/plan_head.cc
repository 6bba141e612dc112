#include "codegen/plan/plan_head.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/support/status.h"
#include "ir/text.h"

namespace jitfuse::internal {
namespace {

constexpr size_t kMaxName = 60;
constexpr size_t kMaxHeadNodes = 200;
constexpr size_t kMaxNamedInputs = 256;

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

class Namer {
 public:
  explicit Namer(const Graph& graph) : graph_(graph) {
    if (graph.inputs().size() > kMaxNamedInputs) return;
    for (size_t i = 0; i < graph.inputs().size(); ++i)
      names_[graph.inputs()[i]] = graph.input_name(static_cast<int>(i));
  }
  std::string operator()(Value v) const {
    const Node& node = graph_.node(v);
    if (node.kind() == OpKind::kConstant)
      return LiteralToString(node.types[0].dtype, graph_.ConstantValue(v.node));
    auto it = names_.find(v.node);
    if (it != names_.end()) return absl::StrCat("%", it->second);
    return node.types.size() == 1 ? absl::StrCat("%", v.node)
                                  : absl::StrCat("%", v.node, ".", v.result);
  }

 private:
  const Graph& graph_;
  absl::flat_hash_map<NodeId, std::string> names_;
};

std::string NodeText(const Graph& graph, NodeId id, const Namer& name) {
  const Node& node = graph.node(id);
  std::vector<std::string> results, types, args;
  for (int r = 0; r < static_cast<int>(node.types.size()); ++r) {
    results.push_back(name({id, r}));
    types.push_back(graph.TypeString({id, r}));
  }
  for (Value v : node.in) args.push_back(name(v));
  for (const Attr& a : node.attrs)
    args.push_back(absl::StrCat(ToAbsl(a.name), "=", AttrText(a.value, graph.symbols().names)));
  return absl::StrCat(absl::StrJoin(results, ", "), " = ", ToAbsl(node.def().name), "(",
                      absl::StrJoin(args, ", "), ") : ", absl::StrJoin(types, ", "));
}

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
  Namer name(graph);
  std::string out;
  for (Value v : group.inputs) {
    if (graph.node(v).kind() != OpKind::kConstant)
      absl::StrAppend(&out, name(v), " : ", graph.TypeString(v), "\n");
  }
  size_t written = 0;
  for (NodeId id : group.nodes) {
    if (graph.node(id).kind() == OpKind::kConstant) continue;
    if (++written > kMaxHeadNodes) continue;
    absl::StrAppend(&out, NodeText(graph, id, name), "\n");
  }
  if (written > kMaxHeadNodes) absl::StrAppend(&out, "... ", written - kMaxHeadNodes, " more\n");
  std::vector<std::string> results;
  for (Value v : group.outputs) results.push_back(name(v));
  return absl::StrCat(out, "return ", absl::StrJoin(results, ", "), "\n");
}

}  // namespace jitfuse::internal
