// What evaluating a graph would cost, in element operations, by the values of its symbols.
//
// Of a node: the elements of its result or of its greatest operand, whichever are more; of a matrix
// product that times the length of its sums. Nodes of the same sizes are counted together, so that
// asking costs a few products for most graphs.
#ifndef JITFUSE_JIT_EVAL_COST_H_
#define JITFUSE_JIT_EVAL_COST_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "ir/graph.h"

namespace jitfuse::internal {

class EvalCost {
 public:
  EvalCost() = default;  // of nothing
  explicit EvalCost(const Graph& graph);
  double Of(absl::Span<const int64_t> symbols) const;

 private:
  struct Term {
    std::vector<SizeExpr> elements;  // the greatest of these,
    SizeExpr times;                  // times this,
    double nodes = 0;                // for so many nodes
  };
  static Term TermOf(const Graph& graph, const Node& node);
  void Add(Term term);

  std::vector<Term> terms_;
};

}  // namespace jitfuse::internal

#endif  // JITFUSE_JIT_EVAL_COST_H_
