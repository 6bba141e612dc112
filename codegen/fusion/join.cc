// Sweep: whether a node may join a group, and what that takes.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "codegen/fusion/sweep.h"
#include "ir/support/status.h"

namespace jitfuse::internal {
namespace {

SizeExpr Product(const Shape& domain, const std::vector<int>& reduced, bool of_reduced) {
  SizeExpr n(1);
  for (size_t a = 0; a < domain.size(); ++a) {
    bool is_reduced =
        std::find(reduced.begin(), reduced.end(), static_cast<int>(a)) != reduced.end();
    if (is_reduced == of_reduced) n = n * domain[a];
  }
  return n;
}

// Of what a library or a sort makes on the same level: it is in no memory yet.
Rejection MadeBeside(bool sorted) {
  return sorted ? Rejection{Reason::kSortResult, "the positions are sorted beside this group"}
                : Rejection{Reason::kMatmulResult, "the product is made beside this group"};
}

bool Contains(const std::vector<Frame>& frames, const Frame& frame) {
  return std::any_of(frames.begin(), frames.end(),
                     [&](const Frame& f) { return f.map == frame.map; });
}

}  // namespace

std::optional<JoinPlan> Sweep::TryJoin(int group, const Ask& ask, Rejection* why) const {
  std::vector<Frame> frames = CandidateFrames(group, ask);
  if (frames.empty()) *why = NoFrame(group, ask);
  bool first = true;
  for (Frame& frame : frames) {
    JoinPlan plan;
    plan.group = group;
    plan.frame = std::move(frame);
    Rejection refused;
    if (Evaluate(ask, &plan, &refused)) return plan;
    if (first) *why = refused;
    first = false;
  }
  return std::nullopt;
}

// Where the node could sit: over an operand that is there already, else over the whole domain or
// its rows in row-major order.
std::vector<Frame> Sweep::CandidateFrames(int group, const Ask& ask) const {
  const WorkGroup& g = At(group);
  std::vector<Frame> frames;
  auto add = [&](std::optional<Frame> frame) {
    if (frame && !Contains(frames, *frame)) frames.push_back(*std::move(frame));
  };
  for (const Operand& operand : ask.operands) {
    if (Home(operand.base) != group || IsSource(operand.base) || !operand.plain()) continue;
    const Frame& at = FrameOf(operand.base.node);
    if (operand.chain == nullptr) {
      add(at);
    } else if (operand.chain->inverse) {
      auto map = Through(*operand.chain->inverse, at.map, ask.shape, g.domain);
      auto inverse = Through(at.inverse, operand.chain->map, g.domain, ask.shape);
      if (map && inverse) add(Frame{ask.shape, *std::move(map), *std::move(inverse), at.row});
    }
  }
  bool direct = !frames.empty() && ask.operands.size() == 1;
  if (!direct) {
    add(ReshapeFrame(graph_, g.domain, ask.shape));
    if (g.reduces) add(ReshapeRowFrame(graph_, g.domain, g.reduce_axes, ask.shape));
  }
  return frames;
}

Rejection Sweep::NoFrame(int group, const Ask& ask) const {
  const WorkGroup& g = At(group);
  for (const Operand& operand : ask.operands) {
    if (Home(operand.base) != group) continue;
    Rejection why;
    if (operand.gathered && !ResolveGathered(operand, group, &why)) return why;
    const Shape& shape = ShapeOf(operand.base);
    if (FrameOf(operand.base.node).row) {
      return {Reason::kReduceThenReduce,
              absl::StrCat("row values ", Dims(shape), " are used for each element of ",
                           Dims(ask.shape))};
    }
    if (!SameNumElements(graph_, shape, ask.shape)) {
      Repeats repeats = RepeatsOf(NumElements(ask.shape), NumElements(shape));
      return {Reason::kRecomputeTooDear,
              DescribeRecompute(graph_, cones_[static_cast<size_t>(operand.base.node)], repeats)};
    }
  }
  return {Reason::kDomainDiffers, absl::StrCat(Dims(ask.shape), " against ", Dims(g.domain))};
}

bool Sweep::Evaluate(const Ask& ask, JoinPlan* plan, Rejection* why) const {
  const WorkGroup& g = At(plan->group);
  for (const Operand& operand : ask.operands) {
    std::optional<IndexMap> at = Pull(operand, plan->frame.map, g.domain);
    if (!at) {
      *why = {Reason::kViewNotAffine, absl::StrCat("from ", Dims(ShapeOf(operand.base)), " to ",
                                                   Dims(ask.shape), " over ", Dims(g.domain))};
      return false;
    }
    if (!Resolve(operand, *at, ask, plan, why)) return false;
  }
  if (ask.reduces && !MatchReduction(ask, plan, why)) return false;
  if (g.reduces && !plan->frame.row &&
      TailWantsOwnKernel(Product(g.domain, g.reduce_axes, false),
                         Product(g.domain, g.reduce_axes, true))) {
    *why = {Reason::kDomainDiffers,
            absl::StrCat("only ", Product(g.domain, g.reduce_axes, false).constant(), " rows of ",
                         Product(g.domain, g.reduce_axes, true).constant(),
                         " elements: what follows runs over all in parallel")};
    return false;
  }
  return SegmentsApart(ask, *plan, why) && WithinBudgets(ask, *plan, why);
}

// Sums of segments and reductions do not share a loop: elements of a row would take unlike numbers
// of steps, and passes over it would add them again.
bool Sweep::SegmentsApart(const Ask& ask, const JoinPlan& plan, Rejection* why) const {
  bool segments = ask.segments || At(plan.group).segments;
  bool reduces = ask.reduces || At(plan.group).reduces;
  for (const MergePlan& merge : plan.merges) {
    segments |= At(merge.from).segments;
    reduces |= At(merge.from).reduces;
  }
  if (segments && reduces) *why = {Reason::kSegmentResult, ""};
  return !segments || !reduces;
}

bool Sweep::Resolve(const Operand& operand, const IndexMap& at, const Ask& ask, JoinPlan* plan,
                    Rejection* why) const {
  if (operand.gathered && !ResolveGathered(operand, plan->group, why)) return false;
  if (operand.gathered && !IsSource(operand.base)) {
    plan->reads.push_back(operand.base);
    return true;
  }
  if (IsSource(operand.base)) {
    if (InMemory(operand.base)) plan->reads.push_back(operand.base);
    return true;
  }
  bool read_already =
      At(plan->group).reads.contains(operand.base) ||
      std::find(plan->reads.begin(), plan->reads.end(), operand.base) != plan->reads.end();
  if (read_already && Home(operand.base) != plan->group) {
    plan->reads.push_back(operand.base);
    return true;
  }
  return InGroup(plan->group, operand.base.node) ? ResolveInside(operand, at, ask, plan, why)
                                                 : ResolveOutside(operand, at, ask, plan, why);
}

// What a gather picks from must lie in memory before the group begins.
bool Sweep::ResolveGathered(const Operand& operand, int group, Rejection* why) const {
  if (IsSource(operand.base)) return true;
  bool before = !InGroup(group, operand.base.node) && Home(operand.base) >= 0 &&
                At(Home(operand.base)).level < At(group).level;
  if (!before) {
    *why = {Reason::kGatherOperand,
            absl::StrCat(Dims(ShapeOf(operand.value)), " is indexed by ",
                         Dims(graph_.node(operand.via).types[0].dims), " positions")};
  }
  return before;
}

std::optional<IndexMap> Sweep::Pull(const Operand& operand, const IndexMap& at,
                                    const Shape& domain) const {
  std::optional<IndexMap> map = at;
  IndexSpace space{domain};
  if (!operand.plain()) {
    space = SpaceOf(graph_, operand.via, operand.index, domain);
    map = PullStep(graph_, operand.via, operand.index, at, space);
  }
  for (Value v = operand.value; v != operand.base && map; v = graph_.node(v).in[0])
    map = PullStep(graph_, v.node, 0, *map, space);
  return map;
}

bool Sweep::ReadsMeet(int group, const std::vector<Frame>& frames,
                      const absl::flat_hash_map<NodeId, Maps>& clones, const Shape& domain) const {
  auto meets = [&](NodeId reader, const IndexMap& from) {
    for (const Operand& operand : OperandsOf(reader)) {
      if (operand.chain == nullptr && operand.value == operand.base && operand.plain())
        continue;  // at the reader's own place before and after
      std::optional<IndexMap> at = Pull(operand, from, domain);
      if (!at) return false;
      if (IsSource(operand.base) || operand.gathered || !InGroup(group, operand.base.node))
        continue;
      auto base = static_cast<size_t>(operand.base.node);
      if (home_[base] == group && frames[static_cast<size_t>(frame_of_[base])].map == *at) continue;
      auto it = clones.find(operand.base.node);
      if (it == clones.end() ||
          std::find(it->second.begin(), it->second.end(), *at) == it->second.end())
        return false;
    }
    return true;
  };
  for (NodeId id : At(group).members) {
    if (!meets(id, frames[static_cast<size_t>(iterates_[static_cast<size_t>(id)])].map))
      return false;
  }
  return std::all_of(clones.begin(), clones.end(), [&](const auto& clone) {
    return std::all_of(clone.second.begin(), clone.second.end(),
                       [&](const IndexMap& at) { return meets(clone.first, at); });
  });
}

bool Sweep::ExistsAt(int group, NodeId node, const IndexMap& at) const {
  if (home_[static_cast<size_t>(node)] == group && FrameOf(node).map == at) return true;
  const WorkGroup& g = At(group);
  auto it = g.clones.find(node);
  return it != g.clones.end() &&
         std::find(it->second.begin(), it->second.end(), at) != it->second.end();
}

Repeats Sweep::RepeatsAt(const JoinPlan& plan, const IndexMap& at, Value base) const {
  const WorkGroup& g = At(plan.group);
  bool per_row = g.reduces && !UsesAxes(at, g.reduce_axes);
  return RepeatsOf(per_row ? Product(g.domain, g.reduce_axes, false) : NumElements(g.domain),
                   NumElements(ShapeOf(base)));
}

bool Sweep::ResolveInside(const Operand& operand, const IndexMap& at, const Ask& ask,
                          JoinPlan* plan, Rejection* why) const {
  NodeId node = operand.base.node;
  if (ExistsAt(plan->group, node, at)) return true;
  const Cone& cone = cones_[static_cast<size_t>(node)];
  Repeats repeats = RepeatsAt(*plan, at, operand.base);
  if (MayRecompute(cone, repeats)) return CloneCone(operand.base, at, plan, why);
  if (Home(operand.base) == plan->group && FrameOf(node).row) {
    *why = {Reason::kReduceThenReduce,
            absl::StrCat("row values ", Dims(ShapeOf(operand.base)),
                         " are read along other axes for ", Dims(ask.shape))};
  } else {
    *why = {Reason::kRecomputeTooDear, DescribeRecompute(graph_, cone, repeats)};
  }
  return false;
}

bool Sweep::ResolveOutside(const Operand& operand, const IndexMap& at, const Ask& ask,
                           JoinPlan* plan, Rejection* why) const {
  int home = Home(operand.base);
  const WorkGroup& g = At(plan->group);
  const WorkGroup& from = At(home);
  const Cone& cone = cones_[static_cast<size_t>(operand.base.node)];
  Repeats repeats = RepeatsAt(*plan, at, operand.base);
  if (from.level < g.level) {
    bool read_anyway =
        stored_[static_cast<size_t>(operand.base.node)] && repeats.times == 1 && !repeats.single;
    Rejection unused;
    if (MayFuse() && !read_anyway && PrefersRecompute(cone, repeats) &&
        CloneCone(operand.base, at, plan, &unused))
      return true;
    plan->reads.push_back(operand.base);
    return true;
  }
  if (from.kind != GroupKind::kLoop) {
    *why = MadeBeside(from.kind == GroupKind::kSort);
    return false;
  }
  for (const MergePlan& merge : plan->merges) {
    if (merge.from != home) continue;
    std::optional<IndexMap> there =
        Through(FrameOf(operand.base.node).map, merge.map, ShapeOf(operand.base), g.domain);
    if (there && *there == at) return true;
  }
  std::optional<IndexMap> back;
  bool invertible =
      operand.plain() && (operand.chain == nullptr || operand.chain->inverse.has_value());
  if (invertible && operand.chain == nullptr) back = plan->frame.inverse;
  if (invertible && operand.chain != nullptr)
    back = Through(plan->frame.inverse, *operand.chain->inverse, g.domain, ShapeOf(operand.base));
  bool planned = std::any_of(plan->merges.begin(), plan->merges.end(),
                             [&](const MergePlan& m) { return m.from == home; });
  if (!planned && from.level == g.level) {
    if (auto merge =
            PlanMergeAt(plan->group, home, operand.base, at, back ? &*back : nullptr, why)) {
      // Each merge was matched with the group as it is, which the others are about to change.
      const auto other =
          std::find_if(plan->merges.begin(), plan->merges.end(), [&](const MergePlan& m) {
            return m.reduces && merge->reduces && m.reduce_axes != merge->reduce_axes;
          });
      if (other == plan->merges.end()) {
        plan->merges.push_back(*std::move(merge));
        return true;
      }
      *why = {Reason::kReduceAxesDiffer,
              absl::StrCat("axes [", absl::StrJoin(merge->reduce_axes, ","), "] against [",
                           absl::StrJoin(other->reduce_axes, ","), "] of ", Dims(g.domain))};
    }
  }
  if (MayRecompute(cone, repeats)) return CloneCone(operand.base, at, plan, why);
  bool repeated = !SameNumElements(graph_, ShapeOf(operand.base), ask.shape);
  if (repeated && !FrameOf(operand.base.node).row)
    *why = {Reason::kRecomputeTooDear, DescribeRecompute(graph_, cone, repeats)};
  return false;
}

// The value and all that it is computed from, at `at`, as far as it is not there yet.
bool Sweep::CloneCone(Value base, const IndexMap& at, JoinPlan* plan, Rejection* why) const {
  const WorkGroup& g = At(plan->group);
  JoinPlan grown = *plan;
  std::vector<std::pair<NodeId, IndexMap>> todo = {{base.node, at}};
  while (!todo.empty()) {
    auto [node, map] = std::move(todo.back());
    todo.pop_back();
    std::pair<NodeId, IndexMap> clone{node, map};
    if (ExistsAt(plan->group, node, map) ||
        std::find(grown.clones.begin(), grown.clones.end(), clone) != grown.clones.end())
      continue;
    for (const Operand& operand : OperandsOf(node)) {
      std::optional<IndexMap> in = Pull(operand, map, g.domain);
      if (!in) {
        *why = {Reason::kViewNotAffine, absl::StrCat("computing ", Dims(ShapeOf(operand.value)),
                                                     " again over ", Dims(g.domain))};
        return false;
      }
      if (operand.gathered && !ResolveGathered(operand, plan->group, why)) return false;
      if (operand.gathered && !IsSource(operand.base)) {
        grown.reads.push_back(operand.base);
      } else if (InMemory(operand.base)) {
        if (Home(operand.base) >= 0 && At(Home(operand.base)).level >= g.level) {
          *why = MadeBeside(graph_.node(operand.base).kind() == OpKind::kSort);
          return false;
        }
        grown.reads.push_back(operand.base);
      } else if (!IsSource(operand.base)) {
        todo.emplace_back(operand.base.node, *std::move(in));
      }
    }
    grown.clones.push_back(std::move(clone));
  }
  *plan = std::move(grown);
  return true;
}

bool Sweep::MatchReduction(const Ask& ask, JoinPlan* plan, Rejection* why) const {
  const WorkGroup& g = At(plan->group);
  if (plan->frame.row) {
    *why = {Reason::kReduceThenReduce,
            absl::StrCat("row values ", Dims(ask.shape), " are reduced again")};
    return false;
  }
  std::optional<std::vector<int>> axes =
      MatchAxes(graph_, plan->frame.map, ask.shape, ask.axes, g.domain);
  if (g.reduces) {
    if (!axes || *axes != WithoutUnits(g.reduce_axes, g.domain)) {
      *why = {
          Reason::kReduceAxesDiffer,
          absl::StrCat("axes [", absl::StrJoin(ask.axes, ","), "] of ", Dims(ask.shape),
                       " against [", absl::StrJoin(g.reduce_axes, ","), "] of ", Dims(g.domain))};
      return false;
    }
    plan->reduce_axes = g.reduce_axes;
  } else if (axes && !axes->empty()) {
    plan->reduce_axes = *axes;
  } else if (!Reroot(ask, plan)) {
    *why = {Reason::kDomainDiffers, absl::StrCat("the reduced axes of ", Dims(ask.shape),
                                                 " are no axes of ", Dims(g.domain))};
    return false;
  }
  if (ask.scans) return true;
  plan->result = ResultFrame(ask, plan->frame, plan->reroot ? ask.shape : g.domain);
  if (!plan->result)
    *why = {Reason::kViewNotAffine,
            absl::StrCat("results of reducing ", Dims(ask.shape), " over ", Dims(g.domain))};
  return plan->result.has_value();
}

// A pointwise group may take the reduced tensor's shape as its domain.
bool Sweep::Reroot(const Ask& ask, JoinPlan* plan) const {
  const WorkGroup& g = At(plan->group);
  if (!plan->merges.empty() || !plan->clones.empty()) return false;
  auto moved = [&](const IndexMap& map, const Shape& shape) {
    return Through(map, plan->frame.inverse, shape, ask.shape);
  };
  for (const Frame& frame : g.frames) {
    auto map = moved(frame.map, frame.shape);
    auto inverse = Through(plan->frame.map, frame.inverse, ask.shape, frame.shape);
    if (!map || !inverse) return false;
    plan->rerooted.push_back({frame.shape, *std::move(map), *std::move(inverse), false});
  }
  for (const auto& [node, maps] : g.clones) {
    for (const IndexMap& at : maps) {
      auto map = moved(at, graph_.node(node).types[0].dims);
      if (!map) return false;
      plan->rerooted_clones[node].push_back(*std::move(map));
    }
  }
  if (!ReadsMeet(plan->group, plan->rerooted, plan->rerooted_clones, ask.shape)) return false;
  plan->reroot = true;
  plan->frame = IdentityFrame(ask.shape);
  for (const Operand& operand : ask.operands) {
    if (Home(operand.base) != plan->group || IsSource(operand.base)) continue;
    std::optional<IndexMap> at = Pull(operand, plan->frame.map, ask.shape);
    if (!at ||
        !(*at ==
          plan->rerooted[static_cast<size_t>(frame_of_[static_cast<size_t>(operand.base.node)])]
              .map))
      return false;
  }
  std::vector<int> axes(ask.axes.begin(), ask.axes.end());
  plan->reduce_axes = WithoutUnits(axes, ask.shape);
  if (plan->reduce_axes.empty()) plan->reduce_axes = axes;
  return true;
}

// Results sit where the operand's elements do, without the reduced coordinates.
std::optional<Frame> Sweep::ResultFrame(const Ask& ask, const Frame& frame,
                                        const Shape& domain) const {
  const Shape& shape = graph_.node(ask.node).types[0].dims;
  bool keepdims = shape.size() == ask.shape.size();
  Frame result{shape, {}, {}, true};
  IndexMap element;  // coordinates of an element by the result's axes
  for (size_t d = 0; d < ask.shape.size(); ++d) {
    bool reduced =
        std::find(ask.axes.begin(), ask.axes.end(), static_cast<int64_t>(d)) != ask.axes.end();
    if (reduced && keepdims) result.map.coords.emplace_back();
    element.coords.push_back(
        reduced ? IndexExpr{}
                : AxisExpr(static_cast<int>(keepdims ? d : result.map.coords.size())));
    if (!reduced) result.map.coords.push_back(frame.map.coords[d]);
  }
  if (ask.axes.empty()) element = IdentityOf(shape);
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d].Is(1)) result.map.coords[d] = IndexExpr{};
  }
  std::optional<IndexMap> inverse = Through(frame.inverse, element, domain, shape);
  if (!inverse) return std::nullopt;
  result.inverse = *std::move(inverse);
  return result;
}

bool Sweep::WithinBudgets(const Ask& ask, const JoinPlan& plan, Rejection* why) const {
  const WorkGroup& g = At(plan.group);
  int insts = g.insts + ask.insts;
  int live = g.live + (readers_left_[static_cast<size_t>(ask.node)] > 0 ? 1 : 0);
  int outputs =
      g.outputs +
      (is_output_[static_cast<size_t>(ask.node)] && home_[static_cast<size_t>(ask.node)] < 0 ? 1
                                                                                             : 0);
  auto params = static_cast<int>(g.reads.size());
  absl::flat_hash_set<Value> fresh;
  for (Value v : plan.reads) {
    if (!g.reads.contains(v)) fresh.insert(v);
  }
  for (const auto& [node, at] : plan.clones) insts += cones_[static_cast<size_t>(node)].own;
  for (const MergePlan& merge : plan.merges) {
    const WorkGroup& from = At(merge.from);
    insts += from.insts;
    live += from.live;
    outputs += from.outputs;
    for (Value v : from.reads) {
      if (!g.reads.contains(v)) fresh.insert(v);
    }
    if (static_cast<int>(fresh.size()) > target_.max_params) break;
  }
  params += static_cast<int>(fresh.size()) + std::max(1, outputs);
  if (params > target_.max_params) {
    *why = {Reason::kParamBudget, absl::StrCat(params, " buffers, at most ", target_.max_params)};
  } else if (insts > target_.max_insts) {
    *why = {Reason::kCodeBudget, absl::StrCat(insts, " instructions, at most ", target_.max_insts)};
  } else if (live > target_.max_live) {
    *why = {Reason::kRegisterBudget,
            absl::StrCat(live, " values alive at once, at most ", target_.max_live)};
  } else {
    return true;
  }
  return false;
}

}  // namespace jitfuse::internal
