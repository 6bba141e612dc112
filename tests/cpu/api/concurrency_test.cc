// Many threads of an application: functions come and go while threads that called them live on.
#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/inspect.h"
#include "api/jitfuse.h"
#include "ir/support/stack.h"

namespace jitfuse {
namespace {

constexpr std::int64_t kLarge = 200000;  // elements: work for several threads

CompileOptions Cpu() {
  CompileOptions o;
  o.device = DeviceKind::kCpu;
  return o;
}

// y = x * factor + 0.5, of x = 0, 1, ...
struct Scale {
  Function f;
  double factor;

  explicit Scale(double by) : f(Make(by)), factor(by) {}
  static Function Make(double by) {
    Builder b("scale");
    return *b.Compile({b.Input("x", DType::kF32, {"n"}) * by + 0.5}, Cpu());
  }
  bool Right(const Array& x) const {
    auto y = f.Run({x});
    const auto last = static_cast<double>(x.dims()[0] - 1);
    return y.ok() && static_cast<const float*>((*y)[0].data())[x.dims()[0] - 1] ==
                         static_cast<float>(last * factor + 0.5);
  }
};

Array Iota(std::int64_t n) {
  std::vector<double> v(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) v[static_cast<std::size_t>(i)] = static_cast<double>(i);
  return *Array::FromValues(DType::kF32, {n}, v);
}

// A thread whose stack is too small for a compiler.
class SmallThread {
 public:
  explicit SmallThread(std::function<void()> fn) : fn_(std::move(fn)) {
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    EXPECT_EQ(pthread_attr_setstacksize(&attr, internal::kCompilerStack / 4), 0);
    auto run = [](void* self) -> void* {
      static_cast<SmallThread*>(self)->fn_();
      return nullptr;
    };
    EXPECT_EQ(pthread_create(&thread_, &attr, run, this), 0);
    pthread_attr_destroy(&attr);
  }
  ~SmallThread() { pthread_join(thread_, nullptr); }
  SmallThread(const SmallThread&) = delete;
  SmallThread& operator=(const SmallThread&) = delete;

 private:
  std::function<void()> fn_;
  pthread_t thread_{};
};

TEST(ApiConcurrencyTest, FunctionsComeAndGoWhileTheirThreadsLiveOn) {
  constexpr int kRounds = 12, kThreads = 6;
  const Array small = Iota(5), large = Iota(kLarge);
  std::atomic<int> wrong{0}, arrived{0}, round{0};
  const Scale* current = nullptr;  // handed over by `round`
  auto wait_for = [](const std::atomic<int>& what, int value) {
    while (what.load() < value) std::this_thread::yield();
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int r = 1; r <= kRounds; ++r) {
        wait_for(round, r);
        for (int i = 0; i < 3; ++i) wrong += !current->Right(small) || !current->Right(large);
        ++arrived;
      }
    });
  }
  for (int r = 1; r <= kRounds; ++r) {
    Scale mine(r);
    current = &mine;
    round = r;
    wait_for(arrived, r * kThreads);
    wrong += mine.f.stats().compiles < 1;
  }  // `mine` ends here; the threads go on
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

TEST(ApiConcurrencyTest, ThreadsEndWhileTheirFunctionsAreCalledAndLookedAt) {
  const Scale shared(3);
  const Array large = Iota(kLarge);
  std::atomic<bool> done{false};
  std::atomic<int> wrong{0};
  std::thread watcher([&] {
    for (long long before = 0; !done;) {
      const Stats all = TotalStats();
      wrong += all.compiles < before || shared.f.stats().compiles > all.compiles;
      before = all.compiles;
      wrong += !shared.f.Explain({large}).ok();
    }
  });
  for (int generation = 0; generation < 4; ++generation) {
    std::vector<std::thread> callers;
    for (int t = 0; t < 4; ++t) {
      callers.emplace_back([&, t] {
        const Scale own(generation * 100 + t + 5);
        wrong += !own.Right(Iota(3 + t)) || !shared.Right(Iota(7 + t)) || !shared.Right(large);
        SmallThread caller([&] { wrong += !Scale(generation * 100 + t + 50).Right(Iota(4)); });
      });
    }
    for (std::thread& t : callers) t.join();
  }
  done = true;
  watcher.join();
  EXPECT_EQ(wrong, 0);
}

// A seed is the call's, not the function's.
TEST(ApiConcurrencyTest, ThreadsDrawFromTheirOwnSeeds) {
  Builder b("noise");
  const Function f = *b.Compile({RandomUniform(b, {64})}, Cpu());
  auto draw = [&f](std::uint64_t seed) {
    RunOptions options;
    options.rng.seed = seed;
    return *(*f.Run({}, options))[0].ToVector();
  };
  std::vector<std::vector<double>> want;
  for (std::uint64_t seed = 0; seed < 4; ++seed) want.push_back(draw(seed));
  EXPECT_NE(want[0], want[1]);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    threads.emplace_back([&, seed] {
      for (int i = 0; i < 50; ++i) wrong += draw(seed) != want[seed];
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace jitfuse
