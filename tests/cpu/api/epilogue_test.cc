// Products with what stands behind them through the public API on the CPU: one call of the library
// where it computes the whole chain, results in C's own buffer, and what explain() says.
#include <cmath>
#include <cstring>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/inspect.h"
#include "api/jitfuse.h"

namespace jitfuse {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using Dims = std::vector<std::int64_t>;

CompileOptions Cpu() {
  CompileOptions o;
  o.device = DeviceKind::kCpu;
  return o;
}

Array F32(Dims dims, const std::vector<double>& values) {
  return *Array::FromValues(DType::kF32, std::move(dims), values);
}

bool HasOnednn(const Function& f, const std::vector<Array>& in) {
  return f.Explain(in)->find("oneDNN") != std::string::npos;
}

constexpr char kLinear[] = R"(graph f(%x: f32[n,2], %w: f32[3,2], %b: f32[3]) -> (f32[n,3]) {
  %0 = linear(%x, %w, %b) : f32[n,3]
  %1 = relu(%0) : f32[n,3]
  return %1
})";

TEST(Epilogue, LinearAndReluAreOneCall) {
  Function f = *CompileText(kLinear, Cpu());
  const std::vector<Array> in = {F32({2, 2}, {1, 2, -3, NAN}), F32({3, 2}, {1, 0, 0, 1, -1, -1}),
                                 F32({3}, {0.5, -4, 1})};
  auto y = f.Run(in);
  ASSERT_TRUE(y.ok()) << y.status().message();
  const std::vector<double> got = *(*y)[0].ToVector();
  EXPECT_THAT(std::vector<double>(got.begin(), got.begin() + 3), ElementsAre(1.5, 0, 0));
  for (size_t i = 3; i < 6; ++i) EXPECT_TRUE(std::isnan(got[i])) << i;  // relu keeps NaN
  if (!HasOnednn(f, in)) GTEST_SKIP() << "this build has no oneDNN";
  const std::string text = *f.Explain(in);
  EXPECT_THAT(text, HasSubstr("oneDNN"));
  EXPECT_THAT(text, Not(HasSubstr("loop"))) << text;
}

// The result in C's buffer, with and without a factor.
TEST(Epilogue, OutputsInTheBufferOfC) {
  for (const bool scaled : {false, true}) {
    const std::string c = scaled ? "%2" : "%c";
    Function f = *CompileText(
        "graph f(%x: f32[n,2], %w: f32[2,2], %c: f32[n,2]) -> (f32[n,2]) {\n %0 = matmul(%x, %w) "
        ": f32[n,2]\n" +
            std::string(scaled ? " %1 = constant {value=-2.0} : f32[]\n %2 = multiply(%1, %c) : "
                                 "f32[n,2]\n"
                               : "") +
            " %3 = add(%0, " + c + ") : f32[n,2]\n %4 = relu(%3) : f32[n,2]\n return %4\n}",
        Cpu());
    Array x = F32({2, 2}, {1, 2, 3, 4}), w = F32({2, 2}, {1, -1, 0, 1}),
          sum = F32({2, 2}, {10, -20, 30, -40});
    const Status status = f.RunInto({x, w, sum}, {sum});
    ASSERT_TRUE(status.ok()) << status.message();
    if (scaled)
      EXPECT_THAT(*sum.ToVector(), ElementsAre(0, 41, 0, 81));
    else
      EXPECT_THAT(*sum.ToVector(), ElementsAre(11, 0, 33, 0));
  }
}

// A, B and the bias are read after D has begun to be written.
TEST(Epilogue, OutputsInOtherOperandsAreErrors) {
  Function f = *CompileText(
      R"(graph f(%x: f32[n,n], %w: f32[n,n], %c: f32[n,n]) -> (f32[n,n]) {
  %0 = matmul(%x, %w) : f32[n,n]
  %1 = add(%0, %c) : f32[n,n]
  return %1
})",
      Cpu());
  Array x = F32({2, 2}, {1, 2, 3, 4}), w = F32({2, 2}, {1, 0, 0, 1}), c = F32({2, 2}, {0, 0, 0, 1});
  EXPECT_TRUE(f.RunInto({x, w, c}, {c}).ok());
  EXPECT_THAT(*c.ToVector(), ElementsAre(1, 2, 3, 5));
  for (const Array& out : {x, w}) {
    const Status status = f.RunInto({x, w, c}, {out});
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(status.message(), HasSubstr("give it a buffer of its own"));
  }
  // C is an operand, too.
  EXPECT_EQ(f.RunInto({c, w, c}, {c}).code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(*x.ToVector(), ElementsAre(1, 2, 3, 4));
}

// Square, so that only strides tell [n] from [n,1].
TEST(Epilogue, BiasesOfColumnsAndRows) {
  for (const bool rows : {false, true}) {
    Function f = *CompileText("graph f(%x: f32[n,n], %w: f32[n,n], %b: f32[" +
                                  std::string(rows ? "n,1" : "n") +
                                  "]) -> (f32[n,n]) {\n %0 = matmul(%x, %w) : f32[n,n]\n %1 = "
                                  "add(%0, %b) : f32[n,n]\n return %1\n}",
                              Cpu());
    auto y = f.Run({F32({2, 2}, {1, 2, 3, 4}), F32({2, 2}, {1, 0, 0, 1}),
                    F32(rows ? Dims{2, 1} : Dims{2}, {10, 20})});
    ASSERT_TRUE(y.ok()) << y.status().message();
    if (rows)
      EXPECT_THAT(*(*y)[0].ToVector(), ElementsAre(11, 12, 23, 24));
    else
      EXPECT_THAT(*(*y)[0].ToVector(), ElementsAre(11, 22, 13, 24));
  }
}

// A batch of no rows, and one of which a row is far from the next.
TEST(Epilogue, EmptyAndStrided) {
  Function f = *CompileText(kLinear, Cpu());
  const Array w = F32({3, 2}, {1, 0, 0, 1, -1, -1}), b = F32({3}, {0.5, -4, 1});
  auto none = f.Run({F32({0, 2}, {}), w, b});
  ASSERT_TRUE(none.ok()) << none.status().message();
  EXPECT_EQ((*none)[0].num_elements(), 0);
  std::vector<float> wide = {1, 2, -9, -9, 3, 4, -9, -9};
  Array x = Array::View(wide.data(), DType::kF32, {2, 2}, {4, 1});
  auto y = f.Run({x, w, b});
  ASSERT_TRUE(y.ok()) << y.status().message();
  EXPECT_THAT(*(*y)[0].ToVector(), ElementsAre(1.5, 0, 0, 3.5, 0, 0));
}

// What is left to a loop says why.
TEST(Epilogue, ATailIsOneKernelWithItsReason) {
  Function f = *CompileText(R"(graph f(%x: f32[n,2], %w: f32[3,2], %b: f32[3]) -> (f32[n,3]) {
  %0 = linear(%x, %w, %b) : f32[n,3]
  %1 = gelu(%0) : f32[n,3]
  %2 = negative(%1) : f32[n,3]
  return %2
})",
                            Cpu());
  const std::vector<Array> in = {F32({2, 2}, {1, 2, 3, 4}), F32({3, 2}, {1, 0, 0, 1, -1, -1}),
                                 F32({3}, {0.5, -4, 1})};
  if (!HasOnednn(f, in)) GTEST_SKIP() << "this build has no oneDNN";
  const std::string text = *f.Explain(in);
  EXPECT_THAT(text, HasSubstr("epilogue_activation")) << text;
  EXPECT_THAT(text, HasSubstr("gelu of f32")) << text;
  EXPECT_EQ(f.stats().compiled + f.stats().memory_hits, 1);
}

}  // namespace
}  // namespace jitfuse
