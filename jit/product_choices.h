// What a call's plan may have in place of the planner's choice at its matrix products: what tuning
// tries, and what pre-caching has kernels for.
//
// In: a planned graph. Out: numbers of products, and choices (ir/options.h). Pure. Must not know:
// who asks.
#ifndef JITFUSE_JIT_PRODUCT_CHOICES_H_
#define JITFUSE_JIT_PRODUCT_CHOICES_H_

#include <cstddef>
#include <vector>

#include "codegen/fusion/group.h"
#include "ir/graph.h"
#include "ir/options.h"

namespace jitfuse::internal {

// Which of the graph's products the group, which is one of a matrix library, holds.
size_t ProductNumber(const Graph& graph, const Group& group);

// What of the epilogue a library may compute that makes another plan than all of it does: sums
// without the activation if there are both, and nothing.
std::vector<ProductChoice::Epilogue> SmallerEpilogues(const GemmEpilogue& epilogue);

// Whether any product was given zeros behind its k or n.
bool AnyPadded(const FusionPlan& plan);

// Plans besides the first: each combination of what the products may be, as long as these are at
// most kMostPlans, else all products alike, as far as they may.
inline constexpr size_t kMostPlans = 81;
std::vector<std::vector<ProductChoice>> OtherChoices(const Graph& graph, const FusionPlan& plan);

}  // namespace jitfuse::internal

#endif  // JITFUSE_JIT_PRODUCT_CHOICES_H_
