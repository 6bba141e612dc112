// The parser: one pass over the text, each op added to the Graph as soon as its line is read.
#include "ir/text.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "ir/support/status.h"
#include "ir/text_cursor.h"
#include "ir/text_types.h"
#include "ir/value_names.h"

namespace jitfuse::internal {
namespace {

// A %name in use, or a literal whose dtype follows from its neighbours.
struct Operand {
  std::optional<Value> value;
  Word literal;
};

struct Definition {
  Value value;
  size_t pos;
};

// Whether an integer of 64 bits is the number that f64 made of it.
bool LosesNothing(DType whole, ScalarValue digits, double number) {
  return number < (whole == DType::kU64 ? 0x1p64 : 0x1p63) &&
         ScalarFromDouble(whole, number).bits() == digits.bits();
}

class GraphParser {
 public:
  explicit GraphParser(std::string_view text) : cursor_(text), scope_(&graph_.symbols()) {}

  absl::StatusOr<Graph> Parse(ValueNames* names = nullptr) {
    JF_RETURN_IF_ERROR(Signature());
    while (true) {
      if (cursor_.Peek() != '%') break;
      JF_RETURN_IF_ERROR(OpLine());
    }
    JF_RETURN_IF_ERROR(Return());
    if (names != nullptr) *names = NamesOfResults();
    return std::move(graph_);
  }

 private:
  // ---- graph name<n, m>(%x: f32[n], ...) -> (f32[n]) {
  absl::Status Signature() {
    JF_ASSIGN_OR_RETURN(Word keyword, cursor_.ExpectIdentifier("'graph'"));
    if (keyword.text != "graph")
      return cursor_.Error(keyword.span, "expected 'graph' at the beginning");
    JF_ASSIGN_OR_RETURN(Word name, cursor_.ExpectIdentifier("the graph's name"));
    graph_.set_name(name.text);
    if (cursor_.Accept("<")) JF_RETURN_IF_ERROR(Symbols());
    JF_RETURN_IF_ERROR(cursor_.Expect("(", "before the inputs"));
    bool first = true;
    while (!cursor_.Accept(")")) {
      if (!first && !cursor_.Accept(",")) return cursor_.Expected("',' or ')' after an input");
      first = false;
      JF_RETURN_IF_ERROR(Input());
    }
    scope_.Close();
    JF_RETURN_IF_ERROR(CheckSymbolsBound());
    JF_RETURN_IF_ERROR(cursor_.Expect("->", "after the inputs"));
    JF_RETURN_IF_ERROR(ResultTypes());
    return cursor_.Expect("{", "before the ops");
  }

  absl::Status Symbols() {
    while (true) {
      JF_ASSIGN_OR_RETURN(Word symbol, cursor_.ExpectIdentifier("a symbol's name"));
      JF_RETURN_IF_ERROR(scope_.Declare(&cursor_, symbol));
      if (cursor_.Accept(">")) break;
      if (!cursor_.Accept(",")) return cursor_.Expected("',' or '>' after a symbol");
    }
    scope_.Close();
    return absl::OkStatus();
  }

  absl::Status Input() {
    JF_ASSIGN_OR_RETURN(Word name, cursor_.ExpectName("an input (%name: type)"));
    if (graph_.size() >= kMaxInputs)
      return cursor_.Error(name.span, absl::StrCat("more than ", kMaxInputs, " inputs"));
    if (!IsIdentifier(name.text)) {
      return cursor_.Error(
          name.span,
          "expected an input's name to begin with a letter or '_'; numbers are for results");
    }
    JF_RETURN_IF_ERROR(cursor_.Expect(":", "after an input's name"));
    size_t begin = cursor_.Here().begin;
    JF_ASSIGN_OR_RETURN(Word word, cursor_.ExpectIdentifier("a type (f32[n,768], or scalar f32)"));
    absl::StatusOr<Value> value;
    if (word.text == "scalar") {
      JF_ASSIGN_OR_RETURN(DType dtype, ReadDType(&cursor_));
      value = graph_.AddScalar(name.text, dtype);
    } else {
      cursor_.set_position(begin);
      JF_ASSIGN_OR_RETURN(TensorType type, ReadType(&cursor_, &scope_));
      NoteBound(type);
      value = graph_.AddInput(name.text, type);
    }
    if (!value.ok()) return cursor_.Error(name.span, ToStd(value.status().message()));
    return Define(name, *value);
  }

  void NoteBound(const TensorType& type) {
    for (const Dim& dim : type.dims) {
      auto symbol = dim.AsSymbol();
      if (!symbol) continue;
      if (bound_.size() <= static_cast<size_t>(*symbol))
        bound_.resize(static_cast<size_t>(*symbol) + 1);
      bound_[static_cast<size_t>(*symbol)] = true;
    }
  }

  // Every symbol must be the whole dim of some input, or no call could tell its value.
  // Those of a list that no type has are allowed.
  absl::Status CheckSymbolsBound() {
    std::vector<SymbolId> used;
    for (NodeId id : graph_.inputs()) {
      for (const Dim& dim : graph_.node(id).types[0].dims) dim.CollectSymbols(&used);
    }
    bound_.resize(graph_.symbols().names.size());
    for (SymbolId s : used) {
      if (bound_[static_cast<size_t>(s)]) continue;
      return scope_.Unbound(&cursor_, s, scope_.FirstUse(s));
    }
    scope_.RequireBound(bound_);
    return absl::OkStatus();
  }

  absl::Status ResultTypes() {
    JF_RETURN_IF_ERROR(cursor_.Expect("(", "before the result types"));
    while (!cursor_.Accept(")")) {
      if (!results_.empty() && !cursor_.Accept(","))
        return cursor_.Expected("',' or ')' after a result type");
      size_t begin = cursor_.Here().begin;
      JF_ASSIGN_OR_RETURN(TensorType type, ReadType(&cursor_, &scope_));
      results_.push_back({std::move(type), cursor_.Since(begin)});
    }
    return absl::OkStatus();
  }

  // ---- %a, %b = op(%x, 0.5) {attr=value} : f32[n], f32[n]
  absl::Status OpLine() {
    std::vector<Word> names;
    do {
      JF_ASSIGN_OR_RETURN(Word name, cursor_.ExpectName("a result's name"));
      if (!names.empty() || defined_.contains(name.text)) JF_RETURN_IF_ERROR(CheckNew(name, names));
      names.push_back(name);
      if (names.size() > kMaxOperands) return cursor_.Error(name.span, "too many results");
    } while (cursor_.Accept(","));
    JF_RETURN_IF_ERROR(cursor_.Expect("=", "after the result's name"));
    JF_ASSIGN_OR_RETURN(Word op, cursor_.ExpectIdentifier("an op's name"));
    if (op.text == "constant") return Constant(names, op);
    JF_ASSIGN_OR_RETURN(const OpDef* def, FindOpNamed(op));
    JF_ASSIGN_OR_RETURN(std::vector<Operand> operands, Operands(*def));
    JF_ASSIGN_OR_RETURN(Attrs attrs, Attributes(*def));
    JF_RETURN_IF_ERROR(WrittenTypes());
    JF_ASSIGN_OR_RETURN(auto values, OperandValues(operands));
    absl::StatusOr<Value> value = graph_.Add(def->op, values, std::move(attrs));
    if (!value.ok()) return cursor_.Error(op.span, ToStd(value.status().message()));
    return DefineResults(names, op, *value);
  }

  absl::Status CheckNew(const Word& name, const std::vector<Word>& line) {
    for (const Word& other : line) {
      if (other.text == name.text)
        return cursor_.Error(
            name.span, absl::StrCat("%", ToAbsl(name.text), " is defined twice in this line"));
    }
    auto old = defined_.find(name.text);
    if (old == defined_.end()) return absl::OkStatus();
    return cursor_.Error(
        name.span, absl::StrCat("%", ToAbsl(name.text), " is already defined in line ",
                                cursor_.LineOf(old->second.pos), "; each name is defined once"));
  }

  absl::StatusOr<const OpDef*> FindOpNamed(const Word& op) {
    const OpDef* def = FindOp(op.text);
    bool source = def != nullptr && (def->kind == OpKind::kInput || def->kind == OpKind::kScalar);
    if (source)
      return cursor_.Error(op.span, absl::StrCat("expected an op; an ", ToAbsl(op.text),
                                                 " is written in the graph's signature"));
    if (def != nullptr) return def;
    std::vector<std::string_view> names;
    for (const OpDef* row : AllOps()) names.push_back(row->name);
    return cursor_.Error(
        op.span, absl::StrCat("unknown op '", ToAbsl(op.text), "'", NearestHint(op.text, names)));
  }

  absl::StatusOr<std::vector<Operand>> Operands(const OpDef& def) {
    JF_RETURN_IF_ERROR(
        cursor_.Expect("(", absl::StrCat("before the operands of ", ToAbsl(def.name))));
    std::vector<Operand> operands;
    while (!cursor_.Accept(")")) {
      if (!operands.empty() && !cursor_.Accept(","))
        return cursor_.Expected("',' or ')' after an operand");
      if (operands.size() >= kMaxOperands)
        return cursor_.Error(cursor_.Here(), "too many operands");
      Operand operand;
      if (cursor_.Peek() == '%') {
        JF_ASSIGN_OR_RETURN(Word name, cursor_.ExpectName("an operand"));
        JF_ASSIGN_OR_RETURN(operand.value, Use(name));
      } else {
        JF_ASSIGN_OR_RETURN(operand.literal,
                            cursor_.ExpectLiteral("an operand (%name or a number)"));
      }
      operands.push_back(operand);
    }
    return operands;
  }

  absl::StatusOr<Value> Use(const Word& name) {
    auto found = defined_.find(name.text);
    if (found != defined_.end()) return found->second.value;
    std::vector<std::string_view> names;
    for (const auto& [known, definition] : defined_) names.push_back(known);
    std::sort(names.begin(), names.end());
    return cursor_.Error(name.span, absl::StrCat("%", ToAbsl(name.text), " is not defined above",
                                                 NearestHint(name.text, names)));
  }

  // Literals take the dtype of the first named operand that is not bool (else of the first one) and
  // become constants here.
  absl::StatusOr<absl::InlinedVector<Value, 4>> OperandValues(
      const std::vector<Operand>& operands) {
    absl::InlinedVector<Value, 4> values;
    std::optional<DType> dtype;
    for (const Operand& operand : operands) {
      if (operand.value && (!dtype || *dtype == DType::kBool))
        dtype = graph_.type(*operand.value).dtype;
    }
    for (const Operand& operand : operands) {
      if (operand.value) {
        values.push_back(*operand.value);
        continue;
      }
      if (!dtype) {
        return cursor_.Error(
            operand.literal.span,
            "a number takes its dtype from the op's other operands, and none is a %name; "
            "write %c = constant {value=...} : f32[] above");
      }
      JF_ASSIGN_OR_RETURN(Value constant, AddLiteral(*dtype, operand.literal));
      values.push_back(constant);
    }
    return values;
  }

  absl::StatusOr<Value> AddLiteral(DType dtype, const Word& literal) {
    absl::StatusOr<ScalarValue> value = ParseLiteral(dtype, literal.text);
    if (!value.ok()) return cursor_.Error(literal.span, ToStd(value.status().message()));
    if (IsFloat(dtype)) return graph_.AddConstant(dtype, ScalarToDouble(dtype, *value));
    return graph_.AddConstantInt(dtype, value->i);
  }

  // ---- {axes=[0,1], keepdims=true}
  absl::StatusOr<Attrs> Attributes(const OpDef& def) {
    Attrs attrs;
    if (!cursor_.Accept("{")) return attrs;
    while (!cursor_.Accept("}")) {
      if (!attrs.empty() && !cursor_.Accept(","))
        return cursor_.Expected("',' or '}' after an attribute");
      JF_ASSIGN_OR_RETURN(Word name, cursor_.ExpectIdentifier("an attribute's name"));
      JF_ASSIGN_OR_RETURN(const AttrDef* row, FindAttr(def, name));
      for (const Attr& attr : attrs) {
        if (attr.name == row->name)
          return cursor_.Error(name.span,
                               absl::StrCat("attribute '", ToAbsl(name.text), "' is given twice"));
      }
      JF_RETURN_IF_ERROR(cursor_.Expect("=", "after an attribute's name"));
      JF_ASSIGN_OR_RETURN(AttrValue value, AttributeValue(row->kind));
      attrs.push_back({row->name, std::move(value)});
    }
    return attrs;
  }

  absl::StatusOr<const AttrDef*> FindAttr(const OpDef& def, const Word& name) {
    std::vector<std::string_view> names;
    for (const AttrDef& attr : def.attrs) {
      if (attr.name == name.text) return &attr;
      names.push_back(attr.name);
    }
    std::string known;
    for (std::string_view n : names)
      absl::StrAppend(&known, known.empty() ? "; it has " : ", ", ToAbsl(n));
    if (known.empty()) known = "; it has none";
    return cursor_.Error(
        name.span, absl::StrCat(ToAbsl(def.name), " has no attribute '", ToAbsl(name.text), "'",
                                known, NearestHint(name.text, names)));
  }

  absl::StatusOr<AttrValue> AttributeValue(AttrKind kind) {
    switch (kind) {
      case AttrKind::kBool:
        return Literal<bool>(DType::kBool, "true or false", [](ScalarValue v) { return v.b; });
      case AttrKind::kInt:
        return Literal<int64_t>(DType::kI64, "an integer", [](ScalarValue v) { return v.i; });
      case AttrKind::kFloat:
        return Number();
      case AttrKind::kInts:
        return Ints();
      case AttrKind::kDType: {
        JF_ASSIGN_OR_RETURN(DType dtype, ReadDType(&cursor_));
        return AttrValue(dtype);
      }
      case AttrKind::kDims: {
        JF_ASSIGN_OR_RETURN(Shape dims, ReadDims(&cursor_, &scope_, /*attribute=*/true));
        return AttrValue(std::vector<Dim>(dims.begin(), dims.end()));
      }
    }
    return cursor_.Error(cursor_.Here(), "this attribute cannot be written as text");
  }

  template <typename T, typename Member>
  absl::StatusOr<AttrValue> Literal(DType dtype, std::string_view what, Member member) {
    JF_ASSIGN_OR_RETURN(Word literal, cursor_.ExpectLiteral(what));
    absl::StatusOr<ScalarValue> value = ParseLiteral(dtype, literal.text);
    if (!value.ok()) return cursor_.Error(literal.span, ToStd(value.status().message()));
    return AttrValue(std::in_place_type<T>, member(*value));
  }

  // An integer that f64 would round stays one: the op takes it or says why not.
  absl::StatusOr<AttrValue> Number() {
    JF_ASSIGN_OR_RETURN(Word literal, cursor_.ExpectLiteral("a number"));
    absl::StatusOr<ScalarValue> value = ParseLiteral(DType::kF64, literal.text);
    if (!value.ok()) return cursor_.Error(literal.span, ToStd(value.status().message()));
    const DType whole = literal.text[0] == '-' ? DType::kI64 : DType::kU64;
    const absl::StatusOr<ScalarValue> digits = ParseLiteral(whole, literal.text);
    if (!digits.ok() || LosesNothing(whole, *digits, value->f64)) return AttrValue(value->f64);
    if (whole == DType::kI64 || digits->i >= 0) return AttrValue(digits->i);
    return cursor_.Error(literal.span,
                         "this integer is beyond 2^63 and has more digits than f64 holds; a "
                         "constant operand holds them all");
  }

  absl::StatusOr<AttrValue> Ints() {
    JF_RETURN_IF_ERROR(cursor_.Expect("[", "before a list of integers"));
    std::vector<int64_t> ints;
    while (!cursor_.Accept("]")) {
      if (!ints.empty() && !cursor_.Accept(","))
        return cursor_.Expected("',' or ']' after an integer");
      if (ints.size() >= kMaxOperands)
        return cursor_.Error(cursor_.Here(), "too many integers in this list");
      JF_ASSIGN_OR_RETURN(AttrValue v, Literal<int64_t>(DType::kI64, "an integer",
                                                        [](ScalarValue s) { return s.i; }));
      ints.push_back(std::get<int64_t>(v));
    }
    return AttrValue(std::move(ints));
  }

  // ---- : f32[n,256], f32[n,1]
  absl::Status WrittenTypes() {
    written_.clear();
    JF_RETURN_IF_ERROR(cursor_.Expect(":", "and the result's type"));
    do {
      size_t begin = cursor_.Here().begin;
      JF_ASSIGN_OR_RETURN(TensorType type, ReadType(&cursor_, &scope_));
      written_.push_back({std::move(type), cursor_.Since(begin)});
      if (written_.size() > kMaxOperands)
        return cursor_.Error(written_.back().span, "too many types");
    } while (cursor_.Accept(","));
    return absl::OkStatus();
  }

  absl::Status Constant(const std::vector<Word>& names, const Word& op) {
    JF_RETURN_IF_ERROR(
        cursor_.Expect("{", "and the value of the constant: constant {value=0.5} : f32[]"));
    JF_ASSIGN_OR_RETURN(Word attr, cursor_.ExpectIdentifier("'value'"));
    if (attr.text != "value")
      return cursor_.Error(attr.span, "expected 'value', the one attribute of a constant");
    JF_RETURN_IF_ERROR(cursor_.Expect("=", "after 'value'"));
    JF_ASSIGN_OR_RETURN(Word literal, cursor_.ExpectLiteral("a number, true or false"));
    JF_RETURN_IF_ERROR(cursor_.Expect("}", "after the value"));
    JF_RETURN_IF_ERROR(WrittenTypes());
    if (!written_[0].type.dims.empty()) {
      return cursor_.Error(
          written_[0].span,
          absl::StrCat("expected a type of rank 0 for a constant, such as ",
                       ToAbsl(DTypeName(written_[0].type.dtype)), "[]; broadcast it afterwards"));
    }
    JF_ASSIGN_OR_RETURN(Value value, AddLiteral(written_[0].type.dtype, literal));
    return DefineResults(names, op, value);
  }

  absl::Status DefineResults(const std::vector<Word>& names, const Word& op, Value value) {
    const auto& types = graph_.node(value).types;
    if (names.size() != types.size() || written_.size() != types.size()) {
      return cursor_.Error(
          op.span, absl::StrCat(ToAbsl(op.text), " has ", types.size(), " result",
                                types.size() == 1 ? "" : "s", "; the line has ", names.size(),
                                " name", names.size() == 1 ? "" : "s", " and ", written_.size(),
                                " type", written_.size() == 1 ? "" : "s"));
    }
    for (size_t i = 0; i < names.size(); ++i) {
      Value result{value.node, static_cast<int32_t>(i)};
      JF_RETURN_IF_ERROR(CheckType(written_[i], result, absl::StrCat(ToAbsl(op.text), " gives ")));
      JF_RETURN_IF_ERROR(Define(names[i], result));
    }
    return absl::OkStatus();
  }

  // ---- return %y, %z }
  absl::Status Return() {
    JF_ASSIGN_OR_RETURN(Word keyword, cursor_.ExpectIdentifier("an op (%name = ...) or 'return'"));
    if (keyword.text != "return")
      return cursor_.Error(keyword.span, "expected an op (%name = ...) or 'return'");
    size_t count = 0;
    for (; !cursor_.Accept("}"); ++count) {
      if (count > 0 && !cursor_.Accept(",")) return cursor_.Expected("',' or '}' after a result");
      JF_ASSIGN_OR_RETURN(Word name, cursor_.ExpectName("a result (%name) or '}'"));
      JF_ASSIGN_OR_RETURN(Value value, Use(name));
      if (count >= results_.size()) return CountError(name.span, count + 1);
      Written at_name{results_[count].type, name.span};
      JF_RETURN_IF_ERROR(CheckType(at_name, value, absl::StrCat("%", ToAbsl(name.text), " is ")));
      if (absl::Status s = graph_.AddOutput(value); !s.ok())
        return cursor_.Error(name.span, ToStd(s.message()));
    }
    if (count != results_.size()) return CountError(keyword.span, count);
    return cursor_.AtEnd() ? absl::OkStatus() : cursor_.Expected("the end of the text after '}'");
  }

  absl::Status CountError(TextSpan span, size_t count) {
    return cursor_.Error(
        span, absl::StrCat("expected ", results_.size(), " results as in the signature, found ",
                           count > results_.size() ? "more" : absl::StrCat(count)));
  }

  // ---- names and types
  // Several names may have become one value; the first in the text stays.
  ValueNames NamesOfResults() const {
    ValueNames out;
    absl::flat_hash_map<Value, size_t> at;
    for (const auto& [name, definition] : defined_) {
      const OpKind kind = graph_.node(definition.value).kind();
      if (kind == OpKind::kInput || kind == OpKind::kScalar) continue;
      auto [it, first] = at.emplace(definition.value, definition.pos);
      if (!first && it->second < definition.pos) continue;
      it->second = definition.pos;
      out[definition.value] = std::string(name);
    }
    return out;
  }

  absl::Status Define(const Word& name, Value value) {
    JF_RETURN_IF_ERROR(CheckNew(name, {}));
    defined_.emplace(name.text, Definition{value, name.span.begin});
    return absl::OkStatus();
  }

  struct Written {
    TensorType type;
    TextSpan span;
  };

  absl::Status CheckType(const Written& written, Value value, const std::string& front) {
    const TensorType& inferred = graph_.type(value);
    if (inferred == written.type) return absl::OkStatus();
    if (inferred.dtype == written.type.dtype && graph_.SameShape(inferred.dims, written.type.dims))
      return absl::OkStatus();
    return cursor_.Error(
        written.span,
        absl::StrCat("the written type is ", TypeToString(written.type, graph_.symbols().names),
                     ", but ", front, graph_.TypeString(value)));
  }

  TextCursor cursor_;
  Graph graph_;
  SymbolScope scope_;
  std::vector<bool> bound_;
  std::vector<Written> results_;  // of the signature
  std::vector<Written> written_;  // of the line at hand
  absl::flat_hash_map<std::string_view, Definition> defined_;
};

}  // namespace

absl::StatusOr<Graph> ParseGraph(std::string_view text) { return ParseGraph(text, nullptr); }

absl::StatusOr<Graph> ParseGraph(std::string_view text, ValueNames* names) {
  if (text.size() > kMaxTextBytes) {
    return InvalidArgument("the text has ", text.size(), " bytes; the limit is ", kMaxTextBytes);
  }
  if (text.substr(0, 3) == "\xef\xbb\xbf")
    return TextCursor(text).Error(
        {0, 3}, "expected graph text without a byte order mark (EF BB BF); save it as plain UTF-8");
  return GraphParser(text).Parse(names);
}

}  // namespace jitfuse::internal
