// PlanEmitter: column sums. A first plan adds up what a block of rows has at each place of a row, a
// second one what all blocks have there.
#include <algorithm>

#include "codegen/plan/plan_emit.h"
#include "ir/op_enum.h"
#include "ir/support/status.h"

namespace jitfuse::internal {

// The summed dims are the parallel axes in order; `at` has the coordinates of the others.
absl::StatusOr<IndexMap> PlanEmitter::SummedElement(Value v, const IndexMap& at) const {
  const Node& node = graph_.node(v);
  const Shape& dims = graph_.type(node.in[0]).dims;
  const Shape& parallel = draft_.plan.parallel;
  const auto& axes = node.Get<std::vector<int64_t>>("axes");
  const bool keepdims = node.types[0].dims.size() == dims.size();
  IndexMap out;
  size_t kept = 0, next = 0;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (std::find(axes.begin(), axes.end(), static_cast<int64_t>(d)) == axes.end()) {
      out.coords.push_back(at.coords[keepdims ? d : kept++]);
      continue;
    }
    out.coords.emplace_back();
    if (dims[d].Is(1)) continue;
    if (next == parallel.size() || !graph_.SameDim(dims[d], parallel[next]))
      return InternalError(Describe(v), ": a column sum over other rows than those of ",
                           ShapeToString(parallel));
    out.coords.back() = AxisExpr(static_cast<int>(next++));
  }
  if (next != parallel.size())
    return InternalError(Describe(v), ": a column sum over fewer axes than those of ",
                         ShapeToString(parallel));
  return out;
}

absl::Status PlanEmitter::SumColumns(const ColumnSums& sums) {
  const Node& node = graph_.node(sums.value);
  if (node.op != Op::kSum || draft_.IsFlat())
    return InternalError(Describe(sums.value), " is no sum over the rows of a plan");
  JF_ASSIGN_OR_RETURN(IndexMap element, SummedElement(sums.value, sums.map));
  JF_ASSIGN_OR_RETURN(int x, Emit(node.in[0], Intern(node.in[0], std::move(element))));
  JF_ASSIGN_OR_RETURN(std::vector<ReduceProgram> programs,
                      BuildReducePrograms(graph_, node, /*two_pass=*/false));
  const ReduceProgram& program = programs[0];
  ColumnSum sum{ReduceOf(program, Inline(program.lift, {draft_.AddConvert(x, program.x), -1})), {}};
  KernelPlan& plan = draft_.plan;
  size_t stage = 0;
  for (size_t j = 0; j < program.acc.size(); ++j) {
    stage =
        std::max(stage, static_cast<size_t>(draft_.avail[static_cast<size_t>(sum.reduce.in[j])]));
    sum.params.push_back(static_cast<int>(plan.params.size()));
    plan.params.push_back(sums.blocks[j]);
  }
  if (plan.stages.size() <= stage) plan.stages.resize(stage + 1);
  plan.stages[stage].column_sums.push_back(std::move(sum));
  return absl::OkStatus();
}

// The buffers hold [block, place], the places being the parallel axes.
absl::StatusOr<int> PlanEmitter::JoinBlocks(const Key& key) {
  const auto& [v, map] = key;
  JF_ASSIGN_OR_RETURN(std::vector<ReduceProgram> programs,
                      BuildReducePrograms(graph_, graph_.node(v), /*two_pass=*/false));
  const ReduceProgram& program = programs[0];
  KernelPlan& plan = draft_.plan;
  const Shape strides = ContiguousStrides(plan.parallel);
  ColumnSums sums{v, maps_.at(map), {}};
  std::vector<int> parts;
  for (DType dtype : program.acc) {
    AccessMap read;
    read.param = static_cast<int>(plan.params.size());
    for (int axis = 0; axis < plan.num_parallel(); ++axis)
      AddTo(&read.linear, axis, strides[static_cast<size_t>(axis)]);
    AddTo(&read.linear, plan.num_parallel(), NumElements(plan.parallel));
    jitfuse::internal::Param p;
    p.role = ParamRole::kScratch;
    p.dtype = dtype;
    p.scratch = num_scratch_++;
    p.scratch_bytes = plan.inner[0] * NumElements(plan.parallel) * ItemSize(dtype);
    plan.params.push_back(p);
    sums.blocks.push_back(std::move(p));
    parts.push_back(draft_.AddLoad(read));
  }
  column_sums_.push_back(std::move(sums));
  std::vector<int> accumulators = Loop(program, std::move(parts));
  accumulators.push_back(-1);
  return Inline(program.finalize, accumulators)[static_cast<size_t>(v.result)];
}

}  // namespace jitfuse::internal
