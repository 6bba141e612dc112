// The graph fuzzer's own parts: what it draws, how cases are written, how they shrink.
#include <gtest/gtest.h>

#include <set>

#include "absl/strings/str_cat.h"
#include "ir/op_enum.h"
#include "ir/verify.h"
#include "tests/graph_fuzz/fuzz_case.h"
#include "tests/graph_fuzz/run_case.h"
#include "tests/graph_fuzz/shrink.h"

namespace jitfuse::internal {
namespace {

TEST(FuzzCases, DrawEveryRow) {
  std::set<std::string_view> seen;
  std::set<DType> dtypes;
  size_t strided = 0, symbolic = 0, rank0 = 0, empty = 0, most_ops = 0;
  for (uint64_t seed = 0; seed < 2500; ++seed) {
    const FuzzCase c = MakeCase(seed);
    ASSERT_TRUE(VerifyGraph(c.graph).ok()) << VerifyGraph(c.graph) << CaseToText(c);
    ASSERT_EQ(c.inputs.size(), c.graph.inputs().size());
    ASSERT_FALSE(c.sizes.empty());
    size_t ops = 0;
    for (NodeId id = 0; id < c.graph.size(); ++id) {
      const Node& node = c.graph.node(id);
      seen.insert(node.def().name);
      dtypes.insert(node.types[0].dtype);
      rank0 += node.types[0].dims.empty() ? 1 : 0;
      ops += node.in.empty() ? 0 : 1;
      for (int64_t d : EvalDims(node.types[0].dims, c.sizes[0])) empty += d == 0 ? 1 : 0;
    }
    most_ops = std::max(most_ops, ops);
    for (const FuzzInput& in : c.inputs) strided += in.steps.empty() ? 0 : 1;
    symbolic += c.graph.symbols().names.empty() ? 0 : 1;
  }
  for (const OpDef* def : AllOps()) EXPECT_EQ(seen.count(def->name), 1u) << def->name;
  EXPECT_EQ(dtypes.size(), static_cast<size_t>(kNumDTypes));
  EXPECT_GT(strided, 500u);
  EXPECT_GT(symbolic, 500u);
  EXPECT_GT(rank0, 500u);
  EXPECT_GT(empty, 20u);
  EXPECT_GE(most_ops, 150u);
}

TEST(FuzzCases, AreTheSameForASeed) {
  for (uint64_t seed = 0; seed < 20; ++seed)
    EXPECT_EQ(CaseToText(MakeCase(seed)), CaseToText(MakeCase(seed)));
}

TEST(FuzzCases, TextHoldsAllOfACase) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const FuzzCase c = MakeCase(seed);
    const std::string text = CaseToText(c);
    SCOPED_TRACE(text);
    absl::StatusOr<FuzzCase> back = ParseCase(text);
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_EQ(back->seed, c.seed);
    EXPECT_EQ(back->sizes, c.sizes);
    EXPECT_EQ(back->options.Key(), c.options.Key());
    EXPECT_EQ(back->strided_outputs, c.strided_outputs);
    ASSERT_EQ(back->inputs.size(), c.inputs.size());
    for (size_t i = 0; i < c.inputs.size(); ++i) {
      EXPECT_EQ(back->inputs[i].seed, c.inputs[i].seed);
      EXPECT_EQ(back->inputs[i].order, c.inputs[i].order);
      EXPECT_EQ(back->inputs[i].steps, c.inputs[i].steps);
      EXPECT_EQ(back->inputs[i].shift, c.inputs[i].shift);
      EXPECT_EQ(back->inputs[i].values, c.inputs[i].values);
    }
  }
  EXPECT_FALSE(ParseCase("# input x steps=a\ngraph f(%x: f32[2]) -> (f32[2]) { return %x }").ok());
  EXPECT_FALSE(ParseCase("# nothing").ok());
}

TEST(FuzzCases, LayoutsStayInTheirMemory) {
  FuzzInput spec;
  spec.order = {1, 2, 0};
  spec.steps = {-3, 2, 0};
  spec.shift = 5;
  const std::vector<int64_t> dims = {4, 3, 2};
  const FuzzLayout layout = LayoutFor(dims, spec);
  std::set<int64_t> places;
  for (int64_t i = 0; i < 24; ++i) places.insert(PlaceOf(dims, layout, i));
  EXPECT_EQ(places.size(), 12u);  // axis 2 repeats its element
  EXPECT_EQ(*places.begin(), 5);
  EXPECT_EQ(*places.rbegin(), layout.elements - 1);
  const FuzzTensor t = MakeTensor(DType::kF32, dims, spec);
  EXPECT_EQ(t.logical.At(0).bits(), t.logical.At(1).bits());
  EXPECT_EQ(LayoutFor({}, {}).elements, 1);
}

size_t Ops(const Graph& graph) {
  size_t n = 0;
  for (NodeId id = 0; id < graph.size(); ++id) n += graph.node(id).in.empty() ? 0 : 1;
  return n;
}

// A fault that is there as soon as an output needs a sum of something computed: what is left is
// those two.
TEST(Shrink, LeavesWhatFails) {
  const auto fails = [](const FuzzCase& c) {
    std::vector<bool> live(static_cast<size_t>(c.graph.size()));
    for (Value v : c.graph.outputs()) live[static_cast<size_t>(v.node)] = true;
    for (NodeId id = c.graph.size() - 1; id >= 0; --id) {
      if (!live[static_cast<size_t>(id)]) continue;
      const Node& node = c.graph.node(id);
      if (node.op == Op::kSum && !c.graph.node(node.in[0]).in.empty()) return true;
      for (Value v : node.in) live[static_cast<size_t>(v.node)] = true;
    }
    return false;
  };
  int tried = 0;
  for (uint64_t seed = 0; seed < 4000 && tried < 10; ++seed) {
    const FuzzCase c = MakeCase(seed);
    if (!fails(c) || Ops(c.graph) < 6) continue;
    ++tried;
    const FuzzCase small = Shrink(c, fails, 20);
    EXPECT_TRUE(fails(small));
    EXPECT_LE(Ops(small.graph), 3u) << CaseToText(small);
    EXPECT_EQ(small.graph.outputs().size(), 1u);
    EXPECT_EQ(small.sizes.size(), 1u);
    for (const FuzzInput& in : small.inputs) {
      EXPECT_TRUE(in.order.empty());
      EXPECT_EQ(in.values, FuzzValues::kOnes);
    }
    EXPECT_TRUE(small.options.fuse && small.options.rewrite && small.options.use_gemm_library);
    EXPECT_TRUE(ParseCase(CaseToText(small)).ok());
  }
  EXPECT_EQ(tried, 10);
}

TEST(Shrink, KeepsWhatAlreadyIsSmall) {
  absl::StatusOr<FuzzCase> c = ParseCase(
      "# call: n=3\ngraph f(%x: f16[n,4]) -> (f16[n,4]) {\n  %0 = exp(%x) : f16[n,4]\n  "
      "return %0\n}\n");
  ASSERT_TRUE(c.ok()) << c.status();
  const FuzzCase same = Shrink(*c, [](const FuzzCase&) { return false; }, 5);
  EXPECT_EQ(CaseToText(same), CaseToText(*c));
}

}  // namespace
}  // namespace jitfuse::internal
