#include "ir/support/nvtx.h"

#include <dlfcn.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <mutex>

#include "absl/strings/str_cat.h"
#include "ir/support/status.h"

namespace jitfuse::internal {
namespace {

// The interface between programs and tools, version 2, as far as it is used here: a tool asks for
// tables by number, and writes its functions to where the second one points.
using Function = void (*)();
using PushFn = int (*)(const char*);
using PopFn = int (*)();
constexpr uint32_t kCallbacksTable = 1;  // of exported tables
constexpr int kCoreModule = 1;           // of functions
constexpr unsigned kRangePushA = 9, kRangePop = 11, kCoreFunctions = 16;

struct Callbacks {
  size_t struct_size;
  int (*get_module_function_table)(int module, Function*** table, unsigned* size);
};

std::atomic<PushFn> push{nullptr};
std::atomic<PopFn> pop{nullptr};

// Tools may write to them at any time from then on.
std::array<Function, kCoreFunctions> functions{};
std::array<Function*, kCoreFunctions> places{};

int CoreFunctions(int module, Function*** table, unsigned* size) {
  if (module != kCoreModule) return 0;
  for (size_t i = 1; i < places.size(); ++i) places[i] = &functions[i];
  *table = places.data();
  *size = kCoreFunctions;
  return 1;
}

const void* ExportedTable(uint32_t table) {
  static const Callbacks callbacks = {sizeof(Callbacks), CoreFunctions};
  return table == kCallbacksTable ? &callbacks : nullptr;
}

absl::Status OpenInjection(const char* path) {
  void* library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) return NotFound("NVTX_INJECTION64_PATH: ", dlerror());
  using InitFn = int (*)(const void* (*)(uint32_t));
  auto* init = reinterpret_cast<InitFn>(dlsym(library, "InitializeInjectionNvtx2"));
  if (init == nullptr || init(ExportedTable) == 0)
    return NotFound("NVTX_INJECTION64_PATH: ", path, " is no tool for NVTX");
  push = reinterpret_cast<PushFn>(functions[kRangePushA]);
  pop = reinterpret_cast<PopFn>(functions[kRangePop]);
  return absl::OkStatus();
}

absl::Status OpenLibrary() {
  constexpr const char* kLibrary = "libnvToolsExt.so.1";
  void* library = dlopen(kLibrary, RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr)
    return NotFound(
        "JITFUSE_NVTX: no profiler is attached (NVTX_INJECTION64_PATH is not set), and ",
        dlerror());
  push = reinterpret_cast<PushFn>(dlsym(library, "nvtxRangePushA"));
  pop = reinterpret_cast<PopFn>(dlsym(library, "nvtxRangePop"));
  if (push.load() == nullptr || pop.load() == nullptr)
    return NotFound("JITFUSE_NVTX: ", kLibrary, " has no nvtxRangePushA and nvtxRangePop");
  return absl::OkStatus();
}

}  // namespace

absl::Status OpenNvtx() {
  static std::once_flag once;
  static absl::Status* status = nullptr;
  std::call_once(once, [] {
    const char* injection = std::getenv("NVTX_INJECTION64_PATH");
    const bool injected = injection != nullptr && *injection != '\0';
    status = new absl::Status(injected ? OpenInjection(injection) : OpenLibrary());
  });
  return *status;
}

void NvtxPush(const char* name) {
  if (PushFn fn = push.load(std::memory_order_relaxed)) fn(name);
}

void NvtxPop() {
  if (PopFn fn = pop.load(std::memory_order_relaxed)) fn();
}

}  // namespace jitfuse::internal
