// Jitfuse kernel relu_bf16 for sm_90
//   made by hand: relu_bf16
// p0: input bf16, align 16
// p1: input bf16, align 16
// p2: input bf16, align 16
// p3: output bf16, align 16
// z0 = floordiv(s0,8)*8
// z1 = s0-floordiv(s0,8)*8
// flat, 2 x 8 elements a thread; 32-bit offsets
// launch: grid ceildiv(s0,4096), 256 threads

extern "C" __global__ void __launch_bounds__(256)
relu_bf16(const unsigned short* __restrict__ p0, const unsigned short* __restrict__ p1, const unsigned short* __restrict__ p2, unsigned short* __restrict__ p3, long long z0, long long z1) {
  const unsigned n0 = (unsigned)z0;
  const unsigned n1 = (unsigned)z1;
  jf_bf16x8 r0[2];
  jf_bf16x8 r1[2];
  jf_bf16x8 r2[2];
  #pragma unroll
  for (int i = 0; i < 2; ++i) {
    const unsigned e = ((blockIdx.x * 2u + i) * 256u + threadIdx.x) * 8u;
    if (e < n0) {
      r0[i] = *(const jf_bf16x8*)(p0 + e);
      r1[i] = *(const jf_bf16x8*)(p1 + e);
      r2[i] = *(const jf_bf16x8*)(p2 + e);
    }
  }
  #pragma unroll
  for (int i = 0; i < 2; ++i) {
    const unsigned e = ((blockIdx.x * 2u + i) * 256u + threadIdx.x) * 8u;
    if (e < n0) {
      float w0[8];
      #pragma unroll
      for (int j = 0; j < 8; ++j) {
        const float v0 = jf_get_bf16(r0[i], j);
        const float v1 = jf_get_bf16(r1[i], j);
        const float v2 = jf_get_bf16(r2[i], j);
        const float v3 = fmaf(v0, v1, v2);
        const float v5 = jf_maximum(v3, 0.0f);
        w0[j] = v5;
      }
      *(jf_bf16x8*)(p3 + e) = jf_pack_bf16x8(w0);
    }
  }
  if (blockIdx.x == gridDim.x - 1 && threadIdx.x < n1) {
    const unsigned e = n0 + threadIdx.x;
    const float v0 = jf_bf16_value(p0[e]);
    const float v1 = jf_bf16_value(p1[e]);
    const float v2 = jf_bf16_value(p2[e]);
    const float v3 = fmaf(v0, v1, v2);
    const float v5 = jf_maximum(v3, 0.0f);
    p3[e] = jf_bf16_bits(v5);
  }
}
