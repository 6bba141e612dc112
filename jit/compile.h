// The compile pipeline: from a graph and a class of calls to an Executable. jit/compile.cc is the
// page to read first.
//
// In: the user's graph, the class of the call (jit/call_class.h), options, a back end, the kernel
// cache. Out: an Executable, or a Status that names what is wrong. Pure apart from the kernel
// cache; safe to run on many threads at once. Nothing here is ever on the path of a warm call.
#ifndef JITFUSE_JIT_COMPILE_H_
#define JITFUSE_JIT_COMPILE_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "codegen/fusion/partition.h"
#include "ir/graph.h"
#include "ir/options.h"
#include "jit/backend.h"
#include "jit/call_class.h"
#include "jit/executable.h"
#include "jit/kernel_cache.h"

namespace jitfuse::internal {

// What planning asks of the back end's matrix library.
GemmLibrary LibraryOf(const Backend& backend);

// Graph passes only: specialise, expand, optimise. Also used by explain().
absl::StatusOr<Graph> PrepareGraph(const Graph& graph, const CallClass& cls,
                                   const Options& options);

// Plans without compiling: the groups and, for each loop group, its kernel plans. `plan_groups[i]`
// is the group of plans[i].
struct PlannedGraph {
  Graph graph;
  FusionPlan fusion;
  std::vector<KernelPlan> plans;
  std::vector<int> plan_groups;
  PlanTimes times;
};
absl::StatusOr<PlannedGraph> PlanGraph(const Graph& graph, const CallClass& cls,
                                       const Options& options, const Backend& backend);

// The sources that Compile would have compiled, how the graph was planned for them, and what
// HeldValues would compile besides.
struct EmittedGraph {
  PlannedGraph planned;
  std::vector<KernelSource> sources;
  std::vector<HeldSlot> held;
};
absl::StatusOr<EmittedGraph> EmitGraph(const Graph& graph, const CallClass& cls,
                                       const Options& options, const Backend& backend);

absl::StatusOr<std::shared_ptr<const Executable>> Compile(const Graph& graph, const CallClass& cls,
                                                          const Options& options,
                                                          const Backend& backend,
                                                          KernelCache* kernels);

}  // namespace jitfuse::internal

#endif  // JITFUSE_JIT_COMPILE_H_
