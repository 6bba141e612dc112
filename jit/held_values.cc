#include "jit/held_values.h"

#include <mutex>

#include "absl/strings/str_cat.h"
#include "ir/support/fork.h"
#include "ir/support/status.h"
#include "jit/call_cache.h"
#include "jit/executor.h"
#include "jit/turn.h"

namespace jitfuse::internal {

namespace {

// Those of the function, without what is chosen for its calls, and made before the call goes on.
Options ForHeld(Options options) {
  options.autotune = false;
  options.products.clear();
  options.background = false;
  options.specialize_after = 0;
  return options;
}

}  // namespace

absl::StatusOr<std::shared_ptr<const HeldBuffer>> HeldBuffer::Make(const Backend& backend,
                                                                   size_t bytes) {
  Allocator* allocator = backend.held_allocator();
  void* data = bytes == 0 ? nullptr : allocator->Allocate(bytes, nullptr);
  if (data == nullptr && bytes > 0)
    return absl::ResourceExhaustedError(absl::StrCat(
        "the allocator had no ", bytes, " bytes for what is computed once of bound inputs"));
  return std::make_shared<const HeldBuffer>(allocator, data, bytes);
}

HeldBuffer::~HeldBuffer() {
  if (data_ != nullptr) allocator_->Free(data_, bytes_, nullptr);
}

HeldValues::HeldValues(const Backend* backend, KernelCache* kernels, const Options& options,
                       HeldInputs inputs)
    : backend_(backend),
      kernels_(kernels),
      options_(ForHeld(options)),
      inputs_(std::move(inputs)) {}

absl::StatusOr<HeldValues::Made> HeldValues::Prepare(BoundCall* call, StreamHandle stream) {
  Made made;
  if (!inputs_.any()) return made;
  const Turn turn(&maker_);
  JF_RETURN_IF_ERROR(Compute(call, stream, &made));
  for (size_t i = 0; i < call->gemms.size(); ++i) JF_RETURN_IF_ERROR(Pack(call, i, stream, &made));
  return made;
}

absl::Status HeldValues::CheckNotCapturing(const BoundCall& call, StreamHandle stream) const {
  if (!backend_->IsCapturing(stream)) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "graph ", call.executable->graph.name(),
      ": what is computed once of bound inputs is not there yet for calls like this one, and the "
      "stream is being captured; call Function::Warm with these shapes before the capture"));
}

absl::Status HeldValues::Compute(BoundCall* call, StreamHandle stream, Made* made) {
  std::vector<std::pair<Hash128, Buffer>> computed;
  for (const HeldSlot& slot : call->executable->held) {
    if (slot.graph.outputs().empty()) {
      call->held.push_back(nullptr);
      continue;
    }
    auto it = values_.find(slot.key);
    if (it != values_.end()) {
      call->held.push_back(it->second);
      continue;
    }
    JF_RETURN_IF_ERROR(CheckNotCapturing(*call, stream));
    JF_ASSIGN_OR_RETURN(Buffer buffer, ComputeOne(slot, stream, made));
    call->held.push_back(buffer);
    computed.emplace_back(slot.key, std::move(buffer));
  }
  if (computed.empty()) return absl::OkStatus();
  JF_RETURN_IF_ERROR(backend_->Synchronize(stream));  // before others, on other streams, find it
  made->values += static_cast<int64_t>(computed.size());
  std::lock_guard<std::mutex> lock(LockOf(ForkLock::kCaches));
  for (auto& [key, buffer] : computed) values_[key] = std::move(buffer);
  return absl::OkStatus();
}

absl::StatusOr<HeldValues::Buffer> HeldValues::ComputeOne(const HeldSlot& slot, StreamHandle stream,
                                                          Made* made) const {
  const Graph& graph = slot.graph;
  std::vector<std::vector<int64_t>> dims;
  std::vector<TensorView> views;
  std::vector<void*> data;
  std::vector<uint64_t> bits;
  for (size_t i = 0; i < slot.inputs.size(); ++i) {
    const TensorType& type = graph.type({graph.inputs()[i], 0});
    dims.push_back(EvalDims(type.dims, {}));
    views.push_back({nullptr, type.dtype, {}, {}});
    const auto position = static_cast<size_t>(slot.inputs[i]);
    views.back().ptr = inputs_.data[position];
    if (position < inputs_.strides.size()) views.back().strides = inputs_.strides[position];
    data.push_back(inputs_.data[position]);
    bits.push_back(inputs_.bits[position]);
  }
  for (size_t i = 0; i < views.size(); ++i) views[i].dims = dims[i];
  CallCache calls(graph, options_, backend_, kernels_);  // of this one
  JF_ASSIGN_OR_RETURN(auto bound, calls.Find(views, {}));
  made->executables.push_back(bound->executable);
  JF_ASSIGN_OR_RETURN(Buffer buffer, HeldBuffer::Make(*backend_, static_cast<size_t>(slot.bytes)));
  void* out = buffer->data();
  JF_RETURN_IF_ERROR(ExecuteWithAllocator(*bound, {data, bits, {&out, 1}, nullptr, stream},
                                          backend_->allocator()));
  return buffer;
}

absl::Status HeldValues::Pack(BoundCall* call, size_t gemm, StreamHandle stream, Made* made) {
  BoundGemm& bound = call->gemms[gemm];
  if (bound.gemm == nullptr) return absl::OkStatus();
  const size_t bytes = bound.gemm->packed_b_bytes();
  if (bytes == 0) return absl::OkStatus();
  const BufferRef b = call->executable->gemms[gemm].b;
  const auto i = static_cast<size_t>(b.index);
  const bool is_input = b.kind == BufferRef::Kind::kInput;
  const Hash128 operand = is_input ? Hasher().Int(b.index).Finish() : call->executable->held[i].key;
  if (auto it = packed_.find(operand); it != packed_.end()) {
    for (const Packed& there : it->second) {
      if (!bound.gemm->SharesPackedB(*there.gemm)) continue;
      bound.packed_b = there.buffer;
      return absl::OkStatus();
    }
  }
  JF_RETURN_IF_ERROR(CheckNotCapturing(*call, stream));
  JF_ASSIGN_OR_RETURN(bound.packed_b, HeldBuffer::Make(*backend_, bytes));
  const void* source = is_input ? inputs_.data[i] : call->held[i]->data();
  {
    CompileGate gate;  // libraries make something for it
    JF_RETURN_IF_ERROR(backend_->PackB(*bound.gemm, source, bound.packed_b->data(), stream));
  }
  JF_RETURN_IF_ERROR(backend_->Synchronize(stream));  // before others, on other streams, find it
  std::lock_guard<std::mutex> lock(LockOf(ForkLock::kCaches));
  packed_[operand].push_back({bound.gemm, bound.packed_b});
  ++made->packed;
  return absl::OkStatus();
}

}  // namespace jitfuse::internal
