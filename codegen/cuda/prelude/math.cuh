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

// kNormalTailF32 of ir/scalar_decomps.h with the hardware's reciprocal and power of two, which is taken of half the exponent and
// squared (as in jf_erfc_16); what rounding took off the exponent is a factor next to 1.
//: jf_normal_tail
JF_FN float jf_normal_tail(float a) {
  const float x = jf_minimum(fabsf(a), 14.5f), w = x * -0.36067376f, y = w * x, e = jf_exp2_approx(y);
  const float d = fmaf(fmaf(x, -0.36067376f, -w), x, fmaf(w, x, -y));
  const float p = fmaf(fmaf(fmaf(fmaf(5.14138628e-06f, x, 0.398683101f), x, 2.95798755f), x, 9.28645897f), x, 13.5379362f);
  const float q = fmaf(fmaf(fmaf(x + 7.40101194f, x, 24.4358253f), x, 40.1761246f), x, 27.0758762f);
  const float h = p * jf_rcp_approx(q) * e, t = fmaf(h, d * 1.38629436f, h) * e;
  return a < 0.0f ? 1.0f - t : t;
}

//: jf_normal_tail_16
JF_FN float jf_normal_tail_16(float a) {
  const float x = jf_minimum(fabsf(a), 14.5f), e = jf_exp2_approx(x * -0.36067376f * x);
  const float p = fmaf(fmaf(fmaf(0.398849577f, x, 2.92755508f), x, 9.1199913f), x, 13.0702362f);
  const float q = fmaf(fmaf(fmaf(x + 7.33006954f, x, 23.9812984f), x, 39.0968857f), x, 26.1404762f);
  const float t = p * jf_rcp_approx(q) * e * e;
  return a < 0.0f ? 1.0f - t : t;
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

// fmod of f64, exact: what is left of a quotient rounded to nearest is a number, as is what is left of a whole one. Once round where
// the quotient is below 2^53. d is b or so large a multiple that r / d does not overflow.
//: jf_fmod
JF_FN double jf_fmod(double a, double b) {
  const double q = fabs(b);
  double r = fabs(a);
  if (!(q > 0.0 && r < __longlong_as_double(0x7ff0000000000000ll))) return __longlong_as_double(0x7ff8000000000000ll);
  while (fabs(r) >= q) {
    double d = q;
    if (fabs(r) >= d * 1.0715086071862673e301) d *= 1.0715086071862673e301;
    if (fabs(r) >= d * 1.0715086071862673e301) d *= 1.0715086071862673e301;
    r = fma(-trunc(r / d), d, r);
  }
  return copysign(r < 0.0 ? r + q : r, a);
}
