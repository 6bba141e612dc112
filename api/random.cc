#include "api/random.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "api/builder_state.h"
#include "api/ops_support.h"
#include "ir/rng.h"
#include "ir/support/status.h"

namespace jitfuse {
inline namespace v1 {
namespace {

using detail::BuilderState;

struct Source {
  Tensor seed, offset;
  std::int64_t stream = 0;
};

// The Builder's seed and offset, and the next ordinal.
Source NextSource(const std::shared_ptr<BuilderState>& state) {
  if (state == nullptr) return {};
  if (state->rng_seed.node < 0) {
    if (absl::Status s = internal::CheckInputCount(state->graph, 2); !s.ok())
      return {BuilderState::Fail(state, s), {}, 0};
    auto seed = state->graph.AddScalar(internal::kRngSeedName, internal::DType::kU64);
    auto offset = state->graph.AddScalar(internal::kRngOffsetName, internal::DType::kU64);
    for (const auto& v : {seed, offset}) {
      if (!v.ok()) return {BuilderState::Fail(state, v.status()), {}, 0};
    }
    state->rng_seed = *seed;
    state->rng_offset = *offset;
  }
  return {BuilderState::Wrap(state, state->rng_seed), BuilderState::Wrap(state, state->rng_offset),
          state->next_stream++};
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
