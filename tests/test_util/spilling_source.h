// A CUDA kernel that no register allocator holds in registers.
#ifndef JITFUSE_TESTS_TEST_UTIL_SPILLING_SOURCE_H_
#define JITFUSE_TESTS_TEST_UTIL_SPILLING_SOURCE_H_

namespace jitfuse::internal {

// A hundred values alive at once and 64 registers for them.
inline constexpr char kSpills[] =
    R"(extern "C" __global__ void __launch_bounds__(1024) k(float* p, int n) {
  __shared__ float s[64];
  float a[100];
  #pragma unroll
  for (int i = 0; i < 100; ++i) a[i] = p[i * n + threadIdx.x];
  s[threadIdx.x % 64] = a[3];
  __syncthreads();
  for (int j = 0; j < 3; ++j) {
    #pragma unroll
    for (int i = 0; i < 100; ++i) a[i] = a[i] * a[(i * 7 + 3) % 100] + s[i % 64];
  }
  #pragma unroll
  for (int i = 0; i < 100; ++i) p[i * n + threadIdx.x] = a[i];
})";
}  // namespace jitfuse::internal

#endif  // JITFUSE_TESTS_TEST_UTIL_SPILLING_SOURCE_H_
