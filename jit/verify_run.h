// Calls that are checked: results against the reference evaluator (docs/verify.md).
//
// Which: the first VerifyPolicy::calls of each executable, and what JITFUSE_VERIFY asks for: the
// first call of each bound function (1) or every one (2). How: before the call the inputs are
// copied to the host (an output may be the buffer of an input), after it the outputs; each must lie
// within the error bound of the evaluator's value (ir/eval.h). Where evaluating everything takes
// too long a sample of rows is compared (ir/eval_sample.h); where not even that can be had, or the
// stream is being captured, the call is not compared: that is logged, counted and in explain(),
// as is what was found (jit/verify_log.h). On a GPU this waits for the stream.
//
// In: the user's graph (not the optimised one: rewriting is checked too), the bound call, views of
// inputs and outputs, and what enqueues the call. Out: ok; or kInternal that names output, element,
// got, expected, bound and the command that repeats it (jit/reproducer.h); or, with
// VerifyPolicy::fallback, ok with the evaluator's own results in the outputs, in this call and all
// later ones of the executable. Errors of the evaluator (an index out of range) are errors of the
// call. Must not know: how plans are made.
#ifndef JITFUSE_JIT_VERIFY_RUN_H_
#define JITFUSE_JIT_VERIFY_RUN_H_

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "ir/graph.h"
#include "jit/backend.h"
#include "jit/call_cache.h"
#include "jit/call_class.h"
#include "jit/executable.h"

namespace jitfuse::internal {

// Element operations of the evaluator, which does some ten millions in a second.
inline constexpr double kMaxEvalWork = 1e8;    // more is never evaluated whole
inline constexpr double kMaxSampleWork = 1e7;  // of a sample; of calls that a policy asks for, more
                                               // is sampled where that can be

// Elements of all values, those of a reduction's operand, and m * n * k of matrix products.
double EvalWork(const Graph& graph, absl::Span<const int64_t> symbols);

struct CheckedCall {
  CallCache* cache = nullptr;
  const BoundCall* bound = nullptr;
  absl::Span<const TensorView> inputs, outputs;
  absl::Span<const uint64_t> scalars;  // register bits by signature position
  StreamHandle stream = nullptr;
  CompileWatcher* watcher = nullptr;  // told around copying and evaluating
};
absl::Status RunChecked(const CheckedCall& call, absl::FunctionRef<absl::Status()> enqueue);

}  // namespace jitfuse::internal

#endif  // JITFUSE_JIT_VERIFY_RUN_H_
