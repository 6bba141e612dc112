// Jitfuse kernel k0_relu_cumsum_exp for sm_90
//   %x : bf16[n,1000]
//   %1 = relu(%x) : bf16[n,1000]
//   %2 = cumsum(%1, axis=1, exclusive=false, reverse=false) : bf16[n,1000]
//   %3 = exp(%2) : bf16[n,1000]
//   return %3
// p0: input bf16, align 16
// p1: output bf16, align 16
// row, 1 rows a block, 256 threads a row, loops x 1; 64-bit offsets
// launch: grid s0, 256 threads

JF_FN void k0_relu_cumsum_exp_combine0(float& a0, float b0) {
  const float t2 = a0 + b0;
  a0 = t2;
}

extern "C" __global__ void __launch_bounds__(256)
k0_relu_cumsum_exp(const unsigned short* __restrict__ p0, unsigned short* __restrict__ p1) {
  const unsigned lane = threadIdx.x;
  const unsigned long long row = blockIdx.x;
  const unsigned long long b0 = row * 1000ull;
  float st0_0 = 0.0f;
  __shared__ float ms0_0[8];
  for (unsigned long long c0 = 0; c0 < 1000ull; c0 += 256ull) {
    const bool inside = 1000ull - c0 > lane;
    const unsigned long long c = inside ? c0 + lane : 1000ull - 1ull;
    const float v0 = jf_bf16_value(p0[b0 + c]);
    const float v2 = jf_maximum(v0, 0.0f);
    float su0_0 = inside ? v2 : 0.0f;
    #pragma unroll
    for (int m = 1; m < 32; m *= 2) {
      float sd0_0 = jf_up<32, 0xffffffffu>(su0_0, m);
      if (lane % 32u >= m) {
        k0_relu_cumsum_exp_combine0(sd0_0, su0_0);
        su0_0 = sd0_0;
      }
    }
    if (lane % 32u == 31u) {
      ms0_0[lane / 32u] = su0_0;
    }
    __syncthreads();
    float sv0_0 = st0_0;
    #pragma unroll 1
    for (unsigned w = 0; w < 8u; ++w) {
      if (w < lane / 32u) k0_relu_cumsum_exp_combine0(sv0_0, ms0_0[w]);
      k0_relu_cumsum_exp_combine0(st0_0, ms0_0[w]);
    }
    __syncthreads();
    k0_relu_cumsum_exp_combine0(sv0_0, su0_0);
    const float v3 = sv0_0;
    const float v4 = expf(v3);
    if (inside) p1[b0 + c] = jf_bf16_bits(v4);
  }
}
