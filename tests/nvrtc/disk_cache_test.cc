// Cubins from the disk cache: found and loaded (by a fake driver) without opening NVRTC.
#include "jit/disk_cache.h"

#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/jitfuse.h"
#include "api/runtime.h"
#include "jit/cuda/cuda_backends.h"
#include "jit/cuda/nvrtc_api.h"
#include "jit/cuda/nvrtc_compile.h"
#include "tests/fake_driver.h"
#include "tests/test_util/cache_kit.h"
#include "tests/test_util/fresh_process.h"

namespace jitfuse {
namespace {

using internal::FakeDriver;
using internal::NvrtcsOpened;
using internal::PassesInAFreshProcess;
using internal::TempFolder;

// What a call on a fake GPU counted.
Stats Call() {
  auto* driver = new FakeDriver;  // back ends of the process may outlive the test
  internal::UseDriverForTests(&driver->api());
  Builder b("f");
  Tensor x = b.Input("x", DType::kF32, {"n"});
  CompileOptions options;
  options.device = DeviceKind::kCuda;
  StatusOr<Function> f = b.Compile({Tanh(x * x)}, options);
  EXPECT_TRUE(f.ok()) << f.status().message();
  const Array in = *Array::FromValues(DType::kF32, {2}, {1, 2})->CopyTo({DeviceKind::kCuda, 0});
  const auto results = f->Run({in});
  EXPECT_TRUE(results.ok()) << results.status().message();
  EXPECT_EQ(driver->Calls("cuModuleLoadData"), 1);
  EXPECT_EQ(driver->Calls("cuLaunchKernel"), 1);
  return f->stats();
}

TEST(CubinCacheChild, DISABLED_Compiles) {
  EXPECT_EQ(Call().compiled, 1);
  EXPECT_EQ(NvrtcsOpened(), 1);
}
TEST(CubinCacheChild, DISABLED_FindsOnDisk) {
  EXPECT_EQ(Call().disk_hits, 1);
  EXPECT_EQ(NvrtcsOpened(), 0);
}
TEST(CubinCacheChild, DISABLED_FindsInALayer) {
  EXPECT_EQ(Call().layer_hits, 1);
  EXPECT_EQ(NvrtcsOpened(), 0);
}
TEST(CubinCacheChild, DISABLED_FindsWithoutACompiler) {
  EXPECT_EQ(Call().disk_hits, 1);
  EXPECT_FALSE(internal::LoadNvrtcApi(13).ok());
}

TEST(CubinCacheTest, ASecondProcessOpensNoNvrtc) {
  if (auto nvrtc = internal::LoadNvrtcApi(13); !nvrtc.ok()) GTEST_SKIP() << nvrtc.status();
  const TempFolder folder, other;
  std::map<std::string, std::string> environment = {{"JITFUSE_NO_CACHE", "0"},
                                                    {"JITFUSE_CACHE_DIR", folder.path}};
  EXPECT_TRUE(PassesInAFreshProcess("CubinCacheChild.DISABLED_Compiles", environment));
  const auto files = internal::EntryFiles(folder.path);
  ASSERT_EQ(files.size(), 1u);
  const auto entry = internal::DecodeEntry(internal::ReadFile(files[0]));
  ASSERT_TRUE(entry.ok()) << entry.status();
  EXPECT_EQ(entry->code.substr(1, 3), "ELF");
  EXPECT_EQ(entry->key.arch, "sm_90");
  environment["JITFUSE_REQUIRE_CACHE"] = "1";
  EXPECT_TRUE(PassesInAFreshProcess("CubinCacheChild.DISABLED_FindsOnDisk", environment));
  // As if there were no NVRTC here.
  environment["JITFUSE_NVRTC_PATH"] = "/nowhere/libnvrtc.so.13";
  EXPECT_TRUE(PassesInAFreshProcess("CubinCacheChild.DISABLED_FindsWithoutACompiler", environment));
  environment["JITFUSE_CACHE_DIR"] = other.path;
  environment["JITFUSE_CACHE_PATH"] = folder.path;
  EXPECT_TRUE(PassesInAFreshProcess("CubinCacheChild.DISABLED_FindsInALayer", environment));
  const TempFolder again;
  EXPECT_TRUE(
      PassesInAFreshProcess("CubinCacheChild.DISABLED_Compiles",
                            {{"JITFUSE_NO_CACHE", "0"}, {"JITFUSE_CACHE_DIR", again.path}}));
  EXPECT_EQ(internal::ReadFile(internal::EntryFiles(again.path).at(0)),
            internal::ReadFile(files[0]));
}

TEST(CubinCacheTest, CodeOfANewerCudaThanTheDriversIsNotTaken) {
  FakeDriver driver;
  driver.version = 12080;
  auto backend = internal::CreateCudaBackendWith(driver.api());
  ASSERT_TRUE(backend.ok()) << backend.status();
  EXPECT_TRUE((*backend)->LoadsCodeOf("nvrtc-12.9"));
  EXPECT_FALSE((*backend)->LoadsCodeOf("nvrtc-13.0"));
  EXPECT_FALSE((*backend)->LoadsCodeOf("llvm-19.1.7"));
  EXPECT_FALSE((*backend)->LoadsCodeOf("nvrtc-"));
}

// Cached cubins depend on these beside what sources ask for: a change raises kCacheFormat.
TEST(CubinCacheTest, HowNvrtcIsToldToWorkIsThatOfTheFormat) {
  static_assert(internal::kCacheFormat == 2);
  internal::NvrtcApi api;
  api.major = 13;
  internal::KernelSource source;
  source.arch = "sm_90";
  source.options = {"--fmad=false"};
  EXPECT_THAT(
      internal::NvrtcOptions(api, source),
      testing::ElementsAre("--fmad=false", "--gpu-architecture=sm_90", "--std=c++17", "--minimal",
                           "--diag-suppress=177", "--ptxas-options=--warn-on-spills"));
}

}  // namespace
}  // namespace jitfuse
