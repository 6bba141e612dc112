#include "ir/builder.h"

#include <cmath>
#include <vector>

#include "ir/op_enum.h"
#include "ir/scalar_expr.h"
#include "ir/support/status.h"

namespace jitfuse::internal {

absl::StatusOr<Value> CastTo(Graph* graph, Value v, DType dtype) {
  if (graph->type(v).dtype == dtype) return v;
  return graph->Add(Op::kCast, {v}, {{"dtype", dtype}});
}

absl::StatusOr<Value> BroadcastTo(Graph* graph, Value v, absl::Span<const Dim> dims) {
  if (graph->type(v).dims == Shape(dims.begin(), dims.end())) return v;
  return graph->Add(Op::kBroadcast, {v}, {{"shape", std::vector<Dim>(dims.begin(), dims.end())}});
}

absl::StatusOr<Value> ReshapeTo(Graph* graph, Value v, absl::Span<const Dim> dims) {
  if (graph->type(v).dims == Shape(dims.begin(), dims.end())) return v;
  return graph->Add(Op::kReshape, {v}, {{"shape", std::vector<Dim>(dims.begin(), dims.end())}});
}

namespace {

// The operands [first, end) that share one dtype.
struct Shared {
  size_t first = 0;
  size_t end = 0;
};

Shared SharedOperands(const OpDef& def, size_t count) {
  if (def.op == Op::kWhere) return {1, count};
  if (def.kind == OpKind::kPointwise || def.kind == OpKind::kMatMul || def.op == Op::kLinear ||
      def.is_variadic())
    return {0, count};
  return {};
}

absl::Status PromoteOperands(Graph* graph, const OpDef& def, std::vector<Value>* in) {
  Shared shared = SharedOperands(def, in->size());
  if (shared.first >= shared.end) return absl::OkStatus();
  DType dtype = graph->type((*in)[shared.first]).dtype;
  for (size_t i = shared.first + 1; i < shared.end; ++i)
    dtype = Promote(dtype, graph->type((*in)[i]).dtype);
  bool floats_only = (def.domain & ~kFloats) == 0;
  if (def.kind == OpKind::kPointwise && floats_only && IsInt(dtype)) dtype = DType::kF32;
  for (size_t i = shared.first; i < shared.end; ++i) {
    JF_ASSIGN_OR_RETURN((*in)[i], CastTo(graph, (*in)[i], dtype));
  }
  return absl::OkStatus();
}

// A vector on the left becomes a row, on the right a column; the axis that this brought goes again.
absl::StatusOr<Value> AddMatMul(Graph* graph, std::vector<Value> in, Attrs attrs) {
  bool row = graph->type(in[0]).dims.size() == 1;
  bool column = graph->type(in[1]).dims.size() == 1;
  auto flag = [&](std::string_view name) {
    for (const Attr& a : attrs) {
      const bool* set = a.name == name ? std::get_if<bool>(&a.value) : nullptr;
      if (set != nullptr) return *set;
    }
    return false;
  };
  auto as_matrix = [&](Value v, bool size_first) -> absl::StatusOr<Value> {
    Dim n = graph->type(v).dims[0];
    return size_first ? ReshapeTo(graph, v, {n, Dim(1)}) : ReshapeTo(graph, v, {Dim(1), n});
  };
  if (row) {
    JF_ASSIGN_OR_RETURN(in[0], as_matrix(in[0], flag("transpose_a")));
  }
  if (column) {
    JF_ASSIGN_OR_RETURN(in[1], as_matrix(in[1], !flag("transpose_b")));
  }
  JF_ASSIGN_OR_RETURN(Value out, graph->Add(Op::kMatMul, in, attrs));
  Shape dims = graph->type(out).dims;
  if (column) dims.pop_back();
  if (row) dims.erase(dims.end() - (column ? 1 : 2));
  return ReshapeTo(graph, out, dims);
}

}  // namespace

absl::StatusOr<Value> AddPromoted(Graph* graph, Op op, absl::Span<const Value> in, Attrs attrs) {
  const OpDef& def = GetOp(op);
  std::vector<Value> operands(in.begin(), in.end());
  for (const Value& v : operands) {
    if (v.node < 0 || v.node >= graph->size())
      return graph->Add(op, in, std::move(attrs));  // which says what is wrong
  }
  JF_RETURN_IF_ERROR(PromoteOperands(graph, def, &operands));
  if (op == Op::kMatMul && operands.size() == 2)
    return AddMatMul(graph, std::move(operands), std::move(attrs));
  return graph->Add(op, operands, std::move(attrs));
}

absl::StatusOr<Value> ConstantLike(Graph* graph, double value, Value like) {
  DType dtype = graph->type(like).dtype;
  if (IsFloat(dtype)) return graph->AddConstant(dtype, value);
  if (value != std::trunc(value) || std::isinf(value))
    return graph->AddConstant(DType::kF32, value);  // NaN too
  if (dtype == DType::kBool) dtype = DType::kI64;
  ScalarValue v = ScalarFromDouble(dtype, value);
  if (ScalarToDouble(dtype, v) != value) {
    return InvalidArgument("the number ", value, " does not fit ", ToAbsl(DTypeName(dtype)),
                           ", the dtype of the tensor beside it; cast the tensor");
  }
  return graph->AddConstantBits(dtype, v);
}

Value Chain::Add(Op op, std::initializer_list<Value> in, Attrs attrs) {
  return Add(op, absl::MakeConstSpan(in.begin(), in.size()), std::move(attrs));
}

Value Chain::Add(Op op, absl::Span<const Value> in, Attrs attrs) {
  if (!ok()) return {};
  return Take(graph_->Add(op, in, std::move(attrs)));
}

Value Chain::Take(const absl::StatusOr<Value>& v) {
  if (v.ok()) return *v;
  status_ = v.status();
  return {};
}

}  // namespace jitfuse::internal
