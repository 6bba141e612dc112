#include "jit/size_plan.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/container/inlined_vector.h"

namespace jitfuse::internal {
namespace {

constexpr size_t kLookBack = 64;  // distinct sizes that a new one is compared with
constexpr size_t kFew = 32;       // sizes that are compared with each other

bool IsMultipleOf(const SizeExpr& size, const SizeExpr& other) {
  const std::optional<SizeExpr> times = size.DivExact(other);
  return times && times->IsConstant() && times->constant() >= 1;
}

}  // namespace

size_t SizePlan::Add(const SizeExpr& size) {
  const size_t place = values_.size();
  values_.push_back(size.IsConstant() ? size.constant() : 0);
  if (size.IsConstant()) return place;
  const auto known = distinct_.rbegin();
  const auto end = known + static_cast<std::ptrdiff_t>(std::min(kLookBack, distinct_.size()));
  const auto same = std::find(known, end, size);
  size_t distinct = distinct_.size();
  if (same != end) {
    distinct = static_cast<size_t>(distinct_.rend() - same) - 1;
  } else {
    distinct_.push_back(size);
  }
  places_.push_back({place, distinct});
  return place;
}

std::vector<int64_t> SizePlan::Eval(absl::Span<const int64_t> symbols) const {
  absl::InlinedVector<int64_t, 64> distinct(distinct_.size());
  for (size_t i = 0; i < distinct_.size(); ++i) distinct[i] = distinct_[i].Eval(symbols);
  std::vector<int64_t> out = values_;
  for (const Place& place : places_) out[place.value] = distinct[place.distinct];
  return out;
}

std::vector<SizeExpr> GreatestOf(std::vector<SizeExpr> sizes) {
  if (sizes.size() > kFew) return sizes;
  std::vector<SizeExpr> out;
  for (SizeExpr& size : sizes) {
    const auto covers = [&size](const SizeExpr& other) { return IsMultipleOf(other, size); };
    if (std::any_of(out.begin(), out.end(), covers)) continue;
    std::erase_if(out, [&size](const SizeExpr& other) { return IsMultipleOf(size, other); });
    out.push_back(std::move(size));
  }
  return out;
}

}  // namespace jitfuse::internal
