#include "ir/expand.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "ir/op_enum.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "tests/test_util/golden.h"

namespace jitfuse::internal {
namespace {

Graph Parse(const std::string& text) {
  auto graph = ParseGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  return graph.ok() ? *graph : Graph();
}

// Expand, and all that it promises.
Graph Expanded(const Graph& graph) {
  auto out = Expand(graph);
  EXPECT_TRUE(out.ok()) << out.status();
  if (!out.ok()) return Graph();
  EXPECT_TRUE(VerifyGraph(*out).ok()) << VerifyGraph(*out);
  for (NodeId id = 0; id < out->size(); ++id) {
    const Node& node = out->node(id);
    EXPECT_NE(node.kind(), OpKind::kComposite) << node.def().name;
    if (node.kind() != OpKind::kPointwise) continue;
    for (Value v : node.in) EXPECT_EQ(out->type(v).dims, node.types[0].dims) << node.def().name;
  }
  EXPECT_EQ(out->name(), graph.name());
  EXPECT_EQ(out->inputs().size(), graph.inputs().size());
  EXPECT_EQ(out->guards().size() >= graph.guards().size(), true);
  EXPECT_EQ(out->outputs().size(), graph.outputs().size());
  for (size_t i = 0; i < graph.outputs().size() && i < out->outputs().size(); ++i) {
    const TensorType &a = graph.type(graph.outputs()[i]), &b = out->type(out->outputs()[i]);
    EXPECT_EQ(a.dtype, b.dtype);
    EXPECT_TRUE(out->SameShape(a.dims, b.dims));
  }
  return *std::move(out);
}

std::string ExpandText(const std::string& text) { return GraphToString(Expanded(Parse(text))); }

TEST(Expand, BroadcastsBecomeExplicit) {
  EXPECT_EQ(ExpandText(R"(
graph f(%x: f32[n,8], %b: f32[8], %lr: scalar f32) -> (f32[n,8]) {
  %0 = multiply(%x, %lr) : f32[n,8]
  %1 = add(%0, %b) : f32[n,8]
  %2 = multiply(%1, 0.5) : f32[n,8]
  return %2
})"),
            R"(graph f(%x: f32[n,8], %b: f32[8], %lr: scalar f32) -> (f32[n,8]) {
  %0 = broadcast(%lr) {shape=[n,8]} : f32[n,8]
  %1 = multiply(%x, %0) : f32[n,8]
  %2 = broadcast(%b) {shape=[n,8]} : f32[n,8]
  %3 = add(%1, %2) : f32[n,8]
  %4 = constant {value=0.5} : f32[]
  %5 = broadcast(%4) {shape=[n,8]} : f32[n,8]
  %6 = multiply(%3, %5) : f32[n,8]
  return %6
}
)");
}

TEST(Expand, SoftmaxOfBf16ComputesInF32) {
  EXPECT_EQ(ExpandText(R"(
graph f(%x: bf16[n,8]) -> (bf16[n,8]) {
  %0 = softmax(%x) : bf16[n,8]
  return %0
})"),
            R"(graph f(%x: bf16[n,8]) -> (bf16[n,8]) {
  %0 = cast(%x) {dtype=f32} : f32[n,8]
  %1, %2 = max_sumexp(%0) {axes=[1], keepdims=true} : f32[n,1], f32[n,1]
  %3 = constant {value=-inf} : f32[]
  %4 = broadcast(%3) {shape=[n,1]} : f32[n,1]
  %5 = equal(%1, %4) : bool[n,1]
  %6 = constant {value=0.0} : f32[]
  %7 = broadcast(%6) {shape=[n,1]} : f32[n,1]
  %8 = where(%5, %7, %1) : f32[n,1]
  %9 = broadcast(%8) {shape=[n,8]} : f32[n,8]
  %10 = subtract(%0, %9) : f32[n,8]
  %11 = exp(%10) : f32[n,8]
  %12 = reciprocal(%2) : f32[n,1]
  %13 = broadcast(%12) {shape=[n,8]} : f32[n,8]
  %14 = multiply(%11, %13) : f32[n,8]
  %15 = cast(%14) {dtype=bf16} : bf16[n,8]
  return %15
}
)");
}

TEST(Expand, LayerNormWithMixedParameters) {
  std::string text = ExpandText(R"(
graph f(%x: bf16[n,8], %w: f32[8], %b: bf16[8]) -> (bf16[n,8]) {
  %0 = layer_norm(%x, %w, %b) {eps=0.25} : bf16[n,8]
  return %0
})");
  EXPECT_NE(text.find("%1, %2 = moments(%0) {axes=[1], keepdims=true} : f32[n,1], f32[n,1]"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("rsqrt("), std::string::npos);
  EXPECT_NE(text.find("constant {value=0.25} : f32[]"), std::string::npos);
  EXPECT_NE(text.find(" cast(%b) {dtype=f32} : f32[8]"), std::string::npos);
  EXPECT_EQ(text.find(" cast(%w)"), std::string::npos);
}

TEST(Expand, UserCastsStay) {
  std::string text = ExpandText(R"(
graph f(%x: f32[4]) -> (f32[4]) {
  %0 = cast(%x) {dtype=bf16} : bf16[4]
  %1 = cast(%0) {dtype=f32} : f32[4]
  return %1
})");
  EXPECT_NE(text.find("cast(%x) {dtype=bf16}"), std::string::npos) << text;
  EXPECT_NE(text.find("cast(%0) {dtype=f32}"), std::string::npos) << text;
}

TEST(Expand, LinearIsOneMatrixProduct) {
  EXPECT_EQ(ExpandText(R"(
graph f(%x: f32[2,n,8], %w: f32[5,8], %b: f32[5]) -> (f32[2,n,5]) {
  %0 = linear(%x, %w, %b) : f32[2,n,5]
  return %0
})"),
            R"(graph f(%x: f32[2,n,8], %w: f32[5,8], %b: f32[5]) -> (f32[2,n,5]) {
  %0 = reshape(%x) {shape=[n*2,8]} : f32[n*2,8]
  %1 = matmul(%0, %w) {transpose_b=true} : f32[n*2,5]
  %2 = broadcast(%b) {shape=[n*2,5]} : f32[n*2,5]
  %3 = add(%1, %2) : f32[n*2,5]
  %4 = reshape(%3) {shape=[2,n,5]} : f32[2,n,5]
  return %4
}
)");
}

TEST(Expand, EveryCompositeInEveryShape) {
  const char* calls[] = {"var(%x) {axes=[1], correction=1} : T[n]",
                         "var(%x) {axes=[0], keepdims=true} : T[1,8]",
                         "var(%x) {correction=1.5} : T[]",
                         "var(%x) {axes=[1]} : T[n]",
                         "logsumexp(%x) {axes=[0,1]} : T[]",
                         "logsumexp(%x) {axes=[1], keepdims=true} : T[n,1]",
                         "softmax(%x) {axis=0} : T[n,8]",
                         "log_softmax(%x) : T[n,8]",
                         "layer_norm(%x) : T[n,8]",
                         "layer_norm(%x, %w) : T[n,8]",
                         "layer_norm(%x, %x) {norm_dims=2} : T[n,8]",
                         "rms_norm(%x, %w) : T[n,8]",
                         "rms_norm(%x) {norm_dims=2} : T[n,8]",
                         "unsqueeze(%x) {axes=[0,2]} : T[1,n,1,8]",
                         "squeeze(%z) {axes=[0]} : T[8]",
                         "linear(%x, %m, %w) : T[n,8]",
                         "linear(%w, %m) : T[8]",
                         "linear(%w, %m, %w) : T[8]"};
  for (const char* dtype : {"f32", "f64", "f16", "bf16"}) {
    for (std::string call : calls) {
      for (size_t at; (at = call.find('T')) != std::string::npos;) call.replace(at, 1, dtype);
      std::string type = call.substr(call.rfind(" : ") + 3);
      SCOPED_TRACE(call);
      auto fill = [&](std::string t) { return absl::StrCat(dtype, t); };
      Expanded(Parse(absl::StrCat("graph f(%x: ", fill("[n,8]"), ", %w: ", fill("[8]"),
                                  ", %z: ", fill("[1,8]"), ", %m: ", fill("[8,8]"), ") -> (", type,
                                  ") {\n  %r = ", call, "\n  return %r\n}\n")));
    }
  }
}

TEST(Expand, EmptyShapes) {
  for (const char* call : {"softmax(%x) : f32[0,8]", "softmax(%x) {axis=0} : f32[0,8]",
                           "layer_norm(%x) : f32[0,8]", "logsumexp(%x) {axes=[0]} : f32[8]",
                           "var(%x) {axes=[0], correction=1} : f32[8]", "add(%x, 1) : f32[0,8]"}) {
    std::string type = std::string(call).substr(std::string(call).rfind(" : ") + 3);
    SCOPED_TRACE(call);
    Expanded(Parse(absl::StrCat("graph f(%x: f32[0,8]) -> (", type, ") {\n  %r = ", call,
                                "\n  return %r\n}\n")));
  }
}

TEST(Expand, GuardsAndUnifiedSizesSurvive) {
  Graph g = Parse(R"(
graph f(%x: f32[n,8], %y: f32[m,8]) -> (f32[n,8]) {
  %0 = add(%x, %y) : f32[n,8]
  %1 = softmax(%0) : f32[n,8]
  return %1
})");
  ASSERT_EQ(g.guards().size(), 1u);
  Graph e = Expanded(g);
  EXPECT_EQ(e.guards().size(), 1u);
  EXPECT_FALSE(e.BindSymbols({{2, 8}, {3, 8}}).ok());
  EXPECT_TRUE(e.BindSymbols({{2, 8}, {2, 8}}).ok());
}

TEST(Expand, UnusedInputsStayAndDeadNodesGo) {
  Graph e = Expanded(Parse(R"(
graph f(%x: f32[4], %unused: f32[9], %s: scalar f32) -> (f32[4]) {
  %0 = exp(%x) : f32[4]
  %1 = softmax(%unused) : f32[9]
  return %0
})"));
  EXPECT_EQ(e.inputs().size(), 3u);
  EXPECT_EQ(e.size(), 4);
}

TEST(Expand, ExpandedGraphsStayAsTheyAre) {
  Graph once = Expanded(Parse(R"(
graph f(%x: f16[n,8], %w: f16[8]) -> (f16[n,8]) {
  %0 = rms_norm(%x, %w) : f16[n,8]
  return %0
})"));
  Graph twice = Expanded(once);
  EXPECT_EQ(once.Fingerprint(), twice.Fingerprint());
}

TEST(Expand, LongChains) {
  Graph g;
  Value v = *g.AddInput("x", {DType::kF32, {g.SymbolNamed("n"), 8}});
  Value b = *g.AddInput("b", {DType::kF32, {8}});
  for (int i = 0; i < 30000; ++i) {
    v = *g.Add(i % 2 ? Op::kAdd : Op::kMultiply, {v, b});
    if (i % 1000 == 0) v = *g.Add(Op::kSoftmax, {v});
  }
  ASSERT_TRUE(g.AddOutput(v).ok());
  Graph e = Expanded(g);
  EXPECT_GT(e.size(), 30000);
  EXPECT_LT(e.size(), 31000);
}

// The examples' expansions, nodes in their order: it may not depend on the compiler that built
// this, which evaluates the arguments of a call in an order of its own. In f16 there are casts
// besides.
TEST(Expand, NodesStandInOneOrderWhateverTheCompiler) {
  std::string all;
  for (const OpDef* def : AllOps()) {
    if (def->kind != OpKind::kComposite) continue;
    for (const char* dtype : {"f32", "f16"}) {
      std::string line = absl::StrReplaceAll(std::string(def->example), {{"f32", dtype}});
      const std::string types = line.substr(line.rfind(" : ") + 3);
      auto graph = ParseGraph(absl::StrReplaceAll(
          absl::StrCat("graph f(%x: F[4,8], %y: F[4,8], %i: i32[4,8], %p: bool[4,8], %m: F[16,8], "
                       "%w: F[8], %b: F[8], %c: F[16], %z: F[4,1], %t: F[2,4,8], %k: i64[4], "
                       "%u: u64[]) -> (",
                       types.substr(0, types.find(", ")), ") {\n  ", line, "\n  return ",
                       line.substr(0, line.find_first_of(" ,")), "\n}"),
          {{"F[", absl::StrCat(dtype, "[")}}));
      if (!graph.ok()) {
        EXPECT_STREQ(dtype, "f16") << graph.status();
        continue;
      }
      const std::string text = GraphToString(Expanded(*graph));
      absl::StrAppend(&all, "# ", line, text.substr(text.find('\n')), "\n");
    }
  }
  ExpectGolden("graph/expansions.txt", all);
}

}  // namespace
}  // namespace jitfuse::internal
