#include "tests/graph_fuzz/shrink.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "ir/rng.h"

namespace jitfuse::internal {
namespace {

// What a candidate changes; the rest is rebuilt as it was.
struct Edit {
  std::optional<Value> only;                 // the one output, in place of those there are
  std::vector<size_t> outputs;               // those that stay; empty: all
  std::set<NodeId> cut;                      // nodes whose results become inputs
  absl::flat_hash_map<Value, Value> bypass;  // read another value instead
  std::function<Dim(const Dim&)> dim;        // of inputs and of attributes
  std::function<DType(DType)> dtype;
  NodeId plain_attrs = -1;  // this node's attributes become its defaults
};

class Rebuilder {
 public:
  Rebuilder(const FuzzCase& from, const Edit& edit) : from_(from), edit_(edit) {}

  std::optional<FuzzCase> Build() {
    out_ = from_;
    out_.inputs.clear();
    Graph graph;
    graph.set_name(from_.graph.name());
    for (const std::string& name : from_.graph.symbols().names) graph.symbols().FindOrAdd(name);
    graph_ = std::move(graph);
    std::vector<bool> live = Live();
    for (NodeId id = 0; id < from_.graph.size(); ++id) {
      if (live[static_cast<size_t>(id)] && !Copy(id)) return std::nullopt;
    }
    std::vector<size_t> outputs = edit_.outputs;
    if (edit_.only && !graph_.AddOutput(At(*edit_.only)).ok()) return std::nullopt;
    if (outputs.empty() && !edit_.only) {
      for (size_t o = 0; o < from_.graph.outputs().size(); ++o) outputs.push_back(o);
    }
    for (size_t o : outputs) {
      if (!graph_.AddOutput(At(from_.graph.outputs()[o])).ok()) return std::nullopt;
    }
    for (const std::vector<int64_t>& sizes : out_.sizes) {
      std::vector<std::vector<int64_t>> dims;
      for (NodeId id : graph_.inputs())
        dims.push_back(EvalDims(graph_.node(id).types[0].dims, sizes));
      if (!graph_.BindSymbols(dims).ok()) return std::nullopt;
    }
    out_.graph = std::move(graph_);
    return std::move(out_);
  }

 private:
  Value Follow(Value v) const {
    for (auto it = edit_.bypass.find(v); it != edit_.bypass.end(); it = edit_.bypass.find(v))
      v = it->second;
    return v;
  }
  Value At(Value v) const { return map_.at(Follow(v)); }

  std::vector<bool> Live() const {
    std::vector<bool> live(static_cast<size_t>(from_.graph.size()));
    auto need = [&](Value v) { live[static_cast<size_t>(Follow(v).node)] = true; };
    const auto& outputs = from_.graph.outputs();
    if (edit_.only) need(*edit_.only);
    for (size_t o = 0; o < outputs.size() && !edit_.only; ++o) {
      if (edit_.outputs.empty() ||
          std::find(edit_.outputs.begin(), edit_.outputs.end(), o) != edit_.outputs.end())
        need(outputs[o]);
    }
    for (NodeId id = from_.graph.size() - 1; id >= 0; --id) {
      if (!live[static_cast<size_t>(id)] || edit_.cut.count(id) != 0) continue;
      for (Value v : from_.graph.node(id).in) need(v);
    }
    return live;
  }

  Dim NewDim(const Dim& d) const { return edit_.dim ? edit_.dim(d) : d; }
  DType NewDType(DType d) const { return edit_.dtype ? edit_.dtype(d) : d; }

  bool AddInput(Value old, TensorType type, const std::string& name, const FuzzInput& spec) {
    type.dtype = NewDType(type.dtype);
    for (Dim& d : type.dims) d = NewDim(d);
    absl::StatusOr<Value> v = graph_.AddInput(name, type);
    if (!v.ok()) return false;
    map_[old] = *v;
    out_.inputs.push_back(spec);
    return true;
  }

  bool Copy(NodeId id) {
    const Node& node = from_.graph.node(id);
    if (node.kind() == OpKind::kInput || node.kind() == OpKind::kScalar) return CopyInput(id);
    if (node.kind() == OpKind::kConstant) {
      const DType d = node.types[0].dtype, to = NewDType(d);
      map_[{id, 0}] =
          graph_.AddConstantBits(to, ConvertScalar(d, to, from_.graph.ConstantValue(id)));
      return true;
    }
    if (edit_.cut.count(id) != 0) {
      for (int r = 0; r < static_cast<int>(node.types.size()); ++r) {
        FuzzInput spec;
        spec.seed = static_cast<uint64_t>(id);
        if (!AddInput({id, r}, node.types[static_cast<size_t>(r)], absl::StrCat("c", id, "_", r),
                      spec))
          return false;
      }
      return true;
    }
    std::vector<Value> in;
    for (Value v : node.in) in.push_back(At(v));
    absl::StatusOr<Value> v = graph_.Add(node.op, in, NewAttrs(id, node));
    if (!v.ok() || graph_.node(*v).types.size() != node.types.size()) return false;
    for (int r = 0; r < static_cast<int>(node.types.size()); ++r) map_[{id, r}] = {v->node, r};
    return true;
  }

  bool CopyInput(NodeId id) {
    const Graph& graph = from_.graph;
    const auto it = std::find(graph.inputs().begin(), graph.inputs().end(), id);
    const auto position = static_cast<size_t>(it - graph.inputs().begin());
    const std::string& name = graph.input_name(static_cast<int>(position));
    const Node& node = graph.node(id);
    if (node.kind() == OpKind::kInput)
      return AddInput({id, 0}, node.types[0], name, from_.inputs[position]);
    const bool rng = RngRoleOf(graph, position) != RngRole::kNone;
    absl::StatusOr<Value> v =
        graph_.AddScalar(name, rng ? DType::kU64 : NewDType(node.types[0].dtype));
    if (!v.ok()) return false;
    map_[{id, 0}] = *v;
    out_.inputs.push_back(from_.inputs[position]);
    return true;
  }

  Attrs NewAttrs(NodeId id, const Node& node) const {
    Attrs attrs;
    for (const Attr& a : node.attrs) {
      const AttrDef* schema = node.def().FindAttr(a.name);
      Attr copy = a;
      if (id == edit_.plain_attrs && schema != nullptr && schema->fallback)
        copy.value = *schema->fallback;
      if (auto* dims = std::get_if<std::vector<Dim>>(&copy.value)) {
        if (a.name != "low" && a.name != "high") {
          for (Dim& d : *dims) d = NewDim(d);
        }
      }
      if (auto* dtype = std::get_if<DType>(&copy.value)) *dtype = NewDType(*dtype);
      attrs.push_back(std::move(copy));
    }
    return attrs;
  }

  const FuzzCase& from_;
  const Edit& edit_;
  FuzzCase out_;
  Graph graph_;
  absl::flat_hash_map<Value, Value> map_;
};

class Shrinker {
 public:
  Shrinker(FuzzCase failing, const std::function<bool(const FuzzCase&)>& fails, double seconds)
      : best_(std::move(failing)),
        fails_(fails),
        end_(Clock::now() +
             std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds))) {}

  FuzzCase Run() {
    for (bool better = true; better && InTime();) {
      better = false;
      better |= DropCalls();
      better |= DropOutputs();
      better |= CutRanges();
      better |= EarlierOutput();
      better |= Bypass();
      better |= SmallerDims();
      better |= PlainTypes();
      better |= PlainInputs();
      better |= PlainOptions();
    }
    return std::move(best_);
  }

 private:
  using Clock = std::chrono::steady_clock;
  bool InTime() const { return Clock::now() < end_; }

  bool Accept(std::optional<FuzzCase> candidate) {
    if (!candidate.has_value() || !InTime()) return false;
    if (CaseToText(*candidate) == CaseToText(best_) || !fails_(*candidate)) return false;
    best_ = *std::move(candidate);
    return true;
  }
  bool Try(const Edit& edit) { return Accept(Rebuilder(best_, edit).Build()); }

  bool DropCalls() {
    if (best_.sizes.size() < 2) return false;
    for (const std::vector<int64_t>& sizes : best_.sizes) {
      FuzzCase c = best_;
      c.sizes = {sizes};
      if (Accept(std::move(c))) return true;
    }
    return false;
  }

  bool DropOutputs() {
    const size_t n = best_.graph.outputs().size();
    bool dead = false;  // an edit that keeps everything still drops what is not read
    for (size_t o = 0; o < n && n > 1; ++o) {
      Edit edit;
      edit.outputs = {o};
      if (Try(edit)) return true;
    }
    for (size_t o = 0; o < n && n > 2; ++o) {
      Edit edit;
      for (size_t k = 0; k < n; ++k) {
        if (k != o) edit.outputs.push_back(k);
      }
      if (Try(edit)) return true;
    }
    return dead;
  }

  bool IsOp(NodeId id) const {
    const OpKind kind = best_.graph.node(id).kind();
    return kind != OpKind::kInput && kind != OpKind::kScalar && kind != OpKind::kConstant;
  }

  bool CutRanges() {
    bool any = false;
    for (NodeId length = std::max(1, best_.graph.size() / 2); length >= 1; length /= 2) {
      for (NodeId begin = 0; begin < best_.graph.size() && InTime();) {
        Edit edit;
        for (NodeId id = begin; id < std::min(best_.graph.size(), begin + length); ++id) {
          if (IsOp(id)) edit.cut.insert(id);
        }
        const NodeId before = best_.graph.size();
        if (edit.cut.empty() || !Try(edit)) {
          begin += length;
          continue;
        }
        any = true;
        // The cut nodes are inputs now, which are no ops: this position shows others only if some
        // nodes went.
        if (best_.graph.size() >= before) begin += length;
      }
    }
    return any;
  }

  // The first value that shows the fault becomes the output.
  bool EarlierOutput() {
    if (best_.graph.size() > 60) return false;
    for (NodeId id = 0; id < best_.graph.size() && InTime(); ++id) {
      if (!IsOp(id)) continue;
      for (int r = 0; r < static_cast<int>(best_.graph.node(id).types.size()); ++r) {
        Edit edit;
        edit.only = Value{id, r};
        if (Try(edit)) return true;
      }
    }
    return false;
  }

  bool Bypass() {
    bool any = false;
    for (NodeId id = best_.graph.size() - 1; id >= 0 && InTime(); --id) {
      if (id >= best_.graph.size() || !IsOp(id)) continue;
      const Node node = best_.graph.node(id);
      for (Value v : node.in) {
        if (node.types.size() != 1 || !(best_.graph.type(v) == node.types[0])) continue;
        Edit edit;
        edit.bypass[Value{id, 0}] = v;
        if (Try(edit)) {
          any = true;
          break;
        }
      }
    }
    for (NodeId id = 0; id < best_.graph.size() && InTime(); ++id) {
      const Node& node = best_.graph.node(id);
      const bool plain = std::all_of(node.attrs.begin(), node.attrs.end(), [&](const Attr& a) {
        const AttrDef* schema = node.def().FindAttr(a.name);
        return schema == nullptr || !schema->fallback || *schema->fallback == a.value;
      });
      if (plain || !IsOp(id)) continue;
      Edit edit;
      edit.plain_attrs = id;
      any |= Try(edit);
    }
    return any;
  }

  std::vector<int64_t> ConstantDims() const {
    std::set<int64_t> seen;
    for (NodeId id : best_.graph.inputs()) {
      for (const Dim& d : best_.graph.node(id).types[0].dims) {
        if (d.IsConstant() && d.constant() > 1) seen.insert(d.constant());
      }
    }
    return {seen.rbegin(), seen.rend()};
  }

  bool SmallerDims() {
    bool any = false;
    const size_t symbols = best_.graph.symbols().names.size();
    for (size_t s = 0; s < symbols && best_.sizes.size() == 1; ++s) {
      Edit edit;  // a symbol becomes its value
      const Dim value(best_.sizes[0][s]);
      edit.dim = [s, &value](const Dim& d) {
        return d.Substitute([&](SymbolId id) {
          return id == static_cast<SymbolId>(s) ? value : SizeExpr::Symbol(id);
        });
      };
      any |= Uses(s) && Try(edit);
    }
    for (size_t call = 0; call < best_.sizes.size(); ++call) {
      for (size_t s = 0; s < symbols; ++s) {
        for (int64_t v :
             {int64_t{1}, int64_t{2}, best_.sizes[call][s] / 2, best_.sizes[call][s] - 1}) {
          if (v >= best_.sizes[call][s] || v < 1 || !Uses(s)) continue;
          FuzzCase c = best_;
          c.sizes[call][s] = v;
          if (Accept(std::move(c))) {
            any = true;
            break;
          }
        }
      }
    }
    for (int64_t old : ConstantDims()) {
      for (int64_t v : {int64_t{1}, int64_t{2}, old / 2, old - 1}) {
        if (v >= old || v < 1) continue;
        Edit edit;
        edit.dim = [old, v](const Dim& d) { return d.Is(old) ? Dim(v) : d; };
        if (Try(edit)) {
          any = true;
          break;
        }
      }
    }
    return any;
  }
  bool Uses(size_t s) const {
    std::vector<SymbolId> used;
    for (NodeId id : best_.graph.inputs()) {
      for (const Dim& d : best_.graph.node(id).types[0].dims) d.CollectSymbols(&used);
    }
    return std::find(used.begin(), used.end(), static_cast<SymbolId>(s)) != used.end();
  }

  bool PlainTypes() {
    bool any = false;
    std::set<DType> seen;
    for (NodeId id = 0; id < best_.graph.size(); ++id) {
      for (const TensorType& t : best_.graph.node(id).types) seen.insert(t.dtype);
    }
    for (DType old : seen) {
      const DType to = IsFloat(old) ? DType::kF32 : DType::kI32;
      if (old == to || old == DType::kBool) continue;
      Edit edit;
      edit.dtype = [old, to](DType d) { return d == old ? to : d; };
      any |= Try(edit);
    }
    return any;
  }

  bool PlainInputs() {
    bool any = false;
    for (size_t i = 0; i < best_.inputs.size(); ++i) {
      const FuzzInput now = best_.inputs[i];
      if (!now.order.empty() || now.shift != 0) {
        FuzzCase c = best_;
        c.inputs[i].order.clear();
        c.inputs[i].steps.clear();
        c.inputs[i].shift = 0;
        any |= Accept(std::move(c));
      }
      for (FuzzValues v : {FuzzValues::kOnes, FuzzValues::kPlain, FuzzValues::kSmallInts}) {
        if (best_.inputs[i].values == v || best_.inputs[i].values == FuzzValues::kOnes) continue;
        if (best_.inputs[i].values == FuzzValues::kPlain && v == FuzzValues::kSmallInts) continue;
        FuzzCase c = best_;
        c.inputs[i].values = v;
        if (Accept(std::move(c))) {
          any = true;
          break;
        }
      }
    }
    return any;
  }

  bool PlainOptions() {
    bool any = false;
    auto with = [&](const std::function<bool(FuzzCase*)>& change) {
      FuzzCase c = best_;
      if (change(&c)) any |= Accept(std::move(c));
    };
    with([](FuzzCase* c) { return std::exchange(c->strided_outputs, false); });
    with([](FuzzCase* c) { return !std::exchange(c->options.rewrite, true); });
    with([](FuzzCase* c) { return !std::exchange(c->options.fuse, true); });
    with([](FuzzCase* c) { return !std::exchange(c->options.use_gemm_library, true); });
    return any;
  }

  FuzzCase best_;
  const std::function<bool(const FuzzCase&)>& fails_;
  Clock::time_point end_;
};

}  // namespace

FuzzCase Shrink(FuzzCase failing, const std::function<bool(const FuzzCase&)>& fails,
                double seconds) {
  return Shrinker(std::move(failing), fails, seconds).Run();
}

}  // namespace jitfuse::internal
