// The files and folders of the disk cache: who may have written what is read, and writing so that
// others see all of a file or nothing.
//
// Code that is loaded is run, so a file is read only if it belongs to this user (in a read-only
// layer: or to root) and no one else may write to it. A file is written beside its place, flushed
// to the disk and renamed: readers in other processes, also on network file systems, see the old
// one, the new one or none. Errors: NotFound where there is nothing, PermissionDenied where what is
// there is not to be trusted, Unavailable with the system's words for the rest. Must not know: what
// is in the files.
#ifndef JITFUSE_JIT_CACHE_FILES_H_
#define JITFUSE_JIT_CACHE_FILES_H_

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace jitfuse::internal {

enum class Trust { kOwn, kLayer };  // kLayer: root's files will do, too

// The folder of a cache that is written to. `dir` is made where it is not there, for this user
// alone. One that others may write to, or that belongs to another, is shared: then it is
// dir/jitfuse-<uid>, which no other user may enter.
absl::StatusOr<std::string> OpenOwnFolder(const std::string& dir);
// That folder and those it lies in, where they are not there with this mode at most (0700: for this
// user alone).
absl::Status MakeCacheFolder(const std::string& dir, mode_t mode = 0700);
// Whether a read-only layer may be read, else PermissionDenied with the reason. A group counts as
// others unless it is root's.
absl::Status CheckLayerFolder(const std::string& dir);

struct CacheFile {
  std::string bytes;
  int64_t modified_s = 0;  // when it was written, or marked as used
};
absl::StatusOr<CacheFile> ReadCacheFile(const std::string& path, Trust trust);
// Makes the folder, if need be.
absl::Status WriteCacheFile(const std::string& dir, std::string_view name, std::string_view bytes);
// A few bytes at the end of a file, in one piece. Nothing is said of failures.
void AppendToCacheFile(const std::string& path, std::string_view bytes);
void MarkUsed(const std::string& path);

struct FileInfo {
  std::string path;
  int64_t bytes = 0;
  int64_t modified_ns = 0;
};
// Folders, or files, of a folder, by name; none where it cannot be read.
std::vector<std::string> FoldersIn(const std::string& dir);
std::vector<FileInfo> FilesIn(const std::string& dir);
// What tells one state of a file from another ("size time"); "" where there is none.
std::string StampOf(const std::string& path);
bool IsTemporary(std::string_view path);  // one that is being written, or was left behind

}  // namespace jitfuse::internal

#endif  // JITFUSE_JIT_CACHE_FILES_H_
