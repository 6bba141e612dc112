#include "tests/support/refuse_threads.h"

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define JF_OWN_PTHREAD_CREATE 0
#elif defined(__has_feature)
#define JF_OWN_PTHREAD_CREATE \
  (!__has_feature(thread_sanitizer) && !__has_feature(address_sanitizer))
#else
#define JF_OWN_PTHREAD_CREATE 1
#endif

namespace jitfuse::internal {
namespace {

std::atomic<int> refusing{0}, refused{0};

}  // namespace

RefuseThreads::RefuseThreads() { ++refusing; }
RefuseThreads::~RefuseThreads() { --refusing; }
bool RefuseThreads::Works() { return JF_OWN_PTHREAD_CREATE != 0; }
int RefuseThreads::Refused() { return refused; }

}  // namespace jitfuse::internal

#if JF_OWN_PTHREAD_CREATE
extern "C" __attribute__((visibility("default"))) int pthread_create(pthread_t* thread,
                                                                     const pthread_attr_t* attr,
                                                                     void* (*run)(void*),
                                                                     void* arg) noexcept {
  using jitfuse::internal::refused;
  using jitfuse::internal::refusing;
  if (refusing > 0) {
    ++refused;
    return EAGAIN;
  }
  static const auto system =
      reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
  return system(thread, attr, run, arg);
}
#endif
