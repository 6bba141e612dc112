// ManifestToJson: entries as people would write them.
#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "ir/support/status.h"
#include "jit/manifest.h"

namespace jitfuse::internal {
namespace {

using json = nlohmann::ordered_json;  // keys in the order in which they are written

json LayoutJson(const ManifestLayout& layout) {
  json out = json::object();
  if (!layout.strides.empty()) out["strides"] = layout.strides;
  if (layout.align != 16) out["align"] = layout.align;
  if (!layout.alias.empty()) out["alias"] = layout.alias;
  return out;
}

json CallJson(const ManifestCall& call) {
  json out = json::object();
  for (const auto& [symbol, sizes] : call.sizes)
    out["sizes"][symbol] = sizes.size() == 1 ? json(sizes[0]) : json(sizes);
  for (const auto& [name, layout] : call.inputs) out["inputs"][name] = LayoutJson(layout);
  for (const auto& [number, layout] : call.outputs)
    out["outputs"][std::to_string(number)] = LayoutJson(layout);
  return out;
}

json OptionsJson(const ManifestEntry& entry) {
  json out = json::object();
  if (entry.numerics) out["numerics"] = *entry.numerics == Numerics::kFast ? "fast" : "default";
  if (entry.fuse) out["fuse"] = *entry.fuse;
  if (entry.rewrite) out["rewrite"] = *entry.rewrite;
  if (entry.use_gemm_library) out["use_gemm_library"] = *entry.use_gemm_library;
  if (entry.max_fusions) out["max_fusions"] = *entry.max_fusions;
  if (entry.dynamic)
    out["dynamic"] = *entry.dynamic == Dynamic::kAll    ? "all"
                     : *entry.dynamic == Dynamic::kNone ? "none"
                                                        : "leading";
  return out;
}

// By lines where it ends with one, as printed graphs do.
json TextJson(const std::string& text) {
  if (!absl::EndsWith(text, "\n")) return text;
  std::vector<std::string> lines = absl::StrSplit(text, '\n');
  lines.pop_back();
  return lines;
}

json EntryJson(const ManifestEntry& entry) {
  json out = json::object();
  if (entry.source == ManifestSource::kText) {
    out["text"] = TextJson(entry.what);
  } else {
    out[entry.source == ManifestSource::kPython ? "python" : "graph"] = entry.what;
  }
  if (!entry.args.empty()) out["args"] = entry.args;
  for (const auto& [name, dtypes] : entry.dtypes) out["dtypes"][name] = dtypes;
  if (json options = OptionsJson(entry); !options.empty()) out["options"] = std::move(options);
  if (!entry.bound.empty()) out["bound"] = entry.bound;
  json calls = json::array();
  for (const ManifestCall& call : entry.calls) calls.push_back(CallJson(call));
  out["calls"] = std::move(calls);
  return out;
}

}  // namespace

std::string ManifestToJson(const Manifest& manifest) {
  json entries = json::array();
  for (const ManifestEntry& entry : manifest.entries) entries.push_back(EntryJson(entry));
  json out = {{"jitfuse_manifest", kManifestVersion}, {"entries", std::move(entries)}};
  return absl::StrCat(out.dump(1, ' ', false, json::error_handler_t::replace), "\n");
}

}  // namespace jitfuse::internal
