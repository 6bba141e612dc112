// Random graphs over values where rewrites go wrong (NaN, infinities, both zeros, subnormals, the
// ends of the integers): the declared evaluator must give the same bits before and after Optimize.
// Any NaN equals any NaN.
#include <cmath>
#include <limits>
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "ir/eval.h"
#include "ir/op_enum.h"
#include "ir/rewrite/optimize.h"
#include "ir/rewrite/rule.h"
#include "ir/text.h"

namespace jitfuse::internal {
namespace {

const double kReals[] = {0.0,
                         -0.0,
                         1,
                         -1,
                         2,
                         -2,
                         0.5,
                         8,
                         -0.25,
                         3,
                         1.0 / 3,
                         1e-40,
                         1e-45,
                         6e-8,
                         65504,
                         3e38,
                         1e300,
                         16777217,
                         std::numeric_limits<double>::infinity(),
                         -std::numeric_limits<double>::infinity(),
                         std::nan("")};
const int64_t kIntegers[] = {0,
                             1,
                             -1,
                             2,
                             3,
                             -7,
                             100,
                             127,
                             -128,
                             255,
                             32767,
                             2147483647,
                             -2147483647 - 1,
                             4294967295,
                             std::numeric_limits<int64_t>::max(),
                             std::numeric_limits<int64_t>::min()};
const DType kDTypes[] = {DType::kF32, DType::kF32, DType::kF64, DType::kF16, DType::kBF16,
                         DType::kI32, DType::kI64, DType::kU8,  DType::kI16, DType::kBool};

class RandomGraph {
 public:
  explicit RandomGraph(uint32_t seed) : rng_(seed) {
    for (const OpDef* def : AllOps()) {
      if (def->kind == OpKind::kPointwise || def->kind == OpKind::kView) ops_.push_back(def);
    }
    for (const RewriteRule* rule : AllRules()) {  // ops with many rules come up often
      if (rule->root != Op::kCount) ops_.push_back(&GetOp(rule->root));
    }
  }

  Graph Make(int ops) {
    dtype_ = kDTypes[Below(std::size(kDTypes))];
    for (int i = 0; i < 4; ++i) {
      DType dtype = i < 2 ? dtype_ : (i == 2 ? DType::kBool : kDTypes[Below(std::size(kDTypes))]);
      const Shape shapes[] = {{3, 4}, {4, 3}, {4}, {3, 1}, {}};
      values_.push_back(*graph_.AddInput("", {dtype, shapes[i == 0 ? 0 : Below(5)]}));
    }
    for (int added = 0, tries = 0; added < ops && tries < 40 * ops; ++tries)
      added += TryAdd() ? 1 : 0;
    for (int i = 0; i < 3; ++i)
      EXPECT_TRUE(graph_.AddOutput(values_[values_.size() - 1 - Below(4)]).ok());
    return graph_;
  }

  HostTensor Input(const TensorType& type) {
    HostTensor t = HostTensor::Make(type.dtype, EvalDims(type.dims, {}));
    for (int64_t i = 0; i < t.size(); ++i) t.Set(i, Special(type.dtype));
    return t;
  }

 private:
  size_t Below(size_t n) { return static_cast<size_t>(rng_() % n); }

  ScalarValue Special(DType dtype) {
    if (IsFloat(dtype)) return ScalarFromDouble(dtype, kReals[Below(std::size(kReals))]);
    return ScalarFromInt(dtype, kIntegers[Below(std::size(kIntegers))]);
  }

  Value Operand(DType dtype) {
    if (Below(4) == 0) {
      Value constant = graph_.AddConstantBits(dtype, Special(dtype));
      return Below(3) == 0
                 ? *graph_.Add(Op::kBroadcast, {constant}, {{"shape", std::vector<Dim>{3, 4}}})
                 : constant;
    }
    for (int i = 0; i < 20; ++i) {
      Value v = values_[values_.size() - 1 -
                        Below(std::min<size_t>(values_.size(), i < 10 ? 3 : values_.size()))];
      if (graph_.type(v).dtype == dtype) return v;
    }
    return graph_.AddConstantBits(dtype, Special(dtype));
  }

  // Half the time the op of the last node again: f(f(x)) is what many rules look for.
  bool TryAdd() {
    if (const Node& last = graph_.node(values_.back()); last.in.size() == 2 && Below(8) == 0) {
      Op op = last.op;
      Value swapped[] = {last.in[1], last.in[0]};
      absl::StatusOr<Value> value = graph_.Add(op, swapped);
      if (value.ok()) values_.push_back(*value);
      return value.ok();
    }
    const OpDef& def =
        Below(3) == 0 ? graph_.node(values_.back()).def() : *ops_[Below(ops_.size())];
    if (def.args.empty()) return false;
    Value first = values_[values_.size() - 1 - Below(std::min<size_t>(values_.size(), 3))];
    DType dtype = graph_.type(first).dtype;
    absl::InlinedVector<Value, 3> in{first};
    if (def.op == Op::kWhere) in = {Operand(DType::kBool), Operand(dtype_)};
    if (def.op != Op::kWhere && Below(4) == 0) in[0] = Operand(dtype);
    while (in.size() < def.args.size())
      in.push_back(Below(5) == 0 ? in.back() : Operand(graph_.type(in.back()).dtype));
    absl::StatusOr<Value> value = graph_.Add(def.op, in, AttrsFor(def, in[0]));
    if (value.ok()) values_.push_back(*value);
    return value.ok();
  }

  Attrs AttrsFor(const OpDef& def, Value x) {
    const Shape& dims = graph_.type(x).dims;
    if (def.op == Op::kCast) return {{"dtype", kDTypes[Below(std::size(kDTypes))]}};
    if (def.op == Op::kTranspose && dims.size() == 2)
      return {{"perm", std::vector<int64_t>(Below(3) == 0 ? std::vector<int64_t>{0, 1}
                                                          : std::vector<int64_t>{1, 0})}};
    if (def.op == Op::kReshape && NumElements(dims).Is(12)) {
      const std::vector<Dim> shapes[] = {{3, 4}, {12}, {2, 6}, {4, 3}};
      return {{"shape", shapes[Below(4)]}};
    }
    if (def.op == Op::kReshape || (def.op == Op::kBroadcast && Below(2) == 0))
      return {{"shape", std::vector<Dim>(dims.begin(), dims.end())}};
    if (def.op == Op::kBroadcast) {
      const std::vector<Dim> shapes[] = {{3, 4}, {4}, {2, 3, 4}};
      return {{"shape", shapes[Below(3)]}};
    }
    return {};
  }

  std::mt19937 rng_;
  std::vector<const OpDef*> ops_;
  Graph graph_;
  DType dtype_ = DType::kF32;
  std::vector<Value> values_;
};

std::string Difference(const HostTensor& a, const HostTensor& b) {
  if (a.dtype != b.dtype || a.dims != b.dims) return "types differ";
  for (int64_t i = 0; i < a.size(); ++i) {
    if (a.At(i).bits() == b.At(i).bits()) continue;
    if (IsFloat(a.dtype) && std::isnan(a.Number(i)) && std::isnan(b.Number(i))) continue;
    return absl::StrCat("element ", i, ": ", LiteralToString(a.dtype, a.At(i)), " before, ",
                        LiteralToString(b.dtype, b.At(i)), " after");
  }
  return "";
}

TEST(OptimizeProperty, NoBitChanges) {
  OptimizeStats total;
  for (uint32_t seed = 0; seed < 8000; ++seed) {
    RandomGraph random(seed);
    Graph graph = random.Make(12);
    OptimizeStats stats;
    absl::StatusOr<Graph> optimized = Optimize(graph, &stats);
    ASSERT_TRUE(optimized.ok()) << optimized.status() << GraphToString(graph);
    std::vector<HostTensor> inputs;
    for (NodeId id : graph.inputs()) inputs.push_back(random.Input(graph.node(id).types[0]));
    auto before = EvalDeclared(graph, inputs);
    auto after = EvalDeclared(*optimized, inputs);
    ASSERT_TRUE(before.ok()) << before.status() << GraphToString(graph);
    ASSERT_TRUE(after.ok()) << after.status() << GraphToString(*optimized);
    for (size_t i = 0; i < before->size(); ++i) {
      ASSERT_EQ(Difference((*before)[i], (*after)[i]), "")
          << "seed " << seed << " output " << i << "\n"
          << GraphToString(graph) << GraphToString(*optimized);
    }
    ASSERT_LE(optimized->size(), graph.size() + 8);
    for (const auto& [name, count] : stats.fired) total.fired[name] += count;
    total.commuted += stats.commuted;
  }
  std::vector<std::string> quiet;
  for (const RewriteRule* rule : AllRules()) {
    if (total.fired[rule->name] == 0 && rule->root != Op::kMatMul)
      quiet.push_back(std::string(rule->name));
  }
  EXPECT_LE(quiet.size(), 3u) << "rules that no random graph met: " << absl::StrJoin(quiet, ", ");
  EXPECT_GT(total.commuted, 100);
}

// The rule for matmul, in the dtypes and layouts where the order of the products could matter.
TEST(OptimizeProperty, MatMulOfTransposesChangesNoBit) {
  for (const char* dtype : {"f32", "bf16", "i32"}) {
    for (int flags = 0; flags < 16; ++flags) {
      auto type = [&](int rows, int columns, bool flip) {
        return absl::StrCat(dtype, "[2,", flip ? columns : rows, ",", flip ? rows : columns, "]");
      };
      bool ta = flags & 1;
      bool tb = flags & 2;
      bool pa = flags & 4;
      bool pb = flags & 8;
      std::string text =
          absl::StrCat("graph f(%a: ", type(5, 7, ta != pa), ", %b: ", type(7, 6, tb != pb),
                       ") -> (", type(5, 6, false), ") {\n");
      if (pa) absl::StrAppend(&text, "%s = transpose(%a) {perm=[0,2,1]} : ", type(5, 7, ta), "\n");
      if (pb) absl::StrAppend(&text, "%t = transpose(%b) {perm=[0,2,1]} : ", type(7, 6, tb), "\n");
      absl::StrAppend(&text, "%r = matmul(", pa ? "%s" : "%a", ", ", pb ? "%t" : "%b",
                      ") {transpose_a=", ta ? "true" : "false",
                      ", transpose_b=", tb ? "true" : "false", "} : ", type(5, 6, false),
                      "\nreturn %r }");
      absl::StatusOr<Graph> graph = ParseGraph(text);
      ASSERT_TRUE(graph.ok()) << graph.status();
      OptimizeStats stats;
      absl::StatusOr<Graph> optimized = Optimize(*graph, &stats);
      ASSERT_TRUE(optimized.ok());
      EXPECT_EQ(stats.fired["matmul_of_transpose"], pa || pb ? 1 : 0) << text;
      std::mt19937 rng(static_cast<uint32_t>(flags));
      std::vector<HostTensor> inputs;
      for (NodeId id : graph->inputs()) {
        const TensorType& t = graph->node(id).types[0];
        inputs.push_back(HostTensor::Make(t.dtype, EvalDims(t.dims, {})));
        for (int64_t i = 0; i < inputs.back().size(); ++i)
          inputs.back().SetNumber(i, static_cast<double>(rng() % 2001) / 7 - 143);
      }
      auto before = EvalDeclared(*graph, inputs);
      auto after = EvalDeclared(*optimized, inputs);
      ASSERT_TRUE(before.ok() && after.ok()) << before.status() << after.status();
      EXPECT_EQ(Difference((*before)[0], (*after)[0]), "") << text;
    }
  }
}

}  // namespace
}  // namespace jitfuse::internal
