// Environment variables, read in one place.
//
// In: a name without its prefix ("LOG" means JITFUSE_LOG). Out: its value, or the given default.
// Read on each call, so that tests may set them; callers on hot paths read once and keep the value.
// Known: JITFUSE_DUMP, JITFUSE_DUMP_DIR, JITFUSE_VERIFY, JITFUSE_LOG, JITFUSE_BACKEND,
// JITFUSE_MAX_FUSIONS, JITFUSE_NUM_THREADS, JITFUSE_CPU_ARCH, JITFUSE_CUDA_PATH (libcuda),
// JITFUSE_NVRTC_PATH, JITFUSE_CUBLASLT_PATH, JITFUSE_NVRTC_NO_CACHE (any value: NVRTC's own disk
// cache is not used; for measuring).
#ifndef JITFUSE_IR_SUPPORT_FLAGS_H_
#define JITFUSE_IR_SUPPORT_FLAGS_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace jitfuse::internal {

std::string EnvString(std::string_view name, std::string_view fallback = "");
int64_t EnvInt(std::string_view name,
               int64_t fallback);  // a value that is no integer counts as unset

}  // namespace jitfuse::internal

#endif  // JITFUSE_IR_SUPPORT_FLAGS_H_
