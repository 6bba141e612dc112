// Options that change what is compiled (they enter every key); api/options.h mirrors them.
//
// numerics: kDefault is the contract of the semantics page. kStrict and batch_invariant are asked
// for but not built yet: compile returns Unimplemented. kFast may reassociate and use approximate
// transcendentals; until it does something it equals kDefault and explain() says so. dynamic:
// kLeading = as the graph's types say (symbols are symbols).
#ifndef JITFUSE_IR_OPTIONS_H_
#define JITFUSE_IR_OPTIONS_H_

#include <cstdint>

#include "ir/support/hash128.h"

namespace jitfuse::internal {

enum class Numerics : uint8_t { kDefault = 0, kStrict, kFast };

struct Options {
  Numerics numerics = Numerics::kDefault;
  bool batch_invariant = false;
  bool fuse = true;              // false: one kernel per op (for comparisons and bisection)
  bool rewrite = true;           // false: Optimize is skipped
  bool use_gemm_library = true;  // false: every matmul becomes a loop group
  int64_t max_fusions = -1;      // bisect: stop fusing after so many merges (JITFUSE_MAX_FUSIONS)

  Hash128 Key() const {
    return Hasher()
        .Int(static_cast<int64_t>(numerics))
        .Int(batch_invariant)
        .Int(fuse)
        .Int(rewrite)
        .Int(use_gemm_library)
        .Int(max_fusions)
        .Finish();
  }
};

}  // namespace jitfuse::internal

#endif  // JITFUSE_IR_OPTIONS_H_
