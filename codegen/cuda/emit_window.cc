// Windows (codegen/plan/window.h): rows that begin anywhere in memory. Vectors begin where memory
// is aligned: `head` elements behind the row's beginning, up to `tail`. The few elements before and
// behind them are taken one by one, each by a thread of its own: what a thread keeps of them lies
// behind what it keeps of its vectors. An operand that lies otherwise (a weight of the columns) is
// read as the aligned pieces of 8 bytes that hold a vector of the window, which is why the last one
// is left to the single elements. Of other rows at most what shares 8 bytes with this one is read,
// and nothing outside of the array.
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

std::string Emitter::BetweenLoad(const AccessMap& access, const Point& point) {
  const int size = ItemSize(ParamType(access));
  const std::string offset = OffsetFrom(access, point);
  return absl::StrCat("jf_between<", schedule_.vec * size / 4, ", ", size, ">(",
                      Address(access, point), ", (unsigned)(", offset.empty() ? "0" : offset,
                      ") & ", 8 / size - 1, "u)");
}

// Elements behind the vectors that these must leave, as the last piece of one may reach so far.
int Emitter::WindowSlack() const {
  int slack = 0;
  for (const Stage& stage : plan_.stages) {
    for (int id : stage.elem_insts) {
      if (inst(id).kind == Inst::Kind::kLoad &&
          CrossesWindow(plan_, LoadAccess(inst(id)), *window_, schedule_.vec))
        slack = std::max(slack, 8 / ItemSize(ParamType(LoadAccess(inst(id)))));
    }
  }
  return slack;
}

// The variable of where its rows begin; empty: all begin at 0.
std::string Emitter::WindowBase() const {
  for (const auto& [known, name] : row_bases_) {
    if (known == *window_) return name;
  }
  return "";
}

// Row: once its bases are known.
void Emitter::DeclareWindow() {
  DeclareRowBase(*window_);
  const std::string base = WindowBase(), points = SizeText(inner_points_, false);
  const std::string last = Unsigned(schedule_.vec - 1), none = Unsigned(0);
  const auto declare = [&](std::string_view name, const std::string& value) {
    out_.Line("const ", index_type_, " ", ToAbsl(name), " = ", value, ";");
  };
  if (base.empty()) {
    declare("head", none);
  } else {
    declare("before", absl::StrCat("(", none, " - (", index_type_, ")", base, ") & ", last));
    declare("head", absl::StrCat("before < ", points, " ? before : ", points));
  }
  const std::string room = absl::StrCat(points, " - head");
  if (const int slack = WindowSlack(); slack > 0) {
    declare("middle", absl::StrCat(room, " < ", Unsigned(slack), " ? ", none, " : (", room, " - ",
                                   Unsigned(slack), ") & ~", last));
  } else {
    declare("middle", absl::StrCat("(", room, ") & ~", last));
  }
  declare("tail", "head + middle");
}

// Elements of a row that no vector holds, at most.
int Emitter::MostEdges() const {
  return schedule_.window ? 2 * (schedule_.vec - 1) + WindowSlack() : 0;
}

// Those of a thread.
int Emitter::EdgeItems() const {
  return (MostEdges() + schedule_.threads_per_row - 1) / schedule_.threads_per_row;
}

// Those elements, by their places among the row's edges: first what is before `head`.
Loop Emitter::EdgeLoop() {
  Loop loop;
  loop.items = loop.kept_items = EdgeItems();
  loop.kept_from = std::max(1, schedule_.items * schedule_.vec);
  loop.batch = "e";
  const std::string edge =
      loop.items == 1 ? "lane" : absl::StrCat("(i * ", schedule_.threads_per_row, "u + lane)");
  loop.index = "c";
  loop.index_at = absl::StrCat(
      WindowBase().empty() ? "" : absl::StrCat(edge, " < head ? ", edge, " : "), "middle + ", edge);
  loop.guard = absl::StrCat("c < ", SizeText(inner_points_, false));
  return loop;
}

}  // namespace jitfuse::internal
