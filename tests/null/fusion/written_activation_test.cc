// Activations that users write out: each spelling is known by what it computes, and what is nearly
// one is left alone.
#include <string>
#include <vector>

#include "codegen/fusion/gemm_epilogue.h"
#include "codegen/fusion/written_activation.h"
#include "tests/null/fusion/fusion_kit.h"

namespace jitfuse::internal {
namespace {

struct Spelling {
  const char* name;
  const char* text;  // of %y by %z; %p0 and on are free
  GemmActivation activation;
};

const Spelling kSpellings[] = {
    {"gelu by erf",
     "%c = constant {value=0.7071067811865476} : $T[]\n %1 = multiply(%z, %c) : $T[n,m]\n %2 = "
     "erf(%1) : $T[n,m]\n %o = constant {value=1.0} : $T[]\n %3 = add(%2, %o) : $T[n,m]\n %4 = "
     "multiply(%z, %3) : $T[n,m]\n %h = constant {value=0.5} : $T[]\n %y = multiply(%4, %h) : "
     "$T[n,m]",
     GemmActivation::kGelu},
    {"gelu by erf, half first, divided",
     "%h = constant {value=0.5} : $T[]\n %1 = multiply(%h, %z) : $T[n,m]\n %c = constant "
     "{value=1.4142135623730951} : $T[]\n %2 = divide(%z, %c) : $T[n,m]\n %3 = erf(%2) : "
     "$T[n,m]\n %o = constant {value=1.0} : $T[]\n %4 = add(%o, %3) : $T[n,m]\n %y = multiply(%1, "
     "%4) : $T[n,m]",
     GemmActivation::kGelu},
    {"gelu by erfc",
     "%c = constant {value=-0.7071067811865476} : $T[]\n %1 = multiply(%z, %c) : $T[n,m]\n %2 = "
     "erfc(%1) : $T[n,m]\n %h = constant {value=0.5} : $T[]\n %3 = multiply(%2, %h) : $T[n,m]\n %y "
     "= multiply(%3, %z) : $T[n,m]",
     GemmActivation::kGelu},
    {"gelu by tanh, cube by products",
     "%1 = multiply(%z, %z) : $T[n,m]\n %2 = multiply(%1, %z) : $T[n,m]\n %a = constant "
     "{value=0.044715} : $T[]\n %3 = multiply(%a, %2) : $T[n,m]\n %4 = add(%z, %3) : $T[n,m]\n %b "
     "= constant {value=0.7978845608028654} : $T[]\n %5 = multiply(%b, %4) : $T[n,m]\n %6 = "
     "tanh(%5) : $T[n,m]\n %o = constant {value=1.0} : $T[]\n %7 = add(%o, %6) : $T[n,m]\n %h = "
     "constant {value=0.5} : $T[]\n %8 = multiply(%h, %z) : $T[n,m]\n %y = multiply(%8, %7) : "
     "$T[n,m]",
     GemmActivation::kGeluTanh},
    {"gelu by tanh, cube by pow",
     "%p = constant {value=3.0} : $T[]\n %1 = pow(%z, %p) : $T[n,m]\n %a = constant "
     "{value=0.044715} : $T[]\n %2 = multiply(%a, %1) : $T[n,m]\n %3 = add(%z, %2) : $T[n,m]\n %b "
     "= constant {value=0.7978845608028654} : $T[]\n %4 = multiply(%3, %b) : $T[n,m]\n %5 = "
     "tanh(%4) : $T[n,m]\n %o = constant {value=1.0} : $T[]\n %6 = add(%5, %o) : $T[n,m]\n %7 = "
     "multiply(%6, %z) : $T[n,m]\n %h = constant {value=0.5} : $T[]\n %y = multiply(%7, %h) : "
     "$T[n,m]",
     GemmActivation::kGeluTanh},
    {"silu by sigmoid", "%1 = sigmoid(%z) : $T[n,m]\n %y = multiply(%z, %1) : $T[n,m]",
     GemmActivation::kSilu},
    {"silu by exp",
     "%1 = negative(%z) : $T[n,m]\n %2 = exp(%1) : $T[n,m]\n %o = constant {value=1.0} : $T[]\n "
     "%3 = add(%2, %o) : $T[n,m]\n %y = divide(%z, %3) : $T[n,m]",
     GemmActivation::kSilu}};

const Spelling kOthers[] = {
    {"sigmoid of 1.702 x is not gelu",
     "%c = constant {value=1.702} : $T[]\n %1 = multiply(%z, %c) : $T[n,m]\n %2 = sigmoid(%1) : "
     "$T[n,m]\n %y = multiply(%z, %2) : $T[n,m]",
     GemmActivation::kNone},
    {"gelu without its half",
     "%c = constant {value=0.7071067811865476} : $T[]\n %1 = multiply(%z, %c) : $T[n,m]\n %2 = "
     "erf(%1) : $T[n,m]\n %o = constant {value=1.0} : $T[]\n %3 = add(%2, %o) : $T[n,m]\n %y = "
     "multiply(%z, %3) : $T[n,m]",
     GemmActivation::kNone},
    {"erf of another scale",
     "%c = constant {value=0.75} : $T[]\n %1 = multiply(%z, %c) : $T[n,m]\n %2 = erf(%1) : "
     "$T[n,m]\n %o = constant {value=1.0} : $T[]\n %3 = add(%2, %o) : $T[n,m]\n %4 = multiply(%z, "
     "%3) : $T[n,m]\n %h = constant {value=0.5} : $T[]\n %y = multiply(%4, %h) : $T[n,m]",
     GemmActivation::kNone},
    {"gelu by tanh with another coefficient and an offset",
     "%1 = multiply(%z, %z) : $T[n,m]\n %2 = multiply(%1, %z) : $T[n,m]\n %a = constant "
     "{value=0.0403} : $T[]\n %3 = multiply(%a, %2) : $T[n,m]\n %4 = add(%z, %3) : $T[n,m]\n %b "
     "= constant {value=0.7978845608028654} : $T[]\n %5 = multiply(%b, %4) : $T[n,m]\n %6 = "
     "tanh(%5) : $T[n,m]\n %o = constant {value=1.0} : $T[]\n %7 = add(%o, %6) : $T[n,m]\n %h = "
     "constant {value=0.5} : $T[]\n %8 = multiply(%h, %z) : $T[n,m]\n %9 = multiply(%8, %7) : "
     "$T[n,m]\n %d = constant {value=0.002} : $T[]\n %y = add(%9, %d) : $T[n,m]",
     GemmActivation::kNone},
    {"silu and a far exponential",
     "%1 = sigmoid(%z) : $T[n,m]\n %2 = multiply(%z, %1) : $T[n,m]\n %c = constant {value=-40.0} : "
     "$T[]\n %3 = add(%z, %c) : $T[n,m]\n %4 = exp(%3) : $T[n,m]\n %y = add(%2, %4) : $T[n,m]",
     GemmActivation::kNone},
    {"two arguments",
     "%1 = sigmoid(%w) : $T[n,m]\n %2 = multiply(%z, %1) : $T[n,m]\n %y = add(%2, %z) : $T[n,m]",
     GemmActivation::kNone}};

constexpr GemmActivation kAll[] = {GemmActivation::kGelu, GemmActivation::kGeluTanh,
                                   GemmActivation::kSilu};

std::optional<WrittenActivation> Find(const Spelling& s, const std::string& dtype,
                                      const std::string& more = "") {
  std::string text = "graph f(%x: $T[n,m], %w: $T[n,m]) -> ($T[n,m]" +
                     std::string(more.empty() ? "" : ", $T[n,m]") +
                     ") {\n %z = multiply(%x, %w) : $T[n,m]\n " + s.text + "\n return %y" + more +
                     "\n}";
  for (size_t at = 0; (at = text.find("$T")) != std::string::npos;) text.replace(at, 2, dtype);
  const Graph graph = Prepared(text);
  auto views = Views::Of(graph);
  EXPECT_TRUE(views.ok());
  for (NodeId id = 0; id < graph.size(); ++id) {
    const bool z = graph.node(id).kind() == OpKind::kPointwise && graph.node(id).in.size() == 2 &&
                   graph.node(graph.node(id).in[0]).kind() == OpKind::kInput &&
                   graph.node(graph.node(id).in[1]).kind() == OpKind::kInput;
    if (z) return FindWrittenActivation(graph, *views, ComputeUsers(graph), {id, 0}, kAll);
  }
  ADD_FAILURE() << "no argument";
  return std::nullopt;
}

TEST(WrittenActivation, EverySpellingInEveryDtype) {
  for (const Spelling& s : kSpellings) {
    for (const char* dtype : {"f32", "f64", "f16", "bf16"}) {
      SCOPED_TRACE(std::string(s.name) + " in " + dtype);
      std::optional<WrittenActivation> found = Find(s, dtype);
      ASSERT_TRUE(found);
      EXPECT_EQ(GemmActivationName(found->activation), GemmActivationName(s.activation));
    }
  }
}

TEST(WrittenActivation, WhatIsNearlyOneIsNone) {
  for (const Spelling& s : kOthers) {
    for (const char* dtype : {"f32", "bf16"}) {
      SCOPED_TRACE(std::string(s.name) + " in " + dtype);
      EXPECT_FALSE(Find(s, dtype));
    }
  }
}

TEST(WrittenActivation, NothingElseMayReadTheArgumentOrAPart) {
  for (const Spelling& s : kSpellings) {
    SCOPED_TRACE(s.name);
    EXPECT_FALSE(Find(s, "f32", ", %z"));
    EXPECT_FALSE(Find(s, "f32", ", %1"));
  }
}

// Behind a product it becomes part of the call, where the library takes it.
TEST(WrittenActivation, BehindAProduct) {
  EXPECT_FALSE(
      TableRefusal(TargetKind::kCuda, DType::kBF16,
                   {1, 0, true, GemmActivation::kGeluTanh}));  // so that it shows something
  Setting cuda, cpu;
  cpu.target = *TargetFor("x86-64-v3");
  const GemmLibrary all(FakeLibrary,
                        [](DType, const GemmEpilogue&) { return std::optional<Reason>(); });
  const std::string head =
      "graph f(%x: bf16[n,8], %v: bf16[16,8], %bias: bf16[16]) -> (bf16[n,16]) {\n "
      "%z = linear(%x, %v, %bias) : bf16[n,16]\n ";
  for (const Spelling& s : kSpellings) {
    SCOPED_TRACE(s.name);
    std::string text = head + s.text + "\n return %y\n}";
    for (size_t at = 0; (at = text.find("$T[n,m]")) != std::string::npos;)
      text.replace(at, 7, "bf16[n,16]");
    for (size_t at = 0; (at = text.find("$T")) != std::string::npos;) text.replace(at, 2, "bf16");
    const Graph graph = Prepared(text);
    for (const Setting& setting : {cuda, cpu}) {
      auto plan = Partition(graph, setting.target, setting.options, all);
      ASSERT_TRUE(plan.ok()) << plan.status();
      EXPECT_TRUE(VerifyFusionPlan(graph, *plan).ok());
      const GemmEpilogue with{1, 0, true, s.activation};
      const bool takes = !TableRefusal(setting.target.kind, DType::kBF16, with);
      const GemmEpilogue& e = plan->groups[0].gemm->epilogue;
      EXPECT_TRUE(e.bias);
      EXPECT_EQ(e.activation, takes ? s.activation : GemmActivation::kNone);
      EXPECT_EQ(plan->groups.size(), takes ? 1u : 2u) << FusionPlanToString(graph, *plan);
    }
  }
}

}  // namespace
}  // namespace jitfuse::internal
