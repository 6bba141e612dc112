// Streaming: vectors that are written past the caches, and prefetches of what they are made of.
#include <algorithm>
#include <numeric>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cpu_backend/emit_llvm_internal.h"

namespace jitfuse::internal {
namespace {

constexpr int64_t kStreamBytes = int64_t{48}
                                 << 20;  // beyond what a reader would find in the last-level cache
constexpr int kMaxStreamCost =
    40;  // issue slots per element, above which the core is busier than memory
constexpr int kLine = 64;
constexpr int64_t kMinSharedRow = 512;  // elements

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

// Issue slots per element, roughly.
int LlvmEmitter::StageCost(int s) const {
  const Stage& stage = plan_.stages[static_cast<size_t>(s)];
  int cost = static_cast<int>(stage.stores.size());
  for (int i : stage.elem_insts) {
    if (!in_vector_[static_cast<size_t>(i)]) continue;
    cost += inst(i).kind == Inst::Kind::kOp ? GetScalarOp(inst(i).op).cost : 1;
  }
  for (const PlanReduce& reduce : stage.reduces) {
    for (const ScalarInst& i : reduce.combine.insts) {
      if (i.op != ScalarOp::kArg && i.op != ScalarOp::kConst) cost += GetScalarOp(i.op).cost;
    }
  }
  return cost;
}

// How many of each `lines` lines of the next row each stage brings: as its share of the work, so
// that memory is asked evenly. One line, or a short row, is the last stage's.
std::vector<int> LlvmEmitter::PrefetchShares(int lines) const {
  const size_t stages = plan_.stages.size();
  std::vector<int> shares(stages);
  const SizeExpr width = plan_.extent(vector_axis_);
  if (lines == 1 || (width.IsConstant() && width.constant() < kMinSharedRow)) {
    shares.back() = lines;
    return shares;
  }
  std::vector<int> costs(stages), rests(stages);
  for (size_t s = 0; s < stages; ++s) costs[s] = StageCost(static_cast<int>(s));
  if (!MayStream(static_cast<int>(stages) - 1)) costs.back() = 0;  // it brings nothing
  const int total = std::max(1, std::accumulate(costs.begin(), costs.end(), 0));
  int left = lines;
  for (size_t s = 0; s < stages; ++s) {
    shares[s] = lines * costs[s] / total;
    rests[s] = lines * costs[s] % total;
    left -= shares[s];
  }
  for (; left > 0; --left) {
    const auto most = std::max_element(rests.begin(), rests.end()) - rests.begin();
    ++shares[static_cast<size_t>(most)];
    rests[static_cast<size_t>(most)] = -1;
  }
  return shares;
}

// While a row is worked on, memory has room to bring the next one, which nothing else asks for
// before this row is done: a row of a few thousand elements is read in less time than memory takes
// to answer and to become fast. The loop takes `copies` vectors at once.
void LlvmEmitter::PlanPrefetches(int s, const I64& begin, const I64& end, int copies) {
  prefetches_.clear();
  const int next_row = plan_.num_parallel() - 1;
  const bool last = s + 1 == static_cast<int>(plan_.stages.size());
  if (!plan_.IsRow() || next_row < 0 || plan_.stages.size() < 2 || (last && !MayStream(s))) return;
  for (int i : plan_.stages[0].elem_insts) {
    if (inst(i).kind != Inst::Kind::kLoad || !in_vector_[static_cast<size_t>(i)]) continue;
    const AccessMap& access = access_of(i);
    if (access.indirect || Classify(access) != Along::kContiguous) continue;
    const int item = ItemSize(param(access).dtype), bytes = copies * lanes_ * item;
    const int lines = bytes % kLine == 0 ? bytes / kLine : 1;
    const std::vector<int> shares = PrefetchShares(lines);
    const int mine = shares[static_cast<size_t>(s)];
    if (mine == 0) continue;
    const int before = std::accumulate(shares.begin(), shares.begin() + s, 0);
    for (const auto& [axis, coef] : access.linear.coefs) {
      if (axis != next_row) continue;
      std::string from = Address(access, BaseAddress(access, {}), Size(coef));
      if (before > 0) {
        const I64 bytes_before =
            text_.UDiv(text_.Mul(text_.Sub(end, begin), int64_t{before} * item), lines);
        from = text_.Value("getelementptr i8, ptr ", from, ", i64 ", bytes_before.text);
      }
      prefetches_.push_back({from, item, mine, lines});
    }
  }
}

// Into the second level, for the first one is in use.
void LlvmEmitter::EmitPrefetches(const Body& body) {
  for (const Prefetch& p : prefetches_) {
    const int scale = p.item_size * p.lines;
    const I64 first = scale % p.of == 0 ? text_.Mul(body.index, scale / p.of)
                                        : text_.UDiv(text_.Mul(body.index, scale), p.of);
    for (int line = 0; line < p.lines; ++line) {
      const I64 offset = text_.Add(first, int64_t{line} * kLine);
      const std::string address =
          text_.Value("getelementptr i8, ptr ", p.base, ", i64 ", offset.text);
      text_.Line("call void @llvm.prefetch.p0(ptr ", address, ", i32 0, i32 2, i32 1)");
    }
  }
}

}  // namespace jitfuse::internal
