// Sweep: the state of partitioning, and its steps.
//
// Forward(): nodes in graph order. Every group has a level: one more than the highest level of what
// it reads. A node joins the groups of its operands that lie on the highest level among them, which
// may merge with each other there; all else it reads from memory or computes again (a clone) where
// that is cheap. Groups read lower levels only, so no cycle can arise, and no path has to be
// searched.
//
// part of it (relu(x) + matmul). Siblings(): groups of one level that read the same tensor element
// by element become one, and those that read slices of a library's result over equal domains.
// Finish(): dead code goes, groups that pass a budget are split, then Group values, boundaries and
// notes are written. A node is a member of one group (its home), where it sits in a Frame one to
// one with the domain or its rows, so that it can be stored; a clone sits anywhere. Invariant of a
// group: whatever its nodes read of the group itself exists there at exactly the map it is read at.
// Work is linear in nodes and operands, but for merges, where the smaller side moves. Files:
// sweep.cc (forward), join.cc (may a node join), merge.cc, trace.cc (what is needed, who reads
// what), finish.cc, boundaries.cc.
#ifndef JITFUSE_CODEGEN_FUSION_SWEEP_H_
#define JITFUSE_CODEGEN_FUSION_SWEEP_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "codegen/fusion/cost_model.h"
#include "codegen/fusion/gemm_epilogue.h"
#include "codegen/fusion/gemm_match.h"
#include "codegen/fusion/partition.h"
#include "codegen/fusion/relation.h"
#include "codegen/fusion/view_chain.h"

namespace jitfuse::internal {

using Maps = absl::InlinedVector<IndexMap, 1>;

// A group in the making.
struct WorkGroup {
  GroupKind kind = GroupKind::kLoop;
  int level = 1;
  bool gone = false;  // merged into another one
  Shape domain;
  std::vector<int> reduce_axes;  // without extents of 1, unless there are only those
  bool reduces = false;
  bool segments = false;  // holds a sum of segments
  std::vector<Frame> frames;
  std::vector<NodeId> members;
  absl::flat_hash_map<NodeId, Maps> clones;
  absl::flat_hash_set<Value> reads;  // bases read from memory
  int outputs = 0;                   // members known to be stored
  int insts = 0;
  int live = 0;  // members with readers still to come, at the point the sweep has reached
  int peak = 0;  // the most there were
  std::optional<GemmCall> gemm;
  std::optional<SortCall> sort;
  std::vector<Value> call_operands;  // kGemm: {A, B, C and bias if any}; kSort: {indices}
  std::vector<Note> notes;
};

struct Operand {
  Value value;             // as the node reads it
  Value base;              // beneath its views
  const ViewChain* chain;  // from value to base; null if they are the same
  // A join, gather or segment sum that reads it as its operand `index`, at coordinates of its own;
  // -1: at those of the reader.
  NodeId via = -1;
  int index = 0;
  bool gathered = false;  // IsGathered: read from memory at positions of its own

  // Whether it is read where its reader sits, views aside.
  bool plain() const { return via < 0; }
};

// A node that looks for a group: it iterates over `shape` and reads `operands` there. Copies
// (stored views) are nodes too.
struct Ask {
  NodeId node = -1;
  Shape shape;
  absl::InlinedVector<Operand, 3> operands;
  std::vector<int64_t> axes;  // reduced dims of shape
  bool reduces = false;
  bool scans = false;  // a reduction whose results sit where its elements do
  bool segments = false;
  int insts = 0;
};

// `from` becomes part of `into`: its frames as seen from the other domain.
struct MergePlan {
  int from = -1;
  IndexMap map, inverse;  // from's domain coordinates by into's axes, and back
  std::vector<Frame> frames;
  absl::flat_hash_map<NodeId, Maps> clones;
  std::vector<int> reduce_axes;  // of into, afterwards
  bool reduces = false;
};

struct JoinPlan {
  int group = -1;
  Frame frame;                  // of the node's iteration
  std::optional<Frame> result;  // of a reduction's results
  bool reroot = false;          // the domain becomes the ask's shape
  std::vector<Frame> rerooted;  // the group's frames in it
  absl::flat_hash_map<NodeId, Maps> rerooted_clones;
  std::vector<int> reduce_axes;
  std::vector<std::pair<NodeId, IndexMap>> clones;
  std::vector<Value> reads;
  std::vector<MergePlan> merges;
};

class Sweep {
 public:
  Sweep(const Graph& graph, const Target& target, const Options& options,
        const GemmLibrary& library, absl::Span<const Layout> input_layouts);
  absl::StatusOr<FusionPlan> Run();

 private:
  // -- sweep.cc
  absl::Status Prepare();
  void PrepareEpilogues();
  bool IsStoredView(NodeId id) const;
  absl::Status Forward();
  absl::Status Visit(NodeId id);
  void PassReaders(NodeId id);
  absl::StatusOr<Ask> MakeAsk(NodeId id);
  absl::Status Place(NodeId id);
  std::vector<int> Candidates(const Ask& ask) const;
  void PlaceAlone(const Ask& ask);
  absl::Status PlaceMatMul(const EpilogueMatch& match);
  absl::Status PlaceSort(NodeId id);
  void PlaceCall(NodeId id, WorkGroup group);
  void ReadCallOperand(Value base, WorkGroup* group);
  absl::StatusOr<OperandLayout> GemmOperand(NodeId id, int index, Value* base, WorkGroup* group);
  absl::Status Materialize(Value v, Reason why);
  void LearnCone(NodeId id, const OpCost& cost);
  void CountStored(Value base);
  bool MayFuse(Rejection* why = nullptr) const;
  void Remember(Value base, NodeId reader, const Rejection& why);

  // -- join.cc
  std::optional<JoinPlan> TryJoin(int group, const Ask& ask, Rejection* why) const;
  std::vector<Frame> CandidateFrames(int group, const Ask& ask) const;
  bool Evaluate(const Ask& ask, JoinPlan* plan, Rejection* why) const;
  bool Resolve(const Operand& operand, const IndexMap& at, const Ask& ask, JoinPlan* plan,
               Rejection* why) const;
  bool ResolveInside(const Operand& operand, const IndexMap& at, const Ask& ask, JoinPlan* plan,
                     Rejection* why) const;
  bool ResolveOutside(const Operand& operand, const IndexMap& at, const Ask& ask, JoinPlan* plan,
                      Rejection* why) const;
  bool ResolveGathered(const Operand& operand, int group, Rejection* why) const;
  bool CloneCone(Value base, const IndexMap& at, JoinPlan* plan, Rejection* why) const;
  bool MatchReduction(const Ask& ask, JoinPlan* plan, Rejection* why) const;
  bool Reroot(const Ask& ask, JoinPlan* plan) const;
  // Whether the group's own reads still meet the values they read when its frames and clones sit
  // elsewhere, in `domain`.
  bool ReadsMeet(int group, const std::vector<Frame>& frames,
                 const absl::flat_hash_map<NodeId, Maps>& clones, const Shape& domain) const;
  bool SegmentsApart(const Ask& ask, const JoinPlan& plan, Rejection* why) const;
  bool WithinBudgets(const Ask& ask, const JoinPlan& plan, Rejection* why) const;
  std::optional<Frame> ResultFrame(const Ask& ask, const Frame& frame, const Shape& domain) const;
  Rejection NoFrame(int group, const Ask& ask) const;
  Repeats RepeatsAt(const JoinPlan& plan, const IndexMap& at, Value base) const;
  void Apply(const Ask& ask, const JoinPlan& plan);
  void AddClone(int group, NodeId node, const IndexMap& at);

  // -- merge.cc
  std::optional<MergePlan> PlanMerge(int into, int from, IndexMap map, IndexMap inverse, bool rows,
                                     Rejection* why) const;
  // One value of `from`, at `at` by into's axes (and back by `back`, if known), tells how the
  // domains correspond.
  std::optional<MergePlan> PlanMergeAt(int into, int from, Value base, const IndexMap& at,
                                       const IndexMap* back, Rejection* why) const;
  void Merge(int into, const MergePlan& plan);
  // `crossing`: values of the merged group that the other one reads, alive until it does.
  bool MergeWithinBudgets(int into, const MergePlan& plan, int crossing, Rejection* why) const;
  void Sink();
  void SinkGroup(int group);
  bool SinkInto(int group, int reader, Rejection* why);
  void Siblings();
  void JoinSiblings(Value base);
  void JoinParts(Value base);
  bool SiblingsFit(int a, int b) const;

  // -- trace.cc: which members are stored, who reads what, in live code.
  struct Reading {
    NodeId reader;
    int group;
  };
  std::vector<int> ByLevelDescending() const;
  void Trace();
  void TraceGroup(int group);
  // The maps at which `reader` reads `base` in `group`, with the way back where there is one.
  struct ReadAt {
    IndexMap at;
    std::optional<IndexMap> back;
    bool full = false;
    bool gathered = false;
  };
  std::vector<ReadAt> ReadsAt(int group, NodeId reader, Value base) const;
  std::vector<int> ReadersOf(int group) const;  // at most a few
  int Alias(int group) const;

  // -- finish.cc
  struct Part {  // what becomes one Group
    int group;
    std::vector<NodeId> members;
    bool split = false;
  };
  absl::StatusOr<FusionPlan> Finish();
  void TakeInColumnSums(std::vector<Group>* groups, std::vector<Part>* parts);
  std::vector<Part> Parts(int group) const;
  std::vector<Part> SplitForParams(int group, std::vector<NodeId> members) const;
  struct RunCounter {  // buffers of a run of members
    absl::flat_hash_set<NodeId> inside, cloned;
    absl::flat_hash_map<NodeId, int> seen;
    absl::flat_hash_set<Value> reads;
    int outputs = 0;
    int params() const { return static_cast<int>(reads.size()) + outputs; }
  };
  absl::flat_hash_map<NodeId, int> ReadersWithin(int group,
                                                 const std::vector<NodeId>& members) const;
  void CountInRun(int group, NodeId id, const absl::flat_hash_map<NodeId, int>& readers,
                  RunCounter* run) const;
  std::vector<Part> SplitRows(Part part) const;
  struct Reach {
    absl::flat_hash_set<NodeId> nodes;
    absl::flat_hash_set<Value> inputs;
  };
  Reach ReachOf(const Part& part, const absl::flat_hash_set<Value>& in_memory) const;
  Group Write(const Part& part) const;
  void WriteGemm(const Part& part, Group* out) const;
  void WriteSort(const Part& part, Group* out) const;
  void WriteOutputs(const Part& part, Group* out) const;
  bool IsRenaming(const Part& part) const;
  void AddSourceOutputs(std::vector<Group>* groups) const;
  std::vector<int> Order(const std::vector<Group>& groups) const;
  // -- boundaries.cc
  void WriteBoundaries(FusionPlan* plan, const std::vector<int>& work_of) const;
  Rejection WhyRead(const FusionPlan& plan, Value value, int from, int to, int work_from,
                    int work_to) const;
  Rejection WhyNotSunk(Value value, int from, int to) const;

  // -- facts
  bool IsSource(Value base) const;
  bool InMemory(Value base) const;  // an input, or what a call has written
  bool IsCallResult(Value base) const;
  bool InGroup(int group, NodeId node) const {
    return home_[static_cast<size_t>(node)] == group ||
           groups_[static_cast<size_t>(group)].clones.contains(node);
  }
  // Whether the group has a copy of a value of another one. What it also reads from memory, at
  // another map, it reads everywhere.
  bool ClonedIn(int group, Value base) const {
    return At(group).clones.contains(base.node) && !At(group).reads.contains(base);
  }
  bool ExistsAt(int group, NodeId node, const IndexMap& at) const;
  // Where `operand` is read by a node at `at`: through its views one by one, as plans do.
  std::optional<IndexMap> Pull(const Operand& operand, const IndexMap& at,
                               const Shape& domain) const;
  Operand MakeOperand(Value v) const { return {v, views_->Base(v), views_->Chain(v)}; }
  absl::InlinedVector<Operand, 3> OperandsOf(NodeId id) const;
  // What node `id` reads as part of `group`: for a call, the buffers that it names.
  absl::InlinedVector<Operand, 3> ReadBy(int group, NodeId id) const;
  const Shape& ShapeOf(Value v) const { return graph_.type(v).dims; }
  int Home(Value base) const { return home_[static_cast<size_t>(base.node)]; }
  const Frame& FrameOf(NodeId node) const {
    return At(home_[static_cast<size_t>(node)])
        .frames[static_cast<size_t>(frame_of_[static_cast<size_t>(node)])];
  }
  const Frame& IterationOf(NodeId node) const {
    return At(home_[static_cast<size_t>(node)])
        .frames[static_cast<size_t>(iterates_[static_cast<size_t>(node)])];
  }
  WorkGroup& At(int group) { return groups_[static_cast<size_t>(group)]; }
  const WorkGroup& At(int group) const { return groups_[static_cast<size_t>(group)]; }
  std::string Dims(const Shape& shape) const {
    return ShapeToString(shape, graph_.symbols().names);
  }

  const Graph& graph_;
  const Target& target_;
  const Options& options_;
  const GemmLibrary& library_;
  absl::Span<const Layout> input_layouts_;
  CostModel costs_;
  std::optional<Views> views_;

  std::vector<EpilogueMatch> epilogues_;  // one for each product
  std::vector<int> epilogue_of_;          // by node: of the epilogue that ends here, or -1
  std::vector<bool> absorbed_;            // by node: inside an epilogue, behind which it is placed

  std::vector<WorkGroup> groups_;
  std::vector<int> alias_;     // by group: what it was merged into, or itself
  std::vector<int> home_;      // by node: its group, or -1
  std::vector<int> frame_of_;  // by node: number of its (results') frame in its home
  std::vector<int> iterates_;  // by node: number of the frame it reads its operands in; another one
                               // for reductions
  std::vector<int> position_;  // by node: signature position of inputs, or -1
  std::vector<int> readers_left_;  // by node: operands of nodes still to come that read it
  std::vector<bool> stored_;       // by node
  std::vector<bool> is_output_;    // by node: the graph returns it
  std::vector<Cone> cones_;        // by node
  absl::flat_hash_map<NodeId, Reason> copies_;  // stored views, and why
  std::vector<std::vector<Reading>> readings_;  // by node
  std::vector<std::vector<NodeId>> live_;       // by group: members that something needs
  std::vector<int> mark_;                       // scratch of TraceGroup, by node
  int64_t fusions_ = 0;
  absl::flat_hash_map<std::pair<NodeId, NodeId>, Rejection> why_;  // (base, reader)
  absl::flat_hash_map<int, Rejection> not_sunk_;                   // by group
};

}  // namespace jitfuse::internal

#endif  // JITFUSE_CODEGEN_FUSION_SWEEP_H_
