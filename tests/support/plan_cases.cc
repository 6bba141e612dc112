#include "tests/support/plan_cases.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "codegen/plan/build_plan.h"
#include "codegen/plan/interpret_plan.h"
#include "codegen/plan/verify_plan.h"
#include "gtest/gtest.h"
#include "ir/expand.h"
#include "ir/support/status.h"
#include "ir/text.h"
#include "tests/support/cuda_on_host.h"
#include "tests/support/plan_kit.h"
#include "tests/test_util/run_plan.h"

namespace jitfuse::internal {
namespace {

const SizeExpr kN = SizeExpr::Symbol(0);
const SizeExpr kM = SizeExpr::Symbol(1);

// Names that can stand in one source.
std::vector<PlanCase> Numbered(std::vector<PlanCase> cases) {
  for (size_t k = 0; k < cases.size(); ++k)
    cases[k].plan.name = absl::StrCat(cases[k].plan.name, "_", k);
  return cases;
}

void Fill(DType dtype, int64_t elements, uint32_t seed, char* out) {
  std::mt19937 rng(seed);
  std::uniform_real_distribution<double> d(-3, 3);
  for (int64_t i = 0; i < elements; ++i) {
    double v = d(rng);
    if (!IsFloat(dtype))
      v = dtype == DType::kBool ? v > 0
          : IsSigned(dtype)     ? std::floor(v * 30)
                                : std::floor(v * 30 + 90);
    StoreScalar(dtype, ScalarFromDouble(dtype, v), out + i * ItemSize(dtype));
  }
}

double Tolerance(DType dtype) {
  return dtype == DType::kBF16  ? 0x1p-7
         : dtype == DType::kF16 ? 0x1p-10
         : dtype == DType::kF32 ? 1e-5
         : dtype == DType::kF64 ? 1e-12
                                : 0;
}

void Compare(const KernelPlan& plan, size_t param, int64_t elements, const char* got,
             const char* want) {
  const DType dtype = plan.params[param].dtype;
  int shown = 0;
  for (int64_t i = 0; i < elements && shown < 5; ++i) {
    const ScalarValue g = LoadScalar(dtype, got + i * ItemSize(dtype)),
                      w = LoadScalar(dtype, want + i * ItemSize(dtype));
    if (g.bits() == w.bits()) continue;
    const double gv = ScalarToDouble(ComputeType(dtype), g),
                 wv = ScalarToDouble(ComputeType(dtype), w);
    if (std::isnan(gv) && std::isnan(wv)) continue;
    if (std::fabs(gv - wv) <= Tolerance(dtype) * std::fmax(1, std::fabs(wv))) continue;
    ADD_FAILURE() << plan.name << " p" << param << "[" << i << "]: got " << gv << ", expected "
                  << wv;
    ++shown;
  }
}

// y[a, b, c] = x[...] + bias[...] * s over [3, n, 8], operands laid out in every way.
KernelPlan Layouts(int layout, int bits, int vec) {
  PlanKit k(absl::StrCat("layout", layout), {3, kN, 8});
  k.plan.offset_bits = bits;
  const int x = k.Input(DType::kF32), b = k.Input(DType::kF32), y = k.Output(DType::kF32);
  AccessMap ax = k.Dense(x), ab = k.Dense(b);
  switch (layout) {
    case 0:
      ab = k.Strided(b, {0, 0, 1});
      break;  // along the last axis
    case 1:
      ab = k.Strided(b, {0, 1, 0});
      break;  // along the middle one
    case 2:
      ax = k.Strided(x, {1, 3, kN * 3});
      break;  // transposed
    case 3:
      ax = k.Strided(x, {kN * -8, -8, -1}, kN * 24 - 1);
      break;  // reversed
    case 4:
      ax = k.Strided(x, {kN * 16, 16, 2});
      break;  // every other
    case 5:   // [n, 2, 4] seen through a reshape of the last axis, swapped
      ab = k.Strided(b, {0, 8, 0});
      ab.terms.push_back({{{{2, 1}}, 0}, 4, 0, 1});
      ab.terms.push_back({{{{2, 1}}, 0}, 1, 4, 2});
      break;
    case 6:  // linear index over all, halved and wrapped
      ab.linear = {};
      ab.terms.push_back({{{{0, kN * 8}, {1, 8}, {2, 1}}, 0}, 8, kN, 8});
      ab.terms.push_back({{{{0, kN * 8}, {1, 8}, {2, 1}}, 0}, 1, 8, 1});
      break;
    default:
      ax = k.Strided(x, {kN * 8, 8, 1}, 4);
      break;  // an offset that keeps 16-byte alignment
  }
  const int s = k.Scalar(DType::kF16);
  k.Store(k.Op(ScalarOp::kAdd, {k.Load(ax), k.Op(ScalarOp::kMul, {k.Load(ab), s})}), k.Dense(y));
  return k.Flat(32, vec);
}

}  // namespace

std::vector<PlanCase> FlatCases() {
  std::vector<PlanCase> cases;
  for (DType dtype : {DType::kF32, DType::kF16, DType::kBF16, DType::kF64}) {
    const int vec = 16 / ItemSize(dtype);
    for (int items : {1, 2}) {
      for (int64_t n : {0, 1, 7, 64, 1000, 1031}) {
        cases.push_back({AddMulRelu(dtype, {kN}, 32, vec, items), {n, n, n, n}, {n}});
        cases.push_back({AddMulRelu(dtype, {SizeExpr(n)}, 64, vec, items), {n, n, n, n}, {}});
      }
      cases.push_back({AddMulRelu(dtype, {kN, 24}, 32, vec, items, ItemSize(dtype)),
                       {240, 240, 240, 240},
                       {10}});
      cases.push_back({AddMulRelu(dtype, {5, 7}, 32, 1, items), {35, 35, 35, 35}, {}});
    }
  }
  return Numbered(std::move(cases));
}

std::vector<PlanCase> LayoutCases() {
  std::vector<PlanCase> cases;
  for (int layout = 0; layout < 8; ++layout) {
    for (int bits : {32, 64}) {
      for (int vec : {1, 4}) {
        cases.push_back(
            {Layouts(layout, bits, vec), {3 * 5 * 8 * 2, 3 * 5 * 8, 3 * 5 * 8}, {5}, {0.5}});
      }
    }
  }
  return Numbered(std::move(cases));
}

namespace {

// Rows that begin anywhere in memory, shorter than a vector too. `items` 0: read again.
void AddWindowCases(std::vector<PlanCase>* cases) {
  struct Shape {
    int64_t rows, columns;
    int threads, per_block, vec;
    bool kept;
  };
  for (Shape s : {Shape{5, 1023, 64, 2, 8, true},
                  {3, 4097, 256, 1, 8, true},
                  {7, 13, 32, 4, 8, true},
                  {9, 5, 32, 4, 8, true},
                  {4, 3, 8, 4, 8, true},
                  {11, 1, 32, 1, 8, true},
                  {1, 1001, 64, 1, 8, true},
                  {3, 4096, 128, 1, 8, true},
                  {5, 1027, 64, 1, 8, false},
                  {3, 777, 32, 2, 8, false},
                  {2, 20001, 32, 1, 8, false},
                  {6, 7, 32, 4, 8, false},
                  {5, 1, 32, 1, 8, false}}) {
    for (bool symbolic : {false, true}) {
      for (DType dtype : {DType::kF32, DType::kBF16, DType::kF64}) {
        if (symbolic && dtype == DType::kF64) continue;
        const SizeExpr rows = symbolic ? kN : SizeExpr(s.rows),
                       columns = symbolic ? kM : SizeExpr(s.columns);
        const int vec = std::min(s.vec, 16 / ItemSize(dtype));
        const int64_t pass = int64_t{s.threads} * vec, n = s.rows * s.columns;
        const int items = s.kept ? static_cast<int>((s.columns + vec - 1 + pass - 1) / pass) : 0;
        auto add = [&](KernelPlan plan, std::vector<int64_t> elements) {
          if (symbolic && s.kept) plan.inner_bound = s.columns;
          std::get<CudaSchedule>(plan.schedule).window = true;
          cases->push_back({std::move(plan), std::move(elements), {s.rows, s.columns}});
        };
        add(Softmax(dtype, rows, columns, s.threads, s.per_block, vec, items), {n, n});
        add(LayerNorm(dtype, rows, columns, s.threads, s.per_block, vec, items), {n, n, s.rows});
        add(ArgMax(dtype, rows, columns, s.threads, s.per_block, vec, items), {n, s.rows});
      }
    }
  }
}

}  // namespace

std::vector<PlanCase> RowCases() {
  std::vector<PlanCase> cases;
  struct Shape {
    int64_t rows, columns;
    int threads, per_block, vec, items;
  };
  for (Shape s : {Shape{3, 256, 32, 4, 8, 1},
                  {5, 100, 32, 2, 4, 1},
                  {3, 1000, 64, 2, 8, 2},
                  {2, 1023, 64, 1, 1, 16},
                  {4, 1023, 32, 4, 4, 8},
                  {3, 2048, 128, 1, 8, 2},
                  {2, 5000, 512, 1, 4, 3},
                  {2, 4096, 1024, 1, 4, 1},
                  {7, 13, 8, 4, 1, 2},
                  {3, 1, 32, 1, 1, 1},
                  {2, 5000, 64, 1, 4, 0},
                  {3, 777, 32, 2, 1, 0},
                  {2, 3000, 32, 1, 8, 0},
                  {1, 20000, 128, 1, 4, 0},
                  {3, 40, 1, 32, 1, 0},
                  {2, 9, 4, 2, 2, 0}}) {
    for (bool symbolic : {false, true}) {
      const SizeExpr rows = symbolic ? kN : SizeExpr(s.rows),
                     columns = symbolic ? kM : SizeExpr(s.columns);
      for (DType dtype : {DType::kF32, DType::kBF16, DType::kF64}) {
        if (symbolic && dtype != DType::kF32) continue;
        const int vec = std::min(s.vec, 16 / ItemSize(dtype));
        const int items = s.items * (s.vec / vec);
        const int64_t n = s.rows * s.columns;
        auto add = [&](KernelPlan plan, std::vector<int64_t> elements) {
          if (symbolic) plan.inner_bound = s.columns;
          cases.push_back({std::move(plan), std::move(elements), {s.rows, s.columns}});
        };
        add(Softmax(dtype, rows, columns, s.threads, s.per_block, vec, items), {n, n});
        add(LayerNorm(dtype, rows, columns, s.threads, s.per_block, vec, items), {n, n, s.rows});
        add(ArgMax(dtype, rows, columns, s.threads, s.per_block, vec, items), {n, s.rows});
      }
    }
  }
  AddWindowCases(&cases);
  for (DType dtype : {DType::kF32, DType::kF16}) {
    cases.push_back({SumColumns(dtype, kN, kM, 1, 64), {70 * 33, 70}, {70, 33}});
    cases.push_back({SumColumns(dtype, 70, kM, 32, 4), {70 * 330, 70}, {70, 330}});
    cases.push_back({SumColumns(dtype, 3, 0, 32, 4), {0, 3}, {}});
    cases.push_back({SumColumns(dtype, kN, kM, 8, 32), {70 * 330, 70}, {70, 330}});
    cases.push_back({SumColumns(dtype, 64, 100, 256, 1), {64 * 100, 64}, {}});
    cases.push_back({SumColumns(dtype, 72, kM, 8, 16, 4), {72 * 230, 72}, {0, 230}});
    cases.push_back({SumColumns(dtype, 6, kM, 16, 16, 2), {6 * 7, 6}, {0, 7}});
    cases.push_back({SumColumns(dtype, kN * 8, 5, 1, 32, 8), {136 * 5, 136}, {17}});
    cases.push_back({SumColumns(dtype, 64, 0, 8, 16, 4), {0, 64}, {}});
    for (int64_t m : {64, 70}) {
      for (int64_t n : {0, 3, 131}) {
        cases.push_back({TransposeAdd(dtype, kN, kM, 64), {m * n, m * n, m * n}, {m, n}});
        cases.push_back({TransposeAdd(dtype, m, n, 32), {m * n, m * n, m * n}, {}});
      }
    }
  }
  return Numbered(std::move(cases));
}

// Every pair of dtypes through Convert, and through a store.
std::vector<PlanCase> ConversionCases() {
  std::vector<PlanCase> cases;
  for (int from = 0; from < kNumDTypes; ++from) {
    for (int to = 0; to < kNumDTypes; ++to) {
      const auto f = static_cast<DType>(from), t = static_cast<DType>(to);
      PlanKit k(absl::StrCat("convert_", ToAbsl(DTypeName(f)), "_", ToAbsl(DTypeName(t))), {kN});
      const int x = k.Input(f), y = k.Output(t), z = k.Output(t);
      const int v = k.Load(k.Dense(x));
      k.Store(k.Convert(v, t), k.Dense(y));
      k.Store(v, k.Dense(z));
      const int vec = 16 / std::max(ItemSize(f), ItemSize(t));
      cases.push_back({k.Flat(32, vec), {131, 131, 131}, {131}});
    }
  }
  return Numbered(std::move(cases));
}

// Each scalar primitive on each type of its domain.
std::vector<PlanCase> PrimitiveCases() {
  std::vector<PlanCase> cases;
  for (int n = 0; n < static_cast<int>(ScalarOp::kCount); ++n) {
    const auto op = static_cast<ScalarOp>(n);
    if (op == ScalarOp::kArg || op == ScalarOp::kConst) continue;
    const ScalarOpDef& def = GetScalarOp(op);
    if (def.rule == ScalarTypeRule::kConvert || def.rule == ScalarTypeRule::kBitcast) continue;
    const std::string name(def.name);
    if (name.find("_raw") != std::string::npos) continue;  // not defined for every input
    for (int d = 0; d < kNumDTypes; ++d) {
      const auto dtype = static_cast<DType>(d);
      if (ComputeType(dtype) != dtype || !IsIn(dtype, def.domain)) continue;
      PlanKit k(absl::StrCat(name, "_", ToAbsl(DTypeName(dtype))), {200});
      std::vector<int> in;
      std::vector<int64_t> elements;
      for (int a = 0; a < def.arity; ++a) {
        const bool condition = def.rule == ScalarTypeRule::kSelect && a == 0;
        in.push_back(k.Load(k.Dense(k.Input(condition ? DType::kBool : dtype))));
        elements.push_back(200);
      }
      const int v = k.Op(op, in);
      k.Store(v, k.Dense(k.Output(k.plan.insts[static_cast<size_t>(v)].dtype)));
      elements.push_back(200);
      cases.push_back({k.Flat(32, 8 / ItemSize(dtype)), elements, {}});
    }
  }
  return Numbered(std::move(cases));
}

namespace {

struct GraphCase {
  const char* text;
  std::vector<int64_t> symbols;
};

const GraphCase kGraphs[] = {
    {"graph chain(%a: f32[n,768], %b: f32[n,768], %c: f32[n,768]) -> (f32[n,768]) {"
     " %0 = multiply(%a, %b) : f32[n,768] %1 = add(%0, %c) : f32[n,768] %2 = relu(%1) : f32[n,768] "
     "return %2 }",
     {5}},
    {"graph bias_gelu(%x: bf16[n,256], %b: bf16[256]) -> (bf16[n,256]) {"
     " %0 = add(%x, %b) : bf16[n,256] %1 = gelu(%0) : bf16[n,256] return %1 }",
     {7}},
    {"graph odd_bias(%x: f16[6,77], %b: f16[77], %s: scalar f32) -> (f16[6,77], f32[6,77]) {"
     " %0 = add(%x, %b) : f16[6,77] %1 = cast(%0) {dtype=f32} : f32[6,77] %2 = multiply(%1, %s) : "
     "f32[6,77] return %0, %2 }",
     {}},
    {"graph transposed(%x: f32[n,6], %b: f32[6]) -> (f32[6,n]) {"
     " %0 = add(%x, %b) : f32[n,6] %1 = transpose(%0) : f32[6,n] %2 = exp(%1) : f32[6,n] return %2 "
     "}",
     {37}},
    {"graph head_split(%x: bf16[2,n,96]) -> (bf16[2,4,n,24]) {"
     " %0 = reshape(%x) {shape=[2,n,4,24]} : bf16[2,n,4,24] %1 = transpose(%0) {perm=[0,2,1,3]} : "
     "bf16[2,4,n,24]"
     " %2 = multiply(%1, 0.5) : bf16[2,4,n,24] return %2 }",
     {9}},
    {"graph softmax_rows(%x: bf16[n,1024]) -> (bf16[n,1024]) { %0 = softmax(%x) : bf16[n,1024] "
     "return %0 }",
     {3}},
    {"graph softmax_odd(%x: f32[n,333]) -> (f32[n,333]) { %0 = softmax(%x) : f32[n,333] return %0 "
     "}",
     {5}},
    {"graph softmax_long(%x: f32[2,40000]) -> (f32[2,40000]) { %0 = softmax(%x) : f32[2,40000] "
     "return %0 }",
     {}},
    {"graph softmax_any(%x: f32[n,m]) -> (f32[n,m]) { %0 = softmax(%x) : f32[n,m] return %0 }",
     {3, 501}},
    {"graph norm_odd(%x: bf16[n,m], %r: bf16[n,m], %w: bf16[m], %b: bf16[m]) -> (bf16[n,m], "
     "bf16[n,m]) { %0 = add(%x, %r) : bf16[n,m] %1 = layer_norm(%0, %w, %b) : bf16[n,m] return %0, "
     "%1 }",
     {6, 1001}},
    {"graph norm_wide(%x: f16[5,1001], %w: f32[1001]) -> (f32[5,1001]) { %0 = cast(%x) {dtype=f32} "
     ": f32[5,1001] %1 = rms_norm(%0, %w) : f32[5,1001] return %1 }",
     {}},
    {"graph max_within(%x: f32[n,335]) -> (f32[n]) { %0 = slice(%x) {starts=[0,3]} : f32[n,332] %1 "
     "= max(%0) {axes=[1]} : f32[n] return %1 }",
     {6}},
    {"graph bias_any(%x: bf16[n,m], %b: bf16[m]) -> (bf16[n,m]) { %0 = add(%x, %b) : bf16[n,m] %1 "
     "= gelu(%0) : bf16[n,m] return %1 }",
     {7, 77}},
    {"graph bias_short(%x: bf16[n,m], %b: bf16[m]) -> (bf16[n,m]) { %0 = add(%x, %b) : bf16[n,m] "
     "return %0 }",
     {37, 3}},
    {"graph softmax_middle(%x: f64[2,n,3]) -> (f64[2,n,3]) { %0 = softmax(%x) {axis=1} : "
     "f64[2,n,3] return %0 }",
     {41}},
    {"graph log_softmax_f16(%x: f16[n,128]) -> (f16[n,128]) { %0 = log_softmax(%x) : f16[n,128] "
     "return %0 }",
     {9}},
    {"graph norm(%x: f32[m,320], %r: f32[m,320], %w: f32[320], %b: f32[320]) -> (f32[m,320], "
     "f32[m,320]) {"
     " %0 = add(%x, %r) : f32[m,320] %1 = layer_norm(%0, %w, %b) : f32[m,320] %2 = tanh(%1) : "
     "f32[m,320] return %0, %2 }",
     {6}},
    {"graph norm_bf16(%x: bf16[m,4096], %w: bf16[4096], %b: bf16[4096]) -> (bf16[m,4096]) {"
     " %0 = layer_norm(%x, %w, %b) : bf16[m,4096] return %0 }",
     {3}},
    {"graph rms(%x: f16[m,768], %w: f16[768]) -> (f16[m,768]) { %0 = rms_norm(%x, %w) : f16[m,768] "
     "return %0 }",
     {5}},
    {"graph causal(%x: f32[3,2,8]) -> (f32[2,3,8]) {"
     " %0 = transpose(%x) {perm=[1,0,2]} : f32[2,3,8] %1 = iota() {shape=[3,8], axis=0} : i64[3,8]"
     " %2 = iota() {shape=[3,8], axis=1} : i64[3,8] %3 = less_equal(%2, %1) : bool[3,8] %4 = "
     "where(%3, %0, -inf) : f32[2,3,8]"
     " %5 = softmax(%4) : f32[2,3,8] return %5 }",
     {}},
    {"graph argmax_rows(%x: f32[n,300]) -> (i64[n]) { %0 = argmax(%x) {axes=[1]} : i64[n] return "
     "%0 }",
     {4}},
    {"graph argmin_all(%x: i32[4,5,60]) -> (i64[]) { %0 = argmin(%x) : i64[] return %0 }", {}},
    {"graph column_mean(%x: f32[512,64]) -> (f32[64]) { %0 = mean(%x) {axes=[0]} : f32[64] return "
     "%0 }",
     {}},
    {"graph softmax_columns(%x: bf16[n,88]) -> (bf16[n,88]) { %0 = softmax(%x) {axis=0} : "
     "bf16[n,88] return %0 }",
     {37}},
    {"graph softmax_columns_f32(%x: f32[2,37,40], %b: f32[40]) -> (f32[2,37,40]) { %0 = add(%x, "
     "%b) : f32[2,37,40] %1 = softmax(%0) {axis=1} : f32[2,37,40] return %1 }",
     {}},
    {"graph column_argmax(%x: f32[n,36]) -> (i64[36], f32[36]) { %0 = argmax(%x) {axes=[0]} : "
     "i64[36] %1 = max(%x) {axes=[0]} : f32[36] return %0, %1 }",
     {300}},
    {"graph column_var(%x: f64[3,n,10]) -> (f64[3,10], f64[3,10]) { %0 = var(%x) {axes=[1]} : "
     "f64[3,10] %1 = mean(%x) {axes=[1]} : f64[3,10] %2 = exp(%1) : f64[3,10] return %0, %2 }",
     {2100}},
    {"graph column_any(%x: f32[n,24]) -> (bool[24]) { %p = greater(%x, 2.9) : bool[n,24] %0 = "
     "any(%p) {axes=[0]} : bool[24] return %0 }",
     {70}},
    {"graph column_norm(%x: f16[n,9,12], %w: f16[12]) -> (f16[n,9,12]) { %0 = mean(%x) {axes=[1], "
     "keepdims=true} : f16[n,1,12] %1 = subtract(%x, %0) : f16[n,9,12] %2 = multiply(%1, %w) : "
     "f16[n,9,12] return %2 }",
     {5}},
    {"graph column_joined(%x: i32[n,16], %y: i32[5,16]) -> (i64[16]) { %0 = concatenate(%x, %y) : "
     "i32[n+5,16] %1 = sum(%0) {axes=[0]} : i64[16] return %1 }",
     {37}},
    {"graph column_padded(%x: f32[n,9]) -> (f32[20]) { %0 = pad(%x) {low=[1,4], high=[1,7]} : "
     "f32[n+2,20] %1 = sum(%0) {axes=[0]} : f32[20] return %1 }",
     {37}},
    {"graph column_picked(%x: f32[13,24], %i: i64[n]) -> (f32[24]) { %0 = remainder(%i, 13) : "
     "i64[n] %1 = take(%x, %0) : f32[n,24] %2 = sum(%1) {axes=[0]} : f32[24] return %2 }",
     {29}},
    {"graph column_of_any(%x: u8[n,m]) -> (u64[m], u8[m]) { %0 = sum(%x) {axes=[0]} : u64[m] %1 = "
     "max(%x) {axes=[0]} : u8[m] return %0, %1 }",
     {70, 33}},
    {"graph column_flipped(%x: f32[n,24]) -> (f32[24]) { %0 = flip(%x) {axes=[0]} : f32[n,24] %1 = "
     "square(%0) : f32[n,24] %2 = sum(%1) {axes=[0]} : f32[24] return %2 }",
     {70}},
    {"graph chunks_of_all(%x: f32[99999], %y: f32[99999]) -> (f32[], f32[]) { %0 = multiply(%x, "
     "%y) : f32[99999] %1 = sum(%0) : f32[] %2 = max(%x) : f32[] %3 = exp(%2) : f32[] return %1, "
     "%3 }",
     {}},
    {"graph chunks_of_rows(%x: bf16[3,65536], %b: bf16[3]) -> (bf16[3]) { %0 = logsumexp(%x) "
     "{axes=[1]} : bf16[3] %1 = add(%0, %b) : bf16[3] return %1 }",
     {}},
    {"graph chunk_argmin(%x: i32[2,n]) -> (i64[2]) { %0 = argmin(%x) {axes=[1]} : i64[2] return %0 "
     "}",
     {70001}},
    {"graph chunk_var(%x: f64[n]) -> (f64[], f64[]) { %0 = var(%x) : f64[] %1 = mean(%x) : f64[] "
     "return %0, %1 }",
     {66000}},
    {"graph chunk_columns(%x: f32[n,40]) -> (f32[40]) { %0 = mean(%x) {axes=[0]} : f32[40] return "
     "%0 }",
     {5003}},
    {"graph chunk_outer(%x: f16[3001,2,24]) -> (f32[2]) { %0 = cast(%x) {dtype=f32} : "
     "f32[3001,2,24] %1 = sum(%0) {axes=[0,2]} : f32[2] return %1 }",
     {}},
    {"graph chunk_bools(%x: bool[2,50000]) -> (bool[2], i64[2]) { %0 = all(%x) {axes=[1]} : "
     "bool[2] %1 = count_nonzero(%x) {axes=[1]} : i64[2] return %0, %1 }",
     {}},
    {"graph chunk_joined(%x: f32[40000], %y: f32[n]) -> (f32[]) { %0 = concatenate(%x, %y) : "
     "f32[n+40000] %1 = sum(%0) : f32[] return %1 }",
     {33333}},
    {"graph tiles(%x: f32[70,130], %y: f32[130,70], %b: f32[70]) -> (f32[130,70]) { %0 = "
     "transpose(%x) : f32[130,70] %1 = multiply(%0, %y) : f32[130,70] %2 = add(%1, %b) : "
     "f32[130,70] return %2 }",
     {}},
    {"graph tiles_of_any(%x: u8[n,m], %y: i16[n,m]) -> (i16[m,n]) { %0 = cast(%x) {dtype=i16} : "
     "i16[n,m] %1 = add(%0, %y) : i16[n,m] %2 = transpose(%1) : i16[m,n] return %2 }",
     {65, 33}},
    {"graph tiles_batched(%x: f64[3,n,2,32]) -> (f64[3,32,2,n]) { %0 = transpose(%x) "
     "{perm=[0,3,2,1]} : f64[3,32,2,n] %1 = abs(%0) : f64[3,32,2,n] return %1 }",
     {77}},
    {"graph tiles_masked(%x: bf16[n,40]) -> (bf16[48,n], i64[48,n]) { %0 = pad(%x) {low=[0,3], "
     "high=[0,5], value=2} : bf16[n,48] %1 = transpose(%0) : bf16[48,n] %2 = iota() "
     "{shape=[48,n], axis=1} : i64[48,n] return %1, %2 }",
     {100}},
    {"graph tiles_flipped(%x: f32[n,64]) -> (f32[64,n]) { %0 = transpose(%x) : f32[64,n] %1 = "
     "flip(%0) {axes=[1]} : f32[64,n] return %1 }",
     {70}},
    {"graph sum_some(%x: i32[4,5,6]) -> (i64[5]) { %0 = sum(%x) {axes=[0,2]} : i64[5] return %0 }",
     {}},
    {"graph any_all(%x: f32[3,70]) -> (bool[3]) {"
     " %p = greater(%x, 2.5) : bool[3,70] %0 = any(%p) {axes=[1]} : bool[3] return %0 }",
     {}},
    {"graph total(%x: f32[70000]) -> (f32[]) { %0 = sum(%x) : f32[] return %0 }", {}},
    {"graph bias_grad(%g: bf16[n,72], %x: bf16[n,72], %b: bf16[72]) -> (bf16[n,72], bf16[72]) { %0 "
     "= add(%x, %b) : bf16[n,72] %1 = tanh(%0) : bf16[n,72] %2 = multiply(%g, %1) : bf16[n,72] %3 "
     "= "
     "sum(%2) {axes=[0]} : bf16[72] return %2, %3 }",
     {4133}},
    {"graph bias_grad_odd(%g: f32[4200,67], %x: f32[4200,67]) -> (f32[4200,67], f32[67], f32[67]) "
     "{ %p = greater(%x, 0.5) : bool[4200,67] %1 = where(%p, %g, 0) : f32[4200,67] %2 = sum(%1) "
     "{axes=[0]} : f32[67] %3 = multiply(%1, %x) : f32[4200,67] %4 = sum(%3) {axes=[0]} : f32[67] "
     "return %1, %2, %4 }",
     {}},
    {"graph total_and_each(%x: f16[70003]) -> (f16[70003], f32[]) { %0 = square(%x) : f16[70003] "
     "%1 = cast(%0) {dtype=f32} : f32[70003] %2 = sum(%1) : f32[] return %0, %2 }",
     {}},
    {"graph norm_grad(%g: bf16[n,4104], %x: bf16[n,4104]) -> (bf16[n,4104], bf16[4104]) { %0 = "
     "square(%x) : bf16[n,4104] %1 = sum(%0) {axes=[1], keepdims=true} : bf16[n,1] %2 = "
     "divide(%0, %1) : bf16[n,4104] %3 = add(%g, %2) : bf16[n,4104] %4 = sum(%2) {axes=[0]} : "
     "bf16[4104] %5 = negative(%4) : bf16[4104] return %3, %5 }",
     {9}},
    {"graph norm_grad_warps(%x: f32[100,96]) -> (f32[100,96], f32[96]) { %0 = square(%x) : "
     "f32[100,96] %1 = sum(%0) {axes=[1], keepdims=true} : f32[100,1] %2 = divide(%0, %1) : "
     "f32[100,96] %3 = sum(%2) {axes=[0]} : f32[96] return %2, %3 }",
     {}},
    {"graph norm_grad_odd(%g: f32[3,n,101], %x: f32[3,n,101]) -> (f32[3,n,101], f32[101]) { %0 = "
     "square(%x) : f32[3,n,101] %1 = sum(%0) {axes=[2], keepdims=true} : f32[3,n,1] %2 = max(%g) "
     "{axes=[2], keepdims=true} : f32[3,n,1] %3 = divide(%0, %1) : f32[3,n,101] %4 = add(%3, %2) : "
     "f32[3,n,101] %5 = max(%4) {axes=[2], keepdims=true} : f32[3,n,1] %6 = divide(%4, %5) : "
     "f32[3,n,101] %7 = sum(%6) {axes=[0,1]} : f32[101] return %6, %7 }",
     {17}},
    {"graph squares(%x: bf16[n,2048]) -> (bf16[n]) {"
     " %0 = square(%x) : bf16[n,2048] %1 = sum(%0) {axes=[1]} : bf16[n] return %1 }",
     {3}},
    {"graph joined(%x: f32[n,64], %y: f32[n,32]) -> (f32[n,96]) { %0 = exp(%x) : f32[n,64] %1 = "
     "concatenate(%0, %y) {axis=1} : f32[n,96] %2 = relu(%1) : f32[n,96] return %2 }",
     {7}},
    {"graph joined_odd(%x: bf16[n,13], %y: bf16[n,8]) -> (bf16[n,21]) { %0 = concatenate(%x, %y) "
     "{axis=1} : bf16[n,21] %1 = negative(%0) : bf16[n,21] return %1 }",
     {7}},
    {"graph joined_rows(%x: f16[n,8], %y: f16[3,8]) -> (f16[n+3,8]) { %0 = concatenate(%x, %y) : "
     "f16[n+3,8] return %0 }",
     {5}},
    {"graph joined_softmax(%x: f32[n,64], %y: f32[n,9]) -> (f32[n,73]) { %0 = concatenate(%x, %y) "
     "{axis=1} : f32[n,73] %1 = softmax(%0) : f32[n,73] return %1 }",
     {5}},
    {"graph padded(%x: f32[6,n]) -> (f32[8,n+8]) { %0 = pad(%x) {low=[1,4], high=[1,4], value=2} : "
     "f32[8,n+8] return %0 }",
     {9}},
    {"graph padded_u8(%x: u8[6,16]) -> (u8[7,48]) { %0 = pad(%x) {low=[1,16], high=[0,16]} : "
     "u8[7,48] return %0 }",
     {}},
    {"graph flipped(%x: f32[12,n], %y: f32[12,n]) -> (f32[12,n]) { %0 = flip(%x) : f32[12,n] %1 = "
     "add(%0, %y) : f32[12,n] return %1 }",
     {40}},
    {"graph rolled(%x: i16[n,10]) -> (i16[n,10]) { %0 = roll(%x) {shifts=[3,-2], axes=[1,0]} : "
     "i16[n,10] return %0 }",
     {7}},
    {"graph stepped(%x: f64[9,40]) -> (f64[5,20]) { %0 = slice(%x) {starts=[8,1], "
     "stops=[9223372036854775807,9223372036854775807], steps=[-2,2]} : f64[5,20] return %0 }",
     {}},
    {"graph picked(%x: f32[13,64], %i: i32[n]) -> (f32[n,64]) { %0 = remainder(%i, 13) : i32[n] %1 "
     "= "
     "subtract(%0, 6) : i32[n] %2 = take(%x, %1) : f32[n,64] %3 = exp(%2) : f32[n,64] return %3 }",
     {11}},
    {"graph picked_last(%x: bf16[n,13], %i: i64[24]) -> (bf16[n,24]) { %0 = remainder(%i, 13) : "
     "i64[24] %1 = take(%x, %0) {axis=1} : bf16[n,24] return %1 }",
     {11}},
    {"graph picked_along(%x: f32[n,13], %i: u8[n,16]) -> (f32[n]) { %0 = remainder(%i, 13) : "
     "u8[n,16] "
     "%1 = take_along_axis(%x, %0) {axis=1} : f32[n,16] %2 = sum(%1) {axes=[1]} : f32[n] return %2 "
     "}",
     {11}},
    {"graph picked_norm(%t: f16[13,256], %i: i32[n]) -> (f16[n,256]) { %0 = remainder(%i, 13) : "
     "i32[n] "
     "%1 = embedding(%0, %t) : f16[n,256] %2 = rms_norm(%1) : f16[n,256] return %2 }",
     {5}},
    {"graph pooled(%x: f32[n,2,9,8]) -> (f32[n,2,5,4]) { %0 = max_pool(%x) {kernel=[3,3], "
     "stride=[2,2], padding=[1,1]} : f32[n,2,5,4] return %0 }",
     {3}},
    {"graph pooled_mean(%x: bf16[n,9,8,2]) -> (bf16[n,5,4,2]) { %0 = avg_pool(%x) {kernel=[3,3], "
     "stride=[2,2], padding=[1,1], count_include_pad=false, channels_last=true} : bf16[n,5,4,2] "
     "return %0 }",
     {3}},
    {"graph running_sum(%x: bf16[n,1000]) -> (bf16[n,1000]) { %0 = relu(%x) : bf16[n,1000] %1 = "
     "cumsum(%0) {axis=1} : bf16[n,1000] %2 = exp(%1) : bf16[n,1000] return %2 }",
     {5}},
    {"graph running_max(%x: f32[n,200]) -> (f32[n,200], f32[200]) { %0 = cummax(%x) {axis=0} : "
     "f32[n,200] %1 = max(%0) {axes=[0]} : f32[200] return %0, %1 }",
     {37}},
    {"graph running_columns(%x: i32[20,5000]) -> (i64[20,5000]) { %0 = cumsum(%x) {axis=0, "
     "exclusive=true} : i64[20,5000] return %0 }",
     {}},
    {"graph running_short(%x: f64[n,17]) -> (f64[n,17]) { %0 = cumprod(%x) {axis=1} : f64[n,17] "
     "return %0 }",
     {300}},
    {"graph running_logsumexp(%x: f32[3,n]) -> (f32[3,n]) { %0 = logcumsumexp(%x) {axis=1, "
     "exclusive=true} : f32[3,n] return %0 }",
     {700}},
    {"graph running_share(%x: f32[n,300]) -> (f32[n,300]) { %0 = cumsum(%x) {axis=1} : f32[n,300] "
     "%1 = max(%0) {axes=[1], keepdims=true} : f32[n,1] %2 = subtract(%0, %1) : f32[n,300] return "
     "%2 }",
     {4}},
    {"graph none(%a: f32[0,6], %s: scalar f32) -> (f32[0,6]) { %0 = multiply(%a, %s) : f32[0,6] "
     "return %0 }",
     {}},
    {"graph no_columns(%x: f32[3,0]) -> (f32[3]) { %0 = sum(%x) {axes=[1]} : f32[3] return %0 }",
     {}},
    {"graph zero_rank(%a: f64[], %s: scalar f64) -> (f64[]) { %0 = divide(%a, %s) : f64[] return "
     "%0 }",
     {}},
};

PlanCase CaseOf(const Graph& graph, const KernelPlan& plan, const std::vector<int64_t>& symbols) {
  PlanCase c{plan, {}, symbols};
  for (const Param& p : plan.params) {
    int64_t elements = 1;
    if (p.role == ParamRole::kScratch) {
      elements = p.scratch_bytes.Eval(symbols) / ItemSize(p.dtype);
    } else {
      for (int64_t d : EvalDims(graph.type(p.value).dims, symbols)) elements *= d;
    }
    c.elements.push_back(elements);
  }
  c.scalars.assign(plan.scalars.size(), 0.75);
  return c;
}

}  // namespace

std::vector<PlanCase> PlannedCases(const Target& target) {
  std::vector<PlanCase> cases;
  for (const GraphCase& g : kGraphs) {
    for (int64_t kept : {target.max_row_bytes_kept, int64_t{16}}) {
      Target t = target;
      t.max_row_bytes_kept = kept;
      const Graph graph = Parsed(g.text);
      PlanOptions options;
      options.offset_bits = kept == 16 ? 64 : 32;
      // Long rows are cut where a bound says that they are long.
      const bool is_long =
          std::any_of(g.symbols.begin(), g.symbols.end(), [](int64_t s) { return s >= 4096; });
      for (size_t k = 0; k < g.symbols.size() && is_long; ++k)
        options.symbol_bounds.push_back(
            static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(g.symbols[k]))));
      absl::StatusOr<std::vector<KernelPlan>> plans =
          BuildPlan(graph, WholeGroup(graph), {}, t, options);
      EXPECT_TRUE(plans.ok()) << g.text << "\n" << plans.status();
      if (!plans.ok()) continue;
      for (const KernelPlan& plan : *plans) {
        EXPECT_TRUE(VerifyPlan(plan).ok()) << g.text;
        cases.push_back(CaseOf(graph, plan, g.symbols));
        cases.back().plan.name = graph.name();
      }
    }
  }
  return Numbered(std::move(cases));
}

namespace {
bool Reads(const KernelPlan& plan, size_t param) {
  return std::any_of(plan.accesses.begin(), plan.accesses.end(),
                     [param](const AccessMap& a) { return a.param == static_cast<int>(param); });
}
}  // namespace

void CheckCase(const PlanCase& c, const PlanRunner& run) {
  std::vector<GuardedBuffer> ours, theirs;
  std::vector<void*> our_pointers, their_pointers;
  std::vector<size_t> sizes;
  for (size_t p = 0; p < c.plan.params.size(); ++p) {
    const Param& param = c.plan.params[p];
    sizes.push_back(static_cast<size_t>(c.elements[p] * ItemSize(param.dtype)));
    for (auto [buffers, pointers] :
         {std::pair(&ours, &our_pointers), std::pair(&theirs, &their_pointers)}) {
      GuardedBuffer& b = buffers->emplace_back(sizes.back(), static_cast<size_t>(param.align));
      std::fill(b.data(), b.data() + b.size(), '\x5a');
      if (Reads(c.plan, p))
        Fill(param.dtype, c.elements[p], static_cast<uint32_t>(p + 1), b.data());
      pointers->push_back(b.data());
    }
  }
  if (c.in_place) {  // the interpreter has two buffers: what it reads stays as it is
    our_pointers[1] = our_pointers[0];
    std::copy_n(theirs[0].data(), sizes[0], theirs[1].data());
  }
  std::vector<uint64_t> scalars;
  for (size_t k = 0; k < c.scalars.size(); ++k)
    scalars.push_back(ScalarFromDouble(ComputeType(c.plan.scalars[k]), c.scalars[k]).bits());
  absl::Status status = run(our_pointers, sizes, scalars);
  ASSERT_TRUE(status.ok()) << c.plan.name << ": " << status;
  status = InterpretPlan(c.plan, their_pointers, scalars, c.symbols);
  ASSERT_TRUE(status.ok()) << c.plan.name << ": " << status;
  for (size_t p = 0; p < c.plan.params.size(); ++p) {
    if (Reads(c.plan, p)) continue;
    Compare(c.plan, p, c.elements[p], static_cast<char*>(our_pointers[p]), theirs[p].data());
  }
}

}  // namespace jitfuse::internal
