// Scalar programs on (value, error bound) pairs: the arithmetic of the wide evaluator. The rules
// stand in ir/eval.h.
//
// An element is exact if its bound is 0; it is then a value of its register's type. Integers and
// bools are exact in long double. An infinite bound means that anything may come out. Must not
// know: graphs, tensors.
#ifndef JITFUSE_IR_WIDE_SCALAR_H_
#define JITFUSE_IR_WIDE_SCALAR_H_

#include <limits>

#include "ir/scalar_expr.h"

namespace jitfuse::internal {

struct WideElem {
  long double value = 0;
  long double bound = 0;
  bool exact() const { return bound == 0; }
};

// The bound of a zero of either sign: less than any number that a dtype holds, and no number is
// lost by it; 1 / x and copysign see both sides.
inline constexpr long double kSignOfZero = std::numeric_limits<long double>::denorm_min();

// Distance between neighbouring values of a float dtype at v (f16 and bf16 included); the smallest
// subnormal at 0.
long double UlpOf(DType dtype, long double v);
// 2^-24 for f32: the largest relative error of one rounding.
long double EpsOf(DType dtype);
// What a value beyond the dtype's range becomes: an infinity where that is certain, an infinite
// bound where it is not.
WideElem SettleRange(DType dtype, WideElem e);
// One conversion, as a register of `to`.
WideElem ConvertWide(DType from, DType to, WideElem e);
// A value of a float dtype narrower than its register may or may not have been rounded to it.
WideElem MaybeStored(DType dtype, WideElem e);

void EvalWideProgram(const ScalarProgram& program, const WideElem* args, WideElem* out);

}  // namespace jitfuse::internal

#endif  // JITFUSE_IR_WIDE_SCALAR_H_
