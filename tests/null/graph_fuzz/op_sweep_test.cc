// The sweep of tests/support/graph_sweep misses no row of the op table: every op in every dtype of
// its domain, every pair of dtypes of a cast, every dtype that a row can be asked to give.
#include <gtest/gtest.h>

#include <bit>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ir/op_enum.h"
#include "ir/support/status.h"
#include "ir/text.h"
#include "tests/support/graph_sweep.h"

namespace jitfuse_test {
namespace {

using namespace jitfuse::internal;

struct Seen {
  std::map<Op, DTypeSet> operands;                     // what the domain speaks of
  std::map<Op, DTypeSet> results;                      // of result 0
  std::set<std::pair<DType, DType>> casts;             // from, to
  std::map<Op, std::set<std::size_t>> operand_counts;  // how many were given
};

Seen Walk(const std::vector<SweepCase>& cases) {
  Seen seen;
  for (std::size_t k = 0; k < cases.size(); ++k) {
    const absl::StatusOr<Graph> graph = ParseGraph(cases[k].text);
    EXPECT_TRUE(graph.ok()) << cases[k].name << ": " << graph.status() << "\n" << cases[k].text;
    if (!graph.ok()) continue;
    for (NodeId id = 0; id < graph->size(); ++id) {
      const Node& node = graph->node(id);
      // The domain is that of operand 0 (where: of the values; embedding: of the rows), of sources
      // that of the result.
      const std::size_t main = node.op == Op::kWhere || node.op == Op::kEmbedding ? 1 : 0;
      const DType result = node.types[0].dtype;
      const DType dtype = node.in.empty() ? result : graph->type(node.in[main]).dtype;
      seen.operands[node.op] |= Bit(dtype);
      seen.results[node.op] |= Bit(result);
      seen.operand_counts[node.op].insert(node.in.size());
      if (node.op == Op::kCast) seen.casts.insert({dtype, result});
    }
  }
  return seen;
}

std::string Names(DTypeSet set) {
  std::string out;
  for (int d = 0; d < kNumDTypes; ++d) {
    if (IsIn(static_cast<DType>(d), set))
      absl::StrAppend(&out, " ", ToAbsl(DTypeName(static_cast<DType>(d))));
  }
  return out;
}

class OpSweep : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    cases_ = new std::vector<SweepCase>(SweepCases());
    seen_ = new Seen(Walk(*cases_));
  }
  static std::vector<SweepCase>* cases_;
  static Seen* seen_;
};
std::vector<SweepCase>* OpSweep::cases_ = nullptr;
Seen* OpSweep::seen_ = nullptr;

TEST_F(OpSweep, EveryRowInEveryDTypeOfItsDomain) {
  int pairs = 0;
  for (const OpDef* def : AllOps()) {
    EXPECT_EQ(Names(def->domain & ~seen_->operands[def->op]), "") << def->name << " lacks";
    pairs += std::popcount(def->domain);
  }
  EXPECT_GE(pairs, 1000);
}

TEST_F(OpSweep, EveryCast) { EXPECT_EQ(seen_->casts.size(), 13 * 13); }

TEST_F(OpSweep, EveryDTypeThatCanBeAskedFor) {
  const std::map<Op, DTypeSet> wanted = {
      {Op::kIota, kNumeric},    {Op::kArange, kNumeric},       {Op::kEye, kAnyDType},
      {Op::kOneHot, kAnyDType}, {Op::kRandomUniform, kFloats}, {Op::kRandomNormal, kFloats},
      {Op::kLinspace, kFloats}, {Op::kCast, kAnyDType}};
  for (const OpDef* def : AllOps()) {
    if (def->FindAttr("dtype") == nullptr) continue;
    if (wanted.count(def->op) == 0) {  // a row that came later
      EXPECT_GE(std::popcount(seen_->results[def->op]), 2) << def->name;
      continue;
    }
    EXPECT_EQ(Names(wanted.at(def->op) & ~seen_->results[def->op]), "") << def->name << " lacks";
  }
}

// Operands that may be left out are given in some graph and left out in another.
TEST_F(OpSweep, OptionalOperands) {
  for (const OpDef* def : AllOps()) {
    if (def->is_variadic()) continue;
    const std::set<std::size_t>& counts = seen_->operand_counts[def->op];
    EXPECT_EQ(counts.count(static_cast<std::size_t>(def->min_arity())), 1) << def->name;
    EXPECT_EQ(counts.count(static_cast<std::size_t>(def->max_arity())), 1) << def->name;
  }
}

TEST_F(OpSweep, NamesDiffer) {
  std::set<std::string> names;
  for (const SweepCase& c : *cases_) EXPECT_TRUE(names.insert(c.name).second) << c.name;
}

}  // namespace
}  // namespace jitfuse_test
