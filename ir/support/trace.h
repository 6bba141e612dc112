// Trace: when Jitfuse does what, for people and their tools: a file in Chrome's trace format (which
// Perfetto and chrome://tracing show) and NVTX ranges. Off unless asked for; while it is off a span
// costs one relaxed load.
//
// The file: JSON that is whole after every write, so that a process that crashes or is killed
// leaves a file that can be read; what was not yet written (the last 50 ms or 64 KiB) is lost. A
// child of fork() writes to a file of its own, PATH.<pid>, and so does a process that finds PATH
// being written by another. "%p" in a path is the number of the process. Times are those of the
// steady clock. Thread-safe; spans may begin and end while a trace is started or stopped: what
// began before is not in it. A file that cannot be written is warned of once; nothing else fails.
// Must not know: what is traced.
#ifndef JITFUSE_IR_SUPPORT_TRACE_H_
#define JITFUSE_IR_SUPPORT_TRACE_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace jitfuse::internal {

inline constexpr uint32_t kTraceFile = 1, kTraceNvtx = 2;
inline std::atomic<uint32_t> trace_sinks{0};
inline bool Tracing() { return trace_sinks.load(std::memory_order_relaxed) != 0; }

// Creates or empties the file. FailedPrecondition while another trace is being written; an error
// of the system where the file cannot be made.
absl::Status StartTrace(const std::string& path);
// Writes what is left and closes the file. FailedPrecondition if none was started, DataLoss if some
// of it could not be written.
absl::Status StopTrace();
// What JITFUSE_TRACE and JITFUSE_NVTX ask for, the first time. What cannot be had is warned of.
void TraceFromEnv();

// What happens between its making and its end, on this thread. `category` is a literal.
class TraceSpan {
 public:
  TraceSpan(const char* category, std::string_view name)
      : sinks_(trace_sinks.load(std::memory_order_relaxed)) {
    if (sinks_ != 0) [[unlikely]]
      Begin(category, name);
  }
  ~TraceSpan() {
    if (sinks_ != 0) [[unlikely]]
      End();
  }
  TraceSpan(const TraceSpan&) = delete;
  TraceSpan& operator=(const TraceSpan&) = delete;
  // Told of what happened: "found" = "disk".
  void Add(std::string_view key, std::string_view value);

 private:
  void Begin(const char* category, std::string_view name);
  void End();

  const uint32_t sinks_;
  int trace_ = 0;  // the number of the trace that was on when it began
  double begin_us_ = 0;
  const char* category_ = nullptr;
  std::string name_, args_;
};

// A span that also adds its milliseconds to a sum.
class TimedSpan {
 public:
  TimedSpan(const char* category, std::string_view name, double* ms)
      : span_(category, name), ms_(ms), begin_(std::chrono::steady_clock::now()) {}
  ~TimedSpan() {
    *ms_ += std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin_)
                .count();
  }
  TimedSpan(const TimedSpan&) = delete;
  TimedSpan& operator=(const TimedSpan&) = delete;
  TraceSpan& span() { return span_; }

 private:
  TraceSpan span_;
  double* const ms_;
  const std::chrono::steady_clock::time_point begin_;
};

// Microseconds of the steady clock, which the file is in.
double TraceNow();
// What a device did, on a row of its own that has this name; only to the file.
void TraceOnDevice(std::string_view row, std::string_view name, double begin_us, double end_us);
// Called before a trace ends: for work whose end is not known yet. At most one function, for the
// whole process; it may call TraceOnDevice.
void SetTraceFinisher(void (*finish)());

}  // namespace jitfuse::internal

#endif  // JITFUSE_IR_SUPPORT_TRACE_H_
