// TimedBackend: a GPU of tests whose time a test writes: products and kernels take the microseconds
// that it says, and results are what it asks about rather than numbers.
//
// Plans and emits as for an sm_90, compiles and computes nothing, in the host's memory. A product
// has `algorithms` algorithms a0, a1 ...; `cost` says what one takes, `launch_us` what any kernel
// does.
#ifndef JITFUSE_TESTS_NULL_JIT_TIMED_BACKEND_H_
#define JITFUSE_TESTS_NULL_JIT_TIMED_BACKEND_H_

#include <cstring>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ir/support/status.h"
#include "jit/backend.h"
#include "jit/cuda/cuda_backend.h"
#include "jit/interpret_backend.h"

namespace jitfuse::internal {

class TimedBackend : public HostBackend {
 public:
  // What a test says.
  int algorithms = 3;
  std::function<double(const GemmProblem&, int algorithm)> cost = [](const GemmProblem&, int) {
    return 10.0;
  };
  std::function<size_t(const GemmProblem&, int algorithm)> workspace =
      [](const GemmProblem&, int a) { return 256 * static_cast<size_t>(a); };
  double launch_us = 5;
  bool capturing = false;
  bool can_tune = true;
  std::function<bool(const GemmProblem&)> refuses = [](const GemmProblem&) { return false; };
  std::set<std::pair<int64_t, int>> unfit;  // (m, algorithm)
  std::set<std::string> unknown;            // what is no name of an algorithm
  int64_t largest_allocation = int64_t{1} << 40;
  // What it sees.
  mutable double clock_us = 0;
  mutable int64_t timings = 0;
  mutable std::vector<int> ran;           // algorithms of products
  mutable std::vector<void*> written;     // results of products
  mutable std::vector<const void*> read;  // their A

  std::string_view name() const override { return "timed"; }
  const Target& target() const override { return offline_->target(); }
  std::string CompilerId() const override { return "none"; }
  absl::StatusOr<KernelSource> Emit(const KernelPlan& plan) const override {
    return offline_->Emit(plan);
  }
  absl::StatusOr<CompiledKernel> Compile(const KernelSource&) const override {
    return CompiledKernel{};
  }
  absl::StatusOr<std::shared_ptr<const Kernel>> Load(const KernelSource&,
                                                     const CompiledKernel&) const override {
    return std::make_shared<const Kernel>();
  }
  absl::Status Launch(const Kernel&, const LaunchArgs&) const override {
    clock_us += launch_us;
    return absl::OkStatus();
  }
  absl::Status GemmSupport(DType d, Reason* r) const override {
    return offline_->GemmSupport(d, r);
  }
  absl::Status EpilogueSupport(DType, const GemmEpilogue&, Reason*) const override {
    return absl::OkStatus();
  }
  absl::StatusOr<std::shared_ptr<const PreparedGemm>> PrepareGemm(
      const GemmProblem& p) const override {
    if (refuses(p)) return Unimplemented("no algorithm for ", EpilogueToString(p.epilogue));
    return std::make_shared<const Gemm>(p, 0, workspace(p, 0));
  }
  bool CanTune() const override { return can_tune; }
  std::string GemmLibrary() const override { return library; }
  std::string library = "timed 1";
  absl::StatusOr<std::vector<std::shared_ptr<const PreparedGemm>>> GemmCandidates(
      const GemmProblem& p, int most) const override {
    std::vector<std::shared_ptr<const PreparedGemm>> out;
    for (int a = 0; a < std::min(most, algorithms); ++a)
      out.push_back(std::make_shared<const Gemm>(p, a, workspace(p, a)));
    return out;
  }
  absl::StatusOr<std::shared_ptr<const PreparedGemm>> PrepareGemmWith(
      const GemmProblem& p, const std::string& algorithm) const override {
    if (unknown.count(algorithm) > 0)
      return InvalidArgument("'", algorithm, "' is no algorithm of the timed library");
    const int a = algorithm[1] - '0';
    if (unfit.count({p.m, a}) > 0) return NotFound(algorithm, " does not fit m = ", p.m);
    return std::make_shared<const Gemm>(p, a, workspace(p, a));
  }
  absl::Status RunGemm(const PreparedGemm& prepared, const GemmBuffers& buffers,
                       StreamHandle) const override {
    const auto& gemm = static_cast<const Gemm&>(prepared);
    clock_us += cost(gemm.problem, gemm.number);
    ran.push_back(gemm.number);
    written.push_back(buffers.d);
    read.push_back(buffers.a);
    std::memset(buffers.d, 0x11, static_cast<size_t>(ItemSize(gemm.problem.dtype)));
    if (gemm.workspace_bytes() > 0) std::memset(buffers.workspace, 0x22, gemm.workspace_bytes());
    return absl::OkStatus();
  }
  absl::StatusOr<double> TimeOnDevice(absl::FunctionRef<absl::Status()> work,
                                      StreamHandle) const override {
    ++timings;
    const double begin = clock_us;
    JF_RETURN_IF_ERROR(work());
    return clock_us - begin;
  }
  absl::Status RunSort(const SortProblem&, absl::Span<const Kernel* const>, const SortBuffers&,
                       void*, StreamHandle) const override {
    return absl::OkStatus();
  }
  std::string DescribeSort(const SortProblem&) const override { return "none"; }
  bool IsCapturing(StreamHandle) const override { return capturing; }
  Allocator* allocator() const override { return &counting_; }
  int64_t allocations() const { return counting_.alive; }

 private:
  struct Gemm : PreparedGemm {
    Gemm(const GemmProblem& p, int n, size_t w) : problem(p), number(n), workspace(w) {}
    size_t workspace_bytes() const override { return workspace; }
    std::string Describe() const override { return absl::StrCat("algorithm ", number); }
    std::string algorithm() const override { return absl::StrCat("a", number); }
    GemmProblem problem;
    int number;
    size_t workspace;
  };
  struct CountingAllocator : Allocator {
    explicit CountingAllocator(const TimedBackend* o) : owner(o) {}
    void* Allocate(size_t bytes, StreamHandle stream) override {
      if (static_cast<int64_t>(bytes) > owner->largest_allocation) return nullptr;
      ++alive;
      return owner->host_->allocator()->Allocate(bytes, stream);
    }
    void Free(void* ptr, size_t bytes, StreamHandle stream) override {
      --alive;
      owner->host_->allocator()->Free(ptr, bytes, stream);
    }
    const TimedBackend* owner;
    int64_t alive = 0;
  };

  std::unique_ptr<Backend> offline_ = *CreateOfflineCudaBackend(*TargetFor("sm_90"));
  std::unique_ptr<Backend> host_ = CreateInterpretBackend();
  mutable CountingAllocator counting_{this};
};

}  // namespace jitfuse::internal

#endif  // JITFUSE_TESTS_NULL_JIT_TIMED_BACKEND_H_
