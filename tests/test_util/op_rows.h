// Rows of the op table as tests take them: attributes' values, operands' and results' types.
#ifndef JITFUSE_TESTS_TEST_UTIL_OP_ROWS_H_
#define JITFUSE_TESTS_TEST_UTIL_OP_ROWS_H_

#include <optional>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"
#include "ir/infer.h"
#include "ir/op_def.h"
#include "ir/op_enum.h"
#include "ir/scalar_expr.h"

namespace jitfuse::internal {

inline AttrLookup Defaults(const OpDef& def) {
  return [&def](std::string_view name) -> std::optional<double> {
    const AttrDef* a = def.FindAttr(name);
    if (a == nullptr) return std::nullopt;
    if (a->fallback && a->kind == AttrKind::kFloat) return std::get<double>(*a->fallback);
    return a->kind == AttrKind::kFloat || a->kind == AttrKind::kInt ? std::optional<double>(0.25)
                                                                    : std::nullopt;
  };
}

inline std::vector<DType> OperandTypes(const OpDef& def, DType dtype) {
  std::vector<DType> types(def.args.size(), ComputeType(dtype));
  if (def.op == Op::kWhere) types[0] = DType::kBool;
  return types;
}

// Of operands of rank 0, as inference gives it.
inline DType ResultType(const OpDef& def, DType dtype) {
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

}  // namespace jitfuse::internal

#endif  // JITFUSE_TESTS_TEST_UTIL_OP_ROWS_H_
