// gemm_padding: which matrix products are given zeros behind k or n, so that the library has a fast
// kernel for them.
//
// cuBLASLt's fast kernels for 16-bit operands (and TF32) read and write 16 bytes at a time: with a
// k that rows of A or B are as long as, or an n, that is no multiple of that, others run, which
// take 3 times as long, and 6 where it is odd. Zeros behind k add nothing; columns behind n are
// cut off again. In: a product, as the graph has it. Out: how many elements to add, if the copies
// cost less than the slow kernels lose. A number of rows that is a symbol counts as kAssumedRows: a
// class of calls has one plan. k and n have to be constants. Pure. Must not know: layouts that
// inputs happen to have.
#ifndef JITFUSE_CODEGEN_FUSION_GEMM_PADDING_H_
#define JITFUSE_CODEGEN_FUSION_GEMM_PADDING_H_

#include <cstdint>
#include <optional>
#include <string>

#include "codegen/target.h"
#include "ir/graph.h"
#include "ir/options.h"

namespace jitfuse::internal {

inline constexpr int64_t kAssumedRows = 512;

struct GemmPad {
  int64_t k = 0, n = 0;  // elements to add; not both 0
};
// `dtype`: of the operands as the library reads them.
std::optional<GemmPad> PaddingOf(const Graph& graph, const Node& product, DType dtype,
                                 const Target& target, Numerics numerics);
// "k from 4095 to 4096".
std::string PaddingToString(const GemmPad& pad, int64_t k, int64_t n);

}  // namespace jitfuse::internal

#endif  // JITFUSE_CODEGEN_FUSION_GEMM_PADDING_H_
