// The graph under construction behind Builder and Tensor. Not installed.
#ifndef JITFUSE_API_BUILDER_STATE_H_
#define JITFUSE_API_BUILDER_STATE_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "api/convert.h"
#include "api/ops_support.h"
#include "api/tensor.h"
#include "ir/autodiff.h"
#include "ir/graph.h"

namespace jitfuse {
inline namespace v1 {
namespace detail {

struct BuilderState {
  internal::Graph graph;
  Status status;  // the first error
  // What random ops read, made for the first of them, and the ordinal of the next.
  internal::Value rng_seed, rng_offset;
  std::int64_t next_stream = 0;
  std::vector<internal::CustomGradient> custom_gradients;  // by the id of their marks
  std::vector<std::int64_t> roots;                         // ids of GradientRoot's, ascending

  static std::shared_ptr<BuilderState> Of(const Builder& b) { return b.state_; }
  static std::shared_ptr<BuilderState> Of(const Tensor& t) { return t.state_; }
  static internal::Value ValueOf(const Tensor& t) { return {t.node_, t.result_}; }
  static Tensor Wrap(std::shared_ptr<BuilderState> state, internal::Value value) {
    Tensor t;
    t.state_ = std::move(state);
    t.node_ = value.node;
    t.result_ = value.result;
    return t;
  }
  // Keeps the first error; the Tensor returned is invalid but knows its Builder, so that the error
  // is found.
  [[gnu::visibility("hidden")]] static Tensor Fail(std::shared_ptr<BuilderState> state,
                                                   const absl::Status& error) {
    if (state != nullptr && state->status.ok()) state->status = internal::ToPublic(error);
    return Wrap(std::move(state), {});
  }
  __attribute__((visibility("hidden")))  // lies in v1, but what it takes is ours: not exported
  static Tensor
  WrapOr(std::shared_ptr<BuilderState> state, const absl::StatusOr<internal::Value>& value) {
    return value.ok() ? Wrap(std::move(state), *value) : Fail(std::move(state), value.status());
  }
  // A copy of the graph with these outputs.
  __attribute__((visibility("hidden"))) absl::StatusOr<internal::Graph> WithOutputs(
      const std::vector<Tensor>& outputs) const;
};

// An attribute as graphs hold it.
[[gnu::visibility("hidden")]] absl::StatusOr<internal::AttrValue> ToAttrValue(
    const AttrArg& arg, internal::Graph* graph);

}  // namespace detail
}  // namespace v1

namespace internal {
// The graph without the marks of GradientRoot and what no result needs: they matter only while it
// is built.
absl::StatusOr<Graph> WithoutRoots(Graph graph, const v1::detail::BuilderState& state);
// The seed and the offset of a graph's random ops, made for the first of them, and the ordinal of
// the next one, which is then taken.
struct RandomSource {
  Value seed, offset;
  std::int64_t stream = 0;
};
absl::StatusOr<RandomSource> NextRandomSource(v1::detail::BuilderState* state);
absl::StatusOr<Dim> DimFromSpec(const DimSpec& spec, Graph* graph);
// Whether graph text holds that many inputs more.
absl::Status CheckInputCount(const Graph& graph, std::size_t more);
// What every use of a Builder without a graph says.
absl::Status MovedFrom();
}  // namespace internal
}  // namespace jitfuse

#endif  // JITFUSE_API_BUILDER_STATE_H_
