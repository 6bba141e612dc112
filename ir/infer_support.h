// What inference functions share: comparisons of operands, and words for their messages.
//
// In: an InferContext. Out: InvalidArgument that begins with the call, as everywhere in inference.
// Included by ir/infer*.cc alone.
#ifndef JITFUSE_IR_INFER_SUPPORT_H_
#define JITFUSE_IR_INFER_SUPPORT_H_

#include <limits>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ir/infer.h"

namespace jitfuse::internal {

std::string Ordinal(const OpDef& def, size_t operand);       // "weight", "xs[2]"
std::string IntsToString(absl::Span<const int64_t> values);  // "[1,-1]"
// Operands from `first` on have one dtype.
absl::Status CheckSameDType(const InferContext& c, size_t first);
// Two sizes that must be equal; `what` starts the sentence of the error.
absl::StatusOr<Dim> MustEqual(const InferContext& c, const Dim& a, const Dim& b,
                              const std::string& what);
// A number attribute within [least, most], and finite.
absl::Status CheckFinite(const InferContext& c, std::string_view attr, double least, double most);
// A number attribute that becomes a value of `dtype`: whole and in range for an integer type; for a
// float type one that rounds to no infinity, or an infinity itself.
absl::Status CheckFits(const InferContext& c, std::string_view attr, DType dtype);
// Whether a finite number stays finite in a float type.
bool StaysFinite(DType dtype, double v);
inline constexpr double kUnlimited = std::numeric_limits<double>::infinity();
inline bool HasAttr(const InferContext& c, std::string_view name) {
  return c.def.FindAttr(name) != nullptr;
}
// An operand of integers; and of none where the axis that they speak of has no element.
absl::Status CheckIndices(const InferContext& c, size_t operand);
absl::Status CheckTakesFrom(const InferContext& c, size_t operand, const Dim& extent);
absl::Status CheckRank(const InferContext& c, size_t operand, size_t least, std::string_view why);

}  // namespace jitfuse::internal

#endif  // JITFUSE_IR_INFER_SUPPORT_H_
