#include "ir/support/text_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <system_error>

#include "ir/support/status.h"

namespace jitfuse::internal {
namespace {

absl::Status CannotRead(const std::string& path, std::string_view why) {
  return NotFound("cannot read ", path, ": ", ToAbsl(why));
}

absl::Status CannotRead(const std::string& path, int code) {
  return CannotRead(path, std::generic_category().message(code));
}

// An open file whose reads wait only where somebody may still write.
absl::Status CheckKind(int fd, const std::string& path) {
  struct stat s{};
  if (fstat(fd, &s) != 0) return CannotRead(path, errno);
  if (S_ISDIR(s.st_mode)) return CannotRead(path, "it is a directory");
  if (!S_ISREG(s.st_mode) && !S_ISFIFO(s.st_mode)) return CannotRead(path, "it is no file");
  const int flags = fcntl(fd, F_GETFL);
  if (flags < 0 || fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) != 0) return CannotRead(path, errno);
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadAll(int fd, const std::string& path, size_t max_bytes) {
  JF_RETURN_IF_ERROR(CheckKind(fd, path));
  std::string out;
  char block[64 * 1024];
  for (;;) {
    const ssize_t n = read(fd, block, sizeof(block));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return CannotRead(path, errno);
    if (n == 0) return out;
    out.append(block, static_cast<size_t>(n));
    if (out.size() > max_bytes)
      return CannotRead(path, absl::StrCat("it has more than ", max_bytes, " bytes"));
  }
}

}  // namespace

absl::StatusOr<std::string> ReadTextFile(const std::string& path, size_t max_bytes) {
  if (path.find('\0') != std::string::npos)
    return NotFound("cannot read a file: its name has a NUL");
  // Without O_NONBLOCK, a pipe that nobody writes to would be waited for.
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return CannotRead(path, errno);
  absl::StatusOr<std::string> out = ReadAll(fd, path, max_bytes);
  close(fd);
  return out;
}

}  // namespace jitfuse::internal
