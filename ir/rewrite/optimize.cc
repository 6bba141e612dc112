#include "ir/rewrite/optimize.h"

#include <algorithm>
#include <array>
#include <tuple>

#include "ir/op_enum.h"
#include "ir/rewrite/rebuild.h"
#include "ir/rewrite/rule.h"
#include "ir/support/status.h"

namespace jitfuse::internal {
namespace {

using RuleIndex = std::vector<std::vector<const RewriteRule*>>;

// By root op, the rules to try, in order.
const RuleIndex& Rules() {
  static const RuleIndex* index = [] {
    auto* rules = new RuleIndex(AllOps().size());
    for (const RewriteRule* rule : AllRules()) {
      for (const OpDef* def : AllOps()) {
        bool wanted =
            rule->root == Op::kCount ? def->kind == OpKind::kPointwise : rule->root == def->op;
        if (wanted) (*rules)[static_cast<size_t>(def->op)].push_back(rule);
      }
    }
    return rules;
  }();
  return *index;
}

// One pass over the live nodes of a graph. Equal nodes merge because copying hash-conses.
class Pass {
 public:
  Pass(const Graph& from, OptimizeStats* stats)
      : rewriter_(from), context_(&rewriter_.to()), stats_(stats) {}

  absl::StatusOr<Graph> Run() {
    const Graph& from = rewriter_.from();
    std::vector<bool> live = LiveNodes(from);
    for (NodeId id = 0; id < from.size(); ++id) {
      if (!live[static_cast<size_t>(id)]) continue;
      JF_RETURN_IF_ERROR(rewriter_.Copy(id));
      if (from.node(id).types.size() == 1) rewriter_.Set({id, 0}, Simplify(rewriter_.Map({id, 0})));
    }
    return std::move(rewriter_).Finish();
  }

  bool changed() const { return changed_; }

 private:
  Value Simplify(Value v) {
    for (int i = 0; i < kMaxRewritesPerNode; ++i) {
      std::optional<Value> next = ApplyFirst(v);
      if (!next) break;
      v = *next;
    }
    return Commuted(v);
  }

  std::optional<Value> ApplyFirst(Value v) {
    Op op = rewriter_.to().node(v).op;
    for (const RewriteRule* rule : Rules()[static_cast<size_t>(op)]) {
      std::optional<Value> next = Apply(*rule, v);
      if (!next) continue;
      changed_ = true;
      ++stats_->fired[rule->name];
      return next;
    }
    return std::nullopt;
  }

  std::optional<Value> Apply(const RewriteRule& rule, Value v) {
    const Graph& graph = rewriter_.to();
    const Node& node = graph.node(v);
    if (!node.in.empty() && !IsIn(graph.type(node.in[0]).dtype, rule.dtypes)) return std::nullopt;
    if (rule.constant != nullptr) {
      std::optional<ScalarValue> uniform = context_.Uniform(node.in.back());
      if (!uniform || !rule.constant(graph.type(node.in.back()).dtype, *uniform))
        return std::nullopt;
    }
    context_.set_root(v);
    std::optional<Value> next = rule.apply(context_);
    if (!next || *next == v || !(graph.type(*next) == graph.type(v))) return std::nullopt;
    return next;
  }

  // f(y, x) is the f(x, y) seen before; the order in which the user wrote the first one stays.
  Value Commuted(Value v) {
    const Node& node = rewriter_.to().node(v);
    if (node.in.size() != 2 || !IsCommutative(node.op)) return v;
    Id low{node.in[0].node, node.in[0].result};
    Id high{node.in[1].node, node.in[1].result};
    if (high < low) std::swap(low, high);
    auto [seen, is_new] = commuted_.try_emplace({node.op, low, high}, v);
    if (is_new || seen->second == v ||
        !(rewriter_.to().type(seen->second) == rewriter_.to().type(v)))
      return v;
    ++stats_->commuted;
    changed_ = true;
    return seen->second;
  }

  using Id = std::pair<NodeId, int32_t>;
  GraphRewriter rewriter_;
  RuleContext context_;
  OptimizeStats* stats_;
  absl::flat_hash_map<std::tuple<Op, Id, Id>, Value> commuted_;
  bool changed_ = false;
};

}  // namespace

absl::StatusOr<Graph> Optimize(const Graph& graph, OptimizeStats* stats) {
  OptimizeStats own;
  if (stats == nullptr) stats = &own;
  Graph current;
  const Graph* from = &graph;
  for (bool changed = true; changed && stats->passes < kMaxPasses; ++stats->passes) {
    Pass pass(*from, stats);
    JF_ASSIGN_OR_RETURN(Graph next, pass.Run());
    changed = pass.changed();
    current = std::move(next);
    from = &current;
  }
  return RemoveDeadNodes(current);  // what the last pass rewrote leaves operands behind
}

}  // namespace jitfuse::internal
