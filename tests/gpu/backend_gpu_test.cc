// The CUDA back end on a real GPU: kernels against the plan interpreter, GEMMs against a reference,
// streams, graph capture.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "codegen/cuda/emit_cuda.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ir/support/status.h"
#include "jit/cuda/cuda_backends.h"
#include "tests/gpu/driver_function.h"
#include "tests/support/plan_cases.h"
#include "tests/support/plan_kit.h"

namespace jitfuse::internal {
namespace {

constexpr size_t kCanary = 256;  // bytes around every buffer that nobody may write

class GpuTest : public testing::Test {
 protected:
  void SetUp() override {
    static absl::StatusOr<std::unique_ptr<Backend>>* made =
        new absl::StatusOr<std::unique_ptr<Backend>>(CreateCudaBackend());
    if (!made->ok()) GTEST_SKIP() << made->status();
    backend_ = made->value().get();
  }

  // A buffer on the device with canaries around it; it starts at a multiple of `align` and of
  // nothing more where align is below 16.
  struct Buffer {
    char* base = nullptr;
    size_t bytes = 0, shift = 0;
    char* data() const { return base + kCanary + shift; }
  };
  Buffer Make(size_t bytes, int align) {
    Buffer b;
    b.bytes = bytes;
    b.shift = align < 16 ? static_cast<size_t>(align) : 0;
    b.base = static_cast<char*>(backend_->allocator()->Allocate(bytes + 2 * kCanary + 16, nullptr));
    EXPECT_NE(b.base, nullptr);
    const std::string canary(bytes + 2 * kCanary + 16, '\x5a');
    EXPECT_TRUE(backend_->CopyFromHost(b.base, canary.data(), canary.size(), nullptr).ok());
    return b;
  }
  void ExpectCanaries(const Buffer& b, const std::string& who) {
    std::string all(b.bytes + 2 * kCanary + 16, 0);
    ASSERT_TRUE(backend_->CopyToHost(all.data(), b.base, all.size(), nullptr).ok());
    all.erase(kCanary + b.shift, b.bytes);
    EXPECT_EQ(all, std::string(2 * kCanary + 16, '\x5a')) << who << " wrote beyond a buffer";
  }
  void Free(const Buffer& b) {
    backend_->allocator()->Free(b.base, b.bytes + 2 * kCanary + 16, nullptr);
  }

  absl::Status RunOn(const PlanCase& c, const KernelSource& source, const Kernel& kernel,
                     absl::Span<void* const> buffers, absl::Span<const size_t> bytes,
                     absl::Span<const uint64_t> scalars, StreamHandle stream = nullptr) {
    std::vector<Buffer> device;
    std::vector<void*> pointers;
    for (size_t p = 0; p < buffers.size(); ++p) {
      const auto same = std::find(buffers.begin(), buffers.begin() + p, buffers[p]);
      if (same != buffers.begin() + p) {
        pointers.push_back(pointers[static_cast<size_t>(same - buffers.begin())]);
        continue;
      }
      device.push_back(Make(bytes[p], c.plan.params[p].align));
      pointers.push_back(device.back().data());
      JF_RETURN_IF_ERROR(backend_->CopyFromHost(pointers[p], buffers[p], bytes[p], stream));
    }
    std::vector<int64_t> sizes;
    for (const SizeExpr& s : source.size_args) sizes.push_back(s.Eval(c.symbols));
    LaunchArgs args;
    args.buffers = pointers;
    args.scalars = scalars;
    args.sizes = sizes;
    args.grid = source.grid.Eval(c.symbols);
    args.stream = stream;
    JF_RETURN_IF_ERROR(backend_->Launch(kernel, args));
    for (size_t p = 0; p < buffers.size(); ++p)
      JF_RETURN_IF_ERROR(backend_->CopyToHost(buffers[p], pointers[p], bytes[p], stream));
    for (const Buffer& b : device) {
      ExpectCanaries(b, c.plan.name);
      Free(b);
    }
    return absl::OkStatus();
  }

  void RunAll(const std::vector<PlanCase>& cases) {
    if (backend_->CompilerId().empty()) GTEST_SKIP() << "no NVRTC";
    for (size_t begin = 0; begin < cases.size(); begin += 64) {
      const size_t end = std::min(cases.size(), begin + 64);
      std::vector<KernelPlan> plans;
      for (size_t k = begin; k < end; ++k) plans.push_back(cases[k].plan);
      absl::StatusOr<KernelSource> batch = EmitCudaBatch(plans, backend_->target());
      ASSERT_TRUE(batch.ok()) << batch.status();
      absl::StatusOr<CompiledKernel> compiled = backend_->Compile(*batch);
      ASSERT_TRUE(compiled.ok()) << compiled.status();
      for (size_t k = begin; k < end; ++k) {
        absl::StatusOr<KernelSource> source = backend_->Emit(cases[k].plan);
        ASSERT_TRUE(source.ok()) << source.status();
        auto kernel = backend_->Load(*source, *compiled);
        ASSERT_TRUE(kernel.ok()) << kernel.status();
        CheckCase(cases[k], [&](absl::Span<void* const> buffers, absl::Span<const size_t> bytes,
                                absl::Span<const uint64_t> scalars) {
          return RunOn(cases[k], *source, **kernel, buffers, bytes, scalars);
        });
      }
    }
  }

  const Backend* backend_ = nullptr;
};

TEST_F(GpuTest, Flat) { RunAll(FlatCases()); }
TEST_F(GpuTest, Layouts) { RunAll(LayoutCases()); }
TEST_F(GpuTest, Rows) { RunAll(RowCases()); }
TEST_F(GpuTest, Windows) { RunAll(WindowCases()); }
TEST_F(GpuTest, Conversions) { RunAll(ConversionCases()); }
TEST_F(GpuTest, Primitives) { RunAll(PrimitiveCases()); }
TEST_F(GpuTest, Planned) { RunAll(PlannedCases(backend_->target())); }

// Values at which conversions go wrong, each once with every pair of types that holds them.
TEST_F(GpuTest, ConversionsOfSpecialValues) {
  const double specials[] = {0.0,
                             -0.0,
                             0.5,
                             -0.5,
                             1.5,
                             127.5,
                             128,
                             -129,
                             255.9,
                             256,
                             32767.9,
                             -32769,
                             65504,
                             65520,
                             65535.9,
                             65536,
                             2147483647.0,
                             2147483648.0,
                             -2147483649.0,
                             4294967296.0,
                             9223372036854775807.0,
                             -9223372036854775809.0,
                             18446744073709551616.0,
                             1e30,
                             -1e30,
                             3.4028235677973366e38,
                             1e300,
                             1e-45,
                             1e-40,
                             6e-8,
                             2.9e-8,
                             HUGE_VAL,
                             -HUGE_VAL,
                             std::nan(""),
                             1.00048828125,
                             1.000488281250001,
                             1.00390625,
                             1.003906250000001};
  const int64_t n = std::size(specials);
  for (DType from : {DType::kF64, DType::kF32, DType::kI64, DType::kU64}) {
    for (int to = 0; to < kNumDTypes; ++to) {
      const auto t = static_cast<DType>(to);
      PlanKit k(absl::StrCat("special_", ToAbsl(DTypeName(from)), "_", ToAbsl(DTypeName(t))),
                {SizeExpr(n)});
      const int x = k.Input(from), y = k.Output(t);
      k.Store(k.Convert(k.Load(k.Dense(x)), t), k.Dense(y));
      const PlanCase c{k.Flat(64, 1), {n, n}, {}};
      absl::StatusOr<KernelSource> source = backend_->Emit(c.plan);
      ASSERT_TRUE(source.ok());
      absl::StatusOr<CompiledKernel> compiled = backend_->Compile(*source);
      ASSERT_TRUE(compiled.ok()) << compiled.status();
      auto kernel = backend_->Load(*source, *compiled);
      ASSERT_TRUE(kernel.ok()) << kernel.status();
      std::vector<char> in(static_cast<size_t>(n * ItemSize(from))),
          out(static_cast<size_t>(n * ItemSize(t)));
      for (int64_t i = 0; i < n; ++i)
        StoreScalar(from, ScalarFromDouble(from, specials[i]), in.data() + i * ItemSize(from));
      void* buffers[] = {in.data(), out.data()};
      const size_t bytes[] = {in.size(), out.size()};
      ASSERT_TRUE(RunOn(c, *source, **kernel, buffers, bytes, {}).ok());
      for (int64_t i = 0; i < n; ++i) {
        const ScalarValue v = LoadScalar(from, in.data() + i * ItemSize(from));
        std::vector<char> want(8);
        StoreScalar(t, ConvertScalar(from, t, v), want.data());
        const ScalarValue g = LoadScalar(t, out.data() + i * ItemSize(t)),
                          w = LoadScalar(t, want.data());
        const double gv = ScalarToDouble(ComputeType(t), g), wv = ScalarToDouble(ComputeType(t), w);
        EXPECT_TRUE(g.bits() == w.bits() || (std::isnan(gv) && std::isnan(wv)))
            << ToAbsl(DTypeName(from)) << " " << specials[i] << " to " << ToAbsl(DTypeName(t))
            << ": got " << gv << ", expected " << wv;
      }
    }
  }
}

// Quotients by a row's value are those of a division, bit for bit, tiny, huge and special ones
// included.
TEST_F(GpuTest, DivisionByARowValueIsExact) {
  const int64_t rows = 64, columns = 1024;
  PlanKit k("quotient", {SizeExpr(rows)}, {SizeExpr(columns)});
  const int x = k.Input(DType::kF32), d = k.Input(DType::kF32), y = k.Output(DType::kF32);
  const int divisor = k.LoadRow(k.DenseRow(d));
  k.Store(k.Op(ScalarOp::kDiv, {k.Load(k.Dense(x)), divisor}), k.Dense(y));
  const PlanCase c{k.Row(128, 1, 4, 2), {rows * columns, rows, rows * columns}, {}};
  absl::StatusOr<KernelSource> source = backend_->Emit(c.plan);
  ASSERT_TRUE(source.ok()) << source.status();
  absl::StatusOr<CompiledKernel> compiled = backend_->Compile(*source);
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  auto kernel = backend_->Load(*source, *compiled);
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  std::mt19937 rng(7);
  std::vector<float> a(static_cast<size_t>(rows * columns)), b(static_cast<size_t>(rows)),
      out(a.size());
  auto any_float = [&] {
    const uint32_t bits = rng();
    float f;
    std::memcpy(&f, &bits, sizeof f);
    return f;
  };
  for (float& v : a) v = any_float();
  for (float& v : b) v = any_float();
  const float special[] = {0.0f,
                           -0.0f,
                           1.0f,
                           3.0f,
                           HUGE_VALF,
                           -HUGE_VALF,
                           NAN,
                           1e-45f,
                           1e-40f,
                           0x1.fffffep+127f,
                           0x1p-24f,
                           0x1p+24f,
                           0x1.fffffep+23f,
                           7.0f};
  for (size_t i = 0; i < std::size(special); ++i) b[i] = a[i] = a[i + 1024] = special[i];
  for (size_t i = 20; i < 40; ++i) b[i] = static_cast<float>(i) * 1.37f;
  void* buffers[] = {a.data(), b.data(), out.data()};
  const size_t bytes[] = {a.size() * 4, b.size() * 4, out.size() * 4};
  ASSERT_TRUE(RunOn(c, *source, **kernel, buffers, bytes, {}).ok());
  for (size_t i = 0; i < a.size(); ++i) {
    const float want = a[i] / b[i / static_cast<size_t>(columns)];
    if (std::isnan(want)) {
      EXPECT_TRUE(std::isnan(out[i])) << i;
    } else {
      ASSERT_EQ(std::bit_cast<uint32_t>(want), std::bit_cast<uint32_t>(out[i]))
          << a[i] << " / " << b[i / static_cast<size_t>(columns)] << ": got " << out[i]
          << ", expected " << want;
    }
  }
}

// ---- Products.

class GpuGemmTest : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped()) return;
    Reason reason;
    if (absl::Status s = backend_->GemmSupport(DType::kF32, &reason); !s.ok()) GTEST_SKIP() << s;
  }

  void Check(const GemmProblem& p) {
    const int64_t a_rows = p.transpose_a ? p.k : p.m, b_rows = p.transpose_b ? p.n : p.k;
    const int64_t na = (p.batch - 1) * p.batch_stride_a + a_rows * p.lda,
                  nb = (p.batch - 1) * p.batch_stride_b + b_rows * p.ldb;
    const int64_t nd = (p.batch - 1) * p.batch_stride_d + p.m * p.ldd;
    const int size = ItemSize(p.dtype);
    std::mt19937 rng(3);
    std::uniform_real_distribution<double> dist(-1, 1);
    auto fill = [&](int64_t n) {
      std::vector<char> v(static_cast<size_t>(n * size));
      for (int64_t i = 0; i < n; ++i)
        StoreScalar(p.dtype, ScalarFromDouble(p.dtype, dist(rng)), v.data() + i * size);
      return v;
    };
    const std::vector<char> a = fill(na), b = fill(nb);
    std::vector<char> d(static_cast<size_t>(nd * size));
    Buffer da = Make(a.size(), p.align), db = Make(b.size(), p.align), dd = Make(d.size(), p.align);
    ASSERT_TRUE(backend_->CopyFromHost(da.data(), a.data(), a.size(), nullptr).ok());
    ASSERT_TRUE(backend_->CopyFromHost(db.data(), b.data(), b.size(), nullptr).ok());
    auto gemm = backend_->PrepareGemm(p);
    ASSERT_TRUE(gemm.ok()) << gemm.status();
    EXPECT_THAT((*gemm)->Describe(), testing::HasSubstr("cuBLASLt"));
    Buffer workspace = Make((*gemm)->workspace_bytes() + 256, 16);
    ASSERT_TRUE(
        backend_
            ->RunGemm(
                **gemm,
                {.a = da.data(), .b = db.data(), .d = dd.data(), .workspace = workspace.data()},
                nullptr)
            .ok());
    ASSERT_TRUE(backend_->CopyToHost(d.data(), dd.data(), d.size(), nullptr).ok());
    auto number = [&](const std::vector<char>& v, int64_t i) {
      return ScalarToDouble(ComputeType(p.dtype), LoadScalar(p.dtype, v.data() + i * size));
    };
    const double eps = p.dtype == DType::kBF16  ? 0x1p-8
                       : p.dtype == DType::kF16 ? 0x1p-11
                       : p.dtype == DType::kF32 ? 1e-6
                                                : 1e-14;
    for (int64_t n = 0; n < p.batch; ++n) {
      for (int64_t i = 0; i < p.m; ++i) {
        for (int64_t j = 0; j < p.n; ++j) {
          double sum = 0, size_of_terms = 0;
          for (int64_t l = 0; l < p.k; ++l) {
            const double t =
                number(a, n * p.batch_stride_a + (p.transpose_a ? l * p.lda + i : i * p.lda + l)) *
                number(b, n * p.batch_stride_b + (p.transpose_b ? j * p.ldb + l : l * p.ldb + j));
            sum += t;
            size_of_terms += std::fabs(t);
          }
          const double got = number(d, n * p.batch_stride_d + i * p.ldd + j);
          ASSERT_NEAR(got, sum, eps * std::fabs(sum) + 1e-6 * size_of_terms)
              << (*gemm)->Describe() << " at " << n << "," << i << "," << j;
        }
      }
    }
    ExpectCanaries(dd, "a product");
    for (const Buffer& buffer : {da, db, dd, workspace}) Free(buffer);
  }
};

GemmProblem Problem(DType dtype, int64_t batch, int64_t m, int64_t n, int64_t k, bool ta, bool tb,
                    int64_t pad = 0) {
  GemmProblem p;
  p.dtype = dtype;
  p.batch = batch;
  p.m = m;
  p.n = n;
  p.k = k;
  p.transpose_a = ta;
  p.transpose_b = tb;
  p.lda = (ta ? m : k) + pad;
  p.ldb = (tb ? k : n) + pad;
  p.ldd = n + pad;
  p.batch_stride_a = (ta ? k : m) * p.lda;
  p.batch_stride_b = (tb ? n : k) * p.ldb;
  p.batch_stride_d = m * p.ldd;
  return p;
}

// numerics=fast may round the operands of f32 products to TF32, and nothing else may.
TEST_F(GpuGemmTest, Tf32OnlyWhereItWasAskedFor) {
  constexpr int64_t kN = 256;
  std::vector<float> a(kN * kN), d(kN * kN);
  std::mt19937 rng(3);
  std::normal_distribution<float> normal;
  for (float& x : a) x = normal(rng);
  Buffer da = Make(a.size() * 4, 16), dd = Make(d.size() * 4, 16);
  ASSERT_TRUE(backend_->CopyFromHost(da.data(), a.data(), a.size() * 4, nullptr).ok());
  auto worst = [&](bool tf32) {
    GemmProblem p = Problem(DType::kF32, 1, kN, kN, kN, false, false);
    p.allow_tf32 = tf32;
    auto gemm = backend_->PrepareGemm(p);
    EXPECT_TRUE(gemm.ok()) << gemm.status();
    Buffer workspace = Make((*gemm)->workspace_bytes() + 256, 16);
    EXPECT_TRUE(
        backend_
            ->RunGemm(
                **gemm,
                {.a = da.data(), .b = da.data(), .d = dd.data(), .workspace = workspace.data()},
                nullptr)
            .ok());
    EXPECT_TRUE(backend_->CopyToHost(d.data(), dd.data(), d.size() * 4, nullptr).ok());
    Free(workspace);
    double most = 0;
    for (int64_t i = 0; i < kN; ++i) {
      for (int64_t j = 0; j < kN; ++j) {
        double sum = 0, magnitude = 0;
        for (int64_t k = 0; k < kN; ++k) {
          const double term = double{a[static_cast<size_t>(i * kN + k)]} *
                              double{a[static_cast<size_t>(k * kN + j)]};
          sum += term;
          magnitude += std::fabs(term);
        }
        most = std::max(most, std::fabs(d[static_cast<size_t>(i * kN + j)] - sum) / magnitude);
      }
    }
    return most;
  };
  EXPECT_LT(worst(false), 2e-6);
  EXPECT_GT(worst(true), 2e-6);
  EXPECT_LT(worst(true), 1.1e-3);  // 2^-11 of each factor
  for (const Buffer& buffer : {da, dd}) Free(buffer);
}

TEST_F(GpuGemmTest, AgainstTheReference) {
  for (DType dtype : {DType::kF16, DType::kBF16, DType::kF32, DType::kF64}) {
    for (bool ta : {false, true}) {
      for (bool tb : {false, true}) {
        Check(Problem(dtype, 1, 64, 48, 32, ta, tb));
        Check(Problem(dtype, 3, 17, 7, 33, ta, tb));
        Check(Problem(dtype, 1, 1, 100, 64, ta, tb, 8));
        Check(Problem(dtype, 2, 33, 1, 5, ta, tb, 3));
      }
    }
    GemmProblem odd = Problem(dtype, 1, 40, 24, 16, false, true);
    odd.align = ItemSize(dtype);
    Check(odd);
  }
}

// ---- Streams and capture.

class GpuStreamTest : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped()) return;
    of_gpu_.emplace();
    stream_ = of_gpu_->get();
    ASSERT_NE(stream_, nullptr);
  }
  std::optional<jitfuse_test::StreamOfGpu0> of_gpu_;
  CuStream stream_ = nullptr;
};

TEST_F(GpuStreamTest, WorkGoesToTheCallersStream) {
  PlanCase c{AddMulRelu(DType::kF32, {100000}, 256, 4), {100000, 100000, 100000, 100000}, {}};
  absl::StatusOr<KernelSource> source = backend_->Emit(c.plan);
  ASSERT_TRUE(source.ok());
  absl::StatusOr<CompiledKernel> compiled = backend_->Compile(*source);
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  auto kernel = backend_->Load(*source, *compiled);
  ASSERT_TRUE(kernel.ok());
  CheckCase(c, [&](absl::Span<void* const> buffers, absl::Span<const size_t> bytes,
                   absl::Span<const uint64_t> scalars) {
    return RunOn(c, *source, **kernel, buffers, bytes, scalars, stream_);
  });
}

TEST_F(GpuStreamTest, EverythingIsLegalUnderCapture) {
  const int64_t n = 64;
  const size_t bytes = static_cast<size_t>(n * n * 4);
  absl::StatusOr<KernelSource> source =
      backend_->Emit(AddMulRelu(DType::kF32, {SizeExpr(n * n)}, 256, 4));
  ASSERT_TRUE(source.ok());
  absl::StatusOr<CompiledKernel> compiled = backend_->Compile(*source);
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  auto kernel = backend_->Load(*source, *compiled);
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  auto gemm = backend_->PrepareGemm(Problem(DType::kF32, 1, n, n, n, false, false));
  std::vector<float> a(static_cast<size_t>(n * n)), out(a.size());
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i % 7) - 3;
  Buffer da = Make(bytes, 16), dd = Make(bytes, 16), dw = Make(size_t{33} << 20, 16);
  ASSERT_TRUE(backend_->CopyFromHost(da.data(), a.data(), bytes, stream_).ok());
  if (gemm.ok()) {  // its code is loaded by a first run
    ASSERT_TRUE(
        backend_
            ->RunGemm(**gemm,
                      {.a = da.data(), .b = da.data(), .d = dd.data(), .workspace = dw.data()},
                      stream_)
            .ok());
    ASSERT_TRUE(backend_->Synchronize(stream_).ok());
  }

  absl::Status first, second;
  void* instance = jitfuse_test::Captured(stream_, [&] {
    void* temporary = backend_->allocator()->Allocate(bytes, stream_);
    EXPECT_NE(temporary, nullptr);
    first =
        gemm.ok()
            ? backend_->RunGemm(
                  **gemm, {.a = da.data(), .b = da.data(), .d = temporary, .workspace = dw.data()},
                  stream_)
            : backend_->CopyOnDevice(temporary, da.data(), bytes, stream_);
    void* buffers[] = {da.data(), da.data(), temporary, dd.data()};
    LaunchArgs args;
    args.buffers = buffers;
    args.grid = source->grid.Eval({});
    args.stream = stream_;
    second = backend_->Launch(**kernel, args);
    backend_->allocator()->Free(temporary, bytes, stream_);
  });
  ASSERT_TRUE(first.ok()) << first;
  ASSERT_TRUE(second.ok()) << second;
  for (int replay = 0; replay < 3; ++replay) jitfuse_test::Replay(instance, stream_);
  ASSERT_TRUE(backend_->CopyToHost(out.data(), dd.data(), bytes, stream_).ok());
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (int64_t l = 0; l < n && gemm.ok(); ++l)
        sum += a[static_cast<size_t>(i * n + l)] * a[static_cast<size_t>(l * n + j)];
      const double x = a[static_cast<size_t>(i * n + j)];
      if (!gemm.ok()) sum = x;
      ASSERT_EQ(out[static_cast<size_t>(i * n + j)], std::max(0.0, x * x + sum)) << i << "," << j;
    }
  }
  for (const Buffer& b : {da, dd, dw}) Free(b);
}

// Also what has to try algorithms first: the trial has a stream of its own.
TEST_F(GpuStreamTest, AnEpilogueIsPreparedAndRunUnderCapture) {
  Reason reason;
  if (absl::Status s = backend_->GemmSupport(DType::kF32, &reason); !s.ok()) GTEST_SKIP() << s;
  constexpr int64_t kN = 72;  // of no other test
  const size_t bytes = kN * kN * 4;
  std::vector<float> a(kN * kN), bias(kN), out(kN * kN);
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i % 7) - 3;
  for (size_t i = 0; i < bias.size(); ++i) bias[i] = static_cast<float>(i % 5) * 10 - 20;
  a[5] = NAN;
  Buffer da = Make(bytes, 16), db = Make(kN * 4, 16), dd = Make(bytes, 16),
         dw = Make(size_t{33} << 20, 16);
  ASSERT_TRUE(backend_->CopyFromHost(da.data(), a.data(), bytes, stream_).ok());
  ASSERT_TRUE(backend_->CopyFromHost(db.data(), bias.data(), kN * 4, stream_).ok());
  GemmProblem p = Problem(DType::kF32, 1, kN, kN, kN, false, false);
  p.epilogue = {1, 0, true, GemmActivation::kRelu};
  absl::Status ran;
  void* instance = jitfuse_test::Captured(stream_, [&] {
    auto gemm = backend_->PrepareGemm(p);
    ran = gemm.ok() ? backend_->RunGemm(**gemm,
                                        {.a = da.data(),
                                         .b = da.data(),
                                         .bias = db.data(),
                                         .d = dd.data(),
                                         .workspace = dw.data()},
                                        stream_)
                    : gemm.status();
  });
  ASSERT_TRUE(ran.ok()) << ran;
  for (int replay = 0; replay < 2; ++replay) jitfuse_test::Replay(instance, stream_);
  ASSERT_TRUE(backend_->CopyToHost(out.data(), dd.data(), bytes, stream_).ok());
  for (int64_t i = 0; i < kN; ++i) {
    for (int64_t j = 0; j < kN; ++j) {
      double sum = bias[static_cast<size_t>(j)];
      for (int64_t l = 0; l < kN; ++l)
        sum += a[static_cast<size_t>(i * kN + l)] * a[static_cast<size_t>(l * kN + j)];
      const float got = out[static_cast<size_t>(i * kN + j)];
      if (sum != sum) {
        ASSERT_NE(got, got) << i << "," << j;
      } else {
        ASSERT_EQ(got, std::max(0.0, sum)) << i << "," << j;
      }
    }
  }
  for (const Buffer& b : {da, db, dd, dw}) Free(b);
}

TEST_F(GpuTest, ConcurrentThreads) {
  PlanCase c{
      Softmax(DType::kF32, SizeExpr::Symbol(0), 1000, 64, 2, 4, 4), {37 * 1000, 37 * 1000}, {37}};
  absl::StatusOr<KernelSource> source = backend_->Emit(c.plan);
  ASSERT_TRUE(source.ok());
  absl::StatusOr<CompiledKernel> compiled = backend_->Compile(*source);
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  auto kernel = backend_->Load(*source, *compiled);
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 5; ++i) {
        CheckCase(c, [&](absl::Span<void* const> buffers, absl::Span<const size_t> bytes,
                         absl::Span<const uint64_t> scalars) {
          return RunOn(c, *source, **kernel, buffers, bytes, scalars);
        });
      }
    });
  }
  for (std::thread& t : threads) t.join();
}

}  // namespace
}  // namespace jitfuse::internal
