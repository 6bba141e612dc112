#include "codegen/fusion/sweep.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "ir/support/check.h"
#include "ir/support/status.h"
#include "ir/view_index.h"

namespace jitfuse::internal {
namespace {

constexpr int kAboveAll =
    std::numeric_limits<int>::max();  // level of a group that is just being made

int AddFrame(const Frame& frame, std::vector<Frame>* frames) {
  for (size_t i = 0; i < frames->size(); ++i) {
    if ((*frames)[i].shape == frame.shape && (*frames)[i].map == frame.map)
      return static_cast<int>(i);
  }
  frames->push_back(frame);
  return static_cast<int>(frames->size()) - 1;
}

bool IsDense(const Shape& strides, const Shape& shape) {
  Shape dense = ContiguousStrides(shape);
  for (size_t d = 0; d < strides.size(); ++d) {
    if (!shape[d].Is(1) && !(strides[d] == dense[d])) return false;
  }
  return true;
}

}  // namespace

Sweep::Sweep(const Graph& graph, const Target& target, const Options& options,
             const GemmLibrary& library, absl::Span<const Layout> input_layouts)
    : graph_(graph),
      target_(target),
      options_(options),
      library_(library),
      input_layouts_(input_layouts),
      costs_(graph) {}

absl::StatusOr<FusionPlan> Sweep::Run() {
  JF_RETURN_IF_ERROR(Prepare());
  JF_RETURN_IF_ERROR(Forward());
  if (MayFuse()) {
    Trace();
    Sink();
    Siblings();
  }
  return Finish();
}

absl::Status Sweep::Prepare() {
  JF_ASSIGN_OR_RETURN(views_, Views::Of(graph_));
  auto size = static_cast<size_t>(graph_.size());
  home_.assign(size, -1);
  frame_of_.assign(size, -1);
  iterates_.assign(size, -1);
  position_.assign(size, -1);
  readers_left_.assign(size, 0);
  stored_.assign(size, false);
  is_output_.assign(size, false);
  cones_.resize(size);
  for (size_t i = 0; i < graph_.inputs().size(); ++i)
    position_[static_cast<size_t>(graph_.inputs()[i])] = static_cast<int>(i);
  for (Value v : graph_.outputs()) is_output_[static_cast<size_t>(v.node)] = true;
  for (NodeId id = 0; id < graph_.size(); ++id) {
    if (graph_.node(id).kind() == OpKind::kView && !IsStoredView(id)) continue;
    for (const Operand& operand : OperandsOf(id))
      ++readers_left_[static_cast<size_t>(operand.base.node)];
  }
  PrepareEpilogues();
  return absl::OkStatus();
}

void Sweep::PrepareEpilogues() {
  epilogue_of_.assign(static_cast<size_t>(graph_.size()), -1);
  absorbed_.assign(static_cast<size_t>(graph_.size()), false);
  const bool may = options_.fuse && library_.epilogue;
  epilogues_ =
      MatchEpilogues({graph_, *views_, target_.kind, may ? library_.epilogue : EpilogueSupportFn(),
                      input_layouts_, options_.max_fusions, options_.products});
  for (size_t i = 0; i < epilogues_.size(); ++i) {
    const EpilogueMatch& match = epilogues_[i];
    if (!match.nodes.empty()) ++fusions_;
    for (NodeId id : match.nodes) {
      JF_CHECK(!absorbed_[static_cast<size_t>(id)] && epilogue_of_[static_cast<size_t>(id)] < 0);
      absorbed_[static_cast<size_t>(id)] = true;
    }
    absorbed_[static_cast<size_t>(match.product)] = true;
    absorbed_[static_cast<size_t>(match.result.node)] = false;
    epilogue_of_[static_cast<size_t>(match.result.node)] = static_cast<int>(i);
  }
}

bool Sweep::IsStoredView(NodeId id) const {
  return is_output_[static_cast<size_t>(id)] || views_->IsCut(id);
}

absl::InlinedVector<Operand, 3> Sweep::OperandsOf(NodeId id) const {
  absl::InlinedVector<Operand, 3> out;
  const Node& node = graph_.node(id);
  if (node.kind() == OpKind::kView) {
    const ViewChain* chain = views_->OwnChain(id);
    out.push_back({{id, 0}, chain->base, chain});
    return out;
  }
  bool maps = node.kind() == OpKind::kJoin || node.kind() == OpKind::kGather;
  for (size_t k = 0; k < node.in.size(); ++k) {
    Operand operand = MakeOperand(node.in[k]);
    operand.gathered = IsGathered(node, k);
    if (maps || operand.gathered) {
      operand.via = id;
      operand.index = static_cast<int>(k);
    }
    out.push_back(operand);
  }
  return out;
}

absl::InlinedVector<Operand, 3> Sweep::ReadBy(int group, NodeId id) const {
  if (!IsCall(At(group).kind)) return OperandsOf(id);
  absl::InlinedVector<Operand, 3> out;
  for (Value v : At(group).call_operands) out.push_back({v, v, nullptr});
  return out;
}

bool Sweep::IsSource(Value base) const {
  OpKind kind = graph_.node(base).kind();
  return kind == OpKind::kInput || kind == OpKind::kScalar || kind == OpKind::kConstant ||
         kind == OpKind::kIota;
}

bool Sweep::InMemory(Value base) const {
  OpKind kind = graph_.node(base).kind();
  return kind == OpKind::kInput || kind == OpKind::kScalar || IsCallResult(base);
}

bool Sweep::IsCallResult(Value base) const {
  return graph_.node(base).kind() == OpKind::kSort ||
         epilogue_of_[static_cast<size_t>(base.node)] >= 0;
}

bool Sweep::MayFuse(Rejection* why) const {
  Rejection unused;
  Rejection& out = why != nullptr ? *why : unused;
  if (!options_.fuse) {
    out = {Reason::kFusionOff, ""};
    return false;
  }
  if (options_.max_fusions >= 0 && fusions_ >= options_.max_fusions) {
    out = {Reason::kMaxFusions, absl::StrCat("after ", options_.max_fusions, " fusions")};
    return false;
  }
  return true;
}

absl::Status Sweep::Forward() {
  for (NodeId id = 0; id < graph_.size(); ++id) {
    if (absl::Status s = Visit(id); !s.ok()) {
      return Annotate(
          s, absl::StrCat("partition: node ", id, " ", ToAbsl(graph_.node(id).def().name)));
    }
  }
  return absl::OkStatus();
}

absl::Status Sweep::Visit(NodeId id) {
  if (absorbed_[static_cast<size_t>(id)]) return absl::OkStatus();
  if (const int i = epilogue_of_[static_cast<size_t>(id)]; i >= 0) {
    JF_RETURN_IF_ERROR(PlaceMatMul(epilogues_[static_cast<size_t>(i)]));
    PassReaders(id);
    return absl::OkStatus();
  }
  switch (graph_.node(id).kind()) {
    case OpKind::kInput:
    case OpKind::kScalar:
    case OpKind::kConstant:
    case OpKind::kIota:
      return absl::OkStatus();
    case OpKind::kView:
      if (!IsStoredView(id)) return absl::OkStatus();
      copies_[id] = views_->IsCut(id) ? Reason::kViewNotAffine : Reason::kOutputCopy;
      JF_RETURN_IF_ERROR(Place(id));
      break;
    case OpKind::kPointwise:
    case OpKind::kReduce:
    case OpKind::kScan:
    case OpKind::kJoin:
    case OpKind::kGather:
    case OpKind::kSegment:
      JF_RETURN_IF_ERROR(Place(id));
      break;
    case OpKind::kMatMul:
      JF_CHECK(false);  // epilogues_ has each
    case OpKind::kSort:
      JF_RETURN_IF_ERROR(PlaceSort(id));
      break;
    case OpKind::kComposite:
      return InternalError("composites must be expanded before partitioning");
  }
  PassReaders(id);
  return absl::OkStatus();
}

// Values that wait for a reader have to be held (or stored): a proxy for registers.
void Sweep::PassReaders(NodeId id) {
  const int epilogue = epilogue_of_[static_cast<size_t>(id)];
  absl::InlinedVector<NodeId, 4> read = {id};
  if (epilogue >= 0) {
    const EpilogueMatch& match = epilogues_[static_cast<size_t>(epilogue)];
    read.assign(match.nodes.begin(), match.nodes.end());
    read.push_back(match.product);
  }
  for (NodeId reader : read) {
    for (const Operand& operand : OperandsOf(reader)) {
      int left = --readers_left_[static_cast<size_t>(operand.base.node)];
      if (left == 0 && Home(operand.base) >= 0) --At(Home(operand.base)).live;
    }
  }
  if (readers_left_[static_cast<size_t>(id)] == 0) return;
  WorkGroup& home = At(home_[static_cast<size_t>(id)]);
  home.peak = std::max(home.peak, ++home.live);
}

absl::StatusOr<Ask> Sweep::MakeAsk(NodeId id) {
  const Node& node = graph_.node(id);
  Ask ask;
  ask.node = id;
  ask.operands = OperandsOf(id);
  ask.shape = node.types[0].dims;
  ask.reduces = node.kind() == OpKind::kReduce;
  ask.segments = node.kind() == OpKind::kSegment;
  if (node.kind() == OpKind::kScan) {
    ask.reduces = ask.scans = true;
    ask.axes = {node.Get<int64_t>("axis")};
  } else if (ask.reduces) {
    ask.shape = ShapeOf(node.in[0]);
    ask.axes = node.Get<std::vector<int64_t>>("axes");
    std::sort(ask.axes.begin(), ask.axes.end());
  }
  if (node.kind() == OpKind::kPointwise) {
    for (const Operand& operand : ask.operands) {
      if (!graph_.SameShape(ShapeOf(operand.value), ask.shape)) {
        return InternalError("operand ", graph_.TypeString(operand.value), " of a result ",
                             graph_.TypeString({id, 0}),
                             ": broadcasts must be explicit before partitioning");
      }
    }
  }
  JF_ASSIGN_OR_RETURN(OpCost cost, costs_.Of(id));
  ask.insts = cost.insts;
  if (node.kind() == OpKind::kPointwise || node.kind() == OpKind::kJoin ||
      node.kind() == OpKind::kGather)
    LearnCone(id, cost);
  return ask;
}

void Sweep::LearnCone(NodeId id, const OpCost& cost) {
  Cone cone{cost.insts, cost.insts, 0, cost.dear ? id : -1, true};
  for (const Operand& operand : OperandsOf(id)) {
    OpKind kind = graph_.node(operand.base).kind();
    bool written = IsCallResult(operand.base);
    if (kind == OpKind::kInput || written || operand.gathered) ++cone.loads;
    if (operand.gathered) continue;
    if (IsSource(operand.base) || written) continue;
    const Cone& below = cones_[static_cast<size_t>(operand.base.node)];
    cone.cost = std::min(cone.cost + below.cost, 2 * kMaxConeCost);
    cone.loads = std::min(cone.loads + below.loads, 2 * kMaxLoads);
    cone.computable &= below.computable;
    if (below.dear >= 0) cone.dear = below.dear;
  }
  cone.computable &= cone.cost <= kMaxConeCost;
  cones_[static_cast<size_t>(id)] = cone;
}

absl::Status Sweep::Place(NodeId id) {
  JF_ASSIGN_OR_RETURN(Ask ask, MakeAsk(id));
  Rejection why;
  bool may_fuse = MayFuse(&why);
  for (int group : Candidates(ask)) {
    if (may_fuse) {
      if (std::optional<JoinPlan> plan = TryJoin(group, ask, &why)) {
        Apply(ask, *plan);
        return absl::OkStatus();
      }
    }
    for (const Operand& operand : ask.operands) {
      if (Home(operand.base) == group) Remember(operand.base, id, why);
    }
  }
  PlaceAlone(ask);
  return absl::OkStatus();
}

void Sweep::Remember(Value base, NodeId reader, const Rejection& why) {
  why_.try_emplace({base.node, reader}, why);
}

// Loop groups of the highest level among the operands' homes: reductions first, since domains
// follow theirs, then the larger.
std::vector<int> Sweep::Candidates(const Ask& ask) const {
  int level = 0;
  for (const Operand& operand : ask.operands) {
    if (Home(operand.base) >= 0 && !IsSource(operand.base))
      level = std::max(level, At(Home(operand.base)).level);
  }
  std::vector<int> groups;
  for (const Operand& operand : ask.operands) {
    int home = Home(operand.base);
    if (home < 0 || IsSource(operand.base) || At(home).level != level ||
        At(home).kind != GroupKind::kLoop)
      continue;
    if (std::find(groups.begin(), groups.end(), home) == groups.end()) groups.push_back(home);
  }
  auto key = [this](int group) {
    return std::make_tuple(!At(group).reduces, -static_cast<int>(At(group).members.size()), group);
  };
  std::sort(groups.begin(), groups.end(), [&](int a, int b) { return key(a) < key(b); });
  return groups;
}

void Sweep::PlaceAlone(const Ask& ask) {
  JoinPlan plan;
  plan.group = static_cast<int>(groups_.size());
  plan.frame = IdentityFrame(ask.shape);
  groups_.emplace_back();
  alias_.push_back(plan.group);
  WorkGroup& group = groups_.back();
  group.level = kAboveAll;
  group.domain = ask.shape;
  Rejection unused;
  for (const Operand& operand : ask.operands) {
    std::optional<IndexMap> at = operand.chain != nullptr ? operand.chain->map : plan.frame.map;
    if (!operand.plain()) at = Pull(operand, plan.frame.map, ask.shape);
    bool resolved = at && Resolve(operand, *at, ask, &plan, &unused);
    JF_CHECK(resolved);  // all else lies on a lower level and can be read
  }
  if (ask.reduces) {
    std::vector<int> axes(ask.axes.begin(), ask.axes.end());
    plan.reduce_axes = WithoutUnits(axes, ask.shape);
    if (plan.reduce_axes.empty()) plan.reduce_axes = axes;
    if (!ask.scans) plan.result = ResultFrame(ask, plan.frame, ask.shape);
  }
  Apply(ask, plan);
  group.level = 1;
  for (Value v : plan.reads) {
    if (Home(v) >= 0) group.level = std::max(group.level, At(Home(v)).level + 1);
  }
}

void Sweep::CountStored(Value base) {
  if (Home(base) < 0 || stored_[static_cast<size_t>(base.node)]) return;
  stored_[static_cast<size_t>(base.node)] = true;
  At(Home(base)).outputs += static_cast<int>(graph_.node(base).types.size());
}

void Sweep::AddClone(int group, NodeId node, const IndexMap& at) {
  Maps& maps = At(group).clones[node];
  if (std::find(maps.begin(), maps.end(), at) == maps.end()) maps.push_back(at);
}

void Sweep::Apply(const Ask& ask, const JoinPlan& plan) {
  for (const MergePlan& merge : plan.merges) Merge(plan.group, merge);
  WorkGroup& group = At(plan.group);
  fusions_ += (group.members.empty() ? 0 : 1) + (plan.clones.empty() ? 0 : 1);
  if (plan.reroot) {
    group.domain = ask.shape;
    group.frames = plan.rerooted;
    group.clones = plan.rerooted_clones;
  }
  auto id = static_cast<size_t>(ask.node);
  group.members.push_back(ask.node);
  home_[id] = plan.group;
  iterates_[id] = AddFrame(plan.frame, &group.frames);
  frame_of_[id] = plan.result ? AddFrame(*plan.result, &group.frames) : iterates_[id];
  group.insts += ask.insts;
  group.segments |= ask.segments;
  if (ask.reduces) {
    group.reduces = true;
    group.reduce_axes = plan.reduce_axes;
  }
  for (const auto& [node, at] : plan.clones) {
    AddClone(plan.group, node, at);
    group.insts += cones_[static_cast<size_t>(node)].own;
  }
  for (Value v : plan.reads) {
    group.reads.insert(v);
    if (!IsSource(v)) CountStored(v);
  }
  if (is_output_[id]) CountStored({ask.node, 0});
}

absl::Status Sweep::PlaceMatMul(const EpilogueMatch& match) {
  const NodeId id = match.product;
  const Node& node = graph_.node(id);
  const DType dtype = OperandType(graph_, node, library_.gives_f32);
  std::optional<Reason> library =
      options_.use_gemm_library ? library_.product(dtype) : std::nullopt;
  if (auto rejection = RejectMatMul(graph_, node, options_.use_gemm_library, library)) {
    return InternalError(rejection->detail, " goes to no library (",
                         ToAbsl(ReasonName(rejection->reason)),
                         ") and must be lowered before partitioning");
  }
  WorkGroup group;
  group.kind = GroupKind::kGemm;
  OperandLayout layouts[2];
  for (int i = 0; i < 2; ++i) {
    Value base;
    JF_ASSIGN_OR_RETURN(layouts[i], GemmOperand(id, i, &base, &group));
    ReadCallOperand(base, &group);
  }
  for (const std::optional<Value>& v : {match.c, match.bias}) {
    if (v) ReadCallOperand(views_->Base(*v), &group);
  }
  group.gemm = MakeGemmCall(graph_, node, layouts[0], layouts[1], match.epilogue,
                            {match.ldc, match.batch_stride_c});
  group.gemm->dtype = dtype;
  group.gemm->f32_result = dtype != node.types[0].dtype;
  PlaceCall(match.result.node, std::move(group));
  return absl::OkStatus();
}

void Sweep::ReadCallOperand(Value base, WorkGroup* group) {
  group->call_operands.push_back(base);
  if (Home(base) >= 0) group->level = std::max(group->level, At(Home(base)).level + 1);
  CountStored(base);
}

void Sweep::PlaceCall(NodeId id, WorkGroup group) {
  const Node& node = graph_.node(id);
  group.members.push_back(id);
  group.frames.push_back(IdentityFrame(node.types[0].dims));
  group.domain = node.types[0].dims;
  home_[static_cast<size_t>(id)] = static_cast<int>(groups_.size());
  frame_of_[static_cast<size_t>(id)] = iterates_[static_cast<size_t>(id)] = 0;
  alias_.push_back(static_cast<int>(groups_.size()));
  groups_.push_back(std::move(group));
  CountStored({id, 0});
}

absl::Status Sweep::PlaceSort(NodeId id) {
  const Node& node = graph_.node(id);
  Value indices = node.in[0];
  if (graph_.node(indices).kind() != OpKind::kInput && Home(indices) < 0)
    return InternalError(graph_.TypeString(indices),
                         " lies in no buffer: LowerMatMul puts it there");
  WorkGroup group;
  group.kind = GroupKind::kSort;
  group.call_operands = {indices};
  if (Home(indices) >= 0) group.level = At(Home(indices)).level + 1;
  CountStored(indices);
  const Shape& dims = ShapeOf(indices);
  const auto axis = static_cast<size_t>(node.Get<int64_t>("axis"));
  SortCall call;
  for (size_t d = 0; d < axis; ++d) call.outer = call.outer * dims[d];
  for (size_t d = axis + 1; d < dims.size(); ++d) call.inner = call.inner * dims[d];
  call.positions = dims[axis];
  call.groups = node.types[1].dims[axis];
  call.dtype = graph_.type(indices).dtype;
  group.sort = std::move(call);
  PlaceCall(id, std::move(group));
  return absl::OkStatus();
}

absl::StatusOr<OperandLayout> Sweep::GemmOperand(NodeId id, int index, Value* base,
                                                 WorkGroup* group) {
  const Node& node = graph_.node(id);
  Value v = node.in[static_cast<size_t>(index)];
  if (OperandType(graph_, node, library_.gives_f32) != node.types[0].dtype)
    v = graph_.node(v).in[0];  // what is cast
  bool stored = Home(v) >= 0;
  *base = stored ? v : views_->Base(v);
  const ViewChain* chain = stored ? nullptr : views_->Chain(v);
  std::optional<Rejection> why;
  bool in_memory = Home(*base) >= 0 || graph_.node(*base).kind() == OpKind::kInput;
  if (in_memory) {
    int position = position_[static_cast<size_t>(base->node)];
    Shape strides;
    if (position >= 0 && !input_layouts_.empty())
      strides = input_layouts_[static_cast<size_t>(position)].strides;
    if (IsDense(strides, ShapeOf(*base))) strides.clear();
    auto match = MatchOperand(graph_, node, index, chain, ShapeOf(*base), strides);
    if (auto* layout = std::get_if<OperandLayout>(&match)) return *layout;
    why = std::get<Rejection>(match);
  }
  if (graph_.node(v).kind() == OpKind::kInput)
    return InternalError(
        "an input with strides no library takes, not behind a view: LowerMatMul puts one there");
  JF_RETURN_IF_ERROR(Materialize(v, Reason::kCopyOperand));
  bool copied =
      At(Home(v)).members.size() == 1;  // else its maker stores it in this order too, at no cost
  if (why && copied) group->notes.push_back({-1, why->reason, why->detail});
  *base = v;
  auto match = MatchOperand(graph_, node, index, nullptr, ShapeOf(v), {});
  if (auto* layout = std::get_if<OperandLayout>(&match)) return *layout;
  return InternalError(std::get<Rejection>(match).detail, ", though it is dense");
}

// Gives a home to a view or a source that has none.
absl::Status Sweep::Materialize(Value v, Reason why) {
  if (graph_.node(v).kind() == OpKind::kView) copies_[v.node] = why;
  return Place(v.node);
}

}  // namespace jitfuse::internal
