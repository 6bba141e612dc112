#include "ir/infer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_join.h"
#include "ir/infer_support.h"
#include "ir/support/status.h"

namespace jitfuse::internal {

std::string Ordinal(const OpDef& def, size_t operand) {
  if (def.is_variadic() && operand + 1 >= def.args.size()) {
    std::string_view name = def.args.back();
    name.remove_suffix(3);
    return absl::StrCat(ToAbsl(name), "[", operand + 1 - def.args.size(), "]");
  }
  std::string_view name = operand < def.args.size() ? def.args[operand] : "?";
  if (!name.empty() && name.back() == '?') name.remove_suffix(1);
  return std::string(name);
}

std::string IntsToString(absl::Span<const int64_t> values) {
  return absl::StrCat("[", absl::StrJoin(values, ","), "]");
}

std::string CallToString(const OpDef& def, absl::Span<const TensorType> in,
                         absl::Span<const std::string> symbol_names) {
  auto append = [&](std::string* out, const TensorType& type) {
    *out += TypeToString(type, symbol_names);
  };
  return absl::StrCat(ToAbsl(def.name), "(", absl::StrJoin(in, ", ", append), ")");
}

std::string DTypeSetToString(DTypeSet set) {
  std::string out;
  for (int i = 0; i < kNumDTypes; ++i) {
    auto d = static_cast<DType>(i);
    if (IsIn(d, set)) absl::StrAppend(&out, out.empty() ? "" : ", ", ToAbsl(DTypeName(d)));
  }
  return out;
}

absl::Status CheckArity(const OpDef& def, absl::Span<const TensorType> in,
                        absl::Span<const std::string> symbol_names) {
  auto given = static_cast<int>(in.size());
  int least = def.min_arity();
  int most = def.max_arity();
  if (given >= least && given <= most) return absl::OkStatus();
  std::string range = least == most ? absl::StrCat(most) : absl::StrCat(least, " to ", most);
  std::string call =
      given <= kMaxRank ? CallToString(def, in, symbol_names) : std::string(def.name);
  return InvalidArgument(call, ": expected ", range, " operand", most == 1 ? "" : "s", ", got ",
                         given);
}

// ---- Types ----

absl::Status CheckType(const TensorType& type, absl::Span<const std::string> symbol_names) {
  if (type.dims.size() > kMaxRank) {
    return InvalidArgument(TypeToString(type, symbol_names), " has rank ", type.dims.size(),
                           ", expected at most ", kMaxRank);
  }
  std::vector<int64_t> constants;
  for (const Dim& d : type.dims) {
    if (!d.IsConstant()) continue;
    if (d.constant() < 0)
      return InvalidArgument(TypeToString(type, symbol_names),
                             " has a negative size, expected sizes >= 0");
    constants.push_back(d.constant());
  }
  constants.push_back(ItemSize(type.dtype));
  if (!CheckedNumElements(constants)) {
    return InvalidArgument(TypeToString(type, symbol_names), " has more bytes than fit in 64 bits");
  }
  return absl::OkStatus();
}

absl::StatusOr<ResultTypes> InferTypes(const InferContext& c) {
  // Ops of two roles of operands (where) check their domain themselves, on the values.
  if (!c.in.empty() && c.def.infer != InferWhere && !IsIn(c.in[0].dtype, c.def.domain)) {
    return InvalidArgument(c.Where(), "expected one of ", DTypeSetToString(c.def.domain), " for ",
                           Ordinal(c.def, 0), ", got ", ToAbsl(DTypeName(c.in[0].dtype)));
  }
  JF_ASSIGN_OR_RETURN(ResultTypes types, c.def.infer(c));
  for (const TensorType& type : types) {
    if (absl::Status s = CheckType(type, c.symbol_names); !s.ok())
      return Annotate(s, absl::StrCat(c.Where(), "the result"));
  }
  return types;
}

absl::Status CheckSameDType(const InferContext& c, size_t first) {
  for (size_t i = first + 1; i < c.in.size(); ++i) {
    if (c.in[i].dtype == c.in[first].dtype) continue;
    return InvalidArgument(c.Where(), "expected the same dtype, got ",
                           ToAbsl(DTypeName(c.in[first].dtype)), " and ",
                           ToAbsl(DTypeName(c.in[i].dtype)), "; use cast");
  }
  return absl::OkStatus();
}

namespace {

absl::StatusOr<Shape> BroadcastAll(const InferContext& c) {
  if (c.in.empty()) return Shape{};
  Shape shape = c.in[0].dims;
  for (size_t i = 1; i < c.in.size(); ++i) {
    JF_ASSIGN_OR_RETURN(shape, BroadcastShapes(c, shape, c.in[i].dims));
  }
  return shape;
}

bool BothConstant(const Dim& a, const Dim& b) { return a.IsConstant() && b.IsConstant(); }

}  // namespace

// Two sizes that must be equal; `what` starts the sentence of the error.
absl::StatusOr<Dim> MustEqual(const InferContext& c, const Dim& a, const Dim& b,
                              const std::string& what) {
  if (a == b) return a;
  if (BothConstant(a, b))
    return InvalidArgument(c.Where(), what, ", got ", a.constant(), " and ", b.constant());
  return c.unify(a, b);
}

absl::Status CheckRank(const InferContext& c, size_t operand, size_t least, std::string_view why) {
  size_t rank = c.in[operand].dims.size();
  if (rank >= least) return absl::OkStatus();
  return InvalidArgument(c.Where(), Ordinal(c.def, operand), " has rank ", rank,
                         ", expected at least ", least, " (", ToAbsl(why), ")");
}

absl::StatusOr<Shape> BroadcastShapes(const InferContext& c, absl::Span<const Dim> a,
                                      absl::Span<const Dim> b) {
  size_t rank = std::max(a.size(), b.size());
  Shape out(rank);
  for (size_t i = 0; i < rank; ++i) {
    // Right-aligned; an absent dim counts as 1.
    Dim x = i + a.size() >= rank ? a[i + a.size() - rank] : Dim(1);
    Dim y = i + b.size() >= rank ? b[i + b.size() - rank] : Dim(1);
    if (x == y || y.Is(1)) {
      out[i] = x;
    } else if (x.Is(1)) {
      out[i] = y;
    } else if (BothConstant(x, y)) {
      return InvalidArgument(c.Where(), "shapes ", ShapeToString(a, c.symbol_names), " and ",
                             ShapeToString(b, c.symbol_names),
                             " do not broadcast: expected equal sizes or 1 in dim ",
                             static_cast<int64_t>(i) - static_cast<int64_t>(rank), ", got ",
                             x.constant(), " and ", y.constant());
    } else {
      JF_ASSIGN_OR_RETURN(out[i], c.unify(x, y));
    }
  }
  return out;
}

absl::StatusOr<ResultTypes> InferSame(const InferContext& c) {
  JF_RETURN_IF_ERROR(CheckSameDType(c, 0));
  JF_ASSIGN_OR_RETURN(Shape shape, BroadcastAll(c));
  return ResultTypes{{c.in[0].dtype, std::move(shape)}};
}

absl::StatusOr<ResultTypes> InferThreshold(const InferContext& c) {
  for (std::string_view attr : {"threshold", "value"})
    JF_RETURN_IF_ERROR(CheckFits(c, attr, c.in[0].dtype));
  return InferSame(c);
}

absl::StatusOr<ResultTypes> InferSoftshrink(const InferContext& c) {
  const double lambd = c.Get<double>("lambd");
  if (lambd < 0) return InvalidArgument(c.Where(), "lambd is ", lambd, ", expected >= 0");
  return InferSame(c);
}

absl::StatusOr<ResultTypes> InferCelu(const InferContext& c) {
  const double alpha = c.Get<double>("alpha");
  const DType compute = ComputeType(c.in[0].dtype);
  if (ScalarToDouble(compute, ScalarFromDouble(compute, alpha)) == 0)
    return InvalidArgument(c.Where(), "alpha is ", alpha, ", expected another number than 0 of ",
                           ToAbsl(DTypeName(compute)), ", since x is divided by it");
  return InferSame(c);
}

absl::StatusOr<ResultTypes> InferCompare(const InferContext& c) {
  JF_ASSIGN_OR_RETURN(ResultTypes types, InferSame(c));
  types[0].dtype = DType::kBool;
  return types;
}

absl::StatusOr<ResultTypes> InferWhere(const InferContext& c) {
  if (c.in[0].dtype != DType::kBool) {
    return InvalidArgument(c.Where(), "expected bool for cond, got ",
                           ToAbsl(DTypeName(c.in[0].dtype)));
  }
  JF_RETURN_IF_ERROR(CheckSameDType(c, 1));
  JF_ASSIGN_OR_RETURN(Shape shape, BroadcastAll(c));
  return ResultTypes{{c.in[1].dtype, std::move(shape)}};
}

absl::StatusOr<ResultTypes> InferCast(const InferContext& c) {
  return ResultTypes{{c.Get<DType>("dtype"), c.in[0].dims}};
}

absl::StatusOr<ResultTypes> InferIota(const InferContext& c) {
  DType dtype = c.Get<DType>("dtype");
  if (!IsIn(dtype, c.def.domain)) {
    return InvalidArgument(c.Where(), "expected one of ", DTypeSetToString(c.def.domain),
                           ", got dtype=", ToAbsl(DTypeName(dtype)));
  }
  const auto& shape = c.Get<std::vector<Dim>>("shape");
  return ResultTypes{{dtype, Shape(shape.begin(), shape.end())}};
}

absl::StatusOr<ResultTypes> InferBroadcast(const InferContext& c) {
  const Shape& from = c.in[0].dims;
  const auto& to = c.Get<std::vector<Dim>>("shape");
  if (to.size() < from.size()) {
    return InvalidArgument(c.Where(), "shape=", ShapeToString(to, c.symbol_names), " has rank ",
                           to.size(), ", expected at least ", from.size());
  }
  size_t lead = to.size() - from.size();
  for (size_t i = 0; i < from.size(); ++i) {
    if (from[i].Is(1) || from[i] == to[lead + i]) continue;
    JF_RETURN_IF_ERROR(
        MustEqual(c, from[i], to[lead + i],
                  absl::StrCat("does not broadcast to shape=", ShapeToString(to, c.symbol_names),
                               ": expected 1 or the same size in dim ", lead + i))
            .status());
  }
  return ResultTypes{{c.in[0].dtype, Shape(to.begin(), to.end())}};
}

absl::StatusOr<ResultTypes> InferReshape(const InferContext& c) {
  const auto& to = c.Get<std::vector<Dim>>("shape");
  TensorType result{c.in[0].dtype, Shape(to.begin(), to.end())};
  // Before the product below, which could overflow.
  if (absl::Status s = CheckType(result, c.symbol_names); !s.ok())
    return Annotate(s, absl::StrCat(c.Where(), "the result"));
  JF_RETURN_IF_ERROR(MustEqual(c, NumElements(c.in[0].dims), NumElements(to),
                               absl::StrCat("shape=", ShapeToString(to, c.symbol_names),
                                            ": expected the same number of elements"))
                         .status());
  return ResultTypes{std::move(result)};
}

absl::StatusOr<ResultTypes> InferTranspose(const InferContext& c) {
  TensorType result{c.in[0].dtype, {}};
  for (int64_t axis : c.Get<std::vector<int64_t>>("perm"))
    result.dims.push_back(c.in[0].dims[static_cast<size_t>(axis)]);
  return ResultTypes{std::move(result)};
}

absl::StatusOr<ResultTypes> InferSqueeze(const InferContext& c) {
  const auto& axes = c.Get<std::vector<int64_t>>("axes");
  TensorType result{c.in[0].dtype, {}};
  for (size_t i = 0; i < c.in[0].dims.size(); ++i) {
    const Dim& d = c.in[0].dims[i];
    if (!std::binary_search(axes.begin(), axes.end(), static_cast<int64_t>(i))) {
      result.dims.push_back(d);
    } else if (!d.Is(1)) {
      return InvalidArgument(c.Where(), "axis ", i, " has size ", d.ToString(c.symbol_names),
                             ", expected 1");
    }
  }
  return ResultTypes{std::move(result)};
}

absl::StatusOr<ResultTypes> InferUnsqueeze(const InferContext& c) {
  const auto& axes = c.Get<std::vector<int64_t>>("axes");
  TensorType result{c.in[0].dtype, {}};
  auto next = c.in[0].dims.begin();
  for (size_t i = 0; i < c.in[0].dims.size() + axes.size(); ++i) {
    bool is_new = std::binary_search(axes.begin(), axes.end(), static_cast<int64_t>(i));
    result.dims.push_back(is_new ? Dim(1) : *next++);
  }
  return ResultTypes{std::move(result)};
}

namespace {

// An axis of size 0 has no largest value.
absl::Status CheckHasValue(const InferContext& c, size_t axis) {
  if (!c.in[0].dims[axis].Is(0)) return absl::OkStatus();
  return InvalidArgument(c.Where(), "axis ", axis, " has size 0, and ", ToAbsl(c.def.name),
                         " of nothing has no value; expected at least 1 element");
}

absl::StatusOr<Shape> ReducedShape(const InferContext& c) {
  const auto& axes = c.Get<std::vector<int64_t>>("axes");
  bool keep = c.Get<bool>("keepdims");
  bool has_value = c.def.reduce == nullptr || c.def.reduce->empty_ok;
  Shape shape;
  for (size_t i = 0; i < c.in[0].dims.size(); ++i) {
    const Dim& d = c.in[0].dims[i];
    if (!std::binary_search(axes.begin(), axes.end(), static_cast<int64_t>(i))) {
      shape.push_back(d);
      continue;
    }
    if (!has_value) JF_RETURN_IF_ERROR(CheckHasValue(c, i));
    if (keep) shape.push_back(1);
  }
  return shape;
}

absl::StatusOr<ResultTypes> InferReduce(const InferContext& c, DType dtype, size_t results = 1) {
  JF_ASSIGN_OR_RETURN(Shape shape, ReducedShape(c));
  return ResultTypes(results, TensorType{dtype, std::move(shape)});
}

}  // namespace

absl::StatusOr<ResultTypes> InferSum(const InferContext& c) {
  return InferReduce(c, SumType(c.in[0].dtype));
}
absl::StatusOr<ResultTypes> InferReduceSame(const InferContext& c) {
  return InferReduce(c, c.in[0].dtype);
}
absl::StatusOr<ResultTypes> InferReduceTwo(const InferContext& c) {
  return InferReduce(c, c.in[0].dtype, 2);
}
absl::StatusOr<ResultTypes> InferReduceBool(const InferContext& c) {
  return InferReduce(c, DType::kBool);
}
absl::StatusOr<ResultTypes> InferReduceIndex(const InferContext& c) {
  return InferReduce(c, DType::kI64);
}
absl::StatusOr<ResultTypes> InferWithIndex(const InferContext& c) {
  const auto axis = static_cast<size_t>(c.Get<int64_t>("axis"));
  JF_RETURN_IF_ERROR(CheckHasValue(c, axis));
  Shape shape = c.in[0].dims;
  if (c.Get<bool>("keepdims")) {
    shape[axis] = Dim(1);
  } else {
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
  }
  return ResultTypes{TensorType{c.in[0].dtype, shape}, TensorType{DType::kI64, shape}};
}
absl::StatusOr<ResultTypes> InferOfAll(const InferContext& c) {
  for (size_t i = 0; i < c.in[0].dims.size(); ++i) JF_RETURN_IF_ERROR(CheckHasValue(c, i));
  return ResultTypes{TensorType{c.in[0].dtype, {}}};
}
absl::StatusOr<ResultTypes> InferScanSum(const InferContext& c) {
  return ResultTypes{TensorType{SumType(c.in[0].dtype), c.in[0].dims}};
}
absl::StatusOr<ResultTypes> InferScanSame(const InferContext& c) { return ResultTypes{c.in[0]}; }

absl::StatusOr<ResultTypes> InferMatMul(const InferContext& c) {
  JF_RETURN_IF_ERROR(CheckSameDType(c, 0));
  for (size_t i : {size_t{0}, size_t{1}}) {
    JF_RETURN_IF_ERROR(
        CheckRank(c, i, 2, "a vector becomes a matrix of one row or column by reshape"));
  }
  const Shape& a = c.in[0].dims;
  const Shape& b = c.in[1].dims;
  bool ta = c.Get<bool>("transpose_a");
  bool tb = c.Get<bool>("transpose_b");
  size_t m_dim = a.size() - (ta ? 1 : 2), ka_dim = a.size() - (ta ? 2 : 1);
  size_t n_dim = b.size() - (tb ? 2 : 1), kb_dim = b.size() - (tb ? 1 : 2);
  JF_RETURN_IF_ERROR(
      MustEqual(
          c, a[ka_dim], b[kb_dim],
          absl::StrCat("expected the inner sizes to be equal (dim ", ka_dim, " of a, dim ", kb_dim,
                       " of b", ta ? ", transpose_a" : "", tb ? ", transpose_b" : "", ")"))
          .status());
  JF_ASSIGN_OR_RETURN(Shape shape, BroadcastShapes(c, absl::MakeSpan(a).subspan(0, a.size() - 2),
                                                   absl::MakeSpan(b).subspan(0, b.size() - 2)));
  shape.push_back(a[m_dim]);
  shape.push_back(b[n_dim]);
  return ResultTypes{{c.in[0].dtype, std::move(shape)}};
}

absl::StatusOr<ResultTypes> InferAlongAxis(const InferContext& c) { return ResultTypes{c.in[0]}; }

absl::StatusOr<ResultTypes> InferNorm(const InferContext& c) {
  const Shape& x = c.in[0].dims;
  int64_t count = c.Get<int64_t>("norm_dims");
  if (x.empty())
    return InvalidArgument(c.Where(), "x has rank 0, expected at least one dim to normalise");
  if (count < 1 || count > static_cast<int64_t>(x.size())) {
    return InvalidArgument(c.Where(), "norm_dims is ", count, ", expected 1 to ", x.size(),
                           ", the rank of x");
  }
  double eps = c.Get<double>("eps");
  if (!(eps >= 0) || std::isinf(eps))
    return InvalidArgument(c.Where(), "eps is ", eps, ", expected a finite number >= 0");
  auto tail = absl::MakeSpan(x).subspan(x.size() - static_cast<size_t>(count));
  for (size_t i = 1; i < c.in.size(); ++i) {
    const TensorType& p = c.in[i];
    if (p.dtype != c.in[0].dtype && p.dtype != ComputeType(c.in[0].dtype)) {
      return InvalidArgument(c.Where(), "expected ", ToAbsl(DTypeName(c.in[0].dtype)),
                             ComputeType(c.in[0].dtype) == c.in[0].dtype ? "" : " or f32", " for ",
                             Ordinal(c.def, i), ", got ", ToAbsl(DTypeName(p.dtype)), "; use cast");
    }
    std::string what = absl::StrCat("expected shape ", ShapeToString(tail, c.symbol_names), " for ",
                                    Ordinal(c.def, i), ", as the normalised dims of x");
    if (p.dims.size() != tail.size())
      return InvalidArgument(c.Where(), what, ", got ", ShapeToString(p.dims, c.symbol_names));
    for (size_t k = 0; k < tail.size(); ++k)
      JF_RETURN_IF_ERROR(MustEqual(c, tail[k], p.dims[k], what).status());
  }
  return ResultTypes{c.in[0]};
}

absl::StatusOr<ResultTypes> InferLinear(const InferContext& c) {
  JF_RETURN_IF_ERROR(CheckSameDType(c, 0));
  JF_RETURN_IF_ERROR(CheckRank(c, 0, 1, "its last dim is multiplied"));
  const Shape& w = c.in[1].dims;
  if (w.size() != 2)
    return InvalidArgument(c.Where(), "weight has rank ", w.size(), ", expected 2: [out, in]");
  JF_RETURN_IF_ERROR(MustEqual(c, c.in[0].dims.back(), w[1],
                               "expected the last dim of x to be the last dim of weight [out, in]")
                         .status());
  if (c.in.size() > 2) {
    if (c.in[2].dims.size() != 1)
      return InvalidArgument(c.Where(), "bias has rank ", c.in[2].dims.size(),
                             ", expected 1: [out]");
    JF_RETURN_IF_ERROR(MustEqual(c, w[0], c.in[2].dims[0],
                                 "expected the size of bias to be dim 0 of weight [out, in]")
                           .status());
  }
  TensorType result = c.in[0];
  result.dims.back() = w[0];
  return ResultTypes{std::move(result)};
}

}  // namespace jitfuse::internal
