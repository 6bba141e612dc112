#include "api/function_state.h"

#include <mutex>
#include <string>

#include "api/runtime.h"
#include "ir/support/fork.h"

namespace jitfuse {
namespace internal {

FunctionState::~FunctionState() {
  for (Node* node = others_.load(std::memory_order_acquire); node != nullptr;) {
    Node* next = node->next;
    delete node;
    node = next;
  }
}

CallCache& FunctionState::CacheOf(const Backend* backend) {
  if (backend == home()) return first_.cache;
  Node* const head = others_.load(std::memory_order_acquire);
  for (Node* n = head; n != nullptr; n = n->next) {
    if (&n->cache.backend() == backend) return n->cache;
  }
  auto made =
      std::make_unique<Node>(graph(), options_, backend, kernels_, first_.cache.verify_policy());
  std::lock_guard<std::mutex> lock(LockOf(ForkLock::kCaches));
  made->next = others_.load(std::memory_order_acquire);
  for (Node* n = made->next; n != head; n = n->next) {  // made by others meanwhile
    if (&n->cache.backend() == backend) return n->cache;
  }
  others_.store(made.get(), std::memory_order_release);
  return made.release()->cache;
}

Counters FunctionState::stats() const {
  Counters out = first_.cache.stats();
  for (Node* n = others_.load(std::memory_order_acquire); n != nullptr; n = n->next)
    out.Add(n->cache.stats());
  if (rng_from_memory_ != nullptr) out.Add(rng_from_memory_->stats());
  return out;
}

std::vector<v1::VerifyReport> FunctionState::verify_reports() const {
  std::vector<v1::VerifyReport> out;
  long long number = 0;
  const auto add = [&](const CallCache& cache) {
    for (const auto& executable : cache.executables()) {
      v1::VerifyReport report = ToPublic(executable->verify->record());
      report.executable = number++;
      report.backend = std::string(cache.backend().name());
      report.arch = cache.backend().target().arch;
      if (report.verified > 0 || report.skipped > 0) out.push_back(std::move(report));
    }
  };
  add(first_.cache);
  for (Node* n = others_.load(std::memory_order_acquire); n != nullptr; n = n->next) add(n->cache);
  if (rng_from_memory_ == nullptr) return out;
  for (v1::VerifyReport& report : rng_from_memory_->verify_reports()) {
    report.executable += number;
    out.push_back(std::move(report));
  }
  return out;
}

}  // namespace internal

inline namespace v1 {

Stats TotalStats() { return internal::ToPublic(internal::ProcessCounters()); }

}  // namespace v1

namespace internal {

v1::VerifyReport ToPublic(const VerifyRecord& record) {
  v1::VerifyReport out;
  out.verified = record.verified;
  out.sampled = record.sampled;
  out.skipped = record.skipped;
  out.mismatches = record.mismatches;
  out.fallback = record.fallback;
  out.fallback_calls = record.fallback_calls;
  out.skip_reason = record.skip_reason;
  out.first_mismatch = record.first_mismatch;
  out.reproducers = record.reproducers;
  for (const VerifiedOutput& o : record.outputs)
    out.outputs.push_back({o.elements, o.compared, o.max_error, o.mean_error(), o.max_ratio,
                           o.mean_ratio(), o.checksums});
  return out;
}

v1::Stats ToPublic(const Counters& counters) {
  v1::Stats out;
  out.class_hits = counters.l2_hits;
  out.compiles = counters.compiles;
  out.compiled = counters.compiled;
  out.memory_hits = counters.memory_hits;
  out.compile_ms = counters.compile_ms;
  out.kernels = SharedKernels()->stats().entries;
  out.verified = counters.verified;
  out.mismatches = counters.mismatches;
  out.tuned = counters.tuned;
  for (size_t r = 0; r < counters.fallbacks.size(); ++r) {
    const std::string name(ReasonName(static_cast<Reason>(r)));
    if (counters.fallbacks[r] > 0) out.fallbacks[name] = counters.fallbacks[r];
    if (counters.boundaries[r] > 0) out.boundaries[name] = counters.boundaries[r];
  }
  return out;
}

}  // namespace internal
}  // namespace jitfuse
