// DriverApi: the CUDA driver (libcuda) as a struct of function pointers, opened on first use, with
// our own declarations.
//
// Out of LoadDriverApi: the process's one table, or NotFound that lists what was searched (there is
// no GPU driver here). Code takes the table by reference, so that tests can pass a fake one.
// Opening the library neither initialises it nor touches a device. Must not know: what is launched.
#ifndef JITFUSE_JIT_CUDA_DRIVER_API_H_
#define JITFUSE_JIT_CUDA_DRIVER_API_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "jit/cuda/dynlib.h"

namespace jitfuse::internal {

// NVIDIA's handles are pointers to types that nobody sees; enums travel as ints.
using CuContext = struct CuContextOpaque*;
using CuModule = struct CuModuleOpaque*;
using CuFunction = struct CuFunctionOpaque*;
using CuStream = struct CuStreamOpaque*;
using CuEvent = struct CuEventOpaque*;
using CuMemPool = struct CuMemPoolOpaque*;
using CuDevicePtr = unsigned long long;
using CuDevice = int;

enum CuResult : int {
  kCuSuccess = 0,
  kCuErrorInvalidValue = 1,
  kCuErrorOutOfMemory = 2,
  kCuErrorNotInitialized = 3,
  kCuErrorDeinitialized = 4,
  kCuErrorNoDevice = 100,
  kCuErrorInvalidImage = 200,
  kCuErrorNoBinaryForGpu = 209,
  kCuErrorInvalidContext = 201,
  kCuErrorNotFound = 500,
  kCuErrorNotReady = 600,
};
enum CuDeviceAttribute : int {
  kCuMultiprocessorCount = 16,
  kCuMemoryClockRate = 36,  // kHz
  kCuMemoryBusWidth = 37,   // bits
  kCuL2CacheSize = 38,      // bytes
  kCuComputeCapabilityMajor = 75,
  kCuComputeCapabilityMinor = 76,
  kCuMemoryPoolsSupported = 115,
};
enum CuFunctionAttribute : int {
  kCuFuncSharedSizeBytes = 1,
  kCuFuncLocalSizeBytes = 3,
  kCuFuncNumRegs = 4
};
enum CuCaptureStatus : int { kCuCaptureNone = 0, kCuCaptureActive = 1, kCuCaptureInvalidated = 2 };
enum CuCaptureMode : int { kCuCaptureModeRelaxed = 2 };
inline constexpr unsigned kCuStreamNonBlocking = 1;
enum CuMemPoolAttribute : int { kCuMemPoolReleaseThreshold = 4 };
enum CuMemAllocationType : int { kCuMemAllocationPinned = 1 };
enum CuMemLocationType : int { kCuMemLocationDevice = 1 };

struct CuMemLocation {
  CuMemLocationType type;
  int id;
};
struct CuMemPoolProps {
  CuMemAllocationType alloc_type;
  int handle_types;  // 0: none
  CuMemLocation location;
  void* win32_security_attributes;
  size_t max_size;  // 0: the system's
  unsigned short usage;
  unsigned char reserved[54];  // zero
};

struct DriverApi {
// Those of JF_DRIVER_OPTIONAL stay null where the driver is too old for them.
#define JF_DRIVER(member, symbol, args) CuResult(*member) args = nullptr;
#include "jit/cuda/driver_api.inc"
#undef JF_DRIVER
  std::string path;
};

absl::StatusOr<const DriverApi*> LoadDriverApi(std::vector<std::string>* searched = nullptr);
// OK, or an error with the call, what it was about, and the driver's name and text for the code.
// Out of memory is ResourceExhausted.
absl::Status DriverStatus(const DriverApi& api, CuResult result, std::string_view call,
                          std::string_view about = "");

}  // namespace jitfuse::internal

#endif  // JITFUSE_JIT_CUDA_DRIVER_API_H_
