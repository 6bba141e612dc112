// From a call of a manifest to the classes of calls (jit/call_class.h) that it stands for, and
// back.
//
// In: a graph and sizes, layouts and bound inputs by name. Out: every class once, in the order in
// which combinations of sizes meet it, with the graph that its functions have: that of a bound
// function has the sizes that its bound arrays decide. InvalidArgument says where in the manifest
// what is wrong: an unknown symbol or input, one that is missing, sizes that the graph refuses.
// DescribeCall is the other direction: of a class as it was made for a call, one that gives the
// same class. Pure. Must not know: JSON, back ends.
#ifndef JITFUSE_JIT_MANIFEST_CALLS_H_
#define JITFUSE_JIT_MANIFEST_CALLS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ir/graph.h"
#include "jit/call_class.h"
#include "jit/manifest.h"

namespace jitfuse::internal {

struct ClassOfCalls {
  std::shared_ptr<const Graph> graph;
  CallClass cls;
  std::map<std::string, int64_t> sizes;  // by symbol: the first combination that met it
};
absl::StatusOr<std::vector<ClassOfCalls>> ClassesOf(const std::shared_ptr<const Graph>& graph,
                                                    const ManifestCall& call,
                                                    absl::Span<const std::string> bound,
                                                    Dynamic dynamic = Dynamic::kLeading);

ManifestCall DescribeCall(const Graph& graph, const CallClass& cls);
std::vector<std::string> BoundNames(const Graph& graph, const CallClass& cls);

}  // namespace jitfuse::internal

#endif  // JITFUSE_JIT_MANIFEST_CALLS_H_
