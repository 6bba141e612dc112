// Streams of random numbers: a seed, and how far it has been drawn from. Guarded by the GIL. The
// process has one, which begins at seed 0, offset 0, so that programs repeat themselves unless they
// seed; a thread may have its own ones above it, the innermost of which its calls draw from.
#ifndef JITFUSE_PYTHON_BINDINGS_RANDOM_STATE_H_
#define JITFUSE_PYTHON_BINDINGS_RANDOM_STATE_H_

#include <cstdint>
#include <vector>

#include "jitfuse/options.h"

namespace jitfuse::python {

struct RandomState {
  std::uint64_t seed = 0, offset = 0;
  // For a call of a function with so many random ops.
  Rng Advance(std::int64_t count) {
    Rng rng;
    rng.seed = seed;
    rng.offset = offset;
    offset += static_cast<std::uint64_t>(count);
    return rng;
  }
};

// Those of this thread, the innermost last.
inline std::vector<RandomState>& ThreadRandomStates() {
  thread_local std::vector<RandomState> states;
  return states;
}

inline RandomState& CurrentRandomState() {
  static RandomState process;
  std::vector<RandomState>& own = ThreadRandomStates();
  return own.empty() ? process : own.back();
}

}  // namespace jitfuse::python

#endif  // JITFUSE_PYTHON_BINDINGS_RANDOM_STATE_H_
