// The printer. Constants are written in place as literals wherever reading them back would put them
// at the same node; all other values get a name of their own: inputs theirs, results %0, %1 ... in
// order.
#include <algorithm>
#include <bit>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "ir/support/status.h"
#include "ir/text.h"
#include "ir/text_cursor.h"
#include "ir/text_types.h"
#include "ir/value_names.h"

namespace jitfuse::internal {
namespace {

constexpr size_t kLineWidth = 100;  // a longer signature is split, an input a line

// Which constants are written as literals. The parser makes a literal's node when it reaches the op
// that first uses it, and gives it the dtype of the op's first named operand that is not bool; a
// constant of which either would not come out right at any of its uses is named.
class Literals {
 public:
  explicit Literals(const Graph& graph)
      : graph_(graph), literal_(static_cast<size_t>(graph.size())), users_(literal_.size()) {
    for (NodeId id = 0; id < graph.size(); ++id) Place(id);
    for (Value v : graph.outputs()) Name(v.node);
    for (NodeId id = 0; id < graph.size(); ++id) CheckDTypes(id);
    while (!changed_.empty()) {
      NodeId user = changed_.back();
      changed_.pop_back();
      CheckDTypes(user);
    }
  }

  bool Contains(NodeId id) const { return literal_[static_cast<size_t>(id)]; }

 private:
  bool IsConstant(NodeId id) const { return graph_.node(id).kind() == OpKind::kConstant; }

  // The constants right before `user` that come in the order of its operands are placed there.
  void Place(NodeId user) {
    absl::InlinedVector<NodeId, 4> order;
    for (Value v : graph_.node(user).in) {
      if (!IsConstant(v.node)) continue;
      users_[static_cast<size_t>(v.node)].push_back(user);
      if (std::find(order.begin(), order.end(), v.node) == order.end()) order.push_back(v.node);
    }
    NodeId next = user - 1;
    for (auto it = order.rbegin(); it != order.rend() && *it == next; ++it, --next)
      literal_[static_cast<size_t>(*it)] = true;
  }

  void CheckDTypes(NodeId user) {
    const Node& node = graph_.node(user);
    const DType* dtype = nullptr;
    for (Value v : node.in) {
      if (!Contains(v.node) && (dtype == nullptr || *dtype == DType::kBool))
        dtype = &graph_.type(v).dtype;
    }
    for (Value v : node.in) {
      if (Contains(v.node) && (dtype == nullptr || *dtype != graph_.type(v).dtype)) Name(v.node);
    }
  }

  // A literal before it that waits for the same op would now come too late, so it is named as well.
  void Name(NodeId id) {
    for (; id >= 0 && Contains(id); --id) {
      literal_[static_cast<size_t>(id)] = false;
      const auto& users = users_[static_cast<size_t>(id)];
      changed_.insert(changed_.end(), users.begin(), users.end());
    }
  }

  const Graph& graph_;
  std::vector<bool> literal_;
  std::vector<std::vector<NodeId>> users_;  // of constants
  std::vector<NodeId> changed_;
};

// "d" of "d/16", which is the name of a part of d (SizeExpr::ToString).
std::string WholeName(const std::string& name) { return name.substr(0, name.find('/')); }

// Names that the parser takes: those of the graph where they are legal and unique.
std::vector<std::string> SymbolNames(const Graph& graph) {
  std::vector<std::string> names = graph.symbols().names;
  absl::flat_hash_set<std::string> used;
  for (size_t i = 0; i < names.size(); ++i) {
    std::string whole = WholeName(names[i]);
    const std::string part = names[i].substr(whole.size());
    if (!IsSymbolName(whole) || whole == "scalar") whole = absl::StrCat("s", i);
    while (!used.insert(whole).second) whole += "_";
    names[i] = whole + part;
  }
  return names;
}

class Printer {
 public:
  explicit Printer(const Graph& graph, const ValueNamer* namer = nullptr)
      : graph_(graph), namer_(namer), literals_(graph), symbols_(SymbolNames(graph)) {
    first_name_.resize(static_cast<size_t>(graph.size()), -1);
  }

  std::string Print() {
    NameResults();
    Signature();
    for (NodeId id = 0; id < graph_.size(); ++id) OpLine(id);
    Return();
    return std::move(out_);
  }

 private:
  void NameResults() {
    int next = 0;
    for (int i = 0; i < static_cast<int>(graph_.inputs().size()); ++i) {
      first_name_[static_cast<size_t>(graph_.inputs()[static_cast<size_t>(i)])] = i;
    }
    for (NodeId id = 0; id < graph_.size(); ++id) {
      if (IsSource(id) || literals_.Contains(id)) continue;
      first_name_[static_cast<size_t>(id)] = next;
      next += static_cast<int>(graph_.node(id).types.size());
    }
  }

  bool IsSource(NodeId id) const {
    OpKind kind = graph_.node(id).kind();
    return kind == OpKind::kInput || kind == OpKind::kScalar;
  }

  void AppendName(Value v) {
    if (namer_ != nullptr) {
      out_ += (*namer_)(v);
      return;
    }
    int name = first_name_[static_cast<size_t>(v.node)];
    if (IsSource(v.node)) {
      absl::StrAppend(&out_, "%", graph_.input_name(name));
    } else {
      absl::StrAppend(&out_, "%", name + v.result);
    }
  }

  void Signature() {
    absl::StrAppend(&out_, "graph ", IsIdentifier(graph_.name()) ? graph_.name() : "f");
    if (NeedsSymbolList()) AppendSymbolList();
    std::vector<std::string> inputs;
    size_t width = out_.size();
    for (int i = 0; i < static_cast<int>(graph_.inputs().size()); ++i) {
      inputs.push_back(absl::StrCat("%", graph_.input_name(i), ": ",
                                    InputType(graph_.inputs()[static_cast<size_t>(i)])));
      width += inputs.back().size() + 2;
    }
    bool split = width > kLineWidth;
    out_ += "(";
    for (size_t i = 0; i < inputs.size(); ++i) {
      absl::StrAppend(&out_, i > 0 ? "," : "", split ? "\n    " : (i > 0 ? " " : ""), inputs[i]);
    }
    out_ += ") -> (";
    for (size_t i = 0; i < graph_.outputs().size(); ++i) {
      absl::StrAppend(&out_, i > 0 ? ", " : "",
                      TypeToString(graph_.type(graph_.outputs()[i]), symbols_));
    }
    out_ += ") {\n";
  }

  std::string InputType(NodeId id) const {
    const Node& node = graph_.node(id);
    if (node.kind() == OpKind::kScalar)
      return absl::StrCat("scalar ", ToAbsl(DTypeName(node.types[0].dtype)));
    return TypeToString(node.types[0], symbols_);
  }

  // The parser numbers symbols in the order in which the inputs mention them.
  bool NeedsSymbolList() const {
    std::vector<SymbolId> mentioned;
    for (NodeId id : graph_.inputs()) {
      for (const Dim& dim : graph_.node(id).types[0].dims) {
        std::vector<SymbolId> here;
        dim.CollectSymbols(&here);
        if (here.size() > 1) return true;  // the text's order need not be that of the normal form
        if (!here.empty() &&
            std::find(mentioned.begin(), mentioned.end(), here[0]) == mentioned.end())
          mentioned.push_back(here[0]);
      }
    }
    for (size_t i = 0; i < mentioned.size(); ++i) {
      if (mentioned[i] != static_cast<SymbolId>(i)) return true;
    }
    return mentioned.size() != symbols_.size();
  }

  void AppendSymbolList() {
    for (size_t i = 0; i < symbols_.size(); ++i)
      absl::StrAppend(&out_, i == 0 ? "<" : ", ", WholeName(symbols_[i]));
    out_ += ">";
  }

  void OpLine(NodeId id) {
    if (IsSource(id) || literals_.Contains(id)) return;
    const Node& node = graph_.node(id);
    out_ += "  ";
    for (int32_t r = 0; r < static_cast<int32_t>(node.types.size()); ++r) {
      if (r > 0) out_ += ", ";
      AppendName({id, r});
    }
    absl::StrAppend(&out_, " = ", ToAbsl(node.def().name));
    if (node.kind() == OpKind::kConstant) {
      absl::StrAppend(&out_, " {value=", Literal(id), "}");
    } else {
      AppendOperands(node);
      AppendAttributes(node);
    }
    for (size_t r = 0; r < node.types.size(); ++r) {
      absl::StrAppend(&out_, r == 0 ? " : " : ", ", TypeToString(node.types[r], symbols_));
    }
    out_ += "\n";
  }

  std::string Literal(NodeId id) const {
    return LiteralToString(graph_.node(id).types[0].dtype, graph_.ConstantValue(id));
  }

  void AppendOperands(const Node& node) {
    out_ += "(";
    for (size_t i = 0; i < node.in.size(); ++i) {
      if (i > 0) out_ += ", ";
      if (literals_.Contains(node.in[i].node)) {
        out_ += Literal(node.in[i].node);
      } else {
        AppendName(node.in[i]);
      }
    }
    out_ += ")";
  }

  // Attributes that have their default value are left out.
  void AppendAttributes(const Node& node) {
    bool any = false;
    for (const Attr& attr : node.attrs) {
      if (IsDefault(node.def(), attr)) continue;
      absl::StrAppend(&out_, any ? ", " : " {", ToAbsl(attr.name), "=");
      any = true;
      AppendAttribute(attr.value);
    }
    if (any) out_ += "}";
  }

  static bool IsDefault(const OpDef& def, const Attr& attr) {
    for (const AttrDef& row : def.attrs) {
      if (row.name != attr.name || !row.fallback) continue;
      const double* a = std::get_if<double>(&attr.value);
      const double* b = std::get_if<double>(&*row.fallback);
      if (a != nullptr && b != nullptr)
        return std::bit_cast<uint64_t>(*a) == std::bit_cast<uint64_t>(*b);
      return attr.value == *row.fallback;
    }
    return false;
  }

  void AppendAttribute(const AttrValue& value) {
    if (const bool* b = std::get_if<bool>(&value)) {
      absl::StrAppend(&out_, *b ? "true" : "false");
    } else if (const int64_t* i = std::get_if<int64_t>(&value)) {
      absl::StrAppend(&out_, *i);
    } else if (const double* d = std::get_if<double>(&value)) {
      out_ += LiteralToString(DType::kF64, ScalarFromDouble(DType::kF64, *d));
    } else if (const DType* dtype = std::get_if<DType>(&value)) {
      absl::StrAppend(&out_, ToAbsl(DTypeName(*dtype)));
    } else if (const auto* ints = std::get_if<std::vector<int64_t>>(&value)) {
      for (size_t k = 0; k < ints->size(); ++k)
        absl::StrAppend(&out_, k == 0 ? "[" : ",", (*ints)[k]);
      out_ += ints->empty() ? "[]" : "]";
    } else {
      out_ += ShapeToString(std::get<std::vector<Dim>>(value), symbols_);
    }
  }

  void Return() {
    out_ += "  return";
    for (size_t i = 0; i < graph_.outputs().size(); ++i) {
      out_ += i == 0 ? " " : ", ";
      AppendName(graph_.outputs()[i]);
    }
    out_ += "\n}\n";
  }

  const Graph& graph_;
  const ValueNamer* namer_;  // null: results are %0, %1 ...
  Literals literals_;
  std::vector<std::string> symbols_;
  std::vector<int> first_name_;  // by node: the input's position, or the number of the first result
  std::string out_;
};

}  // namespace

std::string GraphToString(const Graph& graph) { return Printer(graph).Print(); }

std::string GraphToString(const Graph& graph, const ValueNamer& name) {
  return Printer(graph, &name).Print();
}

}  // namespace jitfuse::internal
