// Every row of ir/ops.inc: complete, parseable, and right. Bodies and reductions are compared with
// plain C++ at many points.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/expand.h"
#include "ir/infer.h"
#include "ir/op_def.h"
#include "ir/op_enum.h"
#include "ir/scalar_expr.h"
#include "ir/support/status.h"
#include "ir/text.h"
#include "ir/verify.h"

namespace jitfuse::internal {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

DType FirstOf(DTypeSet set, DType preferred) {
  if (IsIn(preferred, set)) return preferred;
  for (int i = kNumDTypes - 1; i >= 0; --i) {
    if (IsIn(static_cast<DType>(i), set)) return static_cast<DType>(i);
  }
  return DType::kF32;
}

AttrLookup Defaults(const OpDef& def) {
  return [&def](std::string_view name) -> std::optional<double> {
    const AttrDef* a = def.FindAttr(name);
    if (a == nullptr) return std::nullopt;
    if (a->fallback && a->kind == AttrKind::kFloat) return std::get<double>(*a->fallback);
    return a->kind == AttrKind::kFloat || a->kind == AttrKind::kInt ? std::optional<double>(0.25)
                                                                    : std::nullopt;
  };
}

std::vector<DType> OperandTypes(const OpDef& def, DType dtype) {
  std::vector<DType> types(def.args.size(), ComputeType(dtype));
  if (def.op == Op::kWhere) types[0] = DType::kBool;
  return types;
}

// Of operands of rank 0, as inference gives it.
DType ResultType(const OpDef& def, DType dtype) {
  std::vector<TensorType> in;
  for (size_t i = 0; i < def.args.size(); ++i)
    in.push_back({def.op == Op::kWhere && i == 0 ? DType::kBool : dtype, {}});
  Attrs attrs;
  for (const AttrDef& a : def.attrs) {
    AttrValue value = a.kind == AttrKind::kInt     ? AttrValue(int64_t{0})
                      : a.kind == AttrKind::kDType ? AttrValue(dtype)
                                                   : AttrValue(0.0);
    attrs.push_back({a.name, a.fallback.value_or(value)});
  }
  auto types = InferTypes({def, in, attrs, {}, nullptr});
  EXPECT_TRUE(types.ok()) << types.status();
  return types.ok() ? (*types)[0].dtype : dtype;
}

TEST(OpTable, RowsAreComplete) {
  EXPECT_GE(AllOps().size(), 75u);
  std::set<std::string_view> names;
  for (const OpDef* def : AllOps()) {
    SCOPED_TRACE(def->name);
    EXPECT_EQ(FindOp(def->name), def);
    EXPECT_EQ(&GetOp(def->op), def);
    EXPECT_TRUE(names.insert(def->name).second);
    EXPECT_GT(def->doc.size(), 5u);
    EXPECT_EQ(def->doc.back(), '.');
    EXPECT_GE(def->max_ulp_f32, 0);
    bool source = def->kind == OpKind::kInput || def->kind == OpKind::kScalar ||
                  def->kind == OpKind::kConstant;
    EXPECT_EQ(def->infer == nullptr, source);
    EXPECT_EQ(def->example.empty(), source);
    EXPECT_EQ(def->body.empty(), def->kind != OpKind::kPointwise);
    EXPECT_EQ(def->reduce == nullptr, def->kind != OpKind::kReduce && def->kind != OpKind::kScan);
    EXPECT_EQ(def->index != nullptr, def->kind == OpKind::kView || def->kind == OpKind::kJoin ||
                                         def->kind == OpKind::kGather ||
                                         def->kind == OpKind::kSegment);
    EXPECT_EQ(def->expand == nullptr, def->kind != OpKind::kComposite);
    EXPECT_LE(def->min_arity(), def->max_arity());
    std::set<std::string_view> attrs;
    for (const AttrDef& a : def->attrs) {
      EXPECT_TRUE(attrs.insert(a.name).second) << a.name;
      EXPECT_FALSE(a.doc.empty()) << a.name;
      EXPECT_EQ(a.fallback.value_or(AttrValue()).index(),
                a.fallback ? static_cast<size_t>(a.kind) : 0u)
          << a.name;
    }
  }
  EXPECT_EQ(FindOp("no_such_op"), nullptr);
}

TEST(OpTable, ExamplesParseVerifyAndExpand) {
  for (const OpDef* def : AllOps()) {
    if (def->example.empty()) continue;
    SCOPED_TRACE(def->example);
    std::string line(def->example);
    std::string first = line.substr(0, line.find_first_of(" ,"));
    std::string types = line.substr(line.rfind(" : ") + 3);
    std::string first_type = types.substr(0, types.find(", "));
    std::string text = absl::StrCat(
        "graph f(%x: f32[4,8], %y: f32[4,8], %i: i32[4,8], %j: i32[4,8], %p: bool[4,8], %q: "
        "bool[4,8], %m: f32[16,8],\n"
        "    %w: f32[8], %b: f32[8], %c: f32[16], %z: f32[4,1], %t: f32[2,4,8], %k: i64[4], %u: "
        "u64[]) -> (",
        first_type, ") {\n  ", line, "\n  return ", first, "\n}\n");
    auto graph = ParseGraph(text);
    ASSERT_TRUE(graph.ok()) << graph.status();
    EXPECT_EQ(graph->node(graph->outputs()[0]).def().name, def->name);
    EXPECT_EQ(static_cast<size_t>(def->num_results()),
              graph->node(graph->outputs()[0]).types.size());
    EXPECT_TRUE(VerifyGraph(*graph).ok()) << VerifyGraph(*graph);
    auto expanded = Expand(*graph);
    ASSERT_TRUE(expanded.ok()) << expanded.status();
    EXPECT_TRUE(VerifyGraph(*expanded).ok()) << VerifyGraph(*expanded);
  }
}

// A pointwise row is usable for every dtype of its domain: the body builds, has one result, of the
// right type.
TEST(OpTable, BodiesBuildInEveryDTypeOfTheirDomain) {
  for (const OpDef* def : AllOps()) {
    if (def->kind != OpKind::kPointwise) continue;
    for (int i = 0; i < kNumDTypes; ++i) {
      auto dtype = static_cast<DType>(i);
      if (!IsIn(dtype, def->domain)) continue;
      DType result = ResultType(*def, dtype);
      auto program = BuildScalarProgram(def->body, def->args, OperandTypes(*def, dtype),
                                        Defaults(*def), {result});
      ASSERT_TRUE(program.ok()) << def->name << " " << DTypeName(dtype) << ": " << program.status();
      ASSERT_EQ(program->results.size(), 1u) << def->name;
      DType got = program->insts[static_cast<size_t>(program->results[0])].dtype;
      EXPECT_TRUE(got == result || got == ComputeType(result))
          << def->name << " " << DTypeName(dtype) << " gives " << DTypeName(got);
    }
  }
}

TEST(OpTable, GradientsBuild) {
  int with_gradient = 0;
  for (const OpDef* def : AllOps()) {
    if (def->kind != OpKind::kPointwise || def->grad.empty() || def->grad == "zero" ||
        def->op == Op::kCast)
      continue;
    ++with_gradient;
    DType dtype = FirstOf(def->domain, DType::kF32);
    std::vector<std::string_view> names(def->args.begin(), def->args.end());
    std::vector<DType> types = OperandTypes(*def, dtype);
    names.insert(names.end(), {"g", "out"});
    types.insert(types.end(), 2, ComputeType(dtype));
    auto program = BuildScalarProgram(def->grad, names, types, Defaults(*def),
                                      std::vector<DType>(def->args.size(), ComputeType(dtype)));
    ASSERT_TRUE(program.ok()) << def->name << ": " << program.status();
    EXPECT_EQ(program->results.size(), def->args.size()) << def->name;
  }
  EXPECT_GT(with_gradient, 25);
}

double Eval(const OpDef& def, DType dtype, std::vector<double> args) {
  std::vector<DType> types = OperandTypes(def, dtype);
  auto program =
      BuildScalarProgram(def.body, def.args, types, Defaults(def), {ResultType(def, dtype)});
  EXPECT_TRUE(program.ok()) << def.name << ": " << program.status();
  if (!program.ok()) return 0;
  std::vector<ScalarValue> in;
  for (size_t i = 0; i < args.size(); ++i) in.push_back(ScalarFromDouble(types[i], args[i]));
  ScalarValue out;
  EvalScalarProgram(*program, in.data(), &out);
  return ScalarToDouble(program->insts[static_cast<size_t>(program->results[0])].dtype, out);
}

double EvalF32(const OpDef& def, std::vector<double> args) {
  return Eval(def, DType::kF32, std::move(args));
}

double Ulps(DType dtype, double got, long double want) {
  bool f32 = dtype == DType::kF32;
  double rounded = f32 ? static_cast<double>(static_cast<float>(want)) : static_cast<double>(want);
  if (std::isnan(want) || std::isinf(rounded)) {
    bool same = std::isnan(want) ? std::isnan(got) : got == rounded;
    return same ? 0 : std::numeric_limits<double>::infinity();
  }
  int lowest = f32 ? -149 : -1074;
  int exponent = want == 0 ? lowest : std::max(std::ilogb(want) - (f32 ? 23 : 52), lowest);
  return static_cast<double>(std::fabs(static_cast<long double>(got) - want) /
                             std::ldexp(1.0L, exponent));
}

std::vector<float> Points() {
  std::vector<float> points = {0.0f, -0.0f, 1.0f, -1.0f, 3.0f,   -3.0f,
                               6.0f, kInf,  kNan, 1e30f, 1e-30f, -1e-30f};
  for (float x = 1e-6f; x < 800; x *= 1.0173f) {
    points.push_back(x);
    points.push_back(-x);
  }
  return points;
}

using Meaning = std::function<long double(long double)>;
long double Sigmoid(long double x) {
  return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x));
}

TEST(OpTable, UnaryBodiesMeanWhatTheySay) {
  const std::map<std::string, Meaning> meanings = {
      {"negative", [](auto x) { return -x; }},
      {"abs", [](auto x) { return std::fabs(x); }},
      {"square", [](auto x) { return x * x; }},
      {"reciprocal", [](auto x) { return 1 / x; }},
      {"sign", [](auto x) { return x > 0    ? 1.0L
                                   : x < 0  ? -1.0L
                                   : x == 0 ? 0.0L
                                            : x; }},
      {"floor", [](auto x) { return std::floor(x); }},
      {"ceil", [](auto x) { return std::ceil(x); }},
      {"trunc", [](auto x) { return std::trunc(x); }},
      {"round", [](auto x) { return std::nearbyint(x); }},
      {"isnan", [](auto x) { return std::isnan(x) ? 1.0L : 0.0L; }},
      {"isinf", [](auto x) { return std::isinf(x) ? 1.0L : 0.0L; }},
      {"isfinite", [](auto x) { return std::isfinite(x) ? 1.0L : 0.0L; }},
      {"exp", [](auto x) { return std::exp(x); }},
      {"exp2", [](auto x) { return std::exp2(x); }},
      {"expm1", [](auto x) { return std::expm1(x); }},
      {"log", [](auto x) { return std::log(x); }},
      {"log2", [](auto x) { return std::log2(x); }},
      {"log1p", [](auto x) { return std::log1p(x); }},
      {"sqrt", [](auto x) { return std::sqrt(x); }},
      {"rsqrt", [](auto x) { return 1 / std::sqrt(x); }},
      {"tanh", [](auto x) { return std::tanh(x); }},
      {"erf", [](auto x) { return std::erf(x); }},
      {"erfc", [](auto x) { return std::erfc(x); }},
      {"relu", [](auto x) { return x > 0 || std::isnan(x) ? x : 0.0L; }},
      {"relu6", [](auto x) { return std::isnan(x) ? x : std::min(std::max(x, 0.0L), 6.0L); }},
      {"leaky_relu", [](auto x) { return x > 0 ? x : x * 0.01L; }},
      {"elu", [](auto x) { return x > 0 ? x : std::expm1(x); }},
      {"clamp", [](auto x) { return x; }},
      {"sigmoid", [](auto x) { return Sigmoid(x); }},
      {"silu", [](auto x) { return x * Sigmoid(x); }},
      {"gelu", [](auto x) { return x * std::erfc(-x * std::sqrt(0.5L)) / 2; }},
      {"gelu_tanh",
       [](auto x) {
         long double u = 2 * std::sqrt(2 / std::acos(-1.0L)) * (x + 0.044715L * x * x * x);
         return std::isinf(u) && x > 0 ? x : x * Sigmoid(u);
       }},
      {"mish",
       [](auto x) {
         long double t = std::exp(x);  // tanh(log(1 + t)), with no cancellation
         return x > 40 ? x : x * (t * (t + 2)) / (t * (t + 2) + 2);
       }},
      {"hardswish",
       [](auto x) { return x * (std::isnan(x) ? x : std::min(std::max(x + 3, 0.0L), 6.0L)) / 6; }},
      {"hardsigmoid",
       [](auto x) { return std::isnan(x) ? x : std::min(std::max(x + 3, 0.0L), 6.0L) / 6; }},
      {"softplus",
       [](auto x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }},
      {"softsign", [](auto x) { return x / (1 + std::fabs(x)); }},
      {"log10", [](auto x) { return std::log10(x); }},
      {"sin", [](auto x) { return std::sin(x); }},
      {"cos", [](auto x) { return std::cos(x); }},
      {"tan", [](auto x) { return std::tan(x); }},
      {"asin", [](auto x) { return std::asin(x); }},
      {"acos", [](auto x) { return std::acos(x); }},
      {"atan", [](auto x) { return std::atan(x); }},
      {"sinh", [](auto x) { return std::sinh(x); }},
      {"cosh", [](auto x) { return std::cosh(x); }},
      {"asinh", [](auto x) { return std::asinh(x); }},
      {"acosh", [](auto x) { return std::acosh(x); }},
      {"atanh", [](auto x) { return std::atanh(x); }},
      {"signbit", [](auto x) { return std::signbit(x) ? 1.0L : 0.0L; }},
      {"selu",
       [](auto x) {
         const long double scale = 1.0507009873554804934193349852946L;
         return scale * (x > 0 ? x : 1.6732632423543772848170429916717L * std::expm1(x));
       }},
      {"celu", [](auto x) { return x > 0 ? x : std::expm1(x); }},
      {"hardtanh", [](auto x) { return std::isnan(x) ? x : std::min(std::max(x, -1.0L), 1.0L); }},
      {"logsigmoid",
       [](auto x) {
         return std::isnan(x) ? x : std::min(x, 0.0L) - std::log1p(std::exp(-std::fabs(x)));
       }},
      {"tanhshrink",
       [](auto x) {
         if (!(std::fabs(x) < 0.1L)) return x - std::tanh(x);
         const long double c[] = {
             1 / 3.0L,         -2 / 15.0L,          17 / 315.0L,          -62 / 2835.0L,
             1382 / 155925.0L, -21844 / 6081075.0L, 929569 / 638512875.0L};
         long double sum = 0;
         for (int k = 6; k >= 0; --k) sum = sum * x * x + c[k];
         return x * x * x * sum;
       }},
      {"softshrink",
       [](auto x) {
         return x > 0.5L ? x - 0.5L : x < -0.5L ? x + 0.5L : x == x ? 0.0L : x;
       }},
      {"hardshrink", [](auto x) { return std::fabs(x) <= 0.5L ? 0.0L : x; }},
  };
  std::set<std::string> seen;
  for (const OpDef* def : AllOps()) {
    if (def->kind != OpKind::kPointwise || def->args.size() != 1 ||
        !IsIn(DType::kF32, def->domain) || def->op == Op::kCast)
      continue;
    auto it = meanings.find(std::string(def->name));
    // NumPy's meaning of every row is in the stored vectors; this test adds its bound.
    if (it == meanings.end()) continue;
    seen.insert(it->first);
    for (DType dtype : {DType::kF32, DType::kF64}) {
      double worst = 0;
      float at = 0;
      for (float x : Points()) {
        double ulps = Ulps(dtype, Eval(*def, dtype, {x}), it->second(x));
        if (ulps > worst) {
          worst = ulps;
          at = x;
        }
      }
      EXPECT_LE(worst, dtype == DType::kF32 ? def->max_ulp_f32 : def->max_ulp_f64)
          << def->name << " in " << DTypeName(dtype) << " at " << at << " gives "
          << Eval(*def, dtype, {at}) << ", meant " << static_cast<double>(it->second(at));
    }
  }
  EXPECT_EQ(seen.size(), meanings.size());
}

// Holds for rows of any number of operands, and for one that nobody wrote a meaning down for: in
// f64 the same body says what it means, far more exactly than f32 can be wrong.
TEST(OpTable, BodiesInF32KeepTheirBoundAgainstF64) {
  // An attribute is rounded to the compute type: half an ulp of a factor, or of a result.
  constexpr double kOfAttributes = 1;
  std::vector<float> points;  // those whose exponentials stay within the range of f32
  for (float x : Points()) {
    if (std::fabs(x) < 80) points.push_back(x);
  }
  int checked = 0;
  for (const OpDef* def : AllOps()) {
    const std::vector<DType> types = OperandTypes(*def, DType::kF32);
    if (def->kind != OpKind::kPointwise || !IsIn(DType::kF32, def->domain) ||
        !IsIn(DType::kF64, def->domain) || def->op == Op::kCast ||
        !std::isfinite(def->max_ulp_f32) || ResultType(*def, DType::kF32) != DType::kF32 ||
        def->name == "nextafter")  // whose meaning is one of each type
      continue;
    ++checked;
    double worst = 0;
    std::string at;
    const size_t n = points.size();
    for (size_t i = 0; i < (types.size() == 1 ? n : 6 * n); ++i) {
      std::vector<double> x;
      for (size_t k = 0; k < types.size(); ++k) {
        const double v = points[(i * (1 + 16 * k) + 31 * k) % n];
        x.push_back(types[k] == DType::kBool ? v > 0 : v);
      }
      const double got = Eval(*def, DType::kF32, x), want = Eval(*def, DType::kF64, x);
      // What only f64 can hold is not meant.
      if (std::fabs(want) > 0 && std::fabs(want) < 0x1p-126) continue;
      const double ulps = Ulps(DType::kF32, got, want);
      if (ulps > worst) {
        worst = ulps;
        at = absl::StrJoin(x, ", ");
      }
    }
    EXPECT_LE(worst, def->max_ulp_f32 + kOfAttributes) << def->name << "(" << at << ")";
  }
  EXPECT_GT(checked, 60);
}

TEST(OpTable, BinaryBodiesMeanWhatTheySay) {
  auto f = [](const char* name, double x, double y) { return EvalF32(*FindOp(name), {x, y}); };
  EXPECT_EQ(f("add", 1, 2), 3);
  EXPECT_EQ(f("subtract", 1, 2), -1);
  EXPECT_EQ(f("multiply", 3, 2), 6);
  EXPECT_EQ(f("divide", 3, 2), 1.5);
  EXPECT_EQ(f("pow", 2, 10), 1024);
  EXPECT_TRUE(std::isnan(f("minimum", kNan, 1)) && std::isnan(f("minimum", 1, kNan)));
  EXPECT_TRUE(std::isnan(f("maximum", kNan, 1)) && std::isnan(f("maximum", 1, kNan)));
  EXPECT_FALSE(std::signbit(f("maximum", -0.0, 0.0)));
  EXPECT_TRUE(std::signbit(f("minimum", 0.0, -0.0)));
  EXPECT_EQ(f("less", 1, 2), 1);
  EXPECT_EQ(f("less_equal", 2, 2), 1);
  EXPECT_EQ(f("greater", 1, 2), 0);
  EXPECT_EQ(f("greater_equal", 2, 2), 1);
  EXPECT_EQ(f("equal", kNan, kNan), 0);
  EXPECT_EQ(f("not_equal", kNan, kNan), 1);
}

int64_t EvalInt(const char* name, DType dtype, int64_t x, int64_t y) {
  const OpDef& def = *FindOp(name);
  std::vector<DType> types(def.args.size(), dtype);
  auto program = BuildScalarProgram(def.body, def.args, types, Defaults(def), {dtype});
  EXPECT_TRUE(program.ok()) << program.status();
  ScalarValue in[2] = {ScalarFromInt(dtype, x), ScalarFromInt(dtype, y)};
  ScalarValue out;
  EvalScalarProgram(*program, in, &out);
  return out.i;
}

TEST(OpTable, IntegerBodiesMeanWhatTheySay) {
  for (DType d : {DType::kI8, DType::kI32, DType::kI64}) {
    EXPECT_EQ(EvalInt("floor_divide", d, -7, 2), -4);
    EXPECT_EQ(EvalInt("remainder", d, -7, 2), 1);
    EXPECT_EQ(EvalInt("trunc_divide", d, -7, 2), -3);
    EXPECT_EQ(EvalInt("fmod", d, -7, 2), -1);
    EXPECT_EQ(EvalInt("floor_divide", d, 7, 0), 0);
    EXPECT_EQ(EvalInt("fmod", d, 7, 0), 0);
    EXPECT_EQ(EvalInt("relu", d, -5, 0), 0);
    EXPECT_EQ(EvalInt("sign", d, -5, 0), -1);
    EXPECT_EQ(EvalInt("bitwise_and", d, 12, 10), 8);
    EXPECT_EQ(EvalInt("bitwise_or", d, 12, 10), 14);
    EXPECT_EQ(EvalInt("bitwise_xor", d, 12, 10), 6);
    EXPECT_EQ(EvalInt("bitwise_not", d, 12, 0), -13);
  }
  EXPECT_EQ(EvalInt("logical_and", DType::kBool, 1, 0), 0);
  EXPECT_EQ(EvalInt("logical_or", DType::kBool, 1, 0), 1);
  EXPECT_EQ(EvalInt("logical_xor", DType::kBool, 1, 1), 0);
  EXPECT_EQ(EvalInt("logical_not", DType::kBool, 1, 0), 0);
  EXPECT_EQ(EvalInt("bitwise_not", DType::kBool, 1, 0), 0);
  EXPECT_EQ(EvalInt("add", DType::kI8, 127, 1), -128);
}

// ---- Reductions, as a schedule runs them: lanes that combine in any grouping, some of them empty.

struct Program {
  ScalarProgram program;
  std::vector<DType> results;
};

class Reducer {
 public:
  Reducer(const OpDef& def, DType x, std::vector<DType> acc, std::vector<DType> results)
      : def_(def), x_(x), acc_(acc), results_(results) {}

  // `split`: element k goes to lane k % split (strided), lanes are then combined in order.
  std::vector<double> Run(const std::vector<double>& values, int split, bool two_pass) const {
    if (!two_pass) return Pass(def_.reduce->one_pass, acc_, results_, values, split, {});
    std::vector<double> out;
    for (int p = 0; p < 2; ++p) {
      out.push_back(
          Pass(def_.reduce->two_pass[p],
               std::vector<DType>(static_cast<size_t>(def_.reduce->two_pass[p].num_acc), acc_[0]),
               {results_[static_cast<size_t>(p)]}, values, split, out)[0]);
    }
    return out;
  }

 private:
  static std::vector<ScalarValue> Eval(std::string_view body, std::vector<std::string_view> names,
                                       std::vector<DType> types, const std::vector<DType>& results,
                                       const std::vector<ScalarValue>& args) {
    auto program = BuildScalarProgram(body, names, types, nullptr, results);
    EXPECT_TRUE(program.ok()) << body << ": " << program.status();
    std::vector<ScalarValue> out(results.size());
    if (!program.ok()) return out;
    EXPECT_EQ(program->results.size(), results.size()) << body;
    EvalScalarProgram(*program, args.data(), out.data());
    for (size_t i = 0; i < out.size(); ++i) {
      DType got = program->insts[static_cast<size_t>(program->results[i])].dtype;
      out[i] = ConvertScalar(got, ComputeType(results[i]), out[i]);
    }
    return out;
  }

  std::vector<double> Pass(const ReducePass& pass, const std::vector<DType>& acc,
                           const std::vector<DType>& results, const std::vector<double>& values,
                           int split, const std::vector<double>& earlier) const {
    static constexpr std::string_view kA[] = {"a0", "a1", "a2"}, kB[] = {"b0", "b1", "b2"};
    std::vector<std::string_view> a(kA, kA + acc.size()), b(kB, kB + acc.size());
    std::vector<std::vector<ScalarValue>> lanes(static_cast<size_t>(split),
                                                Eval(pass.init, {}, {}, acc, {}));
    std::vector<std::string_view> both = a;
    both.insert(both.end(), b.begin(), b.end());
    std::vector<DType> both_types = acc;
    both_types.insert(both_types.end(), acc.begin(), acc.end());
    auto combine = [&](std::vector<ScalarValue> l, const std::vector<ScalarValue>& r) {
      l.insert(l.end(), r.begin(), r.end());
      return Eval(pass.combine, both, both_types, acc, l);
    };
    DType x = def_.reduce->acc_rule == AccRule::kSum ? acc[0] : x_;
    for (size_t k = 0; k < values.size(); ++k) {
      std::vector<std::string_view> names = {"x", "i", "r0", "r1"};
      std::vector<DType> types = {x, DType::kI64};
      std::vector<ScalarValue> args = {ScalarFromDouble(x, values[k]),
                                       ScalarFromInt(DType::kI64, static_cast<int64_t>(k))};
      for (double r : earlier) {
        types.push_back(ComputeType(results_[0]));
        args.push_back(ScalarFromDouble(types.back(), r));
      }
      names.resize(types.size());
      auto& lane = lanes[k % static_cast<size_t>(split)];
      lane = combine(lane, Eval(pass.lift, names, types, acc, args));
    }
    std::vector<ScalarValue> all = lanes[0];
    for (size_t l = 1; l < lanes.size(); ++l) all = combine(all, lanes[l]);
    DType n = IsFloat(acc[0]) ? acc[0] : DType::kI64;
    a.push_back("n");
    std::vector<DType> types = acc;
    types.push_back(n);
    all.push_back(ScalarFromInt(n, static_cast<int64_t>(values.size())));
    std::vector<double> out;
    auto final_values = Eval(pass.finalize, a, types, results, all);
    for (size_t i = 0; i < final_values.size(); ++i)
      out.push_back(ScalarToDouble(ComputeType(results[i]), final_values[i]));
    return out;
  }

  const OpDef& def_;
  DType x_;
  std::vector<DType> acc_, results_;
};

Reducer F32(const char* name) {
  const OpDef& def = *FindOp(name);
  std::vector<DType> acc(static_cast<size_t>(def.reduce->num_acc), DType::kF32);
  if (def.reduce->acc_rule == AccRule::kValueIndex) acc[1] = DType::kI64;
  if (def.reduce->acc_rule == AccRule::kBool) acc[0] = DType::kBool;
  DType result = def.reduce->acc_rule == AccRule::kValueIndex ? DType::kI64 : acc[0];
  return Reducer(def, DType::kF32, acc,
                 std::vector<DType>(static_cast<size_t>(def.reduce->num_results), result));
}

void ExpectAll(const char* name, const std::vector<double>& values, const std::vector<double>& want,
               double tolerance = 1e-6) {
  for (bool two_pass : {false, true}) {
    if (two_pass && FindOp(name)->reduce->num_passes != 2) continue;
    for (int split : {1, 2, 3, 7, 16}) {
      std::vector<double> got = F32(name).Run(values, split, two_pass);
      ASSERT_EQ(got.size(), want.size());
      for (size_t i = 0; i < want.size(); ++i) {
        std::string where = absl::StrCat(name, " result ", i, " in ", split, " lanes",
                                         two_pass ? ", two passes" : "");
        if (std::isnan(want[i])) {
          EXPECT_TRUE(std::isnan(got[i])) << where << " " << got[i];
        } else if (std::isinf(want[i])) {
          EXPECT_EQ(got[i], want[i]) << where;
        } else {
          EXPECT_NEAR(got[i], want[i], tolerance * std::max(1.0, std::fabs(want[i]))) << where;
        }
      }
    }
  }
}

TEST(OpTable, ReductionsMeanWhatTheySay) {
  ExpectAll("sum", {1, 2, 3, 4.5}, {10.5});
  ExpectAll("sum", {}, {0});
  ExpectAll("prod", {1, 2, 3, 4.5}, {27});
  ExpectAll("prod", {}, {1});
  ExpectAll("mean", {1, 2, 3, 4}, {2.5});
  ExpectAll("mean", {}, {kNan});
  ExpectAll("mean", {3e38, 3e38, 3e38, -1e38}, {2e38});  // the plain sum overflows
  ExpectAll("mean", {kInf, 1}, {kInf});
  ExpectAll("mean", {kInf, -kInf, 1}, {kNan});
  ExpectAll("mean", {1e-38, 1e-38}, {1e-38}, 1e-45);
  ExpectAll("max", {-3, -1, -2}, {-1});
  ExpectAll("max", {-3, kNan, -2}, {kNan});
  ExpectAll("max", {-kInf, -kInf}, {-kInf});
  ExpectAll("min", {3, 1, 2}, {1});
  ExpectAll("min", {3, kNan, 2}, {kNan});
  ExpectAll("any", {0, 0, 3}, {1});
  ExpectAll("any", {0, 0}, {0});
  ExpectAll("any", {}, {0});
  ExpectAll("all", {1, kNan, 3}, {1});
  ExpectAll("all", {1, 0, 3}, {0});
  ExpectAll("all", {}, {1});
}

TEST(OpTable, ArgReductionsTakeTheFirst) {
  ExpectAll("argmax", {1, 5, 2, 5, 5}, {1});
  ExpectAll("argmin", {1, 0, 2, 0, 0}, {1});
  ExpectAll("argmax", {1, 5, kNan, 5, kNan}, {2});
  ExpectAll("argmin", {1, 0, kNan, 5, kNan}, {2});
  ExpectAll("argmax", {kNan, kInf}, {0});
  ExpectAll("argmax", {-kInf, -kInf, -kInf}, {0});
  ExpectAll("argmin", {kInf, kInf, kInf}, {0});
  ExpectAll("argmax", {0.0, -0.0}, {0});
  ExpectAll("argmax", {-0.0, 0.0}, {0});
}

TEST(OpTable, MaxSumexpAtTheEnds) {
  ExpectAll("max_sumexp", {1, 2, 3}, {3, 1 + std::exp(-1.0) + std::exp(-2.0)});
  ExpectAll("max_sumexp", {-kInf, 2, -kInf, 3}, {3, 1 + std::exp(-1.0)});
  ExpectAll("max_sumexp", {-kInf, -kInf}, {-kInf, 0});
  ExpectAll("max_sumexp", {1, kInf}, {kInf, kNan});
  ExpectAll("max_sumexp", {kInf, 1}, {kInf, kNan});
  ExpectAll("max_sumexp", {1, kNan, 3}, {kNan, kNan});
  ExpectAll("max_sumexp", {1000, -1000, 1000}, {1000, 2});
  ExpectAll("max_sumexp", {}, {-kInf, 0});
}

TEST(OpTable, MomentsDoNotCancel) {
  ExpectAll("moments", {1, 2, 3, 4}, {2.5, 1.25});
  ExpectAll("moments", {10000, 10001, 10002, 10003}, {10001.5, 1.25}, 1e-4);
  // Two passes take off what the rounding of the mean, here 1/32, adds.
  const std::vector<double> far = {1e6, 1e6 + 0.0625, 1e6 + 0.125};
  EXPECT_NEAR(F32("moments").Run(far, 1, true)[1], 0.0625 * 0.0625 * 2 / 3, 1e-8);
  ExpectAll("moments", {5}, {5, 0});
  ExpectAll("moments", {}, {kNan, kNan});
  ExpectAll("moments", {1, kNan}, {kNan, kNan});
}

}  // namespace
}  // namespace jitfuse::internal
