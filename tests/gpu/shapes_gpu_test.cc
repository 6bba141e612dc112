// Dynamic sizes on a real GPU: windows of rows that begin anywhere in memory, and code for any
// size, against the evaluator; calls go on while code is compiled in the background.
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_replace.h"
#include "api/jitfuse.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "jit/background.h"
#include "tests/test_util/shape_chains.h"

namespace jitfuse {
namespace {

constexpr Device kGpu = {DeviceKind::kCuda, 0};

class ShapesGpuTest : public testing::Test {
 protected:
  void SetUp() override {
    if (Status s = DeviceStatus(DeviceKind::kCuda); !s.ok()) GTEST_SKIP() << s.message();
  }
  static Function Compiled(const std::string& text, CompileOptions options) {
    options.device = DeviceKind::kCuda;
    options.verify = 1 << 20;  // each call is compared with the evaluator
    StatusOr<Function> f = CompileText(text, options);
    EXPECT_TRUE(f.ok()) << f.status().message();
    return *f;
  }
  static std::vector<Array> Values(const ShapeChain& chain, DType dtype, std::int64_t n,
                                   std::int64_t m) {
    std::vector<Array> out;
    for (const auto& dims : ChainInputs(chain, n, m)) {
      std::int64_t count = 1;
      for (std::int64_t d : dims) count *= d;
      std::vector<double> v;
      for (std::int64_t i = 0; i < count; ++i)
        v.push_back(std::sin(static_cast<double>(i + 7 * static_cast<std::int64_t>(out.size()))));
      out.push_back(*Array::FromValues(dtype, dims, v)->CopyTo(kGpu));
    }
    return out;
  }
};

TEST_F(ShapesGpuTest, ResultsAreRightAtOddAndEdgeSizes) {
  for (const ShapeChain& chain : kShapeChains) {
    for (auto [name, dtype] : {std::pair("f32", DType::kF32), {"bf16", DType::kBF16}}) {
      const std::string text = absl::StrReplaceAll(chain.text, {{"f32", name}});
      for (Dynamic dynamic : {Dynamic::kAll, Dynamic::kLeading}) {
        CompileOptions options;
        options.dynamic = dynamic;
        const Function f = Compiled(text, options);
        for (auto [n, m] : {std::pair(1, 1),
                            {3, 1},
                            {1, 7},
                            {5, 3},
                            {33, 15},
                            {2, 16},
                            {3, 17},
                            {9, 255},
                            {2, 256},
                            {5, 257},
                            {3, 1023},
                            {1, 1025},
                            {7, 4097},
                            {2, 16383},
                            {2, 16384},
                            {2, 70001},
                            {0, 5}}) {
          const auto results = f.Run(Values(chain, dtype, n, m));
          EXPECT_TRUE(results.ok()) << chain.name << " " << name << " of " << n << " x " << m
                                    << ": " << results.status().message();
        }
      }
    }
  }
}

// Words that a row shares with its neighbours are read while the neighbours' threads write to them.
TEST_F(ShapesGpuTest, WindowsInPlace) {
  const ShapeChain& softmax = kShapeChains[0];
  for (Dynamic dynamic : {Dynamic::kAll, Dynamic::kLeading}) {
    CompileOptions options;
    options.device = DeviceKind::kCuda;
    options.dynamic = dynamic;
    const Function f = *CompileText(softmax.text, options);
    for (auto [n, m] : {std::pair(5, 1023), {2, 70001}, {200, 257}}) {
      const std::vector<Array> x = Values(softmax, DType::kF32, n, m);
      const auto apart = f.Run(x);
      ASSERT_TRUE(apart.ok()) << apart.status().message();
      const std::vector<double> want = *(*apart)[0].ToVector();
      const Status status = f.RunInto(x, x);
      ASSERT_TRUE(status.ok()) << status.message();
      EXPECT_THAT(*x[0].ToVector(), testing::Pointwise(testing::DoubleNear(1e-7), want))
          << n << " x " << m;
    }
  }
}

TEST_F(ShapesGpuTest, OnlyTheFirstCallWaits) {
  CompileOptions options;
  options.background = true;
  options.specialize_after = 4;
  const ShapeChain& chain = kShapeChains[1];
  const Function f = Compiled(chain.text, options);
  ASSERT_TRUE(f.Run(Values(chain, DType::kF32, 8, 512)).ok());
  internal::FinishBackground();
  for (int call = 0; call < 40; ++call) {
    const auto results = f.Run(Values(chain, DType::kF32, 8, 500 + call % 4));
    EXPECT_TRUE(results.ok()) << results.status().message();
  }
  internal::FinishBackground();
  ASSERT_TRUE(f.Run(Values(chain, DType::kF32, 8, 500)).ok());
  Stats stats = f.stats();
  EXPECT_EQ(stats.fallbacks["background_waited"], 1);
  EXPECT_GE(stats.fallbacks["background_general"], 1);
  EXPECT_EQ(stats.fallbacks["hot_shape"], 4);
  EXPECT_EQ(stats.fallbacks["background_failed"], 0);
}

}  // namespace
}  // namespace jitfuse
