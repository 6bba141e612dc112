// GEMMs through cuBLASLt.
//
// In: a row-major GemmProblem. Out: a prepared product (descriptors, and the algorithm of
// cuBLASLt's own heuristic for exactly this problem and this alignment, asked once per problem and
// kept), then launches on a stream. Column-major as the library is, D' = op(B)' op(A)' is what it
// computes. Accumulation in f32 (f64 for f64), TF32 only where the problem allows it, and no split
// whose partial sums are rounded to 16 bits. Must run with a current CUDA context. Thread-safe.
// Must not know: contexts, graphs.
#ifndef JITFUSE_JIT_CUDA_GEMM_CUBLASLT_H_
#define JITFUSE_JIT_CUDA_GEMM_CUBLASLT_H_

#include <memory>
#include <mutex>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "codegen/fusion/group.h"
#include "jit/backend.h"
#include "jit/cuda/cublaslt_api.h"

namespace jitfuse::internal {

// Whether cuBLASLt multiplies this dtype for us.
bool CublasLtTakes(DType dtype);

class CublasLtGemms {
 public:
  explicit CublasLtGemms(const CublasLtApi& api) : api_(api) {}
  absl::StatusOr<std::shared_ptr<const PreparedGemm>> Prepare(const GemmProblem& problem);
  absl::Status Run(const PreparedGemm& gemm, const void* a, const void* b, void* d, void* workspace,
                   StreamHandle stream) const;

 private:
  absl::StatusOr<LtHandle> Handle();

  const CublasLtApi& api_;
  std::mutex mu_;
  LtHandle handle_ = nullptr;  // kept for the life of the process
  absl::flat_hash_map<Hash128, std::shared_ptr<const PreparedGemm>> prepared_;
};

}  // namespace jitfuse::internal

#endif  // JITFUSE_JIT_CUDA_GEMM_CUBLASLT_H_
