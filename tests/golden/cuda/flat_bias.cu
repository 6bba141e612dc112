// Jitfuse kernel bias_f16_f16 for sm_90
//   made by hand: bias_f16_f16
// p0: input f16, align 16
// p1: input f16, align 16
// p2: output f16, align 16
// flat, 1 x 8 elements a thread; 32-bit offsets
// launch: grid 1, 256 threads

extern "C" __global__ void __launch_bounds__(256)
bias_f16_f16(const unsigned short* __restrict__ p0, const unsigned short* __restrict__ p1, unsigned short* __restrict__ p2) {
  const unsigned e = (blockIdx.x * 256u + threadIdx.x) * 8u;
  if (e < 224u) {
    const jf_f16x8 r0 = *(const jf_f16x8*)(p0 + e);
    const jf_words<4> r1 = jf_wrapped<4, 2>(p1, e, 77u);
    float w0[8];
    #pragma unroll
    for (int j = 0; j < 8; ++j) {
      const float v0 = jf_get_f16(r0, j);
      const float v1 = jf_get_f16(r1, j);
      const float v2 = v0 + v1;
      w0[j] = v2;
    }
    *(jf_f16x8*)(p2 + e) = jf_pack_f16x8(w0);
  }
  if (blockIdx.x == gridDim.x - 1 && threadIdx.x < 7u) {
    const unsigned e = 224u + threadIdx.x;
    const float v0 = jf_f16_value(p0[e]);
    const float v1 = jf_f16_value(p1[e % 77u]);
    const float v2 = v0 + v1;
    p2[e] = jf_f16_bits(v2);
  }
}
