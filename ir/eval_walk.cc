// The parts of the evaluator's walk that do not depend on what an element is.
#include "ir/eval_walk.h"

#include <algorithm>
#include <limits>

#include "ir/op_enum.h"
#include "ir/view_index.h"

namespace jitfuse::internal {
namespace {

std::string DimsToString(absl::Span<const int64_t> dims) {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); ++i) absl::StrAppend(&text, i == 0 ? "" : ",", dims[i]);
  return text + "]";
}

std::string InputWords(const Graph& graph, size_t i) {
  const Value v{graph.inputs()[i], 0};
  return absl::StrCat("input ", i, " (", graph.input_name(static_cast<int>(i)), ": ",
                      graph.TypeString(v), ")");
}

absl::Status CheckInput(const Graph& graph, size_t i, const HostTensor& input) {
  const DType want = graph.node(graph.inputs()[i]).types[0].dtype;
  if (input.dtype != want) {
    return InvalidArgument(InputWords(graph, i), ": got dtype ", ToAbsl(DTypeName(input.dtype)),
                           ", expected ", ToAbsl(DTypeName(want)));
  }
  for (int64_t d : input.dims) {
    if (d < 0)
      return InvalidArgument(InputWords(graph, i), ": got dims ", DimsToString(input.dims),
                             ", expected none below 0");
  }
  const std::optional<int64_t> n = CheckedNumElements(input.dims);
  const int64_t item = ItemSize(want);
  if (!n.has_value() || *n > INT64_MAX / item ||
      static_cast<int64_t>(input.bytes.size()) != *n * item) {
    return InvalidArgument(InputWords(graph, i), ": got ", input.bytes.size(), " bytes for dims ",
                           DimsToString(input.dims), " of ", item, " bytes each");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<int64_t>> BindEvalInputs(const Graph& graph,
                                                    absl::Span<const HostTensor> inputs) {
  if (inputs.size() != graph.inputs().size()) {
    return InvalidArgument(graph.name(), ": got ", inputs.size(), " inputs, expected ",
                           graph.inputs().size());
  }
  std::vector<std::vector<int64_t>> dims;
  for (size_t i = 0; i < inputs.size(); ++i) {
    JF_RETURN_IF_ERROR(CheckInput(graph, i, inputs[i]));
    dims.push_back(inputs[i].dims);
  }
  return graph.BindSymbols(dims);
}

absl::StatusOr<int64_t> CountElements(const Graph& graph, const Node& node,
                                      absl::Span<const int64_t> dims) {
  constexpr int64_t kLimit =
      int64_t{1} << 40;  // far beyond what memory holds, and safe to multiply by an element's size
  std::optional<int64_t> n = CheckedNumElements(dims);
  if (n.has_value() && *n <= kLimit) return *n;
  return InvalidArgument(ToAbsl(node.def().name), ": a result of dims ", DimsToString(dims), " (",
                         TypeToString(node.types[0], graph.symbols().names),
                         ") is too large to evaluate");
}

std::vector<int64_t> BroadcastStrides(absl::Span<const int64_t> from,
                                      absl::Span<const int64_t> to) {
  const std::vector<int64_t> own = ContiguousStrides(from);
  std::vector<int64_t> strides(to.size(), 0);
  const size_t lead = to.size() - from.size();
  for (size_t i = 0; i < from.size(); ++i)
    strides[lead + i] = from[i] == 1 && to[lead + i] != 1 ? 0 : own[i];
  return strides;
}

std::vector<int64_t> AllOffsets(absl::Span<const int64_t> dims, absl::Span<const int64_t> strides) {
  int64_t n = 1;
  for (int64_t d : dims) n *= d;
  std::vector<int64_t> offsets(static_cast<size_t>(n));
  std::vector<int64_t> at(dims.size(), 0);
  int64_t offset = 0;
  for (int64_t& o : offsets) {
    o = offset;
    for (size_t axis = dims.size(); axis-- > 0;) {
      offset += strides[axis];
      if (++at[axis] < dims[axis]) break;
      offset -= strides[axis] * dims[axis];
      at[axis] = 0;
    }
  }
  return offsets;
}

namespace {

bool Holds(const std::vector<IndexMask>& masks, absl::Span<const int64_t> at,
           absl::Span<const int64_t> symbols) {
  return std::all_of(masks.begin(), masks.end(), [&](const IndexMask& m) {
    int64_t v = EvalIndexExpr(m.e, at, symbols);
    return m.lo.Eval(symbols) <= v && v < m.hi.Eval(symbols);
  });
}

}  // namespace

absl::StatusOr<std::vector<int64_t>> JoinOffsets(const Graph& graph, const Node& node, int operand,
                                                 absl::Span<const int64_t> from,
                                                 absl::Span<const int64_t> to,
                                                 absl::Span<const int64_t> symbols) {
  const IndexSpace space{node.types[0].dims};
  std::optional<IndexMap> map =
      PullOperand(graph, node, operand, IdentityMap(static_cast<int>(to.size())), space);
  Value x = node.in[static_cast<size_t>(operand)];
  if (!map.has_value()) return InternalError("no index map for ", graph.TypeString(x));
  const std::vector<int64_t> strides = ContiguousStrides(from);
  std::vector<int64_t> at(to.size(), 0);
  int64_t n = 1;
  for (int64_t d : to) n *= d;
  std::vector<int64_t> offsets(static_cast<size_t>(n), 0);
  for (int64_t& offset : offsets) {
    bool holds = Holds(map->masks, at, symbols);
    if (!holds) offset = -1;
    for (size_t d = 0; d < strides.size() && holds; ++d) {
      const int64_t coordinate = EvalIndexExpr(map->coords[d], at, symbols);
      if (coordinate < 0 || coordinate >= from[d])
        return InternalError("an index is outside ", graph.TypeString(x));
      offset += strides[d] * coordinate;
    }
    for (size_t axis = to.size(); axis-- > 0;) {
      if (++at[axis] < to[axis]) break;
      at[axis] = 0;
    }
  }
  return offsets;
}

absl::StatusOr<std::vector<int64_t>> ViewOffsets(const Graph& graph, const Node& node,
                                                 absl::Span<const int64_t> from,
                                                 absl::Span<const int64_t> to,
                                                 absl::Span<const int64_t> symbols) {
  return JoinOffsets(graph, node, 0, from, to, symbols);
}

// Spelled out by dims, not by the table's index functions: a reference of its own.
GatherStrides StridesOfGather(const Node& node, absl::Span<const int64_t> x,
                              absl::Span<const int64_t> indices, absl::Span<const int64_t> out) {
  auto axis = static_cast<size_t>(node.Get<int64_t>("axis"));
  const std::vector<int64_t> x_strides = ContiguousStrides(x),
                             index_strides = ContiguousStrides(indices);
  std::vector<int64_t> from_x, from_index;  // strides along the result's axes
  bool along = node.def().name == "take_along_axis";
  for (size_t d = 0; d < out.size(); ++d) {
    if (along) {
      from_x.push_back(d == axis ? 0 : x_strides[d]);
      from_index.push_back(index_strides[d]);
      continue;
    }
    bool of_index = d >= axis && d < axis + indices.size();
    from_index.push_back(of_index ? index_strides[d - axis] : 0);
    from_x.push_back(of_index ? 0 : x_strides[d < axis ? d : d + 1 - indices.size()]);
  }
  return {std::move(from_x), std::move(from_index), x[axis], x_strides[axis]};
}

GatherOffsets SplitGather(const Node& node, absl::Span<const int64_t> x,
                          absl::Span<const int64_t> indices, absl::Span<const int64_t> out) {
  const GatherStrides s = StridesOfGather(node, x, indices, out);
  return {AllOffsets(out, s.x), AllOffsets(out, s.index), s.extent, s.stride};
}

absl::StatusOr<int64_t> CheckedPosition(const Node& node, int64_t index, int64_t extent) {
  if (index >= -extent && index < extent) return index < 0 ? index + extent : index;
  return InvalidArgument(ToAbsl(node.def().name), ": index ", index,
                         index == std::numeric_limits<int64_t>::max() ? " or more" : "",
                         " is out of range for axis ", node.Get<int64_t>("axis"), " of size ",
                         extent);
}

ReduceOffsets SplitReduction(const Node& node, absl::Span<const int64_t> dims) {
  return SplitAxes(node.Get<std::vector<int64_t>>("axes"), dims);
}

ReduceStrides StridesOfAxes(absl::Span<const int64_t> axes, absl::Span<const int64_t> dims) {
  std::vector<bool> reduced(dims.size(), false);
  for (int64_t axis : axes) reduced[static_cast<size_t>(axis)] = true;
  const std::vector<int64_t> strides = ContiguousStrides(dims);
  ReduceStrides out;
  for (size_t i = 0; i < dims.size(); ++i) {
    (reduced[i] ? out.inner_dims : out.kept_dims).push_back(dims[i]);
    (reduced[i] ? out.inner : out.kept).push_back(strides[i]);
  }
  return out;
}

ReduceOffsets SplitAxes(absl::Span<const int64_t> axes, absl::Span<const int64_t> dims) {
  const ReduceStrides s = StridesOfAxes(axes, dims);
  return {AllOffsets(s.kept_dims, s.kept), AllOffsets(s.inner_dims, s.inner)};
}

MatMulOperand MatMulStrides(absl::Span<const int64_t> dims, absl::Span<const int64_t> batch,
                            bool rows_last) {
  const size_t rank = dims.size();
  const std::vector<int64_t> strides = ContiguousStrides(dims);
  MatMulOperand o;
  const size_t row = rows_last ? rank - 1 : rank - 2, k = rows_last ? rank - 2 : rank - 1;
  o.rows = dims[row];
  o.row_stride = strides[row];
  o.k = dims[k];
  o.k_stride = strides[k];
  o.batch_strides.assign(batch.size(), 0);
  const size_t own = rank - 2, lead = batch.size() - own;
  for (size_t i = 0; i < own; ++i)
    o.batch_strides[lead + i] = dims[i] == 1 && batch[lead + i] != 1 ? 0 : strides[i];
  return o;
}

BehindProduct PlaceBehindProduct(const Graph& graph, const Node& node) {
  const DType dtype = node.types[0].dtype;
  const bool narrow = dtype == DType::kF16 || dtype == DType::kBF16;
  BehindProduct place = BehindProduct::kNothing;
  if (node.op == Op::kGeluTanh && narrow) place = BehindProduct::kGeluTanh;
  if (node.op == Op::kAdd && (narrow || dtype == DType::kF32)) place = BehindProduct::kSum;
  if (node.op == Op::kMultiply && (narrow || dtype == DType::kF32)) place = BehindProduct::kFactor;
  if (place == BehindProduct::kNothing) return place;
  std::vector<NodeId> todo;  // nearest first; a few nodes may lie between
  auto reach = [&](const Node& from) {
    for (Value v : from.in) {
      if (std::find(todo.begin(), todo.end(), v.node) == todo.end()) todo.push_back(v.node);
    }
  };
  reach(node);
  for (size_t i = 0; i < todo.size() && i < 64; ++i) {
    const Node& below = graph.node(todo[i]);
    if (below.kind() == OpKind::kMatMul) return place;
    const bool sums = below.op == Op::kAdd || below.op == Op::kMultiply;
    if (below.kind() == OpKind::kView || (sums && place != BehindProduct::kFactor)) reach(below);
  }
  return BehindProduct::kNothing;
}

}  // namespace jitfuse::internal
