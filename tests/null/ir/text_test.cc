#include "ir/text.h"
#include "ir/op_enum.h"
#include "ir/value_names.h"

#include <cmath>
#include <ctime>
#include <limits>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ir/support/status.h"

namespace jitfuse::internal {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kMlp[] =
    R"(graph mlp(%x: f32[n,784], %w: f32[784,256], %b: f32[256], %lr: scalar f32) -> (f32[n,256], f32[n,1]) {
  %0 = matmul(%x, %w) : f32[n,256]
  %1 = add(%0, %b) : f32[n,256]
  %2 = leaky_relu(%1) {slope=0.02} : f32[n,256]
  %3, %4 = moments(%2) {axes=[1], keepdims=true} : f32[n,1], f32[n,1]
  %5 = add(%4, 1e-05) : f32[n,1]
  %6 = multiply(%2, %lr) : f32[n,256]
  return %6, %5
}
)";

Graph MustParse(std::string_view text) {
  absl::StatusOr<Graph> graph = ParseGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status() << "\n" << text;
  return graph.ok() ? *graph : Graph();
}

std::string ErrorOf(std::string_view text) {
  absl::StatusOr<Graph> graph = ParseGraph(text);
  EXPECT_FALSE(graph.ok()) << "parsed: " << text;
  if (graph.ok()) return "";
  EXPECT_EQ(graph.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(ToStd(graph.status().message()));
}

// The body of a graph with the usual inputs, one result %y.
std::string Body(std::string_view line, std::string_view type = "f32[n,8]") {
  return absl::StrCat("graph f(%x: f32[n,8], %z: f32[n,8], %i: i32[4], %p: bool[n,8]) -> (",
                      ToAbsl(type), ") {\n  ", ToAbsl(line), "\n  return %y\n}\n");
}

void ExpectRoundTrip(const Graph& graph) {
  std::string text = GraphToString(graph);
  absl::StatusOr<Graph> again = ParseGraph(text);
  ASSERT_TRUE(again.ok()) << again.status() << "\n" << text;
  EXPECT_EQ(again->Fingerprint(), graph.Fingerprint()) << text;
  EXPECT_EQ(GraphToString(*again), text);
}

TEST(Text, CanonicalTextIsPrintedAsItWasRead) {
  Graph graph = MustParse(kMlp);
  EXPECT_EQ(GraphToString(graph), kMlp);
  EXPECT_EQ(graph.name(), "mlp");
  ASSERT_EQ(graph.inputs().size(), 4u);
  EXPECT_EQ(graph.node(graph.inputs()[3]).kind(), OpKind::kScalar);
  EXPECT_EQ(graph.TypeString(graph.outputs()[1]), "f32[n,1]");
}

TEST(Text, CommentsBlanksAndNamesDoNotMatter) {
  Graph a = MustParse(
      "# head\ngraph f ( %x:f32[ n , 8 ] )->( f32[n,8] )\n{ %y=relu( %x ):f32[n,8] # tail\n "
      "return\n%y }  # end");
  Graph b = MustParse(
      "graph f(%x: f32[k,8]) -> (f32[k,8]) {\n  %0 = relu(%x) : f32[k,8]\n  return %0\n}\n");
  EXPECT_EQ(a.Fingerprint(), b.Fingerprint());
}

TEST(Text, LiteralsTakeTheDTypeOfTheirNeighbours) {
  ExpectRoundTrip(MustParse(Body("%y = where(%p, %x, 0.5) : f32[n,8]")));
  Graph graph = MustParse(Body("%y = where(%p, 0x1.8p1, %x) : f32[n,8]"));
  EXPECT_THAT(GraphToString(graph), HasSubstr("%0 = where(%p, 3.0, %x) : f32[n,8]"));
  EXPECT_THAT(ErrorOf(Body("%y = where(%p, 0.5, 0.25) : f32[n,8]")),
              HasSubstr("expected true or false for bool"));
  EXPECT_THAT(ErrorOf(Body("%y = add(1, 2) : f32[]")), HasSubstr("constant {value=...} : f32[]"));
  EXPECT_THAT(ErrorOf(Body("%y = add(%i, 0.5) : i32[4]", "i32[4]")),
              HasSubstr("expected an integer for i32, found '0.5'"));
  EXPECT_THAT(ErrorOf(Body("%y = add(%i, 2147483648) : i32[4]", "i32[4]")),
              HasSubstr("holds -2147483648 to 2147483647"));
  EXPECT_THAT(ErrorOf(Body("%y = add(%x, 1e39) : f32[n,8]")), HasSubstr("beyond what f32 holds"));
}

// Whatever the order in which constants were made, the nodes come back in that order.
TEST(Text, ConstantsKeepTheirPlace) {
  Graph graph;
  SizeExpr n = graph.SymbolNamed("n");
  Value x = *graph.AddInput("x", {DType::kF32, {n}});
  Value p = *graph.AddInput("p", {DType::kBool, {n}});
  Value early = graph.AddConstant(DType::kF32, 2);
  Value a = *graph.Add(Op::kAdd, {x, early});
  Value unused = graph.AddConstant(DType::kF64, -0.0);
  Value c1 = graph.AddConstant(DType::kF32, 3);
  Value c2 = graph.AddConstant(DType::kF32, 4);
  Value w1 = *graph.Add(Op::kWhere, {p, c2, c1});  // operand order is not node order
  Value c3 = graph.AddConstant(DType::kF32, 5);
  Value c4 = graph.AddConstant(DType::kF32, 6);
  Value w2 = *graph.Add(Op::kWhere, {p, c3, c4});  // no neighbour gives f32
  Value c5 = graph.AddConstant(DType::kF32, 7);
  Value m = *graph.Add(Op::kMultiply, {c5, w2});
  Value out = graph.AddConstant(DType::kF32, 8);
  Value s = *graph.Add(Op::kSubtract, {m, out});
  (void)unused;
  for (Value v : {a, w1, s, out}) ASSERT_TRUE(graph.AddOutput(v).ok());
  ExpectRoundTrip(graph);
  std::string text = GraphToString(graph);
  EXPECT_THAT(text, HasSubstr("add(%x, 2.0)"));
  EXPECT_THAT(text, HasSubstr("multiply(7.0, "));
  EXPECT_THAT(text, HasSubstr("= constant {value=8.0} : f32[]"));
}

TEST(Text, EveryDTypeRoundTripsItsEdgeValues) {
  for (int d = 0; d < kNumDTypes; ++d) {
    auto dtype = static_cast<DType>(d);
    Graph graph;
    std::vector<Value> values;
    if (IsFloat(dtype)) {
      for (double v :
           {0.0, -0.0, 0.1, 1.0 / 3, -1e-7, 65504.0, 5e-324, 1e-40, 3.4028234663852886e38,
            16777217.0, 1e22, 1e23, std::numeric_limits<double>::infinity(),
            -std::numeric_limits<double>::infinity(), std::nan("")}) {
        values.push_back(graph.AddConstant(dtype, v));
      }
    } else {
      for (int64_t v : {int64_t{0}, int64_t{1}, int64_t{-1}, std::numeric_limits<int64_t>::max(),
                        std::numeric_limits<int64_t>::min(), int64_t{9007199254740993}}) {
        values.push_back(graph.AddConstantInt(dtype, v));
      }
    }
    for (Value v : values) ASSERT_TRUE(graph.AddOutput(v).ok());
    ExpectRoundTrip(graph);
  }
}

TEST(Text, ShortestDigitsOfEveryF16AndManyF32) {
  for (DType dtype : {DType::kF16, DType::kBF16}) {
    for (uint32_t bits = 0; bits < 65536; ++bits) {
      auto raw = static_cast<uint16_t>(bits);
      ScalarValue v = LoadScalar(dtype, &raw);
      std::string text = LiteralToString(dtype, v);
      absl::StatusOr<ScalarValue> read = ParseLiteral(dtype, text);
      ASSERT_TRUE(read.ok()) << text << read.status();
      bool nan = std::isnan(ScalarToDouble(dtype, v));
      ASSERT_TRUE(nan ? std::isnan(ScalarToDouble(dtype, *read)) : read->bits() == v.bits())
          << text;
    }
  }
  for (uint64_t i = 0, bits = 12345; i < 100000;
       ++i, bits = bits * 6364136223846793005u + 1442695040888963407u) {
    auto raw = static_cast<uint32_t>(bits >> 32);
    ScalarValue v = LoadScalar(DType::kF32, &raw);
    if (std::isnan(v.f32)) continue;
    std::string text = LiteralToString(DType::kF32, v);
    ASSERT_EQ(ParseLiteral(DType::kF32, text)->bits(), v.bits()) << text;
    ASSERT_LE(text.size(), 16u) << text;
  }
  EXPECT_EQ(LiteralToString(DType::kF16, ScalarFromDouble(DType::kF16, 0.1)), "0.1");
  EXPECT_EQ(LiteralToString(DType::kF32, ScalarFromDouble(DType::kF32, 0.1)), "0.1");
  EXPECT_EQ(LiteralToString(DType::kF32, ScalarFromDouble(DType::kF32, 1e20)), "1e+20");
  EXPECT_EQ(LiteralToString(DType::kU64, ScalarFromInt(DType::kU64, -1)), "18446744073709551615");
}

TEST(Text, LiteralForms) {
  auto value = [](std::string_view text) { return ParseLiteral(DType::kF64, text)->f64; };
  EXPECT_EQ(value("0x1.8p-3"), 0.1875);
  EXPECT_EQ(value("-0x10"), -16.0);
  EXPECT_EQ(value("-inf"), -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::signbit(value("-0.0")));
  EXPECT_TRUE(std::isnan(value("nan")));
  EXPECT_EQ(value("7"), 7.0);
  for (const char* bad : {"", "-", "--1", "1.2.3", "0x", "1e", "1e400", "1e-400", "1f", "infinity",
                          "+1", "true", "0x1p99999"}) {
    EXPECT_FALSE(ParseLiteral(DType::kF64, bad).ok()) << bad;
  }
  EXPECT_EQ(ParseLiteral(DType::kI8, "-128")->i, -128);
  EXPECT_EQ(ParseLiteral(DType::kU64, "0xffffffffffffffff")->u, ~uint64_t{0});
  for (const char* bad :
       {"128", "-129", "1.0", "inf", "99999999999999999999", "0x", "-", "", "1_000"}) {
    EXPECT_FALSE(ParseLiteral(DType::kI8, bad).ok()) << bad;
  }
}

TEST(Text, DimExpressions) {
  SymbolTable symbols;
  auto print = [&](std::string_view text) {
    absl::StatusOr<Dim> dim = ParseDim(text, &symbols);
    return dim.ok() ? dim->ToString(symbols.names) : std::string(ToStd(dim.status().message()));
  };
  EXPECT_EQ(print("n*768"), "n*768");
  EXPECT_EQ(print("768*n"), "n*768");
  EXPECT_EQ(print("(n+1)*(n+1) - 1"), print("n*n+2*n"));
  EXPECT_EQ(print("ceildiv(n, 8)*4"), "ceildiv(n,8)*4");
  EXPECT_EQ(print("max(n,m) + min(n,floordiv(m,2)) - 3"), "max(n,m)+min(n,floordiv(m,2))-3");
  EXPECT_EQ(print("n*-1+4"), "n*-1+4");
  EXPECT_EQ(print("ceildiv(17,8)"), "3");
  EXPECT_THAT(print("ceildiv(n,0)"), HasSubstr("expected a divisor of at least 1, found 0"));
  EXPECT_THAT(print("3-4"), HasSubstr("expected a dim of at least 0, found -1"));
  EXPECT_THAT(print("n*"), HasSubstr("expected a dim"));
  EXPECT_THAT(print("0x10"), HasSubstr("decimal integers only"));
  EXPECT_THAT(print("5000000000000000000"), HasSubstr("2^62"));
  EXPECT_THAT(print("n n"), HasSubstr("expected the end of the dim"));
}

TEST(Text, ParseTypeReadsWhatTypeToStringPrints) {
  SymbolTable symbols;
  for (const char* text :
       {"f32[]", "bf16[0]", "i64[n,768]", "bool[n*2+1,ceildiv(n,8)]", "u8[1,2,3,4,5,6,7,8]"}) {
    absl::StatusOr<TensorType> type = ParseType(text, &symbols);
    ASSERT_TRUE(type.ok()) << type.status();
    EXPECT_EQ(TypeToString(*type, symbols.names), text);
  }
  for (const char* bad : {"", "f32", "f33[]", "f32[", "f32[]x", "f32[1,]", "f32[,]", "f32[-1]",
                          "u8[1,2,3,4,5,6,7,8,9]", "[4]"}) {
    EXPECT_FALSE(ParseType(bad, &symbols).ok()) << bad;
  }
}

// Symbols in an order that the signature does not show are listed, so that positions and normal
// forms come back.
TEST(Text, SymbolOrderIsKept) {
  Graph graph;
  SizeExpr m = graph.SymbolNamed("m");
  SizeExpr n = graph.SymbolNamed("n");
  (void)graph.SymbolNamed("unused");
  Value x = *graph.AddInput("x", {DType::kF32, {n, m}});
  Value y = *graph.Add(Op::kReshape, {x}, {{"shape", std::vector<Dim>{n * m}}});
  ASSERT_TRUE(graph.AddOutput(y).ok());
  EXPECT_THAT(GraphToString(graph), HasSubstr("graph f<m, n, unused>(%x: f32[n,m]) -> (f32[m*n])"));
  ExpectRoundTrip(graph);
}

TEST(Text, NamesThatTheTextCannotHoldAreReplaced) {
  Graph graph;
  graph.set_name("no name!");
  SizeExpr n = graph.SymbolNamed("batch size");
  SizeExpr m = graph.SymbolNamed("max");
  Value x = *graph.AddInput("x", {DType::kF32, {n, m}});
  ASSERT_TRUE(graph.AddOutput(x).ok());
  EXPECT_THAT(GraphToString(graph), HasSubstr("graph f(%x: f32[s0,s1])"));
  ExpectRoundTrip(graph);
}

TEST(Text, EmptyGraphsAndRankZero) {
  ExpectRoundTrip(MustParse("graph f() -> () { return }"));
  ExpectRoundTrip(
      MustParse("graph f(%x: f32[], %s: scalar i64, %e: bool[0,4]) -> (f32[], i64[], bool[0,4]) { "
                "return %x, %s, %e }"));
  ExpectRoundTrip(MustParse("graph f(%x: f32[3]) -> (f32[3], f32[3]) { return %x, %x }"));
}

TEST(Text, AttributesOfEveryKind) {
  Graph graph = MustParse(R"(graph f(%x: f32[n,4]) -> (i8[n,4]) {
  %0 = iota() {shape=[n,4], axis=1, dtype=i8} : i8[n,4]
  %1 = sum(%x) {axes=[0,1], keepdims=true} : f32[1,1]
  %2 = clamp(%x) {min=-1.5, max=inf} : f32[n,4]
  %3 = reshape(%x) {shape=[-1]} : f32[n*4]
  %4 = layer_norm(%x) {norm_dims=2} : f32[n,4]
  return %0
})");
  std::string text = GraphToString(graph);
  EXPECT_THAT(text, HasSubstr("clamp(%x) {min=-1.5} : f32[n,4]"));  // inf is the default
  EXPECT_THAT(text, HasSubstr("reshape(%x) {shape=[n*4]}"));
  ExpectRoundTrip(graph);
}

// ---- Errors: position, expectation, caret, hint.

TEST(TextErrors, CaretAndHint) {
  std::string text = kMlp;
  text.replace(text.find("matmul("), 7, "matmull(");
  EXPECT_EQ(ErrorOf(text),
            "2:8: unknown op 'matmull'; did you mean 'matmul'?\n"
            "    %0 = matmull(%x, %w) : f32[n,256]\n"
            "         ^~~~~~~");
  EXPECT_THAT(ErrorOf(Body("%y = mul(%x, %z) : f32[n,8]")), HasSubstr("did you mean 'multiply'?"));
  EXPECT_THAT(ErrorOf(Body("%y = sum(%x) {axis=[1]} : f32[n]")),
              HasSubstr("no attribute 'axis'; it has axes, keepdims; did you mean 'axes'?"));
  EXPECT_THAT(ErrorOf(Body("%y = relu(%x) {k=1} : f32[n,8]")),
              HasSubstr("relu has no attribute 'k'; it has none"));
  EXPECT_THAT(ErrorOf(Body("%yy = relu(%x) : f32[n,8]")),
              HasSubstr("%y is not defined above; did you mean 'yy'?"));
  EXPECT_THAT(ErrorOf(Body("%y = relu(%x) : fp32[n,8]")), HasSubstr("did you mean 'f32'?"));
  EXPECT_THAT(ErrorOf(Body("%y = quux(%x) : f32[n,8]")), Not(HasSubstr("did you mean")));
}

TEST(TextErrors, WrittenTypeAgainstInferred) {
  EXPECT_THAT(ErrorOf(Body("%y = relu(%x) : f32[n,9]")),
              HasSubstr("2:19: the written type is f32[n,9], but relu gives f32[n,8]"));
  EXPECT_THAT(ErrorOf(Body("%y = relu(%x) : f16[n,8]")),
              HasSubstr("the written type is f16[n,8], but relu gives f32[n,8]"));
  EXPECT_THAT(ErrorOf(Body("%y = relu(%x) : f32[n,8]", "f32[8,n]")),
              HasSubstr("the written type is f32[8,n], but %y is f32[n,8]"));
  EXPECT_THAT(ErrorOf(Body("%y = relu(%x) : f32[n,k]")), HasSubstr("unknown symbol 'k'"));
}

TEST(TextErrors, GuardsMakeSizesEqual) {
  ExpectRoundTrip(MustParse(
      "graph f(%a: f32[n], %b: f32[m]) -> (f32[m]) { %y = add(%a, %b) : f32[n] return %y }"));
}

TEST(TextErrors, InferenceSpeaksAtTheOp) {
  std::string error = ErrorOf(Body("%y = add(%x, %i) : f32[n,8]"));
  EXPECT_THAT(error, HasSubstr("2:8: "));
  EXPECT_THAT(error, HasSubstr("add(f32[n,8], i32[4])"));
  EXPECT_THAT(error, HasSubstr("^~~"));
  EXPECT_THAT(ErrorOf(Body("%y = add(%x) : f32[n,8]")), HasSubstr("add"));
  EXPECT_THAT(ErrorOf(Body("%y = cast(%x) : f32[n,8]")), HasSubstr("dtype"));
}

TEST(TextErrors, Structure) {
  struct Case {
    const char* text;
    const char* message;
  };
  const Case cases[] = {
      {"", "1:1: expected 'graph', found the end of the text"},
      {"grph f()", "1:1: expected 'graph'"},
      {"graph 1()", "1:7: expected the graph's name, found '1'"},
      {"graph f(x: f32[1])", "1:9: expected an input (%name: type), found 'x'"},
      {"graph f(%0: f32[1])", "begin with a letter"},
      {"graph f(%: f32[1])", "after '%'"},
      {"graph f(%x f32[1])", "1:12: expected ':' after an input's name"},
      {"graph f(%x: f32[1], %x: f32[1])", "1:21: "},
      {"graph f(%x: f32[1]", "expected ',' or ')' after an input, found the end of the text"},
      {"graph f(%x: f32[n+1])",
       "1:17: symbol 'n' is bound by no input: expected an input with a dim that is exactly n"},
      {"graph f<n>(%x: f32[m])", "unknown symbol 'm'"},
      {"graph f<n, n>(%x: f32[n])", "listed twice"},
      {"graph f<max>()", "a function of dims"},
      {"graph f(%x: scalar)", "expected a dtype"},
      {"graph f(%x: scalar f99)", "expected a dtype"},
      {"graph f() {", "expected '->' after the inputs"},
      {"graph f() -> f32[1] {", "expected '(' before the result types"},
      {"graph f() -> () { return", "expected a result (%name) or '}'"},
      {"graph f() -> () { return } x", "expected the end of the text after '}', found 'x'"},
      {"graph f() -> () { }", "expected an op (%name = ...) or 'return'"},
      {"graph f() -> (f32[]) { return }", "expected 1 results as in the signature, found 0"},
      {"graph f(%x: f32[]) -> () { return %x }",
       "expected 0 results as in the signature, found more"},
      {"graph f(%x: f32[]) -> (f32[]) { %x = relu(%x) : f32[] return %x }",
       "%x is already defined in line 1"},
      {"graph f(%x: f32[2]) -> (f32[]) { %a, %a = moments(%x) : f32[], f32[] return %a }",
       "defined twice in this line"},
      {"graph f(%x: f32[2]) -> (f32[]) { %a = moments(%x) : f32[] return %a }",
       "moments has 2 results; the line has 1 name and 1 type"},
      {"graph f(%x: f32[2]) -> (f32[2]) { %a = relu(%x) return %a }",
       "expected ':' and the result's type, found 'return'"},
      {"graph f(%x: f32[2]) -> (f32[2]) { %a = relu %x : f32[2] }",
       "expected '(' before the operands of relu"},
      {"graph f(%x: f32[2]) -> (f32[2]) { %a = relu(%x,) : f32[2] }",
       "expected an operand (%name or a number), found ')'"},
      {"graph f(%x: f32[2]) -> (f32[2]) { %a = input() : f32[2] }",
       "written in the graph's signature"},
      {"graph f() -> () { %a = constant() : f32[] }", "expected '{' and the value of the constant"},
      {"graph f() -> () { %a = constant {value=1} : f32[2] }", "expected a type of rank 0"},
      {"graph f() -> () { %a = constant {dtype=f32} : f32[] }", "expected 'value'"},
      {"graph f() -> () { %a = constant {value=x} : f32[] }",
       "expected a number, true or false, found 'x'"},
      {"graph f() -> () { %a = iota() {shape=[2], shape=[2]} : i64[2] }", "given twice"},
      {"graph f() -> () { %a = iota() {shape=[2], axis=1.5} : i64[2] }",
       "expected an integer for i64"},
  };
  for (const Case& c : cases) EXPECT_THAT(ErrorOf(c.text), HasSubstr(c.message)) << c.text;
}

TEST(TextErrors, LongLinesAreClippedAroundTheColumn) {
  std::string line =
      "%y = add(%x, " + std::string(300, ' ') + "$" + std::string(300, ' ') + ") : f32[n,8]";
  std::string error = ErrorOf(Body(line));
  EXPECT_LT(error.size(), 320u);
  size_t caret_line = error.rfind('\n');
  size_t text_line = error.rfind('\n', caret_line - 1);
  EXPECT_EQ(error[text_line + (error.rfind('^') - caret_line)], '$') << error;
}

TEST(Text, HundredThousandLinesInWellUnderASecond) {
  std::string text = "graph f(%x: f32[n,8]) -> (f32[n,8]) {\n";
  constexpr int kLines = 100000;
  for (int i = 0; i < kLines; ++i) {
    absl::StrAppend(&text, "  %", i, i % 2 == 0 ? " = add(%" : " = multiply(%",
                    i == 0 ? "x" : absl::StrCat(i - 1), ", ", i + 1, ".5) : f32[n,8]\n");
  }
  absl::StrAppend(&text, "  return %", kLines - 1, "\n}\n");
  auto seconds = [] {
    return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
  };  // of this process: others may be busy
  double start = seconds();
  Graph graph = MustParse(text);
  double parse = seconds() - start;
  ASSERT_EQ(graph.size(), 1 + 2 * kLines);
  start = seconds();
  std::string printed = GraphToString(graph);
  double print = seconds() - start;
  EXPECT_EQ(printed, text);
  RecordProperty("parse_ms", static_cast<int>(parse * 1000));
  RecordProperty("print_ms", static_cast<int>(print * 1000));
#if defined(NDEBUG) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_LT(parse, 1.0);
  EXPECT_LT(print, 0.5);
#endif
}

TEST(Text, NamesMayHaveAsManyBytesAsTheLimitSays) {
  auto text = [](size_t bytes) {
    const std::string name(bytes, 'x');
    return absl::StrCat("graph f(%", name, ": f32[2]) -> (f32[2]) {\n  return %", name, "\n}\n");
  };
  absl::StatusOr<Graph> longest = ParseGraph(text(kMaxTokenLength));
  ASSERT_TRUE(longest.ok()) << longest.status();
  EXPECT_TRUE(ParseGraph(GraphToString(*longest)).ok());
  EXPECT_THAT(std::string(ParseGraph(text(kMaxTokenLength + 1)).status().message()),
              HasSubstr("this token has 513 bytes; the limit is 512"));
}

TEST(Text, AByteOrderMarkIsNamed) {
  const std::string text = "\xef\xbb\xbfgraph f() -> () {\n  return\n}\n";
  ValueNames names;
  for (const absl::Status& status :
       {ParseGraph(text).status(), ParseGraph(text, &names).status()}) {
    EXPECT_THAT(std::string(status.message()),
                ::testing::StartsWith("1:1: expected graph text without a byte order mark"));
  }
}

TEST(Text, NumbersMayEndOrBeginWithTheirPoint) {
  for (const char* number : {"1.", ".5", "-.5", "1.e3", "1E3", "0x.8p1", "0X1p-2"}) {
    absl::StatusOr<Graph> g =
        ParseGraph(absl::StrCat("graph f(%x: f32[2]) -> (f32[2]) {\n  %0 = add(%x, ", number,
                                ") : f32[2]\n  return %0\n}\n"));
    EXPECT_TRUE(g.ok()) << number << ": " << g.status();
  }
  EXPECT_FALSE(ParseLiteral(DType::kF32, ".").ok());
}

}  // namespace
}  // namespace jitfuse::internal
