// Sweep: why each border of a finished plan is where it is.
#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "codegen/fusion/sweep.h"

namespace jitfuse::internal {

void Sweep::WriteBoundaries(FusionPlan* plan, const std::vector<int>& work_of) const {
  absl::flat_hash_map<Value, int> maker;
  for (size_t g = 0; g < plan->groups.size(); ++g) {
    for (Value v : plan->groups[g].outputs) {
      if (!IsSource(v) || Home(v) >= 0) maker[v] = static_cast<int>(g);
    }
  }
  for (size_t g = 0; g < plan->groups.size(); ++g) {
    absl::flat_hash_set<Value> seen;  // a product may read one value twice
    for (Value v : plan->groups[g].inputs) {
      if (!seen.insert(v).second) continue;
      auto it = maker.find(v);
      int from = it == maker.end() ? -1 : it->second;
      Rejection why{Reason::kGraphInput, ""};
      if (from >= 0)
        why = WhyRead(*plan, v, from, static_cast<int>(g), work_of[static_cast<size_t>(from)],
                      work_of[g]);
      plan->boundaries.push_back({v, from, static_cast<int>(g), why.reason, why.detail});
    }
  }
  absl::flat_hash_set<Value> done;
  for (Value v : graph_.outputs()) {
    if (!done.insert(v).second) continue;
    auto it = maker.find(v);
    int from = it != maker.end() ? it->second : -1;
    for (size_t g = 0; g < plan->groups.size() && from < 0; ++g) {
      const std::vector<Value>& outputs = plan->groups[g].outputs;
      if (std::find(outputs.begin(), outputs.end(), v) != outputs.end()) from = static_cast<int>(g);
    }
    GroupKind kind = plan->groups[static_cast<size_t>(from)].kind;
    bool copy = kind == GroupKind::kCopy || kind == GroupKind::kView;
    plan->boundaries.push_back(
        {v, from, -1, copy ? Reason::kOutputCopy : Reason::kGraphOutput, ""});
  }
}

// Why group `to` reads `value` of group `from` from memory. work_*: the groups of the sweep that
// they were.
Rejection Sweep::WhyRead(const FusionPlan& plan, Value value, int from, int to, int work_from,
                         int work_to) const {
  const Group &maker = plan.groups[static_cast<size_t>(from)],
              &reader = plan.groups[static_cast<size_t>(to)];
  if (reader.kind == GroupKind::kGemm)
    return {maker.kind == GroupKind::kCopy ? Reason::kCopyOperand : Reason::kMatmulOperand, ""};
  if (reader.kind == GroupKind::kSort) return {Reason::kSortOperand, ""};
  if (reader.kind == GroupKind::kCopy || reader.kind == GroupKind::kView)
    return {copies_.at(reader.outputs[0].node), ""};
  if (maker.kind == GroupKind::kGemm) {
    const int i = epilogue_of_[static_cast<size_t>(value.node)];
    return epilogues_[static_cast<size_t>(i)].stopped.value_or(
        Rejection{Reason::kMatmulResult, ""});
  }
  if (maker.kind == GroupKind::kSort) return {Reason::kSortResult, ""};
  if (work_from == work_to)
    return {Reason::kParamBudget,
            absl::StrCat("the group would have more than ", target_.max_params, " buffers")};
  for (NodeId id : reader.nodes) {
    for (const Operand& operand : OperandsOf(id)) {
      if (operand.gathered && operand.base == value) {
        return {Reason::kGatherOperand,
                absl::StrCat(Dims(ShapeOf(operand.value)),
                             " is read at positions that come from memory")};
      }
    }
  }
  Rejection switched_off;
  if (!options_.fuse && !MayFuse(&switched_off)) return switched_off;
  for (NodeId id : reader.nodes) {
    auto it = why_.find({value.node, id});
    if (it != why_.end()) return it->second;
  }
  auto copy = copies_.find(value.node);
  if (copy != copies_.end()) return {copy->second, ""};
  if (!MayFuse(&switched_off)) return switched_off;
  return WhyNotSunk(value, work_from, work_to);
}

// A group on a lower level became no part of its reader: either something else reads it too, or
// sinking was refused.
Rejection Sweep::WhyNotSunk(Value value, int from, int to) const {
  std::vector<int> readers = ReadersOf(from);
  if (readers.size() == 1) {
    auto it = not_sunk_.find(from);
    return it != not_sunk_.end() ? it->second : Rejection{Reason::kDomainDiffers, ""};
  }
  std::vector<int>
      todo;  // does a path lead through another reader? (bounded: this is only for the explanation)
  absl::flat_hash_set<int> seen;
  for (int reader : readers) {
    if (reader != to) todo.push_back(reader);
  }
  while (!todo.empty() && seen.size() < 64) {
    int group = todo.back();
    todo.pop_back();
    if (group == to)
      return {Reason::kWouldCycle,
              absl::StrCat("another group reads ", Dims(ShapeOf(value)), " and is read in turn")};
    if (!seen.insert(group).second || At(group).level >= At(to).level) continue;
    for (int reader : ReadersOf(group)) todo.push_back(reader);
  }
  return {Reason::kRecomputeTooDear,
          absl::StrCat(readers.size(), " groups read it: computed once and stored")};
}

}  // namespace jitfuse::internal
