// Tuning on a device whose time the test writes: what is tried, what is chosen, for which calls it
// holds, and what is left alone.
#include "jit/tune.h"

#include <sys/wait.h>
#include <unistd.h>

#include <thread>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "api/explain.h"
#include "ir/support/status.h"
#include "ir/text.h"
#include "jit/call_cache.h"
#include "jit/executor.h"
#include "jit/interpret_backend.h"
#include "tests/null/jit/tune_kit.h"

namespace jitfuse::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Tune, NothingIsTimedUnlessAskedFor) {
  Harness h(kProduct);
  h.backend().cost = Best(2);
  auto bound = h.Run(Product(100));
  ASSERT_TRUE(bound.ok()) << bound.status();
  EXPECT_EQ(h.backend().timings, 0);
  EXPECT_THAT(h.backend().ran, ElementsAre(0));
  EXPECT_EQ((*bound)->tuned, nullptr);
  EXPECT_THAT(ExplainText(**bound, {}), Not(HasSubstr("tune")));
}

// Where inputs are bound the products may be other ones.
TEST(Tune, ARecordOfAFunctionOfAllInputsIsNotThatOfABoundOne) {
  Harness h(kProduct);
  const auto record = h.Tune(Product(100));
  ASSERT_TRUE(record.ok()) << record.status();
  std::vector<float> w(32 * 64);
  KernelCache kernels;
  CallCache bound(*ParseGraph(kProduct), Options{}, &h.backend(), &kernels, {},
                  {{false, true}, {nullptr, w.data()}, {0, 0}, {}});
  EXPECT_THAT(std::string(bound.UseRecord(h.views(), {}, **record).message()),
              HasSubstr("another class of calls"));
}

TEST(Tune, AForksChildDoesNotWaitForATuningOfItsParent) {
  Harness h(kProduct);
  int status = -1;
  bool forked = false;
  h.backend().cost = [&](const GemmProblem&, int) {
    if (std::exchange(forked, true)) return 10.0;
    const pid_t child = fork();
    if (child == 0) {
      alarm(60);
      _exit(h.Tune(Product(100)).ok() ? 0 : 1);
    }
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return 10.0;
  };
  ASSERT_TRUE(h.Tune(Product(100)).ok());
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST(Tune, AutotuneChoosesBeforeTheFirstResultAndOnce) {
  Harness h(kProduct, /*autotune=*/true);
  h.backend().cost = Best(2);
  auto bound = h.Run(Product(100));
  ASSERT_TRUE(bound.ok()) << bound.status();
  EXPECT_THAT(h.backend().ran, ElementsAre(2));
  const int64_t timings = h.backend().timings;
  EXPECT_GT(timings, 3 * 5);
  ASSERT_TRUE(h.Run(Product(100)).ok());
  EXPECT_EQ(h.backend().timings, timings);
  EXPECT_EQ(h.cache().stats().tuned, 1);
  const std::string text = ExplainText(**bound, {});
  EXPECT_THAT(text, HasSubstr("tuned by timing:"));
  EXPECT_THAT(text, HasSubstr("product f32 1 x [100,32] [32,64], align 16"));
  EXPECT_THAT(text, HasSubstr("     5.00 us * algorithm 2"));
  EXPECT_THAT(text, HasSubstr("    10.00 us   algorithm 0"));
  EXPECT_EQ(h.backend().allocations(), 0);
}

TEST(Tune, WhatTheLibrarySaysStaysUnlessSomethingIsClearlyFaster) {
  Harness h(kProduct, true);
  h.backend().cost = [](const GemmProblem&, int a) { return a == 1 ? 9.9 : 10.0; };
  ASSERT_TRUE(h.Run(Product(100)).ok());
  EXPECT_THAT(h.backend().ran, ElementsAre(0));
}

// One slow moment, or one fast, decides nothing.
TEST(Tune, MediansCount) {
  Harness h(kProduct, true);
  int64_t calls = 0;
  h.backend().cost = [&](const GemmProblem&, int a) {
    if (++calls % 5 == 0) return a == 1 ? 1000.0 : 0.1;
    return a == 1 ? 5.0 : 10.0;
  };
  ASSERT_TRUE(h.Run(Product(100)).ok());
  EXPECT_THAT(h.backend().ran, ElementsAre(1));
}

TEST(Tune, AChoiceHoldsForItsPowerOfTwo) {
  Harness h(kProduct, true);
  h.backend().cost = [](const GemmProblem& p, int a) {
    return (p.m <= 128 ? a == 1 : a == 2) ? 5.0 : 10.0;
  };
  ASSERT_TRUE(h.Run(Product(100)).ok());
  EXPECT_THAT(h.backend().ran, ElementsAre(1));
  const int64_t timings = h.backend().timings;
  for (int64_t n : {65, 100, 127, 128}) {
    ASSERT_TRUE(h.Run(Product(n)).ok());
    EXPECT_THAT(h.backend().ran, ElementsAre(1)) << n;
  }
  EXPECT_EQ(h.backend().timings, timings);
  ASSERT_TRUE(h.Run(Product(129)).ok());
  EXPECT_THAT(h.backend().ran, ElementsAre(2));
  EXPECT_EQ(h.cache().stats().tuned, 2);
  EXPECT_EQ(h.cache().executables().size(), 1u);  // nothing is compiled for it
  // Where the choice does not fit a size, the library's own is taken.
  h.backend().unfit = {{77, 1}};
  ASSERT_TRUE(h.Run(Product(77)).ok());
  EXPECT_THAT(h.backend().ran, ElementsAre(0));
}

// The product with bias and relu is slow here; with a bias alone, or alone, it is fast.
TEST(Tune, PlansAreChosenEndToEnd) {
  struct Case {
    double all, sums, none;
    const char* chosen;
    size_t steps;
  };
  for (const Case& c : {Case{20, 20, 20, "all", 1}, Case{20, 8, 12, "sums", 2},
                        Case{20, 20, 4, "none", 2}, Case{12, 8, 8, "all", 1}}) {
    Harness h(kLayer, true);
    h.backend().cost = [&](const GemmProblem& p, int a) {
      const double us = p.epilogue.empty()                               ? c.none
                        : p.epilogue.activation == GemmActivation::kNone ? c.sums
                                                                         : c.all;
      return us + (a == 1 ? 0 : 1);
    };
    auto bound = h.Run(Layer(100));
    ASSERT_TRUE(bound.ok()) << bound.status();
    const TuneRecord& record = *(*bound)->tuned;
    EXPECT_EQ(record.plans.size(), 3u);
    EXPECT_EQ(ChoicesToString(record.plan().choices), c.chosen);
    EXPECT_EQ((*bound)->executable->steps.size(), c.steps);
    EXPECT_THAT(h.backend().ran, ElementsAre(1));
    EXPECT_THAT(ExplainText(**bound, {}), HasSubstr(absl::StrCat("epilogues: ", c.chosen)));
    if (c.steps == 2) EXPECT_THAT(ExplainText(**bound, {}), HasSubstr("epilogue_tuned"));
  }
}

// The first product is fast with its epilogue, the second without: no plan of one choice is best.
TEST(Tune, EachProductHasItsOwnEpilogue) {
  const char* const text =
      "graph f(%x: f32[n,32], %w: f32[64,32], %b: f32[64], %v: f32[16,64], %c: f32[16]) -> "
      "(f32[n,16]) {\n  %0 = linear(%x, %w, %b) : f32[n,64]\n"
      "  %1 = relu(%0) : f32[n,64]\n  %2 = linear(%1, %v, %c) : f32[n,16]\n"
      "  %3 = relu(%2) : f32[n,16]\n  return %3\n}";
  const std::vector<Dims> dims = {{100, 32}, {64, 32}, {64}, {16, 64}, {16}};
  Harness h(text, true);
  h.backend().cost = [](const GemmProblem& p, int a) {
    const bool fast = (p.n == 64) != p.epilogue.empty();
    return (fast ? 4.0 : 30.0) + (a == 1 ? 0 : 1);
  };
  auto bound = h.Run(dims);
  ASSERT_TRUE(bound.ok()) << bound.status();
  const TuneRecord& record = *(*bound)->tuned;
  ASSERT_EQ(record.plans.size(), 4u);
  EXPECT_EQ(record.chosen, 3);
  EXPECT_EQ(ChoicesToString(record.plan().choices), "all, none");
  EXPECT_EQ(record.plan().us, 4 + 4 + 5);
  EXPECT_EQ((*bound)->executable->steps.size(), 3u);
  EXPECT_THAT(h.backend().ran, ElementsAre(1, 1));
  EXPECT_EQ(*ParseTuneRecord(TuneRecordToText(record)), record);
  Harness other(text);
  ASSERT_TRUE(other.UseRecord(dims, record).ok());
  ASSERT_TRUE(other.Run(dims).ok());
  EXPECT_THAT(other.backend().ran, ElementsAre(1, 1));
}

// u @ v is computed once, by what the library says itself; x @ that is timed.
TEST(Tune, ProductsOfBoundInputsAloneAreNotTimed) {
  TimedBackend backend;
  KernelCache kernels;
  std::vector<float> x(100 * 32), u(32 * 8), v(8 * 64);
  HeldInputs held;
  held.bound = {false, true, true};
  held.data = {nullptr, u.data(), v.data()};
  held.bits = {0, 0, 0};
  Options options;
  options.autotune = true;
  CallCache cache(*ParseGraph("graph f(%x: f32[n,32], %u: f32[32,8], %v: f32[8,64]) -> "
                              "(f32[n,64]) {\n  %0 = matmul(%u, %v) : f32[32,64]\n"
                              "  %1 = matmul(%x, %0) : f32[n,64]\n  return %1\n}"),
                  options, &backend, &kernels, {}, held);
  backend.cost = [](const GemmProblem& p, int a) {
    EXPECT_TRUE(p.k == 32 || a == 0) << "the held product was timed";
    return a == 2 ? 5.0 : 10.0;
  };
  const Dims dx = {100, 32}, du = {32, 8}, dv = {8, 64};
  const std::vector<TensorView> in = {{x.data(), DType::kF32, dx, {}},
                                      {u.data(), DType::kF32, du, {}},
                                      {v.data(), DType::kF32, dv, {}}};
  const std::vector<uint64_t> scalars(3, 0);
  ASSERT_TRUE((*cache.Find(in, {}))->tune_first);
  auto bound = cache.TuneFirst({in, {}, scalars, nullptr, nullptr});
  ASSERT_TRUE(bound.ok()) << bound.status();
  const TuneRecord::Plan& plan = (*bound)->tuned->plan();
  ASSERT_EQ(plan.products.size(), 2u);
  EXPECT_TRUE(plan.products[0].tried.empty());
  EXPECT_THAT(plan.products[0].problem, HasSubstr("computed once"));
  EXPECT_EQ(plan.products[1].chosen, 2);
  EXPECT_EQ(cache.stats().prepared, 1);
  EXPECT_EQ(*ParseTuneRecord(TuneRecordToText(*(*bound)->tuned)), *(*bound)->tuned);
}

TEST(Tune, UserMemoryIsReadAndNothingElse) {
  Harness h(kProduct);
  auto record = h.Tune(Product(100));
  ASSERT_TRUE(record.ok()) << record.status();
  const auto* x = static_cast<const void*>(h.data()[0].data());
  for (const void* a : h.backend().read) EXPECT_EQ(a, x);
  for (void* d : h.backend().written) EXPECT_EQ(d, h.backend().written[0]);
  for (const auto& tensor : h.data()) EXPECT_THAT(tensor, testing::Each(0.0f));
  EXPECT_EQ(h.backend().allocations(), 0);
}

// A result over an input: both are copies.
TEST(Tune, InPlace) {
  TimedBackend backend;
  KernelCache kernels;
  CallCache cache(
      *ParseGraph("graph f(%x: f32[64,32], %w: f32[32,64], %c: f32[64,64]) -> (f32[64,64]) {\n"
                  "  %0 = matmul(%x, %w) : f32[64,64]\n  %1 = add(%0, %c) : f32[64,64]\n"
                  "  return %1\n}"),
      Options{}, &backend, &kernels);
  std::vector<float> x(64 * 32), w(32 * 64), c(64 * 64, 3.0f);
  const Dims dx = {64, 32}, dw = {32, 64}, dc = {64, 64};
  const std::vector<TensorView> in = {{x.data(), DType::kF32, dx, {}},
                                      {w.data(), DType::kF32, dw, {}},
                                      {c.data(), DType::kF32, dc, {}}};
  const std::vector<TensorView> out = {in[2]};
  const std::vector<uint64_t> scalars(3, 0);
  auto record = cache.Tune({in, out, scalars, nullptr, nullptr});
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_THAT(c, testing::Each(3.0f));
  for (void* d : backend.written) EXPECT_NE(d, c.data());
}

TEST(Tune, AgainOnRequestAndForOtherThreads) {
  Harness h(kProduct);
  h.backend().cost = Best(1);
  ASSERT_TRUE(h.Run(Product(100)).ok());
  EXPECT_THAT(h.backend().ran, ElementsAre(0));
  ASSERT_TRUE(h.Tune(Product(100)).ok());
  ASSERT_TRUE(h.Run(Product(100)).ok());
  EXPECT_THAT(h.backend().ran, ElementsAre(1));
  h.backend().cost = Best(2);
  absl::Status other;
  std::thread([&] {
    other = h.Run(Product(100)).status();
    if (other.ok()) other = h.Tune(Product(100)).status();
  }).join();
  ASSERT_TRUE(other.ok()) << other;
  ASSERT_TRUE(h.Run(Product(100)).ok());  // this thread had a bound call of before
  EXPECT_THAT(h.backend().ran, ElementsAre(2));
}

TEST(Tune, NeverWhileCaptured) {
  Harness h(kProduct, true);
  h.backend().capturing = true;
  h.backend().cost = Best(1);
  auto bound = h.Run(Product(100));
  ASSERT_TRUE(bound.ok()) << bound.status();
  EXPECT_EQ(h.backend().timings, 0);
  EXPECT_THAT(ExplainText(**bound, {}), HasSubstr("note tune_capturing: "));
  EXPECT_EQ(h.cache().stats().fallbacks[static_cast<size_t>(Reason::kTuneCapturing)], 1);
  const absl::Status asked = h.Tune(Product(100)).status();
  EXPECT_EQ(asked.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(asked.message()), HasSubstr("graph f: the stream is being captured"));
  // The key has had its first result: it changes on request alone.
  h.backend().capturing = false;
  ASSERT_TRUE(h.Run(Product(100)).ok());
  EXPECT_THAT(h.backend().ran, ElementsAre(0));
  ASSERT_TRUE(h.Tune(Product(100)).ok());
  ASSERT_TRUE(h.Run(Product(100)).ok());
  EXPECT_THAT(h.backend().ran, ElementsAre(1));
}

TEST(Tune, WhereThereIsNothingToChoose) {
  Harness sums("graph f(%x: f32[n]) -> (f32[n]) {\n  %0 = exp(%x) : f32[n]\n  return %0\n}", true);
  auto bound = sums.Run({{100}});
  ASSERT_TRUE(bound.ok()) << bound.status();
  EXPECT_THAT(ExplainText(**bound, {}), HasSubstr("note tune_nothing: "));
  auto record = sums.Tune({{100}});
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_EQ(*record, nullptr);
  Harness other(kProduct, true);
  other.backend().can_tune = false;
  bound = other.Run(Product(100));
  ASSERT_TRUE(bound.ok()) << bound.status();
  EXPECT_THAT(ExplainText(**bound, {}), HasSubstr("(on timed sm_90)"));
  EXPECT_EQ(other.backend().timings, 0);
}

TEST(Tune, WithoutMemoryTheCallStillRuns) {
  Harness h(kProduct, true);
  h.backend().largest_allocation = 16;
  auto bound = h.Run(Product(100));
  ASSERT_TRUE(bound.ok()) << bound.status();
  EXPECT_THAT(ExplainText(**bound, {}), HasSubstr("note tune_failed: "));
  EXPECT_THAT(ExplainText(**bound, {}), HasSubstr("the allocator had no 25600 bytes"));
  EXPECT_EQ(h.Tune(Product(100)).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(h.backend().allocations(), 0);
}

TEST(Tune, EqualProductsAreTimedOnce) {
  Harness h(
      "graph f(%x: f32[n,32], %w: f32[32,32], %v: f32[32,32]) -> (f32[n,32]) {\n"
      "  %0 = matmul(%x, %w) : f32[n,32]\n  %1 = matmul(%0, %v) : f32[n,32]\n  return %1\n}",
      true);
  h.backend().cost = Best(1);
  auto bound = h.Run({{100, 32}, {32, 32}, {32, 32}});
  ASSERT_TRUE(bound.ok()) << bound.status();
  EXPECT_THAT(h.backend().ran, ElementsAre(1, 1));
  const auto& products = (*bound)->tuned->plan().products;
  ASSERT_EQ(products.size(), 2u);
  EXPECT_EQ(products[1].like, 0);
  EXPECT_TRUE(products[1].tried.empty());
}

TEST(Tune, RecordsAreKeptAsText) {
  TuneRecord kept;
  {
    Harness h(kLayer);
    h.backend().cost = [](const GemmProblem& p, int a) {
      return (p.epilogue.empty() ? 1.0 : 20.0) + (a == 2 ? 0.125 : 10.0);
    };
    auto record = h.Tune(Layer(100));
    ASSERT_TRUE(record.ok()) << record.status();
    const std::string text = TuneRecordToText(**record);
    auto parsed = ParseTuneRecord(text);
    ASSERT_TRUE(parsed.ok()) << parsed.status() << text;
    EXPECT_EQ(*parsed, **record);
    EXPECT_THAT(text, HasSubstr("jitfuse tuning 1\n"));
    EXPECT_THAT(text, HasSubstr("target timed sm_90\nlibrary timed 1\nchosen 2\n"));
    kept = *parsed;
  }
  Harness h(kLayer, true);
  ASSERT_TRUE(h.UseRecord(Layer(120), kept).ok());
  auto bound = h.Run(Layer(100));
  ASSERT_TRUE(bound.ok()) << bound.status();
  EXPECT_EQ(h.backend().timings, 0);
  EXPECT_THAT(h.backend().ran, ElementsAre(2));
  EXPECT_EQ((*bound)->executable->steps.size(), 2u);
  // Of something else it is refused.
  const auto message = [&](const absl::Status& s) { return std::string(s.message()); };
  EXPECT_THAT(message(h.UseRecord(Layer(300), kept)), HasSubstr("another class of calls"));
  Harness other(kProduct);
  EXPECT_THAT(message(other.UseRecord(Product(100), kept)), HasSubstr("another graph"));
  h.backend().library = "timed 2";
  EXPECT_THAT(message(h.UseRecord(Layer(100), kept)),
              HasSubstr("another matrix library: expected timed 2, got timed 1"));
}

TEST(Tune, WrongRecords) {
  const std::string head = "jitfuse tuning 1\ngraph a\ncall b\ntarget c\nlibrary d\nchosen 0\n";
  const auto message = [](const std::string& text) {
    return std::string(ParseTuneRecord(text).status().message());
  };
  EXPECT_TRUE(ParseTuneRecord(head + "plan 1 -\n").ok());
  EXPECT_THAT(message(""), HasSubstr("line 1: expected a line 'jitfuse tuning ...', got its end"));
  EXPECT_THAT(message("jitfuse tuning 2\n"), HasSubstr("line 1: expected version 1, got 'jitfuse"));
  EXPECT_THAT(message(head), HasSubstr("line 7: expected at least 1 lines 'plan'"));
  EXPECT_THAT(message(head + "plan x -\n"), HasSubstr("line 7: expected 'plan MICROSECONDS"));
  EXPECT_THAT(message(head + "plan 1 most\n"), HasSubstr("line 7"));
  EXPECT_THAT(message(head + "plan 1 -\nproduct 0 0 p\n"), HasSubstr("line 8: expected 'product"));
  EXPECT_THAT(message(head + "plan 1 -\nproduct -1 1 p\ntried 1 a text\n"),
              HasSubstr("at least 2 lines 'tried'"));
  EXPECT_THAT(message(head + "plan 1 -\nproduct -1 0 p\ntried -1 a text\n"), HasSubstr("line 9"));
  EXPECT_THAT(message(head + "plan 1 -\nnonsense\n"), HasSubstr("line 8: expected a line 'plan"));
}

TEST(Tune, ProductsWithoutAnAlgorithmStandAlone) {
  Harness h(kLayer);
  h.backend().refuses = [](const GemmProblem& p) { return !p.epilogue.empty(); };
  auto bound = h.Run(Layer(100));
  ASSERT_TRUE(bound.ok()) << bound.status();
  EXPECT_EQ((*bound)->executable->steps.size(), 2u);
  EXPECT_THAT(ExplainText(**bound, {}), HasSubstr("epilogue_no_algorithm: "));
  // One product of two keeps its epilogue, and so do both at another size.
  Harness two(
      "graph f(%x: f32[n,32], %w: f32[32,48], %v: f32[48,64]) -> (f32[n,64]) {\n"
      "  %0 = matmul(%x, %w) : f32[n,48]\n  %1 = relu(%0) : f32[n,48]\n"
      "  %2 = matmul(%1, %v) : f32[n,64]\n  %3 = relu(%2) : f32[n,64]\n  return %3\n}");
  two.backend().refuses = [](const GemmProblem& p) {
    return p.n == 64 && p.m == 100 && !p.epilogue.empty();
  };
  bound = two.Run({{100, 32}, {32, 48}, {48, 64}});
  ASSERT_TRUE(bound.ok()) << bound.status();
  ASSERT_EQ((*bound)->executable->steps.size(), 3u);
  EXPECT_FALSE((*bound)->executable->gemms[0].call.epilogue.empty());
  EXPECT_TRUE((*bound)->executable->gemms[1].call.epilogue.empty());
  bound = two.Run({{99, 32}, {32, 48}, {48, 64}});
  ASSERT_TRUE(bound.ok()) << bound.status();
  EXPECT_EQ((*bound)->executable->steps.size(), 2u);
  // Without any algorithm it is an error.
  Harness none(kProduct);
  none.backend().refuses = [](const GemmProblem&) { return true; };
  EXPECT_THAT(std::string(none.Run(Product(100)).status().message()),
              HasSubstr("no algorithm for product"));
}

}  // namespace
}  // namespace jitfuse::internal
