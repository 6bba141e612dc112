// KernelCache (L3): compiled and loaded kernels, keyed by what they are.
//
// In: a KernelSource and a Backend. Out: the loaded kernel; on a miss it is compiled once, however
// many threads ask (the others wait for that one result), and loaded once for each back end (a CUDA
// module belongs to a context). Key: hash of the source (its comments
// hold sizes and launch, so they count too), the options, the architecture and the compiler's name
// and version. The full key text is kept and compared, so that a collision of hashes cannot give a
// wrong kernel. Failures are not kept: the next call tries again. Lives as long as the process or
// its Context; entries are never evicted (a kernel is some ten kilobytes; Stats says how many).
#ifndef JITFUSE_JIT_KERNEL_CACHE_H_
#define JITFUSE_JIT_KERNEL_CACHE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "codegen/plan/kernel_source.h"
#include "ir/support/hash128.h"
#include "jit/backend.h"

namespace jitfuse::internal {

struct CachedKernel {
  std::shared_ptr<const Kernel> kernel;
  double compile_ms = 0;  // what compiling took when it was made
  bool hit = false;       // true if this request found it made
};

class KernelCache {
 public:
  struct Stats {
    int64_t hits = 0, misses = 0, entries = 0;
  };

  absl::StatusOr<CachedKernel> Get(const KernelSource& source, const Backend& backend);
  // All of them, in parallel as far as ir/support/threads.h has helpers; results in the order
  // asked.
  absl::StatusOr<std::vector<CachedKernel>> GetAll(absl::Span<const KernelSource> sources,
                                                   const Backend& backend);
  Stats stats() const;

  static std::string KeyText(const KernelSource& source, const Backend& backend);

 private:
  struct Code {  // what any back end can load
    std::string key_text;
    CompiledKernel compiled;
  };
  struct Entry {
    std::shared_ptr<const Code> code;
    int generation = 0;  // the process that makes it: a fork's child does not wait for its parent
    bool done = false;
    absl::Status status;
    CachedKernel kernel;
  };
  using Key = std::pair<Hash128, const Backend*>;
  absl::StatusOr<CachedKernel> Wait(const Hash128& key, const std::string& key_text,
                                    const Entry& entry) const;
  // Compiles, unless entry->code is there, and loads.
  static absl::Status Make(const KernelSource& source, const Backend& backend, std::string key_text,
                           Entry* entry);

  // Guarded by LockOf(ForkLock::kCaches).
  absl::flat_hash_map<Hash128, std::shared_ptr<const Code>> codes_;
  absl::flat_hash_map<Key, std::shared_ptr<Entry>> entries_;
  Stats stats_;
};

}  // namespace jitfuse::internal

#endif  // JITFUSE_JIT_KERNEL_CACHE_H_
