// Options: what changes the code (CompileOptions) and what belongs to one call (RunOptions).
//
// numerics: kDefault is the published contract. kStrict and batch_invariant are not built yet:
// Compile returns kUnimplemented. kFast may be faster and less exact; where it has nothing to offer
// it equals kDefault and explain() says so. RunOptions name resources of the caller: Jitfuse
// enqueues on `stream` and nowhere else, takes scratch memory from `workspace` or `allocator`, and
// never synchronises, but for calls that are verified or timed. All pointers must stay valid until
// the stream has passed the call; allocator and stream longer: until the last copy of the last
// result of the call is gone, since it is freed with both of them.
#ifndef JITFUSE_API_OPTIONS_H_
#define JITFUSE_API_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "status.h"

namespace jitfuse {
inline namespace v1 {

enum class DeviceKind : int { kAuto = 0, kCpu = 1, kCuda = 2, kInterpret = 3 };
enum class Numerics : int { kDefault = 0, kStrict = 1, kFast = 2 };
// Which sizes share code, of those that are symbols in the graph (docs/shapes.md). kLeading: batch
// sizes all do, inner ones where vectors fit them alike. kAll: nearly all do, so that few kernels
// serve any size. kNone: each has code of its own.
enum class Dynamic : int { kLeading = 0, kAll = 1, kNone = 2 };
// What follows where a call's results differ from the reference evaluator's: an error, or the
// evaluator's results in their place, in this call and all later ones of its executable.
enum class VerifyAction : int { kError = 0, kFallback = 1 };

struct CompileOptions {
  DeviceKind device =
      DeviceKind::kAuto;  // kAuto: JITFUSE_BACKEND, else the GPU where there is one, else the CPU
  Numerics numerics = Numerics::kDefault;
  bool batch_invariant = false;
  bool fuse = true;              // false: one kernel per op, for comparison
  bool rewrite = true;           // false: no folding, CSE, canonical forms
  bool use_gemm_library = true;  // false: matrix products become loop kernels
  long long max_fusions = -1;    // stop fusing after so many merges (bisection); -1: no limit
  // Safety mode (docs/verify.md): the results of the first `verify` calls of each executable are
  // compared with the reference evaluator. Such calls wait for their stream.
  long long verify = 0;
  VerifyAction verify_action = VerifyAction::kError;
  // The first call of each key (a class of calls, with the power of two that bounds each size)
  // times what it may choose from before it runs (docs/gemm.md), unless the disk cache has what
  // another process found; it waits for its stream. Without: nothing is ever timed or looked for,
  // and the same calls choose the same.
  bool autotune = false;
  Dynamic dynamic = Dynamic::kLeading;
  // A call whose code is not there runs what is: code for more sizes than its own, or on the CPU
  // the plan interpreter; its code is compiled in another thread meanwhile (docs/shapes.md). Where
  // there is neither, it waits. Results of the two may differ in the last bits.
  bool background = false;
  // After so many calls of one shape, code for that shape alone is compiled in another thread, and
  // used from then on. No call waits for it. 0: never.
  long long specialize_after = 0;
};

// Memory for intermediates and for results the library allocates. Must be safe to call from any
// thread, and outlive the results of Function::Run: the last copy of each calls Free, in the thread
// that drops it, with the stream of the call.
class Allocator {
 public:
  virtual ~Allocator() = default;
  // At least `bytes` (> 0) bytes aligned to 256, usable in stream order. nullptr: out of memory
  // (the call then fails with kResourceExhausted).
  virtual void* Allocate(std::size_t bytes, void* stream) = 0;
  // `stream` is that of Allocate. A result is freed with its last Array, maybe long after the call.
  virtual void Free(void* ptr, std::size_t bytes, void* stream) = 0;
};

// Where Function::Run takes its results from, in place of the allocator: for results that belong to
// another library. Called once per output, in order, before anything is enqueued; dims and device
// are what the Array has to have, which must be contiguous and aligned to its items, and overlap
// neither inputs nor one another. An error ends the call. `dtype` is a DType (api/tensor.h).
class Array;
struct Device;
enum class DType : std::uint8_t;
class ResultMaker {
 public:
  virtual ~ResultMaker() = default;
  virtual StatusOr<Array> Make(int output, DType dtype, const std::vector<std::int64_t>& dims,
                               Device device) = 0;
};

// Told around the parts of a call that may take long: compiling, waiting for another thread that
// compiles, and kernels of more than some ten microseconds on the CPU. For callers that hold a lock
// which others want meanwhile, such as Python's. Every Begin is followed by its End on the same
// thread; they do not nest.
class LongWork {
 public:
  virtual ~LongWork() = default;
  virtual void Begin() = 0;
  virtual void End() = 0;
};

// Seed and position of the random stream. Random op k of a Builder draws from offset + k: from one
// call to the next, advance the offset by at least the number of random ops. If device_state is
// set, two 64-bit words {seed, offset}, aligned to 8 bytes, are used in place of the values here.
// On a GPU they lie in its memory and are read when the kernel runs, so that replays of a captured
// graph differ; what will be captured is first given to Function::Warm with the same rng. On the
// CPU they lie in host memory and are read when the call begins. Unused by graphs without random
// ops.
struct Rng {
  std::uint64_t seed = 0;
  std::uint64_t offset = 0;
  const void* device_state = nullptr;
};

struct RunOptions {
  // CUstream; nullptr: the default stream. Ignored on the CPU. Results that the library allocates
  // are freed in its order when their last Array goes: destroy a stream after them.
  void* stream = nullptr;
  Allocator* allocator = nullptr;  // nullptr: the library's own stream-ordered allocator
  void* workspace = nullptr;  // if set: at least Function::WorkspaceBytes() bytes, aligned to 256,
                              // apart from inputs and outputs; no allocation is made for
                              // intermediates
  std::size_t workspace_bytes = 0;
  Rng rng;
  ResultMaker* results = nullptr;  // of Run; nullptr: `allocator`
  LongWork* long_work = nullptr;
};

}  // namespace v1
}  // namespace jitfuse

#endif  // JITFUSE_API_OPTIONS_H_
