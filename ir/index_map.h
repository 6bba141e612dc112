// Index maps: coordinates of a tensor's element as expressions of the axes of a loop domain.
//
// An IndexExpr is a constant plus a sum of terms; a term is coef * ((linear / div) % mod), where
// linear is an affine combination of axes. A plain axis is the term with div 1 and no mod. Views
// compose: each view's `index` column maps the coordinates of its result to those of its operand.
// DivMod simplifies with the axes' extents (a symbolic extent is fine) and fails (nullopt) only
// when it would have to nest.
// Masks say where a map means anything: at points where one of them fails the element is zero and
// nothing is read (operands of a concatenation or a pad).
// Every term of an IndexExpr has an axis: quotients and remainders of sizes alone are part of the
// constant.
// Invariant: where the masks hold, every coordinate is within the tensor's extent for all axis
// values within theirs, and what stands under a div or mod is >= 0 (coefficients may be negative:
// flips). Symbols are taken to be >= 1: where one is 0 there is no element to index.
// kIndirectAxis stands for a coordinate that is read from memory (a gather's index): it is treated
// as one more axis, of the extent IndexSpace::indirect.
// Must not know: buffers, strides, schedules (AccessMap in codegen/plan adds those).
#ifndef JITFUSE_IR_INDEX_MAP_H_
#define JITFUSE_IR_INDEX_MAP_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "ir/shape.h"

namespace jitfuse::internal {

struct Affine {
  // (axis, factor), sorted by axis, no zero factors.
  absl::InlinedVector<std::pair<int, SizeExpr>, 4> coefs;
  SizeExpr constant;
  friend bool operator==(const Affine&, const Affine&) = default;
};

struct IndexTerm {
  Affine linear;  // constant part is 0 unless div or mod is present
  SizeExpr div{1};
  SizeExpr mod{0};  // 0: none
  SizeExpr coef{1};
  bool IsPlain() const { return div.Is(1) && mod.Is(0); }
  friend bool operator==(const IndexTerm&, const IndexTerm&) = default;
};

struct IndexExpr {
  std::vector<IndexTerm> terms;
  SizeExpr constant;
  friend bool operator==(const IndexExpr&, const IndexExpr&) = default;
};

// Holds where lo <= e < hi.
struct IndexMask {
  IndexExpr e;
  SizeExpr lo, hi;
  friend bool operator==(const IndexMask&, const IndexMask&) = default;
};

struct IndexMap {
  std::vector<IndexExpr> coords;
  std::vector<IndexMask> masks;  // all must hold
  friend bool operator==(const IndexMap&, const IndexMap&) = default;
};

inline constexpr int kIndirectAxis = 1 << 20;

// The domain: extents of the axes that expressions speak of.
struct IndexSpace {
  Shape extents;
  SizeExpr indirect = {};  // extent of kIndirectAxis
  const SizeExpr& extent(int axis) const {
    return axis == kIndirectAxis ? indirect : extents[static_cast<size_t>(axis)];
  }
};

// The value of a term without axes.
SizeExpr ValueWithoutAxes(const IndexTerm& term);
IndexExpr AxisExpr(int axis);
IndexMap IdentityMap(int rank);
IndexExpr Scale(const IndexExpr& e, const SizeExpr& factor);
IndexExpr Sum(const IndexExpr& a, const IndexExpr& b);
// Floor division and remainder by a positive size; mod = 0 means no remainder is taken: (e / div) %
// mod.
std::optional<IndexExpr> DivMod(const IndexExpr& e, const SizeExpr& div, const SizeExpr& mod,
                                const IndexSpace& space);
// Coordinates in a row-major tensor of shape `from` re-expressed for the same element of the
// row-major tensor `to` (equal element counts). Runs of dims with equal products are matched first,
// so that untouched dims stay plain axes.
std::optional<IndexMap> ReshapeCoords(const IndexMap& coords, absl::Span<const Dim> from,
                                      absl::Span<const Dim> to, const IndexSpace& space);
// The largest and the least value e can take, if the normal form shows it.
std::optional<SizeExpr> UpperBound(const IndexExpr& e, const IndexSpace& space);
std::optional<SizeExpr> LowerBound(const IndexExpr& e, const IndexSpace& space);
// What is known of a mask before any axis has a value.
enum class MaskFact : uint8_t { kAlways, kNever, kDepends };
MaskFact FactOf(const IndexMask& mask, const IndexSpace& space);
// Adds the mask unless it always holds or is there already.
void AddMask(IndexMask mask, const IndexSpace& space, IndexMap* map);
// Every axis a replaced by to[a]; the masks of both.
std::optional<IndexMap> Compose(const IndexMap& map, const IndexMap& to, const IndexSpace& space);
std::string IndexExprToString(const IndexExpr& e);
std::string IndexMapToString(const IndexMap& map);
// The coordinates for concrete axis values; symbols[i] is the value of symbol i.
int64_t EvalIndexExpr(const IndexExpr& e, absl::Span<const int64_t> axes,
                      absl::Span<const int64_t> symbols);
std::vector<int64_t> EvalIndexMap(const IndexMap& map, absl::Span<const int64_t> axes,
                                  absl::Span<const int64_t> symbols);

}  // namespace jitfuse::internal

#endif  // JITFUSE_IR_INDEX_MAP_H_
