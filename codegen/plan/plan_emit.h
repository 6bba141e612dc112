// PlanEmitter: the pull model of BuildPlan. Asks for values at index maps and grows the draft's
// instructions, stages and parameters.
//
// In: Emit(value, map): the element of `value` at the coordinates `map` over the draft's axes. Out:
// the instruction that holds it. Each (value, map) is emitted once; the work list is explicit, so a
// chain may be 1e5 nodes long. Values made outside the group become loads; scalars, constants and
// iotas never do. Pointwise results stay in their compute type (an f16/bf16 value is an unrounded
// f32 register); only casts and stores round. A reduction is asked for at a map over the parallel
// axes; its elements are read at that map with the inner axes in the reduced dims' places. Must not
// know: what axes will be merged, schedules.
#ifndef JITFUSE_CODEGEN_PLAN_PLAN_EMIT_H_
#define JITFUSE_CODEGEN_PLAN_PLAN_EMIT_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "codegen/plan/build_plan.h"
#include "codegen/plan/plan_draft.h"
#include "ir/graph.h"
#include "ir/reduce_program.h"

namespace jitfuse::internal {

Inst Leaf(Inst::Kind kind, DType dtype, bool elem);  // without operands

class PlanEmitter {
 public:
  // The draft must have its axes. `two_pass`: reductions that have a two-pass form use it.
  PlanEmitter(const Graph& graph, const Group& group, const EdgeLayouts& layouts, bool two_pass,
              PlanDraft* draft);

  const IndexSpace& space() const { return space_; }
  int num_axes() const { return static_cast<int>(space_.extents.size()); }
  // Coordinates along dims of extent 1 become 0, so that equal elements have equal maps.
  int Intern(Value v, IndexMap map);
  const IndexMap& map(int id) const { return maps_.at(id); }

  absl::StatusOr<int> Emit(Value v, int map);
  // The first map at which `v` was asked for, if it was.
  std::optional<int> Pulled(Value v) const;
  // Stores the value (asked for at `map`) in an output parameter.
  absl::Status Store(Value v, int map);

  // Column sums: two drafts have their emitters. The parallel axes of the second one are the places
  // of a row, its inner one the blocks of rows; there JoinColumnSums lists the sums, and pulling
  // what is made of them joins what blocks gave. Its column_sums() say what that is; the first
  // draft's emitter, whose inner axes are the places, adds each up within a block (the map's axes
  // moved to those).
  struct ColumnSums {
    Value value;
    IndexMap map;
    std::vector<jitfuse::internal::Param> blocks;  // by accumulator
  };
  void JoinColumnSums(absl::Span<const NodeId> sums) { joined_.insert(sums.begin(), sums.end()); }
  const std::vector<ColumnSums>& column_sums() const { return column_sums_; }
  absl::Status SumColumns(const ColumnSums& sums);

 private:
  using Key = std::pair<Value, int>;
  using Ask = std::vector<Key>;  // operands that are still missing

  absl::StatusOr<std::optional<int>> Step(const Key& key, Ask* ask);
  std::optional<int> Known(Value v, int map, Ask* ask);
  int Load(Value v, const IndexMap& map, const IndexSpace& space, int position = -1);
  int Param(Value v, ParamRole role, const Layout* layout);
  int Iota(const Node& node, const IndexMap& map, int position = -1);
  absl::StatusOr<std::optional<int>> Pointwise(const Node& node, int map, Ask* ask);
  absl::StatusOr<std::optional<int>> View(const Key& key, Ask* ask);
  absl::StatusOr<std::optional<int>> Join(const Key& key, Ask* ask);
  int Condition(const std::vector<IndexMask>& masks, bool reached);
  std::optional<int> OperandOf(const Node& node, int operand, int map);
  absl::StatusOr<std::optional<int>> Gather(const Key& key, Ask* ask);
  std::optional<IndexMap> PullGathered(const Node& node, int operand, int map,
                                       const IndexSpace& space, Value* base) const;
  absl::StatusOr<std::optional<int>> Segment(const Key& key, Ask* ask);
  absl::StatusOr<int> AddAccess(const Node& node, int operand, int map);
  AccessMap Access(Value v, const IndexMap& map, const IndexSpace& space);
  int InRange(int index, const SizeExpr& extent);
  absl::StatusOr<std::optional<int>> Reduce(const Key& key, Ask* ask);
  absl::StatusOr<IndexMap> ReducedElement(const Node& node, const IndexMap& at) const;
  std::vector<int> Accumulate(const Node& node, const ReduceProgram& program, int x,
                              absl::Span<const int> earlier);
  PlanReduce ReduceOf(const ReduceProgram& program, std::vector<int> lifted);
  std::vector<int> Loop(const ReduceProgram& program, std::vector<int> lifted);
  absl::StatusOr<IndexMap> SummedElement(Value v, const IndexMap& at) const;
  absl::StatusOr<int> JoinBlocks(const Key& key);
  int Position(bool trivial);
  absl::StatusOr<std::optional<int>> Scan(const Key& key, Ask* ask);
  absl::StatusOr<int> ReduceResult(const Node& node, int result, int map, int x);
  int OperandMap(const Node& node, Value operand, int map);
  absl::StatusOr<const ScalarProgram*> Body(const Node& node);
  std::vector<int> Inline(const ScalarProgram& program, absl::Span<const int> args);
  SizeExpr ReducedPoints(const Node& node) const;
  int Count(const Node& node, DType type);
  std::string Describe(Value v) const;

  const Graph& graph_;
  const EdgeLayouts& layouts_;
  bool two_pass_;
  PlanDraft& draft_;
  IndexSpace space_;
  absl::flat_hash_set<NodeId> inside_;  // nodes that are computed, not read
  Interner<IndexMap> maps_;
  absl::flat_hash_map<Key, int> memo_;
  absl::flat_hash_map<Value, int> pulled_;
  absl::flat_hash_map<std::pair<Key, int>, int> operand_maps_;  // ((node, map), operand) -> its map
  absl::flat_hash_map<NodeId, std::vector<ReduceProgram>> reduces_;
  absl::flat_hash_map<Key, std::vector<int>> passes_;  // ((node, pass), map) -> results
  absl::flat_hash_map<std::pair<Value, ParamRole>, int> params_;
  absl::flat_hash_map<Value, int> scalars_;
  absl::flat_hash_map<std::string, ScalarProgram> bodies_;
  absl::flat_hash_set<NodeId> joined_;
  std::vector<ColumnSums> column_sums_;
  int num_scratch_ = 0;
};

}  // namespace jitfuse::internal

#endif  // JITFUSE_CODEGEN_PLAN_PLAN_EMIT_H_
