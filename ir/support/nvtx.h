// NVTX: named ranges that NVIDIA's profilers show, without NVIDIA's headers.
//
// A profiler that starts a process sets NVTX_INJECTION64_PATH to a library of its own, which fills
// in the functions to call; without one libnvToolsExt (CUDA 12 and before) has them. OpenNvtx looks
// for both, once; NotFound names what was searched. Push and Pop nest on each thread and do nothing
// before OpenNvtx has found any. Thread-safe.
#ifndef JITFUSE_IR_SUPPORT_NVTX_H_
#define JITFUSE_IR_SUPPORT_NVTX_H_

#include "absl/status/status.h"

namespace jitfuse::internal {

absl::Status OpenNvtx();
void NvtxPush(const char* name);
void NvtxPop();

}  // namespace jitfuse::internal

#endif  // JITFUSE_IR_SUPPORT_NVTX_H_
