#include "api/ops_support.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "api/builder_state.h"
#include "ir/builder.h"
#include "ir/slicing.h"
#include "ir/support/status.h"

namespace jitfuse {
inline namespace v1 {
namespace detail {

using internal::AttrValue;

absl::StatusOr<AttrValue> ToAttrValue(const AttrArg& arg, internal::Graph* graph) {
  if (const auto* b = std::get_if<bool>(&arg)) return AttrValue(*b);
  if (const auto* i = std::get_if<std::int64_t>(&arg)) return AttrValue(*i);
  if (const auto* d = std::get_if<double>(&arg)) return AttrValue(*d);
  if (const auto* u = std::get_if<std::uint64_t>(&arg)) {
    const auto number = static_cast<double>(*u);
    if (number < 0x1p64 && static_cast<std::uint64_t>(number) == *u) return AttrValue(number);
    return internal::InvalidArgument(*u,
                                     " is beyond 2^63 and has more digits than f64 holds; a "
                                     "constant operand holds them all");
  }
  if (const auto* t = std::get_if<DType>(&arg)) {
    JF_RETURN_IF_ERROR(internal::CheckDType(*t));
    return AttrValue(internal::FromPublic(*t));
  }
  if (const auto* ints = std::get_if<std::vector<std::int64_t>>(&arg)) return AttrValue(*ints);
  std::vector<internal::Dim> dims;
  for (const DimSpec& spec : std::get<std::vector<DimSpec>>(arg)) {
    if (!spec.is_name() && spec.size() == -1) {  // of a reshape; others say what they expected
      dims.emplace_back(-1);
      continue;
    }
    JF_ASSIGN_OR_RETURN(internal::Dim dim, internal::DimFromSpec(spec, graph));
    dims.push_back(dim);
  }
  return AttrValue(std::move(dims));
}

namespace {

absl::StatusOr<internal::Value> Add(BuilderState* state, const char* name,
                                    absl::Span<const internal::Value> in,
                                    std::initializer_list<NamedAttr> named) {
  const internal::OpDef* def = internal::FindOp(name);
  if (def == nullptr) return internal::InvalidArgument("there is no op '", name, "'");
  internal::Attrs attrs;
  for (const NamedAttr& a : named) {
    absl::StatusOr<AttrValue> value = ToAttrValue(a.value, &state->graph);
    if (!value.ok())
      return internal::Annotate(value.status(), absl::StrCat(name, ": attribute ", a.name));
    attrs.push_back({a.name, *std::move(value)});
  }
  return internal::AddPromoted(&state->graph, def->op, in, std::move(attrs));
}

// How many of the operands at hand may not be left out.
std::size_t MustBeGiven(const char* name, std::size_t operands) {
  const internal::OpDef* def = internal::FindOp(name);
  if (def == nullptr || def->is_variadic()) return operands;
  return static_cast<std::size_t>(def->min_arity());
}

}  // namespace

std::vector<Tensor> ApplyAll(const char* name, const std::vector<Tensor>& in,
                             std::initializer_list<NamedAttr> attrs, int num_results) {
  std::shared_ptr<BuilderState> state;
  absl::InlinedVector<internal::Value, 3> values;
  absl::Status error;
  if (in.empty()) error = internal::InvalidArgument(name, ": expected at least 1 operand, got 0");
  const std::size_t least = MustBeGiven(name, in.size());
  std::size_t count = in.size();
  while (count > least && BuilderState::Of(in[count - 1]) == nullptr)
    --count;  // optional operands left out
  for (std::size_t i = 0; i < count; ++i) {
    const Tensor& t = in[i];
    auto owner = BuilderState::Of(t);
    if (state == nullptr) state = owner;
    if (owner == nullptr || !t.valid()) {
      error = internal::InvalidArgument(
          name, ": operand ", i,
          " is an invalid tensor; expected one that a Builder or an op gave");
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

Tensor Apply(const char* name, const std::vector<Tensor>& in,
             std::initializer_list<NamedAttr> attrs) {
  return ApplyAll(name, in, attrs, 1)[0];
}

Tensor Apply(const char* name, const Builder& builder, std::initializer_list<NamedAttr> attrs) {
  std::shared_ptr<BuilderState> state = BuilderState::Of(builder);
  if (state == nullptr) return BuilderState::Fail(state, internal::MovedFrom());
  return BuilderState::WrapOr(state, Add(state.get(), name, {}, attrs));
}

namespace {

// The literal in all its digits where f64 would not hold them: beside integers of 64 bits.
absl::StatusOr<internal::Value> LiteralBeside(internal::Graph* graph, const Number& number,
                                              internal::Value like) {
  internal::DType dtype = graph->type(like).dtype;
  if (dtype == internal::DType::kBool) dtype = internal::DType::kI64;
  const auto* whole = std::get_if<std::int64_t>(&number.value());
  const auto* large = std::get_if<std::uint64_t>(&number.value());
  if (whole != nullptr && internal::IsInt(dtype)) {
    absl::StatusOr<internal::ScalarValue> v = internal::FitScalar(dtype, *whole);
    if (!v.ok())
      return internal::Annotate(v.status(),
                                absl::StrCat("a number beside ", graph->TypeString(like)));
    return graph->AddConstantBits(dtype, *v);
  }
  if (large != nullptr && dtype == internal::DType::kU64)
    return graph->AddConstantBits(
        dtype, internal::ScalarFromInt(dtype, static_cast<std::int64_t>(*large)));
  auto as_double = [](auto value) { return static_cast<double>(value); };
  return internal::ConstantLike(graph, std::visit(as_double, number.value()), like);
}

}  // namespace

Tensor LiteralLike(const Number& value, const Tensor& like) {
  auto state = BuilderState::Of(like);
  if (state == nullptr || !like.valid()) return like;
  return BuilderState::WrapOr(state,
                              LiteralBeside(&state->graph, value, BuilderState::ValueOf(like)));
}

}  // namespace detail

namespace {

// The axis from 0 on, after checking it and that the sizes make up the whole of it.
absl::StatusOr<std::int64_t> CheckSplit(const internal::Graph& graph, internal::Value v,
                                        const std::vector<std::int64_t>& sizes, std::int64_t axis) {
  const internal::Shape& dims = graph.type(v).dims;
  auto rank = static_cast<std::int64_t>(dims.size());
  std::string where = absl::StrCat("split(", graph.TypeString(v), "): ");
  if (axis < -rank || axis >= rank) {
    return internal::InvalidArgument(where, "axis is ", axis, ", expected an axis from ", -rank,
                                     " to ", rank - 1);
  }
  if (axis < 0) axis += rank;
  const internal::Dim& dim = dims[static_cast<std::size_t>(axis)];
  if (!dim.IsConstant()) {
    return internal::InvalidArgument(where, "axis ", axis,
                                     " has no constant size; slice takes parts of it");
  }
  std::int64_t left = dim.constant();
  for (std::int64_t size : sizes) {
    if (size < 0 || size > left) {
      left = -1;
      break;
    }
    left -= size;
  }
  if (left != 0) {
    return internal::InvalidArgument(where, "expected sizes >= 0 that sum to ", dim.constant(),
                                     ", got [", absl::StrJoin(sizes, ","), "]");
  }
  return axis;
}

}  // namespace

std::vector<Tensor> Split(const Tensor& x, const std::vector<std::int64_t>& sizes,
                          std::int64_t axis) {
  using detail::BuilderState;
  auto state = BuilderState::Of(x);
  absl::StatusOr<std::int64_t> at =
      state == nullptr || !x.valid()
          ? internal::InvalidArgument("split: operand 0 is an invalid tensor")
          : CheckSplit(state->graph, BuilderState::ValueOf(x), sizes, axis);
  std::vector<Tensor> out;
  std::int64_t start = 0;
  for (std::int64_t size : sizes) {
    if (!at.ok()) {
      out.push_back(BuilderState::Fail(state, at.status()));
      continue;
    }
    auto rank = static_cast<std::size_t>(x.rank());
    std::vector<std::int64_t> starts(rank, 0), stops(rank, internal::kEnd);
    starts[static_cast<std::size_t>(*at)] = start;
    stops[static_cast<std::size_t>(*at)] = start + size;
    out.push_back(detail::Apply(
        "slice", {x},
        {{"starts", starts}, {"stops", stops}, {"steps", std::vector<std::int64_t>{}}}));
    start += size;
  }
  return out;
}

}  // namespace v1
}  // namespace jitfuse
