// SizeExpr, Dim and Shape: sizes that may hold symbols, from the first day.
//
// A SizeExpr is an integer polynomial over symbols and over opaque atoms ceildiv(a,b),
// floordiv(a,b), max(a,b), min(a,b), in a normal form, so that equal() means equal for every value
// of the symbols wherever the normal form shows it (n*768 equals 768*n; sums and products are
// expanded). A Dim is a SizeExpr used as a tensor extent. Constants cost no allocation. Symbols are
// small integers that belong to one graph; their names live in its SymbolTable. Everything that
// depends on a size (grids, scratch, strides, output dims) is a SizeExpr evaluated when a call
// binds. Values are assumed to be >= 0 and to fit int64; Eval does not check for overflow,
// CheckedNumElements does. Must not know: tensors, graphs.
#ifndef JITFUSE_IR_SHAPE_H_
#define JITFUSE_IR_SHAPE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"

namespace jitfuse::internal {

using SymbolId = int32_t;

class SizeExpr {
 public:
  enum class AtomKind : uint8_t { kSymbol, kCeilDiv, kFloorDiv, kMax, kMin };

  SizeExpr() = default;  // 0
  // Implicit on purpose: dims are written as numbers.
  SizeExpr(int64_t constant) : constant_(constant) {}  // NOLINT(google-explicit-constructor)
  static SizeExpr Symbol(SymbolId id);

  bool IsConstant() const { return poly_ == nullptr; }
  bool Is(int64_t v) const { return IsConstant() && constant_ == v; }
  int64_t constant() const;                  // only if IsConstant()
  std::optional<SymbolId> AsSymbol() const;  // set if this is exactly one symbol

  // `symbols[i]` is the value of symbol i.
  int64_t Eval(absl::Span<const int64_t> symbols) const;
  // As Eval, for numbers from outside: nullopt where a product or sum does not fit 64 bits.
  std::optional<int64_t> CheckedEval(absl::Span<const int64_t> symbols) const;
  // Every symbol s replaced by to(s).
  SizeExpr Substitute(const std::function<SizeExpr(SymbolId)>& to) const;
  void CollectSymbols(
      std::vector<SymbolId>* out) const;  // appended, in order of first appearance, no duplicates
  // this / divisor where that is exact in the normal form (each coefficient and monomial divides),
  // else nullopt.
  std::optional<SizeExpr> DivExact(const SizeExpr& divisor) const;
  // This less multiples of `zero`, which is known to be 0: no term is left that its leading term
  // divides (or the work is given up).
  SizeExpr Reduce(const SizeExpr& zero) const;
  // The largest constant known to divide every value (0 for the constant 0).
  int64_t KnownDivisor() const;

  // Whether the normal form shows that this is >= 0 whenever every symbol is >= 1.
  bool IsKnownNonNegative() const;

  // "n*768+4"; a symbol without a name prints as s<id>. Names may be empty.
  std::string ToString(absl::Span<const std::string> names = {}) const;
  // As a C expression over identifiers given by name(symbol), with the helper functions jf_ceildiv,
  // jf_floordiv, jf_max and jf_min.
  std::string ToC(const std::function<std::string(SymbolId)>& name) const;

  friend bool operator==(const SizeExpr& a, const SizeExpr& b);
  friend SizeExpr operator+(const SizeExpr& a, const SizeExpr& b);
  friend SizeExpr operator-(const SizeExpr& a, const SizeExpr& b);
  friend SizeExpr operator*(const SizeExpr& a, const SizeExpr& b);
  friend SizeExpr CeilDiv(const SizeExpr& a, const SizeExpr& b);
  friend SizeExpr FloorDiv(const SizeExpr& a, const SizeExpr& b);
  friend SizeExpr Max(const SizeExpr& a, const SizeExpr& b);
  friend SizeExpr Min(const SizeExpr& a, const SizeExpr& b);

  struct Poly;

 private:
  static SizeExpr FromPoly(Poly poly);
  static SizeExpr Binary(AtomKind kind, const SizeExpr& a, const SizeExpr& b);
  Poly ToPoly() const;
  int64_t constant_ = 0;  // the value if poly_ is null
  std::shared_ptr<const Poly> poly_;
};

using Dim = SizeExpr;
using Shape = absl::InlinedVector<Dim, 4>;
inline constexpr int kMaxRank = 8;

// Names of a graph's symbols. Lookup is linear: graphs have a handful.
struct SymbolTable {
  std::vector<std::string> names;
  std::optional<SymbolId> Find(std::string_view name) const;
  SymbolId FindOrAdd(std::string_view name);
};

SizeExpr NumElements(absl::Span<const Dim> dims);
Shape ContiguousStrides(absl::Span<const Dim> dims);  // in elements, row-major
bool IsStatic(absl::Span<const Dim> dims);
std::string ShapeToString(absl::Span<const Dim> dims,
                          absl::Span<const std::string> names = {});  // "[n,768]"
std::vector<int64_t> EvalDims(absl::Span<const Dim> dims, absl::Span<const int64_t> symbols);
// Product of concrete extents; nullopt if it overflows int64.
std::optional<int64_t> CheckedNumElements(absl::Span<const int64_t> dims);
std::vector<int64_t> ContiguousStrides(absl::Span<const int64_t> dims);

}  // namespace jitfuse::internal

#endif  // JITFUSE_IR_SHAPE_H_
