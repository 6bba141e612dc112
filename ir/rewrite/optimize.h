// Optimize: folding, common subexpressions, dead code and exact canonical forms, to a fixpoint.
//
// In: any valid graph (expanded or not). Out: an equivalent graph with the same name, symbols,
// guards, inputs (all of them, also unused ones) and outputs, whose every result is the same bit
// for bit (NaN payloads apart). If every pointwise operand had its node's shape before, it has so
// after. Time is near-linear: at most kMaxPasses passes, kMaxRewritesPerNode rule hits a node. The
// rules are data: ir/rewrite/rule.h. Must not know: hardware, cost, groups.
#ifndef JITFUSE_IR_REWRITE_OPTIMIZE_H_
#define JITFUSE_IR_REWRITE_OPTIMIZE_H_

#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "ir/graph.h"

namespace jitfuse::internal {

inline constexpr int kMaxPasses = 8;
inline constexpr int kMaxRewritesPerNode = 16;

struct OptimizeStats {
  int passes = 0;
  int commuted = 0;  // f(y, x) replaced by an f(x, y) that was there
  absl::flat_hash_map<std::string_view, int> fired;  // by rule name
};

absl::StatusOr<Graph> Optimize(const Graph& graph, OptimizeStats* stats = nullptr);

}  // namespace jitfuse::internal

#endif  // JITFUSE_IR_REWRITE_OPTIMIZE_H_
