// The disk cache behind the API: a second process runs what a first one compiled, with no compiler
// at work; statistics and explain() say where code came from.
#include "jit/disk_cache.h"

#include <cstdlib>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/jitfuse.h"
#include "cpu_backend/cpu_backend.h"
#include "cpu_backend/orc_compile.h"
#include "jit/cuda/nvrtc_api.h"
#include "tests/test_util/cache_kit.h"
#include "tests/test_util/fresh_process.h"

namespace jitfuse {
namespace {

using internal::CodegenInitializations;
using internal::PassesInAFreshProcess;
using internal::TempFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Two kernels: something per element, and a row reduction behind it that is cut off by an output.
constexpr char kText[] =
    "graph f(%x: f32[n], %m: f32[k,64]) -> (f32[n], f32[k]) {\n %0 = multiply(%x, %x) : f32[n]\n "
    "%1 = tanh(%0) : f32[n]\n %2 = sum(%m) {axes=[1], keepdims=false} : f32[k]\n return %1, %2\n}";

// One call; its results are right whatever made the kernels.
Function Call() {
  CompileOptions options;
  options.device = DeviceKind::kCpu;
  StatusOr<Function> f = CompileText(kText, options);
  EXPECT_TRUE(f.ok()) << f.status().message();
  const Array x = *Array::FromValues(DType::kF32, {3}, {0, 1, -30});
  const Array m = *Array::FromValues(DType::kF32, {1, 64}, std::vector<double>(64, 0.5));
  auto results = f->Run({x, m});
  EXPECT_TRUE(results.ok()) << results.status().message();
  if (results.ok()) {
    EXPECT_THAT(*(*results)[0].ToVector(), ElementsAre(0, testing::DoubleNear(0.7615942, 1e-6), 1));
    EXPECT_THAT(*(*results)[1].ToVector(), ElementsAre(32));
  }
  return *f;
}

std::string Explained(const Function& f) {
  const Array x = *Array::FromValues(DType::kF32, {3}, {0, 1, -30});
  const Array m = *Array::FromValues(DType::kF32, {1, 64}, std::vector<double>(64, 0.5));
  return *f.Explain({x, m});
}

TEST(DiskCacheChild, DISABLED_Compiles) {
  const Function f = Call();
  EXPECT_EQ(f.stats().compiled, 2);
  EXPECT_EQ(f.stats().disk_hits + f.stats().layer_hits + f.stats().healed, 0);
  EXPECT_GT(f.stats().compile_ms, 0);
  EXPECT_EQ(CodegenInitializations(), 1);
  EXPECT_THAT(Explained(f), HasSubstr(", compiled in "));
}

TEST(DiskCacheChild, DISABLED_FindsOnDisk) {
  const Function f = Call();
  EXPECT_EQ(f.stats().compiled, 0);
  EXPECT_EQ(f.stats().disk_hits, 2);
  EXPECT_EQ(f.stats().compile_ms, 0);
  EXPECT_EQ(CodegenInitializations(), 0);
  EXPECT_EQ(internal::NvrtcsOpened(), 0);
  EXPECT_THAT(Explained(f), HasSubstr(", from the disk cache; emitted in "));
  EXPECT_EQ(Call().stats().memory_hits, 2);
  EXPECT_EQ(TotalStats().disk_hits, 2);
}

TEST(DiskCacheChild, DISABLED_FindsInALayer) {
  const Function f = Call();
  EXPECT_EQ(f.stats().compiled, 0);
  EXPECT_EQ(f.stats().layer_hits, 2);
  EXPECT_EQ(CodegenInitializations(), 0);
  EXPECT_THAT(Explained(f), HasSubstr(", from a read-only layer of the cache; emitted in "));
}

TEST(DiskCacheChild, DISABLED_Heals) {
  const Function f = Call();
  EXPECT_EQ(f.stats().compiled, 2);
  EXPECT_EQ(f.stats().healed, 2);
  EXPECT_THAT(Explained(f),
              HasSubstr(", in place of a damaged entry of the disk cache; emitted in "));
}

// The environment names the target that is expected.
TEST(DiskCacheChild, DISABLED_FindsAnotherTargetInALayer) {
  const Function f = Call();
  EXPECT_EQ(f.stats().layer_hits, 2);
  EXPECT_EQ(f.stats().compiled, 0);
  EXPECT_EQ(CodegenInitializations(), 0);
  EXPECT_EQ(f.stats().fallbacks.at("cache_other_target"), 1);
  const std::string level = std::getenv("EXPECTED_LEVEL");
  EXPECT_THAT(Explained(f), HasSubstr("graph f on cpu:" + level + ": "));
  EXPECT_THAT(Explained(f),
              HasSubstr("(" + level + " in place of " + internal::DetectHostCpu().name + ")"));
}

TEST(DiskCacheChild, DISABLED_IsRefused) {
  CompileOptions options;
  options.device = DeviceKind::kCpu;
  const Array x = *Array::FromValues(DType::kF32, {1}, {0}),
              m = *Array::Empty(DType::kF32, {1, 64});
  const auto results = CompileText(kText, options)->Run({x, m});
  EXPECT_THAT(results.status().message(),
              HasSubstr("is not in the cache, and JITFUSE_REQUIRE_CACHE is set"));
  EXPECT_EQ(CodegenInitializations(), 0);
}

TEST(DiskCacheProcessTest, ASecondProcessRunsNoCompiler) {
  const TempFolder folder, other;
  std::map<std::string, std::string> environment = {{"JITFUSE_NO_CACHE", "0"},
                                                    {"JITFUSE_CACHE_DIR", folder.path}};
  environment["JITFUSE_REQUIRE_CACHE"] = "1";
  EXPECT_TRUE(PassesInAFreshProcess("DiskCacheChild.DISABLED_IsRefused", environment));
  environment["JITFUSE_REQUIRE_CACHE"] = "0";
  EXPECT_TRUE(PassesInAFreshProcess("DiskCacheChild.DISABLED_Compiles", environment));
  const std::vector<std::string> files = internal::EntryFiles(folder.path);
  ASSERT_EQ(files.size(), 2u);
  environment["JITFUSE_REQUIRE_CACHE"] = "1";
  EXPECT_TRUE(PassesInAFreshProcess("DiskCacheChild.DISABLED_FindsOnDisk", environment));
  environment["JITFUSE_CACHE_PATH"] = folder.path;
  environment["JITFUSE_CACHE_DIR"] = other.path;
  EXPECT_TRUE(PassesInAFreshProcess("DiskCacheChild.DISABLED_FindsInALayer", environment));
  environment["JITFUSE_CACHE_PATH"] = "";
  environment["JITFUSE_REQUIRE_CACHE"] = "0";
  environment["JITFUSE_CACHE_DIR"] = folder.path;
  for (const std::string& file : files)
    internal::WriteFile(file, internal::ReadFile(file).substr(0, 100));
  EXPECT_TRUE(PassesInAFreshProcess("DiskCacheChild.DISABLED_Heals", environment));
  EXPECT_TRUE(PassesInAFreshProcess("DiskCacheChild.DISABLED_FindsOnDisk", environment));
}

// Kernels made for x86-64-v2, v3 and v4 serve every CPU that has what these ask for.
TEST(DiskCacheProcessTest, LayersForMoreGeneralCpusServeThisOne) {
  const auto backend = internal::CreateCpuBackend();
  ASSERT_FALSE(backend->GeneralBackends().empty());
  for (const internal::Backend* general : backend->GeneralBackends()) {
    const std::string level = general->target().arch;
    const TempFolder layer, own;
    EXPECT_TRUE(PassesInAFreshProcess("DiskCacheChild.DISABLED_Compiles",
                                      {{"JITFUSE_NO_CACHE", "0"},
                                       {"JITFUSE_CACHE_DIR", layer.path},
                                       {"JITFUSE_CPU_ARCH", level}}));
    EXPECT_TRUE(PassesInAFreshProcess("DiskCacheChild.DISABLED_FindsAnotherTargetInALayer",
                                      {{"JITFUSE_NO_CACHE", "0"},
                                       {"JITFUSE_CACHE_DIR", own.path},
                                       {"JITFUSE_CACHE_PATH", layer.path},
                                       {"JITFUSE_REQUIRE_CACHE", "1"},
                                       {"EXPECTED_LEVEL", level}}))
        << level;
    // Where a level was asked for, that is what runs.
    EXPECT_TRUE(internal::CreateCpuBackendFor(level)->get()->GeneralBackends().empty());
  }
}

// Compiling is deterministic: who writes an entry does not matter.
TEST(DiskCacheProcessTest, EveryProcessWritesTheSameBytes) {
  const TempFolder a, b;
  for (const TempFolder* folder : {&a, &b}) {
    EXPECT_TRUE(
        PassesInAFreshProcess("DiskCacheChild.DISABLED_Compiles",
                              {{"JITFUSE_NO_CACHE", "0"}, {"JITFUSE_CACHE_DIR", folder->path}}));
  }
  const auto first = internal::EntryFiles(a.path), second = internal::EntryFiles(b.path);
  ASSERT_EQ(first.size(), 2u);
  ASSERT_EQ(second.size(), 2u);
  for (size_t i = 0; i < 2; ++i)
    EXPECT_EQ(internal::ReadFile(first[i]), internal::ReadFile(second[i]));
}

// The key has this CPU's exact name and features.
TEST(DiskCacheProcessTest, TheKeyOfHostCodeNamesTheCpu) {
  const internal::HostCpu host = internal::DetectHostCpu();
  const TempFolder folder;
  EXPECT_TRUE(
      PassesInAFreshProcess("DiskCacheChild.DISABLED_Compiles",
                            {{"JITFUSE_NO_CACHE", "0"}, {"JITFUSE_CACHE_DIR", folder.path}}));
  for (const std::string& file : internal::EntryFiles(folder.path)) {
    const auto entry = internal::DecodeEntry(internal::ReadFile(file));
    ASSERT_TRUE(entry.ok()) << entry.status();
    EXPECT_EQ(entry->key.arch, host.name);
    for (const std::string& feature : host.features)
      EXPECT_THAT(entry->key.options, HasSubstr(feature));
    EXPECT_EQ("llvm-" + internal::LlvmVersion(), entry->key.toolchain);
  }
}

// Cached objects depend on LLVM's passes as this repository runs them: a change of this code raises
// kCacheFormat.
TEST(DiskCacheProcessTest, HowLlvmIsToldToWorkIsThatOfTheFormat) {
  static_assert(internal::kCacheFormat == 2);
  if (internal::LlvmVersion() != "19.1.7") GTEST_SKIP() << "the code below is that of LLVM 19.1.7";
  constexpr char kLoop[] =
      "define void @f(ptr %p, ptr %s, i64 %n) nounwind {\nentry:\n  %a = alloca <8 x float>\n  br "
      "label %loop\nloop:\n  %i = phi i64 [ 0, %entry ], [ %j, %loop ]\n  %c = load float, ptr "
      "%s\n  %c0 = insertelement <8 x float> poison, float %c, i32 0\n  %c8 = shufflevector <8 x "
      "float> %c0, <8 x float> poison, <8 x i32> zeroinitializer\n  %q = getelementptr float, ptr "
      "%p, i64 %i\n  %x = load <8 x float>, ptr %q, align 4\n  store <8 x float> %x, ptr %a\n  %y "
      "= load <8 x float>, ptr %a\n  %m = fmul <8 x float> %y, %c8\n  %z = fadd <8 x float> %m, "
      "%c8\n  store <8 x float> %z, ptr %q, align 4\n  %j = add i64 %i, 8\n  %d = icmp ult i64 %j, "
      "%n\n  br i1 %d, label %loop, label %end\nend:\n  ret void\n}\n";
  const auto code = internal::CompileLlvm(kLoop, "x86-64-v3", "");
  ASSERT_TRUE(code.ok()) << code.status();
  EXPECT_EQ(internal::HashBytes(code->data(), code->size()).ToHex(),
            "8e1b4d58683234b149824fc843236634");
}

}  // namespace
}  // namespace jitfuse
