// A stable radix sort of (key, value) pairs, four bits a pass, for sums by index (codegen/cuda/emit_sort.h). A block takes a tile of 256 * 8 pairs, a thread 8
// neighbours of it, so that ranks follow from counts alone: no atomics, one order.
//: jf_sort_keys
template <typename T>
JF_FN void jf_sort_keys(const T* indices, unsigned long long* keys, long long* values, long long positions, long long inner, long long groups,
                        long long count) {
  const long long e = (long long)blockIdx.x * 256 + threadIdx.x;
  if (e >= count) return;
  const long long line = e / positions, p = e % positions, n = groups > 0 ? groups : 1;
  const T index = indices[(line / inner * positions + p) * inner + line % inner];
  const bool beyond = (T)-1 > (T)0 && (long long)index < 0;
  keys[e] = (unsigned long long)(line * n + jf_position(beyond ? 0x7fffffffffffffffll : (long long)index, n));
  values[e] = p;
}

//: jf_sort_digit
JF_FN unsigned jf_sort_digit(unsigned long long key, long long shift) {
  return (unsigned)(key >> shift) & 15u;
}

//: jf_sort_tally
JF_FN void jf_sort_tally(const unsigned long long* keys, long long shift, long long count, unsigned* counts, unsigned* sums) {
  const unsigned t = threadIdx.x;
  const long long first = ((long long)blockIdx.x * 256 + t) * 8;
  for (unsigned d = 0; d < 16; ++d) counts[d * 256 + t] = 0;
  for (unsigned k = 0; k < 8; ++k) {
    if (first + k < count) ++counts[jf_sort_digit(keys[first + k], shift) * 256 + t];
  }
  __syncthreads();
  unsigned sum = 0;
  for (unsigned c = 0; c < 16; ++c) sum += counts[t * 16 + c];
  sums[t] = sum;
  __syncthreads();
}

//: jf_sort_count
JF_FN void jf_sort_count(const unsigned long long* keys, unsigned long long* totals, long long shift, long long count) {
  __shared__ unsigned counts[16 * 256];
  __shared__ unsigned sums[256];
  jf_sort_tally(keys, shift, count, counts, sums);
  if (threadIdx.x >= 16) return;
  unsigned long long total = 0;
  for (unsigned c = 0; c < 16; ++c) total += sums[threadIdx.x * 16 + c];
  totals[(unsigned long long)threadIdx.x * gridDim.x + blockIdx.x] = total;
}

//: jf_sort_scan
JF_FN void jf_sort_scan(unsigned long long* totals, long long count) {
  __shared__ unsigned long long sums[256];
  const unsigned t = threadIdx.x;
  const long long share = (count + 255) / 256, first = t * share, last = first + share < count ? first + share : count;
  unsigned long long sum = 0;
  for (long long i = first; i < last; ++i) sum += totals[i];
  sums[t] = sum;
  __syncthreads();
  for (unsigned m = 1; m < 256; m *= 2) {
    const unsigned long long before = t >= m ? sums[t - m] : 0;
    __syncthreads();
    sums[t] += before;
    __syncthreads();
  }
  unsigned long long next = sums[t] - sum;
  for (long long i = first; i < last; ++i) {
    const unsigned long long here = totals[i];
    totals[i] = next;
    next += here;
  }
}

//: jf_sort_move
JF_FN void jf_sort_move(const unsigned long long* keys, const long long* values, const unsigned long long* totals, unsigned long long* to_keys,
                        long long* to_values, long long shift, long long count) {
  __shared__ unsigned counts[16 * 256];
  __shared__ unsigned sums[256];
  jf_sort_tally(keys, shift, count, counts, sums);
  const unsigned t = threadIdx.x;
  unsigned next = 0;
  for (unsigned c = t / 16 * 16; c < t; ++c) next += sums[c];
  for (unsigned c = 0; c < 16; ++c) {
    const unsigned here = counts[t * 16 + c];
    counts[t * 16 + c] = next;
    next += here;
  }
  __syncthreads();
  const long long first = ((long long)blockIdx.x * 256 + t) * 8;
  for (unsigned k = 0; k < 8; ++k) {
    if (first + k >= count) return;
    const unsigned d = jf_sort_digit(keys[first + k], shift);
    const unsigned long long to = totals[(unsigned long long)d * gridDim.x + blockIdx.x] + counts[d * 256 + t]++;
    to_keys[to] = keys[first + k];
    to_values[to] = values[first + k];
  }
}

//: jf_sort_order
JF_FN void jf_sort_order(const long long* values, long long* order, long long positions, long long inner, long long count) {
  const long long e = (long long)blockIdx.x * 256 + threadIdx.x;
  if (e >= count) return;
  const long long line = e / positions, p = e % positions;
  order[(line / inner * positions + p) * inner + line % inner] = values[e];
}

//: jf_sort_first
JF_FN long long jf_sort_first(const unsigned long long* keys, long long lo, long long hi, unsigned long long key) {
  while (lo < hi) {
    const long long mid = lo + (hi - lo) / 2;
    if (keys[mid] < key) {
      lo = mid + 1;
    } else {
      hi = mid;
    }
  }
  return lo;
}

//: jf_sort_bounds
JF_FN void jf_sort_bounds(const unsigned long long* keys, long long* begin, long long* end, long long positions, long long inner, long long groups,
                          long long count) {
  const long long e = (long long)blockIdx.x * 256 + threadIdx.x;
  if (e >= count) return;
  const long long line = e / groups, g = e % groups, lo = line * positions, hi = lo + positions;
  const long long at = (line / inner * groups + g) * inner + line % inner;
  begin[at] = jf_sort_first(keys, lo, hi, (unsigned long long)e) - lo;
  end[at] = jf_sort_first(keys, lo, hi, (unsigned long long)e + 1) - lo;
}
