// What a call on a GPU costs on the host, beside what its launch costs by itself.
//
//   bench_launches [--out FILE.json] [--samples 201]
// relu(a * b + c) of 16 f32: a kernel that the driver compiles from PTX, launched with nothing
// around it, and Function::RunInto and Run of the same chain, in turn; medians. The queue is
// emptied before each sample of 100 calls and never so long that the host would wait for it. Below:
// what single questions to the driver cost, of which a call asks one (which context is current, by
// its id), and what finding and binding its code costs on this host (common/lookups.h).
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "api/jitfuse.h"
#include "common/gpu_name.h"
#include "common/lookups.h"
#include "common/report.h"
#include "jit/cuda/device.h"
#include "jit/cuda/driver_api.h"

namespace jitfuse_bench {
namespace {

using jitfuse::Array;
using jitfuse::internal::CuContext;
using jitfuse::internal::CuDevicePtr;
using jitfuse::internal::CuFunction;
using jitfuse::internal::CuModule;
using jitfuse::internal::DriverApi;

constexpr jitfuse::Device kGpu{jitfuse::DeviceKind::kCuda, 0};
constexpr std::int64_t kElements = 16;
constexpr int kCalls = 100;

constexpr char kGraph[] =
    "graph f(%a: f32[n], %b: f32[n], %c: f32[n]) -> (f32[n]) {\n %0 = multiply(%a, %b) : f32[n]\n "
    "%1 = add(%0, %c) : f32[n]\n %2 = relu(%1) : f32[n]\n return %2\n}";

constexpr char kPtx[] = R"(.version 6.3
.target sm_75
.address_size 64
.visible .entry chain(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u64 pz)
{
  .reg .u32 %r<2>;
  .reg .u64 %rd<9>;
  .reg .f32 %f<6>;
  ld.param.u64 %rd1, [pa];
  ld.param.u64 %rd2, [pb];
  ld.param.u64 %rd3, [pc];
  ld.param.u64 %rd4, [pz];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd5, %r1, 4;
  add.u64 %rd6, %rd1, %rd5;
  add.u64 %rd7, %rd2, %rd5;
  add.u64 %rd8, %rd3, %rd5;
  add.u64 %rd5, %rd4, %rd5;
  ld.global.f32 %f1, [%rd6];
  ld.global.f32 %f2, [%rd7];
  ld.global.f32 %f3, [%rd8];
  fma.rn.f32 %f4, %f1, %f2, %f3;
  max.f32 %f5, %f4, 0f00000000;
  st.global.f32 [%rd5], %f5;
  ret;
}
)";

[[noreturn]] void Fail(const std::string& what) {
  std::fprintf(stderr, "bench_launches: %s\n", what.c_str());
  std::exit(1);
}

template <typename T>
T Must(jitfuse::StatusOr<T> v) {
  if (!v.ok()) Fail(v.status().message());
  return *std::move(v);
}

void Must(const jitfuse::Status& status) {
  if (!status.ok()) Fail(status.message());
}

void Check(jitfuse::internal::CuResult result, const char* call) {
  if (result != 0) Fail(std::string(call) + ": CUDA error " + std::to_string(result));
}

const DriverApi& Driver() {
  const auto driver = jitfuse::internal::LoadDriverApi();
  if (!driver.ok()) Fail(std::string(driver.status().message()));
  return **driver;
}

// The chain on arrays of the GPU, warm, with random inputs.
struct Chain {
  jitfuse::Function f;
  std::vector<Array> in, out;
  Chain() {
    jitfuse::CompileOptions options;
    options.device = jitfuse::DeviceKind::kCuda;
    f = Must(jitfuse::CompileText(kGraph, options));
    std::mt19937_64 random(std::random_device{}());
    std::uniform_real_distribution<double> uniform(-2, 2);
    for (int i = 0; i < f.num_inputs(); ++i) {
      std::vector<double> values(kElements);
      for (double& v : values) v = uniform(random);
      in.push_back(
          Must(Must(Array::FromValues(jitfuse::DType::kF32, {kElements}, values)).CopyTo(kGpu)));
    }
    out = Must(f.Run(in));
  }
};

// The same by a kernel that is launched with nothing around it.
class BareLaunch {
 public:
  BareLaunch(const DriverApi& driver, const Chain& chain) : driver_(driver) {
    CuModule module = nullptr;
    Check(driver.ModuleLoadData(&module, kPtx), "cuModuleLoadData");
    Check(driver.ModuleGetFunction(&function_, module, "chain"), "cuModuleGetFunction");
    for (const Array& a : chain.in) pointers_.push_back(const_cast<void*>(a.data()));
    pointers_.push_back(const_cast<void*>(chain.out[0].data()));
    for (void*& pointer : pointers_) params_.push_back(&pointer);
  }
  void operator()() {
    Check(driver_.LaunchKernel(function_, 1, 1, 1, kElements, 1, 1, 0, nullptr, params_.data(),
                               nullptr),
          "cuLaunchKernel");
  }

 private:
  const DriverApi& driver_;
  CuFunction function_ = nullptr;
  std::vector<void*> pointers_, params_;
};

// ns of one call of each body; the queue is emptied after each sample.
std::vector<double> Nanoseconds(const DriverApi& driver,
                                const std::vector<std::function<void()>>& bodies, int samples) {
  std::vector<std::function<void()>> repeated;
  for (const std::function<void()>& body : bodies) {
    repeated.push_back([&body] {
      for (int i = 0; i < kCalls; ++i) body();
    });
    repeated.push_back(
        [&driver] { Check(driver.StreamSynchronize(nullptr), "cuStreamSynchronize"); });
  }
  const std::vector<double> seconds = TimeInterleaved(repeated, samples);
  std::vector<double> out;
  for (std::size_t i = 0; i < seconds.size(); i += 2) out.push_back(1e9 * seconds[i] / kCalls);
  return out;
}

void Measure(int samples, Report* report) {
  const DriverApi& driver = Driver();
  CuContext context = nullptr;  // made current, as frameworks do
  Check(driver.DevicePrimaryCtxRetain(&context, 0), "cuDevicePrimaryCtxRetain");
  Check(driver.CtxPushCurrent(context), "cuCtxPushCurrent");
  const Chain chain;
  BareLaunch bare(driver, chain);
  const std::vector<double> ns =
      Nanoseconds(driver,
                  {[&] { bare(); }, [&] { Must(chain.f.RunInto(chain.in, chain.out)); },
                   [&] { Must(chain.f.Run(chain.in)); },
                   [&] { Check(driver.CtxGetCurrent(&context), "cuCtxGetCurrent"); },
                   [&] { (void)jitfuse::internal::IdOf(driver, context); },
                   [&] { (void)jitfuse::internal::IdOf(driver, nullptr); }},
                  samples);
  const char* launch = "cuLaunchKernel, nothing around it";
  report->Add(
      {"RunInto, relu(a*b+c) of 16 f32", "ns", ns[1], launch, ns[0], ns[1] - ns[0], 500, true});
  report->Add(
      {"Run, with its result allocated", "ns", ns[2], launch, ns[0], ns[2] - ns[0], 0, true});
  report->Add({"cuCtxGetCurrent", "ns", ns[3], "", 0, 0, 0, false});
  report->Add({"cuCtxGetId", "ns", ns[4], "", 0, 0, 0, false});
  report->Add({"cuCtxGetId of the current context", "ns", ns[5], "", 0, 0, 0, false});
  const std::string error = AddLookups(jitfuse::DeviceKind::kCuda, "", samples, report);
  if (!error.empty()) Fail(error);
}

}  // namespace
}  // namespace jitfuse_bench

int main(int argc, char** argv) {
  using namespace jitfuse_bench;  // NOLINT
  constexpr const char* kUsage =
      "bench_launches [--out FILE.json] [--samples 201]\n"
      "what a call on a GPU costs on the host, beside its launch alone; share: what is beyond it, "
      "ns";
  if (const auto code = ExitCode(argc, argv, kUsage, {"--out", "--samples"})) return *code;
  if (!jitfuse::internal::LoadDriverApi().ok()) Fail("no CUDA driver: this benchmark needs a GPU");
  Report report("calls on a GPU", GpuName() + "; " + CpuName());
  Measure(std::atoi(Flag(argc, argv, "--samples", "201").c_str()), &report);
  return report.Write(Flag(argc, argv, "--out")) ? 0 : 1;
}
