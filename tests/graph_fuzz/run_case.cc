#include "tests/graph_fuzz/run_case.h"

#include <cmath>
#include <cstring>
#include <memory>

#include "absl/strings/str_cat.h"
#include "api/runtime.h"
#include "codegen/cuda/emit_cuda.h"
#include "ir/support/status.h"
#include "jit/call_cache.h"
#include "jit/compile.h"
#include "jit/cuda/nvrtc_compile.h"
#include "jit/executor.h"
#include "jit/kernel_cache.h"

namespace jitfuse::internal {
namespace {

constexpr size_t kGuard = 256;  // bytes around each output that must stay as they are
constexpr uint8_t kFiller = 0x5a;

// Memory of a back end.
class Buffer {
 public:
  Buffer(const Backend& backend, size_t bytes) : backend_(backend), bytes_(bytes + 1) {
    ptr_ = static_cast<uint8_t*>(backend.allocator()->Allocate(bytes_, nullptr));
  }
  ~Buffer() {
    if (ptr_ != nullptr) backend_.allocator()->Free(ptr_, bytes_, nullptr);
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  uint8_t* ptr() const { return ptr_; }
  absl::Status Write(const std::vector<uint8_t>& from) const {
    if (ptr_ == nullptr) return absl::ResourceExhaustedError("no memory for a buffer");
    return backend_.CopyFromHost(ptr_, from.data(), from.size(), nullptr);
  }
  absl::Status Read(std::vector<uint8_t>* to) const {
    return backend_.CopyToHost(to->data(), ptr_, to->size(), nullptr);
  }

 private:
  const Backend& backend_;
  size_t bytes_;
  uint8_t* ptr_;
};

struct Output {
  DType dtype;
  std::vector<int64_t> dims;
  FuzzLayout layout;
  std::vector<uint8_t> bytes;  // guard, elements, guard
  std::unique_ptr<Buffer> buffer;
};

FuzzInput OutputSpec(const FuzzCase& c, size_t o, size_t rank) {
  FuzzInput spec;
  if (!c.strided_outputs || rank == 0) return spec;
  FuzzRng rng(c.seed * 31 + o);
  for (size_t d = 0; d < rank; ++d) {
    spec.order.insert(spec.order.begin() + rng.Below(static_cast<int64_t>(d) + 1),
                      static_cast<int64_t>(d));
    spec.steps.push_back(rng.OneIn(3) ? 2 : rng.OneIn(4) ? -1 : 1);
  }
  spec.shift = rng.Below(4);
  return spec;
}

class CallRunner {
 public:
  CallRunner(const FuzzCase& c, const FuzzCall& call, const Backend& backend)
      : case_(c), call_(call), backend_(backend) {}

  absl::Status Run(CallCache* cache) {
    JF_RETURN_IF_ERROR(MakeInputs());
    JF_RETURN_IF_ERROR(MakeOutputs());
    std::vector<TensorView> in, out;
    for (size_t i = 0; i < call_.inputs.size(); ++i) {
      const FuzzTensor& t = call_.inputs[i];
      in.push_back({pointers_[i], t.dtype, t.dims, t.strides});
    }
    std::vector<void*> results;
    for (const Output& o : outputs_) {
      results.push_back(o.buffer->ptr() + kGuard +
                        static_cast<size_t>(o.layout.first * ItemSize(o.dtype)));
      out.push_back({results.back(), o.dtype, o.dims,
                     o.layout.dense ? absl::Span<const int64_t>() : o.layout.strides});
    }
    JF_ASSIGN_OR_RETURN(std::shared_ptr<const BoundCall> bound, cache->Find(in, out));
    CallBuffers buffers;
    buffers.inputs = pointers_;
    buffers.scalars = scalars_;
    buffers.outputs = results;
    JF_RETURN_IF_ERROR(ExecuteWithAllocator(*bound, buffers, backend_.allocator()));
    return backend_.Synchronize(nullptr);
  }

  // What is wrong with the results; empty if nothing.
  absl::StatusOr<std::string> Check(Outcome* outcome) {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (inputs_[i] == nullptr) continue;
      std::vector<uint8_t> now(call_.inputs[i].bytes.size());
      JF_RETURN_IF_ERROR(inputs_[i]->Read(&now));
      if (now != call_.inputs[i].bytes) return absl::StrCat("input ", i, " was changed");
    }
    for (size_t o = 0; o < outputs_.size(); ++o) {
      Output& out = outputs_[o];
      JF_RETURN_IF_ERROR(out.buffer->Read(&out.bytes));
      HostTensor got = HostTensor::Make(out.dtype, out.dims);
      const auto item = static_cast<size_t>(ItemSize(out.dtype));
      for (int64_t i = 0; i < got.size(); ++i) {
        uint8_t* at = out.bytes.data() + kGuard +
                      static_cast<size_t>(PlaceOf(out.dims, out.layout, i)) * item;
        std::memcpy(got.address(i), at, item);
        std::memset(at, kFiller, item);
      }
      for (size_t i = 0; i < out.bytes.size(); ++i) {
        if (out.bytes[i] != kFiller)
          return absl::StrCat("output ", o, ": byte ", static_cast<int64_t>(i - kGuard),
                              ", which is no element, was written");
      }
      const WideTensor& expect = call_.expect[o];
      const CompareResult r = Compare(expect, got);
      outcome->elements += static_cast<double>(expect.bound.size());
      for (long double b : expect.bound) outcome->held += std::isinf(b) ? 0 : 1;
      if (!r.ok) return absl::StrCat("output ", o, ": ", r.text);
    }
    return std::string();
  }

 private:
  absl::Status MakeInputs() {
    for (size_t i = 0; i < call_.inputs.size(); ++i) {
      const FuzzTensor& t = call_.inputs[i];
      if (case_.graph.node(case_.graph.inputs()[i]).kind() == OpKind::kScalar) {
        scalars_.push_back(t.logical.At(0).bits());
        pointers_.push_back(nullptr);
        inputs_.push_back(nullptr);
        continue;
      }
      inputs_.push_back(std::make_unique<Buffer>(backend_, t.bytes.size()));
      JF_RETURN_IF_ERROR(inputs_.back()->Write(t.bytes));
      pointers_.push_back(inputs_.back()->ptr() + static_cast<size_t>(t.first * ItemSize(t.dtype)));
      scalars_.push_back(0);
    }
    return absl::OkStatus();
  }

  absl::Status MakeOutputs() {
    for (size_t o = 0; o < call_.expect.size(); ++o) {
      Output out;
      out.dtype = call_.expect[o].dtype;
      out.dims = call_.expect[o].dims;
      out.layout = LayoutFor(out.dims, OutputSpec(case_, o, out.dims.size()));
      out.bytes.assign(2 * kGuard + static_cast<size_t>(out.layout.elements * ItemSize(out.dtype)),
                       kFiller);
      out.buffer = std::make_unique<Buffer>(backend_, out.bytes.size());
      JF_RETURN_IF_ERROR(out.buffer->Write(out.bytes));
      outputs_.push_back(std::move(out));
    }
    return absl::OkStatus();
  }

  const FuzzCase& case_;
  const FuzzCall& call_;
  const Backend& backend_;
  std::vector<std::unique_ptr<Buffer>> inputs_;
  std::vector<void*> pointers_;
  std::vector<uint64_t> scalars_;
  std::vector<Output> outputs_;
};

Outcome RunOnBackend(const FuzzCase& c, const std::vector<FuzzCall>& calls, DeviceKind kind) {
  Outcome outcome;
  absl::StatusOr<const Backend*> backend = GetBackend(kind);
  if (!backend.ok()) return {Verdict::kNoBackend, std::string(backend.status().message())};
  KernelCache kernels;
  CallCache cache(c.graph, c.options, *backend, &kernels);
  for (size_t k = 0; k < calls.size(); ++k) {
    CallRunner runner(c, calls[k], **backend);
    const std::string where = absl::StrCat("call ", k, ": ");
    outcome.call = static_cast<int>(k);
    if (absl::Status s = runner.Run(&cache); !s.ok()) {
      outcome.verdict = Verdict::kError;
      outcome.text = absl::StrCat(where, s.ToString());
      return outcome;
    }
    absl::StatusOr<std::string> wrong = runner.Check(&outcome);
    if (!wrong.ok() || !wrong->empty()) {
      outcome.verdict = wrong.ok() ? Verdict::kMismatch : Verdict::kError;
      outcome.text = absl::StrCat(where, wrong.ok() ? *wrong : wrong.status().ToString());
      return outcome;
    }
  }
  outcome.call = -1;
  return outcome;
}

Outcome RunDeclared(const FuzzCase& c, const std::vector<FuzzCall>& calls) {
  Outcome outcome;
  for (const FuzzCall& call : calls) {
    std::vector<HostTensor> inputs;
    for (const FuzzTensor& t : call.inputs) inputs.push_back(t.logical);
    absl::StatusOr<std::vector<HostTensor>> got = EvalDeclared(c.graph, inputs);
    if (!got.ok()) return {Verdict::kEvaluator, got.status().ToString()};
    for (size_t o = 0; o < got->size(); ++o) {
      const CompareResult r = Compare(call.expect[o], (*got)[o]);
      for (long double b : call.expect[o].bound) outcome.held += std::isinf(b) ? 0 : 1;
      outcome.elements += static_cast<double>(call.expect[o].bound.size());
      if (!r.ok) return {Verdict::kMismatch, absl::StrCat("output ", o, ": ", r.text)};
    }
  }
  return outcome;
}

// Kernels of every call, compiled for an architecture and not run: needs no GPU.
Outcome CompileForCuda(const FuzzCase& c, const std::vector<FuzzCall>& calls) {
  constexpr std::string_view kArch = "sm_90";
  absl::StatusOr<const NvrtcApi*> nvrtc = LoadNvrtcApi();
  if (!nvrtc.ok()) return {Verdict::kNoBackend, std::string(nvrtc.status().message())};
  absl::StatusOr<std::unique_ptr<Backend>> backend =
      BackendForArch(DeviceKind::kCuda, std::string(kArch));
  if (!backend.ok()) return {Verdict::kNoBackend, std::string(backend.status().message())};
  const auto compile = [&](const FuzzCall& call) -> absl::Status {
    std::vector<TensorView> views;
    for (const FuzzTensor& t : call.inputs) views.push_back({nullptr, t.dtype, t.dims, t.strides});
    JF_ASSIGN_OR_RETURN(CallClass cls,
                        ClassifyCall(c.graph, ComputeShapeFacts(c.graph), views, {}));
    JF_ASSIGN_OR_RETURN(PlannedGraph planned, PlanGraph(c.graph, cls, c.options, **backend));
    if (planned.plans.empty()) return absl::OkStatus();
    JF_ASSIGN_OR_RETURN(KernelSource source, EmitCudaBatch(planned.plans, (*backend)->target()));
    source.entry = absl::StrCat("fuzz_", c.seed);
    return CompileCuda(**nvrtc, source).status();
  };
  for (size_t k = 0; k < calls.size(); ++k) {
    if (absl::Status s = compile(calls[k]); !s.ok())
      return {Verdict::kError, absl::StrCat("call ", k, ": ", s.ToString())};
  }
  return {};
}

}  // namespace

std::string_view VerdictName(Verdict v) {
  static constexpr std::string_view kNames[] = {"ok", "mismatch", "error", "evaluator error",
                                                "no back end"};
  return kNames[static_cast<size_t>(v)];
}

absl::StatusOr<std::vector<FuzzCall>> PrepareCalls(const FuzzCase& c) {
  std::vector<FuzzCall> calls;
  for (const std::vector<int64_t>& sizes : c.sizes) {
    FuzzCall call;
    std::vector<HostTensor> inputs;
    for (size_t i = 0; i < c.graph.inputs().size(); ++i) {
      const TensorType& type = c.graph.node(c.graph.inputs()[i]).types[0];
      call.inputs.push_back(MakeTensor(type.dtype, EvalDims(type.dims, sizes), c.inputs[i]));
      inputs.push_back(call.inputs.back().logical);
    }
    JF_ASSIGN_OR_RETURN(call.expect, EvalWide(c.graph, inputs));
    calls.push_back(std::move(call));
  }
  return calls;
}

Outcome RunCalls(const FuzzCase& c, const std::vector<FuzzCall>& calls, std::string_view executor) {
  if (executor == "declared") return RunDeclared(c, calls);
  if (executor == "interpret") return RunOnBackend(c, calls, DeviceKind::kInterpret);
  if (executor == "cpu") return RunOnBackend(c, calls, DeviceKind::kCpu);
  if (executor == "cuda") return RunOnBackend(c, calls, DeviceKind::kCuda);
  if (executor == "nvrtc") return CompileForCuda(c, calls);
  return {Verdict::kNoBackend, absl::StrCat("unknown executor '", ToAbsl(executor),
                                            "'; known: declared, interpret, cpu, cuda, nvrtc")};
}

Outcome RunCase(const FuzzCase& c, const std::vector<std::string>& executors) {
  absl::StatusOr<std::vector<FuzzCall>> calls = PrepareCalls(c);
  if (!calls.ok()) return {Verdict::kEvaluator, calls.status().ToString()};
  Outcome all;
  for (const std::string& executor : executors) {
    Outcome one = RunCalls(c, *calls, executor);
    if (one.verdict != Verdict::kOk) {
      one.text = absl::StrCat(executor, ": ", one.text);
      return one;
    }
    all.elements = one.elements;
    all.held = one.held;
  }
  return all;
}

}  // namespace jitfuse::internal
