// Sizes and starts of slices and windows, for constant and symbolic dims alike.
//
// In: a dim and the numbers of a slice, in NumPy's meaning: negative positions count from the end,
// positions outside are moved to the border, kEnd (as stop, and as start of a negative step) means
// as far as the dim goes. Out: sizes that are right for every value of the symbols, 0 included:
// max(n-3,0) where n may be less than 3. Shared by inference and the index functions.
// Must not know: nodes, graphs.
#ifndef JITFUSE_IR_SLICING_H_
#define JITFUSE_IR_SLICING_H_

#include <cstdint>
#include <limits>
#include <vector>

#include "absl/types/span.h"
#include "ir/shape.h"

namespace jitfuse::internal {

inline constexpr int64_t kEnd = std::numeric_limits<int64_t>::max();

// Element i of the result is element start + i * step of the operand.
struct SliceAxis {
  SizeExpr start;
  int64_t step = 1;
  SizeExpr extent;
};
SliceAxis ResolveSlice(const Dim& size, int64_t start, int64_t stop, int64_t step);
// One for each dim; a list that is empty means the defaults: from the begin, to the end, in steps
// of 1.
std::vector<SliceAxis> ResolveSlices(absl::Span<const Dim> dims, absl::Span<const int64_t> starts,
                                     absl::Span<const int64_t> stops,
                                     absl::Span<const int64_t> steps);

// How many windows of `size` elements, `dilation` apart, fit when they begin `stride` apart: 0 if
// the dim is shorter than one.
SizeExpr WindowCount(const Dim& dim, int64_t size, int64_t stride, int64_t dilation);
// The elements that a window spans.
int64_t WindowSpan(int64_t size, int64_t dilation);

// max(e, 0), or e itself where no symbol's value (from 0 on) makes it negative.
SizeExpr AtLeastZero(const SizeExpr& e);

}  // namespace jitfuse::internal

#endif  // JITFUSE_IR_SLICING_H_
