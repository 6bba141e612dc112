#include "codegen/plan/build_plan.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "codegen/plan/column_blocks.h"
#include "codegen/plan/plan_draft.h"
#include "codegen/plan/plan_emit.h"
#include "codegen/plan/plan_finish.h"
#include "codegen/plan/plan_head.h"
#include "codegen/plan/schedule.h"
#include "codegen/plan/split_rows.h"
#include "ir/support/status.h"

namespace jitfuse::internal {
namespace {

// A row that is read again is still cheap on a CPU while it sits in its second-level cache.
constexpr int64_t kCpuCachedRow = 512 * 1024;
constexpr int64_t kCpuColumns = 64;  // columns that a CPU reduces side by side

// The group's domain as axes of a plan: kept dims first, reduced ones after them; dims of extent 1
// have no axis.
struct Axes {
  std::vector<int> of_dim;  // -1: none
};

bool IsReduced(const Group& group, size_t dim) {
  return std::find(group.reduce_axes.begin(), group.reduce_axes.end(), static_cast<int>(dim)) !=
         group.reduce_axes.end();
}

Axes MakeAxes(const Group& group, KernelPlan* plan) {
  Axes axes;
  axes.of_dim.assign(group.domain.size(), -1);
  int next = 0;
  for (bool reduced : {false, true}) {
    for (size_t d = 0; d < group.domain.size(); ++d) {
      if (IsReduced(group, d) != reduced || group.domain[d].Is(1)) continue;
      axes.of_dim[d] = next++;
      (reduced ? plan->inner : plan->parallel).push_back(group.domain[d]);
    }
  }
  return axes;
}

// An upper bound of the inner points, from the symbols' bounds; 0 if there is none.
int64_t InnerBound(const KernelPlan& plan, const PlanOptions& options) {
  SizeExpr n = NumElements(plan.inner);
  std::vector<SymbolId> symbols;
  n.CollectSymbols(&symbols);
  for (SymbolId s : symbols) {
    if (static_cast<size_t>(s) >= options.symbol_bounds.size() ||
        options.symbol_bounds[static_cast<size_t>(s)] <= 0)
      return 0;
  }
  return n.Eval(options.symbol_bounds);
}

// Where outputs of a group without maps (built by hand) are stored from: the whole domain, or its
// kept dims with or without the reduced ones as 1 (`sum`: of column sums, the other way round).
absl::StatusOr<IndexMap> DefaultMap(const Graph& graph, const Group& group, Value v, bool sum) {
  const Shape& dims = graph.type(v).dims;
  if (graph.SameShape(dims, group.domain) && !sum)
    return IdentityMap(static_cast<int>(dims.size()));
  Shape kept, keepdims;
  IndexMap map, keep_map;
  for (size_t d = 0; d < group.domain.size(); ++d) {
    bool reduced = IsReduced(group, d) != sum;
    keepdims.push_back(reduced ? Dim(1) : group.domain[d]);
    keep_map.coords.push_back(reduced ? IndexExpr{} : AxisExpr(static_cast<int>(d)));
    if (reduced) continue;
    kept.push_back(group.domain[d]);
    map.coords.push_back(AxisExpr(static_cast<int>(d)));
  }
  if (graph.SameShape(dims, keepdims)) return keep_map;
  if (graph.SameShape(dims, kept)) return map;
  return InternalError("output ", graph.TypeString(v), " of a group over ",
                       ShapeToString(group.domain, graph.symbols().names), " has no output map");
}

// Domain dims replaced by the plan's axes.
void UseAxes(const Axes& axes, IndexMap* map) {
  for (IndexExpr& e : map->coords) {
    for (IndexTerm& t : e.terms) {
      Affine linear;
      linear.constant = t.linear.constant;
      for (const auto& [dim, coef] : t.linear.coefs) {
        int axis = axes.of_dim[static_cast<size_t>(dim)];
        if (axis >= 0) AddTo(&linear, axis, coef);
      }
      t.linear = std::move(linear);
      if (t.linear.coefs.empty()) e.constant = e.constant + ValueWithoutAxes(t);
    }
    std::erase_if(e.terms, [](const IndexTerm& t) { return t.linear.coefs.empty(); });
  }
}

// Before accesses are known: rows whose inner points are no neighbours are taken for columns.
bool PreferTwoPasses(const Group& group, KernelPlan plan, const Target& target) {
  size_t last = group.domain.size();
  while (last > 0 && group.domain[last - 1].Is(1)) --last;
  plan.columns = last > 0 && !IsReduced(group, last - 1);
  if (RowFits(plan, target, 1, 4)) return true;
  int64_t points = InnerPoints(plan);
  const int64_t cached = kCpuCachedRow / 4 / (plan.columns ? kCpuColumns : 1);
  return target.kind != TargetKind::kCuda && points > 0 && points <= cached;
}

// The group's outputs with their maps, over the plan's axes: those of rows and elements, and those
// made of column sums.
struct Outputs {
  std::vector<std::pair<Value, IndexMap>> of_rows, of_columns;
};
absl::StatusOr<Outputs> OutputsOf(const Graph& graph, const Group& group, const Axes& axes) {
  Outputs out;
  const std::vector<bool> made = MadeOfColumnSums(graph, group);
  for (size_t i = 0; i < group.outputs.size(); ++i) {
    Value v = group.outputs[i];
    const bool of_columns = made[static_cast<size_t>(v.node)];
    IndexMap map;
    if (i < group.output_maps.size()) {
      map = group.output_maps[i];
    } else {
      JF_ASSIGN_OR_RETURN(map, DefaultMap(graph, group, v, of_columns));
    }
    UseAxes(axes, &map);
    (of_columns ? out.of_columns : out.of_rows).emplace_back(v, std::move(map));
  }
  return out;
}

// Drafts of the plans, in order: one, or, where there are column sums, that of the rows and that
// which joins its blocks.
absl::StatusOr<std::vector<PlanDraft>> DraftPlans(const Graph& graph, const Group& group,
                                                  const EdgeLayouts& layouts, const Target& target,
                                                  const PlanOptions& options) {
  std::vector<PlanDraft> drafts(1);
  KernelPlan& plan = drafts[0].plan;
  Axes axes = MakeAxes(group, &plan);
  plan.inner_bound = InnerBound(plan, options);
  JF_ASSIGN_OR_RETURN(Outputs outputs, OutputsOf(graph, group, axes));
  std::optional<JoinDraft> join;
  if (!outputs.of_columns.empty()) {
    plan.block_rows = BlockRows(plan, target);
    JF_ASSIGN_OR_RETURN(join, DraftJoin(graph, group, layouts, plan, outputs.of_columns));
  }
  PlanEmitter emitter(graph, group, layouts, PreferTwoPasses(group, plan, target), &drafts[0]);
  for (auto& [v, map] : outputs.of_rows)
    JF_RETURN_IF_ERROR(emitter.Store(v, emitter.Intern(v, std::move(map))));
  if (!join) return drafts;
  for (const PlanEmitter::ColumnSums& sums : join->sums)
    JF_RETURN_IF_ERROR(emitter.SumColumns(sums));
  drafts.push_back(std::move(join->draft));
  return drafts;
}

// Group inputs first, in the group's order, then outputs, in theirs, then scratch; those that
// nothing reads or writes are dropped.
void OrderParams(const Group& group, KernelPlan* plan) {
  std::vector<AccessMap*> accesses;
  for (AccessMap& a : plan->accesses) accesses.push_back(&a);
  for (Stage& s : plan->stages) {
    for (Store& st : s.stores) accesses.push_back(&st.access);
  }
  std::vector<int*> params_of_sums;
  for (Stage& s : plan->stages) {
    for (ColumnSum& sum : s.column_sums) {
      for (int& p : sum.params) params_of_sums.push_back(&p);
    }
  }
  std::vector<bool> used(plan->params.size(), false);
  for (const AccessMap* a : accesses) used[static_cast<size_t>(a->param)] = true;
  for (const int* p : params_of_sums) used[static_cast<size_t>(*p)] = true;
  absl::flat_hash_map<Value, int> rank;
  for (const auto* values : {&group.inputs, &group.outputs}) {
    for (Value v : *values) rank.try_emplace(v, static_cast<int>(rank.size()));
  }
  std::vector<int> order;
  for (size_t i = 0; i < used.size(); ++i) {
    if (used[i]) order.push_back(static_cast<int>(i));
  }
  auto key = [&](int i) {
    const Param& p = plan->params[static_cast<size_t>(i)];
    if (p.role == ParamRole::kScratch) return std::pair<int, int>(2, p.scratch);
    auto it = rank.find(p.value);
    return std::pair<int, int>(p.role != ParamRole::kInput,
                               it == rank.end() ? static_cast<int>(rank.size()) : it->second);
  };
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return key(a) < key(b); });
  std::vector<Param> params;
  std::vector<int> to(used.size(), -1);
  for (int i : order) {
    to[static_cast<size_t>(i)] = static_cast<int>(params.size());
    params.push_back(plan->params[static_cast<size_t>(i)]);
  }
  plan->params = std::move(params);
  for (AccessMap* a : accesses) a->param = to[static_cast<size_t>(a->param)];
  for (int* p : params_of_sums) *p = to[static_cast<size_t>(*p)];
}

void MarkAliases(const PlanOptions& options, KernelPlan* plan) {
  for (Param& p : plan->params) {
    bool listed = std::find(options.may_alias.begin(), options.may_alias.end(), p.value) !=
                  options.may_alias.end();
    p.may_alias = p.role == ParamRole::kInput && listed;
  }
}

}  // namespace

absl::StatusOr<std::vector<KernelPlan>> BuildPlan(const Graph& graph, const Group& given,
                                                  const EdgeLayouts& layouts, const Target& target,
                                                  const PlanOptions& options) {
  if (given.kind != GroupKind::kLoop && given.kind != GroupKind::kCopy &&
      given.kind != GroupKind::kView) {
    return InternalError("BuildPlan takes loop, copy and view groups");
  }
  if (given.outputs.empty()) return InternalError("a group without outputs");
  const Group group = InRowsFor(target, graph, given);
  absl::StatusOr<std::vector<PlanDraft>> drafts =
      DraftPlans(graph, group, layouts, target, options);
  if (!drafts.ok()) return Annotate(drafts.status(), PlanName(graph, group, options.index));
  std::vector<KernelPlan> plans;
  for (PlanDraft& draft : *drafts) {
    for (KernelPlan& plan :
         SplitRows(FinishDraft(std::move(draft), target, options), target, options.offset_bits))
      plans.push_back(std::move(plan));
  }
  for (KernelPlan& plan : plans) {
    OrderParams(group, &plan);
    plan.name =
        absl::StrCat(PlanName(graph, group, options.index), &plan == &plans.back() ? ""
                                                            : plan.HasColumnSums() ? "_blocks"
                                                                                   : "_chunks");
    plan.head = GroupText(graph, group);
    MarkAliases(options, &plan);
    JF_RETURN_IF_ERROR(ApplySchedule(&plan, target));
  }
  return plans;
}

}  // namespace jitfuse::internal
