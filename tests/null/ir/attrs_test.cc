// Attributes and sizes at their limits: what does not fit is an error that says so, never another
// number in silence.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ir/eval.h"
#include "ir/op_enum.h"
#include "ir/support/status.h"
#include "ir/text.h"

namespace jitfuse::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

// "" where the line is right.
std::string Error(const std::string& inputs, const std::string& line, const std::string& type) {
  auto graph = ParseGraph(absl::StrCat("graph f(", inputs, ") -> (", type, ") {\n %r = ", line,
                                       " : ", type, "\n return %r\n}"));
  return std::string(ToStd(graph.status().message()));
}

std::vector<uint64_t> Bits(const std::string& line, const std::string& type,
                           const std::vector<HostTensor>& inputs = {},
                           const std::string& signature = "") {
  auto graph = ParseGraph(absl::StrCat("graph f(", signature, ") -> (", type, ") {\n %r = ", line,
                                       " : ", type, "\n return %r\n}"));
  EXPECT_TRUE(graph.ok()) << graph.status();
  if (!graph.ok()) return {};
  auto results = EvalDeclared(*graph, inputs);
  EXPECT_TRUE(results.ok()) << results.status();
  std::vector<uint64_t> out;
  if (!results.ok()) return out;
  for (int64_t i = 0; i < (*results)[0].size(); ++i) out.push_back((*results)[0].At(i).bits());
  return out;
}

HostTensor Integers(DType dtype, const std::vector<int64_t>& values) {
  HostTensor out = HostTensor::Make(dtype, {static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i)
    out.Set(static_cast<int64_t>(i), ScalarFromInt(dtype, values[i]));
  return out;
}

TEST(AttrsTest, IntegersThatF64WouldRoundAreErrorsWhereF64IsMeant) {
  for (const char* digits : {"9007199254740993", "-9007199254740993", "9223372036854775807"}) {
    EXPECT_THAT(Error("%x: f64[4]", absl::StrCat("clamp(%x) {max=", digits, "}"), "f64[4]"),
                HasSubstr(absl::StrCat("clamp(f64[4]): max is ", digits,
                                       ", expected a number that f64 holds exactly; a constant "
                                       "operand holds all digits of an integer")));
    EXPECT_THAT(Error("%x: i64[4]", absl::StrCat("pad(%x) {low=[1], high=[0], value=", digits, "}"),
                      "i64[5]"),
                HasSubstr(absl::StrCat("value is ", digits, ", expected a number that f64 holds")));
  }
  for (const char* type : {"f64[4]", "i64[4]", "u64[4]"}) {
    const std::string input = absl::StrCat("%x: ", type);
    for (const char* digits : {"9223372036854775809", "18446744073709551615"}) {
      const std::string error = Error(input, absl::StrCat("clamp(%x) {max=", digits, "}"), type);
      EXPECT_THAT(error, HasSubstr("2:22: "));
      EXPECT_THAT(error, HasSubstr("this integer is beyond 2^63 and has more digits than f64 holds;"
                                   " a constant operand holds them all"));
    }
    for (const char* digits :
         {"9007199254740992", "9007199254740994", "9223372036854775808", "9007199254740993.0"}) {
      EXPECT_EQ(Error(input, absl::StrCat("clamp(%x) {max=", digits, "}"), type), "");
    }
  }
}

TEST(AttrsTest, OpsOnIntegersKeepAllDigitsOfALimit) {
  const std::vector<int64_t> values = {kMost, kMost - 1, -kMost, (int64_t{1} << 53) + 2, 5};
  const HostTensor x = Integers(DType::kI64, values);
  auto limited = [&](const std::string& limits) {
    std::vector<int64_t> out;
    for (uint64_t bits :
         Bits(absl::StrCat("clamp(%x) {", limits, "}"), "i64[5]", {x}, "%x: i64[5]"))
      out.push_back(static_cast<int64_t>(bits));
    return out;
  };
  const int64_t odd = (int64_t{1} << 53) + 1;
  EXPECT_THAT(limited("max=9007199254740993"), ElementsAre(odd, odd, -kMost, odd, 5));
  EXPECT_THAT(limited("min=-9007199254740993, max=9223372036854775806"),
              ElementsAre(kMost - 1, kMost - 1, -odd, odd + 1, 5));
  EXPECT_THAT(limited("max=9223372036854775807"), ElementsAreArray(values));
  EXPECT_THAT(limited("max=9223372036854775808"), ElementsAreArray(values));
  EXPECT_THAT(limited("min=-9223372036854775807"), ElementsAreArray(values));
  const HostTensor u = Integers(DType::kU64, {-1, 5, odd + 1});
  EXPECT_THAT(Bits("clamp(%x) {min=9007199254740993, max=9223372036854775807}", "u64[3]", {u},
                   "%x: u64[3]"),
              ElementsAre(uint64_t{kMost}, odd, odd + 1));
  EXPECT_THAT(Bits("clamp(%x) {min=-9007199254740993}", "u64[3]", {u}, "%x: u64[3]"),
              ElementsAre(~uint64_t{0}, 5u, odd + 1));
  EXPECT_THAT(Bits("threshold(%x) {threshold=9007199254740993, value=-9007199254740993}", "i64[5]",
                   {x}, "%x: i64[5]"),
              ElementsAre(kMost, kMost - 1, -odd, odd + 1, -odd));
  // Beyond the type a limit limits nothing; what takes an element's place has to be one.
  EXPECT_THAT(Bits("clamp(%x) {min=-9007199254740993, max=9007199254740993}", "i16[2]",
                   {Integers(DType::kI16, {32767, -32768})}, "%x: i16[2]"),
              ElementsAre(uint64_t{32767}, static_cast<uint64_t>(int64_t{-32768})));
  EXPECT_THAT(
      Error("%x: i32[4]", "threshold(%x) {threshold=1, value=9007199254740993}", "i32[4]"),
      HasSubstr("threshold(i32[4]): value is 9007199254740993, expected a number that i32"));
  EXPECT_THAT(Error("%x: u64[4]", "threshold(%x) {threshold=1, value=-9007199254740993}", "u64[4]"),
              HasSubstr("value is -9007199254740993, expected a number that u64 holds"));
}

TEST(AttrsTest, IntegersInPlaceOfF64AreNumbersOfTheirOwn) {
  Graph graph;
  const Value x = *graph.AddInput("x", {DType::kI64, {Dim(4)}});
  auto limited = [&](AttrValue max) { return *graph.Add(Op::kClamp, {x}, {{"max", max}}); };
  EXPECT_NE(limited(kMost), limited(kMost - 1));  // which are one as f64
  EXPECT_EQ(limited(kMost), limited(kMost));
  EXPECT_EQ(limited(int64_t{5}), limited(5.0));
  EXPECT_EQ(limited(int64_t{1} << 60), limited(0x1p60));
  const std::string text =
      "graph f(%x: i64[4]) -> (i64[4], i64[4]) {\n"
      "  %0 = clamp(%x) {min=-9007199254740993, max=9223372036854775807} : i64[4]\n"
      "  %1 = clamp(%x) {min=-1.0, max=9007199254740993} : i64[4]\n"
      "  return %0, %1\n}\n";
  auto read = ParseGraph(text);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(GraphToString(*read), text);
}

TEST(AttrsTest, RangesOfWholeNumbersAreExact) {
  EXPECT_THAT(
      Bits("arange() {start=9223372036854775808, stop=9223372036854781952, step=2048, "
           "dtype=u64}",
           "u64[3]"),
      ElementsAre(uint64_t{1} << 63, (uint64_t{1} << 63) + 2048, (uint64_t{1} << 63) + 4096));
  EXPECT_THAT(Bits("arange() {start=18446744073709549568, stop=18446744073709543424, step=-2048, "
                   "dtype=u64}",
                   "u64[3]"),
              ElementsAre(~uint64_t{0} - 2047, ~uint64_t{0} - 4095, ~uint64_t{0} - 6143));
  EXPECT_THAT(Bits("arange() {start=-9223372036854775808, stop=9223372036854775808, "
                   "step=4611686018427387904}",
                   "i64[4]"),
              ElementsAre(uint64_t{1} << 63, uint64_t{3} << 62, 0u, uint64_t{1} << 62));
  // Steps that no element takes, or that only 128 bits hold.
  EXPECT_THAT(Bits("arange() {start=3, stop=4, step=1e30}", "i64[1]"), ElementsAre(3u));
  EXPECT_THAT(Bits("arange() {start=18446744073709549568, stop=-1, step=-18446744073709549568, "
                   "dtype=u64}",
                   "u64[2]"),
              ElementsAre(~uint64_t{0} - 2047, 0u));
  // The difference has 54 bits.
  EXPECT_EQ(
      Error("", "arange() {start=-1, stop=9007199254740992, step=2}", "i64[4503599627370497]"), "");
  EXPECT_EQ(Error("", "arange() {start=0, stop=9.5, step=3}", "i64[4]"), "");
  EXPECT_EQ(Error("", "arange() {start=9, stop=0}", "i64[0]"), "");
}

TEST(AttrsTest, RangesBeyondTheirTypeAreErrors) {
  EXPECT_THAT(Error("", "arange() {stop=300, dtype=u8}", "u8[300]"),
              HasSubstr("arange(): goes from 0 to 299, expected numbers that u8 holds"));
  EXPECT_EQ(Error("", "arange() {stop=256, dtype=u8}", "u8[256]"), "");
  EXPECT_THAT(Error("", "arange() {start=3, stop=-2, step=-1, dtype=u8}", "u8[5]"),
              HasSubstr("goes from 3 to -1, expected numbers that u8 holds"));
  EXPECT_THAT(Error("", "arange() {start=1e30, stop=2e30, step=1e30}", "i64[1]"),
              HasSubstr("goes from 1e+30 to "));
  EXPECT_THAT(Error("", "arange() {stop=1e6, dtype=f16}", "f16[1000000]"),
              HasSubstr("goes from 0 to 999999, expected numbers that f16 holds"));
  EXPECT_THAT(Error("", "arange() {start=-1e308, stop=1e308, step=1e308, dtype=f64}", "f64[2]"),
              HasSubstr("start and stop are -1e+308 and 1e+308, expected a difference that f64"));
  EXPECT_THAT(Error("", "arange() {start=nan, stop=1}", "i64[1]"),
              HasSubstr("start is NaN, expected a number"));
  EXPECT_THAT(Error("", "arange() {stop=1, step=nan}", "i64[1]"), HasSubstr("step is NaN"));
  EXPECT_THAT(Error("", "linspace() {start=-1e308, stop=1e308, num=3, dtype=f64}", "f64[3]"),
              HasSubstr("start and stop are -1e+308 and 1e+308, expected a difference that f64"));
  EXPECT_THAT(Error("", "linspace() {start=0, stop=1e6, num=3, dtype=f16}", "f16[3]"),
              HasSubstr("stop is 1e+06, expected a finite number of f16"));
  EXPECT_THAT(Error("", "linspace() {start=-inf, stop=1, num=3}", "f32[3]"),
              HasSubstr("start is -inf, expected a finite number of f32"));
}

TEST(AttrsTest, NumbersThatBecomeElementsFitTheirType) {
  EXPECT_THAT(Error("%x: u8[4]", "threshold(%x) {threshold=-1, value=0}", "u8[4]"),
              HasSubstr("threshold(u8[4]): threshold is -1, expected a number that u8 holds"));
  EXPECT_THAT(Error("%x: i8[4]", "threshold(%x) {threshold=1, value=128}", "i8[4]"),
              HasSubstr("threshold(i8[4]): value is 128, expected a number that i8 holds"));
  EXPECT_THAT(Error("%x: f16[4]", "threshold(%x) {threshold=1, value=1e6}", "f16[4]"),
              HasSubstr("value is 1e+06, expected a number that f16 holds"));
  EXPECT_EQ(Error("%x: f16[4]", "threshold(%x) {threshold=1, value=-inf}", "f16[4]"), "");
  EXPECT_EQ(Error("%x: i8[4]", "threshold(%x) {threshold=-128, value=127}", "i8[4]"), "");
  const auto pad = [](const std::string& dtype, const std::string& value) {
    return Error(absl::StrCat("%x: ", dtype, "[4]"),
                 absl::StrCat("pad(%x) {low=[1], high=[0], value=", value, "}"), dtype + "[5]");
  };
  EXPECT_THAT(pad("u8", "300"), HasSubstr("pad(u8[4]): value is 300, expected a number that u8"));
  EXPECT_THAT(pad("i32", "0.5"), HasSubstr("value is 0.5, expected a number that i32 holds"));
  EXPECT_THAT(pad("bool", "2"), HasSubstr("value is 2, expected a number that bool holds"));
  EXPECT_THAT(pad("i64", "9223372036854775808"), HasSubstr("expected a number that i64 holds"));
  EXPECT_THAT(pad("u64", "18446744073709551616.0"), HasSubstr("a number that u64 holds"));
  EXPECT_THAT(pad("f32", "1e300"), HasSubstr("value is 1e+300, expected a number that f32 holds"));
  for (const char* dtype : {"f32", "f16", "bf16", "f64"}) EXPECT_EQ(pad(dtype, "inf"), "");
  EXPECT_EQ(pad("bool", "1"), "");
  EXPECT_EQ(pad("i64", "-9223372036854775808"), "");
  EXPECT_EQ(pad("u64", "9223372036854775808"), "");
  EXPECT_EQ(pad("f32", "0.1"), "");  // rounded, as everywhere
  // Limits beyond the type limit nothing, and say so by their meaning.
  EXPECT_EQ(Error("%x: u8[4]", "clamp(%x) {min=-1, max=300}", "u8[4]"), "");
}

TEST(AttrsTest, BordersNameWhatTheyNeed) {
  EXPECT_THAT(Error("%x: f32[1]", "pad_reflect(%x) {low=[1], high=[0]}", "f32[2]"),
              HasSubstr("a border of 1 along axis 0 takes at least 2 elements, got 1; the border "
                        "repeats none of the element at the edge"));
  EXPECT_THAT(Error("%x: f32[n]", absl::StrCat("pad_reflect(%x) {low=[", kMost, "], high=[0]}"),
                    "f32[n+1]"),
              HasSubstr("expected fewer than 2^56"));
  EXPECT_THAT(Error("%x: f32[n]", "pad(%x) {low=[-1], high=[0]}", "f32[n-1]"),
              HasSubstr("low has -1 for axis 0, expected sizes >= 0"));
  EXPECT_THAT(Error("%x: f32[n]", "pad(%x) {low=[-2], high=[0]}", "f32[n-2]"),
              HasSubstr("low has -2 for axis 0, expected sizes >= 0"));
  EXPECT_THAT(Error("%x: f32[4]", "reshape(%x) {shape=[-2,-2]}", "f32[2,2]"),
              HasSubstr("negative size"));
}

TEST(AttrsTest, BordersOfSizesKnownWhenACallBinds) {
  auto graph = ParseGraph(
      "graph f(%x: f32[n,2]) -> (f32[n+3,2]) {\n %r = pad_reflect(%x) {low=[1,0], high=[2,0]} : "
      "f32[n+3,2]\n return %r\n}");
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(ToStd(graph->BindSymbols({{2, 2}}).status().message()),
            "f: n is 2, expected at least 3, which pad_reflect(f32[n,2]) needs");
  EXPECT_TRUE(graph->BindSymbols({{3, 2}}).ok());
}

// What is printed reads back, whatever the limits of a slice are.
TEST(AttrsTest, SlicesAtTheLimitsOfTheirNumbersReadBack) {
  for (int64_t start : {kMost, -kMost - 1, kMost - 1, int64_t{1} << 40, -(int64_t{1} << 40)}) {
    for (int64_t stop : {kMost, -kMost - 1, int64_t{1} << 61, int64_t{7}}) {
      for (int64_t step : {int64_t{1}, int64_t{-1}, kMost, -kMost - 1}) {
        Graph graph;
        const SymbolId n = graph.symbols().FindOrAdd("n"), m = graph.symbols().FindOrAdd("m");
        Value x =
            *graph.AddInput("x", {DType::kF32, {SizeExpr::Symbol(n), SizeExpr::Symbol(m), Dim(5)}});
        const std::vector<int64_t> starts(3, start), stops(3, stop), steps(3, step);
        auto y =
            graph.Add(Op::kSlice, {x}, {{"starts", starts}, {"stops", stops}, {"steps", steps}});
        ASSERT_TRUE(y.ok()) << y.status();
        ASSERT_TRUE(graph.AddOutput(*y).ok());
        const std::string text = GraphToString(graph);
        auto again = ParseGraph(text);
        ASSERT_TRUE(again.ok()) << again.status() << "\n" << text;
        EXPECT_EQ(GraphToString(*again), text);
      }
    }
  }
}

TEST(AttrsTest, SymbolsOfNoInputAreErrors) {
  const auto error = [](const std::string& text) {
    return std::string(ToStd(ParseGraph(text).status().message()));
  };
  EXPECT_THAT(error("graph f<n, k>(%x: f32[n]) -> (f32[k]) {\n %r = iota() {shape=[k], "
                    "dtype=f32} : f32[k]\n return %r\n}"),
              HasSubstr("1:35: symbol 'k' is bound by no input: expected an input with a dim that "
                        "is exactly k"));
  EXPECT_THAT(error("graph f<k>() -> (f32[k]) {\n %r = iota() {shape=[k], dtype=f32} : f32[k]\n "
                    "return %r\n}"),
              HasSubstr("1:22: symbol 'k' is bound by no input"));
  EXPECT_THAT(error("graph f(%x: f32[n]) -> (f32[k]) {\n %r = iota() {shape=[k], dtype=f32} : "
                    "f32[k]\n return %r\n}"),
              HasSubstr("1:29: unknown symbol 'k'; symbols are those of the inputs' dims"));
}

HostTensor F32(std::vector<int64_t> dims) { return HostTensor::Make(DType::kF32, dims); }

TEST(AttrsTest, KlDivOverTheBatchOfEmptyRows) {
  constexpr char kLine[] = "kl_div(%x, %t) {reduction=3}";
  for (int64_t n : {int64_t{3}, int64_t{0}}) {
    const std::vector<uint64_t> y =
        Bits(kLine, "f32[]", {F32({n, 0}), F32({n, 0})}, "%x: f32[n,0], %t: f32[n,0]");
    ASSERT_EQ(y.size(), 1u);
    const double v = ScalarToDouble(DType::kF32, ScalarValue::FromBits(y[0]));
    EXPECT_TRUE(n == 0 ? std::isnan(v) : v == 0) << v;
  }
  HostTensor x = F32({4, 2}), t = F32({4, 2});
  for (int64_t i = 0; i < 8; ++i) {
    x.Set(i, ScalarFromDouble(DType::kF32, -1));
    t.Set(i, ScalarFromDouble(DType::kF32, 1));
  }
  const std::vector<uint64_t> y = Bits(kLine, "f32[]", {x, t}, "%x: f32[n,2], %t: f32[n,2]");
  ASSERT_EQ(y.size(), 1u);  // sum of t (log t - x) = 8, by 4 rows
  EXPECT_EQ(ScalarToDouble(DType::kF32, ScalarValue::FromBits(y[0])), 2);
}

}  // namespace
}  // namespace jitfuse::internal
