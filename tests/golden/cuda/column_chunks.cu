// Jitfuse kernel k0_add_cast_cast_greater_equal_abs_multiply_erfc_and_14_chunks for sm_90
//   %x : bf16[n,96]
//   %b : bf16[96]
//   %ct0 : bf16[n,96]
//   %3 = broadcast(%b, shape=[n,96]) : bf16[n,96]
//   %4 = add(%x, %3) : bf16[n,96]
//   %5 = cast(%ct0, dtype=f32) : f32[n,96]
//   %6 = cast(%4, dtype=f32) : f32[n,96]
//   %8 = broadcast(0.0, shape=[n,96]) : f32[n,96]
//   %9 = greater_equal(%6, %8) : bool[n,96]
//   %11 = abs(%6) : f32[n,96]
//   %13 = broadcast(0.70710677, shape=[n,96]) : f32[n,96]
//   %14 = multiply(%11, %13) : f32[n,96]
//   %15 = erfc(%14) : f32[n,96]
//   %17 = broadcast(0.5, shape=[n,96]) : f32[n,96]
//   %18 = multiply(%15, %17) : f32[n,96]
//   %19 = broadcast(1.0, shape=[n,96]) : f32[n,96]
//   %20 = subtract(%19, %18) : f32[n,96]
//   %21 = where(%9, %20, %18) : f32[n,96]
//   %23 = broadcast(0.3989423, shape=[n,96]) : f32[n,96]
//   %24 = multiply(%6, %23) : f32[n,96]
//   %25 = multiply(%6, %6) : f32[n,96]
//   %27 = broadcast(-0.5, shape=[n,96]) : f32[n,96]
//   %28 = multiply(%25, %27) : f32[n,96]
//   %29 = exp(%28) : f32[n,96]
//   %30 = multiply(%24, %29) : f32[n,96]
//   %31 = add(%21, %30) : f32[n,96]
//   %32 = multiply(%5, %31) : f32[n,96]
//   %33 = cast(%32, dtype=bf16) : bf16[n,96]
//   %34 = cast(%33, dtype=f32) : f32[n,96]
//   %35 = sum(%34, axes=[0], keepdims=true) : f32[1,96]
//   %36 = reshape(%35, shape=[96]) : f32[96]
//   %37 = cast(%36, dtype=bf16) : bf16[96]
//   return %33, %37
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

JF_FN void k0_add_cast_cast_greater_equal_abs_multiply_erfc_and_14_chunks_combine0(float& a0, float b0) {
  const float t2 = a0 + b0;
  a0 = t2;
}

extern "C" __global__ void __launch_bounds__(256)
k0_add_cast_cast_greater_equal_abs_multiply_erfc_and_14_chunks(const unsigned short* __restrict__ p0, const unsigned short* __restrict__ p1, const unsigned short* __restrict__ p2, unsigned short* __restrict__ p3, float* __restrict__ p4, long long z0, long long z1, long long z2, long long z3) {
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
  const long long v24 = (long long)(row / 96ull);
  const long long v25 = z2;
  const long long v26 = (long long)((unsigned long long)v24 * (unsigned long long)v25);
  const long long v29 = z3;
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
        const float v9 = v7 * 0.707106769f;
        const float v10 = erfcf(v9);
        const float v12 = v10 * 0.5f;
        const float v13 = 1.0f - v12;
        const float v14 = (v5 ? v13 : v12);
        const float v16 = v3 * 0.398942292f;
        const float v17 = v3 * v3;
        const float v19 = v17 * (-0.5f);
        const float v20 = expf(v19);
        const float v21 = fmaf(v16, v20, v14);
        const float v22 = v0 * v21;
        const float v23 = jf_bf16_round(v22);
        const long long v27 = (long long)(c);
        const long long v28 = (long long)((unsigned long long)v26 + (unsigned long long)v27);
        const bool v30 = (v28 < v29);
        const float v32 = (v30 ? v23 : 0.0f);
        k0_add_cast_cast_greater_equal_abs_multiply_erfc_and_14_chunks_combine0(s0_0_0[j], v32);
        w1[j] = v22;
      }
      if (live && (unsigned long long)((long long)(c) + (long long)(row / 96ull) * (long long)n2) < n3) {
        *(jf_bf16x4*)(p3 + (b0 + (long long)(c) * 96ll)) = jf_pack_bf16x4(w1);
      }
    }
    #pragma unroll
    for (int j = 0; j < 4; ++j) {
      k0_add_cast_cast_greater_equal_abs_multiply_erfc_and_14_chunks_combine0(a0_0_0[j], s0_0_0[j]);
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
        k0_add_cast_cast_greater_equal_abs_multiply_erfc_and_14_chunks_combine0(a0_0_0[j], m0_0_0[j * 256 + threadIdx.x + s * 32u]);
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
