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

#include "absl/status/statusor.h"
#include "ir/graph.h"

namespace jitfuse::internal {

inline constexpr std::string_view kRngSeedName = "rng_seed";
inline constexpr std::string_view kRngOffsetName = "rng_offset";

enum class RngRole { kNone, kSeed, kOffset };
// Of input i of the signature; kNone for any i that is none.
RngRole RngRoleOf(const Graph& graph, size_t i);
bool UsesRng(const Graph& graph);
absl::StatusOr<Graph> RngFromMemory(const Graph& graph);

}  // namespace jitfuse::internal

#endif  // JITFUSE_IR_RNG_H_
