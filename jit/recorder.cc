#include "jit/recorder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ir/support/dump.h"
#include "ir/support/flags.h"
#include "ir/support/fork.h"
#include "ir/support/status.h"
#include "ir/text.h"
#include "jit/cache_files.h"
#include "jit/manifest_calls.h"

namespace jitfuse::internal {
namespace {

// One writer at a time: the folder's lock, which no file has to be left behind for and which ends
// with its holder. Where the file system has none, the last writer wins.
class FolderLock {
 public:
  explicit FolderLock(const std::string& folder)
      : fd_(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    if (fd_ >= 0) flock(fd_, LOCK_EX);
  }
  ~FolderLock() {
    if (fd_ < 0) return;
    flock(fd_, LOCK_UN);  // a child of fork() may have the descriptor too
    close(fd_);
  }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  const int fd_;
};

// False if all of it is there.
bool Merge(const ManifestEntry& more, Manifest* manifest) {
  for (ManifestEntry& there : manifest->entries) {
    if (!SameButCalls(there, more)) continue;
    const size_t before = there.calls.size();
    for (const ManifestCall& call : more.calls) {
      const bool known = std::any_of(there.calls.begin(), there.calls.end(),
                                     [&](const ManifestCall& c) { return SameCall(c, call); });
      if (!known) there.calls.push_back(call);
    }
    return there.calls.size() != before;
  }
  manifest->entries.push_back(more);
  return true;
}

// What differs from the defaults. `dynamic` is that of the class: some of a function's classes are
// told apart in another way than its options say (jit/background.h).
void TakeOptions(const Options& options, Dynamic dynamic, ManifestEntry* out) {
  const Options usual;
  if (options.numerics != usual.numerics) out->numerics = options.numerics;
  if (options.fuse != usual.fuse) out->fuse = options.fuse;
  if (options.rewrite != usual.rewrite) out->rewrite = options.rewrite;
  if (options.use_gemm_library != usual.use_gemm_library)
    out->use_gemm_library = options.use_gemm_library;
  if (options.max_fusions != usual.max_fusions) out->max_fusions = options.max_fusions;
  if (dynamic != usual.dynamic) out->dynamic = dynamic;
}

}  // namespace

absl::Status AddToManifest(const std::string& path, const ManifestEntry& more) {
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const FolderLock lock(folder);
  Manifest manifest;
  const absl::StatusOr<CacheFile> file = ReadCacheFile(path, Trust::kOwn);
  if (file.ok() && !file->bytes.empty()) {
    JF_ASSIGN_OR_RETURN(manifest, ParseManifest(file->bytes, path));
  } else if (!file.ok() && !absl::IsNotFound(file.status())) {
    return file.status();
  }
  if (!Merge(more, &manifest)) return absl::OkStatus();
  return WriteCacheFile(folder, path.substr(slash == std::string::npos ? 0 : slash + 1),
                        ManifestToJson(manifest));
}

void RecordClass(const Graph& graph, const CallClass& cls, const Options& options) {
  const std::string path = EnvPath("RECORD");
  if (path.empty()) return;
  const CompileGate gate;
  ManifestEntry entry;
  entry.source = ManifestSource::kText;
  entry.what = GraphToString(graph);
  entry.bound = BoundNames(graph, cls);
  entry.calls.push_back(DescribeCall(graph, cls));
  TakeOptions(options, cls.dynamic, &entry);
  if (absl::Status status = AddToManifest(path, entry); !status.ok())
    WarnOnce(absl::StrCat("JITFUSE_RECORD: nothing is recorded: ", status.message()));
}

}  // namespace jitfuse::internal
