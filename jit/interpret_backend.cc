#include "jit/interpret_backend.h"

#include <algorithm>
#include <cstring>
#include <new>

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

int CountSymbols(const KernelPlan& plan) {
  const std::vector<SymbolId> used = PlanSymbols(plan);
  return used.empty() ? 0 : *std::max_element(used.begin(), used.end()) + 1;
}

class InterpretBackend : public Backend {
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
  absl::Status RunGemm(const PreparedGemm&, const void*, const void*, void*, void*,
                       StreamHandle) const override {
    return Unimplemented("the interpreter has no matrix library");
  }

  Allocator* allocator() const override { return &allocator_; }
  absl::Status CopyFromHost(void* dst, const void* src, size_t bytes, StreamHandle) const override {
    return Copy(dst, src, bytes);
  }
  absl::Status CopyToHost(void* dst, const void* src, size_t bytes, StreamHandle) const override {
    return Copy(dst, src, bytes);
  }
  absl::Status CopyOnDevice(void* dst, const void* src, size_t bytes, StreamHandle) const override {
    return Copy(dst, src, bytes);
  }
  absl::Status Synchronize(StreamHandle) const override { return absl::OkStatus(); }

 private:
  static absl::Status Copy(void* dst, const void* src, size_t bytes) {
    if (bytes > 0) std::memmove(dst, src, bytes);
    return absl::OkStatus();
  }

  Target target_;
  mutable HostAllocator allocator_;
};

}  // namespace

std::unique_ptr<Backend> CreateInterpretBackend() { return std::make_unique<InterpretBackend>(); }

}  // namespace jitfuse::internal
