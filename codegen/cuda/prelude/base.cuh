// Parts of the CUDA prelude. A part opens with a line "//: names"; it is emitted when one of its names is used by a kernel or by
// another emitted part. What is above the first such line of a file is never emitted.
//: JF_FN
#define JF_FN [[maybe_unused]] static __device__ __forceinline__

//: jf_words
template <int N>
struct jf_words {
  unsigned w[N];
};
