// Start-up: the first result of a fresh process, and what a kernel that is there already costs.
//
//   bench_startup [--out FILE.json]     (a GPU's rows only where there is one)
// relu(a * b + c) of 3 f32. A process of its own for each sample, medians. On a GPU making the
// CUDA context is timed apart: the goals are for what comes after it. "Warm" has a disk cache in
// which another process left the kernel; "cold" has none, and NVRTC's own cache is off.
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
#include "common/gpu_name.h"
#include "common/plan_chain.h"
#include "common/report.h"
#include "ir/support/status.h"
#include "ir/text.h"
#include "jit/compile.h"
#include "jit/disk_cache.h"
#include "jit/kernel_cache.h"

namespace jitfuse_bench {
namespace {

using namespace jitfuse::internal;  // NOLINT: a benchmark of the inside
using Clock = std::chrono::steady_clock;
using jitfuse::DeviceKind;

constexpr int kProcesses = 11, kSamples = 15;
constexpr char kChain[] =
    "graph f(%a: f32[n], %b: f32[n], %c: f32[n]) -> (f32[n]) {\n %0 = multiply(%a, %b) : f32[n]\n "
    "%1 = add(%0, %c) : f32[n]\n %2 = relu(%1) : f32[n]\n return %2\n}";

double Ms(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

[[noreturn]] void Fail(const std::string& what) {
  std::fprintf(stderr, "bench_startup: %s\n", what.c_str());
  std::exit(1);
}
template <typename T>
T Must(absl::StatusOr<T> v) {
  if (!v.ok()) Fail(std::string(v.status().message()));
  return *std::move(v);
}
template <typename T>
T Must(jitfuse::StatusOr<T> v) {
  if (!v.ok()) Fail(v.status().message());
  return *std::move(v);
}

struct Times {  // ms
  double from_exec = 0;
  double context = 0;  // the back end's own start: on a GPU its context
  double first = 0;    // from there to the first result, from main() on the CPU
};

// A child: prints context and first. `found`: whether its kernel has to come from the disk cache.
int FirstResult(Clock::time_point main_start, DeviceKind kind, bool found) {
  double context_ms = 0;
  if (kind == DeviceKind::kCuda) {
    (void)Must(GetBackend(kind));
    context_ms = Ms(main_start);
  }
  const Clock::time_point start = kind == DeviceKind::kCuda ? Clock::now() : main_start;
  jitfuse::CompileOptions options;
  options.device = kind;
  jitfuse::Function f = Must(jitfuse::CompileText(kChain, options));
  jitfuse::Array x = Must(jitfuse::Array::FromValues(jitfuse::DType::kF32, {3}, {1, 2, 3}));
  if (kind == DeviceKind::kCuda) x = Must(x.CopyTo({kind, 0}));
  const jitfuse::Array y = Must(f.Run({x, x, x}))[0];
  if (Must(y.ToVector())[2] != 12) Fail("3 * 3 + 3 is not 12");
  std::printf("%.6f %.6f\n", context_ms, Ms(start));
  return f.stats().disk_hits == (found ? 1 : 0) ? 0 : 1;
}

Times RunChild(DeviceKind kind, const std::string& cache, bool found) {
  int ends[2];
  if (pipe(ends) != 0) Fail("no pipe");
  const Clock::time_point start = Clock::now();
  const pid_t child = fork();
  if (child == 0) {
    setenv("JITFUSE_NO_CACHE", cache.empty() ? "1" : "0", 1);
    setenv("JITFUSE_CACHE_DIR", cache.c_str(), 1);
    setenv("JITFUSE_NVRTC_NO_CACHE", "1", 1);
    setenv("CUDA_CACHE_DISABLE", "1", 1);
    dup2(ends[1], STDOUT_FILENO);
    execl("/proc/self/exe", "bench_startup", "--first-result",
          kind == DeviceKind::kCuda ? "cuda" : "cpu", found ? "found" : "compiled",
          static_cast<char*>(nullptr));
    _exit(127);
  }
  close(ends[1]);
  int status = 0;
  waitpid(child, &status, 0);
  Times out;
  out.from_exec = Ms(start);
  char told[64] = {};
  const ssize_t size = read(ends[0], told, sizeof(told) - 1);
  close(ends[0]);
  if (status != 0 || size <= 0 || std::sscanf(told, "%lf %lf", &out.context, &out.first) != 2)
    Fail("a process for a first result failed");
  return out;
}

// `cache`: a folder for a disk cache, in which a first process leaves the kernel; "": none.
Times FirstResults(DeviceKind kind, const std::string& cache) {
  if (!cache.empty()) RunChild(kind, cache, /*found=*/false);
  std::vector<double> from_exec, context, first;
  for (int i = 0; i < kProcesses; ++i) {
    const Times t = RunChild(kind, cache, !cache.empty());
    from_exec.push_back(t.from_exec);
    context.push_back(t.context);
    first.push_back(t.first);
  }
  return {Median(from_exec), Median(context), Median(first)};
}

void AddGoal(const std::string& name, const char* unit, double value, double goal, Report* report) {
  report->Add({name, unit, value, "goal", goal, value / goal, 1, true});
}

// A kernel that another process has compiled: found on disk and loaded.
void DiskHitRow(const Backend& backend, const std::string& folder, Report* report) {
  DiskCacheOptions options;
  options.dir = folder;
  DiskCache disk(options);
  const Graph graph = Must(ParseGraph(kChain));
  const PlannedGraph planned = Must(PlanGraph(graph, Must(DenseClass(graph)), Options{}, backend));
  const KernelSource source = Must(backend.Emit(planned.plans.at(0)));
  std::vector<double> ms;
  for (int i = 0; i <= kSamples; ++i) {
    KernelCache kernels(&disk);  // with nothing in memory
    const Clock::time_point start = Clock::now();
    const CachedKernel kernel = Must(kernels.Get(source, backend));
    if (i > 0 && kernel.origin != CodeOrigin::kDisk) Fail("a kernel was not on disk");
    if (i > 0) ms.push_back(Ms(start));
  }
  AddGoal(absl::StrCat("kernel from a warm disk cache, with load, ", ToAbsl(backend.name())), "ms",
          Median(ms), 1, report);
}

void CpuRows(const std::string& folder, Report* report) {
  const Times cold = FirstResults(DeviceKind::kCpu, ""),
              warm = FirstResults(DeviceKind::kCpu, folder);
  AddGoal("process start to first fused result, cpu", "ms", cold.from_exec, 150, report);
  AddGoal("main() to first fused result, cpu, warm disk cache", "ms", warm.first, 40, report);
  report->Add({"process start to first fused result, cpu, warm disk cache", "ms", warm.from_exec,
               "", 0, 0, 0, false});
  DiskHitRow(*Must(GetBackend(DeviceKind::kCpu)), folder, report);
}

void GpuRows(const std::string& folder, Report* report) {
  const Times cold = FirstResults(DeviceKind::kCuda, ""),
              warm = FirstResults(DeviceKind::kCuda, folder);
  report->Add({"main() to a CUDA context", "ms", warm.context, "", 0, 0, 0, false});
  AddGoal("context to first fused result, cuda, warm disk cache", "ms", warm.first, 30, report);
  AddGoal("context to first fused result, cuda, cold, with NVRTC", "ms", cold.first, 150, report);
  report->Add({"process start to first fused result, cuda, warm disk cache", "ms", warm.from_exec,
               "", 0, 0, 0, false});
  report->Add({"process start to first fused result, cuda, cold, with NVRTC", "ms", cold.from_exec,
               "", 0, 0, 0, false});
  DiskHitRow(*Must(GetBackend(DeviceKind::kCuda)), folder, report);
}

int Main(int argc, char** argv) {
  const Clock::time_point start = Clock::now();
  if (argc > 3 && std::string(argv[1]) == "--first-result")
    return FirstResult(start, std::string(argv[2]) == "cuda" ? DeviceKind::kCuda : DeviceKind::kCpu,
                       std::string(argv[3]) == "found");
  constexpr const char* kUsage =
      "bench_startup [--out FILE.json]\n"
      "first results of fresh processes, kernels from disk; a GPU's rows where one is";
  if (const auto code = ExitCode(argc, argv, kUsage, {"--out"})) return *code;
  const bool gpu = jitfuse::DeviceStatus(DeviceKind::kCuda).ok();
  Report report("start-up", gpu ? absl::StrCat(GpuName(), "; ", CpuName()) : CpuName());
  std::string folder = (std::filesystem::temp_directory_path() / "jitfuse_bench_XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) Fail("no temporary folder");
  CpuRows(folder, &report);
  if (gpu) {
    GpuRows(folder, &report);
  } else {
    std::printf("no GPU was found: its rows are left out\n");
  }
  std::filesystem::remove_all(folder);
  return report.Write(Flag(argc, argv, "--out")) ? 0 : 1;
}

}  // namespace
}  // namespace jitfuse_bench

int main(int argc, char** argv) { return jitfuse_bench::Main(argc, argv); }
