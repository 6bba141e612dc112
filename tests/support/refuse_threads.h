// RefuseThreads: while one lives, this process is given no threads: pthread_create says EAGAIN,
// whoever calls it. For tests of what goes on with fewer. Its pthread_create takes the place of the
// system's in the whole test program; sanitizers have their own, so there is none with them.
#ifndef JITFUSE_TESTS_SUPPORT_REFUSE_THREADS_H_
#define JITFUSE_TESTS_SUPPORT_REFUSE_THREADS_H_

namespace jitfuse::internal {

class RefuseThreads {
 public:
  RefuseThreads();
  ~RefuseThreads();
  RefuseThreads(const RefuseThreads&) = delete;
  RefuseThreads& operator=(const RefuseThreads&) = delete;
  static bool Works();   // false: under a sanitizer, where nothing is refused
  static int Refused();  // since the process began
};

}  // namespace jitfuse::internal

#endif  // JITFUSE_TESTS_SUPPORT_REFUSE_THREADS_H_
