// The evaluator on some elements: as GraphWalk (ir/eval_walk.h), of what FindNeeds found alone.
//
// A Mode is GraphWalk's, and each element is computed by it in the same way, so that both give the
// same bits. Inputs are read where they are. Must not know: how elements are represented.
#ifndef JITFUSE_IR_EVAL_AT_H_
#define JITFUSE_IR_EVAL_AT_H_

#include <algorithm>
#include <utility>
#include <vector>

#include "ir/eval_needs.h"
#include "ir/eval_walk.h"

namespace jitfuse::internal {

template <typename Mode>
class ElementWalk {
 public:
  using Elem = typename Mode::Elem;
  using Elems = std::vector<Elem>;

  ElementWalk(const Graph& graph, absl::Span<const HostTensor> inputs,
              const std::vector<NodeNeeds>& needs)
      : graph_(graph),
        needs_(needs),
        input_of_(static_cast<size_t>(graph.size()), nullptr),
        values_(static_cast<size_t>(graph.size())) {
    for (size_t i = 0; i < inputs.size(); ++i)
      input_of_[static_cast<size_t>(graph.inputs()[i])] = &inputs[i];
  }

  // By output the elements at `at`.
  absl::StatusOr<std::vector<Elems>> Run(absl::Span<const std::vector<int64_t>> at) {
    for (NodeId id = 0; id < graph_.size(); ++id) {
      if (Needs(id).at.empty() || input_of_[static_cast<size_t>(id)] != nullptr) continue;
      values_[static_cast<size_t>(id)].resize(graph_.node(id).types.size());
      if (absl::Status status = Fill(id); !status.ok())
        return Annotate(status, absl::StrCat("evaluating ", ToAbsl(graph_.node(id).def().name)));
    }
    std::vector<Elems> out;
    for (size_t o = 0; o < at.size(); ++o) {
      Reader read = Read(graph_.outputs()[o]);
      out.emplace_back();
      for (int64_t i : at[o]) out.back().push_back(read(i));
    }
    return out;
  }

 private:
  const NodeNeeds& Needs(NodeId id) const { return needs_[static_cast<size_t>(id)]; }

  // The elements of a value by linear index. What was asked for last is where the next one is
  // looked for first: most are asked for in order.
  class Reader {
   public:
    Reader(const HostTensor* input, const std::vector<int64_t>* at, const Elems* elems)
        : input_(input), at_(at), elems_(elems) {}
    Elem operator()(int64_t i) {
      if (input_ != nullptr) return Mode::Load(input_->dtype, input_->At(i));
      if (at_ == nullptr) return (*elems_)[static_cast<size_t>(i)];
      if (last_ >= at_->size() || (*at_)[last_] != i) {
        ++last_;
        if (last_ >= at_->size() || (*at_)[last_] != i)
          last_ = static_cast<size_t>(std::lower_bound(at_->begin(), at_->end(), i) - at_->begin());
      }
      return (*elems_)[last_];
    }

   private:
    const HostTensor* input_;
    const std::vector<int64_t>* at_;  // null: all elements are there
    const Elems* elems_;
    size_t last_ = 0;
  };
  Reader Read(Value v) const {
    const auto node = static_cast<size_t>(v.node);
    if (input_of_[node] != nullptr) return Reader(input_of_[node], nullptr, nullptr);
    const Elems& elems = values_[node][static_cast<size_t>(v.result)];
    const bool all = graph_.node(v).kind() == OpKind::kSort;
    return Reader(nullptr, all ? nullptr : &needs_[node].at, &elems);
  }

  absl::Status Fill(NodeId id) {
    const Node& node = graph_.node(id);
    const NodeNeeds& own = Needs(id);
    std::vector<Elems>& results = values_[static_cast<size_t>(id)];
    for (Elems& r : results) r.resize(own.at.size());
    switch (node.kind()) {
      case OpKind::kConstant:
        results[0][0] = Mode::Load(node.types[0].dtype, graph_.ConstantValue(id));
        return absl::OkStatus();
      case OpKind::kPointwise:
        return Pointwise(node, own, &results[0]);
      case OpKind::kView:
      case OpKind::kJoin:
        return Mapped(node, own, &results[0]);
      case OpKind::kGather:
        return Gather(node, own, &results[0]);
      case OpKind::kIota:
        return Iota(node, own, &results[0]);
      case OpKind::kReduce:
        return Reduce(node, own, &results);
      case OpKind::kScan:
        return Scan(node, own, &results[0]);
      case OpKind::kSort:
        return Sort(node, own, &results);
      case OpKind::kSegment:
        return Segment(node, own, &results[0]);
      case OpKind::kMatMul:
        return MatMul(node, own, &results[0]);
      case OpKind::kInput:
      case OpKind::kScalar:
      case OpKind::kComposite:
        break;
    }
    return InternalError("expected a primitive op");
  }

  absl::Status Pointwise(const Node& node, const NodeNeeds& own, Elems* out) {
    std::vector<DType> types;
    for (Value v : node.in) types.push_back(graph_.type(v).dtype);
    JF_ASSIGN_OR_RETURN(ScalarProgram program, PointwiseProgram(node, types, Mode::kForm));
    std::vector<Reader> operands;
    for (Value v : node.in) operands.push_back(Read(v));
    Elems args(node.in.size());
    const BehindProduct place = PlaceBehindProduct(graph_, node);
    for (size_t i = 0; i < own.at.size(); ++i) {
      for (size_t k = 0; k < args.size(); ++k) args[k] = operands[k](own.access[k](own.at[i]));
      Elem result;
      Mode::Run(program, args.data(), &result);
      if (place != BehindProduct::kNothing) Mode::Loosen(place, node.types[0].dtype, args, &result);
      (*out)[i] = Mode::Stored(node.types[0].dtype, result);
    }
    return absl::OkStatus();
  }

  absl::Status Mapped(const Node& node, const NodeNeeds& own, Elems* out) {
    std::fill(out->begin(), out->end(), JoinFill<Mode>(node));
    for (size_t k = 0; k < node.in.size(); ++k) {
      Reader operand = Read(node.in[k]);
      for (size_t i = 0; i < own.at.size(); ++i) {
        if (const int64_t from = own.access[k](own.at[i]); from >= 0) (*out)[i] = operand(from);
      }
    }
    return absl::OkStatus();
  }

  absl::Status Gather(const Node& node, const NodeNeeds& own, Elems* out) {
    Reader x = Read(node.in[0]), indices = Read(node.in[1]);
    for (size_t i = 0; i < own.at.size(); ++i) {
      const std::optional<int64_t> number =
          Mode::Integer(graph_.type(node.in[1]).dtype, indices(own.access[1](own.at[i])));
      if (!number) {
        (*out)[i] = Mode::Unknown();
        continue;
      }
      JF_ASSIGN_OR_RETURN(int64_t at, CheckedPosition(node, *number, own.extent));
      (*out)[i] = x(own.access[0](own.at[i]) + at * own.stride);
    }
    return absl::OkStatus();
  }

  absl::Status Iota(const Node& node, const NodeNeeds& own, Elems* out) {
    const DType dtype = node.types[0].dtype;
    for (size_t i = 0; i < own.at.size(); ++i) {
      const ScalarValue at = ScalarFromInt(DType::kI64, own.access[0](own.at[i]));
      (*out)[i] = Mode::Load(dtype, ConvertScalar(DType::kI64, dtype, at));
    }
    return absl::OkStatus();
  }

  absl::Status Reduce(const Node& node, const NodeNeeds& own, std::vector<Elems>* results) {
    JF_ASSIGN_OR_RETURN(std::vector<ReduceProgram> passes, BuildReducePrograms(graph_, node));
    Reader x = Read(node.in[0]);
    const DType type = ComputeType(graph_.type(node.in[0]).dtype);
    Elems elements(own.inner.size()), made(results->size());
    for (size_t i = 0; i < own.at.size(); ++i) {
      const int64_t from = own.access[0](own.at[i]);
      for (size_t p = 0; p < elements.size(); ++p) elements[p] = x(from + own.inner[p]);
      Mode::Reduce(passes, *node.def().reduce, type, elements, made.data());
      for (size_t r = 0; r < made.size(); ++r)
        (*results)[r][i] = Mode::Stored(node.types[r].dtype, made[r]);
    }
    return absl::OkStatus();
  }

  // Line after line; elements of one are not always next to each other.
  absl::Status Scan(const Node& node, const NodeNeeds& own, Elems* out) {
    JF_ASSIGN_OR_RETURN(std::vector<ReduceProgram> passes,
                        BuildReducePrograms(graph_, node, /*two_pass=*/false));
    Reader x = Read(node.in[0]);
    const DType type = ComputeType(graph_.type(node.in[0]).dtype);
    std::vector<std::pair<int64_t, size_t>> by_line;
    for (size_t i = 0; i < own.at.size(); ++i) by_line.emplace_back(own.access[0](own.at[i]), i);
    std::sort(by_line.begin(), by_line.end());
    Elems elements(own.inner.size()), made(own.inner.size());
    for (size_t n = 0; n < by_line.size(); ++n) {
      const auto [line, i] = by_line[n];
      if (n == 0 || by_line[n - 1].first != line) {
        for (size_t p = 0; p < elements.size(); ++p) elements[p] = x(line + own.inner[p]);
        Mode::Scan(passes[0], node.Get<bool>("exclusive"), type, elements, made.data());
      }
      (*out)[i] =
          Mode::Stored(node.types[0].dtype, made[static_cast<size_t>(own.access[1](own.at[i]))]);
    }
    return absl::OkStatus();
  }

  absl::Status Sort(const Node& node, const NodeNeeds& own, std::vector<Elems>* results) {
    EvalTensor<Elem> indices{graph_.type(node.in[0]).dtype, {}, {}};
    Reader read = Read(node.in[0]);
    indices.dims = own.dims[0];
    for (int64_t i = 0, n = *CheckedNumElements(indices.dims); i < n; ++i)
      indices.elems.push_back(read(i));
    std::vector<EvalTensor<Elem>> made;
    for (size_t r = 0; r < results->size(); ++r) {
      made.push_back({node.types[r].dtype, own.dims[r], {}});
      made.back().elems.resize(static_cast<size_t>(*CheckedNumElements(own.dims[r])));
    }
    JF_RETURN_IF_ERROR(GroupPositions<Mode>(node, indices, &made));
    for (size_t r = 0; r < results->size(); ++r) (*results)[r] = std::move(made[r].elems);
    return absl::OkStatus();
  }

  absl::Status Segment(const Node& node, const NodeNeeds& own, Elems* out) {
    Reader x = Read(node.in[0]), src = Read(node.in[1]), order = Read(node.in[2]),
           begin = Read(node.in[3]), end = Read(node.in[4]);
    const auto count = static_cast<int64_t>(own.inner.size());
    const DType dtype = node.types[0].dtype, type = ComputeType(dtype);
    JF_ASSIGN_OR_RETURN(ScalarProgram add, BuildScalarProgram("a + b", {"a", "b"}, {type, type}));
    for (size_t i = 0; i < own.at.size(); ++i) {
      const int64_t at = own.at[i], line = own.access[0](at);
      const std::optional<int64_t> first = Mode::Integer(DType::kI64, begin(at)),
                                   last = Mode::Integer(DType::kI64, end(at));
      bool known = first && last;
      Elems terms = {x(at)};
      for (int64_t q = std::max<int64_t>(first.value_or(0), 0);
           q < std::min(last.value_or(0), count) && known; ++q) {
        const std::optional<int64_t> number =
            Mode::Integer(DType::kI64, order(line + own.inner[static_cast<size_t>(q)]));
        known = number.has_value();
        if (!known) break;
        JF_ASSIGN_OR_RETURN(int64_t p, CheckedPosition(node, *number, count));
        terms.push_back(src(line + own.inner[static_cast<size_t>(p)]));
      }
      (*out)[i] = known ? Mode::Stored(dtype, Mode::AddInOrder(add, type, terms)) : Mode::Unknown();
    }
    return absl::OkStatus();
  }

  absl::Status MatMul(const Node& node, const NodeNeeds& own, Elems* out) {
    Reader a = Read(node.in[0]), b = Read(node.in[1]);
    const size_t k = own.inner.size();
    Elems row(k), column(k);
    int64_t last_row = -1;
    for (size_t i = 0; i < own.at.size(); ++i) {
      const int64_t from_a = own.access[0](own.at[i]), from_b = own.access[1](own.at[i]);
      for (size_t p = 0; p < k && from_a != last_row; ++p) row[p] = a(from_a + own.inner[p]);
      last_row = from_a;
      for (size_t p = 0; p < k; ++p) column[p] = b(from_b + own.inner_b[p]);
      const DType dtype = node.types[0].dtype;
      (*out)[i] =
          Mode::Stored(dtype, Mode::Dot(dtype, row.data(), column.data(), static_cast<int64_t>(k)));
    }
    return absl::OkStatus();
  }

  const Graph& graph_;
  const std::vector<NodeNeeds>& needs_;
  std::vector<const HostTensor*> input_of_;
  std::vector<std::vector<Elems>> values_;  // per node, per result
};

}  // namespace jitfuse::internal

#endif  // JITFUSE_IR_EVAL_AT_H_
