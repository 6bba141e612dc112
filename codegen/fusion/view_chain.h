// View chains: what lies beneath the views of a graph.
//
// In: an expanded graph. Out: for each view, the value that its chain of views ends at (its base)
// and the map from the view's coordinates to the base's, and back where that is one to one. Where
// maps do not compose, or a chain gets long, the view below is `cut`: it is stored and is a base
// itself; so is a view that a join, gather or segment sum cannot be pulled through. Linear in the
// graph, no recursion. Must not know: groups.
#ifndef JITFUSE_CODEGEN_FUSION_VIEW_CHAIN_H_
#define JITFUSE_CODEGEN_FUSION_VIEW_CHAIN_H_

#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "codegen/fusion/relation.h"
#include "ir/graph.h"

namespace jitfuse::internal {

inline constexpr int kMaxViewChain = 8;

// One step down: the coordinates in operand `operand` of a view, join or gather by the axes of
// `space`, for those in the node, in the form that codegen/fusion/relation.h keeps.
std::optional<IndexMap> PullStep(const Graph& graph, NodeId node, int operand, const IndexMap& at,
                                 const IndexSpace& space);
// The space in which operand `operand` of `node` is read by a loop over `domain`.
IndexSpace SpaceOf(const Graph& graph, NodeId node, int operand, const Shape& domain);

struct ViewChain {
  Value base;
  int length = 1;
  IndexMap map;                     // coordinates in base by the view's
  std::optional<IndexMap> inverse;  // coordinates in the view by base's
};

class Views {
 public:
  static absl::StatusOr<Views> Of(const Graph& graph);

  // The value whose elements `v` reads: v itself unless it is an uncut view.
  Value Base(Value v) const {
    const ViewChain* chain = Chain(v);
    return chain != nullptr ? chain->base : v;
  }
  // How to get from v to Base(v); null if they are the same.
  const ViewChain* Chain(Value v) const {
    return cut_[static_cast<size_t>(v.node)] ? nullptr : OwnChain(v.node);
  }
  // A view's own chain, cut or not.
  const ViewChain* OwnChain(NodeId id) const { return chains_[static_cast<size_t>(id)].get(); }
  bool IsCut(NodeId id) const { return cut_[static_cast<size_t>(id)]; }

 private:
  std::vector<std::unique_ptr<ViewChain>> chains_;
  std::vector<bool> cut_;
};

}  // namespace jitfuse::internal

#endif  // JITFUSE_CODEGEN_FUSION_VIEW_CHAIN_H_
