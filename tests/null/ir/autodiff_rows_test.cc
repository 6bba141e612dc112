// The gradient of every row of the op table against finite differences; a row is differentiated or
// listed here with the reason why not.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "ir/autodiff_rules.h"
#include "ir/op_enum.h"
#include "ir/subgraph.h"
#include "ir/support/status.h"
#include "tests/test_util/example_graph.h"
#include "tests/test_util/gradient_check.h"

namespace jitfuse::internal {
namespace {

Graph ExampleGraph(const OpDef& def) { return ExampleGraph(def, "f64"); }

bool AnyFloat(const Graph& graph, absl::Span<const Value> values) {
  for (Value v : values) {
    if (IsFloat(graph.type(v).dtype)) return true;
  }
  return false;
}

// Has float operands and float results: a gradient may be asked for.
bool IsContinuous(const Graph& graph) {
  const Node& node = graph.node(graph.outputs()[0]);
  return AnyFloat(graph, node.in) && AnyFloat(graph, graph.outputs());
}

// Rows with float operands and results, but no gradient.
const std::map<std::string_view, std::string_view> kZero = {
    {"sign", "flat"},        {"floor", "flat"},
    {"ceil", "flat"},        {"trunc", "flat"},
    {"round", "flat"},       {"stop_gradient", "means so"},
    {"bernoulli", "random"}, {"float_floor_divide", "flat"},
};

TEST(AutodiffRows, EveryRowIsDifferentiatedOrListed) {
  std::set<std::string_view> none;
  for (const OpDef* def : AllOps()) {
    SCOPED_TRACE(def->name);
    const GradHow how = HowDifferentiated(*def);
    if (how == GradHow::kNone) none.insert(def->name);
    if (def->example.empty() || def->op == Op::kSegmentAdd) continue;  // Autodiff.Gathers has it
    const Graph graph = ExampleGraph(*def);
    if (IsContinuous(graph)) {
      EXPECT_EQ(how == GradHow::kZero, kZero.contains(def->name));
    } else {
      EXPECT_TRUE(how == GradHow::kZero || how == GradHow::kNone ||
                  def->kind == OpKind::kComposite || !(def->domain & kFloats))
          << "no float in its example, so no test reaches its gradient";
    }
  }
  EXPECT_TRUE(none.empty()) << *none.begin();
}

struct Range {
  double low, high;
};

TEST(AutodiffRows, FiniteDifferences) {
  std::mt19937 rng(20261128);
  int rows = 0;
  for (const OpDef* def : AllOps()) {
    if (def->example.empty()) continue;
    const Graph graph = ExampleGraph(*def);
    if (!IsContinuous(graph) || HowDifferentiated(*def) == GradHow::kZero) continue;
    if (def->op == Op::kGradientMark) continue;  // its gradient is given beside the graph
    SCOPED_TRACE(def->name);
    ++rows;
    int ranges = 0;
    for (const Range range : {Range{0.15, 0.85}, Range{-2, 2}, Range{1.2, 3}}) {
      const std::vector<HostTensor> inputs = RandomInputs(graph, &rng, range.low, range.high);
      if (!IsFiniteAt(graph, inputs)) continue;
      ++ranges;
      ExpectGradient(graph, inputs, &rng, 1e-5);
    }
    EXPECT_GE(ranges, 1) << "no range where it is finite";
  }
  EXPECT_GE(rows, 100);
}

// The gradient of a pointwise row by its body and the scalar table: what a new row without a text
// gets. -> results for the float operands, in order.
absl::StatusOr<Graph> GradientByBody(const OpDef& def) {
  Graph graph = ExampleGraph(def);
  const Value out = graph.outputs()[0];
  const Node node = graph.node(out);
  JF_ASSIGN_OR_RETURN(Value ct, graph.AddInput("ct0", node.types[0]));
  std::vector<bool> wanted;
  for (Value v : node.in) wanted.push_back(IsFloat(graph.type(v).dtype));
  GradRule rule(&graph, node, out, absl::MakeConstSpan(&ct, 1), wanted);
  GradByBody(rule);
  JF_RETURN_IF_ERROR(rule.Finish());
  std::vector<Value> results;
  for (size_t i = 0; i < node.in.size(); ++i) {
    if (!wanted[i]) continue;
    JF_ASSIGN_OR_RETURN(Value sum, AddZerosLike(&graph, out));
    for (const GradRule::Part& part : rule.parts()) {
      if (part.operand != i) continue;
      JF_ASSIGN_OR_RETURN(sum, graph.Add(Op::kAdd, {sum, part.value}));
    }
    results.push_back(sum);
  }
  std::vector<SubgraphInput> inputs;
  for (int i = 0; i < static_cast<int>(graph.inputs().size()); ++i)
    inputs.push_back({{graph.inputs()[static_cast<size_t>(i)], 0}, graph.input_name(i)});
  return Subgraph(graph, inputs, results);
}

TEST(AutodiffRows, BodiesGiveWhatTextsSay) {
  const std::set<std::string_view> none = {"lgamma"};  // whose scalar row has none
  std::mt19937 rng(3);
  int rows = 0;
  for (const OpDef* def : AllOps()) {
    if (def->kind != OpKind::kPointwise || HowDifferentiated(*def) != GradHow::kText) continue;
    SCOPED_TRACE(def->name);
    absl::StatusOr<Graph> by_body = GradientByBody(*def);
    EXPECT_EQ(by_body.ok(), !none.contains(def->name)) << by_body.status();
    if (!by_body.ok()) continue;
    ++rows;
    // The same of the row's text: each operand an input of its own, so that none adds up.
    const Graph graph = ExampleGraph(*def);
    const Node& node = graph.node(graph.outputs()[0]);
    const bool distinct =
        std::set<NodeId>{node.in[0].node, node.in.back().node}.size() == node.in.size();
    if (!distinct || node.in.size() > 2) continue;
    std::vector<int> wrt;
    for (Value v : node.in) {
      const auto inputs = graph.inputs();
      wrt.push_back(
          static_cast<int>(std::find(inputs.begin(), inputs.end(), v.node) - inputs.begin()));
    }
    absl::StatusOr<Graph> by_text = Gradient(graph, wrt, {.cotangents = Cotangents::kInputs});
    ASSERT_TRUE(by_text.ok()) << by_text.status();
    for (const Range range : {Range{0.15, 0.85}, Range{-0.85, -0.15}, Range{1.2, 3}}) {
      std::vector<HostTensor> inputs = RandomInputs(graph, &rng, range.low, range.high);
      if (!IsFiniteAt(graph, inputs)) continue;
      inputs.push_back(RandomTensor(DType::kF64, {4, 8}, &rng));
      auto want = EvalDeclared(*by_text, inputs), got = EvalDeclared(*by_body, inputs);
      ASSERT_TRUE(want.ok() && got.ok()) << want.status() << got.status();
      for (size_t k = 0; k < want->size(); ++k) {
        if ((*want)[k].dims != (*got)[k].dims) continue;  // an operand that was broadcast
        for (int64_t i = 0; i < (*want)[k].size(); ++i) {
          const double w = (*want)[k].Number(i);
          EXPECT_NEAR((*got)[k].Number(i), w, 1e-11 * std::max(1.0, std::fabs(w))) << i;
        }
      }
    }
  }
  EXPECT_GE(rows, 60);
}

TEST(AutodiffRows, ZeroRowsPassNothing) {
  for (const auto& [name, why] : kZero) {
    const OpDef& def = *FindOp(name);
    const Graph graph = ExampleGraph(def);
    absl::StatusOr<Graph> gradient = Gradient(graph, {0}, {.cotangents = Cotangents::kInputs});
    ASSERT_TRUE(gradient.ok()) << gradient.status();
    EXPECT_EQ(gradient->node(gradient->outputs()[0]).op, Op::kBroadcast);
    EXPECT_EQ(gradient->node(gradient->node(gradient->outputs()[0]).in[0]).op, Op::kConstant);
  }
}

}  // namespace
}  // namespace jitfuse::internal
