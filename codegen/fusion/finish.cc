// Sweep: from groups in the making to a FusionPlan.
#include <algorithm>
#include <limits>
#include <queue>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "codegen/fusion/column_sums.h"
#include "codegen/fusion/sweep.h"
#include "ir/support/check.h"
#include "ir/support/status.h"

namespace jitfuse::internal {
namespace {

// Kinds that need the group's inner loop.
bool IsLoop(OpKind kind) { return kind == OpKind::kReduce || kind == OpKind::kScan; }

}  // namespace

absl::StatusOr<FusionPlan> Sweep::Finish() {
  Trace();
  std::vector<Group> groups;
  std::vector<Part> parts;
  for (size_t g = 0; g < groups_.size(); ++g) {
    if (groups_[g].gone || live_[g].empty()) continue;
    for (Part& part : Parts(static_cast<int>(g))) {
      groups.push_back(Write(part));
      parts.push_back(std::move(part));
    }
  }
  TakeInColumnSums(&groups, &parts);
  AddSourceOutputs(&groups);
  FusionPlan plan;
  std::vector<int> work_of;
  for (int i : Order(groups)) {
    auto at = static_cast<size_t>(i);
    int work = at < parts.size() ? parts[at].group : -1;
    if (work >= 0 && !parts[at].split) {
      for (Note note : At(work).notes) {
        note.group = static_cast<int>(plan.groups.size());
        plan.notes.push_back(std::move(note));
      }
    }
    work_of.push_back(work);
    plan.groups.push_back(std::move(groups[at]));
  }
  WriteBoundaries(&plan, work_of);
  return plan;
}

// Groups that sum over the rows of another one become part of it.
void Sweep::TakeInColumnSums(std::vector<Group>* groups, std::vector<Part>* parts) {
  if (!MayFuse()) return;
  std::vector<int> insts;
  for (const Part& part : *parts) insts.push_back(At(part.group).insts);
  const int64_t limit = options_.max_fusions < 0 ? std::numeric_limits<int64_t>::max()
                                                 : options_.max_fusions - fusions_;
  const std::vector<bool> gone = JoinColumnSums(graph_, target_, limit, std::move(insts), groups);
  size_t left = 0;
  for (size_t i = 0; i < gone.size(); ++i) {
    fusions_ += gone[i] ? 1 : 0;
    if (gone[i]) continue;
    if (left != i) {
      (*groups)[left] = std::move((*groups)[i]);
      (*parts)[left] = std::move((*parts)[i]);
    }
    ++left;
  }
  groups->resize(left);
  parts->resize(left);
}

std::vector<Sweep::Part> Sweep::Parts(int group) const {
  std::vector<NodeId> members = live_[static_cast<size_t>(group)];
  std::sort(members.begin(), members.end());
  std::vector<Part> out;
  if (IsCall(At(group).kind)) return {{group, std::move(members), false}};
  for (Part& part : SplitForParams(group, std::move(members))) {
    for (Part& piece : SplitRows(std::move(part))) out.push_back(std::move(piece));
  }
  return out;
}

// Outputs are known only now. Where they make too many buffers, the group is cut into runs of nodes
// in graph order, each as long as fits.
std::vector<Sweep::Part> Sweep::SplitForParams(int group, std::vector<NodeId> members) const {
  const WorkGroup& g = At(group);
  if (static_cast<int>(g.reads.size()) + g.outputs <= target_.max_params)
    return {{group, std::move(members), false}};
  absl::flat_hash_map<NodeId, int> readers = ReadersWithin(group, members);
  std::vector<Part> parts;
  for (size_t begin = 0, end = 0; begin < members.size(); begin = end) {
    RunCounter run;
    end = begin + 1;
    for (size_t i = begin; i < members.size(); ++i) {
      CountInRun(group, members[i], readers, &run);
      if (run.params() <= target_.max_params) end = i + 1;
      if (run.params() > 2 * target_.max_params) break;  // reads only grow
    }
    parts.push_back({group,
                     {members.begin() + static_cast<std::ptrdiff_t>(begin),
                      members.begin() + static_cast<std::ptrdiff_t>(end)},
                     true});
  }
  return parts;
}

// How often members are read by members; what a clone reads always counts as read later.
absl::flat_hash_map<NodeId, int> Sweep::ReadersWithin(int group,
                                                      const std::vector<NodeId>& members) const {
  absl::flat_hash_map<NodeId, int> readers;
  for (NodeId id : members) {
    for (const Operand& operand : OperandsOf(id)) ++readers[operand.base.node];
  }
  for (const auto& [id, maps] : At(group).clones) {
    for (const Operand& operand : OperandsOf(id)) ++readers[operand.base.node];
  }
  return readers;
}

void Sweep::CountInRun(int group, NodeId id, const absl::flat_hash_map<NodeId, int>& readers,
                       RunCounter* run) const {
  auto results = [this](NodeId node) { return static_cast<int>(graph_.node(node).types.size()); };
  std::vector<NodeId> todo = {id};
  run->inside.insert(id);
  while (!todo.empty()) {
    NodeId at = todo.back();
    todo.pop_back();
    for (const Operand& operand : OperandsOf(at)) {
      NodeId base = operand.base.node;
      bool source = IsSource(operand.base);
      if (source && !InMemory(operand.base)) continue;
      if (!source && run->inside.contains(base)) {
        bool last = at == id && ++run->seen[base] == readers.at(base) &&
                    !stored_[static_cast<size_t>(base)];
        if (last) run->outputs -= results(base);
      } else if (!source && ClonedIn(group, operand.base)) {
        if (run->cloned.insert(base).second) todo.push_back(base);
      } else {
        run->reads.insert(operand.base);
      }
    }
  }
  auto read = readers.find(id);
  if (stored_[static_cast<size_t>(id)] || (read != readers.end() && read->second > 0))
    run->outputs += results(id);
}

// Rows without a reduction beside elements cannot be stored from one loop: rows first, then
// elements.
std::vector<Sweep::Part> Sweep::SplitRows(Part part) const {
  bool reduces = std::any_of(part.members.begin(), part.members.end(),
                             [this](NodeId id) { return IsLoop(graph_.node(id).kind()); });
  if (reduces || !At(part.group).reduces) return {std::move(part)};
  Part rows{part.group, {}, true}, elements{part.group, {}, true};
  for (NodeId id : part.members) (FrameOf(id).row ? rows : elements).members.push_back(id);
  if (rows.members.empty()) return {std::move(elements)};
  if (elements.members.empty()) return {std::move(rows)};
  return {std::move(rows), std::move(elements)};
}

// The nodes that a part computes or reads through, and the values that it reads from memory; those
// of `in_memory` wherever a chain of views meets them.
Sweep::Reach Sweep::ReachOf(const Part& part, const absl::flat_hash_set<Value>& in_memory) const {
  const absl::flat_hash_set<NodeId> members(part.members.begin(), part.members.end());
  Reach reach{{part.members.begin(), part.members.end()}, {}};
  std::vector<NodeId> todo = part.members;
  while (!todo.empty()) {
    NodeId id = todo.back();
    todo.pop_back();
    for (const Operand& operand : OperandsOf(id)) {
      Value v = operand.value;
      for (; v != operand.base && !in_memory.contains(v); v = graph_.node(v).in[0])
        reach.nodes.insert(v.node);
      bool computed = v == operand.base &&
                      (IsSource(v)        ? !InMemory(v)
                       : operand.gathered ? false
                                          : members.contains(v.node) || ClonedIn(part.group, v));
      if (!computed) {
        reach.inputs.insert(v);
      } else if (reach.nodes.insert(v.node).second) {
        todo.push_back(v.node);
      }
    }
  }
  return reach;
}

Group Sweep::Write(const Part& part) const {
  const WorkGroup& g = At(part.group);
  Group out;
  out.kind = g.kind;
  if (g.kind == GroupKind::kGemm) {
    WriteGemm(part, &out);
    return out;
  }
  if (g.kind == GroupKind::kSort) {
    WriteSort(part, &out);
    return out;
  }
  // One chain of views may lead through a value that another operand reads from memory: so does the
  // chain then, and what lies beneath is not needed.
  const Reach first = ReachOf(part, {});
  const Reach reach = ReachOf(part, first.inputs);
  out.nodes.assign(reach.nodes.begin(), reach.nodes.end());
  std::sort(out.nodes.begin(), out.nodes.end());
  out.inputs.assign(reach.inputs.begin(), reach.inputs.end());
  std::sort(out.inputs.begin(), out.inputs.end(), [](Value a, Value b) {
    return std::pair(a.node, a.result) < std::pair(b.node, b.result);
  });
  WriteOutputs(part, &out);
  bool copy = std::all_of(part.members.begin(), part.members.end(),
                          [this](NodeId id) { return copies_.contains(id); });
  if (copy) out.kind = IsRenaming(part) ? GroupKind::kView : GroupKind::kCopy;
  return out;
}

void Sweep::WriteOutputs(const Part& part, Group* out) const {
  const WorkGroup& g = At(part.group);
  absl::flat_hash_set<NodeId> members(part.members.begin(), part.members.end());
  absl::flat_hash_set<Value> wanted;
  for (Value v : graph_.outputs()) {
    if (members.contains(v.node)) wanted.insert(v);
  }
  for (NodeId id : part.members) {
    for (const Reading& reading : readings_[static_cast<size_t>(id)]) {
      for (const Operand& operand : ReadBy(reading.group, reading.reader)) {
        if (operand.base.node == id) wanted.insert(operand.base);
      }
    }
  }
  if (part.split) {  // other parts may read any of it
    absl::flat_hash_set<NodeId> all(live_[static_cast<size_t>(part.group)].begin(),
                                    live_[static_cast<size_t>(part.group)].end());
    for (NodeId reader : all) {
      if (members.contains(reader)) continue;
      for (const Operand& operand : OperandsOf(reader)) {
        if (members.contains(operand.base.node)) wanted.insert(operand.base);
      }
    }
    for (const auto& [reader, maps] : g.clones) {
      for (const Operand& operand : OperandsOf(reader)) {
        if (members.contains(operand.base.node) && !ClonedIn(part.group, operand.base))
          wanted.insert(operand.base);
      }
    }
  }
  out->outputs.assign(wanted.begin(), wanted.end());
  std::sort(out->outputs.begin(), out->outputs.end(), [](Value a, Value b) {
    return std::pair(a.node, a.result) < std::pair(b.node, b.result);
  });
  out->domain = g.domain;
  out->reduce_axes = g.reduce_axes;
  for (Value v : out->outputs) out->output_maps.push_back(FrameOf(v.node).map);
  bool reduces = std::any_of(part.members.begin(), part.members.end(),
                             [this](NodeId id) { return IsLoop(graph_.node(id).kind()); });
  if (reduces || !g.reduces) return;
  out->reduce_axes.clear();
  if (!FrameOf(part.members[0]).row) return;
  std::vector<int> renumbered(g.domain.size(), -1);  // the rows alone are the domain
  out->domain.clear();
  for (size_t a = 0; a < g.domain.size(); ++a) {
    if (std::find(g.reduce_axes.begin(), g.reduce_axes.end(), static_cast<int>(a)) !=
        g.reduce_axes.end())
      continue;
    renumbered[a] = static_cast<int>(out->domain.size());
    out->domain.push_back(g.domain[a]);
  }
  for (IndexMap& map : out->output_maps) {
    for (IndexExpr& e : map.coords) {
      for (IndexTerm& t : e.terms) {
        for (auto& [axis, factor] : t.linear.coefs) axis = renumbered[static_cast<size_t>(axis)];
      }
    }
  }
}

void Sweep::WriteGemm(const Part& part, Group* out) const {
  const WorkGroup& g = At(part.group);
  const NodeId id = part.members[0];
  const EpilogueMatch& match =
      epilogues_[static_cast<size_t>(epilogue_of_[static_cast<size_t>(id)])];
  absl::flat_hash_set<NodeId> nodes(match.nodes.begin(), match.nodes.end());
  nodes.insert(match.product);
  const absl::flat_hash_set<Value> read(g.call_operands.begin(), g.call_operands.end());
  std::vector<NodeId> todo(nodes.begin(), nodes.end());
  while (!todo.empty()) {  // and the views and constants between them
    const NodeId at = todo.back();
    todo.pop_back();
    for (Value v : graph_.node(at).in) {
      if (!read.contains(v) && nodes.insert(v.node).second) todo.push_back(v.node);
    }
  }
  out->nodes.assign(nodes.begin(), nodes.end());
  std::sort(out->nodes.begin(), out->nodes.end());
  out->inputs = g.call_operands;
  out->outputs.push_back({id, 0});
  out->domain = g.domain;
  out->output_maps.push_back(g.frames[0].map);
  out->gemm = g.gemm;
}

void Sweep::WriteSort(const Part& part, Group* out) const {
  const WorkGroup& g = At(part.group);
  NodeId id = part.members[0];
  out->nodes.push_back(id);
  out->inputs = g.call_operands;
  for (int32_t r = 0; r < 3; ++r) out->outputs.push_back({id, r});
  out->domain = g.domain;
  out->sort = g.sort;
}

// A returned reshape of what a matrix product wrote: the product can write to the output's buffer
// at once.
bool Sweep::IsRenaming(const Part& part) const {
  if (part.members.size() != 1 || copies_.at(part.members[0]) != Reason::kOutputCopy) return false;
  NodeId id = part.members[0];
  const ViewChain& chain = *views_->OwnChain(id);
  if (epilogue_of_[static_cast<size_t>(chain.base.node)] < 0 ||
      is_output_[static_cast<size_t>(chain.base.node)])
    return false;
  for (const Reading& reading : readings_[static_cast<size_t>(chain.base.node)]) {
    if (reading.reader != id && reading.reader < id && copies_.contains(reading.reader))
      return false;  // another view has the buffer
  }
  std::optional<Frame> reshape =
      ReshapeFrame(graph_, graph_.node(id).types[0].dims, ShapeOf(chain.base));
  return reshape && reshape->map == chain.map;
}

// Inputs, scalars, constants and iotas that the graph returns as they are.
void Sweep::AddSourceOutputs(std::vector<Group>* groups) const {
  absl::flat_hash_set<Value> done;
  for (Value v : graph_.outputs()) {
    if (!IsSource(v) || Home(v) >= 0 || !done.insert(v).second) continue;
    Group group;
    if (InMemory(v)) {
      group.kind = GroupKind::kCopy;
      group.inputs.push_back(v);
    } else {
      group.nodes.push_back(v.node);
    }
    group.outputs.push_back(v);
    group.domain = ShapeOf(v);
    group.output_maps.push_back(IdentityOf(group.domain));
    groups->push_back(std::move(group));
  }
}

// Topological; among groups that are ready, in graph order.
std::vector<int> Sweep::Order(const std::vector<Group>& groups) const {
  absl::flat_hash_map<Value, int> maker;
  for (size_t i = 0; i < groups.size(); ++i) {
    for (Value v : groups[i].outputs) {
      if (!IsSource(v) || Home(v) >= 0) maker[v] = static_cast<int>(i);
    }
  }
  std::vector<int> waiting(groups.size());
  std::vector<std::vector<int>> readers(groups.size());
  for (size_t i = 0; i < groups.size(); ++i) {
    for (Value v : groups[i].inputs) {
      auto it = maker.find(v);
      if (it == maker.end() || it->second == static_cast<int>(i)) continue;
      readers[static_cast<size_t>(it->second)].push_back(static_cast<int>(i));
      ++waiting[i];
    }
  }
  using Ready = std::pair<NodeId, int>;
  std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
  auto push = [&](int i) {
    const Group& g = groups[static_cast<size_t>(i)];
    ready.emplace(g.nodes.empty() ? graph_.size() : g.nodes.back(), i);
  };
  for (size_t i = 0; i < groups.size(); ++i) {
    if (waiting[i] == 0) push(static_cast<int>(i));
  }
  std::vector<int> order;
  while (!ready.empty()) {
    int i = ready.top().second;
    ready.pop();
    order.push_back(i);
    for (int reader : readers[static_cast<size_t>(i)]) {
      if (--waiting[static_cast<size_t>(reader)] == 0) push(reader);
    }
  }
  JF_CHECK(order.size() == groups.size());  // levels exclude cycles
  return order;
}

}  // namespace jitfuse::internal
