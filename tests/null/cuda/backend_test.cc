// The CUDA back end over a fake driver: launches, arguments, contexts, memory, errors, forks.
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ir/support/status.h"
#include "jit/cuda/cuda_backends.h"
#include "jit/executable.h"
#include "jit/executor.h"
#include "tests/fake_driver.h"
#include "tests/support/plan_kit.h"

namespace jitfuse::internal {
namespace {

using ::testing::HasSubstr;

class CudaBackendTest : public testing::Test {
 protected:
  void SetUp() override { FakeDriver::current = nullptr; }
  std::unique_ptr<Backend> Make() {
    absl::StatusOr<std::unique_ptr<Backend>> backend = CreateCudaBackendWith(driver_.api());
    EXPECT_TRUE(backend.ok()) << backend.status();
    return backend.ok() ? *std::move(backend) : nullptr;
  }
  std::shared_ptr<const Kernel> Load(const Backend& backend, const KernelPlan& plan) {
    source_ = *backend.Emit(plan);
    absl::StatusOr<std::shared_ptr<const Kernel>> kernel = backend.Load(source_, {});
    EXPECT_TRUE(kernel.ok()) << kernel.status();
    return kernel.ok() ? *kernel : nullptr;
  }
  std::string MessageOf(const absl::Status& status) { return std::string(status.message()); }

  FakeDriver driver_;
  KernelSource source_;
};

const SizeExpr kN = SizeExpr::Symbol(0);

// y = x * half scalar + bool scalar, over [n, 24].
KernelPlan WithScalars() {
  PlanKit k("scaled", {kN, 24});
  const int x = k.Input(DType::kF32), y = k.Output(DType::kF32);
  const int s = k.Scalar(DType::kBF16), b = k.Scalar(DType::kBool), d = k.Scalar(DType::kF64);
  const int v = k.Op(ScalarOp::kSelect,
                     {b, k.Op(ScalarOp::kMul, {k.Load(k.Dense(x)), s}), k.Convert(d, DType::kF32)});
  k.Store(v, k.Dense(y));
  return k.Flat(64, 4);
}

TEST_F(CudaBackendTest, TargetComesFromTheDevice) {
  std::unique_ptr<Backend> backend = Make();
  EXPECT_EQ(backend->target().arch, "sm_90");
  EXPECT_EQ(backend->target().sm_count, 132);
  EXPECT_EQ(backend->target().l2_bytes, 50 << 20);
  EXPECT_NEAR(backend->target().dram_gbps, 3352, 1);
}

TEST_F(CudaBackendTest, ArgumentsInOrder) {
  std::unique_ptr<Backend> backend = Make();
  std::shared_ptr<const Kernel> kernel = Load(*backend, WithScalars());
  ASSERT_EQ(source_.size_args.size(), 1u);  // n * 24, whole vectors
  driver_.words_per_launch = 6;
  void* buffers[] = {reinterpret_cast<void*>(0x1000), reinterpret_cast<void*>(0x2000)};
  const uint64_t scalars[] = {ScalarFromDouble(DType::kF32, 1.5).bits(), 1,
                              ScalarFromDouble(DType::kF64, 2.5).bits()};
  const int64_t symbols[] = {100};
  const int64_t sizes[] = {source_.size_args[0].Eval(symbols)};
  LaunchArgs args;
  args.buffers = buffers;
  args.scalars = scalars;
  args.sizes = sizes;
  args.grid = source_.grid.Eval(symbols);
  args.stream = reinterpret_cast<StreamHandle>(0x30);
  ASSERT_TRUE(backend->Launch(*kernel, args).ok());
  ASSERT_EQ(driver_.launches().size(), 1u);
  const FakeDriver::Launch& launch = driver_.launches()[0];
  EXPECT_EQ(launch.function, "scaled");
  EXPECT_EQ(launch.grid, 10u);  // 2400 elements, 64 threads of 4
  EXPECT_EQ(launch.threads, 64u);
  EXPECT_EQ(launch.stream, reinterpret_cast<CuStream>(0x30));
  EXPECT_EQ(launch.words, (std::vector<uint64_t>{0x1000, 0x2000, scalars[0], 1, scalars[2], 2400}));
}

TEST_F(CudaBackendTest, LaunchDoesNothingElse) {
  std::unique_ptr<Backend> backend = Make();
  std::shared_ptr<const Kernel> kernel = Load(*backend, AddMulRelu(DType::kF32, {1024}, 256, 4));
  const int syncs = driver_.Calls("cuStreamSynchronize"),
            allocs = driver_.Calls("cuMemAllocFromPoolAsync");
  void* buffers[4] = {};
  LaunchArgs args;
  args.buffers = buffers;
  args.grid = 1;
  ASSERT_TRUE(backend->Launch(*kernel, args).ok());
  EXPECT_EQ(driver_.Calls("cuStreamSynchronize"), syncs);
  EXPECT_EQ(driver_.Calls("cuMemAllocFromPoolAsync"), allocs);
}

TEST_F(CudaBackendTest, EmptyGridIsNotLaunched) {
  std::unique_ptr<Backend> backend = Make();
  for (const KernelPlan& plan :
       {AddMulRelu(DType::kF32, {kN, 24}, 256, 4), Softmax(DType::kF32, kN, 100, 32, 4, 4, 1)}) {
    std::shared_ptr<const Kernel> kernel = Load(*backend, plan);
    const int64_t symbols[] = {0};
    std::vector<int64_t> sizes;
    for (const SizeExpr& s : source_.size_args) sizes.push_back(s.Eval(symbols));
    LaunchArgs args;
    args.sizes = sizes;
    args.grid = source_.grid.Eval(symbols);
    EXPECT_EQ(args.grid, 0);
    EXPECT_TRUE(backend->Launch(*kernel, args).ok());
  }
  EXPECT_EQ(driver_.launches().size(), 0u);
}

TEST_F(CudaBackendTest, BadLaunches) {
  std::unique_ptr<Backend> backend = Make();
  std::shared_ptr<const Kernel> kernel = Load(*backend, AddMulRelu(DType::kF32, {1024}, 256, 4));
  LaunchArgs args;
  args.grid = int64_t{1} << 31;
  EXPECT_THAT(MessageOf(backend->Launch(*kernel, args)),
              HasSubstr("launch of relu_f32: a grid of 2147483648 blocks"));
  args.grid = 1;
  const int64_t sizes[] = {3};
  args.sizes = sizes;
  EXPECT_THAT(MessageOf(backend->Launch(*kernel, args)), HasSubstr("1 size arguments, expected 0"));
  args.sizes = {};
  driver_.Fail("cuLaunchKernel", kCuErrorInvalidValue);
  EXPECT_THAT(
      MessageOf(backend->Launch(*kernel, args)),
      HasSubstr("cuLaunchKernel (relu_f32) failed: CUDA_ERROR_INVALID_VALUE: it was told to fail"));
}

TEST_F(CudaBackendTest, ManyArguments) {
  PlanKit k("many", {1024});
  int sum = k.Load(k.Dense(k.Input(DType::kF32)));
  for (int i = 1; i < 299; ++i)
    sum = k.Op(ScalarOp::kAdd, {sum, k.Load(k.Dense(k.Input(DType::kF32)))});
  k.Store(sum, k.Dense(k.Output(DType::kF32)));
  std::unique_ptr<Backend> backend = Make();
  std::shared_ptr<const Kernel> kernel = Load(*backend, k.Flat(128, 4));
  driver_.words_per_launch = 300;
  std::vector<void*> buffers;
  for (uintptr_t i = 0; i < 300; ++i) buffers.push_back(reinterpret_cast<void*>(i * 256));
  LaunchArgs args;
  args.buffers = buffers;
  args.grid = 2;
  ASSERT_TRUE(backend->Launch(*kernel, args).ok());
  for (size_t i = 0; i < 300; ++i) EXPECT_EQ(driver_.launches()[0].words[i], i * 256);
}

// A sort is launches in the order that its kernels need, on the caller's stream, and nothing else.
TEST_F(CudaBackendTest, SortsByLaunchesAlone) {
  std::unique_ptr<Backend> backend = Make();
  std::vector<std::shared_ptr<const Kernel>> loaded;
  std::vector<const Kernel*> kernels;
  const std::vector<KernelSource> sources = *backend->EmitSort(DType::kI32);
  for (const KernelSource& source : sources) {
    loaded.push_back(*backend->Load(source, {}));
    kernels.push_back(loaded.back().get());
  }
  const SortProblem problem{1, 5000, 1, 100, DType::kI32};
  const int64_t bytes = backend->SortWorkspaceBytes(problem);
  EXPECT_GE(bytes, 4 * 5000 * 8);
  std::vector<uint64_t> workspace(static_cast<size_t>(bytes) / 8);
  SortBuffers buffers;
  buffers.indices = reinterpret_cast<void*>(0x1000);
  const int syncs = driver_.Calls("cuStreamSynchronize"),
            allocs = driver_.Calls("cuMemAllocFromPoolAsync");
  ASSERT_TRUE(backend
                  ->RunSort(problem, kernels, buffers, workspace.data(),
                            reinterpret_cast<StreamHandle>(0x30))
                  .ok());
  std::string names;
  for (const FakeDriver::Launch& launch : driver_.launches()) {
    absl::StrAppend(&names, launch.function, " ");
    EXPECT_EQ(launch.stream, reinterpret_cast<CuStream>(0x30));
    EXPECT_EQ(launch.threads, 256u);
  }
  EXPECT_EQ(names,
            "k_sort_keys_i32 k_sort_count k_sort_scan k_sort_move k_sort_count k_sort_scan "
            "k_sort_move k_sort_order k_sort_bounds ");
  EXPECT_EQ(driver_.Calls("cuStreamSynchronize"), syncs);
  EXPECT_EQ(driver_.Calls("cuMemAllocFromPoolAsync"), allocs);
  driver_.Fail("cuLaunchKernel", kCuErrorInvalidValue);
  EXPECT_THAT(MessageOf(backend->RunSort(problem, kernels, buffers, workspace.data(), nullptr)),
              HasSubstr("k_sort_keys_i32"));
}

TEST_F(CudaBackendTest, LoadErrorsNameTheKernel) {
  std::unique_ptr<Backend> backend = Make();
  KernelSource source = *backend->Emit(AddMulRelu(DType::kF32, {1024}, 256, 4));
  driver_.Fail("cuModuleLoadData", kCuErrorInvalidImage);
  EXPECT_THAT(MessageOf(backend->Load(source, {}).status()),
              HasSubstr("cuModuleLoadData (relu_f32) failed"));
  driver_.Succeed("cuModuleLoadData");
  driver_.Fail("cuModuleGetFunction", kCuErrorNotFound);
  EXPECT_THAT(MessageOf(backend->Load(source, {}).status()),
              HasSubstr("cuModuleGetFunction (relu_f32) failed"));
  EXPECT_EQ(driver_.Calls("cuModuleUnload"), 1);  // what was loaded is not leaked
}

TEST_F(CudaBackendTest, ModulesAreUnloaded) {
  std::unique_ptr<Backend> backend = Make();
  std::shared_ptr<const Kernel> kernel = Load(*backend, AddMulRelu(DType::kF32, {1024}, 256, 4));
  EXPECT_EQ(driver_.Calls("cuModuleUnload"), 0);
  kernel.reset();
  EXPECT_EQ(driver_.Calls("cuModuleUnload"), 1);
}

TEST_F(CudaBackendTest, UsesTheCurrentContext) {
  FakeDriver::current = FakeDriver::Context(7);
  std::unique_ptr<Backend> backend = Make();
  EXPECT_EQ(driver_.Calls("cuDevicePrimaryCtxRetain"), 0);
  EXPECT_TRUE(backend->Synchronize(nullptr).ok());
  EXPECT_EQ(driver_.Calls("cuCtxPushCurrent"), 0);
  EXPECT_EQ(FakeDriver::current, FakeDriver::Context(7));
}

TEST_F(CudaBackendTest, ElseThePrimaryOneAndRestores) {
  std::unique_ptr<Backend> backend = Make();
  EXPECT_EQ(driver_.Calls("cuDevicePrimaryCtxRetain"), 1);
  EXPECT_EQ(FakeDriver::current, nullptr);
  EXPECT_TRUE(backend->Synchronize(nullptr).ok());
  EXPECT_EQ(FakeDriver::current, nullptr);
  EXPECT_EQ(driver_.Calls("cuCtxPushCurrent"), driver_.Calls("cuCtxPopCurrent"));
  // Another context that the thread has is put back.
  FakeDriver::current = FakeDriver::Context(5);
  EXPECT_TRUE(backend->Synchronize(nullptr).ok());
  EXPECT_EQ(FakeDriver::current, FakeDriver::Context(5));
  // Another thread has none.
  std::thread([&] {
    EXPECT_TRUE(backend->Synchronize(nullptr).ok());
    EXPECT_EQ(FakeDriver::current, nullptr);
  }).join();
}

TEST_F(CudaBackendTest, Memory) {
  for (int pools : {1, 0}) {
    driver_.pools = pools;
    std::unique_ptr<Backend> backend = Make();
    void* p = backend->allocator()->Allocate(1000, nullptr);
    ASSERT_NE(p, nullptr);
    char in[1000], out[1000] = {};
    std::memset(in, 7, sizeof in);
    EXPECT_TRUE(backend->CopyFromHost(p, in, sizeof in, nullptr).ok());
    EXPECT_TRUE(backend->CopyToHost(out, p, sizeof out, nullptr).ok());
    EXPECT_EQ(std::memcmp(in, out, sizeof in), 0);
    EXPECT_TRUE(backend->CopyOnDevice(p, static_cast<char*>(p) + 500, 500, nullptr).ok());
    EXPECT_TRUE(backend->CopyToHost(nullptr, nullptr, 0, nullptr).ok());
    backend->allocator()->Free(p, 1000, nullptr);
    EXPECT_EQ(driver_.Calls("cuMemFreeAsync"), 1);
    EXPECT_EQ(driver_.Calls("cuMemFree"), 1 - pools);
  }
  driver_.pools = 1;
  std::unique_ptr<Backend> backend = Make();
  driver_.Fail("cuMemAllocFromPoolAsync", kCuErrorOutOfMemory);
  EXPECT_EQ(backend->allocator()->Allocate(1000, nullptr), nullptr);
  driver_.Fail("cuMemcpyHtoDAsync", kCuErrorOutOfMemory);
  char byte = 0;
  absl::Status status = backend->CopyFromHost(&byte, &byte, 1, nullptr);
  EXPECT_TRUE(absl::IsResourceExhausted(status));
  EXPECT_THAT(MessageOf(status),
              HasSubstr("cuMemcpyHtoDAsync failed: CUDA_ERROR_OUT_OF_MEMORY: out of memory"));
}

TEST_F(CudaBackendTest, CreationErrors) {
  driver_.devices = 0;
  EXPECT_THAT(MessageOf(CreateCudaBackendWith(driver_.api()).status()),
              HasSubstr("/fake/libcuda.so.1) sees no GPU"));
  driver_.devices = 1;
  driver_.major = 6;
  driver_.minor = 1;
  EXPECT_THAT(MessageOf(CreateCudaBackendWith(driver_.api()).status()),
              HasSubstr("this GPU: unknown architecture 'sm_61'; known: sm_75"));
  driver_.Fail("cuInit", kCuErrorNoDevice);
  EXPECT_THAT(MessageOf(CreateCudaBackendWith(driver_.api()).status()), HasSubstr("cuInit failed"));
}

TEST_F(CudaBackendTest, ChildOfAForkGetsAClearError) {
  std::unique_ptr<Backend> backend = Make();
  const pid_t child = fork();
  if (child == 0) {
    absl::Status status = backend->Synchronize(nullptr);
    const bool right = absl::IsFailedPrecondition(status) &&
                       MessageOf(status).find("forked") != std::string::npos &&
                       backend->allocator()->Allocate(1, nullptr) == nullptr;
    _exit(right ? 0 : 1);
  }
  int result = -1;
  ASSERT_EQ(waitpid(child, &result, 0), child);
  EXPECT_EQ(result, 0);
  EXPECT_TRUE(backend->Synchronize(nullptr).ok());  // the parent goes on
}

TEST_F(CudaBackendTest, OneBackEndForEachContext) {
  driver_.devices = 2;
  CudaBackends all(driver_.api());
  const Backend* primary = *all.Get(-1);  // no context is current: device 0's primary one
  EXPECT_EQ(primary->device_index(), 0);
  EXPECT_EQ(FakeDriver::current, nullptr);
  EXPECT_EQ(*all.Get(0), primary);
  EXPECT_EQ(driver_.Calls("cuDevicePrimaryCtxRetain"), 1);
  const Backend* second = *all.Get(1);
  EXPECT_NE(second, primary);
  EXPECT_EQ(second->device_index(), 1);

  FakeDriver::current = FakeDriver::Context(9);  // another context of device 0
  const Backend* own = *all.Get(-1);
  EXPECT_NE(own, primary);
  EXPECT_EQ(*all.Get(0), own);
  EXPECT_EQ(*all.Get(1), second);  // the current one is not of that device
  EXPECT_EQ(FakeDriver::current, FakeDriver::Context(9));
  FakeDriver::current = FakeDriver::Context(1);  // the primary one made current: the same back end
  EXPECT_EQ(*all.Get(-1), primary);

  // Modules belong to contexts: each launches its own with its own context current.
  FakeDriver::current = nullptr;
  KernelPlan plan = AddMulRelu(DType::kF32, {1024}, 256, 4);
  void* buffers[4] = {};
  LaunchArgs args;
  args.buffers = buffers;
  args.grid = 1;
  std::shared_ptr<const Kernel> a = Load(*primary, plan), b = Load(*own, plan);
  EXPECT_TRUE(primary->Launch(*a, args).ok());
  EXPECT_TRUE(own->Launch(*b, args).ok());
  EXPECT_FALSE(own->Launch(*a, args).ok());
  EXPECT_EQ(FakeDriver::current, nullptr);
  EXPECT_THAT(MessageOf(all.Get(2).status()),
              HasSubstr("there is no GPU 2: the CUDA driver sees 2"));
}

TEST_F(CudaBackendTest, AContextAtTheAddressOfADestroyedOneIsAnotherOne) {
  CudaBackends all(driver_.api());
  FakeDriver::current = FakeDriver::Context(9);
  const Backend* old = *all.Get(-1);
  std::shared_ptr<const Kernel> kernel = Load(*old, AddMulRelu(DType::kF32, {1024}, 256, 4));
  driver_.ids[FakeDriver::Context(9)] = 77;
  EXPECT_NE(*all.Get(-1), old);
  kernel.reset();  // its module went with its context
  EXPECT_EQ(driver_.Calls("cuModuleUnload"), 0);
  // Drivers before 12.0 have no ids.
  DriverApi before_12 = driver_.api();
  before_12.CtxGetId = nullptr;
  CudaBackends plain(before_12);
  EXPECT_EQ(*plain.Get(-1), *plain.Get(0));
}

TEST_F(CudaBackendTest, NoBackEndInTheChildOfAFork) {
  CudaBackends all(driver_.api());
  ASSERT_TRUE(all.Get(-1).ok());
  const pid_t child = fork();
  if (child == 0) {
    absl::Status status = all.Get(-1).status();
    _exit(absl::IsFailedPrecondition(status) &&
                  MessageOf(status).find("forked") != std::string::npos
              ? 0
              : 1);
  }
  int result = -1;
  ASSERT_EQ(waitpid(child, &result, 0), child);
  EXPECT_EQ(result, 0);
  EXPECT_TRUE(all.Get(-1).ok());
  // Where somebody else had initialised CUDA before the fork, cuInit says so.
  driver_.Fail("cuInit", kCuErrorNotInitialized);
  CudaBackends fresh(driver_.api());
  EXPECT_THAT(MessageOf(fresh.Get(-1).status()), HasSubstr("forked"));
}

TEST_F(CudaBackendTest, BackEndsConcurrently) {
  driver_.devices = 4;
  CudaBackends all(driver_.api());
  std::vector<std::thread> threads;
  std::vector<const Backend*> got(16);
  for (size_t t = 0; t < got.size(); ++t)
    threads.emplace_back([&, t] { got[t] = *all.Get(static_cast<int>(t % 4)); });
  for (std::thread& t : threads) t.join();
  for (size_t t = 4; t < got.size(); ++t) EXPECT_EQ(got[t], got[t % 4]);
  EXPECT_NE(got[0], got[1]);
}

TEST_F(CudaBackendTest, CapturingStreams) {
  std::unique_ptr<Backend> backend = Make();
  EXPECT_FALSE(backend->IsCapturing(nullptr));
  driver_.capturing = true;
  EXPECT_TRUE(backend->IsCapturing(nullptr));
}

// An extent that is 0 only in this call: zeros by a memset, and no library is asked for (there is
// none here).
TEST_F(CudaBackendTest, ProductsOfNothingAreZeros) {
  std::unique_ptr<Backend> backend = Make();
  auto exe = std::make_shared<Executable>();
  exe->backend = backend.get();
  GemmStep step;
  GemmCall& call = step.call;
  call.batch = kN, call.m = 3, call.n = 5, call.k = SizeExpr::Symbol(1) - 2;
  call.lda = 8, call.ldb = 5, call.ldd = 5, call.batch_stride_d = 15;
  step.a = {BufferRef::Kind::kInput, 0};
  step.b = {BufferRef::Kind::kInput, 1};
  step.d = {BufferRef::Kind::kOutput, 0};
  exe->gemms.push_back(step);
  exe->steps.push_back({Step::Kind::kGemm, 0, -1});
  PlanSizes(exe.get());
  std::vector<float> d(31, 7.0f);
  void* inputs[] = {d.data(), d.data()};
  void* outputs[] = {d.data()};
  CallBuffers buffers;
  buffers.inputs = inputs;
  buffers.outputs = outputs;
  const int64_t empty[] = {0, 2}, symbols[] = {2, 2}, some[] = {2, 4};
  auto nothing = Bind(exe, empty, 16);
  ASSERT_TRUE(nothing.ok()) << nothing.status();
  ASSERT_TRUE(Execute(**nothing, buffers).ok());
  EXPECT_EQ(driver_.Calls("cuMemsetD8Async"), 0);
  EXPECT_THAT(d, testing::Each(7.0f));
  auto bound = Bind(exe, symbols, 16);
  ASSERT_TRUE(bound.ok()) << bound.status();
  ASSERT_TRUE(Execute(**bound, buffers).ok());
  EXPECT_EQ(driver_.Calls("cuMemsetD8Async"), 1);
  EXPECT_EQ(driver_.Calls("cuStreamSynchronize"), 0);
  EXPECT_THAT(std::vector<float>(d.begin(), d.begin() + 30), testing::Each(0.0f));
  EXPECT_EQ(d[30], 7.0f);
  driver_.Fail("cuMemsetD8Async", kCuErrorInvalidValue);
  EXPECT_THAT(MessageOf(Execute(**bound, buffers)), HasSubstr("cuMemsetD8Async"));
  setenv("JITFUSE_CUBLASLT_PATH", "/nowhere/libcublasLt.so", 1);
  EXPECT_FALSE(Bind(exe, some, 16).ok());  // this one does need the library
  unsetenv("JITFUSE_CUBLASLT_PATH");
}

TEST_F(CudaBackendTest, GemmSupportReasons) {
  std::unique_ptr<Backend> backend = Make();
  Reason reason = Reason::kCount;
  EXPECT_FALSE(backend->GemmSupport(DType::kI32, &reason).ok());
  EXPECT_EQ(reason, Reason::kGemmDtype);
  setenv("JITFUSE_CUBLASLT_PATH", "/nowhere/libcublasLt.so", 1);
  absl::Status status = backend->GemmSupport(DType::kF32, &reason);
  unsetenv("JITFUSE_CUBLASLT_PATH");
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(reason, Reason::kGemmNoLibrary);
  EXPECT_THAT(MessageOf(status), HasSubstr("/nowhere/libcublasLt.so"));
  EXPECT_THAT(MessageOf(status), HasSubstr("pip install nvidia-cublas"));
}

TEST_F(CudaBackendTest, ConcurrentLaunches) {
  std::unique_ptr<Backend> backend = Make();
  std::shared_ptr<const Kernel> kernel = Load(*backend, AddMulRelu(DType::kF32, {1024}, 256, 4));
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      void* buffers[4] = {};
      LaunchArgs args;
      args.buffers = buffers;
      args.grid = 1;
      for (int i = 0; i < 100; ++i) EXPECT_TRUE(backend->Launch(*kernel, args).ok());
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(driver_.launches().size(), 800u);
}

}  // namespace
}  // namespace jitfuse::internal
