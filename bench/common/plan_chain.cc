#include "bench/common/plan_chain.h"

#include <set>
#include <vector>

#include "api/runtime.h"
#include "ir/support/status.h"
#include "ir/text.h"
#include "jit/compile.h"

namespace jitfuse_bench {

using namespace jitfuse::internal;  // NOLINT: a benchmark of the inside

absl::StatusOr<CallClass> DenseClass(const Graph& graph) {
  std::vector<std::vector<int64_t>> dims;
  std::vector<TensorView> views;
  std::vector<int64_t> symbols(graph.symbols().names.size(), kChainRows);
  for (NodeId id : graph.inputs()) dims.push_back(EvalDims(graph.type({id, 0}).dims, symbols));
  for (size_t i = 0; i < dims.size(); ++i)
    views.push_back({nullptr, graph.type({graph.inputs()[i], 0}).dtype, dims[i], {}});
  return ClassifyCall(graph, ComputeShapeFacts(graph), views, {});
}

absl::StatusOr<PlannedChain> PlanChain(const KnownChain& chain, const std::string& arch) {
  jitfuse::Builder builder;
  const std::vector<jitfuse::Tensor> results = chain.build(builder);
  if (!builder.status().ok()) return InvalidArgument(builder.status().message());
  JF_ASSIGN_OR_RETURN(Graph graph, ParseGraph(builder.ToText(results)));
  const bool gpu = arch.substr(0, 3) == "sm_";
  JF_ASSIGN_OR_RETURN(
      auto backend,
      BackendForArch(gpu ? jitfuse::DeviceKind::kCuda : jitfuse::DeviceKind::kCpu, arch));
  JF_ASSIGN_OR_RETURN(CallClass call, DenseClass(graph));
  JF_ASSIGN_OR_RETURN(PlannedGraph planned, PlanGraph(graph, call, Options{}, *backend));

  PlannedChain out;
  const std::set<int> groups(planned.plan_groups.begin(), planned.plan_groups.end());
  out.kernels = static_cast<int>(groups.size());
  for (const Group& group : planned.fusion.groups)
    out.bytes += GroupBytes(planned.graph, group).Eval(call.symbols);
  out.text = FusionPlanToString(planned.graph, planned.fusion);

  std::vector<NodeId> all;
  for (NodeId id = 0; id < static_cast<NodeId>(graph.size()); ++id) {
    all.push_back(id);
    const OpKind kind = graph.node(id).kind();
    out.ops += kind == OpKind::kPointwise || kind == OpKind::kReduce ||
               kind == OpKind::kComposite || kind == OpKind::kJoin || kind == OpKind::kGather ||
               kind == OpKind::kScan || kind == OpKind::kSort || kind == OpKind::kSegment;
  }
  out.unfused_bytes =
      UnfusedBytes(graph, all).Eval(std::vector<int64_t>(graph.symbols().names.size(), kChainRows));
  return out;
}

}  // namespace jitfuse_bench
