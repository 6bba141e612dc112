// The op chains that people write fused kernels for by hand, and the least number of kernels each
// can be: what bench_chains prints and tests/null/fusion/chains_test.cc holds.
//
// In: nothing. Out: the list. `least` counts kernels of a planner that knows no more than the
// chain: one for everything that one pass over rows can do, one more where results of rows are
// reduced again. `kernels` is what we launch on a GPU, where it is not that, and `remark` says why,
// or what keeps the kernel from being a good one: a test holds both. Chains with matrix products
// are not here: their kernels are the library's. Must not know: how anything is planned.
#ifndef JITFUSE_BENCH_COMMON_KNOWN_CHAINS_H_
#define JITFUSE_BENCH_COMMON_KNOWN_CHAINS_H_

#include <vector>

#include "api/jitfuse.h"

namespace jitfuse_bench {

struct KnownChain {
  const char* name;
  int least;
  std::vector<jitfuse::Tensor> (*build)(jitfuse::Builder& b);
  int kernels = 0;  // on a GPU; 0: `least`
  const char* remark = "";
};

const std::vector<KnownChain>& KnownChains();

}  // namespace jitfuse_bench

#endif  // JITFUSE_BENCH_COMMON_KNOWN_CHAINS_H_
