// The tests of a label neither find kernels in the user's disk cache nor leave any there. Tests of
// the cache itself make one of their own.
#include <cstdlib>

#include <gtest/gtest.h>

namespace {

class NoDiskCache : public testing::Environment {
 public:
  NoDiskCache() { setenv("JITFUSE_NO_CACHE", "1", /*overwrite=*/0); }
};

[[maybe_unused]] const testing::Environment* const kNoDiskCache =
    testing::AddGlobalTestEnvironment(new NoDiskCache);

}  // namespace
