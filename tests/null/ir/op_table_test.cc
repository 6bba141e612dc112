// Every row of ir/ops.inc: complete and parseable; its gradients build. Reductions are compared
// with plain C++. Bodies: op_bodies_test.cc.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ir/expand.h"
#include "ir/op_def.h"
#include "ir/op_enum.h"
#include "ir/scalar_expr.h"
#include "ir/support/status.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "tests/test_util/op_rows.h"

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
