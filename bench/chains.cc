// Kernels and bytes of the chains that people fuse by hand, as planned; nothing is compiled or run.
//
//   bench_chains [--out FILE.json] [--explain NAME]
//
// Beside each: one kernel an op, as an eager framework runs it that has a kernel for every op of
// the list (torch has none for some, and then starts more). n is 1000.
#include <cstdio>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/known_chains.h"
#include "common/plan_chain.h"
#include "common/report.h"

namespace jitfuse_bench {
namespace {

int Main(int argc, char** argv) {
  constexpr const char* kUsage =
      "bench_chains [--out FILE.json] [--explain NAME]\n"
      "kernels and bytes of known chains, as planned for sm_90; needs no GPU";
  if (const auto code = ExitCode(argc, argv, kUsage, {"--out", "--explain"})) return *code;
  const std::string only = Flag(argc, argv, "--explain");
  Report report("kernels and bytes of known chains", "any machine; planned for sm_90, n = 1000");
  int above = 0;
  for (const KnownChain& chain : KnownChains()) {
    auto plan = PlanChain(chain, "sm_90");
    if (!plan.ok()) {
      std::fprintf(stderr, "bench_chains: %s: %s\n", chain.name,
                   std::string(plan.status().message()).c_str());
      return 1;
    }
    if (!only.empty()) {
      if (only == chain.name) std::printf("%s\n", plan->text.c_str());
      continue;
    }
    above += plan->kernels > chain.least;
    report.Add({absl::StrCat(chain.name, ": kernels"), "kernels", 1.0 * plan->kernels,
                "one kernel an op", 1.0 * plan->ops, 1.0 * plan->kernels / chain.least, 1, true});
    const double mib = 1024 * 1024;
    report.Add(
        {absl::StrCat(chain.name, ": bytes moved"), "MiB", static_cast<double>(plan->bytes) / mib,
         "one kernel an op", static_cast<double>(plan->unfused_bytes) / mib,
         static_cast<double>(plan->bytes) / static_cast<double>(plan->unfused_bytes), 0, true});
  }
  if (only.empty())
    std::printf("%zu chains, %d above their least number of kernels\n", KnownChains().size(),
                above);
  return report.Write(Flag(argc, argv, "--out")) ? 0 : 1;
}

}  // namespace
}  // namespace jitfuse_bench

int main(int argc, char** argv) { return jitfuse_bench::Main(argc, argv); }
