// Jitfuse kernel layer_norm_f32 for sm_90
//   made by hand: layer_norm_f32
// p0: input f32, align 16
// p1: output f32, align 16
// p2: output f32, align 16
// row, 1 rows a block, 256 threads a row, loops x 4; 32-bit offsets
// launch: grid s0, 256 threads

JF_FN void layer_norm_f32_combine0(float& a0, float& a1, float& a2, float b0, float b1, float b2) {
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

extern "C" __global__ void __launch_bounds__(256)
layer_norm_f32(const float* __restrict__ p0, float* __restrict__ p1, float* __restrict__ p2) {
  const unsigned lane = threadIdx.x;
  const unsigned row = blockIdx.x;
  const unsigned b0 = row * 100000u;
  float a0_0_0 = 0.0f;
  float a0_0_1 = 0.0f;
  float a0_0_2 = 0.0f;
  for (unsigned c0 = lane * 4u; c0 < 100000u; c0 += 65536u) {
    float s0_0_0 = 0.0f;
    float s0_0_1 = 0.0f;
    float s0_0_2 = 0.0f;
    const unsigned stop = c0 + 65536u;
    const unsigned end = stop < 100000u ? stop : 100000u;
    #pragma unroll 4
    for (unsigned c = c0; c < end; c += 1024u) {
      const jf_f32x4 r0 = *(const jf_f32x4*)(p0 + (b0 + c));
      float x0_0_0[4];
      float x0_0_1[4];
      float x0_0_2[4];
      #pragma unroll
      for (int j = 0; j < 4; ++j) {
        const float v0 = r0.v[j];
        x0_0_0[j] = 1.0f;
        x0_0_1[j] = v0;
        x0_0_2[j] = 0.0f;
      }
      layer_norm_f32_combine0(x0_0_0[0], x0_0_1[0], x0_0_2[0], x0_0_0[1], x0_0_1[1], x0_0_2[1]);
      layer_norm_f32_combine0(x0_0_0[2], x0_0_1[2], x0_0_2[2], x0_0_0[3], x0_0_1[3], x0_0_2[3]);
      layer_norm_f32_combine0(x0_0_0[0], x0_0_1[0], x0_0_2[0], x0_0_0[2], x0_0_1[2], x0_0_2[2]);
      layer_norm_f32_combine0(s0_0_0, s0_0_1, s0_0_2, x0_0_0[0], x0_0_1[0], x0_0_2[0]);
    }
    layer_norm_f32_combine0(a0_0_0, a0_0_1, a0_0_2, s0_0_0, s0_0_1, s0_0_2);
  }
  #pragma unroll
  for (int m = 1; m < 32; m *= 2) {
    layer_norm_f32_combine0(a0_0_0, a0_0_1, a0_0_2, jf_down<32, 0xffffffffu>(a0_0_0, m), jf_down<32, 0xffffffffu>(a0_0_1, m), jf_down<32, 0xffffffffu>(a0_0_2, m));
  }
  __shared__ float m0_0_0[8];
  __shared__ float m0_0_1[8];
  __shared__ float m0_0_2[8];
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
  for (unsigned k = 1; k < 8u; ++k) {
    layer_norm_f32_combine0(a0_0_0, a0_0_1, a0_0_2, m0_0_0[k], m0_0_1[k], m0_0_2[k]);
  }
  const float v7 = a0_0_2 / a0_0_0;
  const float v8 = v7 + 9.99999975e-06f;
  const float v9 = rsqrtf(v8);
  if (lane == 0) {
    p2[row] = a0_0_1;
  }
  #pragma unroll 4
  for (unsigned c = lane * 4u; c < 100000u; c += 1024u) {
    const jf_f32x4 r0 = *(const jf_f32x4*)(p0 + (b0 + c));
    jf_f32x4 w0;
    #pragma unroll
    for (int j = 0; j < 4; ++j) {
      const float v0 = r0.v[j];
      const float v10 = v0 - a0_0_1;
      const float v11 = v10 * v9;
      w0.v[j] = v11;
    }
    *(jf_f32x4*)(p1 + (b0 + c)) = w0;
  }
}
