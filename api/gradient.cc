#include "api/gradient.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "api/builder_state.h"
#include "api/convert.h"
#include "api/function_state.h"
#include "ir/autodiff.h"
#include "ir/autodiff_split.h"
#include "ir/op_enum.h"
#include "ir/rng.h"
#include "ir/subgraph.h"
#include "ir/support/status.h"
#include "ir/text.h"

namespace jitfuse {
inline namespace v1 {
namespace {

using detail::BuilderState;
using internal::Graph;
using internal::Value;
using State = std::shared_ptr<BuilderState>;
using Values = std::vector<Value>;

// The Builder of the first tensor that has one.
State StateOf(const std::vector<Tensor>& tensors) {
  for (const Tensor& t : tensors) {
    if (State state = BuilderState::Of(t)) return state;
  }
  return nullptr;
}

// Tensors of one Builder as values; `role` and the position name the one that is none.
absl::StatusOr<Values> ValuesOf(const char* what, const char* role, const State& state,
                                const std::vector<Tensor>& tensors) {
  Values values;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& t = tensors[i];
    if (!t.valid())
      return internal::InvalidArgument(
          what, ": ", role, " ", i,
          " is an invalid tensor; expected one that a Builder or an op gave");
    if (BuilderState::Of(t) != state)
      return internal::InvalidArgument(what, ": ", role, " ", i, " belongs to another Builder");
    values.push_back(BuilderState::ValueOf(t));
  }
  return values;
}

absl::StatusOr<Values> FloatsOf(const char* what, const State& state,
                                const std::vector<Tensor>& wrt) {
  JF_ASSIGN_OR_RETURN(Values values, ValuesOf(what, "wrt", state, wrt));
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!internal::IsFloat(state->graph.type(values[i]).dtype))
      return internal::InvalidArgument(what, ": wrt ", i, " is ",
                                       state->graph.TypeString(values[i]),
                                       "; expected a float, others have no gradient");
  }
  return values;
}

// They know their Builder, so that its error is found.
std::vector<Tensor> Invalid(const State& state, std::size_t count) {
  return std::vector<Tensor>(count, BuilderState::Wrap(state, {}));
}

std::vector<Tensor> WrapAll(const State& state, const absl::StatusOr<Values>& values,
                            std::size_t count) {
  std::vector<Tensor> tensors;
  if (!values.ok()) {
    BuilderState::Fail(state, values.status());
    return Invalid(state, count);
  }
  for (Value v : *values) tensors.push_back(BuilderState::Wrap(state, v));
  return tensors;
}

absl::StatusOr<Values> AddGradients(const State& state, const Values& outputs,
                                    const Values& cotangents, const Values& wrt) {
  JF_ASSIGN_OR_RETURN(Values grads, internal::AddVjp(&state->graph, {outputs, cotangents, wrt,
                                                                     state->custom_gradients}));
  for (std::size_t i = 0; i < grads.size(); ++i) {
    if (grads[i].node >= 0) continue;
    JF_ASSIGN_OR_RETURN(grads[i], internal::AddZerosLike(&state->graph, wrt[i]));
  }
  return grads;
}

absl::StatusOr<Values> AddGradient(const State& state, const Tensor& loss,
                                   const std::vector<Tensor>& wrt) {
  JF_ASSIGN_OR_RETURN(Values outputs, ValuesOf("Gradient", "loss", state, {loss}));
  JF_ASSIGN_OR_RETURN(Values values, FloatsOf("Gradient", state, wrt));
  const internal::TensorType type = state->graph.type(outputs[0]);
  if (!internal::IsFloat(type.dtype) || !type.dims.empty())
    return internal::InvalidArgument("Gradient: the loss is ", state->graph.TypeString(outputs[0]),
                                     ", expected a float of rank 0; sum it, or use Vjp");
  return AddGradients(state, outputs, {state->graph.AddConstant(type.dtype, 1)}, values);
}

absl::StatusOr<Values> AddVjp(const State& state, const std::vector<Tensor>& outputs,
                              const std::vector<Tensor>& cotangents,
                              const std::vector<Tensor>& wrt) {
  JF_ASSIGN_OR_RETURN(Values values, ValuesOf("Vjp", "output", state, outputs));
  JF_ASSIGN_OR_RETURN(Values inputs, FloatsOf("Vjp", state, wrt));
  if (cotangents.size() != outputs.size())
    return internal::InvalidArgument("Vjp: ", cotangents.size(), " cotangents for ", outputs.size(),
                                     " outputs, expected one for each");
  Values given;
  const Graph& graph = state->graph;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    given.emplace_back();
    if (!cotangents[i].valid()) continue;
    if (BuilderState::Of(cotangents[i]) != state)
      return internal::InvalidArgument("Vjp: cotangent ", i, " belongs to another Builder");
    const Value one = BuilderState::ValueOf(cotangents[i]);
    const internal::TensorType &type = graph.type(values[i]), &got = graph.type(one);
    if (!internal::IsFloat(type.dtype) || got.dtype != type.dtype ||
        !graph.SameShape(got.dims, type.dims))
      return internal::InvalidArgument(
          "Vjp: cotangent ", i, " is ", graph.TypeString(one), ", expected ",
          internal::IsFloat(type.dtype)
              ? graph.TypeString(values[i])
              : "none, since the output is " + graph.TypeString(values[i]));
    given.back() = one;
  }
  return AddGradients(state, values, given, inputs);
}

}  // namespace

std::vector<Tensor> Gradient(const Tensor& loss, const std::vector<Tensor>& wrt) {
  const State state = BuilderState::Of(loss);
  if (state == nullptr || !state->status.ok()) return Invalid(state, wrt.size());
  return WrapAll(state, AddGradient(state, loss, wrt), wrt.size());
}

std::vector<Tensor> Vjp(const std::vector<Tensor>& outputs, const std::vector<Tensor>& cotangents,
                        const std::vector<Tensor>& wrt) {
  const State state = StateOf(outputs);
  if (state == nullptr || !state->status.ok()) return Invalid(state, wrt.size());
  return WrapAll(state, AddVjp(state, outputs, cotangents, wrt), wrt.size());
}

namespace {

// The gradient as a graph: `gradient` called with inputs of a Builder of its own.
absl::StatusOr<Graph> TraceGradient(const State& state, const Values& inputs, const Values& outputs,
                                    const GradientFn& gradient) {
  Builder own("gradient");
  const State traced = BuilderState::Of(own);
  traced->graph.symbols() = state->graph.symbols();
  auto tensors = [&](const char* name, const Values& values,
                     bool floats_only) -> absl::StatusOr<std::vector<Tensor>> {
    std::vector<Tensor> out;
    for (Value v : values) {
      const internal::TensorType& type = state->graph.type(v);
      if (floats_only && !internal::IsFloat(type.dtype)) continue;
      JF_ASSIGN_OR_RETURN(Value input,
                          traced->graph.AddInput(absl::StrCat(name, out.size()), type));
      out.push_back(BuilderState::Wrap(traced, input));
    }
    return out;
  };
  JF_ASSIGN_OR_RETURN(std::vector<Tensor> x, tensors("x", inputs, false));
  JF_ASSIGN_OR_RETURN(std::vector<Tensor> y, tensors("y", outputs, false));
  JF_ASSIGN_OR_RETURN(std::vector<Tensor> g, tensors("g", outputs, true));
  const std::vector<Tensor> grads = gradient(x, y, g);
  const auto floats =
      static_cast<std::size_t>(std::count_if(inputs.begin(), inputs.end(), [&](Value v) {
        return internal::IsFloat(state->graph.type(v).dtype);
      }));
  if (grads.size() != floats)
    return internal::InvalidArgument("CustomGradient: ", grads.size(),
                                     " gradients, expected one for each of the ", floats,
                                     " float inputs");
  if (traced->next_stream > 0)
    return internal::InvalidArgument("CustomGradient: a gradient with random ops of its own");
  if (grads.empty()) return internal::InvalidArgument("CustomGradient: no input is a float");
  return traced->WithOutputs(grads);
}

// Marks for `out` and the custom gradient that they have.
absl::StatusOr<Values> AddMarks(const State& state, internal::CustomGradient custom,
                                const Values& out) {
  const auto id = static_cast<std::int64_t>(state->custom_gradients.size());
  for (Value v : out) {
    JF_ASSIGN_OR_RETURN(Value mark,
                        state->graph.Add(internal::Op::kGradientMark, {v}, {{"id", id}}));
    if (std::find(custom.outputs.begin(), custom.outputs.end(), mark) != custom.outputs.end())
      return internal::InvalidArgument("CustomGradient: output ", custom.outputs.size(),
                                       " is given twice; its cotangents would count twice");
    custom.outputs.push_back(mark);
  }
  Values marks = custom.outputs;
  state->custom_gradients.push_back(std::move(custom));
  return marks;
}

absl::StatusOr<Values> AddCustom(const State& state, const std::vector<Tensor>& inputs,
                                 const std::vector<Tensor>& outputs, const GradientFn& gradient) {
  internal::CustomGradient custom;
  JF_ASSIGN_OR_RETURN(custom.inputs, ValuesOf("CustomGradient", "input", state, inputs));
  JF_ASSIGN_OR_RETURN(Values out, ValuesOf("CustomGradient", "output", state, outputs));
  JF_ASSIGN_OR_RETURN(custom.backward, TraceGradient(state, custom.inputs, out, gradient));
  return AddMarks(state, std::move(custom), out);
}

// What `gradients` read besides the cotangents: values that those do not lead to.
Values CapturedBy(const Graph& graph, const Values& cotangents, const Values& gradients) {
  std::vector<bool> made_of_them(static_cast<std::size_t>(graph.size()));
  const auto is_made_of_them = [&](Value v) {
    return made_of_them[static_cast<std::size_t>(v.node)];
  };
  for (Value v : cotangents) made_of_them[static_cast<std::size_t>(v.node)] = true;
  for (internal::NodeId id = 0; id < graph.size(); ++id) {
    const absl::Span<const Value> in = graph.node(id).in;
    if (std::any_of(in.begin(), in.end(), is_made_of_them))
      made_of_them[static_cast<std::size_t>(id)] = true;
  }
  Values captured, stack = gradients;
  std::vector<bool> seen(made_of_them.size());
  while (!stack.empty()) {
    const Value v = stack.back();
    stack.pop_back();
    if (std::find(cotangents.begin(), cotangents.end(), v) != cotangents.end()) continue;
    if (!is_made_of_them(v)) {
      if (std::find(captured.begin(), captured.end(), v) == captured.end()) captured.push_back(v);
      continue;
    }
    if (seen[static_cast<std::size_t>(v.node)]) continue;
    seen[static_cast<std::size_t>(v.node)] = true;
    const absl::Span<const Value> in = graph.node(v).in;
    stack.insert(stack.end(), in.begin(), in.end());
  }
  return captured;
}

absl::Status CheckSameType(const Graph& graph, const char* role, std::size_t i, Value got,
                           Value like) {
  const internal::TensorType &type = graph.type(got), &expected = graph.type(like);
  if (type.dtype == expected.dtype && graph.SameShape(type.dims, expected.dims))
    return absl::OkStatus();
  return internal::InvalidArgument("CustomGradient: ", role, " ", i, " is ", graph.TypeString(got),
                                   ", expected ", graph.TypeString(like));
}

// The inputs that have a gradient, and these.
absl::Status PairGradients(const State& state, const Values& in,
                           const std::vector<Tensor>& gradients, Values* inputs, Values* grads) {
  if (gradients.size() != in.size())
    return internal::InvalidArgument("CustomGradient: ", gradients.size(), " gradients for ",
                                     in.size(), " inputs, expected one for each");
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (!gradients[i].valid()) continue;
    if (BuilderState::Of(gradients[i]) != state)
      return internal::InvalidArgument("CustomGradient: gradient ", i,
                                       " belongs to another Builder");
    if (!internal::IsFloat(state->graph.type(in[i]).dtype))
      return internal::InvalidArgument("CustomGradient: gradient ", i, " is given for ",
                                       state->graph.TypeString(in[i]),
                                       ", which has none; expected an invalid tensor");
    inputs->push_back(in[i]);
    grads->push_back(BuilderState::ValueOf(gradients[i]));
    JF_RETURN_IF_ERROR(CheckSameType(state->graph, "gradient", i, grads->back(), in[i]));
  }
  return absl::OkStatus();
}

absl::StatusOr<Values> AddCustomOf(const State& state, const std::vector<Tensor>& inputs,
                                   const std::vector<Tensor>& outputs,
                                   const std::vector<Tensor>& cotangents,
                                   const std::vector<Tensor>& gradients) {
  const Graph& graph = state->graph;
  JF_ASSIGN_OR_RETURN(Values in, ValuesOf("CustomGradient", "input", state, inputs));
  JF_ASSIGN_OR_RETURN(Values out, ValuesOf("CustomGradient", "output", state, outputs));
  JF_ASSIGN_OR_RETURN(Values given, ValuesOf("CustomGradient", "cotangent", state, cotangents));
  Values floats;
  std::copy_if(out.begin(), out.end(), std::back_inserter(floats),
               [&](Value v) { return internal::IsFloat(graph.type(v).dtype); });
  if (given.size() != floats.size())
    return internal::InvalidArgument("CustomGradient: ", given.size(), " cotangents for ",
                                     floats.size(), " float outputs, expected one for each");
  for (std::size_t i = 0; i < given.size(); ++i) {
    JF_RETURN_IF_ERROR(CheckSameType(graph, "cotangent", i, given[i], floats[i]));
    if (std::count(given.begin(), given.end(), given[i]) > 1)
      return internal::InvalidArgument("CustomGradient: cotangent ", i,
                                       " stands for two, expected a tensor of its own for each");
  }
  internal::CustomGradient custom;
  Values grads;
  JF_RETURN_IF_ERROR(PairGradients(state, in, gradients, &custom.inputs, &grads));
  custom.captured = CapturedBy(graph, given, grads);
  std::vector<internal::SubgraphInput> cut;
  const auto add = [&](const char* name, const Values& values) {
    for (Value v : values) cut.push_back({v, absl::StrCat(name, cut.size())});
  };
  add("g", given);
  add("c", custom.captured);
  custom.reads_primals = false;
  JF_ASSIGN_OR_RETURN(custom.backward, internal::Subgraph(graph, cut, grads));
  return AddMarks(state, std::move(custom), out);
}

}  // namespace

std::vector<Tensor> CustomGradient(const std::vector<Tensor>& inputs,
                                   const std::vector<Tensor>& outputs, const GradientFn& gradient) {
  const State state = StateOf(outputs);
  if (state == nullptr || !state->status.ok()) return Invalid(state, outputs.size());
  return WrapAll(state, AddCustom(state, inputs, outputs, gradient), outputs.size());
}

std::vector<Tensor> CustomGradient(const std::vector<Tensor>& inputs,
                                   const std::vector<Tensor>& outputs,
                                   const std::vector<Tensor>& cotangents,
                                   const std::vector<Tensor>& gradients) {
  const State state = StateOf(outputs);
  if (state == nullptr || !state->status.ok()) return Invalid(state, outputs.size());
  return WrapAll(state, AddCustomOf(state, inputs, outputs, cotangents, gradients), outputs.size());
}

Tensor GradientRoot(const Tensor& x) {
  const Tensor root = CustomGradient(
      {x}, {x}, [](const auto&, const auto&, const std::vector<Tensor>& g) { return g; })[0];
  if (root.valid()) {
    const State state = BuilderState::Of(root);
    state->roots.push_back(static_cast<std::int64_t>(state->custom_gradients.size()) - 1);
  }
  return root;
}

namespace {

// Arguments of a function are the inputs of its graph but for the seed and the offset.
std::vector<SavedTensor> PublicSaved(const Graph& graph,
                                     const std::vector<internal::SavedValue>& saved) {
  std::vector<SavedTensor> out;
  for (const internal::SavedValue& s : saved) {
    const bool is_input = s.from == internal::SavedValue::From::kInput;
    if (!is_input) {
      out.push_back({false, s.index});
      continue;
    }
    const auto at = static_cast<std::size_t>(s.index);
    if (internal::RngRoleOf(graph, at) != internal::RngRole::kNone) continue;
    int argument = 0;
    for (std::size_t i = 0; i < at; ++i)
      argument += internal::RngRoleOf(graph, i) == internal::RngRole::kNone;
    out.push_back({true, argument});
  }
  return out;
}

absl::StatusOr<std::vector<int>> InputPositions(const Graph& graph,
                                                const std::vector<std::string>& names) {
  std::vector<int> positions;
  const int count = static_cast<int>(graph.inputs().size());
  for (const std::string& name : names) {
    int at = 0;
    while (at < count && graph.input_name(at) != name) ++at;
    if (at == count)
      return internal::InvalidArgument("gradient of ", graph.name(), ": there is no input '", name,
                                       "'");
    positions.push_back(at);
  }
  return positions;
}

}  // namespace

StatusOr<std::vector<Array>> ForwardBackward::BackwardInputs(
    const std::vector<Array>& inputs, const std::vector<Array>& results,
    const std::vector<Array>& output_cotangents) const {
  const auto wrong = [](const char* what, std::size_t got, std::size_t expected) {
    return internal::ToPublic(
        internal::InvalidArgument("BackwardInputs: ", got, " ", what, ", expected ", expected));
  };
  const auto num_inputs = static_cast<std::size_t>(forward.num_inputs());
  const auto num_results = static_cast<std::size_t>(forward.num_outputs());
  if (inputs.size() != num_inputs) return wrong("inputs", inputs.size(), num_inputs);
  if (results.size() != num_results) return wrong("results", results.size(), num_results);
  if (output_cotangents.size() != cotangents.size())
    return wrong("cotangents", output_cotangents.size(), cotangents.size());
  std::vector<Array> out;
  for (const SavedTensor& s : saved)
    out.push_back((s.is_input ? inputs : results)[static_cast<std::size_t>(s.index)]);
  out.insert(out.end(), output_cotangents.begin(), output_cotangents.end());
  return out;
}

StatusOr<ForwardBackward> SplitForwardBackward(const std::vector<Tensor>& outputs,
                                               const std::vector<Tensor>& wrt,
                                               const CompileOptions& options) {
  const State state = StateOf(outputs);
  if (state == nullptr)
    return internal::ToPublic(
        internal::InvalidArgument("SplitForwardBackward: expected outputs of a Builder"));
  JF_API_ASSIGN_OR_RETURN(Graph graph, state->WithOutputs(outputs));
  JF_API_ASSIGN_OR_RETURN(Values values, ValuesOf("SplitForwardBackward", "wrt", state, wrt));
  std::vector<int> positions;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto in = graph.inputs();
    const auto it = std::find(in.begin(), in.end(), values[i].node);
    if (it == in.end())
      return internal::ToPublic(internal::InvalidArgument("SplitForwardBackward: wrt ", i, ", ",
                                                          graph.TypeString(values[i]),
                                                          ", is no input of the Builder"));
    positions.push_back(static_cast<int>(it - in.begin()));
  }
  JF_API_ASSIGN_OR_RETURN(
      internal::ForwardBackward split,
      internal::SplitForwardBackward(graph, positions, state->custom_gradients));
  JF_API_ASSIGN_OR_RETURN(split.forward, internal::WithoutRoots(std::move(split.forward), *state));
  JF_API_ASSIGN_OR_RETURN(split.backward,
                          internal::WithoutRoots(std::move(split.backward), *state));
  ForwardBackward out;
  StatusOr<Function> forward = internal::MakeFunction(split.forward, options);
  if (!forward.ok()) return forward.status();
  StatusOr<Function> backward = internal::MakeFunction(split.backward, options);
  if (!backward.ok()) return backward.status();
  out.forward = *std::move(forward);
  out.backward = *std::move(backward);
  out.num_outputs = static_cast<int>(outputs.size());
  out.saved = PublicSaved(graph, split.saved);
  out.cotangents = split.cotangents;
  out.decisions = split.Explain();
  return out;
}

StatusOr<std::string> GradientText(const std::string& graph_text,
                                   const std::vector<std::string>& wrt,
                                   const GradientTextOptions& options) {
  JF_API_ASSIGN_OR_RETURN(Graph graph, internal::ParseGraph(graph_text));
  JF_API_ASSIGN_OR_RETURN(std::vector<int> positions, InputPositions(graph, wrt));
  internal::GradientOptions how;
  if (options.cotangents) how.cotangents = internal::Cotangents::kInputs;
  how.with_values = options.with_values;
  JF_API_ASSIGN_OR_RETURN(Graph gradient, internal::Gradient(graph, positions, how));
  return internal::GraphToString(gradient);
}

StatusOr<ForwardBackwardText> SplitForwardBackwardText(const std::string& graph_text,
                                                       const std::vector<std::string>& wrt) {
  JF_API_ASSIGN_OR_RETURN(Graph graph, internal::ParseGraph(graph_text));
  JF_API_ASSIGN_OR_RETURN(std::vector<int> positions, InputPositions(graph, wrt));
  JF_API_ASSIGN_OR_RETURN(internal::ForwardBackward split,
                          internal::SplitForwardBackward(graph, positions));
  return ForwardBackwardText{internal::GraphToString(split.forward),
                             internal::GraphToString(split.backward),
                             PublicSaved(graph, split.saved), split.cotangents, split.Explain()};
}

}  // namespace v1

namespace internal {

absl::StatusOr<Graph> WithoutRoots(Graph graph, const v1::detail::BuilderState& state) {
  if (state.roots.empty()) return graph;
  std::vector<bool> needed(static_cast<std::size_t>(graph.size()));
  for (Value v : graph.outputs()) needed[static_cast<std::size_t>(v.node)] = true;
  for (NodeId id = graph.size(); id-- > 0;) {
    if (!needed[static_cast<std::size_t>(id)]) continue;
    for (Value v : graph.node(id).in) needed[static_cast<std::size_t>(v.node)] = true;
  }
  Graph out;
  out.InheritFrom(graph);
  std::vector<Value> map(needed.size());  // of result 0
  const auto mapped = [&](Value v) {
    const Value base = map[static_cast<std::size_t>(v.node)];
    return Value{base.node, base.result + v.result};
  };
  int inputs = 0;
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph.node(id);
    Value& made = map[static_cast<std::size_t>(id)];
    if (node.kind() == OpKind::kInput) {
      JF_ASSIGN_OR_RETURN(made, out.AddInput(graph.input_name(inputs++), node.types[0]));
    } else if (node.kind() == OpKind::kScalar) {
      JF_ASSIGN_OR_RETURN(made, out.AddScalar(graph.input_name(inputs++), node.types[0].dtype));
    } else if (!needed[static_cast<std::size_t>(id)]) {
      continue;
    } else if (node.kind() == OpKind::kConstant) {
      made = out.AddConstantBits(node.types[0].dtype, graph.ConstantValue(id));
    } else if (node.op == Op::kGradientMark &&
               std::binary_search(state.roots.begin(), state.roots.end(),
                                  node.Get<std::int64_t>("id"))) {
      made = mapped(node.in[0]);
    } else {
      std::vector<Value> in;
      for (Value v : node.in) in.push_back(mapped(v));
      JF_ASSIGN_OR_RETURN(made, out.Add(node.op, in, node.attrs));
    }
  }
  for (Value v : graph.outputs()) JF_RETURN_IF_ERROR(out.AddOutput(mapped(v)));
  return out;
}

}  // namespace internal
}  // namespace jitfuse
