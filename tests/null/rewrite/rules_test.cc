// One line for each rule, and lines that must stay as they are because a NaN, an infinity, a -0 or
// a rounding would be lost.
#include "ir/op_enum.h"
#include "ir/rewrite/rule.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "gtest/gtest.h"
#include "ir/rewrite/optimize.h"
#include "ir/text.h"

namespace jitfuse::internal {
namespace {

constexpr char kInputs[] =
    "%x: f32[n,4], %y: f32[n,4], %z: f32[n,4], %i: i32[4], %j: i32[4], %u: u8[4], %p: bool[4], %q: "
    "bool[4], %h: f16[4], %b: bf16[4], "
    "%a: f32[4,8], %w: f32[8,4], %t: f32[2,4,8]";

struct Case {
  const char* rule;    // that fires, or "" if nothing may change
  const char* before;  // lines; the last name is the result
  const char* type;    // of the result
  const char* after;   // lines of the optimized graph without types, its return included
};

std::string GraphOf(const Case& c) {
  std::string lines = c.before;
  size_t last = lines.rfind('%', lines.rfind(" = "));
  std::string result = lines.substr(last, lines.find(' ', last) - last);
  return absl::StrCat("graph f(", kInputs, ") -> (", c.type, ") {\n", lines, "\nreturn ", result,
                      "\n}\n");
}

// "%0 = add(%x, %y)\nreturn %0".
std::string BodyOf(const Graph& graph) {
  std::vector<std::string> lines = absl::StrSplit(GraphToString(graph), '\n');
  std::vector<std::string> body;
  for (size_t i = 0; i < lines.size(); ++i) {
    bool signature = lines[i].rfind("  %", 0) != 0 && lines[i].rfind("  return", 0) != 0;
    if (signature || lines[i].find(" = ") == std::string::npos) {
      if (lines[i].rfind("  return", 0) != 0) continue;
    }
    std::string line(absl::StripAsciiWhitespace(lines[i]));
    body.push_back(line.substr(0, line.find(" : ")));
  }
  return absl::StrJoin(body, "\n");
}

const Case kCases[] = {
    {"constant_right", "%r = add(0.5, %x) : f32[n,4]", "f32[n,4]", "%0 = add(%x, 0.5)\nreturn %0"},
    {"add_zero", "%r = add(%i, 0) : i32[4]", "i32[4]", "return %i"},
    {"add_minus_zero", "%r = add(%x, -0.0) : f32[n,4]", "f32[n,4]", "return %x"},
    {"subtract_zero", "%r = subtract(%x, 0.0) : f32[n,4]", "f32[n,4]", "return %x"},
    {"multiply_one", "%r = multiply(1.0, %x) : f32[n,4]", "f32[n,4]", "return %x"},
    {"divide_one", "%r = divide(%x, 1.0) : f32[n,4]", "f32[n,4]", "return %x"},
    {"floor_divide_one", "%r = floor_divide(%i, 1) : i32[4]", "i32[4]", "return %i"},
    {"trunc_divide_one", "%r = trunc_divide(%i, 1) : i32[4]", "i32[4]", "return %i"},
    {"and_all_ones", "%r = bitwise_and(%u, 255) : u8[4]", "u8[4]", "return %u"},
    {"or_zero", "%r = bitwise_or(%i, 0) : i32[4]", "i32[4]", "return %i"},
    {"xor_zero", "%r = bitwise_xor(%i, 0) : i32[4]", "i32[4]", "return %i"},
    {"logical_and_true", "%r = logical_and(%p, true) : bool[4]", "bool[4]", "return %p"},
    {"logical_or_false", "%r = logical_or(%p, false) : bool[4]", "bool[4]", "return %p"},
    {"logical_xor_false", "%r = logical_xor(%p, false) : bool[4]", "bool[4]", "return %p"},
    {"maximum_lowest", "%r = maximum(%i, -2147483648) : i32[4]", "i32[4]", "return %i"},
    {"minimum_highest", "%r = minimum(%u, 255) : u8[4]", "u8[4]", "return %u"},
    {"maximum_minus_inf", "%r = maximum(%x, -inf) : f32[n,4]", "f32[n,4]", "return %x"},
    {"maximum_zero", "%r = maximum(%x, 0) : f32[n,4]", "f32[n,4]", "%0 = relu(%x)\nreturn %0"},
    {"minimum_inf", "%r = minimum(%x, inf) : f32[n,4]", "f32[n,4]", "return %x"},
    {"multiply_zero", "%r = multiply(%i, 0) : i32[4]", "i32[4]", "%0 = broadcast(%c) {shape=[4]}"},
    {"and_zero", "%r = bitwise_and(%i, 0) : i32[4]", "i32[4]", "%0 = broadcast(%c) {shape=[4]}"},
    {"or_all_ones", "%r = bitwise_or(%i, -1) : i32[4]", "i32[4]", "%0 = broadcast(%c) {shape=[4]}"},
    {"logical_and_false", "%r = logical_and(%p, false) : bool[4]", "bool[4]",
     "%0 = broadcast(%c) {shape=[4]}"},
    {"logical_or_true", "%r = logical_or(%p, true) : bool[4]", "bool[4]",
     "%0 = broadcast(%c) {shape=[4]}"},
    {"maximum_highest", "%r = maximum(%i, 2147483647) : i32[4]", "i32[4]",
     "%0 = broadcast(%c) {shape=[4]}"},
    {"minimum_lowest", "%r = minimum(%u, 0) : u8[4]", "u8[4]", "%0 = broadcast(%c) {shape=[4]}"},
    {"remainder_one", "%r = remainder(%i, 1) : i32[4]", "i32[4]", "%0 = broadcast(%c) {shape=[4]}"},
    {"fmod_one", "%r = fmod(%i, 1) : i32[4]", "i32[4]", "%0 = broadcast(%c) {shape=[4]}"},
    {"maximum_same", "%r = maximum(%x, %x) : f32[n,4]", "f32[n,4]", "return %x"},
    {"minimum_same", "%r = minimum(%x, %x) : f32[n,4]", "f32[n,4]", "return %x"},
    {"and_same", "%r = bitwise_and(%i, %i) : i32[4]", "i32[4]", "return %i"},
    {"or_same", "%r = bitwise_or(%i, %i) : i32[4]", "i32[4]", "return %i"},
    {"xor_same", "%r = bitwise_xor(%i, %i) : i32[4]", "i32[4]", "%0 = broadcast(%c) {shape=[4]}"},
    {"logical_and_same", "%r = logical_and(%p, %p) : bool[4]", "bool[4]", "return %p"},
    {"logical_or_same", "%r = logical_or(%p, %p) : bool[4]", "bool[4]", "return %p"},
    {"subtract_same", "%r = subtract(%i, %i) : i32[4]", "i32[4]", "%0 = broadcast(%c) {shape=[4]}"},
    {"equal_same", "%r = equal(%i, %i) : bool[4]", "bool[4]", "%0 = broadcast(%c) {shape=[4]}"},
    {"less_same", "%r = less(%x, %x) : bool[n,4]", "bool[n,4]", "%0 = broadcast(%c) {shape=[n,4]}"},
    {"greater_same", "%r = greater(%x, %x) : bool[n,4]", "bool[n,4]",
     "%0 = broadcast(%c) {shape=[n,4]}"},
    {"negative_twice", "%s = negative(%x) : f32[n,4] %r = negative(%s) : f32[n,4]", "f32[n,4]",
     "return %x"},
    {"bitwise_not_twice", "%s = bitwise_not(%i) : i32[4] %r = bitwise_not(%s) : i32[4]", "i32[4]",
     "return %i"},
    {"logical_not_twice", "%s = logical_not(%p) : bool[4] %r = logical_not(%s) : bool[4]",
     "bool[4]", "return %p"},
    {"abs_twice", "%s = abs(%x) : f32[n,4] %r = abs(%s) : f32[n,4]", "f32[n,4]",
     "%0 = abs(%x)\nreturn %0"},
    {"relu_twice", "%s = relu(%x) : f32[n,4] %r = relu(%s) : f32[n,4]", "f32[n,4]",
     "%0 = relu(%x)\nreturn %0"},
    {"relu6_twice", "%s = relu6(%x) : f32[n,4] %r = relu6(%s) : f32[n,4]", "f32[n,4]",
     "%0 = relu6(%x)\nreturn %0"},
    {"floor_twice", "%s = floor(%x) : f32[n,4] %r = floor(%s) : f32[n,4]", "f32[n,4]",
     "%0 = floor(%x)\nreturn %0"},
    {"ceil_twice", "%s = ceil(%x) : f32[n,4] %r = ceil(%s) : f32[n,4]", "f32[n,4]",
     "%0 = ceil(%x)\nreturn %0"},
    {"trunc_twice", "%s = trunc(%x) : f32[n,4] %r = trunc(%s) : f32[n,4]", "f32[n,4]",
     "%0 = trunc(%x)\nreturn %0"},
    {"round_twice", "%s = round(%x) : f32[n,4] %r = round(%s) : f32[n,4]", "f32[n,4]",
     "%0 = round(%x)\nreturn %0"},
    {"sign_twice", "%s = sign(%x) : f32[n,4] %r = sign(%s) : f32[n,4]", "f32[n,4]",
     "%0 = sign(%x)\nreturn %0"},
    {"abs_of_negative", "%s = negative(%x) : f32[n,4] %r = abs(%s) : f32[n,4]", "f32[n,4]",
     "%0 = abs(%x)\nreturn %0"},
    {"square_of_sign", "%s = abs(%x) : f32[n,4] %r = square(%s) : f32[n,4]", "f32[n,4]",
     "%0 = square(%x)\nreturn %0"},
    {"add_negative", "%s = negative(%x) : f32[n,4] %r = add(%s, %y) : f32[n,4]", "f32[n,4]",
     "%0 = subtract(%y, %x)\nreturn %0"},
    {"subtract_negative", "%s = negative(%y) : f32[n,4] %r = subtract(%x, %s) : f32[n,4]",
     "f32[n,4]", "%0 = add(%x, %y)\nreturn %0"},
    {"multiply_negatives",
     "%s = negative(%x) : f32[n,4] %o = negative(%y) : f32[n,4] %r = multiply(%s, %o) : f32[n,4]",
     "f32[n,4]", "%0 = multiply(%x, %y)\nreturn %0"},
    {"divide_negatives",
     "%s = negative(%x) : f32[n,4] %o = negative(%y) : f32[n,4] %r = divide(%s, %o) : f32[n,4]",
     "f32[n,4]", "%0 = divide(%x, %y)\nreturn %0"},
    {"divide_by_power", "%r = divide(%x, -8.0) : f32[n,4]", "f32[n,4]",
     "%0 = multiply(%x, -0.125)\nreturn %0"},
    {"not_of_equal", "%s = equal(%x, %y) : bool[n,4] %r = logical_not(%s) : bool[n,4]", "bool[n,4]",
     "%0 = not_equal(%x, %y)\nreturn %0"},
    {"where_constant", "%t1 = constant {value=false} : bool[] %r = where(%t1, %x, %y) : f32[n,4]",
     "f32[n,4]", "return %y"},
    {"where_same", "%c1 = isnan(%x) : bool[n,4] %r = where(%c1, %x, %x) : f32[n,4]", "f32[n,4]",
     "return %x"},
    {"where_not", "%s = logical_not(%p) : bool[4] %r = where(%s, %x, %y) : f32[n,4]", "f32[n,4]",
     "%0 = where(%p, %y, %x)\nreturn %0"},

    {"fold",
     "%c = constant {value=3} : i32[] %d = multiply(%c, 5) : i32[] %r = add(%i, %d) : i32[4]",
     "i32[4]", "%0 = add(%i, 15)\nreturn %0"},
    {"fold",
     "%c = constant {value=2} : f32[] %v = broadcast(%c) {shape=[4]} : f32[4] %d = sqrt(%v) : "
     "f32[4] %e = square(%d) : f32[4] "
     "%r = add(%x, %e) : f32[n,4]",
     "f32[n,4]",
     "%0 = constant {value=1.9999999}\n%1 = broadcast(%0) {shape=[4]}\n%2 = add(%x, %1)\nreturn "
     "%2"},
    {"fold",
     "%c = constant {value=1.5} : f16[] %d = add(%c, 0.5) : f16[] %r = multiply(%h, %d) : f16[4]",
     "f16[4]", "%0 = multiply(%h, 2.0)\nreturn %0"},

    {"cast_of_cast", "%s = cast(%b) {dtype=f32} : f32[4] %r = cast(%s) {dtype=bf16} : bf16[4]",
     "bf16[4]", "return %b"},
    {"cast_of_cast", "%s = cast(%i) {dtype=i64} : i64[4] %r = cast(%s) {dtype=u8} : u8[4]", "u8[4]",
     "%0 = cast(%i) {dtype=u8}\nreturn %0"},
    {"cast_to_same", "%r = cast(%x) {dtype=f32} : f32[n,4]", "f32[n,4]", "return %x"},

    {"broadcast_of_uniform",
     "%c = constant {value=1.5} : f32[] %s = broadcast(%c) {shape=[4]} : f32[4] %r = broadcast(%s) "
     "{shape=[n,4]} : f32[n,4]",
     "f32[n,4]", "%0 = constant {value=1.5}\n%1 = broadcast(%0) {shape=[n,4]}\nreturn %1"},
    {"reshape_of_uniform",
     "%c = constant {value=1.5} : f32[] %s = broadcast(%c) {shape=[n,4]} : f32[n,4] %r = "
     "reshape(%s) {shape=[n*4]} : f32[n*4]",
     "f32[n*4]", "%0 = constant {value=1.5}\n%1 = broadcast(%0) {shape=[n*4]}\nreturn %1"},
    {"transpose_of_uniform",
     "%c = constant {value=1.5} : f32[] %s = broadcast(%c) {shape=[n,4]} : f32[n,4] %r = "
     "transpose(%s) : f32[4,n]",
     "f32[4,n]", "%0 = constant {value=1.5}\n%1 = broadcast(%0) {shape=[4,n]}\nreturn %1"},
    {"broadcast_to_same", "%r = broadcast(%x) {shape=[n,4]} : f32[n,4]", "f32[n,4]", "return %x"},
    {"reshape_to_same", "%r = reshape(%x) {shape=[n,4]} : f32[n,4]", "f32[n,4]", "return %x"},
    {"transpose_identity", "%r = transpose(%x) {perm=[0,1]} : f32[n,4]", "f32[n,4]", "return %x"},
    {"broadcast_twice",
     "%s = broadcast(%i) {shape=[2,4]} : i32[2,4] %r = broadcast(%s) {shape=[n,2,4]} : i32[n,2,4]",
     "i32[n,2,4]", "%0 = broadcast(%i) {shape=[n,2,4]}\nreturn %0"},
    {"reshape_twice",
     "%s = reshape(%x) {shape=[n*4]} : f32[n*4] %r = reshape(%s) {shape=[n,2,2]} : f32[n,2,2]",
     "f32[n,2,2]", "%0 = reshape(%x) {shape=[n,2,2]}\nreturn %0"},
    {"reshape_twice",
     "%s = reshape(%x) {shape=[n*4]} : f32[n*4] %r = reshape(%s) {shape=[n,4]} : f32[n,4]",
     "f32[n,4]", "return %x"},
    {"transpose_twice",
     "%s = transpose(%t) {perm=[1,2,0]} : f32[4,8,2] %r = transpose(%s) {perm=[0,2,1]} : "
     "f32[4,2,8]",
     "f32[4,2,8]", "%0 = transpose(%t) {perm=[1,0,2]}\nreturn %0"},
    {"transpose_twice", "%s = transpose(%x) : f32[4,n] %r = transpose(%s) : f32[n,4]", "f32[n,4]",
     "return %x"},
    {"matmul_of_transpose",
     "%s = transpose(%a) : f32[8,4] %r = matmul(%x, %s) {transpose_b=true} : f32[n,8]", "f32[n,8]",
     "%0 = matmul(%x, %a)\nreturn %0"},
    {"matmul_of_transpose", "%s = transpose(%x) : f32[4,n] %r = matmul(%s, %x) : f32[4,4]",
     "f32[4,4]", "%0 = matmul(%x, %x) {transpose_a=true}\nreturn %0"},

    // What must stay.
    {"", "%r = add(%x, 0.0) : f32[n,4]", "f32[n,4]", "%0 = add(%x, 0.0)\nreturn %0"},
    {"", "%r = subtract(%x, -0.0) : f32[n,4]", "f32[n,4]", "%0 = subtract(%x, -0.0)\nreturn %0"},
    {"", "%r = multiply(%x, 0.0) : f32[n,4]", "f32[n,4]", "%0 = multiply(%x, 0.0)\nreturn %0"},
    {"", "%r = subtract(%x, %x) : f32[n,4]", "f32[n,4]", "%0 = subtract(%x, %x)\nreturn %0"},
    {"", "%r = divide(%x, %x) : f32[n,4]", "f32[n,4]", "%0 = divide(%x, %x)\nreturn %0"},
    {"", "%r = divide(%x, 3.0) : f32[n,4]", "f32[n,4]", "%0 = divide(%x, 3.0)\nreturn %0"},
    {"", "%r = divide(%x, 1e-45) : f32[n,4]", "f32[n,4]", "%0 = divide(%x, 1e-45)\nreturn %0"},
    {"", "%r = divide(%x, 0.0) : f32[n,4]", "f32[n,4]", "%0 = divide(%x, 0.0)\nreturn %0"},
    {"", "%r = equal(%x, %x) : bool[n,4]", "bool[n,4]", "%0 = equal(%x, %x)\nreturn %0"},
    {"", "%r = less_equal(%x, %x) : bool[n,4]", "bool[n,4]", "%0 = less_equal(%x, %x)\nreturn %0"},
    {"", "%r = maximum(%x, inf) : f32[n,4]", "f32[n,4]", "%0 = maximum(%x, inf)\nreturn %0"},
    {"", "%s = less(%x, %y) : bool[n,4] %r = logical_not(%s) : bool[n,4]", "bool[n,4]",
     "%0 = less(%x, %y)\n%1 = logical_not(%0)\nreturn %1"},
    {"", "%s = negative(%x) : f32[n,4] %o = relu(%s) : f32[n,4] %r = negative(%o) : f32[n,4]",
     "f32[n,4]", "%0 = negative(%x)\n%1 = relu(%0)\n%2 = negative(%1)\nreturn %2"},
    {"", "%s = cast(%x) {dtype=bf16} : bf16[n,4] %r = cast(%s) {dtype=f32} : f32[n,4]", "f32[n,4]",
     "%0 = cast(%x) {dtype=bf16}\n%1 = cast(%0) {dtype=f32}\nreturn %1"},
    {"", "%s = cast(%i) {dtype=f64} : f64[4] %r = cast(%s) {dtype=u8} : u8[4]", "u8[4]",
     "%0 = cast(%i) {dtype=f64}\n%1 = cast(%0) {dtype=u8}\nreturn %1"},
    {"", "%s = exp(%h) : f16[4] %r = cast(%s) {dtype=f16} : f16[4]", "f16[4]",
     "%0 = exp(%h)\n%1 = cast(%0) {dtype=f16}\nreturn %1"},
    {"", "%s = reshape(%i) {shape=[4,1]} : i32[4,1] %r = transpose(%s) : i32[1,4]", "i32[1,4]",
     "%0 = reshape(%i) {shape=[4,1]}\n%1 = transpose(%0) {perm=[1,0]}\nreturn %1"},
    {"",
     "%c = constant {value=1} : i32[] %s = broadcast(%c) {shape=[2,4]} : i32[2,4] %r = "
     "multiply(%i, %s) : i32[2,4]",
     "i32[2,4]",
     "%0 = constant {value=1}\n%1 = broadcast(%0) {shape=[2,4]}\n%2 = multiply(%i, %1)\nreturn %2"},
};

TEST(Rules, OneLineEach) {
  for (const Case& c : kCases) {
    SCOPED_TRACE(absl::StrCat(c.rule, ": ", c.before));
    absl::StatusOr<Graph> graph = ParseGraph(GraphOf(c));
    ASSERT_TRUE(graph.ok()) << graph.status();
    OptimizeStats stats;
    absl::StatusOr<Graph> optimized = Optimize(*graph, &stats);
    ASSERT_TRUE(optimized.ok()) << optimized.status();
    std::string body = BodyOf(*optimized);
    std::string expected = c.after;
    if (expected.find("(%c)") != std::string::npos) {  // the rules that give a constant: its value
                                                       // is checked by the property test
      EXPECT_EQ(optimized->node(optimized->outputs()[0]).op, Op::kBroadcast) << body;
      EXPECT_EQ(optimized->node(optimized->node(optimized->outputs()[0]).in[0]).op, Op::kConstant)
          << body;
    } else {
      EXPECT_EQ(body, expected);
    }
    if (*c.rule != '\0') {
      EXPECT_GE(stats.fired[c.rule], 1) << body;
    } else {
      EXPECT_TRUE(stats.fired.empty()) << stats.fired.begin()->first;
    }
    EXPECT_EQ(optimized->inputs().size(), graph->inputs().size());
    EXPECT_TRUE(optimized->type(optimized->outputs()[0]) == graph->type(graph->outputs()[0]));
  }
}

TEST(Rules, EveryRuleHasALineAndADescription) {
  std::set<std::string_view> tested;
  for (const Case& c : kCases) tested.insert(c.rule);
  std::set<std::string_view> names;
  for (const RewriteRule* rule : AllRules()) {
    EXPECT_TRUE(names.insert(rule->name).second) << rule->name << " is there twice";
    EXPECT_TRUE(tested.count(rule->name)) << rule->name;
    EXPECT_FALSE(rule->pattern.empty()) << rule->name;
    EXPECT_FALSE(rule->exact.empty()) << rule->name;
  }
}

// The claim behind cast_of_cast, for all dtypes and the values where it could fail.
TEST(Rules, CastsThroughWiderTypesChangeNoBit) {
  std::vector<double> reals = {0.0,
                               -0.0,
                               1,
                               -1,
                               0.5,
                               -0.5,
                               1.5,
                               127,
                               128,
                               255,
                               256,
                               -128,
                               -129,
                               32767,
                               32768,
                               65504,
                               65520,
                               65535,
                               2147483647.0,
                               2147483648.0,
                               -2147483648.0,
                               4294967295.0,
                               16777217.0,
                               1e-8,
                               6e-8,
                               1e-40,
                               1e10,
                               1e39,
                               9007199254740993.0,
                               1e300,
                               1.0 / 3,
                               std::numeric_limits<double>::infinity(),
                               -std::numeric_limits<double>::infinity(),
                               std::nan("")};
  std::vector<int64_t> ints = {0,
                               1,
                               -1,
                               2,
                               127,
                               128,
                               255,
                               256,
                               32767,
                               32768,
                               65535,
                               65536,
                               2147483647,
                               2147483648,
                               4294967295,
                               4294967296,
                               9007199254740993,
                               std::numeric_limits<int64_t>::max(),
                               std::numeric_limits<int64_t>::min()};
  auto is_nan = [](DType d, ScalarValue v) {
    return IsFloat(d) && std::isnan(ScalarToDouble(d, v));
  };
  int checked = 0;
  for (int a = 0; a < kNumDTypes; ++a) {
    for (int b = 0; b < kNumDTypes; ++b) {
      for (int c = 0; c < kNumDTypes; ++c) {
        auto [from, through, to] =
            std::make_tuple(static_cast<DType>(a), static_cast<DType>(b), static_cast<DType>(c));
        Graph graph;
        Value x = *graph.AddInput("x", {from, {4}});
        Value s = *graph.Add(Op::kCast, {x}, {{"dtype", through}});
        Value r = *graph.Add(Op::kCast, {s}, {{"dtype", to}});
        ASSERT_TRUE(graph.AddOutput(r).ok());
        OptimizeStats stats;
        ASSERT_TRUE(Optimize(graph, &stats).ok());
        if (stats.fired["cast_of_cast"] == 0) continue;
        std::vector<ScalarValue> values;
        for (double v : reals) values.push_back(ScalarFromDouble(from, v));
        for (int64_t v : ints) values.push_back(ScalarFromInt(from, v));
        for (ScalarValue v : values) {
          ScalarValue twice = ConvertScalar(through, to, ConvertScalar(from, through, v));
          ScalarValue once = ConvertScalar(from, to, v);
          bool same = once.bits() == twice.bits() || (is_nan(to, once) && is_nan(to, twice));
          ASSERT_TRUE(same) << DTypeName(from) << " " << DTypeName(through) << " " << DTypeName(to)
                            << " " << ScalarToDouble(from, v);
          ++checked;
        }
      }
    }
  }
  EXPECT_GT(checked, 10000);
}

TEST(Rules, CommutativeOpsAreFoundInTheirBodies) {
  for (Op op : {Op::kAdd, Op::kMultiply, Op::kMaximum, Op::kMinimum, Op::kEqual, Op::kNotEqual,
                Op::kLogicalAnd, Op::kLogicalOr, Op::kLogicalXor, Op::kBitwiseAnd, Op::kBitwiseOr,
                Op::kBitwiseXor}) {
    EXPECT_TRUE(IsCommutative(op)) << GetOp(op).name;
  }
  for (Op op : {Op::kSubtract, Op::kDivide, Op::kLess, Op::kPow, Op::kWhere, Op::kSquare,
                Op::kFloorDivide, Op::kMatMul}) {
    EXPECT_FALSE(IsCommutative(op)) << GetOp(op).name;
  }
}

}  // namespace
}  // namespace jitfuse::internal
