#include "api/ops_support.h"

#include "absl/strings/str_cat.h"
#include "api/builder_state.h"
#include "ir/builder.h"
#include "ir/support/status.h"

namespace jitfuse {
inline namespace v1 {
namespace detail {
namespace {

using internal::AttrValue;

absl::StatusOr<AttrValue> ToAttrValue(const AttrArg& arg, internal::Graph* graph) {
  if (const auto* b = std::get_if<bool>(&arg)) return AttrValue(*b);
  if (const auto* i = std::get_if<std::int64_t>(&arg)) return AttrValue(*i);
  if (const auto* d = std::get_if<double>(&arg)) return AttrValue(*d);
  if (const auto* t = std::get_if<DType>(&arg)) return AttrValue(internal::FromPublic(*t));
  if (const auto* ints = std::get_if<std::vector<std::int64_t>>(&arg)) return AttrValue(*ints);
  std::vector<internal::Dim> dims;
  for (const DimSpec& spec : std::get<std::vector<DimSpec>>(arg)) {
    JF_ASSIGN_OR_RETURN(internal::Dim dim, internal::DimFromSpec(spec, graph));
    dims.push_back(dim);
  }
  return AttrValue(std::move(dims));
}

absl::StatusOr<internal::Value> Add(BuilderState* state, const char* name,
                                    absl::Span<const internal::Value> in,
                                    std::initializer_list<NamedAttr> named) {
  const internal::OpDef* def = internal::FindOp(name);
  if (def == nullptr) return internal::InvalidArgument("there is no op '", name, "'");
  internal::Attrs attrs;
  for (const NamedAttr& a : named) {
    JF_ASSIGN_OR_RETURN(AttrValue value, ToAttrValue(a.value, &state->graph));
    attrs.push_back({a.name, std::move(value)});
  }
  return internal::AddPromoted(&state->graph, def->op, in, std::move(attrs));
}

}  // namespace

std::vector<Tensor> ApplyAll(const char* name, std::initializer_list<Tensor> in,
                             std::initializer_list<NamedAttr> attrs, int num_results) {
  std::shared_ptr<BuilderState> state;
  absl::InlinedVector<internal::Value, 3> values;
  absl::Status error;
  std::size_t count = in.size();
  while (count > 1 && BuilderState::Of(*(in.begin() + count - 1)) == nullptr)
    --count;  // optional operands left out
  for (std::size_t i = 0; i < count; ++i) {
    const Tensor& t = *(in.begin() + i);
    auto owner = BuilderState::Of(t);
    if (state == nullptr) state = owner;
    if (owner == nullptr || !t.valid()) {
      error = internal::InvalidArgument(name, ": operand ", i, " is an invalid tensor");
    } else if (owner != state) {
      error = internal::InvalidArgument(name, ": operand ", i,
                                        " belongs to another Builder than operand 0");
    }
    values.push_back(BuilderState::ValueOf(t));
  }
  absl::StatusOr<internal::Value> made =
      error.ok() ? Add(state.get(), name, values, attrs) : absl::StatusOr<internal::Value>(error);
  std::vector<Tensor> out;
  for (int r = 0; r < num_results; ++r) {
    out.push_back(made.ok() ? BuilderState::Wrap(state, {made->node, made->result + r})
                            : BuilderState::Fail(state, made.status()));
  }
  return out;
}

Tensor Apply(const char* name, std::initializer_list<Tensor> in,
             std::initializer_list<NamedAttr> attrs) {
  return ApplyAll(name, in, attrs, 1)[0];
}

Tensor LiteralLike(double value, const Tensor& like) {
  auto state = BuilderState::Of(like);
  if (state == nullptr || !like.valid()) return like;
  return BuilderState::WrapOr(
      state, internal::ConstantLike(&state->graph, value, BuilderState::ValueOf(like)));
}

}  // namespace detail
}  // namespace v1
}  // namespace jitfuse
