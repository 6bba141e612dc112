#include "ir/pointwise.h"

#include <utility>
#include <variant>

#include "ir/support/status.h"

namespace jitfuse::internal {

std::optional<double> AttrNumber(const Node& node, std::string_view name) {
  for (const Attr& a : node.attrs) {
    if (a.name != name) continue;
    if (const auto* f = std::get_if<double>(&a.value)) return *f;
    if (const auto* i = std::get_if<int64_t>(&a.value)) return static_cast<double>(*i);
    if (const auto* b = std::get_if<bool>(&a.value)) return *b ? 1 : 0;
    return std::nullopt;
  }
  return std::nullopt;
}

absl::StatusOr<ScalarProgram> PointwiseProgram(const Node& node, absl::Span<const DType> operands,
                                               BodyForm form) {
  const DType result = node.types[0].dtype;
  JF_ASSIGN_OR_RETURN(
      ScalarProgram program,
      BuildScalarProgram(node.def().body, node.def().args.subspan(0, operands.size()), operands,
                         [&node](std::string_view name) { return AttrNumber(node, name); },
                         {result}));
  if (form == BodyForm::kOfResult && Is16BitFloat(result)) return For16BitTypes(std::move(program));
  return program;
}

}  // namespace jitfuse::internal
