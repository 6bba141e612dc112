// SourceOf: what each stage makes of a graph, for any known architecture, with no device.
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "api/convert.h"
#include "api/inspect.h"
#include "api/runtime.h"
#include "codegen/fusion/group_text.h"
#include "codegen/plan/plan_head.h"
#include "codegen/plan/plan_text.h"
#include "ir/rng.h"
#include "ir/support/status.h"
#include "ir/text.h"
#include "jit/carry_names.h"
#include "jit/compile.h"
#include "jit/cuda/disassemble.h"
#include "jit/cuda/nvrtc_compile.h"

namespace jitfuse {
namespace internal {
namespace {

// The architecture and back end a stage is asked for.
absl::StatusOr<DeviceKind> KindFor(const std::string& stage, const std::string& arch,
                                   DeviceKind wanted) {
  if (absl::StartsWith(arch, "sm_") || stage == "cuda" || stage == "ptx" || stage == "sass")
    return DeviceKind::kCuda;
  if (!arch.empty() || stage == "llvm")
    return arch == "interpret" ? DeviceKind::kInterpret : DeviceKind::kCpu;
  if (wanted == DeviceKind::kAuto) return ResolveAuto();
  return wanted;
}

absl::StatusOr<std::unique_ptr<Backend>> BackendFor(DeviceKind kind, std::string arch) {
  if (kind == DeviceKind::kCuda && arch.empty()) {
    absl::StatusOr<const Backend*> here = GetBackend(kind);
    arch = here.ok() ? (*here)->target().arch : "sm_90";
  }
  return BackendForArch(kind, arch);
}

// What explain() says of a kernel that is loaded, as far as its code says it.
std::string ResourcesText(const KernelSource& source, const CompiledKernel& compiled,
                          const Backend& backend) {
  const KernelResources resources = backend.ResourcesOf(source, compiled);
  const std::string text = ResourcesToString(resources);
  std::string out = absl::StrCat("kernel ", source.entry, " for ", source.arch, ": ",
                                 text.empty() ? "nothing is known" : text);
  if (const std::optional<Note> note = NoteOfResources(-1, source.entry, resources))
    absl::StrAppend(&out, "\n  note ", ToAbsl(ReasonName(note->reason)), ": ",
                    ToAbsl(ReasonDoc(note->reason)), " (", note->detail, ")");
  return out;
}

absl::StatusOr<std::string> StageOfSource(const KernelSource& source, const std::string& stage,
                                          const Backend& backend) {
  if (stage == "cuda" || stage == "llvm") return source.text;
  if (stage == "ptx") {
    JF_ASSIGN_OR_RETURN(const NvrtcApi* nvrtc, LoadNvrtcApi());
    return CompileCudaToPtx(*nvrtc, source);
  }
  JF_ASSIGN_OR_RETURN(CompiledKernel compiled, backend.Compile(source));
  if (stage == "resources") return ResourcesText(source, compiled, backend);
  return Disassemble(compiled.bytes);
}

absl::StatusOr<std::string> StageOfKernel(const KernelPlan& plan, const std::string& stage,
                                          const Backend& backend) {
  if (stage == "plan") return PlanToString(plan);
  JF_ASSIGN_OR_RETURN(KernelSource source, backend.Emit(plan));
  return StageOfSource(source, stage, backend);
}

absl::StatusOr<std::string> RenderStage(const Graph& graph, const ValueNames& names,
                                        const std::vector<Array>& inputs, const std::string& stage,
                                        const Backend& backend, const Options& options) {
  std::vector<TensorView> views;
  JF_RETURN_IF_ERROR(ForEachInput(
      RngRolesOf(graph), inputs.size(),
      [&](size_t i) {
        views.push_back(ViewOf(inputs[i]));
        return absl::OkStatus();
      },
      [&](RngRole) { views.push_back({nullptr, DType::kU64, {}, {}}); }));
  JF_ASSIGN_OR_RETURN(CallClass cls,
                      ClassifyCall(graph, ComputeShapeFacts(graph), views, {}, options.dynamic));
  JF_ASSIGN_OR_RETURN(PlannedGraph planned, PlanGraph(graph, cls, options, backend));
  const ValueNamer name(planned.graph,
                        CarryNames(graph, names, cls, options, backend, planned.graph));
  if (stage == "graph") return GraphToString(planned.graph, name);
  if (stage == "groups") return FusionPlanToString(planned.graph, planned.fusion, name);
  std::string out;
  for (size_t i = 0; i < planned.plans.size(); ++i) {
    KernelPlan& plan = planned.plans[i];
    // Sources keep numbers: kernels of graphs that only name their values otherwise are the same.
    if (stage == "plan") {
      const auto g = static_cast<size_t>(planned.plan_groups[i]);
      plan.head = GroupText(planned.graph, planned.fusion.groups[g], name);
    }
    JF_ASSIGN_OR_RETURN(std::string text, StageOfKernel(plan, stage, backend));
    absl::StrAppend(&out, text, "\n");
  }
  for (const Group& group : planned.fusion.groups) {
    if (group.kind != GroupKind::kSort || stage == "plan") continue;
    JF_ASSIGN_OR_RETURN(std::vector<KernelSource> sources, backend.EmitSort(group.sort->dtype));
    for (const KernelSource& source : sources) {
      JF_ASSIGN_OR_RETURN(std::string text, StageOfSource(source, stage, backend));
      absl::StrAppend(&out, text, "\n");
    }
  }
  if (out.empty())
    return absl::StrCat(stage == "llvm" ? ";" : "//",
                        " no kernels: libraries compute all of it, or nothing is computed\n");
  return out;
}

absl::Status CheckStage(const std::string& stage, const Backend& backend) {
  static constexpr std::string_view kStages[] = {"graph", "groups", "plan", "cuda",
                                                 "llvm",  "ptx",    "sass", "resources"};
  bool known = false;
  for (std::string_view s : kStages) known = known || s == stage;
  if (!known)
    return InvalidArgument("unknown stage '", stage,
                           "'; expected graph, groups, plan, cuda, llvm, ptx, sass or resources");
  bool cuda_stage = stage == "cuda" || stage == "ptx" || stage == "sass";
  if (cuda_stage && backend.target().kind != TargetKind::kCuda)
    return InvalidArgument("stage ", stage, " needs a CUDA architecture such as sm_90, got ",
                           backend.target().arch);
  if (stage == "llvm" && backend.target().kind != TargetKind::kCpu)
    return InvalidArgument("stage llvm needs a CPU architecture such as x86-64-v3, got ",
                           backend.target().arch);
  return absl::OkStatus();
}

}  // namespace
}  // namespace internal

inline namespace v1 {

StatusOr<std::string> SourceOf(const std::string& graph_text, const std::vector<Array>& inputs,
                               const std::string& stage, const std::string& arch,
                               const CompileOptions& options) {
  internal::ValueNames names;
  JF_API_ASSIGN_OR_RETURN(internal::Graph graph, internal::ParseGraph(graph_text, &names));
  JF_API_ASSIGN_OR_RETURN(DeviceKind kind, internal::KindFor(stage, arch, options.device));
  JF_API_ASSIGN_OR_RETURN(std::unique_ptr<internal::Backend> backend,
                          internal::BackendFor(kind, arch));
  JF_API_RETURN_IF_ERROR(internal::CheckStage(stage, *backend));
  return internal::ToPublic(
      internal::RenderStage(graph, names, inputs, stage, *backend, internal::FromPublic(options)));
}

}  // namespace v1
}  // namespace jitfuse
