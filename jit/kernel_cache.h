// KernelCache (L3): compiled and loaded kernels, keyed by what they are.
//
// In: a KernelSource and a Backend. Out: the loaded kernel; on a miss its code is looked for in the
// disk cache, if there is one, else compiled; once, however many threads ask (the others wait for
// that one result), and loaded once for each back end (a CUDA module belongs to a context). Key in
// memory: hash of the source (its comments hold sizes and launch, so they count too), the options,
// the architecture and what decides the compiler. On disk: jit/cache_entry.h. The full key text is
// kept and compared, so that a collision of hashes cannot give a wrong kernel. Failures are not
// kept: the next call tries again. Lives as long as the process or its Context; entries are never
// evicted (a kernel is some ten kilobytes; Stats says how many).
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
#include "jit/code_origin.h"
#include "jit/stage_times.h"

namespace jitfuse::internal {

class DiskCache;

struct CachedKernel {
  std::shared_ptr<const Kernel> kernel;
  KernelTimes times;                          // what each stage took when this process made it
  CodeOrigin origin = CodeOrigin::kCompiled;  // for this request
  bool healed = false;  // compiled in place of an entry on disk that was damaged
};

// By the back end's compiler, on a stack that is large enough for it.
absl::StatusOr<CompiledKernel> CompileWithStack(const KernelSource& source, const Backend& backend);

class KernelCache {
 public:
  // disk null: kernels are kept in memory alone. It must outlive this.
  explicit KernelCache(DiskCache* disk = nullptr) : disk_(disk) {}

  DiskCache* disk() const { return disk_; }

  struct Stats {
    int64_t hits = 0, misses = 0, entries = 0;
  };

  absl::StatusOr<CachedKernel> Get(const KernelSource& source, const Backend& backend);
  // All of them, in parallel as far as ir/support/threads.h has helpers; results in the order
  // asked.
  absl::StatusOr<std::vector<CachedKernel>> GetAll(absl::Span<const KernelSource> sources,
                                                   const Backend& backend);
  // Whether code for the back end's more general targets (Backend::GeneralBackends) may be there
  // though none for its own is: where a layer of the disk cache holds any.
  bool MayHaveGeneral(const Backend& backend) const;
  // Whether nothing would be compiled for `sources`, unless what is there is damaged. Of what is on
  // disk, with `layers_only`, read-only layers alone count.
  bool HasAll(absl::Span<const KernelSource> sources, const Backend& backend,
              bool layers_only) const;
  Stats stats() const;

  static std::string KeyText(const KernelSource& source, const Backend& backend);

 private:
  struct Code {  // what any back end can load
    std::string key_text;
    CompiledKernel compiled;
    std::string symbol;  // what the kernel is called in it
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
  // Finds or compiles the code, unless entry->code is there, and loads it.
  absl::Status Make(const KernelSource& source, const Backend& backend, std::string key_text,
                    Entry* entry);
  // Compiles and loads. `refused`: code from disk that could not be loaded, if any.
  absl::Status MakeAnew(const KernelSource& source, const Backend& backend, std::string key_text,
                        const Code* refused, Entry* entry);
  static absl::Status Load(const KernelSource& source, const Backend& backend, Entry* entry);

  DiskCache* const disk_;
  // Guarded by LockOf(ForkLock::kCaches).
  absl::flat_hash_map<Hash128, std::shared_ptr<const Code>> codes_;
  absl::flat_hash_map<Key, std::shared_ptr<Entry>> entries_;
  Stats stats_;
};

}  // namespace jitfuse::internal

#endif  // JITFUSE_JIT_KERNEL_CACHE_H_
