// Tuning records in the disk cache (jit/disk_cache.h), so that a process times nothing that another
// has timed.
//
// An entry's key is the record's: graph, class of calls, target and matrix library; its value is
// the record's text. A size whose library refuses the record of its key has one of its own, whose
// key has the size, too, so that neither takes the place of the other. What is found are records of
// that key, then of that size, each of layers before the own cache's: an entry that is damaged, no
// record, or of another key than its file says is dropped, and healed by the next record that is
// kept. Callers hold a CompileGate. Must not know: how times are taken,
// whether the library still takes what was chosen.
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

struct KeptRecord {
  std::shared_ptr<const TuneRecord> record;
  std::string path;
};
struct KeptRecords {
  std::vector<KeptRecord> records;  // in the order in which they are to be tried
  bool healed = false;              // something damaged was met on the way
};

// `key`: a record of which graph, call, target and library count; `size`: any text that tells the
// sizes of one key apart. `disk` may be null.
KeptRecords FindTuneRecords(DiskCache* disk, const TuneRecord& key, std::string_view size);
// For calls of `size` alone; "": for all of the key. `name`: of the graph, for lists of entries.
void KeepTuneRecord(DiskCache* disk, const TuneRecord& record, const std::string& name,
                    std::string_view size = "");

}  // namespace jitfuse::internal

#endif  // JITFUSE_JIT_TUNE_STORE_H_
