// Jitfuse kernel relu_f32 for sm_90
//   made by hand: relu_f32
// p0: input f32, align 16
// p1: input f32, align 16
// p2: input f32, align 16
// p3: output f32, align 16
// flat, 1 x 4 elements a thread; 32-bit offsets
// launch: grid 1536, 512 threads

struct __align__(16) jf_f32x4 {
  float v[4];
};
#define JF_FN [[maybe_unused]] static __device__ __forceinline__
JF_FN float jf_maximum(float a, float b) {
#if __CUDA_ARCH__ >= 800
  float r;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
  return r;
#else
  return a != a ? a : b != b ? b : fmaxf(a, b);
#endif
}

extern "C" __global__ void __launch_bounds__(512)
relu_f32(const float* __restrict__ p0, const float* __restrict__ p1, const float* __restrict__ p2, float* __restrict__ p3) {
  const unsigned e = (blockIdx.x * 512u + threadIdx.x) * 4u;
  const jf_f32x4 r0 = *(const jf_f32x4*)(p0 + e);
  const jf_f32x4 r1 = *(const jf_f32x4*)(p1 + e);
  const jf_f32x4 r2 = *(const jf_f32x4*)(p2 + e);
  jf_f32x4 w0;
  #pragma unroll
  for (int j = 0; j < 4; ++j) {
    const float v0 = r0.v[j];
    const float v1 = r1.v[j];
    const float v2 = r2.v[j];
    const float v3 = fmaf(v0, v1, v2);
    const float v5 = jf_maximum(v3, 0.0f);
    w0.v[j] = v5;
  }
  *(jf_f32x4*)(p3 + e) = w0;
}
