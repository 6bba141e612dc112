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

// erfc to 1e-5 of its value: kErfc16 of ir/scalar_decomps.h with the hardware's reciprocal and power of two. The exponential is a
// square, whose root is never below the normal numbers where the result is not 0.
//: jf_erfc_16
JF_FN float jf_erfc_16(float a) {
  const float x = fabsf(a);
  const float t = jf_rcp_approx(fmaf(x, 0.51f, 1.0f)), e = jf_exp2_approx(x * x * -0.72134752f);
  const float y = fmaf(t, fmaf(t, fmaf(t, fmaf(t, fmaf(t, fmaf(t, 0.0938286707f, -0.356777877f), 0.355156571f), 0.0573724918f), 0.278200597f), 0.284312993f), 0.287905991f) * t * e * e;
  return a < 0.0f ? 2.0f - y : y;
}

//: jf_rcp_approx
JF_FN float jf_rcp_approx(float a) {
  float r;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(a));
  return r;
}

//: jf_exp2_approx
JF_FN float jf_exp2_approx(float a) {
  float r;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(a));
  return r;
}
