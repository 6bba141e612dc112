// LlvmText: writes the body of one LLVM IR function as text: SSA names, blocks, counted loops,
// folded i64 arithmetic, typed constants.
//
// In: statements without their "%name = ". Out: the function's blocks, the entry block first;
// whatever Entry and Alloca are given goes there, wherever the writer is. Every block ends with a
// branch; a loop's counter is a phi; loops whose bounds are constants that allow no iteration are
// still legal text. I64 is an i64 operand that remembers whether it is a constant, so that
// addresses of static shapes are folded here and not by LLVM. Must not know: plans.
#ifndef JITFUSE_CPU_BACKEND_LLVM_TEXT_H_
#define JITFUSE_CPU_BACKEND_LLVM_TEXT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "ir/dtype.h"

namespace jitfuse::internal {

struct I64 {
  std::string text = "0";
  std::optional<int64_t> constant = 0;
  I64() = default;
  I64(int64_t v) : text(absl::StrCat(v)), constant(v) {}  // NOLINT: implicit on purpose
  static I64 Named(std::string name) {
    I64 v;
    v.text = std::move(name);
    v.constant.reset();
    return v;
  }
  bool Is(int64_t v) const { return constant == v; }
};

// Types. A register of f16 or bf16 is a float, of bool an i1; in memory they are i16 and i8.
std::string VectorOf(std::string_view element, int lanes);  // "float" for 1 lane
std::string RegisterType(DType dtype, int lanes);
std::string MemoryType(DType dtype, int lanes);
std::string OverloadSuffix(DType dtype, int lanes);  // of the register: "v16f32", "f32"
std::string MemorySuffix(DType dtype, int lanes);    // of the memory type: "v16i16"
// Constants, the same in all lanes. Bits are those of a ScalarValue.
std::string ConstantOf(DType dtype, uint64_t bits, int lanes);
std::string FloatConstant(DType dtype, double v, int lanes);  // f32 or f64
std::string IntConstant(std::string_view element, int64_t v, int lanes);
std::string Iota(std::string_view element, int lanes);  // <0, 1, ..>

class LlvmText {
 public:
  // "%v7 = <parts>", returns "%v7".
  template <typename... Parts>
  std::string Value(const Parts&... parts) {
    std::string name = absl::StrCat("%v", next_++);
    absl::StrAppend(&body_, "  ", name, " = ", parts..., "\n");
    return name;
  }
  template <typename... Parts>
  void Line(const Parts&... parts) {
    absl::StrAppend(&body_, "  ", parts..., "\n");
  }
  template <typename... Parts>
  std::string Entry(const Parts&... parts) {
    std::string name = absl::StrCat("%e", next_++);
    absl::StrAppend(&entry_, "  ", name, " = ", parts..., "\n");
    return name;
  }
  template <typename... Parts>
  void EntryLine(const Parts&... parts) {
    absl::StrAppend(&entry_, "  ", parts..., "\n");
  }
  std::string Alloca(std::string_view type, int align);

  I64 Add(const I64& a, const I64& b);
  I64 Sub(const I64& a, const I64& b);
  I64 Mul(const I64& a, const I64& b);
  I64 UDiv(const I64& a, const I64& b);
  I64 URem(const I64& a, const I64& b);
  I64 UMin(const I64& a, const I64& b);
  I64 RoundDown(const I64& a, int64_t power_of_two);

  // for (index = begin; index < end; index += step), signed; tested at the bottom, behind a guard.
  struct Loop {
    I64 index;
    int id = 0;
    std::string end, step;
  };
  Loop BeginLoop(const I64& begin, const I64& end, int64_t step, std::string_view what);
  void EndLoop(const Loop& loop);
  // while-loops and joins by hand
  std::string NewLabel(std::string_view stem) { return absl::StrCat(std::string(stem), next_++); }
  void Branch(std::string_view label) {
    absl::StrAppend(&body_, "  br label %", std::string(label), "\n");
  }
  void BranchIf(std::string_view condition, std::string_view yes, std::string_view no);
  void Label(std::string_view label);

  std::string Splat(std::string_view element_type, const std::string& scalar,
                    int lanes);  // lanes 1: the scalar
  std::string Finish(std::string_view head, std::string_view signature,
                     std::string_view result = "void") const;

 private:
  std::string entry_, body_;
  int next_ = 0;
};

}  // namespace jitfuse::internal

#endif  // JITFUSE_CPU_BACKEND_LLVM_TEXT_H_
