// Inference: attributes in their one form, and the types of an op's results.
//
// In: an op's row, its operands' types, the attributes as given. Out: complete attributes in schema
// order (NormalizeAttrs) and result types (InferTypes: arity, domain, the row's infer function,
// rank and size limits), or InvalidArgument that names the op with its operand types and says what
// was expected. Two sizes that differ and are not both constants are unified: the context's unify
// records a guard. The functions below Infer* are the `infer` column of ir/ops.inc.
// Must not know: graphs (guards arrive through the context).
#ifndef JITFUSE_IR_INFER_H_
#define JITFUSE_IR_INFER_H_

#include <string>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ir/op_def.h"

namespace jitfuse::internal {

using ResultTypes = absl::InlinedVector<TensorType, 1>;

// "softmax(f32[n,768])".
std::string CallToString(const OpDef& def, absl::Span<const TensorType> in,
                         absl::Span<const std::string> symbol_names);
absl::Status CheckArity(const OpDef& def, absl::Span<const TensorType> in,
                        absl::Span<const std::string> symbol_names);
absl::StatusOr<Attrs> NormalizeAttrs(const OpDef& def, absl::Span<const TensorType> in,
                                     const Attrs& given,
                                     absl::Span<const std::string> symbol_names);
absl::StatusOr<ResultTypes> InferTypes(const InferContext& context);
// Rank, no negative size, elements and bytes within int64.
absl::Status CheckType(const TensorType& type, absl::Span<const std::string> symbol_names);
// NumPy broadcasting of two shapes.
absl::StatusOr<Shape> BroadcastShapes(const InferContext& context, absl::Span<const Dim> a,
                                      absl::Span<const Dim> b);
// "f16, bf16, f32, f64".
std::string DTypeSetToString(DTypeSet set);

absl::StatusOr<ResultTypes> InferSame(
    const InferContext& context);  // operands of one dtype, which the result has
absl::StatusOr<ResultTypes> InferThreshold(const InferContext& context);
absl::StatusOr<ResultTypes> InferSoftshrink(const InferContext& context);  // lambd >= 0
absl::StatusOr<ResultTypes> InferCelu(const InferContext& context);        // alpha other than 0
absl::StatusOr<ResultTypes> InferCompare(
    const InferContext& context);  // operands of one dtype -> bool
absl::StatusOr<ResultTypes> InferWhere(const InferContext& context);
absl::StatusOr<ResultTypes> InferCast(const InferContext& context);
absl::StatusOr<ResultTypes> InferIota(const InferContext& context);
absl::StatusOr<ResultTypes> InferBroadcast(const InferContext& context);
absl::StatusOr<ResultTypes> InferReshape(const InferContext& context);
absl::StatusOr<ResultTypes> InferTranspose(const InferContext& context);
absl::StatusOr<ResultTypes> InferSqueeze(const InferContext& context);
absl::StatusOr<ResultTypes> InferUnsqueeze(const InferContext& context);
absl::StatusOr<ResultTypes> InferSum(
    const InferContext& context);  // SumType of the operand's dtype
absl::StatusOr<ResultTypes> InferReduceSame(const InferContext& context);  // the operand's dtype
absl::StatusOr<ResultTypes> InferReduceTwo(
    const InferContext& context);  // two results of the operand's dtype
absl::StatusOr<ResultTypes> InferReduceBool(const InferContext& context);
absl::StatusOr<ResultTypes> InferReduceIndex(const InferContext& context);
// The operand without (or with 1 in place of) attribute `axis`, and positions of the same shape.
absl::StatusOr<ResultTypes> InferWithIndex(const InferContext& context);
absl::StatusOr<ResultTypes> InferOfAll(const InferContext& context);  // rank 0, of something
absl::StatusOr<ResultTypes> InferScanSum(const InferContext& context);
absl::StatusOr<ResultTypes> InferScanSame(const InferContext& context);
absl::StatusOr<ResultTypes> InferMatMul(const InferContext& context);
absl::StatusOr<ResultTypes> InferAlongAxis(
    const InferContext& context);  // the operand's type; needs the axis
absl::StatusOr<ResultTypes> InferNorm(const InferContext& context);
absl::StatusOr<ResultTypes> InferLinear(const InferContext& context);
// infer_nn.cc
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
// infer_index.cc
absl::StatusOr<ResultTypes> InferTriangle(const InferContext& context);
absl::StatusOr<ResultTypes> InferEye(const InferContext& context);
absl::StatusOr<ResultTypes> InferOneHot(const InferContext& context);
absl::StatusOr<ResultTypes> InferArange(const InferContext& context);
absl::StatusOr<ResultTypes> InferLinspace(const InferContext& context);
// infer_scatter.cc
absl::StatusOr<ResultTypes> InferGroupPositions(const InferContext& context);
absl::StatusOr<ResultTypes> InferSegmentAdd(const InferContext& context);
absl::StatusOr<ResultTypes> InferIndexAdd(const InferContext& context);
absl::StatusOr<ResultTypes> InferScatterAdd(const InferContext& context);
// infer_random.cc
absl::StatusOr<ResultTypes> InferPhilox(const InferContext& context);
// Seed and offset, then attributes `shape` and `dtype`.
absl::StatusOr<ResultTypes> InferRandom(const InferContext& context);
// x, seed and offset, and p where the row has it.
absl::StatusOr<ResultTypes> InferRandomLike(const InferContext& context);
// infer_views.cc
absl::StatusOr<ResultTypes> InferSlice(const InferContext& context);
absl::StatusOr<ResultTypes> InferRoll(const InferContext& context);
absl::StatusOr<ResultTypes> InferTile(const InferContext& context);
absl::StatusOr<ResultTypes> InferRepeat(const InferContext& context);
absl::StatusOr<ResultTypes> InferWindows(const InferContext& context);
absl::StatusOr<ResultTypes> InferConcatenate(const InferContext& context);
absl::StatusOr<ResultTypes> InferStack(const InferContext& context);
absl::StatusOr<ResultTypes> InferPad(const InferContext& context);
absl::StatusOr<ResultTypes> InferPadFrom(const InferContext& context);  // reflect, edge, wrap
absl::StatusOr<ResultTypes> InferTake(const InferContext& context);
absl::StatusOr<ResultTypes> InferTakeAlongAxis(const InferContext& context);
absl::StatusOr<ResultTypes> InferEmbedding(const InferContext& context);
absl::StatusOr<ResultTypes> InferPool(const InferContext& context);

// A pooling op's attributes in one form: an entry for each pooled dim.
struct PoolAxis {
  size_t dim = 0;
  int64_t kernel = 1, stride = 1, padding = 0, dilation = 1;
  SizeExpr out;       // number of windows
  int64_t extra = 0;  // elements beyond the right padding that the last window of ceil_mode reaches
};
struct Pooling {
  std::vector<PoolAxis> axes;
};
absl::StatusOr<Pooling> PoolingOf(const InferContext& context);

}  // namespace jitfuse::internal

#endif  // JITFUSE_IR_INFER_H_
