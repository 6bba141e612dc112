// Access maps: making them from index maps and strides, and what planning and emission ask of them.
//
// In: coordinates over a plan's axes, strides in elements (0, negative and symbolic ones included).
// Out: AccessMaps in a simplified form: constant strides folded, equal terms merged, (e/d)*d + e%d
// recognised as e. All offsets are in elements. The predicates at the end are shared by the
// schedules and both emitters, so that what one calls a vector access the others do too. Must not
// know: schedules, buffers' addresses.
#ifndef JITFUSE_CODEGEN_PLAN_ACCESS_MAP_H_
#define JITFUSE_CODEGEN_PLAN_ACCESS_MAP_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "codegen/plan/kernel_plan.h"

namespace jitfuse::internal {

// ---- Affine helpers.
SizeExpr CoefOf(const Affine& a, int axis);               // 0 if absent
void AddTo(Affine* a, int axis, const SizeExpr& factor);  // keeps the order and drops zeros
void AddScaled(Affine* a, const Affine& b, const SizeExpr& factor);  // a += factor * b
int64_t EvalAffine(const Affine& a, absl::Span<const int64_t> axes,
                   absl::Span<const int64_t> symbols);

// ---- Making.
AccessMap MakeAccess(int param, const IndexMap& coords, absl::Span<const SizeExpr> strides,
                     const IndexSpace& space);
// Merges terms with equal (linear, div, mod), drops zeros, and undoes div and mod that belong
// together. Terms without axes become part of the constant.
void SimplifyTerms(const IndexSpace& space, Affine* linear, std::vector<IndexTerm>* terms);

// ---- Evaluating and bounding.
// Whether all masks hold.
bool MasksHold(const AccessMap& a, absl::Span<const int64_t> axes,
               absl::Span<const int64_t> symbols);
// The last entry of `axes` is the position, for indirect accesses.
int64_t EvalAccess(const AccessMap& a, absl::Span<const int64_t> axes,
                   absl::Span<const int64_t> symbols);
// Least and greatest offset over all axis values where the masks hold (as far as their form shows
// it); nullopt if a size is symbolic. An axis of extent 0 makes the range {0, -1}.
struct Range {
  int64_t lo = 0, hi = 0;
};
std::optional<Range> OffsetRange(const KernelPlan& plan, const AccessMap& a);

// ---- Asking.
bool UsesAxis(const AccessMap& a, int axis);  // in the linear part, a term or a mask
bool MasksUseAxis(const AccessMap& a, int axis);
bool UsesIndirect(const AccessMap& a);  // the offset depends on the position
bool TermsUseAxis(const AccessMap& a, int axis);
// The offset's step along `axis`; nullopt where a div or mod makes it uneven.
std::optional<SizeExpr> StrideAlong(const AccessMap& a, int axis);
// The axis that vectors run along: the last inner axis of a row plan, else (columns too) the last
// parallel one.
int VectorAxis(const KernelPlan& plan);
// Whether `vec` consecutive points along the vector axis, starting at a multiple of vec, are `vec`
// consecutive elements whose first is aligned to vec * item size (as far as that is <= 16) for all
// other axes' values, and all inside or all outside its masks. Says nothing about the tail where
// vec does not divide the extent.
bool IsVectorAccess(const KernelPlan& plan, const AccessMap& a, int vec);
// Whether all points along the vector axis read one element (or none).
bool IsUniformAccess(const KernelPlan& plan, const AccessMap& a);

// Every symbol that sizes and accesses of the plan hold.
std::vector<SymbolId> PlanSymbols(const KernelPlan& plan);

std::string AffineToString(const Affine& a);
// "p0[768*a0 + a1 + 12*((a1 / 64) % 4)] if 0 <= a1 < 64"; the position of an indirect one is "at".
std::string AccessToString(const AccessMap& a);

}  // namespace jitfuse::internal

#endif  // JITFUSE_CODEGEN_PLAN_ACCESS_MAP_H_
