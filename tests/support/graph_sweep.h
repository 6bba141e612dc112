// Graph text -> results on executors -> the evaluator's bounds. One list of graphs for the CPU, the
// interpreter, a GPU and (compiled only) NVRTC.
//
// In: a case and executors ("cpu", "interpret", "cuda"). Out: gtest failures that name the graph,
// the sizes and the worst element, and hold the call as a .jf for jf_fuzz --replay. Each graph is
// called with all its sizes on dense inputs, and with strided ones (gaps, backwards), misaligned
// ones, ones that repeat along an axis (stride 0) and ones whose axes lie in another order, whose
// results have gaps. Values are ordinary numbers, or many of them special: NaN, infinities, zeros
// of both signs, subnormals; of integers the least and greatest, 0, 1, -1 and the width. Inputs
// that are positions stay in range.
#ifndef JITFUSE_TESTS_SUPPORT_GRAPH_SWEEP_H_
#define JITFUSE_TESTS_SUPPORT_GRAPH_SWEEP_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/graph_fuzz/run_case.h"

namespace jitfuse_test {

struct SweepCase {
  std::string name;
  std::string text;
  std::vector<std::map<std::string, std::int64_t>> sizes;
  bool specials = false;
  bool both_values = false;  // ordinary values, then special ones
  bool gemm_library = true;
};

// Every op in every dtype (TableCases of op_sweep.h), and graphs of several ops.
std::vector<SweepCase> SweepCases();
// Of them, products and what libraries compute behind them.
void AddGemmEpilogues(std::vector<SweepCase>* out);

// One call of a case, as the graph fuzzer runs and prints it.
struct SweepCall {
  jitfuse::internal::FuzzCase made;
  std::size_t size = 0;  // of SweepCase::sizes
  std::string layout;    // dense, strided, misaligned, repeated, reordered
  bool specials = false;
};
std::vector<SweepCall> SweepCalls(const SweepCase& c);

// Runs all calls. Each output must be held to a finite bound in enough of its elements where values
// are ordinary, else the case shows nothing.
void RunSweepCase(const SweepCase& c, const std::vector<std::string>& executors);

}  // namespace jitfuse_test

#endif  // JITFUSE_TESTS_SUPPORT_GRAPH_SWEEP_H_
