// Arrays of the stored vectors (tests/data/*_vectors.json): hex of little-endian bytes.
#ifndef JITFUSE_TESTS_TEST_UTIL_STORED_VECTORS_H_
#define JITFUSE_TESTS_TEST_UTIL_STORED_VECTORS_H_

#include <string>
#include <vector>

#include "ir/host_tensor.h"
#include "nlohmann/json.hpp"

namespace jitfuse::internal {

inline HostTensor UnpackStored(const nlohmann::json& j) {
  HostTensor t{
      *ParseDType(j["dtype"].get<std::string>()), j["dims"].get<std::vector<int64_t>>(), {}};
  const std::string hex = j["hex"];
  for (size_t i = 0; i + 1 < hex.size(); i += 2)
    t.bytes.push_back(static_cast<uint8_t>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  return t;
}

}  // namespace jitfuse::internal

#endif  // JITFUSE_TESTS_TEST_UTIL_STORED_VECTORS_H_
