// Kernels for any size (dynamic="all") beside those made for one shape alone, on a GPU.
//
//   bench_shapes [--out FILE.json] [--shapes 60] [--samples 15]
// Random shapes of 1 to 8192 rows and 1 to 16384 columns; of each, the two are timed in turn by
// events, medians. Of the ratios, the median and the 95th percentile over the shapes whose own
// kernel takes more than 20 us. Memory is what the allocator gave: times do not depend on values.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "api/inspect.h"
#include "api/jitfuse.h"
#include "api/runtime.h"
#include "common/gpu_name.h"
#include "common/report.h"
#include "jit/backend.h"

namespace jitfuse_bench {
namespace {

using jitfuse::Array;

constexpr jitfuse::Device kGpu{jitfuse::DeviceKind::kCuda, 0};
constexpr double kLeastUs = 20;

void Fail(const std::string& what) {
  std::fprintf(stderr, "bench_shapes: %s\n", what.c_str());
  std::exit(1);
}

template <typename T>
T Must(jitfuse::StatusOr<T> v) {
  if (!v.ok()) Fail(v.status().message());
  return *std::move(v);
}

struct Case {
  const char* name;
  const char* text;  // of f32
};
constexpr Case kCases[] = {
    {"softmax", "graph f(%x: f32[n,m]) -> (f32[n,m]) { %0 = softmax(%x) : f32[n,m] return %0 }"},
    {"layer_norm",
     "graph f(%x: f32[n,m], %w: f32[m], %b: f32[m]) -> (f32[n,m]) { %0 = layer_norm(%x, %w, %b) : "
     "f32[n,m] return %0 }"},
    {"gelu(x+bias)*x",
     "graph f(%x: f32[n,m], %b: f32[m]) -> (f32[n,m]) { %0 = add(%x, %b) : f32[n,m] %1 = gelu(%0) "
     ": f32[n,m] %2 = multiply(%1, %x) : f32[n,m] return %2 }"},
    {"MLP, 256 hidden",
     "graph f(%x: f32[n,m], %v: f32[m,256], %b: f32[256], %w: f32[256,m], %c: f32[m]) -> "
     "(f32[n,m]) { %0 = matmul(%x, %v) : f32[n,256] %1 = add(%0, %b) : f32[n,256] %2 = gelu(%1) : "
     "f32[n,256] %3 = matmul(%2, %w) : f32[n,m] %4 = add(%3, %c) : f32[n,m] return %4 }"}};

jitfuse::Function Compiled(const std::string& text, jitfuse::Dynamic dynamic) {
  jitfuse::CompileOptions options;
  options.device = jitfuse::DeviceKind::kCuda;
  options.dynamic = dynamic;
  return Must(jitfuse::CompileText(text, options));
}

class Bench {
 public:
  explicit Bench(int samples) : samples_(samples) {
    auto backend = jitfuse::internal::GetBackend(jitfuse::DeviceKind::kCuda);
    if (!backend.ok()) Fail(std::string(backend.status().message()));
    backend_ = *backend;
  }

  void Run(const Case& c, const std::string& dtype, int shapes, Report* report) {
    const std::string text = absl::StrReplaceAll(c.text, {{"f32", dtype}});
    const auto any = Compiled(text, jitfuse::Dynamic::kAll),
               own = Compiled(text, jitfuse::Dynamic::kNone);
    std::vector<double> ratios;
    std::mt19937_64 random(1);
    for (int s = 0; s < shapes; ++s) {
      const auto n = static_cast<std::int64_t>(1 + random() % 8192),
                 m = static_cast<std::int64_t>(1 + random() % 16384);
      const double ratio = RatioOf(any, own, text, n, m);
      if (ratio > 0) ratios.push_back(ratio);
    }
    if (ratios.empty()) return;
    std::sort(ratios.begin(), ratios.end());
    const std::string name = absl::StrCat(c.name, " ", dtype, ", ", ratios.size(), " shapes, ",
                                          any.stats().compiled, " kernels: ");
    Add(name + "median", ratios[ratios.size() / 2], 1.05, report);
    Add(name + "95th percentile", ratios[ratios.size() * 95 / 100], 1.15, report);
  }

 private:
  static void Add(const std::string& name, double ratio, double goal, Report* report) {
    report->Add({name, "times", ratio, "code for the shape alone", 1, ratio, goal, true});
  }

  // 0 for calls that are too short.
  double RatioOf(const jitfuse::Function& any, const jitfuse::Function& own,
                 const std::string& text, std::int64_t n, std::int64_t m) {
    const auto infos = Must(jitfuse::ParseInputs(text));
    const auto dims = Must(jitfuse::InputDims(text, {{"n", n}, {"m", m}}));
    std::vector<Array> inputs;
    for (std::size_t i = 0; i < dims.size(); ++i)
      inputs.push_back(Must(Array::Empty(infos[i].dtype, dims[i], kGpu)));
    const std::vector<Array> outputs = Must(any.Run(inputs));
    std::vector<double> any_us, own_us;
    for (int i = -2; i < samples_; ++i) {  // the first ones warm up
      const double a = Time(any, inputs, outputs), o = Time(own, inputs, outputs);
      if (i < 0) continue;
      any_us.push_back(a);
      own_us.push_back(o);
    }
    const double alone = Median(own_us);
    return alone > kLeastUs ? Median(any_us) / alone : 0;
  }

  double Time(const jitfuse::Function& f, const std::vector<Array>& inputs,
              const std::vector<Array>& outputs) {
    const auto us = backend_->TimeOnDevice(
        [&] {
          if (const jitfuse::Status s = f.RunInto(inputs, outputs); !s.ok()) Fail(s.message());
          return absl::OkStatus();
        },
        nullptr);
    if (!us.ok()) Fail(std::string(us.status().message()));
    return *us;
  }

  const jitfuse::internal::Backend* backend_ = nullptr;
  const int samples_;
};

}  // namespace
}  // namespace jitfuse_bench

int main(int argc, char** argv) {
  using namespace jitfuse_bench;  // NOLINT
  constexpr const char* kUsage =
      "bench_shapes [--out FILE.json] [--shapes 60] [--samples 15]\n"
      "kernels for any size against those for one shape alone; needs a GPU";
  if (const auto code = ExitCode(argc, argv, kUsage, {"--out", "--shapes", "--samples"}))
    return *code;
  Bench bench(std::atoi(Flag(argc, argv, "--samples", "15").c_str()));
  Report report("shapes", GpuName());
  const int shapes = std::atoi(Flag(argc, argv, "--shapes", "60").c_str());
  for (const Case& c : kCases) {
    for (const char* dtype : {"f32", "bf16"}) bench.Run(c, dtype, shapes, &report);
  }
  return report.Write(Flag(argc, argv, "--out")) ? 0 : 1;
}
