// The graph fuzzer's cases by Expand, Partition, BuildPlan and the plan interpreter, which must
// stay within the evaluator's error bounds for several targets and budgets (rows kept or read
// again, two passes or one, vectors or not, one kernel per op). A failure prints the case as text.
#include "ir/eval.h"
#include "tests/graph_fuzz/run_case.h"
#include "tests/test_util/run_plan.h"

namespace jitfuse::internal {
namespace {

struct Setting {
  std::string name;
  Target target;
  Options options;
};

std::vector<Setting> Settings() {
  std::vector<Setting> out;
  for (std::string_view arch : {"interpret", "sm_90", "x86-64-v3"}) {
    for (int64_t kept : {int64_t{1} << 17, int64_t{64}}) {
      Setting s{absl::StrCat(ToAbsl(arch), " keeping ", kept), *TargetFor(arch), {}};
      s.target.max_row_bytes_kept = kept;
      out.push_back(s);
    }
  }
  out.push_back({"one kernel per op", *TargetFor("sm_90"), {}});
  out.back().options.fuse = false;
  out.push_back({"small budgets", *TargetFor("sm_90"), {}});
  out.back().target.max_params = 4;
  out.back().target.max_insts = 12;
  return out;
}

void RunSeed(uint64_t seed) {
  const FuzzCase c = MakeCase(seed);
  absl::StatusOr<std::vector<FuzzCall>> calls = PrepareCalls(c);
  ASSERT_TRUE(calls.ok()) << calls.status() << "\n" << CaseToText(c);
  const FuzzCall& call = calls->front();
  std::vector<HostTensor> inputs;
  for (const FuzzTensor& t : call.inputs) inputs.push_back(t.logical);
  for (const Setting& s : Settings()) {
    absl::StatusOr<std::vector<HostTensor>> got =
        RunGraphByPlans(c.graph, inputs, s.target, s.options);
    ASSERT_TRUE(got.ok()) << "seed " << seed << ", " << s.name << "\n"
                          << got.status() << "\n"
                          << CaseToText(c);
    for (size_t o = 0; o < got->size(); ++o) {
      CompareResult r = Compare(call.expect[o], (*got)[o]);
      ASSERT_TRUE(r.ok) << "seed " << seed << ", " << s.name << ", output " << o << "\n"
                        << r.text << "\n"
                        << CaseToText(c);
    }
  }
}

TEST(RandomGraphs, PlansAgreeWithTheEvaluator) {
  const char* wanted = std::getenv("JITFUSE_SEED");  // one seed alone, to look at a failure
  const char* count = std::getenv("JITFUSE_SEEDS");
  if (wanted != nullptr) return RunSeed(std::stoull(wanted));
  const uint64_t seeds = count != nullptr ? std::stoull(count) : 100;
  for (uint64_t seed = 0; seed < seeds && !HasFatalFailure(); ++seed) RunSeed(seed);
}

}  // namespace
}  // namespace jitfuse::internal
