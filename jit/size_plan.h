// SizePlan: many sizes, evaluated together: each distinct one once, its value wherever it is read.
//
// In: sizes, one after the other, when code is made. Out: their values in that order, when a call
// is bound; constants are there already. Also here: of sizes whose greatest is wanted, those that
// can be it. Must not know: what the sizes are of.
#ifndef JITFUSE_JIT_SIZE_PLAN_H_
#define JITFUSE_JIT_SIZE_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "ir/shape.h"

namespace jitfuse::internal {

class SizePlan {
 public:
  // -> its place among the values.
  size_t Add(const SizeExpr& size);
  size_t size() const { return values_.size(); }
  std::vector<int64_t> Eval(absl::Span<const int64_t> symbols) const;

 private:
  struct Place {
    size_t value;
    size_t distinct;  // which of `distinct_` it is of
  };
  std::vector<int64_t> values_;  // those of constants, 0 for others
  std::vector<SizeExpr> distinct_;
  std::vector<Place> places_;
};

// Without sizes that another one is a multiple of; all of them may be 0, but not less. Long lists
// are left as they are.
std::vector<SizeExpr> GreatestOf(std::vector<SizeExpr> sizes);

}  // namespace jitfuse::internal

#endif  // JITFUSE_JIT_SIZE_PLAN_H_
