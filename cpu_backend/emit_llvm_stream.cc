// Streaming: vectors that are written past the caches, and prefetches of what they are made of.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "cpu_backend/emit_llvm_internal.h"

namespace jitfuse::internal {
namespace {

constexpr int64_t kStreamBytes = int64_t{48}
                                 << 20;  // beyond what a reader would find in the last-level cache
constexpr int kMaxStreamCost =
    24;  // issue slots per element, above which the core is busier than memory

}  // namespace

// Whether the stage's full vectors may be written past the caches: it only stores, light work of
// contiguous vectors, and the outputs may be large. Large outputs written the plain way are first
// read (a third of a copy's traffic), and push everything else out of the caches.
bool LlvmEmitter::MayStream(int s) const {
  const Stage& stage = plan_.stages[static_cast<size_t>(s)];
  if (!stage.reduces.empty() || lanes_ == 1) return false;
  for (const Param& p : plan_.params) {
    if (p.may_alias) return false;  // in place, the lines are in the cache already
  }
  int stores = 0, cost = 0;
  for (const Store& store : stage.stores) {
    if (!IsVectorStore(store)) continue;
    int bytes = ItemSize(param(store.access).dtype) * lanes_;
    if (Classify(store.access) != Along::kContiguous || bytes < 16 || bytes > 64) return false;
    ++stores;
  }
  for (int i : stage.elem_insts) {
    if (inst(i).kind == Inst::Kind::kOp && in_vector_[static_cast<size_t>(i)])
      cost += GetScalarOp(inst(i).op).cost;
  }
  SizeExpr bytes = StoredBytes(s);
  return stores > 0 && cost <= kMaxStreamCost &&
         !(bytes.IsConstant() && bytes.constant() < kStreamBytes);
}

SizeExpr LlvmEmitter::StoredBytes(int s) const {
  SizeExpr bytes = 0, points = NumElements(plan_.parallel) * NumElements(plan_.inner);
  for (const Store& store : plan_.stages[static_cast<size_t>(s)].stores) {
    if (IsVectorStore(store)) bytes = bytes + points * ItemSize(param(store.access).dtype);
  }
  return bytes;
}

// i1: the outputs are large, and each store of a vector that begins at `begin` is aligned to its
// size.
std::string LlvmEmitter::StreamCondition(int s, const I64& begin) {
  std::string yes = text_.Value("icmp sge i64 ", Size(StoredBytes(s)).text, ", ", kStreamBytes);
  for (const Store& store : plan_.stages[static_cast<size_t>(s)].stores) {
    if (!IsVectorStore(store)) continue;
    std::string address =
        text_.Value("ptrtoint ptr ", Address(store.access, BaseOf(store.access), begin), " to i64");
    std::string low =
        text_.Value("and i64 ", address, ", ", ItemSize(param(store.access).dtype) * lanes_ - 1);
    yes = text_.Value("and i1 ", yes, ", ", text_.Value("icmp eq i64 ", low, ", 0"));
  }
  return yes;
}

// While the last stage streams out a row, memory has room to bring the next one, which nothing else
// asks for before this row is done.
void LlvmEmitter::PlanPrefetches(int s) {
  prefetches_.clear();
  int next_row = plan_.num_parallel() - 1;
  if (!plan_.IsRow() || next_row < 0 || s == 0 || s + 1 < static_cast<int>(plan_.stages.size()))
    return;
  for (int i : plan_.stages[0].elem_insts) {
    if (inst(i).kind != Inst::Kind::kLoad || !in_vector_[static_cast<size_t>(i)]) continue;
    const AccessMap& access = access_of(i);
    if (access.indirect || Classify(access) != Along::kContiguous) continue;
    for (const auto& [axis, coef] : access.linear.coefs) {
      if (axis == next_row)
        prefetches_.push_back(
            {Address(access, BaseAddress(access, {}), Size(coef)), ItemSize(param(access).dtype)});
    }
  }
}

// One per cache line; into the second level, for the first one is in use.
void LlvmEmitter::EmitPrefetches(const Body& body) {
  constexpr int kLine = 64;
  for (const Prefetch& p : prefetches_) {
    int vector_bytes = p.item_size * body.lanes;
    for (int c = 0; c < body.copies; ++c) {
      if (c > 0 && c * vector_bytes % kLine != 0) continue;
      I64 offset = text_.Mul(text_.Add(body.index, int64_t{c} * body.lanes), p.item_size);
      std::string address = text_.Value("getelementptr i8, ptr ", p.base, ", i64 ", offset.text);
      text_.Line("call void @llvm.prefetch.p0(ptr ", address, ", i32 0, i32 2, i32 1)");
    }
  }
}

}  // namespace jitfuse::internal
