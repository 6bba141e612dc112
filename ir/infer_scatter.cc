// Inference of sums by index and of what they are made of.
#include <utility>

#include "absl/strings/str_cat.h"
#include "ir/infer.h"
#include "ir/infer_support.h"
#include "ir/support/status.h"

namespace jitfuse::internal {
namespace {

// Operand `k` has the dims of operand `like`, but for `axis` (-1: for none).
absl::Status CheckDims(const InferContext& c, size_t like, size_t k, int64_t axis) {
  const Shape &a = c.in[like].dims, &b = c.in[k].dims;
  const std::string what = Ordinal(c.def, k), as = Ordinal(c.def, like);
  if (a.size() != b.size())
    return InvalidArgument(c.Where(), what, " has rank ", b.size(), ", expected ", a.size(), " as ",
                           as, " has");
  for (size_t d = 0; d < a.size(); ++d) {
    if (static_cast<int64_t>(d) == axis) continue;
    std::string sentence =
        absl::StrCat("expected equal sizes in dim ", d, " of ", as, " and ", what);
    if (axis >= 0) absl::StrAppend(&sentence, " (all but axis ", axis, ")");
    JF_RETURN_IF_ERROR(MustEqual(c, a[d], b[d], sentence).status());
  }
  return absl::OkStatus();
}

absl::Status CheckSource(const InferContext& c, size_t src) {
  if (c.in[src].dtype == c.in[0].dtype) return absl::OkStatus();
  return InvalidArgument(c.Where(), "expected ", Ordinal(c.def, src), " of the dtype of x, got ",
                         ToAbsl(DTypeName(c.in[src].dtype)), " and ",
                         ToAbsl(DTypeName(c.in[0].dtype)), "; use cast");
}

}  // namespace

absl::StatusOr<ResultTypes> InferGroupPositions(const InferContext& c) {
  const auto& size = c.Get<std::vector<Dim>>("size");
  if (size.size() != 1)
    return InvalidArgument(c.Where(), "size has ", size.size(), " entries, expected 1");
  if (size[0].IsConstant() && size[0].constant() < 0)
    return InvalidArgument(c.Where(), "size is ", size[0].constant(), ", expected 0 or more");
  JF_RETURN_IF_ERROR(CheckTakesFrom(c, 0, size[0]));
  TensorType order{DType::kI64, c.in[0].dims}, bound = order;
  bound.dims[static_cast<size_t>(c.Get<int64_t>("axis"))] = size[0];
  return ResultTypes{std::move(order), bound, bound};
}

absl::StatusOr<ResultTypes> InferSegmentAdd(const InferContext& c) {
  JF_RETURN_IF_ERROR(CheckSource(c, 1));
  for (size_t k = 2; k < c.in.size(); ++k) {
    if (c.in[k].dtype != DType::kI64)
      return InvalidArgument(c.Where(), "expected i64 for ", Ordinal(c.def, k), ", got ",
                             ToAbsl(DTypeName(c.in[k].dtype)));
  }
  JF_RETURN_IF_ERROR(CheckDims(c, 0, 1, c.Get<int64_t>("axis")));
  JF_RETURN_IF_ERROR(CheckDims(c, 1, 2, -1));
  JF_RETURN_IF_ERROR(CheckDims(c, 0, 3, -1));
  JF_RETURN_IF_ERROR(CheckDims(c, 0, 4, -1));
  return ResultTypes{c.in[0]};
}

absl::StatusOr<ResultTypes> InferIndexAdd(const InferContext& c) {
  JF_RETURN_IF_ERROR(CheckIndices(c, 1));
  JF_RETURN_IF_ERROR(CheckSource(c, 2));
  const Shape &x = c.in[0].dims, &indices = c.in[1].dims, &src = c.in[2].dims;
  const auto axis = static_cast<size_t>(c.Get<int64_t>("axis"));
  JF_RETURN_IF_ERROR(CheckTakesFrom(c, 1, x[axis]));
  if (src.size() + 1 != x.size() + indices.size())
    return InvalidArgument(c.Where(), "src has rank ", src.size(), ", expected ",
                           x.size() + indices.size() - 1, ": the dims of x with those of indices ",
                           "in place of axis ", axis);
  for (size_t d = 0; d < src.size(); ++d) {
    const bool of_index = d >= axis && d < axis + indices.size();
    const size_t in_x = d < axis ? d : d + 1 - indices.size();
    std::string what = of_index ? absl::StrCat("dim ", d - axis, " of indices")
                                : absl::StrCat("dim ", in_x, " of x");
    JF_RETURN_IF_ERROR(
        MustEqual(c, of_index ? indices[d - axis] : x[in_x], src[d],
                  absl::StrCat("expected equal sizes in ", what, " and dim ", d, " of src"))
            .status());
  }
  return ResultTypes{c.in[0]};
}

absl::StatusOr<ResultTypes> InferScatterAdd(const InferContext& c) {
  JF_RETURN_IF_ERROR(CheckIndices(c, 1));
  JF_RETURN_IF_ERROR(CheckSource(c, 2));
  const int64_t axis = c.Get<int64_t>("axis");
  JF_RETURN_IF_ERROR(CheckTakesFrom(c, 1, c.in[0].dims[static_cast<size_t>(axis)]));
  JF_RETURN_IF_ERROR(CheckDims(c, 0, 1, axis));
  JF_RETURN_IF_ERROR(CheckDims(c, 1, 2, -1));
  return ResultTypes{c.in[0]};
}

}  // namespace jitfuse::internal
