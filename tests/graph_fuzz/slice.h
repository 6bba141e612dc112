// A slice of the graph fuzzer as a test: cases one after the other in this process.
//
// In: the first seed, how many cases or how many seconds, executors. Out: gtest failures that hold
// what went wrong, the shrunk case and the command that runs it again.
#ifndef JITFUSE_TESTS_GRAPH_FUZZ_SLICE_H_
#define JITFUSE_TESTS_GRAPH_FUZZ_SLICE_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/graph_fuzz/campaign.h"
#include "tests/test_util/golden.h"

namespace jitfuse::internal {

// At most `graphs` cases, none begun after `seconds`; says how many it were.
inline int RunSlice(uint64_t seed, int graphs, double seconds,
                    const std::vector<std::string>& executors) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  int done = 0, failed = 0;
  for (; done < graphs && failed < 3; ++done) {
    if (std::chrono::duration<double>(Clock::now() - start).count() > seconds) break;
    const FuzzCase c = MakeCase(seed + static_cast<uint64_t>(done));
    const Outcome outcome = RunCase(c, executors);
    if (outcome.verdict == Verdict::kOk) continue;
    ++failed;
    Campaign campaign;
    campaign.executors = executors;
    campaign.out = testing::TempDir();
    campaign.shrink_seconds = 20;
    CampaignFailure failure{c.seed, std::string(VerdictName(outcome.verdict)), outcome.text, "",
                            ""};
    ShrinkAndWrite(c, campaign, &failure, /*in_child=*/false);
    ADD_FAILURE() << "seed " << c.seed << ": " << failure.kind << ", " << failure.text << "\n"
                  << "shrunk: " << failure.file << "; again: " << failure.command << "\n"
                  << CaseToText(c);
  }
  return done;
}

// Another one each day: 20261128 000.
inline uint64_t SeedOfToday() {
  const std::time_t now = std::time(nullptr);
  std::tm day{};
  gmtime_r(&now, &day);
  return static_cast<uint64_t>((day.tm_year + 1900) * 10000 + (day.tm_mon + 1) * 100 +
                               day.tm_mday) *
         1000000;
}

// Cases that once failed, shrunk. Their head comments say how.
inline void RunKeptCases(const std::vector<std::string>& executors) {
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
    const Outcome outcome = RunCase(*c, executors);
    EXPECT_EQ(outcome.verdict, Verdict::kOk) << outcome.text;
    ++kept;
  }
  EXPECT_GE(kept, 10);
}

}  // namespace jitfuse::internal

#endif  // JITFUSE_TESTS_GRAPH_FUZZ_SLICE_H_
