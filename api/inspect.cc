#include "api/inspect.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "api/convert.h"
#include "api/function_state.h"
#include "api/runtime.h"
#include "ir/eval.h"
#include "ir/eval_sample.h"
#include "ir/rng.h"
#include "ir/support/status.h"
#include "ir/text.h"
#include "jit/verify_run.h"

namespace jitfuse {
inline namespace v1 {
namespace {

using internal::HostTensor;

// With the graph's seed and offset among them, where it has them.
absl::StatusOr<std::vector<HostTensor>> InputsToHost(const internal::Graph& graph,
                                                     const std::vector<Array>& arrays,
                                                     const Rng& rng) {
  std::vector<HostTensor> out;
  JF_RETURN_IF_ERROR(internal::ForEachInput(
      internal::RngRolesOf(graph), arrays.size(),
      [&](std::size_t i) -> absl::Status {
        JF_ASSIGN_OR_RETURN(HostTensor t, internal::ToHostTensor(arrays[i]));
        out.push_back(std::move(t));
        return absl::OkStatus();
      },
      [&](internal::RngRole role) {
        HostTensor t = HostTensor::Make(internal::DType::kU64, {});
        t.Set(0, internal::ScalarValue::FromBits(role == internal::RngRole::kSeed ? rng.seed
                                                                                  : rng.offset));
        out.push_back(std::move(t));
      }));
  return out;
}

absl::StatusOr<std::vector<HostTensor>> ToHost(const std::vector<Array>& arrays) {
  std::vector<HostTensor> out;
  for (const Array& a : arrays) {
    JF_ASSIGN_OR_RETURN(HostTensor t, internal::ToHostTensor(a));
    out.push_back(std::move(t));
  }
  return out;
}

// The dims of an input for these values of the symbols.
absl::StatusOr<std::vector<std::int64_t>> DimsOf(const internal::Graph& graph, std::size_t input,
                                                 const std::vector<std::int64_t>& values) {
  const std::vector<std::string>& names = graph.symbols().names;
  std::vector<std::int64_t> out;
  for (const internal::Dim& dim : graph.type({graph.inputs()[input], 0}).dims) {
    const std::optional<std::int64_t> value = dim.CheckedEval(values);
    if (!value || *value < 0) {
      std::vector<internal::SymbolId> symbols;
      dim.CollectSymbols(&symbols);
      const auto given = [&](std::string* text, internal::SymbolId s) {
        const auto at = static_cast<std::size_t>(s);
        absl::StrAppend(text, names[at], "=", values[at]);
      };
      return internal::InvalidArgument(
          "graph ", graph.name(), ": input '", graph.input_name(static_cast<int>(input)), "': dim ",
          out.size(), ", ", dim.ToString(names),
          value ? absl::StrCat(", is ", *value) : std::string(", does not fit 64 bits"), " for ",
          absl::StrJoin(symbols, ", ", given), "; expected a size from 0 to 2^63 - 1");
    }
    out.push_back(*value);
  }
  return out;
}

InputInfo InfoOf(const internal::Graph& graph, internal::Value v) {
  InputInfo info;
  info.dtype = internal::ToPublic(graph.type(v).dtype);
  for (const internal::Dim& d : graph.type(v).dims)
    info.dims.push_back(d.ToString(graph.symbols().names));
  return info;
}

// Without the seed and the offset of random ops.
std::vector<InputInfo> SignatureOf(const internal::Graph& graph) {
  std::vector<InputInfo> out;
  for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
    if (internal::RngRoleOf(graph, i) != internal::RngRole::kNone) continue;
    InputInfo info = InfoOf(graph, {graph.inputs()[i], 0});
    info.name = graph.input_name(static_cast<int>(i));
    info.scalar = graph.node(graph.inputs()[i]).kind() == internal::OpKind::kScalar;
    out.push_back(std::move(info));
  }
  return out;
}

}  // namespace

StatusOr<std::vector<InputInfo>> ParseInputs(const std::string& graph_text) {
  JF_API_ASSIGN_OR_RETURN(internal::Graph graph, internal::ParseGraph(graph_text));
  return SignatureOf(graph);
}

std::int64_t NumRandomOps(const Function& function) {
  std::int64_t end = 0;
  const auto& state = FunctionAccess::State(function);
  if (state == nullptr) return 0;
  const internal::Graph& graph = state->graph();
  for (internal::NodeId id = 0; id < graph.size(); ++id) {
    const internal::Node& node = graph.node(id);
    if (node.def().FindAttr("stream") == nullptr) continue;
    const auto stream = node.Get<std::int64_t>("stream");
    end = std::max(end, stream < std::numeric_limits<std::int64_t>::max() ? stream + 1 : stream);
  }
  return end;
}

std::vector<InputInfo> InputsOf(const Function& function) {
  const auto& state = FunctionAccess::State(function);
  if (state == nullptr) return {};
  std::vector<InputInfo> all = SignatureOf(state->graph()), out;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (state->BoundArray(i) == nullptr) out.push_back(std::move(all[i]));
  }
  return out;
}

std::vector<InputInfo> OutputsOf(const Function& function) {
  std::vector<InputInfo> out;
  const auto& state = FunctionAccess::State(function);
  if (state == nullptr) return out;
  for (const internal::Value& v : state->graph().outputs())
    out.push_back(InfoOf(state->graph(), v));
  return out;
}

StatusOr<std::string> FormatText(const std::string& graph_text) {
  JF_API_ASSIGN_OR_RETURN(internal::Graph graph, internal::ParseGraph(graph_text));
  return internal::GraphToString(graph);
}

StatusOr<std::vector<std::vector<std::int64_t>>> InputDims(
    const std::string& graph_text, const std::map<std::string, std::int64_t>& symbols) {
  JF_API_ASSIGN_OR_RETURN(internal::Graph graph, internal::ParseGraph(graph_text));
  std::vector<internal::SymbolId> used;
  for (internal::NodeId id : graph.inputs()) {
    for (const internal::Dim& d : graph.type({id, 0}).dims) d.CollectSymbols(&used);
  }
  std::vector<std::int64_t> values;
  for (const std::string& name : graph.symbols().names) {
    auto it = symbols.find(name);
    const auto symbol = static_cast<internal::SymbolId>(values.size());
    if (it == symbols.end() && std::find(used.begin(), used.end(), symbol) == used.end()) {
      values.push_back(0);  // as a call binds one that is listed but no size of any input
      continue;
    }
    if (it == symbols.end())
      return Status(StatusCode::kInvalidArgument,
                    absl::StrCat("graph ", graph.name(), ": no size is given for ", name));
    if (it->second < 0)
      return Status(StatusCode::kInvalidArgument,
                    absl::StrCat("graph ", graph.name(), ": ", name, " is ", it->second,
                                 "; expected 0 or more"));
    values.push_back(it->second);
  }
  for (const auto& [name, value] : symbols) {
    if (!graph.symbols().Find(name)) {
      return Status(
          StatusCode::kInvalidArgument,
          absl::StrCat(
              "graph ", graph.name(), " has no symbol ", name, " (", value,
              " was given); its symbols: ",
              graph.symbols().names.empty() ? "none" : absl::StrJoin(graph.symbols().names, ", ")));
    }
  }
  std::vector<std::vector<std::int64_t>> out;
  for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
    if (internal::RngRoleOf(graph, i) != internal::RngRole::kNone) continue;
    JF_API_ASSIGN_OR_RETURN(std::vector<std::int64_t> dims, DimsOf(graph, i, values));
    out.push_back(std::move(dims));
  }
  return out;
}

StatusOr<std::vector<Array>> Evaluate(const std::string& graph_text,
                                      const std::vector<Array>& inputs, const Rng& rng) {
  JF_API_ASSIGN_OR_RETURN(internal::Graph graph, internal::ParseGraph(graph_text));
  JF_API_ASSIGN_OR_RETURN(std::vector<HostTensor> host, InputsToHost(graph, inputs, rng));
  JF_API_ASSIGN_OR_RETURN(std::vector<HostTensor> results, internal::EvalDeclared(graph, host));
  std::vector<Array> out;
  for (HostTensor& t : results) out.push_back(internal::FromHostTensor(std::move(t)));
  return out;
}

namespace {

// As jit/verify_run.h does it, so that the command finds what a call has found.
absl::StatusOr<std::vector<internal::WideTensor>> Expected(const internal::Graph& graph,
                                                           const std::vector<HostTensor>& inputs,
                                                           internal::Numerics numerics) {
  std::vector<std::vector<std::int64_t>> dims;
  for (const HostTensor& t : inputs) dims.push_back(t.dims);
  const auto symbols = graph.BindSymbols(dims);
  if (symbols.ok() && inputs.size() == graph.inputs().size() &&
      internal::EvalWork(graph, *symbols) > internal::kMaxEvalWork) {
    JF_ASSIGN_OR_RETURN(
        auto sample, internal::EvalWideSample(graph, inputs, internal::kMaxSampleWork, numerics));
    if (sample) return *std::move(sample);
  }
  return internal::EvalWide(graph, inputs, numerics);
}

}  // namespace

StatusOr<std::vector<CheckResult>> Check(const std::string& graph_text,
                                         const std::vector<Array>& inputs,
                                         const std::vector<Array>& results, const Rng& rng,
                                         Numerics numerics) {
  JF_API_ASSIGN_OR_RETURN(internal::Graph graph, internal::ParseGraph(graph_text));
  JF_API_ASSIGN_OR_RETURN(std::vector<HostTensor> host, InputsToHost(graph, inputs, rng));
  JF_API_ASSIGN_OR_RETURN(std::vector<HostTensor> got, ToHost(results));
  JF_API_ASSIGN_OR_RETURN(const std::vector<internal::WideTensor> expected,
                          Expected(graph, host, static_cast<internal::Numerics>(numerics)));
  if (got.size() != expected.size()) {
    return Status(StatusCode::kInvalidArgument,
                  absl::StrCat("graph ", graph.name(), ": expected ", expected.size(),
                               " results, got ", got.size()));
  }
  std::vector<CheckResult> out;
  for (std::size_t i = 0; i < got.size(); ++i) {
    internal::CompareResult c = internal::Compare(expected[i], got[i]);
    out.push_back({c.ok, c.max_ulp, c.max_ratio, c.text, c.compared, got[i].size(),
                   expected[i].at.has_value()});
  }
  return out;
}

namespace {

AttrInfo InfoOf(const internal::AttrDef& attr) {
  constexpr const char* kTypes[] = {"bool", "int", "float", "dtype", "ints", "dims"};
  AttrInfo out{std::string(attr.name),
               kTypes[static_cast<std::size_t>(attr.kind)],
               std::string(attr.doc),
               !attr.fallback.has_value(),
               {}};
  if (out.required) return out;
  std::visit(
      [&](const auto& value) {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, internal::DType>) {
          out.fallback = internal::ToPublic(value);
        } else if constexpr (std::is_same_v<T, std::vector<internal::Dim>>) {
          std::vector<DimSpec> dims;
          for (const internal::Dim& d : value) dims.emplace_back(d.constant());
          out.fallback = dims;
        } else {
          out.fallback = value;
        }
      },
      *attr.fallback);
  return out;
}

}  // namespace

std::vector<OpInfo> ListOps() {
  std::vector<OpInfo> out;
  for (const internal::OpDef* def : internal::AllOps()) {
    OpInfo info{std::string(def->name),
                std::string(internal::OpKindName(def->kind)),
                std::string(def->doc),
                std::string(def->example),
                {},
                {},
                {},
                1};
    for (std::string_view arg : def->args) info.args.emplace_back(arg);
    for (const internal::AttrDef& attr : def->attrs) {
      info.attrs.emplace_back(attr.name);
      info.attr_infos.push_back(InfoOf(attr));
    }
    info.num_results = def->num_results();
    out.push_back(std::move(info));
  }
  return out;
}

}  // namespace v1
}  // namespace jitfuse
