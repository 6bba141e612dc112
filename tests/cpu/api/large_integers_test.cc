// Numbers that are given to ops on 64-bit integers keep all their digits, on every way from C++ to
// the kernel; f64 would round them from 2^53 on.
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "api/apply.h"
#include "api/inspect.h"
#include "api/jitfuse.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace jitfuse {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kOdd = (std::int64_t{1} << 53) + 1;

class LargeIntegersTest : public testing::TestWithParam<const char*> {
 protected:
  // The outputs' elements for one input of that dtype.
  template <typename T>
  std::vector<std::vector<T>> Run(const Builder& b, const std::vector<Tensor>& outputs,
                                  std::vector<T> x) {
    constexpr DType dtype = std::is_signed_v<T> ? DType::kI64 : DType::kU64;
    const auto n = static_cast<std::int64_t>(x.size());
    StatusOr<Function> f = CompileText(b.ToText(outputs), Options());
    EXPECT_TRUE(f.ok()) << b.status().message() << f.status().message();
    std::vector<std::vector<T>> results(outputs.size(), std::vector<T>(x.size()));
    std::vector<Array> arrays;
    for (std::vector<T>& r : results) arrays.push_back(Array::View(r.data(), dtype, {n}));
    if (f.ok()) {
      const Status status = f->RunInto({Array::View(x.data(), dtype, {n})}, arrays);
      EXPECT_TRUE(status.ok()) << status.message();
    }
    return results;
  }
  CompileOptions Options() {
    CompileOptions options;
    options.device =
        std::string(GetParam()) == "interpret" ? DeviceKind::kInterpret : DeviceKind::kCpu;
    return options;
  }
};

TEST_P(LargeIntegersTest, Limits) {
  Builder b;
  const Tensor x = b.Input("x", DType::kI64, {"n"});
  const std::vector<std::int64_t> values = {kMost, kMost - 1, -kMost, kOdd, kOdd + 1, 5};
  const auto got = Run(b,
                       {Clamp(x, -kOdd, kMost - 1), Clamp(x, -kOdd, kMost), Clamp(x, 4, kOdd),
                        Threshold(x, kOdd, -kOdd), Clamp(x, 0, std::uint64_t{1} << 63),
                        Clamp(x, -1.0, 6.0f), Clamp(x)},
                       values);
  EXPECT_THAT(got[0], ElementsAre(kMost - 1, kMost - 1, -kOdd, kOdd, kOdd + 1, 5));
  EXPECT_THAT(got[1], ElementsAre(kMost, kMost - 1, -kOdd, kOdd, kOdd + 1, 5));
  EXPECT_THAT(got[2], ElementsAre(kOdd, kOdd, 4, kOdd, kOdd, 5));
  EXPECT_THAT(got[3], ElementsAre(kMost, kMost - 1, -kOdd, -kOdd, kOdd + 1, -kOdd));
  EXPECT_THAT(got[4], ElementsAre(kMost, kMost - 1, 0, kOdd, kOdd + 1, 5));
  EXPECT_THAT(got[5], ElementsAre(6, 6, -1, 6, 6, 5));
  EXPECT_THAT(got[6], ElementsAreArray(values));
}

TEST_P(LargeIntegersTest, UnsignedLimits) {
  constexpr std::uint64_t top = std::numeric_limits<std::uint64_t>::max(),
                          half = std::uint64_t{1} << 63;
  Builder b;
  const Tensor x = b.Input("x", DType::kU64, {"n"});
  const auto got = Run(b, {Clamp(x, kOdd, half), Clamp(x, 0, half - 1), Clamp(x, -1, 7u)},
                       std::vector<std::uint64_t>{top, half - 2, 3});
  EXPECT_THAT(got[0], ElementsAre(half, half - 2, kOdd));
  EXPECT_THAT(got[1], ElementsAre(half - 1, half - 2, 3));
  EXPECT_THAT(got[2], ElementsAre(7, 7, 3));
}

TEST_P(LargeIntegersTest, NumbersBesideTensors) {
  Builder b;
  const Tensor x = b.Input("x", DType::kI64, {"n"});
  const auto got = Run(b, {x + kOdd, kOdd - x, x * (kOdd + 2), x - 1, x + 2.0f, x + 'a' + true},
                       std::vector<std::int64_t>{1, -2});
  EXPECT_THAT(got[0], ElementsAre(kOdd + 1, kOdd - 2));
  EXPECT_THAT(got[1], ElementsAre(kOdd - 1, kOdd + 2));
  EXPECT_THAT(got[2], ElementsAre(kOdd + 2, -2 * (kOdd + 2)));
  EXPECT_THAT(got[3], ElementsAre(0, -3));
  EXPECT_THAT(got[4], ElementsAre(3, 0));
  EXPECT_THAT(got[5], ElementsAre(99, 96));
  Builder u;
  constexpr std::uint64_t top = std::numeric_limits<std::uint64_t>::max();
  const Tensor y = u.Input("y", DType::kU64, {"n"});
  EXPECT_THAT(Run(u, {y + (top - 1)}, std::vector<std::uint64_t>{0, 1})[0],
              ElementsAre(top - 1, top));
}

INSTANTIATE_TEST_SUITE_P(Backends, LargeIntegersTest, testing::Values("cpu", "interpret"),
                         [](const auto& info) { return std::string(info.param); });

struct LikeANumber {
  double v;
  operator double() const { return v; }  // NOLINT: implicit
};
enum Plain { kThree = 3 };

TEST(NumberTest, IsWhatItIsGiven) {
  using Value = std::variant<std::int64_t, std::uint64_t, double>;
  EXPECT_EQ(Number(kMost).value(), Value(kMost));
  EXPECT_EQ(Number(5u).value(), Value(std::int64_t{5}));
  EXPECT_EQ(Number(std::uint64_t{7}).value(), Value(std::int64_t{7}));
  EXPECT_EQ(Number(~std::uint64_t{0}).value(), Value(~std::uint64_t{0}));
  EXPECT_EQ(Number(-1).value(), Value(std::int64_t{-1}));
  EXPECT_EQ(Number(0.5f).value(), Value(0.5));
  EXPECT_EQ(Number(2.0).value(), Value(2.0));
  EXPECT_EQ(Number(LikeANumber{1.5}).value(), Value(1.5));
  EXPECT_EQ(Number(kThree).value(), Value(3.0));
}

TEST(NumberTest, WhatDoesNotFitIsAnError) {
  auto message = [](DType dtype, auto step) {
    Builder b;
    step(b.Input("x", dtype, {2}));
    return b.status().message();
  };
  EXPECT_THAT(message(DType::kI64, [](const Tensor& x) { return x + ~std::uint64_t{0}; }),
              HasSubstr("a number beside i64[2]: the number 1.84467e+19 does not fit i64"));
  EXPECT_THAT(message(DType::kI32, [](const Tensor& x) { return x * kOdd; }),
              HasSubstr("the number 9007199254740993 does not fit i32"));
  EXPECT_THAT(
      message(DType::kF64, [](const Tensor& x) { return Clamp(x, 0, kOdd); }),
      HasSubstr("clamp(f64[2]): max is 9007199254740993, expected a number that f64 holds"));
  EXPECT_THAT(message(DType::kU64, [](const Tensor& x) { return Clamp(x, 0, ~std::uint64_t{0}); }),
              HasSubstr("clamp: attribute max: 18446744073709551615 is beyond 2^63 and has more "
                        "digits than f64 holds; a constant operand holds them all"));
  EXPECT_EQ(message(DType::kF32, [](const Tensor& x) { return x + kOdd; }), "");  // rounds, as ever
  EXPECT_EQ(message(DType::kF64, [](const Tensor& x) { return Clamp(x, 0, 1 << 30); }), "");
  EXPECT_EQ(message(DType::kBool, [](const Tensor& x) { return x + kOdd; }), "");  // i64
}

TEST(NumberTest, OpsByName) {
  Builder b;
  const Tensor x = b.Input("x", DType::kU64, {2});
  auto y = ApplyNamed(b, "clamp", {x}, {{"max", kOdd}, {"min", std::uint64_t{1} << 63}});
  ASSERT_TRUE(y.ok()) << y.status().message();
  EXPECT_THAT(b.ToText(*y), HasSubstr("max=9007199254740993} : u64[2]"));
  EXPECT_THAT(ApplyNamed(b, "clamp", {x}, {{"max", ~std::uint64_t{0}}}).status().message(),
              HasSubstr("18446744073709551615 is beyond 2^63"));
}

}  // namespace
}  // namespace jitfuse
