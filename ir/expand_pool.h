// The windows of a pooling composite, as its expansion has them.
//
// In: a pooling node, whose operand is a value of the graph. Out: its windows as one tensor, in the
// dtype in which they are reduced, with the border that the padding makes; the axes that the
// elements of a window have in it; and, of avg_pool, by how many elements each window's sum is
// divided. Expansions and gradients share it.
// Must not know: what is done with windows.
#ifndef JITFUSE_IR_EXPAND_POOL_H_
#define JITFUSE_IR_EXPAND_POOL_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "ir/graph.h"

namespace jitfuse::internal {

struct PoolWindows {
  Value windows;
  std::vector<int64_t> axes;
  Value count;  // of avg_pool; of the reduced shape or of rank 0
};
absl::StatusOr<PoolWindows> MaxPoolWindows(Graph* graph, const Node& node);
absl::StatusOr<PoolWindows> AvgPoolWindows(Graph* graph, const Node& node);
// Of max_pool, the same windows of 1 where there is an element of x, of 0 in the border (i32);
// invalid where there is no border.
absl::StatusOr<Value> MaxPoolElements(Graph* graph, const Node& node);

}  // namespace jitfuse::internal

#endif  // JITFUSE_IR_EXPAND_POOL_H_
