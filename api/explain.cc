#include "api/explain.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "ir/support/status.h"
#include "jit/held_values.h"

namespace jitfuse::internal {
namespace {

using nlohmann::json;

std::string_view KindName(GroupKind kind) {
  switch (kind) {
    case GroupKind::kLoop:
      return "loop";
    case GroupKind::kGemm:
      return "gemm";
    case GroupKind::kCopy:
      return "copy";
    case GroupKind::kView:
      return "view";
    case GroupKind::kSort:
      return "sort";
  }
  return "?";
}

constexpr std::pair<const char*, int64_t KernelResources::*> kFigures[] = {
    {"code_bytes", &KernelResources::code_bytes},
    {"stack_bytes", &KernelResources::stack_bytes},
    {"registers", &KernelResources::registers},
    {"local_bytes", &KernelResources::local_bytes},
    {"spill_stores", &KernelResources::spill_stores},
    {"spill_loads", &KernelResources::spill_loads},
    {"static_smem", &KernelResources::static_smem},
    {"dynamic_smem", &KernelResources::dynamic_smem},
    {"threads", &KernelResources::threads},
    {"blocks_per_sm", &KernelResources::blocks_per_sm},
    {"max_threads_per_sm", &KernelResources::max_threads_per_sm}};

// What is known, and the occupancy that follows from it.
json ResourcesJson(const KernelResources& resources) {
  json out = json::object();
  for (const auto& [name, figure] : kFigures) {
    if (resources.*figure >= 0) out[name] = resources.*figure;
  }
  if (resources.occupancy() >= 0) out["occupancy"] = resources.occupancy();
  return out;
}

KernelResources ResourcesOfJson(const json& j) {
  KernelResources out;
  for (const auto& [name, figure] : kFigures) out.*figure = j.value(name, out.*figure);
  return out;
}

class Explainer {
 public:
  Explainer(const BoundCall& call, const ValueNames& names)
      : call_(call), exe_(*call.executable), name_(exe_.graph, names) {}

  json Build() const {
    json out;
    out["version"] = kExplainVersion;
    out["graph"] = exe_.graph.name();
    out["backend"] = std::string(exe_.backend->name());
    out["arch"] = exe_.backend->target().arch;
    out["features"] = exe_.backend->target().features;
    out["plan_ms"] = exe_.times.total_ms;
    out["stages"] = {{"graph_ms", exe_.times.graph_ms}, {"fuse_ms", exe_.times.fuse_ms}};
    out["arena_bytes"] = call_.arena_bytes;
    out["groups"] = json::array();
    for (size_t g = 0; g < exe_.fusion.groups.size(); ++g)
      out["groups"].push_back(GroupJson(static_cast<int>(g)));
    out["boundaries"] = json::array();
    for (const Boundary& b : exe_.fusion.boundaries) out["boundaries"].push_back(BoundaryJson(b));
    out["notes"] = json::array();
    for (const Note& n : exe_.fusion.notes) out["notes"].push_back(NoteJson(n));
    AddTuning(&out);
    AddPacked(&out);
    AddVerify(&out);
    return out;
  }

 private:
  std::string Name(Value v) const {
    const OpKind kind = exe_.graph.node(v).kind();
    if (kind == OpKind::kInput || kind == OpKind::kScalar) return name_(v);
    return absl::StrCat(name_(v), " ", ToAbsl(exe_.graph.node(v).def().name));
  }

  json GroupJson(int g) const {
    const Group& group = exe_.fusion.groups[static_cast<size_t>(g)];
    json out;
    out["index"] = g;
    out["kind"] = std::string(KindName(group.kind));
    std::vector<std::string> ops, lines;
    for (NodeId id : group.nodes) {
      ops.emplace_back(exe_.graph.node(id).def().name);
      if (exe_.graph.node(id).kind() != OpKind::kConstant)
        lines.push_back(NodeToString(exe_.graph, id, name_));
    }
    out["ops"] = ops;
    out["lines"] = lines;
    out["domain"] = ShapeToString(group.domain, exe_.graph.symbols().names);
    out["reduce_axes"] = group.reduce_axes;
    out["column_sums"] = json::array();
    for (NodeId id : group.column_sums) out["column_sums"].push_back(name_(Value{id, 0}));
    if (IsOnce(g)) out["once"] = true;
    const auto at = static_cast<size_t>(g);
    out["plan_ms"] = at < exe_.times.group_ms.size() ? exe_.times.group_ms[at] : 0;
    out["bytes"] = GroupBytes(exe_.graph, group).Eval(call_.symbols);
    out["bytes_unfused"] = UnfusedBytes(exe_.graph, group.nodes).Eval(call_.symbols);
    out["kernels"] = json::array();
    for (size_t s = 0; s < exe_.steps.size(); ++s) {
      if (exe_.steps[s].group == g) out["kernels"].push_back(StepJson(s));
    }
    return out;
  }

  bool IsOnce(int g) const {
    const std::vector<Note>& notes = exe_.fusion.notes;
    return std::any_of(notes.begin(), notes.end(), [g](const Note& note) {
      return note.group == g && note.reason == Reason::kBoundOnce;
    });
  }

  void AddPacked(json* out) const {
    for (const Step& step : exe_.steps) {
      if (step.kind != Step::Kind::kGemm) continue;
      const BoundGemm& product = call_.gemms[static_cast<size_t>(step.index)];
      if (product.packed_b == nullptr) continue;
      (*out)["notes"].push_back(NoteJson(
          {step.group, Reason::kBoundPacked, absl::StrCat(product.packed_b->bytes(), " bytes")}));
    }
  }

  static json KernelJson(const KernelStep& kernel) {
    json out;
    out["kernel"] = kernel.source.entry;
    out["compile_ms"] = kernel.times.compile_ms;
    out["from_cache"] = kernel.origin != CodeOrigin::kCompiled;
    out["origin"] = std::string(CodeOriginName(kernel.origin));
    out["healed"] = kernel.healed;
    const bool compiled = kernel.origin == CodeOrigin::kCompiled;
    out["stages"] = {{"emit_ms", kernel.times.emit_ms},
                     {"find_ms", kernel.times.find_ms},
                     {"compile_ms", compiled ? kernel.times.compile_ms : 0},
                     {"load_ms", kernel.times.load_ms}};
    out["resources"] = ResourcesJson(kernel.kernel->MeasuredResources());
    return out;
  }

  json StepJson(size_t s) const {
    const Step& step = exe_.steps[s];
    const auto index = static_cast<size_t>(step.index);
    json out;
    if (step.kind == Step::Kind::kKernel) {
      const KernelStep& kernel = exe_.kernels[index];
      out = KernelJson(kernel);
      if (kernel.source.lang == SourceLang::kCuda)
        out["launch"] = {{"grid", call_.grid(kernel)}, {"threads", kernel.source.threads}};
    } else if (step.kind == Step::Kind::kSort) {
      out["sort"] = exe_.backend->DescribeSort(call_.sorts[index]);
      out["sort_kernels"] = json::array();
      for (const KernelStep& kernel : exe_.sorts[index].kernels)
        out["sort_kernels"].push_back(KernelJson(kernel));
    } else {
      const BoundGemm& bound = call_.gemms[index];
      out["library"] = bound.gemm != nullptr   ? bound.gemm->Describe()
                       : bound.zero_bytes == 0 ? "none: the result is empty"
                                               : "none: sums of nothing, the result is zeros";
    }
    return out;
  }

  // What timing has shown of the key, or why it was not timed.
  void AddTuning(json* out) const {
    if (call_.untuned) (*out)["notes"].push_back(NoteJson(*call_.untuned));
    if (call_.meanwhile) (*out)["notes"].push_back(NoteJson(*call_.meanwhile));
    for (const Note& note : call_.tune_notes) (*out)["notes"].push_back(NoteJson(note));
    if (call_.tuned == nullptr) return;
    json plans = json::array();
    for (const TuneRecord::Plan& plan : call_.tuned->plans) {
      json products = json::array();
      for (const TuneRecord::Product& product : plan.products) {
        json tried = json::array();
        for (const TuneRecord::Algorithm& a : product.tried)
          tried.push_back({{"algorithm", a.text}, {"us", a.us}});
        products.push_back({{"problem", product.problem},
                            {"like", product.like},
                            {"tried", tried},
                            {"chosen", product.chosen}});
      }
      plans.push_back(
          {{"epilogues", ChoicesToString(plan.choices)}, {"us", plan.us}, {"products", products}});
    }
    (*out)["tuning"] = {{"plans", plans},
                        {"chosen", call_.tuned->chosen},
                        {"record", TuneRecordToText(*call_.tuned)}};
  }

  // What comparing the executable's calls with the evaluator has shown, if any were to be compared.
  void AddVerify(json* out) const {
    const VerifyRecord record = exe_.verify->record();
    if (record.empty()) return;
    const auto note = [&](Reason reason, const std::string& detail) {
      (*out)["notes"].push_back(NoteJson({-1, reason, detail}));
    };
    if (record.skipped > 0) note(Reason::kVerifySkipped, record.skip_reason);
    if (record.sampled > 0)
      note(Reason::kVerifySampled,
           absl::StrCat(record.sampled, " of ", record.verified, " calls that were compared"));
    if (record.fallback) note(Reason::kVerifyFallback, record.first_mismatch);
    json& verify = (*out)["verify"];
    verify = {{"verified", record.verified},
              {"sampled", record.sampled},
              {"skipped", record.skipped},
              {"mismatches", record.mismatches},
              {"fallback", record.fallback},
              {"fallback_calls", record.fallback_calls},
              {"first_mismatch", record.first_mismatch},
              {"reproducers", record.reproducers},
              {"outputs", json::array()}};
    for (const VerifiedOutput& o : record.outputs)
      verify["outputs"].push_back({{"elements", o.elements},
                                   {"compared", o.compared},
                                   {"max_difference", o.max_error},
                                   {"mean_difference", o.mean_error()},
                                   {"max_of_bound", o.max_ratio},
                                   {"mean_of_bound", o.mean_ratio()},
                                   {"checksums", o.checksums}});
  }

  json BoundaryJson(const Boundary& b) const {
    json out;
    out["value"] = Name(b.value);
    out["type"] = exe_.graph.TypeString(b.value);
    out["from"] = b.from;
    out["to"] = b.to;
    out["reason"] = std::string(ReasonName(b.reason));
    out["meaning"] = std::string(ReasonDoc(b.reason));
    out["detail"] = b.detail;
    return out;
  }

  json NoteJson(const Note& n) const {
    return {{"group", n.group},
            {"reason", std::string(ReasonName(n.reason))},
            {"meaning", std::string(ReasonDoc(n.reason))},
            {"detail", n.detail}};
  }

  const BoundCall& call_;
  const Executable& exe_;
  const ValueNamer name_;
};

std::string Bytes(int64_t bytes) {
  if (bytes < 10 * 1024) return absl::StrCat(bytes, " B");
  if (bytes < 10 * 1024 * 1024)
    return absl::StrFormat("%.1f KiB", static_cast<double>(bytes) / 1024);
  return absl::StrFormat("%.1f MiB", static_cast<double>(bytes) / (1024 * 1024));
}

std::string KernelLine(const json& k) {
  if (k.contains("library"))
    return absl::StrCat("    library call: ", k["library"].get<std::string>(), "\n");
  if (k.contains("sort")) {
    std::string out = absl::StrCat("    ", k["sort"].get<std::string>(), "\n");
    for (const json& kernel : k["sort_kernels"]) out += KernelLine(kernel);
    return out;
  }
  const auto origin = k["origin"].get<std::string>();
  std::string how = origin == "memory" ? "found in memory"
                    : origin == "disk" ? "from the disk cache"
                    : origin == "layer"
                        ? "from a read-only layer of the cache"
                        : absl::StrFormat("compiled in %.1f ms", k["compile_ms"].get<double>());
  if (k["healed"].get<bool>()) how += ", in place of a damaged entry of the disk cache";
  const json& stages = k["stages"];
  absl::StrAppendFormat(&how, "; emitted in %.2f ms, loaded in %.2f ms",
                        stages["emit_ms"].get<double>(), stages["load_ms"].get<double>());
  if (const double find = stages["find_ms"].get<double>(); find >= 0.005)
    absl::StrAppendFormat(&how, ", disk cache looked through in %.2f ms", find);
  const std::string resources = ResourcesToString(ResourcesOfJson(k["resources"]));
  return absl::StrCat("    kernel ", k["kernel"].get<std::string>(), ", ", how, "\n",
                      resources.empty() ? "" : absl::StrCat("      ", resources, "\n"));
}

// Copies of what is returned, and views, have no op to compare with.
std::string MovesLine(const json& g) {
  const auto unfused = g["bytes_unfused"].get<int64_t>();
  return absl::StrCat("    moves ", Bytes(g["bytes"].get<int64_t>()), "; ",
                      unfused > 0 ? absl::StrCat("one kernel per op would move ", Bytes(unfused))
                                  : "nothing is computed here, so fusing has nothing to save",
                      "\n");
}

// What the group computes; of a large one the beginning.
std::string OpLines(const json& g) {
  constexpr size_t kMaxLines = 64;
  const auto lines = g["lines"].get<std::vector<std::string>>();
  std::string out;
  for (size_t i = 0; i < std::min(kMaxLines, lines.size()); ++i)
    absl::StrAppend(&out, "      ", lines[i], "\n");
  if (lines.size() > kMaxLines)
    absl::StrAppend(&out, "      ... ", lines.size() - kMaxLines, " more, which JSON has\n");
  return out;
}

std::string GroupName(int g) { return g < 0 ? "outside" : absl::StrCat("group ", g); }

std::string WithDetail(const json& j) {
  std::string detail = j["detail"].get<std::string>();
  return absl::StrCat(j["reason"].get<std::string>(), ": ", j["meaning"].get<std::string>(),
                      detail.empty() ? "" : " (", detail, detail.empty() ? "" : ")");
}

// A number as JSON has it: none where it is infinite.
std::string Number(const json& j) {
  return j.is_number() && std::isfinite(j.get<double>()) ? absl::StrFormat("%.3g", j.get<double>())
                                                         : std::string("infinite");
}

std::string VerifyLines(const json& v) {
  std::string out = absl::StrCat(
      "  verify: ", v["verified"].get<int64_t>(), " calls compared with the evaluator, ",
      v["mismatches"].get<int64_t>(), " of them wrong; ", v["skipped"].get<int64_t>(), " skipped",
      v["fallback"].get<bool>()
          ? absl::StrCat("; ", v["fallback_calls"].get<int64_t>(), " answered by the evaluator")
          : "",
      "\n");
  for (size_t o = 0; o < v["outputs"].size(); ++o) {
    const json& j = v["outputs"][o];
    absl::StrAppend(&out, "    output ", o, ": difference at most ", Number(j["max_difference"]),
                    " (", Number(j["max_of_bound"]), " of the bound), on average ",
                    Number(j["mean_difference"]), " (", Number(j["mean_of_bound"]), " of it), ",
                    j["compared"].get<int64_t>(), " elements compared, ",
                    j["elements"].get<int64_t>(), " in the last call; checksums ",
                    absl::StrJoin(j["checksums"].get<std::vector<std::string>>(), " "), "\n");
  }
  if (const auto wrong = v["first_mismatch"].get<std::string>(); !wrong.empty())
    absl::StrAppend(&out, "    first mismatch: ", wrong, "\n");
  for (const json& r : v["reproducers"])
    absl::StrAppend(&out, "    reproduce it with: ", r.get<std::string>(), "\n");
  return out;
}

std::string TuningLines(const json& tuning) {
  std::string out = "  tuned by timing:\n";
  for (size_t p = 0; p < tuning["plans"].size(); ++p) {
    const json& plan = tuning["plans"][p];
    absl::StrAppend(&out, "    epilogues: ", plan["epilogues"].get<std::string>(),
                    absl::StrFormat(", %.2f us a call", plan["us"].get<double>()),
                    p == tuning["chosen"].get<size_t>() ? ", chosen" : "", "\n");
    for (const json& product : plan["products"]) {
      absl::StrAppend(&out, "      product ", product["problem"].get<std::string>(),
                      product["like"].get<int>() < 0
                          ? ""
                          : absl::StrCat(", as product ", product["like"].get<int>()),
                      "\n");
      for (size_t a = 0; a < product["tried"].size(); ++a)
        absl::StrAppend(
            &out, absl::StrFormat("        %9.2f us ", product["tried"][a]["us"].get<double>()),
            a == product["chosen"].get<size_t>() ? "* " : "  ",
            product["tried"][a]["algorithm"].get<std::string>(), "\n");
    }
  }
  return out;
}

}  // namespace

std::string ExplainJson(const BoundCall& call, const ValueNames& names) {
  return Explainer(call, names).Build().dump(2, ' ', false, json::error_handler_t::replace);
}

std::string ExplainText(const BoundCall& call, const ValueNames& names) {
  json e = Explainer(call, names).Build();
  std::string out = absl::StrCat(
      "graph ", e["graph"].get<std::string>(), " on ", e["backend"].get<std::string>(), ":",
      e["arch"].get<std::string>(), ": ", e["groups"].size(),
      e["groups"].size() == 1 ? " group, " : " groups, ", Bytes(e["arena_bytes"].get<int64_t>()),
      " of scratch memory, planned in ",
      absl::StrFormat("%.2f ms (graph %.2f, fusion %.2f)\n", e["plan_ms"].get<double>(),
                      e["stages"]["graph_ms"].get<double>(), e["stages"]["fuse_ms"].get<double>()));
  for (const json& g : e["groups"]) {
    absl::StrAppend(&out, "  group ", g["index"].get<int>(), " (", g["kind"].get<std::string>(),
                    ") over ", g["domain"].get<std::string>(), "\n", OpLines(g));
    out += MovesLine(g);
    for (const json& k : g["kernels"]) out += KernelLine(k);
    for (const json& n : e["notes"]) {
      if (n["group"] == g["index"]) absl::StrAppend(&out, "    note ", WithDetail(n), "\n");
    }
  }
  for (const json& b : e["boundaries"]) {
    absl::StrAppend(&out, "  boundary ", b["value"].get<std::string>(), " : ",
                    b["type"].get<std::string>(), ", ", GroupName(b["from"].get<int>()), " -> ",
                    GroupName(b["to"].get<int>()), "\n    ", WithDetail(b), "\n");
  }
  for (const json& n : e["notes"]) {
    if (n["group"] == -1) absl::StrAppend(&out, "  note ", WithDetail(n), "\n");
  }
  if (e.contains("tuning")) out += TuningLines(e["tuning"]);
  if (e.contains("verify")) out += VerifyLines(e["verify"]);
  return out;
}

}  // namespace jitfuse::internal
