// NVRTC on emitted sources: every idiom, conversion and primitive for several architectures, no GPU
// needed.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "codegen/cuda/emit_cuda.h"
#include "codegen/cuda/emit_sort.h"
#include "codegen/cuda/prelude.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ir/support/status.h"
#include "jit/cuda/cuda_backend.h"
#include "jit/cuda/nvrtc_compile.h"
#include "tests/support/plan_cases.h"
#include "tests/support/plan_kit.h"
#include "tests/test_util/compiler_remarks.h"
#include "tests/test_util/golden.h"
#include "tests/test_util/run_plan.h"

namespace jitfuse::internal {
namespace {

using ::testing::HasSubstr;

class Nvrtc : public testing::Test {
 protected:
  void SetUp() override {
    absl::StatusOr<const NvrtcApi*> api = LoadNvrtcApi();
    if (!api.ok()) GTEST_SKIP() << api.status();
    nvrtc_ = *api;
  }

  // 64 kernels a source: 9 ms each against 26 one by one.
  void CompileAll(const std::vector<PlanCase>& cases, const std::string& arch) {
    const Target target = *TargetFor(arch);
    for (size_t begin = 0; begin < cases.size(); begin += 64) {
      std::vector<KernelPlan> plans;
      for (size_t k = begin; k < std::min(cases.size(), begin + 64); ++k)
        plans.push_back(cases[k].plan);
      absl::StatusOr<KernelSource> source = EmitCudaBatch(plans, target);
      ASSERT_TRUE(source.ok()) << source.status();
      source->entry = absl::StrCat("batch_", begin);
      absl::StatusOr<CompiledKernel> compiled = CompileCuda(*nvrtc_, *source);
      ASSERT_TRUE(compiled.ok()) << arch << ": " << compiled.status();
      SpillsIn(compiled->log, arch);
      EXPECT_EQ(compiled->bytes.substr(0, 4),
                "\x7f"
                "ELF")
          << arch;
    }
  }

  const NvrtcApi* nvrtc_ = nullptr;
};

class NvrtcArch : public Nvrtc, public testing::WithParamInterface<const char*> {};

TEST_P(NvrtcArch, Flat) { CompileAll(FlatCases(), GetParam()); }
TEST_P(NvrtcArch, Layouts) { CompileAll(LayoutCases(), GetParam()); }
// Rows are the dear ones: all of them once, some for the other architectures.
TEST_P(NvrtcArch, Rows) {
  std::vector<PlanCase> cases = RowCases(), windows = WindowCases(), some;
  cases.insert(cases.end(), windows.begin(), windows.end());
  for (size_t k = 0; k < cases.size(); k += std::string(GetParam()) == "sm_90" ? 1 : 7)
    some.push_back(cases[k]);
  CompileAll(some, GetParam());
}
TEST_P(NvrtcArch, Conversions) { CompileAll(ConversionCases(), GetParam()); }
TEST_P(NvrtcArch, Primitives) { CompileAll(PrimitiveCases(), GetParam()); }
TEST_P(NvrtcArch, Planned) { CompileAll(PlannedCases(*TargetFor(GetParam())), GetParam()); }

TEST_P(NvrtcArch, Sorts) {
  for (DType dtype : {DType::kU8, DType::kU16, DType::kU32, DType::kU64, DType::kI8, DType::kI16,
                      DType::kI32, DType::kI64}) {
    for (const KernelSource& source : EmitCudaSort(dtype, *TargetFor(GetParam()))) {
      absl::StatusOr<CompiledKernel> compiled = CompileCuda(*nvrtc_, source);
      ASSERT_TRUE(compiled.ok()) << source.entry << ": " << compiled.status();
      SpillsIn(compiled->log, source.entry);
      if (dtype != DType::kU8 && source.entry == "k_sort_count") break;  // the same for all
    }
  }
}
TEST_P(NvrtcArch, Segments) {
  const Target target = *TargetFor(GetParam());
  std::vector<KernelPlan> plans;
  for (const char* t :
       {"f32", "f64", "f16", "bf16", "u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64"}) {
    const std::string x = absl::StrCat(t, "[9,n]"), bounds = "i64[9,n]";
    Graph graph = *Expand(*ParseGraph(absl::StrCat(
        "graph f(%x: ", x, ", %s: ", t, "[m,n], %o: i64[m,n], %b: ", bounds, ", %e: ", bounds,
        ") -> (", x, ") { %0 = segment_add(%x, %s, %o, %b, %e) {axis=0} : ", x, " return %0 }")));
    std::vector<KernelPlan> made = *BuildPlan(graph, WholeGroup(graph), {}, target, {});
    made[0].name = absl::StrCat("segments_", t);
    plans.push_back(made[0]);
  }
  absl::StatusOr<KernelSource> source = EmitCudaBatch(plans, target);
  ASSERT_TRUE(source.ok()) << source.status();
  source->entry = "segments";
  absl::StatusOr<CompiledKernel> compiled = CompileCuda(*nvrtc_, *source);
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  EXPECT_EQ(compiled->log, "");
}

INSTANTIATE_TEST_SUITE_P(Arch, NvrtcArch, testing::Values("sm_75", "sm_80", "sm_90", "sm_120"));

// Nothing of a kernel lives in local memory: no spills, no array that is indexed by a variable.
TEST_F(Nvrtc, NoLocalMemory) {
  const Target target = *TargetFor("sm_90");
  std::vector<KernelPlan> plans;
  for (const PlanCase& c : PlannedCases(target)) plans.push_back(c.plan);
  for (DType dtype : {DType::kF32, DType::kBF16, DType::kF64}) {
    plans.push_back(Softmax(dtype, 64, 4096, 256, 1, 16 / ItemSize(dtype), ItemSize(dtype)));
    plans.back().name += "_wide";
  }
  // Ops whose library bodies have slow paths: what the quick mode makes of sin has a frame.
  for (ScalarOp op : {ScalarOp::kSin, ScalarOp::kTan, ScalarOp::kSqrt, ScalarOp::kReciprocal,
                      ScalarOp::kTanh, ScalarOp::kErfc, ScalarOp::kErf}) {
    PlanKit k(absl::StrCat("flat_", ToAbsl(GetScalarOp(op).name)), {1 << 20});
    k.Store(k.Op(op, {k.Load(k.Dense(k.Input(DType::kF32)))}), k.Dense(k.Output(DType::kF32)));
    plans.push_back(k.Flat(256, 4));
  }
  for (const KernelPlan& plan : plans) {
    absl::StatusOr<KernelSource> source = EmitCuda(plan, target);
    ASSERT_TRUE(source.ok()) << source.status();
    source->options.push_back("--ptxas-options=-v");
    absl::StatusOr<CompiledKernel> compiled = CompileCuda(*nvrtc_, *source);
    ASSERT_TRUE(compiled.ok()) << compiled.status();
    EXPECT_THAT(compiled->log, HasSubstr(" bytes stack frame")) << plan.name;
    for (const char* what : {" bytes stack frame", " bytes spill stores"}) {
      for (size_t at = compiled->log.find(what); at != std::string::npos;
           at = compiled->log.find(what, at + 1)) {
        EXPECT_EQ(compiled->log.substr(at - 2, 2), " 0") << plan.name << "\n" << compiled->log;
      }
    }
  }
}

// The golden kernels, and the whole prelude, for every architecture of the table that this NVRTC
// knows.
TEST_F(Nvrtc, EveryArchitecture) {
  int known = 0;
  for (const std::string& arch : KnownCudaArchs()) {
    const Target target = *TargetFor(arch);
    const std::vector<KernelPlan> plans = {AddMulRelu(DType::kBF16, {1024}, 128, 8),
                                           Softmax(DType::kF16, 64, 1024, 128, 1, 8, 1),
                                           LayerNorm(DType::kF32, 64, 5000, 256, 1, 4, 0)};
    absl::StatusOr<KernelSource> source = EmitCudaBatch(plans, target);
    ASSERT_TRUE(source.ok()) << source.status();
    std::string names;
    for (const std::string& name : PreludeNames()) absl::StrAppend(&names, name, " ");
    source->text = absl::StrCat(PreludeFor(names),
                                source->text.substr(source->text.find("// Jitfuse kernel")));
    source->entry = "all_of_it";
    absl::StatusOr<CompiledKernel> compiled = CompileCuda(*nvrtc_, *source);
    if (absl::IsFailedPrecondition(compiled.status())) {
      EXPECT_THAT(std::string(compiled.status().message()),
                  HasSubstr(absl::StrCat("does not compile for ", arch)));
      continue;
    }
    ASSERT_TRUE(compiled.ok()) << arch << ": " << compiled.status();
    ++known;
  }
  EXPECT_GE(known, 6);
}

TEST_F(Nvrtc, FailureShowsLogAndSource) {
  KernelSource source;
  source.lang = SourceLang::kCuda;
  source.entry = "broken";
  source.arch = "sm_90";
  source.text = "extern \"C\" __global__ void broken() { int x = nothing; }\n";
  absl::StatusOr<CompiledKernel> compiled = CompileCuda(*nvrtc_, source);
  ASSERT_FALSE(compiled.ok());
  const std::string message(compiled.status().message());
  EXPECT_THAT(message, HasSubstr("could not compile broken for sm_90"));
  EXPECT_THAT(message, HasSubstr("identifier \"nothing\" is undefined"));
  const size_t at = message.find("source: ") + 8;
  std::ifstream file(message.substr(at, message.find(';', at) - at));
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_EQ(text.str(), source.text) << message;
}

TEST_F(Nvrtc, UnknownArchitectureNamesTheKnownOnes) {
  KernelSource source;
  source.lang = SourceLang::kCuda;
  source.entry = "k";
  source.arch = "sm_35";
  absl::StatusOr<CompiledKernel> compiled = CompileCuda(*nvrtc_, source);
  ASSERT_FALSE(compiled.ok());
  EXPECT_THAT(std::string(compiled.status().message()),
              HasSubstr("does not compile for sm_35; it knows "));
  EXPECT_THAT(std::string(compiled.status().message()), HasSubstr("sm_90"));
}

TEST_F(Nvrtc, Ptx) {
  absl::StatusOr<KernelSource> source =
      EmitCuda(AddMulRelu(DType::kF32, {4096}, 128, 4), *TargetFor("sm_90"));
  ASSERT_TRUE(source.ok());
  absl::StatusOr<std::string> ptx = CompileCudaToPtx(*nvrtc_, *source);
  ASSERT_TRUE(ptx.ok()) << ptx.status();
  EXPECT_THAT(*ptx, HasSubstr(".target sm_90"));
  // Three loads and a store, each 16 bytes wide, and the one fma that the planner asked for.
  auto count = [&](std::string_view what) {
    int n = 0;
    for (size_t at = ptx->find(what); at != std::string::npos; at = ptx->find(what, at + 1)) ++n;
    return n;
  };
  EXPECT_EQ(count("ld.global.nc.v4"), 3) << *ptx;
  EXPECT_EQ(count("st.global.v4"), 1) << *ptx;
  EXPECT_EQ(count("fma.rn.f32"), 4) << *ptx;
}

// Emission and compilation through the interface, with no driver.
TEST_F(Nvrtc, OfflineBackend) {
  absl::StatusOr<std::unique_ptr<Backend>> backend = CreateOfflineCudaBackend(*TargetFor("sm_80"));
  ASSERT_TRUE(backend.ok()) << backend.status();
  EXPECT_THAT((*backend)->CompilerId(), HasSubstr("nvrtc 1"));
  absl::StatusOr<KernelSource> source = (*backend)->Emit(AddMulRelu(DType::kF16, {4096}, 128, 8));
  ASSERT_TRUE(source.ok());
  absl::StatusOr<CompiledKernel> compiled = (*backend)->Compile(*source);
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  absl::StatusOr<std::shared_ptr<const Kernel>> kernel = (*backend)->Load(*source, *compiled);
  EXPECT_TRUE(absl::IsFailedPrecondition(kernel.status())) << kernel.status();
}

}  // namespace
}  // namespace jitfuse::internal
