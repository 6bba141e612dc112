// Whichever allocation of a call fails, the call says so, gives back what it had, and works when
// there is memory again.
#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/jitfuse.h"

namespace jitfuse {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

// Has memory for so many allocations.
class Meager : public Allocator {
 public:
  void* Allocate(std::size_t bytes, void*) override {
    if (left-- == 0) return nullptr;
    ++alive;
    return std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  }
  void Free(void* ptr, std::size_t, void*) override {
    --alive;
    std::free(ptr);
  }
  int left = 0, alive = 0;
};

TEST(OutOfMemoryTest, EveryAllocationMayFail) {
  CompileOptions options;
  options.device = DeviceKind::kCpu;
  // Sums of rows lie in the arena (no result has the room for them); two results.
  const StatusOr<Function> f = CompileText(
      "graph f(%x: f32[n,3]) -> (f32[], f32[]) {\n  %0 = sum(%x) {axes=[1], keepdims=false} : "
      "f32[n]\n  %1 = sum(%0) {axes=[0], keepdims=false} : f32[]\n  %2 = exp(%1) : f32[]\n"
      "  return %2, %1\n}",
      options);
  ASSERT_TRUE(f.ok()) << f.status().message();
  const Array x = *Array::FromValues(DType::kF32, {2, 3}, {0, 0, 0, 0, 0, 0});
  Meager allocator;
  RunOptions run;
  run.allocator = &allocator;
  int needed = 0;
  for (bool ok = false; !ok; ++needed) {
    ASSERT_LT(needed, 10);
    allocator.left = needed;
    {
      const auto results = f->Run({x}, run);
      ok = results.ok();
      if (ok) {
        EXPECT_THAT(*(*results)[0].ToVector(), testing::Each(1));
        continue;
      }
      EXPECT_EQ(results.status().code(), StatusCode::kResourceExhausted);
      EXPECT_THAT(results.status().message(), AnyOf(HasSubstr("bytes for a result"),
                                                    HasSubstr("bytes for intermediate results")));
    }
    EXPECT_EQ(allocator.alive, 0);
  }
  EXPECT_EQ(needed, 4);  // none, one, two: too few; three: two results and the arena
  EXPECT_EQ(allocator.alive, 0);
}

}  // namespace
}  // namespace jitfuse
