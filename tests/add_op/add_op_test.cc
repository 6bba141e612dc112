// Adding an op is one row: with the row of scratch_ops.inc, and nothing else, an op has inference,
// evaluator, interpreter, CPU kernel, CUDA source, gradient, docs and a C++ function.
//
// This program has its own op table (ir/op_table.cc compiled with that row), which takes the place
// of the one in libjitfuse_inside.so. The one other place that names the op is its oracle, kOracle.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "api/inspect.h"
#include "api/jitfuse.h"
#include "ir/eval.h"
#include "ir/op_def.h"
#include "ir/text.h"
#include "tests/test_util/golden.h"

namespace jitfuse_test {
namespace {

using jitfuse::Array;
using jitfuse::DeviceKind;
using jitfuse::DType;

double kOracle(double x, double shift) { return x * x * x + shift; }

constexpr const char* kText =
    "graph f(%a: f32[n,3], %b: f32[3]) -> (f32[n,3]) {\n"
    "  %0 = add(%a, %b) : f32[n,3]\n"
    "  %1 = scratch_cube(%0) {shift=2} : f32[n,3]\n"
    "  return %1\n}\n";

std::string Output(const char* command) {
  std::string out;
  FILE* pipe = popen(command, "r");
  char block[4096];
  for (size_t n; pipe != nullptr && (n = std::fread(block, 1, sizeof block, pipe)) > 0;)
    out.append(block, n);
  if (pipe != nullptr) pclose(pipe);
  return out;
}

TEST(AddOp, TheRowIsInTheTable) {
  const jitfuse::internal::OpDef* def = jitfuse::internal::FindOp("scratch_cube");
  ASSERT_NE(def, nullptr);
  EXPECT_EQ(jitfuse::internal::AllOps().back(), def);
  bool listed = false;
  for (const jitfuse::OpInfo& op : jitfuse::ListOps()) listed = listed || op.name == def->name;
  EXPECT_TRUE(listed);
}

TEST(AddOp, InferenceChecksIt) {
  auto wrong = [](const char* line) {
    auto graph = jitfuse::internal::ParseGraph(
        std::string("graph f(%a: f32[4], %i: i32[4]) -> (f32[4]) {\n %0 = ") + line +
        " : f32[4]\n return %0\n}");
    return graph.ok() ? std::string("no error") : std::string(graph.status().message());
  };
  EXPECT_THAT(wrong("scratch_cube(%i)"),
              testing::HasSubstr("expected one of f16, bf16, f32, f64 for x, got i32"));
  EXPECT_THAT(wrong("scratch_cube(%a) {by=1}"),
              testing::HasSubstr("has no attribute 'by'; it has shift"));
}

TEST(AddOp, EveryExecutorRunsIt) {
  std::vector<double> a = {0, 1, -2, 0.5, 3, -0.25}, b = {0.5, -1, 2};
  const std::vector<Array> inputs = {Array::FromValues(DType::kF32, {2, 3}, a).value(),
                                     Array::FromValues(DType::kF32, {3}, b).value()};
  std::vector<std::vector<double>> results = {
      jitfuse::Evaluate(kText, inputs).value()[0].ToVector().value()};
  for (DeviceKind kind : {DeviceKind::kInterpret, DeviceKind::kCpu}) {
    jitfuse::CompileOptions options;
    options.device = kind;
    auto f = jitfuse::CompileText(kText, options);
    ASSERT_TRUE(f.ok()) << f.status().message();
    auto out = f->Run(inputs);
    ASSERT_TRUE(out.ok()) << out.status().message();
    results.push_back((*out)[0].ToVector().value());
  }
  for (const auto& r : results) {
    ASSERT_EQ(r.size(), a.size());
    for (size_t i = 0; i < r.size(); ++i) EXPECT_NEAR(r[i], kOracle(a[i] + b[i % 3], 2), 1e-5);
  }
}

TEST(AddOp, BothEmittersWriteIt) {
  const std::vector<Array> inputs = {Array::FromValues(DType::kF32, {1, 3}, {1, 2, 3}).value(),
                                     Array::FromValues(DType::kF32, {3}, {1, 2, 3}).value()};
  auto cuda = jitfuse::SourceOf(kText, inputs, "cuda", "sm_90");
  ASSERT_TRUE(cuda.ok()) << cuda.status().message();
  EXPECT_NE(cuda->find("fmaf("), std::string::npos) << *cuda;
  auto llvm = jitfuse::SourceOf(kText, inputs, "llvm", "x86-64-v3");
  ASSERT_TRUE(llvm.ok()) << llvm.status().message();
  EXPECT_NE(llvm->find("@llvm.fma."), std::string::npos) << *llvm;
}

TEST(AddOp, ItIsDifferentiated) {
  const std::string loss =
      "graph f(%a: f32[2]) -> (f32[]) {\n  %0 = scratch_cube(%a) : f32[2]\n  %1 = sum(%0) : f32[]\n"
      "  return %1\n}\n";
  auto gradient = jitfuse::GradientText(loss, {"a"});
  ASSERT_TRUE(gradient.ok()) << gradient.status().message();
  const std::vector<Array> inputs = {Array::FromValues(DType::kF32, {2}, {2, -3}).value()};
  EXPECT_EQ(jitfuse::Evaluate(*gradient, inputs).value()[0].ToVector().value(),
            (std::vector<double>{12, 27}));
}

TEST(AddOp, TheApiAndTheDocsHaveIt) {
  EXPECT_NE(Output(JF_GEN_HEADER)
                .find("inline Tensor ScratchCube(const Tensor& x, double shift = 0.5) {"),
            std::string::npos);
  const std::string docs = Output(JF_GEN_DOCS);
  EXPECT_NE(docs.find("### `scratch_cube(x) {shift=0.5}`"), std::string::npos);
  EXPECT_NE(docs.find("The cube of x, shifted."), std::string::npos);
}

// One file defines it, and this one has its oracle.
TEST(AddOp, FilesTouched) {
  namespace fs = std::filesystem;
  std::vector<std::string> touched;
  for (const char* room :
       {"ir", "codegen", "jit", "cpu_backend", "api", "tools", "tests", "docs"}) {
    for (const auto& entry :
         fs::recursive_directory_iterator(jitfuse::internal::TestDataPath(room))) {
      if (!entry.is_regular_file()) continue;
      std::ifstream file(entry.path());
      const std::string text((std::istreambuf_iterator<char>(file)), {});
      if (text.find("scratch_cube") != std::string::npos)
        touched.push_back(entry.path().filename().string());
    }
  }
  std::sort(touched.begin(), touched.end());
  EXPECT_EQ(touched, (std::vector<std::string>{"add_op_test.cc", "scratch_ops.inc"}));
}

}  // namespace
}  // namespace jitfuse_test
