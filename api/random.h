// Random ops. Their values are functions of RunOptions::rng, of the op's ordinal among the random
// ops of its Builder, and of the element's linear index (docs/numerics.md); nothing else.
//
// Each call makes another stream. The seed and the offset are no inputs of the Function: they come
// with each call. What takes an explicit seed, offset and stream is in ops.h.
#ifndef JITFUSE_API_RANDOM_H_
#define JITFUSE_API_RANDOM_H_

#include <vector>

#include "tensor.h"

namespace jitfuse {
inline namespace v1 {

// low + (high - low) u with u in [0, 1), rounded to the dtype, and always below high (low = high
// gives low). low > high is an error.
Tensor RandomUniform(const Builder& builder, const std::vector<DimSpec>& shape,
                     DType dtype = DType::kF32, double low = 0, double high = 1);
Tensor RandomNormal(const Builder& builder, const std::vector<DimSpec>& shape,
                    DType dtype = DType::kF32, double mean = 0, double std = 1);
// 1 with probability p, else 0, in p's dtype.
Tensor Bernoulli(const Tensor& p);
// 0 with probability p, else x / (1 - p).
Tensor Dropout(const Tensor& x, double p = 0.5);
// With p a float of rank 0, such as a Builder::Scalar.
Tensor Dropout(const Tensor& x, const Tensor& p);

}  // namespace v1
}  // namespace jitfuse

#endif  // JITFUSE_API_RANDOM_H_
