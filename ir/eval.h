// The reference evaluator: what a graph means, on host tensors, with no plan, no back end and no
// hurry.
//
// In: any valid graph (composites are expanded first) and one tensor per entry of graph.inputs(),
// kScalar inputs of rank 0. Out: one tensor per output, or InvalidArgument that names the input,
// what was given and what was expected.
//
// EvalDeclared: every op in its declared type, rounding after each (f16 and bf16 too),
// transcendentals by the decompositions of the scalar table, reductions as a fixed tree (element i
// in lane i mod 256, lanes then halved), matmul by ascending-k fma.
// EvalWide: values in long double (64 significant bits on x86-64; all 64-bit integers are exact in
// it) with an error bound that covers every executor under numerics="default". Rules of the bound,
// per element:
//   * a primitive: the largest deviation over its operands' values +- bounds (corners), plus its
//     max_ulp in its compute type; none where exact operands give a correctly rounded result; a
//     product stays unrounded with half an ulp, since the planner may fuse it;
//   * a value of dtype f16/bf16: half an ulp of that type (it may or may not pass through memory);
//   * a sum of n terms: the terms' bounds plus c * eps * sum|x|, c = min(n - 1, 64 + log2 n) steps
//     of blocked pairwise order, and twice that where a one-pass form exists (it rescales as it
//     goes);
//   * a dot product: the same with c = min(k, 64 + k/4), and the least number of the type a term
//     where products fall below its normal ones; in bf16 subnormal operands, products and sums may
//     count as 0 (AVX512_BF16 works so);
//   * a periodic or otherwise bent function (sin, tan, lgamma, pow): what lies between its
//     operand's ends too;
//   * a product that overflows: anything, since an fma may take it unrounded;
//   * a sum of negative zeros: a zero of either sign, by a bound smaller than any number;
//   * where a bound crosses a discontinuity (compare, floor, cast, select, atan2, argmax) every
//     outcome it could have is covered, from both sides of 0;
//   * right behind a matrix product of f16, bf16 or f32 (sums, factors and views between them
//     aside), what a library may compute with it: a sum, which it may take in another order and
//     with its parts rounded, the type's eps of its operands' magnitudes more, and
//     anything where these together overflow; the tanh form of
//     gelu in f16 and bf16, 6e-6 more; a factor, which it may take first, of an infinite product:
//     anything;
//   * infinite: anything passes (the result may or may not overflow, or be NaN). NaN and infinities
//     with bound 0 are exact.
//
// EvalWideAt: the same for some elements of the outputs alone, bit for bit what EvalWide gives
// there. Of every value only what these need is computed: one row of a chain of row-wise ops is as
// cheap whatever the number of rows, while a sum over all rows needs them all.
//
// Nothing recurses; tensors are freed after their last use.
// Must not know: plans, groups, back ends.
#ifndef JITFUSE_IR_EVAL_H_
#define JITFUSE_IR_EVAL_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ir/graph.h"
#include "ir/host_tensor.h"
#include "ir/options.h"

namespace jitfuse::internal {

absl::StatusOr<std::vector<HostTensor>> EvalDeclared(const Graph& graph,
                                                     absl::Span<const HostTensor> inputs);

// Contiguous, row-major; value and bound have one entry per element, or per entry of `at`. Bools
// are 0 or 1, with bound 1 if either passes.
struct WideTensor {
  std::vector<int64_t> dims;
  DType dtype = DType::kF32;
  std::vector<long double> value;
  std::vector<long double> bound;
  std::optional<std::vector<int64_t>> at = {};  // linear indices, ascending; none: every element
};
// With numerics=fast a library may round the factors of an f32 matrix product to TF32: bounds cover
// that too, whether or not it does.
absl::StatusOr<std::vector<WideTensor>> EvalWide(const Graph& graph,
                                                 absl::Span<const HostTensor> inputs,
                                                 Numerics numerics = Numerics::kDefault);
// `at`: by output, the linear indices of the elements that are wanted, ascending, each once.
// Nothing if that would take more than `max_work` element operations (and as many elements in
// memory).
absl::StatusOr<std::optional<std::vector<WideTensor>>> EvalWideAt(
    const Graph& graph, absl::Span<const HostTensor> inputs,
    absl::Span<const std::vector<int64_t>> at, double max_work,
    Numerics numerics = Numerics::kDefault);

struct CompareResult {
  bool ok = true;
  double max_ulp = 0;    // largest error in ulp of the output's dtype (integers: absolute)
  double max_ratio = 0;  // largest error / bound; ok means <= 1
  int64_t worst =
      -1;  // linear index of the element with the largest ratio, -1 if every element is exact
  std::string text;  // that element in words: "element [3,7]: got 1.25, expected 1.5 +- 1e-07
                     // (2e+06 ulp, 2.5e+06 of the bound)"
  // Over the elements that have a finite bound: how many, how many of them are beyond it, and the
  // errors themselves and as multiples of the bounds (infinite where an error is).
  int64_t compared = 0, beyond = 0;
  double max_error = 0, sum_error = 0, sum_ratio = 0;
};
// `got` is whole, whatever `expect` has.
CompareResult Compare(const WideTensor& expect, const HostTensor& got);

}  // namespace jitfuse::internal

#endif  // JITFUSE_IR_EVAL_H_
