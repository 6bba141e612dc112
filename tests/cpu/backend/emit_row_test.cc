// Row plans: reductions, kept and re-read rows, several inner axes, blocks and cascades; against
// the interpreter and against exact sums.
#include <cfloat>

#include "tests/cpu/backend/cpu_kit.h"

namespace jitfuse::internal {
namespace {

struct Case {
  KernelPlan plan;
  std::vector<int64_t> counts;
  std::vector<int64_t> symbols;
  double tolerance;
};

void RunAll(std::vector<Case>& cases, int unroll, bool special = false) {
  std::vector<Data> inputs, expected;
  for (size_t i = 0; i < cases.size(); ++i) {
    cases[i].plan.name = absl::StrCat("case", i);
    inputs.emplace_back(cases[i].plan, cases[i].counts, static_cast<uint32_t>(i), special);
    expected.push_back(inputs.back());
    ASSERT_EQ(InterpretPlan(cases[i].plan, expected.back().buffers, {}, cases[i].symbols),
              absl::OkStatus())
        << cases[i].plan.head;
  }
  for (const Target& target : CpuTargets()) {
    std::vector<KernelPlan> scheduled;
    for (const Case& c : cases) scheduled.push_back(Scheduled(c.plan, target, unroll));
    CpuModule module(target, scheduled);
    if (module.object == nullptr) continue;
    for (size_t i = 0; i < cases.size(); ++i) {
      Data actual = inputs[i];
      module.Run(i, actual.buffers, {}, cases[i].symbols, 2);
      ExpectSame(cases[i].plan, expected[i], actual, cases[i].counts, cases[i].tolerance,
                 absl::StrCat(target.arch, ": ", cases[i].plan.head));
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

double Tolerance(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return 2e-3;
    case DType::kBF16:
      return 1.6e-2;
    case DType::kF32:
      return 4e-6;
    case DType::kF64:
      return 1e-14;
    default:
      return 0;
  }
}

using Maker = KernelPlan (*)(DType, SizeExpr, SizeExpr, int, int, int, int);

// rows x columns with constant and with symbolic sizes, the row kept (items 1) and read again
// (items 0).
void AddCases(Maker make, const std::string& name, DType dtype,
              std::vector<int64_t> (*counts)(int64_t, int64_t), double tolerance,
              std::vector<Case>* cases) {
  for (int64_t columns : {1, 31, 64, 257, 2100}) {
    for (int items : {0, 1}) {
      for (bool symbolic : {false, true}) {
        SizeExpr r = 5, c = columns;
        std::vector<int64_t> symbols;
        if (symbolic) r = SizeExpr::Symbol(0), c = SizeExpr::Symbol(1), symbols = {5, columns};
        Case made{make(dtype, r, c, 32, 1, 1, items), counts(5, columns), symbols, tolerance};
        if (symbolic) made.plan.inner_bound = columns + 7;
        made.plan.head =
            absl::StrCat(name, " ", ToAbsl(DTypeName(dtype)), " 5x", columns,
                         items != 0 ? " kept" : " re-read", symbolic ? " symbolic" : "");
        cases->push_back(made);
      }
    }
  }
}

class EmitLlvmRow : public testing::TestWithParam<DType> {};

TEST_P(EmitLlvmRow, Softmax) {
  std::vector<Case> cases;
  AddCases(
      &Softmax, "softmax", GetParam(),
      [](int64_t r, int64_t c) { return std::vector<int64_t>{r * c, r * c}; },
      Tolerance(GetParam()), &cases);
  RunAll(cases, 2);
  RunAll(cases, 1, true);  // infinities and NaN
}

TEST_P(EmitLlvmRow, LayerNorm) {
  std::vector<Case> cases;
  AddCases(
      &LayerNorm, "layer norm", GetParam(),
      [](int64_t r, int64_t c) { return std::vector<int64_t>{r * c, r * c, r}; },
      4 * Tolerance(GetParam()), &cases);
  RunAll(cases, 2);
}

TEST_P(EmitLlvmRow, ArgMax) {
  std::vector<Case> cases;
  AddCases(
      &ArgMax, "argmax", GetParam(),
      [](int64_t r, int64_t c) { return std::vector<int64_t>{r * c, r}; }, 0, &cases);
  RunAll(cases, 1);
  RunAll(cases, 4, true);  // many ties and NaNs
}

TEST_P(EmitLlvmRow, SumColumns) {
  std::vector<Case> cases;
  for (int64_t columns : {1, 7, 100, 1000}) {
    Case made{SumColumns(GetParam(), 37, columns, 32, 1),
              {37 * columns, 37},
              {},
              static_cast<double>(columns) * Tolerance(GetParam())};
    made.plan.head = absl::StrCat("sum of ", columns, " rows");
    cases.push_back(made);
  }
  RunAll(cases, 2);
}

INSTANTIATE_TEST_SUITE_P(Types, EmitLlvmRow,
                         testing::Values(DType::kF16, DType::kBF16, DType::kF32, DType::kF64),
                         [](const auto& info) { return std::string(DTypeName(info.param)); });

// Sums, products, extrema and logic over two inner axes that do not collapse, in integer types:
// exact.
TEST(EmitLlvmRowTypes, TwoInnerAxes) {
  std::vector<Case> cases;
  for (DType dtype : {DType::kBool, DType::kI8, DType::kU8, DType::kI16, DType::kI32, DType::kU32,
                      DType::kI64, DType::kU64, DType::kF32}) {
    for (auto [h, w] :
         std::vector<std::pair<int64_t, int64_t>>{{3, 5}, {4, 64}, {70, 33}, {2, 1}}) {
      for (bool symbolic : {false, true}) {
        SizeExpr r = 3, hs = h, ws = w;
        std::vector<int64_t> symbols;
        if (symbolic)
          r = SizeExpr::Symbol(0), hs = SizeExpr::Symbol(1), ws = SizeExpr::Symbol(2),
          symbols = {3, h, w};
        PlanKit k("case", {r}, {hs, ws});
        int x = k.Input(dtype), y = k.Output(dtype), z = k.Output(dtype);
        // [rows, h, w + 2] read without its last two columns
        int v = k.Load(k.Strided(x, {hs * (ws + 2), ws + 2, 1}));
        bool flag = dtype == DType::kBool;
        int total = k.Reduce({v},
                             {flag                   ? 1.0
                              : dtype == DType::kF32 ? -INFINITY
                                                     : 0.0},
                             flag                   ? "{a0 & b0}"
                             : dtype == DType::kF32 ? "{maximum(a0, b0)}"
                                                    : "{a0 + b0}")[0];
        k.StoreRow(total, k.DenseRow(y));
        k.NextStage();
        k.Keep(v);
        k.Store(flag ? k.Op(ScalarOp::kXor, {v, total}) : k.Op(ScalarOp::kMinimum, {v, total}),
                k.Dense(z));
        Case made{k.plan, {3 * h * (w + 2), 3, 3 * h * w}, symbols, 0};
        made.plan.inner_bound = symbolic ? h * w : 0;
        made.plan.head = absl::StrCat(ToAbsl(DTypeName(dtype)), " over ", h, "x", w,
                                      symbolic ? " symbolic" : "");
        cases.push_back(made);
      }
    }
  }
  RunAll(cases, 2);
}

// The last stage of a large result streams and prefetches the next row; the bits must be those of a
// small one.
TEST(EmitLlvmRowStreaming, LargeResultsEqualSmallOnes) {
  const int64_t cols = 1000, rows = 14000, part = 500;  // 56 MB
  KernelPlan plan = Softmax(DType::kF32, SizeExpr::Symbol(0), cols, 32, 1, 1, 1);
  std::vector<float> in(static_cast<size_t>(rows * cols)), large(in.size()), small(in.size());
  FillRandom(DType::kF32, in.data(), part * cols, 5, false);
  for (int64_t r = part; r < rows; r += part)
    std::copy_n(in.begin(), part * cols, in.begin() + r * cols);
  for (const Target& target : CpuTargets()) {
    CpuModule module(target, {Scheduled(plan, target, 2)});
    EXPECT_NE(module.sources[0].text.find("nontemporal"), std::string::npos);
    EXPECT_NE(module.sources[0].text.find("llvm.prefetch"), std::string::npos);
    if (module.object == nullptr) continue;
    module.Run(0, {in.data(), large.data()}, {}, {rows});
    for (int64_t r = 0; r < rows; r += part)
      module.Run(0, {in.data() + r * cols, small.data() + r * cols}, {}, {part});
    ASSERT_EQ(std::memcmp(large.data(), small.data(), large.size() * 4), 0) << target.arch;
  }
}

// The error of an f32 sum must grow like log n: 2^24 equal terms, whose exact sum is known.
TEST(EmitLlvmRowAccuracy, LongSums) {
  for (const Target& target : CpuTargets()) {
    for (bool outer : {false, true}) {
      for (bool symbolic : {false, true}) {
        int64_t n = int64_t{1} << 22, w = outer ? 11 : n, h = outer ? n / 11 : 1;
        n = w * h;
        SizeExpr ws = w, hs = h;
        if (symbolic) hs = SizeExpr::Symbol(0), ws = SizeExpr::Symbol(1);
        PlanKit k("sum", {SizeExpr(1)}, outer ? Shape{hs, ws} : Shape{ws});
        int x = k.Input(DType::kF32), y = k.Output(DType::kF32);
        int v = k.Load(outer ? k.Strided(x, {0, ws, 1}) : k.Strided(x, {0, 1}));
        k.StoreRow(k.Reduce({v}, {0}, "{a0 + b0}")[0], k.DenseRow(y));
        KernelPlan plan = Scheduled(k.plan, target, 4);
        CpuModule module(target, {plan});
        if (module.object == nullptr) continue;
        std::vector<float> data(static_cast<size_t>(n), 0.1f);
        float sum = 0;
        module.Run(0, {data.data(), &sum}, {}, {h, w});
        double exact = static_cast<double>(0.1f) * static_cast<double>(n);
        EXPECT_LE(std::abs(sum - exact), 40 * FLT_EPSILON * exact)
            << target.arch << outer << symbolic;
      }
    }
  }
}

}  // namespace
}  // namespace jitfuse::internal
