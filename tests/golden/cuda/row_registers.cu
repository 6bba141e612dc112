// Jitfuse kernel softmax_bf16 for sm_90
//   made by hand: softmax_bf16
// p0: input bf16, align 16
// p1: output bf16, align 16
// row, 1 rows a block, 128 threads a row, 4 x 8; 32-bit offsets
// launch: grid s0, 128 threads

JF_FN void softmax_bf16_combine0(float& a0, float b0) {
  const float t2 = jf_maximum(a0, b0);
  a0 = t2;
}

JF_FN void softmax_bf16_combine1(float& a0, float b0) {
  const float t2 = a0 + b0;
  a0 = t2;
}

extern "C" __global__ void __launch_bounds__(128)
softmax_bf16(const unsigned short* __restrict__ p0, unsigned short* __restrict__ p1) {
  const unsigned lane = threadIdx.x;
  const unsigned row = blockIdx.x;
  const unsigned b0 = row * 4096u;
  float v0[32];
  float v3[32];
  float a0_0_0 = __int_as_float(0xff800000);
  {
    jf_bf16x8 r0[4];
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
      const unsigned c = (i * 128u + lane) * 8u;
      r0[i] = *(const jf_bf16x8*)(p0 + (b0 + c));
    }
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
      const unsigned c = (i * 128u + lane) * 8u;
      float x0_0_0[8];
      #pragma unroll
      for (int j = 0; j < 8; ++j) {
        v0[i * 8 + j] = jf_get_bf16(r0[i], j);
        x0_0_0[j] = v0[i * 8 + j];
      }
      softmax_bf16_combine0(x0_0_0[0], x0_0_0[1]);
      softmax_bf16_combine0(x0_0_0[2], x0_0_0[3]);
      softmax_bf16_combine0(x0_0_0[4], x0_0_0[5]);
      softmax_bf16_combine0(x0_0_0[6], x0_0_0[7]);
      softmax_bf16_combine0(x0_0_0[0], x0_0_0[2]);
      softmax_bf16_combine0(x0_0_0[4], x0_0_0[6]);
      softmax_bf16_combine0(x0_0_0[0], x0_0_0[4]);
      softmax_bf16_combine0(a0_0_0, x0_0_0[0]);
    }
  }
  #pragma unroll
  for (int m = 1; m < 32; m *= 2) {
    softmax_bf16_combine0(a0_0_0, jf_down<32, 0xffffffffu>(a0_0_0, m));
  }
  __shared__ float m0_0_0[4];
  if (lane % 32u == 0u) {
    m0_0_0[lane / 32u] = a0_0_0;
  }
  __syncthreads();
  a0_0_0 = m0_0_0[0];
  #pragma unroll
  for (unsigned k = 1; k < 4u; ++k) {
    softmax_bf16_combine0(a0_0_0, m0_0_0[k]);
  }
  float a1_0_0 = 0.0f;
  {
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
      const unsigned c = (i * 128u + lane) * 8u;
      float x1_0_0[8];
      #pragma unroll
      for (int j = 0; j < 8; ++j) {
        const float v2 = v0[i * 8 + j] - a0_0_0;
        v3[i * 8 + j] = expf(v2);
        x1_0_0[j] = v3[i * 8 + j];
      }
      softmax_bf16_combine1(x1_0_0[0], x1_0_0[1]);
      softmax_bf16_combine1(x1_0_0[2], x1_0_0[3]);
      softmax_bf16_combine1(x1_0_0[4], x1_0_0[5]);
      softmax_bf16_combine1(x1_0_0[6], x1_0_0[7]);
      softmax_bf16_combine1(x1_0_0[0], x1_0_0[2]);
      softmax_bf16_combine1(x1_0_0[4], x1_0_0[6]);
      softmax_bf16_combine1(x1_0_0[0], x1_0_0[4]);
      softmax_bf16_combine1(a1_0_0, x1_0_0[0]);
    }
  }
  #pragma unroll
  for (int m = 1; m < 32; m *= 2) {
    softmax_bf16_combine1(a1_0_0, jf_down<32, 0xffffffffu>(a1_0_0, m));
  }
  __shared__ float m1_0_0[4];
  if (lane % 32u == 0u) {
    m1_0_0[lane / 32u] = a1_0_0;
  }
  __syncthreads();
  a1_0_0 = m1_0_0[0];
  #pragma unroll
  for (unsigned k = 1; k < 4u; ++k) {
    softmax_bf16_combine1(a1_0_0, m1_0_0[k]);
  }
  {
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
      const unsigned c = (i * 128u + lane) * 8u;
      float w0[8];
      #pragma unroll
      for (int j = 0; j < 8; ++j) {
        const float v5 = v3[i * 8 + j] / a1_0_0;
        w0[j] = v5;
      }
      *(jf_bf16x8*)(p1 + (b0 + c)) = jf_pack_bf16x8(w0);
    }
  }
}
