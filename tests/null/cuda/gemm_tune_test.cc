// What cuBLASLt offers to be timed, and timing on a driver whose clock the test moves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "ir/text.h"
#include "jit/call_cache.h"
#include "jit/cuda/cuda_backends.h"
#include "jit/cuda/gemm_cublaslt.h"
#include "jit/executor.h"
#include "tests/fake_driver.h"
#include "tests/null/cuda/fake_cublaslt.h"

namespace jitfuse::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

GemmProblem Square(GemmEpilogue epilogue = {}) {
  GemmProblem p;
  p.m = p.n = p.k = p.lda = p.ldb = p.ldd = 4;
  p.batch_stride_a = p.batch_stride_b = p.batch_stride_d = 16;
  p.epilogue = epilogue;
  return p;
}
constexpr GemmEpilogue kRelu{1, 0, false, GemmActivation::kRelu};

absl::StatusOr<std::string> TryOnHost(const GemmTrial& t) {
  ++counts.trials;
  std::string a(t.a_bytes, '\xff'), b(t.b_bytes, 0), d(t.d_bytes, 0), w(t.workspace_bytes, 0);
  const absl::Status status =
      t.launch({.a = a.data(), .b = b.data(), .d = d.data(), .workspace = w.data()}, nullptr);
  if (!status.ok()) return status;
  return d;
}

std::vector<uint64_t> AlgosOf(
    const absl::StatusOr<std::vector<std::shared_ptr<const PreparedGemm>>>& candidates) {
  EXPECT_TRUE(candidates.ok()) << candidates.status();
  std::vector<uint64_t> out;
  if (!candidates.ok()) return out;
  for (const auto& c : *candidates) out.push_back(static_cast<const LtGemm&>(*c).algo.data[0]);
  return out;
}

TEST(GemmTune, CandidatesAreTheHeuristics) {
  const CublasLtApi api = FakeApi();
  {
    CublasLtGemms gemms(api, TryOnHost);
    counts.found = 5;
    EXPECT_THAT(AlgosOf(gemms.Candidates(Square(), 8)), ElementsAre(0, 1, 2, 3, 4));
    EXPECT_THAT(AlgosOf(gemms.Candidates(Square(), 3)), ElementsAre(0, 1, 2));
    counts.unfit = 1 << 1 | 1 << 3;
    EXPECT_THAT(AlgosOf(gemms.Candidates(Square(), 8)), ElementsAre(0, 2, 4));
    GemmProblem empty = Square();
    empty.m = 0;
    EXPECT_EQ(gemms.Candidates(empty, 8)->size(), 1u);
    // Of a symbolic size, those of its bucket that fit it.
    GemmProblem symbolic = Square();
    symbolic.symbolic_m = true;
    symbolic.m = 3;
    EXPECT_THAT(AlgosOf(gemms.Candidates(symbolic, 8)), ElementsAre(0, 2, 4));
  }
  EXPECT_EQ(counts.descs, 0);
  EXPECT_EQ(counts.layouts, 0);
}

TEST(GemmTune, CandidatesKeepNan) {
  const CublasLtApi api = FakeApi();
  CublasLtGemms gemms(api, TryOnHost);
  counts.found = 5;
  counts.lossy = 2;
  EXPECT_THAT(AlgosOf(gemms.Candidates(Square(kRelu), 8)), ElementsAre(2, 3, 4));
  // Where none does, all come with a mask, and keep it.
  counts.found = 2;
  GemmProblem other = Square(kRelu);
  other.k = other.lda = 3;
  const auto masked = gemms.Candidates(other, 8);
  EXPECT_THAT(AlgosOf(masked), ElementsAre(0, 1));
  for (const auto& c : *masked) EXPECT_THAT(c->algorithm(), HasSubstr("+mask"));
}

TEST(GemmTune, ByTheNameOfAnAlgorithm) {
  const CublasLtApi api = FakeApi();
  CublasLtGemms gemms(api, TryOnHost);
  counts.found = 4;
  const std::string name = (*gemms.Candidates(Square(), 8))[3]->algorithm();
  auto again = gemms.PrepareWith(Square(), name);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ((*again)->algorithm(), name);
  EXPECT_EQ(static_cast<const LtGemm&>(**again).algo.data[0], 3u);
  EXPECT_EQ((*again)->workspace_bytes(), 4096u);
  counts.unfit = 1 << 3;
  EXPECT_EQ(gemms.PrepareWith(Square(), name).status().code(), absl::StatusCode::kNotFound);
  counts.unfit = 0;
  counts.lossy = 4;
  EXPECT_THAT(std::string(gemms.PrepareWith(Square(kRelu), name).status().message()),
              HasSubstr("the algorithm that was chosen loses NaN in f32 1 x [4,4] [4,4]"));
  EXPECT_TRUE(gemms.PrepareWith(Square(kRelu), name + "+mask").ok());
  EXPECT_EQ(gemms.PrepareWith(Square(), name + "+mask").status().code(),
            absl::StatusCode::kNotFound);
  for (const std::string& wrong :
       {std::string("lt:"), std::string("a1"), name + "0", "lt:" + std::string(128, 'x')})
    EXPECT_EQ(gemms.PrepareWith(Square(), wrong).status().code(),
              absl::StatusCode::kInvalidArgument)
        << wrong;
}

// What the planner answers by leaving the product alone (tests/null/jit/tune_test.cc).
TEST(GemmTune, WithoutAnAlgorithmIsUnimplemented) {
  const CublasLtApi api = FakeApi();
  CublasLtGemms gemms(api, TryOnHost);
  counts.refused = kLtEpilogueRelu;
  EXPECT_EQ(gemms.Prepare(Square(kRelu)).status().code(), absl::StatusCode::kUnimplemented);
  GemmProblem symbolic = Square(kRelu);
  symbolic.symbolic_m = true;
  EXPECT_EQ(gemms.Prepare(symbolic).status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_TRUE(gemms.Prepare(Square()).ok());
}

class CudaTuneTest : public testing::Test {
 protected:
  CudaTuneTest() {
    FakeDriver::current = nullptr;
    driver_.l2_bytes = 4096;
    api_ = FakeApi();
    counts.found = 4;
    counts.on_matmul = [this](uint64_t algo) {
      ran_.push_back(algo);
      FakeDriver::Advance(algo == 2 ? 10 : 20);
    };
    backend_ = *CreateCudaBackendWith(driver_.api(), &api_);
  }

  // Runs a product of f32[3,4] and f32[4,5], which computes, and gives what it was.
  std::shared_ptr<const BoundCall> Run(CallCache* cache) {
    const std::vector<int64_t> dx = {3, 4}, dw = {4, 5};
    std::vector<float> x(12, 1.0f), w(20, 2.0f), y(15, 7.0f);
    const std::vector<TensorView> in = {{x.data(), DType::kF32, dx, {}},
                                        {w.data(), DType::kF32, dw, {}}};
    const std::vector<uint64_t> scalars = {0, 0};
    auto bound = cache->Find(in, {});
    EXPECT_TRUE(bound.ok()) << bound.status();
    if (bound.ok() && (*bound)->tune_first)
      bound = cache->TuneFirst({in, {}, scalars, nullptr, nullptr});
    EXPECT_TRUE(bound.ok()) << bound.status();
    if (!bound.ok()) return nullptr;
    ran_.clear();
    std::vector<void*> inputs = {x.data(), w.data()}, outputs = {y.data()};
    EXPECT_TRUE(ExecuteWithAllocator(**bound, {inputs, scalars, outputs, nullptr, nullptr},
                                     backend_->allocator())
                    .ok());
    EXPECT_THAT(y, testing::Each(8.0f));
    return *bound;
  }

  static constexpr const char* kText =
      "graph f(%x: f32[n,4], %w: f32[4,5]) -> (f32[n,5]) {\n"
      "  %0 = matmul(%x, %w) : f32[n,5]\n  return %0\n}";

  FakeDriver driver_;
  CublasLtApi api_;
  std::vector<uint64_t> ran_;
  std::unique_ptr<Backend> backend_;
  KernelCache kernels_;
};

TEST_F(CudaTuneTest, EventsDecide) {
  Options options;
  options.autotune = true;
  CallCache cache(*ParseGraph(kText), options, backend_.get(), &kernels_);
  auto bound = Run(&cache);
  ASSERT_NE(bound, nullptr);
  EXPECT_THAT(ran_, ElementsAre(2));
  const TuneRecord& record = *bound->tuned;
  EXPECT_EQ(record.target, "cuda sm_90");
  EXPECT_EQ(record.library, "cuBLASLt 13.1.0");
  ASSERT_EQ(record.plan().products[0].tried.size(), 4u);
  EXPECT_EQ(record.plan().products[0].tried[2].us, 10);
  EXPECT_EQ(record.plan().products[0].tried[3].us, 20);
  EXPECT_EQ(record.plan().us, 10);
  EXPECT_EQ(driver_.events, 0);
  EXPECT_GT(driver_.Calls("cuEventRecord"), 2 * 4 * 5);
}

TEST_F(CudaTuneTest, WhatTheDriverRefusesIsSaid) {
  Options options;
  options.autotune = true;
  CallCache cache(*ParseGraph(kText), options, backend_.get(), &kernels_);
  driver_.Fail("cuEventRecord", kCuErrorInvalidValue);
  auto bound = Run(&cache);
  ASSERT_NE(bound, nullptr);
  EXPECT_THAT(ran_, ElementsAre(0));
  ASSERT_TRUE(bound->untuned.has_value());
  EXPECT_EQ(bound->untuned->reason, Reason::kTuneFailed);
  EXPECT_THAT(bound->untuned->detail, HasSubstr("cuEventRecord (timing) failed"));
  EXPECT_EQ(driver_.events, 0);
}

// The workspace of the product is the arena's.
TEST_F(CudaTuneTest, WithoutMemoryForItsArenaACallSaysSo) {
  CallCache cache(*ParseGraph(kText), Options{}, backend_.get(), &kernels_);
  const std::vector<int64_t> dx = {3, 4}, dw = {4, 5};
  std::vector<float> x(12), w(20), y(15);
  const std::vector<TensorView> in = {{x.data(), DType::kF32, dx, {}},
                                      {w.data(), DType::kF32, dw, {}}};
  const auto bound = cache.Find(in, {});
  ASSERT_TRUE(bound.ok()) << bound.status();
  std::vector<void*> inputs = {x.data(), w.data()}, outputs = {y.data()};
  const std::vector<uint64_t> scalars = {0, 0};
  driver_.Fail("cuMemAllocFromPoolAsync", kCuErrorOutOfMemory);
  const absl::Status status = ExecuteWithAllocator(
      **bound, {inputs, scalars, outputs, nullptr, nullptr}, backend_->allocator());
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("graph f: the allocator had no 4096 bytes"));
  EXPECT_TRUE(ran_.empty());
  driver_.Succeed("cuMemAllocFromPoolAsync");
  EXPECT_NE(Run(&cache), nullptr);
}

TEST_F(CudaTuneTest, CapturedStreamsAreNotTimed) {
  Options options;
  options.autotune = true;
  CallCache cache(*ParseGraph(kText), options, backend_.get(), &kernels_);
  driver_.capturing = true;
  auto bound = Run(&cache);
  ASSERT_NE(bound, nullptr);
  EXPECT_EQ(bound->untuned->reason, Reason::kTuneCapturing);
  EXPECT_EQ(driver_.Calls("cuEventCreate"), 0);
}

}  // namespace
}  // namespace jitfuse::internal
