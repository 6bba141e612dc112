// A GPU whose driver is swapped for another version, refuses code, or has no memory left, under
// kernels that are in the disk cache: errors say what failed, and what was in the way once is
// forgotten when it is gone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/text.h"
#include "jit/call_cache.h"
#include "jit/cuda/cuda_backends.h"
#include "jit/executor.h"
#include "tests/fake_driver.h"
#include "tests/test_util/cache_kit.h"

namespace jitfuse::internal {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;

// Fills caches as a machine with NVRTC would, with anything for cubins.
class CannedCompiler : public IdleBackend {
 public:
  CannedCompiler(const Backend& cuda, std::string id) : cuda_(cuda), id_(std::move(id)) {}
  std::string_view name() const override { return "cuda"; }
  const Target& target() const override { return cuda_.target(); }
  std::string CompilerId() const override { return id_; }
  absl::StatusOr<KernelSource> Emit(const KernelPlan& plan) const override {
    return cuda_.Emit(plan);
  }
  absl::StatusOr<CompiledKernel> Compile(const KernelSource&) const override {
    return CompiledKernel{"a cubin", "", 1.0};
  }
  absl::StatusOr<std::shared_ptr<const Kernel>> Load(const KernelSource&,
                                                     const CompiledKernel&) const override {
    return std::shared_ptr<const Kernel>(std::make_shared<Kernel>());
  }

 private:
  const Backend& cuda_;
  const std::string id_;
};

class CudaFaultsTest : public testing::Test {
 protected:
  CudaFaultsTest() {
    FakeDriver::current = nullptr;
    layer_options_.layers = {folder_.path};
    layer_options_.no_dir_reason = "none is needed";
    layer_options_.require = true;
  }

  // A process with this driver: its back end and caches.
  struct Process {
    explicit Process(const FakeDriver& driver, const DiskCacheOptions& options)
        : backend(*CreateCudaBackendWith(driver.api())),
          disk(options),
          kernels(&disk),
          cache(*ParseGraph(kTwoKernels), Options{}, backend.get(), &kernels) {}

    absl::Status Call() {
      const std::vector<int64_t> dims = {3, 64};
      std::vector<float> x(3 * 64, 1), y(3 * 64);
      const TensorView in{x.data(), DType::kF32, dims, {}};
      const auto bound = cache.Find({&in, 1}, {});
      if (!bound.ok()) return bound.status();
      EXPECT_GT((*bound)->arena_bytes, 0);
      std::vector<void*> inputs = {x.data()}, outputs = {y.data()};
      const std::vector<uint64_t> scalars = {0};
      return ExecuteWithAllocator(**bound, {inputs, scalars, outputs, nullptr, nullptr},
                                  backend->allocator());
    }

    std::unique_ptr<Backend> backend;
    DiskCache disk;
    KernelCache kernels;
    CallCache cache;
  };

  void FillBy(const std::string& compiler) {
    const std::unique_ptr<Backend> cuda = *CreateCudaBackendWith(driver_.api());
    const CannedCompiler canned(*cuda, compiler);
    DiskCache disk(In(folder_.path));
    KernelCache kernels(&disk);
    CallCache cache(*ParseGraph(kTwoKernels), Options{}, &canned, &kernels);
    const std::vector<int64_t> dims = {3, 64};
    std::vector<float> x(3 * 64);
    const TensorView in{x.data(), DType::kF32, dims, {}};
    const auto bound = cache.Find({&in, 1}, {});
    ASSERT_TRUE(bound.ok()) << bound.status();
  }

  const TempFolder folder_;
  DiskCacheOptions layer_options_;
  FakeDriver driver_;
};

TEST_F(CudaFaultsTest, ADriverTakesCodeOfItsCudaAndOlderOnes) {
  FillBy("nvrtc 13.0");
  for (const auto& [version, runs] :
       {std::pair(13000, true), std::pair(12080, false), std::pair(14000, true)}) {
    driver_.version = version;
    Process process(driver_, layer_options_);
    const absl::Status status = process.Call();
    EXPECT_EQ(status.ok(), runs) << version << ": " << status;
    EXPECT_EQ(process.cache.stats().layer_hits, runs ? 2 : 0);
    if (!runs) {
      EXPECT_THAT(status.message(), AllOf(HasSubstr("is not in the cache"),
                                          HasSubstr("compiler is 'nvrtc-13.0' there")));
    }
  }
  // Code of both is there: the older driver gets the older.
  FillBy("nvrtc 12.9");
  driver_.version = 12080;
  Process process(driver_, layer_options_);
  EXPECT_EQ(process.Call(), absl::OkStatus());
}

TEST_F(CudaFaultsTest, CodeThatTheDriverRefusesIsItsError) {
  FillBy("nvrtc 13.0");
  Process process(driver_, layer_options_);
  driver_.Fail("cuModuleLoadData", kCuErrorNoBinaryForGpu);
  EXPECT_THAT(process.Call().message(), HasSubstr("cuModuleLoadData"));
  driver_.Succeed("cuModuleLoadData");
  EXPECT_EQ(process.Call(), absl::OkStatus());
}

TEST_F(CudaFaultsTest, OutOfMemoryAnywhereIsSaidAndPasses) {
  FillBy("nvrtc 13.0");
  for (const char* call :
       {"cuModuleLoadData", "cuModuleGetFunction", "cuMemAllocFromPoolAsync", "cuLaunchKernel"}) {
    Process process(driver_, layer_options_);
    driver_.Fail(call, kCuErrorOutOfMemory);
    for (int i = 0; i < 2; ++i) {
      const absl::Status status = process.Call();
      EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << call << ": " << status;
      EXPECT_THAT(status.message(),
                  AnyOf(HasSubstr(call), HasSubstr("graph f: the allocator had no")));
    }
    driver_.Succeed(call);
    const size_t launches = driver_.launches().size();
    EXPECT_EQ(process.Call(), absl::OkStatus()) << call;
    EXPECT_EQ(driver_.launches().size(), launches + 2) << call;
  }
}

}  // namespace
}  // namespace jitfuse::internal
