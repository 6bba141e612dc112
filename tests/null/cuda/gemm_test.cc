// GEMMs through cuBLASLt's interface, computed by a stand-in.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <future>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ir/support/dump.h"
#include "jit/cuda/gemm_cublaslt.h"
#include "tests/null/cuda/fake_cublaslt.h"

namespace jitfuse::internal {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// A trial in the host's memory.
absl::StatusOr<std::string> TryOnHost(const GemmTrial& t) {
  ++counts.trials;
  std::string a(t.a_bytes, '\xff'), b(t.b_bytes, 0), c(t.c_bytes, 0), bias(t.bias_bytes, 0),
      d(t.d_bytes, 0), workspace(t.workspace_bytes, 0);
  const absl::Status status = t.launch({.a = a.data(),
                                        .b = b.data(),
                                        .c = c.data(),
                                        .bias = bias.data(),
                                        .d = d.data(),
                                        .workspace = workspace.data()},
                                       nullptr);
  if (!status.ok()) return status;
  return d;
}

template <typename T>
void CheckProduct(CublasLtGemms* gemms, const GemmProblem& p) {
  std::mt19937 rng(1);
  auto fill = [&](int64_t n) {
    std::vector<T> v(static_cast<size_t>(n));
    for (T& x : v) x = static_cast<T>(static_cast<int>(rng() % 7) - 3);
    return v;
  };
  const int64_t a_rows = p.transpose_a ? p.k : p.m, b_rows = p.transpose_b ? p.n : p.k;
  const std::vector<T> a = fill(p.batch * p.batch_stride_a + a_rows * p.lda + 64),
                       b = fill(p.batch * p.batch_stride_b + b_rows * p.ldb + 64);
  const std::vector<T> c = fill(p.batch * p.batch_stride_c + p.m * p.ldc + 64), bias = fill(p.n);
  std::vector<T> d(static_cast<size_t>(p.batch * p.batch_stride_d + p.m * p.ldd + 64), T{77}),
      want = d;
  auto prepared = gemms->Prepare(p);
  ASSERT_TRUE(prepared.ok()) << prepared.status();
  std::vector<char> workspace((*prepared)->workspace_bytes());
  ASSERT_TRUE(gemms
                  ->Run(**prepared,
                        {.a = a.data(),
                         .b = b.data(),
                         .c = c.data(),
                         .bias = bias.data(),
                         .d = d.data(),
                         .workspace = workspace.data()},
                        nullptr)
                  .ok());
  for (int64_t n = 0; n < p.batch; ++n) {
    for (int64_t i = 0; i < p.m; ++i) {
      for (int64_t j = 0; j < p.n; ++j) {
        T sum = 0;
        for (int64_t l = 0; l < p.k; ++l) {
          const int64_t ia = n * p.batch_stride_a + (p.transpose_a ? l * p.lda + i : i * p.lda + l);
          const int64_t ib = n * p.batch_stride_b + (p.transpose_b ? j * p.ldb + l : l * p.ldb + j);
          sum += a[static_cast<size_t>(ia)] * b[static_cast<size_t>(ib)];
        }
        const GemmEpilogue& e = p.epilogue;
        double z = e.alpha * static_cast<double>(sum);
        if (e.has_c())
          z += e.beta *
               static_cast<double>(c[static_cast<size_t>(n * p.batch_stride_c + i * p.ldc + j)]);
        if (e.bias) z += static_cast<double>(bias[static_cast<size_t>(j)]);
        if (e.activation == GemmActivation::kRelu) z = std::max(z, 0.0);
        if (e.activation == GemmActivation::kGeluTanh) z *= 100;
        want[static_cast<size_t>(n * p.batch_stride_d + i * p.ldd + j)] = static_cast<T>(z);
      }
    }
  }
  EXPECT_EQ(d, want);
}

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

TEST(GemmCublasLt, ProductsInEveryLayout) {
  const CublasLtApi api = FakeApi();
  CublasLtGemms gemms(api, TryOnHost);
  for (bool ta : {false, true}) {
    for (bool tb : {false, true}) {
      for (int64_t batch : {1, 3}) {
        for (int64_t pad : {0, 5}) {
          CheckProduct<float>(&gemms, Problem(DType::kF32, batch, 4, 3, 5, ta, tb, pad));
          CheckProduct<double>(&gemms, Problem(DType::kF64, batch, 4, 3, 5, ta, tb, pad));
          CheckProduct<float>(&gemms, Problem(DType::kF32, batch, 1, 6, 1, ta, tb, pad));
          CheckProduct<float>(&gemms, Problem(DType::kF32, batch, 6, 1, 2, ta, tb, pad));
        }
      }
    }
  }
  GemmProblem broadcast = Problem(DType::kF32, 3, 4, 3, 5, false, true);
  broadcast.batch_stride_b = 0;
  CheckProduct<float>(&gemms, broadcast);
  // One row: the distance of rows has no meaning, and may be 0.
  GemmProblem one_row = Problem(DType::kF32, 1, 1, 3, 5, false, false);
  one_row.lda = 0;
  CheckProduct<float>(&gemms, one_row);
}

// What views of an input may say: batches that run backwards or lie within each other's rows.
TEST(GemmCublasLt, BatchesThatDoNotNestAreMultipliedOneByOne) {
  const CublasLtApi api = FakeApi();
  CublasLtGemms gemms(api, TryOnHost);
  GemmProblem p = Problem(DType::kF32, 3, 4, 3, 5, false, false);
  for (auto [a, b] : {std::pair<int64_t, int64_t>{5, 15}, {20, 1}, {0, 2}}) {
    p.batch_stride_a = a;
    p.batch_stride_b = b;
    CheckProduct<float>(&gemms, p);
    EXPECT_THAT((*gemms.Prepare(p))->Describe(), HasSubstr("3 calls, one a batch"));
  }
  EXPECT_EQ(counts.last.attributes[kLtMinAlignmentA], 8u);  // the second matrix begins 8 bytes on
  p.batch_stride_a = p.batch_stride_b = 0;
  EXPECT_THAT((*gemms.Prepare(p))->Describe(), Not(HasSubstr("one a batch")));
  // Backwards: the base is the last matrix.
  p.batch_stride_a = -20;
  std::vector<float> a(60), b(15, 1.0f), d(36);
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i / 20);
  auto prepared = gemms.Prepare(p);
  ASSERT_TRUE(
      gemms.Run(**prepared, {.a = a.data() + 40, .b = b.data(), .d = d.data()}, nullptr).ok());
  for (size_t i = 0; i < d.size(); ++i) EXPECT_EQ(d[i], 5.0f * static_cast<float>(2 - i / 12));
  p.batch_stride_d = 3;
  EXPECT_THAT(std::string(gemms.Prepare(p).status().message()),
              HasSubstr("elements apart overlap"));
}

GemmProblem With(GemmProblem p, GemmEpilogue e, int64_t pad_c = 0) {
  p.epilogue = e;
  if (e.has_c()) {
    p.ldc = p.n + pad_c;
    p.batch_stride_c = p.m * p.ldc;
  }
  return p;
}

TEST(GemmCublasLt, Epilogues) {
  const CublasLtApi api = FakeApi();
  {
    CublasLtGemms gemms(api, TryOnHost);
    for (GemmActivation act :
         {GemmActivation::kNone, GemmActivation::kRelu, GemmActivation::kGeluTanh}) {
      for (bool bias : {false, true}) {
        for (double beta : {0.0, 1.0, -0.5}) {
          for (double alpha : {1.0, 0.25}) {
            for (int64_t batch : {1, 3}) {
              const GemmEpilogue e{alpha, beta, bias, act};
              SCOPED_TRACE(EpilogueToString(e));
              CheckProduct<float>(&gemms,
                                  With(Problem(DType::kF32, batch, 4, 3, 5, false, true, 2), e, 3));
              CheckProduct<float>(&gemms,
                                  With(Problem(DType::kF32, batch, 1, 6, 1, true, false), e));
            }
          }
        }
      }
    }
    // Matrices of A that lie within each other: each with its own C.
    GemmProblem p =
        With(Problem(DType::kF32, 3, 4, 3, 5, false, false), {2, 1, true, GemmActivation::kRelu});
    p.batch_stride_a = 5;
    CheckProduct<float>(&gemms, p);
    EXPECT_THAT((*gemms.Prepare(p))->Describe(),
                HasSubstr("computes 2 * product + c + bias, relu"));
  }
  EXPECT_EQ(counts.descs, 0);
  EXPECT_EQ(counts.layouts, 0);
}

TEST(GemmCublasLt, AlgorithmsThatLoseNanAreLeftOutBehindRelu) {
  const CublasLtApi api = FakeApi();
  CublasLtGemms gemms(api, TryOnHost);
  counts.found = 5;
  counts.lossy = 2;
  const GemmEpilogue relu{1, 0, true, GemmActivation::kRelu};
  auto nan_of = [&](const GemmProblem& p) {
    auto prepared = gemms.Prepare(p);
    EXPECT_TRUE(prepared.ok()) << prepared.status();
    std::vector<float> a(16, std::nanf("")), b(16, 1), bias(4, 1), d(16, 7);
    std::vector<char> workspace((*prepared)->workspace_bytes());
    EXPECT_TRUE(gemms
                    .Run(**prepared,
                         {.a = a.data(),
                          .b = b.data(),
                          .bias = bias.data(),
                          .d = d.data(),
                          .workspace = workspace.data()},
                         nullptr)
                    .ok());
    return std::all_of(d.begin(), d.end(), [](float x) { return x != x; });
  };
  const GemmProblem p = With(Problem(DType::kF32, 1, 4, 4, 4, false, false), relu);
  EXPECT_TRUE(nan_of(p));
  EXPECT_EQ(counts.trials, 3);  // two that lose it, one that does not
  EXPECT_FALSE(counts.has_mask);
  EXPECT_TRUE(nan_of(With(Problem(DType::kF32, 1, 4, 4, 3, false, false), relu)));
  EXPECT_EQ(counts.trials, 6);  // and again for another shape of the small product
  EXPECT_TRUE(nan_of(With(Problem(DType::kF32, 1, 4, 4, 3, false, false), relu)));
  EXPECT_EQ(counts.trials, 6);  // but once for each
  EXPECT_TRUE(nan_of(With(Problem(DType::kF32, 1, 4, 4, 4, false, true), relu)));
  EXPECT_EQ(counts.trials, 9);  // for each way it is used
  // Without relu nothing is tried.
  ASSERT_TRUE(gemms.Prepare(Problem(DType::kF32, 1, 4, 4, 5, false, false)).ok());
  ASSERT_TRUE(gemms
                  .Prepare(With(Problem(DType::kF32, 1, 4, 4, 5, false, false),
                                {1, 0, true, GemmActivation::kNone}))
                  .ok());
  EXPECT_EQ(counts.trials, 9);
  // None keeps it: then it comes with a mask.
  counts.found = 2;
  const GemmProblem lost = With(Problem(DType::kF32, 1, 4, 4, 6, false, false), relu);
  EXPECT_TRUE(nan_of(With(Problem(DType::kF32, 1, 4, 4, 2, false, false), relu)));
  EXPECT_TRUE(counts.has_mask);
  CheckProduct<float>(&gemms, lost);
  auto prepared = gemms.Prepare(lost);
  EXPECT_EQ((*prepared)->workspace_bytes(), 4096u + 4 * 16);
  EXPECT_THAT((*prepared)->Describe(), HasSubstr("a mask that nobody reads"));
}

TEST(GemmCublasLt, WhereNothingCanBeTriedReluComesWithAMask) {
  const CublasLtApi api = FakeApi();
  CublasLtGemms gemms(api, [](const GemmTrial&) -> absl::StatusOr<std::string> {
    return absl::ResourceExhaustedError("no memory");
  });
  counts.found = 3;
  auto prepared = gemms.Prepare(
      With(Problem(DType::kF32, 1, 4, 4, 4, false, false), {1, 0, false, GemmActivation::kRelu}));
  ASSERT_TRUE(prepared.ok()) << prepared.status();
  EXPECT_THAT((*prepared)->Describe(), HasSubstr("a mask that nobody reads"));
}

// Each of the three that take the lock: a sink that waits for another thread's product, as one that
// needs what that thread holds does.
TEST(GemmCublasLt, WhatCouldNotBeTriedIsSaidWithoutTheLock) {
  const CublasLtApi api = FakeApi();
  CublasLtGemms gemms(api, [](const GemmTrial&) -> absl::StatusOr<std::string> {
    return absl::UnavailableError("no device here");
  });
  counts.found = 3;
  std::vector<std::string> said;
  bool waited = true;
  std::vector<std::future<bool>> late;
  SetLogLevel(1);
  SetLogSink([&](int, std::string_view message) {
    said.emplace_back(message);
    auto other = std::async(std::launch::async, [&] {
      return gemms.Prepare(Problem(DType::kF32, 1, 4, 4, 4, false, false)).ok();
    });
    // Not for ever where the lock is held: the thread is free once it is given back.
    waited = waited && other.wait_for(std::chrono::seconds(20)) == std::future_status::ready;
    late.push_back(std::move(other));
  });
  GemmProblem p = Problem(DType::kF32, 1, 8, 8, 8, false, false);
  p.epilogue.activation = GemmActivation::kRelu;
  const auto prepared = gemms.Prepare(p);
  ASSERT_TRUE(prepared.ok()) << prepared.status();
  EXPECT_FALSE(said.empty());
  for (const std::string& message : said)
    EXPECT_THAT(message, HasSubstr("an algorithm of cuBLASLt could not be tried: UNAVAILABLE"));
  said.clear();
  EXPECT_TRUE(gemms.Candidates(p, 4).ok());
  EXPECT_FALSE(said.empty());
  said.clear();
  EXPECT_TRUE(gemms.PrepareWith(p, (*prepared)->algorithm()).ok());
  EXPECT_FALSE(said.empty());
  SetLogSink(nullptr);
  SetLogLevel(-1);
  EXPECT_TRUE(waited);
}

TEST(GemmCublasLt, AskedOnceAndCleanedUp) {
  const CublasLtApi api = FakeApi();
  {
    CublasLtGemms gemms(api, TryOnHost);
    const GemmProblem p = Problem(DType::kBF16, 1, 64, 64, 64, false, false);
    std::vector<std::shared_ptr<const PreparedGemm>> got(8);
    std::vector<std::thread> threads;
    for (size_t t = 0; t < got.size(); ++t)
      threads.emplace_back([&, t] { got[t] = *gemms.Prepare(p); });
    for (std::thread& t : threads) t.join();
    for (const auto& g : got) EXPECT_EQ(g, got[0]);
    EXPECT_EQ(counts.heuristics, 1);
    EXPECT_EQ(counts.creates, 1);
    EXPECT_EQ(got[0]->workspace_bytes(), 4096u);
    EXPECT_EQ(got[0]->Describe(),
              "cuBLASLt 13.1.0, algorithm 60, tile 61, split-k 62, workspace 4096");
    GemmProblem other = p;
    other.align = 4;
    ASSERT_TRUE(gemms.Prepare(other).ok());
    EXPECT_EQ(counts.heuristics, 2);  // an algorithm holds for the alignment it was asked for
    EXPECT_EQ(counts.last.attributes[kLtMinAlignmentA], 4u);
    EXPECT_EQ(counts.last.attributes[kLtMinAlignmentD], 4u);
    EXPECT_EQ(counts.last.attributes[kLtMaxWorkspaceBytes], uint64_t{32} << 20);
    EXPECT_EQ(counts.last.attributes[kLtReductionSchemeMask],
              static_cast<uint64_t>(kLtReductionComputeType));
  }
  EXPECT_EQ(counts.descs, 0);
  EXPECT_EQ(counts.layouts, 0);
}

// Each size of a batch is a problem of its own: only those asked for last are kept, and those that
// calls still hold.
TEST(GemmCublasLt, WhatIsPreparedIsBounded) {
  const CublasLtApi api = FakeApi();
  constexpr int kMax = static_cast<int>(CublasLtGemms::kMaxPrepared);
  {
    CublasLtGemms gemms(api, TryOnHost);
    auto prepare = [&](int m) {
      return *gemms.Prepare(Problem(DType::kF32, 1, m, 8, 8, false, false));
    };
    auto held = prepare(1);
    for (int m = 2; m <= kMax + 10; ++m) prepare(m);
    EXPECT_EQ(counts.heuristics, kMax + 10);
    EXPECT_EQ(counts.descs, kMax + 1);
    EXPECT_EQ(counts.layouts, 3 * (kMax + 1));
    prepare(kMax + 10);  // still there
    EXPECT_EQ(counts.heuristics, kMax + 10);
    prepare(2);  // made room
    EXPECT_EQ(counts.heuristics, kMax + 11);
    EXPECT_THAT(held->Describe(), HasSubstr("cuBLASLt"));
  }
  EXPECT_EQ(counts.descs, 0);
  EXPECT_EQ(counts.layouts, 0);
}

// 150 us a heuristic would be most of a call with a new batch size.
TEST(GemmCublasLt, SizesOfABatchShareTheAlgorithmOfTheirBucket) {
  const CublasLtApi api = FakeApi();
  {
    CublasLtGemms gemms(api, TryOnHost);
    auto of = [](int64_t m, bool ta, int64_t batch) {
      GemmProblem p = With(Problem(DType::kF32, batch, m, 3, 5, ta, false),
                           {1, 1, true, GemmActivation::kNone});
      p.symbolic_m = true;
      return p;
    };
    for (int64_t m = 1; m <= 1000; ++m) ASSERT_TRUE(gemms.Prepare(of(m, false, 1)).ok());
    EXPECT_EQ(counts.heuristics, 11);  // 1, 2, 4, ... 1024
    EXPECT_EQ(counts.checks, 1000);
    EXPECT_THAT((*gemms.Prepare(of(900, false, 1)))->Describe(),
                HasSubstr("chosen for m up to 1024"));
    for (bool ta : {false, true}) {
      for (int64_t batch : {1, 3}) CheckProduct<float>(&gemms, of(6, ta, batch));
    }
    GemmProblem padded = of(6, true, 3);
    padded.lda += 2;
    padded.batch_stride_a = 5 * padded.lda + 1;
    CheckProduct<float>(&gemms, padded);
    // An algorithm that does not fit this size: its own is looked for.
    counts.heuristics = 0;
    counts.refuse_checks = true;
    ASSERT_TRUE(gemms.Prepare(of(1001, false, 1)).ok());
    EXPECT_EQ(counts.heuristics, 1);
    // A constant size has its own.
    ASSERT_TRUE(gemms.Prepare(Problem(DType::kF32, 1, 999, 3, 5, false, false)).ok());
    EXPECT_EQ(counts.heuristics, 2);
    EXPECT_TRUE(gemms.Prepare(of(0, false, 1)).ok());
  }
  EXPECT_EQ(counts.descs, 0);
  EXPECT_EQ(counts.layouts, 0);
}

// Where it takes long, what another size's algorithm loses is more than the question costs.
TEST(GemmCublasLt, LargeProductsAreAskedAboutByTheirOwnSize) {
  const CublasLtApi api = FakeApi();
  struct Row {
    DType dtype;
    bool tf32;
    int64_t n;
    int asked;
  };
  // Of 400, 450 and 500 rows, each 1024 long: one bucket below the bound, three sizes above.
  for (const Row& row : {Row{DType::kF32, false, 256, 1}, Row{DType::kF32, false, 2048, 3},
                         Row{DType::kF64, false, 2048, 3}, Row{DType::kF32, true, 1024, 1},
                         Row{DType::kF32, true, 2048, 3}, Row{DType::kBF16, false, 1024, 1},
                         Row{DType::kBF16, false, 2048, 3}}) {
    CublasLtGemms gemms(api, TryOnHost);
    counts.heuristics = 0;
    for (int64_t m : {400, 450, 500}) {
      GemmProblem p = Problem(row.dtype, 1, m, row.n, 1024, false, false);
      p.symbolic_m = true;
      p.allow_tf32 = row.tf32;
      ASSERT_TRUE(gemms.Prepare(p).ok());
    }
    EXPECT_EQ(counts.heuristics, row.asked) << row.n << static_cast<int>(row.dtype);
  }
}

TEST(GemmCublasLt, Tf32OnlyWhereAllowed) {
  const CublasLtApi api = FakeApi();
  CublasLtGemms gemms(api, TryOnHost);
  GemmProblem p = Problem(DType::kF32, 1, 8, 8, 8, false, false);
  ASSERT_TRUE(gemms.Prepare(p).ok());
  EXPECT_EQ(counts.compute, kCublasCompute32F);
  p.allow_tf32 = true;
  ASSERT_TRUE(gemms.Prepare(p).ok());
  EXPECT_EQ(counts.compute, kCublasCompute32FFastTf32);
  p.dtype = DType::kF64;
  ASSERT_TRUE(gemms.Prepare(p).ok());
  EXPECT_EQ(counts.compute, kCublasCompute64F);
}

// 16-bit operands with a result, C and bias in f32.
TEST(GemmCublasLt, WideResults) {
  const CublasLtApi api = FakeApi();
  CublasLtGemms gemms(api, TryOnHost);
  for (auto [dtype, type] : {std::pair(DType::kBF16, kCudaR16BF), {DType::kF16, kCudaR16F}}) {
    GemmProblem p = With(Problem(dtype, 3, 8, 8, 8, false, true), {1, 1, true});
    p.f32_result = true;
    auto prepared = gemms.Prepare(p);
    ASSERT_TRUE(prepared.ok()) << prepared.status();
    const auto& gemm = static_cast<const LtGemm&>(**prepared);
    EXPECT_EQ(Of(gemm.a.get()).type, type);
    EXPECT_EQ(Of(gemm.b.get()).type, type);
    EXPECT_EQ(Of(gemm.c.get()).type, kCudaR32F);
    EXPECT_EQ(Of(gemm.d.get()).type, kCudaR32F);
    EXPECT_EQ(Of(gemm.desc.get()).compute, kCublasCompute32F);
    p.align = 2;
    EXPECT_THAT(std::string(gemms.Prepare(p).status().message()),
                HasSubstr("-> f32 3 x [8,8] [8,8]^T"));
  }
  // One by one, each operand moves on by its own elements.
  GemmProblem p = Problem(DType::kBF16, 2, 4, 4, 4, false, false);
  p.f32_result = true;
  p.batch_stride_a = 2;  // 4 bytes
  EXPECT_EQ(OneByOne(p).each.align, 4);
  p.batch_stride_a = 16;
  EXPECT_EQ(OneByOne(p).each.align, 16);
}

TEST(GemmCublasLt, EmptyResultsCallNothing) {
  const CublasLtApi api = FakeApi();
  CublasLtGemms gemms(api, TryOnHost);
  for (GemmProblem p : {Problem(DType::kF32, 1, 0, 3, 4, false, false),
                        Problem(DType::kF32, 2, 3, 0, 4, false, false),
                        Problem(DType::kF32, 0, 3, 3, 4, false, false)}) {
    auto prepared = gemms.Prepare(p);
    ASSERT_TRUE(prepared.ok()) << prepared.status();
    EXPECT_TRUE(gemms.Run(**prepared, {}, nullptr).ok());
  }
  EXPECT_EQ(counts.heuristics, 0);
}

TEST(GemmCublasLt, Errors) {
  const CublasLtApi api = FakeApi();
  CublasLtGemms gemms(api, TryOnHost);
  auto message = [&](const GemmProblem& p) {
    return std::string(gemms.Prepare(p).status().message());
  };
  EXPECT_THAT(message(Problem(DType::kI32, 1, 4, 4, 4, false, false)),
              HasSubstr("does not multiply i32"));
  GemmProblem p = Problem(DType::kF32, 1, 4, 4, 4, false, false);
  p.lda = 3;
  EXPECT_THAT(message(p),
              HasSubstr("f32 1 x [4,4] [4,4], ld 3 4 4, align 16: rows of 4 elements are 3 apart"));
  p = Problem(DType::kF32, 1, 4, 4, 4, false, false);
  p.align = 2;
  EXPECT_THAT(message(p), HasSubstr("must be aligned to their elements"));
  EXPECT_THAT(message(Problem(DType::kF32, 1, 4, 4, 0, false, false)),
              HasSubstr("k is 0, so the result is zeros"));
  counts.found = 0;
  EXPECT_THAT(message(Problem(DType::kF16, 1, 4, 4, 4, false, false)),
              HasSubstr("has no algorithm for f16 1 x [4,4] [4,4]"));
}

}  // namespace
}  // namespace jitfuse::internal
