// What the stages of the pipeline took, in milliseconds, for explain(); 0 where one was not needed.
#ifndef JITFUSE_JIT_STAGE_TIMES_H_
#define JITFUSE_JIT_STAGE_TIMES_H_

#include <vector>

namespace jitfuse::internal {

// Of an executable, when it was made.
struct PlanTimes {
  double graph_ms = 0;           // specialise, expand, rewrite
  double fuse_ms = 0;            // matrix products lowered, groups made
  double total_ms = 0;           // everything before the compiler
  std::vector<double> group_ms;  // by group: its kernel plans
};

// Of a kernel.
struct KernelTimes {
  double emit_ms = 0;
  double find_ms = 0;     // looking for its code in the disk cache, found or not
  double compile_ms = 0;  // NVRTC or LLVM
  double load_ms = 0;
};

}  // namespace jitfuse::internal

#endif  // JITFUSE_JIT_STAGE_TIMES_H_
