// Scans in the graph evaluator: values by hand, bounds that hold and are not absurd, their
// expansion, and NaN, infinities and the types of integers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "ir/eval.h"
#include "ir/expand.h"
#include "ir/support/status.h"
#include "ir/text.h"

namespace jitfuse::internal {
namespace {

using ::testing::ElementsAre;

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::numeric_limits<double>::quiet_NaN();

std::vector<double> Scan(std::string_view op, std::string_view attrs, DType dtype, DType result,
                         const std::vector<double>& values) {
  auto type = [&](DType d) { return absl::StrCat(ToAbsl(DTypeName(d)), "[", values.size(), "]"); };
  absl::StatusOr<Graph> graph = ParseGraph(
      absl::StrCat("graph f(%x: ", type(dtype), ") -> (", type(result), ") { %0 = ", ToAbsl(op),
                   "(%x) {axis=0", ToAbsl(attrs), "} : ", type(result), " return %0 }"));
  EXPECT_TRUE(graph.ok()) << graph.status();
  if (!graph.ok()) return {};
  HostTensor x = HostTensor::Make(dtype, {static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i) x.SetNumber(static_cast<int64_t>(i), values[i]);
  auto declared = EvalDeclared(*graph, {x});
  auto wide = EvalWide(*graph, {x});
  EXPECT_TRUE(declared.ok() && wide.ok()) << declared.status() << wide.status();
  if (!declared.ok() || !wide.ok()) return {};
  CompareResult r = Compare((*wide)[0], (*declared)[0]);
  EXPECT_TRUE(r.ok) << op << attrs << ": " << r.text;
  std::vector<double> out;
  for (int64_t i = 0; i < (*declared)[0].size(); ++i) out.push_back((*declared)[0].Number(i));
  return out;
}

TEST(Scans, ByHand) {
  const DType f32 = DType::kF32, i8 = DType::kI8, i64 = DType::kI64;
  EXPECT_THAT(Scan("cumsum", "", f32, f32, {1, 2, 3, -4}), ElementsAre(1, 3, 6, 2));
  EXPECT_THAT(Scan("cumsum", ", exclusive=true", f32, f32, {1, 2, 3, -4}), ElementsAre(0, 1, 3, 6));
  EXPECT_THAT(Scan("cumsum", ", reverse=true", f32, f32, {1, 2, 3, -4}), ElementsAre(2, 1, -1, -4));
  EXPECT_THAT(Scan("cumsum", ", reverse=true, exclusive=true", f32, f32, {1, 2, 3, -4}),
              ElementsAre(1, -1, -4, 0));
  EXPECT_THAT(Scan("cumsum", "", i8, i64, {100, 100, 100}), ElementsAre(100, 200, 300));
  EXPECT_THAT(Scan("cumsum", "", DType::kBool, i64, {1, 0, 1}), ElementsAre(1, 1, 2));
  EXPECT_THAT(Scan("cumsum", "", DType::kU8, DType::kU64, {200, 200}), ElementsAre(200, 400));
  EXPECT_THAT(Scan("cumprod", "", f32, f32, {2, 3, -1}), ElementsAre(2, 6, -6));
  EXPECT_THAT(Scan("cumprod", ", exclusive=true", i8, i64, {2, 3, -1}), ElementsAre(1, 2, 6));
  EXPECT_THAT(Scan("cummax", "", i8, i8, {-3, -5, 7, 1}), ElementsAre(-3, -3, 7, 7));
  EXPECT_THAT(Scan("cummin", ", exclusive=true", i8, i8, {-3, -5, 7}), ElementsAre(127, -3, -5));
  EXPECT_THAT(Scan("cummax", ", exclusive=true", f32, f32, {-3, 5}), ElementsAre(-kInf, -3));
}

TEST(Scans, OneElement) {
  EXPECT_THAT(Scan("cumsum", "", DType::kI8, DType::kI64, {5}), ElementsAre(5));
  EXPECT_THAT(Scan("cumprod", ", exclusive=true", DType::kF32, DType::kF32, {5}), ElementsAre(1));
  EXPECT_THAT(Scan("cummax", ", exclusive=true, reverse=true", DType::kF16, DType::kF16, {5}),
              ElementsAre(-kInf));
  EXPECT_THAT(Scan("logcumsumexp", ", exclusive=true", DType::kF32, DType::kF32, {5}),
              ElementsAre(-kInf));
}

TEST(Scans, NanAndInfinities) {
  const DType f32 = DType::kF32;
  std::vector<double> y = Scan("cummax", "", f32, f32, {1, kNan, 3});
  EXPECT_EQ(y[0], 1);
  EXPECT_TRUE(std::isnan(y[1]) && std::isnan(y[2]));
  y = Scan("cumsum", "", f32, f32, {1, kInf, 3, -kInf, 1});
  EXPECT_THAT(std::vector<double>(y.begin(), y.begin() + 3), ElementsAre(1, kInf, kInf));
  EXPECT_TRUE(std::isnan(y[3]) && std::isnan(y[4]));
  EXPECT_THAT(Scan("logcumsumexp", "", f32, f32, {-kInf, -kInf, 0, kInf, 5}),
              ElementsAre(-kInf, -kInf, 0, kInf, kInf));
  y = Scan("logcumsumexp", "", f32, f32, {1000, 1000, -1000, kNan, kInf});
  EXPECT_EQ(y[0], 1000);
  EXPECT_NEAR(y[1], 1000 + std::log(2), 1e-3);
  EXPECT_NEAR(y[2], 1000 + std::log(2), 1e-3);
  EXPECT_TRUE(std::isnan(y[3]) && std::isnan(y[4]));
}

TEST(Scans, BoundsGrowWithThePrefix) {
  Graph graph = *ParseGraph(
      "graph f(%x: f32[1000]) -> (f32[1000]) { %0 = cumsum(%x) {axis=0} : f32[1000] return %0 }");
  HostTensor x = HostTensor::Make(DType::kF32, {1000});
  for (int64_t i = 0; i < 1000; ++i) x.SetNumber(i, 0.1 + static_cast<double>(i % 7));
  WideTensor y = (*EvalWide(graph, {x}))[0];
  EXPECT_EQ(y.bound[0], 0);
  for (size_t i = 1; i < 1000; ++i) {
    EXPECT_GT(y.bound[i], 0);
    EXPECT_LE(y.bound[i], y.value[i] * static_cast<long double>(i + 1) * 0x1p-23L) << i;
  }
  HostTensor wrong = (*EvalDeclared(graph, {x}))[0];
  wrong.SetNumber(500, wrong.Number(500) * 1.001);
  EXPECT_FALSE(Compare(y, wrong).ok);
}

TEST(Scans, BackwardOnesAreForwardOnesBetweenFlips) {
  Graph graph = *Expand(*ParseGraph(
      "graph f(%x: f32[4,8]) -> (f32[4,8]) { %0 = cumsum(%x) {axis=-1, reverse=true} : f32[4,8] "
      "return %0 }"));
  std::vector<std::string> ops;
  for (NodeId id = 0; id < graph.size(); ++id) ops.emplace_back(graph.node(id).def().name);
  EXPECT_THAT(ops, ElementsAre("input", "flip", "cumsum", "flip"));
  EXPECT_FALSE(graph.node(NodeId{2}).Get<bool>("reverse"));
}

}  // namespace
}  // namespace jitfuse::internal
