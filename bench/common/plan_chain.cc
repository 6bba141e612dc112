#include "bench/common/plan_chain.h"

#include <algorithm>
#include <set>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "api/runtime.h"
#include "codegen/cuda/emit_sort.h"
#include "codegen/plan/access_map.h"
#include "ir/support/check.h"
#include "ir/support/status.h"
#include "ir/text.h"

namespace jitfuse_bench {

using namespace jitfuse::internal;  // NOLINT: a benchmark of the inside

namespace {

// ---- Sorts ----

void AddSort(const SortProblem& problem, bool gpu, Moved* moved) {
  if (!gpu) {
    ++moved->kernels;
    return;
  }
  void* buffers[4] = {};
  absl::Status counted =
      ForEachSortLaunch(problem, buffers, nullptr,
                        [&](size_t, absl::Span<void* const>, absl::Span<const int64_t>, int64_t) {
                          ++moved->kernels;
                          return absl::OkStatus();
                        });
  JF_CHECK(counted.ok());
  // Keys and positions, 8 bytes each: written once, in each pass read for counting (keys alone),
  // read and written to be moved; then read for the order and the bounds.
  const int64_t array = problem.indices() * 8;
  moved->chunk_bytes += array * (2 + int64_t{CudaSortPasses(problem)} * 5 + 2);
}

// ---- Loops ----

// Whether each row has elements of its own here: what all rows share stays in caches.
bool OfEachRow(const KernelPlan& plan, const AccessMap& access) {
  if (NumElements(plan.parallel).Is(1)) return true;
  for (int axis = 0; axis < plan.num_parallel(); ++axis) {
    if (!plan.extent(axis).Is(1) && UsesAxis(access, axis)) return true;
  }
  return false;
}

int64_t BytesOf(const KernelPlan& plan, const AccessMap& access, absl::Span<const int64_t> symbols,
                const Graph& graph) {
  const Param& param = plan.params[static_cast<size_t>(access.param)];
  int64_t points = 1;
  const int axes = plan.num_parallel() + static_cast<int>(plan.inner.size());
  for (int axis = 0; axis < axes; ++axis) {
    if (UsesAxis(access, axis)) points *= plan.extent(axis).Eval(symbols);
  }
  int64_t bytes = points * ItemSize(param.dtype);
  const int64_t whole = param.role == ParamRole::kScratch
                            ? param.scratch_bytes.Eval(symbols)
                            : NumElements(graph.type(param.value).dims).Eval(symbols) *
                                  ItemSize(graph.type(param.value).dtype);
  return std::min(bytes, whole);
}

// Loads that more than one stage lists, where planning says that rows are read again.
int64_t RereadBytes(const KernelPlan& plan, absl::Span<const int64_t> symbols, const Graph& graph) {
  if (std::none_of(plan.notes.begin(), plan.notes.end(),
                   [](const Note& n) { return n.reason == Reason::kRowReread; }))
    return 0;
  std::vector<int> times(plan.insts.size(), 0);
  for (const Stage& stage : plan.stages) {
    for (int id : stage.elem_insts) ++times[static_cast<size_t>(id)];
  }
  int64_t bytes = 0;
  for (size_t id = 0; id < plan.insts.size(); ++id) {
    if (plan.insts[id].kind != Inst::Kind::kLoad || times[id] < 2) continue;
    const AccessMap& access = plan.accesses[static_cast<size_t>(plan.insts[id].access)];
    if (OfEachRow(plan, access)) bytes += (times[id] - 1) * BytesOf(plan, access, symbols, graph);
  }
  return bytes;
}

// What a second kernel of a group reads of the same inputs counts again, as do the buffers
// between the two.
void AddLoops(const PlannedGraph& planned, absl::Span<const int64_t> symbols, Moved* moved) {
  absl::flat_hash_set<std::pair<int, Value>> seen;
  for (size_t p = 0; p < planned.plans.size(); ++p) {
    const KernelPlan& plan = planned.plans[p];
    ++moved->kernels;
    moved->reread_bytes += RereadBytes(plan, symbols, planned.graph);
    std::set<int> read;
    for (const Inst& inst : plan.insts) {
      if (inst.kind != Inst::Kind::kLoad && inst.kind != Inst::Kind::kSegment) continue;
      const AccessMap& access = plan.accesses[static_cast<size_t>(inst.access)];
      if (!read.insert(access.param).second) continue;
      const Param& param = plan.params[static_cast<size_t>(access.param)];
      const bool between = param.role == ParamRole::kScratch;
      if (between || !seen.insert({planned.plan_groups[p], param.value}).second)
        moved->chunk_bytes += BytesOf(plan, access, symbols, planned.graph);
    }
    for (const Stage& stage : plan.stages) {
      for (const Store& store : stage.stores) {
        if (plan.params[static_cast<size_t>(store.access.param)].role == ParamRole::kScratch)
          moved->chunk_bytes += BytesOf(plan, store.access, symbols, planned.graph);
      }
    }
  }
}

// Fallbacks, and why values are stored between groups.
std::vector<std::string> NotesOf(const FusionPlan& plan) {
  std::vector<std::string> out;
  auto add = [&](Reason reason) {
    std::string name(ReasonName(reason));
    if (std::find(out.begin(), out.end(), name) == out.end()) out.push_back(std::move(name));
  };
  for (const Boundary& b : plan.boundaries) {
    if (b.from >= 0 && b.to >= 0) add(b.reason);
  }
  for (const Note& note : plan.notes) add(note.reason);
  return out;
}

}  // namespace

absl::StatusOr<CallClass> DenseClass(const Graph& graph) {
  std::vector<std::vector<int64_t>> dims;
  std::vector<TensorView> views;
  std::vector<int64_t> symbols(graph.symbols().names.size(), kChainRows);
  for (NodeId id : graph.inputs()) dims.push_back(EvalDims(graph.type({id, 0}).dims, symbols));
  for (size_t i = 0; i < dims.size(); ++i)
    views.push_back({nullptr, graph.type({graph.inputs()[i], 0}).dtype, dims[i], {}});
  return ClassifyCall(graph, ComputeShapeFacts(graph), views, {});
}

Moved MovedBy(const PlannedGraph& planned, absl::Span<const int64_t> symbols, bool gpu) {
  Moved moved;
  AddLoops(planned, symbols, &moved);
  for (const Group& group : planned.fusion.groups) {
    moved.once_bytes += GroupBytes(planned.graph, group).Eval(symbols);
    moved.kernels += group.kind == GroupKind::kGemm;
    if (group.kind == GroupKind::kSort) AddSort(Concrete(*group.sort, symbols), gpu, &moved);
  }
  moved.bytes = moved.once_bytes + moved.chunk_bytes + moved.reread_bytes;
  return moved;
}

absl::StatusOr<DensePlan> PlanDense(const Graph& graph, const std::string& arch) {
  const bool gpu = arch.substr(0, 3) == "sm_";
  JF_ASSIGN_OR_RETURN(
      auto backend,
      BackendForArch(gpu ? jitfuse::DeviceKind::kCuda : jitfuse::DeviceKind::kCpu, arch));
  JF_ASSIGN_OR_RETURN(CallClass call, DenseClass(graph));
  DensePlan out;
  JF_ASSIGN_OR_RETURN(out.planned, PlanGraph(graph, call, Options{}, *backend));
  out.moved = MovedBy(out.planned, call.symbols, gpu);
  return out;
}

absl::StatusOr<PlannedChain> PlanChain(const KnownChain& chain, const std::string& arch) {
  jitfuse::Builder builder;
  const std::vector<jitfuse::Tensor> results = chain.build(builder);
  if (!builder.status().ok()) return InvalidArgument(builder.status().message());
  JF_ASSIGN_OR_RETURN(Graph graph, ParseGraph(builder.ToText(results)));
  JF_ASSIGN_OR_RETURN(const DensePlan plan, PlanDense(graph, arch));

  PlannedChain out;
  out.moved = plan.moved;
  out.notes = NotesOf(plan.planned.fusion);
  out.text = FusionPlanToString(plan.planned.graph, plan.planned.fusion);

  std::vector<NodeId> all;
  for (NodeId id = 0; id < static_cast<NodeId>(graph.size()); ++id) {
    all.push_back(id);
    const OpKind kind = graph.node(id).kind();
    out.ops += kind == OpKind::kPointwise || kind == OpKind::kReduce ||
               kind == OpKind::kComposite || kind == OpKind::kJoin || kind == OpKind::kGather ||
               kind == OpKind::kScan || kind == OpKind::kSort || kind == OpKind::kSegment ||
               kind == OpKind::kMatMul;
  }
  out.unfused_bytes =
      UnfusedBytes(graph, all).Eval(std::vector<int64_t>(graph.symbols().names.size(), kChainRows));
  return out;
}

}  // namespace jitfuse_bench
