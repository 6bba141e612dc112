// Shrink: a failing case -> a smaller one that fails in the same way.
//
// In: a case, and a predicate that runs a candidate. Out: the smallest case found until nothing
// helps or `seconds` are over: fewer outputs, ranges of nodes replaced by inputs, nodes replaced by
// an operand, smaller dims, symbols made constants, f32 for other dtypes, plain layouts and data,
// default options. The result still fails by the predicate. Must not know: back ends.
#ifndef JITFUSE_TESTS_GRAPH_FUZZ_SHRINK_H_
#define JITFUSE_TESTS_GRAPH_FUZZ_SHRINK_H_

#include <functional>

#include "tests/graph_fuzz/fuzz_case.h"

namespace jitfuse::internal {

FuzzCase Shrink(FuzzCase failing, const std::function<bool(const FuzzCase&)>& fails,
                double seconds);

}  // namespace jitfuse::internal

#endif  // JITFUSE_TESTS_GRAPH_FUZZ_SHRINK_H_
