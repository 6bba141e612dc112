// Writes api/ops.h from the op table: one inline C++ function per op.
//
//   gen_ops_header > api/ops.h
// ./dev golden --update does it; a test fails while the file is stale.
#include <cmath>
#include <cstdio>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "ir/op_def.h"
#include "ir/support/status.h"

namespace jitfuse::internal {
namespace {

constexpr const char* kHead =
    R"(// The ops, as functions on Tensors. GENERATED from ir/ops.inc by tools/gen_ops_header.cc; do not edit.
//
// Operands of different dtypes are promoted (Array API lattice); shapes broadcast as in NumPy. A wrong shape, dtype or attribute gives an invalid Tensor and an
// error in the Builder. Trailing operands with a default may be left out. Reference: docs/ops.md.
#ifndef JITFUSE_API_OPS_H_
#define JITFUSE_API_OPS_H_

#include <cstdint>
#include <limits>
#include <vector>

#include "ops_support.h"
#include "tensor.h"

namespace jitfuse {
inline namespace v1 {

)";

constexpr const char* kTail = R"(
// Views of x, one after the other along an axis, with these sizes: together all of it.
std::vector<Tensor> Split(const Tensor& x, const std::vector<std::int64_t>& sizes, std::int64_t axis = 0);

// Operators. A number beside a Tensor takes the Tensor's dtype (a fraction beside an integer Tensor is f32).
#define JF_API_OPERATOR(op, Function)                                                                                     \
  inline Tensor operator op(const Tensor& a, const Tensor& b) { return Function(a, b); }                                   \
  inline Tensor operator op(const Tensor& a, const Number& b) { return Function(a, detail::LiteralLike(b, a)); }           \
  inline Tensor operator op(const Number& a, const Tensor& b) { return Function(detail::LiteralLike(a, b), b); }
JF_API_OPERATOR(+, Add)
JF_API_OPERATOR(-, Subtract)
JF_API_OPERATOR(*, Multiply)
JF_API_OPERATOR(/, Divide)
JF_API_OPERATOR(<, Less)
JF_API_OPERATOR(<=, LessEqual)
JF_API_OPERATOR(>, Greater)
JF_API_OPERATOR(>=, GreaterEqual)
#undef JF_API_OPERATOR
inline Tensor operator-(const Tensor& a) { return Negative(a); }

}  // namespace v1
}  // namespace jitfuse

#endif  // JITFUSE_API_OPS_H_
)";

// "layer_norm" -> "LayerNorm".
std::string FunctionName(std::string_view name) {
  std::string out;
  for (absl::string_view part : absl::StrSplit(ToAbsl(name), '_')) {
    if (part.empty()) continue;
    out += static_cast<char>(std::toupper(static_cast<unsigned char>(part[0])));
    out += std::string(part.substr(1));
  }
  return out;
}

// C++ and op names that are keywords get a trailing underscore as parameter names.
std::string ParamName(std::string_view name) {
  static constexpr std::string_view kKeywords[] = {"and",     "or",     "not",     "xor",
                                                   "default", "static", "register"};
  for (std::string_view k : kKeywords) {
    if (name == k) return std::string(name) + "_";
  }
  return std::string(name);
}

struct CppType {
  const char* type;
  const char* wrap;  // of the argument when it becomes an AttrArg
};
// Numbers of pointwise ops on integers keep the digits of an integer.
CppType TypeOf(const OpDef& def, AttrKind kind) {
  if (kind == AttrKind::kFloat && def.kind == OpKind::kPointwise && (def.domain & kInts) != 0)
    return {"const Number&", "detail::ArgOf"};
  switch (kind) {
    case AttrKind::kBool:
      return {"bool", ""};
    case AttrKind::kInt:
      return {"std::int64_t", ""};
    case AttrKind::kFloat:
      return {"double", ""};
    case AttrKind::kDType:
      return {"DType", ""};
    case AttrKind::kInts:
      return {"const std::vector<std::int64_t>&", ""};
    case AttrKind::kDims:
      return {"const std::vector<DimSpec>&", ""};
  }
  return {"void", ""};
}

std::string DoubleLiteral(double v) {
  if (std::isinf(v))
    return absl::StrCat(v < 0 ? "-" : "", "std::numeric_limits<double>::infinity()");
  std::string text = absl::StrCat(v);
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

std::string DTypeLiteral(DType d) {
  std::string name(DTypeName(d));
  if (d == DType::kBool) return "DType::kBool";
  for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return absl::StrCat("DType::k", name);
}

std::string DefaultOf(const AttrDef& attr) {
  const AttrValue& v = *attr.fallback;
  if (const auto* b = std::get_if<bool>(&v)) return *b ? "true" : "false";
  if (const auto* i = std::get_if<int64_t>(&v)) return absl::StrCat(*i);
  if (const auto* d = std::get_if<double>(&v)) return DoubleLiteral(*d);
  if (const auto* t = std::get_if<DType>(&v)) return DTypeLiteral(*t);
  if (const auto* ints = std::get_if<std::vector<int64_t>>(&v))
    return absl::StrCat("{", absl::StrJoin(*ints, ", "), "}");
  return "{}";
}

// Required attributes come before optional operands: C++ wants parameters with defaults last.
struct Params {
  std::vector<std::string> declared;
  std::vector<std::string> operands, attrs;
};

Params ParamsOf(const OpDef& def) {
  Params out;
  std::vector<std::string> optional;
  // An op with no tensor operand is told to which Builder it belongs.
  if (def.args.empty()) out.declared.push_back("const Builder& builder");
  for (std::string_view arg : def.args) {
    if (arg.ends_with("...")) {
      std::string name = ParamName(arg.substr(0, arg.size() - 3));
      out.declared.push_back(absl::StrCat("const std::vector<Tensor>& ", name));
      out.operands.push_back(name);
      continue;
    }
    bool may_miss = !arg.empty() && arg.back() == '?';
    std::string name = ParamName(may_miss ? arg.substr(0, arg.size() - 1) : arg);
    (may_miss ? optional : out.declared)
        .push_back(absl::StrCat("const Tensor& ", name, may_miss ? " = {}" : ""));
    out.operands.push_back(name);
  }
  for (const AttrDef& attr : def.attrs) {
    std::string name = ParamName(attr.name);
    const CppType type = TypeOf(def, attr.kind);
    std::string decl = absl::StrCat(type.type, " ", name);
    if (attr.fallback) {
      optional.push_back(absl::StrCat(decl, " = ", DefaultOf(attr)));
    } else {
      out.declared.push_back(decl);
    }
    if (*type.wrap != '\0') name = absl::StrCat(type.wrap, "(", name, ")");
    out.attrs.push_back(absl::StrCat("{\"", ToAbsl(attr.name), "\", ", name, "}"));
  }
  out.declared.insert(out.declared.end(), optional.begin(), optional.end());
  return out;
}

std::string FunctionFor(const OpDef& def) {
  Params p = ParamsOf(def);
  int results = def.num_results();
  std::string operands = absl::StrJoin(p.operands, ", ");
  if (!def.is_variadic()) operands = absl::StrCat("{", operands, "}");
  if (def.args.empty()) operands = "builder";
  std::string call =
      absl::StrCat("detail::", results > 1 ? "ApplyAll" : "Apply", "(\"", ToAbsl(def.name), "\", ",
                   operands, ", {", absl::StrJoin(p.attrs, ", "), "}",
                   results > 1 ? absl::StrCat(", ", results) : "", ")");
  return absl::StrCat("// ", ToAbsl(def.doc), "\ninline ",
                      results > 1 ? "std::vector<Tensor>" : "Tensor", " ", FunctionName(def.name),
                      "(", absl::StrJoin(p.declared, ", "), ") {\n  return ", call, ";\n}\n");
}

// Builder makes inputs, scalars and constants.
bool HasFunction(const OpDef& def) { return def.infer != nullptr; }

}  // namespace
}  // namespace jitfuse::internal

int main() {
  using namespace jitfuse::internal;
  std::string out = kHead;
  for (const OpDef* def : AllOps()) {
    if (HasFunction(*def)) out += FunctionFor(*def);
  }
  out += kTail;
  std::fwrite(out.data(), 1, out.size(), stdout);
  return 0;
}
