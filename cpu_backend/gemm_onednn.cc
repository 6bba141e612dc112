#include "cpu_backend/gemm_onednn.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "codegen/fusion/gemm_runs.h"
#include "cpu_backend/onednn_primitive.h"
#include "cpu_backend/parallel.h"
#include "ir/support/fork.h"
#include "ir/support/status.h"

namespace jitfuse::internal {

#if JF_HAVE_ONEDNN
namespace {

// A dim of 1 is how oneDNN broadcasts a batch, so it refuses one of which both operands are one
// matrix.
bool BothBroadcast(const GemmProblem& p) {
  return p.batch > 1 && p.batch_stride_a == 0 && p.batch_stride_b == 0;
}

// oneDNN 3.7 takes a vector whose elements lie apart, as a row of A or as a column of D, for one
// whose elements do not: those go through dense copies.
bool IsScatteredRow(const GemmProblem& p) { return p.m == 1 && p.transpose_a && p.lda != 1; }
bool IsScatteredColumn(const GemmProblem& p) { return p.n == 1 && p.m > 1 && p.ldd != 1; }
// Post-ops of 2.6 find a column's bias by where an element of D lies, which holds for a dense D.
bool HasGaps(const GemmProblem& p) {
  return p.ldd != p.n || (p.batch > 1 && p.batch_stride_d != p.m * p.n);
}
bool PacksD(const GemmProblem& p) {
  return IsScatteredColumn(p) || (HasGaps(p) && !p.epilogue.empty());
}

GemmProblem AsPacked(GemmProblem p) {
  if (IsScatteredRow(p)) {
    p.transpose_a = false;
    p.lda = p.k;
    if (p.batch_stride_a != 0) p.batch_stride_a = p.k;
  }
  if (PacksD(p)) {
    p.ldd = p.n;
    p.batch_stride_d = p.batch == 1 ? 0 : p.m * p.n;
  }
  return p;
}

void CopyApart(char* to, int64_t to_step, const char* from, int64_t from_step, int64_t count,
               int64_t size) {
  for (int64_t i = 0; i < count; ++i)
    std::memcpy(to + i * to_step * size, from + i * from_step * size, static_cast<size_t>(size));
}

struct Rows {  // of matrices; distances in elements
  char* at;
  int64_t ld, batch_stride;
};
void CopyRows(const GemmProblem& p, const Rows& to, const Rows& from) {
  constexpr int64_t kChunkBytes = 64 * 1024;
  const int64_t size = ItemSize(p.dtype), row_bytes = p.n * size, rows = p.batch * p.m;
  const int64_t each = std::clamp<int64_t>(kChunkBytes / row_bytes, 1, rows);
  ParallelFor((rows + each - 1) / each, [&](int64_t chunk) {
    for (int64_t r = chunk * each; r < std::min((chunk + 1) * each, rows); ++r) {
      const int64_t i = r / p.m, row = r % p.m;
      std::memcpy(to.at + (i * to.batch_stride + row * to.ld) * size,
                  from.at + (i * from.batch_stride + row * from.ld) * size,
                  static_cast<size_t>(row_bytes));
    }
  });
}

using PrimitivePtr = std::shared_ptr<const OnednnPrimitive>;

// With C apart a call may still give C in D, which has to read the same packed B.
absl::StatusOr<PrimitivePtr> MakePrimitive(const GemmProblem& dense, bool packed_b) {
  const OnednnC c = OnednnCOf(dense);
  JF_ASSIGN_OR_RETURN(PrimitivePtr primitive, OnednnPrimitive::Cached(dense, c, {packed_b}));
  if (packed_b && c == OnednnC::kApart)
    JF_RETURN_IF_ERROR(
        OnednnPrimitive::Cached(dense, OnednnC::kInD, {true, primitive.get()}).status());
  return primitive;
}

class OnednnGemm : public PreparedGemm {
 public:
  // The primitive is that of `dense`, AsPacked(runs.each). `why`: of more runs than one.
  OnednnGemm(const GemmRuns& runs, std::string_view why, const GemmProblem& dense,
             PrimitivePtr primitive)
      : runs_(runs),
        why_(why),
        dense_(dense),
        c_(OnednnCOf(dense)),
        generation_(ForkGeneration()),
        primitive_(std::move(primitive)) {}
  size_t workspace_bytes() const override { return WorkspaceOf(*primitive_); }
  size_t packed_b_bytes() const override { return primitive_->packed_b_bytes(); }
  bool SharesPackedB(const PreparedGemm& other) const override {
    return primitive_->SharesPackedB(*static_cast<const OnednnGemm&>(other).primitive_);
  }
  absl::Status PackB(const void* b, void* packed) const { return primitive_->PackB(b, packed); }
  std::string Describe() const override {
    std::string text;
    if (runs_.repeats > 1)
      absl::StrAppend(&text, runs_.repeats, " calls, one a batch (", ToAbsl(why_), "): ");
    absl::StrAppend(&text, "oneDNN ", OnednnVersion(), ", ", primitive_->implementation());
    if (packed_b_bytes() > 0) absl::StrAppend(&text, ", B in a layout of oneDNN's own");
    if (pack_a_) absl::StrAppend(&text, ", a dense copy of A (a row whose elements lie apart)");
    if (pack_d_)
      absl::StrAppend(&text, ", a dense copy of D (",
                      IsScatteredColumn(problem_) ? "a column whose elements lie apart" : "gaps",
                      ")");
    if (c_ == OnednnC::kInD)
      absl::StrAppend(&text, ", C copied into D first (",
                      problem_.epilogue.beta != 1 ? "a factor" : "another layout", ")");
    return text;
  }

  absl::Status Run(const GemmBuffers& buffers) const {
    const OnednnC c = buffers.c != nullptr && buffers.c == buffers.d ? OnednnC::kInD : c_;
    JF_ASSIGN_OR_RETURN(PrimitivePtr primitive, Current(c));
    void* workspace = buffers.workspace;
    // The child of a fork, or C in D, runs another primitive, which may want more than was
    // promised.
    std::vector<std::max_align_t> own;
    if (const size_t need = WorkspaceOf(*primitive); need > workspace_bytes()) {
      own.resize(need / sizeof(std::max_align_t) + 1);
      workspace = own.data();
    }
    for (int64_t i = 0; i < runs_.repeats; ++i) {
      GemmBuffers at = buffers;
      at.workspace = workspace;
      at.a = Advance(buffers.a, i * runs_.step_a);
      at.b = Advance(buffers.b, i * runs_.step_b);
      at.c = Advance(buffers.c, i * runs_.step_c);
      at.d = Advance(buffers.d, i * runs_.step_d);
      JF_RETURN_IF_ERROR(RunOne(*primitive, c, at));
    }
    return absl::OkStatus();
  }

 private:
  static size_t RoundUp64(size_t bytes) { return (bytes + 63) / 64 * 64; }
  size_t Size() const { return static_cast<size_t>(ItemSize(problem_.dtype)); }
  int64_t ABatch() const { return problem_.batch_stride_a == 0 ? 1 : problem_.batch; }
  size_t ABytes() const { return static_cast<size_t>(ABatch() * problem_.k) * Size(); }
  char* Advance(const void* base, int64_t elements) const {
    if (base == nullptr) return nullptr;
    return const_cast<char*>(static_cast<const char*>(base)) +
           elements * static_cast<int64_t>(Size());
  }

  // The scratchpad, then the dense copies of A and of D.
  size_t AOffset(const OnednnPrimitive& p) const { return RoundUp64(p.scratch_bytes()); }
  size_t DOffset(const OnednnPrimitive& p) const {
    return AOffset(p) + (pack_a_ ? RoundUp64(ABytes()) : 0);
  }
  size_t WorkspaceOf(const OnednnPrimitive& p) const {
    if (!pack_a_ && !pack_d_) return p.scratch_bytes();
    return DOffset(p) +
           (pack_d_ ? static_cast<size_t>(problem_.batch * problem_.m * problem_.n) * Size() : 0);
  }
  // What the primitive reads and writes instead of a and d.
  const char* PackA(const char* a, char* dense) const {
    const auto size = static_cast<int64_t>(Size());
    for (int64_t i = 0; i < ABatch(); ++i)
      CopyApart(dense + i * problem_.k * size, 1, a + i * problem_.batch_stride_a * size,
                problem_.lda, problem_.k, size);
    return dense;
  }
  absl::Status RunOne(const OnednnPrimitive& primitive, OnednnC c, const GemmBuffers& to) const {
    auto* room = static_cast<char*>(to.workspace);
    GemmBuffers at = to;
    if (pack_a_) at.a = PackA(static_cast<const char*>(to.a), room + AOffset(primitive));
    if (pack_d_) at.d = room + DOffset(primitive);
    if (c == OnednnC::kInD && at.c != at.d)
      CopyRows(problem_, {static_cast<char*>(at.d), dense_.ldd, dense_.batch_stride_d},
               {Advance(to.c, 0), problem_.ldc, problem_.batch_stride_c});
    JF_RETURN_IF_ERROR(primitive.Run(at));
    if (pack_d_)
      CopyRows(problem_, {static_cast<char*>(to.d), problem_.ldd, problem_.batch_stride_d},
               {static_cast<char*>(at.d), dense_.ldd, dense_.batch_stride_d});
    return absl::OkStatus();
  }

  // The primitive made for this process: a fork's child cannot run its parent's.
  absl::StatusOr<PrimitivePtr> Current(OnednnC c) const {
    if (c == c_ && ForkGeneration() == generation_) return primitive_;
    return packed_b_bytes() > 0 ? OnednnPrimitive::Cached(dense_, c, {true, primitive_.get()})
                                : OnednnPrimitive::Cached(dense_, c);
  }

  const GemmRuns runs_;
  const GemmProblem& problem_ = runs_.each;
  std::string_view why_;
  const GemmProblem dense_;
  const OnednnC c_;
  int generation_;
  PrimitivePtr primitive_;
  const bool pack_a_ = IsScatteredRow(problem_), pack_d_ = PacksD(problem_);
};

}  // namespace

absl::Status OnednnSupport(DType dtype, Reason* reason) {
  if (dtype == DType::kF32) return absl::OkStatus();
  *reason = Reason::kGemmDtype;
  if (dtype != DType::kBF16)
    return Unimplemented("oneDNN multiplies f32 and bf16 here, not ", ToAbsl(DTypeName(dtype)));
  // No bf16 kernels below AVX-512. What may pass (no memory) is asked again.
  static std::atomic<const absl::Status*> known{nullptr};
  if (const absl::Status* status = known.load(std::memory_order_acquire)) return *status;
  GemmProblem small;
  small.dtype = DType::kBF16;
  small.m = small.n = small.k = small.lda = small.ldb = small.ldd = 16;
  absl::Status status = OnednnPrimitive::Cached(small, OnednnC::kNone).status();
  if (!status.ok() && !absl::IsUnimplemented(status)) return status;
  const auto* mine = new absl::Status(status);
  const absl::Status* before = nullptr;
  if (!known.compare_exchange_strong(before, mine, std::memory_order_acq_rel)) delete mine;
  return status;
}

absl::StatusOr<std::shared_ptr<const PreparedGemm>> PrepareOnednn(const GemmProblem& problem,
                                                                  bool packed_b) {
  Reason reason;
  JF_RETURN_IF_ERROR(OnednnSupport(problem.dtype, &reason));
  if (problem.batch <= 0 || problem.m <= 0 || problem.n <= 0 || problem.k <= 0)
    return InvalidArgument(OnednnProblemText(problem), ": every extent must be positive");
  const bool both = BothBroadcast(problem);
  const GemmRuns runs = both ? OneByOne(problem) : RunsOf(problem, MatrixEnd::kLastRow);
  const GemmProblem dense = AsPacked(runs.each);
  const bool may_pack = packed_b && runs.repeats == 1;  // else each run has a B of its own
  absl::StatusOr<PrimitivePtr> primitive = MakePrimitive(dense, may_pack);
  if (may_pack && absl::IsUnimplemented(primitive.status()))
    primitive = MakePrimitive(dense, false);
  JF_RETURN_IF_ERROR(primitive.status());
  return std::shared_ptr<const PreparedGemm>(std::make_shared<OnednnGemm>(
      runs,
      both ? "each multiplies the same matrices" : "they run backwards or into each other's rows",
      dense, *std::move(primitive)));
}

absl::Status RunOnednn(const PreparedGemm& gemm, const GemmBuffers& buffers) {
  return static_cast<const OnednnGemm&>(gemm).Run(buffers);
}

absl::Status PackOnednnB(const PreparedGemm& gemm, const void* b, void* packed) {
  return static_cast<const OnednnGemm&>(gemm).PackB(b, packed);
}

#else  // !JF_HAVE_ONEDNN

absl::Status OnednnSupport(DType, Reason* reason) {
  *reason = Reason::kGemmNoLibrary;
  return NotFound(
      "this build has no oneDNN (on Debian and Ubuntu: apt-get install libdnnl-dev, then build "
      "again)");
}
absl::StatusOr<std::shared_ptr<const PreparedGemm>> PrepareOnednn(const GemmProblem&, bool) {
  Reason reason;
  return OnednnSupport(DType::kF32, &reason);
}
absl::Status RunOnednn(const PreparedGemm&, const GemmBuffers&) {
  Reason reason;
  return OnednnSupport(DType::kF32, &reason);
}
absl::Status PackOnednnB(const PreparedGemm&, const void*, void*) {
  Reason reason;
  return OnednnSupport(DType::kF32, &reason);
}

#endif

}  // namespace jitfuse::internal
