#include "jit/cache_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <ctime>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "ir/support/status.h"

namespace jitfuse::internal {
namespace {

constexpr std::string_view kTemporary = ".tmp";
constexpr int64_t kMaxFile = int64_t{1} << 30;

absl::Status SystemError(std::string_view what, const std::string& path) {
  const int code = errno;
  const std::string message =
      absl::StrCat(ToAbsl(what), " ", path, ": ", std::generic_category().message(code));
  if (code == ENOENT || code == ENOTDIR || code == ESTALE) return absl::NotFoundError(message);
  return absl::UnavailableError(message);
}

// Of an open() that follows no links.
absl::Status CannotOpen(const std::string& path) {
  struct stat s{};
  if (errno == ELOOP && lstat(path.c_str(), &s) == 0 && S_ISLNK(s.st_mode))
    return absl::PermissionDeniedError(
        absl::StrCat(path, " is a symbolic link; expected the file itself"));
  return SystemError("cannot read", path);
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  bool Close() { return close(std::exchange(fd_, -1)) == 0; }  // where network file systems report

 private:
  int fd_;
};

// "" or who else may change it.
std::string OtherWriters(const struct stat& s, Trust trust) {
  const bool root_may = trust == Trust::kLayer && s.st_uid == 0;
  if (s.st_uid != geteuid() && !root_may) return absl::StrCat("it belongs to user ", s.st_uid);
  if ((s.st_mode & S_IWOTH) != 0) return "everyone may write to it";
  if ((s.st_mode & S_IWGRP) != 0 && s.st_gid != 0)
    return absl::StrCat("group ", s.st_gid, " may write to it");
  return "";
}

absl::Status CheckFolder(const std::string& dir, const struct stat& s) {
  if (S_ISDIR(s.st_mode)) return absl::OkStatus();
  return absl::PermissionDeniedError(absl::StrCat(dir, " is no folder"));
}

// What is there was perhaps put there by another user: no links, and nobody else's.
absl::Status CheckPrivate(const std::string& dir) {
  struct stat s{};
  if (lstat(dir.c_str(), &s) != 0) return SystemError("cannot use", dir);
  JF_RETURN_IF_ERROR(CheckFolder(dir, s));
  if (s.st_uid == geteuid() && (s.st_mode & 077) == 0) return absl::OkStatus();
  return absl::PermissionDeniedError(
      absl::StrFormat("%s belongs to user %d with mode %o; expected user %d and mode 700", dir,
                      s.st_uid, s.st_mode & 07777, geteuid()));
}

bool WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno != EINTR) return false;
    if (n > 0) bytes.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

// A file that no other writer, of this or another process or machine, has.
absl::StatusOr<std::string> MakeTemporary(const std::string& dir, int* fd) {
  static std::atomic<uint64_t> serial{0};
  constexpr int kTries = 100;
  for (int i = 0; i < kTries; ++i) {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    const std::string path = absl::StrFormat("%s/%x-%x-%x%s", dir, getpid(), serial.fetch_add(1),
                                             now.tv_nsec, ToAbsl(kTemporary));
    *fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (*fd >= 0) return path;
    if (errno != EEXIST) return SystemError("cannot write", path);
  }
  return absl::UnavailableError(absl::StrCat("no name is free for a new file in ", dir));
}

template <typename Visit>
void ForEachIn(const std::string& dir, Visit visit) {
  DIR* folder = opendir(dir.c_str());
  if (folder == nullptr) return;
  while (const dirent* entry = readdir(folder)) {
    const std::string_view name = entry->d_name;
    struct stat s{};
    if (name == "." || name == "..") continue;
    if (fstatat(dirfd(folder), entry->d_name, &s, AT_SYMLINK_NOFOLLOW) == 0)
      visit(std::string(name), s);
  }
  closedir(folder);
}

int64_t Nanoseconds(const timespec& t) { return int64_t{t.tv_sec} * 1000000000 + t.tv_nsec; }

// One folder, which the umask may close to others no more than `mode` does.
absl::Status MakeOne(const std::string& dir, mode_t mode) {
  if (mkdir(dir.c_str(), mode) != 0)
    return errno == EEXIST ? absl::OkStatus() : SystemError("cannot make the folder", dir);
  struct stat s{};
  const bool closed = (mode & 077) != 0 && stat(dir.c_str(), &s) == 0 && (s.st_mode & mode) != mode;
  if (!closed || chmod(dir.c_str(), (s.st_mode & 07777) | mode) == 0) return absl::OkStatus();
  return SystemError("cannot make readable", dir);
}

}  // namespace

absl::Status MakeCacheFolder(const std::string& dir, mode_t mode) {
  absl::Status made = MakeOne(dir, mode);
  const size_t slash = dir.find_last_of('/');
  if (!absl::IsNotFound(made) || slash == std::string::npos || slash == 0) return made;
  JF_RETURN_IF_ERROR(MakeCacheFolder(dir.substr(0, slash), mode));
  return MakeOne(dir, mode);
}

absl::StatusOr<std::string> OpenOwnFolder(const std::string& dir) {
  JF_RETURN_IF_ERROR(MakeCacheFolder(dir));
  struct stat s{};
  if (stat(dir.c_str(), &s) != 0) return SystemError("cannot use", dir);
  JF_RETURN_IF_ERROR(CheckFolder(dir, s));
  std::string own = dir;
  if (!OtherWriters(s, Trust::kOwn).empty()) {
    own = absl::StrCat(dir, "/jitfuse-", geteuid());
    JF_RETURN_IF_ERROR(MakeCacheFolder(own));
    JF_RETURN_IF_ERROR(CheckPrivate(own));
  }
  return own;
}

absl::Status CheckLayerFolder(const std::string& dir) {
  struct stat s{};
  if (stat(dir.c_str(), &s) != 0) return SystemError("cannot read", dir);
  JF_RETURN_IF_ERROR(CheckFolder(dir, s));
  const std::string others = OtherWriters(s, Trust::kLayer);
  if (others.empty()) return absl::OkStatus();
  return absl::PermissionDeniedError(
      absl::StrCat(dir, ": ", others, "; code from there could be anybody's"));
}

absl::StatusOr<CacheFile> ReadCacheFile(const std::string& path, Trust trust) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (file.get() < 0) return CannotOpen(path);
  struct stat s{};
  if (fstat(file.get(), &s) != 0) return SystemError("cannot read", path);
  if (!S_ISREG(s.st_mode)) return absl::PermissionDeniedError(absl::StrCat(path, " is no file"));
  if (const std::string others = OtherWriters(s, trust); !others.empty())
    return absl::PermissionDeniedError(absl::StrCat(path, ": ", others));
  if (s.st_size > kMaxFile) return absl::UnavailableError(absl::StrCat(path, " is too large"));
  CacheFile out;
  out.modified_s = s.st_mtim.tv_sec;
  out.bytes.resize(static_cast<size_t>(s.st_size));
  size_t have = 0;
  while (have < out.bytes.size()) {
    const ssize_t n = read(file.get(), out.bytes.data() + have, out.bytes.size() - have);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return SystemError("cannot read", path);
    if (n == 0) break;
    have += static_cast<size_t>(n);
  }
  out.bytes.resize(have);
  return out;
}

absl::Status WriteCacheFile(const std::string& dir, std::string_view name, std::string_view bytes) {
  JF_RETURN_IF_ERROR(MakeCacheFolder(dir));
  int fd = -1;
  JF_ASSIGN_OR_RETURN(const std::string temporary, MakeTemporary(dir, &fd));
  Descriptor file(fd);
  const std::string path = absl::StrCat(dir, "/", ToAbsl(name));
  const bool written = WriteAll(fd, bytes) && fsync(fd) == 0 && file.Close() &&
                       rename(temporary.c_str(), path.c_str()) == 0;
  if (written) return absl::OkStatus();
  absl::Status status = SystemError("cannot write", path);
  unlink(temporary.c_str());
  return status;
}

void AppendToCacheFile(const std::string& path, std::string_view bytes) {
  const Descriptor file(
      open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (file.get() >= 0) WriteAll(file.get(), bytes);
}

void MarkUsed(const std::string& path) {
  const timespec times[2] = {{0, UTIME_NOW}, {0, UTIME_NOW}};
  utimensat(AT_FDCWD, path.c_str(), times, AT_SYMLINK_NOFOLLOW);  // if not, it is swept earlier
}

std::vector<std::string> FoldersIn(const std::string& dir) {
  std::vector<std::string> out;
  ForEachIn(dir, [&](const std::string& name, const struct stat& s) {
    if (S_ISDIR(s.st_mode)) out.push_back(name);
  });
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<FileInfo> FilesIn(const std::string& dir) {
  std::vector<FileInfo> out;
  ForEachIn(dir, [&](const std::string& name, const struct stat& s) {
    if (S_ISREG(s.st_mode))
      out.push_back({absl::StrCat(dir, "/", name), s.st_size, Nanoseconds(s.st_mtim)});
  });
  std::sort(out.begin(), out.end(),
            [](const FileInfo& a, const FileInfo& b) { return a.path < b.path; });
  return out;
}

std::string StampOf(const std::string& path) {
  struct stat s{};
  if (stat(path.c_str(), &s) != 0) return "";
  return absl::StrCat(s.st_size, " ", Nanoseconds(s.st_mtim));
}

bool IsTemporary(std::string_view path) { return absl::EndsWith(ToAbsl(path), ToAbsl(kTemporary)); }

}  // namespace jitfuse::internal
