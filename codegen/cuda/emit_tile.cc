// Tile: operands that lie contiguous along another axis than the outputs. A block of threads takes
// a square of points: neighbouring threads first read neighbours of the transposed operands into
// shared memory (whose rows are padded, so that columns meet no bank twice), then, after a barrier,
// compute and store neighbours of the outputs. Here an axis has a variable of its own (a0, a1, ..)
// in place of shares of a linear index.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "codegen/cuda/emit_context.h"
#include "ir/support/status.h"

namespace jitfuse::internal {
namespace {

// Elements between rows of a tile: an odd number of words.
int Pitch(int tile, DType dtype) { return tile + std::max(1, 4 / ItemSize(dtype)); }

}  // namespace

bool Emitter::IsTiled(int load) const {
  if (!IsTile() || inst(load).kind != Inst::Kind::kLoad) return false;
  const std::vector<int> tiled = TransposedLoads(plan_, schedule_.tile_axis);
  return std::find(tiled.begin(), tiled.end(), inst(load).access) != tiled.end();
}

std::string Emitter::TileElement(int load, const std::string& row, const std::string& column) {
  const int pitch = Pitch(schedule_.tile, ParamType(LoadAccess(inst(load))));
  return absl::StrCat("s", inst(load).access, "[", row, " * ", pitch, "u + ", column, "]");
}

// The block's square: first points along the two axes, coordinates along all others.
void Emitter::TilePrologue(const std::string& across, const std::string& along) {
  const int last = plan_.num_parallel() - 1, other = schedule_.tile_axis;
  const SizeExpr side(schedule_.tile);
  grid_ = SizeExpr(1);
  std::string rest = "b";
  out_.Line("const ", index_type_, " b = blockIdx.x;");
  int step = 0;
  auto take = [&](const std::string& name, const SizeExpr& count, const std::string& scale) {
    grid_ = grid_ * count;
    // Of a grid without blocks no thread divides, but a compiler warns.
    const std::string many = SizeText(count.Is(0) ? SizeExpr(1) : count, false);
    out_.Line("const ", index_type_, " ", name, " = ", rest, " % ", many, scale, ";");
    const std::string next = absl::StrCat("b", ++step);
    out_.Line("const ", index_type_, " ", next, " = ", rest, " / ", many, ";");
    rest = next;
  };
  const std::string scale = absl::StrCat(" * ", Unsigned(schedule_.tile));
  take(along, CeilDiv(plan_.extent(last), side), scale);
  take(across, CeilDiv(plan_.extent(other), side), scale);
  for (int axis = last - 1; axis >= 0; --axis) {
    if (axis != other) take(absl::StrCat("a", axis), plan_.extent(axis), "");
  }
}

// One pass over the square: `fast` is the axis along which neighbouring threads are neighbours.
void Emitter::TilePass(int fast, int slow, const std::string& first_fast,
                       const std::string& first_slow, const std::function<void()>& body) {
  const int tile = schedule_.tile;
  out_.Line("{").Indent();
  out_.Line("const ", index_type_, " a", fast, " = ", first_fast, " + x;");
  out_.Line("#pragma unroll 4");
  out_.Block("for (unsigned i = y; i < ", tile, "u; i += ", schedule_.threads / tile, "u)");
  out_.Line("const ", index_type_, " a", slow, " = ", first_slow, " + i;");
  std::vector<std::string> inside;
  for (int axis : {fast, slow}) {
    const SizeExpr& extent = plan_.extent(axis);
    if (extent.KnownDivisor() % tile != 0)
      inside.push_back(absl::StrCat("a", axis, " < ", SizeText(extent, false)));
  }
  if (!inside.empty())
    out_.Block("if (", inside[0], inside.size() > 1 ? " && " : "",
               inside.size() > 1 ? inside[1] : "", ")");
  body();
  if (!inside.empty()) out_.End();
  out_.End();
  out_.End();
}

void Emitter::Tile() {
  const Stage& stage = plan_.stages[0];
  const int last = plan_.num_parallel() - 1, other = schedule_.tile_axis, tile = schedule_.tile;
  const std::vector<int> tiled = TransposedLoads(plan_, other);
  std::vector<int> loads;  // one instruction for each access
  for (int access : tiled) {
    loads.push_back(*std::find_if(stage.elem_insts.begin(), stage.elem_insts.end(), [&](int id) {
      return inst(id).kind == Inst::Kind::kLoad && inst(id).access == access;
    }));
  }
  TilePrologue("f", "e");
  out_.Line("const unsigned x = threadIdx.x % ", tile, "u;");
  out_.Line("const unsigned y = threadIdx.x / ", tile, "u;");
  for (int id : loads) {
    const DType dtype = ParamType(LoadAccess(inst(id)));
    out_.Line("__shared__ ", ToAbsl(CudaStoredType(dtype)), " s", inst(id).access, "[",
              tile * Pitch(tile, dtype), "];");
  }
  TilePass(other, last, "f", "e", [&] {
    for (int id : loads) out_.Line(TileElement(id, "i", "x"), " = ", Element(id, Point{}), ";");
  });
  out_.Line("__syncthreads();");
  TilePass(last, other, "e", "f", [&] {
    Loop loop;
    Element(stage, 0, loop, "");
  });
}

}  // namespace jitfuse::internal
