// Every reason code is reached: for each there is a graph that has to give it, and the page that
// lists them lists them all.
#include <atomic>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "absl/strings/str_replace.h"
#include "api/runtime.h"
#include "bench/common/plan_chain.h"
#include "gmock/gmock.h"
#include "ir/builder.h"
#include "ir/op_enum.h"
#include "jit/background.h"
#include "jit/call_cache.h"
#include "jit/compile.h"
#include "jit/interpret_backend.h"
#include "jit/verify_run.h"
#include "tests/null/fusion/fusion_kit.h"
#include "tests/null/jit/timed_backend.h"
#include "tests/test_util/general_backend.h"
#include "tests/test_util/golden.h"
#include "tests/test_util/idle_backend.h"
#include "tests/test_util/packing_backend.h"

namespace jitfuse::internal {
namespace {

using Codes = std::multiset<std::string>;

Codes CodesOf(const FusionPlan& plan) {
  Codes out;
  for (const Boundary& b : plan.boundaries) out.emplace(ReasonName(b.reason));
  for (const Note& n : plan.notes) out.emplace(ReasonName(n.reason));
  return out;
}

// ---- Ways to get there.

// The whole pipeline before the compiler; every symbol is kChainRows.
Codes Compiled(std::string_view text, const Options& options = {}) {
  auto graph = ParseGraph(text);
  auto backend = BackendForArch(DeviceKind::kCuda, "sm_90");
  EXPECT_TRUE(graph.ok()) << graph.status();
  EXPECT_TRUE(backend.ok()) << backend.status();
  if (!graph.ok() || !backend.ok()) return {};
  auto call = jitfuse_bench::DenseClass(*graph);
  EXPECT_TRUE(call.ok()) << call.status();
  if (!call.ok()) return {};
  auto planned = PlanGraph(*graph, *call, options, **backend);
  EXPECT_TRUE(planned.ok()) << planned.status();
  return planned.ok() ? CodesOf(planned->fusion) : Codes();
}

template <typename T>
Options With(T Options::* option, T value) {
  Options options;
  options.*option = value;
  return options;
}

// Grouping alone, with settings and a library that no machine need have.
Codes Grouped(std::string_view text, const Setting& setting = {}) {
  return CodesOf(PlanOf(text, setting).plan);
}

Codes Product(const std::string& dtype, const Setting& setting = {}) {
  return Grouped(absl::StrCat("graph f(%a: ", dtype, "[4,8], %b: ", dtype, "[8,5]) -> (", dtype,
                              "[4,5]) {\n  %0 = matmul(%a, %b) : ", dtype, "[4,5]\n  return %0\n}"),
                 setting);
}

// A library that multiplies all dtypes and computes what its table has.
Setting TakesAll() {
  Setting setting;
  setting.library = [](DType) { return std::nullopt; };
  setting.epilogues = TakeEpilogues;
  return setting;
}

// x @ w, then `behind` ("%0 = matmul(...)" is there).
Codes Behind(const std::string& dtype, std::string_view behind, const char* inputs = "",
             const ProductChoice& choice = {}) {
  Setting setting = TakesAll();
  setting.options.products = {choice};
  std::string text = absl::StrReplaceAll(
      "graph f(%x: T[n,32], %w: T[32,64]I) -> (T[n,64]) {\n  %0 = matmul(%x, %w) : T[n,64]\n",
      {{"T", dtype}, {"I", inputs}});
  return Grouped(absl::StrCat(text, absl::string_view(behind.data(), behind.size()), "}"), setting);
}

// x, then `step` so many times.
Codes Long(int ops, const Target& target, bool all_are_read_later) {
  Graph graph;
  Value x = *graph.AddInput("x", {DType::kF32, {Dim(64)}});
  std::vector<Value> values;
  for (int i = 0; i < ops; ++i) {
    x = *graph.Add(i % 2 != 0 ? Op::kTanh : Op::kExp, std::vector<Value>{x}, {});
    values.push_back(x);
  }
  for (size_t i = values.size() - 1; all_are_read_later && i-- > 0;)
    x = *graph.Add(Op::kAdd, std::vector<Value>{x, values[i]}, {});
  EXPECT_TRUE(graph.AddOutput(x).ok());
  Setting setting;
  setting.target = target;
  return CodesOf(PlanOf(graph, setting).plan);
}

Target WithBudgets(int params, int insts, int live) {
  Target t = *TargetFor("sm_90");
  t.max_params = params;
  t.max_insts = insts;
  t.max_live = live;
  return t;
}

class NothingBackend : public IdleBackend {
 public:
  std::string_view name() const override { return "nothing"; }
  std::string CompilerId() const override { return ""; }
  absl::StatusOr<CompiledKernel> Compile(const KernelSource&) const override {
    return CompiledKernel{};
  }
};

// Kernels of it take so much of the machine as is said.
class TakingBackend : public NothingBackend {
 public:
  explicit TakingBackend(const KernelResources& taken) : taken_(taken) {}
  absl::StatusOr<std::shared_ptr<const Kernel>> Load(const KernelSource&,
                                                     const CompiledKernel&) const override {
    struct Taking : Kernel {
      KernelResources resources() const override { return taken; }
      KernelResources taken;
    };
    auto kernel = std::make_shared<Taking>();
    kernel->taken = taken_;
    return kernel;
  }

 private:
  const KernelResources taken_;
};

Codes FallbacksOf(const CallCache& cache) {
  Codes codes;
  const auto stats = cache.stats();
  for (size_t r = 0; r < static_cast<size_t>(Reason::kCount); ++r) {
    if (stats.fallbacks[r] > 0) codes.emplace(ReasonName(static_cast<Reason>(r)));
  }
  return codes;
}

Codes Taking(int64_t local_bytes, int64_t spills) {
  KernelResources taken;
  taken.local_bytes = local_bytes;
  taken.spill_stores = taken.spill_loads = spills;
  const TakingBackend backend(taken);
  KernelCache kernels;
  CallCache cache(*ParseGraph("graph f(%a: f32[8]) -> (f32[8]) {\n %0 = exp(%a) : f32[8]\n"
                              " return %0\n}"),
                  Options{}, &backend, &kernels);
  const std::vector<float> in(8, 1);
  const std::vector<int64_t> dims = {8};
  const TensorView input{in.data(), DType::kF32, dims, {}};
  EXPECT_TRUE(cache.Find({&input, 1}, {}).ok());
  return FallbacksOf(cache);
}

// How calls are compared with the evaluator is found out when they run, not when they are planned.
// On a back end that computes nothing: results are the zeros that were there.
Codes Checked(std::string_view text, int64_t n) {
  NothingBackend backend;
  KernelCache kernels;
  CallCache cache(*ParseGraph(text), Options{}, &backend, &kernels, {1, /*fallback=*/true});
  const std::vector<float> in(static_cast<size_t>(n), 1);
  const std::vector<int64_t> dims = {n};
  std::vector<float> out(static_cast<size_t>(n), 0);
  const TensorView input{in.data(), DType::kF32, dims, {}},
      output{out.data(), DType::kF32, dims, {}};
  auto bound = cache.Find({&input, 1}, {&output, 1});
  EXPECT_TRUE(bound.ok()) << bound.status();
  CheckedCall call;
  call.cache = &cache;
  call.bound = bound->get();
  call.inputs = {&input, 1};
  call.outputs = {&output, 1};
  const std::vector<uint64_t> scalars(1);
  call.scalars = scalars;
  EXPECT_TRUE(RunChecked(call, [] { return absl::OkStatus(); }).ok());
  return FallbacksOf(cache);
}

DiskCacheOptions NoDisk() {
  DiskCacheOptions out;
  out.enabled = false;
  return out;
}

// Nor is what timing was asked for and did not do. A call of f32[8,8] inputs on a GPU of tests, of
// a process of its own.
Codes Timed(std::string_view text, const std::function<void(TimedBackend*)>& set,
            const DiskCacheOptions& options = NoDisk()) {
  TimedBackend backend;
  set(&backend);
  DiskCache disk(options);
  KernelCache kernels(&disk);
  CallCache cache(*ParseGraph(text), With(&Options::autotune, true), &backend, &kernels);
  const std::vector<float> in(64, 1);
  const std::vector<int64_t> dims = {8, 8};
  const std::vector<TensorView> inputs(cache.graph().inputs().size(),
                                       {in.data(), DType::kF32, dims, {}});
  const std::vector<uint64_t> scalars(inputs.size());
  EXPECT_TRUE(cache.TuneFirst({inputs, {}, scalars, nullptr, nullptr}).ok());
  return FallbacksOf(cache);
}

// What calls run while their code is compiled in the background: of f32[4,m], for m in turn.
class NothingOnCpu : public NothingBackend {
 public:
  const Target& target() const override { return target_; }

 private:
  const Target target_ = *TargetFor("x86-64-v3");
};
class FailsLater : public NothingBackend {
 public:
  absl::StatusOr<CompiledKernel> Compile(const KernelSource& source) const override {
    if (compiles_.fetch_add(1) < 2) return CompiledKernel{};
    return InternalError("no code for ", source.entry);
  }

 private:
  mutable std::atomic<int> compiles_{0};
};
Codes InBackground(const Backend& backend, bool background, std::vector<int64_t> sizes) {
  KernelCache kernels;
  Options options;
  options.background = background;
  options.specialize_after = background ? 0 : 1;
  CallCache cache(
      *ParseGraph("graph f(%x: f32[n,m]) -> (f32[n,m]) { %0 = softmax(%x) : f32[n,m] return %0 }"),
      options, &backend, &kernels);
  for (int64_t m : sizes) {
    const std::vector<int64_t> dims = {4, m};
    const TensorView input{nullptr, DType::kF32, dims, {}};
    EXPECT_TRUE(cache.Find({&input, 1}, {}).ok());
    FinishBackground();
  }
  return FallbacksOf(cache);
}

constexpr char kSquares[] =
    "graph f(%a: f32[8,8], %b: f32[8,8]) -> (f32[8,8]) {\n %0 = matmul(%a, %b) : f32[8,8]\n"
    " return %0\n}";
// In a second process, on a disk that the first has used.
Codes TimedBefore() {
  const TempFolder folder;
  Timed(kSquares, [](TimedBackend*) {}, In(folder.path));
  return Timed(kSquares, [](TimedBackend*) {}, In(folder.path));
}
// By a record of 8 rows, for 7, which its algorithm does not fit.
Codes Refused() {
  TimedBackend backend;
  backend.cost = [](const GemmProblem&, int a) { return a == 2 ? 5.0 : 10.0; };
  KernelCache kernels;
  CallCache cache(*ParseGraph("graph f(%a: f32[n,8], %b: f32[8,8]) -> (f32[n,8]) {\n %0 = "
                              "matmul(%a, %b) : f32[n,8]\n return %0\n}"),
                  Options{}, &backend, &kernels);
  const std::vector<float> in(64, 1);
  const std::vector<uint64_t> scalars(2);
  const std::vector<int64_t> eight = {8, 8}, seven = {7, 8};
  std::vector<TensorView> inputs(2, {in.data(), DType::kF32, eight, {}});
  EXPECT_TRUE(cache.Tune({inputs, {}, scalars, nullptr, nullptr}).ok());
  backend.unfit = {{7, 2}};
  inputs[0].dims = seven;
  EXPECT_TRUE(cache.Find(inputs, {}).ok());
  return FallbacksOf(cache);
}
constexpr char kRelu[] = "  %1 = relu(%0) : f32[n,64]\n  return %1\n";

// What is said of functions with bound inputs, all but the first of ones in these dims.
Codes Bound(std::string_view text, const std::vector<std::vector<int64_t>>& dims) {
  PackingBackend backend;
  KernelCache kernels;
  std::vector<float> ones(64, 1);
  HeldInputs held;
  std::vector<TensorView> inputs;
  for (const std::vector<int64_t>& d : dims) {
    held.bound.push_back(!inputs.empty());
    held.data.push_back(inputs.empty() ? nullptr : ones.data());
    held.bits.push_back(0);
    inputs.push_back({ones.data(), DType::kF32, d, {}});
  }
  CallCache cache(*ParseGraph(text), Options{}, &backend, &kernels, {}, std::move(held));
  auto bound = cache.Find(inputs, {});
  EXPECT_TRUE(bound.ok()) << bound.status();
  return FallbacksOf(cache);
}
// A read-only layer with the kernels of the graph for x86-64-v3, on a CPU that is more.
Codes InALayer(std::string_view text) {
  const TempFolder folder;
  const std::vector<float> in(4, 1);
  const std::vector<int64_t> dims = {4};
  const TensorView input{in.data(), DType::kF32, dims, {}};
  const auto call = [&](const Backend& backend, const DiskCacheOptions& options) {
    DiskCache disk(options);
    KernelCache kernels(&disk);
    CallCache cache(*ParseGraph(text), Options{}, &backend, &kernels);
    EXPECT_TRUE(cache.Find({&input, 1}, {}).ok());
    return FallbacksOf(cache);
  };
  call(GeneralBackend("x86-64-v3", "x86-64-v3"), In(folder.path));
  DiskCacheOptions options;
  options.layers = {folder.path};
  return call(GeneralBackend("x86-64-v4", "toycpu", {"x86-64-v4", "x86-64-v3"}), options);
}

constexpr char kProjections[] =
    R"(graph f(%x: f32[m,2], %q: f32[2,2], %k: f32[2,2]) -> (f32[m,2]) {
  %0 = matmul(%x, %q) : f32[m,2]
  %1 = matmul(%x, %k) : f32[m,2]
  %2 = multiply(%0, %1) : f32[m,2]
  return %2
})";

constexpr char kSubtract[] =
    "graph f(%a: f32[n]) -> (f32[n]) {\n %0 = subtract(%a, %a) : f32[n]\n return %0\n}";
constexpr char kNegative[] =
    "graph f(%a: f32[n]) -> (f32[n]) {\n %0 = negative(%a) : f32[n]\n return %0\n}";
// The last elements of the result come from all of the input.
std::string LongLine() {
  std::string text = "graph f(%a: f32[n]) -> (f32[n]) {\n %0 = cumsum(%a) {axis=0} : f32[n]\n";
  for (int i = 1; i < 20; ++i)
    absl::StrAppend(&text, " %", i, " = ", i % 2 != 0 ? "tanh" : "exp", "(%", i - 1,
                    ") : f32[n]\n");
  return text + " return %19\n}";
}

// ---- The table: one row a code.

constexpr char kChain[] = R"(graph f(%x: f32[n,64], %b: f32[64]) -> (f32[n,64]) {
  %0 = add(%x, %b) : f32[n,64]
  %1 = exp(%0) : f32[n,64]
  return %1
})";
constexpr char kResidual[] =
    R"(graph f(%x: f32[n,64], %r: f32[n,64], %w: f32[64,64], %g: f32[64]) -> (f32[n,64]) {
  %0 = multiply(%x, %r) : f32[n,64]
  %1 = tanh(%0) : f32[n,64]
  %2 = rms_norm(%1, %g) {norm_dims=1, eps=1e-06} : f32[n,64]
  %3 = matmul(%2, %w) : f32[n,64]
  %4 = add(%1, %3) : f32[n,64]
  return %4
})";
constexpr char kIndexAdd[] = R"(graph f(%x: f32[9,n], %i: i32[7], %a: f32[7,n]) -> (f32[9]) {
  %0 = remainder(%i, 9) : i32[7]
  %1 = index_add(%x, %0, %a) : f32[9,n]
  %2 = sum(%1) {axes=[1]} : f32[9]
  return %2
})";
constexpr char kBatches[] = R"(graph f(%q: f32[2,7,4,8], %b: f32[8,3]) -> (f32[2,4,7,3]) {
  %0 = transpose(%q) {perm=[0,2,1,3]} : f32[2,4,7,8]
  %1 = matmul(%0, %b) : f32[2,4,7,3]
  return %1
})";

std::string OneOp(const char* type, const char* op, const char* attrs) {
  return absl::StrCat("graph f(%x: ", type, ") -> (", type, ") {\n  %0 = ", op, "(%x) ", attrs,
                      " : ", type, "\n  return %0\n}");
}

const std::map<Reason, std::function<Codes()>>& Examples() {
  static const auto* examples = new std::map<Reason, std::function<Codes()>>{
      {Reason::kGraphInput, [] { return Compiled(kChain); }},
      {Reason::kGraphOutput, [] { return Compiled(kChain); }},
      {Reason::kFusionOff, [] { return Compiled(kChain, With(&Options::fuse, false)); }},
      {Reason::kMaxFusions,
       [] { return Compiled(kChain, With(&Options::max_fusions, int64_t{0})); }},
      {Reason::kDomainDiffers,
       [] {
         return Compiled(R"(graph f(%x: f32[1048576]) -> (f32[1048576]) {
  %0 = sum(%x) {axes=[0], keepdims=true} : f32[1]
  %1 = divide(%x, %0) : f32[1048576]
  return %1
})");
       }},
      {Reason::kReduceAxesDiffer,
       [] {
         return Compiled(R"(graph f(%x: f32[256,512]) -> (f32[512], f32[256]) {
  %0 = tanh(%x) : f32[256,512]
  %1 = sum(%0) {axes=[1], keepdims=false} : f32[256]
  %2 = max(%0) {axes=[0], keepdims=false} : f32[512]
  return %2, %1
})");
       }},
      {Reason::kReduceThenReduce,
       [] {
         return Compiled(R"(graph f(%x: f32[256,512]) -> (f32[]) {
  %0 = max(%x) {axes=[1], keepdims=false} : f32[256]
  %1 = sum(%0) {axes=[0], keepdims=false} : f32[]
  return %1
})");
       }},
      {Reason::kRecomputeTooDear,
       [] {
         return Compiled(R"(graph f(%x: f32[64,768], %b: f32[768]) -> (f32[64,768]) {
  %0 = exp(%b) : f32[768]
  %1 = add(%x, %0) : f32[64,768]
  return %1
})");
       }},
      {Reason::kWouldCycle, [] { return Grouped(kResidual); }},
      {Reason::kParamBudget,
       [] {
         Setting few;
         few.target = WithBudgets(4, 1024, 96);
         return Grouped(R"(graph f(%a: f32[8], %b: f32[8], %c: f32[8], %d: f32[8]) -> (f32[8]) {
  %0 = add(%a, %b) : f32[8]
  %1 = add(%0, %c) : f32[8]
  %2 = add(%1, %d) : f32[8]
  return %2
})",
                        few);
       }},
      {Reason::kRegisterBudget, [] { return Long(150, WithBudgets(120, 100000, 96), true); }},
      {Reason::kCodeBudget, [] { return Long(5000, *TargetFor("sm_90"), false); }},
      {Reason::kViewNotAffine,
       [] {
         return Compiled(R"(graph f(%x: f32[60,77]) -> (f32[60,77]) {
  %0 = exp(%x) : f32[60,77]
  %1 = transpose(%0) {perm=[1,0]} : f32[77,60]
  %2 = reshape(%1) {shape=[70,66]} : f32[70,66]
  %3 = transpose(%2) {perm=[1,0]} : f32[66,70]
  %4 = reshape(%3) {shape=[42,110]} : f32[42,110]
  %5 = transpose(%4) {perm=[1,0]} : f32[110,42]
  %6 = reshape(%5) {shape=[60,77]} : f32[60,77]
  %7 = negative(%6) : f32[60,77]
  return %7
})");
       }},
      {Reason::kMatmulOperand, [] { return Grouped(kResidual); }},
      {Reason::kMatmulResult, [] { return Grouped(kResidual); }},
      {Reason::kGemmDtype, [] { return Product("i32"); }},
      {Reason::kGemmNoLibrary,
       [] {
         Setting none;
         none.library = [](DType) { return std::optional<Reason>(Reason::kGemmNoLibrary); };
         return Product("bf16", none);
       }},
      {Reason::kGemmOff,
       [] {
         Setting off;
         off.options.use_gemm_library = false;
         return Product("f32", off);
       }},
      {Reason::kGemmLayout, [] { return Grouped(kBatches); }},
      {Reason::kGemmEmpty,
       [] {
         return Grouped(
             "graph f(%a: f32[4,0], %b: f32[0,5]) -> (f32[4,5]) {\n  %0 = matmul(%a, %b) : "
             "f32[4,5]\n  return %0\n}");
       }},
      {Reason::kCopyOperand, [] { return Grouped(kBatches); }},
      {Reason::kOutputCopy,
       [] {
         return Compiled(
             "graph f(%x: f32[n,64]) -> (f32[64,n]) {\n  %0 = transpose(%x) "
             "{perm=[1,0]} : f32[64,n]\n  return %0\n}");
       }},
      {Reason::kScalarAccess,
       [] {
         return Compiled(
             "graph f(%x: f32[n,335]) -> (f32[n,332]) {\n  %0 = slice(%x) {starts=[0,3]} : "
             "f32[n,332]\n  %1 = softmax(%0) : f32[n,332]\n  return %1\n}");
       }},
      {Reason::kRowReread, [] { return Compiled(OneOp("f32[512,65536]", "softmax", "{axis=1}")); }},
      {Reason::kStridedReduce,
       [] {
         return Compiled(
             "graph f(%x: f32[512,64], %y: f32[64,512]) -> (f32[64]) {\n%0 = transpose(%y) : "
             "f32[512,64]\n%1 = add(%x, %0) : f32[512,64]\n%2 = sum(%1) {axes=[0]} : f32[64]\n"
             "return %2\n}");
       }},
      {Reason::kOffsets64, [] { return Compiled(OneOp("f32[65536,32769]", "abs", "")); }},
      {Reason::kNumericsFastSame,
       [] { return Compiled(kChain, With(&Options::numerics, Numerics::kFast)); }},
      {Reason::kNumericsFastTf32,
       [] {
         return Compiled(
             "graph f(%x: f32[n,64], %w: f32[64,32]) -> (f32[n,32]) {\n%0 = matmul(%x, %w) : "
             "f32[n,32]\nreturn %0\n}",
             With(&Options::numerics, Numerics::kFast));
       }},
      {Reason::kVerifySkipped, [] { return Checked(LongLine(), 6'000'000); }},
      {Reason::kVerifySampled, [] { return Checked(kSubtract, 12'000'000); }},
      {Reason::kVerifyFallback, [] { return Checked(kNegative, 8); }},
      {Reason::kGatherOperand,
       [] {
         return Compiled(R"(graph f(%x: f32[64,256], %i: i32[32]) -> (f32[32,256]) {
  %0 = relu(%x) : f32[64,256]
  %1 = take(%0, %i) : f32[32,256]
  return %1
})");
       }},
      {Reason::kScanInOrder,
       [] { return Compiled(OneOp("f32[4,1048576]", "cumsum", "{axis=1}")); }},
      {Reason::kFewLongRows, [] { return Compiled(OneOp("f32[4096,64]", "softmax", "{axis=0}")); }},
      {Reason::kColumnSumsInMemory,
       [] {
         return Compiled(
             "graph f(%x: f32[n,8192], %g: f32[n,8192], %r: f32[n,8192]) -> (f32[n,8192], "
             "f32[8192], f32[8192]) {\n%0 = multiply(%x, %g) : f32[n,8192]\n%1 = multiply(%0, %r) "
             ": f32[n,8192]\n%2 = sum(%1) {axes=[1], keepdims=true} : f32[n,1]\n%3 = subtract(%x, "
             "%2) : f32[n,8192]\n%4 = multiply(%3, %g) : f32[n,8192]\n%5 = multiply(%4, %r) : "
             "f32[n,8192]\n%6 = sum(%g) {axes=[0]} : f32[8192]\n%7 = sum(%5) {axes=[0]} : "
             "f32[8192]\nreturn %5, %6, %7\n}");
       }},
      {Reason::kTransposedAccess,
       [] {
         return Compiled(
             "graph f(%x: f32[512,3], %y: f32[3,512]) -> (f32[3,512]) {\n%0 = "
             "transpose(%x) : f32[3,512]\n%1 = add(%0, %y) : f32[3,512]\nreturn %1\n}");
       }},
      {Reason::kSortOperand, [] { return Compiled(kIndexAdd); }},
      {Reason::kSortResult, [] { return Compiled(kIndexAdd); }},
      {Reason::kSegmentResult, [] { return Compiled(kIndexAdd); }},
      {Reason::kSegmentInOrder, [] { return Compiled(kIndexAdd); }},
      {Reason::kEpilogueReaders,
       [] {
         return Behind("f32", R"(  %1 = relu(%0) : f32[n,64]
  %2 = tanh(%0) : f32[n,64]
  %3 = add(%1, %2) : f32[n,64]
  return %3
)");
       }},
      {Reason::kEpilogueActivation,
       [] { return Behind("f32", "  %1 = silu(%0) : f32[n,64]\n  return %1\n"); }},
      {Reason::kEpilogueDtype,
       [] { return Behind("f64", "  %1 = relu(%0) : f64[n,64]\n  return %1\n"); }},
      {Reason::kEpilogueOperand,
       [] {
         return Behind("f32", "  %1 = add(%0, %r) : f32[n,64]\n  return %1\n", ", %r: f32[n,1]");
       }},
      {Reason::kEpilogueOrder,
       [] {
         return Behind("f32", R"(  %1 = relu(%0) : f32[n,64]
  %2 = add(%1, %b) : f32[n,64]
  return %2
)",
                       ", %b: f32[64]");
       }},
      {Reason::kEpilogueEmptyK,
       [] {
         return Grouped(R"(graph f(%x: f32[n,k], %w: f32[k,64]) -> (f32[n,64]) {
  %0 = slice(%x) {stops=[9223372036854775807,-1]} : f32[n,max(k-1,0)]
  %1 = slice(%w) {stops=[-1,9223372036854775807]} : f32[max(k-1,0),64]
  %2 = matmul(%0, %1) : f32[n,64]
  %3 = relu(%2) : f32[n,64]
  return %3
})",
                        TakesAll());
       }},
      {Reason::kEpilogueNoAlgorithm,
       [] {
         return Behind("f32", kRelu, "", {ProductChoice::Epilogue::kNone, /*no_algorithm=*/true});
       }},
      {Reason::kEpilogueTuned,
       [] { return Behind("f32", kRelu, "", {ProductChoice::Epilogue::kSums}); }},
      {Reason::kTuneNothing,
       [] { return Timed(kSquares, [](TimedBackend* b) { b->can_tune = false; }); }},
      {Reason::kTuneCapturing,
       [] { return Timed(kSquares, [](TimedBackend* b) { b->capturing = true; }); }},
      {Reason::kTuneFailed,
       [] { return Timed(kSquares, [](TimedBackend* b) { b->largest_allocation = 1; }); }},
      {Reason::kTuneFound, TimedBefore},
      {Reason::kTuneRefused, Refused},
      {Reason::kGemmPadded,
       [] {
         return Compiled(
             "graph f(%x: bf16[1024,2047], %w: bf16[2047,1024]) -> (bf16[1024,1024]) {\n"
             "  %0 = matmul(%x, %w) : bf16[1024,1024]\n  return %0\n}");
       }},
      {Reason::kRegisterSpill, [] { return Taking(8, 8); }},
      {Reason::kLocalMemory, [] { return Taking(8, 0); }},
      {Reason::kBoundInput, [] { return Bound(kProjections, {{2, 2}, {2, 2}, {2, 2}}); }},
      {Reason::kBoundOnce, [] { return Bound(kProjections, {{2, 2}, {2, 2}, {2, 2}}); }},
      {Reason::kBoundPacked, [] { return Bound(kProjections, {{2, 2}, {2, 2}, {2, 2}}); }},
      {Reason::kGemmGrouped, [] { return Bound(kProjections, {{2, 2}, {2, 2}, {2, 2}}); }},
      {Reason::kGemmApart,
       [] {
         return Bound(R"(graph f(%x: f32[m,2], %q: f32[2,2], %k: f32[2,1]) -> (f32[m,2], f32[m,1]) {
  %0 = matmul(%x, %q) : f32[m,2]
  %1 = matmul(%x, %k) : f32[m,1]
  return %0, %1
})",
                      {{2, 2}, {2, 2}, {2, 1}});
       }},
      {Reason::kBackgroundGeneral, [] { return InBackground(NothingBackend(), true, {64, 65}); }},
      {Reason::kBackgroundInterpreted, [] { return InBackground(NothingOnCpu(), true, {64}); }},
      {Reason::kBackgroundWaited, [] { return InBackground(NothingBackend(), true, {64}); }},
      {Reason::kBackgroundFailed, [] { return InBackground(FailsLater(), true, {64, 65}); }},
      {Reason::kHotShape, [] { return InBackground(NothingBackend(), false, {64}); }},
      {Reason::kCacheOtherTarget, [] { return InALayer(kNegative); }},
  };
  return *examples;
}

TEST(Reasons, EachIsGivenByItsGraph) {
  for (int r = 0; r < static_cast<int>(Reason::kCount); ++r) {
    const auto reason = static_cast<Reason>(r);
    const std::string name(ReasonName(reason));
    const auto found = Examples().find(reason);
    if (found == Examples().end()) {
      ADD_FAILURE() << name << " has no graph that gives it";
      continue;
    }
    EXPECT_THAT(found->second(), ::testing::Contains(name)) << "from the graph of " << name;
  }
}

// No code is given by everything: a chain of two ops has none but its ends.
TEST(Reasons, APlainChainHasNone) {
  EXPECT_EQ(Compiled(kChain), (Codes{"graph_input", "graph_input", "graph_output"}));
}

TEST(Reasons, ThePageListsEachWithItsMeaning) {
  std::ifstream file(TestDataPath("docs/explain.md"));
  std::stringstream text;
  text << file.rdbuf();
  const std::string page = text.str(), begin = "<!-- reasons: begin -->\n",
                    end = "<!-- reasons: end -->";
  const size_t from = page.find(begin), to = page.find(end);
  ASSERT_NE(from, std::string::npos);
  ASSERT_NE(to, std::string::npos);
  std::string expected = "| code | meaning |\n|---|---|\n";
  for (int r = 0; r < static_cast<int>(Reason::kCount); ++r) {
    const auto reason = static_cast<Reason>(r);
    EXPECT_FALSE(ReasonDoc(reason).empty());
    expected +=
        "| `" + std::string(ReasonName(reason)) + "` | " + std::string(ReasonDoc(reason)) + " |\n";
  }
  EXPECT_EQ(page.substr(from + begin.size(), to - from - begin.size()), expected);
}

}  // namespace
}  // namespace jitfuse::internal
