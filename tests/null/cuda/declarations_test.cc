// Our own declarations of NVIDIA's interfaces against NVIDIA's headers, where those are installed:
// values, sizes, offsets, signatures. What is checked is checked at compile time; where a header is
// missing, its test says so.
#include <cstddef>
#include <type_traits>

#include "gtest/gtest.h"
#include "jit/cuda/cublaslt_api.h"
#include "jit/cuda/driver_api.h"
#include "jit/cuda/nvrtc_api.h"

#if __has_include(<cuda.h>)
#include <cuda.h>
#elif __has_include("/usr/local/cuda/include/cuda.h")
#include "/usr/local/cuda/include/cuda.h"
#endif
#if __has_include(<nvrtc.h>)
#include <nvrtc.h>
#define JF_HAVE_NVRTC_H 1
#elif __has_include("/usr/local/cuda/include/nvrtc.h")
#include "/usr/local/cuda/include/nvrtc.h"
#define JF_HAVE_NVRTC_H 1
#endif
#if __has_include( \
    <cublasLt.h>)  // includes more of the toolkit: its folder must be on the include path
#include <cublasLt.h>
#endif

namespace jitfuse::internal {
namespace {

// Types that are passed alike: pointers and handles as pointers, enums and integers by size, the
// rest by name.
template <typename A, typename B>
constexpr bool SameType() {
  if constexpr (std::is_pointer_v<A> || std::is_pointer_v<B>) {
    return std::is_pointer_v<A> && std::is_pointer_v<B>;
  } else if constexpr ((std::is_enum_v<A> || std::is_integral_v<A>) &&
                       (std::is_enum_v<B> || std::is_integral_v<B>)) {
    return sizeof(A) == sizeof(B);
  } else {
    return std::is_same_v<A, B>;
  }
}
template <typename A, typename B>
struct SameFunction : std::false_type {};
template <typename R, typename... A, typename S, typename... B>
struct SameFunction<R (*)(A...), S (*)(B...)> {
  static constexpr bool Check() {
    if constexpr (sizeof...(A) != sizeof...(B)) {
      return false;
    } else {
      return SameType<R, S>() && (SameType<A, B>() && ...);
    }
  }
  static constexpr bool value = Check();
};

TEST(Declarations, ComparisonsCanFail) {
  EXPECT_FALSE((SameFunction<int (*)(int, void*), int (*)(int)>::value));
  EXPECT_FALSE((SameFunction<int (*)(int), int (*)(void*)>::value));
  EXPECT_FALSE((SameFunction<int (*)(int), int (*)(long long)>::value));
  EXPECT_TRUE((SameFunction<CuResult (*)(unsigned, int*), int (*)(int, void*)>::value));
}

TEST(Declarations, Driver) {
#ifdef CUDA_VERSION
// The header maps plain names to versioned symbols; here both are written out.
#undef cuCtxPushCurrent
#undef cuCtxPopCurrent
#undef cuMemAlloc
#undef cuMemFree
#undef cuStreamDestroy
#define JF_DRIVER(member, symbol, args) \
  static_assert(SameFunction<decltype(DriverApi::member), decltype(&::symbol)>::value, #symbol);
#include "jit/cuda/driver_api.inc"
#undef JF_DRIVER
#define SAME(ours, theirs) \
  static_assert(static_cast<int>(ours) == static_cast<int>(theirs), #theirs)
  SAME(kCuSuccess, CUDA_SUCCESS);
  SAME(kCuErrorInvalidValue, CUDA_ERROR_INVALID_VALUE);
  SAME(kCuErrorOutOfMemory, CUDA_ERROR_OUT_OF_MEMORY);
  SAME(kCuErrorNotInitialized, CUDA_ERROR_NOT_INITIALIZED);
  SAME(kCuErrorDeinitialized, CUDA_ERROR_DEINITIALIZED);
  SAME(kCuErrorNoDevice, CUDA_ERROR_NO_DEVICE);
  SAME(kCuErrorInvalidImage, CUDA_ERROR_INVALID_IMAGE);
  SAME(kCuErrorNoBinaryForGpu, CUDA_ERROR_NO_BINARY_FOR_GPU);
  SAME(kCuErrorNotFound, CUDA_ERROR_NOT_FOUND);
  SAME(kCuErrorNotReady, CUDA_ERROR_NOT_READY);
  SAME(kCuMultiprocessorCount, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  SAME(kCuMemoryClockRate, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
  SAME(kCuMemoryBusWidth, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
  SAME(kCuL2CacheSize, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  SAME(kCuComputeCapabilityMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  SAME(kCuComputeCapabilityMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  SAME(kCuMemoryPoolsSupported, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED);
  SAME(kCuFuncSharedSizeBytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
  SAME(kCuFuncLocalSizeBytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
  SAME(kCuFuncNumRegs, CU_FUNC_ATTRIBUTE_NUM_REGS);
  SAME(kCuCaptureModeRelaxed, CU_STREAM_CAPTURE_MODE_RELAXED);
  SAME(kCuStreamNonBlocking, CU_STREAM_NON_BLOCKING);
  SAME(kCuMemPoolReleaseThreshold, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD);
  SAME(kCuMemAllocationPinned, CU_MEM_ALLOCATION_TYPE_PINNED);
  SAME(kCuMemLocationDevice, CU_MEM_LOCATION_TYPE_DEVICE);
  static_assert(sizeof(CuDevicePtr) == sizeof(CUdeviceptr));
  static_assert(sizeof(CuMemPoolProps) == sizeof(CUmemPoolProps));
  static_assert(offsetof(CuMemPoolProps, alloc_type) == offsetof(CUmemPoolProps, allocType));
  static_assert(offsetof(CuMemPoolProps, handle_types) == offsetof(CUmemPoolProps, handleTypes));
  static_assert(offsetof(CuMemPoolProps, location) == offsetof(CUmemPoolProps, location));
  static_assert(offsetof(CuMemPoolProps, max_size) == offsetof(CUmemPoolProps, maxSize));
#undef SAME
#else
  GTEST_SKIP() << "cuda.h was not there when this was built";
#endif
}

TEST(Declarations, Nvrtc) {
#ifdef JF_HAVE_NVRTC_H
#define JF_NVRTC(member, symbol, result, args) \
  static_assert(SameFunction<decltype(NvrtcApi::member), decltype(&::symbol)>::value, #symbol);
#include "jit/cuda/nvrtc_api.inc"
#undef JF_NVRTC
  static_assert(static_cast<int>(kNvrtcSuccess) == NVRTC_SUCCESS);
  static_assert(static_cast<int>(kNvrtcErrorCompilation) == NVRTC_ERROR_COMPILATION);
#else
  GTEST_SKIP() << "nvrtc.h was not there when this was built";
#endif
}

TEST(Declarations, CublasLt) {
#if __has_include(<cublasLt.h>)
#define JF_CUBLASLT(member, symbol, result, args) \
  static_assert(SameFunction<decltype(CublasLtApi::member), decltype(&::symbol)>::value, #symbol);
#include "jit/cuda/cublaslt_api.inc"
#undef JF_CUBLASLT
#define SAME(ours, theirs) \
  static_assert(static_cast<int>(ours) == static_cast<int>(theirs), #theirs)
  SAME(kCublasSuccess, CUBLAS_STATUS_SUCCESS);
  SAME(kCublasNotInitialized, CUBLAS_STATUS_NOT_INITIALIZED);
  SAME(kCublasInvalidValue, CUBLAS_STATUS_INVALID_VALUE);
  SAME(kCublasNotSupported, CUBLAS_STATUS_NOT_SUPPORTED);
  SAME(kCudaR32F, CUDA_R_32F);
  SAME(kCudaR64F, CUDA_R_64F);
  SAME(kCudaR16F, CUDA_R_16F);
  SAME(kCudaR16BF, CUDA_R_16BF);
  SAME(kCublasCompute32F, CUBLAS_COMPUTE_32F);
  SAME(kCublasCompute64F, CUBLAS_COMPUTE_64F);
  SAME(kCublasCompute32FFastTf32, CUBLAS_COMPUTE_32F_FAST_TF32);
  SAME(kCublasN, CUBLAS_OP_N);
  SAME(kCublasT, CUBLAS_OP_T);
  SAME(kLtTransA, CUBLASLT_MATMUL_DESC_TRANSA);
  SAME(kLtTransB, CUBLASLT_MATMUL_DESC_TRANSB);
  SAME(kLtEpilogue, CUBLASLT_MATMUL_DESC_EPILOGUE);
  SAME(kLtBiasPointer, CUBLASLT_MATMUL_DESC_BIAS_POINTER);
  SAME(kLtEpilogueAuxPointer, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER);
  SAME(kLtEpilogueAuxLd, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD);
  SAME(kLtEpilogueDefault, CUBLASLT_EPILOGUE_DEFAULT);
  SAME(kLtEpilogueRelu, CUBLASLT_EPILOGUE_RELU);
  SAME(kLtEpilogueBias, CUBLASLT_EPILOGUE_BIAS);
  SAME(kLtEpilogueRelu | kLtEpilogueBias, CUBLASLT_EPILOGUE_RELU_BIAS);
  SAME(kLtEpilogueRelu | kLtEpilogueAux, CUBLASLT_EPILOGUE_RELU_AUX);
  SAME(kLtEpilogueRelu | kLtEpilogueAux | kLtEpilogueBias, CUBLASLT_EPILOGUE_RELU_AUX_BIAS);
  SAME(kLtEpilogueGelu, CUBLASLT_EPILOGUE_GELU);
  SAME(kLtEpilogueGelu | kLtEpilogueBias, CUBLASLT_EPILOGUE_GELU_BIAS);
  SAME(kLtBatchCount, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
  SAME(kLtStridedBatchOffset, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
  SAME(kLtMaxWorkspaceBytes, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
  SAME(kLtReductionSchemeMask, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK);
  SAME(kLtMinAlignmentA, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
  SAME(kLtMinAlignmentB, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES);
  SAME(kLtMinAlignmentC, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES);
  SAME(kLtMinAlignmentD, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);
  SAME(kLtReductionNone, CUBLASLT_REDUCTION_SCHEME_NONE);
  SAME(kLtReductionComputeType, CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE);
  SAME(kLtAlgoId, CUBLASLT_ALGO_CONFIG_ID);
  SAME(kLtAlgoTile, CUBLASLT_ALGO_CONFIG_TILE_ID);
  SAME(kLtAlgoSplitK, CUBLASLT_ALGO_CONFIG_SPLITK_NUM);
  static_assert(sizeof(LtAlgo) == sizeof(cublasLtMatmulAlgo_t));
  static_assert(sizeof(LtHeuristicResult) == sizeof(cublasLtMatmulHeuristicResult_t));
  static_assert(offsetof(LtHeuristicResult, workspace_bytes) ==
                offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize));
  static_assert(offsetof(LtHeuristicResult, state) ==
                offsetof(cublasLtMatmulHeuristicResult_t, state));
#undef SAME
#else
  GTEST_SKIP() << "cublasLt.h was not there when this was built";
#endif
}

}  // namespace
}  // namespace jitfuse::internal
