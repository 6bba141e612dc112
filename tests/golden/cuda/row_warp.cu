// Jitfuse kernel argmax_f32 for sm_90
//   made by hand: argmax_f32
// p0: input f32, align 16
// p1: output i64, align 16
// z0 = s0
// row, 8 rows a block, 32 threads a row, 8 x 1; 32-bit offsets
// launch: grid ceildiv(s0,8), 256 threads

JF_FN void argmax_f32_combine0(float& a0, long long& a1, float b0, long long b1) {
  const bool t1 = (a0 != a0);
  const bool t3 = (b0 != b0);
  const bool t4 = (!t3);
  const bool t7 = (a1 < b1);
  const bool t8 = (t4 || t7);
  const bool t9 = (t1 && t8);
  const bool t10 = (!t1);
  const bool t11 = (t10 && t4);
  const bool t12 = (a0 > b0);
  const bool t13 = (a0 == b0);
  const bool t14 = (t13 && t7);
  const bool t15 = (t12 || t14);
  const bool t16 = (t11 && t15);
  const bool t17 = (t9 || t16);
  const float t18 = (t17 ? a0 : b0);
  const long long t19 = (t17 ? a1 : b1);
  a0 = t18;
  a1 = t19;
}

extern "C" __global__ void __launch_bounds__(256)
argmax_f32(const float* __restrict__ p0, long long* __restrict__ p1, long long z0) {
  const unsigned n0 = (unsigned)z0;
  const unsigned lane = threadIdx.x % 32u;
  const unsigned slot = threadIdx.x / 32u;
  const unsigned wanted_row = blockIdx.x * 8u + slot;
  const bool live = wanted_row < n0;
  const unsigned row = live ? wanted_row : n0 - 1u;
  const unsigned b0 = row * 250u;
  float a0_0_0 = __int_as_float(0xff800000);
  long long a0_0_1 = 9000000000000000000ll;
  {
    float r0[8];
    #pragma unroll
    for (int i = 0; i < 8; ++i) {
      const unsigned c = (i * 32u + lane);
      if (i < 7 || c < 250u) {
        r0[i] = p0[b0 + c];
      }
    }
    #pragma unroll
    for (int i = 0; i < 8; ++i) {
      const unsigned c = (i * 32u + lane);
      if (i < 7 || c < 250u) {
        const float v0 = r0[i];
        const long long v1 = (long long)(c);
        argmax_f32_combine0(a0_0_0, a0_0_1, v0, v1);
      }
    }
  }
  #pragma unroll
  for (int m = 1; m < 32; m *= 2) {
    argmax_f32_combine0(a0_0_0, a0_0_1, jf_down<32, 0xffffffffu>(a0_0_0, m), jf_down<32, 0xffffffffu>(a0_0_1, m));
  }
  a0_0_0 = jf_first<32, 0xffffffffu>(a0_0_0);
  a0_0_1 = jf_first<32, 0xffffffffu>(a0_0_1);
  if (live && lane == 0) {
    p1[row] = a0_0_1;
  }
}
