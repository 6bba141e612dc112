#include "ir/eval_needs.h"

#include <algorithm>

#include "ir/eval_walk.h"
#include "ir/view_index.h"

namespace jitfuse::internal {

ElementAccess::ElementAccess(std::vector<int64_t> dims, std::vector<int64_t> strides)
    : dims_(std::move(dims)), strides_(std::move(strides)) {
  identity_ = strides_ == ContiguousStrides(dims_);
}

ElementAccess::Expr ElementAccess::Concrete(const IndexExpr& e, absl::Span<const int64_t> symbols) {
  Expr out;
  out.constant = e.constant.Eval(symbols);
  for (const IndexTerm& t : e.terms) {
    Expr::Term term;
    term.constant = t.linear.constant.Eval(symbols);
    for (const auto& [axis, factor] : t.linear.coefs)
      term.coefs.emplace_back(static_cast<size_t>(axis), factor.Eval(symbols));
    term.div = t.div.Eval(symbols);
    term.mod = t.mod.Is(0) ? 0 : t.mod.Eval(symbols);
    term.coef = t.coef.Eval(symbols);
    out.terms.push_back(std::move(term));
  }
  return out;
}

int64_t ElementAccess::Expr::At(const int64_t* axes) const {
  int64_t sum = constant;
  for (const Term& t : terms) {
    int64_t v = t.constant;
    for (const auto& [axis, factor] : t.coefs) v += factor * axes[axis];
    if (t.div > 1) v /= t.div;
    if (t.mod > 0) v %= t.mod;
    sum += v * t.coef;
  }
  return sum;
}

absl::StatusOr<ElementAccess> ElementAccess::Of(const Graph& graph, const Node& node, int operand,
                                                absl::Span<const int64_t> from,
                                                absl::Span<const int64_t> to,
                                                absl::Span<const int64_t> symbols) {
  std::optional<IndexMap> map =
      PullOperand(graph, node, operand, IdentityMap(static_cast<int>(to.size())),
                  IndexSpace{node.types[0].dims});
  if (!map.has_value()) {
    return InternalError("no index map for ",
                         graph.TypeString(node.in[static_cast<size_t>(operand)]));
  }
  ElementAccess out;
  out.dims_.assign(to.begin(), to.end());
  out.strides_ = ContiguousStrides(from);
  for (const IndexExpr& e : map->coords) out.coords_.push_back(Concrete(e, symbols));
  for (const IndexMask& m : map->masks)
    out.masks_.push_back({Concrete(m.e, symbols), m.lo.Eval(symbols), m.hi.Eval(symbols)});
  // A scalar has no coordinates, which must not be taken for strides of the result.
  if (out.coords_.empty()) out.strides_.assign(to.size(), 0);
  return out;
}

int64_t ElementAccess::operator()(int64_t i) const {
  if (identity_) return i;
  const size_t rank = dims_.size();
  absl::InlinedVector<int64_t, 8> axes(rank);
  int64_t offset = 0;
  for (size_t d = rank; d-- > 0; i /= dims_[d]) {
    axes[d] = i % dims_[d];
    if (coords_.empty()) offset += axes[d] * strides_[d];
  }
  for (const Mask& m : masks_) {
    const int64_t v = m.e.At(axes.data());
    if (v < m.lo || v >= m.hi) return -1;
  }
  for (size_t d = 0; d < coords_.size(); ++d) offset += coords_[d].At(axes.data()) * strides_[d];
  return offset;
}

namespace {

using Dims = std::vector<int64_t>;

// Strides of `dims` along all axes but one, or along that one alone, in steps of `unit`.
Dims WithoutAxis(const Dims& dims, int64_t axis) {
  Dims strides = ContiguousStrides(dims);
  strides[static_cast<size_t>(axis)] = 0;
  return strides;
}

Dims OnlyAxis(const Dims& dims, int64_t axis) {
  Dims strides(dims.size(), 0);
  strides[static_cast<size_t>(axis)] = 1;
  return strides;
}

Dims Multiples(int64_t count, int64_t stride) {
  Dims out(static_cast<size_t>(count));
  for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<int64_t>(i) * stride;
  return out;
}

void SortUnique(std::vector<int64_t>* v) {
  if (!std::is_sorted(v->begin(), v->end())) std::sort(v->begin(), v->end());
  v->erase(std::unique(v->begin(), v->end()), v->end());
}

class NeedsFinder {
 public:
  NeedsFinder(const Graph& graph, absl::Span<const int64_t> symbols, double max_work)
      : graph_(graph),
        symbols_(symbols),
        left_(max_work),
        needs_(static_cast<size_t>(graph.size())) {}

  // False where it is too much.
  absl::StatusOr<bool> Find(absl::Span<const std::vector<int64_t>> outputs) {
    for (size_t o = 0; o < outputs.size(); ++o) {
      std::vector<int64_t>& at = Of(graph_.outputs()[o]).at;
      at.insert(at.end(), outputs[o].begin(), outputs[o].end());
    }
    for (NodeId id = graph_.size(); id-- > 0;) {
      NodeNeeds& own = needs_[static_cast<size_t>(id)];
      if (own.at.empty()) continue;
      if (!SetDims(id)) return false;
      SortUnique(&own.at);
      if (!Spend(static_cast<double>(own.at.size()))) return false;
      JF_ASSIGN_OR_RETURN(const bool enough, Pull(id));
      if (!enough) return false;
    }
    return true;
  }

  std::vector<NodeNeeds> Take() { return std::move(needs_); }

 private:
  NodeNeeds& Of(Value v) { return needs_[static_cast<size_t>(v.node)]; }
  bool IsInput(Value v) const {
    const OpKind kind = graph_.node(v).kind();
    return kind == OpKind::kInput || kind == OpKind::kScalar;
  }
  bool Spend(double work) {
    left_ -= work;
    return left_ >= 0;
  }
  Dims DimsOf(Value v) const { return EvalDims(graph_.type(v).dims, symbols_); }

  bool SetDims(NodeId id) {
    NodeNeeds& own = needs_[static_cast<size_t>(id)];
    for (const TensorType& type : graph_.node(id).types) {
      own.dims.push_back(EvalDims(type.dims, symbols_));
      if (!CountElements(graph_, graph_.node(id), own.dims.back()).ok()) return false;
    }
    return true;
  }

  // Adds access(i) of every needed i to an operand's needs.
  bool Each(const NodeNeeds& own, Value operand, const ElementAccess& access) {
    if (IsInput(operand)) return true;
    if (!Spend(static_cast<double>(own.at.size()))) return false;
    std::vector<int64_t>& at = Of(operand).at;
    for (int64_t i : own.at) {
      if (const int64_t from = access(i); from >= 0) at.push_back(from);
    }
    return true;
  }

  // Adds access(i) + inner, of all i and all inner. `work`: that is what the node computes, too.
  bool Lines(const NodeNeeds& own, Value operand, const ElementAccess& access, const Dims& inner,
             bool work) {
    std::vector<int64_t> lines;
    for (int64_t i : own.at) lines.push_back(access(i));
    SortUnique(&lines);
    const double count = static_cast<double>(lines.size()) * static_cast<double>(inner.size());
    if (work && !Spend(count)) return false;
    if (IsInput(operand)) return true;
    if (!Spend(count)) return false;
    std::vector<int64_t>& at = Of(operand).at;
    for (int64_t line : lines) {
      for (int64_t offset : inner) at.push_back(line + offset);
    }
    return true;
  }

  absl::StatusOr<bool> Pull(NodeId id) {
    const Node& node = graph_.node(id);
    NodeNeeds& own = needs_[static_cast<size_t>(id)];
    switch (node.kind()) {
      case OpKind::kPointwise:
        return Pointwise(node, &own);
      case OpKind::kView:
      case OpKind::kJoin:
        return Mapped(node, &own);
      case OpKind::kGather:
        return Gather(node, &own);
      case OpKind::kIota:
        own.access.emplace_back(own.dims[0], OnlyAxis(own.dims[0], node.Get<int64_t>("axis")));
        return true;
      case OpKind::kReduce:
        return Reduce(node, &own);
      case OpKind::kScan:
        return Scan(node, &own);
      case OpKind::kSort:
        return Everything(node.in[0], own);
      case OpKind::kSegment:
        return Segment(node, &own);
      case OpKind::kMatMul:
        return MatMul(node, &own);
      case OpKind::kInput:
      case OpKind::kScalar:
      case OpKind::kConstant:
        return true;
      case OpKind::kComposite:
        break;
    }
    return InternalError("expected a primitive op");
  }

  bool Pointwise(const Node& node, NodeNeeds* own) {
    for (Value v : node.in) {
      own->access.emplace_back(own->dims[0], BroadcastStrides(DimsOf(v), own->dims[0]));
      if (!Each(*own, v, own->access.back())) return false;
    }
    return true;
  }

  absl::StatusOr<bool> Mapped(const Node& node, NodeNeeds* own) {
    for (size_t k = 0; k < node.in.size(); ++k) {
      JF_ASSIGN_OR_RETURN(ElementAccess access,
                          ElementAccess::Of(graph_, node, static_cast<int>(k), DimsOf(node.in[k]),
                                            own->dims[0], symbols_));
      own->access.push_back(std::move(access));
      if (!Each(*own, node.in[k], own->access.back())) return false;
    }
    return true;
  }

  bool Gather(const Node& node, NodeNeeds* own) {
    GatherStrides s = StridesOfGather(node, DimsOf(node.in[0]), DimsOf(node.in[1]), own->dims[0]);
    own->access.emplace_back(own->dims[0], std::move(s.x));
    own->access.emplace_back(own->dims[0], std::move(s.index));
    own->extent = s.extent;
    own->stride = s.stride;
    if (!Each(*own, node.in[1], own->access[1])) return false;
    if (IsInput(node.in[0])) return true;
    return Spend(static_cast<double>(s.extent)) &&
           Lines(*own, node.in[0], own->access[0], Multiples(s.extent, s.stride), false);
  }

  bool Reduce(const Node& node, NodeNeeds* own) {
    const ReduceStrides s =
        StridesOfAxes(node.Get<std::vector<int64_t>>("axes"), DimsOf(node.in[0]));
    double count = 1;
    for (int64_t d : s.inner_dims) count *= static_cast<double>(d);
    if (!Spend(count)) return false;
    own->inner = AllOffsets(s.inner_dims, s.inner);
    own->access.emplace_back(s.kept_dims, s.kept);
    return Lines(*own, node.in[0], own->access[0], own->inner, true);
  }

  bool Scan(const Node& node, NodeNeeds* own) {
    const auto axis = node.Get<int64_t>("axis");
    const Dims& dims = own->dims[0];
    const int64_t length = dims[static_cast<size_t>(axis)];
    if (!Spend(static_cast<double>(length))) return false;
    own->inner = Multiples(length, ContiguousStrides(dims)[static_cast<size_t>(axis)]);
    own->access.emplace_back(dims, WithoutAxis(dims, axis));
    own->access.emplace_back(dims, OnlyAxis(dims, axis));
    return Lines(*own, node.in[0], own->access[0], own->inner, true);
  }

  bool Everything(Value operand, const NodeNeeds& own) {
    const std::optional<int64_t> count = CheckedNumElements(DimsOf(operand));
    double results = 0;
    for (const Dims& dims : own.dims) results += static_cast<double>(*CheckedNumElements(dims));
    if (!count || !Spend(2 * static_cast<double>(*count) + results)) return false;
    if (!IsInput(operand)) Of(operand).at = Multiples(*count, 1);
    return true;
  }

  bool Segment(const Node& node, NodeNeeds* own) {
    const auto axis = node.Get<int64_t>("axis");
    const Dims &to = own->dims[0], from = DimsOf(node.in[1]);
    const int64_t length = from[static_cast<size_t>(axis)];
    if (!Spend(static_cast<double>(length))) return false;
    own->inner = Multiples(length, ContiguousStrides(from)[static_cast<size_t>(axis)]);
    own->access.emplace_back(to, WithoutAxis(from, axis));
    const ElementAccess same(to, ContiguousStrides(to));
    for (size_t k : {0, 3, 4}) {
      if (!Each(*own, node.in[k], same)) return false;
    }
    return Lines(*own, node.in[1], own->access[0], own->inner, true) &&
           Lines(*own, node.in[2], own->access[0], own->inner, false);
  }

  bool MatMul(const Node& node, NodeNeeds* own) {
    const Dims& dims = own->dims[0];
    const Dims batch(dims.begin(), dims.end() - 2);
    MatMulOperand a = MatMulStrides(DimsOf(node.in[0]), batch, node.Get<bool>("transpose_a")),
                  b = MatMulStrides(DimsOf(node.in[1]), batch, !node.Get<bool>("transpose_b"));
    if (!Spend(static_cast<double>(own->at.size()) * static_cast<double>(a.k) +
               2 * static_cast<double>(a.k)))
      return false;
    own->inner = Multiples(a.k, a.k_stride);
    own->inner_b = Multiples(b.k, b.k_stride);
    a.batch_strides.insert(a.batch_strides.end(), {a.row_stride, 0});
    b.batch_strides.insert(b.batch_strides.end(), {0, b.row_stride});
    own->access.emplace_back(dims, std::move(a.batch_strides));
    own->access.emplace_back(dims, std::move(b.batch_strides));
    return Lines(*own, node.in[0], own->access[0], own->inner, false) &&
           Lines(*own, node.in[1], own->access[1], own->inner_b, false);
  }

  const Graph& graph_;
  const absl::Span<const int64_t> symbols_;
  double left_;
  std::vector<NodeNeeds> needs_;
};

}  // namespace

absl::StatusOr<std::optional<std::vector<NodeNeeds>>> FindNeeds(
    const Graph& graph, absl::Span<const int64_t> symbols,
    absl::Span<const std::vector<int64_t>> outputs, double max_work) {
  NeedsFinder finder(graph, symbols, max_work);
  JF_ASSIGN_OR_RETURN(const bool enough, finder.Find(outputs));
  if (!enough) return std::optional<std::vector<NodeNeeds>>();
  return std::optional(finder.Take());
}

}  // namespace jitfuse::internal
