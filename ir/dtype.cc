#include "ir/dtype.h"

#include <algorithm>
#include <array>

#include "ir/support/check.h"

namespace jitfuse::internal {
namespace {

struct Facts {
  std::string_view name;
  int size;
};

constexpr std::array<Facts, kNumDTypes> kFacts = {{{"bool", 1},
                                                   {"u8", 1},
                                                   {"u16", 2},
                                                   {"u32", 4},
                                                   {"u64", 8},
                                                   {"i8", 1},
                                                   {"i16", 2},
                                                   {"i32", 4},
                                                   {"i64", 8},
                                                   {"f16", 2},
                                                   {"bf16", 2},
                                                   {"f32", 4},
                                                   {"f64", 8}}};

const Facts& FactsOf(DType d) {
  static constexpr Facts kInvalid = {"invalid", 0};
  const auto i = static_cast<size_t>(d);
  return i < kFacts.size() ? kFacts[i] : kInvalid;
}

DType SignedOfSize(int size) {
  switch (size) {
    case 1:
      return DType::kI8;
    case 2:
      return DType::kI16;
    case 4:
      return DType::kI32;
    default:
      return DType::kI64;
  }
}

DType PromoteInts(DType a, DType b) {
  if (IsSigned(a) == IsSigned(b)) return ItemSize(a) >= ItemSize(b) ? a : b;
  DType s = IsSigned(a) ? a : b;
  DType u = IsSigned(a) ? b : a;
  if (ItemSize(s) > ItemSize(u)) return s;
  // u64 with a signed type has no common integer in the lattice; NumPy's and PyTorch's way out is
  // f64 resp. an error.
  return ItemSize(u) == 8 ? DType::kF64 : SignedOfSize(2 * ItemSize(u));
}

}  // namespace

int ItemSize(DType d) { return FactsOf(d).size; }

std::string_view DTypeName(DType d) { return FactsOf(d).name; }

std::optional<DType> ParseDType(std::string_view name) {
  for (int i = 0; i < kNumDTypes; ++i) {
    if (kFacts[static_cast<size_t>(i)].name == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

DType ComputeType(DType d) { return d == DType::kF16 || d == DType::kBF16 ? DType::kF32 : d; }

DType Promote(DType a, DType b) {
  if (a == b || b == DType::kBool) return a;
  if (a == DType::kBool) return b;
  if (IsFloat(a) != IsFloat(b)) return IsFloat(a) ? a : b;
  if (!IsFloat(a)) return PromoteInts(a, b);
  if (ItemSize(a) == ItemSize(b)) return DType::kF32;  // f16 with bf16
  return ItemSize(a) > ItemSize(b) ? a : b;
}

DType SumType(DType d) {
  if (IsFloat(d)) return d;
  return IsUnsigned(d) ? DType::kU64 : DType::kI64;
}

}  // namespace jitfuse::internal
