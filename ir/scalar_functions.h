// The C++ meaning of the scalar primitives: the functions that the `wide` and `eval` columns of
// scalar_ops.inc name, and those of `beyond`.
//
// eval::Name: operands and result as registers of compute types; defined for every input (wrapping
// integers, no traps). wide::Name: floats in long double (x87's 64-bit significand on x86-64: 11
// bits more than f64, and the documented stand-in for double-double); bool results are 0 or 1.
// Names follow the rows; a row may leave either out. Must not know: programs, text.
#ifndef JITFUSE_IR_SCALAR_FUNCTIONS_H_
#define JITFUSE_IR_SCALAR_FUNCTIONS_H_

#include "ir/scalar_expr.h"

namespace jitfuse::internal {

namespace eval {
#define JF_SCALAR(Name, ...) ScalarValue Name(DType operand, DType result, const ScalarValue* in);
#include "ir/scalar_ops.inc"
#undef JF_SCALAR
}  // namespace eval

namespace wide {
#define JF_SCALAR(Name, ...) long double Name(const long double* in);
#include "ir/scalar_ops.inc"
#undef JF_SCALAR
}  // namespace wide

// Operands as ranges; the result comes with its value and the bound that the ends give.
namespace beyond {
void Wave(const WideElem* in, WideElem* result);  // sin and cos
void Tan(const WideElem* in, WideElem* result);
void Lgamma(const WideElem* in, WideElem* result);
void Pow(const WideElem* in, WideElem* result);
void Fmod(const WideElem* in, WideElem* result);
}  // namespace beyond

}  // namespace jitfuse::internal

#endif  // JITFUSE_IR_SCALAR_FUNCTIONS_H_
