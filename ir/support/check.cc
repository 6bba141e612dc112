#include "ir/support/check.h"

#include <cstdio>
#include <cstdlib>

namespace jitfuse::internal {

void CheckFailed(const char* file, int line, const char* condition) {
  std::fprintf(stderr, "jitfuse: internal check failed at %s:%d: %s\n", file, line, condition);
  std::abort();
}

}  // namespace jitfuse::internal
