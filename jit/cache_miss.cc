#include "jit/cache_miss.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "ir/support/status.h"
#include "jit/tune_store.h"

namespace jitfuse::internal {
namespace {

constexpr size_t kMaxEntries = 20000;

// What an entry has in common with a key, and where they differ.
struct Likeness {
  int score = -1;
  std::string path;
  std::vector<std::string> differences;
};

void Compare(std::string_view what, int weight, const std::string& there, const std::string& here,
             Likeness* out) {
  if (there == here) {
    out->score += weight;
  } else {
    out->differences.push_back(
        absl::StrCat(ToAbsl(what), " is '", there, "' there, '", here, "' here"));
  }
}

// Of lists of options, which may be a page of CPU features: what only one of them has.
std::string OnlyIn(const std::string& options, const std::string& others) {
  using Words = std::set<std::string>;
  const Words a = absl::StrSplit(options, absl::ByAnyChar(", "), absl::SkipEmpty()),
              b = absl::StrSplit(others, absl::ByAnyChar(", "), absl::SkipEmpty());
  std::vector<std::string> only;
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(only));
  return absl::StrJoin(only, " ");
}

Likeness Compare(const CacheEntry& entry, const CacheKey& key, const std::string& symbol) {
  Likeness out{0, "", {}};
  Compare("back end", 16, entry.key.backend, key.backend, &out);
  if (entry.key.source == key.source) {
    out.score += 32;
  } else {
    out.differences.emplace_back("source is another");
    out.score += entry.symbol == symbol ? 8 : 0;
  }
  Compare("architecture", 4, entry.key.arch, key.arch, &out);
  Compare("options", 2, OnlyIn(entry.key.options, key.options),
          OnlyIn(key.options, entry.key.options), &out);
  Compare("compiler", 1, entry.key.toolchain, key.toolchain, &out);
  return out;
}

struct Search {
  Likeness nearest;
  size_t seen = 0;
};

void Look(const DiskCache::Root& root, const CacheKey& key, const std::string& symbol,
          Search* search) {
  const Trust trust = root.layer ? Trust::kLayer : Trust::kOwn;
  for (const FileInfo& file : EntriesBelow(root.path)) {
    if (search->seen == kMaxEntries) return;
    if (IsTemporary(file.path)) continue;  // its writer was ended, or goes on
    absl::StatusOr<CacheFile> bytes = ReadCacheFile(file.path, trust);
    if (!bytes.ok()) continue;
    absl::StatusOr<CacheEntry> entry = DecodeEntry(bytes->bytes);
    if (!entry.ok() || entry->key.backend == kTuneEntries) continue;
    ++search->seen;
    Likeness likeness = Compare(*entry, key, symbol);
    likeness.path = file.path;
    if (likeness.score > search->nearest.score) search->nearest = std::move(likeness);
  }
}

}  // namespace

absl::Status MissError(DiskCache& cache, const KernelSource& source, const CacheKey& key,
                       const std::vector<std::string>& general) {
  Search search;
  std::vector<std::string> searched;
  for (const DiskCache::Root& root : cache.roots()) {
    searched.push_back(root.path);
    Look(root, key, source.entry, &search);
  }
  std::string nearest;
  if (search.nearest.score >= 0)
    nearest = absl::StrCat("; the nearest entry is ", search.nearest.path, ": ",
                           absl::StrJoin(search.nearest.differences, ", "));
  return absl::FailedPreconditionError(absl::StrCat(
      "kernel ", source.entry, " for ", source.arch,
      general.empty()
          ? ""
          : absl::StrCat(" (nor all of its graph's for ", absl::StrJoin(general, ", "), ")"),
      " is not in the cache, and JITFUSE_REQUIRE_CACHE is set; searched ",
      searched.empty() ? "nothing" : absl::StrJoin(searched, ", "), " (", search.seen, " entries)",
      cache.problems().empty() ? "" : "; ", absl::StrJoin(cache.problems(), "; "), nearest));
}

}  // namespace jitfuse::internal
