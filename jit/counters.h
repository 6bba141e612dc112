// Counters: what was compiled, found and fallen back to, of one function or of the whole process.
//
// Only cold paths count (a call whose shapes, strides and alignment a thread has had before changes
// nothing), so one lock, that of the caches, guards all. `fallbacks` are the notes of explain(),
// `boundaries` the borders between groups, by reason; both once per executable made, except
// verify_skipped, verify_sampled and verify_fallback, which count calls, tune_refused, which counts
// algorithms and the sizes that a thread binds, the other tune_*, which count keys, bound_packed,
// which counts operands, background_general, background_interpreted and background_waited, which
// count calls that a thread binds (anew after each end of a job), and background_failed and
// hot_shape, which count jobs. Must not know: what the numbers are for.
#ifndef JITFUSE_JIT_COUNTERS_H_
#define JITFUSE_JIT_COUNTERS_H_

#include <array>
#include <cstdint>

#include "codegen/fusion/group.h"
#include "jit/code_origin.h"

namespace jitfuse::internal {

struct Counters {
  using ByReason = std::array<int64_t, static_cast<size_t>(Reason::kCount)>;
  int64_t compiles = 0;     // executables made, one for each class of calls
  int64_t l2_hits = 0;      // calls new to a thread whose class was there
  int64_t compiled = 0;     // kernels compiled
  int64_t memory_hits = 0;  // kernels found in memory
  int64_t disk_hits = 0;    // in the disk cache
  int64_t layer_hits = 0;   // in a read-only layer of it
  int64_t healed = 0;       // compiled, or timed, in place of a damaged entry of it
  double compile_ms = 0;    // in compilers, over all threads
  int64_t verified = 0;     // calls compared with the evaluator
  int64_t mismatches = 0;   // of them, those whose results differed
  int64_t tuned = 0;        // keys that were timed, or given a record
  int64_t prepared = 0;     // values computed, and operands packed, once for all calls
  ByReason fallbacks{}, boundaries{};

  void CountCode(CodeOrigin origin, bool was_healed, double ms) {
    ++(origin == CodeOrigin::kCompiled ? compiled
       : origin == CodeOrigin::kMemory ? memory_hits
       : origin == CodeOrigin::kDisk   ? disk_hits
                                       : layer_hits);
    if (origin == CodeOrigin::kCompiled) compile_ms += ms;
    healed += was_healed ? 1 : 0;
  }
  void CountPlan(const FusionPlan& plan) {
    for (const Note& n : plan.notes) ++fallbacks[static_cast<size_t>(n.reason)];
    for (const Boundary& b : plan.boundaries) ++boundaries[static_cast<size_t>(b.reason)];
  }
  void Add(const Counters& other) {
    compiles += other.compiles;
    l2_hits += other.l2_hits;
    compiled += other.compiled;
    memory_hits += other.memory_hits;
    disk_hits += other.disk_hits;
    layer_hits += other.layer_hits;
    healed += other.healed;
    compile_ms += other.compile_ms;
    verified += other.verified;
    mismatches += other.mismatches;
    tuned += other.tuned;
    prepared += other.prepared;
    for (size_t r = 0; r < fallbacks.size(); ++r) {
      fallbacks[r] += other.fallbacks[r];
      boundaries[r] += other.boundaries[r];
    }
  }
};

}  // namespace jitfuse::internal

#endif  // JITFUSE_JIT_COUNTERS_H_
