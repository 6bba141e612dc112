// Integers: what several layers compute alike. For sizes, which are not negative.
#ifndef JITFUSE_IR_SUPPORT_INT_MATH_H_
#define JITFUSE_IR_SUPPORT_INT_MATH_H_

#include <cstdint>

namespace jitfuse::internal {

// a / b, rounded up; near 2^63 too.
constexpr int64_t CeilDiv(int64_t a, int64_t b) { return a / b + (a % b != 0 ? 1 : 0); }

}  // namespace jitfuse::internal

#endif  // JITFUSE_IR_SUPPORT_INT_MATH_H_
