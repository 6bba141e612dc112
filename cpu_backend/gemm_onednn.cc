#include "cpu_backend/gemm_onednn.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <mutex>
#include <new>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "codegen/fusion/gemm_runs.h"
#include "cpu_backend/parallel.h"
#include "ir/support/fork.h"
#include "ir/support/hash128.h"
#include "ir/support/lru.h"
#include "ir/support/status.h"

#if JF_HAVE_ONEDNN
#include <dnnl.hpp>
#if defined(_OPENMP) && !defined(JF_TSAN)
#include <omp.h>
#endif
#endif

namespace jitfuse::internal {

#if JF_HAVE_ONEDNN
namespace {

std::string Describe(const GemmProblem& p) {
  return absl::StrCat("matmul of ", ToAbsl(DTypeName(p.dtype)), " [", p.batch, ",", p.m, ",", p.k,
                      "]", p.transpose_a ? "^T" : "", " by [", p.batch, ",", p.k, ",", p.n, "]",
                      p.transpose_b ? "^T" : "");
}

// How many threads oneDNN may use on this thread, while this object lives; it bakes the number into
// primitives.
class ThreadScope {
 public:
#if defined(_OPENMP) && !defined(JF_TSAN)
  explicit ThreadScope(int threads) : before_(omp_get_max_threads()) {
    omp_set_num_threads(threads);
  }
  ~ThreadScope() { omp_set_num_threads(before_); }

 private:
  int before_;
#else
  explicit ThreadScope(int) {}
#endif
};

// A small product is done before its threads have met, and on a busy machine long before: OpenMP's
// barrier waits for a thread that has no core.
int Threads(const GemmProblem& p) {
  constexpr double kFlopsOfAThread = 2e6;  // some 30 us of one core
  if (ForkGeneration() != 0) return 1;
  const double flops = 2.0 * static_cast<double>(p.batch) * static_cast<double>(p.m) *
                       static_cast<double>(p.n) * static_cast<double>(p.k);
  const double wanted = std::max(1.0, flops / kFlopsOfAThread);
  return static_cast<int>(std::min(static_cast<double>(NumThreads()), wanted));
}

const dnnl::engine& Engine() {
  static const auto* engine = new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return *engine;
}

dnnl::memory::data_type TypeOf(DType dtype) {
  return dtype == DType::kBF16 ? dnnl::memory::data_type::bf16 : dnnl::memory::data_type::f32;
}

// A matrix of `rows` by `cols` as the product sees it; transposed: stored as [cols, rows] with rows
// of distance ld.
dnnl::memory::desc Matrix(const GemmProblem& p, int64_t rows, int64_t cols, int64_t ld,
                          bool transposed, int64_t batch_stride) {
  int64_t row_stride = transposed ? 1 : ld, col_stride = transposed ? ld : 1;
  if (p.batch == 1)
    return dnnl::memory::desc({rows, cols}, TypeOf(p.dtype),
                              dnnl::memory::dims{row_stride, col_stride});
  int64_t batch = batch_stride == 0 ? 1 : p.batch;  // a batch dim of 1 broadcasts
  return dnnl::memory::desc(
      {batch, rows, cols}, TypeOf(p.dtype),
      dnnl::memory::dims{batch == 1 ? rows * cols : batch_stride, row_stride, col_stride});
}

struct Primitive {
  dnnl::matmul matmul;
  dnnl::memory::desc a, b, d, scratch;
  std::string implementation;
};

absl::StatusOr<std::shared_ptr<const Primitive>> MakePrimitive(const GemmProblem& p) {
  try {
    auto made = std::make_shared<Primitive>();
    made->a = Matrix(p, p.m, p.k, p.lda, p.transpose_a, p.batch_stride_a);
    made->b = Matrix(p, p.k, p.n, p.ldb, p.transpose_b, p.batch_stride_b);
    made->d = Matrix(p, p.m, p.n, p.ldd, false, p.batch_stride_d);
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
#if DNNL_VERSION_MAJOR >= 3 || DNNL_VERSION_MINOR >= 4
    // Whatever ONEDNN_DEFAULT_FPMATH_MODE says: f32 is multiplied as f32.
    attributes.set_fpmath_mode(dnnl::fpmath_mode::strict);
#endif
#if DNNL_VERSION_MAJOR >= 3
    dnnl::matmul::primitive_desc desc(Engine(), made->a, made->b, made->d, attributes);
#else
    dnnl::matmul::primitive_desc desc(dnnl::matmul::desc(made->a, made->b, made->d), attributes,
                                      Engine());
#endif
    made->matmul = dnnl::matmul(desc);
    made->scratch = desc.scratchpad_desc();
    made->implementation = desc.impl_info_str();
    return std::shared_ptr<const Primitive>(std::move(made));
  } catch (const dnnl::error& e) {
    const std::string message =
        absl::StrCat(Describe(p), ": oneDNN ", OnednnVersion(), " refuses it: ", e.what());
    // Only the first is an answer that will be the same next time.
    if (e.status == dnnl_unimplemented) return absl::UnimplementedError(message);
    if (e.status == dnnl_out_of_memory) return absl::ResourceExhaustedError(message);
    return absl::InternalError(message);
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(
        absl::StrCat(Describe(p), ": no memory for a primitive of oneDNN"));
  }
}

// By problem and thread count. The scratchpad is the caller's: oneDNN's own belongs to the thread
// that made the primitive, and a primitive run on another thread, or on several at once, then
// multiplies wrongly (2.6 and 3.x without ONEDNN_ENABLE_CONCURRENT_EXEC).
absl::StatusOr<std::shared_ptr<const Primitive>> CachedPrimitive(const GemmProblem& problem) {
  // Bound calls keep theirs; this is for further ones of the same problem.
  constexpr size_t kMaxPrimitives = 1024;
  static auto* cache = new Lru<Hash128, std::shared_ptr<const Primitive>>(kMaxPrimitives);
  Hash128 key = Hasher().Hash(problem.Key()).Int(Threads(problem)).Finish();
  {
    std::lock_guard<std::mutex> lock(LockOf(ForkLock::kLibraries));
    if (const auto* there = cache->Find(key)) return *there;
  }
  ThreadScope scope(Threads(problem));
  JF_ASSIGN_OR_RETURN(std::shared_ptr<const Primitive> made, MakePrimitive(problem));
  std::lock_guard<std::mutex> lock(LockOf(ForkLock::kLibraries));
  return cache->Insert(key, std::move(made));
}

// A dim of 1 is how oneDNN broadcasts a batch, so it refuses one of which both operands are one
// matrix.
bool BothBroadcast(const GemmProblem& p) {
  return p.batch > 1 && p.batch_stride_a == 0 && p.batch_stride_b == 0;
}

// oneDNN 3.7 takes a vector whose elements lie apart, as a row of A or as a column of D, for one
// whose elements do not: those go through dense copies.
bool IsScatteredRow(const GemmProblem& p) { return p.m == 1 && p.transpose_a && p.lda != 1; }
bool IsScatteredColumn(const GemmProblem& p) { return p.n == 1 && p.m > 1 && p.ldd != 1; }

GemmProblem WithDenseVectors(GemmProblem p) {
  if (IsScatteredRow(p)) {
    p.transpose_a = false;
    p.lda = p.k;
    if (p.batch_stride_a != 0) p.batch_stride_a = p.k;
  }
  if (IsScatteredColumn(p)) {
    p.ldd = 1;
    p.batch_stride_d = p.batch == 1 ? 0 : p.m;
  }
  return p;
}

void CopyApart(char* to, int64_t to_step, const char* from, int64_t from_step, int64_t count,
               int64_t size) {
  for (int64_t i = 0; i < count; ++i)
    std::memcpy(to + i * to_step * size, from + i * from_step * size, static_cast<size_t>(size));
}

class OnednnGemm : public PreparedGemm {
 public:
  // The primitive is that of WithDenseVectors(runs.each). `why`: of more runs than one.
  OnednnGemm(const GemmRuns& runs, std::string_view why, std::shared_ptr<const Primitive> primitive)
      : runs_(runs), why_(why), generation_(ForkGeneration()), primitive_(std::move(primitive)) {}
  size_t workspace_bytes() const override { return WorkspaceOf(*primitive_); }
  std::string Describe() const override {
    std::string text;
    if (runs_.repeats > 1)
      absl::StrAppend(&text, runs_.repeats, " calls, one a batch (", ToAbsl(why_), "): ");
    absl::StrAppend(&text, "oneDNN ", OnednnVersion(), ", ", primitive_->implementation);
    if (pack_a_) absl::StrAppend(&text, ", a dense copy of A (a row whose elements lie apart)");
    if (pack_d_) absl::StrAppend(&text, ", a dense copy of D (a column whose elements lie apart)");
    return text;
  }

  // The scratchpad, then the dense copies of A and of D.
  size_t AOffset(const Primitive& p) const { return RoundUp64(p.scratch.get_size()); }
  size_t DOffset(const Primitive& p) const {
    return AOffset(p) + (pack_a_ ? RoundUp64(ABytes()) : 0);
  }
  size_t WorkspaceOf(const Primitive& p) const {
    if (!pack_a_ && !pack_d_) return p.scratch.get_size();
    return DOffset(p) + (pack_d_ ? static_cast<size_t>(problem_.batch * problem_.m) * Size() : 0);
  }
  // What the primitive reads and writes instead of a and d.
  const char* PackA(const char* a, const Primitive& p, char* workspace) const {
    if (!pack_a_) return a;
    char* dense = workspace + AOffset(p);
    const auto size = static_cast<int64_t>(Size());
    for (int64_t i = 0; i < ABatch(); ++i)
      CopyApart(dense + i * problem_.k * size, 1, a + i * problem_.batch_stride_a * size,
                problem_.lda, problem_.k, size);
    return dense;
  }
  char* PlaceD(char* d, const Primitive& p, char* workspace) const {
    return pack_d_ ? workspace + DOffset(p) : d;
  }
  void UnpackD(char* d, const Primitive& p, const char* workspace) const {
    const auto size = static_cast<int64_t>(Size());
    for (int64_t i = 0; pack_d_ && i < problem_.batch; ++i)
      CopyApart(d + i * problem_.batch_stride_d * size, problem_.ldd,
                workspace + DOffset(p) + i * problem_.m * size, 1, problem_.m, size);
  }

  // The primitive made for this process: a fork's child cannot run its parent's.
  absl::StatusOr<std::shared_ptr<const Primitive>> Current() const {
    if (ForkGeneration() == generation_) return primitive_;
    return CachedPrimitive(WithDenseVectors(problem_));
  }
  const GemmProblem& problem() const { return problem_; }
  const GemmRuns& runs() const { return runs_; }

 private:
  static size_t RoundUp64(size_t bytes) { return (bytes + 63) / 64 * 64; }
  size_t Size() const { return static_cast<size_t>(ItemSize(problem_.dtype)); }
  int64_t ABatch() const { return problem_.batch_stride_a == 0 ? 1 : problem_.batch; }
  size_t ABytes() const { return static_cast<size_t>(ABatch() * problem_.k) * Size(); }

  const GemmRuns runs_;
  const GemmProblem& problem_ = runs_.each;
  std::string_view why_;
  int generation_;
  std::shared_ptr<const Primitive> primitive_;
  const bool pack_a_ = IsScatteredRow(problem_), pack_d_ = IsScatteredColumn(problem_);
};

}  // namespace

std::string OnednnVersion() {
  const dnnl_version_t* v = dnnl_version();
  return absl::StrCat(v->major, ".", v->minor, ".", v->patch);
}

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
  absl::Status status = CachedPrimitive(small).status();
  if (!status.ok() && !absl::IsUnimplemented(status)) return status;
  const auto* mine = new absl::Status(status);
  const absl::Status* before = nullptr;
  if (!known.compare_exchange_strong(before, mine, std::memory_order_acq_rel)) delete mine;
  return status;
}

absl::StatusOr<std::shared_ptr<const PreparedGemm>> PrepareOnednn(const GemmProblem& problem) {
  Reason reason;
  JF_RETURN_IF_ERROR(OnednnSupport(problem.dtype, &reason));
  if (problem.batch <= 0 || problem.m <= 0 || problem.n <= 0 || problem.k <= 0)
    return InvalidArgument(Describe(problem), ": every extent must be positive");
  const bool both = BothBroadcast(problem);
  const GemmRuns runs = both ? OneByOne(problem) : RunsOf(problem, MatrixEnd::kLastRow);
  JF_ASSIGN_OR_RETURN(std::shared_ptr<const Primitive> primitive,
                      CachedPrimitive(WithDenseVectors(runs.each)));
  return std::shared_ptr<const PreparedGemm>(std::make_shared<OnednnGemm>(
      runs,
      both ? "each multiplies the same matrices" : "they run backwards or into each other's rows",
      std::move(primitive)));
}

absl::Status OnednnEpilogueSupport(DType, const GemmEpilogue& epilogue, Reason* reason) {
  *reason = Reason::kEpilogueActivation;
  return Unimplemented("oneDNN is not asked for ", EpilogueToString(epilogue), " yet");
}

absl::Status RunOnednn(const PreparedGemm& gemm, const GemmBuffers& buffers) {
  const auto& prepared = static_cast<const OnednnGemm&>(gemm);
  JF_ASSIGN_OR_RETURN(std::shared_ptr<const Primitive> primitive, prepared.Current());
  void* workspace = buffers.workspace;
  // The child of a fork runs another primitive, which may want more than was promised.
  std::vector<std::max_align_t> own;
  ThreadScope scope(Threads(prepared.problem()));
  const int64_t size = ItemSize(prepared.problem().dtype);
  auto at = [size](const void* base, int64_t elements) {
    return const_cast<char*>(static_cast<const char*>(base)) + elements * size;
  };
  try {
    if (const size_t need = prepared.WorkspaceOf(*primitive); need > prepared.workspace_bytes()) {
      own.resize(need / sizeof(std::max_align_t) + 1);
      workspace = own.data();
    }
    auto* room = static_cast<char*>(workspace);
    dnnl::stream stream(Engine());
    const GemmRuns& runs = prepared.runs();
    for (int64_t i = 0; i < runs.repeats; ++i) {
      char* di = at(buffers.d, i * runs.step_d);
      auto* ai =
          const_cast<char*>(prepared.PackA(at(buffers.a, i * runs.step_a), *primitive, room));
      primitive->matmul.execute(
          stream,
          {{DNNL_ARG_SRC, dnnl::memory(primitive->a, Engine(), ai)},
           {DNNL_ARG_WEIGHTS, dnnl::memory(primitive->b, Engine(), at(buffers.b, i * runs.step_b))},
           {DNNL_ARG_DST,
            dnnl::memory(primitive->d, Engine(), prepared.PlaceD(di, *primitive, room))},
           {DNNL_ARG_SCRATCHPAD, dnnl::memory(primitive->scratch, Engine(), workspace)}});
      stream.wait();
      prepared.UnpackD(di, *primitive, room);
    }
  } catch (const dnnl::error& e) {
    return InternalError(Describe(prepared.problem()), ": oneDNN failed: ", e.what());
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(
        absl::StrCat(Describe(prepared.problem()), ": no memory left for oneDNN"));
  }
  return absl::OkStatus();
}

#else  // !JF_HAVE_ONEDNN

std::string OnednnVersion() { return ""; }
absl::Status OnednnSupport(DType, Reason* reason) {
  *reason = Reason::kGemmNoLibrary;
  return NotFound(
      "this build has no oneDNN (on Debian and Ubuntu: apt-get install libdnnl-dev, then build "
      "again)");
}
absl::StatusOr<std::shared_ptr<const PreparedGemm>> PrepareOnednn(const GemmProblem&) {
  Reason reason;
  return OnednnSupport(DType::kF32, &reason);
}
absl::Status OnednnEpilogueSupport(DType dtype, const GemmEpilogue&, Reason* reason) {
  return OnednnSupport(dtype, reason);
}
absl::Status RunOnednn(const PreparedGemm&, const GemmBuffers&) {
  Reason reason;
  return OnednnSupport(DType::kF32, &reason);
}

#endif

}  // namespace jitfuse::internal
