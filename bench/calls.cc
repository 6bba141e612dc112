// What a call costs beside its kernel, and how kernels of some tens of microseconds fare on an idle
// and on a busy machine.
//
//   bench_calls [--out FILE.json] [--samples 201]
// Warm calls: the same function, shapes and alignment each time; nanoseconds of the whole call on a
// tensor of 16 elements, beside its kernel's launch with all arguments ready; on a GPU's side with
// a driver that does nothing, where NVRTC is found. Lookups: common/lookups.h. Busy: while one
// process per CPU does nothing but count. All medians; share: what is beyond the launch, or the
// time itself.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "api/function_state.h"
#include "api/jitfuse.h"
#include "common/lookups.h"
#include "common/report.h"
#include "cpu_backend/parallel.h"
#include "jit/cuda/nvrtc_api.h"
#include "tests/idle_driver.h"

namespace jitfuse_bench {
namespace {

using jitfuse::Array;
using jitfuse::DType;
using Clock = std::chrono::steady_clock;

template <typename T>
T Must(jitfuse::StatusOr<T> v) {
  if (v.ok()) return *std::move(v);
  std::fprintf(stderr, "bench_calls: %s\n", v.status().message().c_str());
  std::exit(1);
}

double Seconds(const std::function<void()>& body, int times) {
  Clock::time_point start = Clock::now();
  for (int i = 0; i < times; ++i) body();
  return std::chrono::duration<double>(Clock::now() - start).count() / times;
}

std::vector<double> Samples(const std::function<void()>& body, int samples, int times) {
  std::vector<double> out;
  for (int i = 0; i < 20; ++i) body();
  for (int i = 0; i < samples; ++i) out.push_back(Seconds(body, times));
  std::sort(out.begin(), out.end());
  return out;
}

struct Call {
  jitfuse::Function f;
  std::vector<Array> in, out;
  Call(const char* text, int64_t n, jitfuse::DeviceKind device = jitfuse::DeviceKind::kCpu) {
    jitfuse::CompileOptions options;
    options.device = device;
    f = Must(jitfuse::CompileText(text, options));
    std::mt19937_64 random(std::random_device{}());
    std::uniform_real_distribution<double> uniform(-2, 2);
    for (int i = 0; i < f.num_inputs(); ++i) {
      std::vector<double> values(static_cast<size_t>(n));
      for (double& v : values) v = uniform(random);
      in.push_back(Must(Must(Array::FromValues(DType::kF32, {n}, values)).CopyTo({device, 0})));
    }
    out = Must(f.Run(in));
  }
};

constexpr char kRelu[] =
    "graph f(%a: f32[n], %b: f32[n], %c: f32[n]) -> (f32[n]) {\n %0 = multiply(%a, %b) : f32[n]\n "
    "%1 = add(%0, %c) : f32[n]\n %2 = relu(%1) : f32[n]\n return %2\n}";
constexpr char kTanh[] =
    "graph f(%a: f32[n], %b: f32[n]) -> (f32[n]) {\n %0 = multiply(%a, %b) : f32[n]\n %1 = "
    "tanh(%0) : f32[n]\n return %1\n}";

constexpr double kCallGoalNs = 500;  // besides the kernel, or the launch

// What the call's only kernel takes by itself, with its arguments ready.
class KernelAlone {
 public:
  explicit KernelAlone(const Call& call) {
    using namespace jitfuse::internal;  // NOLINT: what is inside of a call
    backend_ = *GetBackend(call.f.device());
    std::vector<TensorView> views;
    for (const Array& a : call.in) views.push_back(ViewOf(a));
    bound_ = *jitfuse::FunctionAccess::State(call.f)->CacheOf(backend_).Find(views, {});
    for (const Array& a : call.in) buffers_.push_back(a.data());
    buffers_.push_back(call.out[0].data());
    args_.buffers = buffers_;
    bound_->SetSizes(bound_->executable->kernels[0], &args_);
  }
  void operator()() const { (void)backend_->Launch(*bound_->executable->kernels[0].kernel, args_); }

 private:
  const jitfuse::internal::Backend* backend_ = nullptr;
  std::shared_ptr<const jitfuse::internal::BoundCall> bound_;
  std::vector<void*> buffers_;
  jitfuse::internal::LaunchArgs args_;
};

void WarmCalls(const Call& call, const char* where, int samples, Report* report) {
  const KernelAlone kernel(call);
  const std::vector<std::pair<const char*, std::function<void()>>> bodies = {
      {"", [&] { kernel(); }},
      {"RunInto", [&] { (void)call.f.RunInto(call.in, call.out); }},
      {"Run", [&] { Must(call.f.Run(call.in)); }}};
  std::vector<double> ns;
  for (const auto& [name, body] : bodies) {
    ns.push_back(1e9 * Median(Samples(body, samples, 2000)));
    if (ns.size() == 1) continue;
    report->Add({std::string("warm call, relu(a*b+c) of 16 f32, ") + name + where, "ns", ns.back(),
                 "its launch alone", ns[0], ns.back() - ns[0],
                 name == std::string("RunInto") ? kCallGoalNs : 0, true});
  }
}

void Lookups(jitfuse::DeviceKind device, const char* where, int samples, Report* report) {
  const std::string error = AddLookups(device, where, samples, report);
  if (!error.empty()) std::fprintf(stderr, "bench_calls: %s\n", error.c_str());
}

// Our own part of a call on a GPU; kernels are compiled by the real NVRTC.
void OnIdleDriver(int samples, Report* report) {
  constexpr const char* kWhere = ", a GPU whose driver does nothing";
  if (const auto nvrtc = jitfuse::internal::LoadNvrtcApi(13); !nvrtc.ok()) {
    std::fprintf(stderr, "bench_calls: no rows%s: there is no NVRTC\n", kWhere);
    return;
  }
  jitfuse::internal::UseIdleDriver();
  WarmCalls(Call(kRelu, 16, jitfuse::DeviceKind::kCuda), kWhere, samples, report);
  Lookups(jitfuse::DeviceKind::kCuda, kWhere, samples, report);
  jitfuse::internal::UseDriverForTests(nullptr);
}

// One process per CPU that counts, while this object lives.
class Busy {
 public:
  explicit Busy(int processes) {
    for (int i = 0; i < processes; ++i) {
      pid_t child = fork();
      if (child == 0) {
        for (volatile unsigned n = 0; n == 0;) {
        }
      }
      children_.push_back(child);
    }
  }
  ~Busy() {
    for (pid_t child : children_) {
      kill(child, SIGKILL);
      waitpid(child, nullptr, 0);
    }
  }

 private:
  std::vector<pid_t> children_;
};

void Parallel(const char* name, const char* text, int64_t n, int samples, Report* report) {
  Call call(text, n);
  auto into = [&] { (void)call.f.RunInto(call.in, call.out); };
  std::string what = std::string(name) + " of " + std::to_string(n / 1024) + "K f32";
  std::vector<double> idle = Samples(into, samples, 1), busy;
  {
    Busy others(jitfuse::internal::NumThreads());
    busy = Samples(into, samples, 1);
  }
  report->Add({what + ", idle", "us", 1e6 * Median(idle), "", 0, 0, 0, false});
  report->Add({what + ", busy", "us", 1e6 * Median(busy), "", 0, 0, 0, false});
  report->Add({what + ", busy, slowest tenth from", "us", 1e6 * busy[busy.size() * 9 / 10], "", 0,
               0, 0, false});
}

}  // namespace
}  // namespace jitfuse_bench

int main(int argc, char** argv) {
  using namespace jitfuse_bench;  // NOLINT
  constexpr const char* kUsage =
      "bench_calls [--out FILE.json] [--samples 201]\n"
      "what a call costs beside its kernel; small kernels on an idle and on a busy machine";
  if (const auto code = ExitCode(argc, argv, kUsage, {"--out", "--samples"})) return *code;
  Report report("calls", CpuName());
  const int samples = std::atoi(Flag(argc, argv, "--samples", "201").c_str());
  WarmCalls(Call(kRelu, 16), "", samples, &report);
  Lookups(jitfuse::DeviceKind::kCpu, "", samples, &report);
  OnIdleDriver(samples, &report);
  for (int64_t n : {int64_t{32} << 10, int64_t{128} << 10, int64_t{1} << 20}) {
    Parallel("relu(a*b+c)", kRelu, n, samples, &report);
    Parallel("tanh(a*b)", kTanh, n, samples, &report);
  }
  return report.Write(Flag(argc, argv, "--out")) ? 0 : 1;
}
