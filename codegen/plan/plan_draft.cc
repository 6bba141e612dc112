#include "codegen/plan/plan_draft.h"

#include <algorithm>

namespace jitfuse::internal {

bool PlanDraft::DependsOnInner(const Affine& a) const {
  return std::any_of(a.coefs.begin(), a.coefs.end(), [this](const auto& c) {
    return c.first >= plan.num_parallel() && c.first != kIndirectAxis;
  });
}

bool PlanDraft::DependsOnInner(const Affine& a, const std::vector<IndexTerm>& terms) const {
  return DependsOnInner(a) || std::any_of(terms.begin(), terms.end(), [this](const IndexTerm& t) {
           return DependsOnInner(t.linear);
         });
}

int PlanDraft::AddConst(DType dtype, uint64_t bits, bool elem) {
  Inst i;
  i.kind = Inst::Kind::kConst;
  i.dtype = dtype;
  i.bits = bits;
  i.elem = elem;
  return AddInst(i, 0);
}

int PlanDraft::AddSize(const SizeExpr& size) {
  if (size.IsConstant())
    return AddConst(DType::kI64, ScalarFromInt(DType::kI64, size.constant()).bits(), IsFlat());
  Inst i;
  i.kind = Inst::Kind::kSize;
  i.dtype = DType::kI64;
  i.size = sizes.Add(size);
  i.elem = IsFlat();
  return AddInst(i, 0);
}

int PlanDraft::AddIndex(const IndexExpr& e, int position) {
  if (e.terms.empty()) return AddSize(e.constant);
  Inst i;
  i.kind = Inst::Kind::kIndex;
  i.dtype = DType::kI64;
  i.size = index_exprs.Add(e);
  i.elem = IsFlat() || std::any_of(e.terms.begin(), e.terms.end(),
                                   [this](const IndexTerm& t) { return DependsOnInner(t.linear); });
  if (position < 0) return AddInst(i, 0);
  i.in[0] = position;
  i.elem = i.elem || inst(position).elem;
  return AddInst(i, avail[static_cast<size_t>(position)]);
}

int PlanDraft::AddLoad(const AccessMap& access, int position) {
  Inst i;
  i.kind = Inst::Kind::kLoad;
  i.dtype = ComputeType(plan.params[static_cast<size_t>(access.param)].dtype);
  i.access = accesses.Add(access);
  i.elem = IsFlat() || DependsOnInner(access.linear, access.terms) ||
           std::any_of(access.masks.begin(), access.masks.end(),
                       [this](const AccessMask& m) { return DependsOnInner(m.linear, m.terms); });
  if (position < 0) return AddInst(i, 0);
  i.in[0] = position;
  i.elem = i.elem || inst(position).elem;
  return AddInst(i, avail[static_cast<size_t>(position)]);
}

int PlanDraft::AddOp(ScalarOp op, DType dtype, absl::Span<const int> in) {
  Inst i;
  i.kind = Inst::Kind::kOp;
  i.op = op;
  i.dtype = dtype;
  i.elem = IsFlat();
  int available = 0;
  for (size_t k = 0; k < in.size(); ++k) {
    i.in[k] = in[k];
    i.elem = i.elem || inst(in[k]).elem;
    available = std::max(available, avail[static_cast<size_t>(in[k])]);
  }
  return AddInst(i, available);
}

int PlanDraft::AddConvert(int value, DType to) {
  bool rounds = to != ComputeType(to);
  if (!rounds && ComputeType(inst(value).dtype) == to) return value;
  if (inst(value).dtype == to) return value;  // already on that grid
  return AddOp(ScalarOp::kConvert, to, {value});
}

int PlanDraft::AddElem(int value) {
  if (inst(value).elem) return value;
  Inst i = inst(value);
  if (i.kind != Inst::Kind::kConst) {
    // The larger of a value and itself: a copy that every type has.
    i = Inst{};
    i.kind = Inst::Kind::kOp;
    i.op = ScalarOp::kMaximum;
    i.dtype = ComputeType(inst(value).dtype);
    i.in[0] = i.in[1] = value;
  }
  i.elem = true;
  return AddInst(i, avail[static_cast<size_t>(value)]);
}

}  // namespace jitfuse::internal
