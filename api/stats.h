// Stats: what was compiled, what was found, and which fallbacks were taken.
//
// Of one function (Function::stats) or of all functions this process has had (TotalStats). A call
// whose shapes, strides and alignment its thread has had before counts nothing: it takes no lock.
// Reason codes are those of explain() (docs/explain.md), counted once for each executable made,
// verify_skipped, verify_sampled and verify_fallback once for each call, tune_* for each key. Only
// codes that occurred are in the maps. What comparing calls with the reference evaluator has shown
// (docs/verify.md) is in VerifyReports, one for each executable of the function that had such
// calls.
#ifndef JITFUSE_API_STATS_H_
#define JITFUSE_API_STATS_H_

#include <map>
#include <string>
#include <vector>

namespace jitfuse {
inline namespace v1 {

// One output, over the calls that were compared. Differences are those between result and
// evaluator; "of the bound" divides by the evaluator's error bound of the element, so that up to 1
// is right. Infinite where one of the two is NaN or infinite and the other is not.
struct VerifyOutput {
  long long elements = 0;  // of the output, in the last of these calls
  long long compared = 0;  // over all these calls
  double max_difference = 0, mean_difference = 0;
  double max_of_bound = 0, mean_of_bound = 0;
  // Of the output's bytes, dense and in row-major order, in the first 32 of these calls: 32 hex
  // digits that are the same for the same bytes on every machine.
  std::vector<std::string> checksums;
};
struct VerifyReport {
  long long executable = 0;  // number in the order of making
  std::string backend, arch;
  long long verified = 0, sampled = 0, skipped = 0, mismatches = 0;  // calls
  bool fallback = false;                 // calls are answered by the evaluator
  long long fallback_calls = 0;          // so many were
  std::string skip_reason;               // of the last skipped call
  std::string first_mismatch;            // "output 0, element [3]: got ..., expected ... +- ..."
  std::vector<std::string> reproducers;  // commands, of the first mismatches
  std::vector<VerifyOutput> outputs;     // by output
};

struct Stats {
  long long class_hits = 0;   // calls new to their thread whose executable was there
  long long compiles = 0;     // executables made, one for each class of calls
  long long compiled = 0;     // kernels compiled
  long long memory_hits = 0;  // kernels found in memory
  long long disk_hits = 0;    // kernels found in the disk cache (docs/cache.md)
  long long layer_hits = 0;   // kernels found in a read-only layer of it
  long long healed = 0;       // compiled, or timed, in place of a damaged entry of it
  double compile_ms = 0;      // spent in compilers, over all threads
  long long kernels = 0;      // kernels loaded in this process, whichever function asked
  long long verified = 0;     // calls compared with the evaluator (docs/verify.md)
  long long mismatches = 0;   // of them, those whose results differed
  long long tuned = 0;        // keys that were timed, or given a record (docs/gemm.md)
  long long prepared = 0;     // of bound inputs: values computed, and operands packed, once
  std::map<std::string, long long> fallbacks;   // by reason code: the notes of explain()
  std::map<std::string, long long> boundaries;  // by reason code: borders between groups
  std::vector<VerifyReport> verify;             // of one function alone
};

Stats TotalStats();

}  // namespace v1
}  // namespace jitfuse

#endif  // JITFUSE_API_STATS_H_
