// Jitfuse kernel relu_f32 for sm_90
//   made by hand: relu_f32
// p0: input f32, align 16
// p1: input f32, align 16
// p2: input f32, align 16
// p3: output f32, align 16
// flat, 1 x 4 elements a thread; 32-bit offsets
// launch: grid 1536, 512 threads

template <int N>
struct jf_words {
  unsigned w[N];
};
#define JF_FN [[maybe_unused]] static __device__ __forceinline__
template <int K>
JF_FN jf_words<4 * K> jf_ld16(const void* p) {
  jf_words<4 * K> r;
#pragma unroll
  for (int k = 0; k < K; ++k) {
    const uint4 v = static_cast<const uint4*>(p)[k];
    r.w[4 * k] = v.x;
    r.w[4 * k + 1] = v.y;
    r.w[4 * k + 2] = v.z;
    r.w[4 * k + 3] = v.w;
  }
  return r;
}
template <int N>
JF_FN float jf_get_f32(const jf_words<N>& r, int j) { return __uint_as_float(r.w[j]); }
JF_FN float jf_maximum(float a, float b) {
#if __CUDA_ARCH__ >= 800
  float r;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
  return r;
#else
  return a != a ? a : b != b ? b : fmaxf(a, b);
#endif
}
template <int K>
JF_FN void jf_st16(void* p, const jf_words<4 * K>& r) {
#pragma unroll
  for (int k = 0; k < K; ++k) {
    uint4 v;
    v.x = r.w[4 * k];
    v.y = r.w[4 * k + 1];
    v.z = r.w[4 * k + 2];
    v.w = r.w[4 * k + 3];
    static_cast<uint4*>(p)[k] = v;
  }
}
template <int V>
JF_FN jf_words<V> jf_pack_f32(const float (&x)[V]) {
  jf_words<V> r;
#pragma unroll
  for (int j = 0; j < V; ++j) r.w[j] = __float_as_uint(x[j]);
  return r;
}

extern "C" __global__ void __launch_bounds__(512)
relu_f32(const float* __restrict__ p0, const float* __restrict__ p1, const float* __restrict__ p2, float* __restrict__ p3) {
  const unsigned e = (blockIdx.x * 512u + threadIdx.x) * 4u;
  const jf_words<4> r0 = jf_ld16<1>(p0 + e);
  const jf_words<4> r1 = jf_ld16<1>(p1 + e);
  const jf_words<4> r2 = jf_ld16<1>(p2 + e);
  float w0[4];
  #pragma unroll
  for (int j = 0; j < 4; ++j) {
    const float v0 = jf_get_f32(r0, j);
    const float v1 = jf_get_f32(r1, j);
    const float v2 = jf_get_f32(r2, j);
    const float v3 = fmaf(v0, v1, v2);
    const float v5 = jf_maximum(v3, 0.0f);
    w0[j] = v5;
  }
  jf_st16<1>(p3 + e, jf_pack_f32(w0));
}
