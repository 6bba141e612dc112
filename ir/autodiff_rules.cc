#include "ir/autodiff_rules.h"

#include <string>

#include "absl/container/flat_hash_map.h"
#include "ir/infer.h"
#include "ir/op_enum.h"
#include "ir/slicing.h"
#include "ir/support/status.h"

namespace jitfuse::internal {

GradFn FindGradRule(Op op) {
  static const auto* rules = new absl::flat_hash_map<Op, GradFn>{
#define JF_GRAD(Name) {Op::k##Name, &Grad##Name},
#include "ir/autodiff_rules.inc"
#undef JF_GRAD
  };
  auto it = rules->find(op);
  return it == rules->end() ? nullptr : it->second;
}

GradHow HowDifferentiated(const OpDef& def) {
  if (def.grad == "zero" || def.kind == OpKind::kInput || def.kind == OpKind::kScalar)
    return GradHow::kZero;
  if (FindGradRule(def.op) != nullptr) return GradHow::kRule;
  const bool has_text = !def.grad.empty();
  if (has_text && (def.kind == OpKind::kPointwise || def.kind == OpKind::kReduce))
    return GradHow::kText;
  if (def.kind == OpKind::kPointwise) return GradHow::kBody;
  return def.kind == OpKind::kComposite ? GradHow::kExpansion : GradHow::kNone;
}

void GradRule::Fail(absl::Status status) {
  if (failed_.ok()) failed_ = std::move(status);
}

void GradRule::Give(size_t operand, Value v) {
  if (ok() && failed_.ok() && Wants(operand)) parts_.push_back({operand, v});
}

Value GradRule::Fill(DType dtype, double number, absl::Span<const Dim> dims) {
  return Apply(Op::kBroadcast, {Number(dtype, number)},
               {{"shape", std::vector<Dim>(dims.begin(), dims.end())}});
}

Value GradRule::Slice(Value v, size_t axis, int64_t start, int64_t stop) {
  if (!ok() || (start == 0 && stop == kEnd)) return v;
  const size_t rank = Type(v).dims.size();
  std::vector<int64_t> starts(rank, 0), stops(rank, kEnd), steps(rank, 1);
  starts[axis] = start;
  stops[axis] = stop;
  return Apply(
      Op::kSlice, {v},
      {{"starts", std::move(starts)}, {"stops", std::move(stops)}, {"steps", std::move(steps)}});
}

// A slice where the number is known; else a gather, whose type says the number.
Value GradRule::First(Value v, size_t axis, const Dim& count) {
  if (!ok() || Type(v).dims[axis] == count) return v;
  if (count.IsConstant() && Type(v).dims[axis].IsConstant())
    return Slice(v, axis, 0, count.constant());
  Value at = Iota(count, 0, 1, DType::kI64);
  return Apply(Op::kTake, {v, at}, {{"axis", static_cast<int64_t>(axis)}});
}

Value GradRule::Last(Value v, size_t axis, const Dim& count) {
  if (!ok() || Type(v).dims[axis] == count) return v;
  const Dim all = Type(v).dims[axis];
  if (count.IsConstant() && all.IsConstant())
    return Slice(v, axis, all.constant() - count.constant(), kEnd);
  return Flip(First(Flip(v, axis), axis, count), axis);
}

Value GradRule::AsThree(Value v, size_t axis) {
  if (!ok()) return {};
  const Shape dims = Type(v).dims;
  const auto span = absl::MakeConstSpan(dims);
  return Reshape(v,
                 {NumElements(span.first(axis)), dims[axis], NumElements(span.subspan(axis + 1))});
}

Value GradRule::PadAlong(Value v, size_t axis, Dim low, Dim high) {
  if (!ok() || (low.Is(0) && high.Is(0))) return v;
  const size_t rank = Type(v).dims.size();
  std::vector<Dim> before(rank, Dim(0)), behind(rank, Dim(0));
  before[axis] = std::move(low);
  behind[axis] = std::move(high);
  return Apply(Op::kPad, {v}, {{"low", std::move(before)}, {"high", std::move(behind)}});
}

Value GradRule::Flip(Value v, size_t axis) {
  return Apply(Op::kFlip, {v}, {{"axes", std::vector<int64_t>{static_cast<int64_t>(axis)}}});
}

Value GradRule::PullBack(Value from, Value cotangent, Value to) {
  if (!ok()) return {};
  absl::StatusOr<std::vector<Value>> g = AddVjp(graph_, {absl::MakeConstSpan(&from, 1),
                                                         absl::MakeConstSpan(&cotangent, 1),
                                                         absl::MakeConstSpan(&to, 1),
                                                         {},
                                                         absl::MakeConstSpan(&to, 1)});
  if (!g.ok()) {
    Fail(g.status());
    return {};
  }
  if ((*g)[0].node < 0)
    Fail(InternalError("gradient of ", ToAbsl(node().def().name), ": nothing leads back"));
  return (*g)[0];
}

// Marks of custom gradients that are given are no matter of rules.
void GradGradientMark(GradRule& r) {
  r.Fail(InvalidArgument("no custom gradient of id ", r.node().Get<int64_t>("id"),
                         " is given; graph text does not hold them"));
}

void GradCast(GradRule& r) { r.Give(0, r.Cast(r.RawG(), r.dtype())); }

}  // namespace jitfuse::internal
