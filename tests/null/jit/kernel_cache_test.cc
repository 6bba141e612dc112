// The kernel cache: one compilation per kernel however many ask, keys that cover what matters,
// failures that are not kept.
#include "jit/kernel_cache.h"

#include <atomic>
#include <chrono>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "ir/support/threads.h"
#include "tests/support/refuse_threads.h"
#include "tests/test_util/idle_backend.h"

namespace jitfuse::internal {
namespace {

// Compiles by counting; everything else is the interpreter's.
class CountingBackend : public IdleBackend {
 public:
  explicit CountingBackend(std::string compiler = "counter 1") : compiler_(std::move(compiler)) {}

  absl::StatusOr<CompiledKernel> Compile(const KernelSource& source) const override {
    ++compiles;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    if (fail) return absl::InternalError("compiler says no");
    return CompiledKernel{source.text, "", 2.0};
  }
  absl::StatusOr<std::shared_ptr<const Kernel>> Load(const KernelSource&,
                                                     const CompiledKernel&) const override {
    return std::shared_ptr<const Kernel>(std::make_shared<Kernel>());
  }
  std::string_view name() const override { return "counting"; }
  std::string CompilerId() const override { return compiler_; }

  mutable std::atomic<int> compiles{0};
  std::atomic<bool> fail{false};

 private:
  std::string compiler_;
};

KernelSource Source(const std::string& text) {
  KernelSource s;
  s.lang = SourceLang::kCuda;
  s.text = text;
  s.entry = "k";
  s.arch = "sm_90";
  return s;
}

TEST(KernelCacheConcurrencyTest, ManyThreadsCompileAKernelOnce) {
  CountingBackend backend;
  KernelCache cache;
  std::vector<std::thread> threads;
  std::vector<const Kernel*> got(32);
  for (size_t t = 0; t < got.size(); ++t) {
    threads.emplace_back(
        [&, t] { got[t] = cache.Get(Source(t % 2 == 0 ? "a" : "b"), backend)->kernel.get(); });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(backend.compiles, 2);
  for (size_t t = 2; t < got.size(); ++t) EXPECT_EQ(got[t], got[t % 2]);
  EXPECT_NE(got[0], got[1]);
  EXPECT_EQ(cache.stats().hits, 30);
}

TEST(KernelCacheTest, TheKeyCoversSourceOptionsArchEntryAndCompiler) {
  CountingBackend backend, newer("counter 2");
  KernelCache cache;
  KernelSource base = Source("text"), options = base, arch = base, entry = base;
  options.options.push_back("--x");
  arch.arch = "sm_80";
  entry.entry = "k2";
  for (const KernelSource& s : {base, options, arch, entry, base})
    ASSERT_TRUE(cache.Get(s, backend).ok());
  ASSERT_TRUE(cache.Get(base, newer).ok());
  EXPECT_EQ(backend.compiles, 4);
  EXPECT_EQ(newer.compiles, 1);
}

TEST(KernelCacheTest, AnotherBackEndLoadsWhatOneHasCompiled) {
  CountingBackend backend, context;
  KernelCache cache;
  auto first = cache.Get(Source("a"), backend), second = cache.Get(Source("a"), context);
  EXPECT_EQ(backend.compiles + context.compiles, 1);
  EXPECT_EQ(second->origin, CodeOrigin::kMemory);
  EXPECT_NE(first->kernel, second->kernel);
  EXPECT_EQ(cache.Get(Source("a"), context)->kernel, second->kernel);
  EXPECT_EQ(cache.stats().entries, 2);
}

TEST(KernelCacheTest, AHitSaysSoAndAFailureIsTriedAgain) {
  CountingBackend backend;
  KernelCache cache;
  backend.fail = true;
  EXPECT_EQ(cache.Get(Source("a"), backend).status().message(), "compiler says no");
  backend.fail = false;
  EXPECT_EQ(cache.Get(Source("a"), backend)->origin, CodeOrigin::kCompiled);
  EXPECT_EQ(cache.Get(Source("a"), backend)->origin, CodeOrigin::kMemory);
  EXPECT_EQ(backend.compiles, 2);
}

TEST(KernelCacheTest, GetAllKeepsTheOrderAndReportsTheFirstFailure) {
  CountingBackend backend;
  KernelCache cache;
  std::vector<KernelSource> sources = {Source("a"), Source("b"), Source("a"), Source("c")};
  auto all = cache.GetAll(sources, backend);
  ASSERT_TRUE(all.ok());
  EXPECT_EQ((*all)[0].kernel, (*all)[2].kernel);
  EXPECT_NE((*all)[0].kernel, (*all)[1].kernel);
  backend.fail = true;
  sources.push_back(Source("d"));
  EXPECT_FALSE(cache.GetAll(sources, backend).ok());
}

TEST(KernelCacheTest, WithoutThreadsTheCallerCompilesAll) {
  if (!RefuseThreads::Works() || NumThreads() < 2) GTEST_SKIP() << "no thread would be refused";
  CountingBackend backend;
  KernelCache cache;
  std::vector<KernelSource> sources = {Source("a"), Source("b"), Source("c")};
  const int before = RefuseThreads::Refused();
  {
    RefuseThreads none;
    auto all = cache.GetAll(sources, backend);
    ASSERT_TRUE(all.ok()) << all.status();
  }
  EXPECT_EQ(backend.compiles, 3);
  EXPECT_GT(RefuseThreads::Refused(), before);
  EXPECT_EQ(HelpersAtWork(), 0);
  sources.push_back(Source("d"));
  EXPECT_TRUE(cache.GetAll(sources, backend).ok());
  EXPECT_EQ(backend.compiles, 4);
}

// However many callers compile at once, they have NumThreads() - 1 helpers among them.
TEST(KernelCacheConcurrencyTest, HelpersAreThoseOfTheProcess) {
  class Watching : public CountingBackend {
   public:
    absl::StatusOr<CompiledKernel> Compile(const KernelSource& source) const override {
      const int now = ++at_once;
      for (int most = at_most; now > most && !at_most.compare_exchange_weak(most, now);) {
      }
      auto made = CountingBackend::Compile(source);
      --at_once;
      return made;
    }
    mutable std::atomic<int> at_once{0}, at_most{0};
  } backend;
  constexpr int kCallers = 16;
  KernelCache cache;
  std::vector<std::thread> callers;
  for (int c = 0; c < kCallers; ++c) {
    callers.emplace_back([&, c] {
      std::vector<KernelSource> sources;
      for (int i = 0; i < 8; ++i) sources.push_back(Source(absl::StrCat(c, " ", i)));
      EXPECT_TRUE(cache.GetAll(sources, backend).ok());
    });
  }
  for (std::thread& t : callers) t.join();
  EXPECT_EQ(backend.compiles, 8 * kCallers);
  EXPECT_LE(backend.at_most, kCallers + NumThreads() - 1);
  EXPECT_EQ(HelpersAtWork(), 0);
}

}  // namespace
}  // namespace jitfuse::internal
