#include "ir/builder.h"

#include <cmath>
#include <vector>

#include "ir/op_enum.h"
#include "ir/scalar_expr.h"
#include "ir/support/status.h"
#include "ir/text.h"

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

namespace {

// [lowest, beyond) of an integer type or bool.
struct IntBounds {
  double lowest, beyond;
};

IntBounds BoundsOf(DType dtype) {
  if (dtype == DType::kBool) return {0, 2};
  const int bits = 8 * ItemSize(dtype);
  if (IsUnsigned(dtype)) return {0, std::ldexp(1.0, bits)};
  return {-std::ldexp(1.0, bits - 1), std::ldexp(1.0, bits - 1)};
}

bool Fits(DType dtype, double value) {
  if (IsFloat(dtype))
    return !std::isfinite(value) ||
           std::isfinite(ScalarToDouble(dtype, ScalarFromDouble(dtype, value)));
  const IntBounds bounds = BoundsOf(dtype);
  return value == std::trunc(value) && value >= bounds.lowest && value < bounds.beyond;
}

template <typename Number>
absl::Status DoesNotFit(DType dtype, Number value) {
  if (IsFloat(dtype))
    return InvalidArgument("the number ", value, " is beyond what ", ToAbsl(DTypeName(dtype)),
                           " holds; give an infinity if that is meant");
  const ScalarValue lowest = ScalarFromDouble(dtype, -HUGE_VAL),
                    highest = ScalarFromDouble(dtype, HUGE_VAL);
  return InvalidArgument(
      "the number ", value, " does not fit ", ToAbsl(DTypeName(dtype)), ", which holds ",
      dtype == DType::kBool ? "0 and 1"
                            : absl::StrCat("whole numbers from ", LiteralToString(dtype, lowest),
                                           " to ", LiteralToString(dtype, highest)));
}

}  // namespace

absl::StatusOr<ScalarValue> FitScalar(DType dtype, double value) {
  if (!Fits(dtype, value)) return DoesNotFit(dtype, value);
  return ScalarFromDouble(dtype, value);
}

absl::StatusOr<ScalarValue> FitScalar(DType dtype, int64_t value) {
  // A double beside 2^63 may be above the integer, never beside another power of two.
  const bool fits = dtype == DType::kI64 || (dtype == DType::kU64 && value >= 0) ||
                    (dtype != DType::kU64 && Fits(dtype, static_cast<double>(value)));
  if (!fits) return DoesNotFit(dtype, value);
  return ScalarFromInt(dtype, value);
}

absl::StatusOr<Value> ConstantLike(Graph* graph, double value, Value like) {
  DType dtype = graph->type(like).dtype;
  const bool whole = value == std::trunc(value) && !std::isinf(value);
  if (!IsFloat(dtype) && !whole) dtype = DType::kF32;  // NaN too
  if (dtype == DType::kBool) dtype = DType::kI64;
  absl::StatusOr<ScalarValue> v = FitScalar(dtype, value);
  if (!v.ok())
    return Annotate(v.status(), absl::StrCat("a number beside ", graph->TypeString(like)));
  return graph->AddConstantBits(dtype, *v);
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
