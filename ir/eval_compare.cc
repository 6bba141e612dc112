// Compare: an executor's result against the wide evaluator's values and bounds.
#include <cmath>
#include <limits>

#include "absl/strings/str_format.h"
#include "ir/eval.h"
#include "ir/scalar_value.h"
#include "ir/support/status.h"
#include "ir/wide_scalar.h"

namespace jitfuse::internal {
namespace {

using Wide = long double;

constexpr Wide kInf = std::numeric_limits<Wide>::infinity();

std::string Coordinates(const std::vector<int64_t>& dims, int64_t index) {
  std::string text;
  for (size_t d = dims.size(); d-- > 0;) {
    text = absl::StrCat(index % dims[d], text.empty() ? "" : ",", text);
    index /= dims[d];
  }
  return absl::StrCat("[", text, "]");
}

// Distance to the expected value; infinite where one is NaN or infinite and the other is not the
// same.
Wide ErrorOf(Wide expect, Wide got) {
  if (expect == got || (std::isnan(expect) && std::isnan(got))) return 0;
  const Wide e = std::fabs(expect - got);
  return std::isnan(e) ? kInf : e;
}

Wide RatioOf(Wide error, Wide bound) {
  if (error == 0 || std::isinf(bound)) return 0;
  return bound == 0 ? kInf : error / bound;
}

}  // namespace

CompareResult Compare(const WideTensor& expect, const HostTensor& got) {
  CompareResult result;
  if (got.dtype != expect.dtype || got.dims != expect.dims ||
      (!expect.at &&
       got.bytes.size() != expect.value.size() * static_cast<size_t>(ItemSize(expect.dtype)))) {
    result.ok = false;
    result.max_ulp = result.max_ratio = static_cast<double>(kInf);
    result.text =
        absl::StrCat("got ", ToAbsl(DTypeName(got.dtype)), " of ", got.dims.size(), " dims in ",
                     got.bytes.size(), " bytes, expected ", ToAbsl(DTypeName(expect.dtype)), " of ",
                     expect.dims.size(), " dims and ", expect.value.size(), " elements");
    return result;
  }
  Wide worst_ratio = 0, worst_ulp = 0, worst_error = 0, sum_error = 0, sum_ratio = 0;
  for (size_t i = 0; i < expect.value.size(); ++i) {
    if (std::isinf(expect.bound[i])) continue;
    const int64_t at = expect.at ? (*expect.at)[i] : static_cast<int64_t>(i);
    const Wide value = ScalarToLongDouble(got.dtype, got.At(at));
    const Wide error = ErrorOf(expect.value[i], value);
    ++result.compared;
    if (error == 0) continue;
    const Wide ulp = IsFloat(got.dtype) ? error / UlpOf(got.dtype, expect.value[i]) : error;
    const Wide ratio = RatioOf(error, expect.bound[i]);
    worst_ulp = std::max(worst_ulp, ulp);
    worst_error = std::max(worst_error, error);
    sum_error += error;
    sum_ratio += ratio;
    if (ratio > 1) ++result.beyond;
    if (ratio <= worst_ratio && result.worst >= 0) continue;
    worst_ratio = ratio;
    result.worst = at;
    result.text = absl::StrFormat(
        "element %s: got %.17Lg, expected %.17Lg +- %.3Lg (%.3Lg %s, %.3Lg of the bound)",
        Coordinates(expect.dims, result.worst), value, expect.value[i], expect.bound[i], ulp,
        IsFloat(got.dtype) ? "ulp" : "off", ratio);
  }
  result.max_ulp = static_cast<double>(worst_ulp);
  result.max_ratio = static_cast<double>(worst_ratio);
  result.max_error = static_cast<double>(worst_error);
  result.sum_error = static_cast<double>(sum_error);
  result.sum_ratio = static_cast<double>(sum_ratio);
  result.ok = worst_ratio <= 1;
  return result;
}

}  // namespace jitfuse::internal
