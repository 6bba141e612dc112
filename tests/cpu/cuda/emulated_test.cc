// Emitted CUDA sources run on the CPU (tests/support/cuda_on_host.h) against the plan interpreter:
// every idiom, guards, tails and layouts.
#include <bit>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/cuda_on_host.h"
#include "tests/support/plan_cases.h"
#include "tests/support/plan_kit.h"
#include "tests/test_util/fmod_points.h"
#include "tests/test_util/scalar_sweep.h"

namespace jitfuse::internal {
namespace {

void RunOnHost(const std::vector<PlanCase>& cases) {
  std::vector<KernelPlan> plans;
  for (const PlanCase& c : cases) plans.push_back(c.plan);
  absl::StatusOr<CudaOnHost> host = CudaOnHost::Compile(plans, *TargetFor("sm_90"));
  if (absl::IsUnavailable(host.status())) GTEST_SKIP() << host.status();
  ASSERT_TRUE(host.ok()) << host.status();
  for (size_t k = 0; k < cases.size(); ++k) {
    CheckCase(cases[k], [&](absl::Span<void* const> buffers, absl::Span<const size_t>,
                            absl::Span<const uint64_t> scalars) {
      return host->Run(k, buffers, scalars, cases[k].symbols);
    });
  }
}

TEST(EmulatedCuda, Flat) { RunOnHost(FlatCases()); }
TEST(EmulatedCuda, Layouts) { RunOnHost(LayoutCases()); }
TEST(EmulatedCuda, Rows) { RunOnHost(RowCases()); }
TEST(EmulatedCuda, Windows) { RunOnHost(WindowCases()); }
TEST(EmulatedCuda, Conversions) { RunOnHost(ConversionCases()); }
TEST(EmulatedCuda, Primitives) { RunOnHost(PrimitiveCases()); }
TEST(EmulatedCuda, Planned) { RunOnHost(PlannedCases(*TargetFor("sm_90"))); }

// Kernels of one primitive on every `step`-th float, which of `step` neighbours differing from
// place to place.
void SweepOnHost(ScalarOp op, uint32_t step) {
  constexpr size_t kAtOnce = size_t{1} << 18;
  PlanKit kit("sweep", {static_cast<int64_t>(kAtOnce)});
  const int x = kit.Load(kit.Dense(kit.Input(DType::kF32)));
  kit.Store(kit.Op(op, {x}), kit.Dense(kit.Output(DType::kF32)));
  absl::StatusOr<CudaOnHost> host = CudaOnHost::Compile({kit.Flat(256, 4)}, *TargetFor("sm_90"));
  if (absl::IsUnavailable(host.status())) GTEST_SKIP() << host.status();
  ASSERT_TRUE(host.ok()) << host.status();
  std::vector<float> in(kAtOnce), out(kAtOnce);
  SweepJudge judge(op, DType::kF32);
  for (uint64_t bits = 0; bits < (uint64_t{1} << 32);) {
    for (float& v : in) {
      const uint64_t mixed = (bits + 1) * 0x9e3779b97f4a7c15u;
      v = std::bit_cast<float>(static_cast<uint32_t>(bits + (mixed >> 32) % step));
      bits += step;
    }
    ASSERT_TRUE(host->Run(0, {in.data(), out.data()}, {}, {}).ok());
    for (size_t i = 0; i < kAtOnce; ++i) {
      const ScalarValue point[2] = {ScalarFromDouble(DType::kF32, in[i]), {}};
      judge.See(point, ScalarFromDouble(DType::kF32, out[i]));
    }
  }
  EXPECT_EQ(judge.result().wrong_kind, 0) << judge.result().where;
  EXPECT_LE(judge.result().max_ulp, GetScalarOp(op).max_ulp_f32) << judge.result().where;
  testing::Test::RecordProperty(std::string(GetScalarOp(op).name),
                                std::to_string(static_cast<double>(judge.result().max_ulp)));
}

// The prelude's own functions, with the host's powers of two and reciprocals for the GPU's (a few
// ulp apart at most).
TEST(EmulatedCuda, OwnFunctionsKeepTheirBounds) {
  SweepOnHost(ScalarOp::kNormalTail, 1u << 8);
  SweepOnHost(ScalarOp::kNormalTail16, 1u << 12);
  SweepOnHost(ScalarOp::kErfc16, 1u << 12);
}

// f32's is CUDA's own, here the host's.
TEST(EmulatedCuda, FmodOfF64IsExact) {
  constexpr size_t kCount = 1 << 16;
  PlanKit kit("fmod_sweep", {static_cast<int64_t>(kCount)});
  const int x = kit.Load(kit.Dense(kit.Input(DType::kF64)));
  const int y = kit.Load(kit.Dense(kit.Input(DType::kF64)));
  kit.Store(kit.Op(ScalarOp::kFmod, {x, y}), kit.Dense(kit.Output(DType::kF64)));
  absl::StatusOr<CudaOnHost> host = CudaOnHost::Compile({kit.Flat(256, 2)}, *TargetFor("sm_90"));
  if (absl::IsUnavailable(host.status())) GTEST_SKIP() << host.status();
  ASSERT_TRUE(host.ok()) << host.status();
  std::vector<double> xs(kCount), ys(kCount), out(kCount);
  FmodPoints points(DType::kF64);
  for (size_t i = 0; i < kCount; ++i) std::tie(xs[i], ys[i]) = points.Next();
  ASSERT_TRUE(host->Run(0, {xs.data(), ys.data(), out.data()}, {}, {}).ok());
  for (size_t i = 0; i < kCount; ++i) {
    ASSERT_TRUE(FmodPoints::Same(out[i], FmodPoints::Exact(xs[i], ys[i])))
        << xs[i] << ", " << ys[i] << ": " << out[i];
  }
}

}  // namespace
}  // namespace jitfuse::internal
