// Graph text -> results on a back end -> the evaluator's bounds. One list of graphs for the CPU,
// the interpreter and a GPU.
//
// In: a device kind. Out: gtest failures that name the graph, the shapes and the worst element.
// Inputs are random, with NaN, infinities, zeros of both signs and subnormals mixed in where
// `specials` says so. Each graph is also run with strided and misaligned inputs.
#ifndef JITFUSE_TESTS_SUPPORT_GRAPH_SWEEP_H_
#define JITFUSE_TESTS_SUPPORT_GRAPH_SWEEP_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "api/options.h"

namespace jitfuse_test {

struct SweepCase {
  std::string name;
  std::string text;
  std::vector<std::map<std::string, std::int64_t>> sizes;
  bool specials = false;
};

std::vector<SweepCase> SweepCases();
// Runs one case for all its sizes and layouts on `kind`. Layouts: 0 dense, 1 strided (inputs are
// every other element, some backwards), 2 misaligned.
void RunSweepCase(const SweepCase& c, jitfuse::DeviceKind kind);

}  // namespace jitfuse_test

#endif  // JITFUSE_TESTS_SUPPORT_GRAPH_SWEEP_H_
