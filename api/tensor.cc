#include "api/tensor.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "api/builder_state.h"
#include "api/convert.h"
#include "api/function.h"
#include "api/function_state.h"
#include "ir/builder.h"
#include "ir/rng.h"
#include "ir/support/status.h"
#include "ir/text.h"
#include "ir/text_cursor.h"

namespace jitfuse {

namespace internal {

absl::StatusOr<Dim> DimFromSpec(const DimSpec& spec, Graph* graph) {
  if (!spec.is_name()) {
    if (spec.size() < 0)
      return InvalidArgument("a dim is ", spec.size(), "; expected 0 or more, or a symbol's name");
    return Dim(spec.size());
  }
  if (spec.name().empty())
    return InvalidArgument(
        "a dim's name is empty; expected a number, or a symbol's name as in \"n\"");
  JF_ASSIGN_OR_RETURN(Dim dim, ParseDim(spec.name(), &graph->symbols()));
  if (graph->symbols().names.size() > kMaxSymbols)
    return InvalidArgument("dim '", spec.name().substr(0, 64), "' brings more than ", kMaxSymbols,
                           " symbols, the limit of a graph");
  return dim;
}

absl::Status CheckInputCount(const Graph& graph, std::size_t more) {
  if (graph.inputs().size() + more <= kMaxInputs) return absl::OkStatus();
  return InvalidArgument("graph ", graph.name(), ": more than ", kMaxInputs,
                         " inputs, the limit of a graph");
}

absl::Status MovedFrom() {
  return InvalidArgument(
      "this Builder was moved from and holds no graph; use the Builder that it was moved to");
}

}  // namespace internal

inline namespace v1 {

using detail::BuilderState;

namespace {

DimSpec SpecOf(const internal::Dim& dim, const internal::Graph& graph) {
  return dim.IsConstant() ? DimSpec(dim.constant()) : DimSpec(dim.ToString(graph.symbols().names));
}

}  // namespace

DType Tensor::dtype() const {
  return valid() ? internal::ToPublic(state_->graph.type({node_, result_}).dtype) : DType::kF32;
}

int Tensor::rank() const {
  return valid() ? static_cast<int>(state_->graph.type({node_, result_}).dims.size()) : 0;
}

std::vector<DimSpec> Tensor::dims() const {
  std::vector<DimSpec> out;
  if (!valid()) return out;
  for (const internal::Dim& dim : state_->graph.type({node_, result_}).dims)
    out.push_back(SpecOf(dim, state_->graph));
  return out;
}

std::string Tensor::type_string() const {
  return valid() ? state_->graph.TypeString({node_, result_}) : "invalid";
}

namespace {

// What graph text can read back.
absl::Status CheckName(const char* what, const std::string& name) {
  if (internal::IsIdentifier(name) && name.size() <= internal::kMaxTokenLength)
    return absl::OkStatus();
  return internal::InvalidArgument(
      what, " name '", name.substr(0, 64),
      "': expected a letter or _, then letters, digits and _, at most ", internal::kMaxTokenLength,
      " of them");
}

// Of an input of the caller's: room for it, a dtype that exists and a name that random ops do not
// take.
absl::Status CheckInput(const BuilderState* state, const std::string& name, DType dtype) {
  if (state == nullptr) return internal::MovedFrom();
  JF_RETURN_IF_ERROR(internal::CheckInputCount(state->graph, 1));
  if (!name.empty()) JF_RETURN_IF_ERROR(CheckName("input", name));  // "" is arg<i>
  if (absl::Status s = internal::CheckDType(dtype); !s.ok())
    return internal::Annotate(s, absl::StrCat("input '", name, "'"));
  if (name == internal::ToAbsl(internal::kRngSeedName) ||
      name == internal::ToAbsl(internal::kRngOffsetName))
    return internal::InvalidArgument("input '", name,
                                     "': expected another name: random ops read this one, whose "
                                     "value is that of RunOptions::rng");
  return absl::OkStatus();
}

}  // namespace

Builder::Builder(const std::string& name) : state_(std::make_shared<BuilderState>()) {
  if (absl::Status s = CheckName("graph", name); !s.ok()) {
    BuilderState::Fail(state_, s);
    return;  // errors call it f
  }
  state_->graph.set_name(name);
}

Tensor Builder::Input(const std::string& name, DType dtype, const std::vector<DimSpec>& dims) {
  if (absl::Status s = CheckInput(state_.get(), name, dtype); !s.ok())
    return BuilderState::Fail(state_, s);
  internal::TensorType type{internal::FromPublic(dtype), {}};
  for (const DimSpec& spec : dims) {
    absl::StatusOr<internal::Dim> dim = internal::DimFromSpec(spec, &state_->graph);
    if (!dim.ok())
      return BuilderState::Fail(
          state_, internal::Annotate(dim.status(), absl::StrCat("input '", name, "'")));
    type.dims.push_back(*dim);
  }
  return BuilderState::WrapOr(state_, state_->graph.AddInput(name, type));
}

Tensor Builder::Scalar(const std::string& name, DType dtype) {
  if (absl::Status s = CheckInput(state_.get(), name, dtype); !s.ok())
    return BuilderState::Fail(state_, s);
  return BuilderState::WrapOr(state_, state_->graph.AddScalar(name, internal::FromPublic(dtype)));
}

namespace {

// The literal of that dtype, if a number fits it as one of graph text must.
template <typename Number>
Tensor Literal(const std::shared_ptr<BuilderState>& state, DType dtype, Number value) {
  if (state == nullptr) return BuilderState::Fail(state, internal::MovedFrom());
  if (absl::Status s = internal::CheckDType(dtype); !s.ok()) return BuilderState::Fail(state, s);
  const internal::DType type = internal::FromPublic(dtype);
  absl::StatusOr<internal::ScalarValue> fits = internal::FitScalar(type, value);
  if (!fits.ok()) return BuilderState::Fail(state, internal::Annotate(fits.status(), "constant"));
  return BuilderState::Wrap(state, state->graph.AddConstantBits(type, *fits));
}

}  // namespace

Tensor Builder::Constant(DType dtype, double value) { return Literal(state_, dtype, value); }

Tensor Builder::ConstantInt(DType dtype, std::int64_t value) {
  return Literal(state_, dtype, value);
}

const Status& Builder::status() const {
  static const Status& moved = *new Status(internal::ToPublic(internal::MovedFrom()));
  return state_ == nullptr ? moved : state_->status;
}

std::vector<std::pair<DimSpec, DimSpec>> Builder::Guards() const {
  std::vector<std::pair<DimSpec, DimSpec>> out;
  if (state_ == nullptr) return out;
  for (const internal::Guard& guard : state_->graph.guards())
    out.emplace_back(SpecOf(guard.a, state_->graph), SpecOf(guard.b, state_->graph));
  return out;
}

Status Builder::TakeStatus() {
  if (state_ == nullptr) return status();
  return std::exchange(state_->status, Status());
}

absl::StatusOr<internal::Graph> BuilderState::WithOutputs(
    const std::vector<Tensor>& outputs) const {
  if (!status.ok()) return internal::FromPublic(status);
  if (outputs.empty())
    return internal::InvalidArgument("graph ", graph.name(), ": expected at least one output");
  internal::Graph out = graph;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].state_.get() != this || !outputs[i].valid()) {
      return internal::InvalidArgument("graph ", graph.name(), ": output ", i,
                                       " is not a valid tensor of this Builder");
    }
    JF_RETURN_IF_ERROR(out.AddOutput(ValueOf(outputs[i])));
  }
  return out;
}

std::string Builder::ToText(const std::vector<Tensor>& outputs) const {
  if (state_ == nullptr) return "";
  absl::StatusOr<internal::Graph> graph = state_->WithOutputs(outputs);
  if (graph.ok()) graph = internal::WithoutRoots(*std::move(graph), *state_);
  return graph.ok() ? internal::GraphToString(*graph) : "";
}

StatusOr<Function> Builder::Compile(const std::vector<Tensor>& outputs,
                                    const CompileOptions& options) const {
  if (state_ == nullptr) return status();
  JF_API_ASSIGN_OR_RETURN(internal::Graph graph, state_->WithOutputs(outputs));
  JF_API_ASSIGN_OR_RETURN(graph, internal::WithoutRoots(std::move(graph), *state_));
  return internal::MakeFunction(graph, options);
}

StatusOr<Function> Builder::Compile(const std::vector<Tensor>& outputs) const {
  return Compile(outputs, CompileOptions{});
}

}  // namespace v1
}  // namespace jitfuse
