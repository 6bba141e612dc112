// Views, joins, gathers and their composites: what they mean (against loops written out here), and
// what they refuse.
#include <functional>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ir/eval.h"
#include "ir/slicing.h"
#include "ir/support/status.h"
#include "ir/text.h"

namespace jitfuse::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

HostTensor Counting(DType dtype, std::vector<int64_t> dims) {
  HostTensor t = HostTensor::Make(dtype, std::move(dims));
  for (int64_t i = 0; i < t.size(); ++i) t.SetNumber(i, static_cast<double>(i));
  return t;
}

HostTensor Of(DType dtype, std::vector<int64_t> dims, std::vector<double> values) {
  HostTensor t = HostTensor::Make(dtype, std::move(dims));
  for (int64_t i = 0; i < t.size(); ++i) t.SetNumber(i, values[static_cast<size_t>(i)]);
  return t;
}

std::vector<double> Numbers(const HostTensor& t) {
  std::vector<double> out;
  for (int64_t i = 0; i < t.size(); ++i) out.push_back(ScalarToDouble(t.dtype, t.At(i)));
  return out;
}

// "f32[4,8]" of one op over the given operands; the graph's inputs are x, y, z, symbolic or not.
absl::StatusOr<HostTensor> RunOp(const std::string& inputs, const std::string& call,
                                 const std::string& type, std::vector<HostTensor> in) {
  std::string text = absl::StrCat("graph f(", inputs, ") -> (", type, ") {\n  %r = ", call, " : ",
                                  type, "\n  return %r\n}\n");
  JF_ASSIGN_OR_RETURN(Graph graph, ParseGraph(text));
  JF_ASSIGN_OR_RETURN(std::vector<HostTensor> out, EvalDeclared(graph, in));
  return out[0];
}

std::vector<double> Values(const std::string& inputs, const std::string& call,
                           const std::string& type, std::vector<HostTensor> in) {
  absl::StatusOr<HostTensor> out = RunOp(inputs, call, type, std::move(in));
  EXPECT_TRUE(out.ok()) << out.status();
  return out.ok() ? Numbers(*out) : std::vector<double>{};
}

void ExpectError(const std::string& inputs, const std::string& call, const std::string& message) {
  std::string text =
      absl::StrCat("graph f(", inputs, ") -> () {\n  %r = ", call, " : f32[]\n  return\n}\n");
  absl::StatusOr<Graph> graph = ParseGraph(text);
  ASSERT_FALSE(graph.ok()) << text;
  EXPECT_THAT(std::string(graph.status().message()), HasSubstr(message)) << call;
}

// ---- Slices. Python's own rule, from its language reference.
struct PySlice {
  int64_t start, stop, step;
};
std::vector<int64_t> Python(int64_t n, const PySlice& s) {
  bool back = s.step < 0;
  auto fix = [&](int64_t v) {
    if (v < 0) v = v < -n ? -1 : v + n;
    return back ? std::min(std::max<int64_t>(v, -1), n - 1) : std::min(std::max<int64_t>(v, 0), n);
  };
  int64_t start = fix(s.start);
  if (!back && s.start < -n) start = 0;
  int64_t stop = s.stop == kEnd ? (back ? -1 : n) : fix(s.stop);
  if (!back && s.stop < -n) stop = 0;
  std::vector<int64_t> out;
  for (int64_t i = start; back ? i > stop : i < stop; i += s.step) out.push_back(i);
  return out;
}

TEST(Slicing, IsPythonsForConstantAndSymbolicSizes) {
  std::vector<int64_t> positions = {-9, -5, -4, -2, -1, 0, 1, 2, 4, 5, 9, kEnd};
  Dim n = SizeExpr::Symbol(0);
  for (int64_t size : {0, 1, 2, 5}) {
    for (int64_t start : positions) {
      for (int64_t stop : positions) {
        for (int64_t step : {1, 2, 3, 7, -1, -2, -7}) {
          if (start == kEnd && step > 0) continue;
          SCOPED_TRACE(absl::StrCat(size, ": ", start, ":", stop, ":", step));
          std::vector<int64_t> want = Python(size, {start, stop, step});
          for (const Dim& dim : {Dim(size), n}) {
            SliceAxis got = ResolveSlice(dim, start, stop, step);
            std::vector<int64_t> symbols = {size};
            ASSERT_EQ(got.extent.Eval(symbols), static_cast<int64_t>(want.size()));
            if (!want.empty()) {
              ASSERT_EQ(got.start.Eval(symbols), want[0]);
            }
            ASSERT_EQ(got.step, step);
          }
        }
      }
    }
  }
}

TEST(Slicing, KeepsSizesSimple) {
  Dim n = SizeExpr::Symbol(0);
  EXPECT_EQ(ResolveSlice(n, 0, kEnd, 1).extent, n);
  EXPECT_EQ(ResolveSlice(n, kEnd, kEnd, -1).extent, n);
  EXPECT_EQ(ResolveSlice(n * 4, 0, kEnd, 2).extent, n * 2);
  EXPECT_EQ(ResolveSlice(n, 3, kEnd, 1).extent.ToString({"n"}), "max(n-3,0)");
  EXPECT_EQ(WindowCount(n + 2, 3, 1, 1), n);
  EXPECT_EQ(WindowCount(n * 2, 2, 2, 1), n);
}

TEST(Slicing, WindowsFit) {
  Dim n = SizeExpr::Symbol(0);
  for (int64_t size = 0; size < 12; ++size) {
    for (int64_t k : {1, 2, 5}) {
      for (int64_t stride : {1, 2, 3}) {
        for (int64_t dilation : {1, 2, 3}) {
          int64_t want = 0;
          while (want * stride + (k - 1) * dilation < size) ++want;
          EXPECT_EQ(WindowCount(size, k, stride, dilation).constant(), want);
          EXPECT_EQ(WindowCount(n, k, stride, dilation).Eval({size}), want);
        }
      }
    }
  }
}

TEST(Views, SliceFlipRoll) {
  HostTensor x = Counting(DType::kI32, {2, 4});
  const char* in = "%x: i32[2,4]";
  EXPECT_THAT(Values(in, "slice(%x) {starts=[0,1], stops=[2,4], steps=[1,2]}", "i32[2,2]", {x}),
              ElementsAre(1, 3, 5, 7));
  EXPECT_THAT(Values(in, "slice(%x) {steps=[-1,-2]}", "i32[2,2]", {x}), ElementsAre(7, 5, 3, 1));
  EXPECT_THAT(Values(in, "slice(%x) {starts=[-1,-2]}", "i32[1,2]", {x}), ElementsAre(6, 7));
  EXPECT_THAT(Values(in, "slice(%x) {stops=[-1,0]}", "i32[1,0]", {x}), ElementsAre());
  EXPECT_THAT(Values(in, "flip(%x) {axes=[1]}", "i32[2,4]", {x}),
              ElementsAre(3, 2, 1, 0, 7, 6, 5, 4));
  EXPECT_THAT(Values(in, "flip(%x)", "i32[2,4]", {x}), ElementsAre(7, 6, 5, 4, 3, 2, 1, 0));
  EXPECT_THAT(Values(in, "roll(%x) {shifts=[1], axes=[-1]}", "i32[2,4]", {x}),
              ElementsAre(3, 0, 1, 2, 7, 4, 5, 6));
  EXPECT_THAT(Values(in, "roll(%x) {shifts=[-1,5], axes=[0,1]}", "i32[2,4]", {x}),
              ElementsAre(7, 4, 5, 6, 3, 0, 1, 2));
  for (int64_t shift : {-9, -4, -1, 0, 1, 3, 4, 11}) {  // a symbolic size
    std::vector<double> want(8);
    for (int64_t i = 0; i < 8; ++i)
      want[static_cast<size_t>(((i + shift) % 8 + 8) % 8)] = double(i);
    EXPECT_EQ(Values("%x: i32[n]", absl::StrCat("roll(%x) {shifts=[", shift, "], axes=[0]}"),
                     "i32[n]", {Counting(DType::kI32, {8})}),
              want)
        << shift;
  }
  EXPECT_THAT(Values("%x: i32[n]", "roll(%x) {shifts=[3], axes=[0]}", "i32[n]",
                     {Counting(DType::kI32, {0})}),
              ElementsAre());
}

TEST(Views, TileRepeatWindows) {
  HostTensor x = Counting(DType::kI32, {2, 2});
  const char* in = "%x: i32[2,2]";
  EXPECT_THAT(Values(in, "tile(%x) {reps=[1,2]}", "i32[2,4]", {x}),
              ElementsAre(0, 1, 0, 1, 2, 3, 2, 3));
  EXPECT_THAT(Values(in, "tile(%x) {reps=[2,1,1]}", "i32[2,2,2]", {x}),
              ElementsAre(0, 1, 2, 3, 0, 1, 2, 3));
  EXPECT_THAT(Values(in, "tile(%x) {reps=[0,1]}", "i32[0,2]", {x}), ElementsAre());
  EXPECT_THAT(Values(in, "repeat(%x) {repeats=2, axis=1}", "i32[2,4]", {x}),
              ElementsAre(0, 0, 1, 1, 2, 2, 3, 3));
  EXPECT_THAT(Values(in, "repeat(%x) {repeats=0}", "i32[0,2]", {x}), ElementsAre());
  EXPECT_THAT(Values("%x: i32[7]", "windows(%x) {axis=0, size=2, stride=2, dilation=3}", "i32[2,2]",
                     {Counting(DType::kI32, {7})}),
              ElementsAre(0, 3, 2, 5));
  EXPECT_THAT(Values("%x: i32[2]", "windows(%x) {axis=0, size=3}", "i32[0,3]",
                     {Counting(DType::kI32, {2})}),
              ElementsAre());
}

TEST(Joins, ConcatenateAndStack) {
  HostTensor x = Counting(DType::kI32, {2, 2}), y = Of(DType::kI32, {2, 1}, {8, 9}),
             z = HostTensor::Make(DType::kI32, {2, 0});
  EXPECT_THAT(Values("%x: i32[2,2], %y: i32[2,1], %z: i32[2,0]",
                     "concatenate(%y, %z, %x, %y) {axis=-1}", "i32[2,4]", {x, y, z}),
              ElementsAre(8, 0, 1, 8, 9, 2, 3, 9));
  EXPECT_THAT(Values("%x: i32[n,2], %y: i32[m,2]", "concatenate(%x, %y)", "i32[n+m,2]",
                     {x, Of(DType::kI32, {1, 2}, {8, 9})}),
              ElementsAre(0, 1, 2, 3, 8, 9));
  EXPECT_THAT(Values("%x: i32[2,2], %y: i32[2,2]", "stack(%x, %y) {axis=-1}", "i32[2,2,2]",
                     {x, Of(DType::kI32, {2, 2}, {4, 5, 6, 7})}),
              ElementsAre(0, 4, 1, 5, 2, 6, 3, 7));
  EXPECT_THAT(Values("%x: i32[]", "stack(%x, %x)", "i32[2]", {Of(DType::kI32, {}, {3})}),
              ElementsAre(3, 3));
}

TEST(Joins, Pads) {
  HostTensor x = Of(DType::kI32, {3}, {1, 2, 3});
  const char* in = "%x: i32[3]";
  EXPECT_THAT(Values(in, "pad(%x) {low=[1], high=[2], value=9}", "i32[6]", {x}),
              ElementsAre(9, 1, 2, 3, 9, 9));
  EXPECT_THAT(Values(in, "pad_reflect(%x) {low=[2], high=[1]}", "i32[6]", {x}),
              ElementsAre(3, 2, 1, 2, 3, 2));
  EXPECT_THAT(Values(in, "pad_edge(%x) {low=[2], high=[1]}", "i32[6]", {x}),
              ElementsAre(1, 1, 1, 2, 3, 3));
  EXPECT_THAT(Values(in, "pad_wrap(%x) {low=[2], high=[1]}", "i32[6]", {x}),
              ElementsAre(2, 3, 1, 2, 3, 1));
  EXPECT_THAT(Values("%x: i32[2,2]", "pad_reflect(%x) {low=[1,0], high=[0,1]}", "i32[3,3]",
                     {Counting(DType::kI32, {2, 2})}),
              ElementsAre(2, 3, 2, 0, 1, 0, 2, 3, 2));
  EXPECT_THAT(Values("%x: f16[0]", "pad(%x) {low=[1], high=[0], value=0.1}", "f16[1]",
                     {HostTensor::Make(DType::kF16, {0})}),
              ElementsAre(0.0999755859375));  // rounded to f16
}

TEST(Gathers, TakeAndTakeAlongAxis) {
  HostTensor x = Counting(DType::kF32, {3, 2});
  HostTensor i = Of(DType::kI64, {2, 2}, {2, 0, -1, -3});
  EXPECT_THAT(Values("%x: f32[3,2], %i: i64[2,2]", "take(%x, %i)", "f32[2,2,2]", {x, i}),
              ElementsAre(4, 5, 0, 1, 4, 5, 0, 1));
  EXPECT_THAT(Values("%x: f32[3,2], %i: u8[]", "take(%x, %i) {axis=1}", "f32[3]",
                     {x, Of(DType::kU8, {}, {1})}),
              ElementsAre(1, 3, 5));
  EXPECT_THAT(
      Values("%x: f32[3,2], %i: i64[2,2]", "take_along_axis(%x, %i) {axis=0}", "f32[2,2]", {x, i}),
      ElementsAre(4, 1, 4, 1));
  EXPECT_THAT(Values("%i: i64[2,2], %x: f32[3,2]", "embedding(%i, %x)", "f32[2,2,2]", {i, x}),
              ElementsAre(4, 5, 0, 1, 4, 5, 0, 1));
  EXPECT_THAT(Values("%x: f32[0], %i: i64[0]", "take(%x, %i)", "f32[0]",
                     {HostTensor::Make(DType::kF32, {0}), HostTensor::Make(DType::kI64, {0})}),
              ElementsAre());
}

TEST(Gathers, PositionsOutOfRangeAreErrorsOfTheEvaluator) {
  HostTensor x = Counting(DType::kF32, {3});
  for (double bad : {3.0, -4.0, 1e18}) {
    absl::StatusOr<HostTensor> out =
        RunOp("%x: f32[3], %i: i64[1]", "take(%x, %i)", "f32[1]", {x, Of(DType::kI64, {1}, {bad})});
    ASSERT_FALSE(out.ok());
    EXPECT_THAT(std::string(out.status().message()),
                HasSubstr("is out of range for axis 0 of size 3"));
  }
  HostTensor huge = HostTensor::Make(DType::kU64, {1});
  huge.Set(0, ScalarValue::FromBits(~uint64_t{0}));  // no -1
  EXPECT_FALSE(RunOp("%x: f32[3], %i: u64[1]", "take(%x, %i)", "f32[1]", {x, huge}).ok());
}

// ---- Pooling against loops.
struct Pool2D {
  int64_t k, stride, padding, dilation;
  bool ceil_mode, include, max;
};

std::vector<double> PoolLoops(const HostTensor& x, const Pool2D& p) {
  auto n = x.dims[2], m = x.dims[3];
  auto count = [&](int64_t size) {
    int64_t span = (p.k - 1) * p.dilation + 1, room = size + 2 * p.padding - span;
    int64_t out = (p.ceil_mode ? (room + p.stride - 1) / p.stride : room / p.stride) + 1;
    if (p.ceil_mode && (out - 1) * p.stride >= size + p.padding) --out;
    return out;
  };
  std::vector<double> out;
  for (int64_t plane = 0; plane < x.dims[0] * x.dims[1]; ++plane) {
    for (int64_t i = 0; i < count(n); ++i) {
      for (int64_t j = 0; j < count(m); ++j) {
        double best = -HUGE_VAL, sum = 0, elements = 0;
        for (int64_t a = 0; a < p.k; ++a) {
          for (int64_t b = 0; b < p.k; ++b) {
            int64_t r = i * p.stride + a * p.dilation - p.padding;
            int64_t c = j * p.stride + b * p.dilation - p.padding;
            bool inside = r >= 0 && r < n && c >= 0 && c < m;
            bool counted = p.include ? r < n + p.padding && c < m + p.padding : inside;
            double v = inside ? ScalarToDouble(x.dtype, x.At((plane * n + r) * m + c)) : 0;
            if (inside) best = std::max(best, v);
            sum += v;
            elements += counted ? 1 : 0;
          }
        }
        out.push_back(p.max ? best : sum / elements);
      }
    }
  }
  return out;
}

TEST(Pooling, AgreesWithLoops) {
  HostTensor x = HostTensor::Make(DType::kF64, {2, 1, 7, 6});
  for (int64_t i = 0; i < x.size(); ++i) x.SetNumber(i, std::sin(double(i)) * 5 - 7);
  for (const Pool2D& p :
       {Pool2D{2, 2, 0, 1, false, true, true}, Pool2D{3, 2, 1, 1, false, true, true},
        Pool2D{3, 2, 1, 2, true, true, true}, Pool2D{2, 3, 1, 1, true, true, true},
        Pool2D{3, 1, 1, 1, false, true, false}, Pool2D{3, 2, 1, 1, true, true, false},
        Pool2D{3, 2, 1, 1, true, false, false}, Pool2D{2, 2, 0, 1, false, false, false},
        Pool2D{2, 2, 1, 1, false, false, false}}) {
    std::vector<double> want = PoolLoops(x, p);
    auto list = [](int64_t v) { return absl::StrCat("[", v, ",", v, "]"); };
    std::string attrs =
        absl::StrCat("kernel=", list(p.k), ", stride=", list(p.stride),
                     ", padding=", list(p.padding), ", ceil_mode=", p.ceil_mode ? "true" : "false");
    std::string call =
        p.max ? absl::StrCat("max_pool(%x) {", attrs, ", dilation=", list(p.dilation), "}")
              : absl::StrCat("avg_pool(%x) {", attrs,
                             ", count_include_pad=", p.include ? "true" : "false", "}");
    int64_t span = (p.k - 1) * p.dilation + 1;
    auto count = [&](int64_t size) {
      int64_t room = size + 2 * p.padding - span;
      int64_t out = (p.ceil_mode ? (room + p.stride - 1) / p.stride : room / p.stride) + 1;
      return out - (p.ceil_mode && (out - 1) * p.stride >= size + p.padding ? 1 : 0);
    };
    std::vector<double> got = Values("%x: f64[2,1,7,6]", call,
                                     absl::StrCat("f64[2,1,", count(7), ",", count(6), "]"), {x});
    ASSERT_EQ(got.size(), want.size()) << call;
    for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-12) << call;
  }
}

TEST(Pooling, CeilModeHasAWindowThatIsOnlyPartlyThere) {
  // As torch.nn.functional.max_pool1d and avg_pool1d say.
  HostTensor x = Of(DType::kF32, {1, 2}, {3, 5});
  EXPECT_THAT(Values("%x: f32[1,2]", "max_pool(%x) {kernel=[3], stride=[2], ceil_mode=true}",
                     "f32[1,1]", {x}),
              ElementsAre(5));
  EXPECT_THAT(Values("%x: f32[1,2]", "avg_pool(%x) {kernel=[3], stride=[2], ceil_mode=true}",
                     "f32[1,1]", {x}),
              ElementsAre(4));
  EXPECT_THAT(Values("%x: f32[1,2]", "max_pool(%x) {kernel=[4], stride=[3], ceil_mode=true}",
                     "f32[1,1]", {x}),
              ElementsAre(5));
  // A window that is a whole stride short is none.
  EXPECT_TRUE(Values("%x: f32[1,2]", "max_pool(%x) {kernel=[4], stride=[2], ceil_mode=true}",
                     "f32[1,0]", {x})
                  .empty());
  EXPECT_TRUE(Values("%x: f32[1,0]", "max_pool(%x) {kernel=[2], stride=[2], ceil_mode=true}",
                     "f32[1,0]", {HostTensor::Make(DType::kF32, {1, 0})})
                  .empty());
}

TEST(Pooling, AMeanDoesNotOverflowThroughItsSum) {
  constexpr double kHuge = 0x1.8p127;
  HostTensor x = Of(DType::kF32, {1, 4}, {kHuge, kHuge, -kHuge, kHuge});
  const std::string in = "%x: f32[1,4]";
  EXPECT_THAT(Values(in, "avg_pool(%x) {kernel=[2]}", "f32[1,2]", {x}), ElementsAre(kHuge, 0));
  EXPECT_THAT(Values(in,
                     "avg_pool(%x) {kernel=[2], stride=[2], padding=[1], "
                     "count_include_pad=false}",
                     "f32[1,3]", {x}),
              ElementsAre(kHuge, 0, kHuge));
  HostTensor y = Of(DType::kF32, {1, 3}, {kHuge, kHuge, kHuge});
  EXPECT_THAT(Values("%x: f32[1,3]", "avg_pool(%x) {kernel=[2], ceil_mode=true}", "f32[1,2]", {y}),
              ElementsAre(kHuge, kHuge));
  // An infinity is one, and what is small stays.
  HostTensor z = Of(DType::kF32, {1, 3}, {HUGE_VAL, 1, 0x1p-149});
  EXPECT_THAT(Values("%x: f32[1,3]", "avg_pool(%x) {kernel=[2], ceil_mode=true}", "f32[1,2]", {z}),
              ElementsAre(HUGE_VAL, 0x1p-149));
}

TEST(Pooling, LayoutsAndRanks) {
  HostTensor x = Counting(DType::kF32, {1, 4, 2});  // [N, L, C]
  EXPECT_THAT(
      Values("%x: f32[1,4,2]", "max_pool(%x) {kernel=[2], channels_last=true}", "f32[1,2,2]", {x}),
      ElementsAre(2, 3, 6, 7));
  EXPECT_THAT(Values("%x: f32[n,h,w]", "avg_pool(%x) {kernel=[2,2]}",
                     "f32[n,floordiv(h,2),floordiv(w,2)]", {Counting(DType::kF32, {1, 2, 5})}),
              ElementsAre(3, 5));
  EXPECT_THAT(Values("%x: i8[1,3]", "max_pool(%x) {kernel=[3], stride=[1], padding=[1]}", "i8[1,3]",
                     {Of(DType::kI8, {1, 3}, {-128, -127, -128})}),
              ElementsAre(-127, -127, -127));
}

TEST(Views, BadInputIsRefused) {
  const char* x = "%x: f32[4,8]";
  ExpectError(x, "slice(%x) {starts=[1]}",
              "slice(f32[4,8]): starts has 1 entries, expected 2, one for each axis, or none");
  ExpectError(x, "slice(%x) {steps=[1,0]}",
              "slice(f32[4,8]): steps has 0 for axis 1, expected a step other than 0");
  ExpectError(x, "flip(%x) {axes=[2]}",
              "flip(f32[4,8]): axes has 2, expected an axis from -2 to 1");
  ExpectError(x, "roll(%x) {shifts=[1,2], axes=[0]}",
              "shifts has 2 entries and axes has 1, expected a shift for each axis");
  ExpectError(x, "roll(%x) {shifts=[1,2], axes=[0,-2]}", "names an axis twice");
  ExpectError(x, "roll(%x) {shifts=[1], axes=[3]}", "axes has 3, expected an axis from -2 to 1");
  ExpectError(x, "tile(%x) {reps=[2]}", "reps has 1 entries, expected at least 2, the rank");
  ExpectError(x, "tile(%x) {reps=[2,-1]}", "entry 1 of reps is -1, expected at least 0");
  ExpectError(x, "tile(%x) {reps=[1,1,1,1,1,1,1,1,1]}",
              "the result has rank 9, expected at most 8");
  ExpectError(x, "tile(%x) {reps=[1,2305843009213693952]}", "do not fit 64 bits");
  ExpectError(x, "repeat(%x) {repeats=-1}", "repeats is -1, expected at least 0");
  ExpectError(x, "windows(%x) {axis=1, size=0}", "size is 0, expected at least 1");
  ExpectError(x, "windows(%x) {axis=1, size=2, stride=0}", "stride is 0, expected at least 1");
  ExpectError(x, "windows(%x) {axis=2, size=2}",
              "windows(f32[4,8]): axis is 2, expected an axis from -2 to 1");
  ExpectError("%x: f32[1,1,1,1,1,1,1,4]", "windows(%x) {axis=7, size=2}",
              "has rank 9, expected at most 8");
}

TEST(Joins, BadInputIsRefused) {
  const char* in = "%x: f32[4,8], %y: f32[4,7], %i: i32[4,8], %v: f32[8]";
  ExpectError(in, "concatenate(%x, %y) {axis=0}",
              "concatenate(f32[4,8], f32[4,7]): expected equal sizes in dim 1 of xs[0] and xs[1] "
              "(all but the joined axis 0), got 8 and 7");
  ExpectError(in, "concatenate(%x, %i)", "expected the same dtype, got f32 and i32; use cast");
  ExpectError(in, "concatenate(%x, %v)", "xs[1] has rank 1, expected 2 as xs[0] has");
  ExpectError(in, "concatenate(%x) {axis=2}", "axis is 2, expected an axis from -2 to 1");
  ExpectError("%x: f32[]", "concatenate(%x)", "expected no axis, since the rank is 0");
  ExpectError(in, "concatenate()", "concatenate(): expected 1 to 1024 operands, got 0");
  ExpectError(in, "stack(%x, %y)", "expected the shape of xs[0] for xs[1], got 8 and 7");
  ExpectError(in, "stack(%x) {axis=3}", "axis is 3, expected an axis of the result, from -3 to 2");
  ExpectError(in, "pad(%x) {low=[1], high=[1]}",
              "low has 1 entries, expected 2, one for each axis");
  ExpectError(in, "pad(%x) {low=[0,-1], high=[0,0]}",
              "pad(f32[4,8]): low has -1 for axis 1, expected sizes >= 0");
  ExpectError(in, "pad_reflect(%x) {low=[4,0], high=[0,0]}",
              "a border of 4 along axis 0 takes at least 5 elements, got 4");
  ExpectError(in, "pad_edge(%x) {low=[0,-2], high=[0,0]}",
              "low has -2 for axis 1, expected sizes >= 0");
}

TEST(Gathers, BadInputIsRefused) {
  const char* in = "%x: f32[4,8], %i: i32[4,7], %f: f32[4,8], %v: i32[3], %e: f32[0,8]";
  ExpectError(in, "take(%x, %f)",
              "take(f32[4,8], f32[4,8]): expected integers for indices, got f32");
  ExpectError(in, "take(%x, %v) {axis=2}", "axis is 2, expected an axis from -2 to 1");
  ExpectError(in, "take(%e, %v)",
              "the axis has size 0, but there are 3 indices; expected at least 1 element");
  ExpectError(in, "take_along_axis(%x, %v) {axis=0}", "indices has rank 1, expected 2 as x has");
  ExpectError(in, "take_along_axis(%x, %i) {axis=0}",
              "expected equal sizes in dim 1 of x and indices (all but axis 0), got 8 and 7");
  ExpectError(in, "embedding(%f, %x)", "expected integers for indices, got f32");
  ExpectError(in, "embedding(%v, %v)", "weight has rank 1, expected 2: [rows, features]");
  ExpectError(in, "embedding(%v, %x) {padding_idx=4}",
              "padding_idx is 4, expected a row of 4 or -1 for none");
  ExpectError(in, "embedding(%v, %x) {padding_idx=-2}",
              "padding_idx is -2, expected a row of 4 or -1 for none");
}

TEST(Pooling, BadInputIsRefused) {
  const char* in = "%x: f32[2,3,8,8], %s: f32[n,c,h,w], %v: f32[4]";
  ExpectError(in, "max_pool(%x) {kernel=[]}", "kernel has 0 entries, expected 1 to 3");
  ExpectError(in, "max_pool(%x) {kernel=[2,2], stride=[2]}",
              "stride has 1 entries, expected 2 as kernel has, or none");
  ExpectError(in, "max_pool(%x) {kernel=[0,2]}", "entry 0 of kernel is 0, expected at least 1");
  ExpectError(in, "max_pool(%x) {kernel=[2,2], padding=[2,0]}",
              "padding is 2 for windows that span 2 elements, expected at most half of that");
  ExpectError(in, "max_pool(%v) {kernel=[2]}", "x has rank 1, expected at least 2");
  ExpectError(in, "avg_pool(%s) {kernel=[2,2], ceil_mode=true}",
              "ceil_mode needs constant sizes, dim 2 is h");
}

}  // namespace
}  // namespace jitfuse::internal
