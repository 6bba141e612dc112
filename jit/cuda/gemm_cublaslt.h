// GEMMs through cuBLASLt.
//
// In: a row-major GemmProblem. Out: a prepared product (descriptors, and the algorithm of
// cuBLASLt's own heuristic for exactly this problem and this alignment, asked once while the
// problem is among the kMaxPrepared asked for last; bound calls keep theirs), then launches on a
// stream. Where m differs from call to call, and the product takes less than some 10 us, the
// heuristic (0.1 ms) is asked once for each power of two, and its answer is checked (a few us) for
// every m up to it. Accumulation in f32 (f64 for f64), TF32 only where the problem allows it, and
// no split whose partial sums are rounded to 16 bits. Some algorithms turn NaN into 0 where they
// apply relu: each that is chosen behind relu has kept it in a trial; where none does, relu comes
// with a mask, which all keep it with. Must run with a current CUDA context. Thread-safe; a log
// sink that is told of trials may use it. Must not
// know: contexts, graphs.
#ifndef JITFUSE_JIT_CUDA_GEMM_CUBLASLT_H_
#define JITFUSE_JIT_CUDA_GEMM_CUBLASLT_H_

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "codegen/fusion/group.h"
#include "ir/support/hash128.h"
#include "ir/support/lru.h"
#include "jit/backend.h"
#include "jit/cuda/cublaslt_api.h"
#include "jit/cuda/gemm_trial.h"
#include "jit/cuda/lt_gemm.h"

namespace jitfuse::internal {

// Whether cuBLASLt multiplies this dtype for us.
bool CublasLtTakes(DType dtype);

class CublasLtGemms {
 public:
  static constexpr size_t kMaxPrepared = 1024;  // a size of a batch is a problem of its own
  // `trial` runs what it is given on the device.
  CublasLtGemms(const CublasLtApi& api, GemmTrialFn trial) : api_(api), trial_(std::move(trial)) {}
  // An empty result is prepared as nothing to do; products of nothing (k = 0) are not the
  // library's.
  absl::StatusOr<std::shared_ptr<const PreparedGemm>> Prepare(const GemmProblem& problem);
  // The algorithms to choose from, Prepare's first, at most `most`: those of the heuristic (where m
  // has a bucket, for the greatest m of it) that fit `problem` and keep NaN.
  absl::StatusOr<std::vector<std::shared_ptr<const PreparedGemm>>> Candidates(
      const GemmProblem& problem, int most);
  // With what algorithm() of one of them said. NotFound if it does not fit or loses NaN.
  absl::StatusOr<std::shared_ptr<const PreparedGemm>> PrepareWith(const GemmProblem& problem,
                                                                  const std::string& algorithm);
  const std::string& version() const { return api_.version; }
  absl::Status Run(const PreparedGemm& gemm, const GemmBuffers& buffers, StreamHandle stream) const;

 private:
  // Of mu_. What was not said while it was held is said without it.
  class Lock {
   public:
    explicit Lock(CublasLtGemms* gemms) : gemms_(gemms), lock_(gemms->mu_) {}
    ~Lock();
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;

   private:
    CublasLtGemms* const gemms_;
    std::unique_lock<std::mutex> lock_;
  };
  absl::StatusOr<LtHandle> Handle();
  absl::StatusOr<std::shared_ptr<LtGemm>> Choose(const GemmProblem& problem, const LtTypes& types);
  absl::StatusOr<std::shared_ptr<LtGemm>> ChooseByBucket(const GemmProblem& problem,
                                                         const LtTypes& types);
  absl::StatusOr<std::shared_ptr<const PreparedGemm>> PrepareLocked(const GemmProblem& problem,
                                                                    const LtTypes& types);
  // With this algorithm, maybe relu's mask; null where the library does not take it.
  absl::StatusOr<std::shared_ptr<LtGemm>> Fitted(const GemmProblem& problem, const LtTypes& types,
                                                 const LtAlgo& algo, bool aux);
  absl::StatusOr<bool> Pick(LtGemm* gemm);
  absl::StatusOr<std::shared_ptr<LtGemm>> WithMask(const GemmProblem& problem,
                                                   const LtTypes& types);
  enum class Nan { kKept, kLost, kUnknown };  // unknown: it could not be tried
  Nan WhatBecomesOfNan(const LtGemm& gemm, const LtAlgo& algo);
  absl::StatusOr<bool> Try(const GemmProblem& small, const LtGemm& of, const LtAlgo& algo);

  const CublasLtApi& api_;
  const GemmTrialFn trial_;
  std::mutex mu_;
  std::vector<std::string> unsaid_;
  LtHandle handle_ = nullptr;  // kept for the life of the process
  Lru<Hash128, std::shared_ptr<const LtGemm>> buckets_{kMaxPrepared};  // by the bucket's problem
  Lru<Hash128, bool> keeps_nan_{kMaxPrepared};  // by algorithm and what it was tried with
  Lru<Hash128, std::shared_ptr<const PreparedGemm>> prepared_{kMaxPrepared};
};

}  // namespace jitfuse::internal

#endif  // JITFUSE_JIT_CUDA_GEMM_CUBLASLT_H_
