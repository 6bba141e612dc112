#include "ir/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "ir/builder.h"
#include "ir/op_enum.h"
#include "ir/scalar_expr.h"
#include "ir/text.h"
#include "ir/verify.h"

namespace jitfuse::internal {

struct GraphPeer {
  static Node& NodeAt(Graph* g, NodeId id) { return g->nodes_[static_cast<size_t>(id)]; }
  static std::vector<NodeId>& Inputs(Graph* g) { return g->inputs_; }
  static std::vector<std::string>& Names(Graph* g) { return g->input_names_; }
  static std::vector<Value>& Outputs(Graph* g) { return g->outputs_; }
  static std::vector<Guard>& Guards(Graph* g) { return g->guards_; }
};

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Dims = std::vector<int64_t>;

class GraphTest : public ::testing::Test {
 protected:
  Value In(const char* name, const char* type) {
    auto t = ParseType(type, &g.symbols());
    EXPECT_TRUE(t.ok()) << t.status();
    auto v = g.AddInput(name, *t);
    EXPECT_TRUE(v.ok()) << v.status();
    return v.value_or(Value{});
  }
  Value Op2(Op op, std::initializer_list<Value> in, Attrs attrs = {}) {
    auto v = g.Add(op, in, std::move(attrs));
    EXPECT_TRUE(v.ok()) << v.status();
    return v.value_or(Value{});
  }
  std::string Bind(std::vector<Dims> dims) {
    auto symbols = g.BindSymbols(dims);
    if (!symbols.ok()) return std::string(symbols.status().message());
    std::string out;
    for (int64_t s : *symbols) absl::StrAppend(&out, out.empty() ? "" : ",", s);
    return out;
  }
  Graph g;
};

TEST_F(GraphTest, EqualNodesAreOneNode) {
  Value x = In("x", "f32[4,8]"), y = In("y", "f32[4,8]");
  Value a = Op2(Op::kAdd, {x, y});
  EXPECT_EQ(a, Op2(Op::kAdd, {x, y}));
  EXPECT_NE(a, Op2(Op::kAdd, {y, x}));
  EXPECT_EQ(
      Op2(Op::kSum, {x}),
      Op2(Op::kSum, {x}, {{"keepdims", false}, {"axes", Dims{-1, 0}}}));  // one form of attributes
  EXPECT_NE(Op2(Op::kSum, {x}), Op2(Op::kSum, {x}, {{"keepdims", true}}));
  EXPECT_NE(x, y);  // inputs of one type stay two
  EXPECT_NE(Op2(Op::kLeakyRelu, {x}, {{"slope", 0.0}}),
            Op2(Op::kLeakyRelu, {x}, {{"slope", -0.0}}));
}

TEST_F(GraphTest, ConstantsAreRegisterBits) {
  EXPECT_EQ(g.AddConstant(DType::kF32, 1), g.AddConstantInt(DType::kF32, 1));
  EXPECT_NE(g.AddConstant(DType::kF32, 1), g.AddConstant(DType::kF64, 1));
  EXPECT_NE(g.AddConstant(DType::kF32, 0.0), g.AddConstant(DType::kF32, -0.0));
  EXPECT_EQ(g.AddConstant(DType::kBF16, 1.0 + 1e-4),
            g.AddConstant(DType::kBF16, 1.0));  // brought onto the grid
  double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(g.AddConstant(DType::kF32, nan), g.AddConstant(DType::kF32, nan));
  int64_t big = (int64_t{1} << 62) + 1;
  EXPECT_EQ(g.ConstantValue(g.AddConstantInt(DType::kI64, big).node).i, big);
  EXPECT_EQ(g.ConstantValue(g.AddConstant(DType::kF32, 0.1).node).f32, 0.1f);
  EXPECT_EQ(g.TypeString(g.AddConstant(DType::kF16, 2)), "f16[]");
}

TEST_F(GraphTest, BadOperandsAndNamesAreErrors) {
  Value x = In("x", "f32[4]");
  EXPECT_THAT(g.Add(Op::kRelu, {Value{7, 0}}).status().message(),
              HasSubstr("relu: operand 0 is value 7.0, which this graph does not have"));
  EXPECT_THAT(g.Add(Op::kRelu, {Value{x.node, 1}}).status().message(),
              HasSubstr("operand 0 is value 0.1"));
  EXPECT_THAT(g.Add(Op::kRelu, {Value{}}).status().message(), HasSubstr("operand 0 is value -1.0"));
  EXPECT_THAT(g.Add(Op::kInput, {}).status().message(),
              HasSubstr("input: expected to be made by AddInput"));
  EXPECT_THAT(g.Add(Op::kConstant, {}).status().message(), HasSubstr("AddConstant"));
  EXPECT_FALSE(g.Add(Op::kCount, {}).ok());
  EXPECT_THAT(g.AddOutput({9, 0}).message(), HasSubstr("output 0 is value 9.0"));
  EXPECT_THAT(g.AddInput("x", {DType::kF32, {}}).status().message(),
              HasSubstr("input name 'x' is taken"));
  EXPECT_THAT(g.AddInput("2x", {DType::kF32, {}}).status().message(),
              HasSubstr("input name '2x': expected a letter"));
  EXPECT_EQ(g.input_name(0), "x");
  ASSERT_TRUE(g.AddInput("", {DType::kF32, {}}).ok());
  EXPECT_EQ(g.input_name(1), "arg1");
}

TEST_F(GraphTest, BindSymbols) {
  Value x = In("x", "f32[n,768]"), y = In("y", "f32[m]");
  ASSERT_TRUE(g.AddScalar("lr", DType::kF32).ok());
  In("z", "f32[n*2]");
  EXPECT_EQ(Bind({{5, 768}, {3}, {}, {10}}), "5,3");
  EXPECT_EQ(Bind({{5, 768}, {3}}), "f takes 4 inputs, got 2");
  EXPECT_EQ(Bind({{5}, {3}, {}, {10}}),
            "input x of shape [5] has rank 1, expected rank 2 as in f32[n,768]");
  EXPECT_EQ(Bind({{5, 767}, {3}, {}, {10}}),
            "input x of shape [5,767]: dim 1 is 767, expected 768 as in f32[n,768]");
  EXPECT_EQ(Bind({{5, 768}, {3}, {}, {11}}),
            "input z of shape [11]: dim 0 is 11, expected 10 = n*2 as in f32[n*2]");
  EXPECT_EQ(Bind({{-5, 768}, {3}, {}, {11}}),
            "input x of shape [-5,768]: dim 0 is negative, expected f32[n,768]");
  EXPECT_EQ(Bind({{5, 768}, {3}, {1}, {10}}),
            "input lr of shape [1] has rank 1, expected rank 0 as in f32[]");
  EXPECT_THAT(Bind({{int64_t{1} << 60, 768}, {3}, {}, {10}}),
              HasSubstr("more elements than fit in 64 bits"));
  // A guard.
  Op2(Op::kAdd, {Op2(Op::kSum, {x}, {{"axes", Dims{1}}}), y});
  EXPECT_EQ(Bind({{3, 768}, {3}, {}, {6}}), "3,3");
  EXPECT_EQ(Bind({{5, 768}, {3}, {}, {10}}),
            "f: n is 5 and m is 3, expected equal sizes, which add(f32[n], f32[m]) needs");
  EXPECT_EQ(Bind({{0, 768}, {0}, {}, {0}}), "0,0");
  // And a size that may not be 0.
  Op2(Op::kMax, {y});
  EXPECT_EQ(Bind({{0, 768}, {0}, {}, {0}}),
            "f: m is 0, expected at least 1: max(f32[m]) has no value over nothing");
  EXPECT_EQ(Bind({{3, 768}, {3}, {}, {6}}), "3,3");
}

// As inference says it where the number of classes is a constant.
TEST(Graph, ALossNeedsClassesWhenACallBinds) {
  absl::StatusOr<Graph> graph = ParseGraph(
      "graph f(%x: f32[n,k], %t: i32[n]) -> (f32[]) { %0 = cross_entropy(%x, %t) : f32[] return %0 "
      "}");
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_TRUE(graph->BindSymbols({{0, 3}, {0}}).ok());
  EXPECT_THAT(std::string(graph->BindSymbols({{0, 0}, {0}}).status().message()),
              HasSubstr("f: k is 0, expected at least 1: cross_entropy"));
}

TEST_F(GraphTest, TheSameSymbolTwice) {
  In("x", "f32[n]");
  In("y", "f32[4,n]");
  EXPECT_EQ(
      Bind({{5}, {4, 6}}),
      "input y of shape [4,6]: dim 1 is 6, expected 5 = n as in f32[4,n] (n comes from x's dim 0)");
}

TEST_F(GraphTest, SameDimFollowsGuards) {
  Value a = In("a", "f32[n]"), b = In("b", "f32[m]"), c = In("c", "f32[k]"), d = In("d", "f32[6]");
  SizeExpr n = g.SymbolNamed("n"), m = g.SymbolNamed("m"), k = g.SymbolNamed("k");
  EXPECT_FALSE(g.SameDim(n, m));
  Op2(Op::kAdd, {a, b});
  EXPECT_TRUE(g.SameDim(n, m));
  EXPECT_TRUE(g.SameDim(n * 4, m * 4));
  EXPECT_TRUE(g.SameShape(Shape{n, 3}, Shape{m, 3}));
  EXPECT_FALSE(g.SameShape(Shape{n, 3}, Shape{m}));
  EXPECT_FALSE(g.SameDim(n, k));
  Op2(Op::kAdd, {b, c});
  EXPECT_TRUE(g.SameDim(n, k));
  EXPECT_FALSE(g.SameDim(n, 6));
  Op2(Op::kAdd, {c, d});
  EXPECT_TRUE(g.SameDim(n, 6));
  EXPECT_TRUE(g.SameDim(m + 2, 8));
  EXPECT_EQ(g.Canonical(n * k), SizeExpr(36));
  Graph copy;
  copy.InheritFrom(g);
  EXPECT_TRUE(copy.SameDim(n, 6));
  EXPECT_EQ(copy.guards().size(), 3u);
}

TEST_F(GraphTest, GuardsBetweenProducts) {
  Value x = In("x", "f32[n,m]");
  In("y", "f32[p]");
  In("z", "f32[q,r]");
  SizeExpr n = g.SymbolNamed("n"), m = g.SymbolNamed("m"), p = g.SymbolNamed("p"),
           q = g.SymbolNamed("q"), r = g.SymbolNamed("r");
  Op2(Op::kReshape, {x}, {{"shape", std::vector<Dim>{p}}});
  EXPECT_TRUE(g.SameDim(n * m, p));
  Op2(Op::kReshape, {x}, {{"shape", std::vector<Dim>{q, r}}});
  EXPECT_TRUE(g.SameDim(n * m, q * r));
  EXPECT_TRUE(g.SameDim(p, q * r));
  EXPECT_FALSE(g.SameDim(n, q));
  EXPECT_EQ(Bind({{2, 6}, {12}, {3, 4}}), "2,6,12,3,4");
  EXPECT_THAT(Bind({{2, 6}, {12}, {3, 5}}),
              HasSubstr("expected equal sizes, which reshape(f32[n,m]) needs"));
}

TEST_F(GraphTest, MultiplesOfASymbolAreSolved) {
  Graph g;
  SizeExpr q = g.SymbolNamed("q");
  ASSERT_TRUE(g.AddInput("s", {DType::kF32, {q}}).ok());
  Value x = *g.AddInput("x", {DType::kF32, {q * 4}});
  Value y = *g.AddInput("y", {DType::kF32, {8}});
  ASSERT_TRUE(g.Add(Op::kAdd, {x, y}).ok());
  EXPECT_EQ(g.Canonical(q + 1), SizeExpr(3));
}

TEST_F(GraphTest, ASizeThatIsOneByAGuardBroadcasts) {
  Graph g;
  SizeExpr m = g.SymbolNamed("m"), k = g.SymbolNamed("k");
  Value x = *g.AddInput("x", {DType::kF32, {2, m}});
  Value row = *g.AddInput("row", {DType::kF32, {k, m}});
  Value column = *g.AddInput("column", {DType::kF32, {2, 1}});
  Value other = *g.AddInput("other", {DType::kF32, {k, 3}});
  ASSERT_TRUE(g.Add(Op::kMatMul, {column, other}).ok());  // k is 1
  ASSERT_TRUE(g.SameDim(k, Dim(1)));
  absl::StatusOr<Value> minus = g.Add(Op::kNegative, {row});
  ASSERT_TRUE(minus.ok()) << minus.status();
  EXPECT_EQ(g.TypeString(*minus), "f32[1,m]");
  absl::StatusOr<Value> sum = g.Add(Op::kAdd, {x, *minus});
  ASSERT_TRUE(sum.ok()) << sum.status();
  EXPECT_EQ(g.type(*sum).dims[0], Dim(2));
}

TEST_F(GraphTest, SizesReadBackAsTheyPrint) {
  SymbolTable symbols;
  SizeExpr n = SizeExpr::Symbol(symbols.FindOrAdd("n")),
           m = SizeExpr::Symbol(symbols.FindOrAdd("m"));
  for (const SizeExpr& e : {n - m, n * 2 - m * 3, SizeExpr(0) - n, Max(n - Min(m, 1), 0),
                            n - m * 2 - 1, CeilDiv(n * 2 - Min(n * 2 + 4, 1) + 1, 3)}) {
    const std::string text = e.ToString(symbols.names);
    absl::StatusOr<Dim> back = ParseDim(text, &symbols);
    ASSERT_TRUE(back.ok()) << text << ": " << back.status();
    EXPECT_EQ(*back, e) << text;
  }
  EXPECT_EQ((SizeExpr(0) - m + n * 2).ToString(symbols.names), "n*2-m");
}

TEST_F(GraphTest, FingerprintIsOfStructureNotOfNames) {
  auto make = [](const char* symbol, const char* input, double slope) {
    Graph h;
    h.set_name(input);
    Value x = *h.AddInput(input, {DType::kF32, {h.SymbolNamed(symbol), 8}});
    EXPECT_TRUE(h.AddOutput(*h.Add(Op::kLeakyRelu, {x}, {{"slope", slope}})).ok());
    return h.Fingerprint();
  };
  EXPECT_EQ(make("n", "x", 0.1), make("m", "y", 0.1));
  EXPECT_NE(make("n", "x", 0.1), make("n", "x", 0.2));
  EXPECT_EQ(make("n", "x", 0.1).ToHex(), make("n", "x", 0.1).ToHex());
  Hash128 before = g.Fingerprint();
  Value x = In("x", "f32[n]");
  EXPECT_NE(before, g.Fingerprint());
  before = g.Fingerprint();
  ASSERT_TRUE(g.AddOutput(x).ok());
  EXPECT_NE(before, g.Fingerprint());
}

TEST_F(GraphTest, Users) {
  Value x = In("x", "f32[4]");
  Value y = Op2(Op::kMultiply, {x, x});
  Value z = Op2(Op::kAdd, {x, y});
  ASSERT_TRUE(g.AddOutput(z).ok());
  auto users = ComputeUsers(g);
  EXPECT_THAT(users[0], ElementsAre(y.node, z.node));
  EXPECT_THAT(users[1], ElementsAre(z.node));
  EXPECT_TRUE(users[2].empty());
}

TEST_F(GraphTest, LongChainsNeedNoStackAndLinearTime) {
  Value v = In("x", "f32[n]");
  Value y = In("y", "f32[n]");
  for (int i = 0; i < 100000; ++i) v = *g.Add(i % 2 ? Op::kAdd : Op::kMultiply, {v, y});
  ASSERT_TRUE(g.AddOutput(v).ok());
  EXPECT_TRUE(VerifyGraph(g).ok());
  Graph copy = g;
  EXPECT_EQ(copy.Fingerprint(), g.Fingerprint());
}

// ---- Verify

TEST_F(GraphTest, VerifyFindsUnboundSymbols) {
  In("x", "f32[n*2]");
  EXPECT_THAT(VerifyGraph(g).message(),
              HasSubstr("f: node 0, input: symbol n of f32[n*2] is no input's size; expected an "
                        "input with a dim that is exactly n"));
  In("y", "f32[n]");
  EXPECT_TRUE(VerifyGraph(g).ok()) << VerifyGraph(g);
}

class VerifyTest : public GraphTest {
 protected:
  VerifyTest() {
    x = In("x", "f32[n,4]");
    y = In("y", "f32[m,4]");
    sum = Op2(Op::kSum, {x}, {{"axes", Dims{1}}});
    add = Op2(Op::kAdd, {x, y});
    one = g.AddConstant(DType::kBF16, 1);
    EXPECT_TRUE(g.AddOutput(add).ok());
    EXPECT_TRUE(VerifyGraph(g).ok()) << VerifyGraph(g);
  }
  Node& At(Value v) { return GraphPeer::NodeAt(&g, v.node); }
  std::string Message() { return std::string(VerifyGraph(g).message()); }
  Value x, y, sum, add, one;
};

TEST_F(VerifyTest, Operands) {
  At(sum).in[0] = add;
  EXPECT_EQ(Message(), "f: node 2, sum: operand 0 does not come before it");
  At(sum).in[0] = {x.node, 1};
  EXPECT_EQ(Message(), "f: node 2, sum: operand 0 does not come before it");
  At(sum).in[0] = {-1, 0};
  EXPECT_EQ(Message(), "f: node 2, sum: operand 0 does not come before it");
  At(sum).in = {x, x};
  EXPECT_THAT(Message(), HasSubstr("expected 1 operand, got 2"));
}

TEST_F(VerifyTest, Types) {
  At(sum).types[0].dtype = DType::kF64;
  EXPECT_EQ(Message(), "f: node 2, sum: its type is f64[n], expected f32[n]");
  At(sum).types[0] = {DType::kF32, {4}};
  EXPECT_EQ(Message(), "f: node 2, sum: its type is f32[4], expected f32[n]");
  At(sum).types.push_back(At(sum).types[0]);
  EXPECT_THAT(Message(), HasSubstr("node 2, sum: its type is"));
  At(sum).types = {{DType::kF32, {SizeExpr::Symbol(9)}}};
  EXPECT_EQ(Message(), "f: node 2, sum: symbol number 9 is not in the graph's table");
  At(sum).types = {{DType::kF32, {-1}}};
  EXPECT_THAT(Message(), HasSubstr("negative size"));
}

TEST_F(VerifyTest, Attributes) {
  At(sum).attrs[0].value = Dims{-1};
  EXPECT_EQ(Message(), "f: node 2, sum: its attributes are not complete and in normal form");
  At(sum).attrs.pop_back();
  EXPECT_EQ(Message(), "f: node 2, sum: its attributes are not complete and in normal form");
  At(sum).attrs[0].value = true;
  EXPECT_THAT(Message(), HasSubstr("attribute axes is a bool"));
  At(one).attrs[0].value = int64_t{-1};
  At(sum).attrs = g.node(Op2(Op::kMean, {x}, {{"axes", Dims{1}}})).attrs;
  EXPECT_EQ(Message(), "f: node 4, constant: its bits are no bf16");
  At(one).attrs.clear();
  EXPECT_THAT(Message(), HasSubstr("node 4, constant: expected rank 0"));
}

TEST_F(VerifyTest, Guards) {
  Graph copy;
  EXPECT_TRUE(copy.AddInput("x", g.type(x)).ok());
  copy.symbols() = g.symbols();
  EXPECT_TRUE(copy.AddInput("y", g.type(y)).ok());
  EXPECT_TRUE(copy.Add(Op::kAdd, {{0, 0}, {1, 0}}).ok());
  EXPECT_TRUE(VerifyGraph(copy).ok());
  GraphPeer::Guards(&copy).clear();
  EXPECT_EQ(std::string(VerifyGraph(copy).message()),
            "f: node 2, add: no guard says that n equals m");
}

TEST_F(VerifyTest, Signature) {
  GraphPeer::Names(&g)[1] = "x";
  EXPECT_EQ(Message(), "f: two inputs are called x");
  GraphPeer::Names(&g)[1] = "y";
  GraphPeer::Inputs(&g)[1] = add.node;
  EXPECT_EQ(Message(), "f: input 1 is no input node");
  GraphPeer::Inputs(&g) = {y.node, x.node};
  EXPECT_EQ(Message(), "f: inputs are out of order at 1");
  GraphPeer::Inputs(&g) = {x.node, y.node};
  GraphPeer::Outputs(&g) = {{99, 0}};
  EXPECT_EQ(Message(), "f: output 0 is no value of the graph");
}

// ---- Builder helpers

TEST_F(GraphTest, PromotionInsertsCasts) {
  Value a = In("a", "bf16[4]"), b = In("b", "f32[4]"), i = In("i", "i32[4]"),
        p = In("p", "bool[4]");
  EXPECT_EQ(g.TypeString(*AddPromoted(&g, Op::kAdd, {a, b})), "f32[4]");
  EXPECT_EQ(g.TypeString(*AddPromoted(&g, Op::kAdd, {a, i})), "bf16[4]");
  EXPECT_EQ(g.TypeString(*AddPromoted(&g, Op::kDivide, {i, i})), "f32[4]");
  EXPECT_EQ(g.TypeString(*AddPromoted(&g, Op::kExp, {i})), "f32[4]");
  EXPECT_EQ(g.TypeString(*AddPromoted(&g, Op::kWhere, {p, a, b})), "f32[4]");
  EXPECT_EQ(*AddPromoted(&g, Op::kAdd, {b, b}), *g.Add(Op::kAdd, {b, b}));  // nothing to cast
  EXPECT_FALSE(AddPromoted(&g, Op::kAdd, {b, Value{}}).ok());
  EXPECT_FALSE(AddPromoted(&g, Op::kAdd, {b}).ok());
  EXPECT_FALSE(AddPromoted(&g, Op::kWhere, {p}).ok());
  EXPECT_FALSE(AddPromoted(&g, Op::kExp, {p}).ok());
}

TEST_F(GraphTest, WeakNumbers) {
  Value a = In("a", "bf16[4]"), i = In("i", "u8[4]"), p = In("p", "bool[4]");
  EXPECT_EQ(g.TypeString(*ConstantLike(&g, 0.5, a)), "bf16[]");
  EXPECT_EQ(g.TypeString(*ConstantLike(&g, 2, i)), "u8[]");
  EXPECT_EQ(g.TypeString(*ConstantLike(&g, 0.5, i)), "f32[]");
  EXPECT_EQ(g.TypeString(*ConstantLike(&g, 1, p)), "i64[]");
  EXPECT_EQ(g.TypeString(*ConstantLike(&g, std::nan(""), i)), "f32[]");
  EXPECT_THAT(ConstantLike(&g, 300, i).status().message(),
              HasSubstr("the number 300 does not fit u8"));
  EXPECT_THAT(ConstantLike(&g, -1, i).status().message(),
              HasSubstr("the number -1 does not fit u8"));
  Value h = In("h", "f16[4]"), l = In("l", "i64[4]");
  EXPECT_EQ(
      ConstantLike(&g, 1e6, h).status().message(),
      "a number beside f16[4]: the number 1e+06 is beyond what f16 holds; give an infinity if "
      "that is meant");
  EXPECT_EQ(g.TypeString(*ConstantLike(&g, HUGE_VAL, h)), "f16[]");
  EXPECT_EQ(g.TypeString(*ConstantLike(&g, -0x1p63, l)), "i64[]");
  EXPECT_FALSE(ConstantLike(&g, 0x1p63, l).ok());  // of which 2^63 - 1 is the nearest
}

TEST(FitScalarTest, TakesWhatGraphTextTakes) {
  struct Row {
    DType dtype;
    double value;
    bool fits;
  };
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  for (const Row& r : {Row{DType::kI8, 127, true},        Row{DType::kI8, -128, true},
                       Row{DType::kI8, 128, false},       Row{DType::kI8, -129, false},
                       Row{DType::kU8, 255, true},        Row{DType::kU8, -1, false},
                       Row{DType::kI32, 1.5, false},      Row{DType::kI32, kNan, false},
                       Row{DType::kI32, HUGE_VAL, false}, Row{DType::kI64, 0x1p63, false},
                       Row{DType::kI64, -0x1p63, true},   Row{DType::kU64, 0x1p64, false},
                       Row{DType::kU64, 0x1p63, true},    Row{DType::kBool, 1, true},
                       Row{DType::kBool, 2, false},       Row{DType::kBool, kNan, false},
                       Row{DType::kF16, 65504, true},     Row{DType::kF16, 65519, true},
                       Row{DType::kF16, 65520, false},    Row{DType::kF32, 1e39, false},
                       Row{DType::kF32, kNan, true},      Row{DType::kF32, -HUGE_VAL, true},
                       Row{DType::kF64, 1e308, true}}) {
    EXPECT_EQ(FitScalar(r.dtype, r.value).ok(), r.fits) << DTypeName(r.dtype) << " " << r.value;
    const bool whole = r.value == std::trunc(r.value) && std::fabs(r.value) < 0x1p53;
    if (whole)
      EXPECT_EQ(FitScalar(r.dtype, static_cast<int64_t>(r.value)).ok(), r.fits)
          << DTypeName(r.dtype) << " " << r.value;
  }
  const int64_t most = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(FitScalar(DType::kI64, most)->i, most);
  EXPECT_EQ(FitScalar(DType::kU64, most)->u, static_cast<uint64_t>(most));
  EXPECT_EQ(FitScalar(DType::kI8, int64_t{300}).status().message(),
            "the number 300 does not fit i8, which holds whole numbers from -128 to 127");
  EXPECT_EQ(FitScalar(DType::kBool, int64_t{2}).status().message(),
            "the number 2 does not fit bool, which holds 0 and 1");
}

TEST_F(GraphTest, MatMulOfVectorsAsInNumPy) {
  Value v = In("v", "f32[8]"), m = In("m", "f32[8,5]"), t = In("t", "f32[5,8]"),
        b = In("b", "f32[3,8,5]");
  EXPECT_EQ(g.TypeString(*AddPromoted(&g, Op::kMatMul, {v, m})), "f32[5]");
  EXPECT_EQ(g.TypeString(*AddPromoted(&g, Op::kMatMul, {t, v})), "f32[5]");
  EXPECT_EQ(g.TypeString(*AddPromoted(&g, Op::kMatMul, {v, v})), "f32[]");
  EXPECT_EQ(g.TypeString(*AddPromoted(&g, Op::kMatMul, {v, b})), "f32[3,5]");
  EXPECT_EQ(g.TypeString(*AddPromoted(&g, Op::kMatMul, {v, t}, {{"transpose_b", true}})), "f32[5]");
  EXPECT_EQ(g.TypeString(*AddPromoted(&g, Op::kMatMul, {t, v}, {{"transpose_b", true}})), "f32[5]");
}

}  // namespace
}  // namespace jitfuse::internal
