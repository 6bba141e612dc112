#include "jit/group_products.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/op_enum.h"
#include "ir/rewrite/rebuild.h"
#include "ir/support/status.h"

namespace jitfuse::internal {
namespace {

size_t At(NodeId id) { return static_cast<size_t>(id); }

// One of the products, and what of it is replaced.
struct Member {
  NodeId product = -1;
  NodeId tail = -1;           // the product, or the sum with its bias
  std::optional<Value> bias;  // of the tail's sum: of rank 1
};
using Members = std::vector<Member>;

class Grouping {
 public:
  Grouping(const Graph& graph, const std::vector<bool>& bound)
      : graph_(graph), users_(ComputeUsers(graph)), is_output_(At(graph.size()), false) {
    for (Value v : graph.outputs()) is_output_[At(v.node)] = true;
    FindHeld(bound);
  }

  // Products that read one A in one way, two or more, in the order of the first.
  std::vector<Members> OfOneMatrix(const GemmSupportFn& support) const {
    std::map<std::tuple<NodeId, int, bool, bool>, Members> by_a;
    for (NodeId id = 0; id < graph_.size(); ++id) {
      const Node& node = graph_.node(id);
      if (node.kind() != OpKind::kMatMul || support(node.types[0].dtype)) continue;
      if (graph_.type(node.in[0]).dims.size() < 2 || graph_.type(node.in[1]).dims.size() != 2)
        continue;
      by_a[{node.in[0].node, node.in[0].result, node.Get<bool>("transpose_a"),
            node.Get<bool>("transpose_b")}]
          .push_back({id, id, std::nullopt});
    }
    std::vector<Members> out;
    for (auto& [a, members] : by_a) {
      if (members.size() > 1 && !IsHeld(graph_.node(members[0].product).in[0]))
        out.push_back(std::move(members));
    }
    std::sort(out.begin(), out.end(),
              [](const Members& x, const Members& y) { return x[0].product < y[0].product; });
    return out;
  }

  bool IsHeld(Value v) const { return held_[At(v.node)] == Held::kYes; }
  bool IsHeldOrConstant(NodeId id) const { return held_[At(id)] != Held::kNo; }

  // With the sums behind the products, if each has one with a bound bias.
  Members WithBiases(const Members& members) const {
    Members out = members;
    for (Member& m : out) {
      m.bias = BiasBehind(m.product, &m.tail);
      if (!m.bias) return members;
    }
    return out;
  }

  // How many kernels copy slices of the result to where they have to lie.
  int64_t Copies(const Members& members) const {
    absl::flat_hash_set<int64_t> returned;  // slices of one shape are copied by one kernel
    int64_t multiplied = 0;
    for (const Member& m : members) {
      const Reached reached = WhoReads(m.tail);
      if (reached.call) ++multiplied;
      if (reached.output) returned.insert(Columns(m));
    }
    return multiplied + static_cast<int64_t>(returned.size());
  }

  bool IsReturned(const Member& m) const { return WhoReads(m.tail).output; }
  int64_t Columns(const Member& m) const {
    return graph_.node(m.product).types[0].dims.back().constant();
  }

 private:
  // kConstant: of neither bound inputs nor others.
  enum class Held : uint8_t { kNo, kConstant, kYes };

  // Of bound inputs not where a dim is made of several symbols (i + j), which the array does not
  // decide.
  static bool HasConstantSizes(const Node& node) {
    return std::all_of(node.types.begin(), node.types.end(),
                       [](const TensorType& type) { return IsStatic(type.dims); });
  }

  void FindHeld(const std::vector<bool>& bound) {
    held_.assign(At(graph_.size()), Held::kNo);
    for (size_t i = 0; i < graph_.inputs().size(); ++i) {
      const NodeId input = graph_.inputs()[i];
      if (i < bound.size() && bound[i] && HasConstantSizes(graph_.node(input)))
        held_[At(input)] = Held::kYes;
    }
    for (NodeId id = 0; id < graph_.size(); ++id) {
      const Node& node = graph_.node(id);
      if (node.kind() == OpKind::kInput || node.kind() == OpKind::kScalar) continue;
      Held held = HasConstantSizes(node) ? Held::kConstant : Held::kNo;
      for (Value v : node.in) {
        if (held_[At(v.node)] == Held::kNo) held = Held::kNo;
        if (held_[At(v.node)] == Held::kYes && held == Held::kConstant) held = Held::kYes;
      }
      held_[At(id)] = held;
    }
  }

  std::optional<Value> BiasBehind(NodeId product, NodeId* tail) const {
    const std::vector<NodeId>& users = users_[At(product)];
    if (is_output_[At(product)] || users.size() != 1) return std::nullopt;
    const Node& sum = graph_.node(users[0]);
    if (sum.op != Op::kAdd) return std::nullopt;
    const Value other = sum.in[sum.in[0].node == product ? 1 : 0];
    const Node& row = graph_.node(other);
    if (row.op != Op::kBroadcast || !IsHeld(row.in[0])) return std::nullopt;
    const Value bias = row.in[0];
    const Shape& dims = graph_.type(bias).dims;
    if (dims.size() != 1 || !(dims[0] == sum.types[0].dims.back())) return std::nullopt;
    *tail = users[0];
    return bias;
  }

  struct Reached {
    bool output = false, call = false;
  };
  // What reads a value, also through views.
  Reached WhoReads(NodeId id) const {
    Reached out;
    std::vector<NodeId> open = {id};
    while (!open.empty()) {
      const NodeId now = open.back();
      open.pop_back();
      out.output = out.output || is_output_[At(now)];
      for (NodeId user : users_[At(now)]) {
        const OpKind kind = graph_.node(user).kind();
        if (kind == OpKind::kView) open.push_back(user);
        out.call = out.call || kind == OpKind::kMatMul || kind == OpKind::kSort;
      }
    }
    return out;
  }

  const Graph& graph_;
  const std::vector<std::vector<NodeId>> users_;
  std::vector<bool> is_output_;
  std::vector<Held> held_;
};

// One product in place of several, in the new graph.
class Joiner {
 public:
  Joiner(GraphRewriter* rewriter, const Grouping& grouping, const Members& members)
      : rewriter_(*rewriter), grouping_(grouping), members_(members) {}

  absl::Status Join() {
    const Node& first = rewriter_.from().node(members_[0].product);
    const bool transposed = first.Get<bool>("transpose_b");
    JF_ASSIGN_OR_RETURN(const Value b, SideBySide(transposed ? 0 : 1, [&](const Member& m) {
                          return rewriter_.from().node(m.product).in[1];
                        }));
    const std::vector<Value> operands = {rewriter_.Map(first.in[0]), b};
    JF_ASSIGN_OR_RETURN(Value result,
                        rewriter_.to().Add(Op::kMatMul, operands,
                                           {{"transpose_a", first.Get<bool>("transpose_a")},
                                            {"transpose_b", transposed}}));
    if (members_[0].bias) {
      JF_ASSIGN_OR_RETURN(result, AddBias(result));
    }
    return SetSlices(result);
  }

 private:
  template <typename Of>
  absl::StatusOr<Value> SideBySide(int64_t axis, Of of) {
    std::vector<Value> parts;
    for (const Member& m : members_) parts.push_back(rewriter_.Map(of(m)));
    return rewriter_.to().Add(Op::kConcatenate, parts, {{"axis", axis}});
  }

  absl::StatusOr<Value> AddBias(Value product) {
    JF_ASSIGN_OR_RETURN(const Value bias, SideBySide(0, [](const Member& m) { return *m.bias; }));
    const Shape& dims = rewriter_.to().type(product).dims;
    const std::vector<Value> row = {bias};
    JF_ASSIGN_OR_RETURN(
        const Value rows,
        rewriter_.to().Add(Op::kBroadcast, row,
                           {{"shape", std::vector<Dim>(dims.begin(), dims.end())}}));
    const std::vector<Value> operands = {product, rows};
    return rewriter_.to().Add(Op::kAdd, operands);
  }

  absl::Status SetSlices(Value result) {
    const size_t rank = rewriter_.to().type(result).dims.size();
    const std::vector<Value> whole = {result};
    int64_t begin = 0;
    for (const Member& m : members_) {
      std::vector<int64_t> starts(rank, 0);
      std::vector<int64_t> stops(rank, std::numeric_limits<int64_t>::max());
      starts.back() = begin;
      begin += grouping_.Columns(m);
      stops.back() = begin;
      JF_ASSIGN_OR_RETURN(Value slice, rewriter_.to().Add(Op::kSlice, whole,
                                                          {{"starts", starts}, {"stops", stops}}));
      if (grouping_.IsReturned(m)) {  // a value of its own, which one kernel writes with others
        const std::vector<Value> part = {slice};
        JF_ASSIGN_OR_RETURN(
            slice,
            rewriter_.to().Add(Op::kCast, part, {{"dtype", rewriter_.to().type(slice).dtype}}));
      }
      rewriter_.Set({m.tail, 0}, slice);
    }
    return absl::OkStatus();
  }

  GraphRewriter& rewriter_;
  const Grouping& grouping_;
  const Members& members_;
};

std::string Text(const Graph& graph, const Members& members) {
  return absl::StrCat(members.size(), " products of ",
                      graph.TypeString(graph.node(members[0].product).in[0]), " with ",
                      absl::StrJoin(members, ", ", [&](std::string* out, const Member& m) {
                        absl::StrAppend(out, graph.TypeString(graph.node(m.product).in[1]));
                      }));
}

// The products that become one, or a note of why they do not.
std::optional<Members> Choose(const Graph& graph, const Grouping& grouping, const Members& all,
                              std::vector<Note>* notes) {
  Members held;
  for (const Member& m : all) {
    if (grouping.IsHeld(graph.node(m.product).in[1])) held.push_back(m);
  }
  if (held.size() < 2) {
    notes->push_back({-1, Reason::kGemmApart, Text(graph, all)});
    return std::nullopt;
  }
  const Members members = grouping.WithBiases(held);
  const int64_t copies = grouping.Copies(members);
  if (copies + 1 >= static_cast<int64_t>(members.size())) {
    notes->push_back({-1, Reason::kGemmApart,
                      absl::StrCat(Text(graph, members), ", which are bound, but ", copies,
                                   " kernels would copy parts of one result to where they are "
                                   "returned or multiplied")});
    return std::nullopt;
  }
  notes->push_back({-1, Reason::kGemmGrouped, Text(graph, members)});
  return members;
}

absl::StatusOr<Graph> Rebuild(const Graph& graph, const Grouping& grouping,
                              const std::vector<Members>& groups) {
  GraphRewriter rewriter(graph);
  // Right operands and biases may come after the first product of their group.
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (grouping.IsHeldOrConstant(id)) JF_RETURN_IF_ERROR(rewriter.Copy(id));
  }
  absl::flat_hash_set<NodeId> replaced;
  for (const Members& members : groups) {
    for (const Member& m : members) replaced.insert({m.product, m.tail});
  }
  for (NodeId id = 0; id < graph.size(); ++id) {
    for (const Members& members : groups) {
      if (members[0].product == id) JF_RETURN_IF_ERROR(Joiner(&rewriter, grouping, members).Join());
    }
    if (!replaced.contains(id) && !grouping.IsHeldOrConstant(id))
      JF_RETURN_IF_ERROR(rewriter.Copy(id));
  }
  JF_ASSIGN_OR_RETURN(const Graph joined, std::move(rewriter).Finish());
  return RemoveDeadNodes(joined);
}

}  // namespace

absl::StatusOr<GroupedProducts> GroupProducts(Graph graph, const std::vector<bool>& bound,
                                              const Options& options,
                                              const GemmSupportFn& support) {
  GroupedProducts out{std::move(graph), {}};
  int products = 0;
  for (NodeId id = 0; id < out.graph.size(); ++id)
    products += out.graph.node(id).kind() == OpKind::kMatMul ? 1 : 0;
  if (products < 2 || !options.fuse || !options.use_gemm_library || options.max_fusions >= 0)
    return out;
  const Grouping grouping(out.graph, bound);
  std::vector<Members> groups;
  for (const Members& all : grouping.OfOneMatrix(support)) {
    if (std::optional<Members> members = Choose(out.graph, grouping, all, &out.notes))
      groups.push_back(*std::move(members));
  }
  if (groups.empty()) return out;
  absl::StatusOr<Graph> grouped = Rebuild(out.graph, grouping, groups);
  if (!grouped.ok()) return Annotate(grouped.status(), "grouping products");
  out.graph = *std::move(grouped);
  return out;
}

}  // namespace jitfuse::internal
