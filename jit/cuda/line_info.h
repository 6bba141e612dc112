// Line info: which line of the generated source an instruction is of, for profilers.
//
// On with JITFUSE_LINE_INFO=FOLDER. The source is written to FOLDER/<kernel>_<hash of the text>.cu,
// so that a profiler finds it later, and that path is one of the source's options: cubins with line
// info are apart from those without in every cache, and those of texts that differ in comments
// alone, and so in line numbers, from each other. Must not know: what is compiled.
#ifndef JITFUSE_JIT_CUDA_LINE_INFO_H_
#define JITFUSE_JIT_CUDA_LINE_INFO_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "codegen/plan/kernel_source.h"

namespace jitfuse::internal {

// Nothing while JITFUSE_LINE_INFO is not set. An error names the folder that cannot be written to.
absl::Status AddLineInfo(KernelSource* source);
// Whether this option is not the compiler's, but the path of the source.
bool IsSourceName(std::string_view option);
// What the compiler is told the source is called.
std::string SourceNameOf(const KernelSource& source);

}  // namespace jitfuse::internal

#endif  // JITFUSE_JIT_CUDA_LINE_INFO_H_
