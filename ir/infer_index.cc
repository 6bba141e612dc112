// Tensors made of positions: triangles, one_hot, ranges.
#include <algorithm>
#include <cmath>
#include <utility>

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

}  // namespace jitfuse::internal
