// ReduceProgram: one pass of a reduction's row, with its bodies instantiated for a node's types.
//
// In: a kReduce or kScan node. Out: accumulator types, and programs for init, lift, combine and
// finalize. Arguments: lift(x, i, r0 ..) with x already in the accumulators' type where the rule is
// kSum, i an i64, r the earlier pass's results; combine(a0 .., b0 ..); finalize(a0 .., n) with n in
// the accumulators' type if that is a float, else i64. Must not know: how elements are traversed.
#ifndef JITFUSE_IR_REDUCE_PROGRAM_H_
#define JITFUSE_IR_REDUCE_PROGRAM_H_

#include <vector>

#include "absl/status/statusor.h"
#include "ir/graph.h"

namespace jitfuse::internal {

struct ReduceProgram {
  std::vector<DType> acc;
  DType x;  // type of lift's x
  DType n;  // type of finalize's n
  std::vector<ScalarValue> init;
  ScalarProgram lift, combine, finalize;
};

// Accumulator types for `num_acc` slots of a reduction over elements of dtype `in`.
std::vector<DType> AccumulatorTypes(AccRule rule, int num_acc, DType in);
// The passes to run: the two passes of the row where it has them (they are the more accurate form)
// and `two_pass` says so, else its one pass.
absl::StatusOr<std::vector<ReduceProgram>> BuildReducePrograms(const Graph& graph, const Node& node,
                                                               bool two_pass = true);

}  // namespace jitfuse::internal

#endif  // JITFUSE_IR_REDUCE_PROGRAM_H_
