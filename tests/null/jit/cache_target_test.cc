// Which target's code is used: the exact one's where the caches have it, else that of the nearest
// more general one of which a read-only layer has a graph's kernels, else what is compiled.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/text.h"
#include "jit/call_cache.h"
#include "tests/test_util/general_backend.h"

namespace jitfuse::internal {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr const char* kOneKernel =
    "graph f(%x: f32[n,64]) -> (f32[n,64]) {\n  %0 = tanh(%x) : f32[n,64]\n  return %0\n}";

// What a new process would make of a call.
struct Made {
  absl::Status status;
  std::string arch;
  int64_t compiled = 0, layer_hits = 0, disk_hits = 0, memory_hits = 0, other_target = 0;
  std::string detail;
};

Made Call(KernelCache* kernels, const Backend& backend, const char* text) {
  CallCache cache(*ParseGraph(text), Options{}, &backend, kernels);
  const std::vector<int64_t> dims = {8, 64};
  std::vector<float> data(8 * 64);
  const std::vector<TensorView> in = {{data.data(), DType::kF32, dims, {}}};
  const auto bound = cache.Find(in, {});
  Made out;
  out.status = bound.status();
  if (!bound.ok()) return out;
  const Executable& exe = *(*bound)->executable;
  out.arch = exe.backend->target().arch;
  const Counters counted = cache.stats();
  out.compiled = counted.compiled;
  out.layer_hits = counted.layer_hits;
  out.disk_hits = counted.disk_hits;
  out.memory_hits = counted.memory_hits;
  out.other_target = counted.fallbacks[static_cast<size_t>(Reason::kCacheOtherTarget)];
  for (const Note& note : exe.fusion.notes) {
    if (note.reason == Reason::kCacheOtherTarget) out.detail = note.detail;
  }
  return out;
}

Made Fresh(const DiskCacheOptions& options, const Backend& backend,
           const char* text = kTwoKernels) {
  DiskCache disk(options);
  KernelCache kernels(&disk);
  return Call(&kernels, backend, text);
}

class CacheTargetTest : public testing::Test {
 protected:
  // Kernels of `text` for `level`, in the folder.
  static void Fill(const std::string& folder, const std::string& level,
                   const char* text = kTwoKernels) {
    EXPECT_EQ(Fresh(In(folder), GeneralBackend(level, level), text).status, absl::OkStatus());
  }
  static DiskCacheOptions With(const std::string& layer, const std::string& own) {
    DiskCacheOptions options = In(own);
    options.layers = {layer};
    return options;
  }

  const TempFolder layer_, own_;
  const GeneralBackend host_{"x86-64-v4", "toycpu", {"x86-64-v4", "x86-64-v3", "x86-64-v2"}};
};

TEST_F(CacheTargetTest, ALayersCodeForAMoreGeneralCpuIsTaken) {
  Fill(layer_.path, "x86-64-v3");
  DiskCacheOptions options = With(layer_.path, own_.path);
  options.require = true;
  const Made made = Fresh(options, host_);
  ASSERT_TRUE(made.status.ok()) << made.status;
  EXPECT_EQ(made.arch, "x86-64-v3");
  EXPECT_EQ(made.detail, "x86-64-v3 in place of toycpu");
  EXPECT_EQ(made.other_target, 1);
  EXPECT_EQ(made.layer_hits, 2);
  EXPECT_EQ(made.compiled, 0);
  EXPECT_EQ(host_.compiles + host_.general(1).compiles, 0);
  EXPECT_TRUE(EntryFiles(own_.path).empty());
}

TEST_F(CacheTargetTest, TheNearestComesFirst) {
  Fill(layer_.path, "x86-64-v2");
  EXPECT_EQ(Fresh(With(layer_.path, own_.path), host_).arch, "x86-64-v2");
  Fill(layer_.path, "x86-64-v3");
  EXPECT_EQ(Fresh(With(layer_.path, own_.path), host_).arch, "x86-64-v3");
  Fill(layer_.path, "x86-64-v4");
  EXPECT_EQ(Fresh(With(layer_.path, own_.path), host_).arch, "x86-64-v4");
  // One that cannot run the nearest.
  const GeneralBackend older("x86-64-v3", "oldcpu", {"x86-64-v3", "x86-64-v2"});
  EXPECT_EQ(Fresh(With(layer_.path, own_.path), older).arch, "x86-64-v3");
}

TEST_F(CacheTargetTest, TheExactCpusCodeComesBeforeIt) {
  Fill(layer_.path, "x86-64-v4");
  {
    const TempFolder exact;
    const GeneralBackend alone("x86-64-v4", "toycpu");
    EXPECT_EQ(Fresh(In(exact.path), alone).compiled, 2);
    const Made own = Fresh(With(layer_.path, exact.path), host_);
    EXPECT_EQ(own.arch, "toycpu");
    EXPECT_EQ(own.disk_hits, 2);
    EXPECT_EQ(own.other_target, 0);
  }
  const GeneralBackend alone("x86-64-v4", "toycpu");
  EXPECT_EQ(Fresh(In(layer_.path), alone).compiled, 2);
  const Made layer = Fresh(With(layer_.path, own_.path), host_);
  EXPECT_EQ(layer.arch, "toycpu");
  EXPECT_EQ(layer.layer_hits, 2);
}

// Not from the own cache: what this machine compiles is for this CPU.
TEST_F(CacheTargetTest, OnlyFromLayersAndOnlyWholeGraphs) {
  Fill(own_.path, "x86-64-v3");
  EXPECT_EQ(Fresh(In(own_.path), host_).compiled, 2);
  Fill(layer_.path, "x86-64-v3");
  std::filesystem::remove(EntryFiles(layer_.path).at(0));
  const TempFolder empty;
  const Made made = Fresh(With(layer_.path, empty.path), host_);
  EXPECT_EQ(made.arch, "toycpu");
  EXPECT_EQ(made.compiled, 2);
  EXPECT_EQ(made.other_target, 0);
}

// Each graph is a choice of its own; what is in memory is not read again.
TEST_F(CacheTargetTest, GraphsOfOneProcessMayDiffer) {
  Fill(layer_.path, "x86-64-v3");
  DiskCache disk(With(layer_.path, own_.path));
  KernelCache kernels(&disk);
  EXPECT_EQ(Call(&kernels, host_, kTwoKernels).arch, "x86-64-v3");
  EXPECT_EQ(Call(&kernels, host_, kOneKernel).arch, "toycpu");
  const Made again = Call(&kernels, host_, kTwoKernels);
  EXPECT_EQ(again.arch, "x86-64-v3");
  EXPECT_EQ(again.memory_hits, 2);
}

// It is compiled for the target that was chosen, and kept.
TEST_F(CacheTargetTest, ADamagedEntryOfALayerIsHealedInTheOwnCache) {
  Fill(layer_.path, "x86-64-v3");
  WriteFile(EntryFiles(layer_.path).at(0), "damage");
  const Made made = Fresh(With(layer_.path, own_.path), host_);
  EXPECT_EQ(made.status, absl::OkStatus());
  EXPECT_EQ(made.arch, "x86-64-v3");
  EXPECT_EQ(made.compiled, 1);
  EXPECT_EQ(made.layer_hits, 1);
  const Made again = Fresh(With(layer_.path, own_.path), host_);
  EXPECT_EQ(again.compiled, 0);
  EXPECT_EQ(again.disk_hits, 1);
}

TEST_F(CacheTargetTest, ARequiredGraphThatNoTargetHasIsAnError) {
  Fill(layer_.path, "x86-64-v3", kOneKernel);
  DiskCacheOptions options = With(layer_.path, own_.path);
  options.require = true;
  EXPECT_THAT(Fresh(options, host_).status.message(),
              AllOf(HasSubstr("for toycpu (nor all of its graph's for x86-64-v4, x86-64-v3, "
                              "x86-64-v2) is not in the cache, and JITFUSE_REQUIRE_CACHE is set"),
                    HasSubstr("architecture is 'x86-64-v3' there, 'toycpu' here")));
}

}  // namespace
}  // namespace jitfuse::internal
