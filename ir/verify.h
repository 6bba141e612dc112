// VerifyGraph: all that graph.h promises, checked from the outside.
//
// In: a graph from anywhere (a parser, a pass, the API). Out: OK, or InvalidArgument that names the
// node and what does not hold. Every node is inferred again: operands come before, arity,
// attributes in their normal form, result types. Two sizes that must be equal need a guard that the
// graph already has. Every symbol of a type must be some input's size. Linear; nothing recurses.
// Must not know: what made the graph.
#ifndef JITFUSE_IR_VERIFY_H_
#define JITFUSE_IR_VERIFY_H_

#include "absl/status/status.h"
#include "ir/graph.h"

namespace jitfuse::internal {

absl::Status VerifyGraph(const Graph& graph);

}  // namespace jitfuse::internal

#endif  // JITFUSE_IR_VERIFY_H_
