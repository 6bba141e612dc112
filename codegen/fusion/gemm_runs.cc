#include "codegen/fusion/gemm_runs.h"

#include <algorithm>

namespace jitfuse::internal {

GemmRuns OneByOne(const GemmProblem& problem) {
  GemmRuns runs{problem,
                problem.batch,
                problem.batch_stride_a,
                problem.batch_stride_b,
                problem.batch_stride_c,
                problem.batch_stride_d};
  GemmProblem& p = runs.each;
  // What an operand is aligned to holds for its first matrix; the next begin `stride` elements on.
  const int64_t size = ItemSize(p.dtype), wide = ItemSize(p.result());
  for (int64_t bytes : {p.batch_stride_a * size, p.batch_stride_b * size, p.batch_stride_c * wide,
                        p.batch_stride_d * wide}) {
    while (p.align > wide && bytes % p.align != 0) p.align /= 2;
  }
  p.batch = 1;
  p.batch_stride_a = p.batch_stride_b = p.batch_stride_c = p.batch_stride_d = 0;
  return runs;
}

GemmRuns RunsOf(const GemmProblem& p, MatrixEnd end) {
  auto nest = [end](int64_t stride, int64_t rows, int64_t columns, int64_t ld) {
    const int64_t last = end == MatrixEnd::kLastRow ? std::max(ld, columns) : columns;
    return stride == 0 || stride >= (rows - 1) * ld + last;
  };
  if (p.batch <= 1 ||
      (nest(p.batch_stride_a, p.transpose_a ? p.k : p.m, p.transpose_a ? p.m : p.k, p.lda) &&
       nest(p.batch_stride_b, p.transpose_b ? p.n : p.k, p.transpose_b ? p.k : p.n, p.ldb) &&
       (!p.epilogue.has_c() || nest(p.batch_stride_c, p.m, p.n, p.ldc))))
    return {p};
  return OneByOne(p);
}

}  // namespace jitfuse::internal
