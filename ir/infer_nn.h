// More of the `infer` column of ir/ops.inc: losses, normalisations by channels, ranges.
//
// As ir/infer.h, whose InferTypes calls them.
#ifndef JITFUSE_IR_INFER_NN_H_
#define JITFUSE_IR_INFER_NN_H_

#include "ir/infer.h"

namespace jitfuse::internal {

// Operands of one dtype that broadcast; attribute `reduction`.
absl::StatusOr<ResultTypes> InferLoss(const InferContext& context);
// x with a class axis, targets of its other dims, a weight per class.
absl::StatusOr<ResultTypes> InferClassLoss(const InferContext& context);
absl::StatusOr<ResultTypes> InferGroupNorm(const InferContext& context);
absl::StatusOr<ResultTypes> InferInstanceNorm(const InferContext& context);
absl::StatusOr<ResultTypes> InferBatchNorm(const InferContext& context);
absl::StatusOr<ResultTypes> InferBatchNormTraining(const InferContext& context);
absl::StatusOr<ResultTypes> InferCountNonzero(const InferContext& context);
absl::StatusOr<ResultTypes> InferVectorNorm(const InferContext& context);
absl::StatusOr<ResultTypes> InferTriangle(const InferContext& context);
absl::StatusOr<ResultTypes> InferEye(const InferContext& context);
absl::StatusOr<ResultTypes> InferOneHot(const InferContext& context);
absl::StatusOr<ResultTypes> InferArange(const InferContext& context);
absl::StatusOr<ResultTypes> InferLinspace(const InferContext& context);
absl::StatusOr<ResultTypes> InferPhilox(const InferContext& context);
// Seed and offset, then attributes `shape` and `dtype`.
absl::StatusOr<ResultTypes> InferRandom(const InferContext& context);
// x, seed and offset, and p where the row has it.
absl::StatusOr<ResultTypes> InferRandomLike(const InferContext& context);

}  // namespace jitfuse::internal

#endif  // JITFUSE_IR_INFER_NN_H_
