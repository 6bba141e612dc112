#include "jit/exact_key.h"

#include <algorithm>

#include "absl/container/fixed_array.h"

namespace jitfuse::internal {
namespace {

struct Reach {
  uintptr_t lo, hi;
};

// The bytes a view may touch, without looking at whether it is dense.
Reach ReachOf(const TensorView& view) {
  // Unsigned, because nothing is checked yet: what wraps here is refused when the call is
  // classified.
  auto base = reinterpret_cast<uintptr_t>(view.ptr);
  uint64_t lo = 0, hi = 0, dense = 1;
  const bool strided = view.strides.size() == view.dims.size();
  for (size_t d = view.dims.size(); d-- > 0;) {
    if (view.dims[d] == 0) return {base, base};
    uint64_t reach = static_cast<uint64_t>(view.dims[d] - 1) *
                     (strided ? static_cast<uint64_t>(view.strides[d]) : dense);
    (static_cast<int64_t>(reach) < 0 ? lo : hi) += reach;
    dense *= static_cast<uint64_t>(view.dims[d]);
  }
  auto size = static_cast<uint64_t>(ItemSize(view.dtype));
  return {base + lo * size, base + (hi + 1) * size};
}

int64_t AlignClass(const void* ptr) {
  return static_cast<int64_t>(reinterpret_cast<uintptr_t>(ptr) & 15);
}

}  // namespace

ExactKey::ExactKey(absl::Span<const TensorView> inputs, absl::Span<const TensorView> outputs) {
  Add(static_cast<int64_t>(inputs.size() << 32 | outputs.size()));
  for (const TensorView& v : inputs) AddView(v);
  for (const TensorView& v : outputs) AddView(v);
  if (!outputs.empty()) AddOverlaps(inputs, outputs);
}

void ExactKey::Grow() {
  auto more = std::make_unique<int64_t[]>(2 * capacity_);
  std::copy_n(data_, size_, more.get());
  beyond_ = std::move(more);
  data_ = beyond_.get();
  capacity_ *= 2;
}

void ExactKey::AddView(const TensorView& view) {
  Add(static_cast<int64_t>(view.dtype) | AlignClass(view.ptr) << 8 |
      static_cast<int64_t>(view.dims.size()) << 16 |
      static_cast<int64_t>(view.strides.size()) << 32);
  for (int64_t d : view.dims) Add(d);
  for (int64_t s : view.strides) Add(s);
}

// Of outputs with inputs and each other.
void ExactKey::AddOverlaps(absl::Span<const TensorView> inputs,
                           absl::Span<const TensorView> outputs) {
  absl::FixedArray<Reach, 32> reach(inputs.size() + outputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) reach[i] = ReachOf(inputs[i]);
  for (size_t o = 0; o < outputs.size(); ++o) {
    const size_t before = inputs.size() + o;
    const Reach mine = reach[before] = ReachOf(outputs[o]);
    for (size_t i = 0; i < before; ++i) {
      if (mine.lo >= reach[i].hi || reach[i].lo >= mine.hi) continue;
      const void* other = i < inputs.size() ? inputs[i].ptr : outputs[i - inputs.size()].ptr;
      Add(static_cast<int64_t>(o << 32 | i));
      Add(static_cast<const char*>(other) - static_cast<const char*>(outputs[o].ptr));
    }
  }
}

}  // namespace jitfuse::internal
