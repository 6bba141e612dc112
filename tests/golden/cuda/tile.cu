// Jitfuse kernel transpose_f16 for sm_90
//   made by hand: transpose_f16
// p0: input f16, align 16
// p1: input f16, align 16
// p2: output f16, align 16
// z0 = ceildiv(s0,64)
// z1 = s0
// tile, 64 x 64 elements a block; 32-bit offsets
// launch: grid ceildiv(s0,64)*2, 256 threads

extern "C" __global__ void __launch_bounds__(256)
transpose_f16(const unsigned short* __restrict__ p0, const unsigned short* __restrict__ p1, unsigned short* __restrict__ p2, long long z0, long long z1) {
  const unsigned n0 = (unsigned)z0;
  const unsigned n1 = (unsigned)z1;
  const unsigned b = blockIdx.x;
  const unsigned e = b % n0 * 64u;
  const unsigned b1 = b / n0;
  const unsigned f = b1 % 2u * 64u;
  const unsigned b2 = b1 / 2u;
  const unsigned x = threadIdx.x % 64u;
  const unsigned y = threadIdx.x / 64u;
  __shared__ unsigned short s0[4224];
  {
    const unsigned a0 = f + x;
    #pragma unroll 4
    for (unsigned i = y; i < 64u; i += 4u) {
      const unsigned a1 = e + i;
      if (a0 < 96u && a1 < n1) {
        s0[i * 66u + x] = p0[a0 + a1 * 96u];
      }
    }
  }
  __syncthreads();
  {
    const unsigned a1 = e + x;
    #pragma unroll 4
    for (unsigned i = y; i < 64u; i += 4u) {
      const unsigned a0 = f + i;
      if (a1 < n1 && a0 < 96u) {
        const float v0 = jf_f16_value(s0[x * 66u + i]);
        const float v1 = jf_f16_value(p1[(int)(a0) * (int)n1 + (int)(a1)]);
        const float v2 = v0 + v1;
        p2[(int)(a0) * (int)n1 + (int)(a1)] = jf_f16_bits(v2);
      }
    }
  }
}
