// The graphs of tests/support/graph_sweep on the CPU and, for every third of them, the interpreter.
#include "tests/support/graph_sweep.h"

#include <gtest/gtest.h>

namespace jitfuse_test {
namespace {

class CpuSweep : public testing::TestWithParam<SweepCase> {};
TEST_P(CpuSweep, AgreesWithTheEvaluator) { RunSweepCase(GetParam(), jitfuse::DeviceKind::kCpu); }

class InterpretSweep : public testing::TestWithParam<SweepCase> {};
TEST_P(InterpretSweep, AgreesWithTheEvaluator) {
  RunSweepCase(GetParam(), jitfuse::DeviceKind::kInterpret);
}

std::string Name(const testing::TestParamInfo<SweepCase>& info) { return info.param.name; }

std::vector<SweepCase> EveryThird() {
  std::vector<SweepCase> out, all = SweepCases();
  for (std::size_t i = 0; i < all.size(); i += 3) out.push_back(all[i]);
  return out;
}

INSTANTIATE_TEST_SUITE_P(Graphs, CpuSweep, testing::ValuesIn(SweepCases()), Name);
INSTANTIATE_TEST_SUITE_P(Graphs, InterpretSweep, testing::ValuesIn(EveryThird()), Name);

}  // namespace
}  // namespace jitfuse_test
