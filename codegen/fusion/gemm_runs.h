// GemmRuns: how a library is asked for a batch of matrix products.
//
// In: a GemmProblem, and where the library has a matrix end: at its last element (cuBLASLt), or
// with the room that its last row would have before the next (oneDNN). Out: `each`, to be run
// `repeats` times, the operands `step` elements on each time. RunsOf asks once, for the batch as a
// whole, where the matrices of each operand are one and the same or begin beyond the end of the one
// before; where they run backwards or begin within it, which strides may say and no library takes,
// it asks for them one by one. Must not know: which library.
#ifndef JITFUSE_CODEGEN_FUSION_GEMM_RUNS_H_
#define JITFUSE_CODEGEN_FUSION_GEMM_RUNS_H_

#include <cstdint>

#include "codegen/fusion/group.h"

namespace jitfuse::internal {

struct GemmRuns {
  GemmProblem each;
  int64_t repeats = 1, step_a = 0, step_b = 0, step_c = 0, step_d = 0;
};
enum class MatrixEnd : uint8_t { kLastElement, kLastRow };
GemmRuns RunsOf(const GemmProblem& problem, MatrixEnd end);
GemmRuns OneByOne(const GemmProblem& problem);

}  // namespace jitfuse::internal

#endif  // JITFUSE_CODEGEN_FUSION_GEMM_RUNS_H_
