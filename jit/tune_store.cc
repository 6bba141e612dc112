#include "jit/tune_store.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "ir/support/status.h"

namespace jitfuse::internal {
namespace {

CacheKey KeyOf(const TuneRecord& record, int place) {
  return {std::string(kTuneEntries), record.target,
          place == 0 ? record.call : absl::StrCat(record.call, " ", place),
          ToolchainName(absl::StrCat(ToAbsl(kTuneEntries), " ", record.library)), record.graph};
}

bool SameKey(const TuneRecord& a, const TuneRecord& b) {
  return std::tie(a.graph, a.call, a.target, a.library) ==
         std::tie(b.graph, b.call, b.target, b.library);
}

// Of one place. -> whether the own cache has one there.
bool AddRecords(DiskCache* disk, const TuneRecord& key, int place, KeptRecords* out) {
  bool own = false;
  DiskCache::Values values = disk->FindValues(KeyOf(key, place));
  out->healed |= values.healed;
  for (DiskCache::Found& found : values.found) {
    absl::StatusOr<TuneRecord> record = ParseTuneRecord(found.compiled.bytes);
    if (record.ok() && SameKey(*record, key)) {
      own |= found.origin == CodeOrigin::kDisk;
      out->records.push_back(
          {std::make_shared<const TuneRecord>(*std::move(record)), std::move(found.path)});
    } else {
      disk->Drop(found);
      out->healed = true;
    }
  }
  return own;
}

}  // namespace

KeptRecords FindTuneRecords(DiskCache* disk, const TuneRecord& key) {
  KeptRecords out;
  for (int place = 0; disk != nullptr && place < kTunePlaces; ++place) {
    if (!AddRecords(disk, key, place, &out)) out.next_place = std::min(out.next_place, place);
  }
  return out;
}

void KeepTuneRecord(DiskCache* disk, const TuneRecord& record, const std::string& name, int place) {
  if (disk == nullptr) return;
  disk->StoreValue({KeyOf(record, place), name, TuneRecordToText(record), ""});
}

}  // namespace jitfuse::internal
