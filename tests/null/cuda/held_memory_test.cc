// The memory of bound functions on a driver that checks its streams: it hangs on none of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include "ir/support/status.h"
#include "ir/text.h"
#include "jit/call_cache.h"
#include "jit/cuda/cuda_backends.h"
#include "jit/executor.h"
#include "tests/fake_driver.h"
#include "tests/null/cuda/fake_cublaslt.h"

namespace jitfuse::internal {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

// x @ (u @ v), with u and v bound: their product is computed once, by the (fake) library.
constexpr char kText[] =
    "graph f(%x: f32[n,4], %u: f32[4,3], %v: f32[3,5]) -> (f32[n,5]) {\n"
    "  %0 = matmul(%u, %v) : f32[4,5]\n  %1 = matmul(%x, %0) : f32[n,5]\n  return %1\n}";

class HeldMemoryTest : public testing::Test {
 protected:
  HeldMemoryTest() {
    FakeDriver::current = nullptr;
    api_ = FakeApi();
    backend_ = *CreateCudaBackendWith(driver_.api(), &api_);
    HeldInputs held;
    held.bound = {false, true, true};
    held.data = {nullptr, u_.data(), v_.data()};
    held.bits = {0, 0, 0};
    cache_ = std::make_unique<CallCache>(*ParseGraph(kText), Options{}, backend_.get(), &kernels_,
                                         VerifyPolicy{}, std::move(held));
  }
  CuStream NewStream() {
    CuStream stream = nullptr;
    EXPECT_EQ(driver_.api().StreamCreate(&stream, kCuStreamNonBlocking), kCuSuccess);
    return stream;
  }
  absl::Status Run(StreamHandle stream) {
    const std::vector<int64_t> dx = {2, 4}, du = {4, 3}, dv = {3, 5};
    std::vector<float> x(8, 1.0f), y(10, 7.0f);
    const std::vector<TensorView> in = {{x.data(), DType::kF32, dx, {}},
                                        {u_.data(), DType::kF32, du, {}},
                                        {v_.data(), DType::kF32, dv, {}}};
    const std::vector<uint64_t> scalars = {0, 0, 0};
    JF_ASSIGN_OR_RETURN(auto bound, cache_->Find(in, {}, nullptr, stream));
    std::vector<void*> inputs = {x.data(), u_.data(), v_.data()}, outputs = {y.data()};
    JF_RETURN_IF_ERROR(ExecuteWithAllocator(*bound, {inputs, scalars, outputs, nullptr, stream},
                                            backend_->allocator()));
    EXPECT_THAT(y, Each(24.0f));
    return absl::OkStatus();
  }

  FakeDriver driver_;
  CublasLtApi api_;
  std::vector<float> u_ = std::vector<float>(12, 1.0f), v_ = std::vector<float>(15, 2.0f);
  std::unique_ptr<Backend> backend_;
  KernelCache kernels_;
  std::unique_ptr<CallCache> cache_;
};

TEST_F(HeldMemoryTest, OutlivesTheStreamOfTheFirstCall) {
  const CuStream first = NewStream();
  ASSERT_TRUE(Run(first).ok());
  EXPECT_EQ(driver_.Calls("cuMemAlloc"), 1);
  ASSERT_EQ(driver_.api().StreamDestroy(first), kCuSuccess);
  const CuStream second = NewStream();
  ASSERT_TRUE(Run(second).ok());
  ASSERT_EQ(driver_.api().StreamDestroy(second), kCuSuccess);
  EXPECT_EQ(driver_.Calls("cuMemAlloc"), 1);
  EXPECT_EQ(driver_.Calls("cuMemFree"), 0);
  cache_.reset();
  EXPECT_EQ(driver_.Calls("cuMemFree"), 1);
  EXPECT_EQ(driver_.on_gone_streams(), 0);
  EXPECT_EQ(driver_.Calls("cuMemFreeAsync"), driver_.Calls("cuMemAllocFromPoolAsync"));
}

TEST_F(HeldMemoryTest, TheFakeDriverSeesStreamsThatAreGone) {
  const CuStream stream = NewStream();
  ASSERT_EQ(driver_.api().StreamDestroy(stream), kCuSuccess);
  EXPECT_FALSE(Run(stream).ok());
  EXPECT_GT(driver_.on_gone_streams(), 0);
}

TEST_F(HeldMemoryTest, GoesWithItsContext) {
  Allocator* held = backend_->held_allocator();
  void* data = held->Allocate(1000, nullptr);
  ASSERT_NE(data, nullptr);
  driver_.ids[FakeDriver::Context(1)] = 99;  // another one in its place
  held->Free(data, 1000, nullptr);
  EXPECT_EQ(driver_.Calls("cuMemFree"), 0);
  driver_.ids.clear();
  held->Free(data, 1000, nullptr);
  EXPECT_EQ(driver_.Calls("cuMemFree"), 1);
}

TEST_F(HeldMemoryTest, IsLeftAloneByTheChildOfAFork) {
  ASSERT_TRUE(Run(nullptr).ok());
  const pid_t child = fork();
  if (child == 0) {
    cache_.reset();
    _exit(driver_.Calls("cuMemFree"));
  }
  int result = -1;
  ASSERT_EQ(waitpid(child, &result, 0), child);
  EXPECT_EQ(result, 0);
}

TEST_F(HeldMemoryTest, WithoutMemoryTheCallSaysSo) {
  driver_.Fail("cuMemAlloc", kCuErrorOutOfMemory);
  const absl::Status status = Run(nullptr);
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("80 bytes for what is computed once"));
  driver_.Succeed("cuMemAlloc");
  EXPECT_TRUE(Run(nullptr).ok());
}

}  // namespace
}  // namespace jitfuse::internal
