// Positions that gathers read from memory.
//: jf_position
JF_FN long long jf_position(long long i, long long n) {
  i = i < 0 ? i + n : i;
  i = i < 0 ? 0 : i;
  return i < n ? i : n - 1;
}
