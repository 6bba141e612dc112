// The page: a graph and a class of calls become an Executable, one line per pass, a dump after
// each.
#include "jit/compile.h"

#include <algorithm>
#include <chrono>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "codegen/fusion/partition.h"
#include "codegen/plan/build_plan.h"
#include "codegen/plan/plan_text.h"
#include "codegen/plan/verify_plan.h"
#include "ir/expand.h"
#include "ir/rewrite/optimize.h"
#include "ir/support/check.h"
#include "ir/support/dump.h"
#include "ir/support/flags.h"
#include "ir/support/fork.h"
#include "ir/support/status.h"
#include "ir/support/trace.h"
#include "ir/text.h"
#include "jit/buffers.h"
#include "jit/group_products.h"
#include "jit/product_choices.h"
#include "jit/recorder.h"

namespace jitfuse::internal {
namespace {

using Clock = std::chrono::steady_clock;

double MsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

bool Verifying() { return EnvInt("VERIFY", 0) != 0; }

void DumpGraph(std::string_view point, const Graph& graph) {
  if (DumpEnabled(point)) Dump(point, graph.name(), GraphToString(graph));
}

std::optional<Reason> GemmRefusal(const Backend& backend, DType dtype) {
  Reason reason = Reason::kGemmNoLibrary;
  if (backend.GemmSupport(dtype, &reason).ok()) return std::nullopt;
  return reason;
}

// What numerics=fast has to offer so far.
void AllowTf32(const Target& target, FusionPlan* plan) {
  bool any = false;
  for (size_t g = 0; g < plan->groups.size() && target.kind == TargetKind::kCuda; ++g) {
    std::optional<GemmCall>& call = plan->groups[g].gemm;
    if (!call || call->dtype != DType::kF32) continue;
    call->allow_tf32 = any = true;
    plan->notes.push_back({static_cast<int>(g), Reason::kNumericsFastTf32, ""});
  }
  if (!any) plan->notes.push_back({-1, Reason::kNumericsFastSame, ""});
}

void NoteBoundInputs(const Graph& graph, const CallClass& cls, FusionPlan* plan) {
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    const int position = static_cast<int>(i);
    if (!cls.IsBound(position)) continue;
    plan->notes.push_back({-1, Reason::kBoundInput,
                           absl::StrCat("%", graph.input_name(position), ": ",
                                        graph.TypeString({graph.inputs()[i], 0}))});
  }
}

std::vector<Value> AliasedInputs(const Graph& graph, const CallClass& cls) {
  std::vector<Value> out;
  for (const std::vector<int>& aliases : cls.output_aliases) {
    for (int input : aliases) out.push_back({graph.inputs()[static_cast<size_t>(input)], 0});
  }
  return out;
}

// A planned graph with the buffers that plans were built against.
struct Planned {
  PlannedGraph graph;
  std::unique_ptr<BufferMap> buffers;
};

absl::Status BuildPlans(const CallClass& cls, const Target& target, BufferMap* buffers,
                        PlannedGraph* out) {
  PlanOptions options;
  options.offset_bits = cls.offset_bits;
  options.symbol_bounds = cls.bound;
  options.may_alias = AliasedInputs(out->graph, cls);
  out->times.group_ms.resize(out->fusion.groups.size());
  for (size_t g = 0; g < out->fusion.groups.size(); ++g) {
    const Group& group = out->fusion.groups[g];
    if (group.kind != GroupKind::kLoop && group.kind != GroupKind::kCopy) continue;
    if (buffers->IsOnce(static_cast<int>(g))) continue;
    options.index = static_cast<int>(g);
    TimedSpan span("compile", "plan", &out->times.group_ms[g]);
    JF_ASSIGN_OR_RETURN(
        std::vector<KernelPlan> plans,
        BuildPlan(out->graph, group, buffers->LayoutsOf(static_cast<int>(g)), target, options));
    for (KernelPlan& plan : plans) {
      if (Verifying()) JF_RETURN_IF_ERROR(VerifyPlan(plan));
      if (DumpEnabled("plan")) Dump("plan", plan.name, PlanToString(plan));
      for (Note note : plan.notes) {
        note.group = static_cast<int>(g);
        out->fusion.notes.push_back(note);
      }
      out->plans.push_back(std::move(plan));
      out->plan_groups.push_back(static_cast<int>(g));
    }
  }
  return absl::OkStatus();
}

// Products as they will be computed, and groups.
absl::Status FormGroups(Graph prepared, const CallClass& cls, const Options& options,
                        const Backend& backend, PlannedGraph* out) {
  const GemmLibrary library = LibraryOf(backend);
  JF_ASSIGN_OR_RETURN(GroupedProducts grouped, GroupProducts(std::move(prepared), cls.bound_inputs,
                                                             options, library.product));
  JF_ASSIGN_OR_RETURN(LoweredGraph lowered,
                      LowerMatMul(grouped.graph, options, library, cls.inputs, &backend.target()));
  out->graph = lowered.graph;
  const Graph& g = out->graph;
  JF_ASSIGN_OR_RETURN(out->fusion, Partition(g, backend.target(), options, library, cls.inputs));
  AddLoweringNotes(lowered, &out->fusion);
  if (Verifying()) JF_RETURN_IF_ERROR(VerifyFusionPlan(g, out->fusion));
  if (options.numerics == Numerics::kFast) AllowTf32(backend.target(), &out->fusion);
  NoteBoundInputs(g, cls, &out->fusion);
  for (Note& note : grouped.notes) out->fusion.notes.push_back(std::move(note));
  return absl::OkStatus();
}

absl::StatusOr<Planned> Plan(const Graph& graph, const CallClass& cls, Options options,
                             const Backend& backend) {
  JF_RETURN_IF_ERROR(CheckFlags());
  if (options.max_fusions < 0) options.max_fusions = EnvInt("MAX_FUSIONS", -1);
  Planned out;
  absl::StatusOr<Graph> prepared = absl::UnknownError("not prepared");
  {
    const TimedSpan span("compile", "graph", &out.graph.times.graph_ms);
    prepared = PrepareGraph(graph, cls, options);
  }
  JF_RETURN_IF_ERROR(prepared.status());
  {
    const TimedSpan span("compile", "fuse", &out.graph.times.fuse_ms);
    JF_RETURN_IF_ERROR(FormGroups(*std::move(prepared), cls, options, backend, &out.graph));
  }
  return out;
}

// The buffers refer to the graph inside `planned`, which must not move afterwards.
absl::Status FinishPlan(const CallClass& cls, const Backend& backend, Planned* planned) {
  planned->buffers = std::make_unique<BufferMap>(planned->graph.graph, cls, &planned->graph.fusion);
  JF_RETURN_IF_ERROR(BuildPlans(cls, backend.target(), planned->buffers.get(), &planned->graph));
  if (DumpEnabled("groups"))
    Dump("groups", planned->graph.graph.name(),
         FusionPlanToString(planned->graph.graph, planned->graph.fusion));
  return absl::OkStatus();
}

struct Sources {  // of the plans, then of each sort group in turn
  std::vector<KernelSource> all;
  std::vector<double> emit_ms;  // by source
  std::vector<int> groups;      // by source
};

absl::StatusOr<Sources> EmitAll(const PlannedGraph& planned, const BufferMap& buffers,
                                const Backend& backend) {
  Sources out;
  out.groups = planned.plan_groups;
  for (const KernelPlan& plan : planned.plans) {
    TimedSpan span("compile", "emit", &out.emit_ms.emplace_back());
    JF_ASSIGN_OR_RETURN(KernelSource source, backend.Emit(plan));
    span.span().Add("kernel", source.entry);
    out.all.push_back(std::move(source));
  }
  for (size_t g = 0; g < planned.fusion.groups.size(); ++g) {
    const Group& group = planned.fusion.groups[g];
    if (group.kind != GroupKind::kSort || buffers.IsOnce(static_cast<int>(g))) continue;
    JF_ASSIGN_OR_RETURN(std::vector<KernelSource> sort, backend.EmitSort(group.sort->dtype));
    out.groups.insert(out.groups.end(), sort.size(), static_cast<int>(g));
    std::move(sort.begin(), sort.end(), std::back_inserter(out.all));
  }
  out.emit_ms.resize(out.all.size());
  for (const KernelSource& source : out.all) {
    if (source.lang == SourceLang::kCuda) Dump("cuda", source.entry, source.text);
    if (source.lang == SourceLang::kLlvm) Dump("llvm", source.entry, source.text);
  }
  return out;
}

// A graph, planned and written for one target.
struct Written {
  const Backend* backend = nullptr;
  Planned planned;
  Sources sources;
};

absl::StatusOr<std::unique_ptr<Written>> WriteFor(const Graph& graph, const CallClass& cls,
                                                  const Options& options, const Backend& backend) {
  auto out = std::make_unique<Written>();
  out->backend = &backend;
  JF_ASSIGN_OR_RETURN(out->planned, Plan(graph, cls, options, backend));
  JF_RETURN_IF_ERROR(FinishPlan(cls, backend, &out->planned));
  JF_ASSIGN_OR_RETURN(out->sources, EmitAll(out->planned.graph, *out->planned.buffers, backend));
  return out;
}

// For the device's own target; but where a read-only layer has all kernels for a more general one,
// and the caches have not all for the own, for that: plans depend on the target, so that the choice
// is one for the whole graph.
absl::StatusOr<std::unique_ptr<Written>> WriteForCaches(const Graph& graph, const CallClass& cls,
                                                        const Options& options,
                                                        const Backend& backend,
                                                        const KernelCache& kernels) {
  CompileGate gate;
  JF_ASSIGN_OR_RETURN(std::unique_ptr<Written> own, WriteFor(graph, cls, options, backend));
  if (!kernels.MayHaveGeneral(backend) ||
      kernels.HasAll(own->sources.all, backend, /*layers_only=*/false))
    return own;
  for (const Backend* general : backend.GeneralBackends()) {
    JF_ASSIGN_OR_RETURN(std::unique_ptr<Written> other, WriteFor(graph, cls, options, *general));
    if (!kernels.HasAll(other->sources.all, *general, /*layers_only=*/true)) continue;
    other->planned.graph.fusion.notes.push_back(
        {-1, Reason::kCacheOtherTarget,
         absl::StrCat(general->target().arch, " in place of ", backend.target().arch)});
    return other;
  }
  return own;
}

// What steps read, where none are built.
void NoteReads(const PlannedGraph& planned, BufferMap* buffers) {
  for (const KernelPlan& plan : planned.plans) {
    for (const Param& param : plan.params) {
      if (param.role == ParamRole::kInput) buffers->ReadRef(param.value, 0);
    }
  }
  for (size_t g = 0; g < planned.fusion.groups.size(); ++g) {
    const Group& group = planned.fusion.groups[g];
    if (!IsCall(group.kind) || buffers->IsOnce(static_cast<int>(g))) continue;
    for (Value v : group.inputs) buffers->ReadRef(v, 0);
  }
}

int SignaturePosition(const Graph& graph, Value v) {
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    if (graph.inputs()[i] == v.node) return static_cast<int>(i);
  }
  JF_CHECK(false);
}

// Steps in group order, but of groups that are computed once; buffers are named as they are first
// touched.
class StepBuilder {
 public:
  StepBuilder(Executable* exe, BufferMap* buffers) : exe_(exe), buffers_(buffers) {}

  void Build(Sources sources, std::vector<CachedKernel> kernels) {
    const size_t plans = exe_->plans.size();
    size_t next = 0, next_sort = plans;
    for (int g = 0; g < static_cast<int>(exe_->fusion.groups.size()); ++g) {
      if (buffers_->IsOnce(g)) continue;
      if (exe_->fusion.groups[static_cast<size_t>(g)].kind == GroupKind::kGemm) AddGemm(g);
      if (exe_->fusion.groups[static_cast<size_t>(g)].kind == GroupKind::kSort) AddSort(g);
      for (; next_sort < sources.all.size() && sources.groups[next_sort] == g; ++next_sort)
        AddSortKernel(Loaded(&sources, kernels, next_sort));
      for (; next < plans && sources.groups[next] == g; ++next)
        AddKernel(next, g, Loaded(&sources, kernels, next));
    }
  }

 private:
  int Now() const { return static_cast<int>(exe_->steps.size()); }
  void AddStep(Step::Kind kind, size_t index, int g) {
    exe_->steps.push_back({kind, static_cast<int>(index), g});
  }

  // Kernel i without its buffers.
  KernelStep Loaded(Sources* sources, const std::vector<CachedKernel>& kernels, size_t i) {
    const CachedKernel& kernel = kernels[i];
    KernelStep step;
    step.kernel = kernel.kernel;
    step.source = std::move(sources->all[i]);
    step.times = kernel.times;
    step.times.emit_ms = sources->emit_ms[i];
    step.origin = kernel.origin;
    step.healed = kernel.healed;
    std::optional<Note> note =
        NoteOfResources(sources->groups[i], step.source.entry, kernel.kernel->resources());
    if (note) exe_->fusion.notes.push_back(*std::move(note));
    return step;
  }

  void AddKernel(size_t p, int g, KernelStep step) {
    const KernelPlan& plan = exe_->plans[p];
    for (const Param& param : plan.params) {
      step.buffers.push_back(
          param.role == ParamRole::kInput ? buffers_->ReadRef(param.value, Now())
          : param.role == ParamRole::kOutput
              ? buffers_->WriteRef(param.value, g, Now())
              : buffers_->ScratchRef(g, param.scratch, param.scratch_bytes, Now()));
    }
    for (Value v : plan.scalar_values) step.scalars.push_back(SignaturePosition(exe_->graph, v));
    AddStep(Step::Kind::kKernel, exe_->kernels.size(), g);
    exe_->kernels.push_back(std::move(step));
  }

  void AddGemm(int g) {
    const Group& group = exe_->fusion.groups[static_cast<size_t>(g)];
    GemmStep step;
    step.call = *group.gemm;
    step.product = static_cast<int>(ProductNumber(exe_->graph, group));
    step.a = buffers_->ReadRef(group.inputs[0], Now());
    step.b = buffers_->ReadRef(group.inputs[1], Now());
    size_t next = 2;
    if (step.call.epilogue.has_c()) step.c = buffers_->ReadRef(group.inputs[next++], Now());
    if (step.call.epilogue.bias) step.bias = buffers_->ReadRef(group.inputs[next], Now());
    step.d = buffers_->WriteRef(group.outputs[0], g, Now());
    step.held_b = buffers_->IsHeld(step.b);
    AddStep(Step::Kind::kGemm, exe_->gemms.size(), g);
    exe_->gemms.push_back(std::move(step));
  }

  void AddSort(int g) {
    const Group& group = exe_->fusion.groups[static_cast<size_t>(g)];
    SortStep step;
    step.call = *group.sort;
    step.indices = buffers_->ReadRef(group.inputs[0], Now());
    step.order = buffers_->WriteRef(group.outputs[0], g, Now());
    step.begin = buffers_->WriteRef(group.outputs[1], g, Now());
    step.end = buffers_->WriteRef(group.outputs[2], g, Now());
    AddStep(Step::Kind::kSort, exe_->sorts.size(), g);
    exe_->sorts.push_back(std::move(step));
  }

  void AddSortKernel(KernelStep step) {
    exe_->sorts.back().loaded.push_back(step.kernel.get());
    exe_->sorts.back().kernels.push_back(std::move(step));
  }

  Executable* exe_;
  BufferMap* buffers_;
};

// `outputs`: by arena slot, as BufferMap::LendOutputs gives it.
void MoveLent(const std::vector<int>& outputs, Executable* exe) {
  const auto move = [&](BufferRef& ref) {
    if (ref.kind != BufferRef::Kind::kArena) return;
    const int output = outputs[static_cast<size_t>(ref.index)];
    if (output >= 0) ref = {BufferRef::Kind::kOutput, output};
  };
  for (KernelStep& step : exe->kernels) {
    for (BufferRef& ref : step.buffers) move(ref);
  }
  for (GemmStep& step : exe->gemms) {
    for (BufferRef* ref : {&step.a, &step.b, &step.d}) move(*ref);
    if (step.c) move(*step.c);
    if (step.bias) move(*step.bias);
  }
  for (SortStep& step : exe->sorts) {
    for (BufferRef* ref : {&step.indices, &step.order, &step.begin, &step.end}) move(*ref);
  }
}

std::string LentToString(const std::vector<int>& outputs) {
  std::string text;
  for (size_t slot = 0; slot < outputs.size(); ++slot) {
    if (outputs[slot] >= 0)
      absl::StrAppend(&text, "  slot ", slot, " lies in output ", outputs[slot], "\n");
  }
  return text;
}

}  // namespace

GemmLibrary LibraryOf(const Backend& backend) {
  return {[&backend](DType dtype) { return GemmRefusal(backend, dtype); },
          [&backend](DType dtype, const GemmEpilogue& epilogue) {
            Reason reason = Reason::kEpilogueActivation;
            const bool takes = backend.EpilogueSupport(dtype, epilogue, &reason).ok();
            return takes ? std::nullopt : std::optional<Reason>(reason);
          },
          [&backend](DType dtype) {
            return backend.GemmGivesF32(dtype) && !GemmRefusal(backend, dtype);
          }};
}

absl::StatusOr<Graph> PrepareGraph(const Graph& graph, const CallClass& cls,
                                   const Options& options) {
  DumpGraph("graph", graph);
  JF_ASSIGN_OR_RETURN(Graph specialized, SpecializeGraph(graph, cls));
  JF_ASSIGN_OR_RETURN(Graph expanded, Expand(specialized));
  DumpGraph("expand", expanded);
  if (!options.rewrite) return expanded;
  JF_ASSIGN_OR_RETURN(Graph optimized, Optimize(expanded));
  DumpGraph("rewrite", optimized);
  return optimized;
}

absl::StatusOr<PlannedGraph> PlanGraph(const Graph& graph, const CallClass& cls,
                                       const Options& options, const Backend& backend) {
  JF_ASSIGN_OR_RETURN(Planned planned, Plan(graph, cls, options, backend));
  JF_RETURN_IF_ERROR(FinishPlan(cls, backend, &planned));
  return std::move(planned.graph);
}

absl::StatusOr<EmittedGraph> EmitGraph(const Graph& graph, const CallClass& cls,
                                       const Options& options, const Backend& backend) {
  CompileGate gate;
  JF_ASSIGN_OR_RETURN(const std::unique_ptr<Written> written,
                      WriteFor(graph, cls, options, backend));
  Planned& planned = written->planned;
  NoteReads(planned.graph, planned.buffers.get());
  JF_ASSIGN_OR_RETURN(std::vector<HeldSlot> held, planned.buffers->HeldSlots());
  return EmittedGraph{std::move(planned.graph), std::move(written->sources.all), std::move(held)};
}

absl::StatusOr<std::shared_ptr<const Executable>> Compile(const Graph& graph, const CallClass& cls,
                                                          const Options& options,
                                                          const Backend& backend,
                                                          KernelCache* kernels) {
  const TraceSpan span("compile", absl::StrCat("compile ", graph.name()));
  Clock::time_point start = Clock::now();
  JF_ASSIGN_OR_RETURN(const std::unique_ptr<Written> written,
                      WriteForCaches(graph, cls, options, backend, *kernels));
  Planned& planned = written->planned;
  Sources& emitted = written->sources;
  planned.graph.times.total_ms = MsSince(start);
  JF_ASSIGN_OR_RETURN(std::vector<CachedKernel> compiled,
                      kernels->GetAll(emitted.all, *written->backend));

  auto exe = std::make_shared<Executable>();
  exe->backend = written->backend;
  exe->graph = planned.graph.graph;
  exe->eval_cost = EvalCost(exe->graph);
  exe->dynamic = cls.dynamic;
  exe->products = options.products;
  exe->fusion = std::move(planned.graph.fusion);
  exe->plans = std::move(planned.graph.plans);
  exe->times = std::move(planned.graph.times);
  StepBuilder(exe.get(), planned.buffers.get()).Build(std::move(emitted), std::move(compiled));
  exe->unlent = planned.buffers->PlanArena();
  exe->most_bytes = planned.buffers->MostBytes();
  const std::vector<int> lent = planned.buffers->LendOutputs();
  MoveLent(lent, exe.get());
  exe->memory = planned.buffers->PlanArena();
  JF_ASSIGN_OR_RETURN(exe->held, planned.buffers->HeldSlots());
  if (DumpEnabled("memory"))
    Dump("memory", graph.name(),
         absl::StrCat(
             MemoryPlanToString(planned.buffers->slots(), exe->memory, graph.symbols().names),
             LentToString(lent)));
  for (Value v : exe->graph.outputs()) exe->outputs.push_back(exe->graph.type(v));
  PlanSizes(exe.get());
  JF_RETURN_IF_ERROR(CheckAliases(cls, *exe));
  if (backend.target().kind != TargetKind::kInterpret) RecordClass(graph, cls, options);
  if (LogEnabled(1)) {
    Log(1, absl::StrCat("compiled ", graph.name(), " for ", ToAbsl(backend.name()), ": ",
                        exe->steps.size(), " steps, planned in ", exe->times.total_ms,
                        " ms, ready after ", MsSince(start), " ms"));
  }
  return std::shared_ptr<const Executable>(std::move(exe));
}

}  // namespace jitfuse::internal
