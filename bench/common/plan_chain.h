// A known chain, planned: how many kernels it becomes and what they move.
//
// In: a chain and the architecture to plan for. Out: counts and the plan as text, or the status of
// the builder or the planner. Nothing is compiled; no GPU and no library is needed.
#ifndef JITFUSE_BENCH_COMMON_PLAN_CHAIN_H_
#define JITFUSE_BENCH_COMMON_PLAN_CHAIN_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "bench/common/known_chains.h"
#include "ir/graph.h"
#include "jit/call_class.h"

namespace jitfuse_bench {

inline constexpr int64_t kChainRows = 1000;  // every symbol's value

// The class of a call with every symbol kChainRows, everything dense and aligned.
absl::StatusOr<jitfuse::internal::CallClass> DenseClass(const jitfuse::internal::Graph& graph);

struct PlannedChain {
  int kernels = 0;    // chunks of rows and what joins them count as one
  int ops = 0;        // of the graph as written, views left out
  int64_t bytes = 0;  // each kernel's inputs and outputs, once
  int64_t unfused_bytes = 0;
  std::string text;  // groups and their borders
};

// `arch`: "sm_90", "x86-64-v3".
absl::StatusOr<PlannedChain> PlanChain(const KnownChain& chain, const std::string& arch);

}  // namespace jitfuse_bench

#endif  // JITFUSE_BENCH_COMMON_PLAN_CHAIN_H_
