// gemm_epilogue: which pointwise nodes behind a matrix product the library computes with it.
//
// In: a lowered graph, its views, strided inputs' layouts, and what the library takes. Out: for
// each product the chain of nodes that becomes its epilogue (alpha, C and bias in any order, each
// once, then an activation; views between them may only reshape), its last node, what it reads, and
// why the next node is not part of it. A node joins only if it is the one reader of what is before
// it, and only if the library means exactly what the node says: a bias is one number a column, lies
// densely in memory and is told from one a row even if the product is square; C has the product's
// shape and rows with unit stride. Factors of the product are up to 1: libraries may take them
// first. What a library takes at all, by dtype and activation, is the table gemm_epilogues.inc, and
// what its back end finds out about it. Pure. Must not know: groups in the making, devices.
#ifndef JITFUSE_CODEGEN_FUSION_GEMM_EPILOGUE_H_
#define JITFUSE_CODEGEN_FUSION_GEMM_EPILOGUE_H_

#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "codegen/fusion/gemm_match.h"
#include "codegen/fusion/partition.h"
#include "codegen/fusion/view_chain.h"
#include "ir/graph.h"

namespace jitfuse::internal {

struct EpilogueMatch {
  NodeId product = -1;
  Value result;               // what the library writes
  std::vector<NodeId> nodes;  // behind the product, `result` included, views left out; ascending
  GemmEpilogue epilogue;
  std::optional<Value> c, bias;      // as the nodes read them
  SizeExpr ldc, batch_stride_c;      // of C, by the product's rows and batch
  std::optional<Rejection> stopped;  // why what reads `result` is not part of it, if that is one
                                     // pointwise node
};

struct EpilogueQuestion {
  const Graph& graph;
  const Views& views;
  TargetKind target;
  const EpilogueSupportFn& library;              // null: takes none
  absl::Span<const Layout> input_layouts;        // as in Partition
  int64_t max_chains = -1;                       // so many are looked for; -1: all
  absl::Span<const ProductChoice> choices = {};  // as Options::products
};
std::vector<EpilogueMatch> MatchEpilogues(const EpilogueQuestion& question);

// By the table alone: why this target's library does not compute the epilogue with the product.
std::optional<Reason> TableRefusal(TargetKind target, DType dtype, const GemmEpilogue& epilogue);

}  // namespace jitfuse::internal

#endif  // JITFUSE_CODEGEN_FUSION_GEMM_EPILOGUE_H_
