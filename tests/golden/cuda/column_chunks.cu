// Jitfuse kernel k0_add_gelu_backward_cast_sum_cast_chunks for sm_90
//   %x : bf16[n,96]
//   %b : bf16[96]
//   %ct0 : bf16[n,96]
//   %3 = broadcast(%b, shape=[n,96]) : bf16[n,96]
//   %4 = add(%x, %3) : bf16[n,96]
//   %5 = gelu_backward(%ct0, %4) : bf16[n,96]
//   %6 = cast(%5, dtype=f32) : f32[n,96]
//   %7 = sum(%6, axes=[0], keepdims=true) : f32[1,96]
//   %8 = reshape(%7, shape=[96]) : f32[96]
//   %9 = cast(%8, dtype=bf16) : bf16[96]
//   return %5, %9
// p0: input bf16, align 16
// p1: input bf16, align 16
// p2: input bf16, align 16
// p3: output bf16, align 16
// p4: scratch f32, align 16
// z0 = max(ceildiv(s0,ceildiv(s0,max(min(ceildiv(s0,128),1024),1))),1)*96
// z1 = ceildiv(s0,max(min(ceildiv(s0,128),1024),1))*96
// z2 = ceildiv(s0,max(min(ceildiv(s0,128),1024),1))
// z3 = s0
// column, 32 x 4 rows a block, 8 threads a row, loops; 64-bit offsets
// launch: grid ceildiv(max(ceildiv(s0,ceildiv(s0,max(min(ceildiv(s0,128),1024),1))),1)*96,128), 256 threads

JF_FN void k0_add_gelu_backward_cast_sum_cast_chunks_combine0(float& a0, float b0) {
  const float t2 = a0 + b0;
  a0 = t2;
}

extern "C" __global__ void __launch_bounds__(256)
k0_add_gelu_backward_cast_sum_cast_chunks(const unsigned short* __restrict__ p0, const unsigned short* __restrict__ p1, const unsigned short* __restrict__ p2, unsigned short* __restrict__ p3, float* __restrict__ p4, long long z0, long long z1, long long z2, long long z3) {
  const unsigned long long n0 = (unsigned long long)z0;
  const unsigned long long n1 = (unsigned long long)z1;
  const unsigned long long n2 = (unsigned long long)z2;
  const unsigned long long n3 = (unsigned long long)z3;
  const unsigned lane = threadIdx.x / 32u;
  const unsigned slot = threadIdx.x % 32u;
  const unsigned long long wanted_row = ((unsigned long long)blockIdx.x * 32ull + slot) * 4ull;
  const bool live = wanted_row < n0;
  const unsigned long long row = live ? wanted_row : n0 - 4ull;
  const long long b0 = (long long)(row / 96ull) * (long long)n1 + (long long)(row % 96ull);
  float v2[4];
  const long long v19 = (long long)(row / 96ull);
  const long long v20 = z2;
  const long long v21 = (long long)((unsigned long long)v19 * (unsigned long long)v20);
  const long long v24 = z3;
  #pragma unroll
  for (int j = 0; j < 4; ++j) {
    v2[j] = jf_bf16_value(p1[(row + j) % 96ull]);
  }
  float a0_0_0[4];
  #pragma unroll
  for (int j = 0; j < 4; ++j) {
    a0_0_0[j] = 0.0f;
  }
  for (unsigned long long c0 = lane; c0 < n2; c0 += 512ull) {
    float s0_0_0[4];
    #pragma unroll
    for (int j = 0; j < 4; ++j) {
      s0_0_0[j] = 0.0f;
    }
    const unsigned long long stop = c0 + 512ull;
    const unsigned long long end = stop < n2 ? stop : n2;
    #pragma unroll 1
    for (unsigned long long c = c0; c < end; c += 8ull) {
      const jf_bf16x4 r0 = (unsigned long long)((long long)(c) + (long long)(row / 96ull) * (long long)n2) < n3 ? *(const jf_bf16x4*)(p2 + (b0 + (long long)(c) * 96ll)) : jf_bf16x4{};
      const jf_bf16x4 r1 = (unsigned long long)((long long)(c) + (long long)(row / 96ull) * (long long)n2) < n3 ? *(const jf_bf16x4*)(p0 + (b0 + (long long)(c) * 96ll)) : jf_bf16x4{};
      float w1[4];
      #pragma unroll
      for (int j = 0; j < 4; ++j) {
        const float v0 = jf_get_bf16(r0, j);
        const float v1 = jf_get_bf16(r1, j);
        const float v3 = v1 + v2[j];
        const bool v5 = (v3 >= 0.0f);
        const float v7 = fabsf(v3);
        const float v8 = jf_normal_tail_16(v7);
        const float v9 = 1.0f - v8;
        const float v10 = (v5 ? v9 : v8);
        const float v12 = v3 * v3;
        const float v14 = v12 * (-0.5f);
        const float v15 = expf(v14);
        const float v16 = 0.398942292f * v15;
        const float v17 = fmaf(v3, v16, v10);
        const float v18 = v0 * v17;
        const long long v22 = (long long)(c);
        const long long v23 = (long long)((unsigned long long)v21 + (unsigned long long)v22);
        const bool v25 = (v23 < v24);
        const float v27 = (v25 ? v18 : 0.0f);
        k0_add_gelu_backward_cast_sum_cast_chunks_combine0(s0_0_0[j], v27);
        w1[j] = v18;
      }
      if (live && (unsigned long long)((long long)(c) + (long long)(row / 96ull) * (long long)n2) < n3) {
        *(jf_bf16x4*)(p3 + (b0 + (long long)(c) * 96ll)) = jf_pack_bf16x4(w1);
      }
    }
    #pragma unroll
    for (int j = 0; j < 4; ++j) {
      k0_add_gelu_backward_cast_sum_cast_chunks_combine0(a0_0_0[j], s0_0_0[j]);
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
        k0_add_gelu_backward_cast_sum_cast_chunks_combine0(a0_0_0[j], m0_0_0[j * 256 + threadIdx.x + s * 32u]);
        m0_0_0[j * 256 + threadIdx.x] = a0_0_0[j];
      }
    }
    __syncthreads();
  }
  #pragma unroll
  for (int j = 0; j < 4; ++j) {
    a0_0_0[j] = m0_0_0[j * 256 + slot];
  }
  if (live && lane == 0) {
    #pragma unroll
    for (int j = 0; j < 4; ++j) {
      p4[(row + j)] = a0_0_0[j];
    }
  }
}
