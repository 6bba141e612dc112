// Slices of the graph fuzzer: the same cases in every run, and others each day. The campaign is
// jf_fuzz (tests/graph_fuzz).
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/graph_fuzz/slice.h"
#include "tests/test_util/golden.h"

namespace jitfuse::internal {
namespace {

const std::vector<std::string> kExecutors = {"declared", "interpret", "cpu"};

TEST(GraphFuzz, CasesOfEveryRun) { EXPECT_GT(RunSlice(1, 100, 60, kExecutors), 0); }

TEST(GraphFuzz, CasesOfToday) { EXPECT_GT(RunSlice(SeedOfToday(), 1000, 4, kExecutors), 0); }

// Cases that once failed, shrunk. Their head comments say how.
TEST(GraphFuzz, KeptCases) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry :
       std::filesystem::directory_iterator(TestDataPath("tests/graph_fuzz/kept")))
    paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  int kept = 0;
  for (const std::filesystem::path& path : paths) {
    SCOPED_TRACE(path);
    std::ifstream file(path);
    const std::string text((std::istreambuf_iterator<char>(file)),
                           std::istreambuf_iterator<char>());
    absl::StatusOr<FuzzCase> c = ParseCase(text);
    ASSERT_TRUE(c.ok()) << c.status();
    const Outcome outcome = RunCase(*c, kExecutors);
    EXPECT_EQ(outcome.verdict, Verdict::kOk) << outcome.text;
    ++kept;
  }
  EXPECT_GE(kept, 9);
}

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
