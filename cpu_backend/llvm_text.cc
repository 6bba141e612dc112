#include "cpu_backend/llvm_text.h"

#include <algorithm>
#include <bit>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "ir/scalar_expr.h"
#include "ir/support/status.h"

namespace jitfuse::internal {
namespace {

std::string_view RegisterElement(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return "i1";
    case DType::kU8:
    case DType::kI8:
      return "i8";
    case DType::kU16:
    case DType::kI16:
      return "i16";
    case DType::kU32:
    case DType::kI32:
      return "i32";
    case DType::kU64:
    case DType::kI64:
      return "i64";
    case DType::kF16:
    case DType::kBF16:
    case DType::kF32:
      return "float";
    case DType::kF64:
      return "double";
  }
  return "";
}

std::string_view MemoryElement(DType dtype) {
  if (dtype == DType::kBool) return "i8";
  if (dtype == DType::kF16 || dtype == DType::kBF16) return "i16";
  return RegisterElement(dtype);
}

std::string SplatConstant(std::string_view element, std::string_view value, int lanes) {
  if (lanes == 1) return std::string(value);
  return absl::StrCat("splat (", ToAbsl(element), " ", ToAbsl(value), ")");
}

std::string HexOfDouble(double v) { return absl::StrFormat("0x%016X", std::bit_cast<uint64_t>(v)); }

}  // namespace

std::string VectorOf(std::string_view element, int lanes) {
  return lanes == 1 ? std::string(element) : absl::StrCat("<", lanes, " x ", ToAbsl(element), ">");
}
std::string RegisterType(DType dtype, int lanes) { return VectorOf(RegisterElement(dtype), lanes); }
std::string MemoryType(DType dtype, int lanes) { return VectorOf(MemoryElement(dtype), lanes); }

namespace {
std::string Suffix(std::string_view element, int lanes) {
  std::string_view name = element == "float" ? "f32" : element == "double" ? "f64" : element;
  return lanes == 1 ? std::string(name) : absl::StrCat("v", lanes, ToAbsl(name));
}
}  // namespace
std::string OverloadSuffix(DType dtype, int lanes) { return Suffix(RegisterElement(dtype), lanes); }
std::string MemorySuffix(DType dtype, int lanes) { return Suffix(MemoryElement(dtype), lanes); }

std::string FloatConstant(DType dtype, double v, int lanes) {
  return SplatConstant(dtype == DType::kF64 ? "double" : "float", HexOfDouble(v), lanes);
}

std::string IntConstant(std::string_view element, int64_t v, int lanes) {
  if (element == "i1") return SplatConstant(element, v != 0 ? "true" : "false", lanes);
  return SplatConstant(element, absl::StrCat(v), lanes);
}

std::string ConstantOf(DType dtype, uint64_t bits, int lanes) {
  ScalarValue value = ScalarValue::FromBits(bits);
  if (IsFloat(dtype))
    return FloatConstant(dtype, dtype == DType::kF64 ? value.f64 : static_cast<double>(value.f32),
                         lanes);
  return IntConstant(RegisterElement(dtype), dtype == DType::kBool ? value.b : value.i, lanes);
}

std::string Iota(std::string_view element, int lanes) {
  if (lanes == 1) return "0";
  std::string text = "<";
  for (int i = 0; i < lanes; ++i)
    absl::StrAppend(&text, i == 0 ? "" : ", ", ToAbsl(element), " ", i);
  return text + ">";
}

std::string LlvmText::Alloca(std::string_view type, int align) {
  return Entry("alloca ", ToAbsl(type), ", align ", align);
}

I64 LlvmText::Add(const I64& a, const I64& b) {
  if (a.constant && b.constant) return *a.constant + *b.constant;
  if (a.Is(0)) return b;
  if (b.Is(0)) return a;
  return I64::Named(Value("add i64 ", a.text, ", ", b.text));
}
I64 LlvmText::Sub(const I64& a, const I64& b) {
  if (a.constant && b.constant) return *a.constant - *b.constant;
  if (b.Is(0)) return a;
  return I64::Named(Value("sub i64 ", a.text, ", ", b.text));
}
I64 LlvmText::Mul(const I64& a, const I64& b) {
  if (a.constant && b.constant) return *a.constant * *b.constant;
  if (a.Is(0) || b.Is(0)) return 0;
  if (a.Is(1)) return b;
  if (b.Is(1)) return a;
  return I64::Named(Value("mul i64 ", a.text, ", ", b.text));
}
I64 LlvmText::UDiv(const I64& a, const I64& b) {
  if (b.Is(1) || a.Is(0)) return a;
  if (a.constant && b.constant && *b.constant > 0) return *a.constant / *b.constant;
  return I64::Named(Value("udiv i64 ", a.text, ", ", b.text));
}
I64 LlvmText::URem(const I64& a, const I64& b) {
  if (b.Is(1)) return 0;
  if (a.constant && b.constant && *b.constant > 0) return *a.constant % *b.constant;
  return I64::Named(Value("urem i64 ", a.text, ", ", b.text));
}
I64 LlvmText::UMin(const I64& a, const I64& b) {
  if (a.constant && b.constant) return std::min(*a.constant, *b.constant);
  return I64::Named(Value("call i64 @llvm.umin.i64(i64 ", a.text, ", i64 ", b.text, ")"));
}
I64 LlvmText::RoundDown(const I64& a, int64_t power_of_two) {
  if (a.constant) return *a.constant & -power_of_two;
  if (power_of_two == 1) return a;
  return I64::Named(Value("and i64 ", a.text, ", ", -power_of_two));
}

LlvmText::Loop LlvmText::BeginLoop(const I64& begin, const I64& end, int64_t step,
                                   std::string_view what) {
  Loop loop;
  loop.id = next_++;
  loop.end = end.text;
  loop.step = absl::StrCat(step);
  std::string index = absl::StrCat("%i", loop.id), pre = absl::StrCat("pre", loop.id),
              body = absl::StrCat("body", loop.id);
  loop.index = I64::Named(index);
  BranchIf(Value("icmp slt i64 ", begin.text, ", ", end.text), pre, absl::StrCat("done", loop.id));
  Label(pre);
  Branch(body);
  Label(body);
  absl::StrAppend(&body_, "  ", index, " = phi i64 [ ", begin.text, ", %", pre, " ], [ ", index,
                  ".next, %latch", loop.id, " ]  ; ", ToAbsl(what), "\n");
  return loop;
}

void LlvmText::EndLoop(const Loop& loop) {
  std::string latch = absl::StrCat("latch", loop.id), done = absl::StrCat("done", loop.id);
  Branch(latch);
  Label(latch);
  Line(loop.index.text, ".next = add nsw i64 ", loop.index.text, ", ", loop.step);
  BranchIf(Value("icmp slt i64 ", loop.index.text, ".next, ", loop.end),
           absl::StrCat("body", loop.id), done);
  Label(done);
}

void LlvmText::BranchIf(std::string_view condition, std::string_view yes, std::string_view no) {
  Line("br i1 ", ToAbsl(condition), ", label %", ToAbsl(yes), ", label %", ToAbsl(no));
}

void LlvmText::Label(std::string_view label) { absl::StrAppend(&body_, ToAbsl(label), ":\n"); }

std::string LlvmText::Splat(std::string_view element_type, const std::string& scalar, int lanes) {
  if (lanes == 1) return scalar;
  std::string vector = VectorOf(element_type, lanes);
  std::string one =
      Value("insertelement ", vector, " poison, ", ToAbsl(element_type), " ", scalar, ", i64 0");
  return Value("shufflevector ", vector, " ", one, ", ", vector, " poison, ",
               VectorOf("i32", lanes), " zeroinitializer");
}

std::string LlvmText::Finish(std::string_view head, std::string_view signature,
                             std::string_view result) const {
  return absl::StrCat(ToAbsl(head), ToAbsl(signature), " {\nentry:\n", entry_,
                      "  br label %start\nstart:\n", body_, "  ret ", ToAbsl(result), "\n}\n");
}

}  // namespace jitfuse::internal
