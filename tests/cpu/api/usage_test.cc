// What is easily given wrong: names that text cannot hold, operands that are no Tensor, variables
// with values that do not exist; and what explain says of graphs that compute nothing.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "api/inspect.h"
#include "api/jitfuse.h"

namespace jitfuse {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string InputError(const std::string& name, const std::vector<DimSpec>& dims) {
  Builder b;
  EXPECT_FALSE(b.Input(name, DType::kF32, dims).valid());
  return b.status().message();
}

TEST(UsageTest, NamesThatTextCannotHoldAreErrors) {
  EXPECT_EQ(InputError("x", {""}),
            "input 'x': a dim's name is empty; expected a number, or a symbol's name as in \"n\"");
  EXPECT_THAT(InputError("x", {static_cast<const char*>(nullptr)}), HasSubstr("name is empty"));
  EXPECT_THAT(InputError("x", {std::string()}), HasSubstr("name is empty"));
  EXPECT_THAT(InputError("x", {"two words"}), HasSubstr("input 'x'"));
  EXPECT_THAT(InputError("x", {"n!"}), HasSubstr("input 'x'"));
  EXPECT_THAT(InputError("a b", {2}), HasSubstr("input name 'a b': expected a letter or _"));
  EXPECT_THAT(InputError(std::string(600, 'x'), {2}), HasSubstr("at most 512 of them"));
  Builder b("my graph!");
  EXPECT_EQ(b.status().message(),
            "graph name 'my graph!': expected a letter or _, then letters, digits and _, at most "
            "512 of them");
  EXPECT_FALSE(b.Compile({b.Input("x", DType::kF32, {2})}).ok());
  EXPECT_FALSE(Builder("").status().ok());
  Builder good("my_graph");
  Tensor broadcast = Broadcast(good.Input("x", DType::kF32, {"n"}), {""});
  EXPECT_FALSE(broadcast.valid());
  EXPECT_THAT(good.status().message(), HasSubstr("broadcast: attribute shape: a dim's name"));
}

TEST(UsageTest, AnInvalidTensorIsNamedWhereverItStands) {
  auto message = [](auto make) {
    Builder b;
    make(b.Input("x", DType::kF32, {2, 3}));
    return b.status().message();
  };
  EXPECT_THAT(message([](const Tensor& x) { Add(x, Tensor()); }),
              HasSubstr("add: operand 1 is an invalid tensor"));
  EXPECT_THAT(message([](const Tensor& x) { Add(Tensor(), x); }),
              HasSubstr("add: operand 0 is an invalid tensor"));
  EXPECT_THAT(message([](const Tensor& x) { Where(x, x, Tensor()); }),
              HasSubstr("where: operand 2 is an invalid tensor"));
  EXPECT_THAT(message([](const Tensor& x) { Matmul(x, Tensor()); }),
              HasSubstr("matmul: operand 1 is an invalid tensor"));
  EXPECT_THAT(message([](const Tensor& x) { Concatenate({x, Tensor()}); }),
              HasSubstr("concatenate: operand 1 is an invalid tensor"));
  EXPECT_EQ(message([](const Tensor& x) { LayerNorm(x); }), "");  // its weight may be left out
  // Dropout takes a number where p is left out: a tensor that is given has to be one.
  EXPECT_EQ(message([](const Tensor& x) { EXPECT_FALSE(Dropout(x, Tensor()).valid()); }),
            "dropout: p is an invalid tensor; expected one that a Builder or an op gave");
}

TEST(UsageTest, ABuilderThatWasMovedFromSaysSo) {
  Builder b;
  Tensor x = b.Input("x", DType::kF32, {2});
  Builder to = std::move(b);
  const auto moved = HasSubstr("this Builder was moved from");
  EXPECT_THAT(b.status().message(), moved);  // NOLINT(bugprone-use-after-move): what is tested
  EXPECT_FALSE(b.Input("y", DType::kF32, {2}).valid());
  EXPECT_FALSE(b.Scalar("s", DType::kF32).valid());
  EXPECT_FALSE(b.Constant(DType::kF32, 1).valid());
  EXPECT_FALSE(b.ConstantInt(DType::kI32, 1).valid());
  EXPECT_FALSE(Iota(b, {3}).valid());
  EXPECT_FALSE(RandomUniform(b, {3}).valid());
  EXPECT_FALSE(RandomNormal(b, {3}).valid());
  EXPECT_EQ(b.ToText({x}), "");
  EXPECT_THAT(b.Compile({x}).status().message(), moved);
  EXPECT_TRUE(to.status().ok());
  EXPECT_TRUE(to.Compile({Relu(x)}).ok());
  b = Builder("again");
  EXPECT_TRUE(b.Compile({Relu(b.Input("x", DType::kF32, {2}))}).ok());
}

TEST(UsageTest, NumbersThatAreNoneOfTheTypeAreErrors) {
  auto message = [](auto make) {
    Builder b;
    make(b);
    return b.status().message();
  };
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(message([](Builder& b) { b.Constant(DType::kI8, 300); }),
            "constant: the number 300 does not fit i8, which holds whole numbers from -128 to 127");
  EXPECT_EQ(message([](Builder& b) { b.ConstantInt(DType::kU64, -1); }),
            "constant: the number -1 does not fit u64, which holds whole numbers from 0 to "
            "18446744073709551615");
  EXPECT_EQ(message([](Builder& b) { b.Constant(DType::kF16, 1e6); }),
            "constant: the number 1e+06 is beyond what f16 holds; give an infinity if that is "
            "meant");
  EXPECT_NE(message([](Builder& b) { b.Constant(DType::kI32, 1.5); }), "");
  EXPECT_NE(message([](Builder& b) { b.Constant(DType::kI32, kNan); }), "");
  EXPECT_NE(message([](Builder& b) { b.Constant(DType::kU8, -1); }), "");
  EXPECT_NE(message([](Builder& b) { b.ConstantInt(DType::kBool, 2); }), "");
  EXPECT_EQ(message([](Builder& b) { b.Constant(DType::kF32, kNan); }), "");
  EXPECT_EQ(message([](Builder& b) { b.ConstantInt(DType::kF32, (1LL << 53) + 1); }), "");
  EXPECT_THAT(message([](Builder& b) { b.Input("x", DType::kF16, {2}) * 1e6; }),
              HasSubstr("a number beside f16[2]: the number 1e+06 is beyond what f16 holds"));
}

TEST(UsageTest, WhatTextCouldNotHoldIsSaidAtTheInput) {
  Builder symbols;
  for (int i = 0; i < 64; ++i)
    symbols.Input("x" + std::to_string(i), DType::kF32, {"n" + std::to_string(i)});
  EXPECT_TRUE(symbols.status().ok()) << symbols.status().message();
  EXPECT_FALSE(symbols.Input("y", DType::kF32, {"m"}).valid());
  EXPECT_EQ(symbols.status().message(),
            "input 'y': dim 'm' brings more than 64 symbols, the limit of a graph");
  Builder inputs;
  for (int i = 0; i < 4096; ++i) inputs.Input("", DType::kF32, {});
  EXPECT_TRUE(inputs.status().ok()) << inputs.status().message();
  EXPECT_FALSE(inputs.Scalar("s", DType::kF32).valid());
  EXPECT_EQ(inputs.status().message(), "graph f: more than 4096 inputs, the limit of a graph");
}

TEST(UsageTest, OptionsThatDoNotExistAreErrors) {
  Builder b;
  Tensor y = Relu(b.Input("x", DType::kF32, {2}));
  CompileOptions options;
  options.numerics = static_cast<Numerics>(7);
  EXPECT_THAT(b.Compile({y}, options).status().message(), HasSubstr("numerics is 7"));
  options = {};
  options.max_fusions = -2;
  EXPECT_THAT(b.Compile({y}, options).status().message(),
              HasSubstr("max_fusions is -2, expected 0 or more, or -1 for no limit"));
  for (int dynamic : {-1, 7, 256}) {
    options = {};
    options.dynamic = static_cast<Dynamic>(dynamic);
    EXPECT_THAT(b.Compile({y}, options).status().message(),
                HasSubstr("dynamic is " + std::to_string(dynamic) +
                          ", which is no Dynamic; expected kLeading, kAll or kNone"));
  }
  options = {};
  options.specialize_after = -3;
  EXPECT_THAT(b.Compile({y}, options).status().message(),
              HasSubstr("specialize_after is -3, expected a number of calls, 0 or more"));
}

TEST(UsageTest, DimsOfInputsThatAreNoSizesAreNamed) {
  auto message = [](const std::string& dim, std::int64_t n) {
    return InputDims("graph g(%x: f32[n], %y: f32[2," + dim + "]) -> (f32[n]) { return %x }",
                     {{"n", n}})
        .status()
        .message();
  };
  EXPECT_EQ(message("n-5", 4),
            "graph g: input 'y': dim 1, n-5, is -1 for n=4; expected a size from 0 to 2^63 - 1");
  EXPECT_EQ(message("n*n", std::int64_t{1} << 40),
            "graph g: input 'y': dim 1, n*n, does not fit 64 bits for n=1099511627776; expected a "
            "size from 0 to 2^63 - 1");
  EXPECT_EQ(message("n*4", 3), "");
  EXPECT_NE(message("n*-1", 3), "");
}

TEST(UsageTest, AWorkspaceIsMemoryOfItsOwn) {
  StatusOr<Function> f = CompileText(R"(graph g(%x: f32[16,8], %y: f32[8,8]) -> (f32[16,8]) {
  %a = matmul(%x, %y) : f32[16,8]
  %b = exp(%a) : f32[16,8]
  %c = matmul(%b, %y) : f32[16,8]
  return %c
})");
  ASSERT_TRUE(f.ok()) << f.status().message();
  alignas(256) static float memory[1 << 14];
  alignas(256) static float out[16 * 8];
  float* inside = memory;
  std::vector<Array> in = {*Array::FromValues(DType::kF32, {16, 8}, std::vector<double>(128, 0)),
                           *Array::FromValues(DType::kF32, {8, 8}, std::vector<double>(64, 0))};
  const auto bytes = nlohmann::json::parse(*f->ExplainJson(in))["arena_bytes"].get<std::size_t>();
  ASSERT_GT(bytes, 0u);
  ASSERT_LE(bytes, *f->WorkspaceBytes(in));
  RunOptions o;
  o.workspace = memory;
  o.workspace_bytes = std::numeric_limits<std::size_t>::max();  // no limit: not a negative number
  const Array result = Array::View(out, DType::kF32, {16, 8});
  EXPECT_TRUE(f->RunInto(in, {result}, o).ok()) << f->RunInto(in, {result}, o).message();
  EXPECT_EQ(f->RunInto({Array::View(inside, DType::kF32, {16, 8}), in[1]}, {result}, o).message(),
            "g: the workspace overlaps the buffer of input 0; the call needs " +
                std::to_string(bytes) + " bytes of it that are nothing else's");
  EXPECT_THAT(f->RunInto(in, {Array::View(inside, DType::kF32, {16, 8})}, o).message(),
              HasSubstr("overlaps the buffer of output 0"));
  // Behind what the call uses there is room for anything.
  float* behind = inside + (bytes + 255) / 256 * 64;
  EXPECT_TRUE(f->RunInto(in, {Array::View(behind, DType::kF32, {16, 8})}, o).ok());
}

// Intermediate results may lie in an output, but not in one that is an input as well, or that is
// aligned to an element alone.
TEST(UsageTest, AWorkspaceIsEnoughWhereOutputsLendNothing) {
  CompileOptions options;
  options.fuse = false;
  StatusOr<Function> f = CompileText(R"(graph g(%a: f32[n]) -> (f32[n]) {
  %0 = exp(%a) : f32[n]
  %1 = negative(%0) : f32[n]
  %2 = exp(%1) : f32[n]
  return %2
})",
                                     options);
  ASSERT_TRUE(f.ok()) << f.status().message();
  constexpr std::int64_t kN = 64;
  alignas(256) static float memory[4 * kN];
  alignas(256) static float data[kN + 1];
  const Array zeros = *Array::FromValues(DType::kF32, {kN}, std::vector<double>(kN, 0));
  RunOptions o;
  o.workspace = memory;
  o.workspace_bytes = *f->WorkspaceBytes({zeros});
  ASSERT_LE(o.workspace_bytes, sizeof(memory));
  for (const auto& [what, input, output] :
       {std::tuple("apart", zeros, Array::View(data, DType::kF32, {kN})),
        std::tuple("in place", Array::View(data, DType::kF32, {kN}),
                   Array::View(data, DType::kF32, {kN})),
        std::tuple("misaligned", zeros, Array::View(data + 1, DType::kF32, {kN}))}) {
    std::fill(std::begin(data), std::end(data), 0.0f);
    const Status status = f->RunInto({input}, {output}, o);
    ASSERT_TRUE(status.ok()) << what << ": " << status.message();
    for (double value : *output.ToVector()) ASSERT_NEAR(value, 0.36787944, 1e-6) << what;
  }
  o.workspace_bytes = 0;
  EXPECT_THAT(f->RunInto({zeros}, {Array::View(data + 1, DType::kF32, {kN})}, o).message(),
              HasSubstr("the workspace has 0 bytes; this call needs 512"));
}

TEST(UsageTest, ArraysWithNegativeDimsAreNamed) {
  float data[2] = {};
  EXPECT_THAT(Array::View(data, DType::kF32, {-2}).ToVector().status().message(),
              HasSubstr("an array has a dim of -2, expected 0 or more"));
}

TEST(UsageTest, VariablesWithUnknownValuesAreErrors) {
  for (const char* name : {"JITFUSE_VERIFY", "JITFUSE_MAX_FUSIONS", "JITFUSE_DUMP"}) {
    const char* before = std::getenv(name);
    const std::string kept = before == nullptr ? "" : before;
    setenv(name, "maybe", 1);
    Builder b;
    StatusOr<Function> f = b.Compile({Relu(b.Input("x", DType::kF32, {2}))});
    setenv(name, kept.c_str(), 1);  // empty counts as not set
    EXPECT_EQ(f.status().code(), StatusCode::kInvalidArgument) << name;
    EXPECT_THAT(f.status().message(), HasSubstr(name));
  }
}

TEST(UsageTest, ExplainOfAGraphThatComputesNothing) {
  Builder b;
  Tensor x = b.Input("x", DType::kF32, {"n", 4});
  CompileOptions options;
  options.device = DeviceKind::kCpu;
  StatusOr<Function> f = b.Compile({x, Transpose(x)}, options);
  ASSERT_TRUE(f.ok()) << f.status().message();
  StatusOr<std::string> text = f->Explain({*Array::Empty(DType::kF32, {8, 4})});
  ASSERT_TRUE(text.ok()) << text.status().message();
  EXPECT_THAT(*text, HasSubstr("moves 256 B; nothing is computed here"));
  EXPECT_THAT(*text, Not(HasSubstr("would move 0 B")));
}

}  // namespace
}  // namespace jitfuse
