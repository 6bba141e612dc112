#include "ir/eval_sample.h"

#include <algorithm>
#include <numeric>

#include "ir/eval_walk.h"
#include "ir/support/hash128.h"

namespace jitfuse::internal {
namespace {

// The next of a sequence of well mixed numbers (splitmix64).
uint64_t Next(uint64_t* state) {
  uint64_t z = *state += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

}  // namespace

std::vector<int64_t> SampleElements(absl::Span<const int64_t> dims, int64_t pieces, int64_t width,
                                    uint64_t seed) {
  const int64_t total = std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
  std::vector<int64_t> out;
  if (total <= pieces * width) {
    out.resize(static_cast<size_t>(total));
    std::iota(out.begin(), out.end(), 0);
    return out;
  }
  const int64_t length = dims.back(), rows = total / length;
  const int64_t wide = std::min(width, length), per_row = (length + wide - 1) / wide;
  for (int64_t p = 0; p < pieces; ++p) {
    // The first and the last piece of all are where kernels begin and where what is left over is.
    int64_t row = 0, piece = 0;
    if (p == 1) {
      row = rows - 1;
      piece = per_row - 1;
    } else if (p > 1) {
      row = static_cast<int64_t>(Next(&seed) % static_cast<uint64_t>(rows));
      piece = static_cast<int64_t>(Next(&seed) % static_cast<uint64_t>(per_row));
    }
    for (int64_t i = piece * wide; i < std::min(length, (piece + 1) * wide); ++i)
      out.push_back(row * length + i);
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

uint64_t SampleSeed(absl::Span<const HostTensor> inputs) {
  Hasher hasher;
  for (const HostTensor& t : inputs) hasher.Hash(HashBytes(t.bytes.data(), t.bytes.size()));
  return hasher.Finish().lo;
}

absl::StatusOr<std::optional<std::vector<WideTensor>>> EvalWideSample(
    const Graph& graph, absl::Span<const HostTensor> inputs, double max_work, Numerics numerics) {
  JF_ASSIGN_OR_RETURN(const std::vector<int64_t> symbols, BindEvalInputs(graph, inputs));
  const uint64_t seed = SampleSeed(inputs);
  // Narrow pieces rather than few ones: rows are what differs.
  for (auto [pieces, width] :
       {std::pair<int64_t, int64_t>{64, 1024}, {64, 64}, {16, 64}, {16, 8}, {4, 8}, {2, 1}}) {
    std::vector<std::vector<int64_t>> at;
    for (Value v : graph.outputs())
      at.push_back(
          SampleElements(EvalDims(graph.type(v).dims, symbols), pieces, width, seed + at.size()));
    JF_ASSIGN_OR_RETURN(std::optional<std::vector<WideTensor>> made,
                        EvalWideAt(graph, inputs, at, max_work, numerics));
    if (made) return made;
  }
  return std::optional<std::vector<WideTensor>>();
}

}  // namespace jitfuse::internal
