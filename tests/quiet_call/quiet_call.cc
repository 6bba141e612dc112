// What a warm call must not do: allocate, take a lock, ask the system for anything. And what the
// first call of another size of its class may: take one lock, and few allocations.
//
// RunInto of a chain that is one kernel of 16 elements, on the CPU and, where NVRTC is found, on a
// GPU whose driver does nothing. This program's own malloc and pthread_mutex_lock take the place of
// the C library's in all libraries and count. Then the same calls under a filter of the kernel that
// ends the process at its first system call but write and exit. Each case is a process of its own,
// since Jitfuse refuses GPUs in the child of one that has used them. That all three would be seen
// is tried as well: by a call that allocates its results, and by a process that asks for its
// parent.
#include <dlfcn.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

#include "api/jitfuse.h"
#include "jit/cuda/nvrtc_api.h"
#include "tests/idle_driver.h"

namespace {

struct Seen {
  long allocations = 0, locks = 0;
};
Seen seen;
bool watching = false;  // there is one thread that calls

}  // namespace

extern "C" {

void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* ptr, std::size_t bytes);
void* __libc_memalign(std::size_t align, std::size_t bytes);

void* malloc(std::size_t bytes) {
  seen.allocations += watching;
  return __libc_malloc(bytes);
}
void* calloc(std::size_t count, std::size_t bytes) {
  seen.allocations += watching;
  return __libc_calloc(count, bytes);
}
void* realloc(void* ptr, std::size_t bytes) {
  seen.allocations += watching;
  return __libc_realloc(ptr, bytes);
}
void* aligned_alloc(std::size_t align, std::size_t bytes) {
  seen.allocations += watching;
  return __libc_memalign(align, bytes);
}

int pthread_mutex_lock(pthread_mutex_t* mutex) {
  using Lock = int (*)(pthread_mutex_t*);
  static const Lock next = reinterpret_cast<Lock>(dlsym(RTLD_NEXT, "pthread_mutex_lock"));
  seen.locks += watching;
  return next(mutex);
}

}  // extern "C"

namespace {

using jitfuse::Array;
using jitfuse::DeviceKind;

constexpr int kWarm = 10, kCalls = 1000;
constexpr int kSizes = 50, kMostPerSize = 10;  // allocations
enum Code { kPassed, kFailed, kNotHere };

struct Buffers {
  std::vector<Array> in, out;

  bool Make(DeviceKind device, int64_t n) {
    for (int i = 0; i < 4; ++i) {
      auto host = Array::FromValues(jitfuse::DType::kF32, {n},
                                    std::vector<double>(static_cast<std::size_t>(n), i));
      auto array = host->CopyTo({device, 0});
      if (!array.ok()) return Say(array.status());
      (i < 3 ? in : out).push_back(*array);
    }
    return true;
  }
  static bool Say(const jitfuse::Status& status) {
    std::fprintf(stderr, "quiet_call: %s\n", status.message().c_str());
    return false;
  }
};

struct Chain : Buffers {
  jitfuse::Function f;

  bool Make(DeviceKind device) {
    if (device == DeviceKind::kCuda) jitfuse::internal::UseIdleDriver();
    jitfuse::Builder b("chain");
    jitfuse::CompileOptions options;
    options.device = device;
    const auto input = [&](const char* name) { return b.Input(name, jitfuse::DType::kF32, {"n"}); };
    const jitfuse::Tensor x = input("x"), y = input("y"), z = input("z");
    auto made = b.Compile({Relu(x * y + z)}, options);
    if (!made.ok()) return Say(made.status());
    f = *made;
    return Buffers::Make(device, 16) && Calls(kWarm);
  }
  bool Calls(int n) {
    for (int i = 0; i < n; ++i) {
      if (!f.RunInto(in, out).ok()) return Say(f.RunInto(in, out));
    }
    return true;
  }
};

Seen During(const std::function<void()>& body) {
  seen = {};
  watching = true;
  body();
  watching = false;
  return seen;
}

Code Counted(DeviceKind device) {
  Chain chain;
  if (!chain.Make(device)) return kFailed;
  bool ok = false;
  const Seen quiet = During([&] { ok = chain.Calls(kCalls); });
  const Seen loud = During([&] { ok = ok && chain.f.Run(chain.in).ok(); });
  std::fprintf(stderr, "quiet_call: %ld allocations, %ld locks in %d calls\n", quiet.allocations,
               quiet.locks, kCalls);
  if (loud.allocations == 0 || loud.locks == 0) {
    std::fprintf(stderr,
                 "quiet_call: a call that allocates was seen to make %ld allocations and "
                 "take %ld locks; this program counts none\n",
                 loud.allocations, loud.locks);
    return kFailed;
  }
  return ok && quiet.allocations == 0 && quiet.locks == 0 ? kPassed : kFailed;
}

// The first calls of further sizes of a class that is there.
Code CountedOfNewSizes(DeviceKind device) {
  Chain chain;
  if (!chain.Make(device)) return kFailed;
  std::vector<Buffers> sizes(kSizes);
  for (int i = 0; i < kSizes; ++i) {
    if (!sizes[static_cast<std::size_t>(i)].Make(device, 17 + i)) return kFailed;
  }
  bool ok = true;
  const Seen bound = During([&] {
    for (const Buffers& size : sizes) ok = chain.f.RunInto(size.in, size.out).ok() && ok;
  });
  std::fprintf(stderr, "quiet_call: %ld allocations, %ld locks in the first calls of %d sizes\n",
               bound.allocations, bound.locks, kSizes);
  if (chain.f.stats().class_hits != kSizes || chain.f.stats().compiles != 1) return kFailed;
  return ok && bound.allocations <= kSizes * kMostPerSize && bound.locks <= kSizes ? kPassed
                                                                                   : kFailed;
}

// From now on any system call but read, write and exit ends the process.
bool Confine() { return prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0; }
[[noreturn]] void Leave(Code code) {
  syscall(SYS_exit, code);
  std::abort();
}

Code Confined(DeviceKind device) {
  Chain chain;
  if (!chain.Make(device)) return kFailed;
  if (!Confine()) return kNotHere;
  Leave(chain.Calls(kCalls) ? kPassed : kFailed);
}

Code AsksForItsParent() {
  if (!Confine()) return kNotHere;
  syscall(SYS_getppid);
  Leave(kPassed);
}

// What a process of its own comes to; kFailed where a signal ended it.
Code InProcess(const std::function<Code()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    const Code code = body();
    std::fflush(nullptr);
    _exit(code);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status)) return kFailed;
  return static_cast<Code>(WEXITSTATUS(status));
}

bool Check(const char* where, DeviceKind device, bool filter) {
  const bool counted = InProcess([&] { return Counted(device); }) == kPassed;
  const bool few = InProcess([&] { return CountedOfNewSizes(device); }) == kPassed;
  const bool confined = !filter || InProcess([&] { return Confined(device); }) == kPassed;
  std::fprintf(stderr,
               "quiet_call, %s: allocations and locks %s, of new sizes %s, system calls %s\n",
               where, counted ? "none" : "FAILED", few ? "few" : "FAILED",
               !filter    ? "not looked at"
               : confined ? "none"
                          : "FAILED");
  return counted && few && confined;
}

Code HasNvrtc() { return jitfuse::internal::LoadNvrtcApi(13).ok() ? kPassed : kNotHere; }

}  // namespace

int main() {
  const bool filter = InProcess(AsksForItsParent) == kFailed;  // it works here, and bites
  if (!filter) std::fprintf(stderr, "quiet_call: this kernel has no such filter\n");
  bool ok = Check("CPU", DeviceKind::kCpu, filter);
  if (InProcess(HasNvrtc) == kPassed) {
    ok = Check("GPU", DeviceKind::kCuda, filter) && ok;
  } else {
    std::fprintf(stderr, "quiet_call: there is no NVRTC, and so no GPU\n");
  }
  return ok ? 0 : 1;
}
