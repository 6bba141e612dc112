#include "jit/buffers.h"

#include <algorithm>

#include "ir/fix_sizes.h"
#include "ir/subgraph.h"
#include "ir/support/check.h"
#include "ir/support/status.h"

namespace jitfuse::internal {
namespace {

constexpr int kUntouched = -1;

SizeExpr BytesOf(const TensorType& type) { return NumElements(type.dims) * ItemSize(type.dtype); }

}  // namespace

BufferMap::BufferMap(const Graph& graph, const CallClass& cls, FusionPlan* fusion)
    : graph_(graph), cls_(cls), output_written_(graph.outputs().size(), kUntouched) {
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    refs_[{graph.inputs()[i], 0}] = {BufferRef::Kind::kInput, static_cast<int>(i)};
  }
  FinishOutputs(fusion);
  FindOnce(fusion);
  CollectLayouts();
  for (size_t g = 0; g < fusion->groups.size(); ++g) {
    const Group& group = fusion->groups[g];
    if (group.kind == GroupKind::kView) {
      refs_[group.outputs[0]] = refs_.at(group.inputs[0]);
      continue;
    }
    for (Value v : group.outputs) {
      if (refs_.contains(v))
        continue;  // an input or a finished value, copied to an output of its own
      auto it = output_of_.find(v);
      if (it != output_of_.end()) {
        refs_[v] = {BufferRef::Kind::kOutput, it->second};
      } else if (once_[g]) {
        refs_[v] = {BufferRef::Kind::kHeld, static_cast<int>(held_values_.size())};
        held_values_.push_back(v);
        held_is_read_.push_back(false);
      } else {
        refs_[v] = {BufferRef::Kind::kArena, NewSlot(BytesOf(graph.type(v)), true)};
        slots_.back().apart = apart_.contains(v);
      }
    }
  }
}

bool BufferMap::MayRunOnce(const Group& group, const absl::flat_hash_set<Value>& held) const {
  const auto is_held = [&](Value v) { return held.contains(v) && IsStatic(graph_.type(v).dims); };
  const auto fits = [&](Value v) {  // and goes to no buffer of the caller's
    return IsStatic(graph_.type(v).dims) && !output_of_.contains(v) && !held.contains(v);
  };
  return !group.inputs.empty() && std::all_of(group.inputs.begin(), group.inputs.end(), is_held) &&
         std::all_of(group.outputs.begin(), group.outputs.end(), fits);
}

void BufferMap::FindOnce(FusionPlan* fusion) {
  once_.assign(fusion->groups.size(), false);
  absl::flat_hash_set<Value> held;
  for (size_t i = 0; i < graph_.inputs().size(); ++i) {
    if (cls_.IsBound(static_cast<int>(i))) held.insert({graph_.inputs()[i], 0});
  }
  if (held.empty()) return;
  for (size_t g = 0; g < fusion->groups.size(); ++g) {
    const Group& group = fusion->groups[g];
    if (!MayRunOnce(group, held)) continue;
    held.insert(group.outputs.begin(), group.outputs.end());
    if (group.kind == GroupKind::kView) continue;
    once_[g] = true;
    fusion->notes.push_back({static_cast<int>(g), Reason::kBoundOnce, ""});
  }
}

// The same computation of bound inputs is the same slot in every class.
absl::StatusOr<std::vector<HeldSlot>> BufferMap::HeldSlots() const {
  std::vector<SubgraphInput> inputs;
  std::vector<int> positions;
  for (int i = 0; i < static_cast<int>(graph_.inputs().size()); ++i) {
    const Value v = {graph_.inputs()[static_cast<size_t>(i)], 0};
    if (!cls_.IsBound(i) || !IsStatic(graph_.type(v).dims)) continue;
    inputs.push_back({v, graph_.input_name(i)});
    positions.push_back(i);
  }
  std::vector<HeldSlot> out;
  for (size_t i = 0; i < held_values_.size(); ++i) {
    const Value v = held_values_[i];
    if (!held_is_read_[i]) {  // but by others that are held
      out.emplace_back();
      continue;
    }
    JF_ASSIGN_OR_RETURN(const Graph part, Subgraph(graph_, inputs, {&v, 1}));
    HeldSlot slot{BytesOf(graph_.type(v)).constant(), {}, Graph(), positions};
    slot.graph.set_name(graph_.name());  // and without the symbols of calls
    JF_RETURN_IF_ERROR(ReplaceSizes(part, [](const SizeExpr& size) { return size; }, &slot.graph));
    slot.key = slot.graph.Fingerprint();
    out.push_back(std::move(slot));
  }
  return out;
}

bool BufferMap::IsDense(int output) const {
  const Shape& strides = cls_.outputs[static_cast<size_t>(output)].strides;
  const Shape& dims = graph_.type(graph_.outputs()[static_cast<size_t>(output)]).dims;
  Shape dense = ContiguousStrides(dims);
  for (size_t d = 0; d < dims.size(); ++d) {
    if (!dims[d].Is(1) && !(strides[d] == dense[d])) return false;
  }
  return true;
}

void BufferMap::FinishOutputs(FusionPlan* fusion) {
  absl::flat_hash_map<Value, int> maker;                // value -> group
  absl::flat_hash_map<Value, std::vector<int>> copies;  // value -> Copy groups that only move it
  absl::flat_hash_set<Value> operands;  // read by a call, which was told that they are dense
  for (size_t g = 0; g < fusion->groups.size(); ++g) {
    const Group& group = fusion->groups[g];
    bool moves = group.kind == GroupKind::kCopy && group.outputs == group.inputs;
    if (IsCall(group.kind)) operands.insert(group.inputs.begin(), group.inputs.end());
    for (Value v : group.outputs) {
      if (moves) {
        copies[v].push_back(static_cast<int>(g));
      } else {
        maker[v] = static_cast<int>(g);
      }
    }
  }
  for (size_t o = 0; o < graph_.outputs().size(); ++o) {
    Value v = graph_.outputs()[o];
    auto made = maker.find(v);
    bool dense_only =
        operands.contains(v) ||
        (made != maker.end() && IsCall(fusion->groups[static_cast<size_t>(made->second)].kind));
    bool by_view = made != maker.end() &&
                   fusion->groups[static_cast<size_t>(made->second)].kind == GroupKind::kView;
    const bool direct = made != maker.end() && !by_view && !output_of_.contains(v);
    if (direct && dense_only && !IsDense(static_cast<int>(o))) {
      apart_.insert(v);
    } else if (direct) {
      output_of_[v] = static_cast<int>(o);
      if (dense_only) dense_only_.push_back(static_cast<int>(o));
      continue;
    }
    if (auto it = copies.find(v); it != copies.end() && !it->second.empty()) {
      copy_to_output_[it->second.back()] = static_cast<int>(o);
      it->second.pop_back();
      continue;
    }
    Group copy;
    copy.kind = GroupKind::kCopy;
    copy.inputs = copy.outputs = {v};
    copy.domain = graph_.type(v).dims;
    int g = static_cast<int>(fusion->groups.size());
    copy_to_output_[g] = static_cast<int>(o);
    fusion->groups.push_back(std::move(copy));
    fusion->boundaries.push_back(
        {v, made != maker.end() ? made->second : -1, g, Reason::kOutputCopy, ""});
  }
}

void BufferMap::CollectLayouts() {
  for (size_t i = 0; i < graph_.inputs().size(); ++i) {
    if (graph_.node(graph_.inputs()[i]).kind() == OpKind::kInput)
      layouts_.reads[{graph_.inputs()[i], 0}] = cls_.inputs[i];
  }
  for (const auto& [value, output] : output_of_) {
    layouts_.reads[value] = layouts_.writes[value] = cls_.outputs[static_cast<size_t>(output)];
  }
}

const EdgeLayouts& BufferMap::LayoutsOf(int g) {
  auto it = copy_to_output_.find(g);
  if (it == copy_to_output_.end()) return layouts_;
  copy_layouts_ = layouts_;
  copy_layouts_.writes[graph_.outputs()[static_cast<size_t>(it->second)]] =
      cls_.outputs[static_cast<size_t>(it->second)];
  return copy_layouts_;
}

int BufferMap::NewSlot(const SizeExpr& bytes, bool holds_value) {
  slots_.push_back({bytes, kUntouched, kUntouched});
  holds_value_.push_back(holds_value);
  return static_cast<int>(slots_.size() - 1);
}

SizeExpr BufferMap::MostBytes() const {
  std::vector<LiveBuffer> slots = slots_;
  for (int o : dense_only_)
    slots.push_back({BytesOf(graph_.type(graph_.outputs()[static_cast<size_t>(o)])), 0, 0,
                     /*apart=*/true});
  return PlanMemory(slots).total_bytes;
}

// Outputs that share a buffer with an input hold that until the end of its use.
std::vector<int> BufferMap::LendOutputs() {
  std::vector<Lender> lenders;
  for (size_t o = 0; o < graph_.outputs().size(); ++o) {
    const bool shared = o < cls_.output_aliases.size() && !cls_.output_aliases[o].empty();
    const bool lends =
        !shared && IsDense(static_cast<int>(o)) && cls_.outputs[o].align >= Layout{}.align;
    lenders.push_back({BytesOf(graph_.type(graph_.outputs()[o])), lends ? output_written_[o] : 0});
  }
  std::vector<LiveBuffer> values = slots_;
  for (size_t s = 0; s < values.size(); ++s) {
    if (!holds_value_[s]) values[s].bytes = 0;
  }
  std::vector<int> lent = LendMemory(values, lenders);
  for (size_t s = 0; s < slots_.size(); ++s) {
    if (lent[s] >= 0) slots_[s].bytes = 0;
  }
  return lent;
}

void BufferMap::Touch(BufferRef ref, int step) {
  if (ref.kind == BufferRef::Kind::kOutput) {
    int& written = output_written_[static_cast<size_t>(ref.index)];
    written = written == kUntouched ? step : std::min(written, step);
  }
  if (ref.kind == BufferRef::Kind::kHeld) held_is_read_[static_cast<size_t>(ref.index)] = true;
  if (ref.kind != BufferRef::Kind::kArena) return;
  LiveBuffer& slot = slots_[static_cast<size_t>(ref.index)];
  slot.first = slot.first == kUntouched ? step : std::min(slot.first, step);
  slot.last = std::max(slot.last, step);
}

BufferRef BufferMap::ReadRef(Value v, int step) {
  BufferRef ref = refs_.at(v);
  Touch(ref, step);
  return ref;
}

BufferRef BufferMap::WriteRef(Value v, int g, int step) {
  if (auto it = copy_to_output_.find(g);
      it != copy_to_output_.end() && graph_.outputs()[static_cast<size_t>(it->second)] == v) {
    const BufferRef ref = {BufferRef::Kind::kOutput, it->second};
    Touch(ref, step);
    return ref;
  }
  return ReadRef(v, step);
}

BufferRef BufferMap::ScratchRef(int g, int number, const SizeExpr& bytes, int step) {
  auto [it, is_new] = scratch_.try_emplace({g, number});
  if (is_new) it->second = {BufferRef::Kind::kArena, NewSlot(bytes, false)};
  Touch(it->second, step);
  return it->second;
}

namespace {

bool Refers(BufferRef ref, BufferRef::Kind kind, int index) {
  return ref.kind == kind && ref.index == index;
}

// Whether the kernel may write output `o` over input `i`: each load of the input is of the very
// element the thread then stores.
bool KernelInPlace(const KernelPlan& plan, const KernelStep& step, int i, int o) {
  for (const Stage& stage : plan.stages) {
    for (const Store& store : stage.stores) {
      auto param = static_cast<size_t>(store.access.param);
      if (!Refers(step.buffers[param], BufferRef::Kind::kOutput, o)) continue;
      for (const AccessMap& load : plan.accesses) {
        if (!Refers(step.buffers[static_cast<size_t>(load.param)], BufferRef::Kind::kInput, i))
          continue;
        if (!(load.linear == store.access.linear) || !(load.terms == store.access.terms))
          return false;
        if (plan.IsRow() && !store.elem) return false;
      }
    }
  }
  return true;
}

// Whether the product may write output `o` over input `i`: it is C alone, and lies as D does.
bool GemmInPlace(const GemmStep& step, int i, int o) {
  auto is_input = [i](BufferRef ref) { return Refers(ref, BufferRef::Kind::kInput, i); };
  const GemmCall& call = step.call;
  return step.c && is_input(*step.c) && Refers(step.d, BufferRef::Kind::kOutput, o) &&
         !is_input(step.a) && !is_input(step.b) && !(step.bias && is_input(*step.bias)) &&
         call.ldc == call.ldd && call.batch_stride_c == call.batch_stride_d;
}

bool InPlace(const Executable& exe, const Step& step, int i, int o) {
  const auto at = static_cast<size_t>(step.index);
  switch (step.kind) {
    case Step::Kind::kKernel:
      return KernelInPlace(exe.plans[at], exe.kernels[at], i, o);
    case Step::Kind::kGemm:
      return GemmInPlace(exe.gemms[at], i, o);
    case Step::Kind::kSort:
      break;
  }
  return false;
}

struct Touches {
  bool reads = false, writes = false;
};

Touches StepTouches(const Executable& exe, const Step& step, int i, int o) {
  std::vector<BufferRef> refs;
  auto at = static_cast<size_t>(step.index);
  if (step.kind == Step::Kind::kKernel) refs = exe.kernels[at].buffers;
  if (step.kind == Step::Kind::kGemm) {
    const GemmStep& gemm = exe.gemms[at];
    refs = {gemm.a, gemm.b, gemm.d};
    for (const std::optional<BufferRef>& ref : {gemm.c, gemm.bias}) {
      if (ref) refs.push_back(*ref);
    }
  }
  if (step.kind == Step::Kind::kSort) {
    const SortStep& sort = exe.sorts[at];
    refs = {sort.indices, sort.order, sort.begin, sort.end};
  }
  Touches out;
  for (BufferRef ref : refs) {
    out.reads |= Refers(ref, BufferRef::Kind::kInput, i);
    out.writes |= Refers(ref, BufferRef::Kind::kOutput, o);
  }
  return out;
}

absl::Status CheckAlias(const Executable& exe, int i, int o) {
  bool written = false;
  for (const Step& step : exe.steps) {
    Touches t = StepTouches(exe, step, i, o);
    if (t.reads && (written || (t.writes && !InPlace(exe, step, i, o)))) {
      return InvalidArgument("graph ", exe.graph.name(), ": output ", o, " (",
                             exe.graph.TypeString(exe.graph.outputs()[static_cast<size_t>(o)]),
                             ") is given the buffer of input ", i, " '", exe.graph.input_name(i),
                             "', which is still read after the output is written, or at other "
                             "elements; give it a buffer of its own");
    }
    written |= t.writes;
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckAliases(const CallClass& cls, const Executable& exe) {
  for (size_t o = 0; o < cls.output_aliases.size(); ++o) {
    for (int input : cls.output_aliases[o])
      JF_RETURN_IF_ERROR(CheckAlias(exe, input, static_cast<int>(o)));
  }
  return absl::OkStatus();
}

}  // namespace jitfuse::internal
