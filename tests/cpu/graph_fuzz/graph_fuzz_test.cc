// Slices of the graph fuzzer: the same cases in every run, and others each day. The campaign is
// jf_fuzz (tests/graph_fuzz).
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "tests/graph_fuzz/slice.h"

namespace jitfuse::internal {
namespace {

const std::vector<std::string> kExecutors = {"declared", "interpret", "cpu"};

TEST(GraphFuzz, CasesOfEveryRun) { EXPECT_GT(RunSlice(1, 100, 60, kExecutors), 0); }

TEST(GraphFuzz, CasesOfToday) { EXPECT_GT(RunSlice(SeedOfToday(), 1000, 4, kExecutors), 0); }

TEST(GraphFuzz, KeptCases) { RunKeptCases(kExecutors); }

// Figures of a campaign, and workers that are replaced.
TEST(GraphFuzz, Campaign) {
  Campaign campaign;
  campaign.graphs = 24;
  campaign.jobs = 3;
  campaign.quiet = true;
  campaign.executors = {"declared", "interpret"};
  const CampaignReport report = RunCampaign(campaign);
  EXPECT_EQ(report.run, 24);
  EXPECT_EQ(report.failed, 0);
  EXPECT_GT(report.held, 0.5 * report.elements);
}

// Sanitizers end a process with an exit code.
TEST(GraphFuzz, CampaignCountsEveryEndOfAWorker) {
  Campaign campaign;
  campaign.graphs = 5;
  campaign.seed = 100;
  campaign.shrink = 0;
  campaign.quiet = true;
  campaign.run_case = [](const FuzzCase& c, const std::vector<std::string>&) {
    if (c.seed == 101) _exit(23);
    if (c.seed == 103) abort();
    return Outcome();
  };
  const CampaignReport report = RunCampaign(campaign);
  EXPECT_EQ(report.run, 5);
  ASSERT_EQ(report.failures.size(), 2u);
  EXPECT_EQ(report.failures[0].seed, 101u);
  EXPECT_EQ(report.failures[0].kind, "crash");
  EXPECT_EQ(report.failures[0].text, "the process ended with exit code 23");
  EXPECT_EQ(report.failures[1].seed, 103u);
  EXPECT_NE(report.failures[1].text.find("by signal 6"), std::string::npos);
}

TEST(GraphFuzz, CampaignEndsWhereNoProcessCanBeMade) {
  Campaign campaign;
  campaign.graphs = 5;
  campaign.jobs = 3;
  campaign.quiet = true;
  campaign.fork_process = [] {
    errno = EAGAIN;
    return -1;
  };
  const CampaignReport report = RunCampaign(campaign);
  EXPECT_EQ(report.run, 0);
  ASSERT_FALSE(report.failures.empty());
  EXPECT_EQ(report.failures[0].kind, "error");
  EXPECT_NE(report.failures[0].text.find("no process could be made: Resource temporarily"),
            std::string::npos);
}

TEST(GraphFuzz, CampaignNamesWhatFails) {
  Campaign campaign;
  campaign.graphs = 2;
  campaign.quiet = true;
  campaign.executors = {"abacus"};
  const CampaignReport report = RunCampaign(campaign);
  EXPECT_EQ(report.failed, 2);
  ASSERT_EQ(report.failures.size(), 2u);
  EXPECT_EQ(report.failures[0].kind, "no back end");
  EXPECT_NE(report.failures[0].text.find("abacus"), std::string::npos);
  EXPECT_EQ(report.failures[1].command, "jf_fuzz --graphs 1 --seed 2 --executors abacus");
}

}  // namespace
}  // namespace jitfuse::internal
