// Memory access. jf_ldA<K> reads K neighbouring words of A bytes, each with one instruction, and packs them into 32-bit registers;
// jf_stA<K> writes them. A pointer must be aligned to A.
// The ..na loads do not allocate in L1; they are for memory that nobody writes while the kernel runs.
// Four elements of 4 bytes, and four or eight 16-bit floats in words, are read and written as a struct, with one instruction.
//: jf_f32x4
struct __align__(16) jf_f32x4 {
  float v[4];
};

//: jf_i32x4
struct __align__(16) jf_i32x4 {
  int v[4];
};

//: jf_u32x4
struct __align__(16) jf_u32x4 {
  unsigned v[4];
};

//: jf_f16x4
struct __align__(8) jf_f16x4 {
  unsigned w[2];
};

//: jf_f16x8
struct __align__(16) jf_f16x8 {
  unsigned w[4];
};

//: jf_bf16x4
struct __align__(8) jf_bf16x4 {
  unsigned w[2];
};

//: jf_bf16x8
struct __align__(16) jf_bf16x8 {
  unsigned w[4];
};

//: jf_ld16
template <int K>
JF_FN jf_words<4 * K> jf_ld16(const void* p) {
  jf_words<4 * K> r;
#pragma unroll
  for (int k = 0; k < K; ++k) {
    const uint4 v = static_cast<const uint4*>(p)[k];
    r.w[4 * k] = v.x;
    r.w[4 * k + 1] = v.y;
    r.w[4 * k + 2] = v.z;
    r.w[4 * k + 3] = v.w;
  }
  return r;
}

//: jf_ld8
template <int K>
JF_FN jf_words<2 * K> jf_ld8(const void* p) {
  jf_words<2 * K> r;
#pragma unroll
  for (int k = 0; k < K; ++k) {
    const uint2 v = static_cast<const uint2*>(p)[k];
    r.w[2 * k] = v.x;
    r.w[2 * k + 1] = v.y;
  }
  return r;
}

//: jf_ld4
template <int K>
JF_FN jf_words<K> jf_ld4(const void* p) {
  jf_words<K> r;
#pragma unroll
  for (int k = 0; k < K; ++k) r.w[k] = static_cast<const unsigned*>(p)[k];
  return r;
}

//: jf_ld2
template <int K>
JF_FN jf_words<(K + 1) / 2> jf_ld2(const void* p) {
  jf_words<(K + 1) / 2> r;
#pragma unroll
  for (int k = 0; k < K; ++k) {
    const unsigned v = static_cast<const unsigned short*>(p)[k];
    r.w[k / 2] = k % 2 == 0 ? v : r.w[k / 2] | v << 16;
  }
  return r;
}

//: jf_ld1
template <int K>
JF_FN jf_words<(K + 3) / 4> jf_ld1(const void* p) {
  jf_words<(K + 3) / 4> r;
#pragma unroll
  for (int k = 0; k < K; ++k) {
    const unsigned v = static_cast<const unsigned char*>(p)[k];
    r.w[k / 4] = k % 4 == 0 ? v : r.w[k / 4] | v << (8 * (k % 4));
  }
  return r;
}

// W words from the element p, of S bytes, `shift` of which lie between it and where 8 bytes are aligned. Read are the aligned pieces
// of 8 bytes that hold them, and no other. (Fewer instructions than from pieces of 16; loops over an array of the words would
// keep it in local memory.)
//: jf_between
template <int W, int S>
JF_FN jf_words<W> jf_between(const void* p, unsigned shift) {
  const uint2* const at = reinterpret_cast<const uint2*>(static_cast<const unsigned char*>(p) - shift * S);
  const bool one = (shift * S & 4u) != 0u, odd = (shift * S & 2u) != 0u;
  const uint2 x = at[0];
  uint2 y = x, z = {0u, 0u};
  if constexpr (W == 4) y = at[1];
  if (shift != 0u) z = at[W / 2];
  const unsigned a0 = one ? x.y : x.x, a1 = one ? (W == 4 ? y.x : z.x) : x.y, a2 = one ? (W == 4 ? y.y : z.y) : (W == 4 ? y.x : z.x);
  jf_words<W> r;
  r.w[0] = jf_straddle<S>(a0, a1, odd);
  r.w[1] = jf_straddle<S>(a1, a2, odd);
  if constexpr (W == 4) {
    const unsigned a3 = one ? z.x : y.y, a4 = one ? z.y : z.x;
    r.w[2] = jf_straddle<S>(a2, a3, odd);
    r.w[3] = jf_straddle<S>(a3, a4, odd);
  }
  return r;
}

// The word that begins in the middle of `lo`, if `odd`; of elements of S bytes.
//: jf_straddle
template <int S>
JF_FN unsigned jf_straddle(unsigned lo, unsigned hi, bool odd) {
  if constexpr (S == 4) return lo;
  return (unsigned)(((unsigned long long)hi << 32 | lo) >> (odd ? 16 : 0));
}

// W words from element `first` % n of a row of n elements of S bytes that begins at p, and on at its beginning behind its end.
//: jf_wrapped
template <int W, int S, typename Index>
JF_FN jf_words<W> jf_wrapped(const void* p, Index first, Index n) {
  constexpr unsigned kElements = 4 * W / S, kPiece = 8 / S;
  const Index at = first % n;
  const unsigned shift = (unsigned)at % kPiece;
  const unsigned reach = shift == 0u ? kElements : kElements + kPiece - shift;
  if (at + reach <= n) return jf_between<W, S>(static_cast<const unsigned char*>(p) + (unsigned long long)at * S, shift);
  jf_words<W> r;
#pragma unroll
  for (unsigned j = 0; j < kElements; ++j) {
    const Index over = at + j, k = over < n ? over : over - n < n ? over - n : over % n;
    if constexpr (S == 4) {
      r.w[j] = static_cast<const unsigned*>(p)[k];
    } else {
      const unsigned v = static_cast<const unsigned short*>(p)[k];
      r.w[j / 2] = j % 2 == 0 ? v : r.w[j / 2] | v << 16;
    }
  }
  return r;
}

//: jf_prefetch
JF_FN void jf_prefetch(const void* p) { asm volatile("prefetch.global.L2 [%0];" ::"l"(p)); }

//: jf_ldna16
template <int K>
JF_FN jf_words<4 * K> jf_ldna16(const void* p) {
  jf_words<4 * K> r;
#pragma unroll
  for (int k = 0; k < K; ++k) {
    asm("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
        : "=r"(r.w[4 * k]), "=r"(r.w[4 * k + 1]), "=r"(r.w[4 * k + 2]), "=r"(r.w[4 * k + 3])
        : "l"(static_cast<const uint4*>(p) + k));
  }
  return r;
}

//: jf_ldna8
template <int K>
JF_FN jf_words<2 * K> jf_ldna8(const void* p) {
  jf_words<2 * K> r;
#pragma unroll
  for (int k = 0; k < K; ++k) {
    asm("ld.global.nc.L1::no_allocate.v2.u32 {%0, %1}, [%2];"
        : "=r"(r.w[2 * k]), "=r"(r.w[2 * k + 1])
        : "l"(static_cast<const uint2*>(p) + k));
  }
  return r;
}

//: jf_ldna4
template <int K>
JF_FN jf_words<K> jf_ldna4(const void* p) {
  jf_words<K> r;
#pragma unroll
  for (int k = 0; k < K; ++k) {
    asm("ld.global.nc.L1::no_allocate.u32 %0, [%1];" : "=r"(r.w[k]) : "l"(static_cast<const unsigned*>(p) + k));
  }
  return r;
}

//: jf_st16
template <int K>
JF_FN void jf_st16(void* p, const jf_words<4 * K>& r) {
#pragma unroll
  for (int k = 0; k < K; ++k) {
    uint4 v;
    v.x = r.w[4 * k];
    v.y = r.w[4 * k + 1];
    v.z = r.w[4 * k + 2];
    v.w = r.w[4 * k + 3];
    static_cast<uint4*>(p)[k] = v;
  }
}

//: jf_st8
template <int K>
JF_FN void jf_st8(void* p, const jf_words<2 * K>& r) {
#pragma unroll
  for (int k = 0; k < K; ++k) {
    uint2 v;
    v.x = r.w[2 * k];
    v.y = r.w[2 * k + 1];
    static_cast<uint2*>(p)[k] = v;
  }
}

//: jf_st4
template <int K>
JF_FN void jf_st4(void* p, const jf_words<K>& r) {
#pragma unroll
  for (int k = 0; k < K; ++k) static_cast<unsigned*>(p)[k] = r.w[k];
}

//: jf_st2
template <int K>
JF_FN void jf_st2(void* p, const jf_words<(K + 1) / 2>& r) {
#pragma unroll
  for (int k = 0; k < K; ++k) static_cast<unsigned short*>(p)[k] = (unsigned short)(r.w[k / 2] >> (16 * (k % 2)));
}

//: jf_st1
template <int K>
JF_FN void jf_st1(void* p, const jf_words<(K + 3) / 4>& r) {
#pragma unroll
  for (int k = 0; k < K; ++k) static_cast<unsigned char*>(p)[k] = (unsigned char)(r.w[k / 4] >> (8 * (k % 4)));
}
