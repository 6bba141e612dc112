#include "jit/cuda/gemm_cublaslt.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "codegen/fusion/gemm_runs.h"
#include "ir/scalar_value.h"
#include "ir/support/dump.h"
#include "ir/support/status.h"
#include "jit/cuda/lt_gemm.h"

namespace jitfuse::internal {
namespace {

// Enough for every shape asked of an H100 (17 MB was the most).
constexpr uint64_t kMaxWorkspace = uint64_t{32} << 20;
// How many algorithms are looked at for one that keeps NaN.
constexpr int kCandidates = 16;

absl::Status SetPreference(const CublasLtApi& api, const GemmProblem& p, LtPreference preference) {
  auto set = [&](LtPreferenceAttribute attribute, const void* value, size_t size) {
    return LtStatus(api.MatmulPreferenceSetAttribute(preference, attribute, value, size),
                    "cublasLtMatmulPreferenceSetAttribute", p);
  };
  JF_RETURN_IF_ERROR(set(kLtMaxWorkspaceBytes, &kMaxWorkspace, sizeof kMaxWorkspace));
  // A split along k may keep its partial sums in the compute type only: in the output's, f16 would
  // overflow and bf16 round.
  const uint32_t reductions = kLtReductionComputeType;
  JF_RETURN_IF_ERROR(set(kLtReductionSchemeMask, &reductions, sizeof reductions));
  const auto align = static_cast<uint32_t>(p.align);
  for (LtPreferenceAttribute a :
       {kLtMinAlignmentA, kLtMinAlignmentB, kLtMinAlignmentC, kLtMinAlignmentD}) {
    JF_RETURN_IF_ERROR(set(a, &align, sizeof align));
  }
  return absl::OkStatus();
}

int32_t AlgoAttribute(const CublasLtApi& api, const LtAlgo& algo, LtAlgoAttribute attribute) {
  int32_t value = -1;
  size_t written = 0;
  return api.MatmulAlgoConfigGetAttribute(&algo, attribute, &value, sizeof value, &written) ==
                 kCublasSuccess
             ? value
             : -1;
}

absl::StatusOr<std::vector<LtHeuristicResult>> HeuristicsOf(const CublasLtApi& api,
                                                            const LtGemm& gemm, int wanted) {
  const GemmProblem& p = gemm.problem();
  LtOwned<LtPreference> preference(api.MatmulPreferenceDestroy);
  JF_RETURN_IF_ERROR(
      LtStatus(api.MatmulPreferenceCreate(preference.out()), "cublasLtMatmulPreferenceCreate", p));
  JF_RETURN_IF_ERROR(SetPreference(api, p, preference.get()));
  std::vector<LtHeuristicResult> results(static_cast<size_t>(wanted));
  int found = 0;
  JF_RETURN_IF_ERROR(
      LtStatus(api.MatmulAlgoGetHeuristic(gemm.handle, gemm.desc.get(), gemm.a.get(), gemm.b.get(),
                                          gemm.c_layout(), gemm.d.get(), preference.get(), wanted,
                                          results.data(), &found),
               "cublasLtMatmulAlgoGetHeuristic", p));
  if (found == 0)
    return absl::UnimplementedError(
        absl::StrCat("cuBLASLt ", api.version, " has no algorithm for ", LtText(p)));
  results.resize(static_cast<size_t>(found));
  JF_RETURN_IF_ERROR(LtStatus(results[0].state, "cublasLtMatmulAlgoGetHeuristic", p));
  return results;
}

void Use(const CublasLtApi& api, const LtHeuristicResult& result, LtGemm* gemm) {
  gemm->algo = result.algo;
  gemm->workspace = result.workspace_bytes;
  gemm->text = absl::StrCat(
      gemm->runs.repeats > 1
          ? absl::StrCat(gemm->runs.repeats,
                         " calls, one a batch (they run backwards or into each other): ")
          : "",
      "cuBLASLt ", api.version, ", algorithm ", AlgoAttribute(api, result.algo, kLtAlgoId),
      ", tile ", AlgoAttribute(api, result.algo, kLtAlgoTile), ", split-k ",
      AlgoAttribute(api, result.algo, kLtAlgoSplitK), ", workspace ", gemm->workspace,
      gemm->problem().epilogue.empty()
          ? ""
          : absl::StrCat(", computes ", EpilogueToString(gemm->problem().epilogue)),
      gemm->aux ? " with a mask that nobody reads (without one, NaN would become 0)" : "");
}

// The problem with the greatest m that shares its algorithm: the next power of two.
GemmProblem LargestOfBucket(GemmProblem p) {
  const int64_t m = p.m;
  p.m = m <= 1 ? m : static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(m)));
  if (p.transpose_a) p.lda += p.m - m;
  if (p.batch == 1) p.batch_stride_a = p.batch_stride_b = p.batch_stride_c = p.batch_stride_d = 0;
  auto grow = [&](int64_t* stride, int64_t elements) {
    if (*stride != 0) *stride += (p.m - m) * elements;
  };
  grow(&p.batch_stride_a, p.transpose_a ? p.k : p.lda);
  grow(&p.batch_stride_c, p.ldc);
  grow(&p.batch_stride_d, p.ldd);
  return p;
}

// Whether the algorithm of a symbolic m is its bucket's: of products that an H200 is through with
// in some 10 us. A larger one is asked about by itself, in 10 us (f32, f64) or 150 (others), once a
// size: with the algorithm for up to twice as many rows half of 60 products [n,m] x [m,256] took
// more than 1.19 times as long, one 1.9 times, in every call.
bool IsByBucket(const GemmProblem& p) {
  constexpr double kWideFlops = 0.5e9, kFlops = 1.5e9;
  const bool wide = (p.dtype == DType::kF32 && !p.allow_tf32) || p.dtype == DType::kF64;
  const double flops = 2.0 * static_cast<double>(p.batch) * static_cast<double>(p.m) *
                       static_cast<double>(p.n) * static_cast<double>(p.k);
  return p.symbolic_m && flops < (wide ? kWideFlops : kFlops);
}

// A product that takes the same kernels and microseconds: small, and aligned like `p`.
GemmProblem Small(GemmProblem p) {
  auto shrink = [](int64_t extent) { return extent <= 128 ? extent : 128 + extent % 8; };
  auto ld = [](int64_t was, int64_t columns, int64_t now) {
    return was < columns ? now : now + (was - columns) % 8;
  };
  const GemmProblem was = p;
  p.batch = 1;
  p.batch_stride_a = p.batch_stride_b = p.batch_stride_c = p.batch_stride_d = 0;
  p.m = shrink(p.m);
  p.n = shrink(p.n);
  p.k = shrink(p.k);
  p.lda = p.transpose_a ? ld(was.lda, was.m, p.m) : ld(was.lda, was.k, p.k);
  p.ldb = p.transpose_b ? ld(was.ldb, was.k, p.k) : ld(was.ldb, was.n, p.n);
  p.ldc = ld(was.ldc, was.n, p.n);
  p.ldd = ld(was.ldd, was.n, p.n);
  return p;
}

bool AllNan(const GemmProblem& p, const std::string& d) {
  const auto size = static_cast<size_t>(ItemSize(p.result()));
  for (int64_t row = 0; row < p.m; ++row) {
    for (int64_t column = 0; column < p.n; ++column) {
      const auto at = static_cast<size_t>(row * p.ldd + column) * size;
      const double x = ScalarToDouble(p.result(), LoadScalar(p.result(), d.data() + at));
      if (x == x) return false;
    }
  }
  return true;
}

absl::Status CheckProblem(const GemmProblem& p) {
  if (p.batch < 0 || p.m < 0 || p.n < 0 || p.k < 0)
    return InvalidArgument("matrix product ", LtText(p), ": a negative extent");
  if (p.batch > 0 && p.m > 0 && p.n > 0 && p.k == 0)
    return InvalidArgument("matrix product ", LtText(p),
                           ": k is 0, so the result is zeros, which the library is not asked for");
  if (p.align < ItemSize(p.result()))
    return InvalidArgument("matrix product ", LtText(p),
                           ": operands must be aligned to their elements");
  if (p.batch > 1 && p.m > 0 && p.n > 0 && p.batch_stride_d < (p.m - 1) * p.ldd + p.n)
    return InvalidArgument("matrix product ", LtText(p), ": results ", p.batch_stride_d,
                           " elements apart overlap");
  return absl::OkStatus();
}

absl::StatusOr<const LtTypes*> TypesOf(const GemmProblem& p) {
  const LtTypes* types = FindLtTypes(p.dtype);
  if (types == nullptr)
    return InvalidArgument("cuBLASLt does not multiply ", ToAbsl(DTypeName(p.dtype)));
  JF_RETURN_IF_ERROR(CheckProblem(p));
  return types;
}

bool SameAlgo(const LtAlgo& a, const LtAlgo& b) {
  return std::equal(std::begin(a.data), std::end(a.data), std::begin(b.data));
}

bool UsesRelu(const GemmProblem& p) { return p.epilogue.activation == GemmActivation::kRelu; }

}  // namespace

bool CublasLtTakes(DType dtype) { return FindLtTypes(dtype) != nullptr; }

CublasLtGemms::Lock::~Lock() {
  const std::vector<std::string> unsaid = std::exchange(gemms_->unsaid_, {});
  lock_.unlock();
  for (const std::string& message : unsaid) Log(1, message);
}

absl::StatusOr<LtHandle> CublasLtGemms::Handle() {
  if (handle_ == nullptr) {
    const CublasResult result = api_.Create(&handle_);
    if (result != kCublasSuccess)
      return InternalError("cublasLtCreate failed with cuBLAS status ", static_cast<int>(result));
  }
  return handle_;
}

absl::StatusOr<std::shared_ptr<const PreparedGemm>> CublasLtGemms::Prepare(
    const GemmProblem& problem) {
  JF_ASSIGN_OR_RETURN(const LtTypes* types, TypesOf(problem));
  const Lock lock(this);
  return PrepareLocked(problem, *types);
}

absl::StatusOr<std::shared_ptr<const PreparedGemm>> CublasLtGemms::PrepareLocked(
    const GemmProblem& problem, const LtTypes& types) {
  const Hash128 key = problem.Key();
  if (const auto* there = prepared_.Find(key)) return *there;
  JF_RETURN_IF_ERROR(Handle().status());
  JF_ASSIGN_OR_RETURN(std::shared_ptr<LtGemm> gemm, IsByBucket(problem)
                                                        ? ChooseByBucket(problem, types)
                                                        : Choose(problem, types));
  return prepared_.Insert(key, std::move(gemm));
}

absl::StatusOr<std::vector<std::shared_ptr<const PreparedGemm>>> CublasLtGemms::Candidates(
    const GemmProblem& problem, int most) {
  JF_ASSIGN_OR_RETURN(const LtTypes* types, TypesOf(problem));
  const Lock lock(this);
  JF_ASSIGN_OR_RETURN(std::shared_ptr<const PreparedGemm> first, PrepareLocked(problem, *types));
  std::vector<std::shared_ptr<const PreparedGemm>> out = {first};
  const auto& chosen = static_cast<const LtGemm&>(*first);
  if (chosen.IsEmpty()) return out;
  const GemmProblem largest = IsByBucket(problem) ? LargestOfBucket(problem) : problem;
  LtGemm asked(api_, chosen.aux ? OneByOne(largest) : RunsOf(largest, MatrixEnd::kLastElement),
               *types);
  asked.aux = chosen.aux;
  asked.handle = handle_;
  JF_RETURN_IF_ERROR(DescribeLtGemm(api_, &asked));
  JF_ASSIGN_OR_RETURN(std::vector<LtHeuristicResult> found,
                      HeuristicsOf(api_, asked, std::max(most, kCandidates)));
  const bool relu = UsesRelu(problem);
  for (const LtHeuristicResult& candidate : found) {
    if (out.size() >= static_cast<size_t>(most)) break;
    if (candidate.state != kCublasSuccess || SameAlgo(candidate.algo, chosen.algo)) continue;
    const Nan nan = relu ? WhatBecomesOfNan(asked, candidate.algo) : Nan::kKept;
    if (nan == Nan::kLost || (nan == Nan::kUnknown && !chosen.aux)) continue;
    JF_ASSIGN_OR_RETURN(std::shared_ptr<LtGemm> fits,
                        Fitted(problem, *types, candidate.algo, chosen.aux));
    if (fits != nullptr) out.push_back(std::move(fits));
  }
  return out;
}

absl::StatusOr<std::shared_ptr<const PreparedGemm>> CublasLtGemms::PrepareWith(
    const GemmProblem& problem, const std::string& algorithm) {
  JF_ASSIGN_OR_RETURN(const LtTypes* types, TypesOf(problem));
  LtAlgo algo;
  bool aux = false;
  if (!ParseLtAlgo(algorithm, &algo, &aux))
    return InvalidArgument("'", algorithm,
                           "' is no algorithm of cuBLASLt, expected lt:, 128 "
                           "hexadecimal digits, and maybe +mask");
  const Lock lock(this);
  JF_RETURN_IF_ERROR(Handle().status());
  const auto refused = [&](const char* why) {
    return NotFound("the algorithm that was chosen ", why, " in ", LtText(problem));
  };
  if (aux && !UsesRelu(problem)) return refused("writes a mask of relu, which there is none of");
  JF_ASSIGN_OR_RETURN(std::shared_ptr<LtGemm> gemm, Fitted(problem, *types, algo, aux));
  if (gemm == nullptr) return refused("does not fit");
  if (UsesRelu(problem)) {
    const Nan nan = WhatBecomesOfNan(*gemm, algo);
    if (nan == Nan::kLost || (nan == Nan::kUnknown && !aux)) return refused("loses NaN");
  }
  return std::shared_ptr<const PreparedGemm>(std::move(gemm));
}

absl::StatusOr<std::shared_ptr<LtGemm>> CublasLtGemms::Choose(const GemmProblem& problem,
                                                              const LtTypes& types) {
  auto gemm = std::make_shared<LtGemm>(api_, RunsOf(problem, MatrixEnd::kLastElement), types);
  if (gemm->IsEmpty()) {
    gemm->text = "empty result, nothing to do";
    return gemm;
  }
  gemm->handle = handle_;
  JF_RETURN_IF_ERROR(DescribeLtGemm(api_, gemm.get()));
  JF_ASSIGN_OR_RETURN(bool keeps_nan, Pick(gemm.get()));
  if (keeps_nan) return gemm;
  return WithMask(problem, types);
}

absl::StatusOr<std::shared_ptr<LtGemm>> CublasLtGemms::ChooseByBucket(const GemmProblem& problem,
                                                                      const LtTypes& types) {
  const GemmProblem largest = LargestOfBucket(problem);
  std::shared_ptr<const LtGemm> bucket;
  if (const auto* there = buckets_.Find(largest.Key())) {
    bucket = *there;
  } else {
    absl::StatusOr<std::shared_ptr<LtGemm>> made = Choose(largest, types);
    if (!made.ok()) return Choose(problem, types);  // beyond the library's limits, say
    bucket = buckets_.Insert(largest.Key(), *std::move(made));
  }
  JF_ASSIGN_OR_RETURN(std::shared_ptr<LtGemm> gemm,
                      Fitted(problem, types, bucket->algo, bucket->aux));
  if (gemm == nullptr) return Choose(problem, types);
  absl::StrAppend(&gemm->text, ", chosen for m up to ", largest.m);
  return gemm;
}

absl::StatusOr<std::shared_ptr<LtGemm>> CublasLtGemms::Fitted(const GemmProblem& problem,
                                                              const LtTypes& types,
                                                              const LtAlgo& algo, bool aux) {
  auto gemm = std::make_shared<LtGemm>(
      api_, aux ? OneByOne(problem) : RunsOf(problem, MatrixEnd::kLastElement), types);
  if (gemm->IsEmpty()) return nullptr;
  gemm->aux = aux;
  gemm->handle = handle_;
  JF_RETURN_IF_ERROR(DescribeLtGemm(api_, gemm.get()));
  LtHeuristicResult checked{};
  const CublasResult fits =
      api_.MatmulAlgoCheck(handle_, gemm->desc.get(), gemm->a.get(), gemm->b.get(),
                           gemm->c_layout(), gemm->d.get(), &algo, &checked);
  if (fits != kCublasSuccess || checked.workspace_bytes > kMaxWorkspace) return nullptr;
  checked.algo = algo;
  Use(api_, checked, gemm.get());
  return gemm;
}

// The library's first answer; behind relu the first that is seen to keep NaN, or false.
absl::StatusOr<bool> CublasLtGemms::Pick(LtGemm* gemm) {
  const bool relu = UsesRelu(gemm->problem());
  JF_ASSIGN_OR_RETURN(std::vector<LtHeuristicResult> candidates,
                      HeuristicsOf(api_, *gemm, relu ? kCandidates : 1));
  for (const LtHeuristicResult& candidate : candidates) {
    if (candidate.state != kCublasSuccess ||
        (relu && WhatBecomesOfNan(*gemm, candidate.algo) != Nan::kKept))
      continue;
    Use(api_, candidate, gemm);
    return true;
  }
  return false;
}

// The mask of a batch has a place for one matrix: they are multiplied one by one. Every algorithm
// that was met keeps NaN where it writes relu's mask, so what cannot be tried is believed.
absl::StatusOr<std::shared_ptr<LtGemm>> CublasLtGemms::WithMask(const GemmProblem& problem,
                                                                const LtTypes& types) {
  auto gemm = std::make_shared<LtGemm>(api_, OneByOne(problem), types);
  gemm->aux = true;
  gemm->handle = handle_;
  JF_RETURN_IF_ERROR(DescribeLtGemm(api_, gemm.get()));
  JF_ASSIGN_OR_RETURN(std::vector<LtHeuristicResult> candidates,
                      HeuristicsOf(api_, *gemm, kCandidates));
  for (const LtHeuristicResult& candidate : candidates) {
    if (candidate.state != kCublasSuccess || WhatBecomesOfNan(*gemm, candidate.algo) == Nan::kLost)
      continue;
    Use(api_, candidate, gemm.get());
    return gemm;
  }
  return Unimplemented("cuBLASLt ", api_.version,
                       " has no algorithm that keeps NaN behind relu for ", LtText(problem),
                       ": compile without the matrix library");
}

// By a small product of NaN with the same algorithm.
CublasLtGemms::Nan CublasLtGemms::WhatBecomesOfNan(const LtGemm& gemm, const LtAlgo& algo) {
  const GemmProblem small = Small(gemm.problem());
  Hasher hasher;
  for (uint64_t word : algo.data) hasher.Int(static_cast<int64_t>(word));
  const Hash128 key = hasher.Hash(small.Key()).Int(gemm.aux).Finish();
  if (const bool* known = keeps_nan_.Find(key)) return *known ? Nan::kKept : Nan::kLost;
  const absl::StatusOr<bool> tried = Try(small, gemm, algo);
  if (!tried.ok()) {
    if (LogEnabled(1))
      unsaid_.push_back(
          absl::StrCat("an algorithm of cuBLASLt could not be tried: ", tried.status().ToString()));
    return Nan::kUnknown;
  }
  keeps_nan_.Insert(key, *tried);
  return *tried ? Nan::kKept : Nan::kLost;
}

absl::StatusOr<bool> CublasLtGemms::Try(const GemmProblem& small, const LtGemm& of,
                                        const LtAlgo& algo) {
  LtGemm gemm(api_, {small}, of.types);
  gemm.aux = of.aux;
  gemm.handle = handle_;
  gemm.algo = algo;
  JF_RETURN_IF_ERROR(DescribeLtGemm(api_, &gemm));
  LtHeuristicResult checked{};
  JF_RETURN_IF_ERROR(
      LtStatus(api_.MatmulAlgoCheck(handle_, gemm.desc.get(), gemm.a.get(), gemm.b.get(),
                                    gemm.c_layout(), gemm.d.get(), &algo, &checked),
               "cublasLtMatmulAlgoCheck", small));
  gemm.workspace = checked.workspace_bytes;
  auto bytes = [&](int64_t rows, int64_t ld, DType dtype) {
    return static_cast<size_t>(rows * ld * ItemSize(dtype));
  };
  const DType result = small.result();
  GemmTrial trial;
  trial.a_bytes = bytes(small.transpose_a ? small.k : small.m, small.lda, small.dtype);
  trial.b_bytes = bytes(small.transpose_b ? small.n : small.k, small.ldb, small.dtype);
  trial.c_bytes = small.epilogue.has_c() ? bytes(small.m, small.ldc, result) : 0;
  trial.bias_bytes = bytes(1, small.n, result);
  trial.d_bytes = bytes(small.m, small.ldd, result);
  trial.workspace_bytes = gemm.workspace_bytes();
  trial.launch = [&](const GemmBuffers& buffers, StreamHandle stream) {
    return RunLtGemm(api_, gemm, buffers, stream);
  };
  JF_ASSIGN_OR_RETURN(std::string d, trial_(trial));
  return AllNan(small, d);
}

absl::Status CublasLtGemms::Run(const PreparedGemm& prepared, const GemmBuffers& buffers,
                                StreamHandle stream) const {
  return RunLtGemm(api_, static_cast<const LtGemm&>(prepared), buffers, stream);
}

}  // namespace jitfuse::internal
