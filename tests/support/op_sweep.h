// The op table as graphs: every row in every dtype of its domain, for the sweep.
//
// In: nothing but the table: rows are taken as their columns and their example say, so a new row is
// swept without any change here. Out: graphs of several ops side by side, each op beside the same
// op with a flag flipped, other axes, fewer operands or operands that broadcast; their extents are
// the symbols n and m wherever the row allows it. What a row's example cannot say (segment_add,
// whose operands depend on each other) is a graph in graph_sweep.cc; tests/null/graph_fuzz counts
// that no row is missed.
#ifndef JITFUSE_TESTS_SUPPORT_OP_SWEEP_H_
#define JITFUSE_TESTS_SUPPORT_OP_SWEEP_H_

#include <vector>

#include "tests/support/graph_sweep.h"

namespace jitfuse_test {

std::vector<SweepCase> TableCases();

}  // namespace jitfuse_test

#endif  // JITFUSE_TESTS_SUPPORT_OP_SWEEP_H_
