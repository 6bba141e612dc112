#include "jit/executor.h"

#include <memory>
#include <string>

#include "absl/container/fixed_array.h"
#include "absl/strings/str_cat.h"
#include "ir/support/status.h"
#include "ir/support/trace.h"
#include "jit/held_values.h"

namespace jitfuse::internal {
namespace {

std::string NameOfStep(const Executable& exe, const BoundCall& call, size_t i) {
  const auto index = static_cast<size_t>(exe.steps[i].index);
  switch (exe.steps[i].kind) {
    case Step::Kind::kKernel:
      return exe.kernels[index].source.entry;
    case Step::Kind::kGemm:
      return call.gemms[index].gemm == nullptr ? "zeros" : call.gemms[index].gemm->Describe();
    case Step::Kind::kSort:
      break;
  }
  return exe.backend->DescribeSort(call.sorts[index]);
}

class Runner {
 public:
  Runner(const BoundCall& call, const CallBuffers& buffers)
      : call_(call), exe_(*call.executable), buffers_(buffers) {}

  absl::Status Run() {
    if (Tracing()) [[unlikely]]
      return RunTraced();
    return Run(0, exe_.steps.size(), nullptr);
  }

  absl::Status Run(size_t first, size_t last, const PreparedGemm* gemm) {
    for (size_t i = first; i < last; ++i) {
      const Step& step = exe_.steps[i];
      if (i == first && gemm != nullptr && step.kind == Step::Kind::kGemm)
        JF_RETURN_IF_ERROR(Multiply(static_cast<size_t>(step.index), *gemm));
      else
        JF_RETURN_IF_ERROR(RunStep(step));
    }
    return absl::OkStatus();
  }

 private:
  // Step by step, with a span around each; the device's own times where it has some.
  absl::Status RunTraced() {
    const TraceSpan call("call", absl::StrCat("call ", exe_.graph.name()));
    const std::unique_ptr<StreamMarks> marks = exe_.backend->MarkStream(buffers_.stream);
    for (size_t i = 0; i < exe_.steps.size(); ++i) {
      const std::string name = NameOfStep(exe_, call_, i);
      {
        const TraceSpan span("launch", name);
        JF_RETURN_IF_ERROR(Run(i, i + 1, nullptr));
      }
      if (marks != nullptr) marks->Mark(name);
    }
    return absl::OkStatus();
  }

  void* Pointer(BufferRef ref) const {
    auto i = static_cast<size_t>(ref.index);
    switch (ref.kind) {
      case BufferRef::Kind::kInput:
        return buffers_.inputs[i];
      case BufferRef::Kind::kOutput:
        return buffers_.outputs[i];
      case BufferRef::Kind::kHeld:
        return call_.held[i]->data();
      case BufferRef::Kind::kArena:
        break;
    }
    return static_cast<char*>(buffers_.arena) + call_.slot_offset(i);
  }

  absl::Status RunStep(const Step& step) {
    auto i = static_cast<size_t>(step.index);
    switch (step.kind) {
      case Step::Kind::kKernel:
        return RunKernel(exe_.kernels[i]);
      case Step::Kind::kGemm:
        return RunGemm(i);
      case Step::Kind::kSort:
        break;
    }
    return RunSort(i);
  }

  absl::Status RunKernel(const KernelStep& step) {
    absl::FixedArray<void*, 16> pointers(step.buffers.size());
    absl::FixedArray<uint64_t, 4> scalars(step.scalars.size());
    void** pointer = pointers.data();
    for (BufferRef ref : step.buffers) *pointer++ = Pointer(ref);
    for (size_t i = 0; i < scalars.size(); ++i)
      scalars[i] = buffers_.scalars[static_cast<size_t>(step.scalars[i])];
    LaunchArgs args;
    args.buffers = pointers;
    args.scalars = scalars;
    call_.SetSizes(step, &args);
    args.stream = buffers_.stream;
    args.in_context = buffers_.in_context;
    return exe_.backend->Launch(*step.kernel, args);
  }

  absl::Status RunGemm(size_t i) {
    const BoundGemm& bound = call_.gemms[i];
    if (bound.gemm == nullptr)  // an extent of 0
      return exe_.backend->Zero(Pointer(exe_.gemms[i].d), bound.zero_bytes, buffers_.stream);
    return Multiply(i, *bound.gemm);
  }

  absl::Status Multiply(size_t i, const PreparedGemm& gemm) {
    const GemmStep& step = exe_.gemms[i];
    const BoundGemm& bound = call_.gemms[i];
    GemmBuffers buffers;
    buffers.a = Pointer(step.a);
    buffers.b = bound.packed_b != nullptr ? bound.packed_b->data() : Pointer(step.b);
    if (step.c) buffers.c = Pointer(*step.c);
    if (step.bias) buffers.bias = Pointer(*step.bias);
    buffers.d = Pointer(step.d);
    if (gemm.workspace_bytes() > 0) buffers.workspace = Workspace();
    return exe_.backend->RunGemm(gemm, buffers, buffers_.stream);
  }

  absl::Status RunSort(size_t i) {
    const SortStep& step = exe_.sorts[i];
    SortBuffers buffers;
    buffers.indices = Pointer(step.indices);
    buffers.order = static_cast<int64_t*>(Pointer(step.order));
    buffers.begin = static_cast<int64_t*>(Pointer(step.begin));
    buffers.end = static_cast<int64_t*>(Pointer(step.end));
    return exe_.backend->RunSort(call_.sorts[i], step.loaded, buffers, Workspace(),
                                 buffers_.stream);
  }

  void* Workspace() const { return static_cast<char*>(buffers_.arena) + call_.workspace_offset; }

  const BoundCall& call_;
  const Executable& exe_;
  const CallBuffers& buffers_;
};

}  // namespace

absl::Status CheckAlignment(const void* allocated, const std::string& graph) {
  const uintptr_t beyond = reinterpret_cast<uintptr_t>(allocated) % kAllocationAlign;
  if (beyond == 0) return absl::OkStatus();
  return InvalidArgument("graph ", graph, ": the allocator gave an address that is ", beyond,
                         " beyond a multiple of ", kAllocationAlign, ", expected one of those");
}

absl::Status Execute(const BoundCall& call, const CallBuffers& buffers) {
  return Runner(call, buffers).Run();
}

absl::Status ExecuteSteps(const BoundCall& call, const CallBuffers& buffers, size_t first,
                          size_t last, const PreparedGemm* gemm) {
  return Runner(call, buffers).Run(first, last, gemm);
}

absl::Status ExecuteWithAllocator(const BoundCall& call, CallBuffers buffers,
                                  Allocator* allocator) {
  if (call.arena_bytes == 0) return Execute(call, buffers);
  auto bytes = static_cast<size_t>(call.arena_bytes);
  buffers.arena = allocator->Allocate(bytes, buffers.stream);
  if (buffers.arena == nullptr) {
    return absl::ResourceExhaustedError(absl::StrCat("graph ", call.executable->graph.name(),
                                                     ": the allocator had no ", bytes,
                                                     " bytes for intermediate results"));
  }
  absl::Status status = CheckAlignment(buffers.arena, call.executable->graph.name());
  if (status.ok()) status = Execute(call, buffers);
  allocator->Free(buffers.arena, bytes, buffers.stream);
  return status;
}

}  // namespace jitfuse::internal
