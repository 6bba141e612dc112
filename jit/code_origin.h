// CodeOrigin: where the code of a kernel came from, for statistics and explain().
#ifndef JITFUSE_JIT_CODE_ORIGIN_H_
#define JITFUSE_JIT_CODE_ORIGIN_H_

#include <cstdint>
#include <string_view>

namespace jitfuse::internal {

enum class CodeOrigin : uint8_t {
  kCompiled,  // by this request
  kMemory,    // another request of this process had it
  kDisk,      // the disk cache
  kLayer      // a read-only layer of it
};

constexpr std::string_view CodeOriginName(CodeOrigin origin) {
  constexpr std::string_view kNames[] = {"compiled", "memory", "disk", "layer"};
  return kNames[static_cast<size_t>(origin)];
}

}  // namespace jitfuse::internal

#endif  // JITFUSE_JIT_CODE_ORIGIN_H_
