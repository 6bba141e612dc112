#include "jit/interpret_backend.h"

#include <algorithm>
#include <new>
#include <utility>
#include <vector>

#include "codegen/plan/access_map.h"
#include "codegen/plan/interpret_plan.h"
#include "ir/support/status.h"

namespace jitfuse::internal {
namespace {

class PlanKernel : public Kernel {
 public:
  explicit PlanKernel(std::shared_ptr<const KernelPlan> plan) : plan_(std::move(plan)) {}
  const KernelPlan& plan() const { return *plan_; }

 private:
  std::shared_ptr<const KernelPlan> plan_;
};

class HostAllocator : public Allocator {
 public:
  void* Allocate(size_t bytes, StreamHandle) override {
    return ::operator new(bytes, std::align_val_t{256}, std::nothrow);
  }
  void Free(void* ptr, size_t, StreamHandle) override {
    ::operator delete(ptr, std::align_val_t{256});
  }
};

// As the op's meaning says it, with an error where an index is out of range.
absl::Status GroupPositionsByRule(const SortProblem& p, const SortBuffers& buffers) {
  const auto* indices = static_cast<const char*>(buffers.indices);
  for (int64_t line = 0; line < p.lines(); ++line) {
    const int64_t outer = line / p.inner, inner = line % p.inner;
    auto at = [&](int64_t length, int64_t i) { return (outer * length + i) * p.inner + inner; };
    std::vector<std::pair<int64_t, int64_t>> sorted;
    for (int64_t i = 0; i < p.positions; ++i) {
      const ScalarValue v = LoadScalar(p.dtype, indices + at(p.positions, i) * ItemSize(p.dtype));
      const bool beyond = !IsSigned(p.dtype) && v.u > static_cast<uint64_t>(INT64_MAX);
      if (beyond || v.i < -p.groups || v.i >= p.groups) {
        return InvalidArgument("group_positions: index ", beyond ? INT64_MAX : v.i,
                               " is out of range for an axis of size ", p.groups);
      }
      sorted.emplace_back(v.i < 0 ? v.i + p.groups : v.i, i);
    }
    std::sort(sorted.begin(), sorted.end());
    for (int64_t i = 0; i < p.positions; ++i)
      buffers.order[at(p.positions, i)] = sorted[static_cast<size_t>(i)].second;
    for (int64_t g = 0; g < p.groups; ++g) {
      auto first = [&](int64_t index) {
        return std::lower_bound(sorted.begin(), sorted.end(), std::pair(index, int64_t{0})) -
               sorted.begin();
      };
      buffers.begin[at(p.groups, g)] = first(g);
      buffers.end[at(p.groups, g)] = first(g + 1);
    }
  }
  return absl::OkStatus();
}

int CountSymbols(const KernelPlan& plan) {
  const std::vector<SymbolId> used = PlanSymbols(plan);
  return used.empty() ? 0 : *std::max_element(used.begin(), used.end()) + 1;
}

class InterpretBackend : public HostBackend {
 public:
  InterpretBackend() : target_(*TargetFor("interpret")) {}

  std::string_view name() const override { return "interpret"; }
  const Target& target() const override { return target_; }
  std::string CompilerId() const override { return "interpret"; }

  // Every symbol becomes a size argument, in order: the interpreter evaluates the plan's sizes
  // itself.
  absl::StatusOr<KernelSource> Emit(const KernelPlan& plan) const override {
    KernelSource source;
    source.lang = SourceLang::kPlan;
    source.entry = plan.name;
    source.arch = target_.arch;
    for (int s = 0; s < CountSymbols(plan); ++s) source.size_args.push_back(SizeExpr::Symbol(s));
    source.plan = std::make_shared<KernelPlan>(plan);
    return source;
  }
  absl::StatusOr<CompiledKernel> Compile(const KernelSource&) const override {
    return CompiledKernel{};
  }
  absl::StatusOr<std::shared_ptr<const Kernel>> Load(const KernelSource& source,
                                                     const CompiledKernel&) const override {
    return std::shared_ptr<const Kernel>(std::make_shared<PlanKernel>(source.plan));
  }
  absl::Status Launch(const Kernel& kernel, const LaunchArgs& args) const override {
    return InterpretPlan(static_cast<const PlanKernel&>(kernel).plan(), args.buffers, args.scalars,
                         args.sizes);
  }

  absl::Status GemmSupport(DType, Reason* reason) const override {
    *reason = Reason::kGemmNoLibrary;
    return Unimplemented("the interpreter has no matrix library");
  }
  absl::StatusOr<std::shared_ptr<const PreparedGemm>> PrepareGemm(
      const GemmProblem&) const override {
    return Unimplemented("the interpreter has no matrix library");
  }
  absl::Status EpilogueSupport(DType dtype, const GemmEpilogue&, Reason* reason) const override {
    return GemmSupport(dtype, reason);
  }
  absl::Status RunGemm(const PreparedGemm&, const GemmBuffers&, StreamHandle) const override {
    return Unimplemented("the interpreter has no matrix library");
  }

  absl::Status RunSort(const SortProblem& problem, absl::Span<const Kernel* const>,
                       const SortBuffers& buffers, void*, StreamHandle) const override {
    return GroupPositionsByRule(problem, buffers);
  }
  std::string DescribeSort(const SortProblem&) const override { return "the interpreter's"; }

  Allocator* allocator() const override { return &allocator_; }

 private:
  Target target_;
  mutable HostAllocator allocator_;
};

}  // namespace

std::unique_ptr<Backend> CreateInterpretBackend() { return std::make_unique<InterpretBackend>(); }

}  // namespace jitfuse::internal
