// Forward and backward in two graphs: together they give what the gradient in one graph gives, and
// what is kept between them is what should be.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ir/autodiff_split.h"
#include "ir/expand.h"
#include "ir/op_enum.h"
#include "tests/test_util/gradient_check.h"

namespace jitfuse::internal {
namespace {

using ::testing::HasSubstr;
using From = SavedValue::From;

class AutodiffSplit : public ::testing::Test {
 protected:
  ForwardBackward Split(const Graph& graph, const std::vector<int>& wrt) {
    absl::StatusOr<ForwardBackward> split = SplitForwardBackward(graph, wrt);
    EXPECT_TRUE(split.ok()) << split.status();
    if (!split.ok()) return {};
    EXPECT_TRUE(VerifyGraph(split->forward).ok()) << VerifyGraph(split->forward);
    EXPECT_TRUE(VerifyGraph(split->backward).ok()) << VerifyGraph(split->backward);
    return *std::move(split);
  }

  // Runs both graphs and compares with the one; the results are those of the same ops.
  ForwardBackward Check(const std::string& text, const std::vector<int64_t>& symbols = {}) {
    const Graph graph = ParsedGraph(text);
    const std::vector<int> wrt = FloatInputs(graph);
    ForwardBackward split = Split(graph, wrt);
    SCOPED_TRACE(split.Explain());
    const std::vector<HostTensor> inputs = RandomInputs(graph, &rng_, 0.2, 1.5, symbols);
    absl::StatusOr<Graph> whole =
        Gradient(graph, wrt, {.cotangents = Cotangents::kInputs, .with_values = true});
    EXPECT_TRUE(whole.ok()) << whole.status();
    absl::StatusOr<std::vector<HostTensor>> forward = EvalDeclared(split.forward, inputs);
    EXPECT_TRUE(forward.ok()) << forward.status();
    if (!whole.ok() || !forward.ok()) return split;
    std::vector<HostTensor> all = inputs, backward;
    for (const SavedValue& s : split.saved)
      backward.push_back(s.from == From::kInput ? inputs[static_cast<size_t>(s.index)]
                                                : (*forward)[static_cast<size_t>(s.index)]);
    for (int output : split.cotangents) {
      const HostTensor& like = (*forward)[static_cast<size_t>(output)];
      all.push_back(RandomTensor(like.dtype, like.dims, &rng_, -1, 1));
      backward.push_back(all.back());
    }
    absl::StatusOr<std::vector<HostTensor>> want = EvalDeclared(*whole, all);
    absl::StatusOr<std::vector<HostTensor>> got = EvalDeclared(split.backward, backward);
    EXPECT_TRUE(want.ok() && got.ok()) << want.status() << got.status();
    if (!want.ok() || !got.ok()) return split;
    const size_t outputs = graph.outputs().size();
    for (size_t i = 0; i < wrt.size(); ++i)
      EXPECT_EQ((*got)[i].bytes, (*want)[outputs + i].bytes) << "gradient " << i;
    for (size_t i = 0; i < outputs; ++i) EXPECT_EQ((*forward)[i].bytes, (*want)[i].bytes);
    return split;
  }

  static int Extras(const ForwardBackward& split) {
    int count = 0;
    for (const SavedValue& s : split.saved) count += s.from == From::kExtra;
    return count;
  }
  std::mt19937 rng_{11};
};

bool Has(const Graph& graph, std::string_view op) {
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (graph.node(id).def().name == op) return true;
  }
  return false;
}

// A chain of pointwise ops is made again from its input.
TEST_F(AutodiffSplit, PointwiseIsRecomputed) {
  const ForwardBackward split = Check(
      "graph f(%x: f32[n,8], %b: f32[8]) -> (f32[n,8]) {\n  %a = add(%x, %b) : f32[n,8]\n"
      "  %s = square(%a) : f32[n,8]\n  %r = gelu(%s) : f32[n,8]\n  return %r\n}\n",
      {3});
  EXPECT_EQ(Extras(split), 0);
  ASSERT_EQ(split.saved.size(), 2u);
  EXPECT_EQ(split.saved[0].from, From::kInput);
  EXPECT_THAT(
      split.Explain(),
      HasSubstr("recompute add(f32[n,8], f32[8]) -> f32[n,8]: cheap: 1 slots an element, saves "
                "n*32 bytes"));
}

// Of a norm the statistics are kept, one number a row each; not the standardised rows.
TEST_F(AutodiffSplit, LayerNormKeepsStatistics) {
  const ForwardBackward split = Check(
      "graph f(%x: bf16[n,64], %w: f32[64], %b: f32[64]) -> (bf16[n,64]) {\n"
      "  %r = layer_norm(%x, %w, %b) : bf16[n,64]\n  return %r\n}\n",
      {3});
  EXPECT_EQ(Extras(split), 2);
  for (size_t i = 1; i < split.forward.outputs().size(); ++i)
    EXPECT_EQ(split.forward.TypeString(split.forward.outputs()[i]), "f32[n,1]");
  EXPECT_THAT(split.Explain(), HasSubstr("expensive to make again: moments"));
  // The forward graph computes the statistics once.
  absl::StatusOr<Graph> expanded = Expand(split.forward);
  ASSERT_TRUE(expanded.ok());
  int moments = 0;
  for (NodeId id = 0; id < expanded->size(); ++id) moments += expanded->node(id).op == Op::kMoments;
  EXPECT_EQ(moments, 1);
  EXPECT_FALSE(Has(split.backward, "moments"));
}

TEST_F(AutodiffSplit, SoftmaxKeepsItsResult) {
  const ForwardBackward split = Check(
      "graph f(%x: f32[n,64]) -> (f32[n,64]) {\n  %r = softmax(%x) : f32[n,64]\n  return %r\n}\n",
      {3});
  ASSERT_EQ(split.saved.size(), 1u);
  EXPECT_EQ(split.saved[0].from, From::kOutput);
  EXPECT_EQ(split.saved[0].index, 0);
}

// An MLP keeps what its products read, and of relu nothing else.
TEST_F(AutodiffSplit, MlpKeepsActivations) {
  const ForwardBackward split = Check(
      "graph f(%x: f32[n,8], %w1: f32[16,8], %b1: f32[16], %w2: f32[4,16]) -> (f32[n,4]) {\n"
      "  %h = linear(%x, %w1, %b1) : f32[n,16]\n  %a = relu(%h) : f32[n,16]\n"
      "  %r = linear(%a, %w2) : f32[n,4]\n  return %r\n}\n",
      {3});
  EXPECT_EQ(Extras(split), 1);
  EXPECT_THAT(split.Explain(),
              HasSubstr("kept      relu(f32[n,16]) -> f32[n,16]: written to memory anyway"));
}

// The mask is drawn again from the seed; numbers that were drawn themselves are kept.
TEST_F(AutodiffSplit, RandomNumbers) {
  const ForwardBackward dropout = Check(
      "graph f(%x: f32[n,8], %seed: u64[], %offset: u64[]) -> (f32[n,8]) {\n"
      "  %r = dropout(%x, %seed, %offset) {p=0.25, stream=0} : f32[n,8]\n  return %r\n}\n",
      {5});
  EXPECT_EQ(Extras(dropout), 0);
  ASSERT_EQ(dropout.saved.size(), 2u);
  EXPECT_EQ(dropout.saved[0].index + dropout.saved[1].index, 3);
  const ForwardBackward noise = Check(
      "graph f(%x: f32[4,8], %seed: u64[], %offset: u64[]) -> (f32[4,8]) {\n"
      "  %z = random_normal(%seed, %offset) {shape=[4,8], stream=0} : f32[4,8]\n"
      "  %r = multiply(%x, %z) : f32[4,8]\n  return %r\n}\n");
  EXPECT_EQ(Extras(noise), 1);
}

// Sizes that no saved value has come from an input that is kept for them.
TEST_F(AutodiffSplit, SizesAreBound) {
  const ForwardBackward split = Check(
      "graph f(%x: f32[n,m]) -> (f32[n*m]) {\n  %r = reshape(%x) {shape=[n*m]} : f32[n*m]\n"
      "  return %r\n}\n",
      {3, 2});
  ASSERT_EQ(split.saved.size(), 1u);
  EXPECT_THAT(split.Explain(), HasSubstr("kept      x: f32[n,m]: for its sizes"));
  // A gradient of zeros, whose shape no cotangent has.
  Check("graph f(%x: f32[n], %y: f32[m]) -> (f32[n]) {\n  %r = exp(%x) : f32[n]\n  return %r\n}\n",
        {3, 2});
}

TEST_F(AutodiffSplit, LossesAndSeveralOutputs) {
  Check(
      "graph f(%x: f32[n,8], %t: i64[n], %w: f32[8]) -> (f32[], f32[n,8], i64[n]) {\n"
      "  %y = rms_norm(%x, %w) : f32[n,8]\n  %m = argmax(%y) {axes=[1]} : i64[n]\n"
      "  %r = cross_entropy(%y, %t) : f32[]\n  return %r, %y, %m\n}\n",
      {4});
  Check(
      "graph f(%x: f32[4,8], %s: f32[]) -> (f32[4]) {\n  %m = multiply(%x, %s) : f32[4,8]\n"
      "  %c = cumprod(%m) {axis=1} : f32[4,8]\n  %r = logsumexp(%c) {axes=[1]} : f32[4]\n"
      "  return %r\n}\n");
}

TEST_F(AutodiffSplit, SameInSameOut) {
  const Graph graph = ParsedGraph(
      "graph f(%x: f32[n,8], %w: f32[8,8]) -> (f32[n,8]) {\n  %h = matmul(%x, %w) : f32[n,8]\n"
      "  %g = gelu(%h) : f32[n,8]\n  %r = layer_norm(%g) : f32[n,8]\n  return %r\n}\n");
  const ForwardBackward a = Split(graph, {0, 1}), b = Split(graph, {0, 1});
  EXPECT_EQ(GraphToString(a.forward), GraphToString(b.forward));
  EXPECT_EQ(GraphToString(a.backward), GraphToString(b.backward));
  EXPECT_EQ(a.backward.name(), "f_backward");
}

}  // namespace
}  // namespace jitfuse::internal
