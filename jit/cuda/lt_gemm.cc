#include "jit/cuda/lt_gemm.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "ir/support/status.h"

namespace jitfuse::internal {
namespace {

constexpr std::array<LtTypes, 4> kTypes = {
    {{DType::kF16, kCudaR16F, kCudaR32F, kCublasCompute32F},
     {DType::kBF16, kCudaR16BF, kCudaR32F, kCublasCompute32F},
     {DType::kF32, kCudaR32F, kCudaR32F, kCublasCompute32F},
     {DType::kF64, kCudaR64F, kCudaR64F, kCublasCompute64F}}};

// One operand as the library sees it: our row-major [rows, columns] is its column-major [columns,
// rows].
absl::Status MakeLayout(const CublasLtApi& api, const LtGemm& gemm, CudaDataType type, int64_t rows,
                        int64_t columns, int64_t ld, int64_t batch_stride, LtMatrixLayout* out) {
  const GemmProblem& p = gemm.problem();
  // The distance of rows means nothing where there is one row; the library still checks it.
  if (rows <= 1) ld = std::max(ld, columns);
  if (ld < columns)
    return InvalidArgument("matrix product ", LtText(p), ": rows of ", columns, " elements are ",
                           ld, " apart");
  JF_RETURN_IF_ERROR(
      LtStatus(api.MatrixLayoutCreate(out, type, static_cast<uint64_t>(columns),
                                      static_cast<uint64_t>(rows), std::max<int64_t>(ld, 1)),
               "cublasLtMatrixLayoutCreate", p));
  if (p.batch == 1) return absl::OkStatus();
  const auto count = static_cast<int32_t>(p.batch);
  if (count != p.batch)
    return InvalidArgument("matrix product ", LtText(p), ": more than 2^31 - 1 batches");
  JF_RETURN_IF_ERROR(
      LtStatus(api.MatrixLayoutSetAttribute(*out, kLtBatchCount, &count, sizeof count),
               "cublasLtMatrixLayoutSetAttribute", p));
  return LtStatus(
      api.MatrixLayoutSetAttribute(*out, kLtStridedBatchOffset, &batch_stride, sizeof batch_stride),
      "cublasLtMatrixLayoutSetAttribute", p);
}

uint32_t EpilogueBits(const LtGemm& gemm) {
  const GemmEpilogue& e = gemm.problem().epilogue;
  uint32_t bits = e.bias ? uint32_t{kLtEpilogueBias} : 0;
  if (e.activation == GemmActivation::kRelu) bits |= kLtEpilogueRelu;
  if (e.activation == GemmActivation::kGeluTanh) bits |= kLtEpilogueGelu;
  if (gemm.aux) bits |= kLtEpilogueAux;
  return bits == 0 ? uint32_t{kLtEpilogueDefault} : bits;
}

absl::Status MakeDesc(const CublasLtApi& api, const LtGemm& gemm, const void* bias, const void* aux,
                      LtMatmulDesc* out) {
  const GemmProblem& p = gemm.problem();
  const bool tf32 = p.allow_tf32 && p.dtype == DType::kF32;
  JF_RETURN_IF_ERROR(
      LtStatus(api.MatmulDescCreate(out, tf32 ? kCublasCompute32FFastTf32 : gemm.types.compute,
                                    gemm.types.scale),
               "cublasLtMatmulDescCreate", p));
  auto set = [&](LtMatmulDescAttribute attribute, const auto& value) {
    return LtStatus(api.MatmulDescSetAttribute(*out, attribute, &value, sizeof value),
                    "cublasLtMatmulDescSetAttribute", p);
  };
  JF_RETURN_IF_ERROR(set(kLtTransA, static_cast<int32_t>(p.transpose_b ? kCublasT : kCublasN)));
  JF_RETURN_IF_ERROR(set(kLtTransB, static_cast<int32_t>(p.transpose_a ? kCublasT : kCublasN)));
  const uint32_t bits = EpilogueBits(gemm);
  if (bits == kLtEpilogueDefault) return absl::OkStatus();
  JF_RETURN_IF_ERROR(set(kLtEpilogue, bits));
  if (p.epilogue.bias) JF_RETURN_IF_ERROR(set(kLtBiasPointer, bias));
  if (!gemm.aux) return absl::OkStatus();
  JF_RETURN_IF_ERROR(set(kLtEpilogueAuxPointer, aux));
  return set(kLtEpilogueAuxLd, gemm.AuxLd());
}

// Alpha or beta as the library reads it.
struct Factor {
  Factor(double v, bool is_f64) : f64(v), f32(static_cast<float>(v)), wide(is_f64) {}
  const void* get() const { return wide ? static_cast<const void*>(&f64) : &f32; }
  double f64;
  float f32;
  bool wide;
};

}  // namespace

const LtTypes* FindLtTypes(DType dtype) {
  for (const LtTypes& row : kTypes) {
    if (row.dtype == dtype) return &row;
  }
  return nullptr;
}

std::string LtAlgoText(const LtAlgo& algo, bool aux) {
  std::string out = "lt:";
  for (uint64_t word : algo.data) absl::StrAppend(&out, absl::Hex(word, absl::kZeroPad16));
  return aux ? out + "+mask" : out;
}

bool ParseLtAlgo(std::string_view text, LtAlgo* algo, bool* aux) {
  absl::string_view rest = ToAbsl(text);
  if (!absl::ConsumePrefix(&rest, "lt:")) return false;
  *aux = absl::ConsumeSuffix(&rest, "+mask");
  if (rest.size() != 16 * std::size(algo->data)) return false;
  for (uint64_t& word : algo->data) {
    const absl::string_view digits = rest.substr(0, 16);
    if (!std::all_of(digits.begin(), digits.end(), absl::ascii_isxdigit) ||
        !absl::SimpleHexAtoi(digits, &word))
      return false;
    rest.remove_prefix(16);
  }
  return true;
}

LtGemm::LtGemm(const CublasLtApi& api, const GemmRuns& r, const LtTypes& t)
    : runs(r),
      types(t),
      desc(api.MatmulDescDestroy),
      a(api.MatrixLayoutDestroy),
      b(api.MatrixLayoutDestroy),
      c(api.MatrixLayoutDestroy),
      d(api.MatrixLayoutDestroy) {}

std::string LtText(const GemmProblem& p) {
  return absl::StrCat(ToAbsl(DTypeName(p.dtype)), p.f32_result ? " -> f32 " : " ", p.batch, " x [",
                      p.m, ",", p.k, "]", p.transpose_a ? "^T" : "", " [", p.k, ",", p.n, "]",
                      p.transpose_b ? "^T" : "", ", ld ", p.lda, " ", p.ldb, " ", p.ldd, ", align ",
                      p.align,
                      p.epilogue.empty() ? "" : absl::StrCat(", ", EpilogueToString(p.epilogue)));
}

absl::Status LtStatus(CublasResult result, std::string_view call, const GemmProblem& p) {
  if (result == kCublasSuccess) return absl::OkStatus();
  const std::string message = absl::StrCat(ToAbsl(call), " failed with cuBLAS status ",
                                           static_cast<int>(result), " for ", LtText(p));
  return result == kCublasNotSupported ? absl::UnimplementedError(message)
                                       : absl::InternalError(message);
}

absl::Status DescribeLtGemm(const CublasLtApi& api, LtGemm* gemm) {
  const GemmProblem& p = gemm->problem();
  // Heuristics look at how the bias is aligned, and the library wants no null.
  const auto* bias =
      reinterpret_cast<const void*>((uintptr_t{1} << 20) + static_cast<uintptr_t>(p.align));
  const auto* aux = reinterpret_cast<const void*>(uintptr_t{1} << 20);
  JF_RETURN_IF_ERROR(MakeDesc(api, *gemm, bias, aux, gemm->desc.out()));
  const CudaDataType operand = gemm->types.data,
                     result = p.f32_result ? kCudaR32F : gemm->types.data;
  const auto [b_rows, b_columns] = p.transpose_b ? std::pair(p.n, p.k) : std::pair(p.k, p.n);
  const auto [a_rows, a_columns] = p.transpose_a ? std::pair(p.k, p.m) : std::pair(p.m, p.k);
  JF_RETURN_IF_ERROR(
      MakeLayout(api, *gemm, operand, b_rows, b_columns, p.ldb, p.batch_stride_b, gemm->a.out()));
  JF_RETURN_IF_ERROR(
      MakeLayout(api, *gemm, operand, a_rows, a_columns, p.lda, p.batch_stride_a, gemm->b.out()));
  if (p.epilogue.has_c())
    JF_RETURN_IF_ERROR(
        MakeLayout(api, *gemm, result, p.m, p.n, p.ldc, p.batch_stride_c, gemm->c.out()));
  return MakeLayout(api, *gemm, result, p.m, p.n, p.ldd, p.batch_stride_d, gemm->d.out());
}

absl::Status RunLtGemm(const CublasLtApi& api, const LtGemm& gemm, const GemmBuffers& buffers,
                       StreamHandle stream) {
  if (gemm.IsEmpty()) return absl::OkStatus();
  const GemmProblem& p = gemm.problem();
  const bool f64 = gemm.types.scale == kCudaR64F;
  const Factor alpha(p.epilogue.alpha, f64), beta(p.epilogue.beta, f64);
  LtOwned<LtMatmulDesc> own(api.MatmulDescDestroy);
  LtMatmulDesc desc = gemm.desc.get();
  if (p.epilogue.bias || gemm.aux) {
    const void* aux = static_cast<char*>(buffers.workspace) + gemm.AuxOffset();
    JF_RETURN_IF_ERROR(MakeDesc(api, gemm, buffers.bias, aux, own.out()));
    desc = own.get();
  }
  const int64_t size = ItemSize(p.dtype), wide = ItemSize(p.result());
  auto at = [](const void* base, int64_t bytes) { return static_cast<const char*>(base) + bytes; };
  for (int64_t i = 0; i < gemm.runs.repeats; ++i) {
    auto* d = const_cast<char*>(at(buffers.d, i * gemm.runs.step_d * wide));
    const void* c = p.epilogue.has_c() ? at(buffers.c, i * gemm.runs.step_c * wide) : d;
    JF_RETURN_IF_ERROR(LtStatus(
        api.Matmul(gemm.handle, desc, alpha.get(), at(buffers.b, i * gemm.runs.step_b * size),
                   gemm.a.get(), at(buffers.a, i * gemm.runs.step_a * size), gemm.b.get(),
                   beta.get(), c, gemm.c_layout(), d, gemm.d.get(), &gemm.algo, buffers.workspace,
                   gemm.workspace, static_cast<CuStream>(stream)),
        "cublasLtMatmul", p));
  }
  return absl::OkStatus();
}

}  // namespace jitfuse::internal
