#include "jitfuse/cache.h"

#include <algorithm>
#include <cstdio>
#include <map>

#include "commands.h"

namespace jitfuse_cli {
namespace {

using jitfuse::CacheContents;
using jitfuse::CacheEntry;
using jitfuse::Status;
using jitfuse::StatusCode;

// Of an entry that no process takes code from.
const char* Fault(const CacheEntry& e) { return e.refused ? "not used" : "damaged"; }

Status List(const CacheContents& cache) {
  for (const CacheEntry& e : cache.entries) {
    if (!e.damage.empty()) {
      std::printf("%-10s %s: %s\n", Fault(e), e.path.c_str(), e.damage.c_str());
      continue;
    }
    std::printf("%-10s %-14s %-12s %9lld bytes, unused for %lld h, %s%s\n", e.arch.c_str(),
                e.compiler.c_str(), e.backend.c_str(), e.code_bytes, e.unused_s / 3600,
                e.kernel.c_str(), e.layer ? " (layer)" : "");
  }
  return Status();
}

Status Verify(const CacheContents& cache) {
  long long damaged = 0, refused = 0, in_layers = 0;
  for (const CacheEntry& e : cache.entries) {
    if (e.damage.empty()) continue;
    std::printf("%s: %s: %s\n", Fault(e), e.path.c_str(), e.damage.c_str());
    ++(e.refused ? refused : damaged);
    in_layers += e.layer ? 1 : 0;
  }
  std::printf("%zu entries, %lld of them damaged", cache.entries.size(), damaged);
  if (refused > 0) std::printf(", %lld not used", refused);
  std::printf("\n");
  if (damaged + refused == 0) return Status();
  std::string advice;
  if (damaged + refused > in_layers)
    advice =
        "such entries of the own cache are compiled anew when they are next needed; jitfuse cache "
        "prune deletes them";
  if (in_layers > 0)
    advice += std::string(advice.empty() ? "" : "\n") +
              "such entries of a layer stay as they are, and count as missing; "
              "jitfuse precache with the layer's manifest, into the layer, makes them anew";
  return Status(StatusCode::kFailedPrecondition, advice);
}

Status Summary(const CacheContents& cache) {
  for (const std::string& folder : cache.folders) {
    long long entries = 0, bytes = 0;
    std::map<std::string, long long> compilers;
    for (const CacheEntry& e : cache.entries) {
      if (e.path.compare(0, folder.size() + 1, folder + "/") != 0) continue;
      ++entries;
      bytes += e.file_bytes;
      ++compilers[e.damage.empty() ? e.compiler : Fault(e)];
    }
    std::printf("%s: %lld entries, %lld bytes\n", folder.c_str(), entries, bytes);
    for (const auto& [compiler, count] : compilers)
      std::printf("  %-16s %lld entries\n", compiler.c_str(), count);
  }
  for (const std::string& problem : cache.problems) std::printf("not used: %s\n", problem.c_str());
  std::printf("at most %lld bytes are kept (JITFUSE_CACHE_SIZE)\n", cache.max_bytes);
  return Status();
}

Status Prune(long long max_bytes) {
  const auto pruned = jitfuse::PruneCache(max_bytes);
  if (!pruned.ok()) return pruned.status();
  std::printf("%lld damaged entries deleted; %lld bytes of %lld left\n", pruned->damaged,
              pruned->bytes_left, pruned->bytes_before);
  return Status();
}

}  // namespace

Status Cache(const std::string& what, std::optional<std::uint64_t> max_bytes) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 62;
  if (what == "prune") {
    const long long bound = jitfuse::ListCache().max_bytes;
    return Prune(max_bytes ? static_cast<long long>(std::min(*max_bytes, kMost)) : bound);
  }
  const CacheContents cache = jitfuse::ListCache();
  return what == "list" ? List(cache) : what == "verify" ? Verify(cache) : Summary(cache);
}

}  // namespace jitfuse_cli
