// The disk cache from outside: where it is, what it holds, whether that is whole, and making room
// in it by hand (docs/cache.md). Functions use it by themselves.
//
// Of the folders that this process uses, as the environment said when it first needed them. All of
// it reads files, so it takes time; it may be called while other threads and processes use the
// cache.
#ifndef JITFUSE_API_CACHE_H_
#define JITFUSE_API_CACHE_H_

#include <string>
#include <vector>

#include "status.h"

namespace jitfuse {
inline namespace v1 {

struct CacheEntry {
  std::string path;
  bool layer = false;                           // of a read-only layer
  std::string kernel, backend, arch, compiler;  // none of a damaged one
  long long file_bytes = 0, code_bytes = 0;
  long long unused_s = 0;  // seconds since its last use, which is noted to the hour
  std::string damage;      // what is wrong with it; empty: it is whole, and may be used
  bool refused = false;    // it was not read, for that reason: others may write to it, or no rights
};
struct CacheContents {
  std::vector<std::string> folders;   // in the order in which they are searched
  std::vector<std::string> problems;  // why other folders are not used
  std::vector<CacheEntry> entries;
  long long max_bytes = 0;  // that the own cache may have
};
CacheContents ListCache();

struct CachePruned {
  long long damaged = 0;  // entries deleted because they were, or were refused
  long long bytes_before = 0, bytes_left = 0;
};
// Of the own cache, never of a layer: deletes damaged and refused entries, then those used longest
// ago, until at most `max_bytes` are left. An error if there is no cache of one's own.
StatusOr<CachePruned> PruneCache(long long max_bytes);

}  // namespace v1
}  // namespace jitfuse

#endif  // JITFUSE_API_CACHE_H_
