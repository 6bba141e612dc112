// Folding: pointwise ops whose operands are all uniform, computed by the declared meaning of their
// body.
#include <bit>

#include "ir/op_enum.h"
#include "ir/rewrite/rule.h"
#include "ir/scalar_expr.h"

namespace jitfuse::internal {
namespace {

std::optional<double> AttrAsDouble(const Node& node, std::string_view name) {
  for (const Attr& attr : node.attrs) {
    if (attr.name != name) continue;
    if (const double* d = std::get_if<double>(&attr.value)) return *d;
    if (const int64_t* i = std::get_if<int64_t>(&attr.value)) return static_cast<double>(*i);
    if (const bool* b = std::get_if<bool>(&attr.value)) return *b ? 1.0 : 0.0;
  }
  return std::nullopt;
}

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
  const OpDef& def = node.def();
  absl::StatusOr<ScalarProgram> program = BuildScalarProgram(
      def.body, def.args.subspan(0, node.in.size()), types,
      [&](std::string_view name) { return AttrAsDouble(node, name); }, {c.dtype()});
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
