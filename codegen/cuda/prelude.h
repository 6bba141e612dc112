// The CUDA prelude: device helpers that emitted kernels call, as text, only those used.
//
// In: emitted text. Out: the parts of codegen/cuda/prelude/*.cuh that it uses, and those that these
// use, in an order in which each is defined before its use. A part opens with "//: name [name
// ...]", the names that it defines; use is seen by name alone. Must not know: plans.
#ifndef JITFUSE_CODEGEN_CUDA_PRELUDE_H_
#define JITFUSE_CODEGEN_CUDA_PRELUDE_H_

#include <string>
#include <string_view>
#include <vector>

namespace jitfuse::internal {

std::string PreludeFor(std::string_view text);
// Every name that a part defines, for tests.
std::vector<std::string> PreludeNames();

}  // namespace jitfuse::internal

#endif  // JITFUSE_CODEGEN_CUDA_PRELUDE_H_
