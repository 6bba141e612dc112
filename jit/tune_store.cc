#include "jit/tune_store.h"

#include <tuple>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "ir/support/status.h"

namespace jitfuse::internal {
namespace {

CacheKey KeyOf(const TuneRecord& record, std::string_view size) {
  return {std::string(kTuneEntries), record.target,
          size.empty() ? record.call : absl::StrCat(record.call, " of ", ToAbsl(size)),
          ToolchainName(absl::StrCat(ToAbsl(kTuneEntries), " ", record.library)), record.graph};
}

bool SameKey(const TuneRecord& a, const TuneRecord& b) {
  return std::tie(a.graph, a.call, a.target, a.library) ==
         std::tie(b.graph, b.call, b.target, b.library);
}

void AddRecords(DiskCache* disk, const TuneRecord& key, std::string_view size, KeptRecords* out) {
  DiskCache::Values values = disk->FindValues(KeyOf(key, size));
  out->healed |= values.healed;
  for (DiskCache::Found& found : values.found) {
    absl::StatusOr<TuneRecord> record = ParseTuneRecord(found.compiled.bytes);
    if (record.ok() && SameKey(*record, key)) {
      out->records.push_back(
          {std::make_shared<const TuneRecord>(*std::move(record)), std::move(found.path)});
    } else {
      disk->Drop(found);
      out->healed = true;
    }
  }
}

}  // namespace

KeptRecords FindTuneRecords(DiskCache* disk, const TuneRecord& key, std::string_view size) {
  KeptRecords out;
  if (disk == nullptr) return out;
  AddRecords(disk, key, "", &out);
  if (!size.empty()) AddRecords(disk, key, size, &out);
  return out;
}

void KeepTuneRecord(DiskCache* disk, const TuneRecord& record, const std::string& name,
                    std::string_view size) {
  if (disk == nullptr) return;
  disk->StoreValue({KeyOf(record, size), name, TuneRecordToText(record), ""});
}

}  // namespace jitfuse::internal
