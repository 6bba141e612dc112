#include "api/random.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "api/builder_state.h"
#include "api/ops_support.h"
#include "ir/rng.h"
#include "ir/support/status.h"

namespace jitfuse {

namespace internal {

absl::StatusOr<RandomSource> NextRandomSource(v1::detail::BuilderState* state) {
  if (state->rng_seed.node < 0) {
    JF_RETURN_IF_ERROR(CheckInputCount(state->graph, 2));
    JF_ASSIGN_OR_RETURN(state->rng_seed, state->graph.AddScalar(kRngSeedName, DType::kU64));
    JF_ASSIGN_OR_RETURN(state->rng_offset, state->graph.AddScalar(kRngOffsetName, DType::kU64));
  }
  return RandomSource{state->rng_seed, state->rng_offset, state->next_stream++};
}

}  // namespace internal

inline namespace v1 {
namespace {

using detail::BuilderState;

struct Source {
  Tensor seed, offset;
  std::int64_t stream = 0;
};

Source NextSource(const std::shared_ptr<BuilderState>& state) {
  if (state == nullptr) return {};
  absl::StatusOr<internal::RandomSource> next = internal::NextRandomSource(state.get());
  if (!next.ok()) return {BuilderState::Fail(state, next.status()), {}, 0};
  return {BuilderState::Wrap(state, next->seed), BuilderState::Wrap(state, next->offset),
          next->stream};
}

// Of an operand of these functions, which have no optional ones.
absl::Status CheckOperand(const char* name, const char* operand, const Tensor& t) {
  if (t.valid()) return absl::OkStatus();
  return internal::InvalidArgument(
      name, ": ", operand, " is an invalid tensor; expected one that a Builder or an op gave");
}

// An op on x, with the attribute `p` where it is given.
Tensor Like(const char* name, const Tensor& x, const Tensor& p_scalar, std::optional<double> p) {
  auto state = BuilderState::Of(x);
  if (state == nullptr || !x.valid()) return x;
  const Source s = NextSource(state);
  const std::vector<Tensor> in = {x, s.seed, s.offset, p_scalar};
  return p ? detail::Apply(name, in, {{"p", *p}, {"stream", s.stream}})
           : detail::Apply(name, in, {{"stream", s.stream}});
}

}  // namespace

Tensor RandomUniform(const Builder& builder, const std::vector<DimSpec>& shape, DType dtype,
                     double low, double high) {
  Source s = NextSource(BuilderState::Of(builder));
  return detail::Apply(
      "random_uniform", {s.seed, s.offset},
      {{"shape", shape}, {"stream", s.stream}, {"low", low}, {"high", high}, {"dtype", dtype}});
}

Tensor RandomNormal(const Builder& builder, const std::vector<DimSpec>& shape, DType dtype,
                    double mean, double std) {
  Source s = NextSource(BuilderState::Of(builder));
  return detail::Apply(
      "random_normal", {s.seed, s.offset},
      {{"shape", shape}, {"stream", s.stream}, {"mean", mean}, {"std", std}, {"dtype", dtype}});
}

Tensor Bernoulli(const Tensor& p) { return Like("bernoulli", p, {}, std::nullopt); }
Tensor Dropout(const Tensor& x, double p) { return Like("dropout", x, {}, p); }
Tensor Dropout(const Tensor& x, const Tensor& p) {
  auto state = BuilderState::Of(x);
  if (absl::Status s = CheckOperand("dropout", "p", p); state != nullptr && !s.ok())
    return BuilderState::Fail(state, s);
  return Like("dropout", x, p, std::nullopt);
}

}  // namespace v1
}  // namespace jitfuse
