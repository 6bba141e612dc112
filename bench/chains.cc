// Kernels and bytes of the chains that people fuse by hand, as planned; nothing is compiled or run.
//
//   bench_chains [--out FILE.json] [--torch FILE.json] [--explain NAME]
//
// Beside each: one kernel an op, as an eager framework runs it that has a kernel for every op of
// the list, and what torch's eager mode does (bench/results/torch_chains.json, which
// bench/torch_chains.py writes). A kernel is a launch, bytes are those of common/plan_chain.h. n
// is 1000.
#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/built_from.h"
#include "common/known_chains.h"
#include "common/plan_chain.h"
#include "common/report.h"

namespace jitfuse_bench {
namespace {

struct Eager {
  std::string made_by;  // which torch, on what; empty: the file was not found
  std::map<std::string, std::pair<int, double>> chains;  // kernels, bytes
};

Eager ReadEager(const std::string& path) {
  Eager out;
  std::ifstream file(path);
  const nlohmann::json read = nlohmann::json::parse(file, nullptr, false);
  if (!read.is_object()) return out;
  for (const auto& row : read.value("rows", nlohmann::json::array()))
    out.chains[row.value("name", "")] = {row.value("kernels", 0), row.value("bytes", 0.0)};
  out.made_by = absl::StrCat("torch ", read.value("torch", "?"), ", ", read.value("device", "?"));
  return out;
}

constexpr double kMiB = 1024 * 1024;

void AddChain(const KnownChain& chain, const PlannedChain& gpu, const PlannedChain& cpu,
              const Eager& eager, Report* report) {
  std::vector<Cell> cells = {chain.name,
                             gpu.moved.kernels,
                             cpu.moved.kernels,
                             chain.least,
                             gpu.ops,
                             static_cast<double>(gpu.moved.bytes) / kMiB,
                             static_cast<double>(cpu.moved.bytes) / kMiB,
                             static_cast<double>(gpu.unfused_bytes) / kMiB};
  const auto found = eager.chains.find(chain.name);
  if (found == eager.chains.end()) {
    cells.insert(cells.begin() + 5, "-");
    cells.emplace_back("-");
  } else {
    cells.insert(cells.begin() + 5, found->second.first);
    cells.emplace_back(found->second.second / kMiB);
  }
  cells.emplace_back(absl::StrCat(absl::StrJoin(gpu.notes, ", "),
                                  gpu.notes.empty() || *chain.remark == 0 ? "" : ": ",
                                  chain.remark));
  report->AddCells(std::move(cells));
}

int Main(int argc, char** argv) {
  constexpr const char* kUsage =
      "bench_chains [--out FILE.json] [--torch FILE.json] [--explain NAME]\n"
      "kernels and bytes of known chains, as planned, beside torch's eager mode; needs no GPU";
  if (const auto code = ExitCode(argc, argv, kUsage, {"--out", "--torch", "--explain"}))
    return *code;
  const std::string only = Flag(argc, argv, "--explain");
  const std::string torch =
      Flag(argc, argv, "--torch", absl::StrCat(DataDir(), "/bench/results/torch_chains.json"));
  const Eager eager = ReadEager(torch);
  Report report("kernels and bytes of known chains",
                absl::StrCat("any machine; planned for sm_90 and x86-64-v3, n = 1000; eager: ",
                             eager.made_by.empty() ? "not found" : eager.made_by));
  if (only.empty())
    report.SetColumns({"chain", "kernels", "on a CPU", "least", "one an op", "torch eager", "MiB",
                       "MiB, CPU", "MiB, one an op", "MiB, torch eager", "notes"});
  int above = 0;
  for (const KnownChain& chain : KnownChains()) {
    if (!only.empty() && only != chain.name) continue;
    auto gpu = PlanChain(chain, "sm_90"), cpu = PlanChain(chain, "x86-64-v3");
    for (const auto* plan : {&gpu, &cpu}) {
      if (plan->ok()) continue;
      std::fprintf(stderr, "bench_chains: %s: %s\n", chain.name,
                   std::string(plan->status().message()).c_str());
      return 1;
    }
    if (!only.empty()) {
      std::printf("%s%s%s\n", gpu->text.c_str(), *chain.remark != 0 ? "remark: " : "",
                  chain.remark);
      return 0;
    }
    above += gpu->moved.kernels > chain.least;
    AddChain(chain, *gpu, *cpu, eager, &report);
  }
  if (!only.empty()) {
    std::fprintf(stderr, "bench_chains: no chain is named \"%s\"\n", only.c_str());
    return 1;
  }
  std::printf("%zu chains, on a GPU %d above their least number of kernels\n", KnownChains().size(),
              above);
  if (eager.made_by.empty())
    std::printf("torch's eager mode: %s was not found; python3 bench/torch_chains.py --out FILE\n",
                torch.c_str());
  return report.Write(Flag(argc, argv, "--out")) ? 0 : 1;
}

}  // namespace
}  // namespace jitfuse_bench

int main(int argc, char** argv) { return jitfuse_bench::Main(argc, argv); }
