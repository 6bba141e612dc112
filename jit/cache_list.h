// What is in a cache, for the command `jitfuse cache`: every entry, whole or damaged, and making
// room by hand. Not on the path of a call.
#ifndef JITFUSE_JIT_CACHE_LIST_H_
#define JITFUSE_JIT_CACHE_LIST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "jit/cache_entry.h"
#include "jit/cache_files.h"

namespace jitfuse::internal {

// Whole, and of the kernel that its file's name says: else DataLoss. Errors name the file.
absl::StatusOr<CacheEntry> ReadEntryFile(const std::string& path, Trust trust);

struct ListedEntry {
  FileInfo file;
  std::string symbol, backend, arch, toolchain;  // none of a damaged one
  int64_t code_bytes = 0;
  std::string damage;    // "": it is whole, and may be used
  bool refused = false;  // it was not read, for that reason: others may write to it, or no rights
};
// Below a root of jit/disk_cache.h, by path. Reads every file.
std::vector<ListedEntry> ListEntries(const std::string& root, Trust trust);

struct Pruned {
  int64_t damaged = 0;  // entries deleted for that
  int64_t bytes_before = 0, bytes_left = 0;
};
// Of the own cache: deletes what is damaged or refused, then what was used longest ago, until at
// most `max_bytes` are left.
Pruned PruneEntries(const std::string& root, int64_t max_bytes);

}  // namespace jitfuse::internal

#endif  // JITFUSE_JIT_CACHE_LIST_H_
