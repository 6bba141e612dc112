#include "api/function.h"

#include <algorithm>
#include <optional>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "api/check_array.h"
#include "api/explain.h"
#include "api/function_state.h"
#include "api/runtime.h"
#include "ir/support/flags.h"
#include "ir/support/status.h"
#include "ir/support/trace.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "jit/carry_names.h"
#include "jit/executor.h"
#include "jit/verify_run.h"

namespace jitfuse {

namespace internal {

namespace {

absl::Status CheckOptions(const Graph& graph, const CompileOptions& options) {
  if (options.numerics != v1::Numerics::kDefault && options.numerics != v1::Numerics::kFast)
    return InvalidArgument("graph ", graph.name(), ": numerics is ",
                           static_cast<int>(options.numerics),
                           ", which is no Numerics; expected kDefault or kFast");
  if (options.max_fusions < -1)
    return InvalidArgument("graph ", graph.name(), ": max_fusions is ", options.max_fusions,
                           ", expected 0 or more, or -1 for no limit");
  if (options.verify < 0)
    return InvalidArgument("graph ", graph.name(), ": verify is ", options.verify,
                           ", expected a number of calls, 0 or more");
  if (options.verify_action != VerifyAction::kError &&
      options.verify_action != VerifyAction::kFallback)
    return InvalidArgument("graph ", graph.name(), ": verify_action is ",
                           static_cast<int>(options.verify_action),
                           ", which is no VerifyAction; expected kError or kFallback");
  if (options.dynamic != v1::Dynamic::kLeading && options.dynamic != v1::Dynamic::kAll &&
      options.dynamic != v1::Dynamic::kNone)
    return InvalidArgument("graph ", graph.name(), ": dynamic is ",
                           static_cast<int>(options.dynamic),
                           ", which is no Dynamic; expected kLeading, kAll or kNone");
  if (options.specialize_after < 0)
    return InvalidArgument("graph ", graph.name(), ": specialize_after is ",
                           options.specialize_after, ", expected a number of calls, 0 or more");
  return absl::OkStatus();
}

}  // namespace

StatusOr<Function> MakeFunction(const Graph& graph, const CompileOptions& options,
                                ValueNames names) {
  if (options.numerics == v1::Numerics::kStrict || options.batch_invariant) {
    return ToPublic(Unimplemented(
        "graph ", graph.name(),
        ": numerics=strict and batch_invariant are not built yet; use numerics=default"));
  }
  JF_API_RETURN_IF_ERROR(CheckOptions(graph, options));
  JF_API_RETURN_IF_ERROR(CheckFlags());
  TraceFromEnv();
  JF_API_RETURN_IF_ERROR(VerifyGraph(graph));
  DeviceKind kind = options.device;
  if (kind == DeviceKind::kAuto) {
    JF_API_ASSIGN_OR_RETURN(kind, ResolveAuto());
  }
  JF_API_ASSIGN_OR_RETURN(const Backend* backend, GetBackend(kind));
  auto state = std::make_shared<v1::detail::FunctionState>(
      kind, graph, FromPublic(options), backend, SharedKernels(),
      VerifyPolicy{options.verify, options.verify_action == VerifyAction::kFallback});
  state->set_names(std::move(names));
  return FunctionAccess::Make(std::move(state));
}

}  // namespace internal

inline namespace v1 {
namespace {

using internal::TensorView;
using Views = absl::InlinedVector<TensorView, 8>;
using Pointers = absl::InlinedVector<void*, 8>;
using Scalars = absl::InlinedVector<std::uint64_t, 8>;

Status Empty() {
  return Status(StatusCode::kFailedPrecondition,
                "this Function is empty; make one with Builder::Compile or CompileText");
}

// The arrays of one call as the inside sees them, and where it runs.
struct Call {
  const internal::Backend* backend = nullptr;
  internal::CallCache* cache = nullptr;
  Views inputs, outputs;
  Pointers input_data, output_data;
  Scalars scalars;
  bool on_gpu = false;
  bool in_context = false;  // the back end's context is known to be the thread's

  // Room is made for all inputs at once, which is cheaper than pushing each.
  void Expect(std::size_t most) {
    inputs.resize(most);
    input_data.resize(most);
    scalars.resize(most);
  }
  void Add(const TensorView& view, void* data, std::uint64_t bits) {
    inputs[added] = view;
    input_data[added] = data;
    scalars[added++] = bits;
  }
  std::size_t added = 0;
};

// The caller's LongWork with the inside's interface.
class Watcher : public internal::CompileWatcher {
 public:
  explicit Watcher(LongWork* outer) : outer_(outer) {}
  void Begin() override { outer_->Begin(); }
  void End() override { outer_->End(); }

 private:
  LongWork* outer_;
};

absl::StatusOr<std::shared_ptr<const internal::BoundCall>> Find(
    const Call& call, absl::Span<const TensorView> outputs, const RunOptions& options,
    bool wait = false) {
  if (options.long_work == nullptr)
    return call.cache->Find(call.inputs, outputs, nullptr, options.stream, wait);
  Watcher watcher(options.long_work);
  return call.cache->Find(call.inputs, outputs, &watcher, options.stream, wait);
}

// Of a call that will run: its key is timed first where that was asked for.
absl::StatusOr<std::shared_ptr<const internal::BoundCall>> FindToRun(
    const Call& call, absl::Span<const TensorView> outputs, const RunOptions& options) {
  JF_ASSIGN_OR_RETURN(std::shared_ptr<const internal::BoundCall> bound,
                      Find(call, outputs, options));
  if (!bound->tune_first) [[likely]]
    return bound;
  internal::TuneRequest request{call.inputs, outputs, call.scalars, options.stream, nullptr};
  if (options.long_work == nullptr) return call.cache->TuneFirst(request);
  Watcher watcher(options.long_work);
  request.watcher = &watcher;
  return call.cache->TuneFirst(request);
}

// Element operations that take some ten microseconds.
constexpr double kLongWork = 1 << 17;

// Around what is left of a call on the CPU, if that may take long.
class LongRun {
 public:
  LongRun(const internal::BoundCall& bound, const Call& call, LongWork* work)
      : work_(!call.on_gpu && bound.eval_work > kLongWork ? work : nullptr) {
    if (work_ != nullptr) work_->Begin();
  }
  ~LongRun() {
    if (work_ != nullptr) work_->End();
  }
  LongRun(const LongRun&) = delete;
  LongRun& operator=(const LongRun&) = delete;

 private:
  LongWork* work_;
};

// On a GPU, the back end of the device where the first tensor is, one that is bound before others.
absl::StatusOr<const internal::Backend*> BackendOf(const detail::FunctionState& f,
                                                   const std::vector<Array>& inputs,
                                                   const std::vector<Array>* outputs,
                                                   bool* in_context) {
  if (f.kind() != DeviceKind::kCuda) return f.home();
  const auto on_gpu = [](const Array& array) { return array.device().kind == DeviceKind::kCuda; };
  int index = internal::kAnyDevice;
  const auto bound = std::find_if(f.bound().begin(), f.bound().end(),
                                  [&](const auto& array) { return array && on_gpu(*array); });
  if (bound != f.bound().end()) {
    index = (*bound)->device().index;
  } else if (auto in = std::find_if(inputs.begin(), inputs.end(), on_gpu); in != inputs.end()) {
    index = in->device().index;
  } else if (outputs != nullptr && !outputs->empty() && on_gpu((*outputs)[0])) {
    index = (*outputs)[0].device().index;
  }
  return internal::GetBackend(DeviceKind::kCuda, index, in_context);
}

absl::Status AddInput(const detail::FunctionState& f, const Array& array, bool shapes_only,
                      Call* call) {
  const internal::Graph& graph = f.graph();
  const std::size_t i = call->added;
  TensorView view = internal::ViewOf(array);
  std::uint64_t bits = 0;
  if (f.IsScalar(i)) {
    JF_RETURN_IF_ERROR(internal::CheckScalar(graph, array, i, !shapes_only));
    if (array.data() != nullptr) bits = internal::LoadScalar(view.dtype, array.data()).bits();
    view.ptr = nullptr;  // passed by value: where it lies is no fact of the call
  } else if (!shapes_only) {
    JF_RETURN_IF_ERROR(internal::CheckDevice(f, *call->backend, array, "input", i));
  }
  call->Add(view, array.data(), bits);
  return absl::OkStatus();
}

absl::Status CheckRng(const detail::FunctionState& f, const Rng& rng) {
  const auto address = reinterpret_cast<std::uintptr_t>(rng.device_state);
  if (address % sizeof(std::uint64_t) == 0) return absl::OkStatus();
  return internal::InvalidArgument(
      "graph ", f.graph().name(),
      ": RunOptions::rng.device_state must be two 64-bit words {seed, offset} aligned to 8 bytes, "
      "got an address that is ",
      address % sizeof(std::uint64_t), " modulo 8");
}

// The seed or the offset of the call's random ops. On a GPU kernels read a device_state
// themselves; elsewhere it is the host's, read here.
void AddRng(internal::RngRole role, const Rng& rng, bool from_memory, bool shapes_only,
            Call* call) {
  const bool offset = role == internal::RngRole::kOffset;
  auto* word = static_cast<std::uint64_t*>(const_cast<void*>(rng.device_state));
  if (word != nullptr && offset) ++word;
  std::uint64_t value = offset ? rng.offset : rng.seed;
  if (word != nullptr && !from_memory && !shapes_only) value = *word;
  TensorView view;
  view.dtype = internal::DType::kU64;
  view.ptr = from_memory ? word : nullptr;
  call->Add(view, from_memory ? word : nullptr, value);
}

// Of plain functions classifying the call says it, by the signature.
absl::Status CheckCount(const detail::FunctionState& f, std::size_t given) {
  const auto expected = static_cast<std::size_t>(f.num_inputs());
  if ((f.rng_roles().empty() && f.num_bound() == 0) || given == expected) return absl::OkStatus();
  return internal::InvalidArgument(
      "graph ", f.graph().name(), ": expected ", expected, " inputs",
      f.num_bound() > 0 ? absl::StrCat(" (", f.num_bound(), " are bound)") : "", ", got ", given);
}

// Where nothing is bound and nothing hidden, and all that may be checked at a glance is as it
// should be; else nothing is added.
bool AddPlainInputs(const detail::FunctionState& f, const std::vector<Array>& inputs, Device device,
                    Call* call) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (f.IsScalar(i) || !internal::MayTake(device, inputs[i])) {
      call->added = 0;
      return false;
    }
    call->Add(internal::ViewOf(inputs[i]), inputs[i].data(), 0);
  }
  return true;
}

absl::Status AddInputs(const detail::FunctionState& f, const std::vector<Array>& inputs,
                       bool shapes_only, const Rng& rng, bool from_memory, Call* call) {
  JF_RETURN_IF_ERROR(CheckCount(f, inputs.size()));
  call->Expect(inputs.size() + f.num_bound() + f.rng_roles().size());
  if (!shapes_only && f.num_bound() == 0 && f.rng_roles().empty() &&
      AddPlainInputs(f, inputs, internal::DeviceOf(f, *call->backend), call))
    return absl::OkStatus();
  std::size_t passed = 0;
  JF_RETURN_IF_ERROR(internal::ForEachInput(
      f.rng_roles(), inputs.size() + f.num_bound(),
      [&](std::size_t i) {
        // What is bound was checked then.
        if (const Array* array = f.BoundArray(i))
          return AddInput(f, *array, /*shapes_only=*/true, call);
        const Array& array = inputs[passed++];
        JF_RETURN_IF_ERROR(internal::CheckDType(f, array, "input", i));
        return AddInput(f, array, shapes_only, call);
      },
      [&](internal::RngRole role) { AddRng(role, rng, from_memory, shapes_only, call); }));
  call->Expect(call->added);
  return absl::OkStatus();
}

absl::Status AddOutputs(const detail::FunctionState& f, const std::vector<Array>& outputs,
                        Call* call) {
  const Device device = internal::DeviceOf(f, *call->backend);
  call->outputs.resize(outputs.size());
  call->output_data.resize(outputs.size());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!internal::MayTake(device, outputs[i])) {
      JF_RETURN_IF_ERROR(internal::CheckDType(f, outputs[i], "output", i));
      JF_RETURN_IF_ERROR(internal::CheckDevice(f, *call->backend, outputs[i], "output", i));
    }
    call->outputs[i] = internal::ViewOf(outputs[i]);
    call->output_data[i] = outputs[i].data();
  }
  return absl::OkStatus();
}

absl::Status MakeCall(detail::FunctionState& f, const std::vector<Array>& inputs,
                      const std::vector<Array>* outputs, bool shapes_only, const Rng& rng,
                      Call* call) {
  JF_ASSIGN_OR_RETURN(call->backend, BackendOf(f, inputs, outputs, &call->in_context));
  call->on_gpu = f.kind() == DeviceKind::kCuda;
  if (!f.rng_roles().empty()) JF_RETURN_IF_ERROR(CheckRng(f, rng));
  const bool from_memory = rng.device_state != nullptr && f.rng_from_memory() != nullptr;
  call->cache =
      from_memory ? &f.rng_from_memory()->CacheOf(call->backend) : &f.CacheOf(call->backend);
  JF_RETURN_IF_ERROR(AddInputs(f, inputs, shapes_only, rng, from_memory, call));
  return outputs == nullptr ? absl::OkStatus() : AddOutputs(f, *outputs, call);
}

// The caller's allocator with the inside's interface.
class AllocatorAdapter : public internal::Allocator {
 public:
  explicit AllocatorAdapter(v1::Allocator* outer) : outer_(outer) {}
  void* Allocate(std::size_t bytes, internal::StreamHandle stream) override {
    return outer_->Allocate(bytes, stream);
  }
  void Free(void* ptr, std::size_t bytes, internal::StreamHandle stream) override {
    outer_->Free(ptr, bytes, stream);
  }

 private:
  v1::Allocator* outer_;
};

// Of the part of the workspace that the call uses.
absl::Status CheckWorkspaceApart(const internal::BoundCall& bound, const Call& call,
                                 const void* workspace) {
  const auto check = [&](const Views& views, const char* what) -> absl::Status {
    for (std::size_t i = 0; i < views.size(); ++i) {
      if (internal::Touches(views[i], workspace, bound.arena_bytes))
        return internal::InvalidArgument(
            call.cache->graph().name(), ": the workspace overlaps the buffer of ", what, " ", i,
            "; the call needs ", bound.arena_bytes, " bytes of it that are nothing else's");
    }
    return absl::OkStatus();
  };
  JF_RETURN_IF_ERROR(check(call.inputs, "input"));
  return check(call.outputs, "output");
}

absl::Status Enqueue(const internal::BoundCall& bound, const Call& call,
                     const RunOptions& options) {
  const std::string& name = call.cache->graph().name();
  internal::CallBuffers buffers;
  buffers.inputs = call.input_data;
  buffers.scalars = call.scalars;
  buffers.outputs = call.output_data;
  buffers.stream = options.stream;
  buffers.in_context = call.in_context;
  if (options.workspace != nullptr) {
    if (options.workspace_bytes < static_cast<std::size_t>(bound.arena_bytes)) {
      return internal::InvalidArgument(name, ": the workspace has ", options.workspace_bytes,
                                       " bytes; this call needs ", bound.arena_bytes);
    }
    if (reinterpret_cast<std::uintptr_t>(options.workspace) % internal::kAllocationAlign != 0) {
      return internal::InvalidArgument(name, ": the workspace must be aligned to 256 bytes");
    }
    JF_RETURN_IF_ERROR(CheckWorkspaceApart(bound, call, options.workspace));
    buffers.arena = options.workspace;
    return internal::Execute(bound, buffers);
  }
  if (options.allocator == nullptr)
    return internal::ExecuteWithAllocator(bound, buffers, call.backend->allocator());
  AllocatorAdapter adapter(options.allocator);
  return internal::ExecuteWithAllocator(bound, buffers, &adapter);
}

// Checked, where CompileOptions::verify or JITFUSE_VERIFY asks for it.
absl::Status Launch(const internal::BoundCall& bound, const Call& call, const RunOptions& options) {
  const auto enqueue = [&] {
    const LongRun watched(bound, call, options.long_work);
    return Enqueue(bound, call, options);
  };
  if (!call.cache->verify()) return enqueue();
  std::optional<Watcher> watcher;
  internal::CheckedCall checked{call.cache,   &bound,         call.inputs, call.outputs,
                                call.scalars, options.stream, nullptr};
  if (options.long_work != nullptr) checked.watcher = &watcher.emplace(options.long_work);
  return internal::RunChecked(checked, enqueue);
}

// The caller's array for result `i`, checked.
absl::StatusOr<Array> MadeByCaller(DType dtype, const std::vector<std::int64_t>& dims,
                                   Device device, std::size_t i, const Call& call,
                                   const RunOptions& options) {
  StatusOr<Array> made = options.results->Make(static_cast<int>(i), dtype, dims, device);
  if (!made.ok()) return internal::FromPublic(made.status());
  const auto address = reinterpret_cast<std::uintptr_t>(made->data());
  if (made->dtype() != dtype || made->dims() != dims || !(made->device() == device) ||
      !made->IsContiguous() || address % static_cast<std::uintptr_t>(ItemSize(dtype)) != 0 ||
      (made->data() == nullptr && made->num_elements() > 0))
    return internal::InvalidArgument(
        call.cache->graph().name(), ": RunOptions::results made an array for output ", i,
        " that is not contiguous memory on ", internal::DeviceName(device),
        " with the dtype and dims that were asked for");
  return *std::move(made);
}

absl::StatusOr<Array> MakeResult(DType dtype,
                                 const std::shared_ptr<const std::vector<std::int64_t>>& dims,
                                 Device device, std::size_t i, const Call& call,
                                 const RunOptions& options) {
  const auto elements = internal::CheckedNumElements(*dims);
  std::int64_t bytes = 0;
  if (!elements || __builtin_mul_overflow(*elements, std::int64_t{ItemSize(dtype)}, &bytes)) {
    return internal::InvalidArgument("graph ", call.cache->graph().name(),
                                     ": the bytes of a result overflow 64 bits");
  }
  if (options.results != nullptr) return MadeByCaller(dtype, *dims, device, i, call, options);
  if (bytes == 0) return ArrayAccess::Make(nullptr, dtype, dims, device, nullptr);
  v1::Allocator* allocator = options.allocator;
  void* stream = options.stream;
  if (allocator == nullptr)
    return internal::NewArray(dtype, dims, bytes, device, call.backend->allocator(), stream);
  const auto size = static_cast<std::size_t>(bytes);
  void* data = allocator->Allocate(size, stream);
  if (data == nullptr)
    return absl::ResourceExhaustedError(
        absl::StrCat("the allocator had no ", bytes, " bytes for a result"));
  std::shared_ptr<void> owner(
      data, [allocator, size, stream](void* p) { allocator->Free(p, size, stream); });
  JF_RETURN_IF_ERROR(internal::CheckAlignment(data, call.cache->graph().name()));
  return ArrayAccess::Make(data, dtype, dims, device, std::move(owner));
}

bool AreAligned(absl::Span<void* const> data) {
  return std::all_of(data.begin(), data.end(), [](const void* p) {
    return reinterpret_cast<std::uintptr_t>(p) % internal::kAllocationAlign == 0;
  });
}

// What would run the call now, with the names that its author gave.
absl::StatusOr<std::shared_ptr<const internal::BoundCall>> BindNamed(
    detail::FunctionState& f, const std::vector<Array>& inputs, const RunOptions& options,
    internal::ValueNames* names) {
  Call call;
  JF_RETURN_IF_ERROR(MakeCall(f, inputs, nullptr, /*shapes_only=*/true, options.rng, &call));
  JF_ASSIGN_OR_RETURN(std::shared_ptr<const internal::BoundCall> bound, Find(call, {}, options));
  // Seed and offset from device memory make another graph, whose values have numbers alone.
  if (f.names().empty() || &call.cache->graph() != &f.graph()) return bound;
  JF_ASSIGN_OR_RETURN(internal::CallClass cls,
                      internal::ClassifyCall(f.graph(), internal::ComputeShapeFacts(f.graph()),
                                             call.inputs, {}, bound->executable->dynamic));
  cls.bound_inputs = call.cache->held_inputs().bound;
  internal::Options options_of_plan = f.options();
  options_of_plan.products = bound->executable->products;
  *names = internal::CarryNames(f.graph(), f.names(), cls, options_of_plan,
                                *bound->executable->backend, bound->executable->graph);
  return bound;
}

}  // namespace

StatusOr<std::vector<Array>> Function::Run(const std::vector<Array>& inputs,
                                           const RunOptions& options) const {
  if (state_ == nullptr) return Empty();
  Call call;
  JF_API_RETURN_IF_ERROR(
      MakeCall(*state_, inputs, nullptr, /*shapes_only=*/false, options.rng, &call));
  JF_API_ASSIGN_OR_RETURN(std::shared_ptr<const internal::BoundCall> bound,
                          FindToRun(call, {}, options));
  const Device device = internal::DeviceOf(*state_, *call.backend);
  std::vector<Array> results;
  results.reserve(bound->output_dims.size());
  for (std::size_t i = 0; i < bound->output_dims.size(); ++i) {
    DType dtype = internal::ToPublic(bound->executable->outputs[i].dtype);
    JF_API_ASSIGN_OR_RETURN(Array result,
                            MakeResult(dtype, bound->output_dims[i], device, i, call, options));
    call.output_data.push_back(result.data());
    call.outputs.push_back(internal::ViewOf(result));
    results.push_back(std::move(result));
  }
  if (!AreAligned(call.output_data)) {  // by the caller; the code found above counts on it
    JF_API_ASSIGN_OR_RETURN(bound, FindToRun(call, call.outputs, options));
  }
  JF_API_RETURN_IF_ERROR(Launch(*bound, call, options));
  return results;
}

Status Function::RunInto(const std::vector<Array>& inputs, const std::vector<Array>& outputs,
                         const RunOptions& options) const {
  if (state_ == nullptr) return Empty();
  Call call;
  JF_API_RETURN_IF_ERROR(
      MakeCall(*state_, inputs, &outputs, /*shapes_only=*/false, options.rng, &call));
  if (outputs.size() != static_cast<std::size_t>(num_outputs())) {
    return internal::ToPublic(internal::InvalidArgument(
        state_->graph().name(), ": expected ", num_outputs(), " outputs, got ", outputs.size()));
  }
  JF_API_ASSIGN_OR_RETURN(std::shared_ptr<const internal::BoundCall> bound,
                          FindToRun(call, call.outputs, options));
  return internal::ToPublic(Launch(*bound, call, options));
}

Status Function::Warm(const std::vector<Array>& inputs, const RunOptions& options) const {
  if (state_ == nullptr) return Empty();
  Call call;
  JF_API_RETURN_IF_ERROR(
      MakeCall(*state_, inputs, nullptr, /*shapes_only=*/true, options.rng, &call));
  return internal::ToPublic(Find(call, {}, options, /*wait=*/true).status());
}

StatusOr<std::size_t> Function::WorkspaceBytes(const std::vector<Array>& inputs,
                                               const RunOptions& options) const {
  if (state_ == nullptr) return Empty();
  Call call;
  JF_API_RETURN_IF_ERROR(
      MakeCall(*state_, inputs, nullptr, /*shapes_only=*/true, options.rng, &call));
  std::optional<Watcher> watcher;
  if (options.long_work != nullptr) watcher.emplace(options.long_work);
  JF_API_ASSIGN_OR_RETURN(
      const std::int64_t bytes,
      call.cache->MostArena(call.inputs, watcher ? &*watcher : nullptr, options.stream));
  return static_cast<std::size_t>(bytes);
}

StatusOr<std::string> Function::Tune(const std::vector<Array>& inputs,
                                     const RunOptions& options) const {
  if (state_ == nullptr) return Empty();
  Call call;
  JF_API_RETURN_IF_ERROR(
      MakeCall(*state_, inputs, nullptr, /*shapes_only=*/false, options.rng, &call));
  internal::TuneRequest request{call.inputs, {}, call.scalars, options.stream, nullptr};
  std::optional<Watcher> watcher;
  if (options.long_work != nullptr) request.watcher = &watcher.emplace(options.long_work);
  JF_API_ASSIGN_OR_RETURN(std::shared_ptr<const internal::TuneRecord> record,
                          call.cache->Tune(request));
  return record == nullptr ? std::string() : internal::TuneRecordToText(*record);
}

Status Function::UseTuning(const std::vector<Array>& inputs, const std::string& record,
                           const RunOptions& options) const {
  if (state_ == nullptr) return Empty();
  Call call;
  JF_API_RETURN_IF_ERROR(
      MakeCall(*state_, inputs, nullptr, /*shapes_only=*/true, options.rng, &call));
  JF_API_ASSIGN_OR_RETURN(internal::TuneRecord parsed, internal::ParseTuneRecord(record));
  return internal::ToPublic(call.cache->UseRecord(call.inputs, {}, parsed));
}

StatusOr<std::string> Function::Explain(const std::vector<Array>& inputs,
                                        const RunOptions& options) const {
  if (state_ == nullptr) return Empty();
  internal::ValueNames names;
  JF_API_ASSIGN_OR_RETURN(std::shared_ptr<const internal::BoundCall> bound,
                          BindNamed(*state_, inputs, options, &names));
  return internal::ExplainText(*bound, names);
}

StatusOr<std::string> Function::ExplainJson(const std::vector<Array>& inputs,
                                            const RunOptions& options) const {
  if (state_ == nullptr) return Empty();
  internal::ValueNames names;
  JF_API_ASSIGN_OR_RETURN(std::shared_ptr<const internal::BoundCall> bound,
                          BindNamed(*state_, inputs, options, &names));
  return internal::ExplainJson(*bound, names);
}

DeviceKind Function::device() const {
  return state_ == nullptr ? DeviceKind::kAuto : state_->kind();
}
int Function::num_inputs() const { return state_ == nullptr ? 0 : state_->num_inputs(); }
int Function::num_outputs() const {
  return state_ == nullptr ? 0 : static_cast<int>(state_->graph().outputs().size());
}
std::string Function::ToText() const {
  return state_ == nullptr ? "" : internal::GraphToString(state_->graph());
}

Stats Function::stats() const {
  if (state_ == nullptr) return Stats();
  Stats out = internal::ToPublic(state_->stats());
  out.verify = state_->verify_reports();
  return out;
}

StatusOr<Function> CompileText(const std::string& text, const CompileOptions& options) {
  internal::ValueNames names;
  JF_API_ASSIGN_OR_RETURN(internal::Graph graph, internal::ParseGraph(text, &names));
  return internal::MakeFunction(graph, options, std::move(names));
}

}  // namespace v1
}  // namespace jitfuse
