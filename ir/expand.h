// Expand: composites rewritten in primitive kinds, and implicit broadcasts made explicit.
//
// In: any valid graph. Out: an equivalent graph with the same name, inputs, symbols, guards and
// outputs, in which no node is a composite and every pointwise operand has exactly its node's shape
// (`broadcast` views stand where it had not, rank-0 constants included). Matmul's batch dims stay
// implicit. Composites of f16 and bf16 compute in f32: a cast at the start, one at the end; nothing
// between rounds. A reduction of rank 0 is one over an axis of size 1. The user's own casts stay.
// Scans that run backwards become forward ones between flips, and none is left along an axis of
// size 1. Dead nodes are dropped. Time and memory are linear, nothing recurses.
// Must not know: rewriting rules, groups. The functions Expand* below are the `expand` column of
// ir/ops.inc; those after Linear are in ir/expand_{norm,loss,index,random}.cc.
#ifndef JITFUSE_IR_EXPAND_H_
#define JITFUSE_IR_EXPAND_H_

#include "absl/status/statusor.h"
#include "ir/graph.h"

namespace jitfuse::internal {

absl::StatusOr<Graph> Expand(const Graph& graph);

using Expansion = absl::StatusOr<absl::InlinedVector<Value, 1>>;
Expansion ExpandStopGradient(Graph* graph, const Node& node);
Expansion ExpandToReshape(Graph* graph, const Node& node);
Expansion ExpandVar(Graph* graph, const Node& node);
Expansion ExpandLogsumexp(Graph* graph, const Node& node);
Expansion ExpandSoftmax(Graph* graph, const Node& node);
Expansion ExpandLogSoftmax(Graph* graph, const Node& node);
Expansion ExpandLayerNorm(Graph* graph, const Node& node);
Expansion ExpandRmsNorm(Graph* graph, const Node& node);
Expansion ExpandLinear(Graph* graph, const Node& node);
// expand_views.cc
Expansion ExpandStack(Graph* graph, const Node& node);
Expansion ExpandPadReflect(Graph* graph, const Node& node);
Expansion ExpandPadEdge(Graph* graph, const Node& node);
Expansion ExpandPadWrap(Graph* graph, const Node& node);
Expansion ExpandEmbedding(Graph* graph, const Node& node);
Expansion ExpandMaxPool(Graph* graph, const Node& node);
Expansion ExpandAvgPool(Graph* graph, const Node& node);
Expansion ExpandMaxWithIndex(Graph* graph, const Node& node);
Expansion ExpandMinWithIndex(Graph* graph, const Node& node);
Expansion ExpandMaxOfAll(Graph* graph, const Node& node);
Expansion ExpandMinOfAll(Graph* graph, const Node& node);
Expansion ExpandStd(Graph* graph, const Node& node);
Expansion ExpandCountNonzero(Graph* graph, const Node& node);
Expansion ExpandVectorNorm(Graph* graph, const Node& node);
Expansion ExpandGroupNorm(Graph* graph, const Node& node);
Expansion ExpandInstanceNorm(Graph* graph, const Node& node);
Expansion ExpandBatchNorm(Graph* graph, const Node& node);
Expansion ExpandBatchNormTraining(Graph* graph, const Node& node);
Expansion ExpandMseLoss(Graph* graph, const Node& node);
Expansion ExpandL1Loss(Graph* graph, const Node& node);
Expansion ExpandSmoothL1Loss(Graph* graph, const Node& node);
Expansion ExpandHuberLoss(Graph* graph, const Node& node);
Expansion ExpandBceLoss(Graph* graph, const Node& node);
Expansion ExpandBceWithLogitsLoss(Graph* graph, const Node& node);
Expansion ExpandKlDivLoss(Graph* graph, const Node& node);
Expansion ExpandNllLoss(Graph* graph, const Node& node);
Expansion ExpandCrossEntropy(Graph* graph, const Node& node);
Expansion ExpandTril(Graph* graph, const Node& node);
Expansion ExpandTriu(Graph* graph, const Node& node);
Expansion ExpandEye(Graph* graph, const Node& node);
Expansion ExpandOneHot(Graph* graph, const Node& node);
Expansion ExpandArange(Graph* graph, const Node& node);
Expansion ExpandLinspace(Graph* graph, const Node& node);
// expand_scatter.cc
Expansion ExpandIndexAdd(Graph* graph, const Node& node);
Expansion ExpandScatterAdd(Graph* graph, const Node& node);
Expansion ExpandRandomUniform(Graph* graph, const Node& node);
Expansion ExpandRandomNormal(Graph* graph, const Node& node);
Expansion ExpandBernoulli(Graph* graph, const Node& node);
Expansion ExpandDropout(Graph* graph, const Node& node);

}  // namespace jitfuse::internal

#endif  // JITFUSE_IR_EXPAND_H_
