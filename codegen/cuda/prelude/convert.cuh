// Floats to integers: toward zero, saturating, NaN becomes 0. The instruction saturates, and turns NaN into 0 where the source is f32
// and the result has at most 32 bits; elsewhere NaN is caught by hand. As asm, since a C++ cast out of range is undefined.
//: jf_f32_to_i32
JF_FN int jf_f32_to_i32(float x) {
  int r;
  asm("cvt.rzi.s32.f32 %0, %1;" : "=r"(r) : "f"(x));
  return r;
}

//: jf_f32_to_u32
JF_FN unsigned jf_f32_to_u32(float x) {
  unsigned r;
  asm("cvt.rzi.u32.f32 %0, %1;" : "=r"(r) : "f"(x));
  return r;
}

//: jf_f32_to_i64
JF_FN long long jf_f32_to_i64(float x) {
  long long r;
  asm("cvt.rzi.s64.f32 %0, %1;" : "=l"(r) : "f"(x));
  return x != x ? 0 : r;
}

//: jf_f32_to_u64
JF_FN unsigned long long jf_f32_to_u64(float x) {
  unsigned long long r;
  asm("cvt.rzi.u64.f32 %0, %1;" : "=l"(r) : "f"(x));
  return x != x ? 0 : r;
}

//: jf_f64_to_i32
JF_FN int jf_f64_to_i32(double x) {
  int r;
  asm("cvt.rzi.s32.f64 %0, %1;" : "=r"(r) : "d"(x));
  return x != x ? 0 : r;
}

//: jf_f64_to_u32
JF_FN unsigned jf_f64_to_u32(double x) {
  unsigned r;
  asm("cvt.rzi.u32.f64 %0, %1;" : "=r"(r) : "d"(x));
  return x != x ? 0 : r;
}

//: jf_f64_to_i64
JF_FN long long jf_f64_to_i64(double x) {
  long long r;
  asm("cvt.rzi.s64.f64 %0, %1;" : "=l"(r) : "d"(x));
  return x != x ? 0 : r;
}

//: jf_f64_to_u64
JF_FN unsigned long long jf_f64_to_u64(double x) {
  unsigned long long r;
  asm("cvt.rzi.u64.f64 %0, %1;" : "=l"(r) : "d"(x));
  return x != x ? 0 : r;
}

//: jf_clamp
JF_FN int jf_clamp(int x, int lo, int hi) { return x < lo ? lo : x > hi ? hi : x; }

//: jf_f32_to_i8
JF_FN signed char jf_f32_to_i8(float x) { return (signed char)jf_clamp(jf_f32_to_i32(x), -128, 127); }

//: jf_f32_to_u8
JF_FN unsigned char jf_f32_to_u8(float x) { return (unsigned char)jf_clamp(jf_f32_to_i32(x), 0, 255); }

//: jf_f32_to_i16
JF_FN short jf_f32_to_i16(float x) { return (short)jf_clamp(jf_f32_to_i32(x), -32768, 32767); }

//: jf_f32_to_u16
JF_FN unsigned short jf_f32_to_u16(float x) { return (unsigned short)jf_clamp(jf_f32_to_i32(x), 0, 65535); }

//: jf_f64_to_i8
JF_FN signed char jf_f64_to_i8(double x) { return (signed char)jf_clamp(jf_f64_to_i32(x), -128, 127); }

//: jf_f64_to_u8
JF_FN unsigned char jf_f64_to_u8(double x) { return (unsigned char)jf_clamp(jf_f64_to_i32(x), 0, 255); }

//: jf_f64_to_i16
JF_FN short jf_f64_to_i16(double x) { return (short)jf_clamp(jf_f64_to_i32(x), -32768, 32767); }

//: jf_f64_to_u16
JF_FN unsigned short jf_f64_to_u16(double x) { return (unsigned short)jf_clamp(jf_f64_to_i32(x), 0, 65535); }
