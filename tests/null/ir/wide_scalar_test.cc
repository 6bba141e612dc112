// The wide evaluator's bounds of one instruction, against what it gives at points within its
// operands' ranges.
#include "ir/wide_scalar.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "absl/strings/str_cat.h"

namespace jitfuse::internal {
namespace {

using Wide = long double;

// The row on arguments of type `dtype`.
ScalarProgram OneInstruction(const ScalarOpDef& def, DType dtype) {
  ScalarProgram p;
  p.num_args = def.arity;
  const bool is_bool =
      def.rule == ScalarTypeRule::kCompare || def.rule == ScalarTypeRule::kPredicate;
  ScalarInst inst{def.op, is_bool ? DType::kBool : dtype, {-1, -1, -1}, 0};
  for (int k = 0; k < def.arity; ++k) {
    p.insts.push_back({ScalarOp::kArg, dtype, {-1, -1, -1}, static_cast<uint64_t>(k)});
    inst.in[k] = static_cast<int16_t>(k);
  }
  p.insts.push_back(inst);
  p.results = {static_cast<int16_t>(def.arity)};
  return p;
}

WideElem RangeOf(ScalarOp op, const std::vector<WideElem>& in) {
  WideElem out;
  EvalWideProgram(OneInstruction(GetScalarOp(op), DType::kF32), in.data(), &out);
  return out;
}

// Its ends, points between them, and what lies on either side of 0.
std::vector<Wide> PointsWithin(const WideElem& e, std::mt19937* rng) {
  if (e.exact()) return {e.value};
  const Wide lo = e.value - e.bound, hi = e.value + e.bound;
  std::vector<Wide> points = {e.value, lo, hi};
  for (Wide v : {0.0L, -0.0L, 0x1p-140L, -0x1p-140L, 1.0L, -1.0L}) {
    if (lo <= v && v <= hi) points.push_back(v);
  }
  for (int i = 0; i < 3; ++i)
    points.push_back(lo + (hi - lo) * std::uniform_real_distribution<double>(0, 1)(*rng));
  return points;
}

bool Covers(const WideElem& e, Wide v) {
  if (std::isinf(e.bound) || v == e.value || (std::isnan(v) && std::isnan(e.value))) return true;
  return std::fabs(v - e.value) <= e.bound * (1 + 0x1p-50L);
}

template <typename Fn>
void ForEachFloatRow(Fn fn) {
  for (int i = static_cast<int>(ScalarOp::kConst) + 1; i < static_cast<int>(ScalarOp::kCount);
       ++i) {
    const ScalarOpDef& def = GetScalarOp(static_cast<ScalarOp>(i));
    const bool plain = def.rule == ScalarTypeRule::kSame || def.rule == ScalarTypeRule::kCompare ||
                       def.rule == ScalarTypeRule::kPredicate;
    if (plain && def.wide != nullptr && IsIn(DType::kF32, def.domain)) fn(def);
  }
}

TEST(WideScalar, BoundsCoverEveryPointOfTheOperandsRanges) {
  std::mt19937 rng(11);
  constexpr Wide kValues[] = {0, 0.25L, -0.25L, 0.75L, -1, 1, 2, -2, 3.5L, -2.5L, 7};
  constexpr Wide kBounds[] = {0, 0x1p-130L, 0x1p-20L, 0.25L, 0.5L, 1, 3, 40};
  std::vector<WideElem> ranges;
  for (Wide v : kValues) {
    for (Wide b : kBounds) ranges.push_back({v, b});
  }
  int rows = 0;
  ForEachFloatRow([&](const ScalarOpDef& def) {
    ++rows;
    const ScalarProgram program = OneInstruction(def, DType::kF32);
    for (int trial = 0; trial < 3000; ++trial) {
      WideElem in[3], out;
      std::vector<Wide> points[3] = {{0}, {0}, {0}};
      for (int k = 0; k < def.arity; ++k) {
        in[k] = ranges[rng() % ranges.size()];
        points[k] = PointsWithin(in[k], &rng);
      }
      // (Exact operands give the rounded result.)
      if (in[0].exact() && in[1].exact() && in[2].exact()) continue;
      EvalWideProgram(program, in, &out);
      for (Wide a : points[0]) {
        for (Wide b : points[1]) {
          for (Wide c : points[2]) {
            const Wide at[3] = {a, b, c};
            const Wide v = def.wide(at);
            ASSERT_TRUE(Covers(out, v))
                << def.name << "(" << a << ", " << b << ", " << c << ") = " << v
                << " is not within " << out.value << " +- " << out.bound << ", with operands of "
                << in[0].value << " +- " << in[0].bound << ", " << in[1].value << " +- "
                << in[1].bound;
          }
        }
      }
    }
  });
  EXPECT_GE(rows, 40);
}

// Left of 0 the angle jumps by a full turn where y passes 0, and neither end of y's range is there.
TEST(WideScalar, Atan2JumpsWithinTheRangeOfItsY) {
  for (Wide y : {0.5L, -0.5L, 0.75L, -0.75L}) {
    const WideElem left = RangeOf(ScalarOp::kAtan2, {{y, 0.75L}, {-2, 0}});
    EXPECT_GE(left.bound, M_PI + std::fabs(left.value)) << static_cast<double>(y);
    EXPECT_LT(left.bound, 2 * M_PI) << static_cast<double>(y);
    const WideElem right = RangeOf(ScalarOp::kAtan2, {{y, 0.75L}, {2, 0}});
    EXPECT_LT(right.bound, 0.75L) << static_cast<double>(y);
  }
}

// A sawtooth: tight within a tooth, all of it where a multiple is within the range.
TEST(WideScalar, FmodIsKnownWithinATooth) {
  EXPECT_LT(RangeOf(ScalarOp::kFmod, {{8.5L, 0.125L}, {3, 0}}).bound, 0.126L);
  EXPECT_LT(RangeOf(ScalarOp::kFmod, {{-8.5L, 0.125L}, {-3, 0.01L}}).bound, 0.126L + 0.021L);
  EXPECT_LT(RangeOf(ScalarOp::kFmod, {{0.25L, 0.5L}, {3, 0.5L}}).bound, 0.51L);
  const WideElem jump = RangeOf(ScalarOp::kFmod, {{9, 0.125L}, {3, 0}});
  EXPECT_GE(jump.bound + jump.value, 3);
  EXPECT_LE(jump.bound, 3);
  EXPECT_TRUE(std::isinf(RangeOf(ScalarOp::kFmod, {{9, 0}, {0.5L, 0.5L}}).bound)) << "by 0";
  EXPECT_TRUE(RangeOf(ScalarOp::kFmod, {{1e20L, 0}, {3, 0}}).exact());
}

}  // namespace
}  // namespace jitfuse::internal
