// Every known chain (bench/common/known_chains.h) is planned as few kernels as it can be, for a GPU
// and for a CPU, or says why not; and what is counted of a plan is what a call launches and moves.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "absl/strings/str_cat.h"
#include "api/runtime.h"
#include "bench/common/plan_chain.h"
#include "ir/support/status.h"
#include "ir/text.h"
#include "tests/test_util/golden.h"

namespace jitfuse_bench {
namespace {

using namespace jitfuse::internal;  // NOLINT: a test of the inside

bool Has(const PlannedChain& plan, const char* note) {
  return std::find(plan.notes.begin(), plan.notes.end(), note) != plan.notes.end();
}

TEST(KnownChains, AreAtTheirLeastNumberOfKernelsOrSayWhyNot) {
  ASSERT_GE(KnownChains().size(), 40u);
  for (const KnownChain& chain : KnownChains()) {
    auto gpu = PlanChain(chain, "sm_90"), cpu = PlanChain(chain, "x86-64-v3");
    ASSERT_TRUE(gpu.ok()) << chain.name << ": " << gpu.status();
    ASSERT_TRUE(cpu.ok()) << chain.name << ": " << cpu.status();
    const int expected = chain.kernels == 0 ? chain.least : chain.kernels;
    EXPECT_EQ(gpu->moved.kernels, expected) << chain.name << "\n" << gpu->text;
    EXPECT_EQ(cpu->moved.kernels, chain.least) << chain.name << "\n" << cpu->text;
    // What is above the least, or one block's work, or read twice, is remarked on; nothing else is.
    const bool odd =
        expected > chain.least || Has(*gpu, "few_long_rows") || Has(*gpu, "row_reread");
    EXPECT_EQ(odd, *chain.remark != 0) << chain.name << "\n" << gpu->text;
    // A loss that is one op of the list may be two kernels, with a value of each row between.
    EXPECT_LE(gpu->moved.bytes, gpu->unfused_bytes + gpu->unfused_bytes / 100) << chain.name;
  }
}

absl::StatusOr<Moved> MovedByText(std::string_view text, const std::string& arch) {
  JF_ASSIGN_OR_RETURN(Graph graph, ParseGraph(text));
  JF_ASSIGN_OR_RETURN(const DensePlan plan, PlanDense(graph, arch));
  return plan.moved;
}

TEST(MovedBy, ChunksOfALongRowAreASecondKernelAndTheirResultsMove) {
  auto moved = MovedByText(
      "graph f(%x: f32[67108864]) -> (f32[]) { %0 = sum(%x) : f32[] return %0 }", "sm_90");
  ASSERT_TRUE(moved.ok()) << moved.status();
  EXPECT_EQ(moved->kernels, 2);
  EXPECT_EQ(moved->once_bytes, 67108864 * 4 + 4);
  EXPECT_EQ(moved->chunk_bytes, 2 * 512 * 4) << "512 chunks: written, read";
  EXPECT_EQ(moved->reread_bytes, 0);
  EXPECT_EQ(moved->bytes, moved->once_bytes + moved->chunk_bytes);
}

TEST(MovedBy, RowsThatDoNotFitAreReadAsOftenAsStagesReadThem) {
  auto moved = MovedByText(
      "graph f(%x: f32[512,65536]) -> (f32[512,65536]) { %0 = softmax(%x) {axis=1} : "
      "f32[512,65536] "
      "return %0 }",
      "sm_90");
  ASSERT_TRUE(moved.ok()) << moved.status();
  EXPECT_EQ(moved->kernels, 1);
  EXPECT_EQ(moved->once_bytes, 2 * 512 * 65536 * 4);
  EXPECT_EQ(moved->reread_bytes, 512 * 65536 * 4) << "online: max and sum in one reading";
}

TEST(MovedBy, WeightsOfAllRowsAreReadOnce) {
  auto moved = MovedByText(
      "graph f(%x: f32[512,65536], %w: f32[65536], %b: f32[65536]) -> (f32[512,65536]) {\n"
      "%0 = layer_norm(%x, %w, %b) {norm_dims=1, eps=1e-05} : f32[512,65536]\nreturn %0\n}",
      "sm_90");
  ASSERT_TRUE(moved.ok()) << moved.status();
  EXPECT_EQ(moved->once_bytes, 2 * 512 * 65536 * 4 + 2 * 65536 * 4);
  EXPECT_EQ(moved->reread_bytes % (512 * 65536 * 4), 0);
  EXPECT_GT(moved->reread_bytes, 0);
}

TEST(MovedBy, EveryKernelOfASortCounts) {
  const char* text =
      "graph f(%x: f32[10,16], %i: i64[1000], %s: f32[1000,16]) -> (f32[10,16]) {\n"
      "%0 = index_add(%x, %i, %s) {axis=0} : f32[10,16]\nreturn %0\n}";
  auto gpu = MovedByText(text, "sm_90"), cpu = MovedByText(text, "x86-64-v3");
  ASSERT_TRUE(gpu.ok()) << gpu.status();
  ASSERT_TRUE(cpu.ok()) << cpu.status();
  EXPECT_EQ(cpu->kernels, 2) << "the sort, and the sums";
  EXPECT_EQ(gpu->kernels, 7) << "keys, three for one digit of four bits, order, bounds; the sums";
  EXPECT_EQ(gpu->chunk_bytes, 1000 * 8 * (2 + 5 + 2));
}

TEST(KnownChains, AllHaveTorchsCounts) {
  std::ifstream file(TestDataPath("bench/results/torch_chains.json"));
  const nlohmann::json torch = nlohmann::json::parse(file, nullptr, false);
  ASSERT_TRUE(torch.is_object()) << "python3 bench/torch_chains.py writes it";
  std::set<std::string> theirs, ours;
  for (const auto& row : torch.at("rows")) {
    theirs.insert(row.at("name"));
    EXPECT_GE(row.at("kernels"), 1) << row;
    EXPECT_GT(row.at("bytes"), 0) << row;
  }
  // Those of backward passes were not counted yet when the file was made.
  for (const KnownChain& chain : KnownChains()) {
    if (theirs.contains(chain.name) ||
        std::string_view(chain.name).find("backward") == std::string_view::npos)
      ours.insert(chain.name);
  }
  EXPECT_EQ(theirs, ours);
}

}  // namespace
}  // namespace jitfuse_bench
