// Operands of matrix products for tests of gemm_onednn.
#ifndef JITFUSE_TESTS_CPU_BACKEND_GEMM_KIT_H_
#define JITFUSE_TESTS_CPU_BACKEND_GEMM_KIT_H_

#include <cstdint>
#include <random>
#include <vector>

#include "codegen/fusion/group.h"
#include "cpu_backend/gemm_onednn.h"
#include "ir/scalar_expr.h"

namespace jitfuse::internal {

struct Operands {
  std::vector<char> a, b, d;
};

inline int64_t Room(int64_t batch, int64_t stride, int64_t rows, int64_t cols, int64_t ld) {
  return (batch - 1) * stride + (rows - 1) * ld + cols;
}

inline Operands MakeOperands(const GemmProblem& p, uint32_t seed) {
  int64_t size = ItemSize(p.dtype);
  std::mt19937 rng(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  auto fill = [&](int64_t count, bool random) {
    std::vector<char> bytes(static_cast<size_t>(count * size), '\x5a');
    for (int64_t i = 0; random && i < count; ++i)
      StoreScalar(p.dtype, ScalarFromDouble(p.dtype, uniform(rng)), bytes.data() + i * size);
    return bytes;
  };
  return {fill(Room(p.batch, p.batch_stride_a, p.transpose_a ? p.k : p.m, p.transpose_a ? p.m : p.k,
                    p.lda),
               true),
          fill(Room(p.batch, p.batch_stride_b, p.transpose_b ? p.n : p.k, p.transpose_b ? p.k : p.n,
                    p.ldb),
               true),
          fill(Room(p.batch, p.batch_stride_d, p.m, p.n, p.ldd), false)};
}

inline double At(const std::vector<char>& bytes, DType dtype, int64_t i) {
  return ScalarToDouble(ComputeType(dtype), LoadScalar(dtype, bytes.data() + i * ItemSize(dtype)));
}

// Rows `pad` elements further apart than needed, batches 5 more than that.
inline GemmProblem Problem(DType dtype, int64_t batch, int64_t m, int64_t n, int64_t k, bool ta,
                           bool tb, int64_t pad) {
  GemmProblem p;
  p.batch = batch, p.m = m, p.n = n, p.k = k, p.dtype = dtype, p.transpose_a = ta,
  p.transpose_b = tb;
  p.lda = (ta ? m : k) + pad;
  p.ldb = (tb ? k : n) + pad;
  p.ldd = n + pad;
  p.batch_stride_a = p.lda * (ta ? k : m) + 5;
  p.batch_stride_b = p.ldb * (tb ? n : k) + 5;
  p.batch_stride_d = p.ldd * m + 5;
  return p;
}

inline std::vector<DType> Types() {
  Reason reason;
  return OnednnSupport(DType::kBF16, &reason).ok() ? std::vector<DType>{DType::kF32, DType::kBF16}
                                                   : std::vector<DType>{DType::kF32};
}

}  // namespace jitfuse::internal

#endif  // JITFUSE_TESTS_CPU_BACKEND_GEMM_KIT_H_
