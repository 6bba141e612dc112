// SplitForwardBackward: a graph and its gradient as two graphs, and what passes between them.
//
// In: a graph, the inputs whose gradients are asked for. Out:
//   forward: the graph's inputs; the graph's outputs, then what is kept for the backward graph.
//   backward: one input for each entry of `saved`, then the cotangents of the float outputs; the
//     gradients of wrt.
// What is kept is chosen value by value: what the backward graph reads of the forward one is an
// input or output anyway, or kept because it is expensive (reductions, scans, products, sorts,
// random numbers) or written for a product or a sort anyway, or made again from what is kept: cheap
// ops (pointwise, views, joins, gathers) of up to kMostRecomputed slots an element, if that keeps
// no more bytes. `decisions` says so for each such value, with its reason, in words. Deterministic:
// the same graph and wrt give the same two graphs. A seed and an offset of random ops that the
// backward graph reads are among `saved`: both runs must get the same. Must not know: how the two
// are run.
#ifndef JITFUSE_IR_AUTODIFF_SPLIT_H_
#define JITFUSE_IR_AUTODIFF_SPLIT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ir/autodiff.h"

namespace jitfuse::internal {

inline constexpr int kMostRecomputed = 200;  // slots (ScalarOpDef::cost) an element

struct SavedValue {
  enum class From : uint8_t {
    kInput,   // the graph's input number `index`
    kOutput,  // output number `index` of the graph
    kExtra,   // output number `index` of `forward`, which is for the backward graph alone
  };
  From from = From::kInput;
  int index = 0;
};

struct SplitDecision {
  std::string value;  // "softmax(f32[n,768]) -> f32[n,768]", or an input's name
  bool kept = true;   // false: made again
  std::string reason;
};

struct ForwardBackward {
  Graph forward, backward;
  std::vector<SavedValue> saved;
  std::vector<int>
      cotangents;  // the outputs of the graph whose cotangents the backward graph takes
  std::vector<SplitDecision> decisions;

  std::string Explain() const;  // a line for each decision
};

absl::StatusOr<ForwardBackward> SplitForwardBackward(const Graph& graph, absl::Span<const int> wrt,
                                                     absl::Span<const CustomGradient> custom = {});

}  // namespace jitfuse::internal

#endif  // JITFUSE_IR_AUTODIFF_SPLIT_H_
