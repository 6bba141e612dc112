#include "api/apply.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "api/builder_state.h"
#include "ir/builder.h"
#include "ir/support/status.h"

namespace jitfuse {
inline namespace v1 {
namespace {

using detail::BuilderState;

using Values = absl::InlinedVector<internal::Value, 3>;

absl::Status Unknown(const internal::OpDef& def, const std::string& attr) {
  std::vector<std::string> names;
  for (const internal::AttrDef& a : def.attrs) names.emplace_back(a.name);
  return internal::InvalidArgument(internal::ToAbsl(def.name), ": there is no attribute '", attr,
                                   "'; it has ",
                                   names.empty() ? "none" : absl::StrJoin(names, ", "));
}

absl::StatusOr<internal::Attrs> MakeAttrs(const internal::OpDef& def,
                                          const std::vector<NamedValue>& named,
                                          internal::Graph* graph) {
  internal::Attrs attrs;
  for (const NamedValue& a : named) {
    const internal::AttrDef* schema = def.FindAttr(internal::ToStd(a.name));
    if (schema == nullptr) return Unknown(def, a.name);
    absl::StatusOr<internal::AttrValue> value = detail::ToAttrValue(a.value, graph);
    if (!value.ok())
      return internal::Annotate(value.status(),
                                absl::StrCat(internal::ToAbsl(def.name), ": attribute ", a.name));
    attrs.push_back({schema->name, *std::move(value)});
  }
  return attrs;
}

bool IsSource(internal::OpKind kind) {
  return kind == internal::OpKind::kInput || kind == internal::OpKind::kScalar ||
         kind == internal::OpKind::kConstant;
}

// The operands as values of the graph, without the optional ones left out at the end.
absl::StatusOr<Values> ValuesOf(const internal::OpDef& def, const BuilderState* state,
                                const std::vector<Tensor>& operands) {
  std::size_t count = operands.size();
  while (count > 0 && BuilderState::Of(operands[count - 1]) == nullptr) --count;
  Values out;
  for (std::size_t i = 0; i < count; ++i) {
    const Tensor& t = operands[i];
    const auto where = [&] { return absl::StrCat(internal::ToAbsl(def.name), ": operand ", i); };
    if (!t.valid())
      return internal::InvalidArgument(
          where(),
          BuilderState::Of(t) == nullptr
              ? " is left out, but one after it is given; only those at the end may be left out"
              : " is an invalid tensor; expected one that this Builder or an op gave");
    if (BuilderState::Of(t).get() != state)
      return internal::InvalidArgument(where(), " belongs to another Builder");
    out.push_back(BuilderState::ValueOf(t));
  }
  return out;
}

// Puts the Builder's seed, offset and next stream where the row has operands of these names and
// the caller gave no stream.
absl::Status AddRandomSource(const internal::OpDef& def, const std::shared_ptr<BuilderState>& state,
                             Values* in, internal::Attrs* attrs) {
  const auto seed = std::find(def.args.begin(), def.args.end(), "seed");
  const auto given = [](const internal::Attr& a) { return a.name == "stream"; };
  if (seed == def.args.end() || def.FindAttr("stream") == nullptr ||
      std::any_of(attrs->begin(), attrs->end(), given))
    return absl::OkStatus();
  const auto at = seed - def.args.begin();
  if (static_cast<std::ptrdiff_t>(in->size()) < at)
    return internal::InvalidArgument(internal::ToAbsl(def.name), ": expected at least ", at,
                                     " operands, got ", in->size());
  JF_ASSIGN_OR_RETURN(internal::RandomSource source, internal::NextRandomSource(state.get()));
  in->insert(in->begin() + at, {source.seed, source.offset});
  attrs->push_back({"stream", source.stream});
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Tensor>> AddNamed(const std::shared_ptr<BuilderState>& state,
                                             const std::string& op,
                                             const std::vector<Tensor>& operands,
                                             const std::vector<NamedValue>& named) {
  if (state == nullptr) return internal::MovedFrom();
  const internal::OpDef* def = internal::FindOp(op);
  if (def == nullptr || IsSource(def->kind))
    return internal::InvalidArgument("there is no op '", op, "'");
  JF_ASSIGN_OR_RETURN(Values in, ValuesOf(*def, state.get(), operands));
  JF_ASSIGN_OR_RETURN(internal::Attrs attrs, MakeAttrs(*def, named, &state->graph));
  JF_RETURN_IF_ERROR(AddRandomSource(*def, state, &in, &attrs));
  JF_ASSIGN_OR_RETURN(internal::Value first,
                      internal::AddPromoted(&state->graph, def->op, in, std::move(attrs)));
  std::vector<Tensor> out;
  for (int r = 0; r < def->num_results(); ++r)
    out.push_back(BuilderState::Wrap(state, {first.node, first.result + r}));
  return out;
}

}  // namespace

StatusOr<std::vector<Tensor>> ApplyNamed(const Builder& builder, const std::string& op,
                                         const std::vector<Tensor>& operands,
                                         const std::vector<NamedValue>& attrs) {
  return internal::ToPublic(AddNamed(BuilderState::Of(builder), op, operands, attrs));
}

}  // namespace v1
}  // namespace jitfuse
