// The graphs of tests/support/graph_sweep on the CPU and the plan interpreter.
#include <gtest/gtest.h>

#include "tests/support/graph_sweep.h"

namespace jitfuse_test {
namespace {

class CpuSweep : public testing::TestWithParam<SweepCase> {};
TEST_P(CpuSweep, AgreesWithTheEvaluator) { RunSweepCase(GetParam(), {"cpu", "interpret"}); }

std::string Name(const testing::TestParamInfo<SweepCase>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(Graphs, CpuSweep, testing::ValuesIn(SweepCases()), Name);

}  // namespace
}  // namespace jitfuse_test
