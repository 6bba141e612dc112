// Plans besides the first: which there are, and that a bundle has the kernels of all.
#include "jit/product_choices.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "jit/compile.h"
#include "jit/manifest_calls.h"
#include "jit/precache.h"
#include "jit/tune_record.h"
#include "tests/null/jit/tune_kit.h"

namespace jitfuse::internal {
namespace {

using testing::ElementsAre;
using testing::IsSubsetOf;
using testing::UnorderedElementsAre;
using Epilogue = ProductChoice::Epilogue;

// relu(x @ w + b), `layers` times over.
std::string Layers(int layers) {
  std::string inputs = "%x0: f32[n,64]", body;
  for (int i = 0; i < layers; ++i) {
    absl::StrAppend(&inputs, ", %w", i, ": f32[64,64], %b", i, ": f32[64]");
    absl::StrAppend(&body, "  %p", i, " = linear(%x", i, ", %w", i, ", %b", i,
                    ") : f32[n,64]\n  %x", i + 1, " = relu(%p", i, ") : f32[n,64]\n");
  }
  return absl::StrCat("graph f(", inputs, ") -> (f32[n,64]) {\n", body, "  return %x", layers,
                      "\n}");
}

PrecacheJob JobOf(const std::string& text) {
  ManifestCall call;
  call.sizes["n"] = {100};
  auto classes = ClassesOf(std::make_shared<const Graph>(*ParseGraph(text)), call, {});
  EXPECT_TRUE(classes.ok()) << classes.status();
  return {(*classes)[0].graph, (*classes)[0].cls, Options(), "test"};
}

std::vector<std::string> Others(const std::string& text, const Backend& backend) {
  const PrecacheJob job = JobOf(text);
  const auto planned = PlanGraph(*job.graph, job.cls, Options(), backend);
  EXPECT_TRUE(planned.ok()) << planned.status();
  std::vector<std::string> out;
  for (const auto& choices : OtherChoices(planned->graph, planned->fusion))
    out.push_back(ChoicesToString(choices));
  return out;
}

TEST(ProductChoices, WhatMakesAnotherPlan) {
  EXPECT_THAT(SmallerEpilogues({}), ElementsAre());
  EXPECT_THAT(SmallerEpilogues({.bias = true}), ElementsAre(Epilogue::kNone));
  EXPECT_THAT(SmallerEpilogues({.activation = GemmActivation::kRelu}),
              ElementsAre(Epilogue::kNone));
  for (const GemmEpilogue& e : {GemmEpilogue{.alpha = 2, .activation = GemmActivation::kRelu},
                                GemmEpilogue{.beta = 1, .activation = GemmActivation::kRelu},
                                GemmEpilogue{.bias = true, .activation = GemmActivation::kRelu}})
    EXPECT_THAT(SmallerEpilogues(e), ElementsAre(Epilogue::kSums, Epilogue::kNone));
}

TEST(ProductChoices, EveryCombinationOrAllAlike) {
  const TimedBackend backend;
  EXPECT_THAT(Others(kProduct, backend), ElementsAre());
  EXPECT_THAT(Others(Layers(2), backend),
              UnorderedElementsAre("sums, all", "none, all", "all, sums", "sums, sums",
                                   "none, sums", "all, none", "sums, none", "none, none"));
  EXPECT_EQ(Others(Layers(4), backend).size(), kMostPlans - 1);
  EXPECT_THAT(Others(Layers(5), backend),
              ElementsAre("sums, sums, sums, sums, sums", "none, none, none, none, none"));
}

// Also of products that are padded, each of which may be left as it is.
TEST(ProductChoices, PaddedProductsMayBeUnpadded) {
  const TimedBackend backend;
  const auto others = Others(
      "graph f(%x: f16[n,4095], %w: f16[4095,4096], %v: f16[4096,4096]) -> (f16[n,4096]) {\n"
      "  %0 = matmul(%x, %w) : f16[n,4096]\n  %1 = matmul(%0, %v) : f16[n,4096]\n  return %1\n}",
      backend);
  EXPECT_EQ(others.size(), 3u);
  EXPECT_THAT(others, testing::Contains("all/unpadded, all/unpadded"));
}

std::set<std::string> KeysOf(const std::vector<KernelSource>& sources, const Backend& backend) {
  std::set<std::string> out;
  for (const KernelSource& source : sources) out.insert(KeyOf(source, backend.name()).source);
  return out;
}

// Kernels that follow two products, which are then read with what each has left out.
TEST(BundleTest, ServesEveryPlanThatTuningChooses) {
  const TimedBackend backend;
  const PrecacheJob job = JobOf(
      "graph f(%x: f32[n,64], %w: f32[64,64], %b: f32[64], %v: f32[64,64], %c: f32[64]) -> "
      "(f32[n,64]) {\n  %0 = linear(%x, %w, %b) : f32[n,64]\n  %1 = relu(%0) : f32[n,64]\n"
      "  %2 = tanh(%x) : f32[n,64]\n  %3 = linear(%2, %v, %c) : f32[n,64]\n"
      "  %4 = relu(%3) : f32[n,64]\n  %5 = multiply(%1, %4) : f32[n,64]\n  return %5\n}");
  const PrecacheTarget target{&backend, "none"};
  const auto wanted = CollectKernels({&job, 1}, {&target, 1});
  ASSERT_TRUE(wanted.ok()) << wanted.status();
  std::set<std::string> bundle;
  for (const WantedKernel& kernel : wanted->kernels) bundle.insert(kernel.key.source);
  EXPECT_EQ(bundle.size(), wanted->kernels.size());
  size_t kernels = 0;
  for (Epilogue first : {Epilogue::kAll, Epilogue::kSums, Epilogue::kNone}) {
    for (Epilogue second : {Epilogue::kAll, Epilogue::kSums, Epilogue::kNone}) {
      Options options;
      options.products = {{first}, {second}};
      const auto emitted = EmitGraph(*job.graph, job.cls, options, backend);
      ASSERT_TRUE(emitted.ok()) << emitted.status();
      EXPECT_THAT(KeysOf(emitted->sources, backend), IsSubsetOf(bundle));
      kernels += emitted->sources.size();
    }
  }
  EXPECT_GT(kernels, 8u);
}

// What a bound function computes once is a graph of its own, compiled when it is first called.
TEST(BundleTest, HasWhatIsComputedOnce) {
  const TimedBackend backend;
  const auto graph = std::make_shared<const Graph>(*ParseGraph(
      "graph f(%x: f32[n,32], %w: f32[32,64], %v: f32[64]) -> (f32[n,64]) {\n"
      "  %0 = exp(%w) : f32[32,64]\n  %1 = tanh(%0) : f32[32,64]\n"
      "  %2 = matmul(%x, %1) : f32[n,64]\n  %3 = multiply(%2, %v) : f32[n,64]\n  return %3\n}"));
  ManifestCall call;
  call.sizes["n"] = {100};
  call.inputs["w"] = {{1, 32}, 4, {}};  // as it lies: the graph of its own reads it so, too
  const std::vector<std::string> bound = {"w"};
  const auto classes = ClassesOf(graph, call, bound);
  ASSERT_TRUE(classes.ok()) << classes.status();
  const PrecacheJob job{(*classes)[0].graph, (*classes)[0].cls, Options(), "test"};
  const PrecacheTarget target{&backend, "none"};
  const auto wanted = CollectKernels({&job, 1}, {&target, 1});
  ASSERT_TRUE(wanted.ok()) << wanted.status();
  const auto once = std::make_shared<const Graph>(
      *ParseGraph("graph f(%w: f32[32,64]) -> (f32[32,64]) {\n"
                  "  %0 = exp(%w) : f32[32,64]\n  %1 = tanh(%0) : f32[32,64]\n  return %1\n}"));
  ManifestCall of_once;
  of_once.inputs["w"] = call.inputs["w"];
  const auto own = ClassesOf(once, of_once, {});
  ASSERT_TRUE(own.ok()) << own.status();
  const auto emitted = EmitGraph(*(*own)[0].graph, (*own)[0].cls, Options(), backend);
  ASSERT_TRUE(emitted.ok()) << emitted.status();
  ASSERT_EQ(emitted->sources.size(), 1u);
  std::set<std::string> bundle;
  for (const WantedKernel& kernel : wanted->kernels) bundle.insert(kernel.key.source);
  EXPECT_THAT(KeysOf(emitted->sources, backend), IsSubsetOf(bundle));
  EXPECT_EQ(bundle.size(), 2u);
}

}  // namespace
}  // namespace jitfuse::internal
