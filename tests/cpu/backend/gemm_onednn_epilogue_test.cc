// What oneDNN computes behind a product, bit for bit: every epilogue it takes, by dtype,
// transposes, batches, strides and vectors, of sums that are exact and of special values. C in D,
// threads, fork.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/cpu/backend/gemm_kit.h"

namespace jitfuse::internal {
namespace {

#if JF_HAVE_ONEDNN

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kSpecials[] = {NAN, kInf, -kInf, -0.0f, 3e38f, -3e38f, -90.0f, 1e-45f, -1e-39f};

struct Data {
  std::vector<char> a, b, c, bias, d;
};

void Put(DType dtype, std::vector<char>* to, int64_t at, float value) {
  StoreScalar(dtype, ScalarFromDouble(dtype, static_cast<double>(value)),
              to->data() + at * ItemSize(dtype));
}
float Get(DType dtype, const std::vector<char>& from, int64_t at) {
  return static_cast<float>(At(from, dtype, at));
}

int64_t AtA(const GemmProblem& p, int64_t i, int64_t row, int64_t k) {
  return i * p.batch_stride_a + (p.transpose_a ? k * p.lda + row : row * p.lda + k);
}
int64_t AtB(const GemmProblem& p, int64_t i, int64_t k, int64_t col) {
  return i * p.batch_stride_b + (p.transpose_b ? col * p.ldb + k : k * p.ldb + col);
}
int64_t AtC(const GemmProblem& p, int64_t i, int64_t row, int64_t col) {
  return i * p.batch_stride_c + row * p.ldc + col;
}
int64_t AtD(const GemmProblem& p, int64_t i, int64_t row, int64_t col) {
  return i * p.batch_stride_d + row * p.ldd + col;
}

// Small integers; every fourth row of A is a special value and zeros, and B's first row ones.
Data MakeData(const GemmProblem& p) {
  Data o;
  const auto size = static_cast<size_t>(ItemSize(p.dtype));
  // A kernel for bf16 takes the least numbers for 0, with an epilogue or without.
  const int64_t specials = std::ssize(kSpecials) - (p.dtype == DType::kBF16 ? 2 : 0);
  o.a.assign(static_cast<size_t>(AtA(p, p.batch - 1, p.m - 1, p.k - 1) + 1) * size, '\x5a');
  o.b.assign(static_cast<size_t>(AtB(p, p.batch - 1, p.k - 1, p.n - 1) + 1) * size, '\x5a');
  o.c.assign(static_cast<size_t>(AtC(p, p.batch - 1, p.m - 1, p.n - 1) + 1) * size, '\x5a');
  o.d.assign(static_cast<size_t>(AtD(p, p.batch - 1, p.m - 1, p.n - 1) + 1) * size, '\x5a');
  o.bias.assign(static_cast<size_t>(p.n) * size, '\x5a');
  for (int64_t i = 0; i < p.batch; ++i) {
    for (int64_t k = 0; k < p.k; ++k) {
      for (int64_t row = 0; row < p.m; ++row) {
        float value = static_cast<float>((row + 2 * k + i) % 5 - 2);
        if ((row + i) % 4 == 1) value = k == 0 ? kSpecials[(row + i) / 4 % specials] : 0.0f;
        Put(p.dtype, &o.a, AtA(p, i, row, k), value);
      }
      for (int64_t col = 0; col < p.n; ++col)
        Put(p.dtype, &o.b, AtB(p, i, k, col),
            k == 0 ? 1.0f : static_cast<float>((3 * k + col + i) % 4 - 1));
    }
    for (int64_t row = 0; row < p.m; ++row)
      for (int64_t col = 0; col < p.n; ++col)
        Put(p.dtype, &o.c, AtC(p, i, row, col), static_cast<float>((row + 3 * col + i) % 7 - 3));
  }
  for (int64_t col = 0; col < p.n; ++col)
    Put(p.dtype, &o.bias, col, col % 11 == 10 ? NAN : static_cast<float>(col % 6 - 3));
  return o;
}

float Expected(const GemmProblem& p, const Data& o, int64_t i, int64_t row, int64_t col) {
  double sum = 0;
  for (int64_t k = 0; k < p.k; ++k)
    sum += static_cast<double>(Get(p.dtype, o.a, AtA(p, i, row, k))) *
           static_cast<double>(Get(p.dtype, o.b, AtB(p, i, k, col)));
  const GemmEpilogue& e = p.epilogue;
  float x = static_cast<float>(sum) * static_cast<float>(e.alpha);
  const float bias = e.bias ? Get(p.dtype, o.bias, col) : 0;
  if (e.bias) x += bias;
  if (e.has_c()) x += static_cast<float>(e.beta) * Get(p.dtype, o.c, AtC(p, i, row, col));
  if (e.activation == GemmActivation::kRelu && x <= 0) x = 0;
  std::vector<char> stored(8);
  Put(p.dtype, &stored, 0, x);
  return Get(p.dtype, stored, 0);
}

void ExpectExact(const GemmProblem& p, const Data& o) {
  for (int64_t i = 0; i < p.batch; ++i) {
    for (int64_t row = 0; row < p.m; ++row) {
      for (int64_t col = 0; col < p.n; ++col) {
        const float want = Expected(p, o, i, row, col),
                    got = Get(p.dtype, o.d, AtD(p, i, row, col));
        if (std::isnan(want) ? std::isnan(got)
                             : std::bit_cast<uint32_t>(got) == std::bit_cast<uint32_t>(want))
          continue;
        FAIL() << got << " at " << i << "," << row << "," << col << ", expected " << want;
      }
    }
  }
}

absl::Status RunProduct(const PreparedGemm& gemm, const GemmProblem& p, Data* o,
                        bool in_place = false) {
  std::vector<std::max_align_t> workspace(gemm.workspace_bytes() / sizeof(std::max_align_t) + 1);
  return RunOnednn(gemm, {.a = o->a.data(),
                          .b = o->b.data(),
                          .c = !p.epilogue.has_c() ? nullptr
                               : in_place          ? o->d.data()
                                                   : o->c.data(),
                          .bias = p.epilogue.bias ? o->bias.data() : nullptr,
                          .d = o->d.data(),
                          .workspace = workspace.data()});
}

void RunAndCheck(const GemmProblem& p) {
  SCOPED_TRACE(absl::StrCat(p.dtype == DType::kF32 ? "f32 " : "bf16 ", p.batch, "x", p.m, "x", p.n,
                            "x", p.k, " ", p.transpose_a, p.transpose_b, " ldc ", p.ldc, " ldd ",
                            p.ldd, ": ", EpilogueToString(p.epilogue)));
  Data o = MakeData(p);
  auto gemm = PrepareOnednn(p);
  ASSERT_TRUE(gemm.ok()) << gemm.status();
  ASSERT_TRUE(RunProduct(**gemm, p, &o).ok());
  ExpectExact(p, o);
  // C in D itself.
  if (!p.epilogue.has_c() || p.ldc != p.ldd || p.batch_stride_c != p.batch_stride_d) return;
  o.d = o.c;
  ASSERT_TRUE(RunProduct(**gemm, p, &o, true).ok());
  ExpectExact(p, o);
}

std::vector<GemmEpilogue> Epilogues() {
  std::vector<GemmEpilogue> out;
  for (GemmActivation act : {GemmActivation::kNone, GemmActivation::kRelu}) {
    for (double alpha : {1.0, -0.5}) {
      for (double beta : {0.0, 1.0, 2.0}) {
        out.push_back({alpha, beta, false, act});
        out.push_back({alpha, beta, true, act});
      }
    }
  }
  return out;
}

GemmProblem With(GemmProblem p, const GemmEpilogue& e, int64_t pad_c) {
  p.epilogue = e;
  if (!e.has_c()) return p;
  p.ldc = p.n + pad_c;
  p.batch_stride_c =
      p.batch == 1 ? 0 : p.m * p.ldc + (pad_c == 0 ? p.batch_stride_d - p.m * p.ldd : 2);
  return p;
}
// As the planner asks for it: D dense, batches side by side.
GemmProblem Dense(DType dtype, int64_t batch, int64_t m, int64_t n, int64_t k, bool ta, bool tb) {
  GemmProblem p = Problem(dtype, batch, m, n, k, ta, tb, 0);
  p.batch_stride_a = batch == 1 ? 0 : m * k;
  p.batch_stride_b = batch == 1 ? 0 : k * n;
  p.batch_stride_d = batch == 1 ? 0 : m * n;
  return p;
}

TEST(GemmOnednnEpilogue, AllOfThemByShape) {
  for (DType dtype : Types()) {
    for (const GemmEpilogue& e : Epilogues()) {
      Reason reason = Reason::kCount;
      const absl::Status support = OnednnEpilogueSupport(dtype, e, &reason);
      ASSERT_TRUE(support.ok()) << support;
      for (bool ta : {false, true}) {
        for (bool tb : {false, true}) {
          for (int64_t pad_c : {0, 3}) {
            RunAndCheck(With(Dense(dtype, 1, 41, 17, 33, ta, tb), e, pad_c));
            RunAndCheck(With(Dense(dtype, 3, 7, 32, 9, ta, tb), e, pad_c));
            RunAndCheck(With(Problem(dtype, 1, 37, 15, 5, ta, tb, 3), e, pad_c));
            RunAndCheck(With(Problem(dtype, 3, 5, 8, 9, ta, tb, 3), e, pad_c));
          }
        }
      }
    }
  }
}

// Rows and columns of one, near and apart.
TEST(GemmOnednnEpilogue, Vectors) {
  for (DType dtype : Types()) {
    for (const GemmEpilogue& e : Epilogues()) {
      if ((e.alpha == 1) != (e.beta == 2)) continue;  // enough of them
      for (int bits = 0; bits < 64; ++bits) {
        auto pick = [bits](int bit, int64_t unset, int64_t set) {
          return (bits >> bit & 1) != 0 ? set : unset;
        };
        const GemmProblem p = Problem(dtype, pick(0, 1, 3), pick(1, 1, 9), pick(2, 1, 24), 11,
                                      pick(3, 0, 1) != 0, false, pick(4, 0, 3));
        RunAndCheck(With(p, e, pick(5, 0, 2)));
      }
    }
  }
}

// Products of the size that threads share, and whose sums over k come in pieces.
TEST(GemmOnednnEpilogue, Large) {
  for (DType dtype : Types()) {
    const GemmActivation relu = GemmActivation::kRelu;
    for (const GemmEpilogue& e : {GemmEpilogue{1, 0, true, relu}, GemmEpilogue{-0.5, 2, true, relu},
                                  GemmEpilogue{1, 1, true, relu}, GemmEpilogue{1, 1, false}}) {
      RunAndCheck(With(Dense(dtype, 1, 33, 130, 2100, false, true), e, 0));
      RunAndCheck(With(Dense(dtype, 1, 5, 300, 3000, false, false), e, 0));
    }
  }
}

// One matrix for all, and batches that run into each other: each has its own C.
TEST(GemmOnednnEpilogue, BroadcastAndOverlappingBatches) {
  for (DType dtype : Types()) {
    for (const GemmEpilogue& e : Epilogues()) {
      GemmProblem p = With(Dense(dtype, 4, 9, 10, 11, false, true), e, 0);
      p.batch_stride_b = 0;
      RunAndCheck(p);
      p.batch_stride_a = 0;
      RunAndCheck(p);
      EXPECT_TRUE(absl::StrContains((*PrepareOnednn(p))->Describe(), "4 calls, one a batch"));
      GemmProblem q = With(Dense(dtype, 4, 9, 10, 11, false, true), e, 0);
      if (!e.has_c()) continue;
      q.batch_stride_c = 0;  // one C for all
      RunAndCheck(q);
    }
  }
}

TEST(GemmOnednnEpilogue, DescriptionsSayHowCIsRead) {
  auto text = [](const GemmProblem& p) { return (*PrepareOnednn(p))->Describe(); };
  const GemmEpilogue plain{1, 1, true}, scaled{1, 2, true};
  const GemmProblem p = Dense(DType::kF32, 1, 9, 10, 11, false, false);
  EXPECT_FALSE(absl::StrContains(text(With(p, plain, 0)), "copied"));
  EXPECT_TRUE(absl::StrContains(text(With(p, plain, 3)), "C copied into D first (another layout)"));
  EXPECT_TRUE(absl::StrContains(text(With(p, scaled, 0)), "C copied into D first (a factor)"));
}

// What cannot be told from the table is refused with what was found.
TEST(GemmOnednnEpilogue, InexactActivationsAreRefused) {
  for (DType dtype : Types()) {
    for (GemmActivation act :
         {GemmActivation::kGelu, GemmActivation::kGeluTanh, GemmActivation::kSilu}) {
      Reason reason = Reason::kCount;
      const absl::Status status = OnednnEpilogueSupport(dtype, {1, 0, true, act}, &reason);
      EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
      EXPECT_TRUE(absl::StrContains(
          status.message(), absl::StrCat("oneDNN computes ", std::string(GemmActivationName(act)))))
          << status;
      EXPECT_EQ(reason, Reason::kEpilogueActivation);
    }
  }
}

// Several threads run one prepared product, some with C in D.
TEST(GemmConcurrency, EpiloguesOnManyThreads) {
  const GemmProblem p = With(Dense(DType::kF32, 1, 61, 96, 123, false, true),
                             {-0.5, 1, true, GemmActivation::kRelu}, 0);
  auto gemm = PrepareOnednn(p);
  ASSERT_TRUE(gemm.ok()) << gemm.status();
  std::atomic<int> failed{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 12; ++t) {
    threads.emplace_back([&, t] {
      for (int turn = 0; turn < 5; ++turn) {
        Data o = MakeData(p);
        const bool in_place = (t + turn) % 2 == 0;
        if (in_place) o.d = o.c;
        Reason reason;
        if (!OnednnEpilogueSupport(p.dtype, p.epilogue, &reason).ok()) ++failed;
        if (!RunProduct(**gemm, p, &o, in_place).ok()) ++failed;
        ExpectExact(p, o);
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(failed, 0);
}

#if !defined(JF_TSAN)
TEST(GemmOnednnFork, ChildComputesEpilogues) {
  const GemmProblem p = With(Dense(DType::kF32, 1, 256, 256, 256, false, false),
                             {1, 1, true, GemmActivation::kRelu}, 0);
  Data o = MakeData(p);
  auto gemm = PrepareOnednn(p);
  ASSERT_TRUE(gemm.ok());
  ASSERT_TRUE(RunProduct(**gemm, p, &o).ok());
  ExpectExact(p, o);
  pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(60);
    Data mine = o;
    std::fill(mine.d.begin(), mine.d.end(), '\0');
    Reason reason;
    if (!OnednnEpilogueSupport(p.dtype, p.epilogue, &reason).ok()) _exit(2);
    if (!RunProduct(**gemm, p, &mine).ok()) _exit(3);
    for (int64_t i = 0; i < p.m * p.n; ++i) {
      const float x = Get(p.dtype, mine.d, i), y = Get(p.dtype, o.d, i);
      if (x != y && !(std::isnan(x) && std::isnan(y))) _exit(4);
    }
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}
#endif

#endif

}  // namespace
}  // namespace jitfuse::internal
