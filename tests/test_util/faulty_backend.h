// FaultyBackend: a real back end whose kernels are wrong where a test says: after each launch some
// elements of the kernel's outputs are changed. For tests of what finds wrong results.
//
// In: the back end that does the work, and the faults. Out: everything as that back end does it,
// but for the faults. Outputs of a kernel are counted in the order of its parameters, elements as
// they lie from the buffer's beginning on. Works for any device, by copies to the host and back.
#ifndef JITFUSE_TESTS_TEST_UTIL_FAULTY_BACKEND_H_
#define JITFUSE_TESTS_TEST_UTIL_FAULTY_BACKEND_H_

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "ir/host_tensor.h"
#include "jit/backend.h"

namespace jitfuse::internal {

struct Fault {
  int output = 0;
  int64_t element = 0;
};

class FaultyBackend : public Backend {
 public:
  FaultyBackend(std::unique_ptr<Backend> owned, std::vector<Fault> faults)
      : owned_(std::move(owned)), inner_(owned_.get()), faults_(std::move(faults)) {}
  FaultyBackend(const Backend* inner, std::vector<Fault> faults)
      : inner_(inner), faults_(std::move(faults)) {}

  // Another value of the same type: numbers become others, far away.
  static ScalarValue Wrong(DType dtype, ScalarValue v) {
    if (dtype == DType::kBool) return ScalarFromInt(dtype, v.u == 0 ? 1 : 0);
    if (IsFloat(dtype)) return ScalarFromDouble(dtype, ScalarToDouble(dtype, v) + 64);
    return ScalarValue::FromBits(ConvertScalar(dtype, dtype, v).bits() ^ 1);
  }

  std::string_view name() const override { return inner_->name(); }
  const Target& target() const override { return inner_->target(); }
  std::string CompilerId() const override { return inner_->CompilerId(); }
  absl::StatusOr<KernelSource> Emit(const KernelPlan& plan) const override {
    absl::StatusOr<KernelSource> source = inner_->Emit(plan);
    if (!source.ok()) return source;
    std::vector<Output> outputs;
    for (size_t p = 0; p < plan.params.size(); ++p) {
      if (plan.params[p].role == ParamRole::kOutput) outputs.push_back({p, plan.params[p].dtype});
    }
    std::lock_guard<std::mutex> lock(mutex_);
    outputs_[source->entry] = std::move(outputs);
    return source;
  }
  absl::StatusOr<CompiledKernel> Compile(const KernelSource& source) const override {
    return inner_->Compile(source);
  }
  absl::StatusOr<std::shared_ptr<const Kernel>> Load(const KernelSource& source,
                                                     const CompiledKernel& c) const override {
    auto loaded = inner_->Load(source, c);
    if (!loaded.ok()) return loaded;
    auto kernel = std::make_shared<FaultyKernel>();
    kernel->inner = *std::move(loaded);
    std::lock_guard<std::mutex> lock(mutex_);
    kernel->outputs = outputs_[source.entry];
    return std::shared_ptr<const Kernel>(std::move(kernel));
  }
  absl::Status Launch(const Kernel& kernel, const LaunchArgs& args) const override {
    const auto& faulty = static_cast<const FaultyKernel&>(kernel);
    absl::Status status = inner_->Launch(*faulty.inner, args);
    for (size_t f = 0; f < faults_.size() && status.ok(); ++f) {
      const auto o = static_cast<size_t>(faults_[f].output);
      if (o >= faulty.outputs.size()) continue;
      const auto [param, dtype] = faulty.outputs[o];
      uint8_t bytes[8];
      const auto size = static_cast<size_t>(ItemSize(dtype));
      char* at =
          static_cast<char*>(args.buffers[param]) + faults_[f].element * static_cast<int64_t>(size);
      status = inner_->CopyToHost(bytes, at, size, args.stream);
      if (!status.ok()) break;
      StoreScalar(dtype, Wrong(dtype, LoadScalar(dtype, bytes)), bytes);
      status = inner_->CopyFromHost(at, bytes, size, args.stream);
    }
    return status;
  }
  absl::Status GemmSupport(DType d, Reason* r) const override { return inner_->GemmSupport(d, r); }
  absl::StatusOr<std::shared_ptr<const PreparedGemm>> PrepareGemm(
      const GemmProblem& p) const override {
    return inner_->PrepareGemm(p);
  }
  absl::Status EpilogueSupport(DType d, const GemmEpilogue& e, Reason* r) const override {
    return inner_->EpilogueSupport(d, e, r);
  }
  absl::Status RunGemm(const PreparedGemm& gemm, const GemmBuffers& buffers,
                       StreamHandle stream) const override {
    return inner_->RunGemm(gemm, buffers, stream);
  }
  absl::StatusOr<std::vector<KernelSource>> EmitSort(DType dtype) const override {
    return inner_->EmitSort(dtype);
  }
  int64_t SortWorkspaceBytes(const SortProblem& p) const override {
    return inner_->SortWorkspaceBytes(p);
  }
  absl::Status RunSort(const SortProblem& problem, absl::Span<const Kernel* const> kernels,
                       const SortBuffers& buffers, void* workspace,
                       StreamHandle stream) const override {
    std::vector<const Kernel*> inner;
    for (const Kernel* k : kernels)
      inner.push_back(static_cast<const FaultyKernel*>(k)->inner.get());
    return inner_->RunSort(problem, inner, buffers, workspace, stream);
  }
  std::string DescribeSort(const SortProblem& p) const override { return inner_->DescribeSort(p); }
  int device_index() const override { return inner_->device_index(); }
  bool IsCapturing(StreamHandle stream) const override { return inner_->IsCapturing(stream); }
  Allocator* allocator() const override { return inner_->allocator(); }
  Allocator* held_allocator() const override { return inner_->held_allocator(); }
  absl::Status CopyFromHost(void* dst, const void* src, size_t n, StreamHandle s) const override {
    return inner_->CopyFromHost(dst, src, n, s);
  }
  absl::Status CopyToHost(void* dst, const void* src, size_t n, StreamHandle s) const override {
    return inner_->CopyToHost(dst, src, n, s);
  }
  absl::Status CopyOnDevice(void* dst, const void* src, size_t n, StreamHandle s) const override {
    return inner_->CopyOnDevice(dst, src, n, s);
  }
  absl::Status Zero(void* dst, size_t n, StreamHandle s) const override {
    return inner_->Zero(dst, n, s);
  }
  absl::Status Synchronize(StreamHandle s) const override { return inner_->Synchronize(s); }

 private:
  using Output = std::pair<size_t, DType>;
  struct FaultyKernel : Kernel {
    std::shared_ptr<const Kernel> inner;
    std::vector<Output> outputs;
  };

  std::unique_ptr<Backend> owned_;
  const Backend* inner_;
  std::vector<Fault> faults_;
  mutable std::mutex mutex_;
  mutable std::map<std::string, std::vector<Output>> outputs_;  // by kernel
};

}  // namespace jitfuse::internal

#endif  // JITFUSE_TESTS_TEST_UTIL_FAULTY_BACKEND_H_
