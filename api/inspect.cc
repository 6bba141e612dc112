#include "api/inspect.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "api/convert.h"
#include "api/runtime.h"
#include "ir/eval.h"
#include "ir/rng.h"
#include "ir/support/status.h"
#include "ir/text.h"

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

}  // namespace

StatusOr<std::vector<InputInfo>> ParseInputs(const std::string& graph_text) {
  JF_API_ASSIGN_OR_RETURN(internal::Graph graph, internal::ParseGraph(graph_text));
  std::vector<InputInfo> out;
  for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
    if (internal::RngRoleOf(graph, i) != internal::RngRole::kNone) continue;
    const internal::Node& node = graph.node(graph.inputs()[i]);
    InputInfo info;
    info.name = graph.input_name(static_cast<int>(i));
    info.dtype = internal::ToPublic(node.types[0].dtype);
    info.scalar = node.kind() == internal::OpKind::kScalar;
    for (const internal::Dim& d : node.types[0].dims)
      info.dims.push_back(d.ToString(graph.symbols().names));
    out.push_back(std::move(info));
  }
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

StatusOr<std::vector<CheckResult>> Check(const std::string& graph_text,
                                         const std::vector<Array>& inputs,
                                         const std::vector<Array>& results, const Rng& rng) {
  JF_API_ASSIGN_OR_RETURN(internal::Graph graph, internal::ParseGraph(graph_text));
  JF_API_ASSIGN_OR_RETURN(std::vector<HostTensor> host, InputsToHost(graph, inputs, rng));
  JF_API_ASSIGN_OR_RETURN(std::vector<HostTensor> got, ToHost(results));
  JF_API_ASSIGN_OR_RETURN(std::vector<internal::WideTensor> expected,
                          internal::EvalWide(graph, host));
  if (got.size() != expected.size()) {
    return Status(StatusCode::kInvalidArgument,
                  absl::StrCat("graph ", graph.name(), ": expected ", expected.size(),
                               " results, got ", got.size()));
  }
  std::vector<CheckResult> out;
  for (std::size_t i = 0; i < got.size(); ++i) {
    internal::CompareResult c = internal::Compare(expected[i], got[i]);
    out.push_back({c.ok, c.max_ulp, c.max_ratio, c.text});
  }
  return out;
}

std::vector<OpInfo> ListOps() {
  std::vector<OpInfo> out;
  for (const internal::OpDef* def : internal::AllOps()) {
    OpInfo info{std::string(def->name),
                std::string(internal::OpKindName(def->kind)),
                std::string(def->doc),
                std::string(def->example),
                {},
                {}};
    for (std::string_view arg : def->args) info.args.emplace_back(arg);
    for (const internal::AttrDef& attr : def->attrs) info.attrs.emplace_back(attr.name);
    out.push_back(std::move(info));
  }
  return out;
}

}  // namespace v1
}  // namespace jitfuse
