// CublasLtApi: NVIDIA's matrix library as a struct of function pointers, opened on first use, with
// our own declarations.
//
// Out of LoadCublasLtApi: cuBLASLt 12.4 or later, the newest that the driver accepts, or NotFound
// that lists what was searched. The library is half a gigabyte: it is opened when the first matrix
// product is prepared, not before.
#ifndef JITFUSE_JIT_CUDA_CUBLASLT_API_H_
#define JITFUSE_JIT_CUDA_CUBLASLT_API_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "jit/cuda/driver_api.h"

namespace jitfuse::internal {

using LtHandle = struct LtHandleOpaque*;
using LtMatmulDesc = struct LtMatmulDescOpaque*;
using LtMatrixLayout = struct LtMatrixLayoutOpaque*;
using LtPreference = struct LtPreferenceOpaque*;

enum CublasResult : int {
  kCublasSuccess = 0,
  kCublasNotInitialized = 1,
  kCublasInvalidValue = 7,
  kCublasNotSupported = 15
};
enum CudaDataType : int { kCudaR32F = 0, kCudaR64F = 1, kCudaR16F = 2, kCudaR16BF = 14 };
enum CublasComputeType : int {
  kCublasCompute32F = 68,
  kCublasCompute64F = 70,
  kCublasCompute32FFastTf32 = 77
};
enum CublasOperation : int { kCublasN = 0, kCublasT = 1 };
enum LtMatmulDescAttribute : int {
  kLtTransA = 3,
  kLtTransB = 4,
  kLtEpilogue = 7,
  kLtBiasPointer = 8,
  kLtEpilogueAuxPointer = 11,
  kLtEpilogueAuxLd = 12,
};
// Bits of an epilogue; kLtEpilogueDefault if there is none.
enum LtEpilogueBits : uint32_t {
  kLtEpilogueDefault = 1,
  kLtEpilogueRelu = 2,
  kLtEpilogueBias = 4,
  kLtEpilogueGelu = 32,
  kLtEpilogueAux = 128,
};
enum LtLayoutAttribute : int { kLtBatchCount = 5, kLtStridedBatchOffset = 6 };
enum LtPreferenceAttribute : int {
  kLtMaxWorkspaceBytes = 1,
  kLtReductionSchemeMask = 3,
  kLtMinAlignmentA = 5,
  kLtMinAlignmentB = 6,
  kLtMinAlignmentC = 7,
  kLtMinAlignmentD = 8,
};
enum LtReductionScheme : uint32_t { kLtReductionNone = 0, kLtReductionComputeType = 2 };
enum LtAlgoAttribute : int { kLtAlgoId = 0, kLtAlgoTile = 1, kLtAlgoSplitK = 2 };

struct LtAlgo {
  uint64_t data[8];
};
struct LtHeuristicResult {
  LtAlgo algo;
  size_t workspace_bytes;
  CublasResult state;
  float waves;
  int reserved[4];
};

struct CublasLtApi {
#define JF_CUBLASLT(member, symbol, result, args) result(*member) args = nullptr;
#include "jit/cuda/cublaslt_api.inc"
#undef JF_CUBLASLT
  std::string path;
  std::string version;  // "13.1.0"
};

absl::StatusOr<const CublasLtApi*> LoadCublasLtApi(int driver_major = 0,
                                                   std::vector<std::string>* searched = nullptr);

}  // namespace jitfuse::internal

#endif  // JITFUSE_JIT_CUDA_CUBLASLT_API_H_
