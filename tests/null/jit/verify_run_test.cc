// Calls that are checked: results that are right pass, wrong ones are named and can be repeated,
// each executable's first ones are compared, what is too much is said.
#include "jit/verify_run.h"

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/support/dump.h"
#include "ir/text.h"
#include "jit/host_copy.h"
#include "jit/interpret_backend.h"
#include "jit/reproducer.h"

namespace jitfuse::internal {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kText[] =
    "graph f(%a: f32[n], %s: scalar f32) -> (f32[n]) {\n %0 = multiply(%a, %s) : f32[n]\n %1 = "
    "exp(%0) : f32[n]\n return %1\n}";

struct Env {
  Env(const char* name, const std::string& value) : name(name) { setenv(name, value.c_str(), 1); }
  ~Env() { unsetenv(name); }
  const char* name;
};

std::string ReadAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// exp(a / 2) of (3, 2, 1), as if a kernel had computed `results`.
struct Checked {
  explicit Checked(VerifyPolicy policy)
      : cache(*ParseGraph(kText), Options{}, backend.get(), &kernels, policy) {}
  std::unique_ptr<Backend> backend = CreateInterpretBackend();
  KernelCache kernels;
  CallCache cache;
  std::vector<int64_t> dims = {3}, none, strides = {-2};
  std::vector<float> in, out = {};

  absl::Status Run(std::vector<float> results) {
    in = {9, 1, 9, 2, 9, 3};
    out.assign(3, 0);
    TensorView inputs[] = {{in.data() + 5, DType::kF32, dims, strides},
                           {nullptr, DType::kF32, none, {}}};
    TensorView output{out.data(), DType::kF32, dims, {}};
    const uint64_t scalars[] = {0, ScalarFromDouble(DType::kF32, 0.5).bits()};
    auto bound = cache.Find(inputs, {&output, 1});
    EXPECT_TRUE(bound.ok()) << bound.status();
    CheckedCall call{&cache, bound->get(), inputs, {&output, 1}, scalars, nullptr, nullptr};
    return RunChecked(call, [&] {
      in.assign(6, 0);  // an output may be written over an input
      out = results;
      return absl::OkStatus();
    });
  }
  VerifyRecord Record() const { return cache.executables()[0]->verify->record(); }
};

const std::vector<float> kRight = {4.481689f, 2.7182818f, 1.6487213f};

TEST(VerifyRunTest, RightResultsPassAndAreMeasured) {
  Checked v({2});
  std::vector<std::string> logged;
  SetLogLevel(1);
  SetLogSink([&](int, std::string_view message) { logged.emplace_back(message); });
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(v.Run(kRight).ok());
  SetLogSink({});
  SetLogLevel(-1);
  const VerifyRecord r = v.Record();
  EXPECT_EQ(r.verified, 2);
  EXPECT_EQ(r.mismatches, 0);
  ASSERT_EQ(r.outputs.size(), 1u);
  EXPECT_EQ(r.outputs[0].compared, 6);
  EXPECT_EQ(r.outputs[0].elements, 3);
  EXPECT_GT(r.outputs[0].max_error, 0);
  EXPECT_LT(r.outputs[0].mean_error(), r.outputs[0].max_error);
  EXPECT_LE(r.outputs[0].max_ratio, 1);
  EXPECT_LT(r.outputs[0].mean_ratio(), r.outputs[0].max_ratio);
  const std::string checksum = HashBytes(kRight.data(), 12).ToHex();
  EXPECT_THAT(r.outputs[0].checksums, ElementsAre(checksum, checksum));
  EXPECT_EQ(v.cache.stats().verified, 2);
  EXPECT_THAT(logged, Contains(HasSubstr("verify: graph f on interpret")));
  EXPECT_THAT(logged, Contains(HasSubstr("3 of 3 elements compared, checksum " + checksum)));
}

// Of a format that must not change: checksums are compared between runs and versions.
TEST(VerifyRunTest, ChecksumsAreThoseOfTheBytes) {
  const unsigned char bytes[] = {0, 0, 128, 63, 0, 0, 0, 64};  // 1.0f, 2.0f
  EXPECT_EQ(HashBytes(bytes, 8).ToHex(), HashBytes(std::vector<float>{1, 2}.data(), 8).ToHex());
  EXPECT_EQ(HashBytes("", 0).ToHex(), "99aa06d3014798d86001c324468d497f");
}

TEST(VerifyRunTest, WrongOnesAreNamedAndCanBeRepeated) {
  const Env dump("JITFUSE_DUMP_DIR", testing::TempDir());
  Checked v({1});
  const absl::Status status = v.Run({4.481689f, 2.75f, 1.6487213f});
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  const std::string message(status.message());
  EXPECT_THAT(message, HasSubstr("verify: graph f on interpret"));
  EXPECT_THAT(message, HasSubstr("output 0, element [1]: got 2.75, expected 2.718"));
  EXPECT_THAT(message, HasSubstr("+-"));
  EXPECT_THAT(message, HasSubstr("1 of 3 elements are beyond their bounds"));
  const VerifyRecord r = v.Record();
  EXPECT_EQ(r.mismatches, 1);
  EXPECT_THAT(r.first_mismatch, HasSubstr("output 0, element [1]: got 2.75"));
  ASSERT_EQ(r.reproducers.size(), 1u);
  EXPECT_THAT(message, HasSubstr("reproduce it with: " + r.reproducers[0]));
  std::stringstream words(r.reproducers[0]);
  std::string jitfuse, run, graph, option, inputs;
  words >> jitfuse >> run >> graph >> option >> inputs;
  EXPECT_EQ(jitfuse + run + option, "jitfuserun--inputs");
  EXPECT_THAT(r.reproducers[0], ::testing::EndsWith(" --backend interpret --check"));
  const std::string text = ReadAll(graph);
  EXPECT_EQ(GraphToString(*ParseGraph(text)), GraphToString(v.cache.graph()));
  EXPECT_THAT(text, HasSubstr("# input 0: dims [3], strides [-2], address modulo 256: "));
  // The arrays are those before the call, dense.
  const float a[] = {3, 2, 1};
  const std::string npz = ReadAll(inputs);
  EXPECT_THAT(npz, HasSubstr("a.npy"));
  EXPECT_THAT(npz, HasSubstr(std::string(reinterpret_cast<const char*>(a), sizeof a)));
  EXPECT_THAT(npz, HasSubstr("{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }"));
  EXPECT_THAT(npz, HasSubstr("{'descr': '<f4', 'fortran_order': False, 'shape': (), }"));
  // The second call is none of the first.
  EXPECT_TRUE(v.Run({0, 0, 0}).ok());
}

TEST(VerifyRunTest, WithoutAPlaceForFilesTheErrorSaysSo) {
  const Env dump("JITFUSE_DUMP_DIR", "/no such folder");
  Checked v({1});
  EXPECT_THAT(std::string(v.Run({0, 0, 0}).message()),
              HasSubstr("it cannot be reproduced from files: none could be written"));
}

TEST(VerifyRunTest, WithFallbackTheEvaluatorAnswersFromThenOn) {
  const Env dump("JITFUSE_DUMP_DIR", testing::TempDir());
  Checked v({2, /*fallback=*/true});
  std::vector<std::string> warnings;
  SetLogSink([&](int, std::string_view message) { warnings.emplace_back(message); });
  EXPECT_TRUE(v.Run(kRight).ok());
  EXPECT_EQ(v.Record().fallback, false);
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(v.Run({7, 7, 7}).ok());
    for (int k = 0; k < 3; ++k)
      EXPECT_FLOAT_EQ(v.out[static_cast<size_t>(k)], kRight[static_cast<size_t>(k)]);
  }
  SetLogSink({});
  EXPECT_EQ(warnings.size(), 1u);
  EXPECT_THAT(warnings, Contains(HasSubstr("verify_fallback")));
  EXPECT_TRUE(v.Record().fallback);
  EXPECT_EQ(v.Record().fallback_calls, 3);
  EXPECT_EQ(v.cache.stats().fallbacks[static_cast<size_t>(Reason::kVerifyFallback)], 3);
  EXPECT_EQ(v.cache.stats().mismatches, 1);
}

TEST(VerifyRunTest, AFailedCallIsNoneOfTheFirst) {
  Checked v({1});
  TensorView inputs[] = {{nullptr, DType::kF32, v.dims, {}}, {nullptr, DType::kF32, v.none, {}}};
  std::vector<float> a = {1, 2, 3}, out(3);
  inputs[0].ptr = a.data();
  TensorView output{out.data(), DType::kF32, v.dims, {}};
  const uint64_t scalars[] = {0, 0};
  auto bound = *v.cache.Find(inputs, {&output, 1});
  CheckedCall call{&v.cache, bound.get(), inputs, {&output, 1}, scalars, nullptr, nullptr};
  EXPECT_EQ(RunChecked(call, [] { return absl::UnavailableError("no"); }).message(), "no");
  EXPECT_EQ(v.Record().verified, 0);
  EXPECT_EQ(RunChecked(call, [] { return absl::OkStatus(); }).code(), absl::StatusCode::kInternal);
}

// The environment's first call of a bound function, and the policy's of an executable: each is one.
TEST(VerifyRunTest, OfCallsAtOnceTheFirstOnesAreCompared) {
  for (const char* env : {"0", "1"}) {
    const Env verify("JITFUSE_VERIFY", env);
    for (int round = 0; round < 20; ++round) {
      Checked v({3});
      std::atomic<int> ready{0};
      std::vector<std::thread> threads;
      std::vector<float> a = {3, 2, 1};
      const uint64_t scalars[] = {0, ScalarFromDouble(DType::kF32, 0.5).bits()};
      TensorView inputs[] = {{a.data(), DType::kF32, v.dims, {}},
                             {nullptr, DType::kF32, v.none, {}}};
      auto bound = *v.cache.Find(inputs, {});
      for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&] {
          ++ready;
          while (ready < 4) std::this_thread::yield();
          for (int i = 0; i < 4; ++i) {
            std::vector<float> out(3);
            TensorView output{out.data(), DType::kF32, v.dims, {}};
            CheckedCall call{&v.cache, bound.get(), inputs, {&output, 1},
                             scalars,  nullptr,     nullptr};
            EXPECT_TRUE(RunChecked(call, [&] {
                          out = kRight;
                          return absl::OkStatus();
                        }).ok());
          }
        });
      }
      for (std::thread& t : threads) t.join();
      // One call may be both the environment's and one of the policy's.
      EXPECT_GE(v.cache.stats().verified, 3);
      EXPECT_LE(v.cache.stats().verified, env[0] == '0' ? 3 : 4);
    }
  }
}

TEST(VerifyLogTest, ClaimsAreCountedOnceOverThreads) {
  VerifyLog log;
  std::atomic<int> claimed{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) claimed += log.Claim(777) ? 1 : 0;
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(claimed, 777);
  EXPECT_FALSE(log.HasLeft(777));
  log.GiveBack();
  EXPECT_TRUE(log.HasLeft(777));
  EXPECT_TRUE(log.Claim(777));
  EXPECT_FALSE(log.Claim(777));
}

TEST(VerifyRunTest, WorkOfMatrixProducts) {
  Graph g = *ParseGraph(
      "graph f(%a: f32[4,8], %b: f32[8,2]) -> (f32[4,2]) {\n %0 = matmul(%a, %b) : f32[4,2]\n "
      "return %0\n}");
  EXPECT_EQ(EvalWork(g, {}), 4 * 8 + 8 * 2 + 4 * 2 * 8);
}

TEST(ReproducerTest, WhatDoesNotFitAZipFileIsRefused) {
  const std::vector<std::string> names = {"a", "b"};
  const std::vector<HostTensor> arrays(2, HostTensor::Make(DType::kF32, {1000}));
  EXPECT_TRUE(EncodeNpz(names, arrays).ok());
  const absl::Status refused = EncodeNpz(names, arrays, 8000).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kOutOfRange);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("a zip file at most 8000"));
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

TEST(HostCopyTest, IntoStridesOfEveryKind) {
  std::unique_ptr<Backend> backend = CreateInterpretBackend();
  auto put = [&](int64_t offset, std::vector<int64_t> dims, std::vector<int64_t> strides) {
    std::vector<float> to(6, -1);
    HostTensor from = HostTensor::Make(DType::kF32, dims);
    for (int64_t i = 0; i < from.size(); ++i) from.SetNumber(i, static_cast<double>(i));
    EXPECT_TRUE(CopyFromHostTensor(*backend, from, {to.data() + offset, DType::kF32, dims, strides},
                                   nullptr)
                    .ok());
    return to;
  };
  EXPECT_THAT(put(0, {2, 3}, {}), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(put(0, {3, 2}, {1, 3}), ElementsAre(0, 2, 4, 1, 3, 5));
  EXPECT_THAT(put(5, {3}, {-2}), ElementsAre(-1, 2, -1, 1, -1, 0));
  EXPECT_THAT(put(1, {2, 2}, {3, 1}), ElementsAre(-1, 0, 1, -1, 2, 3));
  EXPECT_THAT(put(2, {}, {}), ElementsAre(-1, -1, 0, -1, -1, -1));
  EXPECT_THAT(put(0, {0, 2}, {}), ElementsAre(-1, -1, -1, -1, -1, -1));
  HostTensor from = HostTensor::Make(DType::kF32, {2});
  std::vector<int64_t> dims = {3};
  EXPECT_EQ(CopyFromHostTensor(*backend, from, {nullptr, DType::kF32, dims, {}}, nullptr).code(),
            absl::StatusCode::kInternal);
}

}  // namespace
}  // namespace jitfuse::internal
