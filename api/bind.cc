// Functions with inputs bound to arrays: Function::Bind, Rebind and Unbind (api/function.h).
//
// A bound function is made anew from the function of all inputs and all that is bound; kernels come
// from the process's cache, what is computed once from its own call caches (jit/held_values.h).
#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "api/check_array.h"
#include "api/function_state.h"
#include "api/runtime.h"
#include "ir/fix_sizes.h"
#include "ir/support/status.h"

namespace jitfuse {
inline namespace v1 {
namespace {

using State = detail::FunctionState;
using BoundArrays = internal::FunctionState::BoundArrays;

// The signature positions that a caller sees, in order.
std::vector<std::size_t> Positions(const State& f) {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < f.graph().inputs().size(); ++i) {
    const bool hidden = i < f.rng_roles().size() && f.rng_roles()[i] != internal::RngRole::kNone;
    if (!hidden) out.push_back(i);
  }
  return out;
}

const std::string& NameAt(const State& f, std::size_t position) {
  return f.graph().input_name(static_cast<int>(position));
}

absl::StatusOr<std::size_t> ArgumentNamed(const State& f, const std::string& name) {
  const std::vector<std::size_t> positions = Positions(f);
  std::vector<std::string> names;
  for (std::size_t a = 0; a < positions.size(); ++a) {
    if (NameAt(f, positions[a]) == name) return a;
    names.push_back(NameAt(f, positions[a]));
  }
  return internal::InvalidArgument("graph ", f.graph().name(), ": no input is called '", name,
                                   "'; expected one of ", absl::StrJoin(names, ", "));
}

// Where every tensor of a call has to be: where the first that is bound is.
absl::StatusOr<const internal::Backend*> BackendFor(const State& f, const BoundArrays& bound) {
  if (f.kind() != DeviceKind::kCuda) return f.home();
  for (const std::optional<Array>& array : bound) {
    if (array && array->device().kind == DeviceKind::kCuda)
      return internal::GetBackend(DeviceKind::kCuda, array->device().index);
  }
  return f.home();
}

absl::Status CheckBound(const State& f, const internal::Backend& backend, const Array& array,
                        std::size_t position) {
  JF_RETURN_IF_ERROR(internal::CheckDType(f, array, "input", position));
  const internal::TensorType& type = f.graph().type({f.graph().inputs()[position], 0});
  if (internal::FromPublic(array.dtype()) != type.dtype)
    return internal::InvalidArgument("graph ", f.graph().name(), ": input ", position, " '",
                                     NameAt(f, position), "' is bound to an array of ",
                                     DTypeName(array.dtype()), "; expected ",
                                     f.graph().TypeString({f.graph().inputs()[position], 0}));
  if (internal::IsScalarInput(f.graph(), position))
    return internal::CheckScalar(f.graph(), array, position, /*needs_data=*/true);
  absl::Status placed = internal::CheckDevice(f, backend, array, "input", position);
  return placed.ok()
             ? placed
             : internal::Annotate(placed, absl::StrCat("binding '", NameAt(f, position), "'"));
}

absl::StatusOr<std::vector<internal::KnownDims>> CheckAll(const State& f,
                                                          const BoundArrays& bound) {
  JF_ASSIGN_OR_RETURN(const internal::Backend* backend, BackendFor(f, bound));
  const std::vector<std::size_t> positions = Positions(f);
  std::vector<internal::KnownDims> known;
  for (std::size_t a = 0; a < bound.size(); ++a) {
    if (!bound[a]) continue;
    JF_RETURN_IF_ERROR(CheckBound(f, *backend, *bound[a], positions[a]));
    known.push_back({static_cast<int>(positions[a]), bound[a]->dims()});
  }
  return known;
}

// The author's names for values of the graph, whose nodes FixSizes may have joined.
absl::StatusOr<internal::ValueNames> NamesIn(const State& f, const internal::Graph& fixed,
                                             absl::Span<const internal::KnownDims> known) {
  if (f.names().empty()) return internal::ValueNames();
  const auto [marked, order] = internal::WithNamedOutputs(f.graph(), f.names());
  JF_ASSIGN_OR_RETURN(const internal::Graph fixed_marked, internal::FixSizes(marked, known));
  return internal::FindNames(fixed_marked, order, fixed);
}

// `whole`: the function of all inputs.
absl::StatusOr<std::shared_ptr<State>> MakeBound(const std::shared_ptr<State>& whole,
                                                 BoundArrays bound) {
  const bool none = std::none_of(bound.begin(), bound.end(), [](const auto& a) { return !!a; });
  if (none) return whole;
  JF_ASSIGN_OR_RETURN(const std::vector<internal::KnownDims> known, CheckAll(*whole, bound));
  absl::StatusOr<internal::Graph> fixed = internal::FixSizes(whole->graph(), known);
  if (!fixed.ok()) return internal::Annotate(fixed.status(), "binding inputs");
  JF_ASSIGN_OR_RETURN(internal::ValueNames names, NamesIn(*whole, *fixed, known));
  auto state =
      std::make_shared<State>(whole->kind(), *fixed, whole->options(), whole->home(),
                              internal::SharedKernels(), whole->verify_policy(), std::move(bound));
  state->set_names(std::move(names));
  state->set_whole(whole);
  return state;
}

absl::Status Empty() {
  return absl::FailedPreconditionError(
      "this Function is empty; make one with Builder::Compile or CompileText");
}

std::shared_ptr<State> WholeOf(const std::shared_ptr<State>& f) {
  return f->whole() != nullptr ? f->whole() : f;
}

// `again`: what is bound may be bound anew; else only that, too.
absl::StatusOr<std::shared_ptr<State>> WithBindings(
    const std::shared_ptr<State>& f, const std::vector<std::pair<std::string, Array>>& arrays,
    bool again) {
  if (f == nullptr) return Empty();
  const std::shared_ptr<State> whole = WholeOf(f);
  BoundArrays bound = f->bound();
  bound.resize(Positions(*whole).size());
  std::vector<bool> given(bound.size(), false);
  for (const auto& [name, array] : arrays) {
    JF_ASSIGN_OR_RETURN(const std::size_t a, ArgumentNamed(*whole, name));
    const std::string where =
        absl::StrCat("graph ", whole->graph().name(), ": input '", name, "' ");
    if (given[a]) return internal::InvalidArgument(where, "is given twice");
    if (bound[a].has_value() != again)
      return internal::InvalidArgument(
          where, again ? "is not bound; Bind it" : "is bound already; Rebind it, or Unbind it");
    given[a] = true;
  }
  for (const auto& [name, array] : arrays) bound[*ArgumentNamed(*whole, name)] = array;
  return MakeBound(whole, std::move(bound));
}

}  // namespace

StatusOr<Function> Function::Bind(const std::string& input, const Array& array) const {
  return Bind({{input, array}});
}

StatusOr<Function> Function::Bind(const std::vector<std::pair<std::string, Array>>& arrays) const {
  JF_API_ASSIGN_OR_RETURN(auto state, WithBindings(state_, arrays, /*again=*/false));
  return FunctionAccess::Make(std::move(state));
}

StatusOr<Function> Function::Rebind(
    const std::vector<std::pair<std::string, Array>>& arrays) const {
  JF_API_ASSIGN_OR_RETURN(auto state, WithBindings(state_, arrays, /*again=*/true));
  return FunctionAccess::Make(std::move(state));
}

StatusOr<Function> Function::Unbind(const std::vector<std::string>& inputs) const {
  JF_API_RETURN_IF_ERROR(state_ == nullptr ? Empty() : absl::OkStatus());
  const std::shared_ptr<State> whole = WholeOf(state_);
  if (inputs.empty()) return FunctionAccess::Make(whole);
  BoundArrays bound = state_->bound();
  for (const std::string& input : inputs) {
    JF_API_ASSIGN_OR_RETURN(const std::size_t a, ArgumentNamed(*whole, input));
    if (a >= bound.size() || !bound[a])
      return internal::ToPublic(internal::InvalidArgument("graph ", whole->graph().name(),
                                                          ": input '", input, "' is not bound"));
    bound[a].reset();
  }
  JF_API_ASSIGN_OR_RETURN(auto state, MakeBound(whole, std::move(bound)));
  return FunctionAccess::Make(std::move(state));
}

std::vector<std::string> Function::BoundInputs() const {
  std::vector<std::string> out;
  if (state_ == nullptr) return out;
  const std::vector<std::size_t> positions = Positions(*state_);
  for (std::size_t a = 0; a < positions.size(); ++a) {
    if (state_->BoundArray(a) != nullptr) out.push_back(NameAt(*state_, positions[a]));
  }
  return out;
}

}  // namespace v1
}  // namespace jitfuse
