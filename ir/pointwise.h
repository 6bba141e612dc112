// The program of a pointwise node: its row's body, instantiated for its types and attributes.
//
// Everyone who runs, plans or prices a pointwise node asks here, so that all speak of the same
// instructions. Where the result is f16 or bf16, kOfResult takes the primitives' cheaper forms,
// which are good enough for such a result (the rows with "_16" behind the name); kDeclared keeps
// those the row names. Which dtypes these are is decided here alone: values of them are exact in
// f32 and rounded when they are stored, which rewrite rules ask too. Must not know: tensors, plans.
#ifndef JITFUSE_IR_POINTWISE_H_
#define JITFUSE_IR_POINTWISE_H_

#include <optional>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ir/graph.h"
#include "ir/scalar_expr.h"

namespace jitfuse::internal {

constexpr bool Is16BitFloat(DType d) { return d == DType::kF16 || d == DType::kBF16; }

// The attribute `name` as a number; nothing if there is none, or if it is not one.
std::optional<double> AttrNumber(const Node& node, std::string_view name);

enum class BodyForm { kDeclared, kOfResult };
// operands[i]: the dtype of the register that argument i is.
absl::StatusOr<ScalarProgram> PointwiseProgram(const Node& node, absl::Span<const DType> operands,
                                               BodyForm form);

}  // namespace jitfuse::internal

#endif  // JITFUSE_IR_POINTWISE_H_
