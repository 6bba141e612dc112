// Matrix products through oneDNN against a plain triple loop: transposes, strides, batches,
// broadcast batches, bf16, threads, fork.
#include "cpu_backend/gemm_onednn.h"

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "tests/cpu/backend/gemm_kit.h"

namespace jitfuse::internal {
namespace {

#if JF_HAVE_ONEDNN

absl::Status RunProduct(const PreparedGemm& gemm, const void* a, const void* b, void* d) {
  std::vector<char> workspace(gemm.workspace_bytes());
  return RunOnednn(gemm, {.a = a, .b = b, .d = d, .workspace = workspace.data()});
}

void ExpectProduct(const GemmProblem& p, const Operands& o) {
  double unit = p.dtype == DType::kBF16 ? 0x1p-8 : 0x1p-24;
  for (int64_t i = 0; i < p.batch; ++i) {
    for (int64_t row = 0; row < p.m; ++row) {
      for (int64_t col = 0; col < p.n; ++col) {
        double sum = 0, magnitude = 0;
        for (int64_t k = 0; k < p.k; ++k) {
          double a = At(o.a, p.dtype,
                        i * p.batch_stride_a + (p.transpose_a ? k * p.lda + row : row * p.lda + k));
          double b = At(o.b, p.dtype,
                        i * p.batch_stride_b + (p.transpose_b ? col * p.ldb + k : k * p.ldb + col));
          sum += a * b;
          magnitude += std::abs(a * b);
        }
        double bound = unit * std::abs(sum) + 0x1p-24 * static_cast<double>(p.k + 2) * magnitude;
        ASSERT_NEAR(At(o.d, p.dtype, i * p.batch_stride_d + row * p.ldd + col), sum, bound)
            << i << "," << row << "," << col;
      }
    }
  }
}

void RunAndCheck(const GemmProblem& p) {
  SCOPED_TRACE(absl::StrCat(DTypeName(p.dtype) == "f32" ? "f32 " : "bf16 ", p.batch, "x", p.m, "x",
                            p.n, "x", p.k, " ", p.transpose_a, p.transpose_b));
  Operands o = MakeOperands(p, 1);
  auto gemm = PrepareOnednn(p);
  ASSERT_TRUE(gemm.ok()) << gemm.status();
  EXPECT_NE((*gemm)->Describe().find("oneDNN"), std::string::npos);
  absl::Status status = RunProduct(**gemm, o.a.data(), o.b.data(), o.d.data());
  ASSERT_TRUE(status.ok()) << status;
  ExpectProduct(p, o);
}

TEST(GemmOnednn, ShapesTransposesStrides) {
  for (DType dtype : Types()) {
    for (bool ta : {false, true}) {
      for (bool tb : {false, true}) {
        for (int64_t pad : {0, 3}) {
          RunAndCheck(Problem(dtype, 1, 33, 17, 65, ta, tb, pad));
          RunAndCheck(Problem(dtype, 3, 5, 8, 9, ta, tb, pad));
        }
        RunAndCheck(Problem(dtype, 1, 1, 1, 1, ta, tb, 0));
        RunAndCheck(Problem(dtype, 1, 1, 40, 64, ta, tb, 0));
        RunAndCheck(Problem(dtype, 1, 40, 1, 64, ta, tb, 0));
      }
    }
  }
}

// An extent of 1 makes strides ambiguous: oneDNN 3.7 takes a row whose elements lie apart for one
// whose elements do not.
TEST(GemmOnednn, SingleRowsAndColumns) {
  for (DType dtype : Types()) {
    for (int bits = 0; bits < 128; ++bits) {
      auto pick = [bits](int bit, int64_t unset, int64_t set) {
        return (bits >> bit & 1) != 0 ? set : unset;
      };
      RunAndCheck(Problem(dtype, pick(0, 1, 3), pick(1, 1, 9), pick(2, 1, 24), pick(3, 1, 33),
                          pick(4, 0, 1) != 0, pick(5, 0, 1) != 0, pick(6, 0, 3)));
    }
  }
}

TEST(GemmOnednn, BroadcastBatches) {
  for (DType dtype : Types()) {
    GemmProblem p = Problem(dtype, 4, 9, 10, 11, false, false, 0);
    p.batch_stride_a = 0;
    RunAndCheck(p);
    p = Problem(dtype, 4, 9, 10, 11, false, true, 0);
    p.batch_stride_b = 0;
    RunAndCheck(p);
  }
}

// Batches that overlap, and that run backwards: oneDNN knows neither.
TEST(GemmOnednn, BatchesThatDoNotNest) {
  GemmProblem p = Problem(DType::kF32, 4, 9, 10, 11, false, false, 0);
  p.batch_stride_a = 3;
  p.batch_stride_b = 1;
  RunAndCheck(p);

  Operands o = MakeOperands(Problem(DType::kF32, 4, 9, 10, 11, false, false, 0), 1), reversed = o;
  GemmProblem forward = Problem(DType::kF32, 4, 9, 10, 11, false, false, 0), backward = forward;
  backward.batch_stride_a = -forward.batch_stride_a;
  auto gemm = PrepareOnednn(backward);
  ASSERT_TRUE(gemm.ok()) << gemm.status();
  int64_t matrix = forward.batch_stride_a * ItemSize(DType::kF32);
  ASSERT_TRUE(RunProduct(**gemm, o.a.data() + 3 * matrix, o.b.data(), o.d.data()).ok());
  const int64_t used =
      forward.m * forward.k * ItemSize(DType::kF32);  // the last matrix has no gap behind it
  for (int64_t i = 0; i < 4; ++i)
    std::copy_n(o.a.data() + (3 - i) * matrix, used, reversed.a.data() + i * matrix);
  reversed.d = o.d;
  ExpectProduct(forward, reversed);
}

// Batches that begin where the last row of the one before ends, though rows lie further apart: no
// overlap, but oneDNN 2.6 refuses strides that leave no room for the rest of that row.
TEST(GemmOnednn, BatchesWithoutTheGapOfARow) {
  for (DType dtype : Types()) {
    GemmProblem p = Problem(dtype, 3, 5, 8, 9, false, true, 3);
    p.batch_stride_a = (p.m - 1) * p.lda + p.k;
    p.batch_stride_b = (p.n - 1) * p.ldb + p.k;
    RunAndCheck(p);
    EXPECT_NE((*PrepareOnednn(p))->Describe().find("one a batch"), std::string::npos);
    p.batch_stride_a = p.m * p.lda;
    p.batch_stride_b = p.n * p.ldb;
    RunAndCheck(p);
    EXPECT_EQ((*PrepareOnednn(p))->Describe().find("one a batch"), std::string::npos);
  }
}

// explain() prints it.
TEST(GemmOnednn, DescriptionsNameCopiesAndRepeats) {
  auto text = [](const GemmProblem& p) { return (*PrepareOnednn(p))->Describe(); };
  auto has = [](const std::string& s, const char* what) { return s.find(what) != s.npos; };
  GemmProblem p = Problem(DType::kF32, 4, 9, 10, 11, false, false, 0);
  EXPECT_EQ(text(p).rfind("oneDNN ", 0), 0u) << text(p);
  EXPECT_FALSE(has(text(p), "copy")) << text(p);
  p.batch_stride_a = 3;
  EXPECT_TRUE(
      has(text(p), "4 calls, one a batch (they run backwards or into each other's rows): oneDNN "))
      << text(p);
  p.batch_stride_a = p.batch_stride_b = 0;
  EXPECT_TRUE(has(text(p), "4 calls, one a batch (each multiplies the same matrices): oneDNN "))
      << text(p);
  p = Problem(DType::kF32, 1, 1, 8, 9, true, false, 3);
  EXPECT_TRUE(has(text(p), "a dense copy of A (a row whose elements lie apart)")) << text(p);
  EXPECT_FALSE(has(text(p), "copy of D")) << text(p);
  p = Problem(DType::kF32, 1, 8, 1, 9, false, false, 3);
  EXPECT_TRUE(has(text(p), "a dense copy of D (a column whose elements lie apart)")) << text(p);
}

// ONEDNN_DEFAULT_FPMATH_MODE=BF16 lets oneDNN round f32 operands to bf16, where the CPU gains by
// it. Its log names the mode of a product if it is not strict.
TEST(GemmOnednn, F32IsMultipliedAsF32WhateverTheDefaultMode) {
  auto set_mode =
      reinterpret_cast<int (*)(int)>(dlsym(RTLD_DEFAULT, "dnnl_set_default_fpmath_mode"));
  auto get_mode =
      reinterpret_cast<int (*)(int*)>(dlsym(RTLD_DEFAULT, "dnnl_get_default_fpmath_mode"));
  auto set_verbose = reinterpret_cast<int (*)(int)>(dlsym(RTLD_DEFAULT, "dnnl_set_verbose"));
  if (set_mode == nullptr || get_mode == nullptr || set_verbose == nullptr)
    GTEST_SKIP() << "this oneDNN has no default mode";
  int before = 0;
  ASSERT_EQ(get_mode(&before), 0);
  ASSERT_EQ(set_mode(1), 0);  // bf16
  set_verbose(1);
  testing::internal::CaptureStdout();
  RunAndCheck(Problem(DType::kF32, 1, 47, 59, 83, false, false, 0));
  std::fflush(stdout);
  const std::string log = testing::internal::GetCapturedStdout();
  set_verbose(0);
  set_mode(before);
  int products = 0;  // lines of them, not of the log's head, which may explain the mode
  for (absl::string_view line : absl::StrSplit(log, '\n')) {
    if (!absl::StrContains(line, "exec,") || !absl::StrContains(line, "matmul")) continue;
    ++products;
    EXPECT_FALSE(absl::StrContains(line, "fpmath")) << log;
  }
  if (products == 0) GTEST_SKIP() << "this oneDNN logs nothing";
}

TEST(GemmOnednn, OtherTypesGiveTheReason) {
  for (DType dtype :
       {DType::kF16, DType::kF64, DType::kI8, DType::kI32, DType::kI64, DType::kU8, DType::kBool}) {
    Reason reason = Reason::kCount;
    EXPECT_FALSE(OnednnSupport(dtype, &reason).ok());
    EXPECT_EQ(reason, Reason::kGemmDtype);
    GemmProblem p = Problem(DType::kF32, 1, 4, 4, 4, false, false, 0);
    p.dtype = dtype;
    EXPECT_FALSE(PrepareOnednn(p).ok());
  }
  EXPECT_FALSE(PrepareOnednn(Problem(DType::kF32, 1, 0, 4, 4, false, false, 0)).ok());
}

TEST(GemmConcurrency, ConcurrentProducts) {
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 16; ++t) {
    threads.emplace_back([&wrong, t] {
      for (int turn = 0; turn < 5; ++turn) {
        GemmProblem p = Problem(DType::kF32, 1, 8 + turn, 16, 8 + t % 3, false, false, 0);
        Operands o = MakeOperands(p, static_cast<uint32_t>(t));
        auto gemm = PrepareOnednn(p);
        if (!gemm.ok() || !RunProduct(**gemm, o.a.data(), o.b.data(), o.d.data()).ok()) {
          ++wrong;
          continue;
        }
        ExpectProduct(p, o);
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

// Made on one thread, run on others, at once, between products that want more and less scratch.
TEST(GemmConcurrency, OneProductOnManyThreads) {
  std::vector<GemmProblem> problems;
  std::vector<std::shared_ptr<const PreparedGemm>> gemms;
  for (int64_t size : {8, 61, 128}) {
    problems.push_back(Problem(DType::kF32, 1, size, 16, 2 * size + 1, size == 61, true, 0));
    auto gemm = PrepareOnednn(problems.back());
    ASSERT_TRUE(gemm.ok()) << gemm.status();
    gemms.push_back(*std::move(gemm));
  }
  std::atomic<int> failed{0};
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 16; ++t) {
    threads.emplace_back([&, t] {
      for (size_t turn = 0; turn < 6; ++turn) {
        const size_t which = (t + turn) % problems.size();
        Operands o = MakeOperands(problems[which], static_cast<uint32_t>(t));
        if (!RunProduct(*gemms[which], o.a.data(), o.b.data(), o.d.data()).ok()) ++failed;
        ExpectProduct(problems[which], o);
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(failed, 0);
}

#if !defined(JF_TSAN)
// A product prepared by the parent, whose primitive wants OpenMP's pool, still runs in the child.
TEST(GemmOnednnFork, ChildWorks) {
  GemmProblem p = Problem(DType::kF32, 1, 256, 256, 256, false, false, 0);
  Operands o = MakeOperands(p, 1);
  auto gemm = PrepareOnednn(p);
  ASSERT_TRUE(gemm.ok());
  ASSERT_TRUE(RunProduct(**gemm, o.a.data(), o.b.data(), o.d.data()).ok());
  pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(60);
    Operands mine = o;
    std::fill(mine.d.begin(), mine.d.end(), '\0');
    if (!RunProduct(**gemm, mine.a.data(), mine.b.data(), mine.d.data()).ok()) _exit(2);
    for (size_t i = 0; i < mine.d.size(); i += 4) {
      if (std::abs(At(mine.d, DType::kF32, static_cast<int64_t>(i / 4)) -
                   At(o.d, DType::kF32, static_cast<int64_t>(i / 4))) > 1e-3)
        _exit(3);
    }
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}
#endif

#else

TEST(GemmOnednn, MissingLibraryGivesTheReason) {
  Reason reason = Reason::kCount;
  EXPECT_FALSE(OnednnSupport(DType::kF32, &reason).ok());
  EXPECT_EQ(reason, Reason::kGemmNoLibrary);
}

#endif

}  // namespace
}  // namespace jitfuse::internal
