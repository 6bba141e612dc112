// VerifyLog: how many calls of one executable have been compared with the evaluator, and what that
// has shown.
//
// In: claims of calls (each of the first N once, whichever thread), results of comparisons. Out:
// whether a call is one of the first N; a report for stats and explain(). Claiming and asking
// whether calls go to the fallback take no lock; the report is guarded by that of the caches. Must
// not know: how results are compared.
#ifndef JITFUSE_JIT_VERIFY_LOG_H_
#define JITFUSE_JIT_VERIFY_LOG_H_

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "ir/eval.h"

namespace jitfuse::internal {

inline constexpr size_t kMaxChecksums = 32;
inline constexpr size_t kMaxReproducers = 4;

// Over the calls that were compared, of one output.
struct VerifiedOutput {
  int64_t elements = 0;  // of the output, in the last of them
  int64_t compared = 0;
  double max_error = 0, sum_error = 0, max_ratio = 0, sum_ratio = 0;
  std::vector<std::string> checksums;  // of the first kMaxChecksums calls
  double mean_error() const { return compared == 0 ? 0 : sum_error / double(compared); }
  double mean_ratio() const { return compared == 0 ? 0 : sum_ratio / double(compared); }
};

struct VerifyRecord {
  int64_t verified = 0, sampled = 0, skipped = 0, mismatches = 0, fallback_calls = 0;  // calls
  std::string skip_reason;               // of the last skipped one
  std::string first_mismatch;            // output, element, got, expected, bound
  std::vector<std::string> reproducers;  // commands, of the first kMaxReproducers mismatches
  std::vector<VerifiedOutput> outputs;
  bool fallback = false;
  bool empty() const { return verified == 0 && skipped == 0 && !fallback; }
};

// What one call has shown.
struct VerifiedCall {
  struct Output {
    CompareResult result;
    int64_t elements = 0;
    std::string checksum;
  };
  std::vector<Output> outputs;
  bool sampled = false;
  bool mismatch = false;
};

class VerifyLog {
 public:
  // True for the first `limit` claims that are not given back.
  bool Claim(int64_t limit);
  void GiveBack() { claimed_.fetch_sub(1, std::memory_order_relaxed); }
  bool HasLeft(int64_t limit) const { return claimed_.load(std::memory_order_relaxed) < limit; }

  // Whether calls are answered by the evaluator; for good.
  bool fallen_back() const { return fallen_back_.load(std::memory_order_acquire); }
  void FallBack();

  void AddCall(const VerifiedCall& call);
  void AddMismatch(const std::string& text, const std::string& reproducer);
  void AddSkipped(const std::string& why);
  void AddFallbackCall();
  VerifyRecord record() const;

 private:
  std::atomic<int64_t> claimed_{0};
  std::atomic<bool> fallen_back_{false};
  VerifyRecord record_;  // guarded by LockOf(ForkLock::kCaches)
};

}  // namespace jitfuse::internal

#endif  // JITFUSE_JIT_VERIFY_LOG_H_
