// Pre-caching: the kernels of many graphs, compiled into a layer of the disk cache ahead of time.
//
// In: graphs with classes of calls, and back ends that compile for architectures that need not be
// here. CollectKernels plans as a call would and gives every kernel once, in an order that follows
// from what was asked alone. LayerWriter writes what is not there yet: entries as jit/cache_entry.h
// has them, below <dir>/v<format>/<toolchain>/, and index.json, which says by which compilers, for
// what and how large its kernels are; all may read it. All that is written is a pure function of
// what was asked and of the compilers: no times, no names of folders, no order of threads. A run
// that was ended leaves whole entries, which the next one does not compile again. Must not know:
// manifests, concrete back ends.
#ifndef JITFUSE_JIT_PRECACHE_H_
#define JITFUSE_JIT_PRECACHE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ir/graph.h"
#include "ir/options.h"
#include "jit/backend.h"
#include "jit/cache_entry.h"
#include "jit/call_class.h"

namespace jitfuse::internal {

struct PrecacheJob {
  std::shared_ptr<const Graph> graph;
  CallClass cls;
  Options options;
  std::string where;       // for messages
  bool cuda_only = false;  // seed and offset read from memory
};
struct PrecacheTarget {
  const Backend* backend = nullptr;
  std::string toolchain;  // ToolchainName of its compiler; empty where that is not known
  bool again = false;     // an architecture that another target stands for, too
};

struct WantedKernel {
  KernelSource source;
  CacheKey key;
  const Backend* backend = nullptr;
};
struct WantedKernels {
  std::vector<WantedKernel> kernels;        // each key once
  std::vector<std::vector<size_t>> by_job;  // which of them a job needs, in ascending order
  int64_t products = 0;                     // of matrix libraries, with nothing to compile
};
// Plans each job for each target, in parallel. Also what bound functions compute once, and what the
// same calls run where a matrix library has no algorithm for a product with its epilogue, or where
// tuning has chosen another plan (jit/product_choices.h says how many of these).
absl::StatusOr<WantedKernels> CollectKernels(absl::Span<const PrecacheJob> jobs,
                                             absl::Span<const PrecacheTarget> targets);

struct LayerKernel {
  std::string file;  // below the layer's folder
  std::string kernel, backend, arch, toolchain;
  int64_t code_bytes = 0, file_bytes = 0;
  int registers = -1, local_bytes = -1, spill_bytes = -1;  // a thread's; -1: not known
  double compile_ms = -1;                                  // -1: it was there
};
// Of an entry: what its code says of registers and local memory.
using ReadFigures = std::function<void(const CacheEntry&, LayerKernel*)>;

struct LayerProgress {
  size_t done = 0, total = 0, compiled = 0;
  const KernelSource* last = nullptr;  // that is done
};
// One run that adds to a layer: Open, Compile, Finish.
class LayerWriter {
 public:
  LayerWriter() = default;
  ~LayerWriter();
  LayerWriter(const LayerWriter&) = delete;
  LayerWriter& operator=(const LayerWriter&) = delete;

  // Makes the folder, and those above it so that all may come through and nobody else write,
  // whatever the umask.
  // FailedPrecondition: it has something else in it, or another process fills it.
  absl::Status Open(const std::string& dir);
  // What is there, whole, is not compiled again. In parallel, by kernel. Errors name the first
  // kernels that could not be compiled; the others are there.
  absl::StatusOr<std::vector<LayerKernel>> Compile(
      absl::Span<const WantedKernel> kernels, const ReadFigures& figures,
      const std::function<void(const LayerProgress&)>& progress);
  // Makes what this user has in the layer readable for all, writable for this user alone, whatever
  // the umask, and writes index.json, of all its kernels. An entry that others could write to is
  // not made one that is trusted: it is deleted, as damaged ones are. Returns these, and why;
  // sorted by path. `version`: of this library.
  absl::StatusOr<std::vector<std::string>> Finish(const ReadFigures& figures,
                                                  const std::string& version);

 private:
  absl::StatusOr<LayerKernel> Make(const WantedKernel& wanted, const ReadFigures& figures) const;
  std::string dir_;
  int lock_ = -1;
};

// What a target would not find in a layer.
struct LayerGaps {
  std::vector<const WantedKernel*> missing;  // also those that are there and not used
  std::string refused;              // why nothing of the layer is used; "": it is, or not there
  std::vector<std::string> unused;  // entries of the missing that are there, and what is wrong
};
// An empty toolchain of a key stands for any whose code the back end loads.
LayerGaps GapsIn(const std::string& dir, absl::Span<const WantedKernel> kernels);
// That index.json of a layer names, sorted.
absl::StatusOr<std::vector<std::string>> ArchsOfLayer(const std::string& dir);

}  // namespace jitfuse::internal

#endif  // JITFUSE_JIT_PRECACHE_H_
