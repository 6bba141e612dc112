// Jitfuse kernel k0_segment_add_multiply for sm_90
//   %x : bf16[300,n]
//   %s : bf16[m,n]
//   %o : i64[m,n]
//   %b : i64[300,n]
//   %e : i64[300,n]
//   %5 = segment_add(%x, %s, %o, %b, %e, axis=0) : bf16[300,n]
//   %7 = broadcast(0.5, shape=[300,n]) : bf16[300,n]
//   %8 = multiply(%5, %7) : bf16[300,n]
//   return %8
// p0: input bf16, align 16
// p1: input bf16, align 16
// p2: input i64, align 16
// p3: input i64, align 16
// p4: input i64, align 16
// p5: output bf16, align 16
// z0 = s0*300
// z1 = s1
// z2 = s0
// flat, 1 x 1 elements a thread; 64-bit offsets
// launch: grid ceildiv(s0*300,512), 512 threads

extern "C" __global__ void __launch_bounds__(512)
k0_segment_add_multiply(const unsigned short* __restrict__ p0, const unsigned short* __restrict__ p1, const long long* __restrict__ p2, const long long* __restrict__ p3, const long long* __restrict__ p4, unsigned short* __restrict__ p5, long long z0, long long z1, long long z2) {
  const unsigned long long n0 = (unsigned long long)z0;
  const unsigned long long n2 = (unsigned long long)z2;
  const unsigned long long e = (unsigned long long)blockIdx.x * 512ull + threadIdx.x;
  if (e < n0) {
    const float v0 = jf_bf16_value(p0[(long long)(e)]);
    const long long v1 = p3[(long long)(e)];
    const long long v2 = p4[(long long)(e)];
    const long long v4 = (v1 > 0ll ? v1 : 0ll);
    const long long v5 = z1;
    const long long v6 = (v2 < v5 ? v2 : v5);
    float v7 = v0;
    for (long long s7 = v4; s7 < v6; ++s7) {
      const unsigned long long o7 = (unsigned long long)jf_position(p2[(long long)(e % n2) + (long long)((unsigned long long)s7) * (long long)n2], z1);
      v7 = v7 + jf_bf16_value(p1[(long long)(e % n2) + (long long)(o7) * (long long)n2]);
    }
    const float v9 = v7 * 0.5f;
    p5[(long long)(e)] = jf_bf16_bits(v9);
  }
}
