// Cost model: what a node costs in instructions, and when computing a value again beats storing and
// reading it.
//
// In: nodes. Out: issue slots as the scalar table states them, and verdicts. The measured ground
// (docs): kernels here are bound by memory, so a few instructions per element are free,
// transcendentals per element are not when a broadcast would repeat them. Must not know: groups,
// devices.
#ifndef JITFUSE_CODEGEN_FUSION_COST_MODEL_H_
#define JITFUSE_CODEGEN_FUSION_COST_MODEL_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "ir/graph.h"

namespace jitfuse::internal {

struct OpCost {
  int insts = 1;      // issue slots
  bool dear = false;  // holds a transcendental
};

// A pointwise value together with all it is computed from, down to what lies in memory anyway.
struct Cone {
  int own = 0;              // issue slots of the node itself
  int cost = 0;             // of all
  int loads = 0;            // tensors read
  NodeId dear = -1;         // a node with a transcendental
  bool computable = false;  // from memory by pointwise ops alone, and small
};

class CostModel {
 public:
  explicit CostModel(const Graph& graph) : graph_(graph) {}
  absl::StatusOr<OpCost> Of(NodeId id);

 private:
  absl::StatusOr<OpCost> Compute(const Node& node) const;
  const Graph& graph_;
  absl::flat_hash_map<std::string, OpCost> known_;  // by op and dtypes
};

inline constexpr int kMaxConeCost = 64;
inline constexpr int kMaxLoads = 4;  // of a value that is computed again

// `times`: how often a broadcast repeats each element, or points of a join compute it in vain,
// rounded up; nullopt: unknown. `single`: the value has one element, which loops hoist. `partial`:
// there are fewer points than elements.
struct Repeats {
  std::optional<int64_t> times;
  bool single = false;
  bool partial = false;
};
// What computing `value` for each of `points` points repeats.
Repeats RepeatsOf(const SizeExpr& points, const SizeExpr& value);
// Computing it again is bearable: where the choice is between that and another kernel.
bool MayRecompute(const Cone& cone, const Repeats& repeats);
// Computing it again is better than reading it.
bool PrefersRecompute(const Cone& cone, const Repeats& repeats);
// "broadcast recomputes exp 768 times".
std::string DescribeRecompute(const Graph& graph, const Cone& cone, const Repeats& repeats);

// Few but long rows: what follows the reduction runs better in a kernel of its own, over all
// elements in parallel.
bool TailWantsOwnKernel(const SizeExpr& rows, const SizeExpr& row_elements);

}  // namespace jitfuse::internal

#endif  // JITFUSE_CODEGEN_FUSION_COST_MODEL_H_
