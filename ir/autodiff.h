// Reverse-mode differentiation: a graph in, a graph with its gradients out.
//
// In: a graph as users write it (composites unexpanded) and `wrt`, the inputs whose gradients are
// asked for. Out: graphs of ordinary ops, which expand, fuse and differentiate again like any
// other.
//   * Gradient(graph, wrt): inputs are the graph's own and, with Cotangents::kInputs, then one
//     cotangent for each float output, of its type; results are (with_values: the graph's outputs,
//     then) the gradients of wrt. Cotangents::kOnes takes a graph with one result, a float of rank
//     0.
//   * SplitForwardBackward (ir/autodiff_split.h): the same in two graphs, and what passes between.
//   * AddVjp: the same inside a graph that is being built.
// What holds:
//   * a gradient has the type of its input; several contributions are added in the compute type,
//     in one fixed order, and rounded once. Sums by index are deterministic (index_add).
//   * integers and bools have no gradient: an input of such a type in wrt is an error, such a
//     result gets no cotangent. An input that no float result depends on has a gradient of zeros.
//   * ties and kinks are PyTorch's, op by op; stop_gradient, seeds and random numbers pass none.
//   * a row is differentiated by the first of: "zero" in its `grad` column, its row of
//     ir/autodiff_rules.inc, the text of its `grad` column (ir/op_def.h), for pointwise rows its
//     body by the `grad` column of the scalar table, for composites its expansion. So a new
//     pointwise row or composite needs nothing; a row of another kind with none of these is
//     Unimplemented, naming the op and its shapes.
//   * work and size are linear in the graph, and nothing recurses deeper than composites nest.
// Must not know: what is fused, back ends.
#ifndef JITFUSE_IR_AUTODIFF_H_
#define JITFUSE_IR_AUTODIFF_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ir/graph.h"

namespace jitfuse::internal {

// A part of a graph whose gradient the user gives: what leads from `inputs` to `outputs`, which are
// gradient_mark nodes of one id, added after all inputs. `backward` takes the values of inputs,
// those of outputs and the cotangents of the float outputs, in this order, and gives the gradients
// of the float inputs, each of the input's type. Its symbols are those of the graph, by name. A
// `backward` that was cut from the graph itself takes the cotangents, then `captured`, other values
// of the graph.
struct CustomGradient {
  std::vector<Value> inputs, outputs;
  Graph backward;
  bool reads_primals = true;    // false: `backward` takes neither inputs nor outputs
  std::vector<Value> captured;  // before the first mark, as inputs are
};

struct VjpRequest {
  absl::Span<const Value> outputs;
  absl::Span<const Value> cotangents;  // one for each output; node -1: zero
  absl::Span<const Value> wrt;         // any values of the graph
  absl::Span<const CustomGradient> custom = {};
  // Leaves hold still: what leads to an entry of wrt is not looked at, nor is what leads to these.
  absl::Span<const Value> leaves = {};
};
// Appends to the graph. For each entry of wrt its gradient, of node -1 where it is zero.
absl::StatusOr<std::vector<Value>> AddVjp(Graph* graph, const VjpRequest& request);
// Zeros of the type of `like`.
absl::StatusOr<Value> AddZerosLike(Graph* graph, Value like);

enum class Cotangents { kOnes, kInputs };
struct GradientOptions {
  Cotangents cotangents = Cotangents::kOnes;
  bool with_values = false;
  absl::Span<const CustomGradient> custom = {};
};
// wrt: positions in graph.inputs().
absl::StatusOr<Graph> Gradient(const Graph& graph, absl::Span<const int> wrt,
                               const GradientOptions& options = {});

// The graph with a cotangent input for each float output (kInputs) and the gradients of wrt, which
// it does not have as outputs: what Gradient and SplitForwardBackward cut their graphs from.
struct JointGraph {
  Graph graph;
  std::vector<Value> cotangents;  // inputs of `graph`
  std::vector<Value> gradients;   // one for each entry of wrt
};
absl::StatusOr<JointGraph> BuildJointGraph(const Graph& graph, absl::Span<const int> wrt,
                                           const GradientOptions& options);

}  // namespace jitfuse::internal

#endif  // JITFUSE_IR_AUTODIFF_H_
