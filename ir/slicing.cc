#include "ir/slicing.h"

#include <algorithm>

namespace jitfuse::internal {
namespace {

// Far beyond any dim, and safe to add to one.
constexpr int64_t kFar = int64_t{1} << 61;

int64_t Clamped(int64_t v) { return std::clamp(v, -kFar, kFar); }

// Position v within 0..size.
SizeExpr Within(const Dim& size, int64_t v) {
  if (v >= 0) return v == 0 ? SizeExpr(0) : Min(size, SizeExpr(v));
  return AtLeastZero(size + SizeExpr(v));
}

// Position v + 1, likewise.
SizeExpr Behind(const Dim& size, int64_t v) {
  return v >= 0 ? Within(size, v + 1) : AtLeastZero(size + SizeExpr(v + 1));
}

}  // namespace

SizeExpr AtLeastZero(const SizeExpr& e) {
  // IsKnownNonNegative looks at symbols from 1 on.
  SizeExpr from_zero = e.Substitute([](SymbolId s) { return SizeExpr::Symbol(s) - 1; });
  return from_zero.IsKnownNonNegative() ? e : Max(e, SizeExpr(0));
}

SliceAxis ResolveSlice(const Dim& size, int64_t start, int64_t stop, int64_t step) {
  SliceAxis out;
  out.step = step;
  bool to_end = stop == kEnd;
  start = Clamped(start);
  stop = Clamped(stop);
  if (step > 0) {
    out.start = Within(size, start);
    SizeExpr end = to_end ? size : Within(size, stop);
    SizeExpr length = AtLeastZero(end - out.start);
    if (start > 0) {
      // An element exists only where the dim reaches beyond start.
      if (to_end) length = AtLeastZero(size - SizeExpr(start));
      if (!size.IsConstant()) out.start = start;
    } else if (start < 0 && to_end) {
      length = Within(size, -start);
    }
    out.extent = CeilDiv(length, SizeExpr(Clamped(step)));  // no dim is that long
    return out;
  }
  // Backwards: from start + 1 down to stop + 1, both within 0..size.
  SizeExpr first = start == kFar ? size : Behind(size, start);
  SizeExpr last = to_end ? SizeExpr(0) : Behind(size, stop);
  out.start = first - SizeExpr(1);
  // Steps that pass the least int64 have no magnitude of their own; no dim is that long.
  int64_t stride = step < -kFar ? kFar : -step;
  out.extent = CeilDiv(AtLeastZero(first - last), SizeExpr(stride));
  return out;
}

std::vector<SliceAxis> ResolveSlices(absl::Span<const Dim> dims, absl::Span<const int64_t> starts,
                                     absl::Span<const int64_t> stops,
                                     absl::Span<const int64_t> steps) {
  std::vector<SliceAxis> out;
  for (size_t d = 0; d < dims.size(); ++d) {
    int64_t step = steps.empty() ? 1 : steps[d];
    int64_t start = starts.empty() ? (step > 0 ? 0 : kEnd) : starts[d];
    out.push_back(ResolveSlice(dims[d], start, stops.empty() ? kEnd : stops[d], step));
  }
  return out;
}

int64_t WindowSpan(int64_t size, int64_t dilation) {
  int64_t span = 0;
  if (__builtin_mul_overflow(size - 1, dilation, &span)) return kFar;
  return Clamped(span) + 1;
}

SizeExpr WindowCount(const Dim& dim, int64_t size, int64_t stride, int64_t dilation) {
  int64_t step = Clamped(stride);
  SizeExpr room = dim + SizeExpr(step - WindowSpan(size, dilation));
  return FloorDiv(AtLeastZero(room), SizeExpr(step));
}

}  // namespace jitfuse::internal
