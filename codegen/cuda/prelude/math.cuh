// Arithmetic that needs more than an operator.
//: jf_maximum
JF_FN float jf_maximum(float a, float b) {
#if __CUDA_ARCH__ >= 800
  float r;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
  return r;
#else
  return a != a ? a : b != b ? b : fmaxf(a, b);
#endif
}

//: jf_minimum
JF_FN float jf_minimum(float a, float b) {
#if __CUDA_ARCH__ >= 800
  float r;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
  return r;
#else
  return a != a ? a : b != b ? b : fminf(a, b);
#endif
}

//: jf_div_slow
[[maybe_unused]] static __device__ __noinline__ float jf_div_slow(float x, float d) { return x / d; }

// For jf_div_by: 1 / d, or NaN where its bounds do not hold.
//: jf_inverse
JF_FN float jf_inverse(float d) { return fabsf(d) >= 0x1p-24f && fabsf(d) <= 0x1p+24f ? 1.0f / d : __int_as_float(0x7fffffff); }

// x / d, correctly rounded, where d serves many x and y is jf_inverse(d): two corrections of x * y, each by the exact remainder
// (Markstein). The remainder is exact for |x| >= 2^-100; a quotient out of range shows as NaN, as does a NaN.
//: jf_div_by
JF_FN float jf_div_by(float x, float d, float y) {
  const float first = x * y;
  float q = fmaf(fmaf(-d, first, x), y, first);
  q = fmaf(fmaf(-d, q, x), y, q);
  q = x == 0.0f ? first : q;
  if (q != q || (fabsf(x) < 0x1p-100f && x != 0.0f)) q = jf_div_slow(x, d);
  return q;
}
