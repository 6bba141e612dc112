// The graphs of tests/support/graph_sweep, planned for sm_90 and compiled: what the label gpu runs,
// for machines without one. Each case (so every op in every dtype) in its first sizes with dense
// inputs, and every third one with strided inputs too: all of it in all layouts would take many
// minutes. 64 kernels a source; kernels whose source is the same to the byte are compiled once.
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "api/runtime.h"
#include "codegen/cuda/emit_cuda.h"
#include "ir/support/hash128.h"
#include "ir/support/status.h"
#include "jit/compile.h"
#include "jit/cuda/nvrtc_compile.h"
#include "tests/support/graph_sweep.h"
#include "tests/test_util/compiler_remarks.h"

namespace jitfuse_test {
namespace {

using namespace jitfuse::internal;

constexpr const char* kArch = "sm_90";

// The kernels of one call; names are left to the caller.
absl::StatusOr<std::vector<KernelPlan>> PlansOf(const FuzzCase& c, const Backend& backend) {
  std::vector<std::vector<int64_t>> dims;
  std::vector<FuzzLayout> layouts;
  std::vector<TensorView> views;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    dims.push_back(EvalDims(c.graph.node(c.graph.inputs()[i]).types[0].dims, c.sizes[0]));
    layouts.push_back(LayoutFor(dims.back(), c.inputs[i]));
  }
  for (size_t i = 0; i < dims.size(); ++i) {
    const DType dtype = c.graph.node(c.graph.inputs()[i]).types[0].dtype;
    views.push_back({reinterpret_cast<const void*>(
                         4096 + static_cast<uintptr_t>(layouts[i].first * ItemSize(dtype))),
                     dtype,
                     dims[i],
                     {}});
    if (!layouts[i].dense) views.back().strides = layouts[i].strides;
  }
  JF_ASSIGN_OR_RETURN(CallClass cls, ClassifyCall(c.graph, ComputeShapeFacts(c.graph), views, {}));
  JF_ASSIGN_OR_RETURN(PlannedGraph planned, PlanGraph(c.graph, cls, c.options, backend));
  return std::move(planned.plans);
}

class SweepCompiler {
 public:
  SweepCompiler(const NvrtcApi& nvrtc, const Target& target) : nvrtc_(nvrtc), target_(target) {}

  void Add(const std::string& name, KernelPlan plan) {
    plan.name = "k";
    const absl::StatusOr<KernelSource> source = EmitCuda(plan, target_);
    ASSERT_TRUE(source.ok()) << name << ": " << source.status();
    ++seen_;
    if (!sources_.insert(Hasher().String(source->text).Finish()).second) return;
    plan.name = absl::StrCat("k", sources_.size());
    batch_.push_back(std::move(plan));
    absl::StrAppend(&names_, " ", name);
    if (batch_.size() == 64) Flush();
  }
  void Flush() {
    if (batch_.empty()) return;
    absl::StatusOr<KernelSource> source = EmitCudaBatch(batch_, target_);
    ASSERT_TRUE(source.ok()) << names_ << ": " << source.status();
    source->entry = absl::StrCat("sweep_", batch_.front().name);
    const absl::StatusOr<CompiledKernel> compiled = CompileCuda(nvrtc_, *source);
    ASSERT_TRUE(compiled.ok()) << "kernels of" << names_ << ": " << compiled.status();
    spilled_ += SpillsIn(compiled->log, names_);
    EXPECT_EQ(compiled->bytes.substr(1, 3), "ELF");
    batch_.clear();
    names_.clear();
  }
  size_t compiled() const { return sources_.size(); }
  int seen() const { return seen_; }
  int spilled() const { return spilled_; }

 private:
  const NvrtcApi& nvrtc_;
  const Target& target_;
  std::set<Hash128> sources_;
  std::vector<KernelPlan> batch_;
  std::string names_;
  int seen_ = 0, spilled_ = 0;
};

// Shards share the work: each takes every kParts-th case.
constexpr size_t kParts = 4;
class NvrtcSweep : public testing::TestWithParam<size_t> {};

TEST_P(NvrtcSweep, Compiles) {
  const absl::StatusOr<const NvrtcApi*> nvrtc = LoadNvrtcApi();
  if (!nvrtc.ok()) GTEST_SKIP() << nvrtc.status();
  const Target target = *TargetFor(kArch);
  const auto backend = BackendForArch(jitfuse::DeviceKind::kCuda, kArch);
  ASSERT_TRUE(backend.ok()) << backend.status();
  SweepCompiler compiler(**nvrtc, target);
  const std::vector<SweepCase> cases = SweepCases();
  for (size_t k = GetParam(); k < cases.size(); k += kParts) {
    for (const SweepCall& call : SweepCalls(cases[k])) {
      if (call.size > 0 || call.specials != cases[k].specials) continue;
      const bool strided = call.layout == "strided" && k / kParts % 3 == 0;
      if (call.layout != "dense" && !strided) continue;
      absl::StatusOr<std::vector<KernelPlan>> plans = PlansOf(call.made, **backend);
      ASSERT_TRUE(plans.ok()) << cases[k].name << ": " << plans.status() << "\n"
                              << CaseToText(call.made);
      for (KernelPlan& plan : *plans) compiler.Add(cases[k].name, std::move(plan));
      if (HasFatalFailure()) return;
    }
  }
  compiler.Flush();
  EXPECT_GE(compiler.seen(), 300);
  EXPECT_LE(compiler.spilled() * 10, static_cast<int>(compiler.compiled()));
  RecordProperty("kernels", compiler.seen());
  RecordProperty("compiled", static_cast<int>(compiler.compiled()));
}

INSTANTIATE_TEST_SUITE_P(Parts, NvrtcSweep, testing::Range(size_t{0}, kParts));

}  // namespace
}  // namespace jitfuse_test
