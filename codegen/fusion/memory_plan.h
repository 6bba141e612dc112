// Memory plan: every intermediate result of a graph in one arena, sharing bytes where lifetimes do
// not meet.
//
// In: per buffer its size (which may hold symbols) and the first and last step that touches it,
// both inclusive. Out: an offset per buffer and the arena's size, as SizeExprs: a new batch size
// evaluates them and plans nothing. Buffers of constant size are packed best-fit at the front;
// those of symbolic size share slots behind them, a slot being as large as the largest of its
// buffers. Offsets are multiples of 256 bytes. Invariant: buffers whose lifetimes meet do not
// overlap, for all values of the symbols. Memory that something else is written to later may be
// lent to buffers before (LendMemory), which the arena then does not hold; buffers may be kept
// apart. Must not know: graphs, groups, devices.
#ifndef JITFUSE_CODEGEN_FUSION_MEMORY_PLAN_H_
#define JITFUSE_CODEGEN_FUSION_MEMORY_PLAN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "ir/shape.h"

namespace jitfuse::internal {

inline constexpr int64_t kBufferAlign = 256;

struct LiveBuffer {
  SizeExpr bytes;
  int first = 0, last = 0;  // steps
  // Behind all others and with none of their bytes, so that the arena is the others' and this.
  bool apart = false;
};

struct MemoryPlan {
  std::vector<SizeExpr> offsets;  // by buffer, in bytes
  SizeExpr total_bytes;
};

struct Lender {
  SizeExpr bytes;
  int until = 0;  // the step that writes it first; one that may not lend: 0
};

// By buffer: the lender whose memory it may lie in, from the first step on; -1: none. No two
// buffers whose lifetimes meet get one lender.
std::vector<int> LendMemory(const std::vector<LiveBuffer>& values,
                            const std::vector<Lender>& lenders);

MemoryPlan PlanMemory(const std::vector<LiveBuffer>& values);
std::string MemoryPlanToString(const std::vector<LiveBuffer>& values, const MemoryPlan& plan,
                               const std::vector<std::string>& symbol_names);

}  // namespace jitfuse::internal

#endif  // JITFUSE_CODEGEN_FUSION_MEMORY_PLAN_H_
