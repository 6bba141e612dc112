#include "jit/cuda/stream_marks.h"

#include <algorithm>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "ir/support/trace.h"

namespace jitfuse::internal {
namespace {

constexpr size_t kMaxWaiting = 256;

struct Mark {
  std::string name;
  CuEvent event = nullptr;
};
struct MarkedCall {
  std::shared_ptr<const Device> device;
  std::string row;
  std::vector<Mark> marks;  // the first one is where the call begins
};
struct Clock {  // of a context
  CuEvent event = nullptr;
  double host_us = 0;  // when the device passed it
};

// Guarded by LockOf(kTrace). Never destroyed.
struct State {
  std::deque<MarkedCall> waiting;
  std::map<std::shared_ptr<const Device>, Clock> clocks;
};
State& Get() {
  static State* const state = new State;
  return *state;
}

// On a stream of its own, so that it waits for nothing of the user's.
std::optional<Clock> ReadClock(const Device& device) {
  const DriverApi& driver = *device.driver;
  Clock out;
  CuStream stream = nullptr;
  if (driver.EventCreate(&out.event, 0) != kCuSuccess) return std::nullopt;
  bool read = driver.StreamCreate(&stream, kCuStreamNonBlocking) == kCuSuccess;
  if (read) {
    read = driver.EventRecord(out.event, stream) == kCuSuccess &&
           driver.EventSynchronize(out.event) == kCuSuccess;
    out.host_us = TraceNow();
    driver.StreamDestroy(stream);
  }
  if (read) return out;
  driver.EventDestroy(out.event);
  return std::nullopt;
}

std::optional<Clock> ClockOf(const std::shared_ptr<const Device>& device) {
  {
    std::lock_guard<std::mutex> lock(LockOf(ForkLock::kTrace));
    const auto it = Get().clocks.find(device);
    if (it != Get().clocks.end()) return it->second;
  }
  const std::optional<Clock> made = ReadClock(*device);
  if (!made) return std::nullopt;
  std::lock_guard<std::mutex> lock(LockOf(ForkLock::kTrace));
  return Get().clocks.try_emplace(device, *made).first->second;
}

void Write(const MarkedCall& call) {
  if (!call.device->HoldsWhatWasMade()) return;
  const ScopedContext scope(*call.device);
  if (!scope.status().ok()) return;
  const DriverApi& driver = *call.device->driver;
  const RelaxedCapture relaxed(driver);
  const std::optional<Clock> clock = ClockOf(call.device);
  double begin_us = 0;
  for (size_t i = 0; i < call.marks.size(); ++i) {
    float ms = 0;
    const CuEvent event = call.marks[i].event;
    const bool known = clock && driver.EventSynchronize(event) == kCuSuccess &&
                       driver.EventElapsedTime(&ms, clock->event, event) == kCuSuccess;
    if (!known) break;
    const double end_us = clock->host_us + double{ms} * 1e3;
    if (i > 0) TraceOnDevice(call.row, call.marks[i].name, begin_us, end_us);
    begin_us = end_us;
  }
  for (const Mark& mark : call.marks) driver.EventDestroy(mark.event);
}

// Whether the device has passed its marks, or they are gone.
bool IsOver(const MarkedCall& call) {
  if (!call.device->HoldsWhatWasMade()) return true;
  const DriverApi& driver = *call.device->driver;
  const RelaxedCapture relaxed(driver);  // asking would end another thread's capture
  return driver.EventQuery(call.marks.back().event) != kCuErrorNotReady;
}

// Those of the front whose end has come; waits until no more than `most` are left.
void WriteWaiting(size_t most) {
  for (;;) {
    MarkedCall call;
    {
      std::lock_guard<std::mutex> lock(LockOf(ForkLock::kTrace));
      std::deque<MarkedCall>& waiting = Get().waiting;
      if (waiting.empty()) return;
      if (waiting.size() <= most && !IsOver(waiting.front())) return;
      call = std::move(waiting.front());
      waiting.pop_front();
    }
    Write(call);
  }
}

class CudaStreamMarks : public StreamMarks {
 public:
  CudaStreamMarks(std::shared_ptr<const Device> device, CuStream stream) : stream_(stream) {
    call_.row = absl::StrCat("GPU ", device->ordinal, ", stream ",
                             absl::Hex(reinterpret_cast<uintptr_t>(stream)));
    call_.device = std::move(device);
  }
  ~CudaStreamMarks() override {
    if (call_.marks.empty()) return;
    size_t waiting = 0;
    {
      std::lock_guard<std::mutex> lock(LockOf(ForkLock::kTrace));
      Get().waiting.push_back(std::move(call_));
      waiting = Get().waiting.size();
    }
    WriteWaiting(waiting > kMaxWaiting ? kMaxWaiting / 2 : kMaxWaiting);
  }
  CudaStreamMarks(const CudaStreamMarks&) = delete;
  CudaStreamMarks& operator=(const CudaStreamMarks&) = delete;

  void Mark(std::string_view name) override { (void)Record(name); }

  bool Record(std::string_view name) {
    const ScopedContext scope(*call_.device);
    if (!scope.status().ok()) return false;
    const DriverApi& driver = *call_.device->driver;
    const RelaxedCapture relaxed(driver);
    CuEvent event = nullptr;
    if (driver.EventCreate(&event, 0) != kCuSuccess) return false;
    if (driver.EventRecord(event, stream_) != kCuSuccess) {
      driver.EventDestroy(event);
      return false;
    }
    call_.marks.push_back({std::string(name), event});
    return true;
  }

 private:
  MarkedCall call_;
  const CuStream stream_;
};

}  // namespace

std::unique_ptr<StreamMarks> MarkCudaStream(std::shared_ptr<const Device> device, CuStream stream) {
  {
    const ScopedContext scope(*device);
    const RelaxedCapture relaxed(*device->driver);
    if (!scope.status().ok() || !ClockOf(device)) return nullptr;
  }
  SetTraceFinisher([] { WriteWaiting(0); });
  auto marks = std::make_unique<CudaStreamMarks>(std::move(device), stream);
  if (!marks->Record("")) return nullptr;
  return marks;
}

}  // namespace jitfuse::internal
