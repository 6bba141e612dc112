// Lanes of a warp, in segments of W. jf_down: the value of the lane m further on (its own beyond the segment's end);
// jf_up: of the lane m before (its own before the segment's beginning); jf_first: of the segment's first lane. M holds the warp's lanes that exist. 64-bit values go as two words.
//: jf_shuffle
// Way: 1 from above, -1 from below, 0 from the first.
template <int Way, int W, unsigned M>
JF_FN unsigned jf_shuffle(unsigned x, int m) {
  unsigned r;
  if constexpr (Way < 0) {
    asm volatile("shfl.sync.up.b32 %0, %1, %2, %3, %4;" : "=r"(r) : "r"(x), "r"(m), "n"((32 - W) << 8), "n"(M));
  } else if constexpr (Way > 0) {
    asm volatile("shfl.sync.down.b32 %0, %1, %2, %3, %4;" : "=r"(r) : "r"(x), "r"(m), "n"(((32 - W) << 8) | 31), "n"(M));
  } else {
    asm volatile("shfl.sync.idx.b32 %0, %1, 0, %2, %3;" : "=r"(r) : "r"(x), "n"(((32 - W) << 8) | 31), "n"(M));
  }
  return r;
}

//: jf_lane
template <int Way, int W, unsigned M, typename T>
JF_FN T jf_lane(T x, int m) {
  if constexpr (sizeof(T) == 8) {
    const unsigned long long u = __builtin_bit_cast(unsigned long long, x);
    const unsigned lo = jf_shuffle<Way, W, M>((unsigned)u, m);
    const unsigned hi = jf_shuffle<Way, W, M>((unsigned)(u >> 32), m);
    return __builtin_bit_cast(T, (unsigned long long)hi << 32 | lo);
  } else if constexpr (sizeof(T) == 4) {
    return __builtin_bit_cast(T, jf_shuffle<Way, W, M>(__builtin_bit_cast(unsigned, x), m));
  } else {
    return (T)jf_shuffle<Way, W, M>((unsigned)x, m);
  }
}

//: jf_down
template <int W, unsigned M, typename T>
JF_FN T jf_down(T x, int m) { return jf_lane<1, W, M>(x, m); }

//: jf_up
template <int W, unsigned M, typename T>
JF_FN T jf_up(T x, int m) { return jf_lane<-1, W, M>(x, m); }

//: jf_first
template <int W, unsigned M, typename T>
JF_FN T jf_first(T x) { return jf_lane<0, W, M>(x, 0); }
