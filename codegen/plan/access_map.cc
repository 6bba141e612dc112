#include "codegen/plan/access_map.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace jitfuse::internal {
namespace {

bool AffineUses(const Affine& a, int axis) {
  return std::any_of(a.coefs.begin(), a.coefs.end(),
                     [axis](const auto& c) { return c.first == axis; });
}

// coefs * axes + constant over the axes' full ranges.
std::optional<Range> AffineRange(const KernelPlan& plan, const Affine& a,
                                 const SizeExpr& indirect) {
  if (!a.constant.IsConstant()) return std::nullopt;
  Range r{a.constant.constant(), a.constant.constant()};
  for (const auto& [axis, coef] : a.coefs) {
    const SizeExpr& extent = axis == kIndirectAxis ? indirect : plan.extent(axis);
    if (!coef.IsConstant() || !extent.IsConstant()) return std::nullopt;
    int64_t end = 0;
    if (__builtin_mul_overflow(coef.constant(), extent.constant() - 1, &end)) return std::nullopt;
    if (__builtin_add_overflow(end < 0 ? r.lo : r.hi, end, end < 0 ? &r.lo : &r.hi))
      return std::nullopt;
  }
  return r;
}

std::optional<Range> TermRange(const KernelPlan& plan, const IndexTerm& t,
                               const SizeExpr& indirect) {
  std::optional<Range> r = AffineRange(plan, t.linear, indirect);
  if (!r || !t.div.IsConstant() || !t.mod.IsConstant() || !t.coef.IsConstant()) return std::nullopt;
  int64_t lo = r->lo / t.div.constant(), hi = r->hi / t.div.constant();
  if (int64_t mod = t.mod.constant(); mod != 0 && hi >= mod) {
    lo = lo < 0 ? 1 - mod : 0;
    hi = mod - 1;
  }
  int64_t x = lo * t.coef.constant(), y = hi * t.coef.constant();
  return Range{std::min(x, y), std::max(x, y)};
}

// Whether 0 <= a < limit everywhere.
bool IsBelow(const Affine& a, const SizeExpr& limit, const IndexSpace& space) {
  SizeExpr least = a.constant, most = a.constant;
  for (const auto& [axis, coef] : a.coefs) {
    SizeExpr end = coef * (space.extent(axis) - SizeExpr(1));
    bool backwards = (SizeExpr(0) - coef).IsKnownNonNegative();
    if (!backwards && !coef.IsKnownNonNegative()) return false;
    SizeExpr& moved = backwards ? least : most;
    moved = moved + end;
  }
  SizeExpr room = limit - most;
  return least.IsKnownNonNegative() && room.IsConstant() && room.constant() >= 1;
}

// A quotient and the remainder that goes with it: outer = B*m * (L1 / D1 [% n]), inner = B * (L2 /
// d % m), where both speak of one linear value L: L / (d*m) was simplified to L1 / D1 by a factor g
// (L = L1*g + r, 0 <= r < g), and L2 is L up to multiples of d*m. Together they are B * (L / d [%
// n*m]).
bool Rejoin(IndexTerm* outer, const IndexTerm& inner, const IndexSpace& space) {
  SizeExpr period = inner.div * inner.mod;
  if (inner.mod.Is(0) || !(outer->coef == inner.coef * inner.mod)) return false;
  std::optional<SizeExpr> g = period.DivExact(outer->div);
  if (!g) return false;
  Affine whole;
  AddScaled(&whole, outer->linear, *g);
  Affine difference = inner.linear, rest;
  AddScaled(&difference, whole, -1);
  for (const auto& [axis, coef] : difference.coefs) {
    if (!coef.DivExact(period)) AddTo(&rest, axis, coef);
  }
  if (!difference.constant.DivExact(period)) rest.constant = difference.constant;
  if (!IsBelow(rest, *g, space)) return false;
  AddScaled(&whole, rest, 1);
  *outer = {std::move(whole), inner.div, outer->mod * inner.mod, inner.coef};
  return true;
}

bool SameShapeOfTerm(const IndexTerm& a, const IndexTerm& b) {
  return a.div == b.div && a.mod == b.mod && a.linear == b.linear;
}

// One merge of two terms, if any is possible.
bool MergeOnce(const IndexSpace& space, std::vector<IndexTerm>* terms) {
  for (size_t i = 0; i < terms->size(); ++i) {
    for (size_t j = 0; j < terms->size(); ++j) {
      if (i == j) continue;
      IndexTerm& a = (*terms)[i];
      const IndexTerm& b = (*terms)[j];
      bool merged = false;
      if (i < j && SameShapeOfTerm(a, b)) {
        a.coef = a.coef + b.coef;
        merged = true;
      } else if (Rejoin(&a, b, space)) {
        merged = true;
      }
      if (merged) {
        terms->erase(terms->begin() + static_cast<std::ptrdiff_t>(j));
        return true;
      }
    }
  }
  return false;
}

int64_t ItemAlign(const Param& p, int vec) {
  return std::min<int64_t>(16, static_cast<int64_t>(vec) * ItemSize(p.dtype));
}

std::string Scaled(const SizeExpr& factor, const std::string& what) {
  if (factor.Is(1)) return what;
  std::string f = factor.ToString();
  return absl::StrCat(factor.IsConstant() ? f : absl::StrCat("(", f, ")"), "*", what);
}

}  // namespace

SizeExpr CoefOf(const Affine& a, int axis) {
  for (const auto& [ax, coef] : a.coefs) {
    if (ax == axis) return coef;
  }
  return 0;
}

void AddTo(Affine* a, int axis, const SizeExpr& factor) {
  auto it = std::find_if(a->coefs.begin(), a->coefs.end(),
                         [axis](const auto& c) { return c.first >= axis; });
  if (it == a->coefs.end() || it->first != axis) {
    if (!factor.Is(0)) a->coefs.insert(it, {axis, factor});
    return;
  }
  it->second = it->second + factor;
  if (it->second.Is(0)) a->coefs.erase(it);
}

void AddScaled(Affine* a, const Affine& b, const SizeExpr& factor) {
  for (const auto& [axis, coef] : b.coefs) AddTo(a, axis, coef * factor);
  a->constant = a->constant + b.constant * factor;
}

int64_t EvalAffine(const Affine& a, absl::Span<const int64_t> axes,
                   absl::Span<const int64_t> symbols) {
  int64_t v = a.constant.Eval(symbols);
  for (const auto& [axis, coef] : a.coefs) {
    v += coef.Eval(symbols) *
         (axis == kIndirectAxis ? axes.back() : axes[static_cast<size_t>(axis)]);
  }
  return v;
}

void SimplifyTerms(const IndexSpace& space, Affine* linear, std::vector<IndexTerm>* terms) {
  while (MergeOnce(space, terms)) {
  }
  for (const IndexTerm& t : *terms) {
    if (t.linear.coefs.empty()) {
      linear->constant = linear->constant + ValueWithoutAxes(t);
    } else if (t.IsPlain()) {
      AddScaled(linear, t.linear, t.coef);
    }
  }
  std::erase_if(*terms, [](const IndexTerm& t) {
    return t.linear.coefs.empty() || t.IsPlain() || t.coef.Is(0);
  });
}

namespace {

void AddExpr(const IndexExpr& e, const SizeExpr& factor, Affine* linear,
             std::vector<IndexTerm>* terms) {
  linear->constant = linear->constant + e.constant * factor;
  for (const IndexTerm& t : e.terms) {
    IndexTerm scaled = t;
    scaled.coef = t.coef * factor;
    terms->push_back(std::move(scaled));
  }
}

}  // namespace

AccessMap MakeAccess(int param, const IndexMap& coords, absl::Span<const SizeExpr> strides,
                     const IndexSpace& space) {
  AccessMap out;
  out.param = param;
  for (size_t d = 0; d < coords.coords.size(); ++d) {
    if (!strides[d].Is(0)) AddExpr(coords.coords[d], strides[d], &out.linear, &out.terms);
  }
  SimplifyTerms(space, &out.linear, &out.terms);
  for (const IndexMask& m : coords.masks) {
    AccessMask mask{{}, {}, m.lo, m.hi};
    AddExpr(m.e, 1, &mask.linear, &mask.terms);
    SimplifyTerms(space, &mask.linear, &mask.terms);
    out.masks.push_back(std::move(mask));
  }
  return out;
}

namespace {

int64_t EvalTerms(const std::vector<IndexTerm>& terms, absl::Span<const int64_t> axes,
                  absl::Span<const int64_t> symbols) {
  int64_t v = 0;
  for (const IndexTerm& t : terms) {
    int64_t x = EvalAffine(t.linear, axes, symbols) / t.div.Eval(symbols);
    if (!t.mod.Is(0)) x %= t.mod.Eval(symbols);
    v += t.coef.Eval(symbols) * x;
  }
  return v;
}

}  // namespace

bool MasksHold(const AccessMap& a, absl::Span<const int64_t> axes,
               absl::Span<const int64_t> symbols) {
  return std::all_of(a.masks.begin(), a.masks.end(), [&](const AccessMask& m) {
    int64_t v = EvalAffine(m.linear, axes, symbols) + EvalTerms(m.terms, axes, symbols);
    return m.lo.Eval(symbols) <= v && v < m.hi.Eval(symbols);
  });
}

int64_t EvalAccess(const AccessMap& a, absl::Span<const int64_t> axes,
                   absl::Span<const int64_t> symbols) {
  return EvalAffine(a.linear, axes, symbols) + EvalTerms(a.terms, axes, symbols);
}

namespace {

// factor, if `part` times it is exactly what `whole` has along the axes of `part`.
std::optional<SizeExpr> FactorWithin(const Affine& part, const Affine& whole) {
  if (part.coefs.empty()) return std::nullopt;
  const auto& [first, coef] = part.coefs[0];
  std::optional<SizeExpr> factor = CoefOf(whole, first).DivExact(coef);
  if (!factor || factor->Is(0)) return std::nullopt;
  for (const auto& [axis, c] : part.coefs) {
    if (!(CoefOf(whole, axis) == c * *factor)) return std::nullopt;
  }
  return factor;
}

// The range of `part` where those masks hold that are known and speak of it, forwards or backwards.
std::optional<Range> WithinMasks(const KernelPlan& plan, const std::vector<AccessMask>& masks,
                                 const Affine& part, const SizeExpr& indirect) {
  std::optional<Range> range = AffineRange(plan, part, indirect);
  for (const AccessMask& m : masks) {
    if (!m.terms.empty() || m.linear.coefs.size() != part.coefs.size()) continue;
    std::optional<SizeExpr> factor = FactorWithin(part, m.linear);
    if (!factor || !(factor->Is(1) || factor->Is(-1))) continue;
    SizeExpr offset = m.linear.constant - part.constant * *factor;
    SizeExpr lo = m.lo - offset, hi = m.hi - offset - 1;  // of factor * part
    if (!lo.IsConstant() || !hi.IsConstant()) continue;
    Range bounds =
        factor->Is(1) ? Range{lo.constant(), hi.constant()} : Range{-hi.constant(), -lo.constant()};
    range = range ? Range{std::max(range->lo, bounds.lo), std::min(range->hi, bounds.hi)} : bounds;
  }
  return range;
}

}  // namespace

std::optional<Range> OffsetRange(const KernelPlan& plan, const AccessMap& a) {
  for (int axis = 0; axis < plan.num_parallel() + static_cast<int>(plan.inner.size()); ++axis) {
    if (plan.extent(axis).Is(0)) return Range{0, -1};
  }
  const SizeExpr indirect = a.indirect.value_or(SizeExpr(0));
  if (a.indirect && indirect.Is(0)) return Range{0, -1};
  // A part of the offset that a mask speaks of stays within the mask's bounds.
  Affine rest = a.linear;
  Range masked;
  for (const AccessMask& m : a.masks) {
    std::optional<SizeExpr> factor = m.terms.empty() ? FactorWithin(m.linear, rest) : std::nullopt;
    std::optional<Range> allowed = factor && factor->IsConstant()
                                       ? WithinMasks(plan, a.masks, m.linear, indirect)
                                       : std::nullopt;
    if (!allowed) continue;
    if (allowed->hi < allowed->lo) return Range{0, -1};
    int64_t x = 0, y = 0;
    if (__builtin_mul_overflow(allowed->lo, factor->constant(), &x) ||
        __builtin_mul_overflow(allowed->hi, factor->constant(), &y))
      continue;
    masked.lo += std::min(x, y);
    masked.hi += std::max(x, y);
    AddScaled(&rest, m.linear, SizeExpr(0) - *factor);
  }
  std::optional<Range> sum = AffineRange(plan, rest, indirect);
  if (sum) {
    sum->lo += masked.lo;
    sum->hi += masked.hi;
  }
  for (const IndexTerm& t : a.terms) {
    std::optional<Range> r = TermRange(plan, t, indirect);
    if (!sum || !r) return std::nullopt;
    sum->lo += r->lo;
    sum->hi += r->hi;
  }
  return sum;
}

bool MasksUseAxis(const AccessMap& a, int axis) {
  return std::any_of(a.masks.begin(), a.masks.end(), [axis](const AccessMask& m) {
    return AffineUses(m.linear, axis) ||
           std::any_of(m.terms.begin(), m.terms.end(),
                       [axis](const IndexTerm& t) { return AffineUses(t.linear, axis); });
  });
}

bool UsesIndirect(const AccessMap& a) {
  return AffineUses(a.linear, kIndirectAxis) || TermsUseAxis(a, kIndirectAxis);
}

bool TermsUseAxis(const AccessMap& a, int axis) {
  return std::any_of(a.terms.begin(), a.terms.end(),
                     [axis](const IndexTerm& t) { return AffineUses(t.linear, axis); });
}

bool UsesAxis(const AccessMap& a, int axis) {
  return AffineUses(a.linear, axis) || TermsUseAxis(a, axis) || MasksUseAxis(a, axis);
}

std::optional<SizeExpr> StrideAlong(const AccessMap& a, int axis) {
  if (TermsUseAxis(a, axis)) return std::nullopt;
  return CoefOf(a.linear, axis);
}

int VectorAxis(const KernelPlan& plan) {
  return plan.num_parallel() + (plan.columns ? 0 : static_cast<int>(plan.inner.size())) - 1;
}

namespace {

// Whether the mask holds for all or none of the points of each vector along `axis`.
bool IsOneOfVector(const AccessMask& m, int axis, int vec) {
  auto uses = [axis](const IndexTerm& t) { return AffineUses(t.linear, axis); };
  if (std::any_of(m.terms.begin(), m.terms.end(), uses)) return false;
  SizeExpr step = CoefOf(m.linear, axis);
  if (step.Is(0)) return true;
  auto keeps = [vec](const SizeExpr& e) { return e.KnownDivisor() % vec == 0; };
  if (!step.Is(1) || !keeps(m.linear.constant) || !keeps(m.lo) || !keeps(m.hi)) return false;
  return std::all_of(m.linear.coefs.begin(), m.linear.coefs.end(),
                     [&](const auto& c) { return c.first == axis || keeps(c.second); }) &&
         std::all_of(m.terms.begin(), m.terms.end(),
                     [&](const IndexTerm& t) { return keeps(t.coef); });
}

}  // namespace

bool IsVectorAccess(const KernelPlan& plan, const AccessMap& a, int vec) {
  const Param& param = plan.params[static_cast<size_t>(a.param)];
  int axis = VectorAxis(plan);
  if (TermsUseAxis(a, axis) || !CoefOf(a.linear, axis).Is(1)) return false;
  if (vec == 1) return true;
  if (!std::all_of(a.masks.begin(), a.masks.end(),
                   [&](const AccessMask& m) { return IsOneOfVector(m, axis, vec); }))
    return false;
  if (param.align < ItemAlign(param, vec)) return false;
  // Everything else must keep the first element's alignment: 16 bytes, or the vector's own size
  // where that is less.
  int64_t unit = ItemAlign(param, vec) / ItemSize(param.dtype);
  auto keeps = [unit](const SizeExpr& e) { return e.KnownDivisor() % unit == 0; };
  if (!keeps(a.linear.constant)) return false;
  for (const auto& [ax, coef] : a.linear.coefs) {
    if (ax != axis && !keeps(coef)) return false;
  }
  return std::all_of(a.terms.begin(), a.terms.end(),
                     [&](const IndexTerm& t) { return keeps(t.coef); });
}

bool IsUniformAccess(const KernelPlan& plan, const AccessMap& a) {
  return !UsesAxis(a, VectorAxis(plan));
}

std::vector<SymbolId> PlanSymbols(const KernelPlan& plan) {
  std::vector<SymbolId> out;
  auto affine = [&out](const Affine& a) {
    a.constant.CollectSymbols(&out);
    for (const auto& [axis, coef] : a.coefs) coef.CollectSymbols(&out);
  };
  auto all_terms = [&](const std::vector<IndexTerm>& terms) {
    for (const IndexTerm& t : terms) {
      affine(t.linear);
      for (const SizeExpr* e : {&t.div, &t.mod, &t.coef}) e->CollectSymbols(&out);
    }
  };
  auto access = [&](const AccessMap& a) {
    affine(a.linear);
    all_terms(a.terms);
    for (const AccessMask& m : a.masks) {
      affine(m.linear);
      all_terms(m.terms);
      m.lo.CollectSymbols(&out);
      m.hi.CollectSymbols(&out);
    }
    if (a.indirect) a.indirect->CollectSymbols(&out);
  };
  for (const AccessMap& a : plan.accesses) access(a);
  for (const Stage& s : plan.stages) {
    for (const Store& st : s.stores) access(st.access);
  }
  for (const SizeExpr& e : plan.sizes) e.CollectSymbols(&out);
  for (const SizeExpr& e : plan.parallel) e.CollectSymbols(&out);
  for (const SizeExpr& e : plan.inner) e.CollectSymbols(&out);
  return out;
}

namespace {

std::string AxisName(int axis) {
  return axis == kIndirectAxis ? std::string("at") : absl::StrCat("a", axis);
}

std::string SumToString(const Affine& linear, const std::vector<IndexTerm>& terms) {
  std::string out =
      linear.coefs.empty() && linear.constant.Is(0) && !terms.empty() ? "" : AffineToString(linear);
  for (const IndexTerm& t : terms) {
    std::string e = AffineToString(t.linear);
    if (!t.div.Is(1))
      e = absl::StrCat(
          t.linear.coefs.size() > 1 || !t.linear.constant.Is(0) ? absl::StrCat("(", e, ")") : e,
          " / ", t.div.ToString());
    if (!t.mod.Is(0)) e = absl::StrCat("(", e, ") % ", t.mod.ToString());
    absl::StrAppend(&out, out.empty() ? "" : " + ", Scaled(t.coef, absl::StrCat("(", e, ")")));
  }
  return out;
}

}  // namespace

std::string AffineToString(const Affine& a) {
  std::string out;
  for (const auto& [axis, coef] : a.coefs)
    absl::StrAppend(&out, out.empty() ? "" : " + ", Scaled(coef, AxisName(axis)));
  if (out.empty() || !a.constant.Is(0))
    absl::StrAppend(&out, out.empty() ? "" : " + ", a.constant.ToString());
  return out;
}

std::string AccessToString(const AccessMap& a) {
  std::string out = absl::StrCat("p", a.param, "[", SumToString(a.linear, a.terms), "]");
  for (size_t i = 0; i < a.masks.size(); ++i) {
    const AccessMask& m = a.masks[i];
    absl::StrAppend(&out, i == 0 ? " if " : " and ", m.lo.ToString(),
                    " <= ", SumToString(m.linear, m.terms), " < ", m.hi.ToString());
  }
  return out;
}

}  // namespace jitfuse::internal
