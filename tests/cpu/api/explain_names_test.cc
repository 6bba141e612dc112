// explain() calls values and sizes what the user calls them, in every stage alike.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/inspect.h"
#include "api/jitfuse.h"
#include "jit/background.h"

namespace jitfuse {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string Text(const std::string& centered) {
  return "graph f(%x: f32[n,d], %w: f32[d]) -> (f32[n,d], f32[n,1]) {\n"
         "  %mean, %var = moments(%x) {axes=[1], keepdims=true} : f32[n,1], f32[n,1]\n  %" +
         centered + " = subtract(%x, %mean) : f32[n,d]\n  %scaled = multiply(%" + centered +
         ", %w) : f32[n,d]\n  %soft = softmax(%scaled) {axis=1} : f32[n,d]\n"
         "  return %soft, %mean\n}\n";
}

std::vector<Array> Inputs() {
  return {*Array::Empty(DType::kF32, {8, 32}), *Array::Empty(DType::kF32, {32})};
}

std::string Stage(const std::string& text, const std::string& stage, const std::string& arch) {
  StatusOr<std::string> out = SourceOf(text, Inputs(), stage, arch);
  EXPECT_TRUE(out.ok()) << out.status().message();
  return out.ok() ? *out : "";
}

TEST(ExplainNamesTest, EveryStageHasTheUsersNames) {
  for (const char* arch : {"x86-64-v3", "sm_90"}) {
    const std::string graph = Stage(Text("centered"), "graph", arch);
    EXPECT_THAT(graph, HasSubstr("%mean, %var = moments(%x) {axes=[1], keepdims=true} : f32[n,1]"));
    EXPECT_THAT(graph, HasSubstr("%x: f32[n,d]"));
    EXPECT_THAT(graph, HasSubstr("return %soft, %mean"));
    EXPECT_TRUE(FormatText(graph).ok()) << FormatText(graph).status().message() << graph;
    for (const char* stage : {"groups", "plan"}) {
      const std::string text = Stage(Text("centered"), stage, arch);
      EXPECT_THAT(text, HasSubstr("%mean, %var = moments(%x, axes=[1], keepdims=true)")) << stage;
      EXPECT_THAT(text, HasSubstr("%centered = subtract(%x, %")) << stage;
      EXPECT_THAT(text, HasSubstr("%soft = multiply(")) << stage;
      EXPECT_THAT(text, HasSubstr(": f32[n,d]")) << stage;
      EXPECT_THAT(text, Not(HasSubstr("d*16"))) << stage;
    }
  }
}

// A number that a stage shows stands for the same value in the others.
TEST(ExplainNamesTest, NumbersAreTheSameInEveryStage) {
  const std::string groups = Stage(Text("40"), "groups", "sm_90"),
                    plan = Stage(Text("40"), "plan", "sm_90"),
                    graph = Stage(Text("40"), "graph", "sm_90");
  size_t at = groups.find("_0, %"), lines = 0;  // the unnamed results of softmax's reduction
  ASSERT_NE(at, std::string::npos) << groups;
  for (size_t begin = groups.find("\n  %"); begin != std::string::npos;
       begin = groups.find("\n  %", begin + 1)) {
    const size_t from = groups.find('%', begin);
    const std::string line = groups.substr(from, groups.find('\n', from) - from);
    EXPECT_THAT(plan, HasSubstr("# " + line + "\n"));
    EXPECT_THAT(graph, HasSubstr("  " + line.substr(0, line.find('(')) + "("));
    ++lines;
  }
  EXPECT_GT(lines, 8u) << groups;
  EXPECT_THAT(groups, HasSubstr("%40 = subtract(%x"));
  EXPECT_THAT(groups, HasSubstr("%44 = broadcast(%mean"));  // node 3: 41 + 3
}

TEST(ExplainNamesTest, KernelsDoNotDependOnNames) {
  EXPECT_EQ(Stage(Text("centered"), "cuda", "sm_90"), Stage(Text("c"), "cuda", "sm_90"));
  EXPECT_EQ(Stage(Text("centered"), "llvm", "x86-64-v3"), Stage(Text("c"), "llvm", "x86-64-v3"));
}

TEST(ExplainNamesTest, FunctionsMadeOfText) {
  CompileOptions options;
  options.device = DeviceKind::kInterpret;
  StatusOr<Function> f = CompileText(Text("centered"), options);
  ASSERT_TRUE(f.ok()) << f.status().message();
  const std::string text = *f->Explain(Inputs()), json = *f->ExplainJson(Inputs());
  EXPECT_THAT(text, HasSubstr("      %centered = subtract(%x, %"));
  EXPECT_THAT(text, HasSubstr("boundary %soft multiply : f32[n,d]"));
  EXPECT_THAT(json, HasSubstr("\"%mean, %var = moments(%x, axes=[1], keepdims=true) : f32[n,1], "));
}

// Code of its own for a shape, whose sizes are constants: the names are looked for in its graph.
TEST(ExplainNamesTest, CodeOfAnotherClassHasThemToo) {
  CompileOptions options;
  options.device = DeviceKind::kCpu;
  options.specialize_after = 1;
  StatusOr<Function> f = CompileText(Text("centered"), options);
  ASSERT_TRUE(f.ok()) << f.status().message();
  ASSERT_TRUE(f->Warm(Inputs()).ok());
  internal::FinishBackground();
  const std::string text = *f->Explain(Inputs());
  EXPECT_THAT(text, HasSubstr("hot_shape"));
  EXPECT_THAT(text, HasSubstr("%centered = subtract(%x, %"));
  EXPECT_THAT(text, HasSubstr(": f32[8,32]"));
}

}  // namespace
}  // namespace jitfuse
