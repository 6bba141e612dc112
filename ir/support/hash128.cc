#include "ir/support/hash128.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace jitfuse::internal {

Hash128 HashBytes(const void* data, size_t size) {
  XXH128_hash_t h = XXH3_128bits(data, size);
  return {h.low64, h.high64};
}

std::string Hash128::ToHex() const {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out(32, '0');
  for (int i = 0; i < 16; ++i) {
    out[i] = kDigits[(hi >> (60 - 4 * i)) & 15];
    out[16 + i] = kDigits[(lo >> (60 - 4 * i)) & 15];
  }
  return out;
}

Hasher& Hasher::Int(int64_t v) {
  auto u = static_cast<uint64_t>(v);
  for (int i = 0; i < 8; ++i) bytes_.push_back(static_cast<char>(u >> (8 * i)));
  return *this;
}

Hasher& Hasher::String(std::string_view s) {
  Int(static_cast<int64_t>(s.size()));
  bytes_.append(s);
  return *this;
}

}  // namespace jitfuse::internal
