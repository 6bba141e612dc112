// Windows (codegen/plan/window.h): a row's vectors begin where memory is aligned. `at` counts
// elements from the first vector's beginning, `shift` of which lie before the row, so that c = at -
// shift may be below zero, as an unsigned number: c + j is then still the element's, where it has
// one. Outside the row nothing is taken in or written; loads there are of words that hold an
// element of the row, or of none.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "codegen/cuda/emit_context.h"
#include "codegen/plan/window.h"
#include "ir/support/status.h"

namespace jitfuse::internal {

bool Emitter::UsesInner(const Affine& affine) const {
  const std::vector<IndexRun> runs = RunsOf(affine);
  return std::any_of(runs.begin(), runs.end(),
                     [](const IndexRun& run) { return run.space == Space::kInner; });
}

bool Emitter::UsesInner(const AccessMap& access) const {
  bool uses = UsesInner(access.linear);
  for (const IndexTerm& term : access.terms) uses |= UsesInner(term.linear);
  for (const AccessMask& mask : access.masks) {
    uses |= UsesInner(mask.linear);
    for (const IndexTerm& term : mask.terms) uses |= UsesInner(term.linear);
  }
  return uses;
}

AccessShape Emitter::WindowShape(const AccessMap& access) const {
  if (!UsesInner(access)) return {AccessKind::kUniform, 1, SizeExpr(0)};
  if (!FitsWindow(plan_, access, *window_, schedule_.vec)) return {};
  const int size = ItemSize(ParamType(access));
  return {AccessKind::kVector, std::min(schedule_.vec, 16 / size), SizeExpr(1)};
}

// Row: once its bases are known.
void Emitter::DeclareWindow() {
  DeclareRowBase(*window_);
  std::string base;
  for (const auto& [known, name] : row_bases_) {
    if (known == *window_) base = name;
  }
  const std::string last = Unsigned(schedule_.vec - 1);
  out_.Line("const ", index_type_, " shift = ",
            base.empty() ? Unsigned(0) : absl::StrCat("(", index_type_, ")", base, " & ", last),
            ";");
  const std::string points = SizeText(inner_points_, false);
  out_.Line("const ", index_type_,
            " reach = ", inner_points_.IsConstant() ? "" : absl::StrCat(points, " == 0u ? 0u : "),
            points, " + shift;");
}

// Moves the loop's index into the window, if there is one.
bool Emitter::InWindow(Loop* loop) const {
  if (!schedule_.window) return false;
  loop->window = true;
  loop->at = loop->index_at;
  loop->index_at = "at - shift";
  return true;
}

// Where the last word of a buffer is not whole, whether this vector lies before it; empty: always.
std::string Emitter::IsWhole(const AccessMap& access, const Point& point) {
  const SizeExpr end = *EndOf(plan_, access);
  if (end.KnownDivisor() % schedule_.vec == 0) return "";
  const std::string offset = OffsetFrom(access, point);
  return absl::StrCat("(", index_type_, ")(", offset.empty() ? "0" : offset, ") + ",
                      Unsigned(schedule_.vec), " <= ", SizeText(end, false));
}

// The elements of a buffer's last word, where that is not whole: one by one, by the few threads
// that have one, after the loads of all.
void Emitter::MendCutLoads(const Stage& stage, const Loop& loop, const std::string& item) {
  for (int id : stage.elem_insts) {
    if (inst(id).kind != Inst::Kind::kLoad) continue;
    const AccessMap& access = LoadAccess(inst(id));
    if (LoadShape(id, loop).kind != AccessKind::kVector) continue;
    const Point point = PointOf(loop, false);
    const std::string whole = IsWhole(access, point);
    if (whole.empty()) continue;
    // 8-byte elements are two words each.
    const int size = ItemSize(ParamType(access)), words = std::max(1, size / 4);
    const std::string left = absl::StrCat(SizeText(*EndOf(plan_, access), false), " - (",
                                          index_type_, ")(", OffsetFrom(access, point), ")");
    out_.Line("if (!(", whole, ")) r", id, item, " = jf_part", std::min(size, 4), "<",
              schedule_.vec * words, ">(", Address(access, point), ", (unsigned)(",
              words == 1 ? left : absl::StrCat("(", left, ") * ", words), "));");
  }
}

// A vector within the row in one piece, others element by element.
void Emitter::WindowStore(const Store& store, const AccessShape& shape, const Loop& loop,
                          const std::string& room) {
  const std::string points = SizeText(inner_points_, false), vec = Unsigned(schedule_.vec);
  const std::string guard = StoreGuard(store, PointOf(loop, false));
  if (!guard.empty()) out_.Block("if (", guard, ")");
  out_.Block("if (c < ", points, " && ", points, " - c >= ", vec, ")");
  VectorStore(store, shape, PointOf(loop, false), loop.vec, room);
  out_.End();
  out_.Block("else");
  out_.Line("#pragma unroll");
  out_.Block("for (int j = 0; j < ", schedule_.vec, "; ++j)");
  const std::string element = RoomFor(store, shape, loop.vec, room).element;
  out_.Line("if (c + j < ", points, ") ", Indexed(store.access, PointOf(loop, true)), " = ",
            CudaStoredValue(ParamType(store.access), element), ";");
  out_.End();
  out_.End();
  if (!guard.empty()) out_.End();
}

}  // namespace jitfuse::internal
