// Stats: what was compiled, what was found, and which fallbacks were taken.
//
// Of one function (Function::stats) or of all functions this process has had (TotalStats). A call
// whose shapes, strides and alignment its thread has had before counts nothing: it takes no lock.
// Reason codes are those of explain() (docs/explain.md), counted once for each executable made,
// verify_skipped once for each call. Only codes that occurred are in the maps.
#ifndef JITFUSE_API_STATS_H_
#define JITFUSE_API_STATS_H_

#include <map>
#include <string>

namespace jitfuse {
inline namespace v1 {

struct Stats {
  long long class_hits = 0;   // calls new to their thread whose executable was there
  long long compiles = 0;     // executables made, one for each class of calls
  long long compiled = 0;     // kernels compiled
  long long memory_hits = 0;  // kernels found in memory
  double compile_ms = 0;      // spent in compilers, over all threads
  long long kernels = 0;      // kernels loaded in this process, whichever function asked
  long long verified = 0;     // calls compared with the evaluator (JITFUSE_VERIFY)
  std::map<std::string, long long> fallbacks;   // by reason code: the notes of explain()
  std::map<std::string, long long> boundaries;  // by reason code: borders between groups
};

Stats TotalStats();

}  // namespace v1
}  // namespace jitfuse

#endif  // JITFUSE_API_STATS_H_
