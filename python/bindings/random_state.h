// The process's stream of random numbers: a seed, and how far it has been drawn from. Guarded by
// the GIL. It begins at seed 0, offset 0, so that programs repeat themselves unless they seed.
#ifndef JITFUSE_PYTHON_BINDINGS_RANDOM_STATE_H_
#define JITFUSE_PYTHON_BINDINGS_RANDOM_STATE_H_

#include <cstdint>

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

inline RandomState& ProcessRandomState() {
  static RandomState state;
  return state;
}

}  // namespace jitfuse::python

#endif  // JITFUSE_PYTHON_BINDINGS_RANDOM_STATE_H_
