// Plans of hand-made groups, run by the interpreter and compared with plain C++: every idiom,
// several targets and budgets.
#include <cmath>

#include "codegen/plan/schedule.h"
#include "tests/test_util/run_plan.h"

namespace jitfuse::internal {
namespace {

// The ways a plan may come out: rows kept, rows read again (two passes or online), with and without
// vectors.
std::vector<Target> Targets() {
  std::vector<Target> out;
  for (std::string_view arch : {"interpret", "sm_90", "x86-64-v3"}) {
    for (int64_t kept : {int64_t{1} << 17, int64_t{16}}) {
      out.push_back(*TargetFor(arch));
      out.back().max_row_bytes_kept = kept;
    }
  }
  return out;
}

StridedTensor Ran(const Graph& graph, const Target& target, TestValues values,
                  std::vector<int64_t> symbols = {}, int output = 0) {
  absl::Status ok = RunGroup(graph, WholeGroup(graph), target, symbols, &values);
  EXPECT_TRUE(ok.ok()) << TargetToString(target) << " kept " << target.max_row_bytes_kept << "\n"
                       << ok;
  return values[graph.outputs()[static_cast<size_t>(output)]];
}

void ExpectNear(const StridedTensor& got, const std::vector<double>& want, double tolerance) {
  ASSERT_EQ(got.size(), static_cast<int64_t>(want.size()));
  for (int64_t i = 0; i < got.size(); ++i) {
    double w = want[static_cast<size_t>(i)];
    if (std::isnan(w)) {
      EXPECT_TRUE(std::isnan(got.Number(i))) << i;
    } else if (std::isinf(w)) {
      EXPECT_EQ(got.Number(i), w) << i;
    } else {
      ASSERT_NEAR(got.Number(i), w, tolerance * std::max(1.0, std::fabs(w))) << i;
    }
  }
}

TEST(RunPlan, ChainWithAnyStrides) {
  Graph g = Parsed(R"(graph f(%a: f32[n,6], %b: f32[n,6], %c: f32[n,6]) -> (f32[n,6]) {
    %0 = multiply(%a, %b) : f32[n,6]
    %1 = add(%0, %c) : f32[n,6]
    %2 = relu(%1) : f32[n,6]
    return %2
  })");
  StridedTensor a = StridedTensor::Strided(DType::kF32, {5, 6}, {0, 1}).Random(1);
  StridedTensor b = StridedTensor::Strided(DType::kF32, {5, 6}, {-6, -1}).Random(2);
  StridedTensor c = StridedTensor::Strided(DType::kF32, {5, 6}, {1, 9}).Random(3);
  std::vector<double> want;
  for (int64_t i = 0; i < 30; ++i)
    want.push_back(std::max(0.0, a.Number(i) * b.Number(i) + c.Number(i)));
  for (const Target& t : Targets()) {
    ExpectNear(
        Ran(g, t, {{InputNamed(g, "a"), a}, {InputNamed(g, "b"), b}, {InputNamed(g, "c"), c}}, {5}),
        want, 1e-6);
  }
}

TEST(RunPlan, EmptyAndScalar) {
  Graph g = Parsed(R"(graph f(%a: f32[0,6], %s: scalar f32) -> (f32[0,6]) {
    %0 = multiply(%a, %s) : f32[0,6]
    return %0
  })");
  for (const Target& t : Targets()) {
    EXPECT_EQ(Ran(g, t,
                  {{InputNamed(g, "a"), StridedTensor::Make(DType::kF32, {0, 6})},
                   {InputNamed(g, "s"), StridedTensor::Make(DType::kF32, {})}})
                  .size(),
              0);
  }
  Graph h = Parsed(R"(graph f(%a: f64[], %s: scalar f64) -> (f64[]) {
    %0 = divide(%a, %s) : f64[]
    return %0
  })");
  StridedTensor a = StridedTensor::Make(DType::kF64, {}), s = a;
  a.Fill([](int64_t) { return 3; });
  s.Fill([](int64_t) { return 4; });
  for (const Target& t : Targets())
    ExpectNear(Ran(h, t, {{InputNamed(h, "a"), a}, {InputNamed(h, "s"), s}}), {0.75}, 0);
}

TEST(RunPlan, EmptyWithStrides) {
  Graph g = Parsed(R"(graph f(%a: f32[0,6], %b: f32[6,0]) -> (f32[6,0], f32[6]) {
    %0 = transpose(%a) : f32[6,0]
    %1 = add(%0, %b) : f32[6,0]
    %2 = sum(%1) {axes=[1]} : f32[6]
    return %1, %2
  })");
  TestValues values = {{InputNamed(g, "a"), StridedTensor::Make(DType::kF32, {0, 6})},
                       {InputNamed(g, "b"), StridedTensor::Make(DType::kF32, {6, 0})}};
  for (const Target& t : Targets()) {
    EXPECT_EQ(Ran(g, t, values, {}, 0).size(), 0);
    ExpectNear(Ran(g, t, values, {}, 1), std::vector<double>(6, 0), 0);
  }
}

// An output may have an input's buffer: then nothing is read after the first store of a row.
TEST(RunPlan, InPlace) {
  Graph g = Parsed(R"(graph f(%x: f32[3,40], %r: f32[3,40]) -> (f32[3,40], f32[3,40]) {
    %0 = add(%x, %r) : f32[3,40]
    %1 = layer_norm(%0) : f32[3,40]
    return %0, %1
  })");
  Value xv = InputNamed(g, "x"), rv = InputNamed(g, "r");
  StridedTensor x = StridedTensor::Make(DType::kF32, {3, 40}).Random(14);
  StridedTensor r = StridedTensor::Make(DType::kF32, {3, 40}).Random(15);
  PlanOptions options;
  options.may_alias = {xv, rv};
  for (const Target& t : Targets()) {
    TestValues apart = {{xv, x}, {rv, r}};
    ASSERT_TRUE(RunGroup(g, WholeGroup(g), t, {}, &apart).ok());
    absl::StatusOr<std::vector<KernelPlan>> plans = BuildPlan(g, WholeGroup(g), {}, t, options);
    ASSERT_TRUE(plans.ok()) << plans.status();
    ASSERT_TRUE(VerifyPlan((*plans)[0]).ok()) << VerifyPlan((*plans)[0]);
    StridedTensor first = x, second = r;  // sum over x, norm over r
    std::vector<void*> buffers;
    for (const Param& p : (*plans)[0].params) {
      bool is_first = p.value == xv || p.value == g.outputs()[0];
      buffers.push_back(is_first ? first.data() : second.data());
      EXPECT_EQ(p.may_alias, p.role == ParamRole::kInput);
    }
    ASSERT_TRUE(InterpretPlan((*plans)[0], buffers, {}, {}).ok());
    EXPECT_EQ(first.bytes, apart[g.outputs()[0]].bytes) << PlanToString((*plans)[0]);
    EXPECT_EQ(second.bytes, apart[g.outputs()[1]].bytes) << PlanToString((*plans)[0]);
  }
}

// The user's cast rounds; a bf16 intermediate does not.
TEST(RunPlan, CastsRoundAndIntermediatesDoNot) {
  Graph g = Parsed(R"(graph f(%a: bf16[4], %b: bf16[4]) -> (f32[4], f32[4]) {
    %0 = add(%a, %b) : bf16[4]
    %1 = cast(%0) {dtype=f32} : f32[4]
    %2 = cast(%0) {dtype=bf16} : bf16[4]
    %3 = cast(%2) {dtype=f32} : f32[4]
    return %1, %3
  })");
  StridedTensor a = StridedTensor::Make(DType::kBF16, {4}).Fill([](int64_t) { return 256; });
  StridedTensor b = StridedTensor::Make(DType::kBF16, {4}).Fill([](int64_t i) {
    return 0.25 * static_cast<double>(i);
  });
  TestValues values = {{InputNamed(g, "a"), a}, {InputNamed(g, "b"), b}};
  for (const Target& t : Targets()) {
    ExpectNear(Ran(g, t, values, {}, 0), {256, 256.25, 256.5, 256.75}, 0);
    ExpectNear(Ran(g, t, values, {}, 1), {256, 256, 256, 256}, 0);
  }
}

std::vector<double> SoftmaxOf(const StridedTensor& x, int64_t n) {
  std::vector<double> out;
  for (int64_t r = 0; r < x.size() / n; ++r) {
    double m = -INFINITY, s = 0;
    for (int64_t i = 0; i < n; ++i) m = std::max(m, x.Number(r * n + i));
    for (int64_t i = 0; i < n; ++i) s += std::exp(x.Number(r * n + i) - m);
    for (int64_t i = 0; i < n; ++i) out.push_back(std::exp(x.Number(r * n + i) - m) / s);
  }
  return out;
}

TEST(RunPlan, Softmax) {
  for (int64_t n : {1, 2, 65, 300}) {
    Graph g = Parsed(absl::StrCat("graph f(%x: f32[3,", n, "]) -> (f32[3,", n,
                                  "]) { %0 = softmax(%x) : f32[3,", n, "] return %0 }"));
    StridedTensor x = StridedTensor::Make(DType::kF32, {3, n}).Random(4, -30, 30);
    if (n > 1) x.Set(0, ScalarFromDouble(DType::kF32, -INFINITY));
    std::vector<double> want = SoftmaxOf(x, n);
    for (int64_t i = 0; i < n; ++i) {  // a row of all -inf gives NaN
      x.Set(2 * n + i, ScalarFromDouble(DType::kF32, -INFINITY));
      want[static_cast<size_t>(2 * n + i)] = NAN;
    }
    for (const Target& t : Targets()) ExpectNear(Ran(g, t, {{InputNamed(g, "x"), x}}), want, 2e-6);
  }
}

TEST(RunPlan, SoftmaxOverAMiddleAxisOfSymbolicSize) {
  Graph g = Parsed(
      "graph f(%x: f64[2,n,3]) -> (f64[2,n,3]) { %0 = softmax(%x) {axis=1} : f64[2,n,3] return %0 "
      "}");
  StridedTensor x = StridedTensor::Make(DType::kF64, {2, 7, 3}).Random(5);
  StridedTensor moved = StridedTensor::Make(DType::kF64, {2, 3, 7});
  for (int64_t i = 0; i < 42; ++i) moved.Set((i / 21) * 21 + (i % 3) * 7 + (i / 3) % 7, x.At(i));
  std::vector<double> by_row = SoftmaxOf(moved, 7), want(42);
  for (int64_t i = 0; i < 42; ++i)
    want[static_cast<size_t>(i)] =
        by_row[static_cast<size_t>((i / 21) * 21 + (i % 3) * 7 + (i / 3) % 7)];
  for (const Target& t : Targets())
    ExpectNear(Ran(g, t, {{InputNamed(g, "x"), x}}, {7}), want, 1e-13);
}

TEST(RunPlan, LayerNormWithTail) {
  Graph g = Parsed(
      R"(graph f(%x: f32[m,40], %r: f32[m,40], %w: f32[40], %b: f32[40]) -> (f32[m,40], f32[m,40]) {
    %0 = add(%x, %r) : f32[m,40]
    %1 = layer_norm(%0, %w, %b) : f32[m,40]
    %2 = tanh(%1) : f32[m,40]
    return %0, %2
  })");
  StridedTensor x = StridedTensor::Make(DType::kF32, {3, 40}).Random(6, 90, 110),
                r = StridedTensor::Make(DType::kF32, {3, 40}).Random(7);
  StridedTensor w = StridedTensor::Make(DType::kF32, {40}).Random(8),
                b = StridedTensor::Make(DType::kF32, {40}).Random(9);
  std::vector<double> sum, want;
  for (int64_t row = 0; row < 3; ++row) {
    double mean = 0, var = 0;
    for (int64_t i = 0; i < 40; ++i)
      sum.push_back(static_cast<float>(x.Number(row * 40 + i) + r.Number(row * 40 + i)));
    for (int64_t i = 0; i < 40; ++i) mean += sum[static_cast<size_t>(row * 40 + i)] / 40;
    for (int64_t i = 0; i < 40; ++i)
      var += std::pow(sum[static_cast<size_t>(row * 40 + i)] - mean, 2) / 40;
    for (int64_t i = 0; i < 40; ++i) {
      want.push_back(std::tanh((sum[static_cast<size_t>(row * 40 + i)] - mean) /
                                   std::sqrt(var + 1e-5) * w.Number(i) +
                               b.Number(i)));
    }
  }
  TestValues values = {{InputNamed(g, "x"), x},
                       {InputNamed(g, "r"), r},
                       {InputNamed(g, "w"), w},
                       {InputNamed(g, "b"), b}};
  for (const Target& t : Targets()) {
    ExpectNear(Ran(g, t, values, {3}, 0), sum, 0);
    ExpectNear(Ran(g, t, values, {3}, 1), want, 3e-5);
  }
}

TEST(RunPlan, ReductionsOverAnyAxes) {
  struct Case {
    std::string axes, shape;
    std::function<int64_t(int64_t, int64_t, int64_t)> to;  // position in the result of x[i,j,k]
    int64_t size;
  };
  std::vector<Case> cases = {
      {"0", "[5,6]", [](int64_t, int64_t j, int64_t k) { return j * 6 + k; }, 30},
      {"1", "[4,6]", [](int64_t i, int64_t, int64_t k) { return i * 6 + k; }, 24},
      {"2", "[4,5]", [](int64_t i, int64_t j, int64_t) { return i * 5 + j; }, 20},
      {"0,2", "[5]", [](int64_t, int64_t j, int64_t) { return j; }, 5},
      {"1,2", "[4]", [](int64_t i, int64_t, int64_t) { return i; }, 4},
      {"0,1,2", "[]", [](int64_t, int64_t, int64_t) { return 0; }, 1}};
  StridedTensor x = StridedTensor::Make(DType::kI32, {4, 5, 6}).Random(10, -50, 50);
  for (const Case& c : cases) {
    std::string text = absl::StrCat("graph f(%x: i32[4,5,6]) -> (i64", c.shape, ", i32", c.shape,
                                    ", i64", c.shape, ", i64", c.shape, ") {\n");
    for (auto [name, type] :
         {std::pair("sum", "i64"), {"max", "i32"}, {"argmin", "i64"}, {"prod", "i64"}}) {
      absl::StrAppend(&text, "%", name, " = ", name, "(%x) {axes=[", c.axes, "]} : ", type, c.shape,
                      "\n");
    }
    Graph g = Parsed(absl::StrCat(text, "return %sum, %max, %argmin, %prod }"));
    std::vector<double> sum(static_cast<size_t>(c.size)), max(sum.size(), -1e9),
        argmin(sum.size(), -1), least(sum.size(), 1e9), prod(sum.size(), 1);
    std::vector<int64_t> position(sum.size());
    std::vector<int64_t> product(sum.size(), 1);
    for (int64_t e = 0; e < 120; ++e) {
      auto at = static_cast<size_t>(c.to(e / 30, e / 6 % 5, e % 6));
      double v = x.Number(e);
      sum[at] += v;
      max[at] = std::max(max[at], v);
      product[at] = static_cast<int64_t>(static_cast<uint64_t>(product[at]) *
                                         static_cast<uint64_t>(static_cast<int64_t>(v)));
      if (v < least[at]) {
        least[at] = v;
        argmin[at] = static_cast<double>(position[at]);
      }
      ++position[at];
    }
    for (size_t i = 0; i < prod.size(); ++i) prod[i] = static_cast<double>(product[i]);
    for (const Target& t : Targets()) {
      TestValues values = {{InputNamed(g, "x"), x}};
      ExpectNear(Ran(g, t, values, {}, 0), sum, 0);
      ExpectNear(Ran(g, t, values, {}, 1), max, 0);
      ExpectNear(Ran(g, t, values, {}, 2), argmin, 0);
      ExpectNear(Ran(g, t, values, {}, 3), prod, 0);
    }
  }
}

TEST(RunPlan, EmptyReductionsAndSymbolicCounts) {
  Graph g = Parsed(R"(graph f(%x: f32[2,n]) -> (f32[2], f32[2], bool[2]) {
    %0 = sum(%x) {axes=[1]} : f32[2]
    %1 = mean(%x) {axes=[1]} : f32[2]
    %2 = isnan(%1) : bool[2]
    return %0, %1, %2
  })");
  for (int64_t n : {0, 1, 200}) {
    StridedTensor x = StridedTensor::Make(DType::kF32, {2, n}).Fill([](int64_t i) {
      return static_cast<double>(i);
    });
    double a = n == 0 ? 0 : static_cast<double>(n * (n - 1)) / 2,
           b = a + static_cast<double>(n * n);
    for (const Target& t : Targets()) {
      TestValues values = {{InputNamed(g, "x"), x}};
      ExpectNear(Ran(g, t, values, {n}, 0), {a, b}, 0);
      ExpectNear(Ran(g, t, values, {n}, 1),
                 {a / static_cast<double>(n), b / static_cast<double>(n)}, 0);
      ExpectNear(Ran(g, t, values, {n}, 2), {n == 0 ? 1.0 : 0, n == 0 ? 1.0 : 0}, 0);
    }
  }
}

// Views in front of and behind a reduction, a causal mask, and the same value stored through
// different maps.
TEST(RunPlan, MaskedScoresThroughViews) {
  Graph g = Parsed(R"(graph f(%x: f32[3,2,8]) -> (f32[2,3,8]) {
    %0 = transpose(%x) {perm=[1,0,2]} : f32[2,3,8]
    %1 = iota() {shape=[3,8], axis=0} : i64[3,8]
    %2 = iota() {shape=[3,8], axis=1} : i64[3,8]
    %3 = less_equal(%2, %1) : bool[3,8]
    %4 = where(%3, %0, -inf) : f32[2,3,8]
    %5 = softmax(%4) : f32[2,3,8]
    return %5
  })");
  StridedTensor x = StridedTensor::Make(DType::kF32, {3, 2, 8}).Random(11);
  StridedTensor masked = StridedTensor::Make(DType::kF32, {2, 3, 8});
  for (int64_t i = 0; i < 48; ++i) {
    int64_t a = i / 24, q = i / 8 % 3, k = i % 8;
    masked.Set(i, k <= q ? x.At(q * 16 + a * 8 + k) : ScalarFromDouble(DType::kF32, -INFINITY));
  }
  for (const Target& t : Targets())
    ExpectNear(Ran(g, t, {{InputNamed(g, "x"), x}}), SoftmaxOf(masked, 8), 2e-6);
}

TEST(RunPlan, OutputsThroughMaps) {
  Graph g = Parsed(R"(graph f(%x: f32[4,6], %b: f32[6]) -> (f32[4,6], f32[6,4], f32[3,8]) {
    %0 = add(%x, %b) : f32[4,6]
    %1 = transpose(%0) : f32[6,4]
    %2 = exp(%1) : f32[6,4]
    %3 = reshape(%0) {shape=[3,8]} : f32[3,8]
    return %0, %2, %3
  })");
  Group group = WholeGroup(g);
  group.domain = {4, 6};
  IndexMap identity = IdentityMap(2), swapped;
  swapped.coords = {AxisExpr(1), AxisExpr(0)};
  group.output_maps = {identity, swapped,
                       *ReshapeCoords(identity, {4, 6}, {3, 8}, IndexSpace{{4, 6}})};
  StridedTensor x = StridedTensor::Make(DType::kF32, {4, 6}).Random(12),
                b = StridedTensor::Make(DType::kF32, {6}).Random(13);
  std::vector<double> sum, exps(24);
  for (int64_t i = 0; i < 24; ++i) sum.push_back(static_cast<float>(x.Number(i) + b.Number(i % 6)));
  for (int64_t i = 0; i < 24; ++i)
    exps[static_cast<size_t>(i % 6 * 4 + i / 6)] = std::exp(sum[static_cast<size_t>(i)]);
  for (const Target& t : Targets()) {
    TestValues values = {{InputNamed(g, "x"), x}, {InputNamed(g, "b"), b}};
    absl::Status ok = RunGroup(g, group, t, {}, &values);
    ASSERT_TRUE(ok.ok()) << ok;
    ExpectNear(values[g.outputs()[0]], sum, 0);
    ExpectNear(values[g.outputs()[1]], exps, 1e-6);
    ExpectNear(values[g.outputs()[2]], sum, 0);
    absl::StatusOr<std::vector<KernelPlan>> plans = BuildPlan(g, group, {}, t);
    ASSERT_TRUE(plans.ok());
    EXPECT_TRUE(CheckCoverage((*plans)[0], g).ok())
        << CheckCoverage((*plans)[0], g) << PlanToString((*plans)[0]);
    int loads = 0;
    for (const Inst& i : (*plans)[0].insts) loads += i.kind == Inst::Kind::kLoad;
    EXPECT_EQ(loads, 2) << "each input is read once for all three outputs";
  }
}

TEST(RunPlan, ArgmaxTiesAndNan) {
  Graph g = Parsed(
      "graph f(%x: f32[3,300]) -> (i64[3]) { %0 = argmax(%x) {axes=[1]} : i64[3] return %0 }");
  StridedTensor x = StridedTensor::Make(DType::kF32, {3, 300}).Fill([](int64_t i) {
    return static_cast<double>(i % 100);
  });
  x.Set(300 + 250, ScalarFromDouble(DType::kF32, NAN));
  x.Set(300 + 260, ScalarFromDouble(DType::kF32, NAN));
  for (int64_t i = 0; i < 300; ++i) x.Set(600 + i, ScalarFromDouble(DType::kF32, -INFINITY));
  for (const Target& t : Targets())
    ExpectNear(Ran(g, t, {{InputNamed(g, "x"), x}}), {99, 250, 0}, 0);
}

}  // namespace
}  // namespace jitfuse::internal
