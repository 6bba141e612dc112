#include "tests/support/plan_cases.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "codegen/plan/interpret_plan.h"
#include "gtest/gtest.h"
#include "ir/op_def.h"
#include "ir/support/status.h"
#include "ir/wide_scalar.h"
#include "tests/support/cuda_on_host.h"
#include "tests/support/plan_kit.h"

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

// How far two results of a case may be apart, of which one is `want`.
double Allowed(const PlanCase& c, DType dtype, double want) {
  if (!c.op) return Tolerance(dtype) * std::fmax(1, std::fabs(want));
  // Each is within the op's bound of the exact result, in the type that it is computed in, and is
  // then rounded once where that is not the output's: at most to the next of two neighbours.
  const DType compute = ComputeType(dtype);
  const OpDef& def = GetOp(*c.op);
  const double stated = compute == DType::kF64 ? def.max_ulp_f64 : def.max_ulp_f32;
  const auto ulp = [want](DType of) { return static_cast<double>(UlpOf(of, want)); };
  return 2 * stated * ulp(compute) + (compute == dtype ? 0 : ulp(dtype));
}

void Compare(const PlanCase& c, size_t param, const char* got, const char* want) {
  const KernelPlan& plan = c.plan;
  const int64_t elements = c.elements[param];
  const DType dtype = plan.params[param].dtype;
  int shown = 0;
  for (int64_t i = 0; i < elements && shown < 5; ++i) {
    const ScalarValue g = LoadScalar(dtype, got + i * ItemSize(dtype)),
                      w = LoadScalar(dtype, want + i * ItemSize(dtype));
    if (g.bits() == w.bits()) continue;
    const double gv = ScalarToDouble(ComputeType(dtype), g),
                 wv = ScalarToDouble(ComputeType(dtype), w);
    if (std::isnan(gv) && std::isnan(wv)) continue;
    if (std::fabs(gv - wv) <= Allowed(c, dtype, wv)) continue;
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

namespace {

// Rows of a bias that begin anywhere in a vector: shorter than one, not much longer, and so long
// that most vectors lie within one.
void AddBiasCases(std::vector<PlanCase>* cases) {
  constexpr int64_t kRows = 5;
  for (auto [dtype, bias] : {std::pair(DType::kF32, DType::kF32),
                             {DType::kF32, DType::kBF16},
                             {DType::kF16, DType::kF16},
                             {DType::kBF16, DType::kBF16},
                             {DType::kF64, DType::kF64}}) {
    const int vec = 16 / ItemSize(dtype);
    for (int64_t n : {1, 3, 7, 8, 13, 16, 17, 77, 500, 1001}) {
      for (int bits : {32, 64}) {
        KernelPlan known = AddBias(dtype, bias, kRows, n, 32, vec),
                   any = AddBias(dtype, bias, kN, kM, 32, vec, 2);
        known.offset_bits = any.offset_bits = bits;
        cases->push_back({std::move(known), {kRows * n, n, kRows * n}, {}});
        cases->push_back({std::move(any), {kRows * n, n, kRows * n}, {kRows, n}});
      }
    }
  }
}

}  // namespace

std::vector<PlanCase> FlatCases() {
  std::vector<PlanCase> cases;
  AddBiasCases(&cases);
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
        cases->back().op = Op::kSoftmax;
        add(LayerNorm(dtype, rows, columns, s.threads, s.per_block, vec, items), {n, n, s.rows});
        add(ArgMax(dtype, rows, columns, s.threads, s.per_block, vec, items), {n, s.rows});
        for (DType weight : {DType::kF32, DType::kBF16, DType::kF64}) {  // across the window
          if ((weight == DType::kF64) == (dtype == DType::kF64))
            add(WeighRows(dtype, weight, rows, columns, s.threads, s.per_block, vec, items),
                {n, s.columns, n});
        }
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
        cases.back().op = Op::kSoftmax;
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
    Compare(c, p, static_cast<char*>(our_pointers[p]), theirs[p].data());
  }
}

}  // namespace jitfuse::internal
