#include "jit/exact_key.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace jitfuse::internal {
namespace {

using Parts = std::vector<int64_t>;

const void* At(uintptr_t address) { return reinterpret_cast<const void*>(address); }

TensorView View(uintptr_t address, const Parts& dims, const Parts& strides) {
  return {At(address), DType::kF32, dims, strides};
}

Parts KeyOf(const std::vector<TensorView>& inputs, const std::vector<TensorView>& outputs) {
  const ExactKey key(inputs, outputs);
  return {key.parts().begin(), key.parts().end()};
}

TEST(ExactKeyTest, AllThatDecidesTellsCallsApart) {
  const Parts dims = {2, 3}, other_dims = {3, 2}, vector = {6}, strides = {1, 2}, none;
  TensorView half = View(0x1000, dims, none);
  half.dtype = DType::kF16;
  const std::vector<std::vector<TensorView>> calls = {
      {},
      {View(0x1000, dims, none)},
      {View(0x1004, dims, none)},
      {View(0x1000, other_dims, none)},
      {View(0x1000, vector, none)},
      {View(0x1000, dims, strides)},
      {half},
      {View(0x1000, dims, none), View(0x1000, dims, none)},
  };
  for (size_t a = 0; a < calls.size(); ++a) {
    for (size_t b = 0; b < calls.size(); ++b)
      EXPECT_EQ(KeyOf(calls[a], {}) == KeyOf(calls[b], {}), a == b) << a << ", " << b;
  }
  // Elsewhere, but as well aligned.
  EXPECT_EQ(KeyOf({View(0x1000, dims, none)}, {}), KeyOf({View(0x2010, dims, none)}, {}));
  // An output is no input.
  EXPECT_NE(KeyOf({View(0x1000, dims, none)}, {}), KeyOf({}, {View(0x1000, dims, none)}));
}

TEST(ExactKeyTest, OverlapsCountByTheirDistance) {
  const Parts dims = {16}, empty = {0}, none;
  const auto with_output_at = [&](uintptr_t address) {
    return KeyOf({View(0x1000, dims, none)}, {View(address, dims, none)});
  };
  const Parts apart = with_output_at(0x2000);
  EXPECT_EQ(with_output_at(0x1040), apart);  // right behind it
  EXPECT_EQ(with_output_at(0x0fc0), apart);
  const Parts same = with_output_at(0x1000), later = with_output_at(0x1030),
              before = with_output_at(0x0fd0);
  EXPECT_NE(same, apart);
  EXPECT_NE(same, later);
  EXPECT_NE(later, before);
  EXPECT_NE(later, apart);
  // Inputs may overlap as they like; outputs are compared with each other, too; nothing overlaps
  // what is empty.
  const TensorView a = View(0x1000, dims, none), b = View(0x1010, dims, none),
                   far = View(0x3000, dims, none), farther = View(0x4000, dims, none);
  EXPECT_EQ(KeyOf({a, a}, {far}), KeyOf({a, b}, {far}));
  EXPECT_NE(KeyOf({}, {a, b}), KeyOf({}, {far, farther}));
  EXPECT_EQ(KeyOf({View(0x1000, empty, none)}, {View(0x1000, dims, none)}),
            KeyOf({View(0x5000, empty, none)}, {View(0x1000, dims, none)}));
}

// Beyond what the object itself has room for.
TEST(ExactKeyTest, LongKeysAreWhole) {
  const Parts dims = {2, 3, 4, 5, 6, 7, 8, 9}, strides = {1, 2, 3, 4, 5, 6, 7, 8};
  std::vector<TensorView> inputs(100, View(0x100000, dims, strides));
  const Parts key = KeyOf(inputs, {});
  EXPECT_EQ(key.size(), 1 + 100 * (1 + 8 + 8));
  for (size_t i = 0; i < inputs.size(); ++i) {
    const size_t at = 2 + i * 17;
    ASSERT_EQ(Parts(key.begin() + static_cast<std::ptrdiff_t>(at),
                    key.begin() + static_cast<std::ptrdiff_t>(at) + 8),
              dims);
  }
  const Parts other_dims = {2, 3, 4, 5, 6, 7, 8, 10};
  inputs.back() = View(0x100000, other_dims, strides);
  EXPECT_NE(KeyOf(inputs, {}), key);
}

}  // namespace
}  // namespace jitfuse::internal
