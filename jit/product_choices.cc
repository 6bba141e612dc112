#include "jit/product_choices.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"

namespace jitfuse::internal {
namespace {

using Choices = std::vector<ProductChoice>;
using Epilogue = ProductChoice::Epilogue;

constexpr ProductChoice kUnpadded = {Epilogue::kAll, false, ProductChoice::Padding::kNever};

bool IsProduct(const Graph& graph, NodeId id) { return graph.node(id).kind() == OpKind::kMatMul; }

// By product: what it may be, the planner's choice first. Epilogues of products that are computed
// once are not the call's.
std::vector<Choices> MayBe(const Graph& graph, const FusionPlan& plan) {
  size_t products = 0;
  for (NodeId id = 0; id < graph.size(); ++id) products += IsProduct(graph, id) ? 1 : 0;
  std::vector<Choices> out(products, Choices(1));
  absl::flat_hash_set<int> once;
  for (const Note& note : plan.notes) {
    if (note.reason == Reason::kBoundOnce) once.insert(note.group);
  }
  for (size_t g = 0; g < plan.groups.size(); ++g) {
    const Group& group = plan.groups[g];
    if (!group.gemm || once.contains(static_cast<int>(g))) continue;
    Choices& choices = out[ProductNumber(graph, group)];
    for (Epilogue epilogue : SmallerEpilogues(group.gemm->epilogue)) choices.push_back({epilogue});
  }
  if (!AnyPadded(plan)) return out;
  for (Choices& choices : out) choices.push_back(kUnpadded);
  return out;
}

// All but the first, which is the planner's.
std::vector<Choices> Combinations(const std::vector<Choices>& may_be, size_t count) {
  std::vector<Choices> out;
  for (size_t i = 1; i < count; ++i) {
    size_t rest = i;
    for (const Choices& choices : may_be) {
      if (&choices == may_be.data()) out.emplace_back();
      out.back().push_back(choices[rest % choices.size()]);
      rest /= choices.size();
    }
  }
  return out;
}

std::vector<Choices> Uniform(const std::vector<Choices>& may_be) {
  std::vector<Choices> out;
  for (const ProductChoice& wanted :
       {ProductChoice{Epilogue::kSums}, ProductChoice{Epilogue::kNone}, kUnpadded}) {
    Choices all;
    bool any = false;
    for (const Choices& choices : may_be) {
      const bool has = std::find(choices.begin(), choices.end(), wanted) != choices.end();
      all.push_back(has ? wanted : ProductChoice());
      any = any || has;
    }
    if (any) out.push_back(std::move(all));
  }
  return out;
}

}  // namespace

size_t ProductNumber(const Graph& graph, const Group& group) {
  const auto is_product = [&](NodeId id) { return IsProduct(graph, id); };
  const NodeId own = *std::find_if(group.nodes.begin(), group.nodes.end(), is_product);
  size_t before = 0;
  for (NodeId id = 0; id < own; ++id) before += is_product(id) ? 1 : 0;
  return before;
}

std::vector<Epilogue> SmallerEpilogues(const GemmEpilogue& epilogue) {
  if (epilogue.empty()) return {};
  const bool sums = epilogue.bias || epilogue.has_c() || epilogue.alpha != 1;
  if (sums && epilogue.activation != GemmActivation::kNone)
    return {Epilogue::kSums, Epilogue::kNone};
  return {Epilogue::kNone};
}

bool AnyPadded(const FusionPlan& plan) {
  return std::any_of(plan.notes.begin(), plan.notes.end(),
                     [](const Note& n) { return n.reason == Reason::kGemmPadded; });
}

std::vector<Choices> OtherChoices(const Graph& graph, const FusionPlan& plan) {
  const std::vector<Choices> may_be = MayBe(graph, plan);
  size_t count = 1;
  for (const Choices& choices : may_be) count = std::min(count * choices.size(), kMostPlans + 1);
  return count <= kMostPlans ? Combinations(may_be, count) : Uniform(may_be);
}

}  // namespace jitfuse::internal
