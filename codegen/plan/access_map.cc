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
std::optional<Range> AffineRange(const KernelPlan& plan, const Affine& a) {
  if (!a.constant.IsConstant()) return std::nullopt;
  Range r{a.constant.constant(), a.constant.constant()};
  for (const auto& [axis, coef] : a.coefs) {
    const SizeExpr& extent = plan.extent(axis);
    if (!coef.IsConstant() || !extent.IsConstant()) return std::nullopt;
    int64_t end = 0;
    if (__builtin_mul_overflow(coef.constant(), extent.constant() - 1, &end)) return std::nullopt;
    if (__builtin_add_overflow(end < 0 ? r.lo : r.hi, end, end < 0 ? &r.lo : &r.hi))
      return std::nullopt;
  }
  return r;
}

std::optional<Range> TermRange(const KernelPlan& plan, const IndexTerm& t) {
  std::optional<Range> r = AffineRange(plan, t.linear);
  if (!r || !t.div.IsConstant() || !t.mod.IsConstant() || !t.coef.IsConstant()) return std::nullopt;
  int64_t lo = r->lo / t.div.constant(), hi = r->hi / t.div.constant();
  if (int64_t mod = t.mod.constant(); mod != 0 && hi >= mod) {
    lo = 0;
    hi = mod - 1;
  }
  int64_t x = lo * t.coef.constant(), y = hi * t.coef.constant();
  return Range{std::min(x, y), std::max(x, y)};
}

// Whether 0 <= a < limit everywhere.
bool IsBelow(const Affine& a, const SizeExpr& limit, const IndexSpace& space) {
  SizeExpr most = a.constant;
  for (const auto& [axis, coef] : a.coefs) {
    if (coef.IsConstant() && coef.constant() < 0) return false;
    most = most + coef * (space.extents[static_cast<size_t>(axis)] - SizeExpr(1));
  }
  SizeExpr room = limit - most;
  return (!a.constant.IsConstant() || a.constant.constant() >= 0) && room.IsConstant() &&
         room.constant() >= 1;
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
  for (const auto& [axis, coef] : a.coefs)
    v += coef.Eval(symbols) * axes[static_cast<size_t>(axis)];
  return v;
}

void SimplifyTerms(const IndexSpace& space, Affine* linear, std::vector<IndexTerm>* terms) {
  while (MergeOnce(space, terms)) {
  }
  for (const IndexTerm& t : *terms) {
    if (t.IsPlain()) AddScaled(linear, t.linear, t.coef);
  }
  std::erase_if(*terms, [](const IndexTerm& t) { return t.IsPlain() || t.coef.Is(0); });
}

AccessMap MakeAccess(int param, const IndexMap& coords, absl::Span<const SizeExpr> strides,
                     const IndexSpace& space) {
  AccessMap out;
  out.param = param;
  for (size_t d = 0; d < coords.coords.size(); ++d) {
    if (strides[d].Is(0)) continue;
    const IndexExpr& e = coords.coords[d];
    out.linear.constant = out.linear.constant + e.constant * strides[d];
    for (const IndexTerm& t : e.terms) {
      IndexTerm scaled = t;
      scaled.coef = t.coef * strides[d];
      out.terms.push_back(std::move(scaled));
    }
  }
  SimplifyTerms(space, &out.linear, &out.terms);
  return out;
}

int64_t EvalAccess(const AccessMap& a, absl::Span<const int64_t> axes,
                   absl::Span<const int64_t> symbols) {
  int64_t v = EvalAffine(a.linear, axes, symbols);
  for (const IndexTerm& t : a.terms) {
    int64_t x = EvalAffine(t.linear, axes, symbols) / t.div.Eval(symbols);
    if (!t.mod.Is(0)) x %= t.mod.Eval(symbols);
    v += t.coef.Eval(symbols) * x;
  }
  return v;
}

std::optional<Range> OffsetRange(const KernelPlan& plan, const AccessMap& a) {
  for (int axis = 0; axis < plan.num_parallel() + static_cast<int>(plan.inner.size()); ++axis) {
    if (plan.extent(axis).Is(0)) return Range{0, -1};
  }
  std::optional<Range> sum = AffineRange(plan, a.linear);
  for (const IndexTerm& t : a.terms) {
    std::optional<Range> r = TermRange(plan, t);
    if (!sum || !r) return std::nullopt;
    sum->lo += r->lo;
    sum->hi += r->hi;
  }
  return sum;
}

bool TermsUseAxis(const AccessMap& a, int axis) {
  return std::any_of(a.terms.begin(), a.terms.end(),
                     [axis](const IndexTerm& t) { return AffineUses(t.linear, axis); });
}

bool UsesAxis(const AccessMap& a, int axis) {
  return AffineUses(a.linear, axis) || TermsUseAxis(a, axis);
}

std::optional<SizeExpr> StrideAlong(const AccessMap& a, int axis) {
  if (TermsUseAxis(a, axis)) return std::nullopt;
  return CoefOf(a.linear, axis);
}

int VectorAxis(const KernelPlan& plan) {
  return plan.num_parallel() + static_cast<int>(plan.inner.size()) - 1;
}

bool IsVectorAccess(const KernelPlan& plan, const AccessMap& a, int vec) {
  const Param& param = plan.params[static_cast<size_t>(a.param)];
  int axis = VectorAxis(plan);
  if (TermsUseAxis(a, axis) || !CoefOf(a.linear, axis).Is(1)) return false;
  if (vec == 1) return true;
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
  auto access = [&](const AccessMap& a) {
    affine(a.linear);
    for (const IndexTerm& t : a.terms) {
      affine(t.linear);
      for (const SizeExpr* e : {&t.div, &t.mod, &t.coef}) e->CollectSymbols(&out);
    }
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

std::string AffineToString(const Affine& a) {
  std::string out;
  for (const auto& [axis, coef] : a.coefs)
    absl::StrAppend(&out, out.empty() ? "" : " + ", Scaled(coef, absl::StrCat("a", axis)));
  if (out.empty() || !a.constant.Is(0))
    absl::StrAppend(&out, out.empty() ? "" : " + ", a.constant.ToString());
  return out;
}

std::string AccessToString(const AccessMap& a) {
  std::string out = a.linear.coefs.empty() && a.linear.constant.Is(0) && !a.terms.empty()
                        ? ""
                        : AffineToString(a.linear);
  for (const IndexTerm& t : a.terms) {
    std::string e = AffineToString(t.linear);
    if (!t.div.Is(1))
      e = absl::StrCat(
          t.linear.coefs.size() > 1 || !t.linear.constant.Is(0) ? absl::StrCat("(", e, ")") : e,
          " / ", t.div.ToString());
    if (!t.mod.Is(0)) e = absl::StrCat("(", e, ") % ", t.mod.ToString());
    absl::StrAppend(&out, out.empty() ? "" : " + ", Scaled(t.coef, absl::StrCat("(", e, ")")));
  }
  return absl::StrCat("p", a.param, "[", out, "]");
}

}  // namespace jitfuse::internal
