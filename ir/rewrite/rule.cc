#include "ir/rewrite/rule.h"

#include <array>

#include "ir/op_enum.h"
#include "ir/pointwise.h"

namespace jitfuse::internal {
namespace {

// The body of a two-operand row is `x . y` or `y . x` with a commutative primitive.
bool HasCommutativeBody(const OpDef& def) {
  if (def.kind != OpKind::kPointwise || def.args.size() != 2 || !def.attrs.empty()) return false;
  int first = 0;
  while (!IsIn(static_cast<DType>(first), def.domain)) ++first;
  DType dtype = ComputeType(static_cast<DType>(first));
  DType types[2] = {dtype, dtype};
  absl::StatusOr<ScalarProgram> program = BuildScalarProgram(def.body, def.args, types);
  if (!program.ok() || program->results.size() != 1) return false;
  const ScalarInst& last = program->insts[static_cast<size_t>(program->results[0])];
  if (last.op == ScalarOp::kArg || last.op == ScalarOp::kConst || !GetScalarOp(last.op).commutative)
    return false;
  uint64_t seen = 0;
  for (int i = 0; i < 2; ++i) {
    const ScalarInst& operand = program->insts[static_cast<size_t>(last.in[i])];
    if (operand.op != ScalarOp::kArg) return false;
    seen |= uint64_t{1} << operand.imm;
  }
  return seen == 3;
}

}  // namespace

const RuleContext::Facts& RuleContext::FactsOf(Value v) {
  while (facts_.size() <= static_cast<size_t>(v.node)) {
    auto id = static_cast<NodeId>(facts_.size());
    const Node& node = graph_.node(id);
    Facts facts;
    switch (node.kind()) {
      case OpKind::kConstant:
        facts = {graph_.ConstantValue(id), true};
        break;
      case OpKind::kView:
        facts = facts_[static_cast<size_t>(node.in[0].node)];
        if (node.in[0].result != 0) facts = {};
        break;
      default:
        facts.rounded = !Is16BitFloat(node.types[0].dtype) || node.kind() == OpKind::kInput ||
                        node.kind() == OpKind::kScalar || node.op == Op::kCast;
    }
    facts_.push_back(facts);
  }
  return facts_[static_cast<size_t>(v.node)];
}

std::optional<ScalarValue> RuleContext::Uniform(Value v) {
  if (v.result != 0) return std::nullopt;
  return FactsOf(v).uniform;
}

bool RuleContext::IsRounded(Value v) {
  return !Is16BitFloat(graph_.type(v).dtype) || (v.result == 0 && FactsOf(v).rounded);
}

std::optional<Value> RuleContext::Add(Op op, std::initializer_list<Value> in, Attrs attrs) {
  absl::StatusOr<Value> value =
      graph_.Add(op, absl::MakeConstSpan(in.begin(), in.size()), std::move(attrs));
  if (!value.ok()) return std::nullopt;
  return *value;
}

std::optional<Value> RuleContext::AddUniform(const TensorType& type, ScalarValue value) {
  TensorType wanted = type;  // `type` may live in the graph that grows here
  Value constant = graph_.AddConstantBits(wanted.dtype, value);
  if (wanted.dims.empty()) return constant;
  return Add(Op::kBroadcast, {constant},
             {{"shape", std::vector<Dim>(wanted.dims.begin(), wanted.dims.end())}});
}

std::vector<const RewriteRule*> AllRules() {
  std::vector<const RewriteRule*> rules;
  for (auto table : {FoldRules(), AlgebraRules(), CastRules(), ViewRules()}) {
    for (const RewriteRule& rule : table) rules.push_back(&rule);
  }
  return rules;
}

bool IsCommutative(Op op) {
  static const auto* table = [] {
    auto* flags = new std::vector<bool>(AllOps().size());
    for (const OpDef* def : AllOps())
      (*flags)[static_cast<size_t>(def->op)] = HasCommutativeBody(*def);
    return flags;
  }();
  return (*table)[static_cast<size_t>(op)];
}

}  // namespace jitfuse::internal
