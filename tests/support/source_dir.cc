// The one file that is told where the repository lies, so that no other object depends on it.
#include "tests/test_util/golden.h"

namespace jitfuse::internal {

const char* SourceDir() { return JF_SOURCE_DIR; }

}  // namespace jitfuse::internal
