// BuildPlan: from one loop or copy group to kernel plans.
//
// In: an expanded graph, a group of it, the layouts of what the group reads and writes, the target.
// Out: scheduled plans, to be run in order, ready for an emitter: one, or two where few long rows
// are reduced in chunks (split_rows.h). How: a pull model. Each output is asked
// for at an index map over the axes of the group's domain; pointwise ops inline their scalar body,
// views compose their index function into the map, reductions open stages; every (value, map) is
// made once. Then axes are collapsed and ordered, fma is formed (here and nowhere else), dead code
// dropped, and ApplySchedule picks the schedule and what is kept between stages. A legal group is
// never refused: what cannot be fast falls back (scalar access, re-reading a row) with a Note.
// Linear in the group's size; no recursion. Must not know: CUDA, LLVM, buffers.
#ifndef JITFUSE_CODEGEN_PLAN_BUILD_PLAN_H_
#define JITFUSE_CODEGEN_PLAN_BUILD_PLAN_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "codegen/fusion/group.h"
#include "codegen/plan/kernel_plan.h"
#include "codegen/target.h"
#include "ir/graph.h"

namespace jitfuse::internal {

// Layouts of the values a group reads and writes. What is not listed is contiguous and 16-byte
// aligned. The two maps differ only where a value is both, an input copied to an output of its own.
struct EdgeLayouts {
  absl::flat_hash_map<Value, Layout> reads;
  absl::flat_hash_map<Value, Layout> writes;
};

struct PlanOptions {
  int index = 0;  // of the group, for the plan's name
  int offset_bits =
      64;  // what the caller's class of calls needs, where sizes are symbolic (else it is computed)
  std::vector<int64_t>
      symbol_bounds;             // by symbol: no call has a larger value; 0 or missing: not known
  std::vector<Value> may_alias;  // input values whose buffer an output of the group may be
};

absl::StatusOr<std::vector<KernelPlan>> BuildPlan(const Graph& graph, const Group& group,
                                                  const EdgeLayouts& layouts, const Target& target,
                                                  const PlanOptions& options = {});

}  // namespace jitfuse::internal

#endif  // JITFUSE_CODEGEN_PLAN_BUILD_PLAN_H_
