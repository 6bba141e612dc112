// Sums by index through the public API on the CPU: the same bits every time, memory safety,
// in-place rules, strided buffers, what explain() says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "api/jitfuse.h"

namespace jitfuse {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kRows[] =
    "graph f(%x: f32[g,m], %i: i32[n], %s: f32[n,m]) -> (f32[g,m]) {\n  %0 = index_add(%x, %i, %s) "
    ": f32[g,m]\n  return %0\n}";

Function Compiled(const std::string& text, DeviceKind device = DeviceKind::kCpu) {
  CompileOptions options;
  options.device = device;
  auto f = CompileText(text, options);
  EXPECT_TRUE(f.ok()) << f.status().message();
  return f.ok() ? *f : Function();
}

Array Values(DType dtype, std::vector<std::int64_t> dims, std::vector<double> values) {
  return *Array::FromValues(dtype, dims, values);
}

TEST(ScatterApi, TheSameBitsEveryTime) {
  Function f = Compiled(kRows);
  const std::int64_t n = 20000;
  std::vector<double> index(n), source(n * 3);
  std::uint64_t state = 1;
  auto draw = [&] { return (state = state * 6364136223846793005u + 1442695040888963407u) >> 40; };
  for (double& i : index) i = static_cast<double>(draw() % 7);
  for (double& s : source) s = static_cast<double>(draw()) * 0x1p-20 - 8;
  Array x = Values(DType::kF32, {7, 3}, std::vector<double>(21, 0.1)),
        i = Values(DType::kI32, {n}, index), s = Values(DType::kF32, {n, 3}, source);
  std::vector<float> by_hand(21, 0.1f);
  for (std::int64_t p = 0; p < n; ++p) {
    for (int c = 0; c < 3; ++c)
      by_hand[static_cast<std::size_t>(index[static_cast<std::size_t>(p)]) * 3 + c] +=
          static_cast<float>(source[static_cast<std::size_t>(p) * 3 + c]);
  }
  const std::vector<double> want(by_hand.begin(), by_hand.end());
  for (int run = 0; run < 3; ++run)
    EXPECT_EQ(*(*f.Run({x, i, s}))[0].ToVector(), want) << "in ascending order, bit for bit";
}

TEST(ScatterApi, OutOfRangeIsMovedToTheBorderOrAnError) {
  const std::vector<Array> in = {Values(DType::kF32, {3, 1}, {0, 0, 0}),
                                 Values(DType::kI32, {4}, {2147483647, -2147483648.0, -1, 3}),
                                 Values(DType::kF32, {4, 1}, {1, 2, 4, 8})};
  EXPECT_THAT(*(*Compiled(kRows).Run(in))[0].ToVector(), ElementsAre(2, 0, 13));
  auto refused = Compiled(kRows, DeviceKind::kInterpret).Run(in);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.status().message(),
              HasSubstr("index 2147483647 is out of range for an axis of size 3"));
  // An axis of size 0 takes nothing and touches nothing.
  auto empty =
      Compiled(kRows).Run({Values(DType::kF32, {0, 1}, {}), Values(DType::kI32, {2}, {5, -5}),
                           Values(DType::kF32, {2, 1}, {1, 2})});
  ASSERT_TRUE(empty.ok()) << empty.status().message();
  EXPECT_EQ((*empty)[0].num_elements(), 0);
}

TEST(ScatterApi, InPlaceOverXAlone) {
  Function f = Compiled(kRows);
  Array x = Values(DType::kF32, {2, 1}, {10, 20}), i = Values(DType::kI32, {2}, {1, 1}),
        s = Values(DType::kF32, {2, 1}, {1, 2});
  ASSERT_TRUE(f.RunInto({x, i, s}, {x}).ok());
  EXPECT_THAT(*x.ToVector(), ElementsAre(10, 23));
  Status refused = f.RunInto({x, i, s}, {s});
  EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(refused.message(), HasSubstr("input 2 's'"));
}

TEST(ScatterApi, StridedOutputsOfASort) {
  Function f = Compiled(
      "graph f(%i: i32[4]) -> (i64[4], i64[2]) {\n  %0, %1, %2 = group_positions(%i) {axis=0, "
      "size=[2]} : i64[4], i64[2], i64[2]\n  return %0, %2\n}");
  std::vector<std::int64_t> storage(8, -1), ends(2, -1);
  Array order = Array::View(storage.data() + 6, DType::kI64, {4}, {-2}),
        end = Array::View(ends.data(), DType::kI64, {2});
  Status s = f.RunInto({Values(DType::kI32, {4}, {1, 0, 1, 0})}, {order, end});
  ASSERT_TRUE(s.ok()) << s.message();
  EXPECT_THAT(storage, ElementsAre(2, -1, 0, -1, 3, -1, 1, -1));
  EXPECT_THAT(ends, ElementsAre(2, 4));
}

TEST(ScatterApi, AnotherSizeCompilesNothing) {
  Function f = Compiled(kRows);
  auto call = [&](std::int64_t n) {
    return f.Run(
        {Values(DType::kF32, {3, 2}, std::vector<double>(6, 1)),
         Values(DType::kI32, {n}, std::vector<double>(static_cast<std::size_t>(n), 2)),
         Values(DType::kF32, {n, 2}, std::vector<double>(static_cast<std::size_t>(n) * 2, 1))});
  };
  ASSERT_TRUE(call(5).ok());
  const auto compiled = f.stats().compiled;
  auto y = call(9);
  ASSERT_TRUE(y.ok());
  EXPECT_THAT(*(*y)[0].ToVector(), ElementsAre(1, 1, 1, 1, 10, 10));
  EXPECT_EQ(f.stats().compiled, compiled);
}

TEST(ScatterApi, ExplainNamesTheSort) {
  const std::vector<Array> in = {Values(DType::kF32, {3, 1}, {0, 0, 0}),
                                 Values(DType::kI32, {2}, {0, 1}),
                                 Values(DType::kF32, {2, 1}, {1, 2})};
  Function f = Compiled(kRows);
  const std::string text = *f.Explain(in), json = *f.ExplainJson(in);
  for (const char* what :
       {"(sort) over", "counting sort, 1 lines", "sort_result", "segment_in_order"})
    EXPECT_THAT(text, HasSubstr(what));
  EXPECT_THAT(json, HasSubstr("\"kind\": \"sort\""));
}

TEST(ScatterApi, ByBuilder) {
  Builder b("grad");
  Tensor x = b.Input("x", DType::kF64, {2, 3}), i = b.Input("i", DType::kI64, {2, 2}),
         s = b.Input("s", DType::kF64, {2, 2});
  CompileOptions options;
  options.device = DeviceKind::kCpu;
  auto f = b.Compile({ScatterAdd(x, i, s, 1) * 2}, options);
  ASSERT_TRUE(f.ok()) << f.status().message();
  EXPECT_THAT(*(*f->Run({Values(DType::kF64, {2, 3}, {0, 0, 0, 1, 1, 1}),
                         Values(DType::kI64, {2, 2}, {2, 2, 0, -2}),
                         Values(DType::kF64, {2, 2}, {1, 2, 3, 4})}))[0]
                   .ToVector(),
              ElementsAre(0, 0, 6, 8, 10, 2));
}

}  // namespace
}  // namespace jitfuse
