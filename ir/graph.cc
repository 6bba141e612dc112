#include "ir/graph.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "absl/strings/str_join.h"
#include "ir/infer.h"
#include "ir/op_enum.h"
#include "ir/scalar_expr.h"
#include "ir/support/check.h"
#include "ir/support/status.h"

namespace jitfuse::internal {
namespace {

bool IsIdentifier(std::string_view s) {
  auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  auto legal = [&](char c) { return letter(c) || (c >= '0' && c <= '9'); };
  return !s.empty() && letter(s[0]) && std::all_of(s.begin(), s.end(), legal);
}

void HashDim(const Dim& d, Hasher* h) {
  if (d.IsConstant()) {
    h->Int(0).Int(d.constant());
  } else {
    h->Int(1).String(d.ToString());  // without names: by the symbols' positions
  }
}

void HashType(const TensorType& type, Hasher* h) {
  h->Int(static_cast<int64_t>(type.dtype)).Int(static_cast<int64_t>(type.dims.size()));
  for (const Dim& d : type.dims) HashDim(d, h);
}

struct HashAttrValue {
  Hasher* h;
  void operator()(bool v) const { h->Int(v); }
  void operator()(int64_t v) const { h->Int(v); }
  void operator()(double v) const { h->Int(std::bit_cast<int64_t>(v)); }
  void operator()(DType v) const { h->Int(static_cast<int64_t>(v)); }
  void operator()(const std::vector<int64_t>& v) const {
    h->Int(static_cast<int64_t>(v.size()));
    for (int64_t i : v) h->Int(i);
  }
  void operator()(const std::vector<Dim>& v) const {
    h->Int(static_cast<int64_t>(v.size()));
    for (const Dim& d : v) HashDim(d, h);
  }
};

Hash128 HashNode(const Node& node, bool with_types) {
  Hasher h;
  h.String(node.def().name).Int(static_cast<int64_t>(node.in.size()));
  for (const Value& v : node.in) h.Int(v.node).Int(v.result);
  for (const Attr& a : node.attrs) {
    h.Int(static_cast<int64_t>(a.value.index()));  // 1.0 is no integer of the same bits
    std::visit(HashAttrValue{&h}, a.value);
  }
  // Types follow from the rest, but for constants and inputs.
  if (with_types || node.in.empty()) {
    for (const TensorType& t : node.types) HashType(t, &h);
  }
  return h.Finish();
}

// As ==, but floats by their bits, so that 0 and -0 stay apart and NaN equals itself.
bool SameAttr(const Attr& a, const Attr& b) {
  const double* x = std::get_if<double>(&a.value);
  const double* y = std::get_if<double>(&b.value);
  if (x != nullptr && y != nullptr)
    return std::bit_cast<uint64_t>(*x) == std::bit_cast<uint64_t>(*y);
  return a.value == b.value;
}

bool SameNode(const Node& a, const Node& b) {
  return a.op == b.op && a.in == b.in &&
         std::equal(a.attrs.begin(), a.attrs.end(), b.attrs.begin(), b.attrs.end(), SameAttr) &&
         std::equal(a.types.begin(), a.types.end(), b.types.begin(), b.types.end());
}

bool Mentions(const Dim& d, SymbolId s) {
  std::vector<SymbolId> symbols;
  d.CollectSymbols(&symbols);
  return std::find(symbols.begin(), symbols.end(), s) != symbols.end();
}

// The symbol that an input's dim of this form gives its value: n, or n*4 as graphs specialised to a
// class of calls have it.
std::optional<SymbolId> BoundSymbol(const Dim& d) {
  int64_t factor = d.KnownDivisor();
  std::optional<SizeExpr> rest = factor > 0 ? d.DivExact(factor) : std::nullopt;
  return rest ? rest->AsSymbol() : std::nullopt;
}

}  // namespace

absl::StatusOr<Value> Graph::AddSource(Op op, std::string_view name, const TensorType& type) {
  std::string full = name.empty() ? absl::StrCat("arg", inputs_.size()) : std::string(name);
  if (!IsIdentifier(full)) {
    return InvalidArgument("input name '", full,
                           "': expected a letter or _, then letters, digits and _");
  }
  if (taken_names_.contains(full)) {
    return InvalidArgument("input name '", full,
                           "' is taken: expected a name of its own for each input");
  }
  if (absl::Status s = CheckType(type, symbols_.names); !s.ok())
    return Annotate(s, absl::StrCat("input ", full));
  for (const Dim& d : type.dims) {
    if (auto symbol = BoundSymbol(d)) {
      if (bound_.size() <= static_cast<size_t>(*symbol))
        bound_.resize(static_cast<size_t>(*symbol) + 1);
      bound_[static_cast<size_t>(*symbol)] = true;
    }
  }
  Node node{op, {type}, {}, {}};
  auto id = static_cast<NodeId>(nodes_.size());
  nodes_.push_back(std::move(node));
  inputs_.push_back(id);
  taken_names_.insert(full);
  input_names_.push_back(std::move(full));
  return Value{id, 0};
}

absl::StatusOr<Value> Graph::AddInput(std::string_view name, const TensorType& type) {
  return AddSource(Op::kInput, name, type);
}

absl::StatusOr<Value> Graph::AddScalar(std::string_view name, DType dtype) {
  return AddSource(Op::kScalar, name, {dtype, {}});
}

Value Graph::AddConstant(DType dtype, double v) {
  return AddConstantBits(dtype, ScalarFromDouble(dtype, v));
}

Value Graph::AddConstantInt(DType dtype, int64_t v) {
  return AddConstantBits(dtype, ScalarFromInt(dtype, v));
}

Value Graph::AddConstantBits(DType dtype, ScalarValue v) {
  v = ConvertScalar(ComputeType(dtype), dtype, v);
  Node node{Op::kConstant, {TensorType{dtype, {}}}, {}, {}};
  node.attrs.push_back({GetOp(Op::kConstant).attrs[0].name, std::bit_cast<int64_t>(v.bits())});
  return Intern(std::move(node));
}

ScalarValue Graph::ConstantValue(NodeId id) const {
  JF_CHECK(node(id).op == Op::kConstant);
  return ScalarValue::FromBits(std::bit_cast<uint64_t>(node(id).Get<int64_t>("bits")));
}

absl::Status Graph::CheckOperands(const OpDef& def, absl::Span<const Value> in) const {
  std::string_view maker = def.kind == OpKind::kInput      ? "AddInput"
                           : def.kind == OpKind::kScalar   ? "AddScalar"
                           : def.kind == OpKind::kConstant ? "AddConstant"
                                                           : "";
  if (!maker.empty())
    return InvalidArgument(ToAbsl(def.name), ": expected to be made by ", ToAbsl(maker));
  for (size_t i = 0; i < in.size(); ++i) {
    bool exists = in[i].node >= 0 && in[i].node < size() && in[i].result >= 0 &&
                  in[i].result < static_cast<int32_t>(node(in[i]).types.size());
    if (!exists) {
      return InvalidArgument(
          ToAbsl(def.name), ": operand ", i, " is value ", in[i].node, ".", in[i].result,
          ", which this graph does not have; expected a value of the same graph");
    }
  }
  return absl::OkStatus();
}

absl::Status Graph::CheckSymbolsBound(const OpDef& def, absl::Span<const TensorType> types,
                                      const Attrs& attrs) const {
  for (const Attr& a : attrs) {
    const auto* dims = std::get_if<std::vector<Dim>>(&a.value);
    if (dims == nullptr) continue;
    std::vector<SymbolId> symbols;
    for (const Dim& d : *dims) d.CollectSymbols(&symbols);
    for (SymbolId s : symbols) {
      auto i = static_cast<size_t>(s);
      if (i < bound_.size() && bound_[i]) continue;
      std::string name = i < symbols_.names.size() ? symbols_.names[i] : absl::StrCat("s", i);
      return InvalidArgument(CallToString(def, types, symbols_.names), ": symbol ", name, " in ",
                             ToAbsl(a.name), "=", ShapeToString(*dims, symbols_.names),
                             " is no input's size; expected an input with a dim that is exactly ",
                             name);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Value> Graph::Add(Op op, absl::Span<const Value> in, Attrs attrs) {
  if (static_cast<size_t>(op) >= AllOps().size())
    return InvalidArgument("op number ", static_cast<int>(op), ": expected one of the table");
  const OpDef& def = GetOp(op);
  JF_RETURN_IF_ERROR(CheckOperands(def, in));
  std::vector<TensorType> operand_types;
  operand_types.reserve(in.size());
  for (const Value& v : in) operand_types.push_back(type(v));
  JF_RETURN_IF_ERROR(CheckArity(def, operand_types, symbols_.names));
  JF_ASSIGN_OR_RETURN(attrs, NormalizeAttrs(def, operand_types, attrs, symbols_.names));
  JF_RETURN_IF_ERROR(CheckSymbolsBound(def, operand_types, attrs));
  std::string where;
  InferContext context{def, operand_types, attrs, symbols_.names, [&](const Dim& a, const Dim& b) {
                         if (where.empty())
                           where = CallToString(def, operand_types, symbols_.names);
                         return Unify(a, b, where);
                       }};
  size_t guards_before = guards_.size();
  absl::StatusOr<ResultTypes> types = InferTypes(context);
  if (!types.ok()) {
    DropGuards(guards_before);
    return types.status();
  }
  // A size that guards hold to be constant is written so: one of 1 then broadcasts.
  for (TensorType& t : *types) {
    for (Dim& d : t.dims) {
      if (const Dim known = Canonical(d); known.IsConstant()) d = known;
    }
  }
  Node node{op, *std::move(types), {in.begin(), in.end()}, std::move(attrs)};
  RequireNonEmpty(node);
  return Intern(std::move(node));
}

Value Graph::Intern(Node node) {
  std::vector<NodeId>& candidates = consed_[HashNode(node, false)];
  for (NodeId id : candidates) {
    if (SameNode(nodes_[static_cast<size_t>(id)], node)) return {id, 0};
  }
  auto id = static_cast<NodeId>(nodes_.size());
  candidates.push_back(id);
  nodes_.push_back(std::move(node));
  return {id, 0};
}

absl::Status Graph::AddOutput(Value v) {
  if (v.node < 0 || v.node >= size() || v.result < 0 ||
      v.result >= static_cast<int32_t>(node(v).types.size())) {
    return InvalidArgument("output ", outputs_.size(), " is value ", v.node, ".", v.result,
                           ", which this graph does not have; expected a value of the same graph");
  }
  outputs_.push_back(v);
  return absl::OkStatus();
}

void Graph::InheritFrom(const Graph& from) {
  name_ = from.name_;
  symbols_ = from.symbols_;
  guards_ = from.guards_;
  nonempty_ = from.nonempty_;
  representative_ = from.representative_;
  same_ = from.same_;
}

namespace {

// Axes of operand 0 that together need an element: an empty max has no value, nor has a loss
// without classes.
std::vector<int64_t> NonEmptyAxes(const Node& node, size_t rank) {
  const OpDef& def = node.def();
  if (node.kind() == OpKind::kReduce && !def.reduce->empty_ok)
    return node.Get<std::vector<int64_t>>("axes");
  if (def.infer == &InferClassLoss || def.infer == &InferWithIndex)
    return {node.Get<int64_t>("axis")};
  std::vector<int64_t> all(def.infer == &InferOfAll ? rank : 0);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

}  // namespace

// Where the size is symbolic it shows only when a call binds that there is none.
void Graph::RequireNonEmpty(const Node& node) {
  if (node.in.empty()) return;
  const TensorType& x = type(node.in[0]);
  const std::vector<int64_t> axes = NonEmptyAxes(node, x.dims.size());
  if (axes.empty()) return;
  Dim count(1);
  for (int64_t axis : axes) count = count * x.dims[static_cast<size_t>(axis)];
  if (count.IsConstant()) return;
  auto same = [&](const Guard& g) { return g.a == count; };
  if (std::any_of(nonempty_.begin(), nonempty_.end(), same)) return;
  nonempty_.push_back({count, 0, CallToString(node.def(), {x}, symbols_.names)});
}

Dim Graph::Canonical(const Dim& d) const {
  if (d.IsConstant() || representative_.empty()) return d;
  return d.Substitute([&](SymbolId s) {
    return static_cast<size_t>(s) < representative_.size() ? representative_[static_cast<size_t>(s)]
                                                           : SizeExpr::Symbol(s);
  });
}

namespace {

// Of 4*q = 8: q = 2. As a call class writes a symbol that guards hold to be constant.
std::optional<std::pair<Dim, Dim>> Solved(const Dim& product, const Dim& value) {
  std::vector<SymbolId> symbols;
  product.CollectSymbols(&symbols);
  if (!value.IsConstant() || symbols.size() != 1) return std::nullopt;
  const Dim symbol = SizeExpr::Symbol(symbols[0]);
  const std::optional<Dim> factor = product.DivExact(symbol);
  if (!factor || !factor->IsConstant() || factor->Is(1)) return std::nullopt;
  const std::optional<Dim> quotient = value.DivExact(*factor);
  if (!quotient) return std::nullopt;
  return std::make_pair(symbol, *quotient);
}

}  // namespace

// Makes a and b, which are canonical and differ, one class.
void Graph::Equate(const Dim& a, const Dim& b) {
  for (const auto& solved : {Solved(a, b), Solved(b, a)}) {
    if (solved) return Equate(solved->first, solved->second);
  }
  if (const int64_t factor = std::gcd(a.KnownDivisor(), b.KnownDivisor()); factor > 1)
    return Equate(*a.DivExact(factor), *b.DivExact(factor));
  std::optional<SymbolId> x = a.AsSymbol();
  std::optional<SymbolId> y = b.AsSymbol();
  if (x && y && *x < *y) x.reset();  // the later symbol gives way to the earlier
  const Dim* to = &b;
  if (!x || Mentions(b, *x)) {
    if (!y || Mentions(a, *y)) {
      same_.emplace_back(a, b);
      return;
    }
    x = y;
    to = &a;
  }
  Dim target = *to;
  while (representative_.size() <= static_cast<size_t>(*x)) {
    representative_.push_back(SizeExpr::Symbol(static_cast<SymbolId>(representative_.size())));
  }
  auto replace = [&](const Dim& d) {
    return d.Substitute([&](SymbolId s) { return s == *x ? target : SizeExpr::Symbol(s); });
  };
  for (Dim& d : representative_) d = replace(d);
  for (auto& [p, q] : same_) {
    p = replace(p);
    q = replace(q);
  }
}

// Undoes what a failed Add has unified.
void Graph::DropGuards(size_t keep) {
  if (guards_.size() == keep) return;
  guards_.resize(keep);
  representative_.clear();
  same_.clear();
  for (const Guard& g : guards_) {
    if (!SameDim(g.a, g.b)) Equate(Canonical(g.a), Canonical(g.b));
  }
}

absl::StatusOr<Dim> Graph::Unify(const Dim& a, const Dim& b, const std::string& where) {
  const Dim& better =
      b.IsConstant() || (b.AsSymbol() && a.AsSymbol() && *b.AsSymbol() < *a.AsSymbol()) ? b : a;
  if (SameDim(a, b)) return better;
  Dim x = Canonical(a);
  Dim y = Canonical(b);
  if (x.IsConstant() && y.IsConstant()) {
    std::string known;
    for (const Guard& g : guards_) {
      absl::StrAppend(&known, known.empty() ? " (" : ", ", g.a.ToString(symbols_.names), " = ",
                      g.b.ToString(symbols_.names), " by ", g.where);
    }
    return InvalidArgument(where, ": sizes ", a.ToString(symbols_.names), " and ",
                           b.ToString(symbols_.names), " cannot be equal", known,
                           known.empty() ? "" : ")");
  }
  guards_.push_back({a, b, where});
  Equate(x, y);
  return better;
}

bool Graph::SameDim(const Dim& a, const Dim& b) const {
  if (a == b) return true;
  if (guards_.empty() || (a.IsConstant() && b.IsConstant())) return false;
  Dim x = Canonical(a);
  Dim y = Canonical(b);
  if (x == y) return true;
  // Classes among `same_` are followed breadth first; there is hardly ever an entry.
  std::vector<Dim> reached{x};
  std::vector<bool> used(same_.size(), false);
  for (size_t i = 0; i < reached.size(); ++i) {
    for (size_t k = 0; k < same_.size(); ++k) {
      if (used[k] || !(same_[k].first == reached[i] || same_[k].second == reached[i])) continue;
      used[k] = true;
      reached.push_back(same_[k].first == reached[i] ? same_[k].second : same_[k].first);
      if (reached.back() == y) return true;
    }
  }
  // Such sizes within others: of q = 3 follows q*3 = 9.
  Dim rest = x - y;
  for (const auto& [p, q] : same_) rest = rest.Reduce(p - q);
  return rest.Is(0);
}

bool Graph::SameShape(absl::Span<const Dim> a, absl::Span<const Dim> b) const {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](const Dim& x, const Dim& y) { return SameDim(x, y); });
}

namespace {

std::string Given(const std::string& name, const std::vector<int64_t>& dims) {
  return absl::StrCat("input ", name, " of shape [", absl::StrJoin(dims, ","), "]");
}

struct SymbolOrigin {
  const std::string* input = nullptr;
  size_t dim = 0;
};

// Takes symbol values from the dims of one input that are exactly a symbol.
absl::Status TakeSymbols(const std::string& name, const TensorType& type,
                         const std::vector<int64_t>& dims, const std::vector<std::string>& names,
                         std::vector<int64_t>* values, absl::Span<SymbolOrigin> origin) {
  auto expected = [&] { return TypeToString(type, names); };
  if (dims.size() != type.dims.size()) {
    return InvalidArgument(Given(name, dims), " has rank ", dims.size(), ", expected rank ",
                           type.dims.size(), " as in ", expected());
  }
  if (!CheckedNumElements(dims))
    return InvalidArgument(Given(name, dims), " has more elements than fit in 64 bits");
  for (size_t k = 0; k < dims.size(); ++k) {
    if (dims[k] < 0)
      return InvalidArgument(Given(name, dims), ": dim ", k, " is negative, expected ", expected());
    auto symbol = type.dims[k].AsSymbol();
    if (!symbol) continue;
    auto s = static_cast<size_t>(*symbol);
    if ((*values)[s] < 0) {
      (*values)[s] = dims[k];
      origin[s] = {&name, k};
    } else if ((*values)[s] != dims[k]) {
      return InvalidArgument(Given(name, dims), ": dim ", k, " is ", dims[k], ", expected ",
                             (*values)[s], " = ", names[s], " as in ", expected(), " (", names[s],
                             " comes from ", *origin[s].input, "'s dim ", origin[s].dim, ")");
    }
  }
  return absl::OkStatus();
}

// The size of a value of which a guard min(size, least) = least speaks; nullopt for other guards.
std::optional<Dim> SizeOfLeast(const Graph& graph, const Guard& guard) {
  if (!guard.b.IsConstant()) return std::nullopt;
  for (NodeId id = 0; id < graph.size(); ++id) {
    for (const TensorType& type : graph.node(id).types) {
      for (const Dim& d : type.dims) {
        if (!d.IsConstant() && Min(d, guard.b) == guard.a) return d;
      }
    }
  }
  return std::nullopt;
}

// The sizes come from outside: what they are multiplied to must fit before anything is evaluated.
absl::Status CheckFits(const Graph& graph, const SizeExpr& size, absl::Span<const int64_t> values) {
  if (size.CheckedEval(values)) return absl::OkStatus();
  return InvalidArgument(graph.name(), ": ", size.ToString(graph.symbols().names),
                         " does not fit 64 bits for the given sizes");
}

absl::Status CheckInputsFit(const Graph& graph, absl::Span<const int64_t> values) {
  for (NodeId id : graph.inputs()) {
    for (const Dim& d : graph.type({id, 0}).dims) JF_RETURN_IF_ERROR(CheckFits(graph, d, values));
  }
  return absl::OkStatus();
}

absl::Status CheckGuardsFit(const Graph& graph, absl::Span<const Guard> guards,
                            absl::Span<const int64_t> values) {
  for (const Guard& g : guards) {
    JF_RETURN_IF_ERROR(CheckFits(graph, g.a, values));
    JF_RETURN_IF_ERROR(CheckFits(graph, g.b, values));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<int64_t>> Graph::BindSymbols(
    absl::Span<const std::vector<int64_t>> input_dims) const {
  if (input_dims.size() != inputs_.size()) {
    return InvalidArgument(name_, " takes ", inputs_.size(), " input",
                           inputs_.size() == 1 ? "" : "s", ", got ", input_dims.size());
  }
  std::vector<int64_t> values(symbols_.names.size(), -1);
  absl::InlinedVector<SymbolOrigin, 8> origin(symbols_.names.size());
  for (size_t i = 0; i < inputs_.size(); ++i) {
    JF_RETURN_IF_ERROR(TakeSymbols(input_names_[i], node(inputs_[i]).types[0], input_dims[i],
                                   symbols_.names, &values, absl::MakeSpan(origin)));
  }
  for (int64_t& v : values) v = std::max<int64_t>(v, 0);  // a symbol that nothing uses
  JF_RETURN_IF_ERROR(CheckInputsFit(*this, values));
  JF_RETURN_IF_ERROR(CheckGuardsFit(*this, guards_, values));
  JF_RETURN_IF_ERROR(CheckGuardsFit(*this, nonempty_, values));
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const TensorType& type = node(inputs_[i]).types[0];
    for (size_t k = 0; k < type.dims.size(); ++k) {
      int64_t expected = type.dims[k].Eval(values);
      if (input_dims[i][k] == expected) continue;
      std::string why = type.dims[k].IsConstant()
                            ? ""
                            : absl::StrCat(" = ", type.dims[k].ToString(symbols_.names));
      return InvalidArgument(Given(input_names_[i], input_dims[i]), ": dim ", k, " is ",
                             input_dims[i][k], ", expected ", expected, why, " as in ",
                             TypeToString(type, symbols_.names));
    }
  }
  for (const Guard& g : guards_) {
    int64_t a = g.a.Eval(values);
    int64_t b = g.b.Eval(values);
    if (a == b) continue;
    if (std::optional<Dim> size = SizeOfLeast(*this, g))
      return InvalidArgument(name_, ": ", size->ToString(symbols_.names), " is ",
                             size->Eval(values), ", expected at least ", b, ", which ", g.where,
                             " needs");
    return InvalidArgument(name_, ": ", g.a.ToString(symbols_.names), " is ", a, " and ",
                           g.b.ToString(symbols_.names), " is ", b,
                           ", expected equal sizes, which ", g.where, " needs");
  }
  for (const Guard& g : nonempty_) {
    if (g.a.Eval(values) != 0) continue;
    return InvalidArgument(name_, ": ", g.a.ToString(symbols_.names),
                           " is 0, expected at least 1: ", g.where, " has no value over nothing");
  }
  return values;
}

Hash128 Graph::Fingerprint() const {
  Hasher h;
  for (const Node& n : nodes_) h.Hash(HashNode(n, true));
  h.Int(static_cast<int64_t>(outputs_.size()));
  for (const Value& v : outputs_) h.Int(v.node).Int(v.result);
  for (const Guard& g : guards_) {
    HashDim(g.a, &h);
    HashDim(g.b, &h);
  }
  return h.Finish();
}

std::vector<std::vector<NodeId>> ComputeUsers(const Graph& graph) {
  std::vector<std::vector<NodeId>> users(static_cast<size_t>(graph.size()));
  for (NodeId id = 0; id < graph.size(); ++id) {
    for (const Value& v : graph.node(id).in) {
      std::vector<NodeId>& of = users[static_cast<size_t>(v.node)];
      if (of.empty() || of.back() != id) of.push_back(id);
    }
  }
  return users;
}

}  // namespace jitfuse::internal
