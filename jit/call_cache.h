// CallCache: from one call's shapes to its BoundCall, through two levels; one object per compiled
// function.
//
// L1 (exact): dims, strides, alignment and alias facts -> BoundCall. Thread-local, no lock,
// bounded; a hit costs a hash of a few integers. L2 (class): jit/call_class.h's key -> Executable.
// Shared, one lock; a class is compiled once, however many threads ask, and binding a new size to
// it compiles and plans nothing. Failures are not cached. In: a graph, options, a back end, the
// kernel cache they share. Safe for any number of threads. The object must outlive its calls.
#ifndef JITFUSE_JIT_CALL_CACHE_H_
#define JITFUSE_JIT_CALL_CACHE_H_

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ir/graph.h"
#include "ir/options.h"
#include "jit/backend.h"
#include "jit/call_class.h"
#include "jit/executable.h"
#include "jit/kernel_cache.h"

namespace jitfuse::internal {

class CallCache {
 public:
  CallCache(Graph graph, const Options& options, const Backend* backend, KernelCache* kernels);

  // One view per signature position; `outputs` is empty (results will be allocated dense) or one
  // per output.
  absl::StatusOr<std::shared_ptr<const BoundCall>> Find(absl::Span<const TensorView> inputs,
                                                        absl::Span<const TensorView> outputs);

  struct Stats {
    int64_t l2_hits = 0, compiles = 0;
  };
  Stats stats() const;
  // Executables made so far, for explain(); in order of making.
  std::vector<std::shared_ptr<const Executable>> executables() const;

  const Graph& graph() const { return graph_; }
  const GraphShapeFacts& facts() const { return facts_; }
  const Options& options() const { return options_; }
  const Backend& backend() const { return *backend_; }

 private:
  struct Entry {
    bool done = false;
    absl::Status status;
    std::shared_ptr<const Executable> executable;
  };
  absl::StatusOr<std::shared_ptr<const Executable>> FindClass(const CallClass& cls);

  const uint64_t id_;  // of this object, never reused: L1 outlives objects
  const Graph graph_;
  const GraphShapeFacts facts_;
  const Options options_;
  const Backend* const backend_;
  KernelCache* const kernels_;

  mutable std::mutex mu_;
  std::condition_variable made_;
  absl::flat_hash_map<Hash128, std::shared_ptr<Entry>> classes_;
  std::vector<std::shared_ptr<const Executable>> order_;
  Stats stats_;
};

}  // namespace jitfuse::internal

#endif  // JITFUSE_JIT_CALL_CACHE_H_
