// The body language: parsing, weak values, types, sharing, splicing, printing, errors.
#include "ir/scalar_expr.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <thread>

#include "absl/strings/str_cat.h"
#include "ir/scalar_value.h"
#include "ir/support/status.h"

namespace jitfuse::internal {
namespace {

using ::testing::HasSubstr;

absl::StatusOr<ScalarProgram> Build(std::string_view body, std::vector<DType> types,
                                    std::vector<DType> results = {}, AttrLookup attr = nullptr) {
  const std::vector<std::string_view> all = {"x", "y", "z"};
  return BuildScalarProgram(body, absl::MakeConstSpan(all.data(), types.size()), types, attr,
                            results);
}

// Result 0 of `body` for numbers, in the type of its register.
double Eval(std::string_view body, DType type, std::vector<double> args,
            std::vector<DType> results = {}) {
  auto p = Build(body, std::vector<DType>(args.size(), type), results);
  EXPECT_TRUE(p.ok()) << p.status();
  if (!p.ok()) return std::nan("");
  std::vector<ScalarValue> in, out(p->results.size());
  for (double a : args) in.push_back(ScalarFromDouble(type, a));
  EvalScalarProgram(*p, in.data(), out.data());
  return ScalarToDouble(p->insts[static_cast<size_t>(p->results[0])].dtype, out[0]);
}

std::string Message(std::string_view body, std::vector<DType> types = {DType::kF32, DType::kF32}) {
  auto p = Build(body, types);
  EXPECT_FALSE(p.ok()) << body;
  return p.ok() ? "" : std::string(p.status().message());
}

TEST(ScalarExpr, PrecedenceIsThatOfC) {
  EXPECT_EQ(Eval("1 + 2 * 3 - x", DType::kF64, {4}), 3);
  EXPECT_EQ(Eval("(1 + 2) * 3 - x", DType::kF64, {4}), 5);
  EXPECT_EQ(Eval("x - 1 - 2", DType::kF64, {10}), 7);
  EXPECT_EQ(Eval("x / 2 / 5", DType::kF64, {10}), 1);
  EXPECT_EQ(Eval("-x * -x", DType::kF64, {3}), 9);
  EXPECT_EQ(Eval("x < 2 || x > 8 && x > 9", DType::kF64, {1}), 1);
  EXPECT_EQ(Eval("x < 2 || x > 8 && x > 9", DType::kF64, {8.5}), 0);
  EXPECT_EQ(Eval("x | y ^ z & 3", DType::kI32, {8, 1, 7}), 8 | (1 ^ (7 & 3)));
  EXPECT_EQ(Eval("x < y ? 1 : x == y ? 2 : 3", DType::kI32, {5, 5}), 2);
  EXPECT_EQ(Eval("!(x == x)", DType::kF32, {1}), 0);
  EXPECT_EQ(Eval("~x", DType::kI8, {5}), -6);
}

TEST(ScalarExpr, StatementsAndSeveralResults) {
  auto p = Build("s = x + y; d = x - y; {s * d, s, s}", {DType::kF64, DType::kF64});
  ASSERT_TRUE(p.ok()) << p.status();
  ASSERT_EQ(p->results.size(), 3u);
  EXPECT_EQ(p->results[1], p->results[2]);
  ScalarValue in[] = {Put<double>(5), Put<double>(3)}, out[3];
  EvalScalarProgram(*p, in, out);
  EXPECT_EQ(out[0].f64, 16);
  EXPECT_EQ(out[1].f64, 8);
}

TEST(ScalarExpr, WeakValuesTakeTheTypeTheyMeet) {
  EXPECT_EQ(Eval("x + 0.1", DType::kF32, {0}), static_cast<double>(0.1f));
  EXPECT_EQ(Eval("x + 0.1", DType::kF64, {0}), 0.1);
  EXPECT_EQ(Eval("x * (1 / 3)", DType::kF32, {1}),
            static_cast<double>(static_cast<float>(1.0 / 3)));
  EXPECT_EQ(Eval("x + -1", DType::kU8, {0}), 255);
  EXPECT_EQ(Eval("x + 0xff", DType::kU8, {1}), 0);
  EXPECT_EQ(Eval("x ^ 0x7fffffffffffffff", DType::kI64, {-1}),
            static_cast<double>(std::numeric_limits<int64_t>::min()));
  EXPECT_EQ(Eval("x * 0x1.8p+1", DType::kF32, {2}), 6);
  EXPECT_EQ(Eval("c = 0.5; select(x > 0, c, 1) * x", DType::kF64, {3}), 1.5);
  EXPECT_EQ(Eval("select(x > 0, 1, -1) * 2", DType::kF32, {-3}), -2);
  EXPECT_EQ(Eval("x * sqrt(2)", DType::kF64, {1}), std::sqrt(2.0));
}

TEST(ScalarExpr, NamedLiterals) {
  EXPECT_EQ(Eval("maximum(x, lowest)", DType::kF32, {3}), 3);
  for (DType t : {DType::kF32, DType::kF64}) {
    EXPECT_EQ(Eval("lowest + x", t, {0}), -std::numeric_limits<double>::infinity());
    EXPECT_EQ(Eval("highest + x", t, {0}), std::numeric_limits<double>::infinity());
    EXPECT_TRUE(std::isnan(Eval("nan + x", t, {0})));
  }
  EXPECT_EQ(Eval("lowest | x", DType::kI16, {0}), -32768);
  EXPECT_EQ(Eval("highest | x", DType::kI16, {0}), 32767);
  EXPECT_EQ(Eval("highest | x", DType::kU32, {0}), 4294967295.0);
  EXPECT_EQ(Eval("width - 1 + x", DType::kI16, {0}), 15);
  EXPECT_EQ(Eval("x & true", DType::kBool, {1}), 1);
  EXPECT_EQ(Eval("zero + x", DType::kI32, {4}), 4);
}

TEST(ScalarExpr, WeakResultsTakeTheResultType) {
  auto p = BuildScalarProgram("{lowest, 0, width}", {}, {}, nullptr,
                              {DType::kI8, DType::kF64, DType::kU16});
  ASSERT_TRUE(p.ok()) << p.status();
  ScalarValue out[3];
  EvalScalarProgram(*p, nullptr, out);
  EXPECT_EQ(out[0].i, -128);
  EXPECT_EQ(out[1].f64, 0);
  EXPECT_EQ(out[2].u, 16u);
  EXPECT_EQ(Eval("x", DType::kI32, {7}, {DType::kF64}), 7) << "another result type converts";
}

TEST(ScalarExpr, CastsAndGrids) {
  EXPECT_EQ(Eval("cast_i32(x)", DType::kF32, {-2.9}), -2);
  EXPECT_EQ(Eval("cast_u8(x)", DType::kF32, {300}), 255);
  EXPECT_EQ(Eval("cast_f64(x) * 0.1", DType::kF32, {1}), 0.1);
  EXPECT_EQ(Eval("cast_bf16(x)", DType::kF32, {1.00390625}), 1);
  EXPECT_EQ(Eval("cast(x)", DType::kF32, {1.00390625}, {DType::kBF16}), 1);
  EXPECT_EQ(Eval("cast(x)", DType::kF32, {1.00390625}, {DType::kF32}), 1.00390625);
  EXPECT_EQ(Eval("cast(x)", DType::kF64, {-0.5}, {DType::kBool}), 1);
  EXPECT_EQ(Eval("cast_f32(2) + x", DType::kF32, {1}), 3);
  auto p = Build("cast(x)", {DType::kF16}, {DType::kF16});
  ASSERT_TRUE(p.ok());
  EXPECT_EQ(p->insts.back().op, ScalarOp::kConvert) << "a cast to a grid is never elided";
}

TEST(ScalarExpr, Bitcasts) {
  EXPECT_EQ(Eval("bitcast_int(x)", DType::kF32, {1}), 0x3f800000);
  EXPECT_EQ(Eval("bitcast_int(x)", DType::kF32, {-0.0}), std::numeric_limits<int32_t>::min());
  EXPECT_EQ(Eval("bitcast_float(bitcast_int(x))", DType::kF64, {-2.5}), -2.5);
  EXPECT_EQ(Eval("bitcast_float(bitcast_int(x))", DType::kF32, {-2.5}), -2.5);
  EXPECT_THAT(Message("bitcast_int(x)", {DType::kI32}), HasSubstr("expected an f32 or f64"));
  EXPECT_THAT(Message("bitcast_float(x)", {DType::kI16}), HasSubstr("expected an i32 or i64"));
}

TEST(ScalarExpr, PolyIsHorner) {
  EXPECT_EQ(Eval("poly(x, 1, 2, 3)", DType::kF64, {10}), 321);
  auto p = Build("poly(x, 1, 2, 3)", {DType::kF64});
  ASSERT_TRUE(p.ok());
  int fmas = 0;
  for (const ScalarInst& inst : p->insts) fmas += inst.op == ScalarOp::kFma;
  EXPECT_EQ(fmas, 2);
}

TEST(ScalarExpr, AttributesAreWeakNumbers) {
  AttrLookup attr = [](std::string_view name) -> std::optional<double> {
    if (name == "slope") return 0.1;
    return std::nullopt;
  };
  auto p = Build("select(x > 0, x, x * slope)", {DType::kF32}, {}, attr);
  ASSERT_TRUE(p.ok()) << p.status();
  ScalarValue in = Put<float>(-3), out;
  EvalScalarProgram(*p, &in, &out);
  EXPECT_EQ(out.f32, -3 * 0.1f);
  EXPECT_FALSE(Build("x * slop", {DType::kF32}, {}, attr).ok());
}

TEST(ScalarExpr, EqualInstructionsShareARegister) {
  auto p = Build("exp(x) * exp(x) + exp(x)", {DType::kF32});
  ASSERT_TRUE(p.ok());
  EXPECT_EQ(p->insts.size(), 4u) << ScalarProgramToString(*p);
}

TEST(ScalarExpr, HalfArgumentsAreF32Registers) {
  auto p = Build("x + y", {DType::kF16, DType::kF16}, {DType::kF16});
  ASSERT_TRUE(p.ok());
  for (const ScalarInst& inst : p->insts) EXPECT_EQ(inst.dtype, DType::kF32);
}

TEST(ScalarExpr, ErrorsNameTextColumnAndReason) {
  EXPECT_THAT(Message("x +"), HasSubstr("scalar body \"x +\", column 4: expected a value"));
  EXPECT_THAT(Message("x + q"), HasSubstr("unknown name q"));
  EXPECT_THAT(Message("frob(x)"), HasSubstr("no primitive named frob"));
  EXPECT_THAT(Message("exp(x, y)"), HasSubstr("wrong number of arguments for exp"));
  EXPECT_THAT(Message("(x"), HasSubstr("expected ')'"));
  EXPECT_THAT(Message("{x, y"), HasSubstr("expected ',' or '}'"));
  EXPECT_THAT(Message("h = x h"), HasSubstr("expected ';'"));
  EXPECT_THAT(Message("h = x; h = y; h"), HasSubstr("this name has a value already"));
  EXPECT_THAT(Message("x y"), HasSubstr("expected the end"));
  EXPECT_THAT(Message("x ? y"), HasSubstr("expected ':'"));
  EXPECT_THAT(Message("x & y"), HasSubstr("and is not defined for f32"));
  EXPECT_THAT(Message("x / y", {DType::kI32, DType::kI32}),
              HasSubstr("div is not defined for i32"));
  EXPECT_THAT(Message("x + y", {DType::kF32, DType::kF64}), HasSubstr("add of f32 and f64"));
  EXPECT_THAT(Message("select(x, x, y)"), HasSubstr("expected a bool condition"));
  EXPECT_THAT(Message("cast(x)"), HasSubstr("needs the type of the result"));
  EXPECT_THAT(Message(std::string(5000, '(')), HasSubstr("nested too deeply"));
  EXPECT_THAT(Message(std::string(5000, '-')), HasSubstr("nested too deeply"));
  EXPECT_FALSE(Build("{x, x}", {DType::kF32}, {DType::kF32}).ok()) << "wrong number of results";
  EXPECT_FALSE(Build("", {DType::kF32}).ok());
}

TEST(ScalarExpr, InlineProgramAppliesABodyToRegisters) {
  auto outer = Build("x * y", {DType::kF64, DType::kF64});
  auto inner = Build("{x - y, x}", {DType::kF64, DType::kF64});
  ASSERT_TRUE(outer.ok() && inner.ok());
  int16_t product = outer->results[0];
  std::vector<int16_t> results = InlineProgram(*inner, {product, 0}, &*outer);
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[1], product);
  outer->results = {results[0]};
  ScalarValue in[] = {Put<double>(3), Put<double>(5)}, out;
  EvalScalarProgram(*outer, in, &out);
  EXPECT_EQ(out.f64, 12);
}

TEST(ScalarExpr, ExpandedProgramsMeanTheSame) {
  for (DType type : {DType::kF32, DType::kF64}) {
    auto p = Build("exp(x) + tanh(y) * pow(abs(x), y) + sin(x)", {type, type});
    ASSERT_TRUE(p.ok());
    ScalarProgram expanded = ExpandDecomps(*p);
    EXPECT_GT(expanded.insts.size(), p->insts.size());
    for (double x : {-2.0, -0.0, 0.3, 7.0}) {
      ScalarValue in[] = {ScalarFromDouble(type, x), ScalarFromDouble(type, 1.7)}, a, b;
      EvalScalarProgram(*p, in, &a);
      EvalScalarProgram(expanded, in, &b);
      EXPECT_EQ(a.bits(), b.bits());
    }
  }
}

TEST(ScalarExpr, Text) {
  auto p = Build("select(x > 0.5, x, y)", {DType::kF32, DType::kF32});
  ASSERT_TRUE(p.ok());
  EXPECT_EQ(ScalarProgramToString(*p),
            "%0 = arg 0 : f32\n%1 = 0.5 : f32\n%2 = gt %0, %1 : bool\n%3 = arg 1 : f32\n%4 = "
            "select %2, %0, %3 : f32\nreturn %4\n");
}

TEST(ScalarExpr, ConcurrentBuildsAndEvaluations) {
  std::vector<std::thread> threads;
  std::vector<double> results(8);
  for (size_t t = 0; t < results.size(); ++t) {
    threads.emplace_back([t, &results] {
      for (int i = 0; i < 50; ++i)
        results[t] += Eval(absl::StrCat("erfc(x) + log1p(x) + ", i), DType::kF64, {0.5});
    });
  }
  for (std::thread& t : threads) t.join();
  for (double r : results) EXPECT_EQ(r, results[0]);
}

}  // namespace
}  // namespace jitfuse::internal
