// Compile times: NVRTC and ORC per kernel, everything before the compiler, start-up, and how
// planning scales with the graph.
//
//   bench_compile [--out FILE.json]     (NVRTC rows only where an NVRTC is found; no GPU is needed)
#include <sys/wait.h>
#include <unistd.h>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "api/jitfuse.h"
#include "api/runtime.h"
#include "common/plan_chain.h"
#include "common/report.h"
#include "ir/graph.h"
#include "ir/op_enum.h"
#include "ir/support/status.h"
#include "ir/text.h"
#include "jit/compile.h"
#include "jit/disk_cache.h"

namespace jitfuse_bench {
namespace {

using namespace jitfuse::internal;  // NOLINT: a benchmark of the inside
using Clock = std::chrono::steady_clock;

constexpr int kSamples = 15;

struct NamedGraph {
  const char* name;
  const char* text;
};

constexpr NamedGraph kPointwise[] = {
    {"relu(a*b+c) f32",
     "graph f(%a: f32[n], %b: f32[n], %c: f32[n]) -> (f32[n]) {\n %0 = multiply(%a, %b) : f32[n]\n "
     "%1 = add(%0, %c) : f32[n]\n %2 = relu(%1) : f32[n]\n return %2\n}"},
    {"gelu(a+b) f32",
     "graph f(%a: f32[n], %b: f32[n]) -> (f32[n]) {\n %0 = add(%a, %b) : f32[n]\n %1 = gelu(%0) : "
     "f32[n]\n return %1\n}"},
    {"tanh(a*b) bf16",
     "graph f(%a: bf16[n], %b: bf16[n]) -> (bf16[n]) {\n %0 = multiply(%a, %b) : bf16[n]\n %1 = "
     "tanh(%0) : bf16[n]\n return %1\n}"},
    {"bias+gelu bf16",
     "graph f(%a: bf16[n,4096], %b: bf16[4096]) -> (bf16[n,4096]) {\n %0 = add(%a, %b) : "
     "bf16[n,4096]\n %1 = gelu(%0) : bf16[n,4096]\n return %1\n}"}};
constexpr NamedGraph kRows[] = {
    {"softmax f32 4096",
     "graph f(%x: f32[n,4096]) -> (f32[n,4096]) {\n %0 = softmax(%x) {axis=1} : f32[n,4096]\n "
     "return %0\n}"},
    {"softmax bf16 4096",
     "graph f(%x: bf16[n,4096]) -> (bf16[n,4096]) {\n %0 = softmax(%x) {axis=1} : bf16[n,4096]\n "
     "return %0\n}"},
    {"layer_norm f32 4096",
     "graph f(%x: f32[n,4096], %w: f32[4096], %b: f32[4096]) -> (f32[n,4096]) {\n %0 = "
     "layer_norm(%x, %w, %b) {norm_dims=1, eps=1e-05} : f32[n,4096]\n return %0\n}"}};

double Ms(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

template <typename T>
T Must(absl::StatusOr<T> v) {
  if (v.ok()) return *std::move(v);
  std::fprintf(stderr, "bench_compile: %s\n", std::string(v.status().message()).c_str());
  std::exit(1);
}

CallClass ClassOf(const Graph& graph) { return Must(DenseClass(graph)); }

std::vector<KernelSource> SourcesOf(const Graph& graph, const Backend& backend) {
  PlannedGraph planned = Must(PlanGraph(graph, ClassOf(graph), Options{}, backend));
  std::vector<KernelSource> out;
  for (const KernelPlan& plan : planned.plans) out.push_back(Must(backend.Emit(plan)));
  return out;
}

void CompileRow(const Backend& backend, const char* name, const Graph& graph, double goal_ms,
                Report* report) {
  const std::vector<KernelSource> sources = SourcesOf(graph, backend);
  if (sources.size() != 1) {
    std::fprintf(stderr, "bench_compile: %s became %zu kernels\n", name, sources.size());
    std::exit(1);
  }
  std::vector<double> ms;
  for (int i = 0; i < kSamples; ++i) {
    Clock::time_point start = Clock::now();
    CompiledKernel compiled = Must(backend.Compile(sources[0]));
    ms.push_back(Ms(start));
  }
  double median = Median(ms);
  report->Add(
      {absl::StrCat(ToAbsl(backend.name()), " compile, ", backend.target().arch, ", ", name), "ms",
       median, "goal", goal_ms, median / goal_ms, 1, true});
}

void CompileRows(const Backend& backend, absl::Span<const NamedGraph> graphs, double goal_ms,
                 Report* report) {
  for (const NamedGraph& g : graphs)
    CompileRow(backend, g.name, Must(ParseGraph(g.text)), goal_ms, report);
}

// n ops in layers of two that read both of the layer before: fan-out 2, nothing can be folded.
Graph Layered(int n) {
  Graph g;
  Value a = *g.AddInput("a", {DType::kF32, {g.SymbolNamed("n")}}),
        b = *g.AddInput("b", {DType::kF32, {g.SymbolNamed("n")}});
  for (int i = 0; i < n / 2; ++i) {
    Value c = *g.Add(Op::kAdd, {a, b});
    Value d = *g.Add(Op::kMaximum, {a, b});
    a = c;
    b = d;
  }
  (void)g.AddOutput(a);
  (void)g.AddOutput(b);
  return g;
}

// 200 ops that become one kernel: arithmetic with a transcendental in every tenth, two results.
Graph TwoHundred() {
  constexpr Op kCheap[] = {Op::kAdd, Op::kMultiply, Op::kMaximum, Op::kSubtract, Op::kMinimum};
  constexpr Op kDear[] = {Op::kTanh, Op::kExp, Op::kGelu, Op::kSigmoid};
  Graph g;
  Value a = *g.AddInput("a", {DType::kF32, {g.SymbolNamed("n")}}),
        b = *g.AddInput("b", {DType::kF32, {g.SymbolNamed("n")}});
  for (size_t i = 0; i < 200; ++i) {
    Value c = i % 10 == 9 ? *g.Add(kDear[i / 10 % 4], {a}) : *g.Add(kCheap[i % 5], {a, b});
    b = a;
    a = c;
  }
  (void)g.AddOutput(a);
  (void)g.AddOutput(b);
  return g;
}

double PlanMs(const Graph& graph, const Backend& backend) {
  CallClass cls = ClassOf(graph);
  std::vector<double> ms;
  for (int i = 0; i < 5; ++i) {
    Clock::time_point start = Clock::now();
    PlannedGraph planned = Must(PlanGraph(graph, cls, Options{}, backend));
    for (const KernelPlan& plan : planned.plans) Must(backend.Emit(plan));
    ms.push_back(Ms(start));
  }
  return Median(ms);
}

void PlanRows(const Backend& backend, Report* report) {
  std::string name(backend.name());
  double twenty = PlanMs(Layered(20), backend);
  report->Add({absl::StrCat("plan and emit, ", name, ", 20 ops"), "ms", twenty, "goal", 1, twenty,
               1, true});
  double hundred = PlanMs(Layered(100), backend), ten_thousand = PlanMs(Layered(10000), backend);
  report->Add(
      {absl::StrCat("plan and emit, ", name, ", 100 ops"), "ms", hundred, "", 0, 0, 0, false});
  report->Add({absl::StrCat("plan and emit, ", name, ", 10000 ops"), "ms", ten_thousand, "goal",
               1500, ten_thousand / 1500, 1, true});
  report->Add({absl::StrCat("time per op, ", name, ", 10000 against 100 ops"), "ratio",
               ten_thousand / hundred / 100, "", 0, 0, 0, false});
}

struct FirstResultTimes {
  double from_exec = 0, from_main = 0;  // ms
};

// In a fresh process: from exec, and from main(), to the first fused result on the CPU. `cache`:
// the folder of a disk cache that has its kernel after the first of these processes, or "".
FirstResultTimes FirstResultMs(const char* self, const std::string& cache) {
  std::vector<double> from_exec, from_main;
  for (int i = 0; i < (cache.empty() ? 9 : 10); ++i) {
    int ends[2];
    if (pipe(ends) != 0) std::exit(1);
    Clock::time_point start = Clock::now();
    pid_t child = fork();
    if (child == 0) {
      setenv("JITFUSE_NO_CACHE", cache.empty() ? "1" : "0", 1);
      setenv("JITFUSE_CACHE_DIR", cache.c_str(), 1);
      dup2(ends[1], STDOUT_FILENO);
      execl(self, self, "--first-result", i > 0 && !cache.empty() ? "found" : "compiled",
            static_cast<char*>(nullptr));
      _exit(127);
    }
    close(ends[1]);
    int status = 0;
    waitpid(child, &status, 0);
    const double ms = Ms(start);
    char told[64] = {};
    const ssize_t size = read(ends[0], told, sizeof(told) - 1);
    close(ends[0]);
    if (status != 0 || size <= 0) std::exit(1);
    if (i == 0 && !cache.empty()) continue;
    from_exec.push_back(ms);
    from_main.push_back(std::atof(told));
  }
  return {Median(from_exec), Median(from_main)};
}

// Prints the milliseconds since main().
int FirstResult(Clock::time_point start, bool found) {
  jitfuse::CompileOptions options;
  options.device = jitfuse::DeviceKind::kCpu;
  auto f = jitfuse::CompileText(kPointwise[0].text, options);
  jitfuse::Array x = *jitfuse::Array::FromValues(jitfuse::DType::kF32, {3}, {1, 2, 3});
  if (!f.ok() || !f->Run({x, x, x}).ok()) return 1;
  std::printf("%.6f\n", Ms(start));
  return f->stats().disk_hits == (found ? 1 : 0) ? 0 : 1;
}

// A kernel that another process has compiled: found on disk and loaded.
void DiskHitRow(const Backend& backend, const std::string& folder, Report* report) {
  DiskCacheOptions options;
  options.dir = folder;
  DiskCache disk(options);
  const std::vector<KernelSource> sources =
      SourcesOf(Must(ParseGraph(kPointwise[1].text)), backend);
  std::vector<double> ms;
  for (int i = 0; i <= kSamples; ++i) {
    KernelCache kernels(&disk);  // with nothing in memory
    Clock::time_point start = Clock::now();
    const CachedKernel kernel = Must(kernels.Get(sources[0], backend));
    if (i > 0 && kernel.origin != CodeOrigin::kDisk) std::exit(1);
    if (i > 0) ms.push_back(Ms(start));
  }
  const double median = Median(ms);
  report->Add({absl::StrCat("kernel from a warm disk cache, with load, cpu, ", kPointwise[1].name),
               "ms", median, "goal", 1, median, 1, true});
}

void StartUpRows(const Backend& cpu, Report* report) {
  std::string folder = (std::filesystem::temp_directory_path() / "jitfuse_bench_XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) std::exit(1);
  const double cold = FirstResultMs("/proc/self/exe", "").from_exec;
  report->Add(
      {"process start to first fused result, cpu", "ms", cold, "goal", 150, cold / 150, 1, true});
  const FirstResultTimes warm = FirstResultMs("/proc/self/exe", folder);
  report->Add({"main() to first fused result, cpu, warm disk cache", "ms", warm.from_main, "goal",
               40, warm.from_main / 40, 1, true});
  report->Add({"process start to first fused result, cpu, warm disk cache", "ms", warm.from_exec,
               "", 0, 0, 0, false});
  DiskHitRow(cpu, folder, report);
  std::filesystem::remove_all(folder);
}

int Main(int argc, char** argv) {
  const Clock::time_point start = Clock::now();
  if (argc > 2 && std::string(argv[1]) == "--first-result")
    return FirstResult(start, std::string(argv[2]) == "found");
  constexpr const char* kUsage =
      "bench_compile [--out FILE.json]\n"
      "compile times, planning, start-up; NVRTC's rows where one is found, no GPU is needed";
  if (const auto code = ExitCode(argc, argv, kUsage, {"--out"})) return *code;
  setenv("JITFUSE_NVRTC_NO_CACHE", "1", 1);
  Report report("compile times", CpuName());
  auto cpu = Must(BackendForArch(jitfuse::DeviceKind::kCpu, ""));
  StartUpRows(*cpu, &report);
  PlanRows(*cpu, &report);
  CompileRows(*cpu, kPointwise, 15, &report);
  CompileRows(*cpu, kRows, 15, &report);
  auto cuda = BackendForArch(jitfuse::DeviceKind::kCuda, "sm_90");
  if (cuda.ok() && !(*cuda)->CompilerId().empty()) {
    PlanRows(**cuda, &report);
    CompileRows(**cuda, kPointwise, 30, &report);
    CompileRows(**cuda, kRows, 60, &report);
    CompileRow(**cuda, "200 ops f32", TwoHundred(), 250, &report);
  } else {
    std::printf("no NVRTC was found: its rows are left out\n");
  }
  return report.Write(Flag(argc, argv, "--out")) ? 0 : 1;
}

}  // namespace
}  // namespace jitfuse_bench

int main(int argc, char** argv) { return jitfuse_bench::Main(argc, argv); }
