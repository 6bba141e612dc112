// Free functions that put nodes into a graph with the conveniences that Graph::Add lacks:
// promotion, weak numbers, casts.
//
// In: a graph and values of it. Out: values of it, or InvalidArgument. Graph::Add wants equal
// dtypes; the public API and expansions come here, so that promotion is written once. Weak numbers
// follow the Array API: a number never widens a tensor of its own kind; a fraction with an integer
// tensor gives f32.
// Must not know: the public API.
#ifndef JITFUSE_IR_BUILDER_H_
#define JITFUSE_IR_BUILDER_H_

#include <initializer_list>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ir/graph.h"

namespace jitfuse::internal {

// `v` itself if it has that dtype already, else a cast.
absl::StatusOr<Value> CastTo(Graph* graph, Value v, DType dtype);
// Graph::Add after casts of the operands to their common dtype; integers become f32 for pointwise
// ops of floats only, such as exp and divide. `where` keeps its condition, the parameters of norms
// keep their dtype. Matmul also takes vectors, as NumPy does.
absl::StatusOr<Value> AddPromoted(Graph* graph, Op op, absl::Span<const Value> in,
                                  Attrs attrs = {});
// The number as a value of the dtype, if it is one: a whole number in range for integers, 0 or 1
// for bool; for floats any that does not round to an infinity, as for literals of graph text.
absl::StatusOr<ScalarValue> FitScalar(DType dtype, double value);
absl::StatusOr<ScalarValue> FitScalar(DType dtype, int64_t value);
// A rank-0 constant in the dtype that a plain number takes beside `like`; an error if that
// dtype cannot hold it.
absl::StatusOr<Value> ConstantLike(Graph* graph, double value, Value like);
// Nothing if `v` has exactly these dims.
absl::StatusOr<Value> BroadcastTo(Graph* graph, Value v, absl::Span<const Dim> dims);
absl::StatusOr<Value> ReshapeTo(Graph* graph, Value v, absl::Span<const Dim> dims);

// Adds one node after another; after the first error the rest does nothing, and status() tells it.
class Chain {
 public:
  explicit Chain(Graph* graph) : graph_(graph) {}

  Value Add(Op op, std::initializer_list<Value> in, Attrs attrs = {});
  Value Add(Op op, absl::Span<const Value> in, Attrs attrs = {});
  Value Cast(Value v, DType dtype) { return Take(ok() ? CastTo(graph_, v, dtype) : status_); }
  Value Reshape(Value v, absl::Span<const Dim> dims) {
    return Take(ok() ? ReshapeTo(graph_, v, dims) : status_);
  }
  Value Constant(DType dtype, double v) { return graph_->AddConstant(dtype, v); }
  const TensorType& type(Value v) const { return graph_->type(v); }  // only if ok()
  bool ok() const { return status_.ok(); }
  const absl::Status& status() const { return status_; }

 private:
  Value Take(const absl::StatusOr<Value>& v);

  Graph* graph_;
  absl::Status status_;
};

}  // namespace jitfuse::internal

#endif  // JITFUSE_IR_BUILDER_H_
