#include "codegen/fusion/memory_plan.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ir/support/check.h"

namespace jitfuse::internal {
namespace {

int64_t AlignUp(int64_t bytes) { return (bytes + kBufferAlign - 1) / kBufferAlign * kBufferAlign; }

SizeExpr AlignUp(const SizeExpr& bytes) {
  if (bytes.IsConstant()) return AlignUp(bytes.constant());
  if (bytes.KnownDivisor() % kBufferAlign == 0) return bytes;
  return CeilDiv(bytes, SizeExpr(kBufferAlign)) * SizeExpr(kBufferAlign);
}

// Free stretches of the constant part, coalesced. The arena grows at its end when no stretch is
// large enough.
class FreeList {
 public:
  int64_t Take(int64_t bytes) {
    auto best = free_.end();
    for (auto it = free_.begin(); it != free_.end(); ++it) {
      if (it->second >= bytes && (best == free_.end() || it->second < best->second)) best = it;
    }
    return best == free_.end() ? Grow(bytes) : Carve(best, bytes);
  }

  void Give(int64_t offset, int64_t bytes) {
    auto next = free_.lower_bound(offset);
    if (next != free_.end() && offset + bytes == next->first) {
      bytes += next->second;
      next = free_.erase(next);
    }
    if (next != free_.begin()) {
      auto before = std::prev(next);
      if (before->first + before->second == offset) {
        before->second += bytes;
        return;
      }
    }
    free_[offset] = bytes;
  }

  int64_t end() const { return end_; }

 private:
  int64_t Carve(std::map<int64_t, int64_t>::iterator at, int64_t bytes) {
    auto [offset, room] = *at;
    free_.erase(at);
    if (room > bytes) free_[offset + bytes] = room - bytes;
    return offset;
  }

  // A free stretch that touches the end is used as the start of what grows.
  int64_t Grow(int64_t bytes) {
    int64_t offset = end_;
    if (!free_.empty()) {
      auto last = std::prev(free_.end());
      if (last->first + last->second == end_) {
        offset = last->first;
        free_.erase(last);
      }
    }
    end_ = offset + bytes;
    return offset;
  }

  std::map<int64_t, int64_t> free_;  // offset -> bytes
  int64_t end_ = 0;
};

struct Slot {
  SizeExpr bytes;
  std::vector<int> buffers;
  int busy_until = -1;
};

// For symbols of 0, too, where IsKnownNonNegative begins at 1.
bool IsAtLeast(const SizeExpr& a, const SizeExpr& b) {
  const SizeExpr from_1 = (a - b).Substitute([](SymbolId s) { return SizeExpr::Symbol(s) - 1; });
  return from_1.IsKnownNonNegative();
}

// Whether the slot is known to be large enough, by what it has held.
bool HasRoom(const Slot& slot, const std::vector<LiveBuffer>& values, const SizeExpr& bytes) {
  return std::any_of(slot.buffers.begin(), slot.buffers.end(),
                     [&](int i) { return IsAtLeast(values[static_cast<size_t>(i)].bytes, bytes); });
}

// Prefers a slot of just this size, then one that has the room; else any free one grows to the
// larger: max(a, b) is never more than a + b.
int PickSlot(const std::vector<Slot>& slots, const std::vector<LiveBuffer>& values,
             const LiveBuffer& value) {
  const SizeExpr bytes = AlignUp(value.bytes);
  int any = -1, roomy = -1;
  for (size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].busy_until >= value.first) continue;
    if (slots[i].bytes == bytes) return static_cast<int>(i);
    any = static_cast<int>(i);
    if (HasRoom(slots[i], values, value.bytes)) roomy = any;
  }
  return roomy >= 0 ? roomy : any;
}

std::vector<int> ByFirstStep(const std::vector<LiveBuffer>& values) {
  std::vector<int> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    return std::pair(values[static_cast<size_t>(a)].first, a) <
           std::pair(values[static_cast<size_t>(b)].first, b);
  });
  return order;
}

int64_t PlaceConstants(const std::vector<LiveBuffer>& values, const std::vector<int>& order,
                       MemoryPlan* plan) {
  FreeList arena;
  std::multimap<int, std::pair<int64_t, int64_t>> busy;  // last step -> offset, bytes
  for (int i : order) {
    const LiveBuffer& value = values[static_cast<size_t>(i)];
    if (value.apart || !value.bytes.IsConstant() || value.bytes.Is(0)) continue;
    while (!busy.empty() && busy.begin()->first < value.first) {
      arena.Give(busy.begin()->second.first, busy.begin()->second.second);
      busy.erase(busy.begin());
    }
    int64_t bytes = AlignUp(value.bytes.constant());
    int64_t offset = arena.Take(bytes);
    plan->offsets[static_cast<size_t>(i)] = offset;
    busy.emplace(value.last, std::make_pair(offset, bytes));
  }
  return arena.end();
}

std::vector<Slot> MakeSlots(const std::vector<LiveBuffer>& values, const std::vector<int>& order) {
  std::vector<Slot> slots;
  for (int i : order) {
    const LiveBuffer& value = values[static_cast<size_t>(i)];
    if (value.apart || value.bytes.IsConstant()) continue;
    SizeExpr bytes = AlignUp(value.bytes);
    int pick = PickSlot(slots, values, value);
    if (pick < 0) {
      pick = static_cast<int>(slots.size());
      slots.push_back({bytes, {}, -1});
    }
    Slot& slot = slots[static_cast<size_t>(pick)];
    if (!(slot.bytes == bytes) && !HasRoom(slot, values, value.bytes))
      slot.bytes = Max(slot.bytes, bytes);
    slot.buffers.push_back(i);
    slot.busy_until = value.last;
  }
  return slots;
}

bool Meet(const LiveBuffer& a, const LiveBuffer& b) {
  return a.first <= b.last && b.first <= a.last;
}

}  // namespace

// From the last step back: the earlier it is, the more lenders are left.
std::vector<int> LendMemory(const std::vector<LiveBuffer>& values,
                            const std::vector<Lender>& lenders) {
  std::vector<int> lent(values.size(), -1);
  std::vector<std::vector<int>> guests(lenders.size());
  std::vector<int> order = ByFirstStep(values);
  std::reverse(order.begin(), order.end());
  for (int i : order) {
    const LiveBuffer& value = values[static_cast<size_t>(i)];
    if (value.bytes.Is(0)) continue;
    int best = -1;
    for (size_t l = 0; l < lenders.size(); ++l) {
      const auto meets = [&](int g) { return Meet(values[static_cast<size_t>(g)], value); };
      if (value.last >= lenders[l].until || !IsAtLeast(lenders[l].bytes, value.bytes) ||
          std::any_of(guests[l].begin(), guests[l].end(), meets))
        continue;
      // Of those that do, the smallest.
      if (best < 0 || IsAtLeast(lenders[static_cast<size_t>(best)].bytes, lenders[l].bytes))
        best = static_cast<int>(l);
    }
    if (best < 0) continue;
    lent[static_cast<size_t>(i)] = best;
    guests[static_cast<size_t>(best)].push_back(i);
  }
  return lent;
}

MemoryPlan PlanMemory(const std::vector<LiveBuffer>& values) {
  for (const LiveBuffer& value : values) JF_CHECK(value.first <= value.last);
  MemoryPlan plan;
  plan.offsets.resize(values.size());
  std::vector<int> order = ByFirstStep(values);
  SizeExpr end = PlaceConstants(values, order, &plan);
  for (const Slot& slot : MakeSlots(values, order)) {
    for (int i : slot.buffers) plan.offsets[static_cast<size_t>(i)] = end;
    end = end + slot.bytes;
  }
  for (size_t i = 0; i < values.size(); ++i) {
    if (!values[i].apart) continue;
    plan.offsets[i] = end;
    end = end + AlignUp(values[i].bytes);
  }
  plan.total_bytes = end;
  return plan;
}

std::string MemoryPlanToString(const std::vector<LiveBuffer>& values, const MemoryPlan& plan,
                               const std::vector<std::string>& symbol_names) {
  std::string text = absl::StrCat("arena ", plan.total_bytes.ToString(symbol_names), " bytes\n");
  for (size_t i = 0; i < values.size(); ++i) {
    absl::StrAppend(&text, "  slot ", i, ": ", values[i].bytes.ToString(symbol_names), " bytes at ",
                    plan.offsets[i].ToString(symbol_names), ", steps ", values[i].first, "..",
                    values[i].last, "\n");
  }
  return text;
}

}  // namespace jitfuse::internal
