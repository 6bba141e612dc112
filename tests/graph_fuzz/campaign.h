// A campaign: many cases on many processes, and what comes of those that fail.
//
// Workers are forked before anything of a back end is touched, take case numbers from a shared
// counter, and are replaced when they die, by a signal or by an exit of their own (as sanitizers
// do): a crash or a hang is a failure of its case, not the end. Where no process can be made, that
// is a failure too. A failure is shrunk in a process of its own and written as a .jf file, with the
// one command that runs it again. Out: a report in figures. Must not know: how cases are made or
// compared.
#ifndef JITFUSE_TESTS_GRAPH_FUZZ_CAMPAIGN_H_
#define JITFUSE_TESTS_GRAPH_FUZZ_CAMPAIGN_H_

#include <unistd.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tests/graph_fuzz/fuzz_case.h"
#include "tests/graph_fuzz/run_case.h"

namespace jitfuse::internal {

struct Campaign {
  uint64_t seed = 1;  // of the first case; the next ones follow
  int64_t graphs = 1000;
  double seconds = 0;  // no case is begun after that; 0: no limit
  int jobs = 1;
  std::vector<std::string> executors = {"declared", "interpret", "cpu"};
  int shrink = 5;              // failures that are shrunk
  double shrink_seconds = 60;  // for each
  double case_seconds = 120;   // until a case counts as hanging
  std::string out = ".";       // folder of the .jf files
  bool quiet = false;
  // What runs a case, and what makes a process: others in tests of the campaign itself.
  std::function<Outcome(const FuzzCase&, const std::vector<std::string>&)> run_case = RunCase;
  std::function<int()> fork_process = [] { return static_cast<int>(fork()); };
};

struct CampaignFailure {
  uint64_t seed = 0;
  std::string kind, text, file, command;
};
struct CampaignReport {
  int64_t run = 0, failed = 0;
  double elements = 0, held = 0, seconds = 0;
  std::vector<CampaignFailure> failures;  // the first of them
};

CampaignReport RunCampaign(const Campaign& campaign);

// Shrinks a case that fails on these executors and writes it to `out`; fills file and command.
// in_child: in a process of its own, which a process that has used a GPU must not ask for.
void ShrinkAndWrite(const FuzzCase& c, const Campaign& campaign, CampaignFailure* failure,
                    bool in_child = true);

}  // namespace jitfuse::internal

#endif  // JITFUSE_TESTS_GRAPH_FUZZ_CAMPAIGN_H_
