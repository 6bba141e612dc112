#include "ir/support/stack.h"

#include <pthread.h>

#include <cstdint>

#include "ir/support/fork.h"

namespace jitfuse::internal {

size_t StackLeft() {
  pthread_attr_t attr;
  if (pthread_getattr_np(pthread_self(), &attr) != 0) return 0;
  void* lowest = nullptr;
  size_t size = 0;
  const bool known = pthread_attr_getstack(&attr, &lowest, &size) == 0;
  pthread_attr_destroy(&attr);
  char here = 0;
  const auto at = reinterpret_cast<uintptr_t>(&here), end = reinterpret_cast<uintptr_t>(lowest);
  return known && at > end && at - end <= size ? at - end : 0;
}

bool RunWithStack(const std::function<void()>& fn) {
  if (StackLeft() >= kCompilerStack) {
    fn();
    return true;
  }
  pthread_attr_t attr;
  if (pthread_attr_init(&attr) != 0) return false;
  pthread_t thread;
  std::function<void()> in_my_place = [&fn, gates = GatesOfThisThread()] {
    TakeGates(gates);
    fn();
  };
  const auto run = [](void* f) -> void* {
    (*static_cast<std::function<void()>*>(f))();
    return nullptr;
  };
  const bool made = pthread_attr_setstacksize(&attr, 2 * kCompilerStack) == 0 &&
                    pthread_create(&thread, &attr, run, &in_my_place) == 0;
  pthread_attr_destroy(&attr);
  return made && pthread_join(thread, nullptr) == 0;
}

}  // namespace jitfuse::internal
