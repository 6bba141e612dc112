// Compile times: NVRTC and ORC per kernel, everything before the compiler, and how planning scales
// with the graph.
//
//   bench_compile [--out FILE.json]     (NVRTC rows only where an NVRTC is found; no GPU is needed)
#include <chrono>
#include <cstdio>
#include <cstdlib>
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

int Main(int argc, char** argv) {
  constexpr const char* kUsage =
      "bench_compile [--out FILE.json]\n"
      "compile times and planning; NVRTC's rows where one is found, no GPU is needed";
  if (const auto code = ExitCode(argc, argv, kUsage, {"--out"})) return *code;
  setenv("JITFUSE_NVRTC_NO_CACHE", "1", 1);
  Report report("compile times", CpuName());
  auto cpu = Must(BackendForArch(jitfuse::DeviceKind::kCpu, ""));
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
