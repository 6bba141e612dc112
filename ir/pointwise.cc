#include "ir/pointwise.h"

#include <utility>
#include <variant>
#include <vector>

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

namespace {

// An attribute that f64 would round, in an integer type: beyond that it saturates, as others do.
ScalarValue Saturated(DType dtype, int64_t value) {
  if (IsUnsigned(dtype) && value < 0) return ScalarFromInt(dtype, 0);
  if (ItemSize(dtype) == 8) return ScalarFromInt(dtype, value);
  return ScalarFromDouble(dtype, static_cast<double>(value));
}

}  // namespace

// Attributes that f64 would round are arguments first, behind the operands, and constants then.
absl::StatusOr<ScalarProgram> PointwiseProgram(const Node& node, absl::Span<const DType> operands,
                                               BodyForm form) {
  const DType result = node.types[0].dtype;
  std::vector<std::string_view> names(node.def().args.begin(),
                                      node.def().args.begin() + static_cast<long>(operands.size()));
  std::vector<DType> types(operands.begin(), operands.end());
  std::vector<int64_t> numbers;
  for (const Attr& a : node.attrs) {
    const AttrDef* row = node.def().FindAttr(a.name);
    const auto* whole = std::get_if<int64_t>(&a.value);
    if (row == nullptr || row->kind != AttrKind::kFloat || whole == nullptr) continue;
    names.push_back(a.name);
    types.push_back(operands[0]);
    numbers.push_back(*whole);
  }
  JF_ASSIGN_OR_RETURN(ScalarProgram program, BuildScalarProgram(node.def().body, names, types,
                                                                [&node](std::string_view name) {
                                                                  return AttrNumber(node, name);
                                                                },
                                                                {result}));
  program.num_args = static_cast<int>(operands.size());
  for (ScalarInst& s : program.insts) {
    if (s.op != ScalarOp::kArg || s.imm < operands.size()) continue;
    const ScalarValue value = Saturated(s.dtype, numbers[s.imm - operands.size()]);
    s = ScalarInst{ScalarOp::kConst, s.dtype, {-1, -1, -1}, value.bits()};
  }
  if (form == BodyForm::kOfResult && Is16BitFloat(result)) return For16BitTypes(std::move(program));
  return program;
}

}  // namespace jitfuse::internal
