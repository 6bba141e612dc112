// Jitfuse kernel layer_norm_bf16 for sm_90
//   made by hand: layer_norm_bf16
// p0: input bf16, align 16
// p1: output bf16, align 16
// p2: output f32, align 16
// z0 = s1
// row, 1 rows a block, 128 threads a row, 5 x 8, windows; 32-bit offsets
// launch: grid s0, 128 threads

JF_FN void layer_norm_bf16_combine0(float& a0, float& a1, float& a2, float b0, float b1, float b2) {
  const float t2 = a0 + b0;
  const float t5 = b1 - a1;
  const bool t7 = (t2 == 0.0f);
  const float t8 = b0 / t2;
  const float t9 = (t7 ? 0.0f : t8);
  const float t10 = t5 * t9;
  const float t11 = a1 + t10;
  const float t14 = a2 + b2;
  const float t15 = t5 * t5;
  const float t16 = a0 * t9;
  const float t17 = t15 * t16;
  const float t18 = t14 + t17;
  a0 = t2;
  a1 = t11;
  a2 = t18;
}

extern "C" __global__ void __launch_bounds__(128)
layer_norm_bf16(const unsigned short* __restrict__ p0, unsigned short* __restrict__ p1, float* __restrict__ p2, long long z0) {
  const unsigned n0 = (unsigned)z0;
  const unsigned lane = threadIdx.x;
  const unsigned row = blockIdx.x;
  const int b0 = (int)(row) * (int)n0;
  const unsigned before = (0u - (unsigned)b0) & 7u;
  const unsigned head = before < n0 ? before : n0;
  const unsigned middle = (n0 - head) & ~7u;
  const unsigned tail = head + middle;
  float v0[41];
  float a0_0_0 = 0.0f;
  float a0_0_1 = 0.0f;
  float a0_0_2 = 0.0f;
  {
    unsigned short r0e;
    {
      const unsigned c = lane < head ? lane : middle + lane;
      if (c < n0) {
        r0e = p0[b0 + (int)(c)];
      }
    }
    jf_bf16x8 r0[5];
    #pragma unroll
    for (int i = 0; i < 5; ++i) {
      const unsigned c = head + (i * 128u + lane) * 8u;
      if (c < tail) {
        r0[i] = *(const jf_bf16x8*)(p0 + (b0 + (int)(c)));
      }
    }
    #pragma unroll
    for (int i = 0; i < 5; ++i) {
      const unsigned c = head + (i * 128u + lane) * 8u;
      if (c < tail) {
        float x0_0_0[8];
        float x0_0_1[8];
        float x0_0_2[8];
        #pragma unroll
        for (int j = 0; j < 8; ++j) {
          v0[i * 8 + j] = jf_get_bf16(r0[i], j);
          x0_0_0[j] = 1.0f;
          x0_0_1[j] = v0[i * 8 + j];
          x0_0_2[j] = 0.0f;
        }
        layer_norm_bf16_combine0(x0_0_0[0], x0_0_1[0], x0_0_2[0], x0_0_0[1], x0_0_1[1], x0_0_2[1]);
        layer_norm_bf16_combine0(x0_0_0[2], x0_0_1[2], x0_0_2[2], x0_0_0[3], x0_0_1[3], x0_0_2[3]);
        layer_norm_bf16_combine0(x0_0_0[4], x0_0_1[4], x0_0_2[4], x0_0_0[5], x0_0_1[5], x0_0_2[5]);
        layer_norm_bf16_combine0(x0_0_0[6], x0_0_1[6], x0_0_2[6], x0_0_0[7], x0_0_1[7], x0_0_2[7]);
        layer_norm_bf16_combine0(x0_0_0[0], x0_0_1[0], x0_0_2[0], x0_0_0[2], x0_0_1[2], x0_0_2[2]);
        layer_norm_bf16_combine0(x0_0_0[4], x0_0_1[4], x0_0_2[4], x0_0_0[6], x0_0_1[6], x0_0_2[6]);
        layer_norm_bf16_combine0(x0_0_0[0], x0_0_1[0], x0_0_2[0], x0_0_0[4], x0_0_1[4], x0_0_2[4]);
        layer_norm_bf16_combine0(a0_0_0, a0_0_1, a0_0_2, x0_0_0[0], x0_0_1[0], x0_0_2[0]);
      }
    }
    {
      const unsigned c = lane < head ? lane : middle + lane;
      if (c < n0) {
        v0[40] = jf_bf16_value(r0e);
        layer_norm_bf16_combine0(a0_0_0, a0_0_1, a0_0_2, 1.0f, v0[40], 0.0f);
      }
    }
  }
  #pragma unroll
  for (int m = 1; m < 32; m *= 2) {
    layer_norm_bf16_combine0(a0_0_0, a0_0_1, a0_0_2, jf_down<32, 0xffffffffu>(a0_0_0, m), jf_down<32, 0xffffffffu>(a0_0_1, m), jf_down<32, 0xffffffffu>(a0_0_2, m));
  }
  __shared__ float m0_0_0[4];
  __shared__ float m0_0_1[4];
  __shared__ float m0_0_2[4];
  if (lane % 32u == 0u) {
    m0_0_0[lane / 32u] = a0_0_0;
    m0_0_1[lane / 32u] = a0_0_1;
    m0_0_2[lane / 32u] = a0_0_2;
  }
  __syncthreads();
  a0_0_0 = m0_0_0[0];
  a0_0_1 = m0_0_1[0];
  a0_0_2 = m0_0_2[0];
  #pragma unroll
  for (unsigned k = 1; k < 4u; ++k) {
    layer_norm_bf16_combine0(a0_0_0, a0_0_1, a0_0_2, m0_0_0[k], m0_0_1[k], m0_0_2[k]);
  }
  const float v7 = a0_0_2 / a0_0_0;
  const float v8 = v7 + 9.99999975e-06f;
  const float v9 = rsqrtf(v8);
  if (lane == 0) {
    p2[row] = a0_0_1;
  }
  {
    #pragma unroll
    for (int i = 0; i < 5; ++i) {
      const unsigned c = head + (i * 128u + lane) * 8u;
      if (c < tail) {
        float w0[8];
        #pragma unroll
        for (int j = 0; j < 8; ++j) {
          const float v10 = v0[i * 8 + j] - a0_0_1;
          const float v11 = v10 * v9;
          w0[j] = v11;
        }
        *(jf_bf16x8*)(p1 + (b0 + (int)(c))) = jf_pack_bf16x8(w0);
      }
    }
    {
      const unsigned c = lane < head ? lane : middle + lane;
      if (c < n0) {
        const float v10 = v0[40] - a0_0_1;
        const float v11 = v10 * v9;
        p1[b0 + (int)(c)] = jf_bf16_bits(v11);
      }
    }
  }
}
