#include "codegen/fusion/column_sums.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "codegen/fusion/partition.h"
#include "codegen/fusion/relation.h"
#include "ir/op_enum.h"

namespace jitfuse::internal {
namespace {

constexpr int64_t kFewestRows = 64;
// Bytes of a row's operands and sums: registers of a GPU's block of threads; a core's second cache.
constexpr int64_t kGpuRow = int64_t{128} * 1024, kCpuRow = int64_t{256} * 1024;
constexpr int kOperands = 2;  // of a row, about, that are held beside its sums
constexpr size_t kMostSeen = 256;

bool Contains(const std::vector<int>& axes, size_t axis) {
  return std::find(axes.begin(), axes.end(), static_cast<int>(axis)) != axes.end();
}

SizeExpr Extent(const Group& group, bool reduced) {
  SizeExpr n(1);
  for (size_t a = 0; a < group.domain.size(); ++a) {
    if (Contains(group.reduce_axes, a) == reduced) n = n * group.domain[a];
  }
  return n;
}

// Whether the axes that are reduced are the others of `b`, extents of 1 aside, b's the innermost.
bool AreTheOthers(const Group& a, const Group& b) {
  bool innermost = true;
  for (size_t axis = a.domain.size(); axis-- > 0;) {
    if (a.domain[axis].Is(1)) continue;
    const bool in_a = Contains(a.reduce_axes, axis), in_b = Contains(b.reduce_axes, axis);
    if (in_a == in_b || (innermost && !in_b)) return false;
    innermost = false;
  }
  return !innermost;
}

class Joiner {
 public:
  Joiner(const Graph& graph, const Target& target, std::vector<int> insts,
         std::vector<Group>* groups)
      : graph_(graph),
        target_(target),
        insts_(std::move(insts)),
        groups_(*groups),
        gone_(groups->size(), false) {
    for (size_t g = 0; g < groups_.size(); ++g) {
      for (Value v : groups_[g].outputs) maker_[v] = static_cast<int>(g);
      for (Value v : groups_[g].inputs) readers_[v].push_back(static_cast<int>(g));
    }
    returned_.insert(graph.outputs().begin(), graph.outputs().end());
  }

  std::vector<bool> Run(int64_t limit) {
    for (size_t c = 0; c < groups_.size() && limit > 0; ++c) {
      if (!SumsRows(groups_[c])) continue;
      for (int row : Beside(groups_[c])) {
        if (static_cast<size_t>(row) == c || !TryJoin(row, static_cast<int>(c))) continue;
        --limit;
        break;
      }
    }
    return std::move(gone_);
  }

 private:
  bool Has(const Group& group, OpKind kind) const {
    return std::any_of(group.nodes.begin(), group.nodes.end(),
                       [&](NodeId id) { return graph_.node(id).kind() == kind; });
  }
  // Whether all that it reduces is summed. (What it does with the sums is for VerifyGroup to
  // judge.)
  bool SumsRows(const Group& group) const {
    return group.kind == GroupKind::kLoop && !group.reduce_axes.empty() &&
           group.column_sums.empty() && Has(group, OpKind::kReduce) &&
           std::none_of(group.nodes.begin(), group.nodes.end(), [&](NodeId id) {
             const Node& node = graph_.node(id);
             return node.kind() == OpKind::kScan ||
                    (node.kind() == OpKind::kReduce && node.op != Op::kSum);
           });
  }

  // Groups that make what this one reads, or read it as well.
  std::vector<int> Beside(const Group& group) const {
    std::vector<int> out;
    auto add = [&](int g) {
      if (out.size() < kMostSeen && std::find(out.begin(), out.end(), g) == out.end())
        out.push_back(g);
    };
    for (Value v : group.inputs) {
      auto made = maker_.find(v);
      if (made != maker_.end()) add(made->second);
    }
    for (Value v : group.inputs) {
      auto read = readers_.find(v);
      if (read == readers_.end()) continue;
      for (int g : read->second) add(g);
    }
    return out;
  }

  bool Fits(const Group& row, size_t sums) const {
    const SizeExpr rows = Extent(row, false), points = Extent(row, true);
    if (rows.IsConstant() && rows.constant() < kFewestRows) return false;
    if (!points.IsConstant()) return true;
    const int64_t held = target_.kind == TargetKind::kCuda ? kGpuRow : kCpuRow;
    return points.constant() * 4 * (kOperands + static_cast<int64_t>(sums)) <= held;
  }

  bool TryJoin(int row, int columns) {
    const Group &r = groups_[static_cast<size_t>(row)], &c = groups_[static_cast<size_t>(columns)];
    if (gone_[static_cast<size_t>(row)] || r.kind != GroupKind::kLoop || !Has(r, OpKind::kReduce) ||
        Has(r, OpKind::kScan) || !graph_.SameShape(r.domain, c.domain) || !AreTheOthers(c, r))
      return false;
    Group joined = Joined(r, c);
    const int params =
        static_cast<int>(joined.inputs.size() + joined.outputs.size() + joined.column_sums.size());
    const int insts = insts_[static_cast<size_t>(row)] + insts_[static_cast<size_t>(columns)];
    if (!Fits(r, joined.column_sums.size()) || params > target_.max_params ||
        insts > target_.max_insts || Between(row, columns) || Between(columns, row) ||
        !VerifyGroup(graph_, joined).ok())
      return false;
    insts_[static_cast<size_t>(row)] = insts;
    Replace(row, columns, std::move(joined));
    return true;
  }

  // Outputs that only the other group read are none any more.
  Group Joined(const Group& r, const Group& c) const {
    Group out = r;
    absl::flat_hash_set<NodeId> nodes(r.nodes.begin(), r.nodes.end());
    nodes.insert(c.nodes.begin(), c.nodes.end());
    out.nodes.assign(nodes.begin(), nodes.end());
    std::sort(out.nodes.begin(), out.nodes.end());
    absl::flat_hash_set<Value> made(r.outputs.begin(), r.outputs.end()), inputs;
    made.insert(c.outputs.begin(), c.outputs.end());
    for (const Group* g : {&r, &c}) {
      for (Value v : g->inputs) {
        if (!made.contains(v)) inputs.insert(v);
      }
    }
    auto by_node = [](Value a, Value b) {
      return std::pair(a.node, a.result) < std::pair(b.node, b.result);
    };
    out.inputs.assign(inputs.begin(), inputs.end());
    std::sort(out.inputs.begin(), out.inputs.end(), by_node);
    std::vector<std::pair<Value, IndexMap>> outputs;
    for (const Group* g : {&r, &c}) {
      for (size_t i = 0; i < g->outputs.size(); ++i) {
        if (WantedBeside(g->outputs[i], r, c))
          outputs.emplace_back(g->outputs[i], g->output_maps[i]);
      }
    }
    std::sort(outputs.begin(), outputs.end(),
              [&](const auto& a, const auto& b) { return by_node(a.first, b.first); });
    out.outputs.clear();
    out.output_maps.clear();
    for (auto& [v, map] : outputs) {
      out.outputs.push_back(v);
      out.output_maps.push_back(std::move(map));
    }
    for (NodeId id : c.nodes) {
      if (graph_.node(id).kind() == OpKind::kReduce) out.column_sums.push_back(id);
    }
    std::sort(out.column_sums.begin(), out.column_sums.end());
    return out;
  }

  bool WantedBeside(Value v, const Group& r, const Group& c) const {
    if (returned_.contains(v)) return true;
    auto it = readers_.find(v);
    return it != readers_.end() && std::any_of(it->second.begin(), it->second.end(), [&](int g) {
             const Group& reader = groups_[static_cast<size_t>(g)];
             return &reader != &r && &reader != &c && !gone_[static_cast<size_t>(g)];
           });
  }

  // Whether a third group reads what `from` makes and leads to `to`; yes, if many would have to be
  // looked at.
  bool Between(int from, int to) const {
    std::vector<int> todo;
    absl::flat_hash_set<int> seen = {from, to};
    auto follow = [&](int g) {
      for (Value v : groups_[static_cast<size_t>(g)].outputs) {
        auto it = readers_.find(v);
        if (it == readers_.end()) continue;
        for (int reader : it->second) {
          if (reader == to && g != from) return true;
          if (seen.insert(reader).second) todo.push_back(reader);
        }
      }
      return false;
    };
    if (follow(from)) return true;
    while (!todo.empty()) {
      const int g = todo.back();
      todo.pop_back();
      if (seen.size() > kMostSeen || follow(g)) return true;
    }
    return false;
  }

  void Replace(int row, int columns, Group joined) {
    for (int g : {row, columns}) {
      for (Value v : groups_[static_cast<size_t>(g)].outputs) maker_.erase(v);
      for (Value v : groups_[static_cast<size_t>(g)].inputs) std::erase(readers_[v], g);
    }
    for (Value v : joined.outputs) maker_[v] = row;
    for (Value v : joined.inputs) readers_[v].push_back(row);
    groups_[static_cast<size_t>(row)] = std::move(joined);
    gone_[static_cast<size_t>(columns)] = true;
  }

  const Graph& graph_;
  const Target& target_;
  std::vector<int> insts_;
  std::vector<Group>& groups_;
  std::vector<bool> gone_;
  absl::flat_hash_map<Value, int> maker_;
  absl::flat_hash_map<Value, std::vector<int>> readers_;
  absl::flat_hash_set<Value> returned_;
};

}  // namespace

std::vector<bool> JoinColumnSums(const Graph& graph, const Target& target, int64_t limit,
                                 std::vector<int> insts, std::vector<Group>* groups) {
  return Joiner(graph, target, std::move(insts), groups).Run(limit);
}

}  // namespace jitfuse::internal
