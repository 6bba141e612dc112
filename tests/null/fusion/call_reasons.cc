// Calls of which each has to give a reason code.
#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "ir/support/status.h"
#include "ir/text.h"
#include "jit/background.h"
#include "jit/call_cache.h"
#include "jit/disk_cache.h"
#include "jit/kernel_cache.h"
#include "jit/verify_run.h"
#include "tests/null/fusion/reason_examples.h"
#include "tests/null/jit/timed_backend.h"
#include "tests/test_util/cache_kit.h"
#include "tests/test_util/general_backend.h"
#include "tests/test_util/idle_backend.h"
#include "tests/test_util/packing_backend.h"

namespace jitfuse::internal {
namespace {

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
  Options tuned;
  tuned.autotune = true;
  CallCache cache(*ParseGraph(text), tuned, &backend, &kernels);
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

}  // namespace

const ReasonExamples& ReasonsOfCalls() {
  static const auto* examples = new ReasonExamples{
      {Reason::kVerifySkipped, [] { return Checked(LongLine(), 6'000'000); }},
      {Reason::kVerifySampled, [] { return Checked(kSubtract, 12'000'000); }},
      {Reason::kVerifyFallback, [] { return Checked(kNegative, 8); }},
      {Reason::kTuneNothing,
       [] { return Timed(kSquares, [](TimedBackend* b) { b->can_tune = false; }); }},
      {Reason::kTuneCapturing,
       [] { return Timed(kSquares, [](TimedBackend* b) { b->capturing = true; }); }},
      {Reason::kTuneFailed,
       [] { return Timed(kSquares, [](TimedBackend* b) { b->largest_allocation = 1; }); }},
      {Reason::kTuneFound, TimedBefore},
      {Reason::kTuneRefused, Refused},
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

}  // namespace jitfuse::internal
