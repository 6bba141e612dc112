// Types, literals, conversions and the statements of single instructions.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>

#include "absl/strings/str_cat.h"
#include "codegen/cuda/emit_context.h"
#include "ir/support/check.h"
#include "ir/support/status.h"

namespace jitfuse::internal {
namespace {

struct TypeNames {
  std::string_view reg, stored, unsigned_type, suffix;
};
constexpr std::string_view kWord = "unsigned", kLong = "unsigned long long";
// By DType.
constexpr std::array<TypeNames, kNumDTypes> kTypes = {{
    {"bool", "unsigned char", kWord, ""},
    {"unsigned char", "unsigned char", kWord, ""},
    {"unsigned short", "unsigned short", kWord, ""},
    {"unsigned", "unsigned", kWord, "u"},
    {"unsigned long long", "unsigned long long", kLong, "ull"},
    {"signed char", "signed char", kWord, ""},
    {"short", "short", kWord, ""},
    {"int", "int", kWord, ""},
    {"long long", "long long", kLong, "ll"},
    {"float", "unsigned short", "", ""},
    {"float", "unsigned short", "", ""},
    {"float", "float", "", ""},
    {"double", "double", "", ""},
}};
const TypeNames& Names(DType d) { return kTypes[static_cast<size_t>(d)]; }

std::string FloatText(double v, int digits, std::string_view suffix) {
  char text[40];
  std::snprintf(text, sizeof text, "%.*g", digits, v);
  std::string out = text;
  if (out.find_first_of(".e") == std::string::npos) out += ".0";
  absl::StrAppend(&out, ToAbsl(suffix));
  return std::signbit(v) ? absl::StrCat("(", out, ")") : out;
}

std::string Hex(uint64_t v) { return absl::StrCat("0x", absl::Hex(v)); }

std::string SignedText(DType d, int64_t v) {
  std::string_view suffix = Names(d).suffix;
  if (v == std::numeric_limits<int64_t>::min()) return absl::StrCat("(-9223372036854775807ll - 1)");
  if (d == DType::kI32 && v == std::numeric_limits<int32_t>::min()) return "(-2147483647 - 1)";
  std::string number = absl::StrCat(v, ToAbsl(suffix));
  if (ItemSize(d) < 4) return absl::StrCat("((", ToAbsl(Names(d).reg), ")", number, ")");
  return v < 0 ? absl::StrCat("(", number, ")") : number;
}

std::string UnsignedText(DType d, uint64_t v) {
  std::string number = absl::StrCat(v, ToAbsl(Names(d).suffix));
  return ItemSize(d) < 4 ? absl::StrCat("((", ToAbsl(Names(d).reg), ")", number, ")") : number;
}

std::string Call(std::string_view function, const std::string& x) {
  return absl::StrCat(ToAbsl(function), "(", x, ")");
}

// A float that stands for x in a second rounding to a 16-bit type.
std::string RoundableF32(DType from, const std::string& x) {
  if (ComputeType(from) == DType::kF32) return x;
  if (from == DType::kF64) return Call("jf_odd_f64", x);
  if (from == DType::kBool || ItemSize(from) <= 2) return Call("(float)", x);
  return Call(IsSigned(from) ? "jf_odd_i64" : "jf_odd_u64", x);
}

// Replaces $0.. and $t.. of a template; see ScalarOpDef.
std::string Expand(std::string_view text, DType operand, DType result, const std::string* in) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '$' || i + 1 == text.size()) {
      out.push_back(text[i]);
      continue;
    }
    const char c = text[++i];
    if (c >= '0' && c <= '2') absl::StrAppend(&out, in[c - '0']);
    if (c == 't') absl::StrAppend(&out, ToAbsl(CudaType(result)));
    if (c == 's') absl::StrAppend(&out, ToAbsl(CudaType(operand)));
    if (c == 'u') absl::StrAppend(&out, ToAbsl(Names(operand).unsigned_type));
    if (c == 'w') absl::StrAppend(&out, 8 * ItemSize(operand));
  }
  return out;
}

// The operand whose type chooses the template.
int TypeOperand(ScalarOp op) { return GetScalarOp(op).rule == ScalarTypeRule::kSelect ? 1 : 0; }

bool IsConvert(ScalarOp op) { return GetScalarOp(op).rule == ScalarTypeRule::kConvert; }

}  // namespace

std::string_view CudaType(DType d) { return Names(d).reg; }
std::string_view CudaStoredType(DType d) { return Names(d).stored; }

std::string CudaLiteral(DType d, uint64_t bits) {
  const ScalarValue v = ScalarValue::FromBits(bits);
  if (d == DType::kBool) return v.b ? "true" : "false";
  if (d == DType::kF64) {
    return std::isfinite(v.f64) ? FloatText(v.f64, 17, "")
                                : Call("__longlong_as_double", Hex(bits) + "ll");
  }
  if (ComputeType(d) == DType::kF32) {
    return std::isfinite(v.f32) ? FloatText(v.f32, 9, "f")
                                : Call("__int_as_float", Hex(bits & 0xffffffffu));
  }
  return IsSigned(d) ? SignedText(d, v.i) : UnsignedText(d, v.u);
}

std::string CudaConvert(DType from, DType to, const std::string& x) {
  if (from == to) return x;
  if (to == DType::kBool)
    return absl::StrCat("(", x, " != ", IsFloat(from) ? CudaLiteral(ComputeType(from), 0) : "0",
                        ")");
  if (to == DType::kF16) return Call("jf_f16_round", RoundableF32(from, x));
  if (to == DType::kBF16) return Call("jf_bf16_round", RoundableF32(from, x));
  if (ComputeType(from) == to) return x;
  if (IsFloat(from) && IsInt(to)) {
    return Call(
        absl::StrCat("jf_", ToAbsl(DTypeName(ComputeType(from))), "_to_", ToAbsl(DTypeName(to))),
        x);
  }
  return absl::StrCat("(", ToAbsl(CudaType(to)), ")(", x, ")");
}

std::string CudaLoadedValue(DType stored, const std::string& element) {
  if (stored == DType::kBool) return absl::StrCat("(", element, " != 0)");
  if (stored == DType::kF16) return Call("jf_f16_value", element);
  if (stored == DType::kBF16) return Call("jf_bf16_value", element);
  return element;
}

std::string CudaStoredValue(DType stored, const std::string& value) {
  if (stored == DType::kF16) return Call("jf_f16_bits", value);
  if (stored == DType::kBF16) return Call("jf_bf16_bits", value);
  return value;
}

std::string CudaOp(ScalarOp op, DType operand, DType result, const std::string* in) {
  const ScalarOpDef& def = GetScalarOp(op);
  std::string_view text = def.cuda[static_cast<size_t>(ClassOf(ComputeType(operand)))];
  JF_CHECK(!text.empty());
  return Expand(text, ComputeType(operand), result, in);
}

std::string Emitter::Operand(int id) const {
  const Inst& i = inst(id);
  switch (i.kind) {
    case Inst::Kind::kConst:
      return CudaLiteral(i.dtype, i.bits);
    case Inst::Kind::kScalar:
      return i.dtype == DType::kBool ? absl::StrCat("(h", i.scalar, " != 0)")
                                     : absl::StrCat("h", i.scalar);
    case Inst::Kind::kResult:
      return absl::StrCat("a", i.stage, "_", i.reduce, "_", i.which, column_);
    default:
      return absl::StrCat("v", id, IsKept(id) ? kept_index_ : HasColumns(id) ? column_ : "");
  }
}

std::string Emitter::Value(int id, const Point& point) {
  const Inst& i = inst(id);
  switch (i.kind) {
    case Inst::Kind::kLoad:
      if (IsTiled(id)) return CudaLoadedValue(ParamType(LoadAccess(i)), TileElement(id, "x", "i"));
      return CudaLoadedValue(ParamType(LoadAccess(i)), Element(id, point));
    case Inst::Kind::kIndex: {
      Affine axis;
      axis.coefs.push_back({i.axis, SizeExpr(1)});
      return absl::StrCat("(long long)(", AffineText(axis, point), ")");
    }
    case Inst::Kind::kSize: {
      const SizeExpr& size = plan_.sizes[static_cast<size_t>(i.size)];
      return size.IsConstant() ? SignedText(DType::kI64, size.constant()) : SizeArg(size);
    }
    case Inst::Kind::kOp:
      break;
    default:
      return Operand(id);
  }
  std::string in[3];
  for (int k = 0; k < 3; ++k) {
    if (i.in[k] >= 0) in[k] = Operand(i.in[k]);
  }
  const DType operand = inst(i.in[TypeOperand(i.op)]).dtype;
  return IsConvert(i.op) ? CudaConvert(operand, i.dtype, in[0])
                         : CudaOp(i.op, operand, i.dtype, in);
}

void Emitter::Statement(int id, const Point& point) {
  const Inst& i = inst(id);
  const bool is_name = i.kind == Inst::Kind::kConst || i.kind == Inst::Kind::kScalar ||
                       i.kind == Inst::Kind::kResult;
  if (is_name) return;
  if (i.kind == Inst::Kind::kScan) {
    ScanStatement(id);
    return;
  }
  if (i.kind == Inst::Kind::kSegment) {
    SegmentStatement(id, point);
    return;
  }
  if (IsKept(id) || HasColumns(id)) {
    out_.Line(Operand(id), " = ", Value(id, point), ";");
  } else {
    out_.Line("const ", ToAbsl(CudaType(i.dtype)), " v", id, " = ", Value(id, point), ";");
  }
}

std::string Emitter::StoreOperand(const Stage& stage, const Store& store) const {
  const Inst& value = inst(store.value);
  const DType from = value.dtype;
  const DType to = ParamType(store.access);
  // Storing rounds f32 to the 16-bit types by itself; a value that was rounded just for that is
  // taken as it was before.
  if (value.kind == Inst::Kind::kOp && IsConvert(value.op) && from == to &&
      ComputeType(to) == DType::kF32 && to != DType::kF32) {
    const int before = value.in[0];
    const bool here = !inst(before).elem || IsKept(before) ||
                      std::find(stage.elem_insts.begin(), stage.elem_insts.end(), before) !=
                          stage.elem_insts.end();
    if (here && ComputeType(inst(before).dtype) == DType::kF32) return Operand(before);
  }
  if (ComputeType(from) == DType::kF32 && ComputeType(to) == DType::kF32)
    return Operand(store.value);
  return CudaConvert(from, to, Operand(store.value));
}

void Emitter::Program(const ScalarProgram& program, const std::vector<std::string>& args,
                      const std::vector<DType>& arg_types, const std::vector<std::string>& results,
                      Writer* out) const {
  std::vector<std::string> names(program.insts.size());
  std::vector<DType> types(program.insts.size());
  for (size_t n = 0; n < program.insts.size(); ++n) {
    const ScalarInst& i = program.insts[n];
    types[n] = i.op == ScalarOp::kArg ? arg_types[i.imm] : i.dtype;
    if (i.op == ScalarOp::kArg) names[n] = args[i.imm];
    if (i.op == ScalarOp::kConst) names[n] = CudaLiteral(i.dtype, i.imm);
    if (i.op == ScalarOp::kArg || i.op == ScalarOp::kConst) continue;
    std::string in[3];
    for (int k = 0; k < 3; ++k) {
      if (i.in[k] >= 0) in[k] = names[static_cast<size_t>(i.in[k])];
    }
    const DType operand = types[static_cast<size_t>(i.in[TypeOperand(i.op)])];
    names[n] = absl::StrCat("t", n);
    out->Line(
        "const ", ToAbsl(CudaType(i.dtype)), " ", names[n], " = ",
        IsConvert(i.op) ? CudaConvert(operand, i.dtype, in[0]) : CudaOp(i.op, operand, i.dtype, in),
        ";");
  }
  // Arguments are copied first: a result may overwrite one that a later result still is.
  std::vector<std::string> values;
  for (size_t k = 0; k < results.size(); ++k) {
    const auto n = static_cast<size_t>(program.results[k]);
    values.push_back(names[n]);
    if (program.insts[n].op != ScalarOp::kArg || names[n] == results[k]) continue;
    values.back() = absl::StrCat("r", k);
    out->Line("const ", ToAbsl(CudaType(types[n])), " r", k, " = ", names[n], ";");
  }
  for (size_t k = 0; k < results.size(); ++k) {
    if (values[k] != results[k]) out->Line(results[k], " = ", values[k], ";");
  }
}

}  // namespace jitfuse::internal
