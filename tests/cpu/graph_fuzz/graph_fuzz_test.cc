// Slices of the graph fuzzer: the same cases in every run, and others each day. The campaign is
// jf_fuzz (tests/graph_fuzz).
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
