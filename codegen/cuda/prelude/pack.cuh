// Elements of a vector access. jf_get_<type>(words, j) is element j in its register type; jf_pack_<type>(values) makes the words.
// j is a constant after unrolling, so each is a move, a shift or a conversion.
//: jf_get_bool
template <int N>
JF_FN bool jf_get_bool(const jf_words<N>& r, int j) { return (r.w[j / 4] >> (8 * (j % 4)) & 0xffu) != 0; }

//: jf_get_u8
template <int N>
JF_FN unsigned char jf_get_u8(const jf_words<N>& r, int j) { return (unsigned char)(r.w[j / 4] >> (8 * (j % 4))); }

//: jf_get_i8
template <int N>
JF_FN signed char jf_get_i8(const jf_words<N>& r, int j) { return (signed char)(r.w[j / 4] >> (8 * (j % 4))); }

//: jf_get_u16
template <int N>
JF_FN unsigned short jf_get_u16(const jf_words<N>& r, int j) { return (unsigned short)(r.w[j / 2] >> (16 * (j % 2))); }

//: jf_get_i16
template <int N>
JF_FN short jf_get_i16(const jf_words<N>& r, int j) { return (short)(r.w[j / 2] >> (16 * (j % 2))); }

//: jf_get_f16
template <typename Words>
JF_FN float jf_get_f16(const Words& r, int j) { return jf_f16_value((unsigned short)(r.w[j / 2] >> (16 * (j % 2)))); }

//: jf_get_bf16
template <typename Words>
JF_FN float jf_get_bf16(const Words& r, int j) {
  return __uint_as_float(j % 2 == 0 ? r.w[j / 2] << 16 : r.w[j / 2] & 0xffff0000u);
}

//: jf_get_u32
template <int N>
JF_FN unsigned jf_get_u32(const jf_words<N>& r, int j) { return r.w[j]; }

//: jf_get_i32
template <int N>
JF_FN int jf_get_i32(const jf_words<N>& r, int j) { return (int)r.w[j]; }

//: jf_get_f32
template <int N>
JF_FN float jf_get_f32(const jf_words<N>& r, int j) { return __uint_as_float(r.w[j]); }

//: jf_get_u64
template <int N>
JF_FN unsigned long long jf_get_u64(const jf_words<N>& r, int j) {
  return (unsigned long long)r.w[2 * j + 1] << 32 | r.w[2 * j];
}

//: jf_get_i64
template <int N>
JF_FN long long jf_get_i64(const jf_words<N>& r, int j) {
  return (long long)((unsigned long long)r.w[2 * j + 1] << 32 | r.w[2 * j]);
}

//: jf_get_f64
template <int N>
JF_FN double jf_get_f64(const jf_words<N>& r, int j) { return __hiloint2double((int)r.w[2 * j + 1], (int)r.w[2 * j]); }

//: jf_pack1
template <typename T, int V>
JF_FN jf_words<(V + 3) / 4> jf_pack1(const T (&x)[V]) {
  jf_words<(V + 3) / 4> r;
#pragma unroll
  for (int j = 0; j < V; ++j) {
    const unsigned v = (unsigned char)x[j];
    r.w[j / 4] = j % 4 == 0 ? v : r.w[j / 4] | v << (8 * (j % 4));
  }
  return r;
}

//: jf_pack2
template <typename T, int V>
JF_FN jf_words<(V + 1) / 2> jf_pack2(const T (&x)[V]) {
  jf_words<(V + 1) / 2> r;
#pragma unroll
  for (int j = 0; j < V; ++j) {
    const unsigned v = (unsigned short)x[j];
    r.w[j / 2] = j % 2 == 0 ? v : r.w[j / 2] | v << 16;
  }
  return r;
}

//: jf_pack4
template <typename T, int V>
JF_FN jf_words<V> jf_pack4(const T (&x)[V]) {
  jf_words<V> r;
#pragma unroll
  for (int j = 0; j < V; ++j) r.w[j] = (unsigned)x[j];
  return r;
}

//: jf_pack8
template <typename T, int V>
JF_FN jf_words<2 * V> jf_pack8(const T (&x)[V]) {
  jf_words<2 * V> r;
#pragma unroll
  for (int j = 0; j < V; ++j) {
    r.w[2 * j] = (unsigned)x[j];
    r.w[2 * j + 1] = (unsigned)((unsigned long long)x[j] >> 32);
  }
  return r;
}

//: jf_pack_f32
template <int V>
JF_FN jf_words<V> jf_pack_f32(const float (&x)[V]) {
  jf_words<V> r;
#pragma unroll
  for (int j = 0; j < V; ++j) r.w[j] = __float_as_uint(x[j]);
  return r;
}

//: jf_pack_f64
template <int V>
JF_FN jf_words<2 * V> jf_pack_f64(const double (&x)[V]) {
  jf_words<2 * V> r;
#pragma unroll
  for (int j = 0; j < V; ++j) {
    r.w[2 * j] = (unsigned)__double2loint(x[j]);
    r.w[2 * j + 1] = (unsigned)__double2hiint(x[j]);
  }
  return r;
}

//: jf_pack_f16
template <int V>
JF_FN jf_words<(V + 1) / 2> jf_pack_f16(const float (&x)[V]) {
  jf_words<(V + 1) / 2> r;
#pragma unroll
  for (int j = 0; j < V; j += 2) r.w[j / 2] = jf_f16_pair(x[j], x[j + 1 < V ? j + 1 : j]);
  return r;
}

//: jf_pack_bf16
template <int V>
JF_FN jf_words<(V + 1) / 2> jf_pack_bf16(const float (&x)[V]) {
  jf_words<(V + 1) / 2> r;
#pragma unroll
  for (int j = 0; j < V; j += 2) r.w[j / 2] = jf_bf16_pair(x[j], x[j + 1 < V ? j + 1 : j]);
  return r;
}

//: jf_pack_f16x4
JF_FN jf_f16x4 jf_pack_f16x4(const float (&x)[4]) {
  return {{jf_f16_pair(x[0], x[1]), jf_f16_pair(x[2], x[3])}};
}

//: jf_pack_f16x8
JF_FN jf_f16x8 jf_pack_f16x8(const float (&x)[8]) {
  return {{jf_f16_pair(x[0], x[1]), jf_f16_pair(x[2], x[3]), jf_f16_pair(x[4], x[5]), jf_f16_pair(x[6], x[7])}};
}

//: jf_pack_bf16x4
JF_FN jf_bf16x4 jf_pack_bf16x4(const float (&x)[4]) {
  return {{jf_bf16_pair(x[0], x[1]), jf_bf16_pair(x[2], x[3])}};
}

//: jf_pack_bf16x8
JF_FN jf_bf16x8 jf_pack_bf16x8(const float (&x)[8]) {
  return {{jf_bf16_pair(x[0], x[1]), jf_bf16_pair(x[2], x[3]), jf_bf16_pair(x[4], x[5]), jf_bf16_pair(x[6], x[7])}};
}
