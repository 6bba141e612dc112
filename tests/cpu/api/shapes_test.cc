// Dynamic sizes on the CPU: how many kernels they compile, that results are right at odd and edge
// sizes, and what runs while code is compiled in the background.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/jitfuse.h"
#include "jit/background.h"
#include "tests/test_util/fresh_process.h"
#include "tests/test_util/shape_chains.h"

namespace jitfuse {
namespace {

alignas(64) char g_memory[64];

CompileOptions Cpu(Dynamic dynamic = Dynamic::kLeading) {
  CompileOptions options;
  options.device = DeviceKind::kCpu;
  options.dynamic = dynamic;
  return options;
}

Function Compiled(const ShapeChain& chain, const CompileOptions& options) {
  StatusOr<Function> f = CompileText(chain.text, options);
  EXPECT_TRUE(f.ok()) << f.status().message();
  return *f;
}

// Not to be read: for Warm.
std::vector<Array> Shapes(const ShapeChain& chain, std::int64_t n, std::int64_t m) {
  std::vector<Array> out;
  for (const auto& dims : ChainInputs(chain, n, m))
    out.push_back(Array::View(static_cast<const void*>(g_memory), DType::kF32, dims));
  return out;
}

// `skip`: elements between aligned memory, which stays to the end of the process, and each array.
std::vector<Array> Values(const ShapeChain& chain, std::int64_t n, std::int64_t m,
                          std::int64_t skip = 0) {
  std::vector<Array> out;
  for (const auto& dims : ChainInputs(chain, n, m)) {
    std::int64_t count = 1;
    for (std::int64_t d : dims) count *= d;
    std::vector<double> v;
    for (std::int64_t i = 0; i < skip + count; ++i)
      v.push_back(std::sin(static_cast<double>(i + 7 * static_cast<std::int64_t>(out.size()))));
    const auto* kept = new Array(*Array::FromValues(DType::kF32, {skip + count}, v));
    out.push_back(Array::View(static_cast<float*>(kept->data()) + skip, DType::kF32, dims));
  }
  return out;
}

TEST(ShapesTest, FewKernelsServeAThousandShapes) {
  for (const ShapeChain& chain : kShapeChains) {
    const Function f = Compiled(chain, Cpu(Dynamic::kAll));
    for (auto [n, m] : RandomShapes(1000)) {
      const Status status = f.Warm(Shapes(chain, n, m));
      ASSERT_TRUE(status.ok()) << chain.name << " of " << n << " x " << m << ": "
                               << status.message();
    }
    const Stats stats = f.stats();
    EXPECT_LE(stats.compiled + stats.memory_hits, 8) << chain.name;
    EXPECT_GE(stats.compiled + stats.memory_hits, 1) << chain.name;
  }
}

TEST(ShapesTest, ResultsAreRightAtOddAndEdgeSizes) {
  for (const ShapeChain& chain : kShapeChains) {
    for (Dynamic dynamic : {Dynamic::kAll, Dynamic::kNone}) {
      CompileOptions options = Cpu(dynamic);
      options.verify = 1 << 20;  // each call is compared with the evaluator
      const Function f = Compiled(chain, options);
      for (auto [n, m] : {std::pair(1, 1),
                          {3, 1},
                          {1, 7},
                          {5, 3},
                          {2, 15},
                          {2, 16},
                          {3, 17},
                          {2, 255},
                          {2, 256},
                          {3, 257},
                          {2, 1023},
                          {1, 1025},
                          {0, 5}}) {
        for (int skip : {0, 1}) {
          const auto results = f.Run(Values(chain, n, m, skip));
          EXPECT_TRUE(results.ok())
              << chain.name << " of " << n << " x " << m << ": " << results.status().message();
        }
      }
    }
  }
}

TEST(ShapesTest, BatchSizesCompileNothingAfterTheFirstFew) {
  const ShapeChain& chain = kShapeChains[1];
  const Function f = Compiled(chain, Cpu());
  for (std::int64_t n : {1, 2}) ASSERT_TRUE(f.Warm(Shapes(chain, n, 768)).ok());
  const Stats before = f.stats();
  for (auto [n, m] : RandomShapes(1000)) ASSERT_TRUE(f.Warm(Shapes(chain, n, 768)).ok()) << m;
  EXPECT_EQ(f.stats().compiled, before.compiled);
  EXPECT_EQ(f.stats().compiles, before.compiles);
}

TEST(BackgroundConcurrencyTest, TheFirstCallIsInterpretedAndTheNextIsNot) {
  const ShapeChain& chain = kShapeChains[1];
  CompileOptions options = Cpu();
  options.background = true;
  options.verify = 1 << 20;
  const Function f = Compiled(chain, options);
  const std::vector<Array> in = Values(chain, 6, 40);
  const auto first = f.Run(in);
  ASSERT_TRUE(first.ok()) << first.status().message();
  EXPECT_EQ(f.stats().fallbacks["background_interpreted"], 1);
  internal::FinishBackground();
  const auto second = f.Run(in);
  ASSERT_TRUE(second.ok()) << second.status().message();
  EXPECT_GE(f.stats().compiled, 1);
  EXPECT_EQ(f.stats().fallbacks["background_interpreted"], 1);
  // Another class: what serves all sizes is there.
  ASSERT_TRUE(f.Run(Values(chain, 6, 41)).ok());
  EXPECT_EQ(f.stats().fallbacks["background_general"], 1);
  EXPECT_THAT(*f.Explain(Values(chain, 5, 42)), ::testing::HasSubstr("background_general"));
}

TEST(BackgroundConcurrencyTest, WarmAndWorkspaceBytesAreOfTheCallsOwnCode) {
  const ShapeChain& chain = kShapeChains[1];
  CompileOptions options = Cpu();
  options.fuse = false;  // one kernel an op: there are values between them
  const Function waiting = Compiled(chain, options);
  options.background = true;
  const Function f = Compiled(chain, options), g = Compiled(chain, options);
  for (std::int64_t m : {40, 41, 1000}) {
    const auto bytes = f.WorkspaceBytes(Shapes(chain, 6, m));
    ASSERT_TRUE(bytes.ok()) << bytes.status().message();
    EXPECT_GT(*bytes, 0u);
    EXPECT_EQ(*bytes, *waiting.WorkspaceBytes(Shapes(chain, 6, m))) << m;
    ASSERT_TRUE(g.Warm(Shapes(chain, 6, m)).ok());
  }
  for (const Function& each : {f, g}) {
    Stats stats = each.stats();
    EXPECT_EQ(stats.compiles, waiting.stats().compiles);
    EXPECT_EQ(stats.fallbacks["background_interpreted"] + stats.fallbacks["background_general"], 0);
  }
}

TEST(BackgroundConcurrencyTest, AHotShapeGetsCodeOfItsOwn) {
  const ShapeChain& chain = kShapeChains[0];
  CompileOptions options = Cpu(Dynamic::kAll);
  options.specialize_after = 3;
  options.verify = 1 << 20;
  const Function f = Compiled(chain, options);
  const std::vector<Array> in = Values(chain, 6, 40);
  for (int call = 0; call < 3; ++call) ASSERT_TRUE(f.Run(in).ok());
  internal::FinishBackground();
  const auto own = f.Run(in);
  ASSERT_TRUE(own.ok()) << own.status().message();
  EXPECT_EQ(f.stats().fallbacks["hot_shape"], 1);
  EXPECT_THAT(*f.Explain(in), ::testing::HasSubstr("hot_shape"));
}

// exit() while the compiler is at work, which it was not before.
TEST(BackgroundExitChild, DISABLED_Exits) {
  CompileOptions options = Cpu();
  options.background = true;
  auto* f = new Function(Compiled(kShapeChains[1], options));
  const bool ok = f->Run(Values(kShapeChains[1], 6, 40)).ok();
  if (std::getenv("JF_TEST_DELETES") != nullptr) delete f;
  std::exit(ok ? 0 : 1);
}
TEST(BackgroundExitTest, TheProcessEndsWhileCodeIsCompiled) {
  const std::string child = "BackgroundExitChild.DISABLED_Exits";
  EXPECT_TRUE(internal::PassesInAFreshProcess(child, {}));
  EXPECT_TRUE(internal::PassesInAFreshProcess(child, {{"JF_TEST_DELETES", "1"}}));
}

}  // namespace
}  // namespace jitfuse
