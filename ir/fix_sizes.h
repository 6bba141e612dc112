// FixSizes: a graph of some of whose inputs the sizes are known; ReplaceSizes: a graph with its
// sizes written anew.
//
// In: the graph, and the dims of inputs by position. Out: the graph in which every symbol that
// these decide, by itself or through what ops hold to be equal, is that number, in types and
// attributes. Names, symbols and the order of nodes stay. Errors: InvalidArgument that names the
// input, the dim, what it is and what was expected; or that of an op whose operands do not fit one
// another then. Must not know: why sizes are known.
#ifndef JITFUSE_IR_FIX_SIZES_H_
#define JITFUSE_IR_FIX_SIZES_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ir/graph.h"

namespace jitfuse::internal {

struct KnownDims {
  int position = 0;  // of the signature
  std::vector<int64_t> dims;
};
absl::StatusOr<Graph> FixSizes(const Graph& graph, absl::Span<const KnownDims> known);

// Into an empty graph that has the names and symbols it shall have.
absl::Status ReplaceSizes(const Graph& from,
                          const std::function<SizeExpr(const SizeExpr&)>& replace, Graph* to);

}  // namespace jitfuse::internal

#endif  // JITFUSE_IR_FIX_SIZES_H_
