// What is said of a kernel's resources: by a fake driver, by limits of architectures, in notes and
// in explain(); and traces of calls on a fake GPU.
#include "jit/resources.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "api/explain.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ir/support/trace.h"
#include "ir/text.h"
#include "jit/call_cache.h"
#include "jit/cuda/cubin_info.h"
#include "jit/cuda/cuda_backends.h"
#include "jit/cuda/line_info.h"
#include "jit/executor.h"
#include "tests/fake_driver.h"
#include "tests/test_util/idle_backend.h"

namespace jitfuse::internal {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

KernelResources Kernel40() {
  KernelResources r;
  r.registers = 40;
  r.local_bytes = 0;
  r.static_smem = 0;
  r.dynamic_smem = 0;
  r.threads = 256;
  r.max_threads_per_sm = 2048;
  return r;
}

// As cuOccupancyMaxActiveBlocksPerMultiprocessor counts them.
TEST(BlocksPerSmTest, WhatRunsOutFirst) {
  struct Row {
    const char* arch;
    int64_t registers, threads, smem, blocks;
  };
  const Row rows[] = {{"sm_90", 32, 256, 0, 8},         {"sm_90", 40, 256, 0, 6},
                      {"sm_90", 41, 256, 0, 5},         {"sm_90", 255, 256, 0, 1},
                      {"sm_90", 16, 32, 0, 32},         {"sm_86", 16, 32, 0, 16},
                      {"sm_75", 32, 256, 0, 4},         {"sm_90", 32, 256, 48 * 1024, 4},
                      {"sm_75", 32, 256, 32 * 1024, 2}, {"sm_90", 128, 1024, 0, 0}};
  for (const Row& row : rows) {
    KernelResources r = Kernel40();
    r.registers = row.registers;
    r.threads = row.threads;
    r.dynamic_smem = row.smem;
    EXPECT_EQ(BlocksPerSm(r, *TargetFor(row.arch)), row.blocks)
        << row.arch << " " << row.registers << " " << row.threads << " " << row.smem;
  }
  EXPECT_EQ(BlocksPerSm(KernelResources(), *TargetFor("sm_90")), KernelResources::kUnknown);
}

TEST(ResourcesTest, OneLineOfWhatIsKnown) {
  EXPECT_EQ(ResourcesToString(KernelResources()), "");
  KernelResources r = Kernel40();
  r.blocks_per_sm = 6;
  EXPECT_EQ(ResourcesToString(r),
            "40 registers, 0 bytes of local memory, 0 + 0 bytes of shared memory (static + "
            "dynamic), 6 blocks of 256 threads a multiprocessor, occupancy 75%");
  KernelResources cpu;
  cpu.stack_bytes = 64;
  cpu.code_bytes = 300;
  EXPECT_EQ(ResourcesToString(cpu), "64 bytes of stack, 300 bytes of code");
}

TEST(ResourcesTest, SpillsAndLocalMemoryAreNoted) {
  KernelResources r = Kernel40();
  EXPECT_FALSE(NoteOfResources(3, "k", r).has_value());
  EXPECT_FALSE(NoteOfResources(3, "k", KernelResources()).has_value());
  r.local_bytes = 32;
  EXPECT_EQ(NoteOfResources(3, "k", r)->reason, Reason::kLocalMemory);
  EXPECT_EQ(NoteOfResources(3, "k", r)->detail, "k: 32 bytes of local memory a thread");
  r.spill_stores = 8;
  r.spill_loads = 16;
  const std::optional<Note> note = NoteOfResources(3, "k", r);
  EXPECT_EQ(note->reason, Reason::kRegisterSpill);
  EXPECT_EQ(note->group, 3);
  EXPECT_EQ(note->detail,
            "k: 8 bytes of spill stores and 16 of spill loads; 32 bytes of local memory a thread");
}

constexpr char kTanh[] =
    "graph f(%a: f32[n]) -> (f32[n]) {\n %0 = tanh(%a) : f32[n]\n return %0\n}";

// A call of f32[64] on a fake GPU whose compiler is not asked.
class NoCompiler {
 public:
  explicit NoCompiler(const FakeDriver& driver) : backend_(*CreateCudaBackendWith(driver.api())) {}
  absl::StatusOr<std::shared_ptr<const Kernel>> Load(const Backend& backend) {
    KernelSource source;
    source.lang = SourceLang::kCuda;
    source.entry = "k";
    source.threads = 256;
    return backend.Load(source, CompiledKernel{"no cubin", "", 1});
  }
  const Backend& backend() const { return *backend_; }

 private:
  std::unique_ptr<Backend> backend_;
};

TEST(ResourcesTest, TheDriversWordCounts) {
  FakeDriver driver;
  driver.attributes = {
      {kCuFuncNumRegs, 50}, {kCuFuncLocalSizeBytes, 24}, {kCuFuncSharedSizeBytes, 512}};
  driver.active_blocks = 4;
  NoCompiler gpu(driver);
  const auto kernel = gpu.Load(gpu.backend());
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  EXPECT_EQ((*kernel)->resources().registers, KernelResources::kUnknown);
  EXPECT_EQ(driver.Calls("cuFuncGetAttribute"), 0);
  const KernelResources r = (*kernel)->MeasuredResources();
  EXPECT_EQ(r.registers, 50);
  EXPECT_EQ(r.local_bytes, 24);
  EXPECT_EQ(r.static_smem, 512);
  EXPECT_EQ(r.blocks_per_sm, 4);
  EXPECT_DOUBLE_EQ(r.occupancy(), 0.5);
  driver.Fail("cuOccupancyMaxActiveBlocksPerMultiprocessor", kCuErrorInvalidValue);
  EXPECT_EQ((*kernel)->MeasuredResources().blocks_per_sm, KernelResources::kUnknown);
}

// ---- The whole way to explain().

class SpillingKernel : public Kernel {
 public:
  KernelResources resources() const override {
    KernelResources r = Kernel40();
    r.spill_stores = r.spill_loads = 8;
    r.local_bytes = 8;
    return r;
  }
};

class SpillingBackend : public IdleBackend {
 public:
  std::string_view name() const override { return "spilling"; }
  std::string CompilerId() const override { return "toy 1"; }
  absl::StatusOr<KernelSource> Emit(const KernelPlan& plan) const override {
    KernelSource source;
    source.lang = SourceLang::kCuda;
    source.entry = plan.name;
    source.text = "toy";
    return source;
  }
  absl::StatusOr<CompiledKernel> Compile(const KernelSource&) const override {
    return CompiledKernel{"code", "", 2};
  }
  absl::StatusOr<std::shared_ptr<const Kernel>> Load(const KernelSource&,
                                                     const CompiledKernel&) const override {
    return std::make_shared<SpillingKernel>();
  }
};

struct Called {
  explicit Called(const Backend& backend)
      : cache(*ParseGraph(kTanh), Options{}, &backend, &kernels) {
    const TensorView input{data.data(), DType::kF32, dims, {}};
    auto found = cache.Find({&input, 1}, {});
    EXPECT_TRUE(found.ok()) << found.status();
    if (found.ok()) bound = *found;
  }
  std::vector<float> data = std::vector<float>(64, 1), out = data;
  const std::vector<int64_t> dims = {64};
  KernelCache kernels;
  CallCache cache;
  std::shared_ptr<const BoundCall> bound;

  absl::Status Run() {
    void* inputs[] = {data.data()};
    void* outputs[] = {out.data()};
    const uint64_t scalars[] = {0};
    CallBuffers buffers;
    buffers.inputs = inputs;
    buffers.outputs = outputs;
    buffers.scalars = scalars;
    return Execute(*bound, buffers);
  }
};

TEST(ResourcesTest, ExplainHasTheFiguresTheStagesAndTheReason) {
  SpillingBackend backend;
  const Called call(backend);
  EXPECT_EQ(call.cache.stats().fallbacks[static_cast<size_t>(Reason::kRegisterSpill)], 1);
  const json e = json::parse(ExplainJson(*call.bound));
  EXPECT_EQ(e["version"], 2);
  EXPECT_GE(e["stages"]["graph_ms"], 0);
  EXPECT_GE(e["stages"]["fuse_ms"], 0);
  EXPECT_GE(e["groups"][0]["plan_ms"], 0);
  const json& kernel = e["groups"][0]["kernels"][0];
  EXPECT_EQ(kernel["origin"], "compiled");
  EXPECT_EQ(kernel["stages"]["compile_ms"], 2);
  EXPECT_EQ(kernel["stages"]["find_ms"], 0);
  for (const char* stage : {"emit_ms", "load_ms"}) EXPECT_GT(kernel["stages"][stage], 0) << stage;
  EXPECT_EQ(kernel["resources"]["registers"], 40);
  EXPECT_EQ(kernel["resources"]["spill_stores"], 8);
  EXPECT_FALSE(kernel["resources"].contains("blocks_per_sm"));
  EXPECT_FALSE(kernel["resources"].contains("stack_bytes"));
  EXPECT_EQ(e["notes"][0]["reason"], "register_spill");
  EXPECT_EQ(e["notes"][0]["group"], 0);
  const std::string text = ExplainText(*call.bound);
  EXPECT_THAT(text, HasSubstr("40 registers, 8 bytes of local memory, spills 8 + 8 bytes"));
  EXPECT_THAT(text, HasSubstr("note register_spill: "));
}

// ---- Traces.

class TracedTest : public testing::Test {
 protected:
  TracedTest() : path_(testing::TempDir() + "jf_traced_" + std::to_string(getpid()) + ".json") {}
  ~TracedTest() override { std::filesystem::remove(path_); }
  json Stop() {
    EXPECT_TRUE(StopTrace().ok());
    std::ifstream file(path_);
    return json::parse(file, nullptr, false);
  }
  // Names of a category, in order.
  static std::vector<std::string> Names(const json& events, const std::string& category) {
    std::vector<std::string> out;
    for (const json& e : events) {
      if (e.value("cat", "") == category) out.push_back(e["name"]);
    }
    return out;
  }
  const std::string path_;
};

TEST_F(TracedTest, StagesOfCompilingAndLaunches) {
  SpillingBackend backend;
  ASSERT_TRUE(StartTrace(path_).ok());
  Called call(backend);
  ASSERT_TRUE(call.Run().ok());
  const json events = Stop();
  EXPECT_THAT(Names(events, "compile"),
              testing::ElementsAre("graph", "fuse", "plan", "emit", "compiler spilling", "load",
                                   "compile f"));
  EXPECT_THAT(Names(events, "launch"),
              testing::ElementsAre(call.bound->executable->kernels[0].source.entry));
  EXPECT_THAT(Names(events, "call"), testing::ElementsAre("call f"));
  EXPECT_TRUE(Names(events, "device").empty());
}

// A back end of a fake GPU that needs no compiler.
class FakeGpu : public SpillingBackend {
 public:
  explicit FakeGpu(const FakeDriver& driver) : gpu_(*CreateCudaBackendWith(driver.api())) {}
  absl::Status Launch(const Kernel&, const LaunchArgs&) const override {
    FakeDriver::Advance(7);
    return absl::OkStatus();
  }
  std::unique_ptr<StreamMarks> MarkStream(StreamHandle stream) const override {
    return gpu_->MarkStream(stream);
  }

 private:
  const std::unique_ptr<Backend> gpu_;
};

TEST_F(TracedTest, WhatTheGpuDidIsOnARowOfItsOwn) {
  FakeDriver driver;
  const FakeGpu backend(driver);
  Called call(backend);
  ASSERT_TRUE(call.Run().ok());
  EXPECT_EQ(driver.Calls("cuEventRecord"), 0);
  ASSERT_TRUE(StartTrace(path_).ok());
  for (int i = 0; i < 300; ++i) ASSERT_TRUE(call.Run().ok());
  driver.capturing = true;
  const int before = driver.Calls("cuEventRecord");
  ASSERT_TRUE(call.Run().ok());
  EXPECT_EQ(driver.Calls("cuEventRecord"), before);
  const json events = Stop();
  EXPECT_EQ(Names(events, "device").size(), 300u);
  EXPECT_EQ(Names(events, "launch").size(), 301u);
  double last = 0;
  for (const json& e : events) {
    if (e.value("cat", "") != "device") continue;
    EXPECT_NEAR(e["dur"].get<double>(), 7, 0.01);
    EXPECT_GE(e["ts"].get<double>(), last - 0.5);
    last = e["ts"].get<double>() + e["dur"].get<double>();
  }
  EXPECT_EQ(driver.events, 1);  // that of the clock
  EXPECT_GT(driver.Calls("cuEventQuery"), 0);
  EXPECT_EQ(driver.strict_queries, 0);
  EXPECT_THAT(events.dump(), HasSubstr("GPU 0, stream 0"));
}

TEST_F(TracedTest, MarksOfAContextThatIsGoneAreDropped) {
  FakeDriver driver;
  const FakeGpu backend(driver);
  Called call(backend);
  driver.Fail("cuEventQuery", kCuErrorNotReady);
  ASSERT_TRUE(StartTrace(path_).ok());
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(call.Run().ok());
  const CuContext context = FakeDriver::Context(1);
  driver.ids[context] = 99;  // another one is where it was
  const std::vector<std::string> uses = {"cuEventQuery", "cuEventSynchronize", "cuEventDestroy",
                                         "cuEventElapsedTime", "cuCtxPushCurrent"};
  std::vector<int> before;
  for (const std::string& use : uses) before.push_back(driver.Calls(use));
  const json events = Stop();
  for (size_t i = 0; i < uses.size(); ++i) EXPECT_EQ(driver.Calls(uses[i]), before[i]) << uses[i];
  EXPECT_TRUE(Names(events, "device").empty());
  EXPECT_EQ(Names(events, "launch").size(), 3u);
}

TEST_F(TracedTest, ADriverWithoutEventsCostsTheRowAlone) {
  FakeDriver driver;
  const FakeGpu backend(driver);
  Called call(backend);
  driver.Fail("cuEventCreate", kCuErrorOutOfMemory);
  ASSERT_TRUE(StartTrace(path_).ok());
  ASSERT_TRUE(call.Run().ok());
  const json events = Stop();
  EXPECT_TRUE(Names(events, "device").empty());
  EXPECT_EQ(Names(events, "launch").size(), 1u);
}

// ---- Line info.

TEST(LineInfoTest, TheSourceIsWrittenAndItsPathIsAnOption) {
  KernelSource source;
  source.entry = "k";
  source.text = "// text\n";
  ASSERT_TRUE(AddLineInfo(&source).ok());
  EXPECT_TRUE(source.options.empty());
  EXPECT_EQ(SourceNameOf(source), "k.cu");
  std::string folder = testing::TempDir() + "jf_lines_XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  setenv("JITFUSE_LINE_INFO", (folder + "/new").c_str(), 1);
  KernelSource other = source;
  other.text = "// other text\n";
  EXPECT_TRUE(AddLineInfo(&source).ok());
  EXPECT_TRUE(AddLineInfo(&other).ok());
  ASSERT_EQ(source.options.size(), 2u);
  EXPECT_EQ(source.options[0], "--generate-line-info");
  EXPECT_NE(source.options[1], other.options[1]);
  EXPECT_THAT(SourceNameOf(source), HasSubstr(folder + "/new/k_"));
  std::ifstream file(SourceNameOf(source));
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "// text\n");
  setenv("JITFUSE_LINE_INFO", "/dev/null/x", 1);
  EXPECT_THAT(std::string(AddLineInfo(&source).message()),
              HasSubstr("JITFUSE_LINE_INFO: the source cannot be written to /dev/null/x/k_"));
  unsetenv("JITFUSE_LINE_INFO");
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace jitfuse::internal
