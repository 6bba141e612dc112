// Jitfuse kernel k0_cast_moments_subtract_add_rsqrt_multiply_cast_and_18_blocks for sm_90
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
//   %18 = multiply(%17, %7) : f32[n,96]
//   %19 = sum(%18, axes=[1], keepdims=true) : f32[n,1]
//   %21 = broadcast(96.0, shape=[n,1]) : f32[n,1]
//   %22 = divide(%19, %21) : f32[n,1]
//   %23 = multiply(%22, %11) : f32[n,1]
//   %24 = broadcast(%23, shape=[n,96]) : f32[n,96]
//   %25 = multiply(%13, %24) : f32[n,96]
//   %26 = sum(%17, axes=[1], keepdims=true) : f32[n,1]
//   %27 = divide(%26, %21) : f32[n,1]
//   %28 = broadcast(%27, shape=[n,96]) : f32[n,96]
//   %29 = subtract(%17, %28) : f32[n,96]
//   %30 = subtract(%29, %25) : f32[n,96]
//   %31 = multiply(%12, %30) : f32[n,96]
//   %32 = multiply(%14, %13) : f32[n,96]
//   %33 = sum(%32, axes=[0], keepdims=false) : f32[96]
//   %34 = sum(%14, axes=[0], keepdims=false) : f32[96]
//   %35 = cast(%31, dtype=bf16) : bf16[n,96]
//   %36 = cast(%33, dtype=bf16) : bf16[96]
//   %37 = cast(%34, dtype=bf16) : bf16[96]
//   return %35, %36, %37
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

JF_FN void k0_cast_moments_subtract_add_rsqrt_multiply_cast_and_18_blocks_combine0(float& a0, float b0) {
  const float t2 = a0 + b0;
  a0 = t2;
}

JF_FN void k0_cast_moments_subtract_add_rsqrt_multiply_cast_and_18_blocks_combine1(float& a0, float& a1, float b0, float b1) {
  const float t2 = a0 + b0;
  const float t5 = a1 + b1;
  a0 = t2;
  a1 = t5;
}

extern "C" __global__ void __launch_bounds__(32)
k0_cast_moments_subtract_add_rsqrt_multiply_cast_and_18_blocks(const unsigned short* __restrict__ p0, const unsigned short* __restrict__ p1, const unsigned short* __restrict__ p2, unsigned short* __restrict__ p3, float* __restrict__ p4, float* __restrict__ p5, long long z0, long long z1) {
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
    float v19[8];
    float a0_0_0 = 0.0f;
    float a0_1_0 = 0.0f;
    {
      const unsigned long long c = lane * 8u;
      if (c < 96ull) {
        const jf_words<4> r0 = jf_ldna16<1>(p0 + (b0 + c));
        const jf_words<4> r17 = jf_ldna16<1>(p2 + (b0 + c));
        const jf_bf16x8 r18 = *(const jf_bf16x8*)(p1 + c);
        float x0_0_0[8];
        float x0_1_0[8];
        #pragma unroll
        for (int j = 0; j < 8; ++j) {
          v0[j] = jf_get_bf16(r0, j);
          v17[j] = jf_get_bf16(r17, j);
          const float v18 = jf_get_bf16(r18, j);
          v19[j] = v17[j] * v18;
          x0_0_0[j] = v0[j];
          x0_1_0[j] = v19[j];
          k0_cast_moments_subtract_add_rsqrt_multiply_cast_and_18_blocks_combine0(k0_0_0[j], v17[j]);
        }
        k0_cast_moments_subtract_add_rsqrt_multiply_cast_and_18_blocks_combine0(x0_0_0[0], x0_0_0[1]);
        k0_cast_moments_subtract_add_rsqrt_multiply_cast_and_18_blocks_combine0(x0_0_0[2], x0_0_0[3]);
        k0_cast_moments_subtract_add_rsqrt_multiply_cast_and_18_blocks_combine0(x0_0_0[4], x0_0_0[5]);
        k0_cast_moments_subtract_add_rsqrt_multiply_cast_and_18_blocks_combine0(x0_0_0[6], x0_0_0[7]);
        k0_cast_moments_subtract_add_rsqrt_multiply_cast_and_18_blocks_combine0(x0_0_0[0], x0_0_0[2]);
        k0_cast_moments_subtract_add_rsqrt_multiply_cast_and_18_blocks_combine0(x0_0_0[4], x0_0_0[6]);
        k0_cast_moments_subtract_add_rsqrt_multiply_cast_and_18_blocks_combine0(x0_0_0[0], x0_0_0[4]);
        k0_cast_moments_subtract_add_rsqrt_multiply_cast_and_18_blocks_combine0(a0_0_0, x0_0_0[0]);
        k0_cast_moments_subtract_add_rsqrt_multiply_cast_and_18_blocks_combine0(x0_1_0[0], x0_1_0[1]);
        k0_cast_moments_subtract_add_rsqrt_multiply_cast_and_18_blocks_combine0(x0_1_0[2], x0_1_0[3]);
        k0_cast_moments_subtract_add_rsqrt_multiply_cast_and_18_blocks_combine0(x0_1_0[4], x0_1_0[5]);
        k0_cast_moments_subtract_add_rsqrt_multiply_cast_and_18_blocks_combine0(x0_1_0[6], x0_1_0[7]);
        k0_cast_moments_subtract_add_rsqrt_multiply_cast_and_18_blocks_combine0(x0_1_0[0], x0_1_0[2]);
        k0_cast_moments_subtract_add_rsqrt_multiply_cast_and_18_blocks_combine0(x0_1_0[4], x0_1_0[6]);
        k0_cast_moments_subtract_add_rsqrt_multiply_cast_and_18_blocks_combine0(x0_1_0[0], x0_1_0[4]);
        k0_cast_moments_subtract_add_rsqrt_multiply_cast_and_18_blocks_combine0(a0_1_0, x0_1_0[0]);
      }
    }
    #pragma unroll
    for (int m = 1; m < 32; m *= 2) {
      k0_cast_moments_subtract_add_rsqrt_multiply_cast_and_18_blocks_combine0(a0_0_0, jf_down<32, 0xffffffffu>(a0_0_0, m));
      k0_cast_moments_subtract_add_rsqrt_multiply_cast_and_18_blocks_combine0(a0_1_0, jf_down<32, 0xffffffffu>(a0_1_0, m));
    }
    a0_0_0 = jf_first<32, 0xffffffffu>(a0_0_0);
    a0_1_0 = jf_first<32, 0xffffffffu>(a0_1_0);
    const float v3 = a0_0_0 / 96.0f;
    const float v21 = a0_1_0 / 96.0f;
    float a1_0_0 = 0.0f;
    float a1_0_1 = 0.0f;
    float a1_1_0 = 0.0f;
    {
      const unsigned long long c = lane * 8u;
      if (c < 96ull) {
        float x1_0_0[8];
        float x1_0_1[8];
        float x1_1_0[8];
        #pragma unroll
        for (int j = 0; j < 8; ++j) {
          const float v4 = v0[j] - v3;
          const float v5 = v4 * v4;
          const float v24 = v19[j] * v4;
          x1_0_0[j] = v5;
          x1_0_1[j] = v4;
          x1_1_0[j] = v24;
        }
        k0_cast_moments_subtract_add_rsqrt_multiply_cast_and_18_blocks_combine1(x1_0_0[0], x1_0_1[0], x1_0_0[1], x1_0_1[1]);
        k0_cast_moments_subtract_add_rsqrt_multiply_cast_and_18_blocks_combine1(x1_0_0[2], x1_0_1[2], x1_0_0[3], x1_0_1[3]);
        k0_cast_moments_subtract_add_rsqrt_multiply_cast_and_18_blocks_combine1(x1_0_0[4], x1_0_1[4], x1_0_0[5], x1_0_1[5]);
        k0_cast_moments_subtract_add_rsqrt_multiply_cast_and_18_blocks_combine1(x1_0_0[6], x1_0_1[6], x1_0_0[7], x1_0_1[7]);
        k0_cast_moments_subtract_add_rsqrt_multiply_cast_and_18_blocks_combine1(x1_0_0[0], x1_0_1[0], x1_0_0[2], x1_0_1[2]);
        k0_cast_moments_subtract_add_rsqrt_multiply_cast_and_18_blocks_combine1(x1_0_0[4], x1_0_1[4], x1_0_0[6], x1_0_1[6]);
        k0_cast_moments_subtract_add_rsqrt_multiply_cast_and_18_blocks_combine1(x1_0_0[0], x1_0_1[0], x1_0_0[4], x1_0_1[4]);
        k0_cast_moments_subtract_add_rsqrt_multiply_cast_and_18_blocks_combine1(a1_0_0, a1_0_1, x1_0_0[0], x1_0_1[0]);
        k0_cast_moments_subtract_add_rsqrt_multiply_cast_and_18_blocks_combine0(x1_1_0[0], x1_1_0[1]);
        k0_cast_moments_subtract_add_rsqrt_multiply_cast_and_18_blocks_combine0(x1_1_0[2], x1_1_0[3]);
        k0_cast_moments_subtract_add_rsqrt_multiply_cast_and_18_blocks_combine0(x1_1_0[4], x1_1_0[5]);
        k0_cast_moments_subtract_add_rsqrt_multiply_cast_and_18_blocks_combine0(x1_1_0[6], x1_1_0[7]);
        k0_cast_moments_subtract_add_rsqrt_multiply_cast_and_18_blocks_combine0(x1_1_0[0], x1_1_0[2]);
        k0_cast_moments_subtract_add_rsqrt_multiply_cast_and_18_blocks_combine0(x1_1_0[4], x1_1_0[6]);
        k0_cast_moments_subtract_add_rsqrt_multiply_cast_and_18_blocks_combine0(x1_1_0[0], x1_1_0[4]);
        k0_cast_moments_subtract_add_rsqrt_multiply_cast_and_18_blocks_combine0(a1_1_0, x1_1_0[0]);
      }
    }
    #pragma unroll
    for (int m = 1; m < 32; m *= 2) {
      k0_cast_moments_subtract_add_rsqrt_multiply_cast_and_18_blocks_combine1(a1_0_0, a1_0_1, jf_down<32, 0xffffffffu>(a1_0_0, m), jf_down<32, 0xffffffffu>(a1_0_1, m));
      k0_cast_moments_subtract_add_rsqrt_multiply_cast_and_18_blocks_combine0(a1_1_0, jf_down<32, 0xffffffffu>(a1_1_0, m));
    }
    a1_0_0 = jf_first<32, 0xffffffffu>(a1_0_0);
    a1_0_1 = jf_first<32, 0xffffffffu>(a1_0_1);
    a1_1_0 = jf_first<32, 0xffffffffu>(a1_1_0);
    const float v8 = a1_0_0 / 96.0f;
    const float v9 = a1_0_1 / 96.0f;
    const float v10 = v9 * v9;
    const float v11 = v8 - v10;
    const float v13 = jf_maximum(v11, 0.0f);
    const float v15 = v13 + 9.99999975e-06f;
    const float v16 = rsqrtf(v15);
    const float v26 = a1_1_0 / 96.0f;
    const float v27 = v26 * v16;
    {
      const unsigned long long c = lane * 8u;
      if (c < 96ull) {
        float w0[8];
        #pragma unroll
        for (int j = 0; j < 8; ++j) {
          const float v4 = v0[j] - v3;
          const float v22 = v19[j] - v21;
          const float v23 = v4 * v16;
          const float v28 = v23 * v27;
          const float v29 = v22 - v28;
          const float v30 = v16 * v29;
          const float v31 = jf_bf16_round(v30);
          const float v32 = v17[j] * v23;
          k0_cast_moments_subtract_add_rsqrt_multiply_cast_and_18_blocks_combine0(k2_0_0[j], v32);
          w0[j] = v30;
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
