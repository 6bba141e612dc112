// jf_fuzz: random graphs of the whole op table on every executor, against the reference evaluator.
//
//   jf_fuzz --graphs 200000 --jobs 16                      declared evaluator, interpreter, CPU
//   jf_fuzz --graphs 20000 --backend cuda --jobs 16        the GPU
//   jf_fuzz --replay fuzz_17.jf --executors cpu            one case again
// Case i has seed S + i. A failure is shrunk to fuzz_<seed>.jf in --out, and the command that runs
// it is printed. Exit status: 0 if all agree, 1 if not, 2 for a wrong command line.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <thread>

#include "absl/strings/str_split.h"
#include "tests/graph_fuzz/campaign.h"

namespace {

using namespace jitfuse::internal;

int Replay(const std::string& path, const std::vector<std::string>& executors) {
  std::ifstream file(path);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  absl::StatusOr<FuzzCase> c = ParseCase(text);
  if (!file || !c.ok()) {
    std::fprintf(stderr, "jf_fuzz: %s: %s\n", path.c_str(),
                 file ? c.status().ToString().c_str() : "cannot be read");
    return 2;
  }
  int status = 0;
  for (const std::string& executor : executors) {
    const Outcome o = RunCase(*c, {executor});
    std::printf("%s: %s%s%s\n", executor.c_str(), std::string(VerdictName(o.verdict)).c_str(),
                o.text.empty() ? "" : ", ", o.text.c_str());
    if (o.verdict != Verdict::kOk) status = 1;
  }
  return status;
}

int Run(const Campaign& campaign) {
  const CampaignReport report = RunCampaign(campaign);
  for (const CampaignFailure& f : report.failures) {
    std::printf("seed %llu: %s, %s\n  %s\n", static_cast<unsigned long long>(f.seed),
                f.kind.c_str(), f.text.c_str(), f.command.c_str());
  }
  std::printf(
      "%lld graphs, %lld failed; %.1f s, %.1f graphs/s on %d processes; %.0f result elements, "
      "%.1f%% of them held to a finite bound\n",
      static_cast<long long>(report.run), static_cast<long long>(report.failed), report.seconds,
      static_cast<double>(report.run) / report.seconds, campaign.jobs, report.elements,
      report.elements > 0 ? 100 * report.held / report.elements : 100.0);
  return report.failed == 0 && report.run > 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Random graphs on every executor, against the reference evaluator.", "jf_fuzz");
  Campaign campaign;
  campaign.jobs = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  std::string replay, executors, backend = "cpu";
  bool print = false;
  app.add_option("--graphs", campaign.graphs, "how many")->check(CLI::Range(1, 1000000000));
  app.add_option("--seed", campaign.seed, "of the first graph");
  app.add_option("--backend", backend, "cpu (with the declared evaluator and the interpreter)")
      ->check(CLI::IsMember({"cpu", "cuda", "interpret"}));
  app.add_option("--executors", executors,
                 "in place of --backend: declared,interpret,cpu,cuda,nvrtc (compiles alone)");
  app.add_option("--jobs", campaign.jobs, "processes")->check(CLI::Range(1, 256));
  app.add_option("--seconds", campaign.seconds, "begin no graph after that");
  app.add_option("--shrink", campaign.shrink, "failures that are shrunk");
  app.add_option("--shrink-seconds", campaign.shrink_seconds, "for each of them");
  app.add_option("--out", campaign.out, "folder for .jf files of failures");
  app.add_option("--replay", replay, "a .jf file of a failure");
  app.add_flag("--print", print, "the graphs, without running them");
  CLI11_PARSE(app, argc, argv);
  setenv("JITFUSE_VERIFY", "1", 1);  // plans are verified too
  if (!executors.empty()) {
    campaign.executors = absl::StrSplit(executors, ',');
  } else if (backend != "cpu") {
    campaign.executors = {backend};
  }
  if (!replay.empty()) return Replay(replay, campaign.executors);
  if (print) {
    for (int64_t i = 0; i < campaign.graphs; ++i)
      std::printf("%s\n", CaseToText(MakeCase(campaign.seed + static_cast<uint64_t>(i))).c_str());
    return 0;
  }
  return Run(campaign);
}
