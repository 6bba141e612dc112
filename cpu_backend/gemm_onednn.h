// Matrix products on the CPU through oneDNN.
//
// In: GemmProblems (row-major D = op(A) * op(B) with an epilogue, batched, strides in elements).
// Out: prepared products, run on plain pointers; D is overwritten; C may be D itself, if they are
// alike. f32 and, where oneDNN has kernels for this CPU, bf16, both accumulated in f32. Any other
// dtype, or a build without oneDNN (JF_HAVE_ONEDNN=0), gives the reason to lower to a loop group.
// Primitives take 0.2 to 0.6 ms to make; the cache of them is bounded (onednn_primitive.h). Of
// epilogues those are taken that oneDNN, tried once in a process, computes as the ops say, special
// values and all (gemm_onednn_check.cc). Thread-safe. After a fork the child runs on one thread:
// OpenMP's pool, oneDNN's, did not come along. Must not know: graphs, groups beyond GemmProblem.
#ifndef JITFUSE_CPU_BACKEND_GEMM_ONEDNN_H_
#define JITFUSE_CPU_BACKEND_GEMM_ONEDNN_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "codegen/fusion/group.h"
#include "jit/backend.h"

namespace jitfuse::internal {

absl::Status OnednnSupport(DType dtype, Reason* reason);
absl::StatusOr<std::shared_ptr<const PreparedGemm>> PrepareOnednn(const GemmProblem& problem,
                                                                  bool packed_b = false);
// Of what OnednnSupport takes: which epilogues. The first question about one of its kind (dtype,
// whether it has a factor, a bias, a C with a factor, its activation) takes some milliseconds.
absl::Status OnednnEpilogueSupport(DType dtype, const GemmEpilogue& epilogue, Reason* reason);
// The same of products whose B is packed, which other kernels read.
bool OnednnMayPack(DType dtype, const GemmEpilogue& epilogue);
// The workspace has gemm.workspace_bytes(), for this call alone.
absl::Status RunOnednn(const PreparedGemm& gemm, const GemmBuffers& buffers);
// As Backend::PackB.
absl::Status PackOnednnB(const PreparedGemm& gemm, const void* b, void* packed);

}  // namespace jitfuse::internal

#endif  // JITFUSE_CPU_BACKEND_GEMM_ONEDNN_H_
