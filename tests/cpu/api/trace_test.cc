// What explain() says of kernels on the CPU, and traces through the public API.
#include "api/trace.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/inspect.h"
#include "api/jitfuse.h"
#include "tests/test_util/fresh_process.h"

namespace jitfuse {
namespace {

using nlohmann::json;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

// Functions of another factor have kernels of their own.
Function Softmaxed(const std::string& name, double factor = 1) {
  Builder b(name);
  Tensor x = b.Input("x", DType::kF32, {"n", "d"});
  CompileOptions options;
  options.device = DeviceKind::kCpu;
  return *b.Compile({Softmax(Tanh(x) * factor, 1)}, options);
}
const Array kInput = *Array::FromValues(DType::kF32, {2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});

TEST(ExplainCpuTest, StagesAndResourcesOfEachKernel) {
  const Function f = Softmaxed("explained_cpu");
  const json e = json::parse(*f.ExplainJson({kInput}));
  EXPECT_EQ(e["version"], 2);
  EXPECT_GT(e["stages"]["graph_ms"], 0);
  EXPECT_GT(e["stages"]["fuse_ms"], 0);
  EXPECT_GT(e["groups"][0]["plan_ms"], 0);
  const json& kernel = e["groups"][0]["kernels"][0];
  const json& r = kernel["resources"];
  EXPECT_GT(r["code_bytes"], 50);
  EXPECT_GE(r["stack_bytes"], 0);
  EXPECT_LT(r["stack_bytes"], 1 << 20);
  EXPECT_FALSE(r.contains("registers"));
  if (kernel["origin"] == "compiled") {
    EXPECT_GT(kernel["stages"]["compile_ms"], 0);
    EXPECT_GT(kernel["stages"]["load_ms"], 0);
  }
  EXPECT_THAT(*f.Explain({kInput}), ContainsRegex("[0-9]+ bytes of stack, [0-9]+ bytes of code"));
}

// A second function of the same kernels: nothing was compiled or loaded for it.
TEST(ExplainCpuTest, AKernelFromMemoryTookNoTime) {
  const Function f = Softmaxed("twice_a"), g = Softmaxed("twice_a");
  ASSERT_TRUE(f.Run({kInput}).ok());
  const json kernel = json::parse(*g.ExplainJson({kInput}))["groups"][0]["kernels"][0];
  EXPECT_EQ(kernel["origin"], "memory");
  EXPECT_EQ(kernel["stages"]["compile_ms"], 0);
  EXPECT_EQ(kernel["stages"]["load_ms"], 0);
}

TEST(ExplainCpuTest, TheStageOfAnArchitecture) {
  const auto said = SourceOf(Softmaxed("staged").ToText(), {kInput}, "resources", "x86-64-v3");
  ASSERT_TRUE(said.ok()) << said.status().message();
  EXPECT_THAT(*said, ContainsRegex("kernel [a-z_0-9]+ for x86-64-v3: [0-9]+ bytes of stack, "
                                   "[0-9]+ bytes of code"));
}

class TraceApiTest : public testing::Test {
 protected:
  TraceApiTest() : path_(testing::TempDir() + "jf_api_" + std::to_string(getpid()) + ".json") {}
  ~TraceApiTest() override { std::filesystem::remove(path_); }
  json Read() const {
    std::ifstream file(path_);
    return json::parse(file, nullptr, false);
  }
  static int Count(const json& events, const std::string& category) {
    int out = 0;
    for (const json& e : events) out += e.value("cat", "") == category ? 1 : 0;
    return out;
  }
  const std::string path_;
};

TEST_F(TraceApiTest, CompilingCallsAndLaunches) {
  ASSERT_TRUE(StartTrace(path_).ok());
  EXPECT_THAT(StartTrace(path_).message(), HasSubstr("is being written"));
  const Function f = Softmaxed("traced_by_the_api", 0.37);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(f.Run({kInput}).ok());
  ASSERT_TRUE(StopTrace().ok());
  ASSERT_TRUE(f.Run({kInput}).ok());  // no longer
  EXPECT_FALSE(StopTrace().ok());
  const json events = Read();
  ASSERT_TRUE(events.is_array());
  EXPECT_EQ(Count(events, "call"), 3);
  EXPECT_EQ(Count(events, "launch"), 3);
  std::set<std::string> stages;
  for (const json& e : events) {
    if (e.value("cat", "") == "compile") stages.insert(e["name"]);
  }
  EXPECT_THAT(stages, testing::IsSupersetOf({"graph", "fuse", "plan", "emit", "compiler cpu",
                                             "load", "compile traced_by_the_api"}));
}

TEST_F(TraceApiTest, WhileManyThreadsCall) {
  const Function f = Softmaxed("traced_threads");
  ASSERT_TRUE(StartTrace(path_).ok());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&f] {
      for (int i = 0; i < 50; ++i) EXPECT_TRUE(f.Run({kInput}).ok());
    });
  for (std::thread& t : threads) t.join();
  ASSERT_TRUE(StopTrace().ok());
  EXPECT_EQ(Count(Read(), "call"), 200);
}

TEST(TraceEnvChild, DISABLED_Calls) {
  EXPECT_TRUE(Softmaxed("by_env").Run({kInput}).ok());
  std::exit(testing::Test::HasFailure() ? 1 : 0);
}
TEST_F(TraceApiTest, TheVariableTracesAProcess) {
  EXPECT_TRUE(
      internal::PassesInAFreshProcess("TraceEnvChild.DISABLED_Calls", {{"JITFUSE_TRACE", path_}}));
  const json events = Read();
  ASSERT_TRUE(events.is_array());
  EXPECT_EQ(Count(events, "call"), 1);
  // A trace that cannot be had keeps nobody from calling.
  EXPECT_TRUE(internal::PassesInAFreshProcess("TraceEnvChild.DISABLED_Calls",
                                              {{"JITFUSE_TRACE", "/no/such/folder/t.json"}}));
}

TEST(TotalStatsTest, HasWhatEveryFunctionCounted) {
  const Stats before = TotalStats();
  const Function f = Softmaxed("counted_in_total");
  ASSERT_TRUE(f.Run({kInput}).ok());
  const Stats after = TotalStats(), own = f.stats();
  EXPECT_EQ(after.compiles - before.compiles, own.compiles);
  EXPECT_EQ(after.compiled - before.compiled, own.compiled);
  EXPECT_EQ(after.memory_hits - before.memory_hits, own.memory_hits);
  EXPECT_GE(after.compile_ms, before.compile_ms + own.compile_ms * 0.999);
}

}  // namespace
}  // namespace jitfuse
