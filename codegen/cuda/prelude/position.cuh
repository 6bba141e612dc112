// Positions that gathers read from memory.
//: jf_position
JF_FN long long jf_position(long long i, long long n) {
  i = i < 0 ? i + n : i;
  i = i < 0 ? 0 : i;
  return i < n ? i : n - 1;
}

// (first + j) % n for the elements j of a vector, which share one remainder.
//: jf_wrap
template <typename Index>
JF_FN Index jf_wrap(Index first, int j, Index n) {
  const Index at = first % n + (Index)j;
  return at < n ? at : at - n < n ? at - n : at % n;
}
