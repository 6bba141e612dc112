// Folding: pointwise ops whose operands are all uniform, computed by the declared meaning of their
// body.
#include <bit>

#include "ir/op_enum.h"
#include "ir/pointwise.h"
#include "ir/rewrite/rule.h"

namespace jitfuse::internal {
namespace {

// `v`, in a register of type `from`, as a value of `to`. f16/bf16 chains are not rounded op by op,
// so only a cast may round.
std::optional<ScalarValue> Settle(DType from, DType to, ScalarValue v, bool is_cast) {
  ScalarValue settled = ConvertScalar(from, to, v);
  if (is_cast || ComputeType(to) == to) return settled;
  double before = ScalarToDouble(from, v);
  double after = ScalarToDouble(to, settled);
  if (std::bit_cast<uint64_t>(before) != std::bit_cast<uint64_t>(after) && before == before)
    return std::nullopt;
  return settled;
}

std::optional<Value> Fold(RuleContext& c) {
  const Node& node = c.node();
  if (node.types.size() != 1 || node.in.empty()) return std::nullopt;
  absl::InlinedVector<ScalarValue, 4> args;
  absl::InlinedVector<DType, 4> types;
  for (Value v : node.in) {
    std::optional<ScalarValue> uniform = c.Uniform(v);
    if (!uniform) return std::nullopt;
    args.push_back(*uniform);
    types.push_back(ComputeType(c.graph().type(v).dtype));
  }
  absl::StatusOr<ScalarProgram> program = PointwiseProgram(node, types, BodyForm::kDeclared);
  if (!program.ok() || program->results.size() != 1) return std::nullopt;
  ScalarValue result;
  EvalScalarProgram(*program, args.data(), &result);
  DType computed = program->insts[static_cast<size_t>(program->results[0])].dtype;
  std::optional<ScalarValue> settled = Settle(computed, c.dtype(), result, node.op == Op::kCast);
  if (!settled) return std::nullopt;
  return c.AddUniform(c.type(), *settled);
}

constexpr RewriteRule kRules[] = {
    {"fold", Op::kCount, kAnyDType, nullptr, Fold,
     "f(c, d) -> f's value, where c and d are constants or views of constants",
     "the value is that of the declared evaluator; one that f16/bf16 would round is left alone"},
};

}  // namespace

absl::Span<const RewriteRule> FoldRules() { return kRules; }

}  // namespace jitfuse::internal
