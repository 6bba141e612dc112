// Some rows of a large call by the reference evaluator: which ones, and what they are.
//
// A sample of a tensor is pieces of rows: the beginning of the first row, the end of the last one,
// and others spread by a seed. The seed comes from the bytes of the inputs, so that a call with the
// same inputs is looked at in the same places, wherever it is repeated. EvalWideSample takes as
// large a sample of each output as `max_work` allows (EvalWideAt), and gives nothing where the
// smallest one is too much: where each element of an output comes from most elements of the inputs.
// Must not know: who compares.
#ifndef JITFUSE_IR_EVAL_SAMPLE_H_
#define JITFUSE_IR_EVAL_SAMPLE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ir/eval.h"
#include "ir/graph.h"
#include "ir/host_tensor.h"

namespace jitfuse::internal {

// Linear indices, ascending: up to `pieces` pieces of up to `width` neighbours in a row of the last
// axis; all elements where that is no fewer.
std::vector<int64_t> SampleElements(absl::Span<const int64_t> dims, int64_t pieces, int64_t width,
                                    uint64_t seed);
uint64_t SampleSeed(absl::Span<const HostTensor> inputs);

absl::StatusOr<std::optional<std::vector<WideTensor>>> EvalWideSample(
    const Graph& graph, absl::Span<const HostTensor> inputs, double max_work,
    Numerics numerics = Numerics::kDefault);

}  // namespace jitfuse::internal

#endif  // JITFUSE_IR_EVAL_SAMPLE_H_
