#include "jit/cuda/gemm_cublaslt.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "codegen/fusion/gemm_runs.h"
#include "ir/support/status.h"

namespace jitfuse::internal {
namespace {

// Enough for every shape asked of an H100 (17 MB was the most).
constexpr uint64_t kMaxWorkspace = uint64_t{32} << 20;

struct TypeRow {
  DType dtype;
  CudaDataType data, scale;
  CublasComputeType compute;
};
constexpr std::array<TypeRow, 4> kTypes = {
    {{DType::kF16, kCudaR16F, kCudaR32F, kCublasCompute32F},
     {DType::kBF16, kCudaR16BF, kCudaR32F, kCublasCompute32F},
     {DType::kF32, kCudaR32F, kCudaR32F, kCublasCompute32F},
     {DType::kF64, kCudaR64F, kCudaR64F, kCublasCompute64F}}};

const TypeRow* FindType(DType dtype) {
  for (const TypeRow& row : kTypes) {
    if (row.dtype == dtype) return &row;
  }
  return nullptr;
}

std::string Text(const GemmProblem& p) {
  return absl::StrCat(ToAbsl(DTypeName(p.dtype)), " ", p.batch, " x [", p.m, ",", p.k, "]",
                      p.transpose_a ? "^T" : "", " [", p.k, ",", p.n, "]",
                      p.transpose_b ? "^T" : "", ", ld ", p.lda, " ", p.ldb, " ", p.ldd, ", align ",
                      p.align);
}

absl::Status LtStatus(CublasResult result, std::string_view call, const GemmProblem& p) {
  if (result == kCublasSuccess) return absl::OkStatus();
  const std::string message = absl::StrCat(ToAbsl(call), " failed with cuBLAS status ",
                                           static_cast<int>(result), " for ", Text(p));
  return result == kCublasNotSupported ? absl::UnimplementedError(message)
                                       : absl::InternalError(message);
}

// Owns a library object; the deleter is the table's function.
template <typename T>
class Owned {
 public:
  explicit Owned(CublasResult (*destroy)(T)) : destroy_(destroy) {}
  ~Owned() {
    if (value_ != nullptr) destroy_(value_);
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  T* out() { return &value_; }
  T get() const { return value_; }

 private:
  CublasResult (*destroy_)(T);
  T value_ = nullptr;
};

class LtGemm : public PreparedGemm {
 public:
  LtGemm(const CublasLtApi& api, const GemmRuns& r, const TypeRow& types)
      : runs(r),
        type(types),
        desc(api.MatmulDescDestroy),
        a(api.MatrixLayoutDestroy),
        b(api.MatrixLayoutDestroy),
        d(api.MatrixLayoutDestroy) {}
  size_t workspace_bytes() const override { return workspace; }
  std::string Describe() const override { return text; }
  const GemmProblem& problem() const { return runs.each; }
  bool IsEmpty() const { return problem().batch == 0 || problem().m == 0 || problem().n == 0; }

  GemmRuns runs;
  TypeRow type;
  Owned<LtMatmulDesc> desc;
  Owned<LtMatrixLayout> a, b, d;  // the library's: a is our B, b our A
  LtAlgo algo{};
  LtHandle handle = nullptr;
  size_t workspace = 0;
  std::string text;
};

// One operand as the library sees it: our row-major [rows, columns] is its column-major [columns,
// rows].
absl::Status Layout(const CublasLtApi& api, const LtGemm& gemm, int64_t rows, int64_t columns,
                    int64_t ld, int64_t batch_stride, LtMatrixLayout* out) {
  const GemmProblem& p = gemm.problem();
  // The distance of rows means nothing where there is one row; the library still checks it.
  if (rows <= 1) ld = std::max(ld, columns);
  if (ld < columns)
    return InvalidArgument("matrix product ", Text(p), ": rows of ", columns, " elements are ", ld,
                           " apart");
  JF_RETURN_IF_ERROR(
      LtStatus(api.MatrixLayoutCreate(out, gemm.type.data, static_cast<uint64_t>(columns),
                                      static_cast<uint64_t>(rows), std::max<int64_t>(ld, 1)),
               "cublasLtMatrixLayoutCreate", p));
  if (p.batch == 1) return absl::OkStatus();
  const auto count = static_cast<int32_t>(p.batch);
  if (count != p.batch)
    return InvalidArgument("matrix product ", Text(p), ": more than 2^31 - 1 batches");
  JF_RETURN_IF_ERROR(
      LtStatus(api.MatrixLayoutSetAttribute(*out, kLtBatchCount, &count, sizeof count),
               "cublasLtMatrixLayoutSetAttribute", p));
  return LtStatus(
      api.MatrixLayoutSetAttribute(*out, kLtStridedBatchOffset, &batch_stride, sizeof batch_stride),
      "cublasLtMatrixLayoutSetAttribute", p);
}

absl::Status Describe(const CublasLtApi& api, LtGemm* gemm) {
  const GemmProblem& p = gemm->problem();
  const bool tf32 = p.allow_tf32 && p.dtype == DType::kF32;
  JF_RETURN_IF_ERROR(LtStatus(
      api.MatmulDescCreate(gemm->desc.out(), tf32 ? kCublasCompute32FFastTf32 : gemm->type.compute,
                           gemm->type.scale),
      "cublasLtMatmulDescCreate", p));
  const int32_t op_a = p.transpose_b ? kCublasT : kCublasN;
  const int32_t op_b = p.transpose_a ? kCublasT : kCublasN;
  JF_RETURN_IF_ERROR(
      LtStatus(api.MatmulDescSetAttribute(gemm->desc.get(), kLtTransA, &op_a, sizeof op_a),
               "cublasLtMatmulDescSetAttribute", p));
  JF_RETURN_IF_ERROR(
      LtStatus(api.MatmulDescSetAttribute(gemm->desc.get(), kLtTransB, &op_b, sizeof op_b),
               "cublasLtMatmulDescSetAttribute", p));
  const auto [b_rows, b_columns] = p.transpose_b ? std::pair(p.n, p.k) : std::pair(p.k, p.n);
  const auto [a_rows, a_columns] = p.transpose_a ? std::pair(p.k, p.m) : std::pair(p.m, p.k);
  JF_RETURN_IF_ERROR(Layout(api, *gemm, b_rows, b_columns, p.ldb, p.batch_stride_b, gemm->a.out()));
  JF_RETURN_IF_ERROR(Layout(api, *gemm, a_rows, a_columns, p.lda, p.batch_stride_a, gemm->b.out()));
  return Layout(api, *gemm, p.m, p.n, p.ldd, p.batch_stride_d, gemm->d.out());
}

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

absl::Status PickAlgorithm(const CublasLtApi& api, LtGemm* gemm) {
  const GemmProblem& p = gemm->problem();
  Owned<LtPreference> preference(api.MatmulPreferenceDestroy);
  JF_RETURN_IF_ERROR(
      LtStatus(api.MatmulPreferenceCreate(preference.out()), "cublasLtMatmulPreferenceCreate", p));
  JF_RETURN_IF_ERROR(SetPreference(api, p, preference.get()));
  LtHeuristicResult result{};
  int found = 0;
  JF_RETURN_IF_ERROR(
      LtStatus(api.MatmulAlgoGetHeuristic(gemm->handle, gemm->desc.get(), gemm->a.get(),
                                          gemm->b.get(), gemm->d.get(), gemm->d.get(),
                                          preference.get(), 1, &result, &found),
               "cublasLtMatmulAlgoGetHeuristic", p));
  if (found == 0)
    return absl::UnimplementedError(
        absl::StrCat("cuBLASLt ", api.version, " has no algorithm for ", Text(p)));
  JF_RETURN_IF_ERROR(LtStatus(result.state, "cublasLtMatmulAlgoGetHeuristic", p));
  gemm->algo = result.algo;
  gemm->workspace = result.workspace_bytes;
  gemm->text = absl::StrCat(
      gemm->runs.repeats > 1
          ? absl::StrCat(gemm->runs.repeats,
                         " calls, one a batch (they run backwards or into each other): ")
          : "",
      "cuBLASLt ", api.version, ", algorithm ", AlgoAttribute(api, result.algo, kLtAlgoId),
      ", tile ", AlgoAttribute(api, result.algo, kLtAlgoTile), ", split-k ",
      AlgoAttribute(api, result.algo, kLtAlgoSplitK), ", workspace ", gemm->workspace);
  return absl::OkStatus();
}

absl::Status CheckProblem(const GemmProblem& p) {
  if (p.batch < 0 || p.m < 0 || p.n < 0 || p.k < 0)
    return InvalidArgument("matrix product ", Text(p), ": a negative extent");
  if (p.batch > 0 && p.m > 0 && p.n > 0 && p.k == 0)
    return InvalidArgument("matrix product ", Text(p),
                           ": k is 0, so the result is zeros, which the library is not asked for");
  if (p.align < ItemSize(p.dtype))
    return InvalidArgument("matrix product ", Text(p),
                           ": operands must be aligned to their elements");
  if (p.batch > 1 && p.m > 0 && p.n > 0 && p.batch_stride_d < (p.m - 1) * p.ldd + p.n)
    return InvalidArgument("matrix product ", Text(p), ": results ", p.batch_stride_d,
                           " elements apart overlap");
  return absl::OkStatus();
}

}  // namespace

bool CublasLtTakes(DType dtype) { return FindType(dtype) != nullptr; }

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
  const TypeRow* type = FindType(problem.dtype);
  if (type == nullptr)
    return InvalidArgument("cuBLASLt does not multiply ", ToAbsl(DTypeName(problem.dtype)));
  JF_RETURN_IF_ERROR(CheckProblem(problem));
  const Hash128 key = problem.Key();
  std::lock_guard<std::mutex> lock(mu_);
  if (const auto* there = prepared_.Find(key)) return *there;
  auto gemm = std::make_shared<LtGemm>(api_, RunsOf(problem, MatrixEnd::kLastElement), *type);
  if (gemm->IsEmpty()) {
    gemm->text = "empty result, nothing to do";
  } else {
    JF_ASSIGN_OR_RETURN(gemm->handle, Handle());
    JF_RETURN_IF_ERROR(Describe(api_, gemm.get()));
    JF_RETURN_IF_ERROR(PickAlgorithm(api_, gemm.get()));
  }
  return prepared_.Insert(key, std::move(gemm));
}

absl::Status CublasLtGemms::Run(const PreparedGemm& prepared, const GemmBuffers& buffers,
                                StreamHandle stream) const {
  const auto& gemm = static_cast<const LtGemm&>(prepared);
  if (gemm.IsEmpty()) return absl::OkStatus();
  const float one_f32 = 1, zero_f32 = 0;
  const double one_f64 = 1, zero_f64 = 0;
  const bool f64 = gemm.type.scale == kCudaR64F;
  const void* alpha = f64 ? static_cast<const void*>(&one_f64) : &one_f32;
  const void* beta = f64 ? static_cast<const void*>(&zero_f64) : &zero_f32;
  const int64_t size = ItemSize(gemm.problem().dtype);
  for (int64_t i = 0; i < gemm.runs.repeats; ++i) {
    const void* a_i = static_cast<const char*>(buffers.a) + i * gemm.runs.step_a * size;
    const void* b_i = static_cast<const char*>(buffers.b) + i * gemm.runs.step_b * size;
    void* d_i = static_cast<char*>(buffers.d) + i * gemm.runs.step_d * size;
    JF_RETURN_IF_ERROR(
        LtStatus(api_.Matmul(gemm.handle, gemm.desc.get(), alpha, b_i, gemm.a.get(), a_i,
                             gemm.b.get(), beta, d_i, gemm.d.get(), d_i, gemm.d.get(), &gemm.algo,
                             buffers.workspace, gemm.workspace, static_cast<CuStream>(stream)),
                 "cublasLtMatmul", gemm.problem()));
  }
  return absl::OkStatus();
}

}  // namespace jitfuse::internal
