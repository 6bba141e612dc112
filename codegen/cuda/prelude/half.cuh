// The 16-bit floats: bits in memory, f32 in registers. jf_<type>_value widens, jf_<type>_bits rounds once to nearest even.
//: jf_f16_value
JF_FN float jf_f16_value(unsigned short h) {
  float f;
  asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h));
  return f;
}

//: jf_f16_bits
JF_FN unsigned short jf_f16_bits(float x) {
  unsigned short h;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(x));
  return h;
}

//: jf_f16_pair
JF_FN unsigned jf_f16_pair(float lo, float hi) {
#if __CUDA_ARCH__ >= 800
  unsigned r;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(hi), "f"(lo));
  return r;
#else
  return jf_f16_bits(lo) | (unsigned)jf_f16_bits(hi) << 16;
#endif
}

//: jf_bf16_value
JF_FN float jf_bf16_value(unsigned short h) { return __uint_as_float((unsigned)h << 16); }

//: jf_bf16_bits
JF_FN unsigned short jf_bf16_bits(float x) {
#if __CUDA_ARCH__ >= 800
  unsigned short h;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(h) : "f"(x));
  return h;
#else
  // sm_75 has no such instruction. Adding 0x7fff and the lowest kept bit rounds to nearest even; NaN is kept apart.
  const unsigned u = __float_as_uint(x);
  return (unsigned short)(x != x ? 0x7fffu : (u + 0x7fffu + (u >> 16 & 1u)) >> 16);
#endif
}

//: jf_bf16_pair
JF_FN unsigned jf_bf16_pair(float lo, float hi) {
#if __CUDA_ARCH__ >= 800
  unsigned r;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(hi), "f"(lo));
  return r;
#else
  return jf_bf16_bits(lo) | (unsigned)jf_bf16_bits(hi) << 16;
#endif
}

//: jf_f16_round
JF_FN float jf_f16_round(float x) { return jf_f16_value(jf_f16_bits(x)); }

//: jf_bf16_round
JF_FN float jf_bf16_round(float x) { return jf_bf16_value(jf_bf16_bits(x)); }

// Round to odd: an inexact result gets its last bit set, so that a second rounding to a shorter type is as good as one.
//: jf_odd_f64
JF_FN float jf_odd_f64(double x) {
  const float r = __double2float_rz(x);
  return (double)r == x ? r : __uint_as_float(__float_as_uint(r) | 1u);
}

//: jf_odd_i64
JF_FN float jf_odd_i64(long long x) {
  const float r = __ll2float_rz(x);
  return (long long)r == x ? r : __uint_as_float(__float_as_uint(r) | 1u);
}

//: jf_odd_u64
JF_FN float jf_odd_u64(unsigned long long x) {
  const float r = __ull2float_rz(x);
  return (unsigned long long)r == x ? r : __uint_as_float(__float_as_uint(r) | 1u);
}
