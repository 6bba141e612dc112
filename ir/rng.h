// The seed and the offset of random ops: two run-time scalars that the caller does not pass among
// his inputs.
//
// They are kScalar inputs of dtype u64 with reserved names; every random op of a graph reads them.
// RunOptions.rng gives their values. Where these are to be read from device memory when kernels
// run, RngFromMemory makes the same graph with two rank-0 inputs in their place.
// Must not know: the generator (ir/ops.inc: philox).
#ifndef JITFUSE_IR_RNG_H_
#define JITFUSE_IR_RNG_H_

#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ir/graph.h"
#include "ir/support/status.h"

namespace jitfuse::internal {

inline constexpr std::string_view kRngSeedName = "rng_seed";
inline constexpr std::string_view kRngOffsetName = "rng_offset";

enum class RngRole { kNone, kSeed, kOffset };
// Of input i of the signature; kNone for any i that is none.
RngRole RngRoleOf(const Graph& graph, size_t i);
// Of each input of the signature; empty in graphs without random ops.
std::vector<RngRole> RngRolesOf(const Graph& graph);
// Goes through a signature: given(k) for the k-th of `count` inputs that the caller passes,
// hidden(role) for the seed and the offset where they stand. What is given beyond the signature
// comes last; what lacks ends the walk.
template <typename Given, typename Hidden>
absl::Status ForEachInput(absl::Span<const RngRole> roles, size_t count, Given given,
                          Hidden hidden) {
  size_t k = 0;
  for (size_t i = 0; i < roles.size() || k < count; ++i) {
    if (i < roles.size() && roles[i] != RngRole::kNone) {
      hidden(roles[i]);
    } else if (k < count) {
      JF_RETURN_IF_ERROR(given(k++));
    } else {
      break;
    }
  }
  return absl::OkStatus();
}
absl::StatusOr<Graph> RngFromMemory(const Graph& graph);

}  // namespace jitfuse::internal

#endif  // JITFUSE_IR_RNG_H_
