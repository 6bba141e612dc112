// One compilation a kernel however many threads and functions ask, and kernels that differ in
// parallel.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "ir/text.h"
#include "jit/call_cache.h"
#include "tests/test_util/general_backend.h"

namespace jitfuse::internal {
namespace {

// Its compiler waits until so many are inside at once, or a minute is over.
class MeetingBackend : public GeneralBackend {
 public:
  explicit MeetingBackend(int expected)
      : GeneralBackend("x86-64-v3", "x86-64-v3"), expected_(expected) {}
  absl::StatusOr<CompiledKernel> Compile(const KernelSource& source) const override {
    std::unique_lock<std::mutex> lock(mu_);
    most_ = std::max(most_, ++inside_);
    changed_.notify_all();
    changed_.wait_for(lock, std::chrono::minutes(1), [&] { return most_ >= expected_; });
    --inside_;
    lock.unlock();
    return GeneralBackend::Compile(source);
  }
  absl::StatusOr<std::shared_ptr<const Kernel>> Load(const KernelSource&,
                                                     const CompiledKernel&) const override {
    return std::shared_ptr<const Kernel>(std::make_shared<Kernel>());
  }
  int most() const {
    std::lock_guard<std::mutex> lock(mu_);
    return most_;
  }

 private:
  const int expected_;
  mutable std::mutex mu_;
  mutable std::condition_variable changed_;
  mutable int inside_ = 0, most_ = 0;
};

std::string Chain(const std::string& name, const char* op) {
  return absl::StrCat("graph ", name, "(%x: f32[n]) -> (f32[n]) {\n  %0 = ", op,
                      "(%x) : f32[n]\n  return %0\n}");
}

absl::Status Call(CallCache* cache) {
  const std::vector<int64_t> dims = {5};
  std::vector<float> data(5);
  const TensorView in{data.data(), DType::kF32, dims, {}};
  return cache->Find({&in, 1}, {}).status();
}

void OnThreads(size_t count, const std::function<void(size_t)>& work) {
  std::vector<std::thread> threads;
  for (size_t t = 0; t < count; ++t) threads.emplace_back([&work, t] { work(t); });
  for (std::thread& t : threads) t.join();
}

TEST(SingleFlightConcurrencyTest, SixtyFourThreadsOnOneKeyCompileOnce) {
  const MeetingBackend backend(1);
  KernelCache kernels;
  CallCache cache(*ParseGraph(Chain("f", "tanh")), Options{}, &backend, &kernels);
  OnThreads(64, [&](size_t) { EXPECT_TRUE(Call(&cache).ok()); });
  EXPECT_EQ(backend.compiles, 1);
  EXPECT_EQ(cache.stats().compiles, 1);
  EXPECT_EQ(cache.stats().l2_hits, 63);
}

// Of one graph text under one name: functions are others, the kernel is one.
TEST(SingleFlightConcurrencyTest, FunctionsThatShareAKernelCompileItOnce) {
  const MeetingBackend backend(1);
  KernelCache kernels;
  std::vector<std::unique_ptr<CallCache>> functions;
  for (int f = 0; f < 64; ++f) {
    functions.push_back(std::make_unique<CallCache>(*ParseGraph(Chain("f", "tanh")), Options{},
                                                    &backend, &kernels));
  }
  OnThreads(64, [&](size_t t) { EXPECT_TRUE(Call(functions[t].get()).ok()); });
  EXPECT_EQ(backend.compiles, 1);
  int64_t compiled = 0, memory = 0;
  for (const auto& f : functions) {
    compiled += f->stats().compiled;
    memory += f->stats().memory_hits;
  }
  EXPECT_EQ(compiled, 1);
  EXPECT_EQ(memory, 63);
}

// With the disk cache, processes of one machine aside.
TEST(SingleFlightConcurrencyTest, WithTheDiskCacheTheEntryIsReadOnce) {
  const TempFolder folder;
  const MeetingBackend backend(1);
  for (const CodeOrigin origin : {CodeOrigin::kCompiled, CodeOrigin::kDisk}) {
    DiskCache disk(In(folder.path));
    KernelCache kernels(&disk);
    std::atomic<int> made{0}, memory{0};
    OnThreads(64, [&](size_t) {
      const auto kernel = kernels.Get(ToySource("1"), backend);
      ASSERT_TRUE(kernel.ok()) << kernel.status();
      made += kernel->origin == origin ? 1 : 0;
      memory += kernel->origin == CodeOrigin::kMemory ? 1 : 0;
    });
    EXPECT_EQ(made, 1);
    EXPECT_EQ(memory, 63);
  }
  EXPECT_EQ(backend.compiles, 1);
}

TEST(SingleFlightConcurrencyTest, KernelsThatDifferAreCompiledInParallel) {
  constexpr int kFunctions = 8;
  const char* const ops[kFunctions] = {"tanh", "exp", "sin", "cos", "sqrt", "log", "abs", "square"};
  const MeetingBackend backend(kFunctions);
  KernelCache kernels;
  std::vector<std::unique_ptr<CallCache>> functions;
  for (const char* op : ops) {
    functions.push_back(
        std::make_unique<CallCache>(*ParseGraph(Chain("f", op)), Options{}, &backend, &kernels));
  }
  OnThreads(kFunctions, [&](size_t t) { EXPECT_TRUE(Call(functions[t].get()).ok()); });
  EXPECT_EQ(backend.compiles, kFunctions);
  EXPECT_EQ(backend.most(), kFunctions);
}

}  // namespace
}  // namespace jitfuse::internal
