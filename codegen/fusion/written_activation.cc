#include "codegen/fusion/written_activation.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "ir/op_enum.h"
#include "ir/pointwise.h"
#include "ir/wide_scalar.h"

namespace jitfuse::internal {
namespace {

constexpr size_t kMaxNodes = 20;
constexpr Op kSmooth[] = {Op::kAdd,  Op::kSubtract, Op::kMultiply, Op::kDivide,    Op::kNegative,
                          Op::kTanh, Op::kErf,      Op::kErfc,     Op::kExp,       Op::kSigmoid,
                          Op::kPow,  Op::kSquare,   Op::kExpm1,    Op::kReciprocal};

bool IsSmooth(Op op) {
  return std::find(std::begin(kSmooth), std::end(kSmooth), op) != std::end(kSmooth);
}

class Finder {
 public:
  Finder(const Graph& graph, const Views& views, const std::vector<std::vector<NodeId>>& users,
         Value argument, absl::Span<const GemmActivation> wanted)
      : graph_(graph), views_(views), users_(users), argument_(argument), wanted_(wanted) {
    for (Value v : graph.outputs()) outputs_.insert(v.node);
  }

  std::optional<WrittenActivation> Find() {
    if (!IsFloat(graph_.type(argument_).dtype) || outputs_.contains(argument_.node))
      return std::nullopt;
    Collect();
    for (NodeId last : members_) {
      const std::vector<NodeId> nodes = WaysTo(last);
      if (nodes.size() < 2 || !LeadsOnlyTo(last, nodes)) continue;
      if (std::optional<GemmActivation> activation = Recognize(nodes))
        return WrittenActivation{*activation, nodes};
    }
    return std::nullopt;
  }

 private:
  bool IsConstant(Value v) const { return graph_.node(views_.Base(v)).kind() == OpKind::kConstant; }

  bool MayJoin(NodeId id) const {
    const Node& node = graph_.node(id);
    if (!IsSmooth(node.op) || !(node.types[0].dtype == graph_.type(argument_).dtype)) return false;
    return std::all_of(node.in.begin(), node.in.end(), [this](Value v) {
      return v == argument_ || members_.contains(v.node) || IsConstant(v);
    });
  }

  // What is computed of the argument and constants alone, as far as it is small.
  void Collect() {
    std::set<NodeId> todo(users_[At(argument_.node)].begin(), users_[At(argument_.node)].end());
    while (!todo.empty() && members_.size() < kMaxNodes) {
      const NodeId id = *todo.begin();  // ascending: operands are there first
      todo.erase(todo.begin());
      if (!MayJoin(id)) continue;
      members_.insert(id);
      todo.insert(users_[At(id)].begin(), users_[At(id)].end());
    }
  }

  // Members that `last` is computed from, and itself, ascending.
  std::vector<NodeId> WaysTo(NodeId last) const {
    std::set<NodeId> found = {last};
    for (auto it = found.rbegin(); it != found.rend(); ++it) {
      for (Value v : graph_.node(*it).in) {
        if (members_.contains(v.node)) found.insert(v.node);
      }
    }
    return {found.begin(), found.end()};
  }

  bool LeadsOnlyTo(NodeId last, const std::vector<NodeId>& nodes) const {
    auto inside = [&](NodeId id) {
      return std::all_of(users_[At(id)].begin(), users_[At(id)].end(), [&](NodeId user) {
        return std::binary_search(nodes.begin(), nodes.end(), user);
      });
    };
    if (!inside(argument_.node)) return false;
    return std::all_of(nodes.begin(), nodes.end(), [&](NodeId id) {
      return id == last || (inside(id) && !outputs_.contains(id));
    });
  }

  std::optional<GemmActivation> Recognize(const std::vector<NodeId>& nodes) const {
    const bool erf = std::any_of(nodes.begin(), nodes.end(), [this](NodeId id) {
      return graph_.node(id).op == Op::kErf || graph_.node(id).op == Op::kErfc;
    });
    struct Row {
      Op op;
      GemmActivation activation;
      bool erf;
    };
    constexpr Row kRows[] = {{Op::kGelu, GemmActivation::kGelu, true},
                             {Op::kGeluTanh, GemmActivation::kGeluTanh, false},
                             {Op::kSilu, GemmActivation::kSilu, false}};
    const std::optional<std::vector<ScalarProgram>> programs = ProgramsOf(nodes);
    if (!programs) return std::nullopt;
    for (const Row& row : kRows) {
      const bool wanted =
          std::find(wanted_.begin(), wanted_.end(), row.activation) != wanted_.end();
      if (wanted && row.erf == erf && Same(nodes, *programs, row.op)) return row.activation;
    }
    return std::nullopt;
  }

  std::optional<std::vector<ScalarProgram>> ProgramsOf(const std::vector<NodeId>& nodes) const {
    std::vector<ScalarProgram> out;
    for (NodeId id : nodes) {
      const Node& node = graph_.node(id);
      std::vector<DType> types;
      for (Value v : node.in) types.push_back(graph_.type(v).dtype);
      absl::StatusOr<ScalarProgram> program = PointwiseProgram(node, types, BodyForm::kDeclared);
      if (!program.ok()) return std::nullopt;
      out.push_back(*std::move(program));
    }
    return out;
  }

  // In long double throughout: what is not exact is not rounded to its type.
  long double Written(const std::vector<NodeId>& nodes, const std::vector<ScalarProgram>& programs,
                      long double x) const {
    std::map<NodeId, WideElem> values;
    WideElem result;
    for (size_t i = 0; i < nodes.size(); ++i) {
      std::vector<WideElem> args;
      for (Value v : graph_.node(nodes[i]).in) {
        const Value base = views_.Base(v);
        args.push_back(
            v == argument_ ? WideElem{x, kSignOfZero}
            : members_.contains(v.node)
                ? values[v.node]
                : WideElem{ScalarToDouble(graph_.type(base).dtype, graph_.ConstantValue(base.node)),
                           0});
      }
      EvalWideProgram(programs[i], args.data(), &result);
      values[nodes[i]] = result = {result.value, kSignOfZero};
    }
    return result.value;
  }

  bool Same(const std::vector<NodeId>& nodes, const std::vector<ScalarProgram>& programs,
            Op op) const {
    Graph one;
    absl::StatusOr<Value> x = one.AddInput("x", {DType::kF64, {}});
    if (!x.ok()) return false;
    absl::StatusOr<Value> y = one.Add(op, {*x});
    if (!y.ok()) return false;
    const DType types[] = {DType::kF64};
    absl::StatusOr<ScalarProgram> known =
        PointwiseProgram(one.node(*y), types, BodyForm::kDeclared);
    if (!known.ok()) return false;
    // Constants may be rounded to the dtype. In the left tail, exp(-x^2 / 2) or, in the tanh form,
    // exp(-1.6 |x| - 0.071 |x|^3), that counts as often as the exponent is large.
    const DType dtype = graph_.type(argument_).dtype;
    const long double eps = (Is16BitFloat(dtype) ? 1 : 4) * EpsOf(dtype);
    auto same = [&](long double at) {
      const WideElem arg{at, kSignOfZero};
      WideElem want;
      EvalWideProgram(*known, &arg, &want);
      if (std::isinf(want.bound)) return true;  // beyond what is told of exp
      const long double got = Written(nodes, programs, at);
      if (std::isnan(want.value) || std::isinf(want.value))
        return std::isnan(want.value) ? std::isnan(got) : got == want.value;
      const long double cancelled = 1e-17L * std::max(1.0L, std::fabs(at));  // 1 + erf in the tail
      return std::fabs(got - want.value) <=
             eps * (1 + 2 * at * at + 0.2L * std::fabs(at * at * at)) * std::fabs(want.value) +
                 cancelled;
    };
    constexpr long double kInf = std::numeric_limits<long double>::infinity();
    for (int i = -160; i <= 80; ++i) {
      const long double at = std::exp2(i / 8.0L);
      if (!same(at) || !same(-at)) return false;
    }
    return same(kInf) && same(-kInf);
  }

  static size_t At(NodeId id) { return static_cast<size_t>(id); }

  const Graph& graph_;
  const Views& views_;
  const std::vector<std::vector<NodeId>>& users_;
  const Value argument_;
  const absl::Span<const GemmActivation> wanted_;
  std::set<NodeId> outputs_, members_;
};

}  // namespace

std::optional<WrittenActivation> FindWrittenActivation(
    const Graph& graph, const Views& views, const std::vector<std::vector<NodeId>>& users,
    Value argument, absl::Span<const GemmActivation> wanted) {
  return Finder(graph, views, users, argument, wanted).Find();
}

}  // namespace jitfuse::internal
