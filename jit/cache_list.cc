#include "jit/cache_list.h"

#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "ir/support/status.h"
#include "jit/disk_cache.h"

namespace jitfuse::internal {
namespace {

// Of an entry's file. The path is known to who reads it.
std::string WithoutPath(const absl::Status& status, const std::string& path) {
  return std::string(absl::StripPrefix(status.message(), absl::StrCat(path, ": ")));
}

ListedEntry ListOne(FileInfo file, Trust trust) {
  ListedEntry out;
  out.file = std::move(file);
  const std::string& path = out.file.path;
  absl::StatusOr<CacheEntry> entry = ReadEntryFile(path, trust);
  if (!entry.ok()) {
    out.damage = WithoutPath(entry.status(), path);
    out.refused = !absl::IsDataLoss(entry.status());
    return out;
  }
  out.symbol = std::move(entry->symbol);
  out.backend = std::move(entry->key.backend);
  out.arch = std::move(entry->key.arch);
  out.toolchain = std::move(entry->key.toolchain);
  out.code_bytes = static_cast<int64_t>(entry->code.size());
  return out;
}

}  // namespace

absl::StatusOr<CacheEntry> ReadEntryFile(const std::string& path, Trust trust) {
  JF_ASSIGN_OR_RETURN(const CacheFile file, ReadCacheFile(path, trust));
  absl::StatusOr<CacheEntry> entry = DecodeEntry(file.bytes);
  if (!entry.ok()) return Annotate(entry.status(), path);
  if (path.substr(path.rfind('/') + 1) != entry->key.Hash().ToHex())
    return absl::DataLossError(absl::StrCat(path, ": it is of another kernel than its name says"));
  return entry;
}

std::vector<ListedEntry> ListEntries(const std::string& root, Trust trust) {
  std::vector<ListedEntry> out;
  for (FileInfo& file : EntriesBelow(root)) {
    if (!IsTemporary(file.path)) out.push_back(ListOne(std::move(file), trust));
  }
  return out;
}

Pruned PruneEntries(const std::string& root, int64_t max_bytes) {
  Pruned out;
  for (const ListedEntry& entry : ListEntries(root, Trust::kOwn)) {
    out.bytes_before += entry.file.bytes;
    if (!entry.damage.empty() && unlink(entry.file.path.c_str()) == 0) ++out.damaged;
  }
  out.bytes_left = SweepCache(root, max_bytes);
  return out;
}

}  // namespace jitfuse::internal
