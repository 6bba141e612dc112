// LtGemm: one matrix product as cuBLASLt is asked for it, and the call itself.
//
// In: a row-major GemmProblem. Out of DescribeLtGemm: descriptor and layouts; column-major as the
// library is, D' = op(B)' op(A)' is what it computes, so that a bias for each column of D is one
// for each of its rows. With an algorithm, RunLtGemm launches on a stream. Both are const in the
// descriptors they share: a call with a bias, whose address is part of the descriptor, makes one of
// its own (0.1 us). Must not know: how algorithms are chosen.
#ifndef JITFUSE_JIT_CUDA_LT_GEMM_H_
#define JITFUSE_JIT_CUDA_LT_GEMM_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "codegen/fusion/gemm_runs.h"
#include "codegen/fusion/group.h"
#include "jit/backend.h"
#include "jit/cuda/cublaslt_api.h"

namespace jitfuse::internal {

struct LtTypes {
  DType dtype;
  CudaDataType data, scale;
  CublasComputeType compute;
};
// Null: the library does not multiply this dtype for us.
const LtTypes* FindLtTypes(DType dtype);

// Owns a library object; the deleter is the table's function.
template <typename T>
class LtOwned {
 public:
  explicit LtOwned(CublasResult (*destroy)(T)) : destroy_(destroy) {}
  ~LtOwned() {
    if (value_ != nullptr) destroy_(value_);
  }
  LtOwned(const LtOwned&) = delete;
  LtOwned& operator=(const LtOwned&) = delete;
  T* out() { return &value_; }
  T get() const { return value_; }

 private:
  CublasResult (*destroy_)(T);
  T value_ = nullptr;
};

// "lt:", the algorithm's 64 bytes in hexadecimal digits, "+mask" where relu writes one.
std::string LtAlgoText(const LtAlgo& algo, bool aux);
bool ParseLtAlgo(std::string_view text, LtAlgo* algo, bool* aux);

class LtGemm : public PreparedGemm {
 public:
  LtGemm(const CublasLtApi& api, const GemmRuns& runs, const LtTypes& types);
  size_t workspace_bytes() const override { return AuxOffset() + AuxBytes(); }
  std::string Describe() const override { return text; }
  std::string algorithm() const override { return LtAlgoText(algo, aux); }
  const GemmProblem& problem() const { return runs.each; }
  bool IsEmpty() const { return problem().batch == 0 || problem().m == 0 || problem().n == 0; }
  LtMatrixLayout c_layout() const { return problem().epilogue.has_c() ? c.get() : d.get(); }

  // The mask that relu writes if `aux`, in the workspace, behind the library's own.
  int64_t AuxLd() const { return (problem().n + 127) / 128 * 128; }  // in bits
  size_t AuxOffset() const { return aux ? (workspace + 255) / 256 * 256 : workspace; }
  size_t AuxBytes() const { return aux ? static_cast<size_t>(AuxLd() / 8 * problem().m) : 0; }

  GemmRuns runs;
  LtTypes types;
  bool aux = false;  // relu with a mask, which nobody reads
  LtOwned<LtMatmulDesc> desc;
  LtOwned<LtMatrixLayout> a, b, c, d;  // the library's: a is our B, b our A
  LtAlgo algo{};
  LtHandle handle = nullptr;
  size_t workspace = 0;  // of the algorithm
  std::string text;
};

std::string LtText(const GemmProblem& problem);  // for errors
absl::Status LtStatus(CublasResult result, std::string_view call, const GemmProblem& problem);
// With addresses that only say how they are aligned.
absl::Status DescribeLtGemm(const CublasLtApi& api, LtGemm* gemm);
absl::Status RunLtGemm(const CublasLtApi& api, const LtGemm& gemm, const GemmBuffers& buffers,
                       StreamHandle stream);

}  // namespace jitfuse::internal

#endif  // JITFUSE_JIT_CUDA_LT_GEMM_H_
