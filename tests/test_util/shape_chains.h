// The chains and the random sizes that tests of dynamic shapes share.
#ifndef JITFUSE_TESTS_TEST_UTIL_SHAPE_CHAINS_H_
#define JITFUSE_TESTS_TEST_UTIL_SHAPE_CHAINS_H_

#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace jitfuse {

struct ShapeChain {
  const char* name;
  const char* text;
};

// Of n rows and m columns.
inline constexpr ShapeChain kShapeChains[] = {
    {"softmax",
     "graph softmax(%x: f32[n,m]) -> (f32[n,m]) { %0 = softmax(%x) : f32[n,m] return %0 }"},
    {"layer_norm",
     "graph layer_norm(%x: f32[n,m], %w: f32[m], %b: f32[m]) -> (f32[n,m]) { %0 = layer_norm(%x, "
     "%w, %b) : f32[n,m] return %0 }"},
    {"gelu",
     "graph gelu(%x: f32[n,m], %b: f32[m]) -> (f32[n,m]) { %0 = add(%x, %b) : f32[n,m] %1 = "
     "gelu(%0) : f32[n,m] %2 = multiply(%1, %x) : f32[n,m] return %2 }"},
    {"mlp",
     "graph mlp(%x: f32[n,m], %w1: f32[m,256], %b1: f32[256], %w2: f32[256,m], %b2: f32[m]) -> "
     "(f32[n,m]) { %0 = matmul(%x, %w1) : f32[n,256] %1 = add(%0, %b1) : f32[n,256] %2 = gelu(%1) "
     ": f32[n,256] %3 = matmul(%2, %w2) : f32[n,m] %4 = add(%3, %b2) : f32[n,m] %5 = add(%4, %x) "
     ": f32[n,m] return %5 }"},
};

// Dims of a chain's inputs.
inline std::vector<std::vector<std::int64_t>> ChainInputs(const ShapeChain& chain, std::int64_t n,
                                                          std::int64_t m) {
  const std::string name = chain.name;
  if (name == "softmax") return {{n, m}};
  if (name == "layer_norm") return {{n, m}, {m}, {m}};
  if (name == "gelu") return {{n, m}, {m}};
  return {{n, m}, {m, 256}, {256}, {256, m}, {m}};
}

// Rows from 1 to 8192 and columns from 1 to 16384, the ends among them.
inline std::vector<std::pair<std::int64_t, std::int64_t>> RandomShapes(std::size_t count) {
  std::vector<std::pair<std::int64_t, std::int64_t>> out = {
      {1, 1}, {8192, 16384}, {1, 16384}, {8192, 1}, {7, 255}, {7, 256}, {7, 257}};
  std::mt19937_64 random(20261129);
  while (out.size() < count) out.emplace_back(1 + random() % 8192, 1 + random() % 16384);
  return out;
}

}  // namespace jitfuse

#endif  // JITFUSE_TESTS_TEST_UTIL_SHAPE_CHAINS_H_
