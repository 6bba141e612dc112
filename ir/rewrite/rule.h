// Rules: exact local rewrites as named data. A rule looks at one node of the graph being built and
// may name an equal value.
//
// In: a RuleContext (the new graph and the node at hand, on operands that are rewritten already).
// Out: nullopt, or a value with the same type whose every bit is the same for every input: NaN,
// infinities and the sign of zero survive. (A NaN's own sign and payload mean nothing: semantics,
// "NaN and zero".) Exactness holds with f16/bf16 chains kept in f32 as well as with every op
// rounded. A rule is a row: name, root op, dtypes, a test of the constant operand, the function,
// and what it does and why that is exact. Must not know: hardware, cost, the whole graph.
#ifndef JITFUSE_IR_REWRITE_RULE_H_
#define JITFUSE_IR_REWRITE_RULE_H_

#include <optional>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "ir/graph.h"

namespace jitfuse::internal {

class RuleContext {
 public:
  explicit RuleContext(Graph* graph) : graph_(*graph) {}

  const Graph& graph() const { return graph_; }
  const Node& node() const { return graph_.node(root_); }  // invalid after Add
  Value root() const { return root_; }
  void set_root(Value root) { root_ = root; }

  Value in(size_t i) const { return node().in[i]; }
  const Node& in_node(size_t i) const { return graph_.node(in(i)); }
  Op in_op(size_t i) const { return in_node(i).op; }
  const TensorType& type() const { return graph_.type(root_); }
  DType dtype() const { return type().dtype; }

  // The one value of all elements of `v`, if it is a constant or a view of one.
  std::optional<ScalarValue> Uniform(Value v);
  // True if no rounding to its dtype changes v's elements, even where f16/bf16 chains are kept in
  // f32: it was rounded when made.
  bool IsRounded(Value v);

  // nullopt if the op cannot be added so (then the rule does not fire).
  std::optional<Value> Add(Op op, std::initializer_list<Value> in, Attrs attrs = {});
  // A value of `type` whose every element is `value`.
  std::optional<Value> AddUniform(const TensorType& type, ScalarValue value);

 private:
  struct Facts {
    std::optional<ScalarValue> uniform;
    bool rounded = false;
  };
  const Facts& FactsOf(Value v);

  Graph& graph_;
  Value root_;
  std::vector<Facts> facts_;  // of result 0 of the nodes below facts_.size()
};

struct RewriteRule {
  std::string_view name;
  Op root;                               // kCount: any pointwise op
  DTypeSet dtypes;                       // of operand 0
  bool (*constant)(DType, ScalarValue);  // null, or: the last operand is uniform and passes
  std::optional<Value> (*apply)(RuleContext& context);
  std::string_view pattern;  // "multiply(x, 1) -> x"
  std::string_view exact;    // why no bit changes
};

absl::Span<const RewriteRule> FoldRules();     // fold.cc
absl::Span<const RewriteRule> AlgebraRules();  // algebra_rules.cc
absl::Span<const RewriteRule> CastRules();     // cast_rules.cc
absl::Span<const RewriteRule> ViewRules();     // view_rules.cc
std::vector<const RewriteRule*> AllRules();    // in the order in which they are tried

// Every value of `from` is a value of `to` (NaN and infinities included).
bool HoldsAllOf(DType to, DType from);

// One op whose operands may be swapped: its body is one commutative primitive of both.
bool IsCommutative(Op op);

}  // namespace jitfuse::internal

#endif  // JITFUSE_IR_REWRITE_RULE_H_
