// The first GPU's name, as the driver gives it: which card a benchmark ran on.
#ifndef JITFUSE_BENCH_COMMON_GPU_NAME_H_
#define JITFUSE_BENCH_COMMON_GPU_NAME_H_

#include <string>

namespace jitfuse_bench {

// "no GPU" where there is none, or no driver.
std::string GpuName();

}  // namespace jitfuse_bench

#endif  // JITFUSE_BENCH_COMMON_GPU_NAME_H_
