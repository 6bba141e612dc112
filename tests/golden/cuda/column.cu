// Jitfuse kernel sum_columns_bf16 for sm_90
//   made by hand: sum_columns_bf16
// p0: input bf16, align 16
// p1: output bf16, align 16
// z0 = s0
// column, 32 x 4 rows a block, 8 threads a row, loops; 32-bit offsets
// launch: grid 32, 256 threads

JF_FN void sum_columns_bf16_combine0(float& a0, float b0) {
  const float t2 = a0 + b0;
  a0 = t2;
}

extern "C" __global__ void __launch_bounds__(256)
sum_columns_bf16(const unsigned short* __restrict__ p0, unsigned short* __restrict__ p1, long long z0) {
  const unsigned n0 = (unsigned)z0;
  const unsigned lane = threadIdx.x / 32u;
  const unsigned slot = threadIdx.x % 32u;
  const unsigned row = (blockIdx.x * 32u + slot) * 4u;
  const unsigned b0 = row;
  float a0_0_0[4];
  #pragma unroll
  for (int j = 0; j < 4; ++j) {
    a0_0_0[j] = 0.0f;
  }
  for (unsigned c0 = lane; c0 < n0; c0 += 512u) {
    float s0_0_0[4];
    #pragma unroll
    for (int j = 0; j < 4; ++j) {
      s0_0_0[j] = 0.0f;
    }
    const unsigned stop = c0 + 512u;
    const unsigned end = stop < n0 ? stop : n0;
    #pragma unroll 4
    for (unsigned c = c0; c < end; c += 8u) {
      const jf_bf16x4 r0 = *(const jf_bf16x4*)(p0 + (b0 + c * 4096u));
      #pragma unroll
      for (int j = 0; j < 4; ++j) {
        const float v0 = jf_get_bf16(r0, j);
        sum_columns_bf16_combine0(s0_0_0[j], v0);
      }
    }
    #pragma unroll
    for (int j = 0; j < 4; ++j) {
      sum_columns_bf16_combine0(a0_0_0[j], s0_0_0[j]);
    }
  }
  __shared__ float m0_0_0[1024];
  #pragma unroll
  for (int j = 0; j < 4; ++j) {
    m0_0_0[j * 256 + threadIdx.x] = a0_0_0[j];
  }
  __syncthreads();
  #pragma unroll 1
  for (unsigned s = 1; s < 8u; s *= 2) {
    if (lane % (2 * s) == 0) {
      #pragma unroll
      for (int j = 0; j < 4; ++j) {
        sum_columns_bf16_combine0(a0_0_0[j], m0_0_0[j * 256 + threadIdx.x + s * 32u]);
        m0_0_0[j * 256 + threadIdx.x] = a0_0_0[j];
      }
    }
    __syncthreads();
  }
  #pragma unroll
  for (int j = 0; j < 4; ++j) {
    a0_0_0[j] = m0_0_0[j * 256 + slot];
  }
  if (lane == 0) {
    #pragma unroll
    for (int j = 0; j < 4; ++j) {
      p1[(row + j)] = jf_bf16_bits(a0_0_0[j]);
    }
  }
}
