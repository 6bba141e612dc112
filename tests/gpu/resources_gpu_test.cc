// On a real GPU: what a cubin says is what the driver says, and traces have the device's own times.
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "api/jitfuse.h"
#include "api/runtime.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "jit/kernel_cache.h"
#include "tests/gpu/driver_function.h"
#include "tests/test_util/spilling_source.h"

namespace jitfuse {
namespace {

using internal::kSpills;

using nlohmann::json;

constexpr Device kGpu = {DeviceKind::kCuda, 0};

class ResourcesGpuTest : public testing::Test {
 protected:
  void SetUp() override {
    if (Status s = DeviceStatus(DeviceKind::kCuda); !s.ok()) GTEST_SKIP() << s.message();
  }
  static Function Compiled(const std::string& name, bool softmax) {
    Builder b(name);
    CompileOptions options;
    options.device = DeviceKind::kCuda;
    Tensor x = b.Input("x", DType::kF32, {"n", "d"});
    return *b.Compile({softmax ? Softmax(x, 1) : Tanh(x)}, options);
  }
};

constexpr char kSmall[] = R"(extern "C" __global__ void k(float* p) { p[threadIdx.x] = 1; })";

TEST_F(ResourcesGpuTest, CubinAndDriverAgree) {
  const auto backend = internal::GetBackend(DeviceKind::kCuda);
  ASSERT_TRUE(backend.ok()) << backend.status();
  for (const char* text : {kSpills, kSmall}) {
    for (const auto& [threads, smem] : {std::pair{1024, 0}, {256, 0}, {96, 0}, {32, 20000}}) {
      internal::KernelSource source;
      source.lang = internal::SourceLang::kCuda;
      source.arch = (*backend)->target().arch;
      source.entry = "k";
      source.text = text;
      source.threads = threads;
      source.smem = smem;
      const auto compiled = (*backend)->Compile(source);
      ASSERT_TRUE(compiled.ok()) << compiled.status();
      const auto kernel = (*backend)->Load(source, *compiled);
      ASSERT_TRUE(kernel.ok()) << kernel.status();
      const internal::KernelResources said = (*backend)->ResourcesOf(source, *compiled),
                                      real = (*kernel)->MeasuredResources();
      EXPECT_EQ(said.registers, real.registers);
      EXPECT_EQ(said.local_bytes, real.local_bytes);
      EXPECT_EQ(said.static_smem, real.static_smem);
      EXPECT_EQ(said.blocks_per_sm, real.blocks_per_sm) << threads << " " << smem;
      // Also of what NVRTC finds in its own cache: this source is compiled four times.
      EXPECT_EQ(real.spill_stores > 0, text == kSpills)
          << source.arch << ", " << real.local_bytes << " bytes of local memory, NVRTC said: '"
          << compiled->log << "'";
    }
  }
}

TEST_F(ResourcesGpuTest, ExplainHasThem) {
  const Function f = Compiled("explained", true);
  const Array x = *Array::Empty(DType::kF32, {1000, 4096});
  const json e = json::parse(*f.ExplainJson({x}));
  const json& r = e["groups"][0]["kernels"][0]["resources"];
  EXPECT_GT(r["registers"], 8);
  EXPECT_EQ(r["local_bytes"], 0);
  EXPECT_GT(r["blocks_per_sm"], 0);
  EXPECT_GT(r["occupancy"], 0.1);
  EXPECT_LE(r["occupancy"], 1);
}

// As events of traces have it.
double SteadyMicroseconds() {
  return std::chrono::duration<double, std::micro>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

TEST_F(ResourcesGpuTest, ATraceHasTheDevicesTimes) {
  const Function f = Compiled("traced_gpu", false);
  const Array x =
      *Array::FromValues(DType::kF32, {4096, 4096}, std::vector<double>(4096 * 4096, 0.5))
           ->CopyTo(kGpu);
  ASSERT_TRUE(f.Run({x}).ok());
  const std::string path = testing::TempDir() + "jf_gpu_" + std::to_string(getpid()) + ".json";
  ASSERT_TRUE(StartTrace(path).ok());
  const double begin_us = SteadyMicroseconds();
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(f.Run({x}).ok());
  ASSERT_TRUE(StopTrace().ok());  // waits for them
  const double around_us = SteadyMicroseconds() - begin_us;
  std::ifstream file(path);
  const json events = json::parse(file, nullptr, false);
  ASSERT_TRUE(events.is_array());
  int device = 0;
  double device_us = 0;
  for (const json& event : events) {
    if (event.value("cat", "") != "device") continue;
    ++device;
    device_us += event["dur"].get<double>();
    EXPECT_GT(event["dur"], 15);  // 128 MiB
    EXPECT_GT(event["ts"].get<double>(), begin_us);
  }
  EXPECT_EQ(device, 20);
  EXPECT_LT(device_us, around_us);  // one after the other
  std::filesystem::remove(path);
}

// What is recorded into a graph has no times of its own, and stays capturable.
TEST_F(ResourcesGpuTest, CaptureWhileTracing) {
  const Function f = Compiled("captured_and_traced", false);
  const Array
      x = *Array::FromValues(DType::kF32, {64, 64}, std::vector<double>(4096, 0.5))->CopyTo(kGpu),
      y = *Array::FromValues(DType::kF32, {64, 64}, std::vector<double>(4096, 0))->CopyTo(kGpu);
  ASSERT_TRUE(f.Warm({x}).ok());
  jitfuse_test::StreamOfGpu0 stream;
  const std::string path = testing::TempDir() + "jf_capture_" + std::to_string(getpid()) + ".json";
  ASSERT_TRUE(StartTrace(path).ok());
  RunOptions options;
  options.stream = stream.get();
  void* graph = jitfuse_test::Captured(stream.get(), [&] {
    const Status s = f.RunInto({x}, {y}, options);
    EXPECT_TRUE(s.ok()) << s.message();
  });
  ASSERT_TRUE(StopTrace().ok());
  jitfuse_test::Replay(graph, stream.get());
  EXPECT_NEAR((*y.ToVector())[0], 0.46211715, 1e-6);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace jitfuse
