// Classes of calls: what shares an executable, what does not, and what is refused.
#include "jit/call_class.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "ir/support/status.h"
#include "ir/text.h"

namespace jitfuse::internal {
namespace {

using ::testing::HasSubstr;

using Dims = std::vector<int64_t>;

alignas(64) char g_buffer[1 << 16];

struct Case {
  Graph graph;
  GraphShapeFacts facts;
  explicit Case(std::string_view text)
      : graph(*ParseGraph(text)), facts(ComputeShapeFacts(graph)) {}

  absl::StatusOr<CallClass> Classify(const std::vector<TensorView>& in,
                                     const std::vector<TensorView>& out = {}) const {
    return ClassifyCall(graph, facts, in, out);
  }
};

TensorView F32(const Dims& dims, const Dims& strides = {}, const void* ptr = g_buffer) {
  return {ptr, DType::kF32, dims, strides};
}

constexpr std::string_view kSoftmax = R"(graph f(%x: f32[n,m]) -> (f32[n,m]) {
  %0 = softmax(%x) {axis=1} : f32[n,m]
  return %0
})";
constexpr std::string_view kAdd = R"(graph f(%x: f32[n,64], %y: f32[n,64]) -> (f32[n,64]) {
  %0 = add(%x, %y) : f32[n,64]
  return %0
})";

TEST(CallClassTest, AnotherBatchSizeIsTheSameClass) {
  Case c(kSoftmax);
  Dims a{100, 64}, b{1001, 64};
  EXPECT_EQ(c.Classify({F32(a)})->key, c.Classify({F32(b)})->key);
}

TEST(CallClassTest, AnAddressWithinAnElementIsAnError) {
  Case c(kAdd);
  Dims some{3, 64}, none{0, 64};
  for (int within : {1, 2, 3}) {
    absl::Status in = c.Classify({F32(some), F32(some, {}, g_buffer + within)}).status();
    EXPECT_EQ(in.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(ToStd(in.message()),
              absl::StrCat("input 1 'y' (f32[n,64]): expected an address that is a multiple of 4 "
                           "bytes, the size of an element, got one that is ",
                           within, " beyond"));
    absl::Status out =
        c.Classify({F32(some), F32(some)}, {F32(some, {}, g_buffer + 8192 + within)}).status();
    EXPECT_THAT(ToStd(out.message()), HasSubstr("output 0 (f32[n,64]): expected an address"));
    EXPECT_TRUE(c.Classify({F32(none), F32(none, {}, g_buffer + within)}).ok());
  }
  EXPECT_TRUE(c.Classify({F32(some), F32(some, {}, g_buffer + 4)}).ok());
}

TEST(CallClassTest, StridesThatNobodyTakesMayBeAnything) {
  Case c(kSoftmax);
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  Dims row{1, 64}, column{3, 1}, none{0, 64};
  std::string plain = c.Classify({F32(row)})->key, empty = c.Classify({F32(none)})->key;
  for (int64_t odd : {kMost, -kMost - 1, int64_t{0}}) {
    auto cls = c.Classify({F32(row, {odd, 1})});
    ASSERT_TRUE(cls.ok()) << cls.status();
    EXPECT_EQ(cls->key, plain);
    EXPECT_TRUE(c.Classify({F32(column, {1, odd})}).ok());
    // Overlaps are seen as well.
    EXPECT_THAT(ToStd(c.Classify({F32(row, {odd, 1})}, {F32(row, {odd, 1}, g_buffer + 16)})
                          .status()
                          .message()),
                HasSubstr("its buffer partly overlaps input 0"));
    auto nothing = c.Classify({F32(none, {odd, odd})});
    ASSERT_TRUE(nothing.ok()) << nothing.status();
    EXPECT_EQ(nothing->key, empty);
  }
}

TEST(CallClassTest, SizesZeroAndOneAreClassesOfTheirOwn) {
  Case c(kSoftmax);
  Dims many{100, 64}, one{1, 64}, none{0, 64};
  std::string k = c.Classify({F32(many)})->key;
  EXPECT_NE(k, c.Classify({F32(one)})->key);
  EXPECT_NE(k, c.Classify({F32(none)})->key);
}

TEST(CallClassTest, ReducedExtentIsClassedByBucketAndFactor) {
  Case c(kSoftmax);
  Dims a{100, 64}, same{100, 48}, larger{100, 80}, odd{100, 63};
  std::string k = c.Classify({F32(a)})->key;
  EXPECT_EQ(k, c.Classify({F32(same)})->key);  // both in (32, 64], both multiples of 16
  EXPECT_NE(k, c.Classify({F32(larger)})->key);
  EXPECT_NE(k, c.Classify({F32(odd)})->key);
}

TEST(CallClassTest, InnerSymbolShowsItsFactor) {
  Case c(kSoftmax);
  Dims a{100, 24};
  CallClass cls = *c.Classify({F32(a)});
  Graph g = *SpecializeGraph(c.graph, cls);
  const Dim& inner = g.type({g.inputs()[0], 0}).dims[1];
  EXPECT_EQ(inner.KnownDivisor(), 8);
  EXPECT_EQ(inner.Eval(cls.symbols), 24);
  EXPECT_EQ(cls.bound[1] * 8, 32);
}

TEST(CallClassTest, StridesAndAlignmentAreClassed) {
  Case c(kAdd);
  Dims d{4, 64}, wide{128, 1}, turned{1, 4}, zero{0, 1};
  TensorView y = F32(d);
  std::string k = c.Classify({F32(d), y})->key;
  EXPECT_NE(k, c.Classify({F32(d, wide), y})->key);
  EXPECT_NE(k, c.Classify({F32(d, turned), y})->key);
  EXPECT_NE(k, c.Classify({F32(d, zero), y})->key);
  EXPECT_NE(k, c.Classify({F32(d, {}, g_buffer + 4), y})->key);
  EXPECT_EQ(k, c.Classify({F32(d, {}, g_buffer + 16), y})->key);
}

TEST(CallClassTest, StrideSymbolsFollowTheGraphs) {
  Case c(kAdd);
  Dims d{4, 64}, wide{136, 1};
  CallClass cls = *c.Classify({F32(d, wide), F32(d)});
  ASSERT_EQ(cls.symbols.size(), 2u);
  EXPECT_EQ(cls.inputs[0].strides[0].Eval(cls.symbols), 136);
  EXPECT_EQ(cls.inputs[0].strides[0].KnownDivisor(), 8);
  EXPECT_TRUE(cls.inputs[0].strides[1].Is(1));
}

// Symbols are at least 1 for everyone who reads them; a matrix of one column and stride -1 must not
// look like rows of distance s.
TEST(CallClassTest, NegativeStridesAreSymbolsOfAtLeastOne) {
  Case c(kAdd);
  Dims d{4, 64}, backwards{-136, -1}, forwards{136, 1};
  CallClass cls = *c.Classify({F32(d, backwards, g_buffer + 8192), F32(d)});
  ASSERT_EQ(cls.symbols.size(), 3u);
  EXPECT_EQ(cls.inputs[0].strides[0].Eval(cls.symbols), -136);
  EXPECT_EQ(cls.inputs[0].strides[0].KnownDivisor(), 8);
  EXPECT_EQ(cls.inputs[0].strides[1].Eval(cls.symbols), -1);
  EXPECT_FALSE(cls.inputs[0].strides[1].IsKnownNonNegative());
  for (size_t s = 1; s < cls.symbols.size(); ++s) EXPECT_GE(cls.symbols[s], 1);
  EXPECT_NE(cls.key, c.Classify({F32(d, forwards, g_buffer + 8192), F32(d)})->key);
}

// A view that is not dense for another axis's sake: the stride of an extent that is 1 in all calls
// of the class tells nothing apart, also where the extent is no symbol.
TEST(CallClassTest, StridesOfExtentsThatAreOneAreNoSymbols) {
  Case c(R"(graph f(%x: f32[n,3]) -> (f32[ceildiv(n,2),3]) {
  %0 = slice(%x) {steps=[2,1]} : f32[ceildiv(n,2),3]
  return %0
})");
  const Dims d{1, 3}, two{2, 3}, none, near{77, 2}, far{1000, 2};
  const auto with = [&](const Dims& strides) {
    return *c.Classify({F32(d, strides)}, {F32(d, strides, g_buffer + 16384)});
  };
  const CallClass cls = with(near);
  EXPECT_EQ(cls.key, with(far).key);
  EXPECT_THAT(cls.symbols, testing::ElementsAre(1, 1, 1));
  for (const Layout& layout : {cls.inputs[0], cls.outputs[0]}) {
    EXPECT_TRUE(layout.strides[0].Is(0));
    EXPECT_EQ(layout.strides[1].Eval(cls.symbols), 2);
  }
  // One row of a result whose extent is a symbol: its stride is one, too.
  const CallClass row = *c.Classify({F32(two)}, {F32(d, near, g_buffer + 16384)});
  EXPECT_EQ(row.outputs[0].strides[0].Eval(row.symbols), 77);
}

TEST(CallClassTest, AKeyIsTheClassOfItsCall) {
  Case c(kAdd);
  const Dims d{12, 64}, pitch{136, 1};
  const std::vector<TensorView> in{F32(d, pitch), F32(d, {}, g_buffer + 16384)};
  const std::vector<TensorView> out{in[0]};
  const CallClass whole = *c.Classify(in, out);
  const CallClass made = ClassOf(c.graph, *ClassKeyOf(c.graph, c.facts, in, out));
  EXPECT_EQ(made.key, whole.key);
  EXPECT_EQ(made.symbols, whole.symbols);
  EXPECT_EQ(made.inputs, whole.inputs);
  EXPECT_EQ(made.outputs, whole.outputs);
  EXPECT_EQ(made.outputs[0], made.inputs[0]);  // in place: one map of elements
  EXPECT_EQ(made.bound.size(), made.symbols.size());
}

TEST(CallClassTest, OffsetsOf64BitsComeFromTheLargestOffset) {
  Case c(kAdd);
  Dims d{4, 64}, far{int64_t{1} << 30, 1};
  EXPECT_EQ(c.Classify({F32(d), F32(d)})->offset_bits, 32);
  EXPECT_EQ(c.Classify({F32(d, far), F32(d)})->offset_bits, 64);
}

TEST(CallClassTest, BadInputsNameThemselves) {
  Case c(kAdd);
  Dims d{4, 64}, rank1{4}, other{5, 64}, wrong{4, 63};
  EXPECT_THAT(c.Classify({F32(d)}).status().message(), HasSubstr("expected 2 inputs, got 1"));
  EXPECT_THAT(c.Classify({F32(d), {g_buffer, DType::kF16, d, {}}}).status().message(),
              HasSubstr("expected dtype f32, got f16"));
  EXPECT_THAT(std::string(c.Classify({F32(d), F32(rank1)}).status().message()),
              HasSubstr("input y of shape [4] has rank 1, expected rank 2"));
  EXPECT_THAT(c.Classify({F32(d), F32(wrong)}).status().message(), HasSubstr("64"));
  EXPECT_FALSE(c.Classify({F32(d), F32(other)}).ok());
  EXPECT_THAT(c.Classify({F32(d), F32(d, rank1)}).status().message(),
              HasSubstr("2 dims but 1 strides"));
}

TEST(CallClassTest, BadOutputsNameThemselves) {
  Case c(kAdd);
  Dims d{4, 64}, other{4, 32}, tied{0, 1};
  TensorView x = F32(d), y = F32(d, {}, g_buffer + 4096);
  EXPECT_THAT(c.Classify({x, y}, {F32(other, {}, g_buffer + 8192)}).status().message(),
              HasSubstr("expected a buffer of shape [4,64], got [4,32]"));
  EXPECT_THAT(c.Classify({x, y}, {F32(d, tied, g_buffer + 8192)}).status().message(),
              HasSubstr("stride 0"));
  for (Dims overlapping : {Dims{32, 1}, Dims{63, 1}, Dims{-32, 1}, Dims{1, 1}, Dims{1, 3}}) {
    EXPECT_THAT(c.Classify({x, y}, {F32(d, overlapping, g_buffer + 32768)}).status().message(),
                HasSubstr("share one element"));
  }
  for (Dims apart : {Dims{64, 1}, Dims{65, -1}, Dims{-64, 1}, Dims{1, 4}, Dims{127, 2}}) {
    EXPECT_TRUE(c.Classify({x, y}, {F32(d, apart, g_buffer + 32768)}).ok());
  }
  EXPECT_THAT(c.Classify({x, y}, {F32(d, {}, g_buffer + 16)}).status().message(),
              HasSubstr("partly overlaps"));
}

TEST(CallClassTest, ExactAliasIsPartOfTheClass) {
  Case c(kAdd);
  Dims d{4, 64};
  TensorView x = F32(d), y = F32(d, {}, g_buffer + 4096);
  CallClass apart = *c.Classify({x, y}, {F32(d, {}, g_buffer + 8192)});
  CallClass onto_y = *c.Classify({x, y}, {F32(d, {}, g_buffer + 4096)});
  EXPECT_TRUE(apart.output_aliases[0].empty());
  EXPECT_EQ(onto_y.output_aliases[0], std::vector<int>{1});
  EXPECT_NE(apart.key, onto_y.key);
}

TEST(CallClassTest, HalvesOfOneMatrixDoNotOverlap) {
  Case c(kAdd);
  Dims d{4, 64}, pitch{128, 1};
  TensorView left = F32(d, pitch), right = F32(d, pitch, g_buffer + 64 * 4);
  TensorView y = F32(d, {}, g_buffer + 8192);
  EXPECT_TRUE(c.Classify({left, y}, {right}).ok());
  EXPECT_FALSE(c.Classify({left, y}, {F32(d, pitch, g_buffer + 63 * 4)}).ok());
}

TEST(CallClassTest, InterleavedElementsDoNotOverlap) {
  Case c(kAdd);
  const Dims d{4, 64}, even{128, 2}, odd{-128, -2};
  TensorView y = F32(d, {}, g_buffer + 8192);
  TensorView x = F32(d, even);
  EXPECT_TRUE(c.Classify({x, y}, {F32(d, even, g_buffer + 4)}).ok());
  // Backwards from the last odd element: the same places.
  EXPECT_TRUE(c.Classify({x, y}, {F32(d, odd, g_buffer + (3 * 128 + 63 * 2 + 1) * 4)}).ok());
  EXPECT_FALSE(c.Classify({x, y}, {F32(d, even, g_buffer + 8)}).ok());
  EXPECT_FALSE(c.Classify({x, y}, {F32(d, odd, g_buffer + (3 * 128 + 63 * 2) * 4)}).ok());
  // Rows of which every other is the other's.
  const Dims rows{128, 1};
  EXPECT_TRUE(c.Classify({F32(d, rows), y}, {F32(d, rows, g_buffer + 64 * 4)}).ok());
  EXPECT_FALSE(c.Classify({F32(d, {}), y}, {F32(d, rows, g_buffer + 64 * 4)}).ok());
}

TEST(CallClassTest, AnEmptyBufferOverlapsNothing) {
  Case c(R"(graph f(%x: f32[n], %y: f32[m]) -> (f32[n]) {
  %0 = relu(%x) : f32[n]
  return %0
})");
  const Dims none{0}, four{4};
  EXPECT_TRUE(c.Classify({F32(none), F32(four)}, {F32(none, {}, g_buffer + 4)}).ok());
  const TensorView view = F32(none, {}, g_buffer + 4);
  EXPECT_FALSE(Touches(view, g_buffer, 256));
  const Dims some{2, 64};
  const TensorView full = F32(some, {}, g_buffer + 256);
  EXPECT_FALSE(Touches(full, g_buffer, 256));
  EXPECT_TRUE(Touches(full, g_buffer, 257));
  EXPECT_TRUE(Touches(full, g_buffer + 256 + 511, 1));
  EXPECT_FALSE(Touches(full, g_buffer + 256 + 512, 1));
}

}  // namespace
}  // namespace jitfuse::internal
