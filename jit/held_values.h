// HeldValues: what a bound function computes once: values that depend on its bound inputs alone,
// and right operands of matrix products in a library's own layout.
//
// In: which inputs of the signature are bound, where their bytes lie, their numbers. Out: Prepare
// gives a BoundCall the buffers that it reads. Each is made at the first call that needs it and
// shared by all classes of calls: values by their graph, operands by the layout. A value's bits do
// not depend on the calls that there were: it is computed by its own graph, which is compiled with
// the function's options and without what tuning chose. One thread makes, others wait. What was
// computed is there for every stream when Prepare returns, so it waits for the stream, and is
// refused while that is being captured. The bytes of bound inputs are read then and must not have
// changed since. Must not know: the API's arrays.
#ifndef JITFUSE_JIT_HELD_VALUES_H_
#define JITFUSE_JIT_HELD_VALUES_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "jit/backend.h"
#include "jit/executable.h"
#include "jit/kernel_cache.h"

namespace jitfuse::internal {

struct HeldInputs {                           // by signature position; all empty: nothing is bound
  std::vector<bool> bound;                    // calls do not pass it
  std::vector<void*> data;                    // null of what is not bound, and of scalars
  std::vector<uint64_t> bits;                 // of bound scalars
  std::vector<std::vector<int64_t>> strides;  // in elements; empty, or beyond the end: contiguous
  bool any() const { return !bound.empty(); }
};

// Memory of a back end that hangs on no stream: calls on any of them read it, and those that are
// under way when it goes are waited for.
class HeldBuffer {
 public:
  static absl::StatusOr<std::shared_ptr<const HeldBuffer>> Make(const Backend& backend,
                                                                size_t bytes);
  HeldBuffer(Allocator* allocator, void* data, size_t bytes)
      : allocator_(allocator), data_(data), bytes_(bytes) {}
  ~HeldBuffer();
  HeldBuffer(const HeldBuffer&) = delete;
  HeldBuffer& operator=(const HeldBuffer&) = delete;
  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }

 private:
  Allocator* const allocator_;
  void* const data_;  // null if there are no bytes
  const size_t bytes_;
};

class HeldValues {
 public:
  HeldValues(const Backend* backend, KernelCache* kernels, const Options& options,
             HeldInputs inputs);
  const HeldInputs& inputs() const { return inputs_; }

  struct Made {
    int64_t values = 0, packed = 0;
    std::vector<std::shared_ptr<const Executable>> executables;  // that computed the values
  };
  // What the call reads of its kind, in `call`, before anyone else sees it. -> what was made.
  absl::StatusOr<Made> Prepare(BoundCall* call, StreamHandle stream);

 private:
  using Buffer = std::shared_ptr<const HeldBuffer>;
  struct Packed {
    std::shared_ptr<const PreparedGemm> gemm;
    Buffer buffer;
  };

  absl::Status Compute(BoundCall* call, StreamHandle stream, Made* made);
  absl::StatusOr<Buffer> ComputeOne(const HeldSlot& slot, StreamHandle stream, Made* made) const;
  absl::Status Pack(BoundCall* call, size_t gemm, StreamHandle stream, Made* made);
  absl::Status CheckNotCapturing(const BoundCall& call, StreamHandle stream) const;

  const Backend* const backend_;
  KernelCache* const kernels_;
  const Options options_;
  const HeldInputs inputs_;
  // Whose Turn it is. Who has it reads what follows, and changes it under
  // LockOf(ForkLock::kCaches), so that a fork finds it whole.
  int maker_ = -1;
  absl::flat_hash_map<Hash128, Buffer> values_;               // by HeldSlot::key
  absl::flat_hash_map<Hash128, std::vector<Packed>> packed_;  // by the operand
};

}  // namespace jitfuse::internal

#endif  // JITFUSE_JIT_HELD_VALUES_H_
