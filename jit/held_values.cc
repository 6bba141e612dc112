#include "jit/held_values.h"

#include <mutex>

#include "absl/strings/str_cat.h"
#include "ir/support/fork.h"
#include "ir/support/status.h"
#include "jit/executor.h"
#include "jit/turn.h"

namespace jitfuse::internal {

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

absl::StatusOr<HeldValues::Made> HeldValues::Prepare(BoundCall* call, StreamHandle stream) {
  Made made;
  if (!inputs_.any()) return made;
  const Turn turn(&maker_);
  JF_RETURN_IF_ERROR(Compute(call, stream, &made));
  for (size_t s = 0; s < call->steps.size(); ++s) JF_RETURN_IF_ERROR(Pack(call, s, stream, &made));
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
  const std::vector<HeldSlot>& slots = call->executable->held;
  std::vector<Buffer> known;
  bool complete = true;
  for (const HeldSlot& slot : slots) {
    auto it = values_.find(slot.key);
    known.push_back(it == values_.end() ? nullptr : it->second);
    complete = complete && known.back() != nullptr;
  }
  if (!complete) JF_RETURN_IF_ERROR(Run(call, stream));
  std::lock_guard<std::mutex> lock(LockOf(ForkLock::kCaches));
  for (size_t i = 0; i < slots.size(); ++i) {
    if (known[i] != nullptr) continue;  // others may be reading it
    known[i] = call->held[i];
    values_[slots[i].key] = known[i];
    ++made->values;
  }
  call->held = std::move(known);
  return absl::OkStatus();
}

// All that the executable computes once, into buffers of its own.
absl::Status HeldValues::Run(BoundCall* call, StreamHandle stream) const {
  JF_RETURN_IF_ERROR(CheckNotCapturing(*call, stream));
  call->held.clear();
  for (const HeldSlot& slot : call->executable->held) {
    JF_ASSIGN_OR_RETURN(Buffer buffer,
                        HeldBuffer::Make(*backend_, static_cast<size_t>(slot.bytes)));
    call->held.push_back(std::move(buffer));
  }
  CallBuffers buffers;
  buffers.inputs = inputs_.data;
  buffers.scalars = inputs_.bits;
  buffers.stream = stream;
  JF_RETURN_IF_ERROR(ExecuteWithAllocator(*call, buffers, backend_->allocator(), StepPart::kOnce));
  return backend_->Synchronize(stream);
}

absl::Status HeldValues::Pack(BoundCall* call, size_t s, StreamHandle stream, Made* made) {
  const Step& step = call->executable->steps[s];
  BoundStep& bound = call->steps[s];
  if (step.kind != Step::Kind::kGemm || bound.gemm == nullptr) return absl::OkStatus();
  const size_t bytes = bound.gemm->packed_b_bytes();
  if (bytes == 0) return absl::OkStatus();
  const BufferRef b = call->executable->gemms[static_cast<size_t>(step.index)].b;
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
