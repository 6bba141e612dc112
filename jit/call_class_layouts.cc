// From the key of a class of calls to what a compiler needs of it.
#include <utility>

#include "absl/strings/str_cat.h"
#include "ir/fix_sizes.h"
#include "ir/support/status.h"
#include "jit/call_class.h"

namespace jitfuse::internal {
namespace {

SizeExpr Replaced(const SizeExpr& size, const CallClass& cls) {
  return size.Substitute([&](SymbolId s) { return cls.replace[static_cast<size_t>(s)]; });
}

Layout LayoutOf(const CallClass& cls, const ViewClass& view, absl::Span<const Dim> dims) {
  Layout layout;
  layout.align = view.align;
  if (view.dense) {
    Shape replaced;
    for (const Dim& d : dims) replaced.push_back(Replaced(d, cls));
    layout.strides = ContiguousStrides(replaced);
    return layout;
  }
  for (size_t d = 0; d < dims.size(); ++d) {
    const StrideClass& stride = cls.strides[view.first_stride + d];
    layout.strides.push_back(stride.symbol < 0 ? SizeExpr(stride.factor)
                                               : SizeExpr::Symbol(stride.symbol) * stride.factor);
  }
  return layout;
}

}  // namespace

SizeExpr InClass(SymbolId symbol, const ClassKey& key) {
  const auto s = static_cast<size_t>(symbol);
  const SymbolClass& c = key.graph_symbols[s];
  return c.constant ? SizeExpr(key.symbols[s]) : SizeExpr::Symbol(symbol) * c.factor;
}

CallClass ClassOf(const Graph& graph, ClassKey key) {
  CallClass cls{std::move(key), {}, {}, {}, {}};
  cls.bound.resize(cls.symbols.size());
  for (size_t s = 0; s < cls.graph_symbols.size(); ++s) {
    cls.replace.push_back(InClass(static_cast<SymbolId>(s), cls));
    cls.bound[s] = cls.graph_symbols[s].bound;
  }
  const size_t inputs = graph.inputs().size();
  for (size_t i = 0; i < inputs; ++i) {
    const NodeId id = graph.inputs()[i];
    const bool scalar = graph.node(id).kind() == OpKind::kScalar;
    cls.inputs.push_back(scalar ? Layout{} : LayoutOf(cls, cls.views[i], graph.type({id, 0}).dims));
  }
  for (size_t o = 0; o < graph.outputs().size(); ++o) {
    const ViewClass& view = cls.views[inputs + o];
    cls.outputs.push_back(view.like >= 0
                              ? cls.inputs[static_cast<size_t>(view.like)]
                              : LayoutOf(cls, view, graph.type(graph.outputs()[o]).dims));
  }
  return cls;
}

absl::StatusOr<CallClass> ClassifyCall(const Graph& graph, const GraphShapeFacts& facts,
                                       absl::Span<const TensorView> inputs,
                                       absl::Span<const TensorView> outputs, Dynamic dynamic) {
  JF_ASSIGN_OR_RETURN(ClassKey key, ClassKeyOf(graph, facts, inputs, outputs, dynamic));
  return ClassOf(graph, std::move(key));
}

absl::StatusOr<Graph> SpecializeGraph(const Graph& graph, const CallClass& cls) {
  const auto replace = [&](const SizeExpr& size) { return Replaced(size, cls); };
  Graph out;
  out.set_name(graph.name());
  out.symbols() = graph.symbols();
  for (size_t s = 0; s < out.symbols().names.size(); ++s) {
    // Of d = 16*q the new symbol is q: its name says so, and sizes print as the caller's d.
    const int64_t part = cls.replace[s].IsConstant() ? 1 : cls.replace[s].KnownDivisor();
    if (part > 1) absl::StrAppend(&out.symbols().names[s], "/", part);
  }
  JF_RETURN_IF_ERROR(ReplaceSizes(graph, replace, &out));
  return out;
}

}  // namespace jitfuse::internal
