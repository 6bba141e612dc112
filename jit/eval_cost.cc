#include "jit/eval_cost.h"

#include <algorithm>
#include <utility>

#include "jit/size_plan.h"

namespace jitfuse::internal {
namespace {

constexpr size_t kLookBack = 32;  // terms that a new one is compared with

}  // namespace

EvalCost::EvalCost(const Graph& graph) {
  for (NodeId id = 0; id < static_cast<NodeId>(graph.size()); ++id)
    Add(TermOf(graph, graph.node(id)));
  for (Term& term : std::exchange(terms_, {})) {
    term.elements = GreatestOf(std::move(term.elements));
    Add(std::move(term));
  }
}

EvalCost::Term EvalCost::TermOf(const Graph& graph, const Node& node) {
  Term out{{NumElements(node.types[0].dims)}, SizeExpr(1), 1};
  if (node.kind() == OpKind::kMatMul) {
    const Shape& a = graph.type(node.in[0]).dims;
    if (a.size() < 2) return out;
    out.times = a[a.size() - (node.Get<bool>("transpose_a") ? 2 : 1)];
    return out;
  }
  for (Value v : node.in) {
    SizeExpr elements = NumElements(graph.type(v).dims);
    if (std::find(out.elements.begin(), out.elements.end(), elements) == out.elements.end())
      out.elements.push_back(std::move(elements));
  }
  return out;
}

void EvalCost::Add(Term term) {
  const size_t first = terms_.size() > kLookBack ? terms_.size() - kLookBack : 0;
  for (size_t i = first; i < terms_.size(); ++i) {
    if (terms_[i].elements != term.elements || !(terms_[i].times == term.times)) continue;
    terms_[i].nodes += term.nodes;
    return;
  }
  terms_.push_back(std::move(term));
}

double EvalCost::Of(absl::Span<const int64_t> symbols) const {
  double sum = 0;
  for (const Term& term : terms_) {
    int64_t most = 0;
    for (const SizeExpr& e : term.elements) most = std::max(most, e.Eval(symbols));
    sum += term.nodes * static_cast<double>(most) * static_cast<double>(term.times.Eval(symbols));
  }
  return sum;
}

}  // namespace jitfuse::internal
