// Names of values and sizes as they are shown: the user's own where a value is the user's.
#include "ir/value_names.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/text.h"

namespace jitfuse::internal {
namespace {

using ::testing::HasSubstr;

constexpr char kText[] =
    "graph f(%x: f32[n,4]) -> (f32[n,4]) {\n"
    "  %mean, %var = moments(%x) {axes=[1], keepdims=true} : f32[n,1], f32[n,1]\n"
    "  %7 = subtract(%x, %mean) : f32[n,4]\n"
    "  %again = subtract(%x, %mean) : f32[n,4]\n"
    "  %2_0 = multiply(%7, %again) : f32[n,4]\n"
    "  return %2_0\n}\n";

TEST(ValueNamesTest, NamesOfTheTextAreKeptAndNumbersStartAboveThem) {
  ValueNames names;
  absl::StatusOr<Graph> g = ParseGraph(kText, &names);
  ASSERT_TRUE(g.ok()) << g.status();
  ValueNamer all(*g, names);
  std::string text = GraphToString(*g, all);
  EXPECT_THAT(text, HasSubstr("%mean, %var = moments(%x) {axes=[1], keepdims=true}"));
  EXPECT_THAT(text, HasSubstr("%7 = subtract(%x, %mean)"));  // of two names for it the first
  EXPECT_THAT(text, HasSubstr("%2_0 = multiply(%7, %7)"));
  absl::StatusOr<Graph> back = ParseGraph(text);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->Fingerprint(), g->Fingerprint());

  names.erase(Value{1, 0});
  names.erase(Value{1, 1});
  EXPECT_EQ(ValueNamer(*g, names)(Value{1, 1}), "%9_1");  // 8 is the first above 7
  EXPECT_EQ(ValueNamer(*g)(Value{1, 1}), "%1_1");
  EXPECT_EQ(ValueNamer(*g)(Value{0, 0}), "%x");
  EXPECT_EQ(ValueNamer(*g, {{Value{2, 0}, "1_1"}})(Value{1, 1}), "%1_1_");  // taken
  EXPECT_EQ(NodeToString(*g, 1, all),
            "%mean, %var = moments(%x, axes=[1], keepdims=true) : f32[n,1], f32[n,1]");
}

TEST(ValueNamesTest, ValuesAreFoundByWhatComputesThem) {
  ValueNames names;
  absl::StatusOr<Graph> g = ParseGraph(kText, &names);
  ASSERT_TRUE(g.ok()) << g.status();
  const auto [marked, order] = WithNamedOutputs(*g, names);
  EXPECT_EQ(marked.outputs().size(), g->outputs().size() + names.size());
  EXPECT_EQ(FindNames(marked, order, *g), names);
  absl::StatusOr<Graph> other = ParseGraph(
      "graph f(%x: f32[n,4]) -> (f32[n,4]) {\n %a = relu(%x) : f32[n,4]\n"
      " %m, %v = moments(%x) {axes=[1], keepdims=true} : f32[n,1], f32[n,1]\n"
      " %b = add(%a, %v) : f32[n,4]\n return %b\n}");
  ASSERT_TRUE(other.ok()) << other.status();
  ValueNames found = FindNames(marked, order, *other);
  EXPECT_EQ(found, (ValueNames{{Value{2, 0}, "mean"}, {Value{2, 1}, "var"}}));
}

TEST(ValueNamesTest, PartsOfASizePrintAsTheSize) {
  const std::vector<std::string> names = {"n", "d/16"};
  const SizeExpr n = SizeExpr::Symbol(0), q = SizeExpr::Symbol(1), stride = SizeExpr::Symbol(2);
  EXPECT_EQ((q * 16).ToString(names), "d");
  EXPECT_EQ((q * 32 + 1).ToString(names), "d*2+1");
  EXPECT_EQ((n * q * 16).ToString(names), "n*d");
  EXPECT_EQ(q.ToString(names), "floordiv(d,16)");
  EXPECT_EQ((q * 8).ToString(names), "floordiv(d,16)*8");
  EXPECT_EQ((q * q * 256).ToString(names), "d*d");
  EXPECT_EQ((q * stride * 16).ToString(names), "d*s2");
  EXPECT_EQ(CeilDiv(q * 16, n).ToString(names), "ceildiv(d,n)");
  EXPECT_EQ((q * 16).ToString(), "s1*16");
}

}  // namespace
}  // namespace jitfuse::internal
