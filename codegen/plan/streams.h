// Streams: the loads and stores that a plan does per element, and how they lie to its axes.
//
// In: a plan (its schedule is not looked at). Out: each elem access once, loads before stores, and
// what schedules and notes decide by. An access is heavy if (nearly) every point has an element of
// its own, so that it is what the kernel's time goes to; broadcast operands are not. Must not know:
// targets.
#ifndef JITFUSE_CODEGEN_PLAN_STREAMS_H_
#define JITFUSE_CODEGEN_PLAN_STREAMS_H_

#include <cstdint>
#include <vector>

#include "codegen/plan/kernel_plan.h"

namespace jitfuse::internal {

struct Stream {
  const AccessMap* access;
  bool heavy;
  bool store;
};
std::vector<Stream> ElemStreams(const KernelPlan& plan);

// Whether the rows of a plan lie side by side in memory: neighbours along the last parallel axis
// are neighbours in memory, neighbours along the inner axes are not.
bool LieSideBySide(const KernelPlan& plan);
// Whether some heavy access walks in steps along the vector axis.
bool WalksStrided(const KernelPlan& plan);

// Axes shorter than this are not worth tiles.
inline constexpr int64_t kShortTileAxis = 16;
// The axis of a flat plan along which those heavy loads lie contiguous that do not lie so along the
// last axis, as the outputs do; of several such axes the one of most bytes. -1: none.
int TransposedAxis(const KernelPlan& plan);
// Numbers of the accesses that lie contiguous along `axis` but neither contiguous nor still along
// the last axis, ascending.
std::vector<int> TransposedLoads(const KernelPlan& plan, int axis);

}  // namespace jitfuse::internal

#endif  // JITFUSE_CODEGEN_PLAN_STREAMS_H_
