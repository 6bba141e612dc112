// BuildScalarProgram: a body's tree instantiated for argument types, result types and attributes.
//
// First every node gets its type bottom-up, or none: a node made of weak values alone is weak. Then
// instructions are emitted top-down from the results, a weak node in the type its user asks for;
// equal instructions share a register.
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "ir/scalar_parse.h"
#include "ir/scalar_value.h"
#include "ir/support/check.h"
#include "ir/support/status.h"
#include "ir/wide_scalar.h"

namespace jitfuse::internal {
namespace {

using Kind = ScalarBody::Kind;
using Node = ScalarBody::Node;

struct WeakName {
  std::string_view name;
  long double (*value)(DType);
  bool of_result = false;  // value() is asked for the declared type of the result, f16 and bf16 too
};

long double Lowest(DType dtype) {
  if (IsFloat(dtype)) return -std::numeric_limits<long double>::infinity();
  return OnType(dtype, [](auto tag) {
    return static_cast<long double>(std::numeric_limits<decltype(tag)>::lowest());
  });
}

long double Highest(DType dtype) {
  if (IsFloat(dtype)) return std::numeric_limits<long double>::infinity();
  return OnType(dtype, [](auto tag) {
    return static_cast<long double>(std::numeric_limits<decltype(tag)>::max());
  });
}

long double Epsilon(DType dtype) { return 2 * EpsOf(dtype); }
long double Smallest(DType dtype) { return UlpOf(dtype, 0); }
long double Largest(DType dtype) {
  const long double below = std::numeric_limits<long double>::max();
  return UlpOf(dtype, below) * (1 / EpsOf(dtype) - 1);
}

constexpr WeakName kWeakNames[] = {
    {"zero", [](DType) { return 0.0L; }},
    {"true", [](DType) { return 1.0L; }},
    {"false", [](DType) { return 0.0L; }},
    {"inf", [](DType) { return std::numeric_limits<long double>::infinity(); }},
    {"nan", [](DType) { return std::numeric_limits<long double>::quiet_NaN(); }},
    {"pi", [](DType) { return std::numbers::pi_v<long double>; }},
    {"width", [](DType dtype) { return 8.0L * ItemSize(dtype); }},
    {"lowest", Lowest},
    {"highest", Highest},
    {"epsilon", Epsilon, true},
    {"smallest", Smallest, true},
    {"largest", Largest, true},
};

// An attribute is a float: beyond an integer type it saturates, as a cast does (clamp of u8 to
// -1..300 keeps all of 0..255). Literals of a body wrap instead: there -1 is all ones.
long double Saturated(long double number, DType dtype) {
  if (!IsInt(dtype)) return number;
  return number < Lowest(dtype) ? Lowest(dtype) : number > Highest(dtype) ? Highest(dtype) : number;
}

const WeakName* FindWeakName(std::string_view name) {
  for (const WeakName& weak : kWeakNames) {
    if (weak.name == name) return &weak;
  }
  return nullptr;
}

class Builder {
 public:
  Builder(const ScalarBody& body, absl::Span<const std::string_view> arg_names,
          absl::Span<const DType> arg_types, const AttrLookup& attr,
          absl::Span<const DType> result_types)
      : body_(body),
        arg_names_(arg_names),
        arg_types_(arg_types),
        attr_(attr),
        result_types_(result_types) {}

  absl::StatusOr<ScalarProgram> Build() {
    program_.num_args = static_cast<int>(arg_names_.size());
    for (const Node& node : body_.nodes) {
      JF_ASSIGN_OR_RETURN(Info info, Infer(node));
      info_.push_back(info);
    }
    emitted_.resize(body_.nodes.size());
    for (auto& per_type : emitted_) per_type.fill(-1);
    if (!result_types_.empty() && result_types_.size() != body_.results.size()) {
      return ScalarBodyError(
          body_.text, 1,
          absl::StrCat("has ", body_.results.size(), " results, not ", result_types_.size()));
    }
    for (size_t i = 0; i < body_.results.size(); ++i) {
      JF_ASSIGN_OR_RETURN(int16_t result, Result(i));
      program_.results.push_back(result);
    }
    return std::move(program_);
  }

 private:
  // What is known of a node before code is made.
  struct Info {
    std::optional<DType> type;  // register type; none: weak
    bool constant = false;      // weak, and made of literals and attributes alone
    int arg = -1;
    long double number = 0;
    const WeakName* weak_name = nullptr;
  };

  absl::Status Error(const Node& node, std::string_view message) const {
    return ScalarBodyError(body_.text, node.column, message);
  }
  const Info& Of(int node) const { return info_[static_cast<size_t>(node)]; }

  DType Home() const { return arg_types_.empty() ? DType::kF32 : ComputeType(arg_types_[0]); }

  absl::StatusOr<Info> Infer(const Node& node) const {
    Info info;
    switch (node.kind) {
      case Kind::kNumber:
        info.constant = true;
        info.number = node.number;
        return info;
      case Kind::kName:
        return InferName(node);
      case Kind::kLocal:
        return Of(node.operands[0]);
      case Kind::kOp:
        return InferOp(node);
      case Kind::kCast:
        info.type = ComputeType(node.dtype);
        return info;
      case Kind::kCastToResult:
        if (result_types_.empty()) return Error(node, "cast(x) needs the type of the result");
        info.type = ComputeType(result_types_[0]);
        return info;
      case Kind::kBitcastInt:
      case Kind::kBitcastFloat:
        break;
    }
    bool to_int = node.kind == Kind::kBitcastInt;
    std::optional<DType> from = Of(node.operands[0]).type;
    if (from == (to_int ? DType::kF32 : DType::kI32)) {
      info.type = to_int ? DType::kI32 : DType::kF32;
    } else if (from == (to_int ? DType::kF64 : DType::kI64)) {
      info.type = to_int ? DType::kI64 : DType::kF64;
    } else {
      return Error(node, to_int ? "expected an f32 or f64" : "expected an i32 or i64");
    }
    return info;
  }

  absl::StatusOr<Info> InferName(const Node& node) const {
    Info info;
    for (size_t i = 0; i < arg_names_.size(); ++i) {
      if (arg_names_[i] == node.name) {
        info.type = ComputeType(arg_types_[i]);
        info.arg = static_cast<int>(i);
        return info;
      }
    }
    info.constant = true;
    if (attr_) {
      if (std::optional<double> value = attr_(node.name)) {
        info.number = *value;
        return info;
      }
    }
    info.weak_name = FindWeakName(node.name);
    if (info.weak_name == nullptr) return Error(node, absl::StrCat("unknown name ", node.name));
    return info;
  }

  // The one type that the strong ones among operands [first, ...) have.
  absl::StatusOr<std::optional<DType>> CommonType(const Node& node, size_t first) const {
    std::optional<DType> common;
    for (size_t i = first; i < node.operands.size(); ++i) {
      std::optional<DType> type = Of(node.operands[i]).type;
      if (!type.has_value()) continue;
      if (common.has_value() && common != type) {
        return Error(node,
                     absl::StrCat(ToAbsl(GetScalarOp(node.op).name), " of ",
                                  ToAbsl(DTypeName(*common)), " and ", ToAbsl(DTypeName(*type))));
      }
      common = type;
    }
    return common;
  }

  absl::StatusOr<Info> InferOp(const Node& node) const {
    const ScalarOpDef& def = GetScalarOp(node.op);
    Info info;
    JF_ASSIGN_OR_RETURN(std::optional<DType> common,
                        CommonType(node, def.rule == ScalarTypeRule::kSelect ? 1 : 0));
    if (common.has_value() && !IsIn(*common, def.domain)) {
      return Error(
          node, absl::StrCat(ToAbsl(def.name), " is not defined for ", ToAbsl(DTypeName(*common))));
    }
    if (def.rule == ScalarTypeRule::kSelect) {
      std::optional<DType> condition = Of(node.operands[0]).type;
      if (condition.has_value() && condition != DType::kBool)
        return Error(node, "expected a bool condition");
    }
    if (def.rule == ScalarTypeRule::kCompare || def.rule == ScalarTypeRule::kPredicate) {
      info.type = DType::kBool;
      return info;
    }
    info.type = common;
    info.constant = !common.has_value() && def.wide != nullptr;
    for (int operand : node.operands) info.constant = info.constant && Of(operand).constant;
    return info;
  }

  long double WeakValue(const WeakName& weak, DType dtype) const {
    return weak.value(weak.of_result && !result_types_.empty() ? result_types_[0] : dtype);
  }

  // The value of a constant node for use in `dtype`.
  long double Fold(int id, DType dtype) const {
    const Node& node = body_.nodes[static_cast<size_t>(id)];
    const Info& info = Of(id);
    if (node.kind == Kind::kLocal) return Fold(node.operands[0], dtype);
    if (node.kind == Kind::kName && info.weak_name == nullptr) return Saturated(info.number, dtype);
    if (node.kind != Kind::kOp)
      return info.weak_name != nullptr ? WeakValue(*info.weak_name, dtype) : info.number;
    long double in[3] = {};
    for (size_t i = 0; i < node.operands.size(); ++i) in[i] = Fold(node.operands[i], dtype);
    return GetScalarOp(node.op).wide(in);
  }

  int16_t Append(const ScalarInst& inst) {
    for (size_t i = program_.insts.size(); i-- > 0;) {
      if (program_.insts[i] == inst) return static_cast<int16_t>(i);
    }
    JF_CHECK(program_.insts.size() < 32000);
    program_.insts.push_back(inst);
    return static_cast<int16_t>(program_.insts.size() - 1);
  }

  int16_t Convert(int16_t from, DType to) {
    ScalarInst inst{ScalarOp::kConvert, to, {from, -1, -1}, 0};
    return Append(inst);
  }

  // Emits node `id` once per type; a weak one in type `expected`.
  absl::StatusOr<int16_t> Emit(int id, DType expected) {
    const DType type = Of(id).type.value_or(expected);
    int16_t& known = emitted_[static_cast<size_t>(id)][static_cast<size_t>(type)];
    if (known < 0) {
      JF_ASSIGN_OR_RETURN(known, EmitNew(id, type));
    }
    return known;
  }

  absl::StatusOr<int16_t> EmitNew(int id, DType type) {
    const Node& node = body_.nodes[static_cast<size_t>(id)];
    const Info& info = Of(id);
    if (info.constant) {
      return Append(ScalarInst{
          ScalarOp::kConst, type, {-1, -1, -1}, ScalarFromLongDouble(type, Fold(id, type)).bits()});
    }
    switch (node.kind) {
      case Kind::kName:
        return Append(
            ScalarInst{ScalarOp::kArg, type, {-1, -1, -1}, static_cast<uint64_t>(info.arg)});
      case Kind::kLocal:
        return Emit(node.operands[0], type);
      case Kind::kOp:
        return EmitOp(node, type);
      case Kind::kNumber:
        break;  // constant
      case Kind::kCast:
      case Kind::kCastToResult: {
        DType to = node.kind == Kind::kCast ? node.dtype : result_types_[0];
        JF_ASSIGN_OR_RETURN(int16_t operand, Emit(node.operands[0], ComputeType(to)));
        bool grid = to == DType::kF16 || to == DType::kBF16;
        if (!grid && program_.insts[static_cast<size_t>(operand)].dtype == to) return operand;
        return Convert(operand, to);
      }
      case Kind::kBitcastInt:
      case Kind::kBitcastFloat: {
        JF_ASSIGN_OR_RETURN(int16_t operand, Emit(node.operands[0], type));
        return Append(ScalarInst{ScalarOp::kBitcast, type, {operand, -1, -1}, 0});
      }
    }
    return Error(node, "cannot be emitted");
  }

  // The outcome of a comparison of constants, with which a body chooses by type.
  std::optional<bool> Decided(int id) const {
    const Node& node = body_.nodes[static_cast<size_t>(id)];
    if (node.kind != Kind::kOp || GetScalarOp(node.op).rule != ScalarTypeRule::kCompare)
      return std::nullopt;
    long double in[2];
    for (size_t i = 0; i < 2; ++i) {
      if (!Of(node.operands[i]).constant) return std::nullopt;
      in[i] = Fold(node.operands[i], Home());
    }
    return GetScalarOp(node.op).wide(in) != 0;
  }

  absl::StatusOr<int16_t> EmitOp(const Node& node, DType type) {
    const ScalarOpDef& def = GetScalarOp(node.op);
    if (node.op == ScalarOp::kSelect) {
      std::optional<bool> decided = Decided(node.operands[0]);
      if (decided.has_value()) return Emit(node.operands[*decided ? 1 : 2], type);
    }
    ScalarInst inst{node.op, type, {-1, -1, -1}, 0};
    DType operand_type = type;
    if (def.rule == ScalarTypeRule::kCompare || def.rule == ScalarTypeRule::kPredicate) {
      JF_ASSIGN_OR_RETURN(std::optional<DType> common, CommonType(node, 0));
      operand_type = common.value_or(Home());
    }
    if (!IsIn(operand_type, def.domain)) {
      return Error(node, absl::StrCat(ToAbsl(def.name), " is not defined for ",
                                      ToAbsl(DTypeName(operand_type))));
    }
    for (size_t i = 0; i < node.operands.size(); ++i) {
      bool condition = def.rule == ScalarTypeRule::kSelect && i == 0;
      JF_ASSIGN_OR_RETURN(inst.in[i],
                          Emit(node.operands[i], condition ? DType::kBool : operand_type));
    }
    return Append(inst);
  }

  absl::StatusOr<int16_t> Result(size_t i) {
    if (result_types_.empty()) return Emit(body_.results[i], Home());
    DType want = ComputeType(result_types_[i]);
    JF_ASSIGN_OR_RETURN(int16_t value, Emit(body_.results[i], want));
    DType have = ComputeType(program_.insts[static_cast<size_t>(value)].dtype);
    return have == want ? value : Convert(value, want);
  }

  const ScalarBody& body_;
  absl::Span<const std::string_view> arg_names_;
  absl::Span<const DType> arg_types_;
  const AttrLookup& attr_;
  absl::Span<const DType> result_types_;
  std::vector<Info> info_;
  std::vector<std::array<int16_t, kNumDTypes>> emitted_;  // register of a node in a type, or -1
  ScalarProgram program_;
};

}  // namespace

absl::StatusOr<ScalarProgram> BuildScalarProgram(std::string_view body,
                                                 absl::Span<const std::string_view> arg_names,
                                                 absl::Span<const DType> arg_types,
                                                 const AttrLookup& attr,
                                                 absl::Span<const DType> result_types) {
  JF_CHECK(arg_names.size() == arg_types.size());
  JF_ASSIGN_OR_RETURN(const ScalarBody* tree, ParseScalarBody(body));
  return Builder(*tree, arg_names, arg_types, attr, result_types).Build();
}

}  // namespace jitfuse::internal
