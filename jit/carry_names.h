// The user's names for values of a planned graph.
//
// In: the user's graph, the names of its values, and how PlanGraph planned it (jit/compile.h). Out:
// names of values of the planned graph, for ValueNamer. The passes run once more, on a graph that
// returns each named value, so only explain() does this. No error: where a pass refuses that graph
// there are no names.
#ifndef JITFUSE_JIT_CARRY_NAMES_H_
#define JITFUSE_JIT_CARRY_NAMES_H_

#include "ir/options.h"
#include "ir/value_names.h"
#include "jit/backend.h"
#include "jit/call_class.h"

namespace jitfuse::internal {

ValueNames CarryNames(const Graph& graph, const ValueNames& names, const CallClass& cls,
                      const Options& options, const Backend& backend, const Graph& planned);

}  // namespace jitfuse::internal

#endif  // JITFUSE_JIT_CARRY_NAMES_H_
