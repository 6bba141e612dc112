#include "ir/shape.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "ir/support/check.h"
#include "ir/support/status.h"

namespace jitfuse::internal {

namespace {
struct Atom {
  SizeExpr::AtomKind kind = SizeExpr::AtomKind::kSymbol;
  SymbolId symbol = -1;
  SizeExpr a, b;
};

// A total order: symbols first, by id, then the operators by kind and text.
int Compare(const Atom& x, const Atom& y) {
  if (x.kind != y.kind) return x.kind < y.kind ? -1 : 1;
  if (x.kind == SizeExpr::AtomKind::kSymbol)
    return x.symbol == y.symbol ? 0 : (x.symbol < y.symbol ? -1 : 1);
  int by_a = x.a.ToString().compare(y.a.ToString());
  return by_a != 0 ? by_a : x.b.ToString().compare(y.b.ToString());
}

struct Term {
  int64_t coef = 0;
  std::vector<Atom> atoms;  // sorted; empty for the constant term
};

int CompareAtoms(const Term& x, const Term& y) {
  if (x.atoms.size() != y.atoms.size()) return x.atoms.size() > y.atoms.size() ? -1 : 1;
  for (size_t i = 0; i < x.atoms.size(); ++i) {
    if (int c = Compare(x.atoms[i], y.atoms[i]); c != 0) return c;
  }
  return 0;
}
}  // namespace

struct SizeExpr::Poly {
  std::vector<Term>
      terms;  // sorted by atoms, no zero coefficient, no two terms with the same atoms

  void Normalize() {
    std::sort(terms.begin(), terms.end(),
              [](const Term& x, const Term& y) { return CompareAtoms(x, y) < 0; });
    std::vector<Term> merged;
    for (Term& t : terms) {
      if (!merged.empty() && CompareAtoms(merged.back(), t) == 0) {
        merged.back().coef += t.coef;
      } else {
        merged.push_back(std::move(t));
      }
    }
    std::erase_if(merged, [](const Term& t) { return t.coef == 0; });
    terms = std::move(merged);
  }
};

SizeExpr SizeExpr::FromPoly(Poly poly) {
  poly.Normalize();
  if (poly.terms.empty()) return SizeExpr(0);
  if (poly.terms.size() == 1 && poly.terms[0].atoms.empty()) return SizeExpr(poly.terms[0].coef);
  SizeExpr out;
  out.poly_ = std::make_shared<const Poly>(std::move(poly));
  return out;
}

SizeExpr::Poly SizeExpr::ToPoly() const {
  if (poly_ != nullptr) return *poly_;
  Poly p;
  if (constant_ != 0) p.terms.push_back({constant_, {}});
  return p;
}

SizeExpr SizeExpr::Symbol(SymbolId id) {
  Poly p;
  p.terms.push_back({1, {Atom{AtomKind::kSymbol, id, {}, {}}}});
  return FromPoly(std::move(p));
}

int64_t SizeExpr::constant() const {
  JF_CHECK(IsConstant());
  return constant_;
}

std::optional<SymbolId> SizeExpr::AsSymbol() const {
  if (IsConstant() || poly_->terms.size() != 1) return std::nullopt;
  const Term& t = poly_->terms[0];
  if (t.coef != 1 || t.atoms.size() != 1 || t.atoms[0].kind != AtomKind::kSymbol)
    return std::nullopt;
  return t.atoms[0].symbol;
}

bool operator==(const SizeExpr& a, const SizeExpr& b) {
  if (a.IsConstant() || b.IsConstant())
    return a.IsConstant() && b.IsConstant() && a.constant_ == b.constant_;
  if (a.poly_ == b.poly_) return true;
  const auto& x = a.poly_->terms;
  const auto& y = b.poly_->terms;
  return x.size() == y.size() &&
         std::equal(x.begin(), x.end(), y.begin(), [](const Term& s, const Term& t) {
           return s.coef == t.coef && CompareAtoms(s, t) == 0;
         });
}

SizeExpr operator+(const SizeExpr& a, const SizeExpr& b) {
  if (a.IsConstant() && b.IsConstant()) return a.constant_ + b.constant_;
  SizeExpr::Poly p = a.ToPoly();
  SizeExpr::Poly q = b.ToPoly();
  p.terms.insert(p.terms.end(), q.terms.begin(), q.terms.end());
  return SizeExpr::FromPoly(std::move(p));
}

SizeExpr operator-(const SizeExpr& a, const SizeExpr& b) { return a + b * SizeExpr(-1); }

SizeExpr operator*(const SizeExpr& a, const SizeExpr& b) {
  if (a.IsConstant() && b.IsConstant()) return a.constant_ * b.constant_;
  if (a.Is(1)) return b;
  if (b.Is(1)) return a;
  SizeExpr::Poly p = a.ToPoly();
  SizeExpr::Poly q = b.ToPoly();
  SizeExpr::Poly out;
  for (const Term& s : p.terms) {
    for (const Term& t : q.terms) {
      Term product{s.coef * t.coef, s.atoms};
      product.atoms.insert(product.atoms.end(), t.atoms.begin(), t.atoms.end());
      std::sort(product.atoms.begin(), product.atoms.end(),
                [](const Atom& x, const Atom& y) { return Compare(x, y) < 0; });
      out.terms.push_back(std::move(product));
    }
  }
  return SizeExpr::FromPoly(std::move(out));
}

namespace {
int64_t Apply(SizeExpr::AtomKind kind, int64_t a, int64_t b) {
  switch (kind) {
    case SizeExpr::AtomKind::kCeilDiv:
      return b == 0 ? 0 : (a + b - 1) / b;
    case SizeExpr::AtomKind::kFloorDiv:
      return b == 0 ? 0 : a / b;
    case SizeExpr::AtomKind::kMax:
      return std::max(a, b);
    case SizeExpr::AtomKind::kMin:
      return std::min(a, b);
    case SizeExpr::AtomKind::kSymbol:
      break;
  }
  JF_CHECK(false);
}

// A product that knows whether it fits 64 bits; one with a factor 0 does, whatever the others are.
class CheckedProduct {
 public:
  explicit CheckedProduct(int64_t factor) { Times(factor); }
  void Times(int64_t factor) {
    zero_ |= factor == 0;
    overflow_ |= __builtin_mul_overflow(product_, factor, &product_);
  }
  std::optional<int64_t> value() const {
    if (zero_) return 0;
    return overflow_ ? std::nullopt : std::optional<int64_t>(product_);
  }

 private:
  int64_t product_ = 1;
  bool zero_ = false, overflow_ = false;
};
}  // namespace

SizeExpr SizeExpr::Binary(AtomKind kind, const SizeExpr& a, const SizeExpr& b) {
  if (a.IsConstant() && b.IsConstant()) return Apply(kind, a.constant_, b.constant_);
  bool is_div = kind == AtomKind::kCeilDiv || kind == AtomKind::kFloorDiv;
  if (is_div) {
    if (auto exact = a.DivExact(b)) return *exact;
  } else if (a == b) {
    return a;
  }
  Poly p;
  p.terms.push_back({1, {Atom{kind, -1, a, b}}});
  return FromPoly(std::move(p));
}

SizeExpr CeilDiv(const SizeExpr& a, const SizeExpr& b) {
  return SizeExpr::Binary(SizeExpr::AtomKind::kCeilDiv, a, b);
}
SizeExpr FloorDiv(const SizeExpr& a, const SizeExpr& b) {
  return SizeExpr::Binary(SizeExpr::AtomKind::kFloorDiv, a, b);
}
SizeExpr Max(const SizeExpr& a, const SizeExpr& b) {
  return SizeExpr::Binary(SizeExpr::AtomKind::kMax, a, b);
}
SizeExpr Min(const SizeExpr& a, const SizeExpr& b) {
  return SizeExpr::Binary(SizeExpr::AtomKind::kMin, a, b);
}

int64_t SizeExpr::Eval(absl::Span<const int64_t> symbols) const {
  if (IsConstant()) return constant_;
  int64_t sum = 0;
  for (const Term& t : poly_->terms) {
    int64_t product = t.coef;
    for (const Atom& atom : t.atoms) {
      if (atom.kind == AtomKind::kSymbol) {
        JF_CHECK(static_cast<size_t>(atom.symbol) < symbols.size());
        product *= symbols[static_cast<size_t>(atom.symbol)];
      } else {
        product *= Apply(atom.kind, atom.a.Eval(symbols), atom.b.Eval(symbols));
      }
    }
    sum += product;
  }
  return sum;
}

std::optional<int64_t> SizeExpr::CheckedEval(absl::Span<const int64_t> symbols) const {
  if (IsConstant()) return constant_;
  int64_t sum = 0;
  for (const Term& t : poly_->terms) {
    CheckedProduct product(t.coef);
    for (const Atom& atom : t.atoms) {
      if (atom.kind == AtomKind::kSymbol) {
        JF_CHECK(static_cast<size_t>(atom.symbol) < symbols.size());
        product.Times(symbols[static_cast<size_t>(atom.symbol)]);
        continue;
      }
      std::optional<int64_t> a = atom.a.CheckedEval(symbols), b = atom.b.CheckedEval(symbols);
      int64_t above = 0;  // ceildiv adds its operands
      if (!a || !b || __builtin_add_overflow(*a, *b, &above)) return std::nullopt;
      product.Times(Apply(atom.kind, *a, *b));
    }
    const std::optional<int64_t> value = product.value();
    if (!value || __builtin_add_overflow(sum, *value, &sum)) return std::nullopt;
  }
  return sum;
}

SizeExpr SizeExpr::Substitute(const std::function<SizeExpr(SymbolId)>& to) const {
  if (IsConstant()) return *this;
  SizeExpr sum(0);
  for (const Term& t : poly_->terms) {
    SizeExpr product(t.coef);
    for (const Atom& atom : t.atoms) {
      product = product * (atom.kind == AtomKind::kSymbol
                               ? to(atom.symbol)
                               : Binary(atom.kind, atom.a.Substitute(to), atom.b.Substitute(to)));
    }
    sum = sum + product;
  }
  return sum;
}

void SizeExpr::CollectSymbols(std::vector<SymbolId>* out) const {
  if (IsConstant()) return;
  for (const Term& t : poly_->terms) {
    for (const Atom& atom : t.atoms) {
      if (atom.kind != AtomKind::kSymbol) {
        atom.a.CollectSymbols(out);
        atom.b.CollectSymbols(out);
      } else if (std::find(out->begin(), out->end(), atom.symbol) == out->end()) {
        out->push_back(atom.symbol);
      }
    }
  }
}

std::optional<SizeExpr> SizeExpr::DivExact(const SizeExpr& divisor) const {
  if (divisor.Is(1)) return *this;
  if (Is(0)) return SizeExpr(0);
  if (divisor.Is(0)) return std::nullopt;
  if (*this == divisor) return SizeExpr(1);
  Poly den = divisor.ToPoly();
  if (den.terms.size() != 1) return std::nullopt;
  const Term& d = den.terms[0];
  Poly out = ToPoly();
  for (Term& t : out.terms) {
    if (t.coef % d.coef != 0) return std::nullopt;
    t.coef /= d.coef;
    for (const Atom& atom : d.atoms) {
      auto it = std::find_if(t.atoms.begin(), t.atoms.end(),
                             [&](const Atom& x) { return Compare(x, atom) == 0; });
      if (it == t.atoms.end()) return std::nullopt;
      t.atoms.erase(it);
    }
  }
  return FromPoly(std::move(out));
}

SizeExpr SizeExpr::Reduce(const SizeExpr& zero) const {
  constexpr int kMaxSteps = 32;
  if (zero.IsConstant()) return *this;
  const SizeExpr leading = FromPoly({{zero.poly_->terms.front()}});
  SizeExpr rest = *this;
  for (int step = 0; step < kMaxSteps && !rest.IsConstant(); ++step) {
    std::optional<SizeExpr> factor;
    for (const Term& t : rest.poly_->terms) {
      factor = FromPoly({{t}}).DivExact(leading);
      if (factor) break;
    }
    if (!factor) break;
    rest = rest - *factor * zero;
  }
  return rest;
}

int64_t SizeExpr::KnownDivisor() const {
  if (IsConstant()) return constant_ < 0 ? -constant_ : constant_;
  int64_t g = 0;
  for (const Term& t : poly_->terms) g = std::gcd(g, t.coef);
  return g;
}

bool SizeExpr::IsKnownNonNegative() const {
  if (IsConstant()) return constant_ >= 0;
  // Around 1: with s = 1 + t and t >= 0, coefficients that are all >= 0 settle it.
  SizeExpr shifted = Substitute([](SymbolId s) { return Symbol(s) + 1; });
  if (shifted.IsConstant()) return shifted.constant_ >= 0;
  const std::vector<Term>& terms = shifted.poly_->terms;
  return std::all_of(terms.begin(), terms.end(), [](const Term& t) { return t.coef >= 0; });
}

namespace {
std::string_view AtomName(SizeExpr::AtomKind kind) {
  switch (kind) {
    case SizeExpr::AtomKind::kCeilDiv:
      return "ceildiv";
    case SizeExpr::AtomKind::kFloorDiv:
      return "floordiv";
    case SizeExpr::AtomKind::kMax:
      return "max";
    case SizeExpr::AtomKind::kMin:
      return "min";
    case SizeExpr::AtomKind::kSymbol:
      break;
  }
  return "?";
}

// Renders `expr` with `symbol` for symbols and `prefix` before the operators' names.
std::string Render(const std::vector<Term>& terms, std::string_view prefix,
                   const std::function<std::string(SymbolId)>& symbol,
                   const std::function<std::string(const SizeExpr&)>& nested) {
  std::string out;
  for (const Term& t : terms) {
    // A sum's later terms carry their sign in front; the first one has it in its coefficient.
    const bool minus = !out.empty() && t.coef < 0 && !t.atoms.empty();
    if (!out.empty() && t.coef > 0) out += "+";
    if (minus) out += "-";
    std::string factors;
    for (const Atom& atom : t.atoms) {
      if (!factors.empty()) factors += "*";
      factors += atom.kind == SizeExpr::AtomKind::kSymbol
                     ? symbol(atom.symbol)
                     : absl::StrCat(ToAbsl(prefix), ToAbsl(AtomName(atom.kind)), "(",
                                    nested(atom.a), ",", nested(atom.b), ")");
    }
    if (factors.empty()) {
      absl::StrAppend(&out, t.coef);
    } else if (t.coef == 1 || (minus && t.coef == -1)) {
      out += factors;
    } else if (minus) {
      absl::StrAppend(&out, factors, "*", uint64_t{0} - static_cast<uint64_t>(t.coef));
    } else {
      absl::StrAppend(&out, factors, "*", t.coef);
    }
  }
  return out;
}

// 16 of "d/16", else 1.
int64_t PartOf(SymbolId symbol, absl::Span<const std::string> names) {
  const auto s = static_cast<size_t>(symbol);
  const size_t slash = s < names.size() ? names[s].find('/') : std::string::npos;
  return slash == std::string::npos ? 1 : std::max(1, std::atoi(names[s].c_str() + slash + 1));
}

// The whole of a part is printed as such where a term's coefficient holds it: (d/16)*32 as d*2.
// Takes it out of the coefficient and marks the atom by a symbol beyond the names.
void TakeWholes(absl::Span<const std::string> names, std::vector<Term>* terms) {
  for (Term& t : *terms) {
    for (Atom& atom : t.atoms) {
      if (atom.kind != SizeExpr::AtomKind::kSymbol) continue;
      const int64_t part = PartOf(atom.symbol, names);
      if (part == 1 || t.coef % part != 0) continue;
      t.coef /= part;
      atom.symbol += static_cast<SymbolId>(names.size());
    }
  }
}

std::string SymbolText(SymbolId symbol, absl::Span<const std::string> names) {
  const auto s = static_cast<size_t>(symbol);
  if (names.empty() || s >= 2 * names.size()) return absl::StrCat("s", s);
  const std::string& name = names[s % names.size()];
  const std::string whole = name.substr(0, name.find('/'));
  if (s >= names.size() || whole.size() == name.size()) return whole;
  return absl::StrCat("floordiv(", whole, ",", name.substr(whole.size() + 1), ")");
}

}  // namespace

std::string SizeExpr::ToString(absl::Span<const std::string> names) const {
  if (IsConstant()) return absl::StrCat(constant_);
  const auto nested = [&](const SizeExpr& e) { return e.ToString(names); };
  const bool parts = std::any_of(names.begin(), names.end(), [](const std::string& name) {
    return name.find('/') != std::string::npos;
  });
  if (!parts) {
    return Render(
        poly_->terms, "",
        [&](SymbolId s) {
          return static_cast<size_t>(s) < names.size() ? names[static_cast<size_t>(s)]
                                                       : absl::StrCat("s", s);
        },
        nested);
  }
  // Strides of a class of calls are symbols beyond the names, and must not be taken for wholes.
  std::vector<std::string> all(names.begin(), names.end());
  std::vector<SymbolId> symbols;
  CollectSymbols(&symbols);
  for (SymbolId s : symbols) {
    while (static_cast<size_t>(s) >= all.size()) all.push_back(absl::StrCat("s", all.size()));
  }
  std::vector<Term> terms = poly_->terms;
  TakeWholes(all, &terms);
  return Render(terms, "", [&](SymbolId s) { return SymbolText(s, all); }, nested);
}

std::string SizeExpr::ToC(const std::function<std::string(SymbolId)>& name) const {
  if (IsConstant()) return absl::StrCat(constant_);
  return absl::StrCat(
      "(", Render(poly_->terms, "jf_", name, [&](const SizeExpr& e) { return e.ToC(name); }), ")");
}

std::optional<SymbolId> SymbolTable::Find(std::string_view name) const {
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return static_cast<SymbolId>(i);
  }
  return std::nullopt;
}

SymbolId SymbolTable::FindOrAdd(std::string_view name) {
  if (auto found = Find(name)) return *found;
  names.emplace_back(name);
  return static_cast<SymbolId>(names.size() - 1);
}

SizeExpr NumElements(absl::Span<const Dim> dims) {
  SizeExpr n(1);
  for (const Dim& d : dims) n = n * d;
  return n;
}

Shape ContiguousStrides(absl::Span<const Dim> dims) {
  Shape strides(dims.size());
  SizeExpr s(1);
  for (size_t i = dims.size(); i-- > 0;) {
    strides[i] = s;
    s = s * dims[i];
  }
  return strides;
}

bool IsStatic(absl::Span<const Dim> dims) {
  return std::all_of(dims.begin(), dims.end(), [](const Dim& d) { return d.IsConstant(); });
}

std::string ShapeToString(absl::Span<const Dim> dims, absl::Span<const std::string> names) {
  std::string out = "[";
  for (size_t i = 0; i < dims.size(); ++i)
    absl::StrAppend(&out, i > 0 ? "," : "", dims[i].ToString(names));
  return out + "]";
}

std::vector<int64_t> EvalDims(absl::Span<const Dim> dims, absl::Span<const int64_t> symbols) {
  std::vector<int64_t> out;
  out.reserve(dims.size());
  for (const Dim& d : dims) out.push_back(d.Eval(symbols));
  return out;
}

std::optional<int64_t> CheckedNumElements(absl::Span<const int64_t> dims) {
  CheckedProduct n(1);
  for (int64_t d : dims) n.Times(d);
  return n.value();
}

std::vector<int64_t> ContiguousStrides(absl::Span<const int64_t> dims) {
  std::vector<int64_t> strides(dims.size());
  int64_t s = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    strides[i] = s;
    // Beside an extent of 0 the others may be of any size: the product wraps and is not used.
    s = static_cast<int64_t>(static_cast<uint64_t>(s) * static_cast<uint64_t>(dims[i]));
  }
  return strides;
}

}  // namespace jitfuse::internal
