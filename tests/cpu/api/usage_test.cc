// What is easily given wrong: names that text cannot hold, operands that are no Tensor, variables
// with values that do not exist; and what explain says of graphs that compute nothing.
#include <cstdlib>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
