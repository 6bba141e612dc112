#include "ir/text_types.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "ir/support/status.h"
#include "ir/text.h"

namespace jitfuse::internal {
namespace {

constexpr double kMaxMagnitude =
    0x1p62;  // of a coefficient, and of a type's element count as far as constants decide it

struct Function {
  std::string_view name;
  SizeExpr (*apply)(const SizeExpr&, const SizeExpr&);
};
constexpr Function kFunctions[] = {
    {"ceildiv", [](const SizeExpr& a, const SizeExpr& b) { return CeilDiv(a, b); }},
    {"floordiv", [](const SizeExpr& a, const SizeExpr& b) { return FloorDiv(a, b); }},
    {"max", [](const SizeExpr& a, const SizeExpr& b) { return Max(a, b); }},
    {"min", [](const SizeExpr& a, const SizeExpr& b) { return Min(a, b); }},
};

const Function* FindFunction(std::string_view name) {
  for (const Function& f : kFunctions) {
    if (f.name == name) return &f;
  }
  return nullptr;
}

// An expression with upper bounds of its normal form: number of terms, factors in a term, sum of
// |coefficients|.
struct Bounded {
  SizeExpr expr;
  int terms = 1;
  int factors = 0;
  double magnitude = 0;
};

// Recursive descent, at most kMaxDimNesting deep.
class DimReader {
 public:
  DimReader(TextCursor* cursor, SymbolScope* scope)
      : cursor_(*cursor), scope_(scope), begin_(cursor->Here().begin) {}

  absl::StatusOr<Bounded> Sum(int depth) {
    JF_ASSIGN_OR_RETURN(Bounded sum, Product(depth));
    while (true) {
      bool minus = cursor_.Peek() == '-';
      if (!cursor_.Accept("+") && !cursor_.Accept("-")) return sum;
      JF_ASSIGN_OR_RETURN(Bounded next, Product(depth));
      Bounded total{{},
                    sum.terms + next.terms,
                    std::max(sum.factors, next.factors),
                    sum.magnitude + next.magnitude};
      JF_RETURN_IF_ERROR(CheckSize(total));
      total.expr = minus ? sum.expr - next.expr : sum.expr + next.expr;
      sum = std::move(total);
    }
  }

 private:
  absl::StatusOr<Bounded> Product(int depth) {
    JF_ASSIGN_OR_RETURN(Bounded product, Factor(depth));
    while (cursor_.Accept("*")) {
      JF_ASSIGN_OR_RETURN(Bounded next, Factor(depth));
      Bounded total{{},
                    product.terms * next.terms,
                    product.factors + next.factors,
                    product.magnitude * next.magnitude};
      JF_RETURN_IF_ERROR(CheckSize(total));
      total.expr = product.expr * next.expr;
      product = std::move(total);
    }
    return product;
  }

  absl::StatusOr<Bounded> Factor(int depth) {
    if (depth >= kMaxDimNesting) {
      return cursor_.Error(
          cursor_.Here(),
          absl::StrCat("this dim is nested too deep; the limit is ", kMaxDimNesting));
    }
    char c = cursor_.Peek();
    if (c == '-' || (c >= '0' && c <= '9')) return Number();
    if (cursor_.Accept("(")) {
      JF_ASSIGN_OR_RETURN(Bounded inner, Sum(depth + 1));
      JF_RETURN_IF_ERROR(cursor_.Expect(")", "after the sum in parentheses"));
      return inner;
    }
    JF_ASSIGN_OR_RETURN(
        Word word, cursor_.ExpectIdentifier(
                       "a dim (a number, a symbol, ceildiv, floordiv, max, min or parentheses)"));
    if (const Function* function = FindFunction(word.text)) return Call(*function, depth);
    JF_ASSIGN_OR_RETURN(SizeExpr symbol, scope_->Lookup(&cursor_, word));
    return Bounded{std::move(symbol), 1, 1, 1};
  }

  absl::StatusOr<Bounded> Number() {
    JF_ASSIGN_OR_RETURN(Word word, cursor_.ExpectLiteral("a number"));
    int64_t v = 0;
    const char *begin = word.text.data(), *end = begin + word.text.size();
    auto result = std::from_chars(begin, end, v);
    if (result.ec == std::errc::result_out_of_range ||
        std::fabs(static_cast<double>(v)) > kMaxMagnitude) {
      return cursor_.Error(word.span, "this number is beyond 2^62, the limit of a dim");
    }
    if (result.ec != std::errc() || result.ptr != end)
      return cursor_.Error(word.span, "a dim takes decimal integers only");
    return Bounded{SizeExpr(v), 1, 0, std::fabs(static_cast<double>(v))};
  }

  absl::StatusOr<Bounded> Call(const Function& function, int depth) {
    JF_RETURN_IF_ERROR(cursor_.Expect("(", absl::StrCat("after ", ToAbsl(function.name))));
    JF_ASSIGN_OR_RETURN(Bounded a, Sum(depth + 1));
    JF_RETURN_IF_ERROR(
        cursor_.Expect(",", absl::StrCat("between the operands of ", ToAbsl(function.name))));
    TextSpan second = cursor_.Here();
    JF_ASSIGN_OR_RETURN(Bounded b, Sum(depth + 1));
    JF_RETURN_IF_ERROR(
        cursor_.Expect(")", absl::StrCat("after the operands of ", ToAbsl(function.name))));
    bool divides = function.name == "ceildiv" || function.name == "floordiv";
    if (divides && b.expr.IsConstant() && b.expr.constant() <= 0) {
      return cursor_.Error(
          second, absl::StrCat("expected a divisor of at least 1, found ", b.expr.ToString()));
    }
    // The result is a new atom or, where the normal form simplifies, a number or something no
    // larger than an operand.
    const bool same = a.expr == b.expr || (a.expr.IsConstant() && b.expr.IsConstant());
    const bool atom = divides ? !a.expr.DivExact(b.expr) && !same : !same;
    Bounded result{{}, 1, 1, 1};
    if (!atom)
      result = {{},
                std::max(a.terms, b.terms),
                std::max({1, a.factors, b.factors}),
                std::max({1.0, a.magnitude, b.magnitude})};
    JF_RETURN_IF_ERROR(CheckSize(result));
    result.expr = function.apply(a.expr, b.expr);
    return result;
  }

  absl::Status CheckSize(const Bounded& e) {
    TextSpan span = cursor_.Since(begin_);
    if (span.length > kMaxDimBytes) {
      return cursor_.Error(span, absl::StrCat("this dim has more than ", kMaxDimBytes, " bytes"));
    }
    if (e.terms > kMaxDimTerms) {
      return cursor_.Error(span, absl::StrCat("this dim has more than ", kMaxDimTerms,
                                              " terms when multiplied out"));
    }
    if (e.factors > kMaxDimFactors) {
      return cursor_.Error(span, absl::StrCat("this dim multiplies more than ", kMaxDimFactors,
                                              " symbols or functions"));
    }
    if (e.magnitude > kMaxMagnitude)
      return cursor_.Error(span, "this dim's numbers go beyond 2^62");
    return absl::OkStatus();
  }

  TextCursor& cursor_;
  SymbolScope* scope_;
  size_t begin_;
};

absl::StatusOr<Bounded> ReadBounded(TextCursor* cursor, SymbolScope* scope, int64_t lowest = 0) {
  TextSpan start = cursor->Here();
  JF_ASSIGN_OR_RETURN(Bounded dim, DimReader(cursor, scope).Sum(0));
  TextSpan span = cursor->Since(start.begin);
  if (dim.expr.IsConstant() && dim.expr.constant() < lowest) {
    return cursor->Error(
        span, absl::StrCat("expected a dim of at least ", lowest, ", found ", dim.expr.constant()));
  }
  return dim;
}

}  // namespace

bool IsSymbolName(std::string_view name) {
  return IsIdentifier(name) && FindFunction(name) == nullptr;
}

absl::StatusOr<SizeExpr> SymbolScope::Lookup(TextCursor* cursor, const Word& name) {
  if (auto known = table_->Find(name.text)) {
    if (bound_ && !(*bound_)[static_cast<size_t>(*known)])
      return Unbound(cursor, *known, name.span);
    return SizeExpr::Symbol(*known);
  }
  if (!open_) {
    std::vector<std::string_view> names(table_->names.begin(), table_->names.end());
    return cursor->Error(name.span, absl::StrCat("unknown symbol '", ToAbsl(name.text),
                                                 "'; symbols are those of the inputs' dims",
                                                 NearestHint(name.text, names)));
  }
  JF_RETURN_IF_ERROR(Declare(cursor, name));
  return SizeExpr::Symbol(*table_->Find(name.text));
}

absl::Status SymbolScope::Unbound(TextCursor* cursor, SymbolId id, TextSpan at) const {
  const std::string& name = table_->names[static_cast<size_t>(id)];
  return cursor->Error(
      at,
      absl::StrCat("symbol '", name,
                   "' is bound by no input: expected an input with a dim that is exactly ", name));
}

absl::Status SymbolScope::Declare(TextCursor* cursor, const Word& name) {
  if (!IsSymbolName(name.text)) {
    return cursor->Error(name.span, absl::StrCat("expected a symbol's name, found '",
                                                 ToAbsl(name.text), "', a function of dims"));
  }
  if (table_->Find(name.text))
    return cursor->Error(name.span,
                         absl::StrCat("symbol '", ToAbsl(name.text), "' is listed twice"));
  if (size() >= kMaxSymbols)
    return cursor->Error(name.span, absl::StrCat("more than ", kMaxSymbols, " symbols"));
  table_->FindOrAdd(name.text);
  first_use_.resize(table_->names.size(), name.span);
  return absl::OkStatus();
}

absl::StatusOr<Dim> ReadDim(TextCursor* cursor, SymbolScope* scope) {
  JF_ASSIGN_OR_RETURN(Bounded dim, ReadBounded(cursor, scope));
  return dim.expr;
}

absl::StatusOr<Shape> ReadDims(TextCursor* cursor, SymbolScope* scope, bool attribute) {
  size_t begin = cursor->Here().begin;
  JF_RETURN_IF_ERROR(cursor->Expect("[", "before the dims"));
  Shape dims;
  int terms = 1;
  int factors = 0;
  double elements = 1;
  while (!cursor->Accept("]")) {
    if (!dims.empty() && !cursor->Accept(",")) return cursor->Expected("',' or ']' after a dim");
    if (static_cast<int>(dims.size()) == kMaxRank) {
      return cursor->Error(cursor->Here(),
                           absl::StrCat("too many dims; the limit is rank ", kMaxRank));
    }
    JF_ASSIGN_OR_RETURN(
        Bounded dim,
        ReadBounded(cursor, scope, attribute ? std::numeric_limits<int64_t>::min() : 0));
    terms = std::min(terms * dim.terms, kMaxTypeTerms + 1);
    factors += dim.factors;
    elements *= std::max(1.0, dim.magnitude);
    dims.push_back(std::move(dim.expr));
  }
  TextSpan span = cursor->Since(begin);
  if (terms > kMaxTypeTerms || factors > kMaxRank * kMaxDimFactors) {
    return cursor->Error(span, absl::StrCat("the product of these dims has more than ",
                                            kMaxTypeTerms, " terms when multiplied out"));
  }
  if (elements > kMaxMagnitude) return cursor->Error(span, "more than 2^62 elements");
  return dims;
}

absl::StatusOr<DType> ReadDType(TextCursor* cursor) {
  JF_ASSIGN_OR_RETURN(Word word, cursor->ExpectIdentifier("a dtype (f32, bf16, i64, bool ...)"));
  if (auto dtype = ParseDType(word.text)) return *dtype;
  std::vector<std::string_view> names;
  for (int i = 0; i < kNumDTypes; ++i) names.push_back(DTypeName(static_cast<DType>(i)));
  return cursor->Error(word.span,
                       absl::StrCat("expected a dtype (f32, bf16, i64, bool ...), found '",
                                    ToAbsl(word.text), "'", NearestHint(word.text, names)));
}

absl::StatusOr<TensorType> ReadType(TextCursor* cursor, SymbolScope* scope) {
  TensorType type;
  JF_ASSIGN_OR_RETURN(type.dtype, ReadDType(cursor));
  JF_ASSIGN_OR_RETURN(type.dims, ReadDims(cursor, scope));
  return type;
}

absl::StatusOr<TensorType> ParseType(std::string_view text, SymbolTable* symbols) {
  TextCursor cursor(text);
  SymbolScope scope(symbols);
  JF_ASSIGN_OR_RETURN(TensorType type, ReadType(&cursor, &scope));
  if (!cursor.AtEnd()) return cursor.Expected("the end of the type");
  return type;
}

absl::StatusOr<Dim> ParseDim(std::string_view text, SymbolTable* symbols) {
  TextCursor cursor(text);
  SymbolScope scope(symbols);
  JF_ASSIGN_OR_RETURN(Dim dim, ReadDim(&cursor, &scope));
  if (!cursor.AtEnd()) return cursor.Expected("the end of the dim");
  return dim;
}

}  // namespace jitfuse::internal
