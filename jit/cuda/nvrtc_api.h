// NvrtcApi: NVIDIA's run-time compiler as a struct of function pointers, opened on first use, with
// our own declarations.
//
// Out of LoadNvrtcApi: NVRTC 12.4 or later, the newest whose cubins the driver accepts
// (driver_major 0: no driver, any), or NotFound that lists what was searched. Needs no GPU and no
// driver.
#ifndef JITFUSE_JIT_CUDA_NVRTC_API_H_
#define JITFUSE_JIT_CUDA_NVRTC_API_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "jit/cuda/dynlib.h"

namespace jitfuse::internal {

using NvrtcProgram = struct NvrtcProgramOpaque*;
enum NvrtcResult : int { kNvrtcSuccess = 0, kNvrtcErrorCompilation = 6 };

struct NvrtcApi {
#define JF_NVRTC(member, symbol, result, args) result(*member) args = nullptr;
#include "jit/cuda/nvrtc_api.inc"
#undef JF_NVRTC
  int major = 0, minor = 0;
  std::string path;
};

absl::StatusOr<const NvrtcApi*> LoadNvrtcApi(int driver_major = 0,
                                             std::vector<std::string>* searched = nullptr);

// The one that LoadNvrtcApi has opened for this driver, or null.
const NvrtcApi* OpenNvrtcApi(int driver_major);
// What decides which one LoadNvrtcApi opens, as far as that is known without looking for it.
std::string NvrtcClue(int driver_major);
int NvrtcsOpened();  // by this process

}  // namespace jitfuse::internal

#endif  // JITFUSE_JIT_CUDA_NVRTC_API_H_
