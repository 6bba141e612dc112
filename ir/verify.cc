#include "ir/verify.h"

#include <algorithm>
#include <bit>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "ir/infer.h"
#include "ir/scalar_expr.h"
#include "ir/support/status.h"

namespace jitfuse::internal {
namespace {

class Verifier {
 public:
  explicit Verifier(const Graph& graph) : graph_(graph) {}

  absl::Status Run() {
    JF_RETURN_IF_ERROR(CheckInputs());
    for (NodeId id = 0; id < graph_.size(); ++id) JF_RETURN_IF_ERROR(CheckNode(id));
    for (size_t i = 0; i < graph_.outputs().size(); ++i) {
      if (!Exists(graph_.outputs()[i], graph_.size()))
        return InvalidArgument(graph_.name(), ": output ", i, " is no value of the graph");
    }
    return absl::OkStatus();
  }

 private:
  bool Exists(Value v, NodeId before) const {
    return v.node >= 0 && v.node < before && v.result >= 0 &&
           v.result < static_cast<int32_t>(graph_.node(v).types.size());
  }

  std::string NodeName(NodeId id) const {
    return absl::StrCat(graph_.name(), ": node ", id, ", ", ToAbsl(graph_.node(id).def().name));
  }
  std::string Where(NodeId id) const { return NodeName(id) + ": "; }

  bool IsSource(NodeId id) const {
    OpKind kind = graph_.node(id).kind();
    return kind == OpKind::kInput || kind == OpKind::kScalar;
  }

  absl::Status CheckInputs() {
    absl::flat_hash_set<std::string> names;
    bound_.resize(graph_.symbols().names.size(), false);
    for (size_t i = 0; i < graph_.inputs().size(); ++i) {
      NodeId id = graph_.inputs()[i];
      if (id < 0 || id >= graph_.size() || !IsSource(id))
        return InvalidArgument(graph_.name(), ": input ", i, " is no input node");
      if (i > 0 && graph_.inputs()[i - 1] >= id)
        return InvalidArgument(graph_.name(), ": inputs are out of order at ", i);
      if (!names.insert(graph_.input_name(static_cast<int>(i))).second) {
        return InvalidArgument(graph_.name(), ": two inputs are called ",
                               graph_.input_name(static_cast<int>(i)));
      }
      for (const Dim& d : graph_.node(id).types[0].dims) {
        std::optional<SymbolId> s = d.AsSymbol();
        if (s && static_cast<size_t>(*s) < bound_.size()) bound_[static_cast<size_t>(*s)] = true;
      }
    }
    return absl::OkStatus();
  }

  absl::Status CheckNode(NodeId id) {
    const Node& node = graph_.node(id);
    for (size_t i = 0; i < node.in.size(); ++i) {
      if (!Exists(node.in[i], id))
        return InvalidArgument(Where(id), "operand ", i, " does not come before it");
    }
    for (const TensorType& type : node.types) JF_RETURN_IF_ERROR(CheckSymbols(id, type));
    if (IsSource(id)) return CheckSource(id);
    if (node.kind() == OpKind::kConstant) return CheckConstant(id);
    return CheckInference(id);
  }

  absl::Status CheckSymbols(NodeId id, const TensorType& type) const {
    if (absl::Status s = CheckType(type, graph_.symbols().names); !s.ok())
      return Annotate(s, absl::StrCat(Where(id), "result"));
    std::vector<SymbolId> symbols;
    for (const Dim& d : type.dims) d.CollectSymbols(&symbols);
    for (SymbolId s : symbols) {
      auto k = static_cast<size_t>(s);
      if (k >= bound_.size())
        return InvalidArgument(Where(id), "symbol number ", s, " is not in the graph's table");
      if (bound_[k]) continue;
      const std::string& name = graph_.symbols().names[k];
      return InvalidArgument(
          Where(id), "symbol ", name, " of ", TypeToString(type, graph_.symbols().names),
          " is no input's size; expected an input with a dim that is exactly ", name);
    }
    return absl::OkStatus();
  }

  absl::Status CheckSource(NodeId id) const {
    const Node& node = graph_.node(id);
    if (!std::binary_search(graph_.inputs().begin(), graph_.inputs().end(), id))
      return InvalidArgument(Where(id), "not in the signature");
    if (!node.in.empty() || node.types.size() != 1)
      return InvalidArgument(Where(id), "expected no operand and one result");
    if (node.kind() == OpKind::kScalar && !node.types[0].dims.empty())
      return InvalidArgument(Where(id), "expected rank 0");
    return absl::OkStatus();
  }

  absl::Status CheckConstant(NodeId id) const {
    const Node& node = graph_.node(id);
    bool form = node.in.empty() && node.types.size() == 1 && node.types[0].dims.empty() &&
                node.attrs.size() == 1 && std::holds_alternative<int64_t>(node.attrs[0].value);
    if (!form)
      return InvalidArgument(Where(id), "expected rank 0, no operand and the one attribute bits");
    DType dtype = node.types[0].dtype;
    ScalarValue v = graph_.ConstantValue(id);
    if (ConvertScalar(ComputeType(dtype), dtype, v).bits() != v.bits()) {
      return InvalidArgument(Where(id), "its bits are no ", ToAbsl(DTypeName(dtype)));
    }
    return absl::OkStatus();
  }

  absl::Status CheckInference(NodeId id) {
    const Node& node = graph_.node(id);
    const OpDef& def = node.def();
    const auto& names = graph_.symbols().names;
    in_.clear();
    for (Value v : node.in) in_.push_back(graph_.type(v));
    if (absl::Status s = CheckArity(def, in_, names); !s.ok()) return Annotate(s, NodeName(id));
    absl::StatusOr<Attrs> attrs = NormalizeAttrs(def, in_, node.attrs, names);
    if (!attrs.ok()) return Annotate(attrs.status(), NodeName(id));
    if (*attrs != node.attrs)
      return InvalidArgument(Where(id), "its attributes are not complete and in normal form");
    InferContext context{def, in_, node.attrs, names,
                         [&](const Dim& a, const Dim& b) -> absl::StatusOr<Dim> {
                           if (graph_.SameDim(a, b)) return a;
                           return InvalidArgument("no guard says that ", a.ToString(names),
                                                  " equals ", b.ToString(names));
                         }};
    absl::StatusOr<ResultTypes> types = InferTypes(context);
    if (!types.ok()) return Annotate(types.status(), NodeName(id));
    bool same = types->size() == node.types.size();
    for (size_t i = 0; same && i < types->size(); ++i) {
      same = (*types)[i].dtype == node.types[i].dtype &&
             graph_.SameShape((*types)[i].dims, node.types[i].dims);
    }
    if (same) return absl::OkStatus();
    return InvalidArgument(Where(id), "its type is ", TypeToString(node.types[0], names),
                           ", expected ", TypeToString((*types)[0], names));
  }

  const Graph& graph_;
  std::vector<bool> bound_;     // by symbol: some input's dim is exactly this symbol
  std::vector<TensorType> in_;  // of the node at hand
};

}  // namespace

absl::Status VerifyGraph(const Graph& graph) { return Verifier(graph).Run(); }

}  // namespace jitfuse::internal
