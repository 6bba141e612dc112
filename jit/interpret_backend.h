// The interpreter as a back end: plans are run by codegen/plan/interpret_plan, on host memory. Slow
// and plain; the third opinion.
//
// In and out as jit/backend.h says. There is no text and no compiler: the plan rides along in the
// source. Matrix products are always lowered to loop groups (reason gemm_no_library).
#ifndef JITFUSE_JIT_INTERPRET_BACKEND_H_
#define JITFUSE_JIT_INTERPRET_BACKEND_H_

#include <memory>

#include "jit/backend.h"

namespace jitfuse::internal {

std::unique_ptr<Backend> CreateInterpretBackend();

}  // namespace jitfuse::internal

#endif  // JITFUSE_JIT_INTERPRET_BACKEND_H_
