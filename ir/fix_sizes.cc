#include "ir/fix_sizes.h"

#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/copy_graph.h"
#include "ir/support/status.h"

namespace jitfuse::internal {
namespace {

using SymbolValues = std::vector<std::optional<int64_t>>;  // by symbol

SizeExpr With(const SymbolValues& values, const SizeExpr& size) {
  return size.Substitute([&](SymbolId s) {
    const std::optional<int64_t>& v = values[static_cast<size_t>(s)];
    return v ? SizeExpr(*v) : SizeExpr::Symbol(s);
  });
}

// Of n or 4*n, known to be `value`: what n is, or the 4 that does not divide it.
std::optional<int64_t> Solve(const SizeExpr& dim, int64_t value, SymbolValues* values) {
  std::vector<SymbolId> symbols;
  dim.CollectSymbols(&symbols);
  if (symbols.size() != 1) return std::nullopt;
  const std::optional<SizeExpr> factor = dim.DivExact(SizeExpr::Symbol(symbols[0]));
  if (!factor || !factor->IsConstant() || factor->constant() <= 0) return std::nullopt;
  if (value % factor->constant() != 0) return factor->constant();
  (*values)[static_cast<size_t>(symbols[0])] = value / factor->constant();
  return std::nullopt;
}

absl::Status TakeDims(const Graph& graph, const KnownDims& known, SymbolValues* values) {
  const TensorType& type = graph.type({graph.inputs()[static_cast<size_t>(known.position)], 0});
  const auto where = [&] {
    return absl::StrCat("graph ", graph.name(), ": input ", known.position, " '",
                        graph.input_name(known.position), "' (",
                        TypeToString(type, graph.symbols().names), ") of shape [",
                        absl::StrJoin(known.dims, ","), "]");
  };
  if (type.dims.size() != known.dims.size())
    return InvalidArgument(where(), ": expected rank ", type.dims.size(), ", got ",
                           known.dims.size());
  for (size_t d = 0; d < type.dims.size(); ++d) {
    if (!With(*values, type.dims[d]).IsConstant()) {
      const std::optional<int64_t> factor = Solve(type.dims[d], known.dims[d], values);
      if (factor)
        return InvalidArgument(where(), ": dim ", d, " is ", known.dims[d],
                               ", expected a multiple of ", *factor, " (",
                               type.dims[d].ToString(graph.symbols().names), ")");
    }
    const SizeExpr expected = With(*values, type.dims[d]);
    if (!expected.IsConstant() || expected.Is(known.dims[d])) continue;
    return InvalidArgument(where(), ": dim ", d, " is ", known.dims[d], ", expected ",
                           expected.constant(),
                           type.dims[d].IsConstant()
                               ? ""
                               : absl::StrCat(" = ", type.dims[d].ToString(graph.symbols().names),
                                              ", by what is known of the inputs"));
  }
  return absl::OkStatus();
}

// Symbols that are now held to be equal to a number. -> whether there are any.
bool TakeGuards(const Graph& graph, SymbolValues* values) {
  bool any = false;
  for (size_t s = 0; s < values->size(); ++s) {
    if ((*values)[s]) continue;
    const Dim known = graph.Canonical(SizeExpr::Symbol(static_cast<SymbolId>(s)));
    if (!known.IsConstant()) continue;
    (*values)[s] = known.constant();
    any = true;
  }
  return any;
}

}  // namespace

absl::Status ReplaceSizes(const Graph& from,
                          const std::function<SizeExpr(const SizeExpr&)>& replace, Graph* to) {
  auto source = [&](const Node& node, int position) {
    const std::string& name = from.input_name(position);
    if (node.kind() == OpKind::kScalar) return to->AddScalar(name, node.types[0].dtype);
    TensorType type = node.types[0];
    for (Dim& d : type.dims) d = replace(d);
    return to->AddInput(name, type);
  };
  auto change = [&](Attrs* attrs) {
    for (Attr& a : *attrs) {
      auto* dims = std::get_if<std::vector<Dim>>(&a.value);
      if (dims == nullptr) continue;
      for (Dim& d : *dims) d = replace(d);
    }
  };
  return CopyGraph(from, source, change, to);
}

absl::StatusOr<Graph> FixSizes(const Graph& graph, absl::Span<const KnownDims> known) {
  SymbolValues values(graph.symbols().names.size());
  for (const KnownDims& k : known) JF_RETURN_IF_ERROR(TakeDims(graph, k, &values));
  while (true) {
    Graph out;
    out.set_name(graph.name());
    out.symbols() = graph.symbols();
    JF_RETURN_IF_ERROR(
        ReplaceSizes(graph, [&](const SizeExpr& size) { return With(values, size); }, &out));
    if (!TakeGuards(out, &values)) return out;
    // What guards say may be at odds with a dim that was known by itself.
    for (const KnownDims& k : known) JF_RETURN_IF_ERROR(TakeDims(graph, k, &values));
  }
}

}  // namespace jitfuse::internal
