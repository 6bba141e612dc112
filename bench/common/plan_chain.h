// A known chain, planned: how many kernels it becomes, what they move, and what explain() has to
// say of them.
//
// In: a chain and the architecture to plan for. Out: counts and the plan as text, or the status of
// the builder or the planner. A kernel is a launch: each planned kernel is one (few long rows that
// are reduced in chunks are two), each kernel of a sort is, and a matrix product is one call of its
// library. Bytes are what crosses the border of a kernel: inputs and outputs once per kernel, what
// kernels of a group pass to each other written and read, rows that do not fit on chip as often as
// they are read. Nothing is compiled; no GPU and no library is needed.
#ifndef JITFUSE_BENCH_COMMON_PLAN_CHAIN_H_
#define JITFUSE_BENCH_COMMON_PLAN_CHAIN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/common/known_chains.h"
#include "ir/graph.h"
#include "jit/call_class.h"
#include "jit/compile.h"

namespace jitfuse_bench {

inline constexpr int64_t kChainRows = 1000;  // every symbol's value

// The class of a call with every symbol kChainRows, everything dense and aligned.
absl::StatusOr<jitfuse::internal::CallClass> DenseClass(const jitfuse::internal::Graph& graph);

// What planned groups launch and move, for `symbols` of the class.
struct Moved {
  int kernels = 0;
  int64_t bytes = 0;         // all that is below
  int64_t once_bytes = 0;    // each group's inputs and outputs, once
  int64_t chunk_bytes = 0;   // between the kernels of a group: written and read
  int64_t reread_bytes = 0;  // rows that are read again
};
Moved MovedBy(const jitfuse::internal::PlannedGraph& planned, absl::Span<const int64_t> symbols,
              bool gpu);

struct PlannedChain {
  Moved moved;
  int ops = 0;                     // of the graph as written, views left out
  int64_t unfused_bytes = 0;       // one kernel an op
  std::vector<std::string> notes;  // reason codes of fallbacks and of borders inside, each once
  std::string text;                // groups and their borders
};

// `arch`: "sm_90", "x86-64-v3".
// A dense call of `graph`, planned for `arch`.
struct DensePlan {
  jitfuse::internal::PlannedGraph planned;
  Moved moved;
};
absl::StatusOr<DensePlan> PlanDense(const jitfuse::internal::Graph& graph, const std::string& arch);

absl::StatusOr<PlannedChain> PlanChain(const KnownChain& chain, const std::string& arch);

}  // namespace jitfuse_bench

#endif  // JITFUSE_BENCH_COMMON_PLAN_CHAIN_H_
