// LLVM: from IR text to an object file, and from an object file to code in memory. The only door to
// LLVM.
//
// CompileLlvm: text -> bytes of a relocatable object for a CPU by its LLVM name ("x86-64-v3",
// "znver4") and feature string ("+avx2,-sse4a"; may be empty). The text is trusted no further than
// the verifier: malformed text is a Status with LLVM's message and the path of the dumped text.
// Needs no such CPU to be here. LoadObject: bytes -> callable addresses. Symbols that the object
// does not define are looked up in an allow-list (memcpy, memmove, memset) and nowhere else, so
// that a library call that slipped into a kernel is an error when it is loaded, never a silent
// dependence on the process. All functions are thread-safe. Objects stay mapped while a
// LoadedObject lives. Must not know: plans, sources, the calling convention.
#ifndef JITFUSE_CPU_BACKEND_ORC_COMPILE_H_
#define JITFUSE_CPU_BACKEND_ORC_COMPILE_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace jitfuse::internal {

struct HostCpu {
  std::string name;                   // LLVM's name: "znver4"
  std::vector<std::string> features;  // "+avx2", "-xop", sorted by name
};
HostCpu DetectHostCpu();
std::string LlvmVersion();  // "19.1.7"
// How often this process has initialised code generation, which loading an object does not: 0 or 1.
int CodegenInitializations();

enum class LlvmOutput { kObject, kAssembly };
absl::StatusOr<std::string> CompileLlvm(std::string_view text, std::string_view cpu,
                                        std::string_view features,
                                        LlvmOutput output = LlvmOutput::kObject);

class LoadedObject {
 public:
  virtual ~LoadedObject() = default;
  virtual void* Address(
      std::string_view symbol) const = 0;  // one of those asked for at load, else nullptr
};
absl::StatusOr<std::shared_ptr<const LoadedObject>> LoadObject(
    std::string_view bytes, absl::Span<const std::string> symbols);

// What an object needs from elsewhere, sorted.
absl::StatusOr<std::vector<std::string>> UndefinedSymbols(std::string_view bytes);
const std::vector<std::string>& AllowedSymbols();

}  // namespace jitfuse::internal

#endif  // JITFUSE_CPU_BACKEND_ORC_COMPILE_H_
