// Which elements of every value some elements of a graph's outputs are computed from; for
// evaluating a few rows of a large call (EvalWideAt).
//
// In: an expanded graph, the symbols' values, and by output the linear indices that are wanted.
// Out: by node the linear indices of its results that are needed, ascending, and how they are found
// in its operands; or nothing where there are more than a limit. What an index decides (a gather)
// is not known before values are: all elements that it may pick are needed then. Inputs are left
// out: they are there. Indices are computed one at a time, so that no table is as large as a
// tensor. Must not know: what an element is.
#ifndef JITFUSE_IR_EVAL_NEEDS_H_
#define JITFUSE_IR_EVAL_NEEDS_H_

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ir/graph.h"
#include "ir/index_map.h"

namespace jitfuse::internal {

// From the linear index of a result's element to that of an operand's.
class ElementAccess {
 public:
  ElementAccess() = default;
  ElementAccess(std::vector<int64_t> dims, std::vector<int64_t> strides);
  // Of operand `operand` of a view or a join.
  static absl::StatusOr<ElementAccess> Of(const Graph& graph, const Node& node, int operand,
                                          absl::Span<const int64_t> from,
                                          absl::Span<const int64_t> to,
                                          absl::Span<const int64_t> symbols);
  // -1: a join's element that is not this operand's.
  int64_t operator()(int64_t i) const;

 private:
  // An IndexExpr with numbers in place of sizes.
  struct Expr {
    struct Term {
      absl::InlinedVector<std::pair<size_t, int64_t>, 4> coefs;
      int64_t constant = 0, div = 1, mod = 0, coef = 1;
    };
    std::vector<Term> terms;
    int64_t constant = 0;
    int64_t At(const int64_t* axes) const;
  };
  struct Mask {
    Expr e;
    int64_t lo = 0, hi = 0;
  };
  static Expr Concrete(const IndexExpr& e, absl::Span<const int64_t> symbols);

  std::vector<int64_t> dims_, strides_;  // without coords_: of the result's axes, else of these
  std::vector<Expr> coords_;
  std::vector<Mask> masks_;
  bool identity_ = false;
};

struct NodeNeeds {
  std::vector<int64_t> at;  // of results; all of them for a sort, whose results differ in dims
  std::vector<std::vector<int64_t>> dims;  // by result
  // Pointwise, view, join: by operand. Gather: where the element begins in x; of the indices.
  // Reduction: where its elements begin. Scan: where its line begins; the position in it. Iota: the
  // coordinate. Product: where the row of a and the column of b begin. Segment: where the line of
  // src begins.
  std::vector<ElementAccess> access;
  // Offsets of the elements of a reduction, a line, a row of a; of a column of b.
  std::vector<int64_t> inner, inner_b;
  int64_t extent = 0, stride = 0;  // of a gather's axis
};

absl::StatusOr<std::optional<std::vector<NodeNeeds>>> FindNeeds(
    const Graph& graph, absl::Span<const int64_t> symbols,
    absl::Span<const std::vector<int64_t>> outputs, double max_work);

}  // namespace jitfuse::internal

#endif  // JITFUSE_IR_EVAL_NEEDS_H_
