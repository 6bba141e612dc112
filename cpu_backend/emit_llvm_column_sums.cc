// Column sums: a core goes through a block of rows and adds each to the block's sums, which are a
// row of scratch memory that stays in its caches. Blocks are the units of parallel work.
#include <algorithm>

#include "cpu_backend/emit_llvm_internal.h"

namespace jitfuse::internal {

void LlvmEmitter::EmitBlock(const I64& block) {
  InitColumnSums(block);
  const I64 rows = Size(plan_.block_rows), first = text_.Mul(block, rows);
  const I64 end = text_.UMin(text_.Add(first, rows), Size(NumElements(plan_.parallel)));
  LlvmText::Loop loop = text_.BeginLoop(first, end, 1, "rows of a block");
  SetCoordinates(loop.index, 0, plan_.num_parallel());
  for (size_t s = 0; s < plan_.stages.size(); ++s) EmitStage(static_cast<int>(s));
  text_.EndLoop(loop);
}

void LlvmEmitter::InitColumnSums(const I64& block) {
  const I64 points = Size(NumElements(plan_.inner)), before = text_.Mul(block, points);
  auto at = [&](const std::string& base, DType dtype, const I64& offset) {
    return text_.Value("getelementptr ", RegisterType(dtype, 1), ", ptr ", base, ", i64 ",
                       offset.text);
  };
  for (const Stage& stage : plan_.stages) {
    for (const ColumnSum& sum : stage.column_sums) {
      for (size_t j = 0; j < sum.params.size(); ++j) {
        const DType dtype = sum.reduce.dtypes[j];
        const std::string base = at(buffers_[static_cast<size_t>(sum.params[j])], dtype, before);
        column_sums_[{&sum, j}] = base;
        LlvmText::Loop loop = text_.BeginLoop(0, points, 1, "places of a row");
        text_.Line("store ", RegisterType(dtype, 1), " ", ConstantOf(dtype, sum.reduce.init[j], 1),
                   ", ptr ", at(base, dtype, loop.index), ", align ", ItemSize(dtype));
        text_.EndLoop(loop);
      }
    }
  }
}

LlvmEmitter::Values LlvmEmitter::AddedTo(const Values& old, const ColumnSum& sum, int copy,
                                         const Body& body) {
  Reduce reduce;
  reduce.def = &sum.reduce;
  reduce.combine = ExpandDecomps(sum.reduce.combine, {.fma = cpu_.fma});
  Values in;
  for (int i : sum.reduce.in) in.push_back(Operand(i, copy, body));
  return Combine(reduce, old, in, body.lanes);
}

// A vector of sums from `address` on; lanes beyond a masked body's limit are left alone.
std::string LlvmEmitter::LoadSums(DType dtype, const std::string& address, const Body& body) {
  const std::string type = RegisterType(dtype, body.lanes);
  if (!body.masked)
    return text_.Value("load ", type, ", ptr ", address, ", align ", ItemSize(dtype));
  return text_.Value("call ", type, " @llvm.masked.load.", MemorySuffix(dtype, body.lanes),
                     ".p0(ptr ", address, ", i32 ", ItemSize(dtype), ", ",
                     VectorOf("i1", body.lanes), " ", body.mask, ", ", type, " zeroinitializer)");
}

void LlvmEmitter::StoreSums(DType dtype, const std::string& sums, const std::string& address,
                            const Body& body) {
  const std::string type = RegisterType(dtype, body.lanes);
  if (!body.masked) {
    text_.Line("store ", type, " ", sums, ", ptr ", address, ", align ", ItemSize(dtype));
    return;
  }
  text_.Line("call void @llvm.masked.store.", MemorySuffix(dtype, body.lanes), ".p0(", type, " ",
             sums, ", ptr ", address, ", i32 ", ItemSize(dtype), ", ", VectorOf("i1", body.lanes),
             " ", body.mask, ")");
}

void LlvmEmitter::AddToColumnSums(int s, const Body& body) {
  for (const ColumnSum& sum : plan_.stages[static_cast<size_t>(s)].column_sums) {
    const std::vector<DType>& dtypes = sum.reduce.dtypes;
    for (int c = 0; c < body.copies; ++c) {
      const I64 place = text_.Add(kept_offset_, text_.Add(body.index, int64_t{c} * body.lanes));
      Values addresses, old;
      for (size_t j = 0; j < dtypes.size(); ++j) {
        addresses.push_back(text_.Value("getelementptr ", RegisterType(dtypes[j], 1), ", ptr ",
                                        column_sums_[{&sum, j}], ", i64 ", place.text));
        old.push_back(LoadSums(dtypes[j], addresses[j], body));
      }
      const Values sums = AddedTo(old, sum, c, body);
      for (size_t j = 0; j < dtypes.size(); ++j) StoreSums(dtypes[j], sums[j], addresses[j], body);
    }
  }
}

}  // namespace jitfuse::internal
