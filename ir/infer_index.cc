// Tensors made of positions: triangles, one_hot, ranges.
#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/numeric/int128.h"
#include "ir/infer.h"
#include "ir/infer_support.h"
#include "ir/support/status.h"

namespace jitfuse::internal {

absl::StatusOr<ResultTypes> InferTriangle(const InferContext& c) {
  JF_RETURN_IF_ERROR(CheckRank(c, 0, 2, "its last two dims are the matrices"));
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

namespace {

constexpr double kMostNumbers = 0x1p53;

absl::Status TooMany(const InferContext& c, double count) {
  return InvalidArgument(c.Where(), "has ", count, " elements, expected at most 2^53");
}

// Exactly: whole numbers of 64 bits, signed or not, whose differences f64 would round.
absl::StatusOr<ResultTypes> WholeRange(const InferContext& c, DType dtype, double start,
                                       double stop, double step) {
  const int bits = 8 * ItemSize(dtype);
  const double limit = std::ldexp(1.0, IsUnsigned(dtype) ? bits : bits - 1);
  const double lowest = IsUnsigned(dtype) ? 0 : -limit;
  auto fits = [&](absl::int128 v) {
    return v >= static_cast<absl::int128>(lowest) && v < static_cast<absl::int128>(limit);
  };
  // What is that large is beyond every type already.
  auto whole = [](double v) { return static_cast<absl::int128>(std::clamp(v, -0x1p66, 0x1p66)); };
  const absl::int128 first = whole(start), by = whole(step),
                     end = whole(step > 0 ? std::ceil(stop) : std::floor(stop));
  const absl::int128 span = step > 0 ? end - first : first - end, stride = step > 0 ? by : -by;
  const absl::int128 count = span > 0 ? (span + stride - 1) / stride : absl::int128(0);
  if (count > static_cast<absl::int128>(kMostNumbers))
    return TooMany(c, static_cast<double>(count));
  const absl::int128 last = count > 0 ? first + (count - 1) * by : first;
  if (!fits(first) || !fits(last))
    return InvalidArgument(c.Where(), "goes from ", start, " to ", static_cast<double>(last),
                           ", expected numbers that ", ToAbsl(DTypeName(dtype)), " holds");
  return ResultTypes{{dtype, {Dim(static_cast<int64_t>(count))}}};
}

}  // namespace

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
  if (IsInt(dtype)) return WholeRange(c, dtype, start, stop, step);
  if (std::isinf(stop - start))
    return InvalidArgument(c.Where(), "start and stop are ", start, " and ", stop,
                           ", expected a difference that f64 holds");
  const double count = std::max(0.0, std::ceil((stop - start) / step));
  if (count > kMostNumbers) return TooMany(c, count);
  const double last = start + std::max(count - 1, 0.0) * step;
  if (!StaysFinite(dtype, start) || !StaysFinite(dtype, last))
    return InvalidArgument(c.Where(), "goes from ", start, " to ", last, ", expected numbers that ",
                           ToAbsl(DTypeName(dtype)), " holds");
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
  for (std::string_view attr : {"start", "stop"}) {
    if (!StaysFinite(dtype, c.Get<double>(attr)))
      return InvalidArgument(c.Where(), ToAbsl(attr), " is ", c.Get<double>(attr),
                             ", expected a finite number of ", ToAbsl(DTypeName(dtype)));
  }
  if (std::isinf(stop - start))
    return InvalidArgument(c.Where(), "start and stop are ", start, " and ", stop,
                           ", expected a difference that f64 holds");
  return ResultTypes{{dtype, {Dim(num)}}};
}

}  // namespace jitfuse::internal
