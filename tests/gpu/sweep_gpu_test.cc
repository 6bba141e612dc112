// The graphs of tests/support/graph_sweep on a GPU.
#include "tests/support/graph_sweep.h"

#include <gtest/gtest.h>

#include "api/context.h"

namespace jitfuse_test {
namespace {

class GpuSweep : public testing::TestWithParam<SweepCase> {};
TEST_P(GpuSweep, AgreesWithTheEvaluator) {
  jitfuse::Status gpu = jitfuse::DeviceStatus(jitfuse::DeviceKind::kCuda);
  if (!gpu.ok()) GTEST_SKIP() << gpu.message();
  RunSweepCase(GetParam(), {"cuda"});
}

INSTANTIATE_TEST_SUITE_P(Graphs, GpuSweep, testing::ValuesIn(SweepCases()),
                         [](const testing::TestParamInfo<SweepCase>& info) {
                           return info.param.name;
                         });

}  // namespace
}  // namespace jitfuse_test
