// PickCpuSchedule: vector length, unrolling, grain, tiles.
#include <algorithm>

#include "codegen/plan/access_map.h"
#include "codegen/plan/schedule.h"
#include "codegen/plan/streams.h"

namespace jitfuse::internal {
namespace {

// The widest register that data of this plan needs; index arithmetic may be wider and then takes
// several machine registers.
int WidestRegister(const KernelPlan& plan) {
  int bytes = 1;
  for (const Param& p : plan.params) bytes = std::max(bytes, ItemSize(ComputeType(p.dtype)));
  for (const Stage& s : plan.stages) {
    for (const Store& st : s.stores)
      bytes =
          std::max(bytes, ItemSize(ComputeType(plan.insts[static_cast<size_t>(st.value)].dtype)));
  }
  return bytes;
}

int ElemCost(const KernelPlan& plan) {
  int cost = 0;
  for (const Inst& i : plan.insts) {
    if (i.elem && i.kind == Inst::Kind::kOp) cost += GetScalarOp(i.op).cost;
  }
  return cost;
}

int CombineCost(const KernelPlan& plan) {
  int cost = 0;
  for (const Stage& s : plan.stages) {
    int stage = 0;
    for (const PlanReduce& r : s.reduces) {
      for (const ScalarInst& i : r.combine.insts)
        stage += i.op == ScalarOp::kArg || i.op == ScalarOp::kConst ? 0 : GetScalarOp(i.op).cost;
    }
    cost = std::max(cost, stage);
  }
  return cost;
}

// Blocks as long as a cache line of the narrowest transposed operand, where both axes are long
// enough.
bool PickTile(const KernelPlan& plan, CpuSchedule* s) {
  constexpr int kLine = 64;
  const int axis = TransposedAxis(plan);
  for (int a : {axis, plan.num_parallel() - 1}) {
    if (plan.extent(a).IsConstant() && plan.extent(a).constant() < kShortTileAxis) return false;
  }
  int bytes = 8;
  for (int k : TransposedLoads(plan, axis)) {
    const AccessMap& a = plan.accesses[static_cast<size_t>(k)];
    bytes = std::min(bytes, ItemSize(plan.params[static_cast<size_t>(a.param)].dtype));
  }
  s->tile = kLine / bytes;
  s->tile_axis = axis;
  return true;
}

}  // namespace

CpuSchedule PickCpuSchedule(const KernelPlan& plan, const Target& target,
                            std::vector<Note>* notes) {
  CpuSchedule s;
  s.lanes = std::max(2, target.vec_bits / 8 / WidestRegister(plan));
  int cost = plan.IsRow() ? std::max(ElemCost(plan) / static_cast<int>(plan.stages.size()),
                                     CombineCost(plan))
                          : ElemCost(plan);
  s.unroll = cost <= 6 ? 4 : cost <= 16 ? 2 : 1;
  if (!plan.scans.empty() || plan.HasSegments()) s.lanes = s.unroll = 1;
  if (notes != nullptr && HasLongScan(plan)) notes->push_back({-1, Reason::kScanInOrder, ""});
  if (!plan.HasSegments() && TransposedAxis(plan) >= 0) {
    if (PickTile(plan, &s)) return s;
    if (notes != nullptr) notes->push_back({-1, Reason::kTransposedAccess, ""});
  }
  bool strided = false;
  for (const Inst& i : plan.insts) {
    if (i.kind != Inst::Kind::kLoad || !i.elem) continue;
    const AccessMap& a = plan.accesses[static_cast<size_t>(i.access)];
    strided = strided || (!IsUniformAccess(plan, a) && !IsVectorAccess(plan, a, 1));
  }
  if (notes != nullptr && strided)
    notes->push_back({-1, plan.IsRow() ? Reason::kStridedReduce : Reason::kScalarAccess, ""});
  return s;
}

}  // namespace jitfuse::internal
