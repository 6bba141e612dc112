// Offsets, and what a vector of an access is: one wide word, one element for all, equally spaced
// elements, or whatever.
#include <algorithm>
#include <cstdint>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "codegen/cuda/emit_context.h"
#include "codegen/plan/window.h"
#include "ir/support/status.h"

namespace jitfuse::internal {
namespace {

// Two of these are in a register, and are converted together.
bool IsPaired(DType d) { return d == DType::kF16 || d == DType::kBF16; }

bool IsNonNegative(const SizeExpr& size) { return size.IsConstant() && size.constant() >= 0; }

bool IsNonNegative(const Affine& affine) {
  for (const auto& [axis, coef] : affine.coefs) {
    if (!IsNonNegative(coef)) return false;
  }
  return IsNonNegative(affine.constant);
}

bool IsNonNegative(const AccessMap& access) {
  for (const IndexTerm& term : access.terms) {
    if (!IsNonNegative(term.coef)) return false;
  }
  return IsNonNegative(access.linear);
}

bool Divides(int64_t divisor, const SizeExpr& size) { return size.KnownDivisor() % divisor == 0; }

// What is known of a sum at the first element of a vector, and how it goes on to the next elements.
struct Progress {
  bool regular = true;
  SizeExpr step;
  int64_t divisor = 0;  // of the first element's value; 0: it is 0

  void AddTerm(int64_t term_divisor) { divisor = std::gcd(divisor, term_divisor); }
};

Progress Along(const std::vector<IndexRun>& runs, const SizeExpr& constant, Space space, int vec) {
  Progress p;
  p.AddTerm(constant.KnownDivisor());
  for (const IndexRun& run : runs) {
    const int64_t coef = run.coef.KnownDivisor();
    if (run.space != space || Divides(vec, run.div)) {
      p.AddTerm(coef);
    } else if (run.div.Is(1) && (run.mod.Is(0) || Divides(vec, run.mod))) {
      p.step = p.step + run.coef;
      p.AddTerm(coef * vec);
    } else {
      p.regular = false;
    }
  }
  return p;
}

// A term coef * ((affine / div) % mod), where `inside` is the affine part.
void AddIndexTerm(const IndexTerm& term, const Progress& inside, int vec, Progress* sum) {
  const int64_t coef = term.coef.KnownDivisor();
  const bool aligned = inside.divisor % vec == 0;
  if (!inside.regular) {
    sum->regular = false;
  } else if (inside.step.Is(0) || (inside.step.Is(1) && aligned && Divides(vec, term.div))) {
    sum->AddTerm(coef);
  } else if (inside.step.Is(1) && aligned && term.div.Is(1) &&
             (term.mod.Is(0) || Divides(vec, term.mod))) {
    sum->step = sum->step + term.coef;
    sum->AddTerm(coef * vec);
  } else {
    sum->regular = false;
  }
}

}  // namespace

std::string Emitter::Unsigned(int64_t v) const {
  return absl::StrCat(v, plan_.offset_bits == 32 ? "u" : "ull");
}

std::string Emitter::SizeArg(const SizeExpr& size) {
  for (size_t k = 0; k < size_args_.size(); ++k) {
    if (size_args_[k] == size) return absl::StrCat("z", k);
  }
  size_args_.push_back(size);
  index_sizes_.push_back(false);
  return absl::StrCat("z", size_args_.size() - 1);
}

std::string Emitter::SizeText(const SizeExpr& size, bool is_signed) {
  if (size.IsConstant()) {
    if (!is_signed) return Unsigned(size.constant());
    return absl::StrCat(size.constant(), plan_.offset_bits == 32 ? "" : "ll");
  }
  const std::string arg = SizeArg(size);
  const size_t k = static_cast<size_t>(std::stoi(arg.substr(1)));
  index_sizes_[k] = true;
  return is_signed ? absl::StrCat("(", signed_type_, ")n", k) : absl::StrCat("n", k);
}

// Merges neighbouring axes a, a + 1 of a space where stride(a) = stride(a + 1) * extent(a + 1).
std::vector<IndexRun> Emitter::RunsOf(const Affine& affine) const {
  std::vector<SizeExpr> coef(static_cast<size_t>(plan_.num_parallel()) + plan_.inner.size());
  std::vector<IndexRun> runs;
  for (const auto& [axis, c] : affine.coefs) {
    if (axis == kIndirectAxis) {
      runs.push_back({Space::kIndirect, c, 1, 0, -1});
    } else {
      coef[static_cast<size_t>(axis)] = c;
    }
  }
  if (IsTile()) {
    for (size_t axis = 0; axis < coef.size(); ++axis) {
      if (!coef[axis].Is(0))
        runs.push_back({Space::kParallel, coef[axis], 1, 0, static_cast<int>(axis)});
    }
    return runs;
  }
  for (Space space : {Space::kParallel, Space::kInner}) {
    const int begin = space == Space::kParallel ? 0 : plan_.num_parallel();
    const int end =
        space == Space::kParallel ? plan_.num_parallel() : static_cast<int>(coef.size());
    SizeExpr div(1);
    int first = begin;  // the outermost axis that is more than one point
    while (first < end && plan_.extent(first).Is(1)) ++first;
    for (int axis = end - 1; axis >= first && !div.Is(0);) {
      if (plan_.extent(axis).Is(1)) {
        --axis;
        continue;
      }
      IndexRun run{space, coef[static_cast<size_t>(axis)], div, plan_.extent(axis), -1};
      int next = axis - 1;
      for (; next >= first; --next) {
        const SizeExpr& extent = plan_.extent(next);
        if (extent.Is(1)) continue;
        if (!(coef[static_cast<size_t>(next)] == run.coef * run.mod)) break;
        run.mod = run.mod * extent;
      }
      div = div * run.mod;
      if (next < first) run.mod = SizeExpr(0);
      if (!run.coef.Is(0)) runs.insert(runs.begin(), run);
      axis = next;
    }
  }
  return runs;
}

AccessShape Emitter::Shape(const AccessMap& access, const Loop& loop) const {
  if (loop.vec == 1) return {};
  if (loop.window) return WindowShape(access);
  const Space space = VectorSpace();
  Progress p = Along(RunsOf(access.linear), access.linear.constant, space, loop.vec);
  for (const IndexTerm& term : access.terms) {
    AddIndexTerm(term, Along(RunsOf(term.linear), term.linear.constant, space, loop.vec), loop.vec,
                 &p);
  }
  if (!p.regular) return {};
  for (const AccessMask& m : access.masks) {
    if (!IsOneOfVector(m, loop)) return {};
  }
  if (p.step.Is(0)) return {AccessKind::kUniform, 1, p.step};
  if (!p.step.Is(1) || !loop.elem_guard.empty()) {
    bool everywhere = access.masks.empty() && !access.indirect;
    return {everywhere ? AccessKind::kStrided : AccessKind::kElement, 1, p.step};
  }
  const Param& param = plan_.params[static_cast<size_t>(access.param)];
  const int size = ItemSize(param.dtype);
  int width = loop.vec;
  while (width > 1 &&
         (p.divisor % width != 0 || width * size > 16 || param.align % (width * size) != 0))
    width /= 2;
  return {AccessKind::kVector, width, p.step};
}

// Whether the mask holds for all or none of a vector's elements.
bool Emitter::IsOneOfVector(const AccessMask& mask, const Loop& loop) const {
  const Space space = VectorSpace();
  Progress p = Along(RunsOf(mask.linear), mask.linear.constant, space, loop.vec);
  for (const IndexTerm& term : mask.terms) {
    AddIndexTerm(term, Along(RunsOf(term.linear), term.linear.constant, space, loop.vec), loop.vec,
                 &p);
  }
  if (!p.regular) return false;
  if (p.step.Is(0)) return true;
  return p.step.Is(1) && p.divisor % loop.vec == 0 && Divides(loop.vec, mask.lo) &&
         Divides(loop.vec, mask.hi);
}

bool Emitter::IsUniform(const Affine& affine, const Loop& loop) const {
  if (loop.window) return !UsesInner(affine);
  const Space space = VectorSpace();
  Progress p = Along(RunsOf(affine), affine.constant, space, loop.vec);
  return p.regular && p.step.Is(0);
}

// A position that differs along the vector makes every element an access of its own.
AccessShape Emitter::LoadShape(int load, const Loop& loop) const {
  const Inst& i = inst(load);
  const AccessMap& access = LoadAccess(i);
  if (access.indirect && (inst(i.in[0]).elem || HasColumns(i.in[0])) &&
      !IsOnceAVector(i.in[0], loop))
    return {};
  if (loop.window && CrossesWindow(plan_, access, *window_, loop.vec))
    return {AccessKind::kVector, loop.vec, SizeExpr(1), /*between=*/true};
  const AccessShape shape = Shape(access, loop);
  if (shape.kind == AccessKind::kElement && Wraps(access, loop))
    return {AccessKind::kVector, loop.vec, SizeExpr(1), /*between=*/true, /*wraps=*/true};
  return shape;
}

// Of an access that walks a dense row again and again (the bias of rows that begin anywhere) how
// long the row is; 0: it does not. As a run of the plan's axes or, where they are one, as a term.
SizeExpr Emitter::WrapOf(const AccessMap& access) const {
  const auto walks = [](const std::vector<IndexRun>& runs, const SizeExpr& constant, bool whole) {
    return runs.size() == 1 && runs[0].div.Is(1) && runs[0].coef.Is(1) && constant.Is(0) &&
           runs[0].mod.Is(0) == whole;
  };
  if (!access.masks.empty() || access.indirect || access.terms.size() > 1) return 0;
  const std::vector<IndexRun> runs = RunsOf(access.linear);
  if (access.terms.empty())
    return walks(runs, access.linear.constant, false) ? runs[0].mod : SizeExpr(0);
  const IndexTerm& term = access.terms[0];
  const bool alone = runs.empty() && access.linear.constant.Is(0);
  if (!alone || !term.div.Is(1) || !term.coef.Is(1)) return 0;
  return walks(RunsOf(term.linear), term.linear.constant, true) ? term.mod : SizeExpr(0);
}

// Whether a vector of the loop lies in aligned pieces of such a row, or the row ends in it.
bool Emitter::Wraps(const AccessMap& access, const Loop& loop) const {
  const Param& param = plan_.params[static_cast<size_t>(access.param)];
  const int size = ItemSize(param.dtype), bytes = loop.vec * size;
  return !HasRows() && !IsTile() && (size == 2 || size == 4) && (bytes == 8 || bytes == 16) &&
         param.align >= bytes && !WrapOf(access).Is(0);
}

// A load at a position that is computed in the loop cannot be among those that come first.
bool Emitter::IsLate(int load) const {
  const Inst& i = inst(load);
  return LoadAccess(i).indirect.has_value() && inst(i.in[0]).elem;
}

// Whether a load stands beside the values: also where it would take twice the registers among
// those that come first. What lies so are the same few rows for all, which the caches hold.
bool Emitter::ComesLate(int load, const Loop& loop) const {
  return IsLate(load) || (LoadsApart(loop) && loop.vec > 1 && LoadShape(load, loop).between);
}

// Whether all elements of a vector have the same value, which is computed in this loop.
bool Emitter::IsOnceAVector(int id, const Loop& loop) const {
  std::vector<int> todo = {id};
  int steps = 0;
  while (!todo.empty()) {
    const int at = todo.back();
    todo.pop_back();
    const Inst& i = inst(at);
    if (HasColumns(at)) return false;
    if (!i.elem && HasRows()) continue;
    if (IsKept(at) || ++steps > 64) return false;
    switch (i.kind) {
      case Inst::Kind::kSegment:
        return false;
      case Inst::Kind::kLoad:
        if (Shape(LoadAccess(i), loop).kind != AccessKind::kUniform) return false;
        break;
      case Inst::Kind::kIndex: {
        Affine axis;
        axis.coefs.push_back({i.axis, SizeExpr(1)});
        if (!IsUniform(axis, loop)) return false;
        break;
      }
      default:
        break;
    }
    for (int in : i.in) {
      if (in >= 0) todo.push_back(in);
    }
  }
  return true;
}

// By instruction: needed for positions that a whole vector shares.
std::vector<bool> Emitter::PositionsOnceAVector(const Stage& stage, const Loop& loop) const {
  std::vector<bool> out(plan_.insts.size());
  if (loop.vec == 1) return out;
  for (size_t k = stage.elem_insts.size(); k-- > 0;) {
    const int id = stage.elem_insts[k];
    const Inst& i = inst(id);
    const bool gathers = i.kind == Inst::Kind::kLoad && IsLate(id) && IsOnceAVector(i.in[0], loop);
    if (gathers) out[static_cast<size_t>(i.in[0])] = true;
    if (!out[static_cast<size_t>(id)]) continue;
    for (int in : i.in) {
      if (in >= 0) out[static_cast<size_t>(in)] = true;
    }
  }
  return out;
}

std::string Emitter::Conditions(const AccessMap& access, const Point& point) {
  std::vector<std::string> all;
  for (const AccessMask& m : access.masks) {
    AccessMap value;
    value.linear = m.linear;
    value.linear.constant = value.linear.constant - m.lo;
    value.terms = m.terms;
    // Below zero is beyond every bound, as an unsigned number.
    std::string offset = Offset(value, point, Part::kAll);
    if (!IsNonNegative(value)) offset = absl::StrCat("(", index_type_, ")(", offset, ")");
    all.push_back(absl::StrCat(offset.empty() ? "0" : offset, " < ", SizeText(m.hi - m.lo, false)));
  }
  return absl::StrJoin(all, " && ");
}

std::string Emitter::StoreGuard(const Store& store, const Point& point) {
  const std::string conditions = Conditions(store.access, point);
  if (store_guard_.empty() || conditions.empty())
    return store_guard_.empty() ? conditions : store_guard_;
  return absl::StrCat(store_guard_, " && ", conditions);
}

Point Emitter::PointOfLoad(int load, const Point& point) {
  const Inst& i = inst(load);
  const AccessMap& access = LoadAccess(i);
  if (!access.indirect) return point;
  Point out = point;
  const std::string extent = access.indirect->IsConstant()
                                 ? absl::StrCat(access.indirect->constant(), "ll")
                                 : SizeArg(*access.indirect);
  out.position =
      absl::StrCat("(", index_type_, ")jf_position(", Operand(i.in[0]), ", ", extent, ")");
  return out;
}

std::string Emitter::Element(int load, const Point& point) {
  const AccessMap& access = LoadAccess(inst(load));
  const std::string conditions = Conditions(access, point);
  std::string element = Indexed(access, PointOfLoad(load, point));
  if (conditions.empty()) return element;
  return absl::StrCat("(", conditions, " ? ", element, " : (",
                      ToAbsl(CudaStoredType(ParamType(access))), ")0)");
}

std::string Emitter::Coordinate(const IndexRun& run, const Point& point) {
  if (run.space == Space::kIndirect) return point.position;
  if (run.axis >= 0) return absl::StrCat("a", run.axis);
  std::string text = run.space == Space::kParallel ? point.parallel : point.inner;
  if (run.space == Space::kParallel && !point.vector.empty() && run.div.Is(1) && !run.mod.Is(0) &&
      !run.mod.IsConstant())  // one remainder a vector, not one an element
    return absl::StrCat("jf_wrap(", point.vector, ", j, ", SizeText(run.mod, false), ")");
  if (!run.div.Is(1)) absl::StrAppend(&text, " / ", SizeText(run.div, false));
  if (!run.mod.Is(0)) absl::StrAppend(&text, " % ", SizeText(run.mod, false));
  return text;
}

namespace {
std::string Times(const std::string& text, const std::string& factor, const SizeExpr& coef) {
  return coef.Is(1) ? text : absl::StrCat(text, " * ", factor);
}
}  // namespace

// As a value of the unsigned index type; an affine of the plan is never negative, its parts may be.
std::string Emitter::AffineText(const Affine& affine, const Point& point) {
  const bool is_signed = !IsNonNegative(affine);
  std::vector<std::string> terms;
  for (const IndexRun& run : RunsOf(affine)) {
    std::string text = Coordinate(run, point);
    if (is_signed) text = absl::StrCat("(", signed_type_, ")(", text, ")");
    terms.push_back(Times(text, SizeText(run.coef, is_signed), run.coef));
  }
  if (terms.empty() || !affine.constant.Is(0))
    terms.push_back(SizeText(affine.constant, is_signed));
  const std::string sum = absl::StrJoin(terms, " + ");
  return is_signed ? absl::StrCat("(", index_type_, ")(", sum, ")") : sum;
}

std::string Emitter::Offset(const AccessMap& access, const Point& point, Part part) {
  const bool is_signed = !IsNonNegative(access);
  std::vector<std::string> terms;
  auto add = [&](std::string text, const SizeExpr& coef) {
    if (is_signed) text = absl::StrCat("(", signed_type_, ")(", text, ")");
    terms.push_back(Times(text, SizeText(coef, is_signed), coef));
  };
  auto wanted = [&](bool row) { return part == Part::kAll || (part == Part::kRow) == row; };
  for (const IndexRun& run : RunsOf(access.linear)) {
    if (wanted(run.space == Space::kParallel)) add(Coordinate(run, point), run.coef);
  }
  for (const IndexTerm& term : access.terms) {
    bool row = true;
    for (const IndexRun& run : RunsOf(term.linear)) row &= run.space == Space::kParallel;
    if (!wanted(row)) continue;
    std::string text = absl::StrCat("(", AffineText(term.linear, point), ")");
    if (!term.div.Is(1)) absl::StrAppend(&text, " / ", SizeText(term.div, false));
    if (!term.mod.Is(0)) absl::StrAppend(&text, " % ", SizeText(term.mod, false));
    add(text, term.coef);
  }
  if (wanted(true) && !access.linear.constant.Is(0))
    terms.push_back(SizeText(access.linear.constant, is_signed));
  return absl::StrJoin(terms, " + ");
}

// Row: the parallel axes' share of an offset is computed once.
void Emitter::DeclareRowBase(const AccessMap& access) {
  for (const auto& [known, name] : row_bases_) {
    if (known == access) return;
  }
  const std::string text = Offset(access, {"row", "c"}, Part::kRow);
  std::string name;
  if (!text.empty()) {
    std::string& known = row_base_names_[text];
    if (known.empty()) {
      known = absl::StrCat("b", row_base_names_.size() - 1);
      out_.Line("const ", IsNonNegative(access) ? index_type_ : signed_type_, " ", known, " = ",
                text, ";");
    }
    name = known;
  }
  row_bases_.emplace_back(access, name);
}

std::string Emitter::OffsetFrom(const AccessMap& access, const Point& point) {
  for (const auto& [known, name] : row_bases_) {
    if (!(known == access) || point.parallel != "row") continue;
    std::string rest = Offset(access, point, Part::kRest);
    if (name.empty()) return rest;
    return rest.empty() ? name : absl::StrCat(name, " + ", rest);
  }
  return Offset(access, point, Part::kAll);
}

std::string Emitter::Address(const AccessMap& access, const Point& point) {
  const std::string offset = OffsetFrom(access, point);
  if (offset.empty()) return absl::StrCat("p", access.param);
  return absl::StrCat(
      "p", access.param, " + ",
      offset.find(' ') == std::string::npos ? offset : absl::StrCat("(", offset, ")"));
}

std::string Emitter::Indexed(const AccessMap& access, const Point& point) {
  const std::string offset = OffsetFrom(access, point);
  return absl::StrCat("p", access.param, "[", offset.empty() ? "0" : offset, "]");
}

// The hint is for what is read once: an operand that is the same along a parallel axis (a weight)
// is left to the caches.
bool Emitter::NoAllocate(const AccessMap& access) const {
  const Param& p = plan_.params[static_cast<size_t>(access.param)];
  if (!schedule_.no_allocate || p.role != ParamRole::kInput || p.may_alias) return false;
  auto uses = [&](int axis) {
    auto in = [axis](const Affine& a) {
      return std::any_of(a.coefs.begin(), a.coefs.end(),
                         [axis](const auto& c) { return c.first == axis; });
    };
    return in(access.linear) || std::any_of(access.terms.begin(), access.terms.end(),
                                            [&](const IndexTerm& t) { return in(t.linear); });
  };
  for (int axis = 0; axis < plan_.num_parallel(); ++axis) {
    if (!plan_.extent(axis).Is(1) && !uses(axis)) return false;
  }
  return true;
}

// The prelude's struct of a vector that one instruction moves: of four 4-byte elements, or of four
// or eight 16-bit floats in words; empty for others. A front end is through with it sooner than
// with words. (Of 8-byte elements ptxas keeps part of it in local memory.)
std::string Emitter::StructType(const AccessMap& access, const AccessShape& shape, int vec) const {
  const DType dtype = ParamType(access);
  if (shape.kind != AccessKind::kVector || shape.width != vec || shape.between) return "";
  const bool known = ItemSize(dtype) == 4 ? vec == 4 : IsPaired(dtype) && (vec == 4 || vec == 8);
  return known ? absl::StrCat("jf_", ToAbsl(DTypeName(dtype)), "x", vec) : "";
}

std::string Emitter::RawType(const AccessMap& access, const AccessShape& shape, int vec) const {
  const DType dtype = ParamType(access);
  if (shape.kind != AccessKind::kVector) return std::string(CudaStoredType(dtype));
  if (std::string type = StructType(access, shape, vec); !type.empty() && !NoAllocate(access))
    return type;
  return absl::StrCat("jf_words<", (vec * ItemSize(dtype) + 3) / 4, ">");
}

std::string Emitter::RawLoad(int load, const AccessShape& shape, const Point& point, int vec) {
  if (shape.kind != AccessKind::kVector) return Element(load, point);
  const AccessMap& access = LoadAccess(inst(load));
  if (shape.wraps) return WrappedLoad(access, point, vec);
  if (shape.between) return BetweenLoad(access, point);
  const std::string type = RawType(access, shape, vec);
  const std::string address = Address(access, PointOfLoad(load, point));
  const int bytes = shape.width * ItemSize(ParamType(access));
  const bool hint = NoAllocate(access) && bytes >= 4;
  std::string value = type == StructType(access, shape, vec)
                          ? absl::StrCat("*(const ", type, "*)(", address, ")")
                          : absl::StrCat(hint ? "jf_ldna" : "jf_ld", bytes, "<", vec / shape.width,
                                         ">(", address, ")");
  const std::string conditions = Conditions(access, point);
  if (conditions.empty()) return value;
  return absl::StrCat(conditions, " ? ", value, " : ", type, "{}");
}

std::string Emitter::WrappedLoad(const AccessMap& access, const Point& point, int vec) {
  const int size = ItemSize(ParamType(access));
  return absl::StrCat("jf_wrapped<", vec * size / 4, ", ", size, ">(p", access.param, ", ",
                      point.parallel, ", ", SizeText(WrapOf(access), false), ")");
}

// Element j of what RawLoad gave as a vector.
std::string Emitter::VectorElement(const AccessMap& access, const AccessShape& shape, int vec,
                                   const std::string& raw) const {
  const std::string type = StructType(access, shape, vec);
  const DType dtype = ParamType(access);
  if (type.empty() || IsPaired(dtype) || RawType(access, shape, vec) != type)
    return absl::StrCat("jf_get_", ToAbsl(DTypeName(dtype)), "(", raw, ", j)");
  return absl::StrCat(raw, ".v[j]");
}

// Room for the elements of a vector store, named `name`, and element j of it.
Emitter::StoreRoom Emitter::RoomFor(const Store& store, const AccessShape& shape, int vec,
                                    const std::string& name) const {
  const std::string type = StructType(store.access, shape, vec);
  if (!type.empty() && !IsPaired(ParamType(store.access)))
    return {absl::StrCat(type, " ", name, ";"), absl::StrCat(name, ".v[j]")};
  return {absl::StrCat(ToAbsl(CudaType(ParamType(store.access))), " ", name, "[", vec, "];"),
          absl::StrCat(name, "[j]")};
}

void Emitter::VectorStore(const Store& store, const AccessShape& shape, const Point& point, int vec,
                          const std::string& room) {
  const std::string address = Address(store.access, point);
  const DType dtype = ParamType(store.access);
  if (std::string type = StructType(store.access, shape, vec); !type.empty()) {
    out_.Line("*(", type, "*)(", address, ") = ",
              IsPaired(dtype) ? absl::StrCat("jf_pack_", type.substr(3), "(", room, ")") : room,
              ";");
    return;
  }
  const std::string pack =
      IsFloat(dtype) ? absl::StrCat("_", ToAbsl(DTypeName(dtype))) : absl::StrCat(ItemSize(dtype));
  out_.Line("jf_st", shape.width * ItemSize(dtype), "<", vec / shape.width, ">(", address,
            ", jf_pack", pack, "(", room, "));");
}

}  // namespace jitfuse::internal
