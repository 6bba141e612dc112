// Access maps against the index maps they come from, at every point.
#include "codegen/plan/access_map.h"

#include <random>

#include "gtest/gtest.h"

namespace jitfuse::internal {
namespace {

int64_t EvalCoord(const IndexExpr& e, const std::vector<int64_t>& axes) {
  int64_t v = e.constant.Eval({});
  for (const IndexTerm& t : e.terms) {
    int64_t x = EvalAffine(t.linear, axes, {}) / t.div.Eval({});
    v += t.coef.Eval({}) * (t.mod.Is(0) ? x : x % t.mod.Eval({}));
  }
  return v;
}

KernelPlan PlanWith(const Shape& extents, int align = 16, DType dtype = DType::kF32) {
  KernelPlan plan;
  plan.parallel = extents;
  plan.params.resize(1);
  plan.params[0].align = align;
  plan.params[0].dtype = dtype;
  return plan;
}

// A reshape of a reshape of random factors, with random strides: the offset is that of the
// coordinates.
TEST(AccessMap, EqualsItsIndexMapEverywhere) {
  std::mt19937 rng(1);
  const std::vector<Shape> shapes = {{24},   {2, 12},   {4, 6},      {2, 3, 4},
                                     {3, 8}, {6, 2, 2}, {2, 2, 2, 3}};
  int divided = 0;
  for (int trial = 0; trial < 400; ++trial) {
    const Shape& domain = shapes[rng() % shapes.size()];
    const Shape& to = shapes[rng() % shapes.size()];
    std::optional<IndexMap> map =
        ReshapeCoords(IdentityMap(static_cast<int>(domain.size())), domain, to, IndexSpace{domain});
    if (!map) continue;
    Shape strides = trial % 2 == 0 ? ContiguousStrides(to) : Shape();
    while (strides.size() < to.size()) strides.push_back(static_cast<int64_t>(rng() % 7) - 3);
    AccessMap access = MakeAccess(0, *map, strides, IndexSpace{domain});
    if (trial % 2 == 0)
      EXPECT_TRUE(access.terms.empty()) << "dense to dense is linear: " << AccessToString(access)
                                        << " of " << IndexMapToString(*map);
    divided += access.terms.empty() ? 0 : 1;
    KernelPlan plan = PlanWith(domain);
    std::optional<Range> range = OffsetRange(plan, access);
    ASSERT_TRUE(range.has_value());
    for (int64_t p = 0; p < 24; ++p) {
      std::vector<int64_t> axes(domain.size());
      int64_t rest = p;
      for (size_t d = domain.size(); d-- > 0;) {
        axes[d] = rest % domain[d].constant();
        rest /= domain[d].constant();
      }
      int64_t want = 0;
      for (size_t d = 0; d < to.size(); ++d)
        want += EvalCoord(map->coords[d], axes) * strides[d].constant();
      ASSERT_EQ(EvalAccess(access, axes, {}), want) << AccessToString(access);
      EXPECT_LE(range->lo, want);
      EXPECT_GE(range->hi, want);
    }
  }
  EXPECT_GT(divided, 20);
}

TEST(AccessMap, FoldsSymbolicStrides) {
  SizeExpr n = SizeExpr::Symbol(0);
  AccessMap a = MakeAccess(0, IdentityMap(3), Shape{n * 8, 8, 0}, IndexSpace{{4, n, 2}});
  EXPECT_EQ(AccessToString(a), "p0[(s0*8)*a0 + 8*a1]");
  EXPECT_TRUE(UsesAxis(a, 1));
  EXPECT_FALSE(UsesAxis(a, 2));
  EXPECT_EQ(EvalAccess(a, {2, 3, 100}, {5}), 2 * 40 + 24);
  EXPECT_FALSE(OffsetRange(PlanWith({4, n, 2}), a).has_value());
}

// What is left of terms whose axes are gone is part of the offset's constant.
TEST(AccessMap, TermsWithoutAxesAreConstants) {
  const SizeExpr n = SizeExpr::Symbol(0);
  Affine linear;
  AddTo(&linear, 0, 4);
  std::vector<IndexTerm> terms = {{Affine{{}, n * 3 + 1}, 4, 0, 8}, {Affine{{}, n}, 2, 3, 1}};
  SimplifyTerms(IndexSpace{{n}}, &linear, &terms);
  EXPECT_TRUE(terms.empty());
  for (int64_t v : {1, 2, 6, 11})
    EXPECT_EQ(EvalAffine(linear, {5}, {v}), 20 + (v * 3 + 1) / 4 * 8 + v / 2 % 3) << v;
}

TEST(AccessMap, VectorAccess) {
  KernelPlan plan = PlanWith({4, 64});
  auto access = [](Shape strides) {
    return MakeAccess(0, IdentityMap(2), strides, IndexSpace{{4, 64}});
  };
  EXPECT_TRUE(IsVectorAccess(plan, access({64, 1}), 4));
  EXPECT_TRUE(IsVectorAccess(plan, access({0, 1}), 4));
  EXPECT_FALSE(IsVectorAccess(plan, access({66, 1}), 4)) << "the second row is not aligned";
  EXPECT_TRUE(IsVectorAccess(plan, access({66, 1}), 2));
  EXPECT_FALSE(IsVectorAccess(plan, access({64, 2}), 4));
  EXPECT_FALSE(IsVectorAccess(plan, access({64, 2}), 1)) << "not unit stride";
  EXPECT_TRUE(IsVectorAccess(plan, access({SizeExpr::Symbol(0) * 4, 1}), 4));
  EXPECT_FALSE(IsVectorAccess(plan, access({SizeExpr::Symbol(0), 1}), 4));
  EXPECT_TRUE(IsUniformAccess(plan, access({1, 0})));
  KernelPlan misaligned = PlanWith({4, 64}, 4);
  EXPECT_FALSE(IsVectorAccess(misaligned, access({64, 1}), 4));
  EXPECT_TRUE(IsVectorAccess(misaligned, access({64, 1}), 1));
  KernelPlan bytes = PlanWith({4, 64}, 8, DType::kU8);
  EXPECT_TRUE(IsVectorAccess(bytes, access({8, 1}), 8));
  EXPECT_FALSE(IsVectorAccess(bytes, access({8, 1}), 16));
  AccessMap shifted = access({64, 1});
  shifted.linear.constant = 2;
  EXPECT_FALSE(IsVectorAccess(plan, shifted, 4));
}

}  // namespace
}  // namespace jitfuse::internal
