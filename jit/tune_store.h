// Tuning records in the disk cache (jit/disk_cache.h), so that a process times nothing that another
// has timed.
//
// An entry's key is the record's: graph, class of calls, target and matrix library; its value is
// the record's text. A key has several places, so that a record that the library refuses for one
// size, or on another device, stays for those that take it, and what is timed there serves all that
// are like it. What is found are the records of all places in order, in each of layers before the
// own cache's: an entry that is damaged, no record, or of another key than its file says is
// dropped, and healed by the next record that is kept. Callers hold a CompileGate. Must not know:
// how times are taken, whether the library still takes what was chosen.
#ifndef JITFUSE_JIT_TUNE_STORE_H_
#define JITFUSE_JIT_TUNE_STORE_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "jit/disk_cache.h"
#include "jit/tune_record.h"

namespace jitfuse::internal {

inline constexpr std::string_view kTuneEntries = "tuning";  // the back end of their keys
inline constexpr int kTunePlaces = 4;                       // of a key

struct KeptRecord {
  std::shared_ptr<const TuneRecord> record;
  std::string path;
};
struct KeptRecords {
  std::vector<KeptRecord> records;  // in the order in which they are to be tried
  bool healed = false;              // something damaged was met on the way
  // The first without a record in the own cache; if there is none, the last, whose record goes.
  int next_place = kTunePlaces - 1;
};

// `key`: a record of which graph, call, target and library count. `disk` may be null.
KeptRecords FindTuneRecords(DiskCache* disk, const TuneRecord& key);
// Over what is at that place in the own cache. `name`: of the graph, for lists of entries.
void KeepTuneRecord(DiskCache* disk, const TuneRecord& record, const std::string& name,
                    int place = 0);

}  // namespace jitfuse::internal

#endif  // JITFUSE_JIT_TUNE_STORE_H_
