#include "jit/verify_log.h"

#include <algorithm>
#include <mutex>

#include "ir/support/fork.h"

namespace jitfuse::internal {
namespace {

using CachesLock = std::lock_guard<std::mutex>;

}  // namespace

bool VerifyLog::Claim(int64_t limit) {
  int64_t claimed = claimed_.load(std::memory_order_relaxed);
  while (claimed < limit) {
    if (claimed_.compare_exchange_weak(claimed, claimed + 1, std::memory_order_relaxed))
      return true;
  }
  return false;
}

void VerifyLog::FallBack() {
  CachesLock lock(LockOf(ForkLock::kCaches));
  record_.fallback = true;
  fallen_back_.store(true, std::memory_order_release);
}

void VerifyLog::AddCall(const VerifiedCall& call) {
  CachesLock lock(LockOf(ForkLock::kCaches));
  ++record_.verified;
  if (call.sampled) ++record_.sampled;
  if (call.mismatch) ++record_.mismatches;
  record_.outputs.resize(call.outputs.size());
  for (size_t o = 0; o < call.outputs.size(); ++o) {
    const VerifiedCall::Output& from = call.outputs[o];
    VerifiedOutput& to = record_.outputs[o];
    to.elements = from.elements;
    to.compared += from.result.compared;
    to.max_error = std::max(to.max_error, from.result.max_error);
    to.max_ratio = std::max(to.max_ratio, from.result.max_ratio);
    to.sum_error += from.result.sum_error;
    to.sum_ratio += from.result.sum_ratio;
    if (to.checksums.size() < kMaxChecksums) to.checksums.push_back(from.checksum);
  }
}

void VerifyLog::AddMismatch(const std::string& text, const std::string& reproducer) {
  CachesLock lock(LockOf(ForkLock::kCaches));
  if (record_.first_mismatch.empty()) record_.first_mismatch = text;
  if (!reproducer.empty() && record_.reproducers.size() < kMaxReproducers)
    record_.reproducers.push_back(reproducer);
}

void VerifyLog::AddSkipped(const std::string& why) {
  CachesLock lock(LockOf(ForkLock::kCaches));
  ++record_.skipped;
  record_.skip_reason = why;
}

void VerifyLog::AddFallbackCall() {
  CachesLock lock(LockOf(ForkLock::kCaches));
  ++record_.fallback_calls;
}

VerifyRecord VerifyLog::record() const {
  CachesLock lock(LockOf(ForkLock::kCaches));
  return record_;
}

}  // namespace jitfuse::internal
