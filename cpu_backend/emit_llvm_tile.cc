// Tiles: operands that lie contiguous along another axis than the outputs. The rows of a Flat
// kernel are taken in blocks along that axis, and each block in pieces of the vector axis, so that
// a cache line of such an operand serves a whole block while it is at hand. A row of the kernel's
// work is a block.
#include <algorithm>

#include "cpu_backend/emit_llvm_internal.h"

namespace jitfuse::internal {
namespace {

constexpr int64_t kPiece = 64;  // points of the vector axis, at least

}  // namespace

SizeExpr LlvmEmitter::TileRows() const {
  SizeExpr rows = CeilDiv(plan_.extent(plan_.cpu().tile_axis), plan_.cpu().tile);
  for (int axis = 0; axis < vector_axis_; ++axis) {
    if (axis != plan_.cpu().tile_axis) rows = rows * plan_.extent(axis);
  }
  return rows;
}

void LlvmEmitter::EmitTiles(const I64& row) {
  const int along = plan_.cpu().tile_axis;
  const int64_t tile = plan_.cpu().tile;
  const SizeExpr& extent = plan_.extent(along);
  const I64 blocks = Size(CeilDiv(extent, tile));
  I64 rest = text_.UDiv(row, blocks);
  for (int axis = vector_axis_ - 1; axis >= 0; --axis) {
    if (axis == along) continue;
    coordinates_[static_cast<size_t>(axis)] = text_.URem(rest, Size(plan_.extent(axis)));
    rest = text_.UDiv(rest, Size(plan_.extent(axis)));
  }
  const I64 first = text_.Mul(text_.URem(row, blocks), tile);
  const I64 end = text_.UMin(text_.Add(first, tile), Size(extent));
  const I64 col_end = I64::Named("%col_end");
  const int64_t step = int64_t{PickCopies()} * lanes_;
  const int64_t piece = (kPiece + step - 1) / step * step;
  LlvmText::Loop pieces = text_.BeginLoop(I64::Named("%col_begin"), col_end, piece, "pieces");
  const I64 piece_end = text_.UMin(text_.Add(pieces.index, piece), col_end);
  LlvmText::Loop points = text_.BeginLoop(first, end, 1, "block");
  coordinates_[static_cast<size_t>(along)] = points.index;
  EmitVectorLoop(0, pieces.index, piece_end);
  text_.EndLoop(points);
  text_.EndLoop(pieces);
}

}  // namespace jitfuse::internal
