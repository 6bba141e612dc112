#include "ir/infer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "absl/strings/str_cat.h"
#include "ir/graph.h"
#include "ir/op_enum.h"
#include "ir/text.h"

namespace jitfuse::internal {
namespace {

using ::testing::HasSubstr;
using Ints = std::vector<int64_t>;
using Dims = std::vector<Dim>;

// Operands are written as types: f32[n,4] ...
class Call {
 public:
  Call(std::initializer_list<const char*> types) {
    for (const char* text : types) {
      auto type = ParseType(text, &graph.symbols());
      EXPECT_TRUE(type.ok()) << type.status();
      auto v = graph.AddInput("", *type);
      EXPECT_TRUE(v.ok()) << v.status();
      in.push_back(*v);
    }
  }
  std::string Type(Op op, Attrs attrs = {}) {
    auto v = graph.Add(op, in, std::move(attrs));
    if (!v.ok()) return std::string(v.status().message());
    std::string out;
    for (size_t i = 0; i < graph.node(*v).types.size(); ++i) {
      absl::StrAppend(&out, i > 0 ? ", " : "",
                      graph.TypeString({v->node, static_cast<int32_t>(i)}));
    }
    return out;
  }
  std::string GuardText() const {
    std::string out;
    for (const Guard& g : graph.guards()) {
      absl::StrAppend(&out, out.empty() ? "" : "; ", g.a.ToString(graph.symbols().names), "=",
                      g.b.ToString(graph.symbols().names));
    }
    return out;
  }
  Graph graph;
  std::vector<Value> in;
};

std::string Infer(Op op, std::initializer_list<const char*> types, Attrs attrs = {}) {
  return Call(types).Type(op, std::move(attrs));
}

TEST(Infer, PointwiseBroadcasts) {
  EXPECT_EQ(Infer(Op::kAdd, {"f32[4,8]", "f32[4,8]"}), "f32[4,8]");
  EXPECT_EQ(Infer(Op::kAdd, {"f32[4,1]", "f32[8]"}), "f32[4,8]");
  EXPECT_EQ(Infer(Op::kAdd, {"f32[]", "f32[8]"}), "f32[8]");
  EXPECT_EQ(Infer(Op::kAdd, {"f32[0,3]", "f32[1,3]"}), "f32[0,3]");
  EXPECT_EQ(Infer(Op::kAdd, {"f32[n,8]", "f32[n,1]"}), "f32[n,8]");
  EXPECT_EQ(Infer(Op::kAdd, {"f32[n]", "f32[1]"}), "f32[n]");
  EXPECT_EQ(Infer(Op::kLess, {"i32[4]", "i32[]"}), "bool[4]");
  EXPECT_EQ(Infer(Op::kWhere, {"bool[4,1]", "bf16[8]", "bf16[]"}), "bf16[4,8]");
  EXPECT_EQ(Infer(Op::kCast, {"f32[4]"}, {{"dtype", DType::kBF16}}), "bf16[4]");
  EXPECT_EQ(Infer(Op::kIsNan, {"f16[4]"}), "bool[4]");
}

TEST(Infer, PointwiseErrors) {
  EXPECT_EQ(Infer(Op::kAdd, {"f32[2,3]", "f32[4]"}),
            "add(f32[2,3], f32[4]): shapes [2,3] and [4] do not broadcast: expected equal sizes or "
            "1 in dim -1, got 3 and 4");
  EXPECT_EQ(Infer(Op::kAdd, {"f32[2]", "bf16[2]"}),
            "add(f32[2], bf16[2]): expected the same dtype, got f32 and bf16; use cast");
  EXPECT_EQ(Infer(Op::kExp, {"i32[2]"}),
            "exp(i32[2]): expected one of f16, bf16, f32, f64 for x, got i32");
  EXPECT_EQ(Infer(Op::kLogicalAnd, {"f32[]", "f32[]"}),
            "logical_and(f32[], f32[]): expected one of bool for x, got f32");
  EXPECT_EQ(Infer(Op::kAdd, {"bool[2]", "bool[2]"}),
            "add(bool[2], bool[2]): expected one of u8, u16, u32, u64, i8, i16, i32, i64, f16, "
            "bf16, f32, f64 for x, got bool");
  EXPECT_EQ(Infer(Op::kWhere, {"f32[2]", "f32[2]", "f32[2]"}),
            "where(f32[2], f32[2], f32[2]): expected bool for cond, got f32");
  EXPECT_EQ(Infer(Op::kWhere, {"bool[2]", "f32[2]", "f64[2]"}),
            "where(bool[2], f32[2], f64[2]): expected the same dtype, got f32 and f64; use cast");
  EXPECT_EQ(Infer(Op::kAdd, {"f32[2]"}), "add(f32[2]): expected 2 operands, got 1");
  EXPECT_EQ(Infer(Op::kRelu, {"f32[2]", "f32[2]"}),
            "relu(f32[2], f32[2]): expected 1 operand, got 2");
  EXPECT_EQ(Infer(Op::kLayerNorm, {}), "layer_norm(): expected 1 to 3 operands, got 0");
}

TEST(Infer, AttributeErrors) {
  EXPECT_EQ(Infer(Op::kCast, {"f32[2]"}),
            "cast(f32[2]): attribute dtype is missing, expected a dtype (type of the result)");
  EXPECT_EQ(Infer(Op::kRelu, {"f32[2]"}, {{"slope", 0.1}}),
            "relu(f32[2]): unknown attribute slope, expected none");
  EXPECT_EQ(Infer(Op::kSum, {"f32[2]"}, {{"axis", int64_t{0}}}),
            "sum(f32[2]): unknown attribute axis, expected axes, keepdims");
  EXPECT_EQ(Infer(Op::kSum, {"f32[2]"}, {{"axes", int64_t{0}}}),
            "sum(f32[2]): attribute axes is an integer, expected a list of integers");
  EXPECT_EQ(Infer(Op::kSum, {"f32[2]"}, {{"keepdims", true}, {"keepdims", true}}),
            "sum(f32[2]): attribute keepdims is given twice");
  EXPECT_EQ(Infer(Op::kSum, {"f32[2]"}, {{"axes", Ints{0, -1}}}),
            "sum(f32[2]): axes=[0,-1] names an axis twice, expected each at most once");
  EXPECT_EQ(Infer(Op::kSum, {"f32[2,3]"}, {{"axes", Ints{2}}}),
            "sum(f32[2,3]): axes has 2, expected an axis from -2 to 1");
  EXPECT_EQ(Infer(Op::kSum, {"f32[]"}, {{"axes", Ints{0}}}),
            "sum(f32[]): axes has 0, expected no axis, since the rank is 0");
  // As PyTorch: rank 0 counts as one axis where the result has the operand's shape.
  for (Op op : {Op::kSoftmax, Op::kLogSoftmax}) {
    EXPECT_EQ(Infer(op, {"f32[]"}), "f32[]");
    EXPECT_EQ(Infer(op, {"f32[]"}, {{"axis", int64_t{0}}}), "f32[]");
  }
  EXPECT_EQ(Infer(Op::kSoftmax, {"f32[]"}, {{"axis", int64_t{1}}}),
            "softmax(f32[]): axis is 1, expected an axis from -1 to 0");
  EXPECT_EQ(Infer(Op::kSoftshrink, {"f32[2]"}, {{"lambd", -0.5}}),
            "softshrink(f32[2]): lambd is -0.5, expected >= 0");
  EXPECT_EQ(Infer(Op::kSoftshrink, {"f32[2]"}, {{"lambd", 0.0}}), "f32[2]");
  EXPECT_EQ(
      Infer(Op::kCelu, {"f16[2]"}, {{"alpha", 0.0}}),
      "celu(f16[2]): alpha is 0, expected another number than 0 of f32, since x is divided by "
      "it");
  EXPECT_THAT(Infer(Op::kCelu, {"f32[2]"}, {{"alpha", 1e-60}}), HasSubstr("alpha is 1e-60"));
  EXPECT_EQ(Infer(Op::kCelu, {"f64[2]"}, {{"alpha", 1e-60}}), "f64[2]");
  EXPECT_EQ(Infer(Op::kCelu, {"f32[2]"}, {{"alpha", -1.0}}), "f32[2]");
  EXPECT_EQ(Infer(Op::kLayerNorm, {"f32[]"}),
            "layer_norm(f32[]): x has rank 0, expected at least one dim to normalise");
  // A pointwise op on integers takes whole numbers.
  EXPECT_EQ(Infer(Op::kClamp, {"i32[2]"}, {{"min", 1.5}}),
            "clamp(i32[2]): min is 1.5, expected a whole number, since i32 holds integers");
  EXPECT_EQ(Infer(Op::kClamp, {"u8[2]"}, {{"min", -1.0}, {"max", 2.0}}), "u8[2]");
  EXPECT_EQ(Infer(Op::kClamp, {"bf16[2]"}, {{"min", 1.5}}), "bf16[2]");
  EXPECT_EQ(Infer(Op::kSoftmax, {"f32[n,4]"}, {{"axis", int64_t{2}}}),
            "softmax(f32[n,4]): axis is 2, expected an axis from -2 to 1");
  EXPECT_EQ(Infer(Op::kClamp, {"f32[2]"}, {{"min", std::numeric_limits<double>::quiet_NaN()}}),
            "clamp(f32[2]): min is NaN, expected a number");
  EXPECT_EQ(Infer(Op::kLeakyRelu, {"f32[2]"}, {{"slope", int64_t{1}}}),
            "f32[2]");  // an integer is a number
  EXPECT_EQ(Infer(Op::kLeakyRelu, {"f32[2]"}, {{"slope", true}}),
            "leaky_relu(f32[2]): attribute slope is a bool, expected a number");
  EXPECT_THAT(Infer(Op::kSum, {"f32[2]"}, {{"axes", Ints(100000, 0)}}),
              HasSubstr("axes has 100000 entries, expected at most 1"));
}

TEST(Infer, Reductions) {
  EXPECT_EQ(Infer(Op::kSum, {"f32[2,n]"}), "f32[]");
  EXPECT_EQ(Infer(Op::kSum, {"f32[2,n]"}, {{"axes", Ints{-1}}}), "f32[2]");
  EXPECT_EQ(Infer(Op::kSum, {"f32[2,n]"}, {{"axes", Ints{-1}}, {"keepdims", true}}), "f32[2,1]");
  EXPECT_EQ(Infer(Op::kSum, {"bool[2]"}), "i64[]");
  EXPECT_EQ(Infer(Op::kSum, {"u8[2]"}), "u64[]");
  EXPECT_EQ(Infer(Op::kSum, {"f16[2]"}), "f16[]");
  EXPECT_EQ(Infer(Op::kSum, {"f32[0,3]"}, {{"axes", Ints{0}}}), "f32[3]");
  EXPECT_EQ(Infer(Op::kMax, {"i32[2,3]"}, {{"axes", Ints{1, 0}}}), "i32[]");
  EXPECT_EQ(Infer(Op::kArgmax, {"bf16[2,3]"}, {{"axes", Ints{1}}}), "i64[2]");
  EXPECT_EQ(Infer(Op::kAny, {"f32[2,3]"}), "bool[]");
  EXPECT_EQ(Infer(Op::kMoments, {"f32[2,3]"}, {{"axes", Ints{1}}}), "f32[2], f32[2]");
  EXPECT_EQ(Infer(Op::kMax, {"f32[0,3]"}, {{"axes", Ints{1}}}), "f32[0]");
  EXPECT_EQ(Infer(Op::kMax, {"f32[4,0]"}, {{"axes", Ints{1}}}),
            "max(f32[4,0]): axis 1 has size 0, and max of nothing has no value; expected at least "
            "1 element");
  EXPECT_THAT(Infer(Op::kArgmin, {"f32[0]"}), HasSubstr("argmin of nothing has no value"));
  EXPECT_EQ(Infer(Op::kMaxWithIndex, {"bf16[2,n]"}, {{"axis", int64_t{-2}}}), "bf16[n], i64[n]");
  EXPECT_EQ(Infer(Op::kMinWithIndex, {"i8[2,n]"}, {{"axis", int64_t{1}}, {"keepdims", true}}),
            "i8[2,1], i64[2,1]");
  EXPECT_EQ(Infer(Op::kMaxWithIndex, {"f32[0,3]"}, {{"axis", int64_t{1}}}), "f32[0], i64[0]");
  EXPECT_THAT(Infer(Op::kMaxWithIndex, {"f32[4,0]"}, {{"axis", int64_t{1}}}),
              HasSubstr("axis 1 has size 0, and max_with_index of nothing has no value"));
  EXPECT_EQ(Infer(Op::kMaxWithIndex, {"f32[]"}, {{"axis", int64_t{0}}}),
            "max_with_index(f32[]): axis is 0, expected no axis, since the rank is 0");
  EXPECT_EQ(Infer(Op::kMaxOfAll, {"f16[2,n]"}), "f16[]");
  EXPECT_EQ(Infer(Op::kMinOfAll, {"u8[]"}), "u8[]");
  EXPECT_THAT(Infer(Op::kMinOfAll, {"f32[3,0]"}),
              HasSubstr("axis 1 has size 0, and min_of_all of nothing has no value"));
  EXPECT_EQ(Infer(Op::kMean, {"i32[4]"}),
            "mean(i32[4]): expected one of f16, bf16, f32, f64 for x, got i32");
}

TEST(Infer, Views) {
  EXPECT_EQ(Infer(Op::kBroadcast, {"f32[4,1]"}, {{"shape", Dims{2, 4, 8}}}), "f32[2,4,8]");
  EXPECT_EQ(Infer(Op::kBroadcast, {"f32[4]"}, {{"shape", Dims{4, 8}}}),
            "broadcast(f32[4]): does not broadcast to shape=[4,8]: expected 1 or the same size in "
            "dim 1, got 4 and 8");
  EXPECT_EQ(Infer(Op::kBroadcast, {"f32[4,8]"}, {{"shape", Dims{8}}}),
            "broadcast(f32[4,8]): shape=[8] has rank 1, expected at least 2");
  EXPECT_EQ(Infer(Op::kBroadcast, {"f32[4]"}, {{"shape", Dims{-1}}}),
            "broadcast(f32[4]): does not broadcast to shape=[-1]: expected 1 or the same size in "
            "dim 0, got 4 and -1");
  EXPECT_THAT(Infer(Op::kBroadcast, {"f32[1]"}, {{"shape", Dims{-3}}}), HasSubstr("negative size"));
  EXPECT_EQ(Infer(Op::kReshape, {"f32[n,768]"}, {{"shape", Ints{-1, 12, 64}}}), "f32[n,12,64]");
  EXPECT_EQ(Infer(Op::kReshape, {"f32[4,6]"}, {{"shape", Dims{8, -1}}}), "f32[8,3]");
  EXPECT_EQ(Infer(Op::kReshape, {"f32[4,6]"}, {{"shape", Dims{5, -1}}}),
            "reshape(f32[4,6]): no size in place of -1 in shape=[5,-1] keeps the 24 elements");
  EXPECT_EQ(Infer(Op::kReshape, {"f32[4,6]"}, {{"shape", Dims{-1, -1}}}),
            "reshape(f32[4,6]): shape=[-1,-1] has -1 twice, expected at most one open size");
  EXPECT_EQ(Infer(Op::kReshape, {"f32[4,6]"}, {{"shape", Dims{5, 5}}}),
            "reshape(f32[4,6]): shape=[5,5]: expected the same number of elements, got 24 and 25");
  EXPECT_EQ(Infer(Op::kReshape, {"f32[0,6]"}, {{"shape", Dims{0, -1}}}),
            "reshape(f32[0,6]): no size in place of -1 in shape=[0,-1] keeps the 0 elements");
  EXPECT_THAT(
      Infer(Op::kReshape, {"f32[4]"}, {{"shape", Dims{int64_t{1} << 40, int64_t{1} << 40, -1}}}),
      HasSubstr("more elements than fit in 64 bits"));
  EXPECT_THAT(
      Infer(Op::kReshape, {"f32[4]"}, {{"shape", Dims{int64_t{1} << 40, int64_t{1} << 40}}}),
      HasSubstr("fit in 64 bits"));
  EXPECT_EQ(Infer(Op::kTranspose, {"f32[2,3,n]"}), "f32[n,3,2]");
  EXPECT_EQ(Infer(Op::kTranspose, {"f32[2,3,n]"}, {{"perm", Ints{0, -1, 1}}}), "f32[2,n,3]");
  EXPECT_EQ(Infer(Op::kTranspose, {"f32[2,3]"}, {{"perm", Ints{0, 0}}}),
            "transpose(f32[2,3]): perm=[0,0] names an axis twice, expected each at most once");
  EXPECT_EQ(Infer(Op::kTranspose, {"f32[2,3]"}, {{"perm", Ints{0}}}),
            "transpose(f32[2,3]): perm=[0] has 1 entries, expected 2, one for each axis");
  EXPECT_EQ(Infer(Op::kSqueeze, {"f32[1,3,1]"}, {{"axes", Ints{0, -1}}}), "f32[3]");
  EXPECT_EQ(Infer(Op::kSqueeze, {"f32[1,3]"}, {{"axes", Ints{1}}}),
            "squeeze(f32[1,3]): axis 1 has size 3, expected 1");
  EXPECT_EQ(Infer(Op::kUnsqueeze, {"f32[2,3]"}, {{"axes", Ints{0, -1}}}), "f32[1,2,3,1]");
  EXPECT_THAT(Infer(Op::kUnsqueeze, {"f32[2,3]"}, {{"axes", Ints(7, 0)}}),
              HasSubstr("rank 9, expected at most 8"));
  EXPECT_EQ(
      Infer(Op::kIota, {}, {{"shape", Dims{2, 3}}, {"axis", int64_t{-1}}, {"dtype", DType::kF32}}),
      "f32[2,3]");
  EXPECT_EQ(Infer(Op::kIota, {}, {{"shape", Dims{}}}),
            "iota(): axis is 0, expected no axis, since the rank is 0");
  EXPECT_THAT(Infer(Op::kIota, {}, {{"shape", Dims{2}}, {"dtype", DType::kBool}}),
              HasSubstr("got dtype=bool"));
  EXPECT_THAT(Infer(Op::kBroadcast, {"f32[]"}, {{"shape", Dims(9, Dim(1))}}),
              HasSubstr("has rank 9, expected at most 8"));
}

TEST(Infer, SymbolsOfAttributesMustBeBound) {
  Call c({"f32[n,4]"});
  SizeExpr q = c.graph.SymbolNamed("q");
  EXPECT_EQ(c.Type(Op::kReshape, {{"shape", Dims{q, 4}}}),
            "reshape(f32[n,4]): symbol q in shape=[q,4] is no input's size; expected an input with "
            "a dim that is exactly q");
  EXPECT_EQ(c.Type(Op::kReshape, {{"shape", Dims{c.graph.SymbolNamed("n") * 4}}}), "f32[n*4]");
}

TEST(Infer, MatMul) {
  EXPECT_EQ(Infer(Op::kMatMul, {"f32[n,8]", "f32[8,16]"}), "f32[n,16]");
  EXPECT_EQ(Infer(Op::kMatMul, {"bf16[n,8]", "bf16[16,8]"}, {{"transpose_b", true}}), "bf16[n,16]");
  EXPECT_EQ(Infer(Op::kMatMul, {"i32[8,5]", "i32[8,6]"}, {{"transpose_a", true}}), "i32[5,6]");
  EXPECT_EQ(Infer(Op::kMatMul, {"f32[3,1,4,8]", "f32[5,8,2]"}), "f32[3,5,4,2]");
  EXPECT_EQ(Infer(Op::kMatMul, {"f32[4,0]", "f32[0,2]"}), "f32[4,2]");
  EXPECT_EQ(Infer(Op::kMatMul, {"f32[2,3]", "f32[4,5]"}),
            "matmul(f32[2,3], f32[4,5]): expected the inner sizes to be equal (dim 1 of a, dim 0 "
            "of b), got 3 and 4");
  EXPECT_EQ(Infer(Op::kMatMul, {"f32[2,3]", "f32[4,5]"}, {{"transpose_b", true}}),
            "matmul(f32[2,3], f32[4,5]): expected the inner sizes to be equal (dim 1 of a, dim 1 "
            "of b, transpose_b), got 3 and 5");
  EXPECT_THAT(Infer(Op::kMatMul, {"f32[3]", "f32[3,5]"}),
              HasSubstr("a has rank 1, expected at least 2"));
  EXPECT_THAT(Infer(Op::kMatMul, {"f32[2,4,3]", "f32[5,3,2]"}),
              HasSubstr("shapes [2] and [5] do not broadcast"));
  EXPECT_THAT(Infer(Op::kMatMul, {"bool[2,2]", "bool[2,2]"}), HasSubstr("got bool"));
}

TEST(Infer, Composites) {
  EXPECT_EQ(Infer(Op::kSoftmax, {"bf16[n,4]"}), "bf16[n,4]");
  EXPECT_EQ(Infer(Op::kLogsumexp, {"f32[n,4]"}, {{"axes", Ints{1}}}), "f32[n]");
  EXPECT_EQ(Infer(Op::kVar, {"f32[n,4]"}, {{"keepdims", true}}), "f32[1,1]");
  EXPECT_EQ(Infer(Op::kLayerNorm, {"f16[n,4]", "f16[4]", "f16[4]"}), "f16[n,4]");
  EXPECT_EQ(Infer(Op::kLayerNorm, {"f16[n,4]", "f32[4]"}), "f16[n,4]");
  EXPECT_EQ(Infer(Op::kLayerNorm, {"f32[n,3,4]", "f32[3,4]"}, {{"norm_dims", int64_t{2}}}),
            "f32[n,3,4]");
  EXPECT_EQ(Infer(Op::kLayerNorm, {"f32[n,4]", "f32[5]"}),
            "layer_norm(f32[n,4], f32[5]): expected shape [4] for weight, as the normalised dims "
            "of x, got 4 and 5");
  EXPECT_EQ(Infer(Op::kLayerNorm, {"f32[n,4]", "f32[n,4]"}),
            "layer_norm(f32[n,4], f32[n,4]): expected shape [4] for weight, as the normalised dims "
            "of x, got [n,4]");
  EXPECT_EQ(Infer(Op::kLayerNorm, {"f32[n,4]", "f64[4]"}),
            "layer_norm(f32[n,4], f64[4]): expected f32 for weight, got f64; use cast");
  EXPECT_EQ(Infer(Op::kLayerNorm, {"f32[n,4]"}, {{"norm_dims", int64_t{3}}}),
            "layer_norm(f32[n,4]): norm_dims is 3, expected 1 to 2, the rank of x");
  EXPECT_EQ(Infer(Op::kRmsNorm, {"f32[n,4]"}, {{"eps", -1.0}}),
            "rms_norm(f32[n,4]): eps is -1, expected a finite number >= 0");
  EXPECT_EQ(Infer(Op::kLinear, {"f32[2,n,8]", "f32[16,8]", "f32[16]"}), "f32[2,n,16]");
  EXPECT_THAT(
      Infer(Op::kLinear, {"f32[n,8]", "f32[8,16]"}),
      HasSubstr("expected the last dim of x to be the last dim of weight [out, in], got 8 and 16"));
  EXPECT_THAT(Infer(Op::kLinear, {"f32[n,8]", "f32[16,8]", "f32[8]"}),
              HasSubstr("expected the size of bias to be dim 0 of weight [out, in], got 16 and 8"));
}

TEST(Infer, DifferentSymbolsAreUnified) {
  Call c({"f32[n]", "f32[m]"});
  EXPECT_EQ(c.Type(Op::kAdd), "f32[n]");
  EXPECT_EQ(c.GuardText(), "n=m");
  EXPECT_EQ(c.graph.guards()[0].where, "add(f32[n], f32[m])");
  EXPECT_EQ(c.Type(Op::kMultiply), "f32[n]");  // known by now
  EXPECT_EQ(c.GuardText(), "n=m");

  Call with_constant({"f32[n,4]", "f32[7,m]"});
  EXPECT_EQ(with_constant.Type(Op::kAdd), "f32[7,4]");
  EXPECT_EQ(with_constant.GuardText(), "n=7; 4=m");

  Call clash({"f32[n,n]", "f32[7,8]"});
  EXPECT_EQ(
      clash.Type(Op::kAdd),
      "add(f32[n,n], f32[7,8]): sizes n and 8 cannot be equal (n = 7 by add(f32[n,n], f32[7,8]))");
  EXPECT_EQ(clash.GuardText(), "");  // a failed Add leaves nothing behind
  EXPECT_FALSE(clash.graph.SameDim(clash.graph.SymbolNamed("n"), 7));
}

TEST(Infer, LimitsOfTypes) {
  Graph g;
  EXPECT_THAT(g.AddInput("x", {DType::kF32, {int64_t{1} << 62}}).status().message(),
              HasSubstr("input x: f32[4611686018427387904] has more bytes"));
  EXPECT_THAT(g.AddInput("x", {DType::kF32, {-1}}).status().message(),
              HasSubstr("f32[-1] has a negative size, expected sizes >= 0"));
  EXPECT_THAT(g.AddInput("x", {DType::kF32, Shape(9, Dim(1))}).status().message(),
              HasSubstr("rank 9, expected at most 8"));
  Call big({"f32[4194304,1,1]", "f32[4194304,1]", "f32[4194304]"});
  auto ab = big.graph.Add(Op::kAdd, {big.in[0], big.in[1]});
  ASSERT_TRUE(ab.ok());
  auto abc = big.graph.Add(Op::kAdd, {*ab, big.in[2]});
  EXPECT_THAT(
      abc.status().message(),
      HasSubstr("the result: f32[4194304,4194304,4194304] has more bytes than fit in 64 bits"));
}

}  // namespace
}  // namespace jitfuse::internal
