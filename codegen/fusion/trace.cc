// Sweep: which nodes something needs, which of them are stored, and who reads what where.
#include <algorithm>
#include <numeric>

#include "codegen/fusion/sweep.h"

namespace jitfuse::internal {

std::vector<int> Sweep::ByLevelDescending() const {
  std::vector<int> order(groups_.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [this](int a, int b) {
    return std::pair(-groups_[static_cast<size_t>(a)].level, a) <
           std::pair(-groups_[static_cast<size_t>(b)].level, b);
  });
  return order;
}

void Sweep::Trace() {
  auto size = static_cast<size_t>(graph_.size());
  stored_.assign(size, false);
  readings_.assign(size, {});
  live_.assign(groups_.size(), {});
  mark_.assign(size, -1);
  for (Value v : graph_.outputs()) stored_[static_cast<size_t>(v.node)] = true;
  for (int group : ByLevelDescending()) {
    if (!At(group).gone) TraceGroup(group);
  }
}

void Sweep::TraceGroup(int group) {
  WorkGroup& g = At(group);
  std::vector<NodeId> todo;
  auto reach = [&](NodeId id) {
    if (mark_[static_cast<size_t>(id)] == group) return;
    mark_[static_cast<size_t>(id)] = group;
    todo.push_back(id);
  };
  for (NodeId id : g.members) {
    if (stored_[static_cast<size_t>(id)]) reach(id);
  }
  while (!todo.empty()) {
    NodeId id = todo.back();
    todo.pop_back();
    for (const Operand& operand : ReadBy(group, id)) {
      NodeId base = operand.base.node;
      bool iota_stored = IsCall(g.kind) && Home(operand.base) >= 0;
      if (IsSource(operand.base) && !InMemory(operand.base) && !iota_stored) continue;
      if (!IsSource(operand.base) && !operand.gathered &&
          (Home(operand.base) == group || ClonedIn(group, operand.base))) {
        reach(base);
        continue;
      }
      stored_[static_cast<size_t>(base)] = true;
      std::vector<Reading>& readings = readings_[static_cast<size_t>(base)];
      if (readings.empty() || readings.back().reader != id || readings.back().group != group)
        readings.push_back({id, group});
    }
  }
  g.outputs = 0;
  for (NodeId id : g.members) {
    if (mark_[static_cast<size_t>(id)] != group) continue;
    live_[static_cast<size_t>(group)].push_back(id);
    if (stored_[static_cast<size_t>(id)])
      g.outputs += static_cast<int>(graph_.node(id).types.size());
  }
}

std::vector<Sweep::ReadAt> Sweep::ReadsAt(int group, NodeId reader, Value base) const {
  std::vector<ReadAt> out;
  const WorkGroup& g = At(group);
  bool member = home_[static_cast<size_t>(reader)] == group;
  auto add = [&](const IndexMap& map, const Frame* frame) {
    for (const Operand& operand : OperandsOf(reader)) {
      if (operand.base.node != base.node) continue;
      std::optional<IndexMap> at = Pull(operand, map, g.domain);
      if (!at) continue;
      ReadAt read{*std::move(at), std::nullopt, false, operand.gathered};
      if (!operand.plain()) {
        out.push_back(std::move(read));
        continue;
      }
      if (frame != nullptr && operand.chain == nullptr) read.back = frame->inverse;
      if (frame != nullptr && operand.chain != nullptr && operand.chain->inverse) {
        read.back =
            Through(frame->inverse, *operand.chain->inverse, g.domain, ShapeOf(operand.base));
      }
      read.full = read.back && !frame->row;
      out.push_back(std::move(read));
    }
  };
  if (member) add(IterationOf(reader).map, &IterationOf(reader));
  auto clones = g.clones.find(reader);
  if (clones != g.clones.end()) {
    for (const IndexMap& at : clones->second) add(at, nullptr);
  }
  return out;
}

std::vector<int> Sweep::ReadersOf(int group) const {
  std::vector<int> out;
  for (NodeId id : At(group).members) {
    for (const Reading& reading : readings_[static_cast<size_t>(id)]) {
      int reader = Alias(reading.group);
      if (reader != group && std::find(out.begin(), out.end(), reader) == out.end())
        out.push_back(reader);
      if (out.size() > 8) return out;
    }
  }
  return out;
}

}  // namespace jitfuse::internal
