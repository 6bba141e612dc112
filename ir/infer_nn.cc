#include "ir/infer_nn.h"

#include <cmath>
#include <utility>

#include "ir/support/status.h"

namespace jitfuse::internal {
namespace {

std::string ArgName(const InferContext& c, size_t operand) {
  std::string_view name = c.def.args[operand];
  if (!name.empty() && name.back() == '?') name.remove_suffix(1);
  return std::string(name);
}

// Of a parameter: the dtype of x or the one that x is computed in.
absl::Status CheckParameterDType(const InferContext& c, size_t operand) {
  const DType x = c.in[0].dtype, p = c.in[operand].dtype;
  if (p == x || p == ComputeType(x)) return absl::OkStatus();
  return InvalidArgument(c.Where(), "expected ", ToAbsl(DTypeName(x)),
                         ComputeType(x) == x ? "" : " or f32", " for ", ArgName(c, operand),
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
                                        ArgName(c, operand));
  if (dims.size() != 1)
    return InvalidArgument(c.Where(), what, ", got shape ", ShapeToString(dims, c.symbol_names));
  return MustBe(c, channels, dims[0], what);
}

absl::Status CheckFinite(const InferContext& c, std::string_view attr, double least, double most) {
  const double v = c.Get<double>(attr);
  if (v >= least && v <= most && !std::isinf(v)) return absl::OkStatus();
  if (std::isinf(most))
    return InvalidArgument(c.Where(), ToAbsl(attr), " is ", v,
                           ", expected a finite number >= ", least);
  return InvalidArgument(c.Where(), ToAbsl(attr), " is ", v, ", expected ", least, " to ", most);
}
constexpr double kUnlimited = HUGE_VAL;

absl::Status CheckRankAtLeast(const InferContext& c, size_t least, std::string_view why) {
  if (c.in[0].dims.size() >= least) return absl::OkStatus();
  return InvalidArgument(c.Where(), "x has rank ", c.in[0].dims.size(), ", expected at least ",
                         least, " (", ToAbsl(why), ")");
}

absl::StatusOr<ResultTypes> Reduced(const InferContext& c, Shape dims, int64_t most) {
  const int64_t reduction = c.Get<int64_t>("reduction");
  if (reduction < 0 || reduction > most)
    return InvalidArgument(c.Where(), "reduction is ", reduction, ", expected 0 (none), 1 (mean)",
                           most > 2 ? ", 2 (sum) or 3 (sum / dim 0)" : " or 2 (sum)");
  return ResultTypes{{c.in[0].dtype, reduction == 0 ? std::move(dims) : Shape{}}};
}

bool HasAttr(const InferContext& c, std::string_view name) {
  return c.def.FindAttr(name) != nullptr;
}

}  // namespace

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
  JF_RETURN_IF_ERROR(CheckRankAtLeast(c, 2, "[batch, channels, ...]"));
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
  JF_RETURN_IF_ERROR(CheckRankAtLeast(c, 3, "[batch, channels, ...]"));
  JF_RETURN_IF_ERROR(CheckFinite(c, "eps", 0, kUnlimited));
  for (size_t i = 1; i < c.in.size(); ++i)
    JF_RETURN_IF_ERROR(CheckChannels(c, i, c.in[0].dims[1], "channels"));
  return ResultTypes{c.in[0]};
}

absl::StatusOr<ResultTypes> InferBatchNorm(const InferContext& c) {
  JF_RETURN_IF_ERROR(CheckRankAtLeast(c, 2, "a batch and its channels"));
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

absl::StatusOr<ResultTypes> InferTriangle(const InferContext& c) {
  JF_RETURN_IF_ERROR(CheckRankAtLeast(c, 2, "its last two dims are the matrices"));
  return ResultTypes{c.in[0]};
}

absl::StatusOr<ResultTypes> InferEye(const InferContext& c) {
  const auto& shape = c.Get<std::vector<Dim>>("shape");
  if (shape.size() != 2)
    return InvalidArgument(c.Where(), "shape has rank ", shape.size(), ", expected 2");
  return ResultTypes{{c.Get<DType>("dtype"), Shape(shape.begin(), shape.end())}};
}

absl::StatusOr<ResultTypes> InferOneHot(const InferContext& c) {
  const int64_t classes = c.Get<int64_t>("num_classes");
  if (classes < 1)
    return InvalidArgument(c.Where(), "num_classes is ", classes, ", expected at least 1");
  Shape dims = c.in[0].dims;
  dims.push_back(Dim(classes));
  return ResultTypes{{c.Get<DType>("dtype"), std::move(dims)}};
}

absl::StatusOr<ResultTypes> InferArange(const InferContext& c) {
  const DType dtype = c.Get<DType>("dtype");
  const double start = c.Get<double>("start"), stop = c.Get<double>("stop"),
               step = c.Get<double>("step");
  if (dtype == DType::kBool)
    return InvalidArgument(c.Where(), "expected a number type, got dtype=bool");
  if (step == 0 || std::isinf(step) || std::isinf(start) || std::isinf(stop))
    return InvalidArgument(c.Where(), "start, stop and step are ", start, ", ", stop, " and ", step,
                           ", expected finite numbers and a step that is not 0");
  if (IsInt(dtype) && (start != std::trunc(start) || step != std::trunc(step)))
    return InvalidArgument(c.Where(), "start and step are ", start, " and ", step,
                           ", expected whole numbers for ", ToAbsl(DTypeName(dtype)));
  const double count = std::max(0.0, std::ceil((stop - start) / step));
  if (count > 0x1p53)
    return InvalidArgument(c.Where(), "has ", count, " elements, expected at most 2^53");
  return ResultTypes{{dtype, {Dim(static_cast<int64_t>(count))}}};
}

absl::StatusOr<ResultTypes> InferLinspace(const InferContext& c) {
  const int64_t num = c.Get<int64_t>("num");
  const DType dtype = c.Get<DType>("dtype");
  if (num < 0) return InvalidArgument(c.Where(), "num is ", num, ", expected 0 or more");
  if (!IsFloat(dtype))
    return InvalidArgument(c.Where(),
                           "expected a float type, got dtype=", ToAbsl(DTypeName(dtype)));
  const double start = c.Get<double>("start"), stop = c.Get<double>("stop");
  if (!std::isfinite(stop - start))
    return InvalidArgument(c.Where(), "start and stop are ", start, " and ", stop,
                           ", expected finite numbers");
  return ResultTypes{{dtype, {Dim(num)}}};
}

absl::StatusOr<ResultTypes> InferPhilox(const InferContext& c) {
  JF_ASSIGN_OR_RETURN(ResultTypes types, InferSame(c));
  if (c.Get<int64_t>("stream") < 0)
    return InvalidArgument(c.Where(), "stream is ", c.Get<int64_t>("stream"), ", expected >= 0");
  types[0].dtype = DType::kU32;
  return types;
}

namespace {

absl::Status CheckSeed(const InferContext& c, size_t seed) {
  for (size_t i : {seed, seed + 1}) {
    if (c.in[i].dtype == DType::kU64 && c.in[i].dims.empty()) continue;
    return InvalidArgument(c.Where(), "expected u64[] for ", ArgName(c, i), ", got ",
                           TypeToString(c.in[i], c.symbol_names));
  }
  if (c.Get<int64_t>("stream") >= 0) return absl::OkStatus();
  return InvalidArgument(c.Where(), "stream is ", c.Get<int64_t>("stream"), ", expected >= 0");
}

}  // namespace

absl::StatusOr<ResultTypes> InferRandom(const InferContext& c) {
  JF_RETURN_IF_ERROR(CheckSeed(c, 0));
  const DType dtype = c.Get<DType>("dtype");
  if (!IsFloat(dtype))
    return InvalidArgument(c.Where(),
                           "expected a float type, got dtype=", ToAbsl(DTypeName(dtype)));
  for (std::string_view attr : {"low", "high", "mean", "std"}) {
    if (HasAttr(c, attr)) JF_RETURN_IF_ERROR(CheckFinite(c, attr, -kUnlimited, kUnlimited));
  }
  const auto& shape = c.Get<std::vector<Dim>>("shape");
  return ResultTypes{{dtype, Shape(shape.begin(), shape.end())}};
}

absl::StatusOr<ResultTypes> InferRandomLike(const InferContext& c) {
  JF_RETURN_IF_ERROR(CheckSeed(c, 1));
  if (HasAttr(c, "p")) JF_RETURN_IF_ERROR(CheckFinite(c, "p", 0, 1));
  if (c.in.size() > 3 && (!IsFloat(c.in[3].dtype) || !c.in[3].dims.empty()))
    return InvalidArgument(c.Where(), "expected a float of rank 0 for p, got ",
                           TypeToString(c.in[3], c.symbol_names));
  return ResultTypes{c.in[0]};
}

}  // namespace jitfuse::internal
