#include "ir/support/trace.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "ir/support/dump.h"
#include "ir/support/flags.h"
#include "ir/support/fork.h"
#include "ir/support/nvtx.h"
#include "ir/support/status.h"

namespace jitfuse::internal {
namespace {

constexpr size_t kWriteBytes = 64 * 1024;
constexpr double kWriteUs = 50e3;
constexpr std::string_view kClosing = "\n]\n";
constexpr int kFirstDeviceRow = 1 << 30;  // above the numbers of threads

// Characters that JSON cannot have in a string; what is no ASCII becomes '?', since it may be no
// UTF-8 either.
void AppendQuoted(std::string_view text, std::string* out) {
  out->push_back('"');
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') out->push_back('\\');
    if (byte < 0x20)
      absl::StrAppendFormat(out, "\\u%04x", byte);
    else
      out->push_back(byte < 0x7f ? c : '?');
  }
  out->push_back('"');
}

std::string Quoted(std::string_view text) {
  std::string out;
  AppendQuoted(text, &out);
  return out;
}

int ThreadId() { return static_cast<int>(syscall(SYS_gettid)); }

// LockOf(kTrace). What is to be warned of is said when it has been given back: the log's lock comes
// before it, and a log sink may use the library, which would wait for it.
class TraceLock {
 public:
  TraceLock() : lock_(LockOf(ForkLock::kTrace)) {}
  ~TraceLock() {
    const std::string unsaid = std::exchange(Unsaid(), {});
    lock_.unlock();
    if (!unsaid.empty()) WarnOnce(unsaid);
  }
  TraceLock(const TraceLock&) = delete;
  TraceLock& operator=(const TraceLock&) = delete;

  // By the thread that has it.
  static void Warn(absl::string_view message) { Unsaid() = std::string(message); }

 private:
  static std::string& Unsaid() {
    static auto* const unsaid = new std::string;
    return *unsaid;
  }
  std::unique_lock<std::mutex> lock_;
};

// One file. Its bytes end with kClosing after every write, over which the next one goes. Used with
// a TraceLock.
class TraceFile {
 public:
  static absl::StatusOr<std::unique_ptr<TraceFile>> Open(const std::string& path) {
    auto out = std::unique_ptr<TraceFile>(new TraceFile);
    JF_RETURN_IF_ERROR(out->OpenPath(path));
    out->buffer_ = absl::StrFormat(
        "[\n{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%d,\"args\":{\"name\":\"jitfuse\"}}",
        getpid());
    out->WriteBuffer();
    if (!out->status_.ok()) return out->status_;
    return out;
  }
  ~TraceFile() {
    if (fd_ < 0) return;
    // Children of fork() may have the descriptor, and with it the lock, for longer; none of them
    // gives it back in this process's place.
    if (generation_ == ForkGeneration()) flock(fd_, LOCK_UN);
    close(fd_);
  }
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;

  void Append(const std::string& event) {
    absl::StrAppend(&buffer_, ",\n", event);
    if (buffer_.size() > kWriteBytes || TraceNow() - written_us_ > kWriteUs) Write();
  }

  void Write() {
    const bool whole = status_.ok();
    WriteBuffer();
    if (whole && !status_.ok())
      TraceLock::Warn(absl::StrCat(status_.message(), "; the rest of it is lost"));
  }

  // The number of a row for a device, which is named in the file when it is first used.
  int RowOf(std::string_view name) {
    const auto [it, made] =
        rows_.try_emplace(std::string(name), kFirstDeviceRow + static_cast<int>(rows_.size()));
    if (made)
      Append(absl::StrCat("{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":", getpid(),
                          ",\"tid\":", it->second, ",\"args\":{\"name\":", Quoted(name), "}}"));
    return it->second;
  }

  const absl::Status& status() const { return status_; }

 private:
  TraceFile() = default;

  void WriteBuffer() {
    written_us_ = TraceNow();
    const size_t events = buffer_.size();
    buffer_ += kClosing;
    for (size_t done = 0; status_.ok() && done < buffer_.size();) {
      const ssize_t n = pwrite(fd_, buffer_.data() + done, buffer_.size() - done,
                               end_ + static_cast<off_t>(done));
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0)
        status_ =
            absl::DataLossError(absl::StrCat("the trace ", path_, ": ", std::strerror(errno)));
      else
        done += static_cast<size_t>(n);
    }
    if (status_.ok()) end_ += static_cast<off_t>(events);
    buffer_.clear();
  }

  // Two processes that are given one path take turns with a lock on the file.
  absl::Status OpenPath(const std::string& path) {
    path_ = path;
    JF_RETURN_IF_ERROR(OpenFile());
    if (flock(fd_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      close(fd_);
      path_ = absl::StrCat(path, ".", getpid());
      JF_RETURN_IF_ERROR(OpenFile());
    }
    if (ftruncate(fd_, 0) != 0 && errno != EINVAL) return SystemError();
    return absl::OkStatus();
  }
  absl::Status OpenFile() {
    // O_NONBLOCK: a FIFO would be waited for until somebody reads it.
    fd_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0644);
    struct stat about{};
    const bool is_pipe = fd_ < 0 ? errno == ENXIO  // a FIFO that nobody reads, or a socket
                                 : fstat(fd_, &about) == 0 && S_ISFIFO(about.st_mode);
    if (is_pipe)
      return absl::FailedPreconditionError(
          absl::StrCat("the trace ", path_, " cannot be written: it is no file"));
    return fd_ >= 0 ? absl::OkStatus() : SystemError();
  }
  absl::Status SystemError() const {
    return absl::ErrnoToStatus(errno, absl::StrCat("the trace ", path_, " cannot be written"));
  }

  std::string path_, buffer_;
  int fd_ = -1;
  const int generation_ = ForkGeneration();  // the process that has opened it
  off_t end_ = 0;
  double written_us_ = 0;
  absl::Status status_;
  std::map<std::string, int> rows_;
};

// Guarded by a TraceLock. Never destroyed.
struct State {
  std::string path;  // as it was asked for; "": no trace
  std::unique_ptr<TraceFile> file;
  int generation = 0;  // the process whose file it is
  int number = 0;      // of the trace
  bool at_exit = false;
  std::atomic<void (*)()> finish{nullptr};
};
State& Get() {
  static State* const state = new State;
  return *state;
}

std::string WithPid(const std::string& path) {
  return absl::StrReplaceAll(path, {{"%p", absl::StrCat(getpid())}});
}

// The file of this process, with the lock held; null if there is none.
TraceFile* FileOfThisProcess() {
  State& s = Get();
  if (s.path.empty() || s.generation == ForkGeneration()) return s.file.get();
  s.generation = ForkGeneration();
  const bool apart = s.path.find("%p") != std::string::npos;
  absl::StatusOr<std::unique_ptr<TraceFile>> own =
      TraceFile::Open(apart ? WithPid(s.path) : absl::StrCat(s.path, ".", getpid()));
  if (!own.ok()) TraceLock::Warn(own.status().message());
  s.file = own.ok() ? *std::move(own) : nullptr;  // closes the parent's, of which it writes nothing
  return s.file.get();
}

void FinishAtExit() {
  if (auto* finish = Get().finish.load(); finish != nullptr && Tracing()) finish();
  const TraceLock lock;
  // A child that traced nothing has no file, and should not make one now.
  if (Get().generation != ForkGeneration() || Get().file == nullptr) return;
  Get().file->Write();
  Get().file = nullptr;  // children that live on keep no lock of it
}

void AppendEvent(int trace, const std::string& event) {
  const TraceLock lock;
  if (trace != Get().number) return;
  if (TraceFile* file = FileOfThisProcess()) file->Append(event);
}

int TraceNumber() {
  const TraceLock lock;
  return Get().number;
}

std::string Event(std::string_view category, std::string_view name, int row, double begin_us,
                  double end_us, std::string_view args) {
  std::string out = "{\"name\":";
  AppendQuoted(name, &out);
  absl::StrAppendFormat(&out,
                        ",\"cat\":\"%s\",\"ph\":\"X\",\"ts\":%.3f,\"dur\":%.3f,\"pid\":%d,"
                        "\"tid\":%d",
                        ToAbsl(category), begin_us, end_us - begin_us, getpid(), row);
  if (!args.empty()) absl::StrAppend(&out, ",\"args\":{", ToAbsl(args), "}");
  return out + "}";
}

void ReadEnv() {
  const auto warn = [](const absl::Status& status) {
    if (!status.ok()) WarnOnce(ToStd(status.message()));
    return !status.ok();
  };
  if (const std::string path = EnvString("TRACE"); !path.empty()) warn(StartTrace(path));
  if (EnvInt("NVTX", 0) == 0 || warn(OpenNvtx())) return;
  trace_sinks.fetch_or(kTraceNvtx, std::memory_order_relaxed);
}

}  // namespace

absl::Status StartTrace(const std::string& path) {
  if (path.empty()) return InvalidArgument("a trace needs the path of a file, got none");
  if (path.find('\0') != path.npos)
    return InvalidArgument("the path of a trace has a NUL in it: \"", absl::CHexEscape(path), "\"");
  const TraceLock lock;
  State& s = Get();
  if (!s.path.empty())
    return absl::FailedPreconditionError(
        absl::StrCat("a trace is being written to ", s.path, "; stop it before another starts"));
  JF_ASSIGN_OR_RETURN(s.file, TraceFile::Open(WithPid(path)));
  s.path = path;
  s.generation = ForkGeneration();
  ++s.number;
  if (!s.at_exit) s.at_exit = std::atexit(FinishAtExit) == 0;
  trace_sinks.fetch_or(kTraceFile, std::memory_order_relaxed);
  return absl::OkStatus();
}

absl::Status StopTrace() {
  if (auto* finish = Get().finish.load(); finish != nullptr) finish();
  const TraceLock lock;
  State& s = Get();
  if (s.path.empty()) return absl::FailedPreconditionError("no trace is being written");
  trace_sinks.fetch_and(~kTraceFile, std::memory_order_relaxed);
  absl::Status status;
  if (TraceFile* file = FileOfThisProcess()) {
    file->Write();
    status = file->status();
  }
  s.file = nullptr;
  s.path.clear();
  ++s.number;
  return status;
}

void TraceFromEnv() {
  // No lock, which a warning's sink that makes a function would wait for.
  static std::atomic<bool> read{false};
  if (!read.exchange(true)) ReadEnv();
}

double TraceNow() {
  return std::chrono::duration<double, std::micro>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void TraceSpan::Add(std::string_view key, std::string_view value) {
  if ((sinks_ & kTraceFile) == 0) return;
  absl::StrAppend(&args_, args_.empty() ? "" : ",", Quoted(key), ":", Quoted(value));
}

void TraceSpan::Begin(const char* category, std::string_view name) {
  category_ = category;
  name_ = name;
  if ((sinks_ & kTraceNvtx) != 0) NvtxPush(absl::StrCat("jitfuse ", name_).c_str());
  if ((sinks_ & kTraceFile) != 0) trace_ = TraceNumber();
  begin_us_ = TraceNow();
}

void TraceSpan::End() {
  const double end_us = TraceNow();
  if ((sinks_ & kTraceNvtx) != 0) NvtxPop();
  if ((sinks_ & kTraceFile) != 0)
    AppendEvent(trace_, Event(category_, name_, ThreadId(), begin_us_, end_us, args_));
}

void TraceOnDevice(std::string_view row, std::string_view name, double begin_us, double end_us) {
  const TraceLock lock;
  TraceFile* file = FileOfThisProcess();
  if (file == nullptr) return;
  file->Append(Event("device", name, file->RowOf(row), begin_us, end_us, ""));
}

void SetTraceFinisher(void (*finish)()) { Get().finish = finish; }

}  // namespace jitfuse::internal
