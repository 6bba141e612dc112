// A CUDA driver for tests on machines without one: a DriverApi whose functions record what they are
// asked and answer as told.
//
// One fake is active at a time (FakeDriver's constructor makes it so). Memory is the host's, so
// that copies work. Calls can be made to fail: Fail("cuLaunchKernel", code).
#ifndef JITFUSE_TESTS_FAKE_DRIVER_H_
#define JITFUSE_TESTS_FAKE_DRIVER_H_

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "jit/cuda/driver_api.h"

namespace jitfuse::internal {

class FakeDriver {
 public:
  struct Launch {
    std::string function;
    unsigned grid, threads, shared;
    CuStream stream;
    std::vector<void*> params;    // addresses, valid during the launch only
    std::vector<uint64_t> words;  // the first num_words[function] arguments, 8 bytes each
  };

  FakeDriver() {
    active_ = this;
    Fill();
  }
  ~FakeDriver() { active_ = nullptr; }
  FakeDriver(const FakeDriver&) = delete;
  FakeDriver& operator=(const FakeDriver&) = delete;

  const DriverApi& api() const { return api_; }
  void Fail(const std::string& call, CuResult code) { failures_[call] = code; }
  void Succeed(const std::string& call) { failures_.erase(call); }
  int Calls(const std::string& call) {
    std::lock_guard<std::mutex> lock(mu_);
    return calls_[call];
  }
  // What was asked, by name.
  std::map<std::string, int> AllCalls() {
    std::lock_guard<std::mutex> lock(mu_);
    return calls_;
  }
  void ForgetCalls() {
    std::lock_guard<std::mutex> lock(mu_);
    calls_.clear();
  }
  const std::vector<Launch>& launches() const { return launches_; }

  // What the fake machine is.
  int devices = 1, major = 9, minor = 0, pools = 1;
  int version = 13000;
  size_t words_per_launch = 0;            // how many arguments to copy
  static thread_local CuContext current;  // of the calling thread
  static CuContext Context(uintptr_t n) { return reinterpret_cast<CuContext>(n * 16); }
  // Context(1 + d) is the primary one of device d; the others are of device 0, or of what is told.
  std::map<CuContext, CuDevice> device_of;
  std::map<CuContext, unsigned long long> ids;  // told by cuCtxGetId; else the address
  bool capturing = false;
  static inline thread_local CuCaptureMode capture_mode{};  // of the calling thread
  // Queries of events in a mode in which they end the captures of other threads.
  std::atomic<int> strict_queries{0};
  int streams = 0;  // made and not destroyed
  // Calls that were given a stream after it was destroyed, where a driver crashes.
  int on_gone_streams() {
    std::lock_guard<std::mutex> lock(mu_);
    return on_gone_streams_;
  }
  int events = 0;  // likewise
  // The device's clock in microseconds, as events read it: fakes and tests let it run.
  double clock_us = 0;
  static void Advance(double us) { active_->clock_us += us; }
  int l2_bytes = 50 << 20;
  int sm_count = 132, clock_khz = 2619000, bus_bits = 5120;
  std::string name = "Fake GPU";
  std::map<int, int> attributes;  // of every kernel, by CuFunctionAttribute; else 0
  int active_blocks = 0;          // of every kernel, on a multiprocessor

 private:
  static FakeDriver& Get() { return *active_; }
  CuResult Note(const char* call) {
    std::lock_guard<std::mutex> lock(mu_);
    ++calls_[call];
    auto it = failures_.find(call);
    return it == failures_.end() ? kCuSuccess : it->second;
  }
  // As Note(call), of what is asked of a stream.
  CuResult NoteOn(CuStream stream, const char* call) {
    {
      std::lock_guard<std::mutex> lock(mu_);
      if (gone_.count(stream) != 0) {
        ++on_gone_streams_;
        return kCuErrorInvalidContext;
      }
    }
    return Note(call);
  }
  void Fill();
  void FillStreams();
  void FillEvents();

  static inline FakeDriver* active_ = nullptr;
  std::mutex mu_;
  std::map<std::string, int> calls_;
  std::map<std::string, CuResult> failures_;
  std::vector<Launch> launches_;
  struct Function {
    std::string name;
    CuContext context;
  };
  std::map<CuModule, CuContext> modules_;
  std::map<CuFunction, Function> functions_;
  std::map<CuEvent, double> recorded_;
  uintptr_t made_streams_ = 0;
  std::set<CuStream> gone_;
  int on_gone_streams_ = 0;
  DriverApi api_;
};

inline thread_local CuContext FakeDriver::current = nullptr;

#define JF_FAKE(member, symbol) \
  if (CuResult r = Get().Note(symbol); r != kCuSuccess) return r
#define JF_FAKE_ON(stream, symbol) \
  if (CuResult r = Get().NoteOn(stream, symbol); r != kCuSuccess) return r

inline void FakeDriver::Fill() {
  api_.path = "/fake/libcuda.so.1";
  api_.Init = [](unsigned) { return Get().Note("cuInit"); };
  api_.DriverGetVersion = [](int* v) {
    JF_FAKE(DriverGetVersion, "cuDriverGetVersion");
    *v = Get().version;
    return kCuSuccess;
  };
  api_.DeviceGet = [](CuDevice* d, int ordinal) {
    JF_FAKE(DeviceGet, "cuDeviceGet");
    *d = ordinal;
    return kCuSuccess;
  };
  api_.DeviceGetCount = [](int* n) {
    JF_FAKE(DeviceGetCount, "cuDeviceGetCount");
    *n = Get().devices;
    return kCuSuccess;
  };
  api_.DeviceGetName = [](char* name, int size, CuDevice) {
    JF_FAKE(DeviceGetName, "cuDeviceGetName");
    std::strncpy(name, Get().name.c_str(), static_cast<size_t>(size));
    return kCuSuccess;
  };
  api_.DeviceGetAttribute = [](int* v, CuDeviceAttribute a, CuDevice) {
    JF_FAKE(DeviceGetAttribute, "cuDeviceGetAttribute");
    const std::map<int, int> values = {
        {kCuMultiprocessorCount, Get().sm_count}, {kCuMemoryClockRate, Get().clock_khz},
        {kCuMemoryBusWidth, Get().bus_bits},      {kCuL2CacheSize, Get().l2_bytes},
        {kCuComputeCapabilityMajor, Get().major}, {kCuComputeCapabilityMinor, Get().minor},
        {kCuMemoryPoolsSupported, Get().pools}};
    *v = values.at(a);
    return kCuSuccess;
  };
  api_.DevicePrimaryCtxRetain = [](CuContext* c, CuDevice device) {
    JF_FAKE(DevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain");
    *c = Context(1 + static_cast<uintptr_t>(device));
    Get().device_of[*c] = device;
    return kCuSuccess;
  };
  api_.CtxGetCurrent = [](CuContext* c) {
    JF_FAKE(CtxGetCurrent, "cuCtxGetCurrent");
    *c = current;
    return kCuSuccess;
  };
  api_.CtxGetDevice = [](CuDevice* d) {
    JF_FAKE(CtxGetDevice, "cuCtxGetDevice");
    auto it = Get().device_of.find(current);
    *d = it == Get().device_of.end() ? 0 : it->second;
    return kCuSuccess;
  };
  api_.CtxGetId = [](CuContext c, unsigned long long* id) {
    JF_FAKE(CtxGetId, "cuCtxGetId");
    if (c == nullptr) c = current;
    if (c == nullptr) return kCuErrorInvalidContext;
    auto it = Get().ids.find(c);
    *id = it == Get().ids.end() ? reinterpret_cast<uintptr_t>(c) : it->second;
    return kCuSuccess;
  };
  // A stack of two is enough for what is tested.
  static thread_local CuContext below = nullptr;
  api_.CtxPushCurrent = [](CuContext c) {
    JF_FAKE(CtxPushCurrent, "cuCtxPushCurrent");
    below = current;
    current = c;
    return kCuSuccess;
  };
  api_.CtxPopCurrent = [](CuContext* c) {
    JF_FAKE(CtxPopCurrent, "cuCtxPopCurrent");
    *c = current;
    current = below;
    below = nullptr;
    return kCuSuccess;
  };
  api_.ModuleLoadData = [](CuModule* m, const void*) {
    JF_FAKE(ModuleLoadData, "cuModuleLoadData");
    std::lock_guard<std::mutex> lock(Get().mu_);
    *m = reinterpret_cast<CuModule>(32 + 16 * Get().modules_.size());
    Get().modules_[*m] = current;
    return kCuSuccess;
  };
  api_.ModuleUnload = [](CuModule) { return Get().Note("cuModuleUnload"); };
  api_.ModuleGetFunction = [](CuFunction* f, CuModule m, const char* name) {
    JF_FAKE(ModuleGetFunction, "cuModuleGetFunction");
    std::lock_guard<std::mutex> lock(Get().mu_);
    *f = reinterpret_cast<CuFunction>(64 + 16 * Get().functions_.size());
    Get().functions_[*f] = {name, Get().modules_[m]};
    return kCuSuccess;
  };
  api_.FuncGetAttribute = [](int* v, CuFunctionAttribute attribute, CuFunction) {
    JF_FAKE(FuncGetAttribute, "cuFuncGetAttribute");
    *v = Get().attributes[attribute];
    return kCuSuccess;
  };
  api_.OccupancyMaxActiveBlocks = [](int* blocks, CuFunction, int, size_t) {
    JF_FAKE(OccupancyMaxActiveBlocks, "cuOccupancyMaxActiveBlocksPerMultiprocessor");
    *blocks = Get().active_blocks;
    return kCuSuccess;
  };
  api_.LaunchKernel = [](CuFunction f, unsigned grid, unsigned, unsigned, unsigned threads,
                         unsigned, unsigned, unsigned shared, CuStream stream, void** params,
                         void**) {
    JF_FAKE_ON(stream, "cuLaunchKernel");
    Function function;
    {
      std::lock_guard<std::mutex> lock(Get().mu_);
      function = Get().functions_[f];
    }
    if (function.context != current) return kCuErrorInvalidContext;  // as the driver would
    Launch launch{function.name, grid, threads, shared, stream, {}, {}};
    for (size_t k = 0; k < Get().words_per_launch; ++k) {
      launch.params.push_back(params[k]);
      uint64_t word;
      std::memcpy(&word, params[k], sizeof word);
      launch.words.push_back(word);
    }
    std::lock_guard<std::mutex> lock(Get().mu_);
    Get().launches_.push_back(launch);
    return kCuSuccess;
  };
  api_.MemAlloc = [](CuDevicePtr* p, size_t bytes) {
    JF_FAKE(MemAlloc, "cuMemAlloc");
    *p = reinterpret_cast<CuDevicePtr>(std::aligned_alloc(256, (bytes + 255) / 256 * 256));
    return kCuSuccess;
  };
  api_.MemFree = [](CuDevicePtr p) {
    JF_FAKE(MemFree, "cuMemFree");
    std::free(reinterpret_cast<void*>(p));
    return kCuSuccess;
  };
  api_.MemPoolCreate = [](CuMemPool* pool, const CuMemPoolProps*) {
    JF_FAKE(MemPoolCreate, "cuMemPoolCreate");
    *pool = reinterpret_cast<CuMemPool>(uintptr_t{48});
    return kCuSuccess;
  };
  api_.MemPoolSetAttribute = [](CuMemPool, CuMemPoolAttribute, void*) {
    return Get().Note("cuMemPoolSetAttribute");
  };
  api_.MemAllocFromPoolAsync = [](CuDevicePtr* p, size_t bytes, CuMemPool, CuStream s) {
    JF_FAKE_ON(s, "cuMemAllocFromPoolAsync");
    *p = reinterpret_cast<CuDevicePtr>(std::aligned_alloc(256, (bytes + 255) / 256 * 256));
    return kCuSuccess;
  };
  api_.MemFreeAsync = [](CuDevicePtr p, CuStream s) {
    JF_FAKE_ON(s, "cuMemFreeAsync");
    std::free(reinterpret_cast<void*>(p));
    return kCuSuccess;
  };
  api_.MemcpyHtoDAsync = [](CuDevicePtr d, const void* s, size_t n, CuStream stream) {
    JF_FAKE_ON(stream, "cuMemcpyHtoDAsync");
    std::memcpy(reinterpret_cast<void*>(d), s, n);
    return kCuSuccess;
  };
  api_.MemcpyDtoHAsync = [](void* d, CuDevicePtr s, size_t n, CuStream stream) {
    JF_FAKE_ON(stream, "cuMemcpyDtoHAsync");
    std::memcpy(d, reinterpret_cast<void*>(s), n);
    return kCuSuccess;
  };
  api_.MemcpyDtoDAsync = [](CuDevicePtr d, CuDevicePtr s, size_t n, CuStream stream) {
    JF_FAKE_ON(stream, "cuMemcpyDtoDAsync");
    std::memcpy(reinterpret_cast<void*>(d), reinterpret_cast<void*>(s), n);
    return kCuSuccess;
  };
  api_.MemsetD8Async = [](CuDevicePtr d, unsigned char value, size_t n, CuStream s) {
    JF_FAKE_ON(s, "cuMemsetD8Async");
    std::memset(reinterpret_cast<void*>(d), value, n);
    return kCuSuccess;
  };
  FillStreams();
  FillEvents();
  api_.ThreadExchangeStreamCaptureMode = [](CuCaptureMode* mode) {
    JF_FAKE(ThreadExchangeStreamCaptureMode, "cuThreadExchangeStreamCaptureMode");
    std::swap(capture_mode, *mode);
    return kCuSuccess;
  };
  api_.GetErrorName = [](CuResult r, const char** text) {
    *text = r == kCuErrorOutOfMemory    ? "CUDA_ERROR_OUT_OF_MEMORY"
            : r == kCuErrorInvalidValue ? "CUDA_ERROR_INVALID_VALUE"
                                        : "CUDA_ERROR_FAKE";
    return kCuSuccess;
  };
  api_.GetErrorString = [](CuResult r, const char** text) {
    *text = r == kCuErrorOutOfMemory ? "out of memory" : "it was told to fail";
    return kCuSuccess;
  };
}

inline void FakeDriver::FillStreams() {
  api_.StreamCreate = [](CuStream* s, unsigned flags) {
    JF_FAKE(StreamCreate, "cuStreamCreate");
    if (flags != kCuStreamNonBlocking) return kCuErrorInvalidValue;
    std::lock_guard<std::mutex> lock(Get().mu_);
    ++Get().streams;
    *s = reinterpret_cast<CuStream>(0x5000 + 16 * ++Get().made_streams_);
    return kCuSuccess;
  };
  api_.StreamDestroy = [](CuStream s) {
    JF_FAKE_ON(s, "cuStreamDestroy");
    std::lock_guard<std::mutex> lock(Get().mu_);
    --Get().streams;
    Get().gone_.insert(s);
    return kCuSuccess;
  };
  api_.StreamSynchronize = [](CuStream s) { return Get().NoteOn(s, "cuStreamSynchronize"); };
  api_.StreamIsCapturing = [](CuStream s, CuCaptureStatus* status) {
    JF_FAKE_ON(s, "cuStreamIsCapturing");
    *status = Get().capturing ? kCuCaptureActive : kCuCaptureNone;
    return kCuSuccess;
  };
}

inline void FakeDriver::FillEvents() {
  api_.EventCreate = [](CuEvent* event, unsigned) {
    JF_FAKE(EventCreate, "cuEventCreate");
    static uintptr_t made = 0;
    ++Get().events;
    *event = reinterpret_cast<CuEvent>(0x6000 + 16 * ++made);
    return kCuSuccess;
  };
  api_.EventDestroy = [](CuEvent) {
    JF_FAKE(EventDestroy, "cuEventDestroy");
    --Get().events;
    return kCuSuccess;
  };
  api_.EventRecord = [](CuEvent event, CuStream s) {
    JF_FAKE_ON(s, "cuEventRecord");
    Get().recorded_[event] = Get().clock_us;
    return kCuSuccess;
  };
  api_.EventQuery = [](CuEvent) {
    if (capture_mode != kCuCaptureModeRelaxed) ++Get().strict_queries;
    return Get().Note("cuEventQuery");
  };
  api_.EventSynchronize = [](CuEvent) { return Get().Note("cuEventSynchronize"); };
  api_.EventElapsedTime = [](float* ms, CuEvent begin, CuEvent end) {
    JF_FAKE(EventElapsedTime, "cuEventElapsedTime");
    *ms = static_cast<float>((Get().recorded_.at(end) - Get().recorded_.at(begin)) / 1e3);
    return kCuSuccess;
  };
}

#undef JF_FAKE_ON
#undef JF_FAKE

}  // namespace jitfuse::internal

#endif  // JITFUSE_TESTS_FAKE_DRIVER_H_
