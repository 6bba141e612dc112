#include "ir/rewrite/optimize.h"

#include <ctime>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ir/rewrite/rebuild.h"
#include "ir/text.h"

namespace jitfuse::internal {
namespace {

using ::testing::HasSubstr;

Graph MustParse(std::string_view text) {
  absl::StatusOr<Graph> graph = ParseGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  return graph.ok() ? *graph : Graph();
}

Graph MustOptimize(const Graph& graph, OptimizeStats* stats = nullptr) {
  absl::StatusOr<Graph> optimized = Optimize(graph, stats);
  EXPECT_TRUE(optimized.ok()) << optimized.status();
  return optimized.ok() ? *optimized : Graph();
}

TEST(Rebuild, ACopyIsTheSameGraph) {
  Graph graph = MustParse(R"(graph g<m, n>(%x: f32[n,m], %s: scalar f32) -> (f32[n,1], f32[n,m]) {
  %0, %1 = moments(%x) {axes=[1], keepdims=true} : f32[n,1], f32[n,1]
  %2 = multiply(%x, %s) : f32[n,m]
  return %1, %2
})");
  GraphRewriter rewriter(graph);
  for (NodeId id = 0; id < graph.size(); ++id) ASSERT_TRUE(rewriter.Copy(id).ok());
  absl::StatusOr<Graph> copy = std::move(rewriter).Finish();
  ASSERT_TRUE(copy.ok());
  EXPECT_EQ(copy->Fingerprint(), graph.Fingerprint());
  EXPECT_EQ(GraphToString(*copy), GraphToString(graph));
}

TEST(Rebuild, DeadNodesGoInputsAndGuardsStay) {
  Graph graph = MustParse(R"(graph g(%a: f32[n], %b: f32[m], %unused: f32[4]) -> (f32[n]) {
  %0 = add(%a, %b) : f32[n]
  %1 = exp(%0) : f32[n]
  %2 = relu(%a) : f32[n]
  return %2
})");
  absl::StatusOr<Graph> live = RemoveDeadNodes(graph);
  ASSERT_TRUE(live.ok());
  EXPECT_EQ(live->size(), 4);
  EXPECT_EQ(live->inputs().size(), 3u);
  EXPECT_EQ(live->guards().size(), 1u);
  EXPECT_FALSE(live->BindSymbols({{3}, {5}, {4}}).ok());
  EXPECT_TRUE(live->BindSymbols({{3}, {3}, {4}}).ok());
}

TEST(Optimize, CommonSubexpressionsMergeAlsoCommuted) {
  OptimizeStats stats;
  Graph graph = MustOptimize(MustParse(R"(graph g(%x: f32[n], %y: f32[n]) -> (f32[n], f32[n]) {
  %0 = multiply(%x, %y) : f32[n]
  %1 = multiply(%y, %x) : f32[n]
  %2 = exp(%0) : f32[n]
  %3 = exp(%1) : f32[n]
  return %2, %3
})"),
                             &stats);
  EXPECT_EQ(graph.size(), 4);
  EXPECT_EQ(graph.outputs()[0], graph.outputs()[1]);
  EXPECT_EQ(stats.commuted, 1);
  EXPECT_THAT(GraphToString(graph), HasSubstr("multiply(%x, %y)"));  // the user's order stays
}

TEST(Optimize, OneRuleOpensTheNext) {
  Graph graph = MustOptimize(MustParse(R"(graph g(%x: f32[n,4]) -> (f32[n,4]) {
  %0 = transpose(%x) : f32[4,n]
  %1 = multiply(%0, 1.0) : f32[4,n]
  %2 = transpose(%1) : f32[n,4]
  %3 = cast(%2) {dtype=f32} : f32[n,4]
  %4 = negative(%3) : f32[n,4]
  %5 = add(%4, -0.0) : f32[n,4]
  %6 = negative(%5) : f32[n,4]
  return %6
})"));
  EXPECT_EQ(graph.size(), 1);
}

TEST(Optimize, ResultsOfSeveralOutputsAndMultiResultOpsStay) {
  Graph graph = MustOptimize(MustParse(R"(graph g(%x: f32[n,4]) -> (f32[n], f32[n], f32[n,4]) {
  %m, %v = moments(%x) {axes=[1]} : f32[n], f32[n]
  %0 = multiply(%v, 1.0) : f32[n]
  %1 = divide(%x, 4.0) : f32[n,4]
  return %0, %m, %1
})"));
  EXPECT_EQ(graph.outputs()[0].result, 1);
  EXPECT_EQ(graph.outputs()[1].result, 0);
  EXPECT_THAT(GraphToString(graph), HasSubstr("multiply(%x, 0.25)"));
}

TEST(Optimize, AnOutputThatIsAnInputOrAConstant) {
  Graph graph =
      MustOptimize(MustParse(R"(graph g(%x: f32[4], %s: scalar f32) -> (f32[4], f32[], f32[]) {
  %0 = add(%x, -0.0) : f32[4]
  %c = constant {value=2} : f32[]
  %1 = multiply(%c, 3.0) : f32[]
  return %0, %s, %1
})"));
  EXPECT_EQ(graph.outputs()[0].node, graph.inputs()[0]);
  EXPECT_EQ(graph.ConstantValue(graph.outputs()[2].node).f32, 6.0f);
}

// Operands of one shape stay operands of one shape.
TEST(Optimize, ExpandedGraphsStayExpanded) {
  Graph graph = MustOptimize(MustParse(R"(graph g(%x: f32[n,4]) -> (f32[n,4]) {
  %c = constant {value=8} : f32[]
  %0 = broadcast(%c) {shape=[n,4]} : f32[n,4]
  %1 = divide(%x, %0) : f32[n,4]
  %2 = add(%0, %1) : f32[n,4]
  return %2
})"));
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (graph.node(id).kind() != OpKind::kPointwise) continue;
    for (Value v : graph.node(id).in)
      EXPECT_TRUE(graph.type(v).dims == graph.node(id).types[0].dims) << GraphToString(graph);
  }
}

std::string LongChain(int lines) {
  std::string text = "graph f(%x: f32[n,8], %y: f32[n,8]) -> (f32[n,8]) {\n";
  const char* ops[] = {
      "add(%P, %y)",   "multiply(%P, 1.0)", "negative(%P)",    "negative(%P)",
      "tanh(%P)",      "multiply(%y, %P)",  "divide(%P, 2.0)", "cast(%P) {dtype=f32}",
      "add(-0.0, %P)", "relu(%P)",          "relu(%P)",        "subtract(%P, %x)"};
  for (int i = 0; i < lines; ++i) {
    std::string op = ops[static_cast<size_t>(i) % std::size(ops)];
    op.replace(op.find("%P"), 2, i == 0 ? "%x" : absl::StrCat("%", i - 1));
    absl::StrAppend(&text, "  %", i, " = ", op, " : f32[n,8]\n");
  }
  return absl::StrCat(text, "  return %", lines - 1, "\n}\n");
}

TEST(Optimize, TimeIsNearLinear) {
  auto seconds = [](int lines, int* size) {
    Graph graph = MustParse(LongChain(lines));
    std::clock_t start = std::clock();
    OptimizeStats stats;
    Graph optimized = MustOptimize(graph, &stats);
    *size = optimized.size();
    EXPECT_LT(stats.passes, kMaxPasses);
    return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  };
  int small_size = 0;
  int large_size = 0;
  seconds(1000, &small_size);  // warms the tables
  double small = seconds(10000, &small_size);
  double large = seconds(100000, &large_size);
  EXPECT_LT(small_size, 6000);
  EXPECT_NEAR(large_size, 10 * small_size, 200);
  RecordProperty("small_ms", static_cast<int>(small * 1000));
  RecordProperty("large_ms", static_cast<int>(large * 1000));
  EXPECT_LT(large, 40 * small + 0.05);
}

TEST(Optimize, Idempotent) {
  Graph once = MustOptimize(MustParse(LongChain(500)));
  OptimizeStats stats;
  Graph twice = MustOptimize(once, &stats);
  EXPECT_EQ(once.Fingerprint(), twice.Fingerprint());
  EXPECT_TRUE(stats.fired.empty());
  EXPECT_EQ(stats.passes, 1);
}

}  // namespace
}  // namespace jitfuse::internal
