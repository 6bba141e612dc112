// GPU kernels beside a device copy of as many bytes, in one run.
//
//   bench_gpu [--out FILE.json] [--samples 31]
// Each sample flushes L2 (a memset of 256 MiB), then times one call by events; copy and kernel take
// turns; medians. GB/s counts each input once and each output once. Clocks are warmed first. Inputs
// are random.
#include <dlfcn.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "api/inspect.h"
#include "api/jitfuse.h"
#include "common/known_chains.h"
#include "common/report.h"

namespace jitfuse_bench {
namespace {

using jitfuse::Array;

constexpr jitfuse::Device kGpu{jitfuse::DeviceKind::kCuda, 0};
constexpr std::size_t kFlushBytes = std::size_t{256} << 20;

void Fail(const std::string& what) {
  std::fprintf(stderr, "bench_gpu: %s\n", what.c_str());
  std::exit(1);
}

template <typename T>
T Must(jitfuse::StatusOr<T> v) {
  if (!v.ok()) Fail(v.status().message());
  return *std::move(v);
}

// The few driver calls that only a benchmark needs.
struct Driver {
  int (*EventCreate)(void** event, unsigned flags);
  int (*EventRecord)(void* event, void* stream);
  int (*EventSynchronize)(void* event);
  int (*EventElapsedTime)(float* ms, void* start, void* end);
  int (*MemsetD8Async)(std::uint64_t dst, unsigned char value, std::size_t bytes, void* stream);
  int (*MemcpyDtoDAsync)(std::uint64_t dst, std::uint64_t src, std::size_t bytes, void* stream);
  int (*DeviceGetName)(char* name, int size, int device);
  int (*PrimaryCtxRetain)(void** context, int device);
  int (*CtxSetCurrent)(void* context);

  Driver() {
    void* lib = dlopen("libcuda.so.1", RTLD_NOW);
    if (lib == nullptr) Fail("no libcuda.so.1: this benchmark needs a GPU");
    Get(lib, "cuEventCreate", &EventCreate);
    Get(lib, "cuEventRecord", &EventRecord);
    Get(lib, "cuEventSynchronize", &EventSynchronize);
    Get(lib, "cuEventElapsedTime_v2", &EventElapsedTime, "cuEventElapsedTime");
    Get(lib, "cuMemsetD8Async", &MemsetD8Async);
    Get(lib, "cuMemcpyDtoDAsync_v2", &MemcpyDtoDAsync);
    Get(lib, "cuDeviceGetName", &DeviceGetName);
    Get(lib, "cuDevicePrimaryCtxRetain", &PrimaryCtxRetain);
    Get(lib, "cuCtxSetCurrent", &CtxSetCurrent);
  }
  template <typename F>
  static void Get(void* lib, const char* name, F* f, const char* older = nullptr) {
    void* symbol = dlsym(lib, name);
    if (symbol == nullptr && older != nullptr) symbol = dlsym(lib, older);
    if (symbol == nullptr) Fail(std::string("the driver has no ") + name);
    *f = reinterpret_cast<F>(symbol);
  }
};

struct Case {
  const char* name;
  std::string text;
  std::map<std::string, std::int64_t> symbols;
  double goal;
};

// A known chain as text; n is its number of rows.
std::string TextOf(const std::string& chain) {
  for (const KnownChain& c : KnownChains()) {
    if (chain != c.name) continue;
    jitfuse::Builder builder;
    const std::vector<jitfuse::Tensor> results = c.build(builder);
    if (!builder.status().ok()) Fail(builder.status().message());
    return builder.ToText(results);
  }
  Fail("no chain is named " + chain);
  return "";
}

const std::vector<Case>& Cases() {
  static const auto* cases = new std::vector<Case>{
      {"relu(a*b+c) f32 67M",
       "graph f(%a: f32[n], %b: f32[n], %c: f32[n]) -> (f32[n]) {\n %0 = multiply(%a, %b) : "
       "f32[n]\n %1 = add(%0, %c) : f32[n]\n %2 = relu(%1) : f32[n]\n return %2\n}",
       {{"n", 1 << 26}},
       0.96},
      {"relu(a+b) bf16 32768x4096",
       "graph f(%a: bf16[n,m], %b: bf16[n,m]) -> (bf16[n,m]) {\n %0 = add(%a, %b) : bf16[n,m]\n %1 "
       "= relu(%0) : bf16[n,m]\n return %1\n}",
       {{"n", 32768}, {"m", 4096}},
       0.96},
      {"gelu(a+b) f32 67M",
       "graph f(%a: f32[n], %b: f32[n]) -> (f32[n]) {\n %0 = add(%a, %b) : f32[n]\n %1 = gelu(%0) "
       ": f32[n]\n return %1\n}",
       {{"n", 1 << 26}},
       0.96},
      {"tanh(a*b) f32 67M",
       "graph f(%a: f32[n], %b: f32[n]) -> (f32[n]) {\n %0 = multiply(%a, %b) : f32[n]\n %1 = "
       "tanh(%0) : f32[n]\n return %1\n}",
       {{"n", 1 << 26}},
       0.96},
      {"silu(a)*b bf16 32768x4096",
       "graph f(%a: bf16[n,m], %b: bf16[n,m]) -> (bf16[n,m]) {\n %0 = silu(%a) : bf16[n,m]\n %1 = "
       "multiply(%0, %b) : bf16[n,m]\n return %1\n}",
       {{"n", 32768}, {"m", 4096}},
       0.96},
      {"gelu(x+bias) bf16 32768x4096",
       "graph f(%a: bf16[n,m], %b: bf16[m]) -> (bf16[n,m]) {\n %0 = add(%a, %b) : bf16[n,m]\n %1 = "
       "gelu(%0) : bf16[n,m]\n return %1\n}",
       {{"n", 32768}, {"m", 4096}},
       0.96},
      {"softmax bf16 32768x4096",
       "graph f(%x: bf16[n,m]) -> (bf16[n,m]) {\n %0 = softmax(%x) {axis=1} : bf16[n,m]\n return "
       "%0\n}",
       {{"n", 32768}, {"m", 4096}},
       0.92},
      {"softmax f32 16384x4096",
       "graph f(%x: f32[n,m]) -> (f32[n,m]) {\n %0 = softmax(%x) {axis=1} : f32[n,m]\n return "
       "%0\n}",
       {{"n", 16384}, {"m", 4096}},
       0.92},
      {"softmax bf16 131072x1024",
       "graph f(%x: bf16[n,m]) -> (bf16[n,m]) {\n %0 = softmax(%x) {axis=1} : bf16[n,m]\n return "
       "%0\n}",
       {{"n", 131072}, {"m", 1024}},
       0.92},
      {"layer_norm bf16 32768x4096",
       "graph f(%x: bf16[n,m], %w: bf16[m], %b: bf16[m]) -> (bf16[n,m]) {\n %0 = layer_norm(%x, "
       "%w, %b) {norm_dims=1, eps=1e-05} : bf16[n,m]\n return %0\n}",
       {{"n", 32768}, {"m", 4096}},
       0.92},
      {"layer_norm+relu f32 8192x8192",
       "graph f(%x: f32[n,m], %w: f32[m], %b: f32[m]) -> (f32[n,m]) {\n %0 = layer_norm(%x, %w, "
       "%b) {norm_dims=1, eps=1e-05} : f32[n,m]\n %1 = relu(%0) : f32[n,m]\n return %1\n}",
       {{"n", 8192}, {"m", 8192}},
       0.92},
      {"residual add + rms_norm bf16 32768x4096",
       "graph f(%x: bf16[n,m], %r: bf16[n,m], %w: bf16[m]) -> (bf16[n,m], bf16[n,m]) {\n %0 = "
       "add(%x, %r) : bf16[n,m]\n %1 = rms_norm(%0, %w) {norm_dims=1, eps=1e-06} : bf16[n,m]\n "
       "return %0, %1\n}",
       {{"n", 32768}, {"m", 4096}},
       0.92},
      {"gelu backward, bias gradient bf16 32768x4096",
       TextOf("gelu backward, bias gradient, bf16"),
       {{"n", 32768}},
       0.85},
      {"layer_norm backward, three gradients bf16 32768x4096",
       TextOf("layer_norm backward, three gradients, bf16"),
       {{"n", 32768}},
       0.90}};
  return *cases;
}

std::uint32_t NextRandom(std::uint32_t* state) {
  *state ^= *state << 13;
  *state ^= *state >> 17;
  return *state ^= *state << 5;
}

// Random values in about [-2, 2), written as bits: exponents are limited, so that there are no NaNs
// and no infinities.
Array RandomArray(jitfuse::DType dtype, const std::vector<std::int64_t>& dims, std::uint32_t seed) {
  Array host = Must(Array::Empty(dtype, dims));
  std::uint32_t state = seed * 2654435761u + 1;
  if (dtype == jitfuse::DType::kF32) {
    auto* p = static_cast<float*>(host.data());
    for (std::int64_t i = 0; i < host.num_elements(); ++i)
      p[i] = static_cast<float>(NextRandom(&state) >> 8) * 0x1p-22f - 2.0f;
  } else {
    auto* p = static_cast<std::uint16_t*>(host.data());
    for (std::int64_t i = 0; i < host.num_elements(); ++i) {
      std::uint32_t r = NextRandom(&state);
      p[i] = static_cast<std::uint16_t>((r & 0x807f) | (120 + (r >> 16) % 8) << 7);
    }
  }
  return Must(host.CopyTo(kGpu));
}

double BytesOf(const std::vector<Array>& arrays) {
  double bytes = 0;
  for (const Array& a : arrays)
    bytes += static_cast<double>(a.num_elements()) * jitfuse::ItemSize(a.dtype());
  return bytes;
}

class Bench {
 public:
  explicit Bench(int samples) : samples_(samples) {
    void* context = nullptr;
    char name[128] = "GPU";
    if (jitfuse::Status s = jitfuse::DeviceStatus(jitfuse::DeviceKind::kCuda); !s.ok())
      Fail(s.message());
    driver_.PrimaryCtxRetain(&context, 0);
    driver_.CtxSetCurrent(context);
    driver_.DeviceGetName(name, sizeof name, 0);
    machine_ = name;
    driver_.EventCreate(&start_, 0);
    driver_.EventCreate(&end_, 0);
    flush_ =
        Must(Array::Empty(jitfuse::DType::kU8, {static_cast<std::int64_t>(kFlushBytes)}, kGpu));
  }
  const std::string& machine() const { return machine_; }

  void Run(const Case& c, Report* report) {
    jitfuse::Function f = Must(jitfuse::CompileText(c.text));
    auto infos = Must(jitfuse::ParseInputs(c.text));
    auto dims = Must(jitfuse::InputDims(c.text, c.symbols));
    std::vector<Array> inputs;
    for (std::size_t i = 0; i < dims.size(); ++i)
      inputs.push_back(RandomArray(infos[i].dtype, dims[i], static_cast<std::uint32_t>(i + 1)));
    std::vector<Array> outputs = Must(f.Run(inputs));
    double bytes = BytesOf(inputs) + BytesOf(outputs);
    auto half = static_cast<std::int64_t>(bytes / 2);
    Array from = Must(Array::Empty(jitfuse::DType::kU8, {half}, kGpu)),
          to = Must(Array::Empty(jitfuse::DType::kU8, {half}, kGpu));
    auto call = [&] {
      if (jitfuse::Status s = f.RunInto(inputs, outputs); !s.ok()) Fail(s.message());
    };
    auto copy = [&] {
      driver_.MemcpyDtoDAsync(Address(to), Address(from), static_cast<std::size_t>(half), nullptr);
    };
    Warm(copy);
    std::vector<double> ours, theirs;
    for (int i = 0; i < samples_; ++i) {
      theirs.push_back(Time(copy));
      ours.push_back(Time(call));
    }
    double rate = bytes / Median(ours) * 1e-9,
           copy_rate = 2.0 * static_cast<double>(half) / Median(theirs) * 1e-9;
    report->Add({c.name, "GB/s", rate, "device copy of as many bytes", copy_rate, rate / copy_rate,
                 c.goal, false});
  }

 private:
  static std::uint64_t Address(const Array& a) {
    return reinterpret_cast<std::uintptr_t>(a.data());
  }

  template <typename F>
  void Warm(F f) {
    auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
    while (std::chrono::steady_clock::now() < until) Time(f);
  }

  template <typename F>
  double Time(F f) {
    driver_.MemsetD8Async(Address(flush_), 1, kFlushBytes, nullptr);
    driver_.EventRecord(start_, nullptr);
    f();
    driver_.EventRecord(end_, nullptr);
    if (driver_.EventSynchronize(end_) != 0) Fail("the device reported an error");
    float ms = 0;
    driver_.EventElapsedTime(&ms, start_, end_);
    return ms * 1e-3;
  }

  Driver driver_;
  int samples_;
  std::string machine_;
  void* start_ = nullptr;
  void* end_ = nullptr;
  Array flush_;
};

}  // namespace
}  // namespace jitfuse_bench

int main(int argc, char** argv) {
  using namespace jitfuse_bench;  // NOLINT
  constexpr const char* kUsage =
      "bench_gpu [--out FILE.json] [--samples 31]\n"
      "GPU kernels against a device copy of the same run; needs a GPU";
  if (const auto code = ExitCode(argc, argv, kUsage, {"--out", "--samples"})) return *code;
  setenv("JITFUSE_BACKEND", "cuda", 1);
  Bench bench(std::atoi(Flag(argc, argv, "--samples", "31").c_str()));
  Report report("GPU kernels", bench.machine());
  for (const Case& c : Cases()) bench.Run(c, &report);
  return report.Write(Flag(argc, argv, "--out")) ? 0 : 1;
}
