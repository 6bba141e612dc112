// Sums of segments: a thread adds the elements of its own segment in the order of the positions, so
// that no order depends on which thread is first.
#include "absl/strings/str_cat.h"
#include "codegen/cuda/emit_context.h"

namespace jitfuse::internal {

void Emitter::SegmentStatement(int id, const Point& point) {
  const Inst& i = inst(id);
  const AccessMap &from = LoadAccess(i), &order = plan_.accesses[static_cast<size_t>(i.order)];
  const std::string type(CudaType(i.dtype)),
      sum = absl::StrCat("v", id), at = absl::StrCat("s", id), position = absl::StrCat("o", id);
  Point in_order = point, in_source = point;
  in_order.position = absl::StrCat("(", index_type_, ")", at);
  in_source.position = position;
  out_.Line(type, " ", sum, " = ", Operand(i.in[0]), ";");
  // Nothing is read where masks fail.
  const std::string conditions = Conditions(order, point);
  if (!conditions.empty()) out_.Block("if (", conditions, ")");
  out_.Block("for (long long ", at, " = ", Operand(i.in[1]), "; ", at, " < ", Operand(i.in[2]),
             "; ++", at, ")");
  if (from.indirect) {
    const std::string extent = from.indirect->IsConstant()
                                   ? absl::StrCat(from.indirect->constant(), "ll")
                                   : SizeArg(*from.indirect);
    out_.Line("const ", index_type_, " ", position, " = (", index_type_, ")jf_position(",
              Indexed(order, in_order), ", ", extent, ");");
  }
  const std::string in[2] = {sum, CudaLoadedValue(ParamType(from), Indexed(from, in_source))};
  out_.Line(sum, " = ", CudaOp(ScalarOp::kAdd, i.dtype, i.dtype, in), ";");
  out_.End();
  if (!conditions.empty()) out_.End();
}

}  // namespace jitfuse::internal
