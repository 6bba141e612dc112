// JITFUSE_VERIFY: the results of the first call of each bound function (1) or of every call (2)
// against the evaluator.
//
// Before the call the inputs are copied to the host (an output may be the buffer of an input),
// after it the outputs; each must lie within the error bound of the evaluator's value (ir/eval.h).
// On a GPU this waits for the stream. In: the user's graph (not the optimised one: rewriting is
// checked too), the bound call, views of inputs and outputs. Out: ok, or kInternal that names
// output, element, got, expected and bound, and the path of a file with the graph. A call is not
// verified where the evaluator would take too long (kMaxEvalWork) or the stream is being captured;
// that is logged and counted (verify_skipped). Must not know: how plans are made.
#ifndef JITFUSE_JIT_VERIFY_RUN_H_
#define JITFUSE_JIT_VERIFY_RUN_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ir/graph.h"
#include "ir/host_tensor.h"
#include "jit/backend.h"
#include "jit/call_class.h"
#include "jit/executable.h"

namespace jitfuse::internal {

inline constexpr double kMaxEvalWork = 1e8;  // some ten seconds of the evaluator

// Elements of all values, those of a reduction's operand, and m * n * k of matrix products.
double EvalWork(const Graph& graph, absl::Span<const int64_t> symbols);

class RunVerifier {
 public:
  // Whether this call of `bound` is to be verified; it is twice only if `every` call is.
  static bool Wanted(const Graph& graph, const BoundCall& bound, StreamHandle stream, bool every,
                     bool* skipped);
  // `scalars`: register bits by signature position.
  static absl::StatusOr<RunVerifier> Begin(const Graph& graph, const Backend& backend,
                                           absl::Span<const TensorView> inputs,
                                           absl::Span<const uint64_t> scalars, StreamHandle stream);
  absl::Status Finish(absl::Span<const TensorView> outputs) const;

 private:
  RunVerifier(const Graph* graph, const Backend* backend, StreamHandle stream)
      : graph_(graph), backend_(backend), stream_(stream) {}
  const Graph* graph_;
  const Backend* backend_;
  StreamHandle stream_;
  std::vector<HostTensor> inputs_;
};

}  // namespace jitfuse::internal

#endif  // JITFUSE_JIT_VERIFY_RUN_H_
