// Random ops (ir/rng.h).
#include "ir/infer.h"
#include "ir/infer_support.h"
#include "ir/support/status.h"

namespace jitfuse::internal {

absl::StatusOr<ResultTypes> InferPhilox(const InferContext& c) {
  JF_ASSIGN_OR_RETURN(ResultTypes types, InferSame(c));
  if (c.Get<int64_t>("stream") < 0)
    return InvalidArgument(c.Where(), "stream is ", c.Get<int64_t>("stream"), ", expected >= 0");
  types[0].dtype = DType::kU32;
  return types;
}

namespace {

absl::Status CheckFiniteIn(const InferContext& c, std::string_view attr, DType dtype) {
  const double v = c.Get<double>(attr);
  if (StaysFinite(dtype, v)) return absl::OkStatus();
  return InvalidArgument(c.Where(), ToAbsl(attr), " is ", v, ", expected a finite number of ",
                         ToAbsl(DTypeName(dtype)));
}

absl::Status CheckSeed(const InferContext& c, size_t seed) {
  for (size_t i : {seed, seed + 1}) {
    if (c.in[i].dtype == DType::kU64 && c.in[i].dims.empty()) continue;
    return InvalidArgument(c.Where(), "expected u64[] for ", Ordinal(c.def, i), ", got ",
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
    if (HasAttr(c, attr)) JF_RETURN_IF_ERROR(CheckFiniteIn(c, attr, dtype));
  }
  if (HasAttr(c, "std") && c.Get<double>("std") < 0)
    return InvalidArgument(c.Where(), "std is ", c.Get<double>("std"), ", expected >= 0");
  if (HasAttr(c, "low")) {
    const double low = c.Get<double>("low"), high = c.Get<double>("high");
    if (low > high)
      return InvalidArgument(c.Where(), "low is ", low, " and high is ", high,
                             ", expected low <= high");
    if (!StaysFinite(ComputeType(dtype), high - low))
      return InvalidArgument(c.Where(), "low is ", low, " and high is ", high,
                             ", expected a difference that ", ToAbsl(DTypeName(dtype)), " holds");
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
