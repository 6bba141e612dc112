// Jitfuse kernel k0_cummax for sm_90
//   %x : f32[100,8192]
//   %1 = cummax(%x, axis=0, exclusive=true, reverse=false) : f32[100,8192]
//   return %1
// p0: input f32, align 16
// p1: output f32, align 16
// row, 128 rows a block, 1 threads a row, loops x 1; 32-bit offsets
// launch: grid 64, 128 threads

JF_FN void k0_cummax_combine0(float& a0, float b0) {
  const float t2 = jf_maximum(a0, b0);
  a0 = t2;
}

extern "C" __global__ void __launch_bounds__(128)
k0_cummax(const float* __restrict__ p0, float* __restrict__ p1) {
  const unsigned lane = threadIdx.x % 1u;
  const unsigned slot = threadIdx.x / 1u;
  const unsigned row = blockIdx.x * 128u + slot;
  const unsigned b0 = row;
  float st0_0 = __int_as_float(0xff800000);
  #pragma unroll 4
  for (unsigned c = lane; c < 100u; c += 1u) {
    const float v0 = p0[b0 + c * 8192u];
    const float sv0_0 = st0_0;
    k0_cummax_combine0(st0_0, v0);
    const float v1 = sv0_0;
    p1[b0 + c * 8192u] = v1;
  }
}
