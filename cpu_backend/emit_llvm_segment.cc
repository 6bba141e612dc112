// Sums of segments: a loop over the positions of one segment, in their order. Lanes are 1.
#include "cpu_backend/emit_llvm_internal.h"

namespace jitfuse::internal {

// The element that a lane's position gives, as a register.
std::string LlvmEmitter::ElementAt(const AccessMap& access, const Position& at, const I64& index,
                                   const Body& body) {
  std::string address = BaseAddress(access, at);
  if (!LaneSum(access.linear, access.terms, at, index, body).empty())
    address = Address(access, address, I64::Named(LaneOffsets(access, at, index, body)[0]));
  std::string holds = Splatted(ConditionOf(access, at, index, body), 1);
  return Decode(param(access).dtype, LoadLanes(access, {address}, holds), 1);
}

std::string LlvmEmitter::SegmentValue(int id, const I64& index, const Body& body) {
  const Inst& segment = inst(id);
  const AccessMap &from = access_of(id),
                  &order = plan_.accesses[static_cast<size_t>(segment.order)];
  const std::string type = RegisterType(segment.dtype, 1), sum = text_.Entry("alloca ", type);
  text_.Line("store ", type, " ", Operand(segment.in[0], 0, body), ", ptr ", sum);
  const std::string begin = Operand(segment.in[1], 0, body), end = Operand(segment.in[2], 0, body);
  LlvmText::Loop loop = text_.BeginLoop(I64::Named(begin), I64::Named(end), 1, "segment");
  Position at{.by_lane = true, .lanes = loop.index.text};
  if (from.indirect) at.lanes = InRange(ElementAt(order, at, index, body), *from.indirect, 1);
  const std::string before = text_.Value("load ", type, ", ptr ", sum);
  const std::string term = ElementAt(from, at, index, body);
  text_.Line("store ", type, " ",
             Apply(ScalarOp::kAdd, segment.dtype, segment.dtype, {before, term}, 1), ", ptr ", sum);
  text_.EndLoop(loop);
  return text_.Value("load ", type, ", ptr ", sum);
}

}  // namespace jitfuse::internal
