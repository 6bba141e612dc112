#include "codegen/fusion/partition.h"

#include "codegen/fusion/sweep.h"
#include "ir/support/status.h"

namespace jitfuse::internal {

absl::StatusOr<FusionPlan> Partition(const Graph& graph, const Target& target,
                                     const Options& options, const GemmLibrary& library,
                                     absl::Span<const Layout> input_layouts) {
  if (!input_layouts.empty() && input_layouts.size() != graph.inputs().size()) {
    return InternalError("partition: ", input_layouts.size(), " layouts for ",
                         graph.inputs().size(), " inputs");
  }
  return Sweep(graph, target, options, library, input_layouts).Run();
}

}  // namespace jitfuse::internal
