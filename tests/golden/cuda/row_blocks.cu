// Jitfuse kernel k0_cast_moments_subtract_add_rsqrt_multiply_cast_and_15_blocks for sm_90
//   %x : bf16[n,96]
//   %w : bf16[96]
//   %ct0 : bf16[n,96]
//   %4 = cast(%x, dtype=f32) : f32[n,96]
//   %5_0, %5_1 = moments(%4, axes=[1], keepdims=true) : f32[n,1], f32[n,1]
//   %6 = broadcast(%5_0, shape=[n,96]) : f32[n,96]
//   %7 = subtract(%4, %6) : f32[n,96]
//   %9 = broadcast(1e-05, shape=[n,1]) : f32[n,1]
//   %10 = add(%5_1, %9) : f32[n,1]
//   %11 = rsqrt(%10) : f32[n,1]
//   %12 = broadcast(%11, shape=[n,96]) : f32[n,96]
//   %13 = multiply(%7, %12) : f32[n,96]
//   %14 = cast(%ct0, dtype=f32) : f32[n,96]
//   %15 = cast(%w, dtype=f32) : f32[96]
//   %16 = broadcast(%15, shape=[n,96]) : f32[n,96]
//   %17 = multiply(%14, %16) : f32[n,96]
//   %18 = multiply(%17, %13) : f32[n,96]
//   %19 = mean(%18, axes=[1], keepdims=true) : f32[n,1]
//   %20 = broadcast(%19, shape=[n,96]) : f32[n,96]
//   %21 = multiply(%13, %20) : f32[n,96]
//   %22 = mean(%17, axes=[1], keepdims=true) : f32[n,1]
//   %23 = broadcast(%22, shape=[n,96]) : f32[n,96]
//   %24 = subtract(%17, %23) : f32[n,96]
//   %25 = subtract(%24, %21) : f32[n,96]
//   %26 = multiply(%12, %25) : f32[n,96]
//   %27 = multiply(%14, %13) : f32[n,96]
//   %28 = sum(%27, axes=[0], keepdims=false) : f32[96]
//   %29 = sum(%14, axes=[0], keepdims=false) : f32[96]
//   %30 = cast(%26, dtype=bf16) : bf16[n,96]
//   %31 = cast(%28, dtype=bf16) : bf16[96]
//   %32 = cast(%29, dtype=bf16) : bf16[96]
//   return %30, %31, %32
// p0: input bf16, align 16
// p1: input bf16, align 16
// p2: input bf16, align 16
// p3: output bf16, align 16
// p4: scratch f32, align 16
// p5: scratch f32, align 16
// z0 = min(max(ceildiv(s0,4096),4),512)
// z1 = s0
// row, 1 rows a block, 32 threads a row, 1 x 8; 64-bit offsets
// launch: grid ceildiv(s0,min(max(ceildiv(s0,4096),4),512)), 32 threads

JF_FN void k0_cast_moments_subtract_add_rsqrt_multiply_cast_and_15_blocks_combine0(float& a0, float b0) {
  const float t2 = a0 + b0;
  a0 = t2;
}

JF_FN void k0_cast_moments_subtract_add_rsqrt_multiply_cast_and_15_blocks_combine1(float& a0, float& a1, float b0, float b1) {
  const float t2 = a0 + b0;
  const float t5 = a1 + b1;
  a0 = t2;
  a1 = t5;
}

extern "C" __global__ void __launch_bounds__(32)
k0_cast_moments_subtract_add_rsqrt_multiply_cast_and_15_blocks(const unsigned short* __restrict__ p0, const unsigned short* __restrict__ p1, const unsigned short* __restrict__ p2, unsigned short* __restrict__ p3, float* __restrict__ p4, float* __restrict__ p5, long long z0, long long z1) {
  const unsigned long long n0 = (unsigned long long)z0;
  const unsigned long long n1 = (unsigned long long)z1;
  const unsigned lane = threadIdx.x;
  const unsigned long long block = blockIdx.x;
  const unsigned long long first = block * n0;
  const unsigned long long stop = first + n0;
  const unsigned long long end_row = stop < n1 ? stop : n1;
  const unsigned long long sums = block * 96ull;
  float k0_0_0[8];
  float k2_0_0[8];
  #pragma unroll
  for (int i = 0; i < 8; ++i) {
    k0_0_0[i] = 0.0f;
    k2_0_0[i] = 0.0f;
  }
  for (unsigned long long row = first; row < end_row; ++row) {
    if (row + 1 < end_row) {
      #pragma unroll
      for (int i = 0; i < 1; ++i) {
        const unsigned long long c = (i * 32u + lane) * 8u;
        if (c < 96ull) {
          jf_prefetch(p0 + (c + (row + 1) * 96ull));
          jf_prefetch(p2 + (c + (row + 1) * 96ull));
        }
      }
    }
    const unsigned long long b0 = row * 96ull;
    float v0[8];
    float v17[8];
    float a0_0_0 = 0.0f;
    float a0_1_0 = 0.0f;
    float a0_1_1 = 0.0f;
    {
      const unsigned long long c = lane * 8u;
      if (c < 96ull) {
        const jf_words<4> r0 = jf_ldna16<1>(p0 + (b0 + c));
        const jf_words<4> r17 = jf_ldna16<1>(p2 + (b0 + c));
        const jf_bf16x8 r18 = *(const jf_bf16x8*)(p1 + c);
        float x0_0_0[8];
        float x0_1_0[8];
        float x0_1_1[8];
        #pragma unroll
        for (int j = 0; j < 8; ++j) {
          v0[j] = jf_get_bf16(r0, j);
          v17[j] = jf_get_bf16(r17, j);
          const float v18 = jf_get_bf16(r18, j);
          const float v19 = v17[j] * v18;
          const float v21 = v19 * 5.42101086e-20f;
          x0_0_0[j] = v0[j];
          x0_1_0[j] = v19;
          x0_1_1[j] = v21;
          k0_cast_moments_subtract_add_rsqrt_multiply_cast_and_15_blocks_combine0(k0_0_0[j], v17[j]);
        }
        k0_cast_moments_subtract_add_rsqrt_multiply_cast_and_15_blocks_combine0(x0_0_0[0], x0_0_0[1]);
        k0_cast_moments_subtract_add_rsqrt_multiply_cast_and_15_blocks_combine0(x0_0_0[2], x0_0_0[3]);
        k0_cast_moments_subtract_add_rsqrt_multiply_cast_and_15_blocks_combine0(x0_0_0[4], x0_0_0[5]);
        k0_cast_moments_subtract_add_rsqrt_multiply_cast_and_15_blocks_combine0(x0_0_0[6], x0_0_0[7]);
        k0_cast_moments_subtract_add_rsqrt_multiply_cast_and_15_blocks_combine0(x0_0_0[0], x0_0_0[2]);
        k0_cast_moments_subtract_add_rsqrt_multiply_cast_and_15_blocks_combine0(x0_0_0[4], x0_0_0[6]);
        k0_cast_moments_subtract_add_rsqrt_multiply_cast_and_15_blocks_combine0(x0_0_0[0], x0_0_0[4]);
        k0_cast_moments_subtract_add_rsqrt_multiply_cast_and_15_blocks_combine0(a0_0_0, x0_0_0[0]);
        k0_cast_moments_subtract_add_rsqrt_multiply_cast_and_15_blocks_combine1(x0_1_0[0], x0_1_1[0], x0_1_0[1], x0_1_1[1]);
        k0_cast_moments_subtract_add_rsqrt_multiply_cast_and_15_blocks_combine1(x0_1_0[2], x0_1_1[2], x0_1_0[3], x0_1_1[3]);
        k0_cast_moments_subtract_add_rsqrt_multiply_cast_and_15_blocks_combine1(x0_1_0[4], x0_1_1[4], x0_1_0[5], x0_1_1[5]);
        k0_cast_moments_subtract_add_rsqrt_multiply_cast_and_15_blocks_combine1(x0_1_0[6], x0_1_1[6], x0_1_0[7], x0_1_1[7]);
        k0_cast_moments_subtract_add_rsqrt_multiply_cast_and_15_blocks_combine1(x0_1_0[0], x0_1_1[0], x0_1_0[2], x0_1_1[2]);
        k0_cast_moments_subtract_add_rsqrt_multiply_cast_and_15_blocks_combine1(x0_1_0[4], x0_1_1[4], x0_1_0[6], x0_1_1[6]);
        k0_cast_moments_subtract_add_rsqrt_multiply_cast_and_15_blocks_combine1(x0_1_0[0], x0_1_1[0], x0_1_0[4], x0_1_1[4]);
        k0_cast_moments_subtract_add_rsqrt_multiply_cast_and_15_blocks_combine1(a0_1_0, a0_1_1, x0_1_0[0], x0_1_1[0]);
      }
    }
    #pragma unroll
    for (int m = 1; m < 32; m *= 2) {
      k0_cast_moments_subtract_add_rsqrt_multiply_cast_and_15_blocks_combine0(a0_0_0, jf_down<32, 0xffffffffu>(a0_0_0, m));
      k0_cast_moments_subtract_add_rsqrt_multiply_cast_and_15_blocks_combine1(a0_1_0, a0_1_1, jf_down<32, 0xffffffffu>(a0_1_0, m), jf_down<32, 0xffffffffu>(a0_1_1, m));
    }
    a0_0_0 = jf_first<32, 0xffffffffu>(a0_0_0);
    a0_1_0 = jf_first<32, 0xffffffffu>(a0_1_0);
    a0_1_1 = jf_first<32, 0xffffffffu>(a0_1_1);
    const float v3 = a0_0_0 / 96.0f;
    const float v24 = fabsf(a0_1_0);
    const bool v26 = (v24 < __int_as_float(0x7f800000));
    const float v27 = a0_1_0 / 96.0f;
    const float v28 = a0_1_1 / 96.0f;
    const float v30 = v28 * 1.84467441e+19f;
    const float v31 = (v26 ? v27 : v30);
    float a1_0_0 = 0.0f;
    float a1_0_1 = 0.0f;
    {
      const unsigned long long c = lane * 8u;
      if (c < 96ull) {
        float x1_0_0[8];
        float x1_0_1[8];
        #pragma unroll
        for (int j = 0; j < 8; ++j) {
          const float v4 = v0[j] - v3;
          const float v5 = v4 * v4;
          x1_0_0[j] = v5;
          x1_0_1[j] = v4;
        }
        k0_cast_moments_subtract_add_rsqrt_multiply_cast_and_15_blocks_combine1(x1_0_0[0], x1_0_1[0], x1_0_0[1], x1_0_1[1]);
        k0_cast_moments_subtract_add_rsqrt_multiply_cast_and_15_blocks_combine1(x1_0_0[2], x1_0_1[2], x1_0_0[3], x1_0_1[3]);
        k0_cast_moments_subtract_add_rsqrt_multiply_cast_and_15_blocks_combine1(x1_0_0[4], x1_0_1[4], x1_0_0[5], x1_0_1[5]);
        k0_cast_moments_subtract_add_rsqrt_multiply_cast_and_15_blocks_combine1(x1_0_0[6], x1_0_1[6], x1_0_0[7], x1_0_1[7]);
        k0_cast_moments_subtract_add_rsqrt_multiply_cast_and_15_blocks_combine1(x1_0_0[0], x1_0_1[0], x1_0_0[2], x1_0_1[2]);
        k0_cast_moments_subtract_add_rsqrt_multiply_cast_and_15_blocks_combine1(x1_0_0[4], x1_0_1[4], x1_0_0[6], x1_0_1[6]);
        k0_cast_moments_subtract_add_rsqrt_multiply_cast_and_15_blocks_combine1(x1_0_0[0], x1_0_1[0], x1_0_0[4], x1_0_1[4]);
        k0_cast_moments_subtract_add_rsqrt_multiply_cast_and_15_blocks_combine1(a1_0_0, a1_0_1, x1_0_0[0], x1_0_1[0]);
      }
    }
    #pragma unroll
    for (int m = 1; m < 32; m *= 2) {
      k0_cast_moments_subtract_add_rsqrt_multiply_cast_and_15_blocks_combine1(a1_0_0, a1_0_1, jf_down<32, 0xffffffffu>(a1_0_0, m), jf_down<32, 0xffffffffu>(a1_0_1, m));
    }
    a1_0_0 = jf_first<32, 0xffffffffu>(a1_0_0);
    a1_0_1 = jf_first<32, 0xffffffffu>(a1_0_1);
    const float v8 = a1_0_0 / 96.0f;
    const float v9 = a1_0_1 / 96.0f;
    const float v10 = v9 * v9;
    const float v11 = v8 - v10;
    const float v13 = jf_maximum(v11, 0.0f);
    const float v15 = v13 + 9.99999975e-06f;
    const float v16 = rsqrtf(v15);
    float a2_0_0 = 0.0f;
    float a2_0_1 = 0.0f;
    {
      const unsigned long long c = lane * 8u;
      if (c < 96ull) {
        const jf_bf16x8 r18 = *(const jf_bf16x8*)(p1 + c);
        float x2_0_0[8];
        float x2_0_1[8];
        #pragma unroll
        for (int j = 0; j < 8; ++j) {
          const float v4 = v0[j] - v3;
          const float v18 = jf_get_bf16(r18, j);
          const float v19 = v17[j] * v18;
          const float v33 = v4 * v16;
          const float v34 = v19 * v33;
          const float v35 = v34 * 5.42101086e-20f;
          const float v48 = v17[j] * v33;
          x2_0_0[j] = v34;
          x2_0_1[j] = v35;
          k0_cast_moments_subtract_add_rsqrt_multiply_cast_and_15_blocks_combine0(k2_0_0[j], v48);
        }
        k0_cast_moments_subtract_add_rsqrt_multiply_cast_and_15_blocks_combine1(x2_0_0[0], x2_0_1[0], x2_0_0[1], x2_0_1[1]);
        k0_cast_moments_subtract_add_rsqrt_multiply_cast_and_15_blocks_combine1(x2_0_0[2], x2_0_1[2], x2_0_0[3], x2_0_1[3]);
        k0_cast_moments_subtract_add_rsqrt_multiply_cast_and_15_blocks_combine1(x2_0_0[4], x2_0_1[4], x2_0_0[5], x2_0_1[5]);
        k0_cast_moments_subtract_add_rsqrt_multiply_cast_and_15_blocks_combine1(x2_0_0[6], x2_0_1[6], x2_0_0[7], x2_0_1[7]);
        k0_cast_moments_subtract_add_rsqrt_multiply_cast_and_15_blocks_combine1(x2_0_0[0], x2_0_1[0], x2_0_0[2], x2_0_1[2]);
        k0_cast_moments_subtract_add_rsqrt_multiply_cast_and_15_blocks_combine1(x2_0_0[4], x2_0_1[4], x2_0_0[6], x2_0_1[6]);
        k0_cast_moments_subtract_add_rsqrt_multiply_cast_and_15_blocks_combine1(x2_0_0[0], x2_0_1[0], x2_0_0[4], x2_0_1[4]);
        k0_cast_moments_subtract_add_rsqrt_multiply_cast_and_15_blocks_combine1(a2_0_0, a2_0_1, x2_0_0[0], x2_0_1[0]);
      }
    }
    #pragma unroll
    for (int m = 1; m < 32; m *= 2) {
      k0_cast_moments_subtract_add_rsqrt_multiply_cast_and_15_blocks_combine1(a2_0_0, a2_0_1, jf_down<32, 0xffffffffu>(a2_0_0, m), jf_down<32, 0xffffffffu>(a2_0_1, m));
    }
    a2_0_0 = jf_first<32, 0xffffffffu>(a2_0_0);
    a2_0_1 = jf_first<32, 0xffffffffu>(a2_0_1);
    const float v38 = fabsf(a2_0_0);
    const bool v39 = (v38 < __int_as_float(0x7f800000));
    const float v40 = a2_0_0 / 96.0f;
    const float v41 = a2_0_1 / 96.0f;
    const float v42 = v41 * 1.84467441e+19f;
    const float v43 = (v39 ? v40 : v42);
    {
      const unsigned long long c = lane * 8u;
      if (c < 96ull) {
        const jf_bf16x8 r18 = *(const jf_bf16x8*)(p1 + c);
        float w0[8];
        #pragma unroll
        for (int j = 0; j < 8; ++j) {
          const float v4 = v0[j] - v3;
          const float v18 = jf_get_bf16(r18, j);
          const float v19 = v17[j] * v18;
          const float v32 = v19 - v31;
          const float v33 = v4 * v16;
          const float v44 = v33 * v43;
          const float v45 = v32 - v44;
          const float v46 = v16 * v45;
          const float v47 = jf_bf16_round(v46);
          w0[j] = v46;
        }
        *(jf_bf16x8*)(p3 + (b0 + c)) = jf_pack_bf16x8(w0);
      }
    }
  }
  #pragma unroll
  for (int i = 0; i < 1; ++i) {
    const unsigned long long c = (i * 32u + lane) * 8u;
    #pragma unroll
    for (int j = 0; j < 8; j += 4) {
      if (c + j < 96ull) {
        *(jf_f32x4*)(p5 + sums + c + j) = jf_f32x4{{k0_0_0[i * 8 + j], k0_0_0[i * 8 + j + 1], k0_0_0[i * 8 + j + 2], k0_0_0[i * 8 + j + 3]}};
        *(jf_f32x4*)(p4 + sums + c + j) = jf_f32x4{{k2_0_0[i * 8 + j], k2_0_0[i * 8 + j + 1], k2_0_0[i * 8 + j + 2], k2_0_0[i * 8 + j + 3]}};
      }
    }
  }
}
