// Products that are given zeros behind k and n: which, what is made of them, and that it means the
// same. And f32 products of 16-bit operands, which a library multiplies as they are.
#include "codegen/fusion/gemm_padding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "ir/eval.h"
#include "ir/expand.h"
#include "ir/text.h"
#include "tests/null/fusion/fusion_kit.h"

namespace jitfuse::internal {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::string Product(const std::string& dtype, const std::string& m, int64_t k, int64_t n,
                    bool tb = false) {
  const std::string w = tb ? absl::StrCat(n, ",", k) : absl::StrCat(k, ",", n);
  return absl::StrReplaceAll(
      "graph f(%x: T[M,K], %w: T[W]) -> (T[M,N]) {\n  %0 = matmul(%x, %w) ATTRS: T[M,N]\n"
      "  return %0\n}",
      {{"T", dtype},
       {"M", m},
       {"K", absl::StrCat(k)},
       {"N", absl::StrCat(n)},
       {"W", w},
       {"ATTRS", tb ? "{transpose_b=true} " : ""}});
}

std::optional<GemmPad> PadOf(const std::string& text, Numerics numerics = Numerics::kDefault,
                             const char* arch = "sm_90") {
  const Graph graph = *ParseGraph(text);
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (graph.node(id).kind() == OpKind::kMatMul)
      return PaddingOf(graph, graph.node(id), graph.node(id).types[0].dtype, *TargetFor(arch),
                       numerics);
  }
  return std::nullopt;
}

TEST(GemmPadding, WherePaysAndWhereNot) {
  const auto pad = [](const std::string& text, Numerics numerics = Numerics::kDefault) {
    const std::optional<GemmPad> p = PadOf(text, numerics);
    return p ? absl::StrCat(p->k, " ", p->n) : std::string("none");
  };
  EXPECT_EQ(pad(Product("bf16", "4096", 4095, 4096)), "1 0");
  EXPECT_EQ(pad(Product("f16", "4096", 4096, 4094)), "0 2");
  EXPECT_EQ(pad(Product("bf16", "4096", 4092, 4091)), "4 5");
  EXPECT_EQ(pad(Product("bf16", "4096", 4092, 4091, true)), "4 5");
  EXPECT_EQ(pad(Product("bf16", "4096", 4096, 4088)), "none");  // multiples of 8
  EXPECT_EQ(pad(Product("bf16", "4095", 4096, 4096)), "none");  // m may be anything
  // Few rows do not pay for a copy of the weight; odd sizes pay sooner than even ones.
  EXPECT_EQ(pad(Product("bf16", "16", 4095, 4096)), "none");
  EXPECT_EQ(pad(Product("bf16", "256", 4095, 4096)), "1 0");
  EXPECT_EQ(pad(Product("bf16", "256", 4094, 4096)), "none");
  EXPECT_EQ(pad(Product("bf16", "512", 4094, 4096)), "2 0");
  EXPECT_EQ(pad(Product("bf16", "64", 63, 64)), "none");
  // A symbol counts as 512.
  EXPECT_EQ(pad(Product("bf16", "m", 4095, 4096)), "1 0");
  EXPECT_EQ(pad(Product("bf16", "m", 127, 64)), "none");
  // f32 has no such kernels, but as TF32.
  EXPECT_EQ(pad(Product("f32", "4096", 4095, 4095)), "none");
  EXPECT_EQ(pad(Product("f32", "4096", 4095, 4094), Numerics::kFast), "1 2");
  EXPECT_EQ(pad(Product("f32", "4096", 4092, 4092), Numerics::kFast), "none");
  EXPECT_FALSE(PadOf(Product("bf16", "4096", 4095, 4096), Numerics::kDefault, "x86-64-v4"));
  // k lies in no row: neither is it in the way.
  EXPECT_EQ(pad("graph f(%x: bf16[4095,4096], %w: bf16[4095,4096]) -> (bf16[4096,4096]) {\n"
                "  %0 = matmul(%x, %w) {transpose_a=true} : bf16[4096,4096]\n  return %0\n}"),
            "none");
}

Setting Pads() {
  Setting setting;
  setting.pads = true;
  setting.epilogues = TakeEpilogues;
  return setting;
}

Planned PlanText(const std::string& text, const Setting& setting) {
  return PlanOf(*Expand(*ParseGraph(text)), setting);
}

TEST(GemmPadding, OperandsAreCopiedAndResultsCut) {
  Planned p = PlanText(Product("bf16", "m", 2047, 2045), Pads());
  EXPECT_EQ(p.Kinds(), "loop loop gemm copy");
  EXPECT_EQ(p.AllOps(), "pad | pad | matmul | ");
  EXPECT_EQ(p.Detail(Reason::kGemmPadded), "k from 2047 to 2048, n from 2045 to 2048");
  EXPECT_EQ(p.Reasons().count("gemm_padded"), 2u);
  ASSERT_TRUE(p.plan.groups[2].gemm.has_value());
  EXPECT_TRUE(p.plan.groups[2].gemm->k.Is(2048));
  EXPECT_TRUE(p.plan.groups[2].gemm->n.Is(2048));
  EXPECT_TRUE(p.plan.groups[2].gemm->ldd.Is(2048));
  // Only k: the result is written where it belongs, with its epilogue.
  p = PlanText(
      absl::StrReplaceAll(Product("bf16", "m", 2047, 2048),
                          {{"  return %0", "  %1 = relu(%0) : bf16[m,2048]\n  return %1"}}),
      Pads());
  EXPECT_EQ(p.AllOps(), "pad | pad | matmul relu");
  // Only n: the weight alone is copied, and what follows reads the part that counts.
  p = PlanText(absl::StrReplaceAll(Product("bf16", "m", 2048, 2045),
                                   {{"  return %0", "  %1 = exp(%0) : bf16[m,2045]\n  return %1"}}),
               Pads());
  EXPECT_EQ(p.AllOps(), "pad | matmul | exp");
  // Operands that are computed are written with their zeros.
  p = PlanText(absl::StrReplaceAll(
                   Product("bf16", "m", 2047, 2048),
                   {{"  %0 = matmul(%x", "  %9 = exp(%x) : bf16[m,2047]\n  %0 = matmul(%9"}}),
               Pads());
  EXPECT_THAT(p.AllOps(), HasSubstr("exp pad"));
}

TEST(GemmPadding, OneOfTwoProductsMayBeLeftAlone) {
  const std::string text =
      "graph f(%x: bf16[m,2047], %w: bf16[2047,2047], %v: bf16[2047,2048]) -> (bf16[m,2048]) {\n"
      "  %0 = matmul(%x, %w) : bf16[m,2047]\n  %1 = matmul(%0, %v) : bf16[m,2048]\n"
      "  return %1\n}";
  Setting setting = Pads();
  EXPECT_EQ(PlanText(text, setting).Reasons().count("gemm_padded"), 4u);
  setting.options.products = {{.padding = ProductChoice::Padding::kNever}};
  EXPECT_EQ(PlanText(text, setting).Reasons().count("gemm_padded"), 2u);
  setting.options.products.resize(2, {.padding = ProductChoice::Padding::kNever});
  EXPECT_EQ(PlanText(text, setting).AllOps(), "matmul | matmul");
  setting = Pads();
  setting.options.fuse = false;
  EXPECT_THAT(PlanText(text, setting).Reasons(), Not(Contains("gemm_padded")));
}

// The lowered graph gives the same bits.
TEST(GemmPadding, MeansTheSame) {
  for (const bool tb : {false, true}) {
    const Graph graph = *ParseGraph(Product("bf16", "4", 511, 513, tb));
    std::vector<HostTensor> inputs;
    for (NodeId id : graph.inputs()) {
      HostTensor t = HostTensor::Make(DType::kBF16, EvalDims(graph.type({id, 0}).dims, {}));
      for (int64_t i = 0; i < t.size(); ++i)
        t.Set(i, ScalarFromDouble(DType::kBF16, static_cast<double>((i * 37 + id) % 19 - 9) / 8));
      inputs.push_back(std::move(t));
    }
    Target target = *TargetFor("sm_90");
    const std::string wide = Product("bf16", "40960", 511, 513, tb);
    ASSERT_TRUE(PadOf(wide));
    auto lowered =
        LowerMatMul(*ParseGraph(wide), {}, [](DType) { return std::nullopt; }, {}, &target);
    ASSERT_TRUE(lowered.ok()) << lowered.status();
    const std::string padded = absl::StrReplaceAll(GraphToString(lowered->graph), {{"40960", "4"}});
    EXPECT_THAT(padded, HasSubstr("pad("));
    EXPECT_THAT(padded, HasSubstr("slice("));
    auto want = EvalDeclared(graph, inputs), got = EvalDeclared(*ParseGraph(padded), inputs);
    ASSERT_TRUE(want.ok() && got.ok()) << got.status();
    EXPECT_EQ((*want)[0].bytes, (*got)[0].bytes);
  }
}

// ---- f32 results.

Setting Widens(bool pads = false) {
  Setting setting;
  setting.pads = pads;
  setting.library = [](DType) { return std::nullopt; };
  setting.epilogues = TakeEpilogues;
  setting.gives_f32 = [](DType d) { return d == DType::kBF16 || d == DType::kF16; };
  return setting;
}

std::string Wide(const std::string& dtype, const char* behind = "  return %2\n") {
  return absl::StrReplaceAll(
      absl::StrCat("graph f(%x: T[m,2047], %w: T[2048,2047]) -> (f32[m,2048]) {\n"
                   "  %0 = cast(%x) {dtype=f32} : f32[m,2047]\n"
                   "  %v = cast(%w) {dtype=f32} : f32[2048,2047]\n"
                   "  %1 = transpose(%v) {perm=[1,0]} : f32[2047,2048]\n"
                   "  %2 = matmul(%0, %1) : f32[m,2048]\n",
                   behind, "}"),
      {{"T", dtype}});
}

TEST(WideProducts, AreMultipliedAsTheyAre) {
  for (const char* dtype : {"bf16", "f16"}) {
    const Planned p = PlanText(Wide(dtype), Widens());
    ASSERT_EQ(p.Kinds(), "gemm") << p.Text();
    const GemmCall& call = *p.plan.groups[0].gemm;
    EXPECT_EQ(DTypeName(call.dtype), dtype);
    EXPECT_EQ(call.result(), DType::kF32);
    EXPECT_TRUE(call.transpose_b);
    EXPECT_EQ(p.plan.groups[0].inputs.size(), 2u);
    for (Value v : p.plan.groups[0].inputs) EXPECT_EQ(DTypeName(p.graph.type(v).dtype), dtype);
    EXPECT_THAT(p.Text(), HasSubstr("(f32 result)"));
  }
  // With what follows, in f32; and with zeros behind k.
  const Planned p =
      PlanText(Wide("bf16", "  %3 = relu(%2) : f32[m,2048]\n  return %3\n"), Widens(/*pads=*/true));
  EXPECT_EQ(p.AllOps(), "pad | pad | cast cast matmul relu");
}

TEST(WideProducts, OnlyWhereNothingIsRoundedOtherwise) {
  const auto dtype = [](const std::string& text, const Setting& setting) {
    const Planned p = PlanText(text, setting);
    for (const Group& g : p.plan.groups) {
      if (g.gemm) return std::string(DTypeName(g.gemm->dtype));
    }
    return std::string("none");
  };
  EXPECT_EQ(dtype(Wide("bf16"), Widens()), "bf16");
  Setting none = Widens();
  none.gives_f32 = nullptr;
  EXPECT_EQ(dtype(Wide("bf16"), none), "f32");
  EXPECT_EQ(dtype(Wide("f64"), Widens()), "f32");
  // One operand alone, and two types.
  const auto mixed = [](const char* x, const char* w) {
    return absl::StrCat("graph f(%x: ", x, "[m,8], %w: ", w,
                        "[8,8]) -> (f32[m,8]) {\n"
                        "  %0 = cast(%x) {dtype=f32} : f32[m,8]\n"
                        "  %1 = cast(%w) {dtype=f32} : f32[8,8]\n"
                        "  %2 = matmul(%0, %1) : f32[m,8]\n  return %2\n}");
  };
  EXPECT_EQ(dtype(mixed("bf16", "bf16"), Widens()), "bf16");
  EXPECT_EQ(dtype(mixed("bf16", "f16"), Widens()), "f32");
  EXPECT_EQ(dtype(mixed("bf16", "f64"), Widens()), "f32");
  // A product in 16 bits that is cast behind is rounded, as the graph says.
  EXPECT_EQ(dtype("graph f(%x: bf16[m,8], %w: bf16[8,8]) -> (f32[m,8]) {\n"
                  "  %0 = matmul(%x, %w) : bf16[m,8]\n"
                  "  %1 = cast(%0) {dtype=f32} : f32[m,8]\n  return %1\n}",
                  Widens()),
            "bf16");
  const Planned rounded = PlanText(
      "graph f(%x: bf16[m,8], %w: bf16[8,8]) -> (f32[m,8]) {\n"
      "  %0 = matmul(%x, %w) : bf16[m,8]\n"
      "  %1 = cast(%0) {dtype=f32} : f32[m,8]\n  return %1\n}",
      Widens());
  EXPECT_EQ(rounded.Kinds(), "gemm loop");
  EXPECT_FALSE(rounded.plan.groups[0].gemm->f32_result);
}

// What is cast may be computed: it is stored in its 16 bits, rounded. Other readers of the cast
// have it, too.
TEST(WideProducts, CastsOfWhatIsComputed) {
  const Planned p = PlanText(
      "graph f(%x: bf16[m,64], %w: bf16[64,64]) -> (f32[m,64], f32[m,64]) {\n"
      "  %0 = exp(%x) : bf16[m,64]\n  %1 = cast(%0) {dtype=f32} : f32[m,64]\n"
      "  %2 = cast(%w) {dtype=f32} : f32[64,64]\n  %3 = matmul(%1, %2) : f32[m,64]\n"
      "  %4 = negative(%1) : f32[m,64]\n  return %3, %4\n}",
      Widens());
  ASSERT_EQ(p.Kinds(), "loop gemm") << p.Text();
  EXPECT_EQ(p.plan.groups[1].gemm->dtype, DType::kBF16);
  EXPECT_EQ(p.plan.groups[0].outputs.size(), 2u) << p.Text();
}

}  // namespace
}  // namespace jitfuse::internal
