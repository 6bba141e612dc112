// DiskCache: compiled kernels on disk, shared by processes, machines and runs.
//
// In: a KernelSource and the back end that would compile it. Out: what a compiler once made of the
// same source, or nothing. Read-only layers are searched first, then the user's own cache, a file
// for each entry:  <folder>/v<format>/<toolchain>/<hash of the key>.  So the folders of a cache say
// what compilers its code is of. A layer's code may be of any that the back end can load; the own
// cache's is of the compiler that is here. Which one that is, is remembered beside the entries
// (with size and time of its file), since opening NVRTC only to ask for its version would cost more
// than the hit; it is opened when nothing was found, and then its own word counts.
//
// Nothing that is wrong with a cache fails a call: no home, no permission, a full disk are warned
// of once and kernels are compiled; an entry that is damaged is deleted and written anew. Only
// JITFUSE_REQUIRE_CACHE makes an error of a miss. What is read may have been written by any process
// of this user (jit/cache_files.h says whose files are trusted), so nothing of it is believed
// before its checksum and its whole key. The size is bounded: all writers note the sizes of their
// entries in one file, and who passes the bound deletes those that were used longest ago.
// Thread-safe; callers hold a CompileGate, so that
// no fork falls into the middle. Must not know: graphs, plans, how code is loaded.
#ifndef JITFUSE_JIT_DISK_CACHE_H_
#define JITFUSE_JIT_DISK_CACHE_H_

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "codegen/plan/kernel_source.h"
#include "jit/backend.h"
#include "jit/cache_entry.h"
#include "jit/cache_files.h"
#include "jit/code_origin.h"

namespace jitfuse::internal {

struct DiskCacheOptions {
  bool enabled = true;
  std::string dir;  // of the own cache; "": there is none, for the reason below
  std::string no_dir_reason;
  std::vector<std::string> layers;
  int64_t max_bytes = int64_t{1} << 30;
  bool require = false;
};
// JITFUSE_CACHE_DIR, _PATH, _SIZE, JITFUSE_NO_CACHE, JITFUSE_REQUIRE_CACHE, XDG_CACHE_HOME, HOME.
DiskCacheOptions DiskCacheOptionsFromEnv();

class DiskCache {
 public:
  explicit DiskCache(DiskCacheOptions options) : options_(std::move(options)) {}
  DiskCache(const DiskCache&) = delete;
  DiskCache& operator=(const DiskCache&) = delete;

  struct Found {
    CompiledKernel compiled;
    std::string symbol;  // what the kernel is called in it
    CodeOrigin origin = CodeOrigin::kDisk;
    std::string path;
  };
  struct Lookup {
    std::optional<Found> found;
    bool healed = false;  // a damaged entry was met on the way
  };
  Lookup Find(const KernelSource& source, const Backend& backend);
  // Whether Find would meet an entry that may be read, whatever is in it; in a layer, or, unless
  // `layers_only`, also in the own cache, by the compiler that is known to be here.
  bool Has(const KernelSource& source, const Backend& backend, bool layers_only);
  // Whether any layer has code that the back end could load.
  bool HasLayersFor(const Backend& backend);
  void Store(const KernelSource& source, const Backend& backend, const CompiledKernel& compiled);
  // What is no code, and kept as code is: its key's toolchain names its folder, and is no
  // compiler's. All entries of the key, in the order in which places are searched: a layer's, which
  // stays as it is, may be of no use where the own cache's is.
  struct Values {
    std::vector<Found> found;
    bool healed = false;
  };
  Values FindValues(const CacheKey& key);
  void StoreValue(const CacheEntry& entry);
  // An entry whose code cannot be loaded, though what the compiler makes now can, or whose value is
  // wrong.
  void Drop(const Found& found);
  bool required() const { return options_.require; }
  int64_t max_bytes() const { return options_.max_bytes; }
  struct Root {
    std::string path;  // <folder>/v<format>
    bool layer = false;
  };
  std::vector<Root> roots();                   // in the order in which they are searched
  const std::vector<std::string>& problems();  // why there are not more of them
  // Of a miss: OK, or with `require` the error that names the nearest entry and what differs.
  absl::Status CheckMiss(const KernelSource& source, const Backend& backend);

 private:
  struct Layer {
    std::string root;  // <layer>/v<format>
    std::vector<std::string> toolchains;
  };
  struct Places {
    std::string own;  // <folder>/v<format>; "": none
    std::vector<Layer> layers;
    std::vector<std::string> problems;
  };
  const Places& places();
  Places OpenPlaces() const;
  // The entry of `key` below `root`.
  std::optional<Found> Read(const std::string& root, const CacheKey& key, CodeOrigin origin,
                            bool* healed);
  static bool AnyInLayers(const std::vector<Layer>& layers, const Backend& backend, CacheKey* key,
                          absl::FunctionRef<bool(const std::string& root)> visit);
  std::optional<Found> ReadOwn(CacheKey key, const Backend& backend, bool* healed);
  // False: it was not written.
  bool StoreEntry(const CacheEntry& entry);
  void Bound(const std::string& root, int64_t written);

  const DiskCacheOptions options_;
  std::once_flag opened_;
  Places places_;
  std::atomic<bool> writable_{true};   // until something could not be written
  std::atomic<bool> sweeping_{false};  // by a thread of this process
};

// Of this process, as the environment said when it was first used.
DiskCache* SharedDiskCache();

// <folder>/v<format>, and below it the file of an entry.
std::string CacheRootOf(const std::string& dir);
std::string EntryPathOf(const std::string& root, const CacheKey& key);
// The files of entries below a root, those that are being written among them.
std::vector<FileInfo> EntriesBelow(const std::string& root);
// Deletes entries below `root`, those used longest ago first, until `max_bytes` are left, and files
// that writers left behind. Bytes that are left.
int64_t SweepCache(const std::string& root, int64_t max_bytes);

}  // namespace jitfuse::internal

#endif  // JITFUSE_JIT_DISK_CACHE_H_
