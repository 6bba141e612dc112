#include "cpu_backend/onednn_primitive.h"

#include <algorithm>
#include <mutex>
#include <new>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
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

std::string OnednnProblemText(const GemmProblem& p) {
  return absl::StrCat("matmul of ", ToAbsl(DTypeName(p.dtype)), " [", p.batch, ",", p.m, ",", p.k,
                      "]", p.transpose_a ? "^T" : "", " by [", p.batch, ",", p.k, ",", p.n, "]",
                      p.transpose_b ? "^T" : "",
                      p.epilogue.empty() ? "" : absl::StrCat(", ", EpilogueToString(p.epilogue)));
}

#if JF_HAVE_ONEDNN
namespace {

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

dnnl::memory::dims Extents(const GemmProblem& p, int64_t rows, int64_t cols, int64_t batch_stride) {
  if (p.batch == 1) return {rows, cols};
  return {batch_stride == 0 ? 1 : p.batch, rows, cols};  // a batch dim of 1 broadcasts
}

// A matrix of `rows` by `cols` as the product sees it; transposed: stored as [cols, rows] with rows
// of distance ld.
dnnl::memory::desc Matrix(const GemmProblem& p, int64_t rows, int64_t cols, int64_t ld,
                          bool transposed, int64_t batch_stride) {
  const int64_t row_stride = transposed ? 1 : ld, col_stride = transposed ? ld : 1;
  const dnnl::memory::dims extents = Extents(p, rows, cols, batch_stride);
  dnnl::memory::dims strides{row_stride, col_stride};
  if (p.batch != 1) strides.insert(strides.begin(), extents[0] == 1 ? rows * cols : batch_stride);
  return dnnl::memory::desc(extents, TypeOf(p.dtype), strides);
}

// B as the problem says it lies; or of its type and extents, in a layout that is yet to be chosen.
dnnl::memory::desc GivenB(const GemmProblem& p) {
  return Matrix(p, p.k, p.n, p.ldb, p.transpose_b, p.batch_stride_b);
}
dnnl::memory::desc AnyB(const GemmProblem& p) {
  return dnnl::memory::desc(Extents(p, p.k, p.n, p.batch_stride_b), TypeOf(p.dtype),
                            dnnl::memory::format_tag::any);
}

// One row of n numbers that holds for all rows and batches of D; one number: n = 1.
dnnl::memory::desc Row(const GemmProblem& p, int64_t n, dnnl::memory::data_type type) {
  return p.batch == 1 ? dnnl::memory::desc({1, n}, type, dnnl::memory::dims{n, 1})
                      : dnnl::memory::desc({1, 1, n}, type, dnnl::memory::dims{n, n, 1});
}

// A factor of its own for each elementwise post-op is what 3.x left out.
void AppendEltwise(dnnl::post_ops* ops, dnnl::algorithm algorithm, float alpha, float beta) {
#if DNNL_VERSION_MAJOR >= 3
  ops->append_eltwise(algorithm, alpha, beta);
#else
  ops->append_eltwise(1.0f, algorithm, alpha, beta);
#endif
}

// What oneDNN calls relu, clip and max give 0 for NaN. Its elu is a choice by x > 0, so that NaN
// stays: x, or 0 * (exp(x) - 1), which is -0 where x is negative (or -0 itself); x + 0 mends that.
// As measured, in 2.6 and 3.2 on all instruction sets, bit for bit (gemm_onednn_check.cc asks).
void AppendRelu(dnnl::post_ops* ops) {
  AppendEltwise(ops, dnnl::algorithm::eltwise_elu, 0.0f, 0.0f);
  AppendEltwise(ops, dnnl::algorithm::eltwise_linear, 1.0f, 0.0f);
}

}  // namespace

std::string OnednnVersion() {
  const dnnl_version_t* v = dnnl_version();
  return absl::StrCat(v->major, ".", v->minor, ".", v->patch);
}

OnednnC OnednnCOf(const GemmProblem& p) {
  if (!p.epilogue.has_c()) return OnednnC::kNone;
  const bool dense =
      p.ldd == p.n && p.ldc == p.n &&
      (p.batch == 1 || (p.batch_stride_c == p.batch_stride_d && p.batch_stride_d == p.m * p.n));
  return dense && p.epilogue.beta == 1 ? OnednnC::kApart : OnednnC::kInD;
}

struct OnednnPrimitive::Made {
  enum class Read : uint8_t { kAlpha, kBias, kC };
  struct Operand {  // of a primitive, beside A, B and D
    int arg;
    Read read;
    dnnl::memory::desc desc;
  };
  dnnl::matmul matmul;
  dnnl::memory::desc a, b, d, scratch;
  std::vector<Operand> operands;
  float alpha = 1;
  std::string implementation;

  // `post_op`: what it will be the number of.
  void Binary(dnnl::post_ops* ops, dnnl::algorithm algorithm, Read read,
              const dnnl::memory::desc& desc) {
    operands.push_back({DNNL_ARG_ATTR_MULTIPLE_POST_OP(ops->len()) | DNNL_ARG_SRC_1, read, desc});
    ops->append_binary(algorithm, desc);
  }
  dnnl::post_ops PostOps(const GemmProblem& p, OnednnC c) {
    dnnl::post_ops ops;
    // A factor of oneDNN's own comes with a sum that loses the sign of 0 (eltwise_linear), or
    // multiplies the bias, too (output scales of 2.x).
    if (p.epilogue.alpha != 1) {
      alpha = static_cast<float>(p.epilogue.alpha);
      Binary(&ops, dnnl::algorithm::binary_mul, Read::kAlpha,
             Row(p, 1, dnnl::memory::data_type::f32));
      if (p.epilogue.bias)
        Binary(&ops, dnnl::algorithm::binary_add, Read::kBias, Row(p, p.n, TypeOf(p.dtype)));
    }
    if (c == OnednnC::kApart) Binary(&ops, dnnl::algorithm::binary_add, Read::kC, d);
    if (c == OnednnC::kInD) ops.append_sum(static_cast<float>(p.epilogue.beta));
    if (p.epilogue.activation == GemmActivation::kRelu) AppendRelu(&ops);
    return ops;
  }
  // `wanted`: how B lies, or that it may lie in any way.
  dnnl::matmul::primitive_desc Describe(const GemmProblem& p, OnednnC c,
                                        const dnnl::memory::desc& wanted) {
    a = Matrix(p, p.m, p.k, p.lda, p.transpose_a, p.batch_stride_a);
    b = wanted;
    d = Matrix(p, p.m, p.n, p.ldd, false, p.batch_stride_d);
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
#if DNNL_VERSION_MAJOR >= 3 || DNNL_VERSION_MINOR >= 4
    // Whatever ONEDNN_DEFAULT_FPMATH_MODE says: f32 is multiplied as f32.
    attributes.set_fpmath_mode(dnnl::fpmath_mode::strict);
#endif
    attributes.set_post_ops(PostOps(p, c));
    const bool bias = p.epilogue.bias && p.epilogue.alpha == 1;
    const dnnl::memory::desc row = Row(p, p.n, TypeOf(p.dtype));
    if (bias) operands.push_back({DNNL_ARG_BIAS, Read::kBias, row});
#if DNNL_VERSION_MAJOR >= 3
    return bias ? dnnl::matmul::primitive_desc(Engine(), a, b, row, d, attributes)
                : dnnl::matmul::primitive_desc(Engine(), a, b, d, attributes);
#else
    return dnnl::matmul::primitive_desc(
        bias ? dnnl::matmul::desc(a, b, row, d) : dnnl::matmul::desc(a, b, d), attributes,
        Engine());
#endif
  }
};

OnednnPrimitive::OnednnPrimitive(const GemmProblem& problem, OnednnC c, const Hash128& key)
    : problem_(problem), c_(c), key_(key), made_(std::make_unique<Made>()) {}
OnednnPrimitive::~OnednnPrimitive() = default;
size_t OnednnPrimitive::scratch_bytes() const { return made_->scratch.get_size(); }
const std::string& OnednnPrimitive::implementation() const { return made_->implementation; }

size_t OnednnPrimitive::packed_b_bytes() const {
  return made_->b == GivenB(problem_) ? 0 : made_->b.get_size();
}

bool OnednnPrimitive::SharesPackedB(const OnednnPrimitive& other) const {
  return GivenB(problem_) == GivenB(other.problem_) && made_->b == other.made_->b;
}

absl::Status OnednnPrimitive::Make(const OnednnB& b) {
  try {
    const dnnl::memory::desc wanted = b.like != nullptr ? b.like->made_->b
                                      : b.packed        ? AnyB(problem_)
                                                        : GivenB(problem_);
    const dnnl::matmul::primitive_desc desc = made_->Describe(problem_, c_, wanted);
    made_->b = desc.weights_desc();
    made_->matmul = dnnl::matmul(desc);
    made_->scratch = desc.scratchpad_desc();
    made_->implementation = desc.impl_info_str();
    return absl::OkStatus();
  } catch (const dnnl::error& e) {
    const std::string message = absl::StrCat(OnednnProblemText(problem_), ": oneDNN ",
                                             OnednnVersion(), " refuses it: ", e.what());
    // Only the first is an answer that will be the same next time.
    if (e.status == dnnl_unimplemented) return absl::UnimplementedError(message);
    if (e.status == dnnl_out_of_memory) return absl::ResourceExhaustedError(message);
    return absl::InternalError(message);
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(
        absl::StrCat(OnednnProblemText(problem_), ": no memory for a primitive of oneDNN"));
  }
}

// The scratchpad is the caller's: oneDNN's own belongs to the thread that made the primitive, and a
// primitive run on another thread, or on several at once, then multiplies wrongly (2.6 and 3.x
// without ONEDNN_ENABLE_CONCURRENT_EXEC).
absl::StatusOr<std::shared_ptr<const OnednnPrimitive>> OnednnPrimitive::Cached(
    const GemmProblem& problem, OnednnC c, OnednnB b) {
  // Bound calls keep theirs; this is for further ones of the same problem.
  constexpr size_t kMaxPrimitives = 1024;
  static auto* cache = new Lru<Hash128, std::shared_ptr<const OnednnPrimitive>>(kMaxPrimitives);
  const int threads = Threads(problem);
  const Hash128 key = Hasher()
                          .Hash(problem.Key())
                          .Int(threads)
                          .Int(static_cast<int64_t>(c))
                          .Int(b.packed)
                          .Hash(b.like == nullptr ? Hash128{} : b.like->key_)
                          .Finish();
  {
    std::lock_guard<std::mutex> lock(LockOf(ForkLock::kLibraries));
    if (const auto* there = cache->Find(key)) return *there;
  }
  std::shared_ptr<OnednnPrimitive> made(new OnednnPrimitive(problem, c, key));
  {
    ThreadScope scope(threads);
    JF_RETURN_IF_ERROR(made->Make(b));
  }
  std::lock_guard<std::mutex> lock(LockOf(ForkLock::kLibraries));
  return cache->Insert(key, std::move(made));
}

absl::Status OnednnPrimitive::Run(const GemmBuffers& buffers) const {
  ThreadScope scope(Threads(problem_));
  auto memory = [](const dnnl::memory::desc& desc, const void* at) {
    return dnnl::memory(desc, Engine(), const_cast<void*>(at));
  };
  try {
    std::unordered_map<int, dnnl::memory> args = {
        {DNNL_ARG_SRC, memory(made_->a, buffers.a)},
        {DNNL_ARG_WEIGHTS, memory(made_->b, buffers.b)},
        {DNNL_ARG_DST, memory(made_->d, buffers.d)},
        {DNNL_ARG_SCRATCHPAD, memory(made_->scratch, buffers.workspace)}};
    for (const Made::Operand& operand : made_->operands) {
      const void* at = operand.read == Made::Read::kAlpha  ? &made_->alpha
                       : operand.read == Made::Read::kBias ? buffers.bias
                                                           : buffers.c;
      args.emplace(operand.arg, memory(operand.desc, at));
    }
    dnnl::stream stream(Engine());
    made_->matmul.execute(stream, args);
    stream.wait();
  } catch (const dnnl::error& e) {
    return InternalError(OnednnProblemText(problem_), ": oneDNN failed: ", e.what());
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(
        absl::StrCat(OnednnProblemText(problem_), ": no memory left for oneDNN"));
  }
  return absl::OkStatus();
}

absl::Status OnednnPrimitive::PackB(const void* b, void* packed) const {
  ThreadScope scope(ForkGeneration() != 0 ? 1 : NumThreads());
  try {
    dnnl::memory from(GivenB(problem_), Engine(), const_cast<void*>(b));
    dnnl::memory to(made_->b, Engine(), packed);
    dnnl::stream stream(Engine());
    dnnl::reorder(from, to).execute(stream, from, to);
    stream.wait();
  } catch (const dnnl::error& e) {
    return InternalError(OnednnProblemText(problem_),
                         ": oneDNN could not pack the right operand: ", e.what());
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(
        absl::StrCat(OnednnProblemText(problem_), ": no memory left to pack the right operand"));
  }
  return absl::OkStatus();
}

#else  // !JF_HAVE_ONEDNN

std::string OnednnVersion() { return ""; }

#endif

}  // namespace jitfuse::internal
