// Buffer assignment: which buffer each value of a planned graph lives in, and the arena that holds
// the intermediate ones.
//
// In: a graph, its groups in execution order, the class's layouts. Out: a BufferRef per value read
// and written, scratch slots, a MemoryPlan. Graph inputs live in the caller's inputs, graph outputs
// in the caller's outputs, View groups share their operand's buffer, the rest gets a slot of the
// arena for as long as a step touches it, or lies in an output that is written later, which has the
// room (LendOutputs, once all steps are known). In a bound function groups that read bound inputs
// (or what such groups made) alone, of sizes without symbols, are computed once: their results get
// held slots, and the plan a note. FinishOutputs first appends Copy groups where an output cannot
// be written directly: a value returned twice, and a matrix product whose output buffer is not
// dense. CheckAliases refuses an output that shares its buffer with an input unless no step can see
// the difference.
#ifndef JITFUSE_JIT_BUFFERS_H_
#define JITFUSE_JIT_BUFFERS_H_

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "codegen/fusion/group.h"
#include "codegen/plan/build_plan.h"
#include "codegen/plan/kernel_plan.h"
#include "jit/call_class.h"
#include "jit/executable.h"

namespace jitfuse::internal {

class BufferMap {
 public:
  // Appends the Copy groups that outputs need to `fusion`, then gives every value its buffer.
  BufferMap(const Graph& graph, const CallClass& cls, FusionPlan* fusion);

  // What group `g` reads and writes, for BuildPlan.
  const EdgeLayouts& LayoutsOf(int g);   // valid until the next call
  BufferRef ReadRef(Value v, int step);  // notes that `step` touches it
  BufferRef WriteRef(Value v, int g, int step);
  BufferRef ScratchRef(int g, int number, const SizeExpr& bytes, int step);  // one per g and number
  bool IsOnce(int g) const { return once_[static_cast<size_t>(g)]; }
  bool IsHeld(BufferRef ref) const {  // the same in all calls
    return ref.kind == BufferRef::Kind::kHeld ||
           (ref.kind == BufferRef::Kind::kInput && cls_.IsBound(ref.index));
  }
  absl::StatusOr<std::vector<HeldSlot>> HeldSlots() const;
  // By slot: the output in which it lies from now on, or -1. Its refs have to be changed to that.
  std::vector<int> LendOutputs();
  MemoryPlan PlanArena() const { return PlanMemory(slots_); }
  // Of the arena, before LendOutputs: as large as for any layouts of outputs. A result of a call
  // that cannot be written to its output lies apart, so that it adds its own bytes and no more.
  SizeExpr MostBytes() const;
  const std::vector<LiveBuffer>& slots() const { return slots_; }

 private:
  void FinishOutputs(FusionPlan* fusion);
  void FindOnce(FusionPlan* fusion);
  bool MayRunOnce(const Group& group, const absl::flat_hash_set<Value>& held) const;
  void CollectLayouts();
  void Touch(BufferRef ref, int step);
  int NewSlot(const SizeExpr& bytes, bool holds_value);
  bool IsDense(int output) const;

  const Graph& graph_;
  const CallClass& cls_;
  absl::flat_hash_map<Value, BufferRef> refs_;  // where a value is read
  absl::flat_hash_map<int, int>
      copy_to_output_;  // group -> output number that this Copy group writes
  absl::flat_hash_map<Value, int>
      output_of_;  // value -> output number that it is written to directly
  absl::flat_hash_map<std::pair<int, int>, BufferRef> scratch_;  // by group and number
  EdgeLayouts layouts_, copy_layouts_;
  std::vector<LiveBuffer> slots_;
  std::vector<bool> holds_value_;     // by slot; else it is a group's scratch
  std::vector<int> output_written_;   // by output: the first step that touches it
  std::vector<int> dense_only_;       // outputs that are written directly, as they are dense
  absl::flat_hash_set<Value> apart_;  // what would be if its output were dense
  std::vector<bool> once_;            // by group
  std::vector<Value> held_values_;    // by held slot
  std::vector<bool> held_is_read_;    // by held slot: in calls
};

absl::Status CheckAliases(const CallClass& cls, const Executable& exe);

}  // namespace jitfuse::internal

#endif  // JITFUSE_JIT_BUFFERS_H_
