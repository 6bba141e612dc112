// Gradients: of results of a Builder within the same Builder, and a computation with its gradient
// as two Functions.
//
// Gradient and Vjp append ordinary ops, so that values and gradients compile to one Function, fuse
// together and can be differentiated again. wrt may be any float tensors of the Builder, inputs or
// not. A gradient has the type of its tensor; one that no output depends on is zeros. Integers and
// bools have no gradient: in wrt they are an error, among outputs they take no cotangent. As with
// ops, an error gives invalid Tensors and comes out of Builder::status() and Compile. StopGradient
// is in ops.h. docs/gradients.md has examples, and what the gradient of each op is.
#ifndef JITFUSE_API_GRADIENT_H_
#define JITFUSE_API_GRADIENT_H_

#include <functional>
#include <string>
#include <vector>

#include "array.h"
#include "function.h"
#include "options.h"
#include "status.h"
#include "tensor.h"

namespace jitfuse {
inline namespace v1 {

// d loss / d wrt, for each of wrt. The loss is a float of rank 0.
std::vector<Tensor> Gradient(const Tensor& loss, const std::vector<Tensor>& wrt);
// sum over outputs of cotangent * d output / d wrt. One cotangent for each output, of its type; an
// invalid one counts as zero (and must stand for outputs of integers and bools).
std::vector<Tensor> Vjp(const std::vector<Tensor>& outputs, const std::vector<Tensor>& cotangents,
                        const std::vector<Tensor>& wrt);

// Gives gradients to the part of the Builder that leads from `inputs` to `outputs`, in place of
// those of its ops: the Tensors returned stand for the outputs from here on. `gradient` is called
// once, now, with tensors of a Builder of its own: inputs, outputs, and a cotangent for each float
// output; it gives the gradient of each float input, of its type.
using GradientFn = std::function<std::vector<Tensor>(const std::vector<Tensor>& inputs,
                                                     const std::vector<Tensor>& outputs,
                                                     const std::vector<Tensor>& cotangents)>;
std::vector<Tensor> CustomGradient(const std::vector<Tensor>& inputs,
                                   const std::vector<Tensor>& outputs, const GradientFn& gradient);
// The same with a gradient that is built in the Builder itself, of which it may read any tensor.
// `cotangents`, one for each float output, of its type, stand for those to come: tensors that
// GradientRoot gave, and nothing else made of them but `gradients`. Of these there is one for each
// input, of its type; an invalid one is zero (and must stand for integers and bools).
std::vector<Tensor> CustomGradient(const std::vector<Tensor>& inputs,
                                   const std::vector<Tensor>& outputs,
                                   const std::vector<Tensor>& cotangents,
                                   const std::vector<Tensor>& gradients);
// x as a tensor of its own, equal to no other: a gradient for it does not count what was made of x
// before, nor another root of x.
Tensor GradientRoot(const Tensor& x);

// What the backward function reads: an argument of the forward function, or a result of it.
struct SavedTensor {
  bool is_input = false;
  int index = 0;
};
struct ForwardBackward {
  // Takes the Builder's inputs; gives `num_outputs` outputs, then what is kept for `backward`.
  Function forward;
  // Takes what BackwardInputs puts together; gives the gradients. Run it with the RunOptions::rng
  // of the forward call, so that random ops give the same numbers.
  Function backward;
  int num_outputs = 0;
  std::vector<SavedTensor> saved;  // the first arguments of `backward`
  std::vector<int> cotangents;     // outputs whose cotangents are the arguments behind them
  std::string decisions;           // what is kept and what is computed again, and why; a line each

  // The arguments of `backward`: of the forward call its arguments and results, and a cotangent for
  // each of `cotangents`.
  StatusOr<std::vector<Array>> BackwardInputs(const std::vector<Array>& inputs,
                                              const std::vector<Array>& results,
                                              const std::vector<Array>& output_cotangents) const;
};
// wrt must be inputs of the Builder. Results that are cheap to compute again are; reductions,
// products, random numbers and what is written anyway are kept.
StatusOr<ForwardBackward> SplitForwardBackward(const std::vector<Tensor>& outputs,
                                               const std::vector<Tensor>& wrt,
                                               const CompileOptions& options = {});

// The same for graph text; wrt by the names of inputs.
struct GradientTextOptions {
  bool cotangents = false;   // an input for each float output, behind the graph's own; else the
                             // graph has one result, a float of rank 0
  bool with_values = false;  // the graph's outputs come before the gradients
};
StatusOr<std::string> GradientText(const std::string& graph_text,
                                   const std::vector<std::string>& wrt,
                                   const GradientTextOptions& options = {});
struct ForwardBackwardText {
  std::string forward, backward;
  std::vector<SavedTensor> saved;
  std::vector<int> cotangents;
  std::string decisions;
};
StatusOr<ForwardBackwardText> SplitForwardBackwardText(const std::string& graph_text,
                                                       const std::vector<std::string>& wrt);

}  // namespace v1
}  // namespace jitfuse

#endif  // JITFUSE_API_GRADIENT_H_
