// What cubins say of their kernels, against what ptxas prints of the same source; line info.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <regex>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "api/inspect.h"
#include "api/runtime.h"
#include "jit/cache_entry.h"
#include "jit/cuda/cubin_info.h"
#include "jit/cuda/cuda_backend.h"
#include "jit/cuda/nvrtc_compile.h"
#include "jit/kernel_cache.h"
#include "tests/test_util/spilling_source.h"

namespace jitfuse {
namespace {

using internal::CompiledKernel;
using internal::KernelResources;
using internal::KernelSource;
using internal::kSpills;
using ::testing::HasSubstr;
using ::testing::Not;

class ResourcesNvrtcTest : public testing::Test {
 protected:
  void SetUp() override {
    auto nvrtc = internal::LoadNvrtcApi(13);
    if (!nvrtc.ok()) GTEST_SKIP() << nvrtc.status();
    nvrtc_ = *nvrtc;
  }
  CompiledKernel Compile(const KernelSource& source) const {
    auto compiled = internal::CompileCuda(*nvrtc_, source);
    EXPECT_TRUE(compiled.ok()) << compiled.status();
    return compiled.ok() ? *compiled : CompiledKernel();
  }
  const internal::NvrtcApi* nvrtc_ = nullptr;
};

KernelSource Source(const std::string& arch, const std::string& text) {
  KernelSource out;
  out.lang = internal::SourceLang::kCuda;
  out.arch = arch;
  out.entry = "k";
  out.threads = 1024;
  out.options = {"--fmad=false"};
  out.text = text;
  return out;
}

// An array whose index is not known: local memory, and no spill.
constexpr char kIndexed[] = R"(extern "C" __global__ void k(float* p, const int* q) {
  float a[32];
  for (int i = 0; i < 32; ++i) a[i] = p[i];
  for (int i = 0; i < 32; ++i) a[q[i] & 31] += p[i + q[i]];
  p[threadIdx.x] = a[q[threadIdx.x] & 31];
})";
constexpr char kSmall[] = R"(extern "C" __global__ void k(float* p) { p[threadIdx.x] = 1; })";

int64_t Said(const std::string& log, const std::string& pattern) {
  std::smatch match;
  return std::regex_search(log, match, std::regex(pattern)) ? std::stoll(match[1]) : 0;
}

TEST_F(ResourcesNvrtcTest, CubinsSayWhatPtxasSays) {
  for (const char* arch : {"sm_75", "sm_80", "sm_89", "sm_90", "sm_100", "sm_120"}) {
    for (const char* text : {kSpills, kIndexed, kSmall}) {
      KernelSource source = Source(arch, text);
      const KernelResources r =
          internal::ResourcesOfCubin(source, Compile(source), *internal::TargetFor(arch));
      source.options.emplace_back("--ptxas-options=-v");
      const std::string log = Compile(source).log;
      EXPECT_EQ(r.registers, Said(log, "Used (\\d+) registers")) << arch << log;
      EXPECT_EQ(r.local_bytes, Said(log, "(\\d+) bytes stack frame")) << arch << log;
      EXPECT_EQ(r.spill_stores, Said(log, "(\\d+) bytes spill stores")) << arch << log;
      EXPECT_EQ(r.spill_loads, Said(log, "(\\d+) bytes spill loads")) << arch << log;
      EXPECT_EQ(r.static_smem, Said(log, "(\\d+) bytes smem")) << arch << log;
      EXPECT_GT(r.code_bytes, 0);
      EXPECT_EQ(r.dynamic_smem, 0);
      const auto note = internal::NoteOfResources(0, "k", r);
      EXPECT_EQ(note.has_value(), text != kSmall);
      if (text == kSpills) EXPECT_EQ(note->reason, internal::Reason::kRegisterSpill) << arch;
      if (text == kIndexed) EXPECT_EQ(note->reason, internal::Reason::kLocalMemory) << arch;
    }
  }
}

// Where there is a driver, NVRTC has a cache of its own: what comes from that has no remarks.
struct NvrtcWithCache {
  explicit NvrtcWithCache(const internal::NvrtcApi& nvrtc) : api(nvrtc) {
    real = &nvrtc;
    compiles = 0;
    api.CompileProgram = [](internal::NvrtcProgram program, int n, const char* const* options) {
      ++compiles;
      hit = std::none_of(options, options + n,
                         [](const char* o) { return std::string_view(o) == "--no-cache"; });
      return real->CompileProgram(program, n, options);
    };
    api.GetProgramLogSize = [](internal::NvrtcProgram program, size_t* size) {
      const internal::NvrtcResult result = real->GetProgramLogSize(program, size);
      if (hit) *size = 1;
      return result;
    };
  }
  internal::NvrtcApi api;
  static inline const internal::NvrtcApi* real = nullptr;
  static inline bool hit = false;
  static inline int compiles = 0;
};

TEST_F(ResourcesNvrtcTest, SpillsOfWhatNvrtcHasInItsCacheAreKnown) {
  NvrtcWithCache nvrtc(*nvrtc_);
  const auto with = [&](const char* text) {
    const KernelSource source = Source("sm_90", text);
    nvrtc.compiles = 0;
    const auto compiled = internal::CompileCuda(nvrtc.api, source);
    EXPECT_TRUE(compiled.ok()) << compiled.status();
    return internal::ResourcesOfCubin(source, *compiled, *internal::TargetFor("sm_90"));
  };
  EXPECT_GT(with(kSpills).spill_stores, 0);
  EXPECT_EQ(nvrtc.compiles, 2);
  EXPECT_EQ(with(kIndexed).spill_stores, 0);
  EXPECT_EQ(nvrtc.compiles, 2);
  EXPECT_EQ(with(kSmall).spill_stores, 0);
  EXPECT_EQ(nvrtc.compiles, 1);  // without local memory nothing is spilled
  nvrtc.api.major = 12;          // before it had a cache
  nvrtc.api.minor = 8;
  with(kIndexed);
  EXPECT_EQ(nvrtc.compiles, 1);
}

// Functions of the compiler's own, which the kernel calls, spill too.
TEST_F(ResourcesNvrtcTest, SpillsOfWhatIsCalledCount) {
  const KernelSource source = Source("sm_90", kSmall);
  CompiledKernel compiled = Compile(source);
  EXPECT_EQ(compiled.log, "");
  for (const char* name : {"k", "__cuda_sm20_div_rn_f64_full", "k2"})
    absl::StrAppend(&compiled.log,
                    "ptxas warning : Registers are spilled to local memory in function '", name,
                    "', 8 bytes spill stores, 12 bytes spill loads\n");
  const KernelResources r =
      internal::ResourcesOfCubin(source, compiled, *internal::TargetFor("sm_90"));
  EXPECT_EQ(r.spill_stores, 16);
  EXPECT_EQ(r.spill_loads, 24);
}

TEST_F(ResourcesNvrtcTest, OfBytesThatAreNoCubinNothingIsSaid) {
  const KernelSource source = Source("sm_90", kSpills);
  const CompiledKernel whole = Compile(source);
  const internal::Target target = *internal::TargetFor("sm_90");
  const int64_t registers = internal::ResourcesOfCubin(source, whole, target).registers;
  int unknown = 0;
  for (size_t size = 0; size < whole.bytes.size(); size += 97) {
    const KernelResources r =
        internal::ResourcesOfCubin(source, {whole.bytes.substr(0, size), whole.log, 0}, target);
    // The tables end before the file does.
    EXPECT_TRUE(r.registers == KernelResources::kUnknown || r.registers == registers) << size;
    unknown += r.registers == KernelResources::kUnknown ? 1 : 0;
  }
  EXPECT_GT(unknown, 300);
  KernelSource other = source;
  other.entry = "other";
  EXPECT_EQ(internal::ResourcesOfCubin(other, whole, target).registers, KernelResources::kUnknown);
}

TEST_F(ResourcesNvrtcTest, AStageOfExplainNeedsNoGpu) {
  const std::string text =
      "graph f(%x: f32[n,1024]) -> (f32[n,1024]) {\n  %0 = softmax(%x) {axis=1} : f32[n,1024]\n"
      "  return %0\n}";
  const std::vector<Array> shapes = {*Array::Empty(DType::kF32, {64, 1024})};
  for (const char* arch : {"sm_80", "sm_90"}) {
    const auto said = SourceOf(text, shapes, "resources", arch);
    ASSERT_TRUE(said.ok()) << said.status().message();
    EXPECT_THAT(*said, testing::ContainsRegex(
                           "kernel [a-z_0-9]+ for sm_[0-9]+: [0-9]+ registers, 0 bytes of local "
                           "memory, [0-9]+ \\+ [0-9]+ bytes of shared memory .*, [0-9]+ blocks of "
                           "[0-9]+ threads a multiprocessor, occupancy [0-9]+%, [0-9]+ bytes of "
                           "code"));
    EXPECT_THAT(*said, Not(HasSubstr("note")));
  }
}

TEST_F(ResourcesNvrtcTest, LineInfoNamesTheSourceAndIsApartInCaches) {
  auto backend = internal::CreateOfflineCudaBackend(*internal::TargetFor("sm_90"));
  ASSERT_TRUE(backend.ok()) << backend.status();
  auto sources = (*backend)->EmitSort(internal::DType::kI32);
  ASSERT_TRUE(sources.ok());
  const KernelSource plain = sources->at(0);
  std::string folder = testing::TempDir() + "jf_lines_XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  setenv("JITFUSE_LINE_INFO", folder.c_str(), 1);
  const KernelSource lined = (*backend)->EmitSort(internal::DType::kI32)->at(0);
  unsetenv("JITFUSE_LINE_INFO");
  EXPECT_EQ(lined.text, plain.text);
  EXPECT_NE(internal::KernelCache::KeyText(lined, **backend),
            internal::KernelCache::KeyText(plain, **backend));
  EXPECT_NE(internal::KeyOf(lined, "cuda").Hash(), internal::KeyOf(plain, "cuda").Hash());
  const std::string with = Compile(lined).bytes, without = Compile(plain).bytes;
  EXPECT_THAT(with, HasSubstr(folder));
  EXPECT_THAT(with, HasSubstr(".debug_line"));
  EXPECT_THAT(without, Not(HasSubstr(".debug_line")));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace jitfuse
