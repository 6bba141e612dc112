// Gradients are graphs like any other: that of every row, planned for several targets and
// interpreted, stays within the evaluator's bounds.
#include <gtest/gtest.h>

#include "ir/autodiff_rules.h"
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

}  // namespace
}  // namespace jitfuse::internal
