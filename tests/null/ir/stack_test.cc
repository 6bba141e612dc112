// Compilers get a stack that is large enough, whatever thread asks.
#include "ir/support/stack.h"

#include <gtest/gtest.h>
#include <pthread.h>

namespace jitfuse::internal {
namespace {

struct Seen {
  size_t before = 0, within = 0;
  pthread_t caller{}, runner{};
  bool ran = false;
};

Seen OnAThreadWith(size_t stack_bytes) {
  Seen seen;
  pthread_attr_t attr;
  pthread_attr_init(&attr);
  EXPECT_EQ(pthread_attr_setstacksize(&attr, stack_bytes), 0);
  auto run = [](void* p) -> void* {
    auto* s = static_cast<Seen*>(p);
    s->before = StackLeft();
    s->caller = pthread_self();
    s->ran = RunWithStack([s] {
      s->within = StackLeft();
      s->runner = pthread_self();
    });
    return nullptr;
  };
  pthread_t thread;
  EXPECT_EQ(pthread_create(&thread, &attr, run, &seen), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attr);
  return seen;
}

TEST(Stack, ASmallThreadBorrowsALargerOne) {
  const Seen seen = OnAThreadWith(512 * 1024);
  EXPECT_TRUE(seen.ran);
  EXPECT_GT(seen.before, 0u);
  EXPECT_LT(seen.before, 513u * 1024);
  EXPECT_GE(seen.within, kCompilerStack);
  EXPECT_FALSE(pthread_equal(seen.caller, seen.runner));
}

TEST(Stack, ALargeThreadRunsItItself) {
  const Seen seen = OnAThreadWith(2 * kCompilerStack);
  EXPECT_TRUE(seen.ran);
  EXPECT_GE(seen.within, kCompilerStack);
  EXPECT_TRUE(pthread_equal(seen.caller, seen.runner));
}

}  // namespace
}  // namespace jitfuse::internal
