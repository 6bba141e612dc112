// Loads and stores of every kind along and across the vector axis, at sizes around the vector
// length, against the interpreter.
#include "tests/cpu/backend/cpu_kit.h"

namespace jitfuse::internal {
namespace {

struct Case {
  KernelPlan plan;
  std::vector<int64_t> counts;
  std::vector<int64_t> symbols;
};

void RunAll(std::vector<Case>& cases, int unroll, int64_t skew) {
  std::vector<Data> inputs, expected;
  for (size_t i = 0; i < cases.size(); ++i) {
    cases[i].plan.name = absl::StrCat("case", i);
    inputs.emplace_back(cases[i].plan, cases[i].counts, static_cast<uint32_t>(i), false, skew);
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
      for (int64_t pieces : {1, 3}) {
        Data actual = inputs[i];
        module.Run(i, actual.buffers, {}, cases[i].symbols, pieces);
        ExpectSame(cases[i].plan, expected[i], actual, cases[i].counts, 0,
                   absl::StrCat(target.arch, ": ", cases[i].plan.head, ", pieces ", pieces));
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

struct Strides {
  const char* name;
  int64_t row, col, first;
};

// The layouts of an R by C operand, in a buffer of count elements.
std::vector<Strides> Layouts(int64_t r, int64_t c) {
  return {{"dense", c, 1, 0},
          {"transposed", 1, r, 0},
          {"reversed columns", c, -1, c - 1},
          {"reversed rows", -c, 1, (r - 1) * c},
          {"row broadcast", 0, 1, 0},
          {"column broadcast", 1, 0, 0},
          {"scalar", 0, 0, 0},
          {"every second", 2 * c, 2, 0},
          {"padded", c + 3, 1, 0},
          {"reversed third", 3 * c, -3, 3 * (c - 1)}};
}

int64_t Last(const Strides& s, int64_t r, int64_t c) {
  return r == 0 || c == 0 ? 0
                          : s.first + std::max<int64_t>(0, s.row * (r - 1)) +
                                std::max<int64_t>(0, s.col * (c - 1)) + 1;
}

// y[r, c] = x + w with the given layouts; sizes, and strides too if asked for, as symbols.
Case Binary(DType dtype, int64_t r, int64_t c, const Strides& x, const Strides& w, const Strides& y,
            bool symbolic) {
  Case result;
  auto size = [&](int64_t v) -> SizeExpr {
    if (!symbolic) return v;
    result.symbols.push_back(v);
    return SizeExpr::Symbol(static_cast<SymbolId>(result.symbols.size()) - 1);
  };
  PlanKit k("case", {size(r), size(c)});
  auto access = [&](int param, const Strides& s) {
    result.counts.push_back(Last(s, r, c));
    // A layout class knows unit and zero strides; any other may be a symbol.
    auto stride = [&](int64_t v) { return v == 0 || v == 1 || v == -1 ? SizeExpr(v) : size(v); };
    return k.Strided(param, {stride(s.row), stride(s.col)}, s.first);
  };
  int xs = k.Input(dtype), ws = k.Input(dtype), ys = k.Output(dtype);
  int a = k.Load(access(xs, x)), b = k.Load(access(ws, w));
  int sum = dtype == DType::kBool ? k.Op(ScalarOp::kXor, {a, b}) : k.Op(ScalarOp::kAdd, {a, b});
  k.Store(sum, access(ys, y));
  result.plan = k.plan;
  result.plan.head = absl::StrCat(ToAbsl(DTypeName(dtype)), " ", r, "x", c, " ", x.name, " + ",
                                  w.name, " -> ", y.name, symbolic ? " symbolic" : "");
  return result;
}

class EmitLlvmAccess : public testing::TestWithParam<DType> {};

TEST_P(EmitLlvmAccess, Layouts) {
  for (bool symbolic : {false, true}) {
    std::vector<Case> cases;
    int turn = 0;
    for (auto [r, c] :
         std::vector<std::pair<int64_t, int64_t>>{{1, 1}, {3, 5}, {2, 33}, {3, 130}}) {
      std::vector<Strides> layouts = Layouts(r, c);
      for (size_t x = 0; x < layouts.size(); ++x) {
        const Strides& w = layouts[(x + static_cast<size_t>(++turn)) % layouts.size()];
        cases.push_back(Binary(GetParam(), r, c, layouts[x], w, layouts[0], symbolic));
      }
      for (size_t y : {1, 2, 3, 7, 8, 9})
        cases.push_back(Binary(GetParam(), r, c, layouts[0], layouts[4], layouts[y], symbolic));
    }
    RunAll(cases, symbolic ? 4 : 2, 1);
  }
}

TEST_P(EmitLlvmAccess, EmptyExtents) {
  std::vector<Case> cases;
  for (auto [r, c] : std::vector<std::pair<int64_t, int64_t>>{{0, 5}, {5, 0}, {0, 0}}) {
    for (bool symbolic : {false, true})
      cases.push_back(
          Binary(GetParam(), r, c, Layouts(r, c)[0], Layouts(r, c)[4], Layouts(r, c)[0], symbolic));
  }
  RunAll(cases, 2, 0);
}

// x read through a reshape that does not fit the domain: offsets with div and mod along both axes.
TEST_P(EmitLlvmAccess, DivAndMod) {
  for (int bits : {32, 64}) {
    std::vector<Case> cases;
    for (bool symbolic : {false, true}) {
      for (auto [r, c, d, m] : std::vector<std::tuple<int64_t, int64_t, int64_t, int64_t>>{
               {3, 7, 7, 3}, {4, 48, 16, 12}, {2, 65, 5, 26}, {1, 1, 1, 1}}) {
        Case made;
        auto size = [&](int64_t v) -> SizeExpr {
          if (!symbolic) return v;
          made.symbols.push_back(v);
          return SizeExpr::Symbol(static_cast<SymbolId>(made.symbols.size()) - 1);
        };
        SizeExpr cols = size(c), div = size(d), mod = size(m);
        PlanKit k("case", {size(r), cols});
        int xs = k.Input(GetParam()), ys = k.Output(GetParam());
        AccessMap access;  // the element at linear position r*c + col of the transpose of [m, d]
        access.param = xs;
        Affine linear;
        linear.coefs = {{0, cols}, {1, 1}};
        IndexTerm row, col;
        row.linear = linear;
        row.div = div;
        row.mod = mod;
        col.linear = linear;
        col.mod = div;
        col.coef = mod;
        access.terms = {row, col};
        k.Store(k.Load(access), k.Dense(ys));
        made.plan = k.plan;
        made.plan.offset_bits = bits;
        made.plan.head = absl::StrCat("div and mod ", r, "x", c, symbolic ? " symbolic" : "");
        made.counts = {d * m, r * c};
        cases.push_back(made);
      }
    }
    RunAll(cases, 2, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Types, EmitLlvmAccess,
                         testing::Values(DType::kBool, DType::kI8, DType::kBF16, DType::kF32,
                                         DType::kI64),
                         [](const auto& info) { return std::string(DTypeName(info.param)); });

// Large outputs are written past the caches, where aligned; the same kernel writes small ones the
// plain way. Both must write the same bits, and nothing else.
TEST(EmitLlvmAccessStreaming, LargeOutputsEqualSmallOnes) {
  for (DType dtype : {DType::kF32, DType::kBF16}) {
    const int64_t cols = 4099, rows = (int64_t{50} << 20) / (cols * ItemSize(dtype)) + 1,
                  count = rows * cols;
    PlanKit k("streamed", {SizeExpr::Symbol(0), SizeExpr::Symbol(1)});
    int x = k.Input(dtype), y = k.Output(dtype);
    int v = k.Load(k.Dense(x));
    k.Store(k.Op(ScalarOp::kAdd, {v, v}), k.Dense(y));
    std::vector<char> in(static_cast<size_t>(count * ItemSize(dtype)));
    FillRandom(dtype, in.data(), 1 << 16, 3, false);
    for (size_t done = 1 << 17; done < in.size(); done *= 2)
      std::memcpy(in.data() + done, in.data(), std::min(done, in.size() - done));
    for (const Target& target : CpuTargets()) {
      KernelPlan plan = Scheduled(k.plan, target, 2);
      CpuModule module(target, {plan});
      bool wide = plan.cpu().lanes * ItemSize(dtype) >= 16;
      EXPECT_EQ(module.sources[0].text.find("nontemporal") != std::string::npos, wide)
          << target.arch;
      if (module.object == nullptr) continue;
      for (int64_t skew : {0, 1}) {  // elements past a boundary of 64 bytes
        std::vector<char> large(in.size() + 256, '\x5a'), small(in.size() + 256, '\x5a');
        int64_t start =
            (64 - reinterpret_cast<intptr_t>(large.data()) % 64) + skew * ItemSize(dtype);
        module.Run(0, {in.data(), large.data() + start}, {}, {rows, cols});
        for (int64_t r = 0; r < rows; r += 100) {
          int64_t offset = r * cols * ItemSize(dtype);
          module.Run(0, {in.data() + offset, small.data() + start + offset}, {},
                     {std::min<int64_t>(100, rows - r), cols});
        }
        ASSERT_TRUE(large == small) << target.arch << " " << skew;
      }
    }
  }
}

// In place: the output is the first input's buffer.
TEST(EmitLlvmAccessInPlace, SameElements) {
  for (const Target& target : CpuTargets()) {
    PlanKit k("in_place", {SizeExpr(1003)});
    int x = k.Input(DType::kF32), w = k.Input(DType::kF32), y = k.Output(DType::kF32);
    k.plan.params[0].may_alias = true;
    k.Store(k.Op(ScalarOp::kMul, {k.Load(k.Dense(x)), k.Load(k.Dense(w))}), k.Dense(y));
    KernelPlan plan = Scheduled(k.plan, target, 4);
    CpuModule module(target, {plan});
    if (module.object == nullptr) continue;
    std::vector<float> a(1003), b(1003);
    for (size_t i = 0; i < a.size(); ++i)
      a[i] = static_cast<float>(i), b[i] = static_cast<float>(i % 7);
    module.Run(0, {a.data(), b.data(), a.data()}, {}, {});
    for (size_t i = 0; i < a.size(); ++i) ASSERT_EQ(a[i], static_cast<float>(i * (i % 7)));
  }
}

// Host scalars of every type, sizes and indices as values, rank 0.
TEST(EmitLlvmAccessValues, ScalarsSizesIndices) {
  for (const Target& target : CpuTargets()) {
    PlanKit k("values", {SizeExpr::Symbol(0), SizeExpr(19)});
    SizeExpr n = SizeExpr::Symbol(0) * 19;
    int y = k.Output(DType::kF64);
    int sum =
        k.Convert(k.Op(ScalarOp::kAdd, {k.Index(0), k.Op(ScalarOp::kMul, {k.Index(1), k.Size(n)})}),
                  DType::kF64);
    std::vector<uint64_t> scalars;
    for (DType dtype : {DType::kBool, DType::kU8, DType::kI16, DType::kF16, DType::kBF16,
                        DType::kF32, DType::kF64, DType::kI64}) {
      double v = dtype == DType::kBool ? 1 : dtype == DType::kI16 ? -3 : 2.5;
      scalars.push_back(ScalarFromDouble(ComputeType(dtype), v).bits());
      sum = k.Op(ScalarOp::kAdd, {sum, k.Convert(k.Scalar(dtype), DType::kF64)});
    }
    AccessMap dense = k.Strided(y, {19, 1});
    k.Store(sum, dense);
    KernelPlan plan = Scheduled(k.plan, target, 2);
    CpuModule module(target, {plan});
    if (module.object == nullptr) continue;
    std::vector<int64_t> counts = {7 * 19};
    Data expected(plan, counts, 0, false), actual = expected;
    ASSERT_EQ(InterpretPlan(plan, expected.buffers, scalars, {7}), absl::OkStatus());
    module.Run(0, actual.buffers, scalars, {7});
    ExpectSame(plan, expected, actual, counts, 0, target.arch);

    PlanKit zero("rank0", {});
    int a = zero.Input(DType::kF32), b = zero.Output(DType::kF32);
    zero.Store(zero.Op(ScalarOp::kExp, {zero.Load(zero.Dense(a))}), zero.Dense(b));
    KernelPlan rank0 = Scheduled(zero.plan, target, 2);
    CpuModule one(target, {rank0});
    Data e(rank0, {1, 1}, 0, false), g = e;
    ASSERT_TRUE(InterpretPlan(rank0, e.buffers, {}, {}).ok());
    one.Run(0, g.buffers, {}, {});
    ExpectSame(rank0, e, g, {1, 1}, 0, target.arch);
  }
}

}  // namespace
}  // namespace jitfuse::internal
