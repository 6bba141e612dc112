#include "api/cache.h"

#include <algorithm>
#include <ctime>

#include "api/convert.h"
#include "ir/support/status.h"
#include "jit/cache_list.h"
#include "jit/disk_cache.h"

namespace jitfuse {
inline namespace v1 {

CacheContents ListCache() {
  internal::DiskCache& cache = *internal::SharedDiskCache();
  CacheContents out;
  out.max_bytes = cache.max_bytes();
  out.problems = cache.problems();
  const auto now = static_cast<long long>(std::time(nullptr));
  for (const internal::DiskCache::Root& root : cache.roots()) {
    out.folders.push_back(root.path);
    const internal::Trust trust = root.layer ? internal::Trust::kLayer : internal::Trust::kOwn;
    for (const internal::ListedEntry& e : internal::ListEntries(root.path, trust)) {
      const long long unused = now - e.file.modified_ns / 1000000000;
      out.entries.push_back({e.file.path, root.layer, e.symbol, e.backend, e.arch, e.toolchain,
                             e.file.bytes, e.code_bytes, std::max(0LL, unused), e.damage,
                             e.refused});
    }
  }
  return out;
}

StatusOr<CachePruned> PruneCache(long long max_bytes) {
  if (max_bytes < 0)
    return Status(StatusCode::kInvalidArgument, "PruneCache: expected a number of bytes from 0 on");
  for (const internal::DiskCache::Root& root : internal::SharedDiskCache()->roots()) {
    if (root.layer) continue;
    const internal::Pruned pruned = internal::PruneEntries(root.path, max_bytes);
    return CachePruned{pruned.damaged, pruned.bytes_before, pruned.bytes_left};
  }
  std::string why = "PruneCache: there is no cache to write to";
  for (const std::string& problem : internal::SharedDiskCache()->problems()) why += "; " + problem;
  return Status(StatusCode::kFailedPrecondition, why);
}

}  // namespace v1
}  // namespace jitfuse
