// Sweep: groups that become one, and what is alive.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "codegen/fusion/sweep.h"

namespace jitfuse::internal {
namespace {

std::optional<int> UnitAxis(const Shape& domain) {
  for (size_t a = 0; a < domain.size(); ++a) {
    if (domain[a].Is(1)) return static_cast<int>(a);
  }
  return std::nullopt;
}

SizeExpr ProductOf(const Shape& domain, const std::vector<int>& axes) {
  SizeExpr n(1);
  for (int a : axes) n = n * domain[static_cast<size_t>(a)];
  return n;
}

}  // namespace

std::optional<MergePlan> Sweep::PlanMergeAt(int into, int from, Value base, const IndexMap& at,
                                            const IndexMap* back, Rejection* why) const {
  const WorkGroup &to = At(into), &old = At(from);
  const Frame& frame = FrameOf(base.node);
  bool per_row = to.reduces && !UsesAxes(at, to.reduce_axes);
  if (back != nullptr && !frame.row && !(per_row && old.reduces)) {
    auto map = Through(frame.inverse, at, old.domain, to.domain);
    auto inverse = Through(*back, frame.map, to.domain, old.domain);
    auto there = map ? Through(frame.map, *map, frame.shape, to.domain) : std::nullopt;
    if (there && *there == at && inverse)
      return PlanMerge(into, from, *std::move(map), *std::move(inverse), per_row, why);
  }
  *why = {Reason::kDomainDiffers, absl::StrCat(Dims(old.domain), " against ", Dims(to.domain))};
  std::vector<std::pair<std::optional<Frame>, bool>> guesses = {
      {ReshapeFrame(graph_, to.domain, old.domain), false}};
  if (to.reduces && !old.reduces)
    guesses.emplace_back(ReshapeRowFrame(graph_, to.domain, to.reduce_axes, old.domain), true);
  for (auto& [guess, rows] : guesses) {
    if (!guess) continue;
    auto there = Through(frame.map, guess->map, frame.shape, to.domain);
    if (there && *there == at)
      return PlanMerge(into, from, std::move(guess->map), std::move(guess->inverse), rows, why);
  }
  return std::nullopt;
}

std::optional<MergePlan> Sweep::PlanMerge(int into, int from, IndexMap map, IndexMap inverse,
                                          bool rows, Rejection* why) const {
  const WorkGroup &to = At(into), &old = At(from);
  MergePlan plan{from, std::move(map), std::move(inverse),       {},
                 {},   to.reduce_axes, to.reduces || old.reduces};
  if (plan.reduces && (to.segments || old.segments)) {
    *why = {Reason::kSegmentResult, ""};
    return std::nullopt;
  }
  if (old.reduces) {
    std::vector<int64_t> axes(old.reduce_axes.begin(), old.reduce_axes.end());
    std::optional<std::vector<int>> matched =
        rows ? std::nullopt : MatchAxes(graph_, plan.map, old.domain, axes, to.domain);
    if (matched && matched->empty() && !to.reduces) {
      if (std::optional<int> unit = UnitAxis(to.domain)) {
        matched->push_back(*unit);
      } else {
        matched.reset();
      }
    } else if (matched && to.reduces && *matched != WithoutUnits(to.reduce_axes, to.domain)) {
      matched.reset();
    }
    if (!matched) {
      *why = {
          Reason::kReduceAxesDiffer,
          absl::StrCat("axes [", absl::StrJoin(old.reduce_axes, ","), "] of ", Dims(old.domain),
                       " against [", absl::StrJoin(to.reduce_axes, ","), "] of ", Dims(to.domain))};
      return std::nullopt;
    }
    if (!to.reduces) plan.reduce_axes = *matched;
  }
  *why = {Reason::kViewNotAffine, absl::StrCat(Dims(old.domain), " seen from ", Dims(to.domain))};
  for (const Frame& frame : old.frames) {
    auto there = Through(frame.map, plan.map, frame.shape, to.domain);
    auto here = Through(plan.inverse, frame.inverse, to.domain, frame.shape);
    if (!there || !here) return std::nullopt;
    plan.frames.push_back({frame.shape, *std::move(there), *std::move(here), frame.row || rows});
  }
  for (const auto& [node, maps] : old.clones) {
    for (const IndexMap& at : maps) {
      auto there = Through(at, plan.map, graph_.node(node).types[0].dims, to.domain);
      if (!there) return std::nullopt;
      plan.clones[node].push_back(*std::move(there));
    }
  }
  bool same = plan.map == IdentityOf(to.domain) && old.domain == to.domain;
  if (!same && !ReadsMeet(from, plan.frames, plan.clones, to.domain)) return std::nullopt;
  return plan;
}

bool Sweep::MergeWithinBudgets(int into, const MergePlan& plan, int crossing,
                               Rejection* why) const {
  int live = std::max(At(into).peak, At(plan.from).peak) + crossing;
  if (live > target_.max_live) {
    *why = {Reason::kRegisterBudget,
            absl::StrCat(live, " values alive at once, at most ", target_.max_live)};
    return false;
  }
  Ask nothing;
  nothing.node = At(into).members.front();
  JoinPlan join;
  join.group = into;
  join.merges.push_back(plan);
  return WithinBudgets(nothing, join, why);
}

void Sweep::Merge(int into, const MergePlan& plan) {
  WorkGroup &to = At(into), &old = At(plan.from);
  std::vector<int> renumbered;
  for (const Frame& frame : plan.frames) {
    auto it = std::find_if(to.frames.begin(), to.frames.end(), [&](const Frame& f) {
      return f.shape == frame.shape && f.map == frame.map;
    });
    renumbered.push_back(static_cast<int>(it - to.frames.begin()));
    if (it == to.frames.end()) to.frames.push_back(frame);
  }
  for (NodeId id : old.members) {
    auto i = static_cast<size_t>(id);
    home_[i] = into;
    frame_of_[i] = renumbered[static_cast<size_t>(frame_of_[i])];
    iterates_[i] = renumbered[static_cast<size_t>(iterates_[i])];
    for (size_t r = 0; r < graph_.node(id).types.size(); ++r)
      to.reads.erase(Value{id, static_cast<int32_t>(r)});
  }
  for (const auto& [node, maps] : plan.clones) {
    for (const IndexMap& at : maps) AddClone(into, node, at);
  }
  to.members.insert(to.members.end(), old.members.begin(), old.members.end());
  to.reads.insert(old.reads.begin(), old.reads.end());
  to.reduces = plan.reduces;
  to.segments |= old.segments;
  to.reduce_axes = plan.reduce_axes;
  to.outputs += old.outputs;
  to.insts += old.insts;
  to.live += old.live;
  to.peak = std::max({to.peak, old.peak, to.live});
  alias_[static_cast<size_t>(plan.from)] = into;
  old = WorkGroup{};
  old.gone = true;
  ++fusions_;
}

int Sweep::Alias(int group) const {
  while (alias_[static_cast<size_t>(group)] != group) group = alias_[static_cast<size_t>(group)];
  return group;
}

void Sweep::Sink() {
  for (int group : ByLevelDescending()) {
    if (!At(group).gone && At(group).kind == GroupKind::kLoop &&
        !live_[static_cast<size_t>(group)].empty())
      SinkGroup(group);
  }
}

void Sweep::SinkGroup(int group) {
  std::vector<int> readers = ReadersOf(group);
  if (readers.size() != 1 || At(readers[0]).kind != GroupKind::kLoop) return;
  Rejection why;
  if (MayFuse(&why) && SinkInto(group, readers[0], &why)) return;
  not_sunk_[group] = why;
}

bool Sweep::SinkInto(int group, int reader, Rejection* why) {
  const WorkGroup &old = At(group), &to = At(reader);
  std::vector<std::pair<Value, ReadAt>> reads;
  for (NodeId id : old.members) {
    for (const Reading& reading : readings_[static_cast<size_t>(id)]) {
      if (Alias(reading.group) != reader) continue;
      for (ReadAt& read : ReadsAt(reader, reading.reader, {id, 0}))
        reads.emplace_back(Value{id, 0}, std::move(read));
    }
  }
  for (const auto& [base, read] : reads) {
    if (!read.gathered) continue;
    *why = {Reason::kGatherOperand,
            absl::StrCat(Dims(ShapeOf(base)), " is read at positions that come from memory")};
    return false;
  }
  std::optional<MergePlan> plan;
  for (size_t i = 0; i < reads.size() && !plan; ++i) {
    const auto& [base, read] = reads[i];
    plan = PlanMergeAt(reader, group, base, read.at, read.back ? &*read.back : nullptr, why);
  }
  if (!plan) return false;
  for (const auto& [base, read] : reads) {
    auto there = Through(FrameOf(base.node).map, plan->map, FrameOf(base.node).shape, to.domain);
    if (there && *there == read.at) continue;
    *why = {Reason::kRecomputeTooDear,
            absl::StrCat(Dims(ShapeOf(base)), " is read at two places at once")};
    return false;
  }
  SizeExpr row = ProductOf(old.domain, old.reduce_axes);
  if (old.reduces && row.IsConstant() && NumElements(old.domain).IsConstant() && !row.Is(0) &&
      TailWantsOwnKernel(NumElements(old.domain).constant() / row.constant(), row)) {
    *why = {Reason::kDomainDiffers,
            absl::StrCat("few rows of ", row.constant(),
                         " elements: what follows runs over all in parallel")};
    return false;
  }
  if (!MergeWithinBudgets(reader, *plan, static_cast<int>(reads.size()), why)) return false;
  Merge(reader, *plan);
  return true;
}

void Sweep::Siblings() {
  for (NodeId id = 0; id < graph_.size(); ++id) {
    OpKind kind = graph_.node(id).kind();
    if (kind == OpKind::kScalar || readings_[static_cast<size_t>(id)].size() <= 1) continue;
    JoinSiblings({id, 0});
    const int home = home_[static_cast<size_t>(id)];
    if (home >= 0 && At(home).kind == GroupKind::kGemm) JoinParts({id, 0});
  }
}

void Sweep::JoinSiblings(Value base) {
  struct Sibling {
    int group;
    ReadAt read;
  };
  std::vector<Sibling> siblings;
  for (const Reading& reading : readings_[static_cast<size_t>(base.node)]) {
    int group = Alias(reading.group);
    if (At(group).kind != GroupKind::kLoop ||
        !SameNumElements(graph_, At(group).domain, ShapeOf(base)))
      continue;
    if (std::any_of(siblings.begin(), siblings.end(),
                    [group](const Sibling& s) { return s.group == group; }))
      continue;
    for (ReadAt& read : ReadsAt(group, reading.reader, base)) {
      if (!read.full) continue;
      siblings.push_back({group, std::move(read)});
      break;
    }
  }
  std::sort(siblings.begin(), siblings.end(), [this](const Sibling& a, const Sibling& b) {
    auto key = [this](const Sibling& s) {
      return std::make_tuple(At(s.group).level, !At(s.group).reduces,
                             -static_cast<int>(At(s.group).members.size()), s.group);
    };
    return key(a) < key(b);
  });
  for (size_t i = 0, first = 0; i < siblings.size(); ++i) {
    const Sibling &into = siblings[first], &from = siblings[i];
    if (i == first) continue;
    bool merged = false;
    if (At(into.group).level == At(from.group).level && SiblingsFit(into.group, from.group) &&
        MayFuse()) {
      auto map =
          Through(*from.read.back, into.read.at, At(from.group).domain, At(into.group).domain);
      auto inverse =
          Through(*into.read.back, from.read.at, At(into.group).domain, At(from.group).domain);
      Rejection unused;
      std::optional<MergePlan> plan;
      if (map && inverse)
        plan =
            PlanMerge(into.group, from.group, *std::move(map), *std::move(inverse), false, &unused);
      merged = plan && MergeWithinBudgets(into.group, *plan, 0, &unused);
      if (merged) Merge(into.group, *plan);
    }
    if (!merged) first = i;
  }
}

// Slices of what a library wrote, such as products that were put side by side: elementwise work
// over equal domains is one kernel.
void Sweep::JoinParts(Value base) {
  std::vector<std::pair<int, int>> parts;  // (level, group)
  for (const Reading& reading : readings_[static_cast<size_t>(base.node)]) {
    const int group = Alias(reading.group);
    const std::pair<int, int> part(At(group).level, group);
    if (At(group).kind == GroupKind::kLoop && !At(group).reduces &&
        std::find(parts.begin(), parts.end(), part) == parts.end())
      parts.push_back(part);
  }
  std::sort(parts.begin(), parts.end());
  for (size_t i = 1, first = 0; i < parts.size(); ++i) {
    const auto [level, into] = parts[first];
    const auto [other_level, from] = parts[i];
    bool merged = false;
    if (level == other_level && At(into).domain == At(from).domain && MayFuse()) {
      const IndexMap same = IdentityOf(At(into).domain);
      Rejection unused;
      const std::optional<MergePlan> plan = PlanMerge(into, from, same, same, false, &unused);
      merged = plan && MergeWithinBudgets(into, *plan, 0, &unused);
      if (merged) Merge(into, *plan);
    }
    if (!merged) first = i;
  }
}

// A reduction over an outer axis walks its rows with a stride: bad company for elementwise work.
bool Sweep::SiblingsFit(int a, int b) const {
  if (At(a).reduces == At(b).reduces) return true;
  const WorkGroup& g = At(a).reduces ? At(a) : At(b);
  for (size_t axis = g.domain.size(); axis-- > 0;) {
    if (g.domain[axis].Is(1)) continue;
    return std::find(g.reduce_axes.begin(), g.reduce_axes.end(), static_cast<int>(axis)) !=
           g.reduce_axes.end();
  }
  return true;
}

}  // namespace jitfuse::internal
