// What a rule of differentiation sees, and the table of rules.
//
// In: a node whose operands and results are values of a graph, the cotangents of its results, and
// which operands want a gradient. A rule appends nodes and Gives each wanted operand a
// contribution: of a shape that broadcasts with the operand's (it is summed over what the operand
// lacks), in any float dtype. Arithmetic is Calc's (ir/expand_kit.h): in the compute type of
// operand 0; after the first error the rest does nothing. Nodes are numbered in the order in which
// they are made: of the arguments of one call at most one may make nodes. Must not know: what else
// the graph holds.
#ifndef JITFUSE_IR_AUTODIFF_RULES_H_
#define JITFUSE_IR_AUTODIFF_RULES_H_

#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "ir/autodiff.h"
#include "ir/expand_kit.h"

namespace jitfuse::internal {

class GradRule : public Calc {
 public:
  // `node` and the spans must outlive this; `out` is result 0.
  GradRule(Graph* graph, const Node& node, Value out, absl::Span<const Value> cotangents,
           const std::vector<bool>& wanted)
      : Calc(graph, node), graph_(graph), out_(out), g_(cotangents), wanted_(wanted) {}

  Graph* graph() { return graph_; }
  bool Wants(size_t operand) const { return Has(operand) && wanted_[operand]; }
  // The cotangent of a result, and a result, as they are or in the compute type.
  bool HasG(size_t result = 0) const { return g_[result].node >= 0; }
  Value RawG(size_t result = 0) const { return g_[result]; }
  Value G(size_t result = 0) { return Cast(g_[result], compute()); }
  Value RawOut(size_t result = 0) const { return {out_.node, static_cast<int32_t>(result)}; }
  Value Out(size_t result = 0) { return Cast(RawOut(result), compute()); }
  Value Operand(size_t operand) const { return node().in[operand]; }
  const TensorType& Type(Value v) const { return graph_->type(v); }

  Value Neg(Value v) { return Apply(Op::kNegative, {v}); }
  Value Exp(Value v) { return Apply(Op::kExp, {v}); }
  Value Fill(DType dtype, double number, absl::Span<const Dim> dims);
  Value Slice(Value v, size_t axis, int64_t start, int64_t stop);
  // The first (last) `count` elements along an axis that has at least as many.
  Value First(Value v, size_t axis, const Dim& count);
  Value Last(Value v, size_t axis, const Dim& count);
  // `axis` moved out as [before, size, behind] of three dims.
  Value AsThree(Value v, size_t axis);
  // `low` and `high` zeros around one axis.
  Value PadAlong(Value v, size_t axis, Dim low, Dim high);
  Value Flip(Value v, size_t axis);

  void Give(size_t operand, Value v);
  // Differentiates what leads from `from` to `to` by the rules of its own nodes.
  Value PullBack(Value from, Value cotangent, Value to);
  void Fail(absl::Status status);
  // For a rule that does not cover this node: its expansion's gradient takes the rule's place.
  void UseExpansion() { use_expansion_ = true; }
  bool uses_expansion() const { return use_expansion_; }

  struct Part {
    size_t operand;
    Value value;
  };
  absl::Span<const Part> parts() const { return parts_; }
  absl::Status Finish() const { return failed_.ok() ? status() : failed_; }

 private:
  Graph* graph_;
  Value out_;
  absl::Span<const Value> g_;
  const std::vector<bool>& wanted_;
  std::vector<Part> parts_;
  absl::Status failed_;
  bool use_expansion_ = false;
};

using GradFn = void (*)(GradRule& r);

// How the rows of an op are differentiated: the first of these that it has.
enum class GradHow : uint8_t { kZero, kRule, kText, kBody, kExpansion, kNone };
GradHow HowDifferentiated(const OpDef& def);
GradFn FindGradRule(Op op);  // null if there is none

// Pointwise rows by the text of their `grad` column, or by their body and the scalar table.
void GradByText(GradRule& r);
void GradByBody(GradRule& r);
// Reductions whose `grad` column is a text.
void GradReduceByText(GradRule& r);

#define JF_GRAD(Name) void Grad##Name(GradRule& r);
#include "ir/autodiff_rules.inc"
#undef JF_GRAD

}  // namespace jitfuse::internal

#endif  // JITFUSE_IR_AUTODIFF_RULES_H_
