// Gradients are graphs like any other: that of every row, planned for several targets and
// interpreted, stays within the evaluator's bounds.
#include <gtest/gtest.h>

#include "ir/autodiff_rules.h"
#include "ir/autodiff_split.h"
#include "tests/graph_fuzz/run_case.h"
#include "tests/test_util/example_graph.h"
#include "tests/test_util/gradient_check.h"
#include "tests/test_util/plan_checks.h"

namespace jitfuse::internal {
namespace {

void ExpectGradientPlans(const Graph& graph, std::mt19937* rng) {
  const std::vector<int> wrt = FloatInputs(graph);
  absl::StatusOr<Graph> gradient =
      Gradient(graph, wrt, {.cotangents = Cotangents::kInputs, .with_values = true});
  ASSERT_TRUE(gradient.ok()) << gradient.status();
  SCOPED_TRACE(GraphToString(*gradient));
  const std::vector<HostTensor> inputs = RandomInputs(*gradient, rng, 0.15, 0.85);
  absl::StatusOr<std::vector<WideTensor>> want = EvalWide(*gradient, inputs);
  ASSERT_TRUE(want.ok()) << want.status();
  ExpectPlansAgree(*gradient, inputs, *want);
}

TEST(GradientPlans, EveryRow) {
  std::mt19937 rng(5);
  int rows = 0;
  for (const OpDef* def : AllOps()) {
    const GradHow how = HowDifferentiated(*def);
    if (def->example.empty() || how == GradHow::kZero || how == GradHow::kNone) continue;
    if (def->name == "gradient_mark") continue;  // its gradient is given beside the graph
    for (const char* dtype : {"f32", "bf16"}) {
      const Graph graph = ExampleGraph(*def, dtype);
      bool floats = false;
      for (Value v : graph.outputs()) floats = floats || IsFloat(graph.type(v).dtype);
      if (!floats) continue;
      SCOPED_TRACE(def->name);
      ++rows;
      ExpectGradientPlans(graph, &rng);
    }
  }
  EXPECT_GE(rows, 200);
}

// Those of the fuzzer's random graphs, with its inputs (special values among them); they also read
// back from text and split in two.
TEST(GradientPlans, RandomGraphs) {
  std::mt19937 rng(1);
  int checked = 0;
  for (uint64_t seed = 0; seed < 120; ++seed) {
    SCOPED_TRACE(seed);
    const FuzzCase c = MakeCase(seed);
    const std::string text = GraphToString(c.graph);
    const std::vector<int> wrt = FloatInputs(c.graph);
    bool floats = false;
    for (Value v : c.graph.outputs()) floats = floats || IsFloat(c.graph.type(v).dtype);
    // A mark's gradient is given beside the graph.
    if (wrt.empty() || !floats || text.find("gradient_mark") != std::string::npos) continue;
    SCOPED_TRACE(text);
    absl::StatusOr<Graph> gradient = Gradient(c.graph, wrt, {.cotangents = Cotangents::kInputs});
    ASSERT_TRUE(gradient.ok()) << gradient.status();
    absl::StatusOr<ForwardBackward> split = SplitForwardBackward(c.graph, wrt);
    ASSERT_TRUE(split.ok()) << split.status();
    for (const Graph* g : {&*gradient, &split->forward, &split->backward}) {
      EXPECT_TRUE(VerifyGraph(*g).ok()) << VerifyGraph(*g);
      EXPECT_TRUE(ParseGraph(GraphToString(*g)).ok());
    }
    absl::StatusOr<std::vector<FuzzCall>> calls = PrepareCalls(c);
    ASSERT_TRUE(calls.ok()) << calls.status();
    std::vector<HostTensor> inputs;
    for (const FuzzTensor& t : calls->front().inputs) inputs.push_back(t.logical);
    absl::StatusOr<std::vector<HostTensor>> values = EvalDeclared(c.graph, inputs);
    ASSERT_TRUE(values.ok()) << values.status();
    for (const HostTensor& t : *values) {
      if (IsFloat(t.dtype)) inputs.push_back(RandomTensor(t.dtype, t.dims, &rng, -1, 1));
    }
    absl::StatusOr<std::vector<WideTensor>> want = EvalWide(*gradient, inputs);
    ASSERT_TRUE(want.ok()) << want.status();
    auto got = RunGraphByPlans(*gradient, inputs, *TargetFor("sm_90"), {});
    ASSERT_TRUE(got.ok()) << got.status();
    for (size_t k = 0; k < got->size(); ++k) {
      const CompareResult r = Compare((*want)[k], (*got)[k]);
      EXPECT_TRUE(r.ok) << "gradient " << k << ": " << r.text;
    }
    ++checked;
  }
  EXPECT_GE(checked, 50);
}

}  // namespace
}  // namespace jitfuse::internal
