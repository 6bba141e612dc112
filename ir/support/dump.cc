#include "ir/support/dump.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "ir/support/flags.h"
#include "ir/support/fork.h"
#include "ir/support/status.h"

namespace jitfuse::internal {
namespace {

struct LogState {
  std::shared_ptr<const LogSink> sink;
  std::atomic<int> level{-1};
};

LogState& State() {
  static LogState* state = new LogState;
  return *state;
}

std::string SafeStem(std::string_view stem) {
  std::string out;
  for (char c : stem.substr(0, 80))
    out.push_back(std::isalnum(static_cast<unsigned char>(c)) ? c : '_');
  return out;
}

bool WriteAll(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = write(fd, text.data(), text.size());
    if (n < 0 && errno != EINTR) return false;
    if (n > 0) text.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

}  // namespace

bool DumpEnabled(std::string_view point) {
  std::string wanted = EnvString("DUMP");
  if (wanted.empty()) return false;
  for (absl::string_view part : absl::StrSplit(wanted, ',')) {
    if (part == "all" || ToStd(part) == point) return true;
  }
  return false;
}

std::string WriteDump(std::string_view stem, std::string_view extension, std::string_view text) {
  static std::atomic<int> serial{0};
  std::string dir = EnvString("DUMP_DIR");
  if (dir.empty()) {
    const char* tmp = std::getenv("TMPDIR");
    dir = tmp != nullptr && *tmp != '\0' ? tmp : "/tmp";
  }
  // Names can be guessed and the folder may be everybody's: a file that is there, or a link, is not
  // ours to write to.
  constexpr int kTries = 1000;
  int failed = EEXIST;
  for (int i = 0; i < kTries; ++i) {
    std::string path = absl::StrCat(dir, "/jitfuse_", getpid(), "_", serial.fetch_add(1), "_",
                                    SafeStem(stem), ".", ToAbsl(extension));
    int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0 && errno == EEXIST) continue;
    if (fd < 0) {
      failed = errno;
      break;
    }
    const bool written = WriteAll(fd, text);
    if (close(fd) == 0 && written) return path;
    failed = errno;
    unlink(path.c_str());
    break;
  }
  WarnOnce(absl::StrCat("cannot write to ", dir,
                        ", the folder that JITFUSE_DUMP_DIR or TMPDIR names: ",
                        std::generic_category().message(failed)));
  return "";
}

void Dump(std::string_view point, std::string_view stem, std::string_view text) {
  if (!DumpEnabled(point)) return;
  if (!EnvString("DUMP_DIR").empty()) {
    WriteDump(stem, point, text);
    return;
  }
  std::string out =
      absl::StrCat("// ---- ", ToAbsl(point), " ", ToAbsl(stem), "\n", ToAbsl(text), "\n");
  std::fwrite(out.data(), 1, out.size(), stderr);
}

void SetLogSink(LogSink sink) {
  auto made = sink ? std::make_shared<const LogSink>(std::move(sink)) : nullptr;
  std::lock_guard<std::mutex> lock(LockOf(ForkLock::kLog));
  State().sink = std::move(made);
}

void SetLogLevel(int level) { State().level.store(level); }

bool LogEnabled(int level) {
  if (level <= 0) return true;  // not by EnvInt, which may warn
  int set = State().level.load(std::memory_order_relaxed);
  if (set < 0) set = static_cast<int>(EnvInt("LOG", 0));
  return level <= set;
}

void Log(int level, std::string_view message) {
  if (!LogEnabled(level)) return;
  // The sink is called with no lock held and outside of gates, so that it may use the library and
  // wait for others; what it logs itself goes to stderr, since it would call itself for ever.
  thread_local bool in_sink = false;
  std::shared_ptr<const LogSink> sink;
  if (!in_sink) {
    std::lock_guard<std::mutex> lock(LockOf(ForkLock::kLog));
    sink = State().sink;
  }
  if (sink != nullptr) {
    struct Scope {
      Scope() { in_sink = true; }
      ~Scope() { in_sink = false; }
    } scope;
    const OutsideGates outside;
    (*sink)(level, message);
    return;
  }
  std::fprintf(stderr, "jitfuse[%d]: %.*s\n", level, static_cast<int>(message.size()),
               message.data());
}

void WarnOnce(std::string_view message) {
  static std::atomic<size_t> said[64];  // hashes; no lock, which a fork might find held
  const size_t hash = std::hash<std::string_view>()(message) | 1;
  for (std::atomic<size_t>& slot : said) {
    size_t empty = 0;
    if (slot.compare_exchange_strong(empty, hash)) return Log(0, message);
    if (empty == hash) return;
  }
}

}  // namespace jitfuse::internal
