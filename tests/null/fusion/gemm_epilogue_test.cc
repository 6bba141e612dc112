// Which nodes become a product's epilogue: by a library that takes all that its target's table has,
// for a GPU and for a CPU.
#include "codegen/fusion/gemm_epilogue.h"

#include "absl/strings/str_replace.h"
#include "tests/null/fusion/fusion_kit.h"

namespace jitfuse::internal {
namespace {

Setting On(const char* arch) {
  Setting setting;
  setting.target = *TargetFor(arch);
  setting.library = [](DType) { return std::nullopt; };
  setting.epilogues = TakeEpilogues;
  return setting;
}
constexpr const char* kArchs[] = {"sm_90", "x86-64-v3"};

// x[n,32] @ w[32,o] by `lines`, whose last is returned; T is the dtype. %0 is the product.
std::string Graph2D(const std::string& dtype, const std::string& inputs, const std::string& lines,
                    const std::string& last) {
  return absl::StrReplaceAll(absl::StrCat("graph f(%x: T[n,32], %w: T[32,o]", inputs,
                                          ") -> (T[n,o]) {\n  %0 = matmul(%x, %w) : T[n,o]\n",
                                          lines, "  return ", last, "\n}"),
                             {{"T[", dtype + "["}});
}

struct Taken {
  const char* name;
  const char* inputs;
  const char* lines;
  const char* last;
  const char* epilogue;            // of the one group
  std::vector<std::string> reads;  // names of its inputs
};

// What both targets take in f32.
const Taken kTaken[] = {
    {"bias",
     ", %b: T[o]",
     "  %1 = add(%0, %b) : T[n,o]\n",
     "%1",
     "product + bias",
     {"x", "w", "b"}},
    {"bias first",
     ", %b: T[o]",
     "  %1 = add(%b, %0) : T[n,o]\n",
     "%1",
     "product + bias",
     {"x", "w", "b"}},
    {"bias as one row",
     ", %b: T[1,o]",
     "  %1 = add(%0, %b) : T[n,o]\n",
     "%1",
     "product + bias",
     {"x", "w", "b"}},
    {"relu", "", "  %1 = relu(%0) : T[n,o]\n", "%1", "product, relu", {"x", "w"}},
    {"bias and relu",
     ", %b: T[o]",
     "  %1 = add(%0, %b) : T[n,o]\n  %2 = relu(%1) : T[n,o]\n",
     "%2",
     "product + bias, relu",
     {"x", "w", "b"}},
    {"a factor",
     "",
     "  %c = constant {value=0.5} : T[]\n  %1 = multiply(%0, %c) : T[n,o]\n",
     "%1",
     "0.5 * product",
     {"x", "w"}},
    {"a residual",
     ", %r: T[n,o]",
     "  %1 = add(%r, %0) : T[n,o]\n",
     "%1",
     "product + c",
     {"x", "w", "r"}},
    {"a residual, then a bias",
     ", %r: T[n,o], %b: T[o]",
     "  %1 = add(%0, %r) : T[n,o]\n  %2 = add(%1, %b) : T[n,o]\n",
     "%2",
     "product + c + bias",
     {"x", "w", "r", "b"}},
    {"a bias, then a residual",
     ", %r: T[n,o], %b: T[o]",
     "  %1 = add(%0, %b) : T[n,o]\n  %2 = add(%1, %r) : T[n,o]\n",
     "%2",
     "product + c + bias",
     {"x", "w", "r", "b"}},
    {"factors of both",
     ", %r: T[n,o]",
     "  %c = constant {value=0.5} : T[]\n  %1 = multiply(%0, %c) : T[n,o]\n"
     "  %d = constant {value=-2.0} : T[]\n  %2 = multiply(%r, %d) : T[n,o]\n"
     "  %3 = add(%1, %2) : T[n,o]\n  %4 = relu(%3) : T[n,o]\n",
     "%4",
     "0.5 * product + -2 * c, relu",
     {"x", "w", "r"}},
    {"addmm",
     ", %r: T[n,o]",
     "  %c = constant {value=0.25} : T[]\n  %1 = multiply(%0, %c) : T[n,o]\n"
     "  %2 = add(%r, %1) : T[n,o]\n",
     "%2",
     "0.25 * product + c",
     {"x", "w", "r"}},
    {"a matrix that another product made",
     ", %v: T[32,o]",
     "  %1 = matmul(%x, %v) : T[n,o]\n  %2 = add(%0, %1) : T[n,o]\n",
     "%2",
     "product + c",
     {}},
};

std::vector<std::string> InputNames(const Planned& p, const Group& group) {
  std::vector<std::string> names;
  for (Value v : group.inputs) {
    for (size_t i = 0; i < p.graph.inputs().size(); ++i)
      if (p.graph.inputs()[i] == v.node) names.push_back(p.graph.input_name(static_cast<int>(i)));
  }
  return names;
}

const Group* LastGemm(const Planned& p) {
  const Group* last = nullptr;
  for (const Group& group : p.plan.groups) {
    if (group.kind == GroupKind::kGemm) last = &group;
  }
  return last;
}

// Linear's own form, too: weights [o,k], three dims.
TEST(GemmEpilogue, WhatBothTargetsTake) {
  for (const char* arch : kArchs) {
    for (const char* dtype : {"f32", "bf16"}) {
      for (const Taken& c : kTaken) {
        SCOPED_TRACE(absl::StrCat(arch, " ", dtype, " ", c.name));
        Planned p = PlanOf(Graph2D(dtype, c.inputs, c.lines, c.last), On(arch));
        const Group* gemm = LastGemm(p);
        ASSERT_NE(gemm, nullptr) << p.Text();
        EXPECT_EQ(EpilogueToString(gemm->gemm->epilogue), c.epilogue) << p.Text();
        if (c.reads.empty() || std::string(c.epilogue) == "product") continue;
        EXPECT_EQ(p.Kinds(), "gemm") << p.Text();
        EXPECT_EQ(InputNames(p, *gemm), c.reads) << p.Text();
      }
    }
  }
}

TEST(GemmEpilogue, LinearInThreeDims) {
  for (const char* arch : kArchs) {
    Planned p = PlanOf(R"(graph f(%x: f32[b,s,32], %w: f32[64,32], %v: f32[64]) -> (f32[b,s,64]) {
  %0 = linear(%x, %w, %v) : f32[b,s,64]
  %1 = relu(%0) : f32[b,s,64]
  return %1
})",
                       On(arch));
    EXPECT_EQ(p.Kinds(), "gemm") << p.Text();
    EXPECT_EQ(EpilogueToString(p.plan.groups[0].gemm->epilogue), "product + bias, relu");
  }
}

// A reshape behind the product is its buffer under another name.
TEST(GemmEpilogue, ThroughAReshape) {
  Planned p = PlanOf(
      R"(graph f(%x: f32[n,32], %w: f32[32,64], %v: f32[64], %r: f32[n,8,8]) -> (f32[n,8,8]) {
  %0 = matmul(%x, %w) : f32[n,64]
  %1 = add(%0, %v) : f32[n,64]
  %2 = reshape(%1) {shape=[n,8,8]} : f32[n,8,8]
  %3 = add(%2, %r) : f32[n,8,8]
  %4 = relu(%3) : f32[n,8,8]
  return %4
})",
      On("x86-64-v3"));
  EXPECT_EQ(p.Kinds(), "gemm") << p.Text();
  EXPECT_EQ(EpilogueToString(p.plan.groups[0].gemm->epilogue), "product + c + bias, relu");
  // A transpose is not.
  Planned q = PlanOf(R"(graph f(%x: f32[n,32], %w: f32[32,64]) -> (f32[64,n]) {
  %0 = matmul(%x, %w) : f32[n,64]
  %1 = transpose(%0) {perm=[1,0]} : f32[64,n]
  %2 = relu(%1) : f32[64,n]
  return %2
})",
                     On("x86-64-v3"));
  EXPECT_EQ(q.Kinds(), "gemm loop") << q.Text();
}

// [n] is a number a column; [n,1] is one a row, which no library adds: told apart by strides.
TEST(GemmEpilogue, SquareProductsTellRowsFromColumns) {
  for (const char* arch : kArchs) {
    for (const char* size : {"64", "n"}) {
      const std::string text = R"(graph f(%x: f32[S,S], %w: f32[S,S], %b: f32[B]) -> (f32[S,S]) {
  %0 = matmul(%x, %w) : f32[S,S]
  %1 = add(%0, %b) : f32[S,S]
  return %1
})";
      auto with = [&](const char* bias) {
        std::string s = absl::StrReplaceAll(text, {{"B]", absl::StrCat(bias, "]")}});
        return absl::StrReplaceAll(s, {{"S", size}});
      };
      Planned column = PlanOf(with("S"), On(arch)), row = PlanOf(with("S,1"), On(arch));
      EXPECT_EQ(column.Kinds(), "gemm") << column.Text();
      EXPECT_TRUE(column.plan.groups[0].gemm->epilogue.bias);
      EXPECT_EQ(row.Kinds(), "gemm loop") << row.Text();
      EXPECT_EQ(row.Reasons().count("epilogue_operand"), 1u) << row.Text();
    }
  }
}

struct Refused {
  const char* name;
  const char* dtype;
  const char* inputs;
  const char* lines;
  const char* last;
  const char* epilogue;  // what the product still has
  const char* reason;
  const char* detail;
};

const Refused kRefused[] = {
    {"silu", "f32", ", %b: T[o]", "  %1 = add(%0, %b) : T[n,o]\n  %2 = silu(%1) : T[n,o]\n", "%2",
     "product + bias", "epilogue_activation", "silu of f32"},
    {"gelu by erf", "bf16", "", "  %1 = gelu(%0) : T[n,o]\n", "%1", "product",
     "epilogue_activation", "gelu of bf16"},
    {"tanh", "f32", "", "  %1 = tanh(%0) : T[n,o]\n", "%1", "product", "epilogue_activation",
     "tanh"},
    {"a factor of 0", "f32", "",
     "  %c = constant {value=0.0} : T[]\n  %1 = multiply(%0, %c) : T[n,o]\n", "%1", "product",
     "epilogue_activation", "multiply, not by a constant between 2^-20 and 1"},
    {"a factor beyond 1", "f32", "",
     "  %c = constant {value=2.0} : T[]\n  %1 = multiply(%0, %c) : T[n,o]\n", "%1", "product",
     "epilogue_activation", "multiply, not by a constant between 2^-20 and 1"},
    {"a gate", "f32", ", %g: T[n,o]", "  %1 = multiply(%0, %g) : T[n,o]\n", "%1", "product",
     "epilogue_activation", "multiply, not by a constant between 2^-20 and 1"},
    {"f64", "f64", ", %b: T[o]", "  %1 = add(%0, %b) : T[n,o]\n", "%1", "product", "epilogue_dtype",
     "add of f64"},
    {"one number a row", "f32", ", %b: T[n,1]", "  %1 = add(%0, %b) : T[n,o]\n", "%1", "product",
     "epilogue_operand", ""},
    {"a scalar", "f32", ", %b: T[]", "  %1 = add(%0, %b) : T[n,o]\n", "%1", "product",
     "epilogue_operand", ""},
    {"a constant", "f32", "", "  %c = constant {value=1.0} : T[]\n  %1 = add(%0, %c) : T[n,o]\n",
     "%1", "product", "epilogue_operand", ""},
    {"a matrix that a loop makes", "f32", ", %r: T[n,o]",
     "  %1 = tanh(%r) : T[n,o]\n  %2 = add(%0, %1) : T[n,o]\n", "%2", "product", "epilogue_operand",
     ""},
    {"columns", "f32", ", %r: T[o,n]",
     "  %1 = transpose(%r) {perm=[1,0]} : T[n,o]\n  %2 = add(%0, %1) : T[n,o]\n", "%2", "product",
     "epilogue_operand", ""},
    {"a bias behind relu", "f32", ", %b: T[o]",
     "  %1 = relu(%0) : T[n,o]\n  %2 = add(%1, %b) : T[n,o]\n", "%2", "product, relu",
     "epilogue_order", "add follows the activation"},
    {"two biases", "f32", ", %b: T[o], %c: T[o]",
     "  %1 = add(%0, %b) : T[n,o]\n  %2 = add(%1, %c) : T[n,o]\n", "%2", "product + bias",
     "epilogue_order", "a second bias"},
    {"two matrices", "f32", ", %b: T[n,o], %c: T[n,o]",
     "  %1 = add(%0, %b) : T[n,o]\n  %2 = add(%1, %c) : T[n,o]\n", "%2", "product + c",
     "epilogue_order", "a second matrix is added"},
    {"a factor behind a bias", "f32", ", %b: T[o]",
     "  %1 = add(%0, %b) : T[n,o]\n  %c = constant {value=0.5} : T[]\n  %2 = multiply(%1, %c) : "
     "T[n,o]\n",
     "%2", "product + bias", "epilogue_order", "multiply follows a sum or another factor"},
};

TEST(GemmEpilogue, WhatIsRefusedAndWhy) {
  for (const char* arch : kArchs) {
    for (const Refused& c : kRefused) {
      SCOPED_TRACE(absl::StrCat(arch, " ", c.name));
      Planned p = PlanOf(Graph2D(c.dtype, c.inputs, c.lines, c.last), On(arch));
      const Group* gemm = LastGemm(p);
      ASSERT_NE(gemm, nullptr) << p.Text();
      EXPECT_EQ(EpilogueToString(gemm->gemm->epilogue), c.epilogue) << p.Text();
      EXPECT_EQ(p.Reasons().count(c.reason), 1u) << p.Text();
      for (const Boundary& b : p.plan.boundaries) {
        if (ReasonName(b.reason) == c.reason && *c.detail != 0) EXPECT_EQ(b.detail, c.detail);
      }
    }
  }
}

// What the library says of itself, beyond its table.
TEST(GemmEpilogue, TheLibrarysOwnRefusal) {
  Setting setting = On("x86-64-v3");
  setting.epilogues = [](DType, const GemmEpilogue& e) {
    return e.activation == GemmActivation::kNone
               ? std::nullopt
               : std::optional<Reason>(Reason::kEpilogueActivation);
  };
  Planned p = PlanOf(
      Graph2D("f32", ", %b: T[o]", "  %1 = add(%0, %b) : T[n,o]\n  %2 = relu(%1) : T[n,o]\n", "%2"),
      setting);
  EXPECT_EQ(p.Kinds(), "gemm loop") << p.Text();
  EXPECT_EQ(EpilogueToString(p.plan.groups[0].gemm->epilogue), "product + bias");
  EXPECT_EQ(p.Detail(Reason::kEpilogueActivation), "relu of f32");
}

TEST(GemmEpilogue, NothingIsTakenWhereFusionIsOff) {
  const std::string text = Graph2D("f32", "", "  %1 = relu(%0) : T[n,o]\n", "%1");
  Setting off = On("x86-64-v3");
  off.options.fuse = false;
  EXPECT_EQ(PlanOf(text, off).Kinds(), "gemm loop");
  Setting limited = On("x86-64-v3");
  limited.options.max_fusions = 0;
  EXPECT_EQ(PlanOf(text, limited).Kinds(), "gemm loop");
  limited.options.max_fusions = 1;
  EXPECT_EQ(PlanOf(text, limited).Kinds(), "gemm");
  Setting none = On("x86-64-v3");
  none.epilogues = nullptr;
  EXPECT_EQ(PlanOf(text, none).Kinds(), "gemm loop");
}

// The product itself is seen outside: it has to be stored as it is.
TEST(GemmEpilogue, ProductsThatAreOutputsStay) {
  Planned p = PlanOf(R"(graph f(%x: f32[n,32], %w: f32[32,64]) -> (f32[n,64], f32[n,64]) {
  %0 = matmul(%x, %w) : f32[n,64]
  %1 = relu(%0) : f32[n,64]
  return %0, %1
})",
                     On("x86-64-v3"));
  EXPECT_EQ(p.Kinds(), "gemm loop") << p.Text();
}

TEST(GemmEpilogue, CMayBeAnyRowsOfUnitStride) {
  const std::string text = Graph2D("f32", ", %r: T[n,o]", "  %1 = add(%0, %r) : T[n,o]\n", "%1");
  Setting wide = On("x86-64-v3");
  wide.layouts = {{}, {}, {{Dim(4096), Dim(1)}, 16}};
  wide.layouts[0].strides = {Dim(32), Dim(1)};
  wide.layouts[1].strides = {Dim(64), Dim(1)};
  const std::string sized = absl::StrReplaceAll(text, {{",o]", ",64]"}});
  Planned p = PlanOf(sized, wide);
  EXPECT_EQ(p.Kinds(), "gemm") << p.Text();
  EXPECT_TRUE(p.plan.groups[0].gemm->ldc.Is(4096));
  wide.layouts[2].strides = {Dim(4096), Dim(2)};
  EXPECT_EQ(PlanOf(sized, wide).Kinds(), "gemm loop");
}

TEST(GemmEpilogue, TheTable) {
  const DType kF32 = DType::kF32, kF64 = DType::kF64, kF16 = DType::kF16;
  GemmEpilogue relu{1, 0, false, GemmActivation::kRelu}, gelu = relu, tanh = relu;
  gelu.activation = GemmActivation::kGelu;
  tanh.activation = GemmActivation::kGeluTanh;
  for (TargetKind target : {TargetKind::kCpu, TargetKind::kCuda}) {
    EXPECT_EQ(TableRefusal(target, kF64, {}), std::nullopt);
    EXPECT_EQ(TableRefusal(target, kF32, relu), std::nullopt);
    EXPECT_EQ(TableRefusal(target, kF64, relu), Reason::kEpilogueDtype);
    EXPECT_EQ(TableRefusal(target, DType::kI32, relu), Reason::kEpilogueDtype);
    EXPECT_EQ(TableRefusal(target, kF32, gelu), Reason::kEpilogueActivation);
    EXPECT_EQ(TableRefusal(target, kF32, tanh), Reason::kEpilogueActivation);
  }
  EXPECT_EQ(TableRefusal(TargetKind::kCpu, kF16, relu), Reason::kEpilogueDtype);
  EXPECT_EQ(TableRefusal(TargetKind::kCuda, kF16, tanh), std::nullopt);
  EXPECT_EQ(TableRefusal(TargetKind::kCpu, DType::kBF16, tanh), Reason::kEpilogueActivation);
}

}  // namespace
}  // namespace jitfuse::internal
