#include "jit/carry_names.h"

#include <optional>
#include <string>
#include <vector>

#include "codegen/fusion/partition.h"
#include "ir/expand.h"
#include "ir/rewrite/optimize.h"
#include "ir/support/status.h"
#include "jit/compile.h"
#include "jit/group_products.h"

namespace jitfuse::internal {
namespace {

// As jit/compile.cc runs them, without dumps.
absl::StatusOr<Graph> RunPasses(const Graph& graph, const CallClass& cls, const Options& options,
                                const Backend& backend) {
  JF_ASSIGN_OR_RETURN(Graph now, SpecializeGraph(graph, cls));
  JF_ASSIGN_OR_RETURN(now, Expand(now));
  if (options.rewrite) {
    JF_ASSIGN_OR_RETURN(now, Optimize(now));
  }
  const GemmLibrary library = LibraryOf(backend);
  JF_ASSIGN_OR_RETURN(const GroupedProducts grouped,
                      GroupProducts(std::move(now), cls.bound_inputs, options, library.product));
  JF_ASSIGN_OR_RETURN(LoweredGraph lowered,
                      LowerMatMul(grouped.graph, options, library, cls.inputs, &backend.target()));
  return std::move(lowered.graph);
}

}  // namespace

ValueNames CarryNames(const Graph& graph, const ValueNames& names, const CallClass& cls,
                      const Options& options, const Backend& backend, const Graph& planned) {
  if (names.empty()) return {};
  const auto [marked, order] = WithNamedOutputs(graph, names);
  const absl::StatusOr<Graph> passed = RunPasses(marked, cls, options, backend);
  return passed.ok() ? FindNames(*passed, order, planned) : ValueNames();
}

}  // namespace jitfuse::internal
