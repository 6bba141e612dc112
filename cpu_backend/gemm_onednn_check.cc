// Which epilogues oneDNN computes as the ops say: tried, not believed. A few small products are run
// with the epilogue and without; the second, and the epilogue by itself here, have to give the
// first, bit for bit. All sums are exact, so that only the epilogue can differ; rows of NaN,
// infinities, zeros of either sign, the largest and the least numbers go through it. What fails is
// refused with a detail, for the rest of the process.
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <mutex>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "cpu_backend/gemm_onednn.h"
#include "cpu_backend/onednn_primitive.h"
#include "ir/scalar_value.h"
#include "ir/support/fork.h"
#include "ir/support/status.h"

namespace jitfuse::internal {

#if JF_HAVE_ONEDNN
namespace {

struct Extents {
  int64_t batch, m, n, k;
  bool transpose_a, transpose_b;
};
// Rows and columns on both sides of what a vector holds.
constexpr Extents kExtents[] = {{1, 40, 5, 3, false, false},
                                {1, 47, 33, 20, false, true},
                                {2, 40, 64, 3, true, false},
                                {1, 1, 16, 4, false, false}};

constexpr float kInf = std::numeric_limits<float>::infinity();
// The least numbers are f32's own: kernels for bf16 take its for 0, in the product already.
constexpr float kSpecial[] = {std::numeric_limits<float>::quiet_NaN(),
                              kInf,
                              -kInf,
                              0.0f,
                              -0.0f,
                              3e38f,
                              -3e38f,
                              1e-30f,
                              -1e-30f,
                              -90.0f,
                              -16.0f,
                              1e-45f,
                              -1e-45f,
                              1e-39f,
                              -1e-39f};

std::vector<char> Filled(DType dtype, int64_t count, auto&& value) {
  const int64_t size = ItemSize(dtype);
  std::vector<char> bytes(static_cast<size_t>(count * size));
  for (int64_t i = 0; i < count; ++i)
    StoreScalar(dtype, ScalarFromDouble(dtype, static_cast<double>(value(i))),
                bytes.data() + i * size);
  return bytes;
}

float At(DType dtype, const std::vector<char>& bytes, int64_t i) {
  return static_cast<float>(
      ScalarToDouble(ComputeType(dtype), LoadScalar(dtype, bytes.data() + i * ItemSize(dtype))));
}

class Trial {
 public:
  // `packed`: B in oneDNN's own layout, which other kernels read.
  Trial(DType dtype, const GemmEpilogue& epilogue, const Extents& e, bool packed)
      : e_(e), packed_(packed) {
    p_.dtype = dtype;
    p_.batch = e.batch, p_.m = e.m, p_.n = e.n, p_.k = e.k;
    p_.transpose_a = e.transpose_a, p_.transpose_b = e.transpose_b;
    p_.lda = e.transpose_a ? e.m : e.k;
    p_.ldb = e.transpose_b ? e.k : e.n;
    p_.ldc = p_.ldd = e.n;
    if (e.batch > 1) {
      p_.batch_stride_a = e.m * e.k;
      p_.batch_stride_b = e.k * e.n;
      p_.batch_stride_c = p_.batch_stride_d = e.m * e.n;
    }
    p_.epilogue = epilogue;
    Fill();
  }

  // `in_place`: C is D.
  absl::Status Run(bool in_place) {
    GemmProblem bare = p_;
    bare.epilogue = {};
    std::vector<char> product = c_, result = c_;
    JF_RETURN_IF_ERROR(Multiply(bare, product.data(), nullptr));
    JF_RETURN_IF_ERROR(Multiply(p_, result.data(), in_place ? result.data() : c_.data()));
    for (int64_t i = 0; i < e_.batch * e_.m * e_.n; ++i) {
      const float x = At(p_.dtype, product, i), got = At(p_.dtype, result, i),
                  want = Expected(x, i);
      const bool same = std::isnan(want)
                            ? std::isnan(got)
                            : std::bit_cast<uint32_t>(got) == std::bit_cast<uint32_t>(want);
      if (!same)
        return Unimplemented("oneDNN ", OnednnVersion(), " computes ",
                             EpilogueToString(p_.epilogue), " in ", ToAbsl(DTypeName(p_.dtype)),
                             " otherwise: ", got, ", not ", want, ", of the product ", x);
    }
    return absl::OkStatus();
  }

 private:
  void Fill() {
    const DType dtype = p_.dtype;
    const size_t specials = std::size(kSpecial) - (dtype == DType::kBF16 ? 4 : 0);
    // The first rows are special numbers times the first row of B, ones.
    a_ = Filled(dtype, e_.batch * e_.m * e_.k, [&](int64_t i) {
      const int64_t in_matrix = i % (e_.m * e_.k);
      const int64_t row = e_.transpose_a ? in_matrix % e_.m : in_matrix / e_.k;
      const int64_t k = e_.transpose_a ? in_matrix / e_.m : in_matrix % e_.k;
      if (static_cast<size_t>(row) >= specials) return static_cast<float>((row + 2 * k) % 5 - 2);
      return k == 0 ? kSpecial[row] : 0.0f;
    });
    b_ = Filled(dtype, e_.batch * e_.k * e_.n, [&](int64_t i) {
      const int64_t in_matrix = i % (e_.k * e_.n);
      const int64_t k = e_.transpose_b ? in_matrix % e_.k : in_matrix / e_.n;
      const int64_t column = e_.transpose_b ? in_matrix / e_.k : in_matrix % e_.n;
      return k == 0 ? 1.0f : static_cast<float>((3 * k + column) % 4 - 1);
    });
    c_ = Filled(dtype, e_.batch * e_.m * e_.n, [&](int64_t i) {
      return i % 97 == 96 ? kSpecial[i / 97 % 3] : static_cast<float>(i % 5 - 2);
    });
    bias_ = Filled(dtype, e_.n, [](int64_t i) { return static_cast<float>(i % 7 - 3); });
  }

  absl::Status Multiply(const GemmProblem& problem, void* d, const void* c) const {
    JF_ASSIGN_OR_RETURN(std::shared_ptr<const PreparedGemm> gemm, PrepareOnednn(problem, packed_));
    std::vector<std::max_align_t> workspace(gemm->workspace_bytes() / sizeof(std::max_align_t) + 1);
    std::vector<std::max_align_t> packed(gemm->packed_b_bytes() / sizeof(std::max_align_t) + 1);
    if (gemm->packed_b_bytes() > 0)
      JF_RETURN_IF_ERROR(PackOnednnB(*gemm, b_.data(), packed.data()));
    return RunOnednn(
        *gemm,
        {.a = a_.data(),
         .b = gemm->packed_b_bytes() > 0 ? static_cast<const void*>(packed.data()) : b_.data(),
         .c = problem.epilogue.has_c() ? c : nullptr,
         .bias = problem.epilogue.bias ? bias_.data() : nullptr,
         .d = d,
         .workspace = workspace.data()});
  }

  float Expected(float x, int64_t i) const {
    const GemmEpilogue& e = p_.epilogue;
    x *= static_cast<float>(e.alpha);
    if (e.bias) x += At(p_.dtype, bias_, i % e_.n);
    if (e.has_c()) x += static_cast<float>(e.beta) * At(p_.dtype, c_, i);
    if (e.activation == GemmActivation::kRelu) x = std::isnan(x) || x > 0 ? x : 0.0f;
    std::vector<char> stored = Filled(p_.dtype, 1, [x](int64_t) { return x; });
    return At(p_.dtype, stored, 0);
  }

  const Extents e_;
  const bool packed_;
  GemmProblem p_;
  std::vector<char> a_, b_, c_, bias_;
};

absl::Status TryAll(DType dtype, const GemmEpilogue& epilogue, bool packed) {
  for (const Extents& e : kExtents) {
    Trial trial(dtype, epilogue, e, packed);
    JF_RETURN_IF_ERROR(trial.Run(false));
    if (epilogue.has_c()) JF_RETURN_IF_ERROR(trial.Run(true));
  }
  return absl::OkStatus();
}

// One for all of its kind: factors that are exact.
GemmEpilogue OfItsKind(GemmEpilogue e) {
  if (e.alpha != 1) e.alpha = -2;
  if (e.has_c() && e.beta != 1) e.beta = -0.5;
  return e;
}

// What trying its kind has shown, once in a process.
absl::Status Tried(DType dtype, const GemmEpilogue& epilogue, bool packed) {
  GemmProblem problem;
  problem.dtype = dtype;
  problem.epilogue = OfItsKind(epilogue);
  static auto* known = new absl::flat_hash_map<Hash128, absl::Status>;
  const Hash128 key = Hasher().Hash(problem.Key()).Int(packed).Finish();
  {
    std::lock_guard<std::mutex> lock(LockOf(ForkLock::kLibraries));
    if (const auto found = known->find(key); found != known->end()) return found->second;
  }
  const absl::Status status = TryAll(dtype, problem.epilogue, packed);
  if (!status.ok() && !absl::IsUnimplemented(status)) return status;  // may pass: asked again
  std::lock_guard<std::mutex> lock(LockOf(ForkLock::kLibraries));
  return known->emplace(key, status).first->second;
}

}  // namespace

absl::Status OnednnEpilogueSupport(DType dtype, const GemmEpilogue& epilogue, Reason* reason) {
  *reason = Reason::kEpilogueActivation;
  if (epilogue.activation != GemmActivation::kNone && epilogue.activation != GemmActivation::kRelu)
    return Unimplemented("oneDNN computes ", ToAbsl(GemmActivationName(epilogue.activation)),
                         " beyond the op's error bound");
  return Tried(dtype, epilogue, /*packed=*/false);
}

bool OnednnMayPack(DType dtype, const GemmEpilogue& epilogue) {
  return epilogue.empty() || Tried(dtype, epilogue, /*packed=*/true).ok();
}

#else  // !JF_HAVE_ONEDNN

absl::Status OnednnEpilogueSupport(DType dtype, const GemmEpilogue&, Reason* reason) {
  return OnednnSupport(dtype, reason);
}
bool OnednnMayPack(DType, const GemmEpilogue&) { return false; }

#endif

}  // namespace jitfuse::internal
