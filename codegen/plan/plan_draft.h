// PlanDraft: a kernel plan while BuildPlan makes it.
//
// It differs from a finished plan in that: axes are those of the group's domain (uncollapsed);
// kIndex instructions read a whole index expression (index_exprs[size], axis -1; kIndirectAxis in
// it is the value of in[0]), so that axes may still be collapsed and reordered; row_insts and
// elem_insts are empty; avail says per instruction from which stage on its operands exist (a value
// made of the results of stage s has avail s + 1). Dead instructions may be present. AddInst makes
// every distinct instruction once.
#ifndef JITFUSE_CODEGEN_PLAN_PLAN_DRAFT_H_
#define JITFUSE_CODEGEN_PLAN_PLAN_DRAFT_H_

#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/hash/hash.h"
#include "codegen/plan/access_map.h"
#include "codegen/plan/kernel_plan.h"

namespace jitfuse::internal {

// Process-local hashes, for the memo tables of one BuildPlan call only.
inline size_t HashOf(const SizeExpr& e) {
  return e.IsConstant() ? absl::HashOf(e.constant()) : absl::HashOf(e.ToString());
}
inline size_t HashOf(const Affine& a) {
  size_t h = HashOf(a.constant);
  for (const auto& [axis, coef] : a.coefs) h = absl::HashOf(h, axis, HashOf(coef));
  return h;
}
inline size_t HashOf(const std::vector<IndexTerm>& terms) {
  size_t h = terms.size();
  for (const IndexTerm& t : terms)
    h = absl::HashOf(h, HashOf(t.linear), HashOf(t.div), HashOf(t.mod), HashOf(t.coef));
  return h;
}
inline size_t HashOf(const IndexExpr& e) {
  return absl::HashOf(HashOf(e.terms), HashOf(e.constant));
}
inline size_t HashOf(const IndexMap& m) {
  size_t h = absl::HashOf(m.coords.size(), m.masks.size());
  for (const IndexExpr& e : m.coords) h = absl::HashOf(h, HashOf(e));
  return h;
}
inline size_t HashOf(const AccessMap& a) {
  return absl::HashOf(a.param, HashOf(a.linear), HashOf(a.terms), a.masks.size());
}

// Each distinct value gets a number, in order of first appearance.
template <typename T>
class Interner {
 public:
  int Add(const T& value) {
    std::vector<int>& candidates = by_hash_[HashOf(value)];
    for (int id : candidates) {
      if (values_[static_cast<size_t>(id)] == value) return id;
    }
    candidates.push_back(static_cast<int>(values_.size()));
    values_.push_back(value);
    return candidates.back();
  }
  const T& at(int id) const { return values_[static_cast<size_t>(id)]; }
  std::vector<T>& values() { return values_; }
  const std::vector<T>& values() const { return values_; }

 private:
  std::vector<T> values_;
  absl::flat_hash_map<size_t, std::vector<int>> by_hash_;
};

// What makes an instruction distinct. kConvert's source type follows from its operand.
struct InstKey {
  Inst inst;
  auto Tie() const {
    const Inst& i = inst;
    return std::make_tuple(i.kind, i.op, i.dtype, i.elem, i.in[0], i.in[1], i.in[2], i.access,
                           i.order, i.axis, i.scalar, i.size, i.stage, i.reduce, i.which, i.scan,
                           i.bits);
  }
  friend bool operator==(const InstKey& a, const InstKey& b) { return a.Tie() == b.Tie(); }
  template <typename H>
  friend H AbslHashValue(H h, const InstKey& k) {
    return H::combine(std::move(h), k.Tie());
  }
};

struct PlanDraft {
  KernelPlan plan;
  Interner<AccessMap> accesses;  // become plan.accesses
  Interner<SizeExpr> sizes;      // become plan.sizes
  Interner<IndexExpr> index_exprs;
  std::vector<int> avail;  // by instruction

  int AddInst(const Inst& inst, int available) {
    auto [it, is_new] = cse_.try_emplace(InstKey{inst}, static_cast<int>(plan.insts.size()));
    if (is_new) {
      plan.insts.push_back(inst);
      avail.push_back(available);
    }
    return it->second;
  }
  const Inst& inst(int id) const { return plan.insts[static_cast<size_t>(id)]; }
  int AddConst(DType dtype, uint64_t bits, bool elem);
  int AddSize(const SizeExpr& size);  // an i64: a constant or a kSize
  // An i64; `position` is the value of kIndirectAxis.
  int AddIndex(const IndexExpr& e, int position = -1);
  int AddLoad(const AccessMap& access, int position = -1);  // position: of an indirect access
  int AddOp(ScalarOp op, DType dtype, absl::Span<const int> in);
  int AddConvert(int value, DType to);  // none if the register is already of that type
  int AddElem(int value);               // the value as an elem instruction
  bool DependsOnInner(const Affine& a) const;
  bool DependsOnInner(const Affine& a, const std::vector<IndexTerm>& terms) const;
  bool IsFlat() const { return plan.inner.empty(); }

 private:
  absl::flat_hash_map<InstKey, int> cse_;
};

}  // namespace jitfuse::internal

#endif  // JITFUSE_CODEGEN_PLAN_PLAN_DRAFT_H_
