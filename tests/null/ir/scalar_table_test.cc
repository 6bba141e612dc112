// ir/scalar_ops.inc as data: every row has a path on each back end for every type of its domain,
// and every text in it parses.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "ir/scalar_expr.h"
#include "ir/support/status.h"
#include "tests/test_util/scalar_sweep.h"

namespace jitfuse::internal {
namespace {

constexpr int kFirstRow = static_cast<int>(ScalarOp::kConst) + 1;

template <typename F>
void ForEachRow(F f) {
  for (int i = kFirstRow; i < static_cast<int>(ScalarOp::kCount); ++i)
    f(GetScalarOp(static_cast<ScalarOp>(i)));
}

template <typename F>
void ForEachType(const ScalarOpDef& def, F f) {
  for (int i = 0; i < kNumDTypes; ++i) {
    if (IsIn(static_cast<DType>(i), def.domain)) f(static_cast<DType>(i));
  }
}

std::string_view Template(const std::string_view* column, DType dtype) {
  return column[static_cast<int>(ClassOf(dtype))];
}

// The result type where the rule fixes it; for bitcast the type of the other kind with the same
// width.
DType ResultOf(const ScalarOpDef& def, DType operand) {
  switch (def.rule) {
    case ScalarTypeRule::kCompare:
    case ScalarTypeRule::kPredicate:
      return DType::kBool;
    case ScalarTypeRule::kBitcast:
      return operand == DType::kF32   ? DType::kI32
             : operand == DType::kI32 ? DType::kF32
             : operand == DType::kF64 ? DType::kI64
                                      : DType::kF64;
    default:
      return operand;
  }
}

// One instruction of the row on arguments of `operand` type.
ScalarProgram OneInstruction(const ScalarOpDef& def, DType operand) {
  ScalarProgram p;
  p.num_args = def.arity;
  ScalarInst inst{def.op, ResultOf(def, operand), {-1, -1, -1}, 0};
  for (int k = 0; k < def.arity; ++k) {
    DType type = def.rule == ScalarTypeRule::kSelect && k == 0 ? DType::kBool : operand;
    p.insts.push_back({ScalarOp::kArg, type, {-1, -1, -1}, static_cast<uint64_t>(k)});
    inst.in[k] = static_cast<int16_t>(k);
  }
  p.insts.push_back(inst);
  p.results = {static_cast<int16_t>(def.arity)};
  return p;
}

TEST(ScalarTable, NamesAreUniqueAndFound) {
  std::set<std::string_view> names;
  ForEachRow([&](const ScalarOpDef& def) {
    EXPECT_TRUE(names.insert(def.name).second) << def.name;
    EXPECT_EQ(FindScalarOp(def.name), def.op) << def.name;
    EXPECT_FALSE(def.doc.empty()) << def.name;
    EXPECT_TRUE(def.arity >= 1 && def.arity <= 3) << def.name;
    EXPECT_EQ(def.domain & ~kComputeAny, 0u) << def.name << ": f16 and bf16 are no register types";
  });
  EXPECT_GE(names.size(), 50u);
  EXPECT_EQ(FindScalarOp("no_such_primitive"), std::nullopt);
}

TEST(ScalarTable, EveryTypeHasAPathOnEachBackEnd) {
  ForEachRow([](const ScalarOpDef& def) {
    if (def.op == ScalarOp::kConvert) return;
    ForEachType(def, [&](DType type) {
      SCOPED_TRACE(absl::StrCat(ToAbsl(def.name), " ", ToAbsl(DTypeName(type))));
      EXPECT_FALSE(Template(def.cuda, type).empty());
      EXPECT_NE(Template(def.llvm, type).empty(), !HasDecomp(def.op, type));
      EXPECT_TRUE(def.eval != nullptr || HasDecomp(def.op, type));
    });
  });
}

TEST(ScalarTable, TemplatesUseTheirOperandsAndKnownPlaceholders) {
  ForEachRow([](const ScalarOpDef& def) {
    for (const auto* column : {def.cuda, def.llvm}) {
      for (int c = 0; c < kNumScalarClasses; ++c) {
        std::string_view t = column[c];
        if (t.empty()) continue;
        for (int k = 0; k < def.arity; ++k)
          EXPECT_NE(t.find(absl::StrCat("$", k)), t.npos) << def.name << ": " << t;
        for (size_t i = 0; i < t.size(); ++i) {
          if (t[i] != '$') continue;
          ASSERT_LT(i + 1, t.size());
          const std::string_view known = column == def.cuda ? "012tsuw" : "012tsmb";
          EXPECT_NE(known.find(t[i + 1]), known.npos) << def.name << ": " << t;
          EXPECT_TRUE(t[i + 1] < '0' || t[i + 1] > '2' || t[i + 1] - '0' < def.arity)
              << def.name << ": " << t;
        }
      }
    }
  });
}

// What LLVM 19 turns into vector instructions; everything else becomes a scalar call into a maths
// library.
TEST(ScalarTable, LlvmIntrinsicsAreVectorInstructions) {
  const std::set<std::string> known = {"fma",     "fabs", "abs",   "copysign",  "minimum",
                                       "maximum", "smin", "smax",  "umin",      "umax",
                                       "floor",   "ceil", "trunc", "roundeven", "sqrt"};
  ForEachRow([&](const ScalarOpDef& def) {
    for (std::string_view t : def.llvm) {
      size_t at = t.find("@llvm.");
      if (at == t.npos) continue;
      std::string name(t.substr(at + 6, t.find(".$m") - at - 6));
      EXPECT_EQ(known.count(name), 1u) << def.name << ": " << t;
    }
  });
}

TEST(ScalarTable, DecompsParseAndLeaveOnlyTemplates) {
  ForEachRow([](const ScalarOpDef& def) {
    if (def.op == ScalarOp::kConvert) return;
    ForEachType(def, [&](DType type) {
      SCOPED_TRACE(absl::StrCat(ToAbsl(def.name), " ", ToAbsl(DTypeName(type))));
      for (bool expand_fma : {false, true}) {
        ScalarProgram p = ExpandDecomps(OneInstruction(def, type), {.fma = !expand_fma});
        for (int i = 0; i < static_cast<int>(p.insts.size()); ++i) {
          const ScalarInst& inst = p.insts[i];
          if (inst.op <= ScalarOp::kConst || inst.op == ScalarOp::kConvert) continue;
          EXPECT_FALSE(HasDecomp(inst.op, OperandType(p, i))) << ScalarProgramToString(p);
          EXPECT_FALSE(Template(GetScalarOp(inst.op).llvm, OperandType(p, i)).empty());
          EXPECT_FALSE(expand_fma && inst.op == ScalarOp::kFma);
        }
      }
    });
  });
}

TEST(ScalarTable, GradientsParse) {
  ForEachRow([](const ScalarOpDef& def) {
    if (def.grad.empty()) return;
    const std::string_view all[] = {"g", "a", "b", "c", "y"};
    for (DType type : {DType::kF32, DType::kF64}) {
      std::vector<std::string_view> names = {"g"};
      std::vector<DType> types = {type};
      for (int k = 0; k < def.arity; ++k) {
        names.push_back(all[k + 1]);
        types.push_back(def.rule == ScalarTypeRule::kSelect && k == 0 ? DType::kBool : type);
      }
      names.push_back("y");
      types.push_back(type);
      auto program = BuildScalarProgram(def.grad, names, types, nullptr);
      ASSERT_TRUE(program.ok()) << def.name << ": " << program.status();
      EXPECT_GE(program->results.size(), 1u);
      EXPECT_LE(program->results.size(), static_cast<size_t>(def.arity)) << def.name;
    }
  });
}

TEST(ScalarTable, BoundsAreGivenWhereThereIsRounding) {
  ForEachRow([](const ScalarOpDef& def) {
    EXPECT_GE(def.max_ulp_f32, 0) << def.name;
    // A GPU's power of two, which normal_tail squares, is good to 4 units of the last place.
    const double most = IsFor16BitTypes(def) ? 256 : def.op == ScalarOp::kNormalTail ? 16 : 5;
    EXPECT_LE(def.max_ulp_f32, most) << def.name;
    EXPECT_LE(def.max_ulp_f64, 5) << def.name;
    if ((def.domain & kComputeFloats) != 0 && def.op != ScalarOp::kConvert &&
        def.op != ScalarOp::kBitcast && def.op != ScalarOp::kNextAfter &&
        def.op != ScalarOp::kScalePow2Raw) {
      EXPECT_NE(def.wide, nullptr) << def.name;
    }
    EXPECT_GE(def.cost, 0) << def.name;
  });
}

}  // namespace
}  // namespace jitfuse::internal
