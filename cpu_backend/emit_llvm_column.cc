// Columns: rows that lie side by side in memory. Lanes are neighbouring rows, so that everything
// that belongs to a row is a vector, and the inner points are a loop around the vector's loads. A
// chunk of work is a range of columns (of the last parallel axis), as in Flat; each vector of them
// goes through all stages.
#include <algorithm>
#include <limits>

#include "cpu_backend/emit_llvm_internal.h"
#include "ir/support/status.h"

namespace jitfuse::internal {

LlvmEmitter::Rest LlvmEmitter::PickColumnRest(int copies) const {
  const int64_t divisor = plan_.extent(vector_axis_).KnownDivisor();
  if (divisor % (int64_t{copies} * lanes_) == 0) return Rest::kNone;
  if (divisor % lanes_ == 0) return Rest::kVectors;
  if (!cpu_.avx2 && !cpu_.avx512) return Rest::kScalars;
  for (size_t i = 0; i < plan_.insts.size(); ++i) {
    const int id = static_cast<int>(i);
    if (inst(id).kind == Inst::Kind::kLoad && in_vector_[i] && !Maskable(access_of(id), false, id))
      return Rest::kScalars;
  }
  for (const Stage& stage : plan_.stages) {
    for (const Store& store : stage.stores) {
      if (!Maskable(store.access, true)) return Rest::kScalars;
    }
  }
  return Rest::kMasked;
}

// Full bodies first, then the rest, as in EmitVectorLoop.
void LlvmEmitter::EmitColumns(const I64& begin, const I64& end) {
  const int copies = PickCopies();
  const Rest rest = PickColumnRest(copies);
  const int64_t step = int64_t{copies} * lanes_;
  col_multiple_ = step;
  const SizeExpr& columns = plan_.extent(vector_axis_);
  I64 done = begin;
  auto bodies = [&](const I64& until, Body body) {
    LlvmText::Loop loop =
        text_.BeginLoop(done, until, int64_t{body.copies} * body.lanes, "columns");
    body.index = loop.index;
    if (body.masked) body.mask = MaskOf(body.index, body.limit, body.lanes);
    vector_.assign(static_cast<size_t>(body.copies), std::vector<std::string>(plan_.insts.size()));
    for (size_t s = 0; s < plan_.stages.size(); ++s) EmitColumnStage(static_cast<int>(s), body);
    text_.EndLoop(loop);
    done = until;
  };
  const bool may_be_full = !columns.IsConstant() || columns.constant() >= step;
  if (may_be_full) {
    const I64 left = text_.Sub(end, begin);
    const I64 full = text_.Mul(text_.UDiv(left, step), step);
    bodies(rest == Rest::kNone ? end : text_.Add(begin, full), {.lanes = lanes_, .copies = copies});
  }
  if (rest == Rest::kNone) return;
  if (rest == Rest::kScalars && copies > 1 && lanes_ > 1)
    bodies(text_.Add(begin, text_.RoundDown(text_.Sub(end, begin), lanes_)), {.lanes = lanes_});
  bodies(end, {.lanes = rest == Rest::kScalars ? 1 : lanes_,
               .masked = rest == Rest::kMasked,
               .limit = end});
}

void LlvmEmitter::EmitColumnStage(int s, const Body& body) {
  const Stage& stage = plan_.stages[static_cast<size_t>(s)];
  EmitColumnRow(stage.row_insts_before, body);
  const bool has_loop =
      !stage.elem_insts.empty() || !stage.reduces.empty() ||
      std::any_of(stage.stores.begin(), stage.stores.end(), [](const Store& t) { return t.elem; });
  if (has_loop) {
    const SizeExpr points = NumElements(plan_.inner);
    BeginColumnReduces(s, points, body);
    if (Blocked()) {
      LlvmText::Loop blocks = text_.BeginLoop(0, Size(points), kBlockIterations, "block");
      InitBlock();
      EmitColumnLoop(s, blocks.index,
                     text_.UMin(text_.Add(blocks.index, kBlockIterations), Size(points)), body);
      FlushBlock();
      text_.EndLoop(blocks);
    } else {
      EmitColumnLoop(s, 0, Size(points), body);
    }
    FinishColumnReduces(s, body);
  }
  EmitColumnRow(stage.row_insts_after, body);
  bases_.clear();
  for (const Store& store : stage.stores) {
    if (!store.elem) EmitColumnStore(store, body);
  }
}

// Row values: one per column, or one for all.
void LlvmEmitter::EmitColumnRow(const std::vector<int>& insts, const Body& body) {
  bases_.clear();
  splats_.clear();
  for (int i : insts) EmitColumnInst(i, body);
}

void LlvmEmitter::EmitColumnInst(int i, const Body& body) {
  const auto index = static_cast<size_t>(i);
  if (!in_vector_[index]) {
    EmitScalarInst(i);
    return;
  }
  for (int c = 0; c < body.copies; ++c) {
    std::string& value = vector_[static_cast<size_t>(c)][index];
    value.clear();
    if (inst(i).kind == Inst::Kind::kIndex) {
      (void)Operand(i, c, body);  // here, not where it is used first: that may be within a loop
    } else if (inst(i).kind == Inst::Kind::kResult) {
      value =
          column_results_[{inst(i).stage, inst(i).reduce, inst(i).which}][static_cast<size_t>(c)];
    } else {
      value = VectorInst(i, c, text_.Add(body.index, int64_t{c} * body.lanes), body);
    }
  }
}

void LlvmEmitter::EmitColumnStore(const Store& store, const Body& body) {
  for (int c = 0; c < body.copies; ++c) {
    StoreVector(store.access, Operand(store.value, c, body), TypeOf(store.value),
                text_.Add(body.index, int64_t{c} * body.lanes), body);
  }
}

// The inner points [begin, end), by their linear index.
void LlvmEmitter::EmitColumnLoop(int s, const I64& begin, const I64& end, const Body& body) {
  const Stage& stage = plan_.stages[static_cast<size_t>(s)];
  auto forget = [&] {  // what is computed in the loop is known only there
    bases_.clear();
    for (std::vector<std::string>& values : vector_) {
      for (size_t i = 0; i < values.size(); ++i) {
        if (plan_.insts[i].elem) values[i].clear();
      }
    }
  };
  forget();
  LlvmText::Loop loop = text_.BeginLoop(begin, end, 1, "inner points");
  SetCoordinates(loop.index, plan_.num_parallel(),
                 plan_.num_parallel() + static_cast<int>(plan_.inner.size()));
  kept_offset_ =
      plan_.keep.empty() ? I64(0) : text_.Mul(loop.index, int64_t{body.copies} * body.lanes);
  for (int i : stage.elem_insts) EmitColumnInst(i, body);
  for (size_t k = 0; k < reduces_.size(); ++k) {
    const Reduce& reduce = reduces_[k];
    const int c = static_cast<int>(k) % body.copies;
    Values in;
    for (int i : reduce.def->in) in.push_back(Operand(i, c, body));
    StoreSlots(reduce,
               Combine(reduce, LoadSlots(reduce, reduce.slots[0], body.lanes), in, body.lanes),
               reduce.slots[0], body.lanes);
  }
  for (int i : stage.elem_insts) {
    for (int c = 0; c < body.copies && kept_.contains(i); ++c) StoreKept(i, c, body);
  }
  for (const Store& store : stage.stores) {
    if (store.elem) EmitColumnStore(store, body);
  }
  text_.EndLoop(loop);
  forget();
}

// One Reduce for each reduction and copy, reductions outermost.
void LlvmEmitter::BeginColumnReduces(int s, const SizeExpr& points, const Body& body) {
  reduces_.clear();
  cascade_ = false;
  int64_t chain = std::numeric_limits<int64_t>::max(), blocks = chain;
  if (points.IsConstant()) {
    chain = points.constant();
    blocks = chain / kBlockIterations + 1;
  }
  for (const PlanReduce& def : plan_.stages[static_cast<size_t>(s)].reduces) {
    for (int c = 0; c < body.copies; ++c)
      reduces_.push_back(MakeReduce(def, body.lanes, 1, false, chain, blocks));
  }
  CountBlocks();
}

void LlvmEmitter::FinishColumnReduces(int s, const Body& body) {
  for (size_t k = 0; k < reduces_.size(); ++k) {
    const Values results = JoinBlocks(reduces_[k]);
    const int r = static_cast<int>(k) / body.copies;
    for (size_t j = 0; j < results.size(); ++j) {
      std::vector<std::string>& copies = column_results_[{s, r, static_cast<int>(j)}];
      copies.resize(static_cast<size_t>(body.copies));
      copies[k % static_cast<size_t>(body.copies)] = results[j];
    }
  }
  reduces_.clear();
}

}  // namespace jitfuse::internal
