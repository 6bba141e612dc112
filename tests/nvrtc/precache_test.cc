// Pre-caching for GPUs that are not here: every device of an architecture finds all of its kernels
// in one bundle, and NVRTC is not opened.
#include "api/precache.h"

#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "api/inspect.h"
#include "api/jitfuse.h"
#include "api/runtime.h"
#include "jit/cuda/nvrtc_api.h"
#include "jit/cuda/nvrtc_compile.h"
#include "tests/fake_driver.h"
#include "tests/test_util/cache_kit.h"
#include "tests/test_util/fresh_process.h"

namespace jitfuse {
namespace {

using internal::FakeDriver;
using internal::PassesInAFreshProcess;
using internal::TempFolder;
using internal::WriteFile;
using testing::HasSubstr;

// A reduction of rows, one over them (a second kernel joins its parts), random numbers, a sort.
constexpr const char* kGraphs[] = {
    "graph rows(%x: bf16[n,m]) -> (bf16[n,m]) { %0 = softmax(%x) : bf16[n,m] return %0 }",
    "graph all(%x: f32[n]) -> (f32[]) { %0 = sum(%x) {axes=[0]} : f32[] return %0 }",
    "graph columns(%x: f32[n,256]) -> (f32[256]) { %0 = sum(%x) {axes=[0]} : f32[256] return %0 }",
    "graph random(%x: f32[n], %rng_seed: scalar u64, %rng_offset: scalar u64) -> (f32[n]) {\n"
    "  %0 = dropout(%x, %rng_seed, %rng_offset) {p=0.5, stream=0} : f32[n]\n  return %0 }",
    "graph sums(%x: f32[8,4], %s: f32[n,4], %i: i64[n]) -> (f32[8,4]) {\n"
    "  %0 = index_add(%x, %i, %s) {axis=0} : f32[8,4]\n  return %0 }"};
constexpr const char* kSizes[] = {R"("n": [1, 1000], "m": [1000, 4096])", R"("n": [1000000])",
                                  R"("n": [100000])", R"("n": [1000])", R"("n": [100])"};

std::string WriteManifest(const TempFolder& folder) {
  std::string entries;
  for (std::size_t g = 0; g < std::size(kGraphs); ++g) {
    const std::string file = absl::StrCat("g", g, ".jf");
    WriteFile(folder / file, kGraphs[g]);
    absl::StrAppend(&entries, g > 0 ? ",\n" : "", R"({"graph": ")", file,
                    R"(", "calls": [{"sizes": {)", kSizes[g], "}}]}");
  }
  WriteFile(folder / "m.json",
            absl::StrCat(R"({"jitfuse_manifest": 1, "entries": [)", entries, "]}"));
  return folder / "m.json";
}

struct Gpu {
  const char* name;
  int major, minor, sm_count, clock_khz, bus_bits, l2_bytes;
};
constexpr Gpu kGpus[] = {{"NVIDIA H100 PCIe", 9, 0, 114, 1593000, 5120, 50 << 20},
                         {"NVIDIA H100 80GB HBM3", 9, 0, 132, 2619000, 5120, 50 << 20},
                         {"NVIDIA H200", 9, 0, 132, 3201000, 6144, 60 << 20},
                         {"NVIDIA A10", 8, 6, 72, 6251000, 384, 6 << 20},
                         {"NVIDIA GeForce RTX 3090", 8, 6, 82, 9751000, 384, 6 << 20},
                         {"NVIDIA L4", 8, 9, 58, 6251000, 192, 48 << 20},
                         {"NVIDIA GeForce RTX 4090", 8, 9, 128, 10501000, 384, 72 << 20}};

// Compiles for the graphs' calls as an application on the GPU of JF_TEST_GPU does.
void WarmAll(FakeDriver* driver) {
  const Gpu& gpu = kGpus[std::atoi(std::getenv("JF_TEST_GPU"))];
  driver->name = gpu.name;
  driver->major = gpu.major;
  driver->minor = gpu.minor;
  driver->sm_count = gpu.sm_count;
  driver->clock_khz = gpu.clock_khz;
  driver->bus_bits = gpu.bus_bits;
  driver->l2_bytes = gpu.l2_bytes;
  internal::UseDriverForTests(&driver->api());
  CompileOptions options;
  options.device = DeviceKind::kCuda;
  const std::vector<std::vector<std::map<std::string, std::int64_t>>> sizes = {
      {{{"n", 1}, {"m", 1000}}, {{"n", 77}, {"m", 3000}}},
      {{{"n", 500000}}},
      {{{"n", 90000}}},
      {{{"n", 30}}},
      {{{"n", 50}}}};
  for (std::size_t g = 0; g < std::size(kGraphs); ++g) {
    const auto f = CompileText(kGraphs[g], options);
    ASSERT_TRUE(f.ok()) << f.status().message();
    const auto infos = *ParseInputs(kGraphs[g]);
    for (const auto& symbols : sizes[g]) {
      const auto dims = *InputDims(kGraphs[g], symbols);
      std::vector<Array> inputs;
      for (std::size_t i = 0; i < dims.size(); ++i)
        inputs.push_back(Array::View(static_cast<void*>(nullptr), infos[i].dtype, dims[i], {},
                                     {DeviceKind::kCuda, 0}));
      for (const void* state :
           {static_cast<const void*>(nullptr), static_cast<const void*>(driver)}) {
        RunOptions run;
        run.rng.device_state = state;
        const Status warmed = f->Warm(inputs, run);
        EXPECT_TRUE(warmed.ok()) << gpu.name << " " << kGraphs[g] << ": " << warmed.message();
      }
    }
  }
}

TEST(GpuBundleChild, DISABLED_FindsAll) {
  auto* driver = new FakeDriver;  // back ends of the process may outlive the test
  WarmAll(driver);
  EXPECT_EQ(TotalStats().compiled, 0);
  EXPECT_GT(TotalStats().layer_hits, 8);
  EXPECT_EQ(internal::NvrtcsOpened(), 0);
}

TEST(GpuBundleTest, OneBundleServesEveryDeviceOfAnArchitecture) {
  if (auto nvrtc = internal::LoadNvrtcApi(13); !nvrtc.ok()) GTEST_SKIP() << nvrtc.status();
  const TempFolder folder, own;
  PrecacheOptions options;
  options.archs = {"sm_86", "sm_89", "sm_90"};
  const auto report = Precache(WriteManifest(folder), folder / "bundle", options);
  ASSERT_TRUE(report.ok()) << report.status().message();
  std::map<std::string, int> kernels;
  for (const PrecachedKernel& k : report->kernels) {
    ++kernels[k.arch];
    EXPECT_GT(k.registers, 0) << k.kernel;
    EXPECT_EQ(k.local_bytes, 0) << k.kernel;
  }
  EXPECT_EQ(kernels.size(), 3u);
  for (std::size_t gpu = 0; gpu < std::size(kGpus); ++gpu) {
    EXPECT_TRUE(PassesInAFreshProcess("GpuBundleChild.DISABLED_FindsAll",
                                      {{"JITFUSE_NO_CACHE", "0"},
                                       {"JITFUSE_CACHE_PATH", folder / "bundle"},
                                       {"JITFUSE_CACHE_DIR", own.path},
                                       {"JITFUSE_REQUIRE_CACHE", "1"},
                                       {"JITFUSE_NVRTC_PATH", "/nowhere/libnvrtc.so.13"},
                                       {"JF_TEST_GPU", std::to_string(gpu)}}))
        << kGpus[gpu].name;
  }
  EXPECT_TRUE(internal::EntryFiles(own.path).empty());
}

TEST(GpuBundleChild, DISABLED_Writes) {
  PrecacheOptions options;
  options.archs = {"sm_90", "sm_100"};
  const auto report =
      Precache(std::getenv("JF_TEST_MANIFEST"), std::getenv("JF_TEST_OUT"), options);
  EXPECT_TRUE(report.ok()) << report.status().message();
}

TEST(GpuBundleTest, CubinsAreTheSameEachTime) {
  if (auto nvrtc = internal::LoadNvrtcApi(13); !nvrtc.ok()) GTEST_SKIP() << nvrtc.status();
  std::vector<std::string> bytes;
  for (const char* threads : {"1", "4"}) {
    const TempFolder folder;
    const std::string out = folder / absl::StrCat("layer", threads);
    EXPECT_TRUE(PassesInAFreshProcess("GpuBundleChild.DISABLED_Writes",
                                      {{"JF_TEST_MANIFEST", WriteManifest(folder)},
                                       {"JF_TEST_OUT", out},
                                       {"JITFUSE_NUM_THREADS", threads}}));
    std::string all;
    for (const std::string& file : internal::EntryFiles(out)) all += internal::ReadFile(file);
    EXPECT_GT(all.size(), 10000u);
    bytes.push_back(all + internal::ReadFile(out + "/index.json"));
  }
  EXPECT_EQ(bytes[0], bytes[1]);
}

TEST(GpuBundleTest, AnotherCudaThanIsHereIsAClearError) {
  const auto nvrtc = internal::LoadNvrtcApi();
  if (!nvrtc.ok()) GTEST_SKIP() << nvrtc.status();
  const TempFolder folder;
  PrecacheOptions options;
  options.archs = {"sm_90"};
  options.cuda = (*nvrtc)->major == 13 ? 12 : 13;
  const std::string path = (*nvrtc)->path;
  setenv("JITFUSE_NVRTC_PATH", path.c_str(), 1);
  EXPECT_THAT(Precache(WriteManifest(folder), folder / "out", options).status().message(),
              HasSubstr(absl::StrCat("is what was found; expected one of CUDA ", options.cuda)));
}

}  // namespace
}  // namespace jitfuse
