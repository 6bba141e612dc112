// Calls that need more stack than a caller's thread may have.
//
// Compilers recurse: NVRTC dies on a stack of 512 KB, which is what some runtimes give their
// threads. RunWithStack calls fn where it stands if at least kCompilerStack bytes are left, else on
// a thread of its own that has twice as many, and waits for it. Thread-local state (the CUDA
// context, say) is then another thread's: fn must not need any.
// Must not know: what it runs.
#ifndef JITFUSE_IR_SUPPORT_STACK_H_
#define JITFUSE_IR_SUPPORT_STACK_H_

#include <cstddef>
#include <functional>

namespace jitfuse::internal {

inline constexpr size_t kCompilerStack = size_t{4} << 20;

// Bytes of stack left to this thread, or 0 if that is not known.
size_t StackLeft();
// False if a thread was needed and could not be made; then fn was not called.
bool RunWithStack(const std::function<void()>& fn);

}  // namespace jitfuse::internal

#endif  // JITFUSE_IR_SUPPORT_STACK_H_
