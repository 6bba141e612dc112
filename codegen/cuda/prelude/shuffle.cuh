// Lanes of a warp, in segments of W. jf_down: the value of the lane m further on (its own beyond the segment's end);
// jf_up: of the lane m before (its own before the segment's beginning); jf_first: of the segment's first lane. M holds the warp's lanes that exist. 64-bit values go as two words.
//: jf_shfl_down_word
template <int W, unsigned M>
JF_FN unsigned jf_shfl_down_word(unsigned x, int m) {
  unsigned r;
  asm volatile("shfl.sync.down.b32 %0, %1, %2, %3, %4;" : "=r"(r) : "r"(x), "r"(m), "n"(((32 - W) << 8) | 31), "n"(M));
  return r;
}

//: jf_shfl_up_word
template <int W, unsigned M>
JF_FN unsigned jf_shfl_up_word(unsigned x, int m) {
  unsigned r;
  asm volatile("shfl.sync.up.b32 %0, %1, %2, %3, %4;" : "=r"(r) : "r"(x), "r"(m), "n"((32 - W) << 8), "n"(M));
  return r;
}

//: jf_shfl_first_word
template <int W, unsigned M>
JF_FN unsigned jf_shfl_first_word(unsigned x) {
  unsigned r;
  asm volatile("shfl.sync.idx.b32 %0, %1, 0, %2, %3;" : "=r"(r) : "r"(x), "n"(((32 - W) << 8) | 31), "n"(M));
  return r;
}

//: jf_down
template <int W, unsigned M, typename T>
JF_FN T jf_down(T x, int m) {
  if constexpr (sizeof(T) == 8) {
    const unsigned long long u = __builtin_bit_cast(unsigned long long, x);
    const unsigned lo = jf_shfl_down_word<W, M>((unsigned)u, m);
    const unsigned hi = jf_shfl_down_word<W, M>((unsigned)(u >> 32), m);
    return __builtin_bit_cast(T, (unsigned long long)hi << 32 | lo);
  } else if constexpr (sizeof(T) == 4) {
    return __builtin_bit_cast(T, jf_shfl_down_word<W, M>(__builtin_bit_cast(unsigned, x), m));
  } else {
    return (T)jf_shfl_down_word<W, M>((unsigned)x, m);
  }
}

//: jf_up
template <int W, unsigned M, typename T>
JF_FN T jf_up(T x, int m) {
  if constexpr (sizeof(T) == 8) {
    const unsigned long long u = __builtin_bit_cast(unsigned long long, x);
    const unsigned lo = jf_shfl_up_word<W, M>((unsigned)u, m);
    const unsigned hi = jf_shfl_up_word<W, M>((unsigned)(u >> 32), m);
    return __builtin_bit_cast(T, (unsigned long long)hi << 32 | lo);
  } else if constexpr (sizeof(T) == 4) {
    return __builtin_bit_cast(T, jf_shfl_up_word<W, M>(__builtin_bit_cast(unsigned, x), m));
  } else {
    return (T)jf_shfl_up_word<W, M>((unsigned)x, m);
  }
}

//: jf_first
template <int W, unsigned M, typename T>
JF_FN T jf_first(T x) {
  if constexpr (sizeof(T) == 8) {
    const unsigned long long u = __builtin_bit_cast(unsigned long long, x);
    const unsigned lo = jf_shfl_first_word<W, M>((unsigned)u);
    const unsigned hi = jf_shfl_first_word<W, M>((unsigned)(u >> 32));
    return __builtin_bit_cast(T, (unsigned long long)hi << 32 | lo);
  } else if constexpr (sizeof(T) == 4) {
    return __builtin_bit_cast(T, jf_shfl_first_word<W, M>(__builtin_bit_cast(unsigned, x)));
  } else {
    return (T)jf_shfl_first_word<W, M>((unsigned)x);
  }
}
