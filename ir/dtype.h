// DType: the element types, and the few facts every layer asks of them.
//
// A dtype is how an element is stored. f16 and bf16 are storage types only: arithmetic on them
// happens in their compute type, f32. Text names are those of the graph text: bool u8 u16 u32 u64
// i8 i16 i32 i64 f16 bf16 f32 f64. Promotion is the Array API lattice; f16 with bf16 gives f32;
// bool promotes to anything (docs/semantics). The numeric values are part of the cache format and
// mirrored by api/tensor.h: append only.
#ifndef JITFUSE_IR_DTYPE_H_
#define JITFUSE_IR_DTYPE_H_

#include <cstdint>
#include <optional>
#include <string_view>

namespace jitfuse::internal {

enum class DType : uint8_t {
  kBool = 0,
  kU8,
  kU16,
  kU32,
  kU64,
  kI8,
  kI16,
  kI32,
  kI64,
  kF16,
  kBF16,
  kF32,
  kF64,
};
inline constexpr int kNumDTypes = 13;

// Sets of dtypes, for the tables' domain columns. Bit i stands for dtype i.
using DTypeSet = uint32_t;
constexpr DTypeSet Bit(DType d) { return 1u << static_cast<int>(d); }
inline constexpr DTypeSet kBools = Bit(DType::kBool);
inline constexpr DTypeSet kUnsigned =
    Bit(DType::kU8) | Bit(DType::kU16) | Bit(DType::kU32) | Bit(DType::kU64);
inline constexpr DTypeSet kSigned =
    Bit(DType::kI8) | Bit(DType::kI16) | Bit(DType::kI32) | Bit(DType::kI64);
inline constexpr DTypeSet kInts = kUnsigned | kSigned;
inline constexpr DTypeSet kFloats =
    Bit(DType::kF16) | Bit(DType::kBF16) | Bit(DType::kF32) | Bit(DType::kF64);
inline constexpr DTypeSet kNumeric = kInts | kFloats;
inline constexpr DTypeSet kAnyDType = kNumeric | kBools;

constexpr bool IsIn(DType d, DTypeSet set) { return (Bit(d) & set) != 0; }
constexpr bool IsFloat(DType d) { return IsIn(d, kFloats); }
constexpr bool IsInt(DType d) { return IsIn(d, kInts); }
constexpr bool IsSigned(DType d) { return IsIn(d, kSigned); }
constexpr bool IsUnsigned(DType d) { return IsIn(d, kUnsigned); }

int ItemSize(DType d);                // bytes of one stored element; bool is 1, no dtype 0
std::string_view DTypeName(DType d);  // "f32"; "invalid" for a number that is no dtype's
std::optional<DType> ParseDType(std::string_view name);
DType ComputeType(DType d);       // f16, bf16 -> f32; any other is its own
DType Promote(DType a, DType b);  // array with array
DType SumType(DType d);           // bool and signed ints -> i64, unsigned -> u64, floats stay

}  // namespace jitfuse::internal

#endif  // JITFUSE_IR_DTYPE_H_
