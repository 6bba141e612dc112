// KernelSource: the seam. What an emitter yields, a compiler takes, and a cache key is made of.
//
// CUDA: `entry` is an extern "C" __global__ function. Its parameters, in order: one pointer per
// buffer (params of the plan), one value per host scalar (its own type; bool as unsigned char;
// f16/bf16 as their float value), one `long long` per size argument. Launch: grid.x = launch.grid
// (a SizeExpr; 0: no launch), block.x = launch.threads, dynamic shared memory launch.smem. CPU:
// `entry` is  void entry(ptr buffers, ptr scalars, ptr sizes, i64 row_begin, i64 row_end, i64
// col_begin, i64 col_end)  where buffers is an array of pointers, scalars an array of 8-byte
// ScalarValue bits, sizes an array of i64. Work: rows * cols points (rows: all parallel axes but
// the last for Flat, all for Row; cols: the last parallel axis for Flat; for Row cols is 1 and the
// range is [0,1)). The caller splits rows, or cols where rows are few. Interpret: the plan itself
// travels along. The cache key is of text, options, arch and the compiler's version; size_args and
// launch are part of the text's head comment, so that they are covered too.
#ifndef JITFUSE_CODEGEN_PLAN_KERNEL_SOURCE_H_
#define JITFUSE_CODEGEN_PLAN_KERNEL_SOURCE_H_

#include <memory>
#include <string>
#include <vector>

#include "codegen/plan/kernel_plan.h"
#include "ir/shape.h"

namespace jitfuse::internal {

enum class SourceLang : uint8_t { kPlan, kCuda, kLlvm };

struct KernelSource {
  SourceLang lang = SourceLang::kPlan;
  std::string text;
  std::string entry;
  std::string arch;                  // Target::arch it was written for
  std::vector<std::string> options;  // compiler options that change the code
  std::vector<SizeExpr> size_args;   // evaluated when a call binds, passed in this order

  SizeExpr grid;  // CUDA
  int threads = 1;
  int smem = 0;

  SizeExpr rows, cols;     // CPU: extents of the work
  SizeExpr bytes_per_row;  // CPU: an estimate of the memory traffic per row, to size chunks
  int64_t grain_bytes = 256 * 1024;
  int64_t col_multiple = 1;  // split cols only at multiples of this

  std::shared_ptr<const KernelPlan> plan;  // kPlan only
};

}  // namespace jitfuse::internal

#endif  // JITFUSE_CODEGEN_PLAN_KERNEL_SOURCE_H_
