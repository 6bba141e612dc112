// Losses, normalisations by channels, norms.
#include <cmath>
#include <utility>

#include "ir/infer.h"
#include "ir/infer_support.h"
#include "ir/support/status.h"

namespace jitfuse::internal {
namespace {

// Of a parameter: the dtype of x or the one that x is computed in.
absl::Status CheckParameterDType(const InferContext& c, size_t operand) {
  const DType x = c.in[0].dtype, p = c.in[operand].dtype;
  if (p == x || p == ComputeType(x)) return absl::OkStatus();
  return InvalidArgument(c.Where(), "expected ", ToAbsl(DTypeName(x)),
                         ComputeType(x) == x ? "" : " or f32", " for ", Ordinal(c.def, operand),
                         ", got ", ToAbsl(DTypeName(p)), "; use cast");
}

absl::Status MustBe(const InferContext& c, const Dim& a, const Dim& b, const std::string& what) {
  if (a == b) return absl::OkStatus();
  if (a.IsConstant() && b.IsConstant())
    return InvalidArgument(c.Where(), what, ", got ", b.constant(), " instead of ", a.constant());
  return c.unify(a, b).status();
}

// A vector of one number per channel.
absl::Status CheckChannels(const InferContext& c, size_t operand, const Dim& channels,
                           std::string_view of) {
  JF_RETURN_IF_ERROR(CheckParameterDType(c, operand));
  const Shape& dims = c.in[operand].dims;
  const std::string what = absl::StrCat("expected one number for each of the ", ToAbsl(of), " for ",
                                        Ordinal(c.def, operand));
  if (dims.size() != 1)
    return InvalidArgument(c.Where(), what, ", got shape ", ShapeToString(dims, c.symbol_names));
  return MustBe(c, channels, dims[0], what);
}

absl::StatusOr<ResultTypes> Reduced(const InferContext& c, Shape dims, int64_t most) {
  const int64_t reduction = c.Get<int64_t>("reduction");
  if (reduction < 0 || reduction > most)
    return InvalidArgument(c.Where(), "reduction is ", reduction, ", expected 0 (none), 1 (mean)",
                           most > 2 ? ", 2 (sum) or 3 (sum / dim 0)" : " or 2 (sum)");
  return ResultTypes{{c.in[0].dtype, reduction == 0 ? std::move(dims) : Shape{}}};
}

}  // namespace

absl::Status CheckFinite(const InferContext& c, std::string_view attr, double least, double most) {
  const double v = c.Get<double>(attr);
  if (v >= least && v <= most && !std::isinf(v)) return absl::OkStatus();
  if (std::isinf(most))
    return InvalidArgument(c.Where(), ToAbsl(attr), " is ", v,
                           ", expected a finite number >= ", least);
  return InvalidArgument(c.Where(), ToAbsl(attr), " is ", v, ", expected ", least, " to ", most);
}

bool StaysFinite(DType dtype, double v) {
  return std::isfinite(ScalarToDouble(dtype, ScalarFromDouble(dtype, v)));
}

absl::Status CheckFits(const InferContext& c, std::string_view attr, DType dtype) {
  for (const Attr& a : c.attrs) {  // an integer that no double is
    const auto* whole = std::get_if<int64_t>(&a.value);
    if (a.name != attr || whole == nullptr) continue;
    if (dtype == DType::kI64 || (dtype == DType::kU64 && *whole > 0)) return absl::OkStatus();
    return InvalidArgument(c.Where(), ToAbsl(attr), " is ", *whole, ", expected a number that ",
                           ToAbsl(DTypeName(dtype)), " holds");
  }
  const double v = c.Get<double>(attr);
  const double kept = ScalarToDouble(dtype, ScalarFromDouble(dtype, v));
  // 2^63 and 2^64 read back from the greatest integer below them.
  const bool beyond = ItemSize(dtype) == 8 && v >= (IsUnsigned(dtype) ? 0x1p64 : 0x1p63);
  if (IsFloat(dtype) ? std::isinf(v) || std::isfinite(kept) : kept == v && !beyond)
    return absl::OkStatus();
  return InvalidArgument(c.Where(), ToAbsl(attr), " is ", v, ", expected a number that ",
                         ToAbsl(DTypeName(dtype)), " holds");
}

absl::StatusOr<ResultTypes> InferLoss(const InferContext& c) {
  JF_ASSIGN_OR_RETURN(ResultTypes types, InferSame(c));
  for (std::string_view attr : {"beta", "delta"}) {
    if (HasAttr(c, attr)) JF_RETURN_IF_ERROR(CheckFinite(c, attr, 0, kUnlimited));
  }
  return Reduced(c, types[0].dims, HasAttr(c, "log_target") ? 3 : 2);
}

absl::StatusOr<ResultTypes> InferClassLoss(const InferContext& c) {
  const auto axis = static_cast<size_t>(c.Get<int64_t>("axis"));
  Shape rows = c.in[0].dims;
  const Dim classes = rows[axis];
  rows.erase(rows.begin() + static_cast<std::ptrdiff_t>(axis));
  const TensorType& target = c.in[1];
  if (!IsInt(target.dtype))
    return InvalidArgument(c.Where(), "expected integers for target, got ",
                           ToAbsl(DTypeName(target.dtype)));
  const std::string what = absl::StrCat("expected shape ", ShapeToString(rows, c.symbol_names),
                                        " for target, as x without axis ", axis);
  if (target.dims.size() != rows.size())
    return InvalidArgument(c.Where(), what, ", got ", ShapeToString(target.dims, c.symbol_names));
  for (size_t i = 0; i < rows.size(); ++i)
    JF_RETURN_IF_ERROR(MustBe(c, rows[i], target.dims[i], what));
  if (c.in.size() > 2) JF_RETURN_IF_ERROR(CheckChannels(c, 2, classes, "classes"));
  if (HasAttr(c, "label_smoothing")) JF_RETURN_IF_ERROR(CheckFinite(c, "label_smoothing", 0, 1));
  if (classes.Is(0)) return InvalidArgument(c.Where(), "axis ", axis, " has no classes");
  return Reduced(c, std::move(rows), 2);
}

absl::StatusOr<ResultTypes> InferGroupNorm(const InferContext& c) {
  JF_RETURN_IF_ERROR(CheckRank(c, 0, 2, "[batch, channels, ...]"));
  JF_RETURN_IF_ERROR(CheckFinite(c, "eps", 0, kUnlimited));
  const int64_t groups = c.Get<int64_t>("groups");
  const Dim& channels = c.in[0].dims[1];
  if (groups < 1 || !channels.DivExact(Dim(groups)))
    return InvalidArgument(c.Where(), "groups is ", groups, ", expected a divisor of the ",
                           channels.ToString(c.symbol_names), " channels");
  for (size_t i = 1; i < c.in.size(); ++i)
    JF_RETURN_IF_ERROR(CheckChannels(c, i, channels, "channels"));
  return ResultTypes{c.in[0]};
}

absl::StatusOr<ResultTypes> InferInstanceNorm(const InferContext& c) {
  JF_RETURN_IF_ERROR(CheckRank(c, 0, 3, "[batch, channels, ...]"));
  JF_RETURN_IF_ERROR(CheckFinite(c, "eps", 0, kUnlimited));
  for (size_t i = 1; i < c.in.size(); ++i)
    JF_RETURN_IF_ERROR(CheckChannels(c, i, c.in[0].dims[1], "channels"));
  return ResultTypes{c.in[0]};
}

absl::StatusOr<ResultTypes> InferBatchNorm(const InferContext& c) {
  JF_RETURN_IF_ERROR(CheckRank(c, 0, 2, "a batch and its channels"));
  JF_RETURN_IF_ERROR(CheckFinite(c, "eps", 0, kUnlimited));
  const auto axis = static_cast<size_t>(c.Get<int64_t>("axis"));
  for (size_t i = 1; i < c.in.size(); ++i)
    JF_RETURN_IF_ERROR(CheckChannels(c, i, c.in[0].dims[axis], "channels"));
  return ResultTypes{c.in[0]};
}

absl::StatusOr<ResultTypes> InferBatchNormTraining(const InferContext& c) {
  JF_ASSIGN_OR_RETURN(ResultTypes types, InferBatchNorm(c));
  JF_RETURN_IF_ERROR(CheckFinite(c, "momentum", 0, 1));
  const auto axis = static_cast<size_t>(c.Get<int64_t>("axis"));
  const Shape channels = {c.in[0].dims[axis]};
  for (size_t i : {1, 2, 1, 2}) types.push_back({c.in[i].dtype, channels});
  return types;
}

absl::StatusOr<ResultTypes> InferCountNonzero(const InferContext& c) {
  JF_ASSIGN_OR_RETURN(ResultTypes types, InferReduceSame(c));
  types[0].dtype = DType::kI64;
  return types;
}

absl::StatusOr<ResultTypes> InferVectorNorm(const InferContext& c) {
  if (std::isinf(c.Get<double>("ord"))) {
    for (int64_t axis : c.Get<std::vector<int64_t>>("axes")) {
      if (c.in[0].dims[static_cast<size_t>(axis)].Is(0))
        return InvalidArgument(c.Where(), "axis ", axis,
                               " has size 0, and the largest of nothing has no value; expected at "
                               "least 1 element");
    }
  }
  return InferReduceSame(c);
}

}  // namespace jitfuse::internal
