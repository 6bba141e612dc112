// The evaluator's walk over a graph, shared by its two modes.
//
// WalkGraph<Mode>(graph, inputs) checks and binds the inputs, expands composites, and computes node
// after node, freeing what is no longer used. A Mode says what an element is and how programs act
// on it:
//   using Elem;
//   static constexpr BodyForm kForm      of the bodies of pointwise nodes
//   static Elem Load(DType, ScalarValue)
//   static Elem Stored(DType, Elem)      what becomes of a result of that dtype
//   static void Run(const ScalarProgram&, const Elem* args, Elem* out)
//   static void Reduce(programs, const ReduceDef&, DType x, elements, Elem* results)
//   static void Scan(const ReduceProgram&, bool exclusive, DType x, elements, Elem* results)
//   static Elem Dot(DType, const Elem* a, const Elem* b, int64_t k)
//   static std::optional<int64_t> Integer(DType, Elem)
//   static Elem AddInOrder(const ScalarProgram& add, DType, const std::vector<Elem>& terms)
//   static Elem Unknown()   what is read at a position for which Integer gives nullopt
// Must not know: how elements are represented.
#ifndef JITFUSE_IR_EVAL_WALK_H_
#define JITFUSE_IR_EVAL_WALK_H_

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ir/eval.h"
#include "ir/expand.h"
#include "ir/index_map.h"
#include "ir/pointwise.h"
#include "ir/reduce_program.h"
#include "ir/support/status.h"

namespace jitfuse::internal {

template <typename Elem>
struct EvalTensor {
  DType dtype = DType::kF32;
  std::vector<int64_t> dims;
  std::vector<Elem> elems;
};

// What a node is right behind a matrix product (sums, factors and views between them aside), where
// a library may compute it with the product: ir/eval.h says what that allows.
enum class BehindProduct { kNothing, kFactor, kSum, kGeluTanh };
BehindProduct PlaceBehindProduct(const Graph& graph, const Node& node);

// The symbols' values, after checking number, dtype, dims and bytes of the inputs.
absl::StatusOr<std::vector<int64_t>> BindEvalInputs(const Graph& graph,
                                                    absl::Span<const HostTensor> inputs);
// Element counts; an error if one does not fit.
absl::StatusOr<int64_t> CountElements(const Graph& graph, const Node& node,
                                      absl::Span<const int64_t> dims);
// Strides with which an operand of dims `from` is read along the axes of a result of dims `to`
// (NumPy broadcasting: 0 where repeated).
std::vector<int64_t> BroadcastStrides(absl::Span<const int64_t> from, absl::Span<const int64_t> to);
// The offset of every point of `dims` (row-major) under `strides`.
std::vector<int64_t> AllOffsets(absl::Span<const int64_t> dims, absl::Span<const int64_t> strides);
// For a view: the operand's linear index for every element of the result.
absl::StatusOr<std::vector<int64_t>> ViewOffsets(const Graph& graph, const Node& node,
                                                 absl::Span<const int64_t> from,
                                                 absl::Span<const int64_t> to,
                                                 absl::Span<const int64_t> symbols);
// For operand `operand` of a join: the same, and -1 where the element is not that operand's.
absl::StatusOr<std::vector<int64_t>> JoinOffsets(const Graph& graph, const Node& node, int operand,
                                                 absl::Span<const int64_t> from,
                                                 absl::Span<const int64_t> to,
                                                 absl::Span<const int64_t> symbols);
// For a gather: strides along the result's axes of x, with the gathered axis at 0, and of the
// indices.
struct GatherStrides {
  std::vector<int64_t> x, index;
  int64_t extent = 0, stride = 0;  // of x's gathered axis
};
GatherStrides StridesOfGather(const Node& node, absl::Span<const int64_t> x,
                              absl::Span<const int64_t> indices, absl::Span<const int64_t> out);
// The same for every element of the result: where it begins in x, and which element of the indices
// it asks for.
struct GatherOffsets {
  std::vector<int64_t> x, index;
  int64_t extent = 0, stride = 0;  // of x's gathered axis
};
GatherOffsets SplitGather(const Node& node, absl::Span<const int64_t> x,
                          absl::Span<const int64_t> indices, absl::Span<const int64_t> out);
// Counted from the end if negative; an error if out of range.
absl::StatusOr<int64_t> CheckedPosition(const Node& node, int64_t index, int64_t extent);
// Offsets of a reduction: element = outer[result] + inner[position].
struct ReduceOffsets {
  std::vector<int64_t> outer, inner;
};
ReduceOffsets SplitAxes(absl::Span<const int64_t> reduced, absl::Span<const int64_t> dims);
// The dims and strides of the axes that are kept, and of those that are reduced.
struct ReduceStrides {
  std::vector<int64_t> kept_dims, kept, inner_dims, inner;
};
ReduceStrides StridesOfAxes(absl::Span<const int64_t> reduced, absl::Span<const int64_t> dims);
ReduceOffsets SplitReduction(const Node& node, absl::Span<const int64_t> dims);
// Strides of a matmul operand over the result's batch dims, and of its rows (m or n) and its k.
struct MatMulOperand {
  std::vector<int64_t> batch_strides;
  int64_t rows = 0, row_stride = 0, k = 0, k_stride = 0;
};
MatMulOperand MatMulStrides(absl::Span<const int64_t> dims, absl::Span<const int64_t> batch,
                            bool rows_last);

// What stands where a join has no operand's element: the attribute `value`, or 0.
template <typename Mode>
typename Mode::Elem JoinFill(const Node& node) {
  const DType dtype = node.types[0].dtype;
  const double fill = node.def().FindAttr("value") != nullptr ? node.Get<double>("value") : 0;
  return Mode::Load(
      dtype, ConvertScalar(ComputeType(dtype), dtype, ScalarFromDouble(ComputeType(dtype), fill)));
}

// Results: the order of the positions, where each index begins, where it ends.
template <typename Mode>
absl::Status GroupPositions(const Node& node, const EvalTensor<typename Mode::Elem>& indices,
                            std::vector<EvalTensor<typename Mode::Elem>>* results) {
  const auto number_of = [](int64_t v) {
    return Mode::Load(DType::kI64, ScalarFromInt(DType::kI64, v));
  };
  const std::vector<int64_t> axis = {node.Get<int64_t>("axis")};
  const ReduceOffsets positions = SplitAxes(axis, indices.dims),
                      groups = SplitAxes(axis, (*results)[1].dims);
  const auto size = static_cast<int64_t>(groups.inner.size());
  for (size_t s = 0; s < positions.outer.size(); ++s) {
    std::vector<std::vector<int64_t>> members(static_cast<size_t>(size));
    bool known = true;
    for (size_t p = 0; p < positions.inner.size() && known; ++p) {
      const auto& index =
          indices.elems[static_cast<size_t>(positions.outer[s] + positions.inner[p])];
      std::optional<int64_t> number = Mode::Integer(indices.dtype, index);
      known = number.has_value();
      if (!known) break;
      JF_ASSIGN_OR_RETURN(int64_t at, CheckedPosition(node, *number, size));
      members[static_cast<size_t>(at)].push_back(static_cast<int64_t>(p));
    }
    size_t next = 0;
    auto put = [&](size_t result, const ReduceOffsets& offsets, size_t i, size_t v) {
      (*results)[result].elems[static_cast<size_t>(offsets.outer[s] + offsets.inner[i])] =
          known ? number_of(static_cast<int64_t>(v)) : Mode::Unknown();
    };
    for (size_t g = 0; g < members.size(); ++g) {
      put(1, groups, g, next);
      for (int64_t p : members[g]) put(0, positions, next++, static_cast<size_t>(p));
      put(2, groups, g, next);
    }
    for (size_t p = 0; p < positions.inner.size() && !known; ++p) put(0, positions, p, 0);
  }
  return absl::OkStatus();
}

template <typename Mode>
class GraphWalk {
 public:
  using Elem = typename Mode::Elem;
  using Tensor = EvalTensor<Elem>;

  absl::StatusOr<std::vector<Tensor>> Run(const Graph& original,
                                          absl::Span<const HostTensor> inputs) {
    JF_ASSIGN_OR_RETURN(symbols_, BindEvalInputs(original, inputs));
    JF_ASSIGN_OR_RETURN(Graph graph, Expand(original));
    values_.resize(static_cast<size_t>(graph.size()));
    std::vector<NodeId> last_use = LastUses(graph);
    std::vector<std::vector<NodeId>> dead(static_cast<size_t>(graph.size()));
    for (NodeId id = 0; id < graph.size(); ++id) {
      if (last_use[static_cast<size_t>(id)] < graph.size())
        dead[static_cast<size_t>(last_use[static_cast<size_t>(id)])].push_back(id);
    }
    size_t next_input = 0;
    for (NodeId id = 0; id < graph.size(); ++id) {
      const Node& node = graph.node(id);
      absl::Status status = node.kind() == OpKind::kInput || node.kind() == OpKind::kScalar
                                ? LoadInput(id, inputs[next_input++])
                                : Compute(graph, id);
      if (!status.ok())
        return Annotate(status, absl::StrCat("evaluating ", ToAbsl(node.def().name)));
      for (NodeId gone : dead[static_cast<size_t>(id)])
        std::vector<Tensor>().swap(values_[static_cast<size_t>(gone)]);
    }
    std::vector<Tensor> outputs;
    for (Value v : graph.outputs()) outputs.push_back(At(v));
    return outputs;
  }

 private:
  const Tensor& At(Value v) const {
    return values_[static_cast<size_t>(v.node)][static_cast<size_t>(v.result)];
  }

  // The node after which a node's results may go; graph.size() for outputs.
  static std::vector<NodeId> LastUses(const Graph& graph) {
    std::vector<NodeId> last(static_cast<size_t>(graph.size()));
    for (NodeId id = 0; id < graph.size(); ++id) {
      last[static_cast<size_t>(id)] = id;
      for (Value v : graph.node(id).in) last[static_cast<size_t>(v.node)] = id;
    }
    for (Value v : graph.outputs()) last[static_cast<size_t>(v.node)] = graph.size();
    return last;
  }

  absl::Status LoadInput(NodeId id, const HostTensor& input) {
    Tensor t{input.dtype, input.dims, {}};
    const int64_t n = input.size();
    t.elems.reserve(static_cast<size_t>(n));
    for (int64_t i = 0; i < n; ++i) t.elems.push_back(Mode::Load(input.dtype, input.At(i)));
    values_[static_cast<size_t>(id)].push_back(std::move(t));
    return absl::OkStatus();
  }

  // Results of the right size, to be filled.
  absl::StatusOr<std::vector<Tensor>> Allocate(const Graph& graph, const Node& node) const {
    std::vector<Tensor> results;
    for (const TensorType& type : node.types) {
      Tensor t{type.dtype, EvalDims(type.dims, symbols_), {}};
      JF_ASSIGN_OR_RETURN(int64_t n, CountElements(graph, node, t.dims));
      t.elems.resize(static_cast<size_t>(n));
      results.push_back(std::move(t));
    }
    return results;
  }

  absl::Status Compute(const Graph& graph, NodeId id) {
    const Node& node = graph.node(id);
    JF_ASSIGN_OR_RETURN(std::vector<Tensor> results, Allocate(graph, node));
    if (std::any_of(results.begin(), results.end(),
                    [](const Tensor& t) { return !t.elems.empty(); })) {
      JF_RETURN_IF_ERROR(Fill(graph, id, &results));
    }
    values_[static_cast<size_t>(id)] = std::move(results);
    return absl::OkStatus();
  }

  absl::Status Fill(const Graph& graph, NodeId id, std::vector<Tensor>* results) {
    const Node& node = graph.node(id);
    Tensor& out = (*results)[0];
    switch (node.kind()) {
      case OpKind::kConstant:
        out.elems[0] = Mode::Load(out.dtype, graph.ConstantValue(id));
        return absl::OkStatus();
      case OpKind::kPointwise:
        return Pointwise(graph, node, &out);
      case OpKind::kView:
        return View(graph, node, &out);
      case OpKind::kJoin:
        return Join(graph, node, &out);
      case OpKind::kGather:
        return Gathered(node, &out);
      case OpKind::kIota:
        return Iota(node, &out);
      case OpKind::kReduce:
        return Reduce(graph, node, results);
      case OpKind::kScan:
        return Scan(graph, node, &out);
      case OpKind::kSort:
        return GroupPositions<Mode>(node, At(node.in[0]), results);
      case OpKind::kSegment:
        return SegmentAdd(node, &out);
      case OpKind::kMatMul:
        return MatMul(node, &out);
      case OpKind::kInput:
      case OpKind::kScalar:
      case OpKind::kComposite:
        break;
    }
    return InternalError("expected a primitive op");
  }

  absl::Status Pointwise(const Graph& graph, const Node& node, Tensor* out) {
    std::vector<DType> types;
    for (Value v : node.in) types.push_back(graph.type(v).dtype);
    JF_ASSIGN_OR_RETURN(ScalarProgram program, PointwiseProgram(node, types, Mode::kForm));
    std::vector<const Tensor*> operands;
    std::vector<std::vector<int64_t>> offsets(node.in.size());  // empty: as the result
    for (size_t k = 0; k < node.in.size(); ++k) {
      operands.push_back(&At(node.in[k]));
      if (operands[k]->dims != out->dims)
        offsets[k] = AllOffsets(out->dims, BroadcastStrides(operands[k]->dims, out->dims));
    }
    std::vector<Elem> args(node.in.size());
    const BehindProduct place = PlaceBehindProduct(graph, node);
    for (size_t i = 0; i < out->elems.size(); ++i) {
      for (size_t k = 0; k < args.size(); ++k) {
        args[k] = operands[k]->elems[offsets[k].empty() ? i : static_cast<size_t>(offsets[k][i])];
      }
      Elem result;
      Mode::Run(program, args.data(), &result);
      if (place != BehindProduct::kNothing) Mode::Loosen(place, out->dtype, args, &result);
      out->elems[i] = Mode::Stored(out->dtype, result);
    }
    return absl::OkStatus();
  }

  absl::Status View(const Graph& graph, const Node& node, Tensor* out) {
    const Tensor& x = At(node.in[0]);
    JF_ASSIGN_OR_RETURN(std::vector<int64_t> offsets,
                        ViewOffsets(graph, node, x.dims, out->dims, symbols_));
    for (size_t i = 0; i < offsets.size(); ++i)
      out->elems[i] = x.elems[static_cast<size_t>(offsets[i])];
    return absl::OkStatus();
  }

  absl::Status Join(const Graph& graph, const Node& node, Tensor* out) {
    std::fill(out->elems.begin(), out->elems.end(), JoinFill<Mode>(node));
    for (size_t k = 0; k < node.in.size(); ++k) {
      const Tensor& x = At(node.in[k]);
      JF_ASSIGN_OR_RETURN(
          std::vector<int64_t> offsets,
          JoinOffsets(graph, node, static_cast<int>(k), x.dims, out->dims, symbols_));
      for (size_t i = 0; i < offsets.size(); ++i) {
        if (offsets[i] >= 0) out->elems[i] = x.elems[static_cast<size_t>(offsets[i])];
      }
    }
    return absl::OkStatus();
  }

  absl::Status Gathered(const Node& node, Tensor* out) {
    const Tensor &x = At(node.in[0]), &indices = At(node.in[1]);
    const GatherOffsets offsets = SplitGather(node, x.dims, indices.dims, out->dims);
    for (size_t i = 0; i < out->elems.size(); ++i) {
      const Elem& index = indices.elems[static_cast<size_t>(offsets.index[i])];
      std::optional<int64_t> number = Mode::Integer(indices.dtype, index);
      if (!number) {
        out->elems[i] = Mode::Unknown();
        continue;
      }
      JF_ASSIGN_OR_RETURN(int64_t at, CheckedPosition(node, *number, offsets.extent));
      out->elems[i] = x.elems[static_cast<size_t>(offsets.x[i] + at * offsets.stride)];
    }
    return absl::OkStatus();
  }

  absl::Status Iota(const Node& node, Tensor* out) {
    std::vector<int64_t> strides(out->dims.size(), 0);
    strides[static_cast<size_t>(node.Get<int64_t>("axis"))] = 1;
    const std::vector<int64_t> coordinate = AllOffsets(out->dims, strides);
    for (size_t i = 0; i < coordinate.size(); ++i) {
      ScalarValue v =
          ConvertScalar(DType::kI64, out->dtype, ScalarFromInt(DType::kI64, coordinate[i]));
      out->elems[i] = Mode::Load(out->dtype, v);
    }
    return absl::OkStatus();
  }

  absl::Status Reduce(const Graph& graph, const Node& node, std::vector<Tensor>* results) {
    const Tensor& x = At(node.in[0]);
    JF_ASSIGN_OR_RETURN(std::vector<ReduceProgram> passes, BuildReducePrograms(graph, node));
    const ReduceOffsets offsets = SplitReduction(node, x.dims);
    std::vector<Elem> elements(offsets.inner.size()), made(results->size());
    for (size_t i = 0; i < offsets.outer.size(); ++i) {
      for (size_t p = 0; p < elements.size(); ++p)
        elements[p] = x.elems[static_cast<size_t>(offsets.outer[i] + offsets.inner[p])];
      Mode::Reduce(passes, *node.def().reduce, ComputeType(x.dtype), elements, made.data());
      for (size_t r = 0; r < made.size(); ++r)
        (*results)[r].elems[i] = Mode::Stored((*results)[r].dtype, made[r]);
    }
    return absl::OkStatus();
  }

  absl::Status Scan(const Graph& graph, const Node& node, Tensor* out) {
    const Tensor& x = At(node.in[0]);
    JF_ASSIGN_OR_RETURN(std::vector<ReduceProgram> passes,
                        BuildReducePrograms(graph, node, /*two_pass=*/false));
    const ReduceOffsets offsets = SplitAxes({node.Get<int64_t>("axis")}, x.dims);
    std::vector<Elem> elements(offsets.inner.size()), made(offsets.inner.size());
    for (int64_t row : offsets.outer) {
      for (size_t p = 0; p < elements.size(); ++p)
        elements[p] = x.elems[static_cast<size_t>(row + offsets.inner[p])];
      Mode::Scan(passes[0], node.Get<bool>("exclusive"), ComputeType(x.dtype), elements,
                 made.data());
      for (size_t p = 0; p < made.size(); ++p) {
        out->elems[static_cast<size_t>(row + offsets.inner[p])] = Mode::Stored(out->dtype, made[p]);
      }
    }
    return absl::OkStatus();
  }

  absl::Status SegmentAdd(const Node& node, Tensor* out) {
    const Tensor &x = At(node.in[0]), &src = At(node.in[1]), &order = At(node.in[2]),
                 &begin = At(node.in[3]), &end = At(node.in[4]);
    const std::vector<int64_t> axis = {node.Get<int64_t>("axis")};
    const ReduceOffsets to = SplitAxes(axis, x.dims), from = SplitAxes(axis, src.dims);
    const auto count = static_cast<int64_t>(from.inner.size());
    const DType type = ComputeType(x.dtype);
    JF_ASSIGN_OR_RETURN(ScalarProgram add, BuildScalarProgram("a + b", {"a", "b"}, {type, type}));
    for (size_t s = 0; s < to.outer.size(); ++s) {
      for (int64_t inner : to.inner) {
        const auto i = static_cast<size_t>(to.outer[s] + inner);
        std::optional<int64_t> first = Mode::Integer(DType::kI64, begin.elems[i]),
                               last = Mode::Integer(DType::kI64, end.elems[i]);
        bool known = first && last;
        std::vector<Elem> terms = {x.elems[i]};
        for (int64_t q = std::max<int64_t>(first.value_or(0), 0);
             q < std::min(last.value_or(0), count) && known; ++q) {
          std::optional<int64_t> number = Mode::Integer(
              DType::kI64,
              order.elems[static_cast<size_t>(from.outer[s] + from.inner[static_cast<size_t>(q)])]);
          known = number.has_value();
          if (!known) break;
          JF_ASSIGN_OR_RETURN(int64_t p, CheckedPosition(node, *number, count));
          terms.push_back(
              src.elems[static_cast<size_t>(from.outer[s] + from.inner[static_cast<size_t>(p)])]);
        }
        out->elems[i] =
            known ? Mode::Stored(x.dtype, Mode::AddInOrder(add, type, terms)) : Mode::Unknown();
      }
    }
    return absl::OkStatus();
  }

  absl::Status MatMul(const Node& node, Tensor* out) {
    const Tensor& a = At(node.in[0]);
    const Tensor& b = At(node.in[1]);
    const std::vector<int64_t> batch(out->dims.begin(), out->dims.end() - 2);
    const MatMulOperand left = MatMulStrides(a.dims, batch, node.Get<bool>("transpose_a"));
    const MatMulOperand right = MatMulStrides(b.dims, batch, !node.Get<bool>("transpose_b"));
    const std::vector<int64_t> from_a = AllOffsets(batch, left.batch_strides),
                               from_b = AllOffsets(batch, right.batch_strides);
    size_t at = 0;
    for (size_t i = 0; i < from_a.size(); ++i) {
      const std::vector<Elem> rows = Gather(a, left, from_a[i]),
                              columns = Gather(b, right, from_b[i]);
      for (int64_t m = 0; m < left.rows; ++m) {
        for (int64_t n = 0; n < right.rows; ++n) {
          Elem dot =
              Mode::Dot(out->dtype, rows.data() + m * left.k, columns.data() + n * right.k, left.k);
          out->elems[at++] = Mode::Stored(out->dtype, dot);
        }
      }
    }
    return absl::OkStatus();
  }

  // One matrix with k contiguous.
  static std::vector<Elem> Gather(const Tensor& t, const MatMulOperand& o, int64_t offset) {
    std::vector<Elem> rows;
    rows.reserve(static_cast<size_t>(o.rows * o.k));
    for (int64_t r = 0; r < o.rows; ++r) {
      for (int64_t k = 0; k < o.k; ++k)
        rows.push_back(t.elems[static_cast<size_t>(offset + r * o.row_stride + k * o.k_stride)]);
    }
    return rows;
  }

  std::vector<int64_t> symbols_;
  std::vector<std::vector<Tensor>> values_;  // per node, per result
};

}  // namespace jitfuse::internal

#endif  // JITFUSE_IR_EVAL_WALK_H_
