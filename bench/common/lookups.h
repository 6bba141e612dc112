// What finding the code of a call costs on the host, by goal: the exact key (L1), and the first
// call of a new batch size, which is bound to code that is there.
//
// In: where it is to run; nothing is launched. Out: rows. A lookup is of relu(a*b+c); binding is of
// that, and of a function of eight kernels.
#ifndef JITFUSE_BENCH_COMMON_LOOKUPS_H_
#define JITFUSE_BENCH_COMMON_LOOKUPS_H_

#include <string>

#include "api/options.h"
#include "report.h"

namespace jitfuse_bench {

// `where` ends the rows' names (", on the CPU"). An error's text, or "".
std::string AddLookups(jitfuse::DeviceKind device, const std::string& where, int samples,
                       Report* report);

}  // namespace jitfuse_bench

#endif  // JITFUSE_BENCH_COMMON_LOOKUPS_H_
