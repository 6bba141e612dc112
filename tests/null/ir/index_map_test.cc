#include "ir/index_map.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>

namespace jitfuse::internal {
namespace {

using Dims = std::vector<int64_t>;

Shape ToShape(const Dims& dims) { return Shape(dims.begin(), dims.end()); }

int64_t Linear(const Dims& dims, const Dims& coords) {
  int64_t linear = 0;
  for (size_t i = 0; i < dims.size(); ++i) linear = linear * dims[i] + coords[i];
  return linear;
}

Dims Unravel(const Dims& dims, int64_t linear) {
  Dims coords(dims.size());
  for (size_t i = dims.size(); i-- > 0;) {
    coords[i] = linear % dims[i];
    linear /= dims[i];
  }
  return coords;
}

int64_t Count(const Dims& dims) {
  int64_t n = 1;
  for (int64_t d : dims) n *= d;
  return n;
}

// What a map says, by brute force: operand coordinates for result coordinates.
using Reference = std::function<Dims(const Dims&)>;

void ExpectEqual(const IndexMap& map, const Reference& reference, const Dims& domain,
                 const Dims& symbols = {}) {
  for (int64_t k = 0; k < Count(domain); ++k) {
    Dims at = Unravel(domain, k);
    ASSERT_EQ(EvalIndexMap(map, at, symbols), reference(at))
        << IndexMapToString(map) << " at element " << k;
  }
}

std::optional<IndexMap> Reshape(const Dims& from, const Dims& to) {
  return ReshapeCoords(IdentityMap(static_cast<int>(from.size())), ToShape(from), ToShape(to),
                       {ToShape(from)});
}

std::string ReshapeText(const Shape& from, const Shape& to) {
  auto map = ReshapeCoords(IdentityMap(static_cast<int>(from.size())), from, to, {from});
  return map ? IndexMapToString(*map) : "none";
}

TEST(IndexMap, ReshapeKeepsUntouchedDimsPlain) {
  SizeExpr n = SizeExpr::Symbol(0), m = SizeExpr::Symbol(1);
  EXPECT_EQ(ReshapeText({n, 768}, {n, 12, 64}), "[d0, d1/(64), d1%(64)]");
  EXPECT_EQ(ReshapeText({n, 12, 64}, {n, 768}), "[d0, d1*64 + d2]");
  EXPECT_EQ(ReshapeText({n, m, 4}, {n * m, 4}), "[d0*s1 + d1, d2]");
  EXPECT_EQ(ReshapeText({n * m, 4}, {n, m, 4}), "[d0/(s1), d0%(s1), d1]");
  EXPECT_EQ(ReshapeText({n, 1, 5}, {n, 5}), "[d0, d2]");
  EXPECT_EQ(ReshapeText({n, 5}, {1, n, 1, 5, 1}), "[0, d0, 0, d1, 0]");
  EXPECT_EQ(ReshapeText({6, 4}, {8, 3}), "[(d0*4+d1)/(3), (d0*4+d1)%(3)]");
  EXPECT_EQ(ReshapeText({}, {1, 1}), "[0, 0]");
  EXPECT_EQ(ReshapeText({1}, {}), "[]");
  EXPECT_EQ(ReshapeText({0, 4}, {2, 0}), "[d0, d0]");  // of no element: on the empty axis
}

TEST(IndexMap, ReshapeThereAndBackIsTheIdentity) {
  SizeExpr n = SizeExpr::Symbol(0), m = SizeExpr::Symbol(1);
  const std::vector<std::pair<Shape, Shape>> cases = {
      {{n, 768}, {n, 12, 64}}, {{n, 12, 64}, {n, 768}}, {{n, m, 4}, {n * m * 4}},
      {{n * m}, {n, m}},       {{6, 4}, {8, 3}},        {{n, 6, 4}, {n, 3, 8}},
      {{2, n}, {n * 2}},       {{60}, {3, 4, 5}},       {{3, 4, 5}, {60}}};
  for (const auto& [x, y] : cases) {
    IndexMap identity = IdentityMap(static_cast<int>(x.size()));
    auto there = ReshapeCoords(identity, x, y, {x});
    ASSERT_TRUE(there) << ShapeToString(x);
    auto back = ReshapeCoords(*there, y, x, {x});
    ASSERT_TRUE(back) << ShapeToString(x) << " via " << IndexMapToString(*there);
    EXPECT_EQ(*back, identity) << IndexMapToString(*back);
  }
}

TEST(IndexMap, ReshapeAgreesWithNumPyOnAllSmallShapes) {
  const std::vector<Dims> shapes = {{24},    {2, 12},    {12, 2},      {6, 4},
                                    {8, 3},  {3, 8},     {2, 3, 4},    {4, 3, 2},
                                    {1, 24}, {2, 1, 12}, {2, 2, 2, 3}, {3, 2, 2, 2}};
  int expressible = 0;
  for (const Dims& from : shapes) {
    for (const Dims& to : shapes) {
      auto map = Reshape(from, to);
      ASSERT_TRUE(map) << ShapeToString(ToShape(from)) << ShapeToString(ToShape(to));
      ++expressible;
      ExpectEqual(*map, [&](const Dims& at) { return Unravel(to, Linear(from, at)); }, from);
    }
  }
  EXPECT_EQ(expressible, 144);
}

TEST(IndexMap, DivModBounds) {
  IndexSpace space{{4, 8, 16}};
  IndexExpr e = Sum(Sum(Scale(AxisExpr(0), 128), Scale(AxisExpr(1), 16)), AxisExpr(2));
  auto text = [&](const SizeExpr& div, const SizeExpr& mod) {
    auto r = DivMod(e, div, mod, space);
    return r ? IndexMapToString({{*r}, {}}) : std::string("none");
  };
  EXPECT_EQ(text(1, 0), "[d0*128 + d1*16 + d2]");
  EXPECT_EQ(text(16, 0), "[d0*8 + d1]");
  EXPECT_EQ(text(16, 8), "[d1]");
  EXPECT_EQ(text(128, 0), "[d0]");
  EXPECT_EQ(text(512, 0), "[0]");
  EXPECT_EQ(text(1, 512), "[d0*128 + d1*16 + d2]");
  EXPECT_EQ(text(32, 0), "[d0*4 + d1/(2)]");
  EXPECT_EQ(text(1, 32), "[d2 + (d1%(2))*16]");
  EXPECT_EQ(UpperBound(e, space)->constant(), 511);
}

TEST(IndexMap, NestedThatCannotBeOneTermFails) {
  // ((d0 / 4) + (d0 % 5)) % 3 has two divided terms under one remainder.
  IndexSpace space{{100}};
  IndexExpr e = Sum(*DivMod(AxisExpr(0), 4, 0, space), *DivMod(AxisExpr(0), 1, 5, space));
  EXPECT_FALSE(DivMod(e, 1, 3, space));
  EXPECT_FALSE(DivMod(e, 2, 0, space));
  EXPECT_TRUE(DivMod(e, 1, 1000, space));
  EXPECT_FALSE(DivMod(*DivMod(AxisExpr(0), 1, 7, space), 2, 0, space));  // (x % 7) / 2
  EXPECT_FALSE(DivMod(AxisExpr(0), 0, 0, space));
}

TEST(IndexMap, DivModOfDividedTermsByBruteForce) {
  std::mt19937 rng(7);
  auto pick = [&](int64_t lo, int64_t hi) {
    return std::uniform_int_distribution<int64_t>(lo, hi)(rng);
  };
  int made = 0;
  for (int trial = 0; trial < 4000; ++trial) {
    IndexSpace space{{pick(1, 7), pick(1, 7)}};
    auto axes = [&] {
      return Sum(Scale(AxisExpr(0), pick(0, 9)),
                 Sum(Scale(AxisExpr(1), pick(0, 9)), IndexExpr{{}, pick(0, 9)}));
    };
    auto some = [&] { return pick(0, 2) == 0 ? SizeExpr(0) : SizeExpr(pick(1, 8)); };
    auto first = DivMod(axes(), pick(1, 8), some(), space);
    if (!first) continue;
    IndexExpr e = pick(0, 1) ? *first : Sum(Scale(*first, pick(1, 4)), axes());
    SizeExpr div = pick(1, 12), mod = some();
    auto second = DivMod(e, div, mod, space);
    if (!second) continue;
    ++made;
    auto bound = UpperBound(*second, space);
    ASSERT_TRUE(bound);
    for (int64_t a = 0; a < space.extents[0].constant(); ++a) {
      for (int64_t b = 0; b < space.extents[1].constant(); ++b) {
        Dims at{a, b};
        int64_t want = EvalIndexExpr(e, at, {}) / div.constant();
        if (!mod.Is(0)) want %= mod.constant();
        ASSERT_EQ(EvalIndexExpr(*second, at, {}), want)
            << IndexMapToString({{e}, {}}) << " / " << div.ToString() << " % " << mod.ToString()
            << " -> " << IndexMapToString({{*second}, {}});
        ASSERT_LE(want, bound->constant());
      }
    }
  }
  EXPECT_GT(made, 2000);
}

// A random chain of reshapes and transposes, composed step by step as the planner does: result
// coordinates to operand's.
TEST(IndexMap, ChainsOfViewsByBruteForce) {
  std::mt19937 rng(11);
  auto pick = [&](size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(rng); };
  const std::vector<Dims> shapes = {{24},   {2, 12}, {6, 4},    {3, 8},  {2, 3, 4},
                                    {4, 6}, {12, 2}, {2, 2, 6}, {1, 24}, {2, 2, 2, 3}};
  int expressible = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    Dims domain = shapes[pick(shapes.size())];
    IndexMap map = IdentityMap(static_cast<int>(domain.size()));
    IndexSpace space{ToShape(domain)};
    Reference reference = [](const Dims& at) { return at; };
    Dims now = domain;
    bool ok = true;
    for (int step = 0; ok && step < 4; ++step) {
      if (pick(2) == 0) {
        std::vector<size_t> perm(now.size());
        for (size_t i = 0; i < perm.size(); ++i) perm[i] = i;
        std::shuffle(perm.begin(), perm.end(), rng);
        IndexMap next;
        Dims dims;
        for (size_t p : perm) {
          next.coords.push_back(map.coords[p]);
          dims.push_back(now[p]);
        }
        map = next;
        now = dims;
        reference = [reference, perm](const Dims& at) {
          Dims in = reference(at), out;
          for (size_t p : perm) out.push_back(in[p]);
          return out;
        };
      } else {
        Dims to = shapes[pick(shapes.size())];
        auto next = ReshapeCoords(map, ToShape(now), ToShape(to), space);
        ok = next.has_value();
        if (!ok) break;
        map = *next;
        reference = [reference, now, to](const Dims& at) {
          return Unravel(to, Linear(now, reference(at)));
        };
        now = to;
      }
    }
    if (!ok) continue;
    ++expressible;
    ExpectEqual(map, reference, domain);
  }
  EXPECT_GT(expressible, 2000);
}

TEST(IndexMap, SymbolicChainsByBruteForce) {
  SizeExpr n = SizeExpr::Symbol(0), m = SizeExpr::Symbol(1);
  const std::vector<Shape> shapes = {{n, m, 6},    {n * m, 6},     {n * m * 6},  {n, m * 6},
                                     {n, m, 2, 3}, {n * m * 2, 3}, {n, m * 2, 3}};
  for (int64_t nv : {1, 2, 5}) {
    for (int64_t mv : {1, 3}) {
      Dims symbols{nv, mv};
      for (const Shape& from : shapes) {
        for (const Shape& to : shapes) {
          auto map = ReshapeCoords(IdentityMap(static_cast<int>(from.size())), from, to, {from});
          ASSERT_TRUE(map);
          Dims f = EvalDims(from, symbols), t = EvalDims(to, symbols);
          ExpectEqual(*map, [&](const Dims& at) { return Unravel(t, Linear(f, at)); }, f, symbols);
        }
      }
    }
  }
}

bool EveryTermHasAnAxis(const IndexExpr& e) {
  return std::all_of(e.terms.begin(), e.terms.end(),
                     [](const IndexTerm& t) { return !t.linear.coefs.empty(); });
}

// Where every axis divides out, a quotient or remainder of sizes is left: part of the constant.
TEST(IndexMap, QuotientsOfSizesAreSizes) {
  const SizeExpr n = SizeExpr::Symbol(0), m = SizeExpr::Symbol(1);
  const SizeExpr last = Max(n * 3 - 1, SizeExpr(0));
  const IndexSpace space{{n, 1}};
  auto at = [&](const SizeExpr& step, const SizeExpr& start) {
    return Sum(Sum(Scale(AxisExpr(0), step), AxisExpr(1)), IndexExpr{{}, start});
  };
  auto text = [&](const IndexExpr& e, const SizeExpr& div, const SizeExpr& mod) {
    auto r = DivMod(e, div, mod, space);
    return r ? IndexExprToString(*r) : std::string("none");
  };
  EXPECT_EQ(text(at(3, last), 3, 0), "d0 + floordiv(max(s0*3-1,0),3)");
  EXPECT_EQ(text(at(3, last), 1, 3), "floordiv(max(s0*3-1,0),3)*-3+max(s0*3-1,0)");
  EXPECT_EQ(text(at(0, last), m, 0), "floordiv(max(s0*3-1,0),s1)");
  for (const SizeExpr& step : {SizeExpr(0), SizeExpr(3), SizeExpr(12), m * 3, m * 12}) {
    for (const SizeExpr& start : {last, n * 5 + 1, m + 4, Min(n, m), FloorDiv(n, 2) * 7}) {
      for (const SizeExpr& div : {SizeExpr(1), SizeExpr(3), SizeExpr(4), m, m * 3}) {
        for (const SizeExpr& mod : {SizeExpr(0), SizeExpr(2), SizeExpr(4), m, n + 2}) {
          const IndexExpr e = at(step, start);
          auto made = DivMod(e, div, mod, space);
          ASSERT_TRUE(made) << IndexExprToString(e);
          EXPECT_TRUE(EveryTermHasAnAxis(*made)) << IndexExprToString(*made);
          for (const Dims& symbols : {Dims{1, 1}, Dims{2, 3}, Dims{5, 2}, Dims{7, 4}}) {
            const int64_t d = div.Eval(symbols), k = mod.Eval(symbols);
            for (int64_t i = 0; i < symbols[0]; ++i) {
              const int64_t q = EvalIndexExpr(e, {i, 0}, symbols) / d;
              ASSERT_EQ(EvalIndexExpr(*made, {i, 0}, symbols), k == 0 ? q : q % k)
                  << IndexExprToString(*made);
            }
          }
        }
      }
    }
  }
}

TEST(IndexMap, ComposeAgreesWithSubstitution) {
  std::mt19937 rng(3);
  const std::vector<Dims> shapes = {{24}, {2, 12}, {6, 4}, {3, 8}, {2, 3, 4}, {2, 2, 6}};
  int made = 0;
  for (const Dims& a : shapes) {
    for (const Dims& b : shapes) {
      for (const Dims& c : shapes) {
        auto outer = Reshape(b, c);  // axes of b -> coordinates in c
        auto inner = Reshape(a, b);  // axes of a -> coordinates in b
        auto both = Compose(*outer, *inner, {ToShape(a)});
        if (!both) continue;
        ++made;
        ExpectEqual(*both, [&](const Dims& at) { return Unravel(c, Linear(a, at)); }, a);
      }
    }
  }
  EXPECT_GT(made, 150);
}

}  // namespace
}  // namespace jitfuse::internal
