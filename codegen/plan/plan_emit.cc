#include "codegen/plan/plan_emit.h"

#include <algorithm>

#include "ir/support/status.h"

namespace jitfuse::internal {
namespace {

Inst Leaf(Inst::Kind kind, DType dtype, bool elem) {
  Inst i;
  i.kind = kind;
  i.dtype = dtype;
  i.elem = elem;
  return i;
}

bool UsesInner(const IndexMap& map, int num_parallel) {
  for (const IndexExpr& e : map.coords) {
    for (const IndexTerm& t : e.terms) {
      if (!t.linear.coefs.empty() && t.linear.coefs.back().first >= num_parallel) return true;
    }
  }
  return false;
}

bool Mentions(const ScalarProgram& program, uint64_t arg) {
  return std::any_of(program.insts.begin(), program.insts.end(),
                     [arg](const ScalarInst& i) { return i.op == ScalarOp::kArg && i.imm == arg; });
}

}  // namespace

PlanEmitter::PlanEmitter(const Graph& graph, const Group& group, const EdgeLayouts& layouts,
                         bool two_pass, PlanDraft* draft)
    : graph_(graph),
      layouts_(layouts),
      two_pass_(two_pass),
      draft_(*draft),
      inside_(group.nodes.begin(), group.nodes.end()) {
  const KernelPlan& plan = draft->plan;
  space_.extents = plan.parallel;
  space_.extents.insert(space_.extents.end(), plan.inner.begin(), plan.inner.end());
}

std::string PlanEmitter::Describe(Value v) const {
  return absl::StrCat("value ", v.node, ".", v.result, " = ", ToAbsl(graph_.node(v).def().name),
                      " : ", graph_.TypeString(v));
}

int PlanEmitter::Intern(Value v, IndexMap map) {
  const Shape& dims = graph_.type(v).dims;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (dims[d].Is(1)) map.coords[d] = IndexExpr{};
  }
  return maps_.Add(map);
}

std::optional<int> PlanEmitter::Pulled(Value v) const {
  auto it = pulled_.find(v);
  return it == pulled_.end() ? std::nullopt : std::optional<int>(it->second);
}

absl::StatusOr<int> PlanEmitter::Emit(Value v, int map) {
  std::vector<Key> stack = {{v, map}};
  Ask ask;
  while (!stack.empty()) {
    Key key = stack.back();
    if (memo_.contains(key)) {
      stack.pop_back();
      continue;
    }
    pulled_.try_emplace(key.first, key.second);
    ask.clear();
    JF_ASSIGN_OR_RETURN(std::optional<int> done, Step(key, &ask));
    if (done) {
      memo_[key] = *done;
      stack.pop_back();
    } else {
      stack.insert(stack.end(), ask.rbegin(), ask.rend());  // operand 0 on top: it is emitted first
    }
  }
  return memo_[{v, map}];
}

std::optional<int> PlanEmitter::Known(Value v, int map, Ask* ask) {
  auto it = memo_.find({v, map});
  if (it != memo_.end()) return it->second;
  ask->push_back({v, map});
  return std::nullopt;
}

absl::StatusOr<std::optional<int>> PlanEmitter::Step(const Key& key, Ask* ask) {
  const auto& [v, map] = key;
  const Node& node = graph_.node(v);
  bool flat = draft_.IsFlat();
  switch (node.kind()) {
    case OpKind::kConstant:
      return draft_.AddConst(ComputeType(node.types[0].dtype), graph_.ConstantValue(v.node).bits(),
                             flat);
    case OpKind::kScalar: {
      auto [it, is_new] = scalars_.try_emplace(v, static_cast<int>(draft_.plan.scalars.size()));
      if (is_new) {
        draft_.plan.scalars.push_back(node.types[0].dtype);
        draft_.plan.scalar_values.push_back(v);
      }
      Inst i = Leaf(Inst::Kind::kScalar, ComputeType(node.types[0].dtype), flat);
      i.scalar = it->second;
      return draft_.AddInst(i, 0);
    }
    case OpKind::kIota:
      return Iota(node, map);
    default:
      break;
  }
  if (!inside_.contains(v.node)) return Load(v, map);
  switch (node.kind()) {
    case OpKind::kPointwise:
      return Pointwise(node, map, ask);
    case OpKind::kView:
      return View(key, ask);
    case OpKind::kReduce:
      return Reduce(key, ask);
    default:
      return InternalError(
          Describe(v),
          ": a loop group holds pointwise, view, iota, constant and reduce nodes only");
  }
}

int PlanEmitter::Param(Value v, ParamRole role, const Layout* layout) {
  auto [it, is_new] = params_.try_emplace({v, role}, static_cast<int>(draft_.plan.params.size()));
  if (is_new) {
    jitfuse::internal::Param p;
    p.role = role;
    p.dtype = graph_.type(v).dtype;
    p.align = layout != nullptr ? std::min(16, layout->align) : 16;
    p.value = v;
    draft_.plan.params.push_back(p);
  }
  return it->second;
}

int PlanEmitter::Load(Value v, int map) {
  auto it = layouts_.reads.find(v);
  const Layout* layout = it == layouts_.reads.end() ? nullptr : &it->second;
  int param = Param(v, ParamRole::kInput, layout);
  return draft_.AddLoad(MakeAccess(
      param, maps_.at(map),
      layout != nullptr ? layout->strides : ContiguousStrides(graph_.type(v).dims), space_));
}

absl::Status PlanEmitter::Store(Value v, int map) {
  JF_ASSIGN_OR_RETURN(int value, Emit(v, map));
  auto it = layouts_.writes.find(v);
  const Layout* layout = it == layouts_.writes.end() ? nullptr : &it->second;
  jitfuse::internal::Store store;
  store.value = value;
  store.elem = draft_.IsFlat() || UsesInner(maps_.at(map), draft_.plan.num_parallel());
  int param = Param(v, ParamRole::kOutput, layout);
  store.access = MakeAccess(
      param, maps_.at(map),
      layout != nullptr ? layout->strides : ContiguousStrides(graph_.type(v).dims), space_);
  if (draft_.inst(value).elem && !store.elem) {
    return InternalError(
        Describe(v), ": the output has one element per row, its value one per element of the row");
  }
  int avail = draft_.avail[static_cast<size_t>(value)];
  size_t stage = static_cast<size_t>(store.elem ? avail : std::max(0, avail - 1));
  if (draft_.plan.stages.size() <= stage) draft_.plan.stages.resize(stage + 1);
  draft_.plan.stages[stage].stores.push_back(std::move(store));
  return absl::OkStatus();
}

absl::StatusOr<int> PlanEmitter::Iota(const Node& node, int map) {
  auto axis = static_cast<size_t>(node.Get<int64_t>("axis"));
  return draft_.AddConvert(draft_.AddIndex(maps_.at(map).coords[axis]), node.types[0].dtype);
}

// Expand has made broadcasts explicit; a group built by hand may still hold implicit ones.
int PlanEmitter::OperandMap(const Node& node, Value operand, int map) {
  const Shape& out = node.types[0].dims;
  const Shape& in = graph_.type(operand).dims;
  size_t lead = out.size() - in.size();
  bool same = lead == 0;
  for (size_t d = 0; d < in.size() && same; ++d) same = !in[d].Is(1) || out[d].Is(1);
  if (same) return map;
  IndexMap m;
  m.coords.assign(maps_.at(map).coords.begin() + static_cast<std::ptrdiff_t>(lead),
                  maps_.at(map).coords.end());
  return Intern(operand, std::move(m));
}

absl::StatusOr<const ScalarProgram*> PlanEmitter::Body(const Node& node) {
  const OpDef& def = node.def();
  std::vector<DType> types;
  std::string key =
      absl::StrCat(static_cast<int>(node.op), ":", static_cast<int>(node.types[0].dtype));
  for (Value v : node.in) {
    types.push_back(ComputeType(graph_.type(v).dtype));
    absl::StrAppend(&key, ",", static_cast<int>(types.back()));
  }
  auto lookup = [&node](std::string_view name) -> std::optional<double> {
    for (const Attr& a : node.attrs) {
      if (a.name != name) continue;
      if (const auto* f = std::get_if<double>(&a.value)) return *f;
      if (const auto* i = std::get_if<int64_t>(&a.value)) return static_cast<double>(*i);
      if (const auto* b = std::get_if<bool>(&a.value)) return *b ? 1 : 0;
    }
    return std::nullopt;
  };
  for (const Attr& a : node.attrs) {
    if (auto value = lookup(a.name))
      absl::StrAppend(&key, ";", ToAbsl(a.name), "=", ScalarFromDouble(DType::kF64, *value).bits());
  }
  auto it = bodies_.find(key);
  if (it == bodies_.end()) {
    JF_ASSIGN_OR_RETURN(ScalarProgram p,
                        BuildScalarProgram(def.body, def.args.subspan(0, types.size()), types,
                                           lookup, {node.types[0].dtype}));
    if (ItemSize(node.types[0].dtype) == 2) p = For16BitTypes(std::move(p));
    it = bodies_.emplace(std::move(key), std::move(p)).first;
  }
  return &it->second;
}

std::vector<int> PlanEmitter::Inline(const ScalarProgram& program, absl::Span<const int> args) {
  std::vector<int> regs;
  regs.reserve(program.insts.size());
  for (const ScalarInst& s : program.insts) {
    if (s.op == ScalarOp::kArg) {
      regs.push_back(args[s.imm]);
    } else if (s.op == ScalarOp::kConst) {
      regs.push_back(draft_.AddConst(s.dtype, s.imm, draft_.IsFlat()));
    } else if (s.op == ScalarOp::kConvert) {
      regs.push_back(draft_.AddConvert(regs[static_cast<size_t>(s.in[0])], s.dtype));
    } else {
      absl::InlinedVector<int, 3> in;
      for (int k = 0; k < GetScalarOp(s.op).arity; ++k)
        in.push_back(regs[static_cast<size_t>(s.in[k])]);
      regs.push_back(draft_.AddOp(s.op, s.dtype, in));
    }
  }
  std::vector<int> results;
  for (int16_t r : program.results) results.push_back(regs[static_cast<size_t>(r)]);
  return results;
}

absl::StatusOr<std::optional<int>> PlanEmitter::Pointwise(const Node& node, int map, Ask* ask) {
  absl::InlinedVector<int, 4> args;
  for (Value v : node.in) {
    if (std::optional<int> value = Known(v, OperandMap(node, v, map), ask)) args.push_back(*value);
  }
  if (!ask->empty()) return std::optional<int>();
  JF_ASSIGN_OR_RETURN(const ScalarProgram* body, Body(node));
  return Inline(*body, args)[0];
}

absl::StatusOr<std::optional<int>> PlanEmitter::View(const Key& key, Ask* ask) {
  const auto& [v, map] = key;
  const Node& node = graph_.node(v);
  auto it = view_maps_.find(key);
  if (it == view_maps_.end()) {
    std::optional<IndexMap> in = node.def().index(graph_, node, maps_.at(map), space_);
    if (!in) return InternalError(Describe(v), ": the chain of views has no affine index map");
    it = view_maps_.emplace(key, Intern(node.in[0], std::move(*in))).first;
  }
  return Known(node.in[0], it->second, ask);
}

// Where the reduction's operand is read: `at` in the kept dims, the inner axes in the reduced ones.
absl::StatusOr<IndexMap> PlanEmitter::ReducedElement(const Node& node, const IndexMap& at) const {
  const Shape& dims = graph_.type(node.in[0]).dims;
  const auto& axes = node.Get<std::vector<int64_t>>("axes");
  const Shape& inner = draft_.plan.inner;
  bool keepdims = node.types[0].dims.size() == dims.size() && !axes.empty();
  auto is_reduced = [&axes](size_t d) {
    return std::find(axes.begin(), axes.end(), static_cast<int64_t>(d)) != axes.end();
  };
  Shape reduced;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (is_reduced(d) && !dims[d].Is(1)) reduced.push_back(dims[d]);
  }
  IndexMap inner_coords;
  for (size_t i = 0; i < inner.size(); ++i)
    inner_coords.coords.push_back(AxisExpr(draft_.plan.num_parallel() + static_cast<int>(i)));
  if (reduced.empty()) {
    inner_coords.coords.clear();
  } else if (!graph_.SameShape(reduced, inner)) {
    std::optional<IndexMap> other;
    if (NumElements(reduced) == NumElements(inner))
      other = ReshapeCoords(inner_coords, inner, reduced, space_);
    if (!other)
      return InternalError("reduction over ", ShapeToString(reduced),
                           " in a group that reduces over ", ShapeToString(inner));
    inner_coords = std::move(*other);
  }
  IndexMap out;
  size_t kept = 0, next = 0;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (!is_reduced(d)) {
      out.coords.push_back(at.coords[keepdims ? d : kept++]);
    } else {
      out.coords.push_back(dims[d].Is(1) ? IndexExpr{} : inner_coords.coords[next++]);
    }
  }
  return out;
}

absl::StatusOr<std::optional<int>> PlanEmitter::Reduce(const Key& key, Ask* ask) {
  const auto& [v, map] = key;
  const Node& node = graph_.node(v);
  JF_ASSIGN_OR_RETURN(IndexMap element, ReducedElement(node, maps_.at(map)));
  if (!ReducedPoints(node).Is(1) && UsesInner(maps_.at(map), draft_.plan.num_parallel())) {
    return InternalError(Describe(v), ": a reduction inside another one's loop");
  }
  std::optional<int> x = Known(node.in[0], Intern(node.in[0], std::move(element)), ask);
  if (!x) return std::optional<int>();
  JF_ASSIGN_OR_RETURN(int result, ReduceResult(node, v.result, map, *x));
  return result;
}

absl::StatusOr<int> PlanEmitter::ReduceResult(const Node& node, int result, int map, int x) {
  NodeId id = static_cast<NodeId>(&node - &graph_.node(0));
  auto [programs, is_new] = reduces_.try_emplace(id);
  if (is_new) {
    JF_ASSIGN_OR_RETURN(programs->second, BuildReducePrograms(graph_, node, two_pass_));
  }
  bool one_pass = programs->second.size() == 1;
  std::vector<int> results;
  for (int pass = 0; pass <= (one_pass ? 0 : result); ++pass) {
    std::vector<int>& mine = passes_[{Value{id, pass}, map}];
    if (mine.empty())
      mine = Accumulate(node, programs->second[static_cast<size_t>(pass)], x, results);
    results.insert(results.end(), mine.begin(), mine.end());
  }
  return results[static_cast<size_t>(result)];
}

SizeExpr PlanEmitter::ReducedPoints(const Node& node) const {
  SizeExpr n(1);
  for (int64_t a : node.Get<std::vector<int64_t>>("axes"))
    n = n * graph_.type(node.in[0]).dims[static_cast<size_t>(a)];
  return n;
}

int PlanEmitter::Count(const Node& node, DType type) {
  SizeExpr n = ReducedPoints(node);
  if (n.IsConstant())
    return draft_.AddConst(type, ScalarFromInt(type, n.constant()).bits(), draft_.IsFlat());
  return draft_.AddConvert(draft_.AddSize(n), type);
}

// The position within the reduced axes, row-major.
int PlanEmitter::Position(bool trivial) {
  IndexExpr position;
  const KernelPlan& plan = draft_.plan;
  Shape strides = ContiguousStrides(plan.inner);
  for (size_t i = 0; i < plan.inner.size() && !trivial; ++i) {
    position =
        Sum(position, Scale(AxisExpr(plan.num_parallel() + static_cast<int>(i)), strides[i]));
  }
  return draft_.AddIndex(position);
}

// The loop over the inner axes: a reduction of the stage in which its elements are first known.
std::vector<int> PlanEmitter::Loop(const ReduceProgram& program, std::vector<int> lifted) {
  PlanReduce reduce;
  int stage = 0;
  for (int& l : lifted) {
    l = draft_.AddElem(l);
    stage = std::max(stage, draft_.avail[static_cast<size_t>(l)]);
  }
  reduce.in = std::move(lifted);
  reduce.dtypes = program.acc;
  for (ScalarValue v : program.init) reduce.init.push_back(v.bits());
  reduce.combine = program.combine;
  if (draft_.plan.stages.size() <= static_cast<size_t>(stage))
    draft_.plan.stages.resize(static_cast<size_t>(stage) + 1);
  std::vector<PlanReduce>& reduces = draft_.plan.stages[static_cast<size_t>(stage)].reduces;
  std::vector<int> accumulators;
  for (size_t j = 0; j < program.acc.size(); ++j) {
    Inst i = Leaf(Inst::Kind::kResult, program.acc[j], false);
    i.stage = stage;
    i.reduce = static_cast<int>(reduces.size());
    i.which = static_cast<int>(j);
    accumulators.push_back(draft_.AddInst(i, stage + 1));
  }
  reduces.push_back(std::move(reduce));
  return accumulators;
}

std::vector<int> PlanEmitter::Accumulate(const Node& node, const ReduceProgram& program, int x,
                                         absl::Span<const int> earlier) {
  bool trivial = ReducedPoints(node).Is(1);
  std::vector<int> args = {draft_.AddConvert(x, program.x),
                           Mentions(program.lift, 1) ? Position(trivial) : -1};
  args.insert(args.end(), earlier.begin(), earlier.end());
  std::vector<int> accumulators = Inline(program.lift, args);
  if (!trivial) accumulators = Loop(program, std::move(accumulators));
  accumulators.push_back(Mentions(program.finalize, program.acc.size()) ? Count(node, program.n)
                                                                        : -1);
  return Inline(program.finalize, accumulators);
}

}  // namespace jitfuse::internal
