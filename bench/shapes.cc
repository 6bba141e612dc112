// Kernels for any size (dynamic="all") beside those made for one shape alone, on a GPU.
//
//   bench_shapes [--out FILE.json] [--shapes 60] [--samples 15] [--each 0] [--only CASE]
// Random shapes of 1 to 8192 rows and 1 to 16384 columns; of each, the two are timed in turn by
// events, medians. Of the ratios, the median and the 95th percentile over the shapes whose own
// kernel takes more than 20 us; --each N prints the N shapes that lose the most, too. Memory is
// what the allocator gave: times do not depend on values. Code is compiled beforehand, by as many
// threads as there are.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "api/inspect.h"
#include "api/jitfuse.h"
#include "api/runtime.h"
#include "common/gpu_name.h"
#include "common/report.h"
#include "ir/support/threads.h"
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

struct Timed {
  std::int64_t rows, columns;
  double general_us, own_us;
  double Ratio() const { return general_us / own_us; }
};

struct Settings {
  int shapes, samples, each;
};

class Bench {
 public:
  explicit Bench(const Settings& settings) : settings_(settings) {
    auto backend = jitfuse::internal::GetBackend(jitfuse::DeviceKind::kCuda);
    if (!backend.ok()) Fail(std::string(backend.status().message()));
    backend_ = *backend;
  }

  void Run(const Case& c, const std::string& dtype, Report* report) {
    const std::string text = absl::StrReplaceAll(c.text, {{"f32", dtype}});
    const auto general = Compiled(text, jitfuse::Dynamic::kAll),
               own = Compiled(text, jitfuse::Dynamic::kNone);
    std::vector<Timed> shapes = Shapes();
    WarmAll(own, text, shapes);
    for (Timed& shape : shapes) TimeBoth(general, own, text, &shape);
    std::erase_if(shapes, [](const Timed& shape) { return shape.own_us <= kLeastUs; });
    if (shapes.empty()) return;
    std::sort(shapes.begin(), shapes.end(),
              [](const Timed& x, const Timed& y) { return x.Ratio() < y.Ratio(); });
    const std::string name = absl::StrCat(c.name, " ", dtype);
    PrintWorst(name, shapes);
    const std::string of = absl::StrCat(name, ", ", shapes.size(), " shapes, ",
                                        general.stats().compiled, " kernels: ");
    Add(of + "median", shapes[shapes.size() / 2].Ratio(), 1.05, report);
    Add(of + "95th percentile", shapes[shapes.size() * 95 / 100].Ratio(), 1.15, report);
  }

 private:
  static void Add(const std::string& name, double ratio, double goal, Report* report) {
    report->Add({name, "times", ratio, "code for the shape alone", 1, ratio, goal, true});
  }

  std::vector<Timed> Shapes() const {
    std::vector<Timed> shapes;
    std::mt19937_64 random(1);
    for (int s = 0; s < settings_.shapes; ++s) {
      const auto n = static_cast<std::int64_t>(1 + random() % 8192),
                 m = static_cast<std::int64_t>(1 + random() % 16384);
      shapes.push_back({n, m, 0, 0});
    }
    return shapes;
  }

  void PrintWorst(const std::string& name, const std::vector<Timed>& shapes) const {
    const auto count = std::min(shapes.size(), static_cast<std::size_t>(settings_.each));
    if (count > 0) std::printf("%s:\n  rows columns general us   own us  ratio\n", name.c_str());
    for (std::size_t i = 1; i <= count; ++i) {
      const Timed& t = shapes[shapes.size() - i];
      std::printf("%6d %7d %10.1f %8.1f %6.3f\n", static_cast<int>(t.rows),
                  static_cast<int>(t.columns), t.general_us, t.own_us, t.Ratio());
    }
  }

  static std::vector<std::vector<std::int64_t>> DimsOf(const std::string& text,
                                                       const Timed& shape) {
    return Must(jitfuse::InputDims(text, {{"n", shape.rows}, {"m", shape.columns}}));
  }

  static void WarmAll(const jitfuse::Function& own, const std::string& text,
                      const std::vector<Timed>& shapes) {
    const auto infos = Must(jitfuse::ParseInputs(text));
    std::atomic<std::size_t> next = 0;
    jitfuse::internal::RunWithHelpers(jitfuse::internal::NumThreads(), [&] {
      for (std::size_t s = next++; s < shapes.size(); s = next++) {
        const auto dims = DimsOf(text, shapes[s]);
        std::vector<Array> inputs;
        for (std::size_t i = 0; i < dims.size(); ++i)
          inputs.push_back(
              Array::View(static_cast<void*>(nullptr), infos[i].dtype, dims[i], {}, kGpu));
        if (const jitfuse::Status warm = own.Warm(inputs); !warm.ok()) Fail(warm.message());
      }
    });
  }

  void TimeBoth(const jitfuse::Function& general, const jitfuse::Function& own,
                const std::string& text, Timed* shape) {
    const auto infos = Must(jitfuse::ParseInputs(text));
    const auto dims = DimsOf(text, *shape);
    std::vector<Array> inputs;
    for (std::size_t i = 0; i < dims.size(); ++i)
      inputs.push_back(Must(Array::Empty(infos[i].dtype, dims[i], kGpu)));
    const std::vector<Array> outputs = Must(general.Run(inputs));
    std::vector<double> general_us, own_us;
    for (int i = -2; i < settings_.samples; ++i) {  // the first ones warm up
      const double g = Time(general, inputs, outputs), o = Time(own, inputs, outputs);
      if (i < 0) continue;
      general_us.push_back(g);
      own_us.push_back(o);
    }
    shape->general_us = Median(general_us);
    shape->own_us = Median(own_us);
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
  const Settings settings_;
};

}  // namespace
}  // namespace jitfuse_bench

int main(int argc, char** argv) {
  using namespace jitfuse_bench;  // NOLINT
  constexpr const char* kUsage =
      "bench_shapes [--out FILE.json] [--shapes 60] [--samples 15] [--each 0] [--only CASE]\n"
      "kernels for any size against those for one shape alone; needs a GPU";
  if (const auto code =
          ExitCode(argc, argv, kUsage, {"--out", "--shapes", "--samples", "--each", "--only"}))
    return *code;
  const auto number = [&](const char* flag, const char* otherwise) {
    return std::atoi(Flag(argc, argv, flag, otherwise).c_str());
  };
  Bench bench({number("--shapes", "60"), number("--samples", "15"), number("--each", "0")});
  Report report("shapes", GpuName());
  const std::string only = Flag(argc, argv, "--only");
  for (const Case& c : kCases) {
    for (const char* dtype : {"f32", "bf16"}) {
      if (absl::StrContains(absl::StrCat(c.name, " ", dtype), only)) bench.Run(c, dtype, &report);
    }
  }
  return report.Write(Flag(argc, argv, "--out")) ? 0 : 1;
}
