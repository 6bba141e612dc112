#include "ir/autodiff_split.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "ir/expand.h"
#include "ir/infer.h"
#include "ir/pointwise.h"
#include "ir/scalar_expr.h"
#include "ir/subgraph.h"
#include "ir/support/status.h"

namespace jitfuse::internal {
namespace {

bool IsSource(const Node& node) {
  return node.kind() == OpKind::kInput || node.kind() == OpKind::kScalar;
}

std::string Describe(const Graph& graph, Value v) {
  const Node& node = graph.node(v);
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    if (graph.inputs()[i] == v.node)
      return absl::StrCat(graph.input_name(static_cast<int>(i)), ": ", graph.TypeString(v));
  }
  std::vector<TensorType> types;
  for (Value in : node.in) types.push_back(graph.type(in));
  return absl::StrCat(CallToString(node.def(), types, graph.symbols().names), " -> ",
                      graph.TypeString(v));
}

enum class Cost : uint8_t { kNothing, kCheap, kExpensive };

// What it takes to compute a node again. A composite is what it expands to, in a scratch graph.
class Costs {
 public:
  explicit Costs(const Graph& graph) : graph_(graph), scratch_(graph) {}

  Cost Of(NodeId id) {
    const Node& node = graph_.node(id);
    if (node.kind() != OpKind::kComposite) return OfKind(node);
    auto [it, is_new] = composites_.try_emplace(id, Cost::kNothing);
    if (is_new) it->second = OfExpansion(node);
    return it->second;
  }
  // Issue slots an element of a node's own work.
  int Slots(NodeId id) const {
    const Node& node = graph_.node(id);
    if (node.kind() != OpKind::kPointwise) return 1;
    std::vector<DType> types;
    for (Value v : node.in) types.push_back(ComputeType(graph_.type(v).dtype));
    absl::StatusOr<ScalarProgram> program = PointwiseProgram(node, types, BodyForm::kOfResult);
    if (!program.ok()) return kMostRecomputed;
    int slots = 0;
    for (const ScalarInst& inst : program->insts) {
      if (inst.op != ScalarOp::kArg && inst.op != ScalarOp::kConst)
        slots += GetScalarOp(inst.op).cost;
    }
    return slots;
  }

 private:
  static Cost OfKind(const Node& node) {
    switch (node.kind()) {
      case OpKind::kInput:
      case OpKind::kScalar:
      case OpKind::kConstant:
      case OpKind::kIota:
        return Cost::kNothing;
      case OpKind::kPointwise:
        return node.def().FindAttr("stream") != nullptr ? Cost::kExpensive : Cost::kCheap;
      case OpKind::kView:
      case OpKind::kJoin:
      case OpKind::kGather:
        return Cost::kCheap;
      default:
        return Cost::kExpensive;
    }
  }

  Cost OfExpansion(const Node& node) {
    if (node.in.empty()) return Cost::kNothing;
    Expansion results = node.def().expand(&scratch_, node);
    if (!results.ok()) return Cost::kExpensive;
    absl::flat_hash_set<NodeId> seen;
    std::vector<NodeId> stack;
    for (Value v : *results) stack.push_back(v.node);
    while (!stack.empty()) {
      const NodeId id = stack.back();
      stack.pop_back();
      const bool operand =
          std::any_of(node.in.begin(), node.in.end(), [id](Value v) { return v.node == id; });
      if (operand || !seen.insert(id).second) continue;
      if (OfKind(scratch_.node(id)) == Cost::kExpensive) return Cost::kExpensive;
      for (Value v : scratch_.node(id).in) stack.push_back(v.node);
    }
    return Cost::kCheap;
  }

  const Graph& graph_;
  Graph scratch_;
  absl::flat_hash_map<NodeId, Cost> composites_;
};

// Whether an op reads its operands from memory, in whole: what it reads is written there.
bool ReadsMemory(const Node& node) {
  if (node.kind() == OpKind::kMatMul || node.kind() == OpKind::kSort ||
      node.kind() == OpKind::kSegment)
    return true;
  return node.def().name == "linear" || node.def().name == "index_add" ||
         node.def().name == "scatter_add";
}

SizeExpr BytesOf(const Graph& graph, Value v) {
  const TensorType& type = graph.type(v);
  return NumElements(type.dims) * SizeExpr(ItemSize(type.dtype));
}

// Decides for each value of the forward part that the backward part reads.
class Splitter {
 public:
  Splitter(const Graph& graph, const JointGraph& joint)
      : original_(graph), joint_(joint), graph_(joint.graph), costs_(joint.graph) {}

  absl::StatusOr<ForwardBackward> Run() {
    MarkParts();
    for (Value v : needed_) DecideAlone(v);
    for (Value v : needed_) DecideCheap(v);
    BindSymbols();
    return Cut();
  }

 private:
  // The backward part: what depends on a cotangent. Of the rest, what it reads is needed.
  void MarkParts() {
    const auto size = static_cast<size_t>(graph_.size());
    backward_.assign(size, false);
    for (Value v : joint_.cotangents) backward_[static_cast<size_t>(v.node)] = true;
    for (NodeId id = 0; id < graph_.size(); ++id) {
      for (Value v : graph_.node(id).in) {
        if (backward_[static_cast<size_t>(v.node)]) backward_[static_cast<size_t>(id)] = true;
      }
    }
    std::vector<bool> live(size, false), forward_live(size, false);
    for (Value v : joint_.gradients) {
      live[static_cast<size_t>(v.node)] = true;
      if (!IsBackward(v)) Need(v);
    }
    for (Value v : original_.outputs()) forward_live[static_cast<size_t>(v.node)] = true;
    for (NodeId id = graph_.size(); id-- > 0;) {
      const auto at = static_cast<size_t>(id);
      const Node& node = graph_.node(id);
      for (Value v : node.in) {
        if (forward_live[at]) {
          forward_live[static_cast<size_t>(v.node)] = true;
          if (ReadsMemory(node)) written_.insert(v);
        }
        if (!live[at] || !backward_[at]) continue;
        live[static_cast<size_t>(v.node)] = true;
        if (!IsBackward(v)) Need(v);
      }
    }
    std::sort(needed_.begin(), needed_.end(), [](Value a, Value b) {
      return std::pair(a.node, a.result) < std::pair(b.node, b.result);
    });
  }

  bool IsBackward(Value v) const { return backward_[static_cast<size_t>(v.node)]; }
  void Need(Value v) {
    if (seen_.insert(v).second) needed_.push_back(v);
  }

  void Keep(Value v, std::string reason) {
    if (!kept_.insert(v).second) return;
    order_.push_back(v);
    decisions_.push_back({Describe(graph_, v), true, std::move(reason)});
  }

  std::optional<int> OutputOf(Value v) const {
    const auto outputs = original_.outputs();
    auto it = std::find(outputs.begin(), outputs.end(), v);
    if (it == outputs.end()) return std::nullopt;
    return static_cast<int>(it - outputs.begin());
  }

  // What is decided whatever else is kept.
  void DecideAlone(Value v) {
    const Node& node = graph_.node(v);
    if (IsSource(node)) return Keep(v, "an input");
    if (OutputOf(v)) return Keep(v, "an output");
    if (costs_.Of(v.node) == Cost::kExpensive) return Keep(v, ExpensiveReason(node));
    if (written_.contains(v)) Keep(v, "written to memory anyway, for a product or a sort");
  }

  static std::string ExpensiveReason(const Node& node) {
    return absl::StrCat("expensive to make again: ", ToAbsl(node.def().name));
  }

  // What a cheap value is made of that must be kept, and the work an element.
  struct Recipe {
    std::vector<Value> leaves;
    int slots = 0;
  };
  Recipe RecipeOf(Value v) {
    Recipe recipe;
    std::vector<Value> stack = {v};
    absl::flat_hash_set<Value> seen;
    absl::flat_hash_set<NodeId> worked;
    while (!stack.empty() && recipe.slots <= kMostRecomputed) {
      const Value at = stack.back();
      stack.pop_back();
      if (!seen.insert(at).second) continue;
      const Node& node = graph_.node(at);
      const Cost cost = costs_.Of(at.node);
      const bool leaf = at != v && (kept_.contains(at) || IsSource(node) || OutputOf(at) ||
                                    cost == Cost::kExpensive);
      if (leaf) {
        recipe.leaves.push_back(at);
        continue;
      }
      if (worked.insert(at.node).second) recipe.slots += costs_.Slots(at.node);
      stack.insert(stack.end(), node.in.begin(), node.in.end());
    }
    std::sort(recipe.leaves.begin(), recipe.leaves.end(), [](Value a, Value b) {
      return std::pair(a.node, a.result) < std::pair(b.node, b.result);
    });
    return recipe;
  }

  void DecideCheap(Value v) {
    if (kept_.contains(v)) return;
    const Node& node = graph_.node(v);
    if (costs_.Of(v.node) == Cost::kNothing) return;
    const Recipe recipe = RecipeOf(v);
    if (recipe.slots > kMostRecomputed)
      return Keep(v,
                  absl::StrCat("more than ", kMostRecomputed, " slots an element to make again"));
    SizeExpr more(0);
    for (Value leaf : recipe.leaves) {
      const bool held = kept_.contains(leaf) || IsSource(graph_.node(leaf)) || OutputOf(leaf);
      if (!held) more = more + BytesOf(graph_, leaf);
    }
    if (!(BytesOf(graph_, v) - more).IsKnownNonNegative())
      return Keep(v, "what it is made of is larger");
    for (Value leaf : recipe.leaves) {
      const Node& made = graph_.node(leaf);
      if (IsSource(made))
        Keep(leaf, absl::StrCat("for ", ToAbsl(node.def().name), ", which is made again from it"));
      else
        Keep(leaf, OutputOf(leaf) ? "an output" : ExpensiveReason(made));
    }
    decisions_.push_back(
        {Describe(graph_, v), false,
         absl::StrCat("cheap: ", recipe.slots, " slots an element, saves ",
                      BytesOf(graph_, v).ToString(graph_.symbols().names), " bytes")});
  }

  // Every size of the backward graph must be some input's: an input that has it is kept for its
  // shape.
  void BindSymbols() {
    const auto count = graph_.symbols().names.size();
    std::vector<bool> bound(count, false);
    auto bind = [&](Value v) {
      for (const Dim& d : graph_.type(v).dims) {
        if (auto s = d.AsSymbol()) bound[static_cast<size_t>(*s)] = true;
      }
    };
    for (Value v : joint_.cotangents) bind(v);
    for (Value v : order_) bind(v);
    for (NodeId id : original_.inputs()) {
      for (const Dim& d : graph_.type({id, 0}).dims) {
        auto s = d.AsSymbol();
        if (!s || bound[static_cast<size_t>(*s)]) continue;
        Keep({id, 0}, "for its sizes");
        bind({id, 0});
      }
    }
  }

  absl::StatusOr<ForwardBackward> Cut() {
    ForwardBackward out;
    std::vector<SubgraphInput> inputs, backward_inputs;
    for (int i = 0; i < static_cast<int>(original_.inputs().size()); ++i)
      inputs.push_back({{original_.inputs()[static_cast<size_t>(i)], 0}, original_.input_name(i)});
    std::vector<Value> outputs(original_.outputs().begin(), original_.outputs().end());
    for (Value v : order_) {
      auto input = std::find_if(inputs.begin(), inputs.end(),
                                [v](const SubgraphInput& in) { return in.value == v; });
      const std::optional<int> output = OutputOf(v);
      SavedValue saved;
      std::string name;
      if (input != inputs.end()) {
        saved = {SavedValue::From::kInput, static_cast<int>(input - inputs.begin())};
        name = input->name;
      } else if (output) {
        saved = {SavedValue::From::kOutput, *output};
        name = absl::StrCat("out", *output);
      } else {
        saved = {SavedValue::From::kExtra, static_cast<int>(outputs.size())};
        name = absl::StrCat("saved", out.saved.size());
        outputs.push_back(v);
      }
      out.saved.push_back(saved);
      backward_inputs.push_back({v, name});
    }
    int next = 0;
    for (int i = 0; i < static_cast<int>(original_.outputs().size()); ++i) {
      if (!IsFloat(graph_.type(original_.outputs()[static_cast<size_t>(i)]).dtype)) continue;
      out.cotangents.push_back(i);
      backward_inputs.push_back(
          {joint_.cotangents[static_cast<size_t>(next++)], absl::StrCat("ct", i)});
    }
    JF_ASSIGN_OR_RETURN(out.forward, Subgraph(graph_, inputs, outputs));
    JF_ASSIGN_OR_RETURN(out.backward, Subgraph(graph_, backward_inputs, joint_.gradients));
    out.backward.set_name(absl::StrCat(original_.name(), "_backward"));
    out.decisions = std::move(decisions_);
    return out;
  }

  const Graph& original_;
  const JointGraph& joint_;
  const Graph& graph_;
  Costs costs_;
  std::vector<bool> backward_;
  absl::flat_hash_set<Value> seen_, kept_, written_;
  std::vector<Value> needed_, order_;
  std::vector<SplitDecision> decisions_;
};

}  // namespace

absl::StatusOr<ForwardBackward> SplitForwardBackward(const Graph& graph, absl::Span<const int> wrt,
                                                     absl::Span<const CustomGradient> custom) {
  GradientOptions options;
  options.cotangents = Cotangents::kInputs;
  options.custom = custom;
  JF_ASSIGN_OR_RETURN(JointGraph joint, BuildJointGraph(graph, wrt, options));
  return Splitter(graph, joint).Run();
}

std::string ForwardBackward::Explain() const {
  std::string text;
  for (const SplitDecision& d : decisions)
    absl::StrAppend(&text, d.kept ? "kept      " : "recompute ", d.value, ": ", d.reason, "\n");
  return text;
}

}  // namespace jitfuse::internal
