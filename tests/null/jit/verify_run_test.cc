// JITFUSE_VERIFY: results that are right pass, wrong ones are named, what is too much is said.
#include "jit/verify_run.h"

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/text.h"
#include "jit/call_cache.h"
#include "jit/host_copy.h"
#include "jit/interpret_backend.h"

namespace jitfuse::internal {
namespace {

using ::testing::HasSubstr;

constexpr char kText[] =
    "graph f(%a: f32[n], %s: scalar f32) -> (f32[n]) {\n %0 = multiply(%a, %s) : f32[n]\n %1 = "
    "exp(%0) : f32[n]\n return %1\n}";

struct Verified {
  Graph graph = *ParseGraph(kText);
  std::unique_ptr<Backend> backend = CreateInterpretBackend();
  std::vector<int64_t> dims = {3}, none, strides = {-2};
  std::vector<float> in = {9, 1, 9, 2, 9, 3}, out = {};

  absl::Status Finish(std::vector<float> results) {
    out = std::move(results);
    TensorView inputs[] = {{in.data() + 5, DType::kF32, dims, strides},
                           {nullptr, DType::kF32, none, {}}};
    const uint64_t scalars[] = {0, ScalarFromDouble(DType::kF32, 0.5).bits()};
    auto verifier = RunVerifier::Begin(graph, *backend, inputs, scalars, nullptr);
    if (!verifier.ok()) return verifier.status();
    in.assign(6, 0);  // an output may be written over an input
    TensorView output{out.data(), DType::kF32, dims, {}};
    return verifier->Finish({&output, 1});
  }
};

TEST(VerifyRunTest, RightResultsPass) {
  Verified v;
  EXPECT_TRUE(v.Finish({4.481689f, 2.7182818f, 1.6487213f}).ok());  // exp of 1.5, 1, 0.5
}

TEST(VerifyRunTest, WrongOnesAreNamedAndTheGraphIsKept) {
  setenv("JITFUSE_DUMP_DIR", testing::TempDir().c_str(), 1);
  Verified v;
  absl::Status status = v.Finish({4.481689f, 2.75f, 1.6487213f});
  unsetenv("JITFUSE_DUMP_DIR");
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  const std::string message(status.message());
  EXPECT_THAT(message, HasSubstr("JITFUSE_VERIFY: graph f on interpret"));
  EXPECT_THAT(message, HasSubstr("output 0, element [1]: got 2.75, expected 2.718"));
  EXPECT_THAT(message, HasSubstr("+-"));
  const size_t at = message.find("the graph is in ");
  ASSERT_NE(at, std::string::npos) << message;
  std::ifstream file(message.substr(at + 16));
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_EQ(GraphToString(*ParseGraph(text.str())), GraphToString(v.graph));
}

TEST(VerifyRunTest, OfCallsAtOnceOneIsVerified) {
  Verified v;
  auto executable = std::make_shared<Executable>();
  executable->backend = v.backend.get();
  for (int round = 0; round < 200; ++round) {
    BoundCall bound;
    bound.executable = executable;
    std::atomic<int> wanted{0}, ready{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        ++ready;
        while (ready < 4) std::this_thread::yield();
        bool skipped = false;
        wanted += RunVerifier::Wanted(v.graph, bound, nullptr, false, &skipped) ? 1 : 0;
      });
    }
    for (std::thread& t : threads) t.join();
    ASSERT_EQ(wanted, 1) << round;
  }
}

TEST(VerifyRunTest, TooMuchWorkIsSkippedOnceAndSaid) {
  std::unique_ptr<Backend> backend = CreateInterpretBackend();
  KernelCache kernels;
  CallCache cache(*ParseGraph("graph f(%a: f32[n]) -> (f32[n]) {\n %0 = exp(%a) : f32[n]\n return "
                              "%0\n}"),
                  Options{}, backend.get(), &kernels);
  bool skipped = false;
  for (auto [n, wanted] : {std::pair<int64_t, bool>{1000, true}, {int64_t{1} << 27, false}}) {
    std::vector<int64_t> dims = {n};
    TensorView view{nullptr, DType::kF32, dims, {}};
    auto bound = *cache.Find({&view, 1}, {});
    EXPECT_EQ(RunVerifier::Wanted(cache.graph(), *bound, nullptr, false, &skipped), wanted);
    EXPECT_EQ(skipped, !wanted);
    EXPECT_FALSE(RunVerifier::Wanted(cache.graph(), *bound, nullptr, false, &skipped));
    EXPECT_FALSE(skipped);
    EXPECT_EQ(RunVerifier::Wanted(cache.graph(), *bound, nullptr, true, &skipped), wanted);
    EXPECT_EQ(skipped, !wanted);
  }
  cache.CountVerified(true);
  EXPECT_EQ(cache.stats().fallbacks[static_cast<size_t>(Reason::kVerifySkipped)], 1);
}

TEST(VerifyRunTest, WorkOfMatrixProducts) {
  Graph g = *ParseGraph(
      "graph f(%a: f32[4,8], %b: f32[8,2]) -> (f32[4,2]) {\n %0 = matmul(%a, %b) : f32[4,2]\n "
      "return %0\n}");
  EXPECT_EQ(EvalWork(g, {}), 4 * 8 + 8 * 2 + 4 * 2 * 8);
}

TEST(HostCopyTest, StridesOfEveryKind) {
  std::unique_ptr<Backend> backend = CreateInterpretBackend();
  std::vector<float> data = {0, 1, 2, 3, 4, 5};
  auto values = [&](const float* base, std::vector<int64_t> dims, std::vector<int64_t> strides) {
    HostTensor t = *CopyToHostTensor(*backend, {base, DType::kF32, dims, strides}, nullptr);
    HostTensor u = *GatherHost({base, DType::kF32, dims, strides});
    EXPECT_EQ(t.bytes, u.bytes);
    std::vector<double> out;
    for (int64_t i = 0; i < t.size(); ++i) out.push_back(t.Number(i));
    return out;
  };
  using V = std::vector<double>;
  EXPECT_EQ(values(data.data(), {2, 3}, {}), (V{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(values(data.data(), {3, 2}, {1, 3}), (V{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(values(data.data() + 5, {3}, {-2}), (V{5, 3, 1}));
  EXPECT_EQ(values(data.data(), {2, 2}, {0, 1}), (V{0, 1, 0, 1}));
  EXPECT_EQ(values(data.data(), {}, {}), (V{0}));
  EXPECT_EQ(values(nullptr, {0, 2}, {1, 1}), (V{}));
  std::vector<int64_t> dims = {2, 2}, wide = {int64_t{1} << 62, 1};
  EXPECT_EQ(
      CopyToHostTensor(*backend, {data.data(), DType::kF32, dims, wide}, nullptr).status().code(),
      absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace jitfuse::internal
