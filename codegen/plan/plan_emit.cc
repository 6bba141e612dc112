#include "codegen/plan/plan_emit.h"

#include <algorithm>

#include "ir/pointwise.h"
#include "ir/support/status.h"
#include "ir/view_index.h"

namespace jitfuse::internal {
namespace {

bool UsesInner(const IndexMap& map, int num_parallel) {
  auto uses = [num_parallel](const IndexExpr& e) {
    return std::any_of(e.terms.begin(), e.terms.end(), [num_parallel](const IndexTerm& t) {
      return !t.linear.coefs.empty() && t.linear.coefs.back().first >= num_parallel;
    });
  };
  return std::any_of(map.coords.begin(), map.coords.end(), uses) ||
         std::any_of(map.masks.begin(), map.masks.end(),
                     [&](const IndexMask& m) { return uses(m.e); });
}

bool Mentions(const ScalarProgram& program, uint64_t arg) {
  return std::any_of(program.insts.begin(), program.insts.end(),
                     [arg](const ScalarInst& i) { return i.op == ScalarOp::kArg && i.imm == arg; });
}

}  // namespace

Inst Leaf(Inst::Kind kind, DType dtype, bool elem) {
  Inst i;
  i.kind = kind;
  i.dtype = dtype;
  i.elem = elem;
  return i;
}

PlanEmitter::PlanEmitter(const Graph& graph, const Group& group, const EdgeLayouts& layouts,
                         bool two_pass, PlanDraft* draft)
    : graph_(graph),
      layouts_(layouts),
      two_pass_(two_pass),
      draft_(*draft),
      inside_(group.nodes.begin(), group.nodes.end()) {
  for (Value v : group.inputs) inside_.erase(v.node);
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
      return Iota(node, maps_.at(map));
    default:
      break;
  }
  if (!inside_.contains(v.node)) return Load(v, maps_.at(map), space_);
  switch (node.kind()) {
    case OpKind::kPointwise:
      return Pointwise(node, map, ask);
    case OpKind::kView:
      return View(key, ask);
    case OpKind::kJoin:
      return Join(key, ask);
    case OpKind::kGather:
      return Gather(key, ask);
    case OpKind::kSegment:
      return Segment(key, ask);
    case OpKind::kReduce:
      if (joined_.contains(v.node)) return JoinBlocks(key);
      return Reduce(key, ask);
    case OpKind::kScan:
      return Scan(key, ask);
    default:
      return InternalError(Describe(v), ": a loop group holds no such node");
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

AccessMap PlanEmitter::Access(Value v, const IndexMap& map, const IndexSpace& space) {
  auto it = layouts_.reads.find(v);
  const Layout* layout = it == layouts_.reads.end() ? nullptr : &it->second;
  int param = Param(v, ParamRole::kInput, layout);
  AccessMap access = MakeAccess(
      param, map, layout != nullptr ? layout->strides : ContiguousStrides(graph_.type(v).dims),
      space);
  if (UsesIndirect(access)) access.indirect = space.indirect;
  return access;
}

int PlanEmitter::Load(Value v, const IndexMap& map, const IndexSpace& space, int position) {
  AccessMap access = Access(v, map, space);
  return access.indirect ? draft_.AddLoad(access, position) : draft_.AddLoad(access);
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

int PlanEmitter::Iota(const Node& node, const IndexMap& map, int position) {
  auto axis = static_cast<size_t>(node.Get<int64_t>("axis"));
  return draft_.AddConvert(draft_.AddIndex(map.coords[axis], position), node.types[0].dtype);
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
  std::vector<DType> types;
  std::string key =
      absl::StrCat(static_cast<int>(node.op), ":", static_cast<int>(node.types[0].dtype));
  for (Value v : node.in) {
    types.push_back(ComputeType(graph_.type(v).dtype));
    absl::StrAppend(&key, ",", static_cast<int>(types.back()));
  }
  for (const Attr& a : node.attrs) {
    if (const auto* whole = std::get_if<int64_t>(&a.value))  // which f64 might round
      absl::StrAppend(&key, ";", ToAbsl(a.name), "=#", *whole);
    else if (auto value = AttrNumber(node, a.name))
      absl::StrAppend(&key, ";", ToAbsl(a.name), "=", ScalarFromDouble(DType::kF64, *value).bits());
  }
  auto it = bodies_.find(key);
  if (it == bodies_.end()) {
    JF_ASSIGN_OR_RETURN(ScalarProgram p, PointwiseProgram(node, types, BodyForm::kOfResult));
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

// The number of the operand's map; nullopt: there is no affine one.
std::optional<int> PlanEmitter::OperandOf(const Node& node, int operand, int map) {
  std::pair<Key, int> key{{{static_cast<NodeId>(&node - &graph_.node(0)), 0}, map}, operand};
  auto it = operand_maps_.find(key);
  if (it != operand_maps_.end()) return it->second;
  std::optional<IndexMap> in = PullOperand(graph_, node, operand, maps_.at(map), space_);
  if (!in) return std::nullopt;
  int id = Intern(node.in[static_cast<size_t>(operand)], std::move(*in));
  operand_maps_.emplace(key, id);
  return id;
}

absl::StatusOr<std::optional<int>> PlanEmitter::View(const Key& key, Ask* ask) {
  const auto& [v, map] = key;
  const Node& node = graph_.node(v);
  std::optional<int> in = OperandOf(node, 0, map);
  if (!in) return InternalError(Describe(v), ": the chain of views has no affine index map");
  return Known(node.in[0], *in, ask);
}

// Whether all masks hold here, as a bool. `reached`: their lower bounds are known to hold.
int PlanEmitter::Condition(const std::vector<IndexMask>& masks, bool reached) {
  int all = -1;
  auto add = [&](ScalarOp op, const IndexExpr& e, const SizeExpr& bound) {
    int one = draft_.AddOp(op, DType::kBool, {draft_.AddIndex(e), draft_.AddSize(bound)});
    all = all < 0 ? one : draft_.AddOp(ScalarOp::kAnd, DType::kBool, {all, one});
  };
  for (const IndexMask& m : masks) {
    std::optional<SizeExpr> least = LowerBound(m.e, space_), most = UpperBound(m.e, space_);
    bool above = reached || (least && (*least - m.lo).IsKnownNonNegative());
    bool below = most && (m.hi - *most - 1).IsKnownNonNegative();
    if (!above) add(ScalarOp::kGe, m.e, m.lo);
    if (!below) add(ScalarOp::kLt, m.e, m.hi);
  }
  return all;
}

// Operands in turn: the first one whose masks hold. One that has nothing here is left out, as are
// those behind one that has everything.
absl::StatusOr<std::optional<int>> PlanEmitter::Join(const Key& key, Ask* ask) {
  const auto& [v, map] = key;
  const Node& node = graph_.node(v);
  bool fills = node.def().FindAttr("value") != nullptr;
  struct Choice {
    int value, condition;
  };
  std::vector<Choice> choices;
  bool complete = false;
  for (size_t k = 0; k < node.in.size() && !complete; ++k) {
    auto operand = static_cast<int>(k);
    std::optional<std::vector<IndexMask>> masks =
        JoinMasks(graph_, node, operand, maps_.at(map), space_);
    std::optional<int> at = OperandOf(node, operand, map);
    if (!masks || !at)
      return InternalError(Describe(v), ": the chain of views has no affine index map");
    auto fact = [&](const IndexMask& m) { return FactOf(m, space_); };
    if (std::any_of(masks->begin(), masks->end(),
                    [&](const IndexMask& m) { return fact(m) == MaskFact::kNever; }))
      continue;
    std::erase_if(*masks, [&](const IndexMask& m) { return fact(m) == MaskFact::kAlways; });
    complete = masks->empty();
    std::optional<int> value = Known(node.in[k], *at, ask);
    if (!value || !ask->empty()) continue;
    choices.push_back({*value, complete ? -1 : Condition(*masks, !fills)});
  }
  if (!ask->empty()) return std::optional<int>();
  if (!fills && !choices.empty()) complete = true;  // operands leave no gap: the last has the rest
  DType type = ComputeType(node.types[0].dtype);
  double fill = fills ? node.Get<double>("value") : 0;
  ScalarValue rounded = ConvertScalar(type, node.types[0].dtype, ScalarFromDouble(type, fill));
  int result = -1;
  if (complete) {
    result = choices.back().value;
    choices.pop_back();
  } else if (fills && choices.size() == 1 && rounded.bits() == 0 &&
             draft_.inst(choices[0].value).kind == Inst::Kind::kLoad) {
    return std::optional<int>(choices[0].value);  // a load gives zero where its masks fail
  } else {
    result = draft_.AddConst(type, rounded.bits(), draft_.IsFlat());
  }
  for (size_t i = choices.size(); i-- > 0;) {
    result =
        draft_.AddOp(ScalarOp::kSelect, type, {choices[i].condition, choices[i].value, result});
  }
  return std::optional<int>(result);
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

PlanReduce PlanEmitter::ReduceOf(const ReduceProgram& program, std::vector<int> lifted) {
  PlanReduce reduce;
  for (int& l : lifted) l = draft_.AddElem(l);
  reduce.in = std::move(lifted);
  reduce.dtypes = program.acc;
  for (ScalarValue v : program.init) reduce.init.push_back(v.bits());
  reduce.combine = program.combine;
  return reduce;
}

// The loop over the inner axes: a reduction of the stage in which its elements are first known.
std::vector<int> PlanEmitter::Loop(const ReduceProgram& program, std::vector<int> lifted) {
  PlanReduce reduce = ReduceOf(program, std::move(lifted));
  int stage = 0;
  for (int l : reduce.in) stage = std::max(stage, draft_.avail[static_cast<size_t>(l)]);
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

// The operand is read where the result is; the scanned coordinate must be the inner axis itself, so
// that the loop meets the elements in order.
absl::StatusOr<std::optional<int>> PlanEmitter::Scan(const Key& key, Ask* ask) {
  const auto& [v, map] = key;
  const Node& node = graph_.node(v);
  const auto axis = static_cast<size_t>(node.Get<int64_t>("axis"));
  const int inner = draft_.plan.num_parallel();
  IndexMap others = maps_.at(map);
  bool in_order = draft_.plan.inner.size() == 1 && others.coords[axis] == AxisExpr(inner) &&
                  graph_.SameDim(graph_.type(v).dims[axis], draft_.plan.inner[0]);
  others.coords[axis] = IndexExpr{};
  if (!in_order || UsesInner(others, inner))
    return InternalError(Describe(v), ": the group does not walk along the scanned axis");
  std::optional<int> x = Known(node.in[0], map, ask);
  if (!x) return std::optional<int>();
  JF_ASSIGN_OR_RETURN(std::vector<ReduceProgram> programs,
                      BuildReducePrograms(graph_, node, /*two_pass=*/false));
  const ReduceProgram& program = programs[0];
  if (Mentions(program.lift, 1) || Mentions(program.finalize, program.acc.size()) ||
      program.acc.size() > kMaxScanAccumulators)
    return InternalError(Describe(v), ": its row asks for more than a scan has");
  std::vector<int> lifted = Inline(program.lift, {draft_.AddConvert(*x, program.x), -1});
  Inst i = Leaf(Inst::Kind::kScan, program.acc[0], true);
  i.scan = static_cast<int>(draft_.plan.scans.size());
  int available = 0;
  for (size_t j = 0; j < lifted.size(); ++j) {
    i.in[j] = draft_.AddElem(lifted[j]);
    available = std::max(available, draft_.avail[static_cast<size_t>(i.in[j])]);
  }
  std::vector<int> results;
  for (size_t j = 0; j < program.acc.size(); ++j) {
    i.dtype = program.acc[j];
    i.which = static_cast<int>(j);
    results.push_back(draft_.AddInst(i, available));
  }
  PlanScan scan{program.acc, {}, program.combine, node.Get<bool>("exclusive")};
  for (ScalarValue init : program.init) scan.init.push_back(init.bits());
  draft_.plan.scans.push_back(std::move(scan));
  results.push_back(-1);
  return std::optional<int>(Inline(program.finalize, results)[0]);
}

}  // namespace jitfuse::internal
