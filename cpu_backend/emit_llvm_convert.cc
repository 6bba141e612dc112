// Conversions between dtypes, by the Convert rules: every one spelt out in instructions that exist
// at the target's level, so that none becomes a library call (fptrunc to half or bfloat does on
// most CPUs, and vcvtneps2bf16 flushes subnormals), and none is scalarised (llvm.fptosi.sat is).
#include <cmath>

#include "absl/strings/str_cat.h"
#include "cpu_backend/emit_llvm_internal.h"

namespace jitfuse::internal {
namespace {

int Bits(DType dtype) { return ItemSize(dtype) * 8; }

bool Is16Bit(DType dtype) { return dtype == DType::kF16 || dtype == DType::kBF16; }

}  // namespace

// From a register of `from` to one of `to`; a 16-bit float result is an f32 register on its grid.
std::string LlvmEmitter::Convert(DType from, DType to, const std::string& value, int lanes) {
  if (from == to) return value;
  if (Is16Bit(to)) {
    std::string f32 = value;  // an f32 whose rounding to `to` is the exact value's
    if (from == DType::kF64) {
      f32 = F32ToOdd(value, lanes);
    } else if (!IsFloat(from)) {
      f32 = F32ForRound16(from, to, value, lanes);
    }
    return Round16(to, f32, lanes);
  }
  if (Is16Bit(from)) return Convert(DType::kF32, to, value, lanes);
  std::string source = RegisterType(from, lanes), target = RegisterType(to, lanes);
  auto cast = [&](const char* op) {
    return text_.Value(op, " ", source, " ", value, " to ", target);
  };
  if (to == DType::kBool) {
    std::string zero = ConstantOf(from, 0, lanes);
    return text_.Value(IsFloat(from) ? "fcmp une " : "icmp ne ", source, " ", value, ", ", zero);
  }
  if (IsFloat(to)) {
    if (IsFloat(from)) return cast(to == DType::kF64 ? "fpext" : "fptrunc");
    return cast(IsSigned(from) ? "sitofp" : "uitofp");
  }
  if (IsFloat(from)) return FloatToInt(from, to, value, lanes);
  if (from == DType::kBool) return cast("zext");
  if (Bits(to) == Bits(from)) return value;
  return cast(Bits(to) < Bits(from) ? "trunc" : IsSigned(from) ? "sext" : "zext");
}

// An integer as an f32 that rounds to f16 or bf16 as the integer itself does.
std::string LlvmEmitter::F32ForRound16(DType from, DType to, const std::string& value, int lanes) {
  if (from == DType::kBool || Bits(from) <= 16)
    return Convert(from, DType::kF32, value, lanes);  // exact
  if (to == DType::kF16) {  // beyond 2^17 all is infinity, below it all is exact
    std::string type = RegisterType(from, lanes), suffix = OverloadSuffix(from, lanes);
    std::string_view element = Bits(from) == 64 ? "i64" : "i32";
    std::string clamped =
        text_.Value("call ", type, IsSigned(from) ? " @llvm.smin." : " @llvm.umin.", suffix, "(",
                    type, " ", value, ", ", type, " ", IntConstant(element, 131072, lanes), ")");
    if (IsSigned(from)) {
      clamped = text_.Value("call ", type, " @llvm.smax.", suffix, "(", type, " ", clamped, ", ",
                            type, " ", IntConstant(element, -131072, lanes), ")");
    }
    return Convert(from, DType::kF32, clamped, lanes);
  }
  if (Bits(from) == 32) return F32ToOdd(Convert(from, DType::kF64, value, lanes), lanes);
  return F32ToOdd(F64ToOdd(from, value, lanes), lanes);
}

// A 64-bit integer as an f64 that keeps 53 bits and a sticky last one. The shift by 11 is taken
// where 53 bits do not hold the value.
std::string LlvmEmitter::F64ToOdd(DType from, const std::string& value, int lanes) {
  std::string type = RegisterType(from, lanes), flags = RegisterType(DType::kBool, lanes);
  auto constant = [&](int64_t v) { return IntConstant("i64", v, lanes); };
  // |value| < 2^53 <=> value + 2^53 < 2^54 (unsigned), for signed; value < 2^53 for unsigned.
  std::string biased = IsSigned(from)
                           ? text_.Value("add ", type, " ", value, ", ", constant(int64_t{1} << 53))
                           : value;
  std::string fits = text_.Value("icmp ult ", type, " ", biased, ", ",
                                 constant(int64_t{1} << (IsSigned(from) ? 54 : 53)));
  std::string dropped = text_.Value("and ", type, " ", value, ", ", constant(2047));
  std::string any =
      text_.Value("icmp ne ", type, " ", dropped, ", ", ConstantOf(DType::kI64, 0, lanes));
  std::string cleared = text_.Value("and ", type, " ", value, ", ", constant(-2048));
  std::string odd = text_.Value("or ", type, " ", cleared, ", ", constant(2048));
  std::string sticky =
      text_.Value("select ", flags, " ", any, ", ", type, " ", odd, ", ", type, " ", cleared);
  std::string exact =
      text_.Value("select ", flags, " ", fits, ", ", type, " ", value, ", ", type, " ", sticky);
  return Convert(from, DType::kF64, exact, lanes);
}

// f64 -> f32, rounded to odd: truncated, and the last bit set if anything was lost. Rounding that
// to 16 bits is then a single rounding.
std::string LlvmEmitter::F32ToOdd(const std::string& value, int lanes) {
  std::string f64 = RegisterType(DType::kF64, lanes), f32 = RegisterType(DType::kF32, lanes),
              i32 = RegisterType(DType::kI32, lanes);
  std::string flags = RegisterType(DType::kBool, lanes);
  std::string nearest = text_.Value("fptrunc ", f64, " ", value, " to ", f32);
  std::string back = text_.Value("fpext ", f32, " ", nearest, " to ", f64);
  std::string inexact = text_.Value("fcmp one ", f64, " ", back, ", ", value);  // false for NaN
  std::string suffix = OverloadSuffix(DType::kF64, lanes);
  std::string abs_back =
      text_.Value("call ", f64, " @llvm.fabs.", suffix, "(", f64, " ", back, ")");
  std::string abs_value =
      text_.Value("call ", f64, " @llvm.fabs.", suffix, "(", f64, " ", value, ")");
  std::string above = text_.Value("fcmp ogt ", f64, " ", abs_back, ", ", abs_value);
  std::string bits = text_.Value("bitcast ", f32, " ", nearest, " to ", i32);
  std::string down = text_.Value("sext ", flags, " ", above, " to ", i32);
  std::string truncated = text_.Value("add ", i32, " ", bits, ", ", down);
  std::string sticky = text_.Value("zext ", flags, " ", inexact, " to ", i32);
  std::string odd = text_.Value("or ", i32, " ", truncated, ", ", sticky);
  return text_.Value("bitcast ", i32, " ", odd, " to ", f32);
}

// Truncates, saturates, NaN gives 0. Out-of-range lanes are replaced before fptosi, whose result
// for them would be poison.
std::string LlvmEmitter::FloatToInt(DType from, DType to, const std::string& value, int lanes) {
  DType wide =
      Bits(to) >= 32
          ? to
          : DType::kI32;  // narrow integers go through i32: vector conversions exist for that
  std::string source = RegisterType(from, lanes), flags = RegisterType(DType::kBool, lanes),
              target = RegisterType(wide, lanes);
  int value_bits = Bits(to) - (IsSigned(to) ? 1 : 0);
  double low = IsSigned(to) ? -std::ldexp(1.0, value_bits) : 0.0;
  std::string low_text = FloatConstant(from, low, lanes);
  auto select = [&](const std::string& condition, const std::string& type, const std::string& yes,
                    const std::string& no) {
    return text_.Value("select ", flags, " ", condition, ", ", type, " ", yes, ", ", type, " ", no);
  };
  std::string ordered = text_.Value("fcmp ord ", source, " ", value, ", ", value);
  std::string number = select(ordered, source, value, FloatConstant(from, 0, lanes));
  std::string below = text_.Value("fcmp olt ", source, " ", number, ", ", low_text);
  std::string raised = select(below, source, low_text, number);
  std::string above = text_.Value("fcmp oge ", source, " ", raised, ", ",
                                  FloatConstant(from, std::ldexp(1.0, value_bits), lanes));
  std::string safe = select(above, source, FloatConstant(from, 0, lanes), raised);
  std::string converted =
      text_.Value(IsSigned(wide) ? "fptosi " : "fptoui ", source, " ", safe, " to ", target);
  int64_t highest = value_bits == 64 ? -1 : static_cast<int64_t>((uint64_t{1} << value_bits) - 1);
  std::string_view element = Bits(wide) == 64 ? "i64" : "i32";
  std::string result = select(above, target, IntConstant(element, highest, lanes), converted);
  if (wide == to) return result;
  return text_.Value("trunc ", target, " ", result, " to ", RegisterType(to, lanes));
}

// An f32 register rounded to nearest even on the grid of f16 or bf16.
std::string LlvmEmitter::Round16(DType to, const std::string& value, int lanes) {
  std::string f32 = RegisterType(DType::kF32, lanes), i32 = RegisterType(DType::kI32, lanes);
  if (to == DType::kF16) {
    if (!cpu_.f16c) return F32FromF16Bits(F16BitsFromF32(value, lanes), lanes);
    std::string half = text_.Value("fptrunc ", f32, " ", value, " to ", VectorOf("half", lanes));
    return text_.Value("fpext ", VectorOf("half", lanes), " ", half, " to ", f32);
  }
  auto constant = [&](int64_t v) { return IntConstant("i32", v, lanes); };
  std::string bits = text_.Value("bitcast ", f32, " ", value, " to ", i32);
  std::string shifted = text_.Value("lshr ", i32, " ", bits, ", ", constant(16));
  std::string odd = text_.Value("and ", i32, " ", shifted, ", ", constant(1));
  std::string bias = text_.Value("add ", i32, " ", odd, ", ", constant(0x7fff));
  std::string rounded = text_.Value("add ", i32, " ", bits, ", ", bias);
  std::string quiet = text_.Value("or ", i32, " ", bits, ", ", constant(0x400000));
  std::string nan = text_.Value("fcmp uno ", f32, " ", value, ", ", value);
  std::string chosen = text_.Value("select ", RegisterType(DType::kBool, lanes), " ", nan, ", ",
                                   i32, " ", quiet, ", ", i32, " ", rounded);
  std::string cleared = text_.Value("and ", i32, " ", chosen, ", ", constant(-65536));
  return text_.Value("bitcast ", i32, " ", cleared, " to ", f32);
}

std::string LlvmEmitter::Decode(DType dtype, const std::string& memory, int lanes) {
  std::string type = MemoryType(dtype, lanes);
  if (dtype == DType::kBool)
    return text_.Value("icmp ne ", type, " ", memory, ", ", ConstantOf(DType::kU8, 0, lanes));
  if (dtype == DType::kF16) {
    if (!cpu_.f16c)
      return F32FromF16Bits(
          text_.Value("zext ", type, " ", memory, " to ", RegisterType(DType::kI32, lanes)), lanes);
    std::string half = text_.Value("bitcast ", type, " ", memory, " to ", VectorOf("half", lanes));
    return text_.Value("fpext ", VectorOf("half", lanes), " ", half, " to ",
                       RegisterType(DType::kF32, lanes));
  }
  if (dtype == DType::kBF16) {
    std::string i32 = RegisterType(DType::kI32, lanes);
    std::string wide = text_.Value("zext ", type, " ", memory, " to ", i32);
    std::string bits = text_.Value("shl ", i32, " ", wide, ", ", IntConstant("i32", 16, lanes));
    return text_.Value("bitcast ", i32, " ", bits, " to ", RegisterType(DType::kF32, lanes));
  }
  return memory;
}

std::string LlvmEmitter::Encode(DType from, DType to, const std::string& value, int lanes) {
  std::string memory = MemoryType(to, lanes), f32 = RegisterType(DType::kF32, lanes),
              i32 = RegisterType(DType::kI32, lanes);
  if (to == DType::kF16 && cpu_.f16c) {
    std::string ready = from == to || from == DType::kBF16 || from == DType::kF32
                            ? value
                            : Convert(from, to, value, lanes);
    std::string half = text_.Value("fptrunc ", f32, " ", ready, " to ", VectorOf("half", lanes));
    return text_.Value("bitcast ", VectorOf("half", lanes), " ", half, " to ", memory);
  }
  std::string converted = Convert(from, to, value, lanes);
  if (to == DType::kBool)
    return text_.Value("zext ", RegisterType(DType::kBool, lanes), " ", converted, " to ", memory);
  if (to == DType::kF16)
    return text_.Value("trunc ", i32, " ", F16BitsFromF32(converted, lanes), " to ", memory);
  if (to == DType::kBF16) {
    std::string bits = text_.Value("bitcast ", f32, " ", converted, " to ", i32);
    std::string high = text_.Value("lshr ", i32, " ", bits, ", ", IntConstant("i32", 16, lanes));
    return text_.Value("trunc ", i32, " ", high, " to ", memory);
  }
  return converted;
}

// f16 bits (zero-extended to i32) -> f32, with integers and one exact multiplication, for CPUs
// without F16C.
std::string LlvmEmitter::F32FromF16Bits(const std::string& bits, int lanes) {
  std::string f32 = RegisterType(DType::kF32, lanes), i32 = RegisterType(DType::kI32, lanes),
              flags = RegisterType(DType::kBool, lanes);
  auto constant = [&](int64_t v) { return IntConstant("i32", v, lanes); };
  std::string magnitude = text_.Value("and ", i32, " ", bits, ", ", constant(0x7fff));
  std::string placed = text_.Value("shl ", i32, " ", magnitude, ", ", constant(13));
  std::string small = text_.Value("bitcast ", i32, " ", placed, " to ", f32);
  std::string scaled =
      text_.Value("fmul ", f32, " ", small, ", ",
                  FloatConstant(DType::kF32, 0x1p112, lanes));  // also makes subnormals normal
  std::string finite = text_.Value("bitcast ", f32, " ", scaled, " to ", i32);
  std::string special = text_.Value("icmp uge ", i32, " ", magnitude, ", ", constant(0x7c00));
  std::string nan = text_.Value("icmp ugt ", i32, " ", magnitude, ", ", constant(0x7c00));
  std::string quiet = text_.Value("select ", flags, " ", nan, ", ", i32, " ", constant(0x7fc00000),
                                  ", ", i32, " ", constant(0x7f800000));
  std::string special_bits = text_.Value("or ", i32, " ", placed, ", ", quiet);
  std::string chosen = text_.Value("select ", flags, " ", special, ", ", i32, " ", special_bits,
                                   ", ", i32, " ", finite);
  std::string sign = text_.Value("and ", i32, " ", bits, ", ", constant(0x8000));
  std::string sign_bit = text_.Value("shl ", i32, " ", sign, ", ", constant(16));
  std::string whole = text_.Value("or ", i32, " ", chosen, ", ", sign_bit);
  return text_.Value("bitcast ", i32, " ", whole, " to ", f32);
}

// f32 -> f16 bits in an i32, to nearest even, for CPUs without F16C. Subnormal results are rounded
// by adding 0.5, whose ulp is theirs.
std::string LlvmEmitter::F16BitsFromF32(const std::string& value, int lanes) {
  std::string f32 = RegisterType(DType::kF32, lanes), i32 = RegisterType(DType::kI32, lanes),
              flags = RegisterType(DType::kBool, lanes);
  auto constant = [&](int64_t v) { return IntConstant("i32", v, lanes); };
  auto select = [&](const std::string& condition, const std::string& yes, const std::string& no) {
    return text_.Value("select ", flags, " ", condition, ", ", i32, " ", yes, ", ", i32, " ", no);
  };
  std::string bits = text_.Value("bitcast ", f32, " ", value, " to ", i32);
  std::string magnitude = text_.Value("and ", i32, " ", bits, ", ", constant(0x7fffffff));
  std::string low = text_.Value("lshr ", i32, " ", magnitude, ", ", constant(13));
  std::string odd = text_.Value("and ", i32, " ", low, ", ", constant(1));
  std::string rebased = text_.Value(
      "add ", i32, " ", magnitude, ", ",
      constant(static_cast<int32_t>(0xc8000fffu)));  // exponent - 112, half an ulp less 1
  std::string rounded = text_.Value("add ", i32, " ", rebased, ", ", odd);
  std::string normal = text_.Value("lshr ", i32, " ", rounded, ", ", constant(13));
  std::string positive = text_.Value("bitcast ", i32, " ", magnitude, " to ", f32);
  std::string aligned =
      text_.Value("fadd ", f32, " ", positive, ", ", FloatConstant(DType::kF32, 0.5, lanes));
  std::string aligned_bits = text_.Value("bitcast ", f32, " ", aligned, " to ", i32);
  std::string subnormal = text_.Value("sub ", i32, " ", aligned_bits, ", ", constant(0x3f000000));
  std::string is_subnormal =
      text_.Value("icmp ult ", i32, " ", magnitude, ", ", constant(0x38800000));
  std::string is_large = text_.Value("icmp uge ", i32, " ", magnitude, ", ", constant(0x47800000));
  std::string is_nan = text_.Value("icmp ugt ", i32, " ", magnitude, ", ", constant(0x7f800000));
  std::string finite = select(is_subnormal, subnormal, normal);
  std::string special = select(is_nan, constant(0x7e00), constant(0x7c00));
  std::string chosen = select(is_large, special, finite);
  std::string sign = text_.Value("lshr ", i32, " ", bits, ", ", constant(16));
  std::string sign_bit = text_.Value("and ", i32, " ", sign, ", ", constant(0x8000));
  return text_.Value("or ", i32, " ", chosen, ", ", sign_bit);
}

}  // namespace jitfuse::internal
