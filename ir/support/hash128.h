// Stable 128-bit hashes: the same bytes give the same hash in every process, build and platform.
//
// In: bytes, integers, strings, fed to a Hasher in a fixed order. Out: a Hash128, printable as 32
// hex digits. Used for every key that leaves a process or decides what code runs (kernel keys,
// class keys). absl::Hash is salted per process and must never reach a key; nor may the iteration
// order of a hash map. A string is hashed with its length, so that ("ab","c") and ("a","bc")
// differ.
#ifndef JITFUSE_IR_SUPPORT_HASH128_H_
#define JITFUSE_IR_SUPPORT_HASH128_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace jitfuse::internal {

struct Hash128 {
  uint64_t lo = 0;
  uint64_t hi = 0;
  auto operator<=>(const Hash128&) const = default;
  std::string ToHex() const;
  template <typename H>
  friend H AbslHashValue(H h, const Hash128& v) {
    return H::combine(std::move(h), v.lo, v.hi);
  }
};

Hash128 HashBytes(const void* data, size_t size);

class Hasher {
 public:
  Hasher& Int(int64_t v);
  Hasher& String(std::string_view s);
  Hasher& Hash(const Hash128& h) {
    return Int(static_cast<int64_t>(h.lo)).Int(static_cast<int64_t>(h.hi));
  }
  Hash128 Finish() const { return HashBytes(bytes_.data(), bytes_.size()); }

 private:
  std::string bytes_;
};

}  // namespace jitfuse::internal

#endif  // JITFUSE_IR_SUPPORT_HASH128_H_
