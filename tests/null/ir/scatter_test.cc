// Sums by index in the graph evaluator: values by hand, order of additions, bounds, their
// expansion, and what inference refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "absl/strings/str_cat.h"
#include "ir/eval.h"
#include "ir/expand.h"
#include "ir/support/status.h"
#include "ir/text.h"

namespace jitfuse::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

HostTensor Tensor(DType dtype, std::vector<int64_t> dims, const std::vector<double>& values) {
  HostTensor t = HostTensor::Make(dtype, std::move(dims));
  for (size_t i = 0; i < values.size(); ++i) t.SetNumber(static_cast<int64_t>(i), values[i]);
  return t;
}

std::vector<double> Numbers(const HostTensor& t) {
  std::vector<double> out;
  for (int64_t i = 0; i < t.size(); ++i) out.push_back(t.Number(i));
  return out;
}

// The first result, after comparing both evaluators.
absl::StatusOr<std::vector<double>> Eval(std::string_view text,
                                         const std::vector<HostTensor>& inputs) {
  JF_ASSIGN_OR_RETURN(Graph graph, ParseGraph(text));
  JF_ASSIGN_OR_RETURN(std::vector<HostTensor> declared, EvalDeclared(graph, inputs));
  JF_ASSIGN_OR_RETURN(std::vector<WideTensor> wide, EvalWide(graph, inputs));
  for (size_t o = 0; o < declared.size(); ++o) {
    CompareResult r = Compare(wide[o], declared[o]);
    EXPECT_TRUE(r.ok) << text << ": " << r.text;
  }
  return Numbers(declared[0]);
}

TEST(Scatter, IndexAddByHand) {
  const std::string_view text =
      "graph f(%x: f32[3,2], %i: i32[4], %s: f32[4,2]) -> (f32[3,2]) { %0 = index_add(%x, %i, %s) "
      ": f32[3,2] return %0 }";
  EXPECT_THAT(*Eval(text, {Tensor(DType::kF32, {3, 2}, {1, 2, 3, 4, 5, 6}),
                           Tensor(DType::kI32, {4}, {2, 0, -1, 0}),
                           Tensor(DType::kF32, {4, 2}, {10, 20, 30, 40, 50, 60, 70, 80})}),
              ElementsAre(101, 122, 3, 4, 65, 86));
}

TEST(Scatter, IndicesOfEveryRank) {
  EXPECT_THAT(*Eval("graph f(%x: i32[3], %i: i64[], %s: i32[]) -> (i32[3]) { %0 = index_add(%x, "
                    "%i, %s) : i32[3] return %0 }",
                    {Tensor(DType::kI32, {3}, {1, 2, 3}), Tensor(DType::kI64, {}, {1}),
                     Tensor(DType::kI32, {}, {5})}),
              ElementsAre(1, 7, 3));
  EXPECT_THAT(*Eval("graph f(%x: i32[2,3], %i: u8[2,2], %s: i32[2,2,2]) -> (i32[2,3]) { %0 = "
                    "index_add(%x, %i, %s) {axis=1} : i32[2,3] return %0 }",
                    {Tensor(DType::kI32, {2, 3}, {0, 0, 0, 0, 0, 0}),
                     Tensor(DType::kU8, {2, 2}, {0, 2, 2, 2}),
                     Tensor(DType::kI32, {2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8})}),
              ElementsAre(1, 0, 9, 5, 0, 21));
}

TEST(Scatter, ScatterAddByHand) {
  EXPECT_THAT(*Eval("graph f(%x: f32[2,3], %i: i32[2,4], %s: f32[2,4]) -> (f32[2,3]) { %0 = "
                    "scatter_add(%x, %i, %s) {axis=1} : f32[2,3] return %0 }",
                    {Tensor(DType::kF32, {2, 3}, {0, 0, 0, 100, 100, 100}),
                     Tensor(DType::kI32, {2, 4}, {0, 0, 2, -1, 1, 1, 1, 0}),
                     Tensor(DType::kF32, {2, 4}, {1, 2, 3, 4, 5, 6, 7, 8})}),
              ElementsAre(3, 0, 7, 108, 118, 100));
}

TEST(Scatter, GroupsKeepTheOrderOfEqualIndices) {
  const std::string_view text =
      "graph f(%i: i32[6]) -> (i64[6], i64[4], i64[4]) { %0, %1, %2 = group_positions(%i) {axis=0, "
      "size=[4]} : i64[6], i64[4], i64[4] return %0, %1, %2 }";
  Graph graph = *ParseGraph(text);
  std::vector<HostTensor> y =
      *EvalDeclared(graph, {Tensor(DType::kI32, {6}, {3, 0, -1, 2, 0, -4})});
  EXPECT_THAT(Numbers(y[0]), ElementsAre(1, 4, 5, 3, 0, 2));
  EXPECT_THAT(Numbers(y[1]), ElementsAre(0, 3, 3, 4));
  EXPECT_THAT(Numbers(y[2]), ElementsAre(3, 3, 4, 6));
}

// x first, then ascending positions; each step rounds in the compute type, the result once more.
TEST(Scatter, AddsInAscendingOrder) {
  const std::string_view text =
      "graph f(%x: f32[1], %i: i32[3], %s: f32[3]) -> (f32[1]) { %0 = index_add(%x, %i, %s) : "
      "f32[1] return %0 }";
  const HostTensor zeros = Tensor(DType::kI32, {3}, {0, 0, 0});
  EXPECT_THAT(*Eval(text, {Tensor(DType::kF32, {1}, {0x1p24}), zeros,
                           Tensor(DType::kF32, {3}, {1, 1, -0x1p24})}),
              ElementsAre(0));
  EXPECT_THAT(*Eval(text, {Tensor(DType::kF32, {1}, {0x1p24}), zeros,
                           Tensor(DType::kF32, {3}, {-0x1p24, 1, 1})}),
              ElementsAre(2));
  const std::string half =
      "graph f(%x: f16[1], %i: i32[3], %s: f16[3]) -> (f16[1]) { %0 = index_add(%x, %i, %s) : "
      "f16[1] return %0 }";
  EXPECT_THAT(*Eval(half, {Tensor(DType::kF16, {1}, {2048}), zeros,
                           Tensor(DType::kF16, {3}, {0.5, 0.5, 1})}),
              ElementsAre(2050));
}

TEST(Scatter, IntegersWrap) {
  EXPECT_THAT(*Eval("graph f(%x: i8[2], %i: i32[3], %s: i8[3]) -> (i8[2]) { %0 = index_add(%x, "
                    "%i, %s) : i8[2] return %0 }",
                    {Tensor(DType::kI8, {2}, {100, 1}), Tensor(DType::kI32, {3}, {0, 0, 1}),
                     Tensor(DType::kI8, {3}, {100, 100, 1})}),
              ElementsAre(44, 2));
}

TEST(Scatter, NothingAddedChangesNothing) {
  const std::string_view text =
      "graph f(%x: f32[2], %i: i32[n], %s: f32[n]) -> (f32[2]) { %0 = index_add(%x, %i, %s) : "
      "f32[2] return %0 }";
  std::vector<double> y = *Eval(text, {Tensor(DType::kF32, {2}, {-0.0, std::nan("")}),
                                       Tensor(DType::kI32, {0}, {}), Tensor(DType::kF32, {0}, {})});
  EXPECT_TRUE(std::signbit(y[0]));
  EXPECT_TRUE(std::isnan(y[1]));
  // NaN and infinities only where they are added.
  y = *Eval(text, {Tensor(DType::kF32, {2}, {1, 2}), Tensor(DType::kI32, {2}, {1, 1}),
                   Tensor(DType::kF32, {2}, {HUGE_VAL, -HUGE_VAL})});
  EXPECT_EQ(y[0], 1);
  EXPECT_TRUE(std::isnan(y[1]));
}

TEST(Scatter, BoundsGrowWithTheSegment) {
  Graph graph = *ParseGraph(
      "graph f(%x: f32[2], %i: i32[1000], %s: f32[1000]) -> (f32[2]) { %0 = index_add(%x, %i, %s) "
      ": f32[2] return %0 }");
  HostTensor x = Tensor(DType::kF32, {2}, {0.1, 0.1}), i = HostTensor::Make(DType::kI32, {1000}),
             s = HostTensor::Make(DType::kF32, {1000});
  for (int64_t k = 0; k < 1000; ++k) {
    i.SetNumber(k, k == 0 ? 0 : 1);
    s.SetNumber(k, 0.1 + static_cast<double>(k % 7));
  }
  WideTensor y = (*EvalWide(graph, {x, i, s}))[0];
  EXPECT_LE(y.bound[0], 0x1p-24L);
  EXPECT_GT(y.bound[1], 0);
  EXPECT_LE(y.bound[1], y.value[1] * 1000 * 0x1p-24L);
  HostTensor wrong = (*EvalDeclared(graph, {x, i, s}))[0];
  wrong.SetNumber(1, wrong.Number(1) * 1.001);
  EXPECT_FALSE(Compare(y, wrong).ok);
}

TEST(Scatter, IndicesOutOfRangeAreErrors) {
  const std::string_view text =
      "graph f(%x: f32[3], %i: i32[1], %s: f32[1]) -> (f32[3]) { %0 = index_add(%x, %i, %s) : "
      "f32[3] return %0 }";
  for (double index : {3.0, -4.0}) {
    absl::Status status =
        Eval(text, {Tensor(DType::kF32, {3}, {0, 0, 0}), Tensor(DType::kI32, {1}, {index}),
                    Tensor(DType::kF32, {1}, {1})})
            .status();
    EXPECT_THAT(std::string(status.message()),
                HasSubstr(absl::StrCat("index ", index, " is out of range for axis 0 of size 3")));
  }
  // A symbolic axis of size 0.
  absl::Status status =
      Eval(
          "graph f(%x: f32[n], %i: i32[1], %s: f32[1]) -> (f32[n]) { %0 = index_add(%x, %i, %s) : "
          "f32[n] return %0 }",
          {Tensor(DType::kF32, {0}, {}), Tensor(DType::kI32, {1}, {0}),
           Tensor(DType::kF32, {1}, {1})})
          .status();
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("index 0 is out of range for axis 0 of size 0"));
}

// The positions of an index that is not known may be anywhere.
TEST(Scatter, UncertainIndicesMakeAnythingPass) {
  Graph graph = *ParseGraph(
      "graph f(%x: f32[3], %v: f32[2], %s: f32[2]) -> (f32[3]) { %0 = exp(%v) : f32[2] %1 = "
      "cast(%0) {dtype=i32} : i32[2] %2 = index_add(%x, %1, %s) : f32[3] return %2 }");
  WideTensor y = (*EvalWide(
      graph, {Tensor(DType::kF32, {3}, {0, 0, 0}), Tensor(DType::kF32, {2}, {0, std::log(2.0)}),
              Tensor(DType::kF32, {2}, {1, 1})}))[0];
  EXPECT_TRUE(std::isinf(y.bound[0]) && std::isinf(y.bound[2]));
}

TEST(Scatter, BothExpandToASortAndOneSum) {
  for (const char* text :
       {"graph f(%x: f32[3,n], %i: i32[4], %s: f32[4,n]) -> (f32[3,n]) { %0 = index_add(%x, %i, "
        "%s) : f32[3,n] return %0 }",
        "graph f(%x: f32[3,n], %i: i32[4,n], %s: f32[4,n]) -> (f32[3,n]) { %0 = scatter_add(%x, "
        "%i, %s) {axis=0} : f32[3,n] return %0 }"}) {
    Graph graph = *Expand(*ParseGraph(text));
    int sorts = 0, sums = 0;
    for (NodeId id = 0; id < graph.size(); ++id) {
      sorts += graph.node(id).kind() == OpKind::kSort ? 1 : 0;
      sums += graph.node(id).kind() == OpKind::kSegment ? 1 : 0;
    }
    EXPECT_EQ(sorts, 1);
    EXPECT_EQ(sums, 1);
  }
}

TEST(Scatter, InferenceNamesWhatIsWrong) {
  struct Case {
    const char *args, *call, *message;
  };
  const Case cases[] = {
      {"%x: f32[4,8], %i: f32[3], %s: f32[3,8]", "index_add(%x, %i, %s)",
       "index_add(f32[4,8], f32[3], f32[3,8]): expected integers for indices, got f32"},
      {"%x: f32[4,8], %i: i32[3], %s: f64[3,8]", "index_add(%x, %i, %s)",
       "expected src of the dtype of x, got f64 and f32; use cast"},
      {"%x: f32[4,8], %i: i32[3], %s: f32[8]", "index_add(%x, %i, %s)",
       "src has rank 1, expected 2: the dims of x with those of indices in place of axis 0"},
      {"%x: f32[4,8], %i: i32[3], %s: f32[2,8]", "index_add(%x, %i, %s)",
       "expected equal sizes in dim 0 of indices and dim 0 of src"},
      {"%x: f32[4,8], %i: i32[3], %s: f32[4,3]", "index_add(%x, %i, %s) {axis=1}", ""},
      {"%x: f32[4,8], %i: i32[3], %s: f32[5,3]", "index_add(%x, %i, %s) {axis=1}",
       "expected equal sizes in dim 0 of x and dim 0 of src"},
      {"%x: f32[4,8], %i: i32[3], %s: f32[3,8]", "index_add(%x, %i, %s) {axis=2}",
       "axis is 2, expected an axis from -2 to 1"},
      {"%x: bool[4], %i: i32[3], %s: bool[3]", "index_add(%x, %i, %s)", "got bool"},
      {"%x: f32[0], %i: i32[3], %s: f32[3]", "index_add(%x, %i, %s)",
       "the axis has size 0, but there are 3 indices"},
      {"%x: f32[4,8], %i: i32[3], %s: f32[3]", "scatter_add(%x, %i, %s) {axis=0}",
       "indices has rank 1, expected 2 as x has"},
      {"%x: f32[4,8], %i: i32[3,7], %s: f32[3,7]", "scatter_add(%x, %i, %s) {axis=0}",
       "expected equal sizes in dim 1 of x and indices (all but axis 0)"},
      {"%x: f32[4,8], %i: i32[3,8], %s: f32[2,8]", "scatter_add(%x, %i, %s) {axis=0}",
       "expected equal sizes in dim 0 of indices and src"},
      {"%x: i32[4], %i: i32[3], %s: i32[3]", "segment_add(%x, %s, %i, %x, %x) {axis=0}",
       "expected i64 for order, got i32"},
  };
  for (const Case& c : cases) {
    const std::string args(c.args);
    const std::string type = args.substr(4, args.find(", %i") - 4);
    absl::Status status = ParseGraph(absl::StrCat("graph f(", args, ") -> (", type,
                                                  ") { %0 = ", c.call, " : ", type, " return %0 }"))
                              .status();
    EXPECT_EQ(status.ok(), std::string_view(c.message).empty()) << c.call << " " << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(c.message)) << c.args;
  }
  for (const auto& [size, message] : {std::pair("[-1]", "size is -1, expected 0 or more"),
                                      std::pair("[2,3]", "size has 2 entries, expected 1")}) {
    absl::Status status = ParseGraph(absl::StrCat("graph f(%i: i32[3]) -> (i64[3]) { %0, %1, %2 = "
                                                  "group_positions(%i) {axis=0, size=",
                                                  size, "} : i64[3], i64[2], i64[2] return %0 }"))
                              .status();
    EXPECT_THAT(std::string(status.message()), HasSubstr(message));
  }
}

}  // namespace
}  // namespace jitfuse::internal
