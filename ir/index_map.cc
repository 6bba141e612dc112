#include "ir/index_map.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "ir/support/check.h"

namespace jitfuse::internal {
namespace {

// a < b for all symbol values >= 1, as far as the normal form shows.
bool KnownLess(const SizeExpr& a, const SizeExpr& b) { return (b - a - 1).IsKnownNonNegative(); }

void AddCoef(int axis, const SizeExpr& factor, Affine* out) {
  auto it = std::find_if(out->coefs.begin(), out->coefs.end(),
                         [&](const auto& c) { return c.first >= axis; });
  if (it == out->coefs.end() || it->first != axis) {
    out->coefs.insert(it, {axis, factor});
  } else {
    it->second = it->second + factor;
  }
  auto zero = [](const auto& c) { return c.second.Is(0); };
  out->coefs.erase(std::remove_if(out->coefs.begin(), out->coefs.end(), zero), out->coefs.end());
}

IndexExpr FromTerm(IndexTerm term) {
  IndexExpr e;
  e.terms.push_back(std::move(term));
  return e;
}

// Adds a plain axis; plain terms come first, by axis.
void AddPlain(int axis, const SizeExpr& coef, IndexExpr* e) {
  auto it = e->terms.begin();
  while (it != e->terms.end() && it->IsPlain() && it->linear.coefs[0].first < axis) ++it;
  if (it != e->terms.end() && it->IsPlain() && it->linear.coefs[0].first == axis) {
    it->coef = it->coef + coef;
    if (it->coef.Is(0)) e->terms.erase(it);
    return;
  }
  IndexTerm term;
  term.linear.coefs.emplace_back(axis, 1);
  term.coef = coef;
  e->terms.insert(it, std::move(term));
}

void AddTerm(const IndexTerm& term, IndexExpr* e);

// (x / (d*m)) * m + (x / d) % m is x / d: the two halves of a split coordinate meet again.
bool MergeSplit(const IndexTerm& high, const IndexTerm& low, IndexTerm* out) {
  if (low.mod.Is(0) || !(high.linear == low.linear)) return false;
  if (!(high.div == low.div * low.mod) || !(high.coef == low.coef * low.mod)) return false;
  *out = low;
  out->mod = high.mod * low.mod;
  return true;
}

void AddDivided(const IndexTerm& term, IndexExpr* e) {
  for (auto it = e->terms.begin(); it != e->terms.end(); ++it) {
    if (it->IsPlain()) continue;
    IndexTerm merged = *it;
    bool same = it->linear == term.linear && it->div == term.div && it->mod == term.mod;
    if (same) merged.coef = it->coef + term.coef;
    if (same || MergeSplit(*it, term, &merged) || MergeSplit(term, *it, &merged)) {
      e->terms.erase(it);
      if (!merged.coef.Is(0)) AddTerm(merged, e);
      return;
    }
  }
  e->terms.push_back(term);
}

void AddTerm(const IndexTerm& term, IndexExpr* e) {
  if (term.coef.Is(0)) return;
  if (term.linear.coefs.empty()) {
    e->constant = e->constant + ValueWithoutAxes(term);
    return;
  }
  if (!term.IsPlain()) return AddDivided(term, e);
  for (const auto& [axis, factor] : term.linear.coefs) AddPlain(axis, factor * term.coef, e);
  e->constant = e->constant + term.linear.constant * term.coef;
}

bool AllPlain(const IndexExpr& e) {
  return std::all_of(e.terms.begin(), e.terms.end(),
                     [](const IndexTerm& t) { return t.IsPlain(); });
}

Affine ToAffine(const IndexExpr& e) {
  Affine out;
  out.constant = e.constant;
  for (const IndexTerm& t : e.terms) AddCoef(t.linear.coefs[0].first, t.coef, &out);
  return out;
}

SizeExpr LastIndex(const SizeExpr& extent) { return extent.Is(0) ? SizeExpr(0) : extent - 1; }

struct Bounds {
  std::optional<SizeExpr> lo, hi;
};

bool IsNonPositive(const SizeExpr& e) { return (SizeExpr(0) - e).IsKnownNonNegative(); }

Bounds Scaled(const Bounds& b, const SizeExpr& factor) {
  auto times = [&](const std::optional<SizeExpr>& v) {
    return v ? std::optional(*v * factor) : std::nullopt;
  };
  if (factor.IsKnownNonNegative()) return {times(b.lo), times(b.hi)};
  if (IsNonPositive(factor)) return {times(b.hi), times(b.lo)};
  return {};
}

void AddBounds(const Bounds& b, Bounds* sum) {
  auto add = [](const std::optional<SizeExpr>& v, std::optional<SizeExpr>* to) {
    *to = *to && v ? std::optional(**to + *v) : std::nullopt;
  };
  add(b.lo, &sum->lo);
  add(b.hi, &sum->hi);
}

Bounds BoundsOfTerm(const IndexTerm& t, const IndexSpace& space) {
  Bounds b{t.linear.constant, t.linear.constant};
  for (const auto& [axis, factor] : t.linear.coefs)
    AddBounds(Scaled({SizeExpr(0), LastIndex(space.extent(axis))}, factor), &b);
  if (!t.IsPlain()) {
    b.lo = SizeExpr(0);  // by the invariant
    // floor(hi / div), in a form that DivExact can simplify.
    if (b.hi && !t.div.Is(1)) b.hi = CeilDiv(*b.hi + 1, t.div) - 1;
    if (!t.mod.Is(0) && (!b.hi || !KnownLess(*b.hi, t.mod))) b.hi = t.mod - 1;
  }
  return Scaled(b, t.coef);
}

Bounds BoundsOf(const IndexExpr& e, const IndexSpace& space) {
  Bounds sum{e.constant, e.constant};
  for (const IndexTerm& t : e.terms) AddBounds(BoundsOfTerm(t, space), &sum);
  return sum;
}

bool KnownNonNegative(const IndexExpr& e, const IndexSpace& space) {
  std::optional<SizeExpr> least = LowerBound(e, space);
  return least && least->IsKnownNonNegative();
}

// 0 <= e < limit.
bool KnownWithin(const IndexExpr& e, const SizeExpr& limit, const IndexSpace& space) {
  std::optional<SizeExpr> most = UpperBound(e, space);
  return most && KnownLess(*most, limit) && KnownNonNegative(e, space);
}

// e = multiple * factor + rest, with every term that factor divides in `multiple`, already divided.
struct Parts {
  IndexExpr multiple;
  IndexExpr rest;
};

Parts SplitBy(const IndexExpr& e, const SizeExpr& factor) {
  Parts parts;
  for (const IndexTerm& t : e.terms) {
    if (auto q = t.coef.DivExact(factor)) {
      parts.multiple.terms.push_back(t);
      parts.multiple.terms.back().coef = *q;
    } else {
      parts.rest.terms.push_back(t);
    }
  }
  if (auto q = e.constant.DivExact(factor)) {
    parts.multiple.constant = *q;
  } else if (e.constant.IsConstant() && factor.IsConstant()) {
    int64_t c = e.constant.constant(), f = factor.constant();
    int64_t whole = c / f - (c % f != 0 && (c < 0) != (f < 0) ? 1 : 0);
    parts.multiple.constant = whole;
    parts.rest.constant = c - whole * f;
  } else if (auto next = (e.constant + 1).DivExact(factor)) {  // a last index: q * factor - 1
    parts.multiple.constant = *next - 1;
    parts.rest.constant = factor - 1;
  } else {
    parts.rest.constant = e.constant;
  }
  return parts;
}

// Factors worth splitting by: those of the terms.
std::vector<SizeExpr> Factors(const IndexExpr& e) {
  std::vector<SizeExpr> out;
  for (const IndexTerm& t : e.terms) {
    if (!t.coef.Is(1) && std::find(out.begin(), out.end(), t.coef) == out.end())
      out.push_back(t.coef);
  }
  return out;
}

// ((linear / d) % m) / div % mod as one term, where that is possible.
std::optional<IndexExpr> DivModOfTerm(IndexTerm t, const SizeExpr& div, const SizeExpr& mod) {
  if (t.mod.Is(0)) {
    t.div = t.div * div;
    t.mod = mod;
    return FromTerm(t);
  }
  std::optional<SizeExpr> left =
      t.mod.DivExact(div);  // the modulus that remains after the division
  if (!left) return std::nullopt;
  t.div = t.div * div;
  if (mod.Is(0) || *left == mod || KnownLess(*left, mod)) {
    t.mod = *left;
  } else if (left->DivExact(mod)) {
    t.mod = mod;
  } else {
    return std::nullopt;
  }
  return FromTerm(t);
}

// The last resort: e as it is, under one division.
std::optional<IndexExpr> BuildTerm(const IndexExpr& e, const SizeExpr& div, const SizeExpr& mod) {
  if (AllPlain(e)) {
    IndexTerm term;
    term.linear = ToAffine(e);
    term.div = div;
    term.mod = mod;
    IndexExpr out;
    AddTerm(term, &out);
    return out;
  }
  if (e.terms.size() == 1 && e.terms[0].coef.Is(1) && e.constant.Is(0))
    return DivModOfTerm(e.terms[0], div, mod);
  return std::nullopt;
}

IndexExpr DropUnitAxes(const IndexExpr& e, const IndexSpace& space) {
  IndexExpr out = e;
  std::erase_if(out.terms, [&](const IndexTerm& t) {
    return t.IsPlain() && space.extent(t.linear.coefs[0].first).Is(1);
  });
  return out;
}

// e % mod.
std::optional<IndexExpr> Modulo(const IndexExpr& e, const SizeExpr& mod, const IndexSpace& space) {
  IndexExpr rest = SplitBy(e, mod).rest;
  if (KnownWithin(rest, mod, space)) return rest;
  if (!KnownNonNegative(rest, space)) rest = e;  // a remainder is taken of what is not negative
  // (f*q + r) % mod is f * (q % (mod/f)) + r where f divides mod and r < f.
  for (const SizeExpr& f : Factors(rest)) {
    std::optional<SizeExpr> fewer = mod.DivExact(f);
    if (!fewer || fewer->Is(1)) continue;
    Parts parts = SplitBy(rest, f);
    if (!KnownWithin(parts.rest, f, space)) continue;
    if (auto high = Modulo(parts.multiple, *fewer, space)) return Sum(Scale(*high, f), parts.rest);
  }
  return BuildTerm(rest, 1, mod);
}

// e / div, without the part of it that a common factor makes superfluous.
struct Division {
  IndexExpr e;
  SizeExpr div;
};

// f*q + r with r < f, divided by f*d, is q / d.
Division Coarsen(Division d, const IndexSpace& space) {
  for (const SizeExpr& f : Factors(d.e)) {
    std::optional<SizeExpr> fewer = d.div.DivExact(f);
    if (!fewer) continue;
    Parts parts = SplitBy(d.e, f);
    if (KnownWithin(parts.rest, f, space)) return Coarsen({parts.multiple, *fewer}, space);
  }
  return d;
}

}  // namespace

SizeExpr ValueWithoutAxes(const IndexTerm& term) {
  JF_DCHECK(term.linear.coefs.empty());
  SizeExpr v = FloorDiv(term.linear.constant, term.div);
  if (!term.mod.Is(0)) v = v - FloorDiv(v, term.mod) * term.mod;
  return v * term.coef;
}

IndexExpr AxisExpr(int axis) {
  IndexExpr e;
  AddPlain(axis, 1, &e);
  return e;
}

IndexMap IdentityMap(int rank) {
  IndexMap map;
  for (int i = 0; i < rank; ++i) map.coords.push_back(AxisExpr(i));
  return map;
}

IndexExpr Scale(const IndexExpr& e, const SizeExpr& factor) {
  if (factor.Is(0)) return {};
  IndexExpr out = e;
  for (IndexTerm& t : out.terms) t.coef = t.coef * factor;
  out.constant = e.constant * factor;
  return out;
}

IndexExpr Sum(const IndexExpr& a, const IndexExpr& b) {
  IndexExpr out = a;
  out.constant = a.constant + b.constant;
  for (const IndexTerm& t : b.terms) AddTerm(t, &out);
  return out;
}

std::optional<SizeExpr> UpperBound(const IndexExpr& e, const IndexSpace& space) {
  return BoundsOf(e, space).hi;
}

std::optional<SizeExpr> LowerBound(const IndexExpr& e, const IndexSpace& space) {
  return BoundsOf(e, space).lo;
}

MaskFact FactOf(const IndexMask& mask, const IndexSpace& space) {
  Bounds b = BoundsOf(mask.e, space);
  auto reaches = [](const std::optional<SizeExpr>& v, const SizeExpr& least) {
    return v && (*v - least).IsKnownNonNegative();
  };
  if ((b.hi && KnownLess(*b.hi, mask.lo)) || reaches(b.lo, mask.hi) || reaches(mask.lo, mask.hi))
    return MaskFact::kNever;
  if (reaches(b.lo, mask.lo) && b.hi && KnownLess(*b.hi, mask.hi)) return MaskFact::kAlways;
  return MaskFact::kDepends;
}

void AddMask(IndexMask mask, const IndexSpace& space, IndexMap* map) {
  if (FactOf(mask, space) == MaskFact::kAlways) return;
  if (std::find(map->masks.begin(), map->masks.end(), mask) == map->masks.end())
    map->masks.push_back(std::move(mask));
}

std::optional<IndexExpr> DivMod(const IndexExpr& expr, const SizeExpr& div, const SizeExpr& mod,
                                const IndexSpace& space) {
  if (div.Is(0)) return std::nullopt;
  IndexExpr e = DropUnitAxes(expr, space);
  // Whole periods vanish under the remainder.
  if (!mod.Is(0) && !div.Is(1)) {
    IndexExpr rest = SplitBy(e, div * mod).rest;
    if (KnownNonNegative(rest, space)) e = std::move(rest);
  }
  if (div.Is(1)) return mod.Is(0) ? e : Modulo(e, mod, space);
  Division d = Coarsen({e, div}, space);
  if (d.div.Is(1)) return mod.Is(0) ? d.e : Modulo(d.e, mod, space);
  Parts parts = SplitBy(d.e, d.div);  // d.e / d.div = multiple + rest / d.div
  if (KnownWithin(parts.rest, d.div, space))
    return mod.Is(0) ? parts.multiple : Modulo(parts.multiple, mod, space);
  bool splits = KnownNonNegative(parts.rest, space);
  std::optional<IndexExpr> low = splits ? BuildTerm(parts.rest, d.div, 0) : std::nullopt;
  if (low) {
    IndexExpr quotient = Sum(parts.multiple, *low);
    if (mod.Is(0) || KnownWithin(quotient, mod, space)) return quotient;
  }
  if (mod.Is(0) && splits) return std::nullopt;
  return BuildTerm(d.e, d.div, mod);
}

namespace {

struct Run {
  size_t from_begin, from_end, to_begin, to_end;
};

// Dims of size other than 1, by position.
std::vector<size_t> Kept(absl::Span<const Dim> dims) {
  std::vector<size_t> out;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (!dims[i].Is(1)) out.push_back(i);
  }
  return out;
}

std::vector<SizeExpr> PrefixProducts(absl::Span<const Dim> dims, const std::vector<size_t>& kept) {
  std::vector<SizeExpr> out{SizeExpr(1)};
  for (size_t i : kept) out.push_back(out.back() * dims[i]);
  return out;
}

// Shortest runs of kept dims with equal products. What is left at the end is one run.
std::vector<Run> MatchRuns(const std::vector<SizeExpr>& from, const std::vector<SizeExpr>& to) {
  std::vector<Run> runs;
  size_t i = 0, j = 0;
  for (size_t k = 1; k < from.size(); ++k) {
    auto it = std::find(to.begin() + static_cast<std::ptrdiff_t>(j) + 1, to.end(), from[k]);
    bool last = k + 1 == from.size();
    if (it == to.end() && !last) continue;
    size_t end = it == to.end() || last ? to.size() - 1 : static_cast<size_t>(it - to.begin());
    runs.push_back({i, k, j, end});
    i = k;
    j = end;
  }
  return runs;
}

}  // namespace

std::optional<IndexMap> ReshapeCoords(const IndexMap& coords, absl::Span<const Dim> from,
                                      absl::Span<const Dim> to, const IndexSpace& space) {
  IndexMap out;
  out.coords.resize(to.size());  // zeros, which is right for dims of size 1
  if (NumElements(from).Is(0) || NumElements(to).Is(0)) {
    // No element is ever read. Coordinates hang on an empty axis, so that no load is moved out of
    // its loop.
    for (size_t a = 0; a < space.extents.size(); ++a) {
      if (!space.extents[a].Is(0)) continue;
      for (size_t d : Kept(to)) out.coords[d] = AxisExpr(static_cast<int>(a));
      break;
    }
    return out;
  }
  std::vector<size_t> f = Kept(from), t = Kept(to);
  for (const Run& run : MatchRuns(PrefixProducts(from, f), PrefixProducts(to, t))) {
    IndexExpr linear;
    SizeExpr stride(1);
    for (size_t i = run.from_end; i-- > run.from_begin;) {
      linear = Sum(linear, Scale(coords.coords[f[i]], stride));
      stride = stride * from[f[i]];
    }
    stride = SizeExpr(1);
    for (size_t j = run.to_end; j-- > run.to_begin;) {
      const Dim& size = to[t[j]];
      bool single = run.from_end - run.from_begin == 1 && run.to_end - run.to_begin == 1;
      std::optional<IndexExpr> coord =
          single ? std::optional(linear)
                 : DivMod(linear, stride, j == run.to_begin ? SizeExpr(0) : size, space);
      if (!coord) return std::nullopt;
      out.coords[t[j]] = *std::move(coord);
      stride = stride * size;
    }
  }
  return out;
}

namespace {

std::optional<IndexExpr> ComposeExpr(const IndexExpr& e, const IndexMap& to,
                                     const IndexSpace& space) {
  auto axis_expr = [&to](int axis) {
    return axis == kIndirectAxis ? AxisExpr(axis) : to.coords[static_cast<size_t>(axis)];
  };
  IndexExpr sum;
  sum.constant = e.constant;
  for (const IndexTerm& t : e.terms) {
    IndexExpr inner;
    inner.constant = t.linear.constant;
    for (const auto& [axis, factor] : t.linear.coefs)
      inner = Sum(inner, Scale(axis_expr(axis), factor));
    if (!t.IsPlain()) {
      std::optional<IndexExpr> divided = DivMod(inner, t.div, t.mod, space);
      if (!divided) return std::nullopt;
      inner = *std::move(divided);
    }
    sum = Sum(sum, Scale(inner, t.coef));
  }
  return sum;
}

}  // namespace

std::optional<IndexMap> Compose(const IndexMap& map, const IndexMap& to, const IndexSpace& space) {
  IndexMap out;
  for (const IndexExpr& e : map.coords) {
    std::optional<IndexExpr> composed = ComposeExpr(e, to, space);
    if (!composed) return std::nullopt;
    out.coords.push_back(*std::move(composed));
  }
  out.masks = to.masks;
  for (const IndexMask& m : map.masks) {
    std::optional<IndexExpr> composed = ComposeExpr(m.e, to, space);
    if (!composed) return std::nullopt;
    AddMask({*std::move(composed), m.lo, m.hi}, space, &out);
  }
  return out;
}

int64_t EvalIndexExpr(const IndexExpr& e, absl::Span<const int64_t> axes,
                      absl::Span<const int64_t> symbols) {
  int64_t sum = e.constant.Eval(symbols);
  for (const IndexTerm& t : e.terms) {
    int64_t v = t.linear.constant.Eval(symbols);
    for (const auto& [axis, factor] : t.linear.coefs)
      v += factor.Eval(symbols) * axes[static_cast<size_t>(axis)];
    int64_t div = t.div.Eval(symbols);
    int64_t mod = t.mod.Eval(symbols);
    JF_DCHECK(v >= 0);
    if (div > 1) v /= div;
    if (!t.mod.Is(0) && mod > 0) v %= mod;
    sum += v * t.coef.Eval(symbols);
  }
  return sum;
}

std::vector<int64_t> EvalIndexMap(const IndexMap& map, absl::Span<const int64_t> axes,
                                  absl::Span<const int64_t> symbols) {
  std::vector<int64_t> out;
  out.reserve(map.coords.size());
  for (const IndexExpr& e : map.coords) out.push_back(EvalIndexExpr(e, axes, symbols));
  return out;
}

namespace {

std::string Times(const std::string& what, const SizeExpr& factor) {
  if (factor.Is(1)) return what;
  std::string text = factor.ToString();
  bool sum = !factor.IsConstant() && text.find('+') != std::string::npos;
  return absl::StrCat(what, "*", sum ? absl::StrCat("(", text, ")") : text);
}

std::string LinearToString(const Affine& linear) {
  std::string out;
  for (const auto& [axis, factor] : linear.coefs)
    absl::StrAppend(&out, out.empty() ? "" : "+", Times(absl::StrCat("d", axis), factor));
  if (!linear.constant.Is(0) || out.empty())
    absl::StrAppend(&out, out.empty() ? "" : "+", linear.constant.ToString());
  return out;
}

std::string TermToString(const IndexTerm& t) {
  std::string out = LinearToString(t.linear);
  if (t.linear.coefs.size() != 1 || !t.linear.coefs[0].second.Is(1) || !t.linear.constant.Is(0))
    out = absl::StrCat("(", out, ")");
  if (!t.div.Is(1)) absl::StrAppend(&out, "/(", t.div.ToString(), ")");
  if (!t.mod.Is(0)) absl::StrAppend(&out, "%(", t.mod.ToString(), ")");
  return Times(t.IsPlain() || t.coef.Is(1) ? out : absl::StrCat("(", out, ")"), t.coef);
}

}  // namespace

std::string IndexExprToString(const IndexExpr& e) {
  std::string out;
  for (size_t k = 0; k < e.terms.size(); ++k)
    absl::StrAppend(&out, k > 0 ? " + " : "", TermToString(e.terms[k]));
  if (!e.constant.Is(0) || e.terms.empty())
    absl::StrAppend(&out, e.terms.empty() ? "" : " + ", e.constant.ToString());
  return out;
}

std::string IndexMapToString(const IndexMap& map) {
  std::string out = "[";
  for (size_t i = 0; i < map.coords.size(); ++i)
    absl::StrAppend(&out, i > 0 ? ", " : "", IndexExprToString(map.coords[i]));
  out += "]";
  for (const IndexMask& m : map.masks) {
    absl::StrAppend(&out, " if ", m.lo.ToString(), " <= ", IndexExprToString(m.e), " < ",
                    m.hi.ToString());
  }
  return out;
}

}  // namespace jitfuse::internal
