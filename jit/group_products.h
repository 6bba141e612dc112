// GroupProducts: products of one matrix with several bound ones (the projections of an attention)
// as one product.
//
// In: an optimised graph, which inputs are bound, what the library multiplies. Out: the graph in
// which products of one A, whose right operands depend on bound inputs alone, are one product with
// these operands put side by side, and slices of its result; with a bias for each, where all have
// one that is bound. What is put side by side depends on bound inputs alone, too, so that it is
// computed once (jit/buffers.h). Slices that are returned, or multiplied again, cost a copy:
// products are grouped where that makes fewer kernels. A Note says what was grouped, and which
// products of one matrix stay apart and why. LowerMatMul comes after it. Must not know: layouts,
// which library.
#ifndef JITFUSE_JIT_GROUP_PRODUCTS_H_
#define JITFUSE_JIT_GROUP_PRODUCTS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "codegen/fusion/group.h"
#include "codegen/fusion/partition.h"
#include "ir/graph.h"
#include "ir/options.h"

namespace jitfuse::internal {

struct GroupedProducts {
  Graph graph;
  std::vector<Note> notes;  // of the whole graph
};
// `bound`: by signature position; empty: no input is.
absl::StatusOr<GroupedProducts> GroupProducts(Graph graph, const std::vector<bool>& bound,
                                              const Options& options, const GemmSupportFn& support);

}  // namespace jitfuse::internal

#endif  // JITFUSE_JIT_GROUP_PRODUCTS_H_
