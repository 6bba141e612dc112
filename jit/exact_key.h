// The exact key of a call (L1): all that decides which BoundCall it is, as integers.
//
// In: the views of a call. Out: for each its dtype, alignment modulo 16, rank, dims and strides;
// and which outputs overlap what, how far apart, since that is a fact of pointers and not of
// shapes. Nothing is checked yet: a key of views that make no sense is found nowhere. In memory of
// the object itself unless it is long. Must not know: graphs.
#ifndef JITFUSE_JIT_EXACT_KEY_H_
#define JITFUSE_JIT_EXACT_KEY_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/hash/hash.h"
#include "absl/types/span.h"
#include "jit/call_class.h"

namespace jitfuse::internal {

class ExactKey {
 public:
  ExactKey(absl::Span<const TensorView> inputs, absl::Span<const TensorView> outputs);
  ExactKey(const ExactKey&) = delete;
  ExactKey& operator=(const ExactKey&) = delete;
  absl::Span<const int64_t> parts() const { return {data_, size_}; }

  // For tables: a key with its hash, which is computed once. What is looked for points to the parts
  // of an ExactKey; what is kept has a copy.
  struct Hashed {
    size_t hash;
    absl::Span<const int64_t> parts;
  };
  struct Kept {
    size_t hash;
    std::vector<int64_t> parts;
    explicit Kept(const Hashed& key) : hash(key.hash), parts(key.parts.begin(), key.parts.end()) {}
    operator Hashed() const { return {hash, parts}; }  // NOLINT(google-explicit-constructor)
  };
  Hashed hashed() const { return {absl::Hash<absl::Span<const int64_t>>()(parts()), parts()}; }
  struct Hash {
    using is_transparent = void;
    size_t operator()(const Hashed& key) const { return key.hash; }
  };
  struct Equal {
    using is_transparent = void;
    bool operator()(const Hashed& a, const Hashed& b) const {
      return a.hash == b.hash && a.parts == b.parts;
    }
  };

 private:
  void Add(int64_t part) {
    if (size_ == capacity_) [[unlikely]]
      Grow();
    data_[size_++] = part;
  }
  void Grow();
  void AddView(const TensorView& view);
  void AddOverlaps(absl::Span<const TensorView> inputs, absl::Span<const TensorView> outputs);

  static constexpr size_t kInside = 256;
  int64_t inside_[kInside];  // not initialised
  std::unique_ptr<int64_t[]> beyond_;
  int64_t* data_ = inside_;
  size_t size_ = 0, capacity_ = kInside;
};

}  // namespace jitfuse::internal

#endif  // JITFUSE_JIT_EXACT_KEY_H_
