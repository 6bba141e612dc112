// Tuning: which plan and which algorithms of the matrix library are the fastest for one call,
// found by running it.
//
// In: a call as it runs without tuning, with its buffers, and what plans it otherwise. Out: a
// record (jit/tune_record.h) of what was tried; the caller binds what was chosen. Each distinct
// product of a plan is timed with up to kMaxAlgorithms algorithms, together with what follows it up
// to the next product, behind what comes before it; then plans (products with their whole
// epilogues, with sums alone, without any; unpadded, where any is padded; each product as it took
// the least) are timed as whole calls, each with its best algorithms. Products that are computed
// once, of bound inputs, are not timed.
// All that is compared runs in turn, after rounds that do not count, and after the second-level
// cache was overwritten; medians count, and what comes first stays unless something takes
// 2% less. Inputs are read where they lie; results, scratch, and inputs that results lie over are
// memory of its own, taken from `allocator` and given back. Waits for the stream, and must not be
// called while it is captured. Must not know: caches, classes of calls.
#ifndef JITFUSE_JIT_TUNE_H_
#define JITFUSE_JIT_TUNE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "jit/call_class.h"
#include "jit/executable.h"
#include "jit/tune_record.h"

namespace jitfuse::internal {

inline constexpr int kMaxAlgorithms = 8;

// The call, bound to another plan and with algorithms by product, as BindOptions has them.
using PlanCallFn = std::function<absl::StatusOr<std::shared_ptr<const BoundCall>>(
    const std::vector<ProductChoice>& choices, const std::vector<std::string>& algorithms)>;

struct TuneQuestion {
  std::shared_ptr<const BoundCall> first;
  int align = 16;                                // as in Bind
  absl::Span<const TensorView> inputs, outputs;  // no outputs: dense ones
  absl::Span<const uint64_t> scalars;            // by signature position
  // By output: the inputs whose buffer it is.
  absl::Span<const std::vector<int>> aliases;
  StreamHandle stream = nullptr;
  Allocator* allocator = nullptr;
  PlanCallFn plan;
};

// Whether the call has a product that a library may compute in more than one way.
bool MayTune(const BoundCall& call);

// `graph`, `call`, `target` and `library` of the record are left to the caller.
absl::StatusOr<TuneRecord> TuneCall(const TuneQuestion& question);

}  // namespace jitfuse::internal

#endif  // JITFUSE_JIT_TUNE_H_
