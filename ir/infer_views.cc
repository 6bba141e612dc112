// Inference of views, joins, gathers and the composites made of them.
#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/infer.h"
#include "ir/infer_support.h"
#include "ir/slicing.h"
#include "ir/support/status.h"

namespace jitfuse::internal {
namespace {

using Ints = std::vector<int64_t>;

constexpr int64_t kMostElements = int64_t{1} << 56;  // of a value

std::string DimText(const InferContext& c, const Dim& d) { return d.ToString(c.symbol_names); }

// A list has an entry for each axis, or none at all.
absl::Status CheckPerAxis(const InferContext& c, std::string_view name, size_t given, size_t rank,
                          bool may_be_empty) {
  if (given == rank || (may_be_empty && given == 0)) return absl::OkStatus();
  return InvalidArgument(c.Where(), ToAbsl(name), " has ", given, " entries, expected ", rank,
                         ", one for each axis", may_be_empty ? ", or none" : "");
}

absl::Status CheckAtLeast(const InferContext& c, std::string_view name, int64_t value,
                          int64_t least) {
  if (value >= least) return absl::OkStatus();
  return InvalidArgument(c.Where(), ToAbsl(name), " is ", value, ", expected at least ", least);
}

TensorType Like(const InferContext& c) { return {c.in[0].dtype, c.in[0].dims}; }

// Products of sizes and attributes are formed only where they fit.
absl::StatusOr<Dim> Times(const InferContext& c, std::string_view name, const Dim& d,
                          int64_t factor) {
  int64_t product = 0;
  if (d.IsConstant() && __builtin_mul_overflow(d.constant(), factor, &product)) {
    return InvalidArgument(c.Where(), ToAbsl(name), " makes ", DimText(c, d), " * ", factor,
                           " elements along an axis, which do not fit 64 bits");
  }
  return d * SizeExpr(factor);
}

}  // namespace

absl::StatusOr<ResultTypes> InferSlice(const InferContext& c) {
  const Shape& dims = c.in[0].dims;
  const auto &starts = c.Get<Ints>("starts"), &stops = c.Get<Ints>("stops"),
             &steps = c.Get<Ints>("steps");
  JF_RETURN_IF_ERROR(CheckPerAxis(c, "starts", starts.size(), dims.size(), true));
  JF_RETURN_IF_ERROR(CheckPerAxis(c, "stops", stops.size(), dims.size(), true));
  JF_RETURN_IF_ERROR(CheckPerAxis(c, "steps", steps.size(), dims.size(), true));
  auto zero = std::find(steps.begin(), steps.end(), 0);
  if (zero != steps.end()) {
    return InvalidArgument(c.Where(), "steps has 0 for axis ", zero - steps.begin(),
                           ", expected a step other than 0");
  }
  TensorType result{c.in[0].dtype, {}};
  for (const SliceAxis& axis : ResolveSlices(dims, starts, stops, steps))
    result.dims.push_back(axis.extent);
  return ResultTypes{std::move(result)};
}

absl::StatusOr<ResultTypes> InferRoll(const InferContext& c) {
  const auto &shifts = c.Get<Ints>("shifts"), &axes = c.Get<Ints>("axes");
  auto rank = static_cast<int64_t>(c.in[0].dims.size());
  if (shifts.size() != axes.size()) {
    return InvalidArgument(c.Where(), "shifts has ", shifts.size(), " entries and axes has ",
                           axes.size(), ", expected a shift for each axis");
  }
  std::vector<bool> seen(static_cast<size_t>(rank));
  for (int64_t axis : axes) {
    if (axis < -rank || axis >= rank) {
      return InvalidArgument(c.Where(), "axes has ", axis, ", expected ",
                             rank == 0 ? "no axis, since the rank is 0"
                                       : absl::StrCat("an axis from ", -rank, " to ", rank - 1));
    }
    auto at = static_cast<size_t>(axis < 0 ? axis + rank : axis);
    if (seen[at])
      return InvalidArgument(c.Where(), "axes=", IntsToString(axes),
                             " names an axis twice, expected each at most once");
    seen[at] = true;
  }
  constexpr int64_t kFar = int64_t{1} << 61;
  for (int64_t shift : shifts) {
    if (shift < -kFar || shift > kFar)
      return InvalidArgument(c.Where(), "shifts has ", shift, ", expected a number within 2^61");
  }
  return ResultTypes{Like(c)};
}

absl::StatusOr<ResultTypes> InferTile(const InferContext& c) {
  const Shape& dims = c.in[0].dims;
  const auto& reps = c.Get<Ints>("reps");
  if (reps.size() < dims.size()) {
    return InvalidArgument(c.Where(), "reps has ", reps.size(), " entries, expected at least ",
                           dims.size(), ", the rank");
  }
  if (reps.size() > kMaxRank) {
    return InvalidArgument(c.Where(), "the result has rank ", reps.size(), ", expected at most ",
                           kMaxRank);
  }
  TensorType result{c.in[0].dtype, {}};
  size_t lead = reps.size() - dims.size();
  for (size_t i = 0; i < reps.size(); ++i) {
    JF_RETURN_IF_ERROR(CheckAtLeast(c, absl::StrCat("entry ", i, " of reps"), reps[i], 0));
    JF_ASSIGN_OR_RETURN(Dim d, Times(c, "reps", i < lead ? Dim(1) : dims[i - lead], reps[i]));
    result.dims.push_back(std::move(d));
  }
  return ResultTypes{std::move(result)};
}

absl::StatusOr<ResultTypes> InferRepeat(const InferContext& c) {
  TensorType result = Like(c);
  int64_t repeats = c.Get<int64_t>("repeats");
  JF_RETURN_IF_ERROR(CheckAtLeast(c, "repeats", repeats, 0));
  Dim& d = result.dims[static_cast<size_t>(c.Get<int64_t>("axis"))];
  JF_ASSIGN_OR_RETURN(d, Times(c, "repeats", d, repeats));
  return ResultTypes{std::move(result)};
}

absl::StatusOr<ResultTypes> InferWindows(const InferContext& c) {
  TensorType result = Like(c);
  int64_t size = c.Get<int64_t>("size"), stride = c.Get<int64_t>("stride"),
          dilation = c.Get<int64_t>("dilation");
  JF_RETURN_IF_ERROR(CheckAtLeast(c, "size", size, 1));
  JF_RETURN_IF_ERROR(CheckAtLeast(c, "stride", stride, 1));
  JF_RETURN_IF_ERROR(CheckAtLeast(c, "dilation", dilation, 1));
  Dim& d = result.dims[static_cast<size_t>(c.Get<int64_t>("axis"))];
  d = WindowCount(d, size, stride, dilation);
  result.dims.push_back(size);
  return ResultTypes{std::move(result)};
}

namespace {

// Dims other than `axis` must agree; the sum of those along `axis`.
absl::StatusOr<Shape> JoinedShape(const InferContext& c, size_t axis) {
  Shape shape = c.in[0].dims;
  for (size_t k = 1; k < c.in.size(); ++k) {
    const Shape& dims = c.in[k].dims;
    if (dims.size() != shape.size()) {
      return InvalidArgument(c.Where(), Ordinal(c.def, k), " has rank ", dims.size(), ", expected ",
                             shape.size(), " as ", Ordinal(c.def, 0), " has");
    }
    for (size_t d = 0; d < shape.size(); ++d) {
      if (d == axis) {
        int64_t unused = 0;
        if (shape[d].IsConstant() && dims[d].IsConstant() &&
            __builtin_add_overflow(shape[d].constant(), dims[d].constant(), &unused))
          return InvalidArgument(c.Where(),
                                 "the joined axis has more elements than fit in 64 bits");
        shape[d] = shape[d] + dims[d];
        continue;
      }
      JF_ASSIGN_OR_RETURN(shape[d],
                          MustEqual(c, shape[d], dims[d],
                                    absl::StrCat("expected equal sizes in dim ", d, " of ",
                                                 Ordinal(c.def, 0), " and ", Ordinal(c.def, k),
                                                 " (all but the joined axis ", axis, ")")));
    }
  }
  return shape;
}

}  // namespace

absl::StatusOr<ResultTypes> InferConcatenate(const InferContext& c) {
  JF_RETURN_IF_ERROR(CheckSameDType(c, 0));
  JF_ASSIGN_OR_RETURN(Shape shape, JoinedShape(c, static_cast<size_t>(c.Get<int64_t>("axis"))));
  return ResultTypes{{c.in[0].dtype, std::move(shape)}};
}

absl::StatusOr<ResultTypes> InferStack(const InferContext& c) {
  JF_RETURN_IF_ERROR(CheckSameDType(c, 0));
  auto rank = static_cast<int64_t>(c.in[0].dims.size()) + 1;
  int64_t axis = c.Get<int64_t>("axis");
  if (rank > kMaxRank)
    return InvalidArgument(c.Where(), "the result has rank ", rank, ", expected at most ",
                           kMaxRank);
  if (axis < -rank || axis >= rank) {
    return InvalidArgument(c.Where(), "axis is ", axis, ", expected an axis of the result, from ",
                           -rank, " to ", rank - 1);
  }
  Shape shape = c.in[0].dims;
  for (size_t k = 1; k < c.in.size(); ++k) {
    const Shape& dims = c.in[k].dims;
    std::string what =
        absl::StrCat("expected the shape of ", Ordinal(c.def, 0), " for ", Ordinal(c.def, k));
    if (dims.size() != shape.size())
      return InvalidArgument(c.Where(), what, ", got rank ", dims.size(), ", expected rank ",
                             shape.size());
    for (size_t d = 0; d < shape.size(); ++d) {
      JF_ASSIGN_OR_RETURN(shape[d], MustEqual(c, shape[d], dims[d], what));
    }
  }
  shape.insert(shape.begin() + (axis < 0 ? axis + rank : axis),
               Dim(static_cast<int64_t>(c.in.size())));
  return ResultTypes{{c.in[0].dtype, std::move(shape)}};
}

namespace {

absl::StatusOr<Shape> PaddedShape(const InferContext& c, const std::vector<Dim>& low,
                                  const std::vector<Dim>& high) {
  const Shape& dims = c.in[0].dims;
  JF_RETURN_IF_ERROR(CheckPerAxis(c, "low", low.size(), dims.size(), false));
  JF_RETURN_IF_ERROR(CheckPerAxis(c, "high", high.size(), dims.size(), false));
  Shape shape;
  for (size_t d = 0; d < dims.size(); ++d) {
    int64_t sum = 0;
    for (const auto& [name, pad] : {std::pair("low", low[d]), std::pair("high", high[d])}) {
      if (!pad.IsConstant()) continue;
      if (pad.constant() < 0) {
        return InvalidArgument(c.Where(), name, " has ", pad.constant(), " for axis ", d,
                               ", expected sizes >= 0; slice takes elements away");
      }
      // Neither overflows: each is below 2^57.
      sum += std::min(pad.constant(), kMostElements);
    }
    int64_t unused = 0;
    if (sum >= kMostElements ||
        (dims[d].IsConstant() && __builtin_add_overflow(sum, dims[d].constant(), &unused)))
      return InvalidArgument(c.Where(), "low and high put ", low[d].ToString(c.symbol_names),
                             " and ", high[d].ToString(c.symbol_names), " elements around axis ", d,
                             ", expected fewer than 2^56");
    shape.push_back(low[d] + dims[d] + high[d]);
  }
  return shape;
}

}  // namespace

absl::StatusOr<ResultTypes> InferPad(const InferContext& c) {
  JF_ASSIGN_OR_RETURN(
      Shape shape, PaddedShape(c, c.Get<std::vector<Dim>>("low"), c.Get<std::vector<Dim>>("high")));
  JF_RETURN_IF_ERROR(CheckFits(c, "value", c.in[0].dtype));
  return ResultTypes{{c.in[0].dtype, std::move(shape)}};
}

// The border is made of elements of x: there must be enough of them.
absl::StatusOr<ResultTypes> InferPadFrom(const InferContext& c) {
  const auto &low = c.Get<Ints>("low"), &high = c.Get<Ints>("high");
  const Shape& dims = c.in[0].dims;
  JF_ASSIGN_OR_RETURN(Shape shape,
                      PaddedShape(c, {low.begin(), low.end()}, {high.begin(), high.end()}));
  bool reflect = c.def.name == "pad_reflect", edge = c.def.name == "pad_edge";
  for (size_t d = 0; d < dims.size(); ++d) {
    int64_t widest = std::max(low[d], high[d]);
    int64_t least = widest == 0 ? 0 : edge ? 1 : reflect ? widest + 1 : widest;
    if (dims[d].IsConstant() && dims[d].constant() < least) {
      return InvalidArgument(c.Where(), "a border of ", widest, " along axis ", d,
                             " takes at least ", least, " elements, got ", dims[d].constant(),
                             reflect ? "; the border repeats none of the element at the edge" : "");
    }
    if (!dims[d].IsConstant() && least > 0)  // checked when a call binds
      JF_RETURN_IF_ERROR(c.unify(Min(dims[d], SizeExpr(least)), SizeExpr(least)).status());
  }
  return ResultTypes{{c.in[0].dtype, std::move(shape)}};
}

absl::Status CheckIndices(const InferContext& c, size_t operand) {
  DType d = c.in[operand].dtype;
  if (IsInt(d)) return absl::OkStatus();
  return InvalidArgument(c.Where(), "expected integers for ", Ordinal(c.def, operand), ", got ",
                         ToAbsl(DTypeName(d)));
}

// Nothing can be taken from nothing.
absl::Status CheckTakesFrom(const InferContext& c, size_t operand, const Dim& extent) {
  Dim wanted = NumElements(c.in[operand].dims);
  if (!extent.Is(0) || !wanted.IsConstant() || wanted.Is(0)) return absl::OkStatus();
  return InvalidArgument(c.Where(), "the axis has size 0, but there are ", wanted.constant(),
                         " indices; expected at least 1 element");
}

absl::StatusOr<ResultTypes> InferTake(const InferContext& c) {
  JF_RETURN_IF_ERROR(CheckIndices(c, 1));
  const Shape &x = c.in[0].dims, &indices = c.in[1].dims;
  auto axis = static_cast<std::ptrdiff_t>(c.Get<int64_t>("axis"));
  JF_RETURN_IF_ERROR(CheckTakesFrom(c, 1, x[static_cast<size_t>(axis)]));
  TensorType result{c.in[0].dtype, {x.begin(), x.begin() + axis}};
  result.dims.insert(result.dims.end(), indices.begin(), indices.end());
  result.dims.insert(result.dims.end(), x.begin() + axis + 1, x.end());
  return ResultTypes{std::move(result)};
}

absl::StatusOr<ResultTypes> InferTakeAlongAxis(const InferContext& c) {
  JF_RETURN_IF_ERROR(CheckIndices(c, 1));
  const Shape &x = c.in[0].dims, &indices = c.in[1].dims;
  if (x.size() != indices.size()) {
    return InvalidArgument(c.Where(), "indices has rank ", indices.size(), ", expected ", x.size(),
                           " as x has");
  }
  auto axis = static_cast<size_t>(c.Get<int64_t>("axis"));
  JF_RETURN_IF_ERROR(CheckTakesFrom(c, 1, x[axis]));
  TensorType result{c.in[0].dtype, indices};
  for (size_t d = 0; d < x.size(); ++d) {
    if (d == axis) continue;
    JF_ASSIGN_OR_RETURN(result.dims[d],
                        MustEqual(c, x[d], indices[d],
                                  absl::StrCat("expected equal sizes in dim ", d,
                                               " of x and indices (all but axis ", axis, ")")));
  }
  return ResultTypes{std::move(result)};
}

absl::StatusOr<ResultTypes> InferEmbedding(const InferContext& c) {
  if (!IsInt(c.in[0].dtype)) {
    return InvalidArgument(c.Where(), "expected integers for indices, got ",
                           ToAbsl(DTypeName(c.in[0].dtype)));
  }
  if (c.in[1].dims.size() != 2)
    return InvalidArgument(c.Where(), "weight has rank ", c.in[1].dims.size(),
                           ", expected 2: [rows, features]");
  JF_RETURN_IF_ERROR(CheckTakesFrom(c, 0, c.in[1].dims[0]));
  const int64_t padding = c.Get<int64_t>("padding_idx");
  const Dim& rows = c.in[1].dims[0];
  if (padding < -1 || (rows.IsConstant() && padding >= rows.constant())) {
    return InvalidArgument(c.Where(), "padding_idx is ", padding, ", expected a row of ",
                           rows.ToString(c.symbol_names), " or -1 for none");
  }
  TensorType result{c.in[1].dtype, c.in[0].dims};
  result.dims.push_back(c.in[1].dims[1]);
  return ResultTypes{std::move(result)};
}

// ---- Pooling.

namespace {

// ceil_mode: a last window that is only partly there. One that would begin in the right border is
// left out, as in PyTorch.
void RoundUpWindows(int64_t size, PoolAxis* axis) {
  const int64_t span = WindowSpan(axis->kernel, axis->dilation);
  const int64_t whole = size + 2 * axis->padding;
  const int64_t behind =
      whole - span + axis->stride - 1;  // one window alone may be partly there too
  int64_t out = behind < 0 ? 0 : behind / axis->stride + 1;
  if (out > 0 && (out - 1) * axis->stride >= size + axis->padding) --out;
  axis->extra = std::max<int64_t>(0, (out - 1) * axis->stride + span - whole);
  axis->out = out;
}

}  // namespace

absl::StatusOr<Pooling> PoolingOf(const InferContext& c) {
  const Shape& dims = c.in[0].dims;
  Pooling out;
  const auto& kernel = c.Get<Ints>("kernel");
  size_t n = kernel.size();
  bool last = c.Get<bool>("channels_last");
  if (n < 1 || n > 3)
    return InvalidArgument(c.Where(), "kernel has ", n, " entries, expected 1 to 3");
  if (dims.size() < n + 1) {
    return InvalidArgument(c.Where(), "x has rank ", dims.size(), ", expected at least ", n + 1,
                           ": channels and ", n, " pooled dims");
  }
  auto list = [&](std::string_view name, int64_t fallback, int64_t least) -> absl::StatusOr<Ints> {
    Ints values;
    if (c.def.FindAttr(name) != nullptr) values = c.Get<Ints>(name);
    if (values.empty()) values.assign(n, fallback);
    if (values.size() != n) {
      return InvalidArgument(c.Where(), ToAbsl(name), " has ", values.size(), " entries, expected ",
                             n, " as kernel has, or none");
    }
    for (size_t i = 0; i < n; ++i) {
      JF_RETURN_IF_ERROR(
          CheckAtLeast(c, absl::StrCat("entry ", i, " of ", ToAbsl(name)), values[i], least));
      if (values[i] > int64_t{1} << 40)
        return InvalidArgument(c.Where(), ToAbsl(name), " has ", values[i],
                               ", expected a number within 2^40");
    }
    return values;
  };
  JF_ASSIGN_OR_RETURN(Ints sizes, list("kernel", 1, 1));
  JF_ASSIGN_OR_RETURN(Ints dilation, list("dilation", 1, 1));
  JF_ASSIGN_OR_RETURN(Ints padding, list("padding", 0, 0));
  Ints stride = c.Get<Ints>("stride");
  if (stride.empty()) {
    stride = sizes;
  } else {
    JF_ASSIGN_OR_RETURN(stride, list("stride", 1, 1));
  }
  for (size_t i = 0; i < n; ++i) {
    PoolAxis axis{
        dims.size() - n + i - (last ? 1 : 0), sizes[i], stride[i], padding[i], dilation[i], {}, {}};
    if (int64_t span = WindowSpan(axis.kernel, axis.dilation); 2 * axis.padding > span) {
      return InvalidArgument(c.Where(), "padding is ", axis.padding, " for windows that span ",
                             span, " elements, expected at most half of that");
    }
    const Dim& d = dims[axis.dim];
    SizeExpr padded = d + SizeExpr(2 * axis.padding);
    axis.out = WindowCount(padded, axis.kernel, axis.stride, axis.dilation);
    if (c.Get<bool>("ceil_mode")) {
      if (!d.IsConstant()) {
        return InvalidArgument(c.Where(), "ceil_mode needs constant sizes, dim ", axis.dim, " is ",
                               DimText(c, d));
      }
      RoundUpWindows(d.constant(), &axis);
    }
    out.axes.push_back(axis);
  }
  return out;
}

absl::StatusOr<ResultTypes> InferPool(const InferContext& c) {
  JF_ASSIGN_OR_RETURN(Pooling pooling, PoolingOf(c));
  TensorType result = Like(c);
  for (const PoolAxis& axis : pooling.axes) result.dims[axis.dim] = axis.out;
  return ResultTypes{std::move(result)};
}

}  // namespace jitfuse::internal
