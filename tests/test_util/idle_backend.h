// IdleBackend: a Backend for tests of what stands above one. Plans as the interpreter does, and
// launches nothing; a test overrides what it watches.
#ifndef JITFUSE_TESTS_TEST_UTIL_IDLE_BACKEND_H_
#define JITFUSE_TESTS_TEST_UTIL_IDLE_BACKEND_H_

#include <memory>
#include <string_view>

#include "jit/backend.h"
#include "jit/interpret_backend.h"

namespace jitfuse::internal {

class IdleBackend : public HostBackend {
 public:
  const Target& target() const override { return rest_->target(); }
  absl::StatusOr<KernelSource> Emit(const KernelPlan& plan) const override {
    return rest_->Emit(plan);
  }
  absl::StatusOr<std::shared_ptr<const Kernel>> Load(const KernelSource& source,
                                                     const CompiledKernel& c) const override {
    return rest_->Load(source, c);
  }
  absl::Status Launch(const Kernel&, const LaunchArgs&) const override { return absl::OkStatus(); }
  absl::Status GemmSupport(DType d, Reason* r) const override { return rest_->GemmSupport(d, r); }
  absl::StatusOr<std::shared_ptr<const PreparedGemm>> PrepareGemm(
      const GemmProblem& p) const override {
    return rest_->PrepareGemm(p);
  }
  absl::Status EpilogueSupport(DType d, const GemmEpilogue& e, Reason* r) const override {
    return rest_->EpilogueSupport(d, e, r);
  }
  absl::Status RunGemm(const PreparedGemm&, const GemmBuffers&, StreamHandle) const override {
    return absl::OkStatus();
  }
  absl::Status RunSort(const SortProblem&, absl::Span<const Kernel* const>, const SortBuffers&,
                       void*, StreamHandle) const override {
    return absl::OkStatus();
  }
  std::string DescribeSort(const SortProblem& p) const override { return rest_->DescribeSort(p); }
  Allocator* allocator() const override { return rest_->allocator(); }

 private:
  std::unique_ptr<Backend> rest_ = CreateInterpretBackend();
};

}  // namespace jitfuse::internal

#endif  // JITFUSE_TESTS_TEST_UTIL_IDLE_BACKEND_H_
