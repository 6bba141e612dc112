// Backend: the one virtual interface of Jitfuse, between the pipeline and a device. Also Allocator,
// which callers may implement.
//
// In: kernel plans, GEMM and sort problems. Out: sources, bytes, loaded kernels, launches on the
// caller's stream. All methods are const and thread-safe. Emit is pure. Compile needs no device (a
// cubin can be made on a machine with no GPU); Load and Launch do. Nothing synchronises with the
// device except CopyToHost/CopyFromHost/Synchronize, which say so. Errors:
// FailedPrecondition/NotFound name what was searched; a compiler failure carries its log and the
// path of the dumped source. Must not know: graphs, groups beyond GemmProblem and SortProblem,
// caches, the API.
#ifndef JITFUSE_JIT_BACKEND_H_
#define JITFUSE_JIT_BACKEND_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "codegen/fusion/group.h"
#include "codegen/plan/kernel_plan.h"
#include "codegen/plan/kernel_source.h"
#include "codegen/target.h"
#include "jit/resources.h"

namespace jitfuse::internal {

// A stream of the device: CUstream as a pointer; 0 is the device's default stream. Ignored on the
// CPU.
using StreamHandle = void*;

class Allocator {
 public:
  virtual ~Allocator() = default;
  // At least `bytes` (> 0) bytes aligned to 256, usable by work on `stream` in stream order.
  // nullptr: out of memory.
  virtual void* Allocate(size_t bytes, StreamHandle stream) = 0;
  virtual void Free(void* ptr, size_t bytes, StreamHandle stream) = 0;
};

struct CompiledKernel {
  std::string bytes;  // cubin, object file, or empty for the interpreter
  std::string log;    // the compiler's remarks
  double compile_ms = 0;
};

class Kernel {  // loaded code; owns what keeps it alive
 public:
  virtual ~Kernel() = default;
  // What is known of it without asking the device.
  virtual KernelResources resources() const { return {}; }
  // The same as the device says it, with how many blocks run at once.
  virtual KernelResources MeasuredResources() const { return resources(); }
};

// Times what one thread enqueues on a stream, while there is a trace (ir/support/trace.h).
class StreamMarks {
 public:
  virtual ~StreamMarks() = default;
  // Names what was enqueued since the mark before, or since this was made.
  virtual void Mark(std::string_view name) = 0;
};

struct LaunchArgs {
  absl::Span<void* const> buffers;     // by plan param
  absl::Span<const uint64_t> scalars;  // ScalarValue bits, by plan scalar
  absl::Span<const int64_t> sizes;     // by source size_args
  int64_t grid = 0;                    // CUDA blocks; 0: nothing is launched
  int64_t rows = 0, cols = 0;          // CPU extents
  int64_t bytes_per_row = 0;
  StreamHandle stream = nullptr;
  bool in_context = false;  // the caller knows that the device's context is the thread's
};

class PreparedGemm {  // an algorithm chosen for one GemmProblem
 public:
  virtual ~PreparedGemm() = default;
  virtual size_t workspace_bytes() const = 0;
  virtual std::string Describe() const = 0;  // library, algorithm, for explain()
  // What PrepareGemmWith takes, one word; empty where there is no choice of algorithms.
  virtual std::string algorithm() const { return ""; }
  // Of PreparePackedGemm: how many bytes PackB makes of B, which RunGemm is given in its place.
  // 0: B is read where it lies.
  virtual size_t packed_b_bytes() const { return 0; }
  // Whether what was packed for `other`, of the same B and back end, is packed for this one too.
  virtual bool SharesPackedB(const PreparedGemm&) const { return false; }
};

struct GemmBuffers {  // of a GemmProblem; c and bias as its epilogue has them; c may be d, if alike
  const void *a = nullptr, *b = nullptr, *c = nullptr, *bias = nullptr;
  void* d = nullptr;
  void* workspace = nullptr;
};
struct SortBuffers {  // of a SortProblem
  const void* indices = nullptr;
  int64_t *order = nullptr, *begin = nullptr, *end = nullptr;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string_view name() const = 0;  // "cpu", "cuda", "interpret"
  virtual const Target& target() const = 0;
  // Compiler name and version, part of the kernel key. Empty if there is no compiler here.
  virtual std::string CompilerId() const = 0;
  // The same as far as it is known without opening a compiler, which would cost more than finding
  // its code in a cache.
  struct Compiler {
    std::string id;    // as CompilerId; empty if it is not open
    std::string clue;  // decides which one would be opened; stable as long as the environment is
    std::string file;  // of an open one: where it lies, if it is a file of its own
  };
  virtual Compiler compiler() const {
    const std::string id = CompilerId();
    return {id, id, ""};
  }
  // Whether code by a compiler of this name and version (ToolchainName of jit/cache_entry.h) for
  // target().arch can be loaded here.
  virtual bool LoadsCodeOf(std::string_view) const { return true; }
  // This device for more general targets whose code runs here too, the nearest first; none where
  // target() is no exact device's. What one of them made, any of them may run.
  virtual absl::Span<const Backend* const> GeneralBackends() const { return {}; }

  virtual absl::StatusOr<KernelSource> Emit(const KernelPlan& plan) const = 0;
  virtual absl::StatusOr<CompiledKernel> Compile(const KernelSource& source) const = 0;
  virtual absl::StatusOr<std::shared_ptr<const Kernel>> Load(
      const KernelSource& source, const CompiledKernel& compiled) const = 0;
  virtual absl::Status Launch(const Kernel& kernel, const LaunchArgs& args) const = 0;
  // Of code that need not run here, as far as the code says it.
  virtual KernelResources ResourcesOf(const KernelSource&, const CompiledKernel&) const {
    return {};
  }
  // Null where the thread itself does the work, and of a stream that is being captured.
  virtual std::unique_ptr<StreamMarks> MarkStream(StreamHandle) const { return nullptr; }

  // What libraries are asked for has no extent of 0: such results are empty, or zeros (Zero).
  // kOk if the library takes this dtype and is there; else the reason to lower the matmul to a loop
  // group.
  virtual absl::Status GemmSupport(DType dtype, Reason* reason) const = 0;
  // kOk if what GemmSupport takes may have this epilogue; else the reason to leave it to a loop
  // group behind the product.
  virtual absl::Status EpilogueSupport(DType dtype, const GemmEpilogue& epilogue,
                                       Reason* reason) const = 0;
  // Whether products of these 16-bit operands may have an f32 result (GemmCall::f32_result).
  virtual bool GemmGivesF32(DType) const { return false; }
  virtual absl::StatusOr<std::shared_ptr<const PreparedGemm>> PrepareGemm(
      const GemmProblem& problem) const = 0;
  virtual absl::Status RunGemm(const PreparedGemm& gemm, const GemmBuffers& buffers,
                               StreamHandle stream) const = 0;
  // As PrepareGemm, of a B that is the same in all calls: the library may choose how it lies.
  virtual absl::StatusOr<std::shared_ptr<const PreparedGemm>> PreparePackedGemm(
      const GemmProblem& problem) const {
    return PrepareGemm(problem);
  }
  // `packed`: gemm.packed_b_bytes() bytes, aligned to 256. Only where that is not 0.
  virtual absl::Status PackB(const PreparedGemm&, const void* /*b*/, void* /*packed*/,
                             StreamHandle) const {
    return absl::InternalError("this back end packs no operand of a matrix product");
  }

  // Tuning (jit/tune.h). Where products have one algorithm only: false, and the rest is unused.
  virtual bool CanTune() const { return false; }
  virtual std::string GemmLibrary() const { return ""; }  // name and version: "cuBLASLt 13.1.0"
  // What may compute `problem`, that of PrepareGemm first; at most `most`.
  virtual absl::StatusOr<std::vector<std::shared_ptr<const PreparedGemm>>> GemmCandidates(
      const GemmProblem& problem, int most) const;
  // With what algorithm() said of a problem of the same kind, maybe in another process with the
  // same GemmLibrary(). NotFound if it does not fit.
  virtual absl::StatusOr<std::shared_ptr<const PreparedGemm>> PrepareGemmWith(
      const GemmProblem& problem, const std::string& algorithm) const;
  // Microseconds of the device between the first and the last of what `work` enqueues on `stream`.
  // Waits for it; never while the stream is captured.
  virtual absl::StatusOr<double> TimeOnDevice(absl::FunctionRef<absl::Status()> work,
                                              StreamHandle stream) const;

  // What grouping positions by indices of this dtype compiles; nothing where it is built in.
  // RunSort takes the loaded kernels in that order, and `workspace`: so many bytes, aligned to 256.
  virtual absl::StatusOr<std::vector<KernelSource>> EmitSort(DType) const {
    return std::vector<KernelSource>();
  }
  virtual int64_t SortWorkspaceBytes(const SortProblem&) const { return 0; }
  virtual absl::Status RunSort(const SortProblem& problem, absl::Span<const Kernel* const> kernels,
                               const SortBuffers& buffers, void* workspace,
                               StreamHandle stream) const = 0;
  virtual std::string DescribeSort(const SortProblem& problem) const = 0;  // for explain()

  virtual int device_index() const { return 0; }  // which of the devices of its kind
  // Whether `stream` records a graph, so that nothing may wait for it.
  virtual bool IsCapturing(StreamHandle) const { return false; }
  virtual Allocator* allocator() const = 0;  // the default one
  // For what outlives calls: every stream may use it once Allocate has returned, and it is given
  // back whichever streams are gone by then. Both may wait for the device; streams are not looked
  // at.
  virtual Allocator* held_allocator() const { return allocator(); }
  virtual absl::Status CopyFromHost(void* dst, const void* src, size_t bytes,
                                    StreamHandle stream) const = 0;  // synchronises the stream
  virtual absl::Status CopyToHost(void* dst, const void* src, size_t bytes,
                                  StreamHandle stream) const = 0;  // synchronises the stream
  virtual absl::Status CopyOnDevice(void* dst, const void* src, size_t bytes,
                                    StreamHandle stream) const = 0;  // stream-ordered
  virtual absl::Status Zero(void* dst, size_t bytes, StreamHandle stream) const = 0;  // likewise
  virtual absl::Status Synchronize(StreamHandle stream) const = 0;
};

// A back end whose memory is the host's and whose calls are over when they return.
class HostBackend : public Backend {
 public:
  absl::Status CopyFromHost(void* dst, const void* src, size_t bytes, StreamHandle) const override {
    return Move(dst, src, bytes);
  }
  absl::Status CopyToHost(void* dst, const void* src, size_t bytes, StreamHandle) const override {
    return Move(dst, src, bytes);
  }
  absl::Status CopyOnDevice(void* dst, const void* src, size_t bytes, StreamHandle) const override {
    return Move(dst, src, bytes);
  }
  absl::Status Zero(void* dst, size_t bytes, StreamHandle) const override {
    if (bytes > 0) std::memset(dst, 0, bytes);
    return absl::OkStatus();
  }
  absl::Status Synchronize(StreamHandle) const override { return absl::OkStatus(); }

 private:
  static absl::Status Move(void* dst, const void* src, size_t bytes) {
    if (bytes > 0) std::memmove(dst, src, bytes);
    return absl::OkStatus();
  }
};

}  // namespace jitfuse::internal

#endif  // JITFUSE_JIT_BACKEND_H_
