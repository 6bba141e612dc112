// CompileOptions::verify on the CPU: right kernels pass, wrong ones are found in every dtype,
// output and layout, and then named or answered for.
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "api/function_state.h"
#include "api/inspect.h"
#include "api/jitfuse.h"
#include "cpu_backend/cpu_backend.h"
#include "ir/text.h"
#include "jit/interpret_backend.h"
#include "tests/test_util/faulty_backend.h"

namespace jitfuse {
namespace {

using internal::Fault;
using internal::FaultyBackend;
using internal::VerifyPolicy;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

Array Values(std::vector<double> v, DType dtype = DType::kF32) {
  return *Array::FromValues(dtype, {static_cast<std::int64_t>(v.size())}, v);
}

CompileOptions Verifying(long long calls, VerifyAction action = VerifyAction::kError) {
  CompileOptions options;
  options.device = DeviceKind::kCpu;
  options.verify = calls;
  options.verify_action = action;
  return options;
}

// The messages of the library while this object lives.
class Logged {
 public:
  explicit Logged(int level) {
    SetLog(level, [this](int, const std::string& message) { lines.push_back(message); });
  }
  ~Logged() { SetLog(-1); }
  std::vector<std::string> lines;
};

// Graphs on kernels that are wrong where `faults` say, of the CPU or the interpreter.
class WrongKernels : public testing::TestWithParam<DeviceKind> {
 protected:
  Function Make(const std::string& text, std::vector<Fault> faults, const VerifyPolicy& policy) {
    auto graph = internal::ParseGraph(text);
    EXPECT_TRUE(graph.ok()) << graph.status() << text;
    std::unique_ptr<internal::Backend> inner = GetParam() == DeviceKind::kCpu
                                                   ? internal::CreateCpuBackend()
                                                   : internal::CreateInterpretBackend();
    backends_.push_back(std::make_unique<FaultyBackend>(std::move(inner), std::move(faults)));
    kernels_.push_back(std::make_unique<internal::KernelCache>());
    return FunctionAccess::Make(std::make_shared<detail::FunctionState>(
        GetParam(), *graph, internal::Options{}, backends_.back().get(), kernels_.back().get(),
        policy));
  }
  std::vector<std::unique_ptr<FaultyBackend>> backends_;
  std::vector<std::unique_ptr<internal::KernelCache>> kernels_;
};
INSTANTIATE_TEST_SUITE_P(Devices, WrongKernels,
                         testing::Values(DeviceKind::kCpu, DeviceKind::kInterpret),
                         [](const auto& info) {
                           return info.param == DeviceKind::kCpu ? "Cpu" : "Interpret";
                         });

constexpr char kScale[] =
    "graph scale(%x: f32[n]) -> (f32[n]) {\n %0 = multiply(%x, %x) : f32[n]\n return %0\n}";

TEST_P(WrongKernels, AreErrorsInTheFirstCallsAlone) {
  Function f = Make(kScale, {{0, 1}}, {2});
  for (int i = 0; i < 2; ++i) {
    const Status status = f.Run({Values({1, 2, 3})}).status();
    EXPECT_EQ(status.code(), StatusCode::kInternal);
    EXPECT_THAT(status.message(), HasSubstr("verify: graph scale on "));
    EXPECT_THAT(status.message(), HasSubstr("output 0, element [1]: got 68, expected 4 +-"));
    EXPECT_THAT(status.message(), HasSubstr("1 of 3 elements are beyond their bounds"));
    EXPECT_THAT(status.message(), HasSubstr("reproduce it with: jitfuse run "));
  }
  EXPECT_THAT(*(*f.Run({Values({1, 2, 3})}))[0].ToVector(), ElementsAre(1, 68, 9));
  const Stats stats = f.stats();
  EXPECT_EQ(stats.verified, 2);
  EXPECT_EQ(stats.mismatches, 2);
  ASSERT_EQ(stats.verify.size(), 1u);
  EXPECT_EQ(stats.verify[0].mismatches, 2);
  EXPECT_EQ(stats.verify[0].reproducers.size(), 2u);
  EXPECT_FALSE(stats.verify[0].fallback);
  EXPECT_EQ(stats.verify[0].outputs[0].max_difference, 64);
  EXPECT_NEAR(stats.verify[0].outputs[0].mean_difference, 64.0 / 3, 1e-6);
  EXPECT_GT(stats.verify[0].outputs[0].max_of_bound, 1e6);
  // A batch of one is an executable of its own, with first calls of its own.
  Function g = Make(kScale, {{0, 0}}, {1});
  EXPECT_FALSE(g.Run({Values({1, 2, 3})}).ok());
  EXPECT_TRUE(g.Run({Values({1, 2, 3})}).ok());
  EXPECT_FALSE(g.Run({Values({5})}).ok());
  EXPECT_TRUE(g.Run({Values({5})}).ok());
  EXPECT_EQ(g.stats().verify.size(), 2u);
}

TEST_P(WrongKernels, AreAnsweredForByTheEvaluator) {
  Function f = Make(kScale, {{0, 1}}, {3, /*fallback=*/true});
  const std::vector<Array> in = {Values({1, 2, 3})};
  {
    Logged logged(0);
    EXPECT_THAT(*(*f.Run(in))[0].ToVector(), ElementsAre(1, 4, 9));
    EXPECT_THAT(logged.lines, ElementsAre(HasSubstr("got 68, expected 4 +-")));
    for (int i = 0; i < 4; ++i) EXPECT_THAT(*(*f.Run(in))[0].ToVector(), ElementsAre(1, 4, 9));
    EXPECT_EQ(logged.lines.size(), 1u);
  }
  // In place, and into every second element.
  Array in_place = Values({1, 2, 3});
  {
    Logged logged(0);
    EXPECT_TRUE(f.RunInto({in_place}, {in_place}).ok());
    EXPECT_THAT(*in_place.ToVector(), ElementsAre(1, 4, 9));
    std::vector<float> wide(6, -1);
    Function strided = Make(kScale, {{0, 2}}, {1, /*fallback=*/true});  // its second element
    EXPECT_TRUE(strided.RunInto(in, {Array::View(wide.data(), DType::kF32, {3}, {2})}).ok());
    EXPECT_THAT(wide, ElementsAre(1, -1, 4, -1, 9, -1));
    EXPECT_EQ(strided.stats().verify[0].fallback_calls, 1);
  }
  const Stats stats = f.stats();
  EXPECT_EQ(stats.fallbacks.at("verify_fallback"), 6);
  EXPECT_TRUE(stats.verify[0].fallback);
  EXPECT_EQ(stats.verify[0].fallback_calls, 5);
  EXPECT_EQ(stats.verify[0].verified, 1);
  EXPECT_THAT(stats.verify[0].first_mismatch, HasSubstr("output 0, element [1]: got 68"));
  EXPECT_THAT(*f.Explain(in), HasSubstr("note verify_fallback: "));
  EXPECT_THAT(*f.ExplainJson(in), HasSubstr("\"fallback\": true"));
}

TEST_P(WrongKernels, AreFoundInEveryDtype) {
  for (int d = 0; d <= static_cast<int>(DType::kF64); ++d) {
    const auto dtype = static_cast<DType>(d);
    const std::string name = DTypeName(dtype);
    const std::string op = dtype == DType::kBool ? "logical_not(%x)" : "add(%x, %x)";
    const std::string text = absl::StrCat("graph f(%x: ", name, "[n]) -> (", name,
                                          "[n]) { %0 = ", op, " : ", name, "[n] return %0 }");
    const std::vector<Array> in = {Values({1, 0, 1, 3, 1, 0, 1, 0, 1}, dtype)};
    Function right = Make(text, {}, {1});
    EXPECT_TRUE(right.Run(in).ok()) << name;
    Function wrong = Make(text, {{0, 5}}, {1});
    const Status status = wrong.Run(in).status();
    EXPECT_EQ(status.code(), StatusCode::kInternal) << name;
    EXPECT_THAT(status.message(), HasSubstr("output 0, element [5]: got ")) << name;
    Function fallback = Make(text, {{0, 5}}, {1, /*fallback=*/true});
    Logged logged(0);
    EXPECT_EQ(*(*fallback.Run(in))[0].ToVector(), *(*right.Run(in))[0].ToVector()) << name;
  }
}

TEST_P(WrongKernels, AreFoundInEachOfSeveralOutputs) {
  constexpr char kTwo[] =
      "graph f(%x: f32[n,4]) -> (f32[n,4], f32[n,4]) {\n %0 = exp(%x) : f32[n,4]\n %1 = "
      "negative(%x) : f32[n,4]\n return %0, %1\n}";
  const std::vector<Array> in = {
      *Array::FromValues(DType::kF32, {2, 4}, std::vector<double>(8, 1))};
  for (int o : {0, 1}) {
    const Status status = Make(kTwo, {{o, 6}}, {1}).Run(in).status();
    EXPECT_THAT(status.message(), HasSubstr(absl::StrCat("output ", o, ", element [1,2]: got ")));
  }
  EXPECT_TRUE(Make(kTwo, {}, {1}).Run(in).ok());
}

// Of an output that is too large rows are compared: among them the first elements and the last.
TEST_P(WrongKernels, AreFoundBySomeRowsOfLargeOutputs) {
  if (GetParam() == DeviceKind::kInterpret) GTEST_SKIP() << "takes a microsecond an element";
  constexpr char kRows[] =
      "graph f(%x: f32[n,1000]) -> (f32[n,1000]) {\n %0 = softmax(%x) {axis=1} : f32[n,1000]\n "
      "return %0\n}";
  constexpr std::int64_t kRowsOf = 3000, kElements = kRowsOf * 1000;
  Array x = *Array::FromValues(DType::kF32, {kRowsOf, 1000}, std::vector<double>(kElements, 0.5));
  Function right = Make(kRows, {}, {2});
  EXPECT_TRUE(right.Run({x}).ok());
  const VerifyReport report = right.stats().verify[0];
  EXPECT_EQ(report.sampled, 1);
  EXPECT_EQ(report.outputs[0].elements, kElements);
  EXPECT_GT(report.outputs[0].compared, 1000);
  EXPECT_LT(report.outputs[0].compared, kElements / 10);
  EXPECT_EQ(right.stats().fallbacks.at("verify_sampled"), 1);
  EXPECT_THAT(*right.Explain({x}), HasSubstr("note verify_sampled: "));
  for (std::int64_t wrong : {std::int64_t{0}, kElements - 1}) {
    const Status status = Make(kRows, {{0, wrong}}, {1}).Run({x}).status();
    EXPECT_THAT(status.message(),
                HasSubstr(wrong == 0 ? "element [0,0]: got 64." : "element [2999,999]: got 64."));
    EXPECT_THAT(status.message(), HasSubstr("of 3000000 were compared)"));
  }
}

TEST(VerifyTest, RightKernelsPassAndAreReported) {
  Function f = *CompileText(
      "graph mlp(%x: f32[n,32], %w: f32[32,16], %b: f32[16]) -> (f32[n,16], f32[n]) {\n %0 = "
      "matmul(%x, %w) : f32[n,16]\n %1 = add(%0, %b) : f32[n,16]\n %2 = gelu(%1) : f32[n,16]\n %3 "
      "= sum(%2) {axes=[1]} : f32[n]\n return %2, %3\n}",
      Verifying(3));
  const auto dense = [](std::vector<std::int64_t> dims, std::int64_t n) {
    std::vector<double> v;
    for (std::int64_t i = 0; i < n; ++i) v.push_back(std::sin(static_cast<double>(i)));
    return *Array::FromValues(DType::kF32, dims, v);
  };
  const std::vector<Array> in = {dense({8, 32}, 256), dense({32, 16}, 512), dense({16}, 16)};
  Logged logged(1);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(f.Run(in).ok());
  EXPECT_THAT(logged.lines, Contains(HasSubstr("output 1: difference at most ")).Times(3));
  const Stats stats = f.stats();
  EXPECT_EQ(stats.verified, 3);
  EXPECT_EQ(stats.mismatches, 0);
  ASSERT_EQ(stats.verify.size(), 1u);
  const VerifyReport& r = stats.verify[0];
  EXPECT_EQ(r.backend, "cpu");
  EXPECT_EQ(r.verified, 3);
  EXPECT_EQ(r.sampled + r.skipped + r.mismatches + r.fallback_calls, 0);
  ASSERT_EQ(r.outputs.size(), 2u);
  for (const VerifyOutput& o : r.outputs) {
    EXPECT_EQ(o.compared, 3 * o.elements);
    EXPECT_GT(o.max_difference, 0);
    EXPECT_LE(o.mean_difference, o.max_difference);
    EXPECT_LE(o.max_of_bound, 1);
    EXPECT_GT(o.mean_of_bound, 0);
    ASSERT_EQ(o.checksums.size(), 3u);
    EXPECT_THAT(o.checksums, Each(o.checksums[0]));
    EXPECT_EQ(o.checksums[0].size(), 32u);
  }
  EXPECT_NE(r.outputs[0].checksums[0], r.outputs[1].checksums[0]);
  EXPECT_THAT(*f.Explain(in), HasSubstr("verify: 3 calls compared with the evaluator, 0 of them"));
  EXPECT_THAT(*f.Explain(in), HasSubstr(r.outputs[1].checksums[0]));
  EXPECT_THAT(*f.ExplainJson(in), HasSubstr("\"max_of_bound\": "));
  EXPECT_GE(TotalStats().verified, 3);
  EXPECT_TRUE(TotalStats().verify.empty());
  // Without it there is nothing to say.
  Function off = *CompileText(kScale, Verifying(0));
  EXPECT_TRUE(off.Run({Values({1})}).ok());
  EXPECT_TRUE(off.stats().verify.empty());
  EXPECT_THAT(*off.ExplainJson({Values({1})}), Not(HasSubstr("\"verify\"")));
}

TEST(VerifyTest, CallsAreCountedOverThreads) {
  Function f = *CompileText(kScale, Verifying(5));
  std::vector<std::thread> threads;
  std::atomic<int> ok{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 6; ++i)
        ok += f.Run({Values({1, 2, static_cast<double>(i)})}).ok() ? 1 : 0;
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(ok, 24);
  EXPECT_EQ(f.stats().verified, 5);
}

// JITFUSE_VERIFY asks for calls, the option for calls: those that either asks for are compared.
TEST(VerifyTest, TheEnvironmentAddsItsOwn) {
  setenv("JITFUSE_VERIFY", "1", 1);
  Function f = *CompileText(kScale, Verifying(2));
  unsetenv("JITFUSE_VERIFY");
  const auto run = [&](std::vector<double> v) { EXPECT_TRUE(f.Run({Values(std::move(v))}).ok()); };
  run({1, 2, 3});  // both
  run({1, 2, 3});  // the option's second
  run({1, 2, 3});  // nobody's
  EXPECT_EQ(f.stats().verified, 2);
  run({1, 2, 3, 4});  // the environment's, since the size is new
  run({1, 2, 3, 4});
  EXPECT_EQ(f.stats().verified, 3);
}

TEST(VerifyTest, RandomOpsDrawTheSameNumbers) {
  Builder b("noisy");
  Tensor x = b.Input("x", DType::kF32, {"n"});
  Function f = *b.Compile({Dropout(x, 0.5)}, Verifying(3));
  std::vector<double> ones(100, 1);
  for (std::uint64_t k = 0; k < 4; ++k) {
    RunOptions options;
    options.rng = {7, k, nullptr};
    EXPECT_TRUE(f.Run({Values(ones)}, options).ok());
  }
  const VerifyReport r = f.stats().verify[0];
  EXPECT_EQ(r.verified, 3);
  EXPECT_NE(r.outputs[0].checksums[0], r.outputs[0].checksums[1]);  // another offset
}

TEST(VerifyTest, InputsMayBeWrittenOver) {
  Function f = *CompileText(kScale, Verifying(1));
  Array x = Values({1, 2, 3});
  EXPECT_TRUE(f.RunInto({x}, {x}).ok());
  EXPECT_THAT(*x.ToVector(), ElementsAre(1, 4, 9));
  EXPECT_EQ(f.stats().verified, 1);
}

// A line of all elements through ops of which no part can be had for less.
TEST(VerifyTest, WhatWouldTakeTooLongIsSaidByExplainAndCounted) {
  std::string text = "graph wide(%x: f32[n]) -> (f32[n]) {\n %0 = cumsum(%x) {axis=0} : f32[n]\n";
  for (int i = 1; i < 20; ++i)
    absl::StrAppend(&text, " %", i, " = ", i % 2 == 0 ? "tanh" : "sigmoid", "(%", i - 1,
                    ") : f32[n]\n");
  text += " return %19\n}";
  Function f = *CompileText(text, Verifying(2));
  const std::vector<Array> in = {
      *Array::FromValues(DType::kF32, {6000000}, std::vector<double>(6000000, 1))};
  Logged logged(1);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(f.Run(in).ok());
  EXPECT_THAT(logged.lines,
              Contains(HasSubstr("is not compared: 1.26e+08 element operations")).Times(2));
  EXPECT_EQ(f.stats().fallbacks.at("verify_skipped"), 2);
  EXPECT_EQ(f.stats().verified, 0);
  EXPECT_THAT(f.stats().verify[0].skip_reason, HasSubstr("no sample of rows is within 1e+07"));
  EXPECT_THAT(*f.Explain(in), HasSubstr("note verify_skipped"));
}

TEST(VerifyTest, AnIndexOutOfRangeIsAnErrorOfTheCall) {
  for (VerifyAction action : {VerifyAction::kError, VerifyAction::kFallback}) {
    Function f = *CompileText(
        "graph f(%x: f32[4], %i: i64[2]) -> (f32[2]) { %0 = take(%x, %i) : f32[2] return %0 }",
        Verifying(1, action));
    const Array x = Values({1, 2, 3, 4});
    const Status status = f.Run({x, Values({1, 9}, DType::kI64)}).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(status.message(), HasSubstr("index 9 is out of range for axis 0 of size 4"));
  }
}

TEST(VerifyTest, OptionsThatAreNoneAreErrors) {
  EXPECT_THAT(CompileText(kScale, Verifying(-1)).status().message(),
              HasSubstr("verify is -1, expected a number of calls, 0 or more"));
  EXPECT_THAT(CompileText(kScale, Verifying(1, static_cast<VerifyAction>(7))).status().message(),
              HasSubstr("verify_action is 7, which is no VerifyAction"));
}

// As the command's --check, of a call too large to be evaluated whole.
TEST(VerifyTest, ChecksOfLargeCallsLookAtRows) {
  constexpr char kMatMul[] =
      "graph f(%a: f32[700,512], %b: f32[512,512]) -> (f32[700,512]) { %0 = matmul(%a, %b) : "
      "f32[700,512] return %0 }";
  const std::vector<Array> in = {
      *Array::FromValues(DType::kF32, {700, 512}, std::vector<double>(700 * 512, 0.25)),
      *Array::FromValues(DType::kF32, {512, 512}, std::vector<double>(512 * 512, 0.5))};
  const std::vector<Array> results = *CompileText(kMatMul, Verifying(0))->Run(in);
  CheckResult c = (*Check(kMatMul, in, results))[0];
  EXPECT_TRUE(c.ok);
  EXPECT_TRUE(c.sampled);
  EXPECT_EQ(c.elements, 700 * 512);
  EXPECT_GT(c.compared, 100);
  EXPECT_LT(c.compared, c.elements / 4);
  static_cast<float*>(results[0].data())[700 * 512 - 1] += 1;
  EXPECT_FALSE((*Check(kMatMul, in, results))[0].ok);
  EXPECT_FALSE((*Check(kScale, {Values({2})}, {Values({4})}))[0].sampled);
}

}  // namespace
}  // namespace jitfuse
