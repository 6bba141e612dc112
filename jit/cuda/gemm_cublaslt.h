// GEMMs through cuBLASLt.
//
// In: a row-major GemmProblem. Out: a prepared product (descriptors, and the algorithm of
// cuBLASLt's own heuristic for exactly this problem and this alignment, asked once while the
// problem is among the kMaxPrepared asked for last; bound calls keep theirs), then launches on a
// stream. Column-major as the library is, D' = op(B)' op(A)' is what it computes. Accumulation in
// f32 (f64 for f64), TF32 only where the problem allows it, and no split whose partial sums are
// rounded to 16 bits. Must run with a current CUDA context. Thread-safe. Must not know: contexts,
// graphs.
#ifndef JITFUSE_JIT_CUDA_GEMM_CUBLASLT_H_
#define JITFUSE_JIT_CUDA_GEMM_CUBLASLT_H_

#include <memory>
#include <mutex>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "codegen/fusion/group.h"
#include "ir/support/hash128.h"
#include "ir/support/lru.h"
#include "jit/backend.h"
#include "jit/cuda/cublaslt_api.h"

namespace jitfuse::internal {

// Whether cuBLASLt multiplies this dtype for us.
bool CublasLtTakes(DType dtype);

class CublasLtGemms {
 public:
  static constexpr size_t kMaxPrepared = 1024;  // a size of a batch is a problem of its own
  explicit CublasLtGemms(const CublasLtApi& api) : api_(api) {}
  // An empty result is prepared as nothing to do; products of nothing (k = 0) are not the
  // library's.
  absl::StatusOr<std::shared_ptr<const PreparedGemm>> Prepare(const GemmProblem& problem);
  absl::Status Run(const PreparedGemm& gemm, const GemmBuffers& buffers, StreamHandle stream) const;

 private:
  absl::StatusOr<LtHandle> Handle();

  const CublasLtApi& api_;
  std::mutex mu_;
  LtHandle handle_ = nullptr;  // kept for the life of the process
  Lru<Hash128, std::shared_ptr<const PreparedGemm>> prepared_{kMaxPrepared};
};

}  // namespace jitfuse::internal

#endif  // JITFUSE_JIT_CUDA_GEMM_CUBLASLT_H_
