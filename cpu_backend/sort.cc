#include "cpu_backend/sort.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "cpu_backend/parallel.h"
#include "ir/scalar_value.h"

namespace jitfuse::internal {
namespace {

constexpr int64_t kChunk = 64 * 1024;  // positions and groups that one task takes at least

template <typename T>
int64_t InRange(T index, int64_t groups) {
  int64_t i = 0;
  if constexpr (std::is_signed_v<T>) {
    i = index < 0 ? int64_t{index} + groups : int64_t{index};
  } else {
    i = static_cast<int64_t>(std::min<uint64_t>(index, std::numeric_limits<int64_t>::max()));
  }
  return std::clamp<int64_t>(i, 0, std::max<int64_t>(groups - 1, 0));
}

// The counts grow in `end`, become where each index ends, and go down to where it begins as the
// positions are placed from the last to the first.
template <typename T>
void GroupLine(const SortProblem& p, const SortBuffers& buffers, int64_t line) {
  const int64_t outer = line / p.inner, inner = line % p.inner, stride = p.inner;
  const T* indices = static_cast<const T*>(buffers.indices) + outer * p.positions * stride + inner;
  int64_t* order = buffers.order + outer * p.positions * stride + inner;
  int64_t* begin = buffers.begin + outer * p.groups * stride + inner;
  int64_t* end = buffers.end + outer * p.groups * stride + inner;
  if (p.groups == 0) {  // no index is in range: the positions stay as they are
    for (int64_t i = 0; i < p.positions; ++i) order[i * stride] = i;
    return;
  }
  for (int64_t g = 0; g < p.groups; ++g) begin[g * stride] = 0;
  for (int64_t i = 0; i < p.positions; ++i)
    ++begin[InRange(indices[i * stride], p.groups) * stride];
  int64_t sum = 0;
  for (int64_t g = 0; g < p.groups; ++g) {
    sum += begin[g * stride];
    begin[g * stride] = end[g * stride] = sum;
  }
  for (int64_t i = p.positions; i-- > 0;)
    order[--begin[InRange(indices[i * stride], p.groups) * stride] * stride] = i;
}

template <typename T>
void GroupLines(const SortProblem& p, const SortBuffers& buffers) {
  const int64_t length = std::max<int64_t>(1, p.positions + p.groups);
  const int64_t lines = std::max<int64_t>(1, kChunk / length);
  auto run = [&](int64_t chunk) {
    const int64_t last = std::min(p.lines(), (chunk + 1) * lines);
    for (int64_t line = chunk * lines; line < last; ++line) GroupLine<T>(p, buffers, line);
  };
  const int64_t chunks = (p.lines() + lines - 1) / lines;
  if (chunks == 1) return run(0);
  ParallelFor(chunks, run);
}

}  // namespace

void GroupPositions(const SortProblem& problem, const SortBuffers& buffers) {
  if (problem.lines() == 0) return;
  OnType(problem.dtype, [&](auto tag) {
    using T = decltype(tag);
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
      GroupLines<T>(problem, buffers);
    return 0;
  });
}

}  // namespace jitfuse::internal
