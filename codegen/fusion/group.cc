#include "codegen/fusion/group.h"

#include <algorithm>
#include <bit>
#include <initializer_list>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "codegen/fusion/group_text.h"
#include "ir/op_enum.h"
#include "ir/support/status.h"
#include "ir/support/writer.h"

namespace jitfuse::internal {
namespace {

struct ReasonRow {
  std::string_view name, doc;
};
constexpr ReasonRow kReasons[] = {
#define JF_REASON(Name, name, doc) {name, doc},
#include "codegen/fusion/reasons.inc"
#undef JF_REASON
};

constexpr std::string_view kKinds[] = {"loop", "gemm", "copy", "view", "sort"};

std::string Named(const Graph& graph, const ValueNamer& name, Value v) {
  return absl::StrCat(OperandToString(graph, v, name), ": ", graph.TypeString(v));
}

std::string Listed(const Graph& graph, const ValueNamer& name, const std::vector<Value>& values) {
  return absl::StrJoin(values, ", ",
                       [&](std::string* out, Value v) { out->append(Named(graph, name, v)); });
}

std::string GemmToString(const GemmCall& call, absl::Span<const std::string> names) {
  return absl::StrCat(
      ToAbsl(DTypeName(call.dtype)), call.f32_result ? " (f32 result)" : "",
      call.allow_tf32 ? " (as tf32)" : "", " batch=", call.batch.ToString(names),
      " m=", call.m.ToString(names), " n=", call.n.ToString(names), " k=", call.k.ToString(names),
      call.transpose_a ? " a^T" : " a", " ld=", call.lda.ToString(names),
      " batch stride=", call.batch_stride_a.ToString(names), call.transpose_b ? ", b^T" : ", b",
      " ld=", call.ldb.ToString(names), " batch stride=", call.batch_stride_b.ToString(names),
      call.epilogue.has_c() ? absl::StrCat(", c ld=", call.ldc.ToString(names),
                                           " batch stride=", call.batch_stride_c.ToString(names))
                            : "",
      call.epilogue.empty() ? "" : absl::StrCat(", then ", EpilogueToString(call.epilogue)));
}

void WriteGroup(const Graph& graph, const ValueNamer& name, const Group& group, size_t index,
                Writer* w) {
  absl::Span<const std::string> names = graph.symbols().names;
  std::string head =
      absl::StrCat("group ", index, ": ", ToAbsl(kKinds[static_cast<size_t>(group.kind)]));
  if (group.kind != GroupKind::kGemm)
    absl::StrAppend(&head, " over ", ShapeToString(group.domain, names));
  if (!group.reduce_axes.empty())
    absl::StrAppend(&head, ", reduces axes [", absl::StrJoin(group.reduce_axes, ","), "]");
  std::vector<Value> sums;
  for (NodeId id : group.column_sums) sums.push_back({id, 0});
  if (!sums.empty()) absl::StrAppend(&head, ", over its rows ", Listed(graph, name, sums));
  w->Line(head).Indent();
  if (!group.inputs.empty()) w->Line("in  ", Listed(graph, name, group.inputs));
  for (NodeId id : group.nodes) {
    if (graph.node(id).kind() != OpKind::kConstant) w->Line(NodeToString(graph, id, name));
  }
  if (group.gemm) w->Line("gemm ", GemmToString(*group.gemm, names));
  if (group.sort)
    w->Line("sort outer=", group.sort->outer.ToString(names),
            " positions=", group.sort->positions.ToString(names),
            " inner=", group.sort->inner.ToString(names),
            " groups=", group.sort->groups.ToString(names));
  w->Line("out ", Listed(graph, name, group.outputs))
      .Line("bytes ", GroupBytes(graph, group).ToString(names))
      .Dedent();
}

std::string Place(int group, std::string_view outside) {
  return group < 0 ? std::string(outside) : absl::StrCat("group ", group);
}

}  // namespace

std::string_view ReasonName(Reason r) {
  return r < Reason::kCount ? kReasons[static_cast<size_t>(r)].name : "unknown";
}
std::string_view ReasonDoc(Reason r) {
  return r < Reason::kCount ? kReasons[static_cast<size_t>(r)].doc : "unknown";
}

std::string_view GemmActivationName(GemmActivation a) {
  constexpr std::string_view kNames[] = {"none", "relu", "gelu", "gelu_tanh", "silu"};
  return kNames[static_cast<size_t>(a)];
}

std::string EpilogueToString(const GemmEpilogue& e) {
  std::string out = e.alpha == 1 ? "product" : absl::StrCat(e.alpha, " * product");
  if (e.has_c()) absl::StrAppend(&out, " + ", e.beta == 1 ? "" : absl::StrCat(e.beta, " * "), "c");
  if (e.bias) absl::StrAppend(&out, " + bias");
  if (e.activation != GemmActivation::kNone)
    absl::StrAppend(&out, ", ", ToAbsl(GemmActivationName(e.activation)));
  return out;
}

Hash128 GemmProblem::Key() const {
  return Hasher()
      .Int(batch)
      .Int(m)
      .Int(n)
      .Int(k)
      .Int(static_cast<int64_t>(dtype))
      .Int(f32_result)
      .Int(transpose_a)
      .Int(transpose_b)
      .Int(lda)
      .Int(ldb)
      .Int(ldd)
      .Int(batch_stride_a)
      .Int(batch_stride_b)
      .Int(batch_stride_d)
      .Int(std::bit_cast<int64_t>(epilogue.alpha))
      .Int(std::bit_cast<int64_t>(epilogue.beta))
      .Int(epilogue.bias)
      .Int(static_cast<int64_t>(epilogue.activation))
      .Int(ldc)
      .Int(batch_stride_c)
      .Int(align)
      .Int(allow_tf32)
      .Int(symbolic_m)
      .Finish();
}

GemmProblem Concrete(const GemmCall& call, absl::Span<const int64_t> symbols) {
  GemmProblem p;
  p.batch = call.batch.Eval(symbols);
  p.m = call.m.Eval(symbols);
  p.n = call.n.Eval(symbols);
  p.k = call.k.Eval(symbols);
  p.dtype = call.dtype;
  p.f32_result = call.f32_result;
  p.transpose_a = call.transpose_a;
  p.transpose_b = call.transpose_b;
  p.lda = call.lda.Eval(symbols);
  p.ldb = call.ldb.Eval(symbols);
  p.ldd = call.ldd.Eval(symbols);
  p.batch_stride_a = call.batch_stride_a.Eval(symbols);
  p.batch_stride_b = call.batch_stride_b.Eval(symbols);
  p.batch_stride_d = call.batch_stride_d.Eval(symbols);
  p.epilogue = call.epilogue;
  p.allow_tf32 = call.allow_tf32;
  p.symbolic_m = !call.m.IsConstant();
  p.ldc = call.ldc.Eval(symbols);
  p.batch_stride_c = call.batch_stride_c.Eval(symbols);
  return p;
}

SortProblem Concrete(const SortCall& call, absl::Span<const int64_t> symbols) {
  return {call.outer.Eval(symbols), call.positions.Eval(symbols), call.inner.Eval(symbols),
          call.groups.Eval(symbols), call.dtype};
}

namespace {

// Elements of an input that the group reads at most, if all it reads are slices of it and what
// gathers pick.
std::optional<SizeExpr> PartOf(const Graph& graph, const Group& group, Value input) {
  absl::flat_hash_set<NodeId> inside(group.nodes.begin(), group.nodes.end());
  absl::flat_hash_set<NodeId> stored;
  for (Value v : group.outputs) stored.insert(v.node);
  SizeExpr read;
  for (NodeId id : group.nodes) {
    const Node& node = graph.node(id);
    if (node.kind() == OpKind::kView && !stored.contains(id)) continue;  // seen from its readers
    for (size_t k = 0; k < node.in.size(); ++k) {
      bool picked = node.kind() == OpKind::kGather && k == 0;
      bool part = picked || node.op == Op::kSlice;
      Value at = node.in[k];
      while (at != input && inside.contains(at.node) && graph.node(at).kind() == OpKind::kView) {
        part = part || graph.node(at).op == Op::kSlice;
        at = graph.node(at).in[0];
      }
      if (at != input) continue;
      if (!part) return std::nullopt;
      bool whole_result = picked || node.kind() == OpKind::kView;
      read = read + NumElements(whole_result ? node.types[0].dims : graph.type(node.in[k]).dims);
    }
  }
  return read;
}

}  // namespace

SizeExpr GroupBytes(const Graph& graph, const Group& group) {
  if (group.kind == GroupKind::kView) return 0;
  SizeExpr bytes;
  auto add = [&](Value v, const std::optional<SizeExpr>& part = std::nullopt) {
    if (graph.node(v).kind() == OpKind::kScalar) return;  // passed by value
    SizeExpr elements = NumElements(graph.type(v).dims);
    if (part) elements = Min(elements, *part);
    bytes = bytes + elements * SizeExpr(ItemSize(graph.type(v).dtype));
  };
  absl::flat_hash_set<Value> seen;
  for (Value v : group.inputs) {
    if (seen.insert(v).second) add(v, PartOf(graph, group, v));
  }
  for (Value v : group.outputs) {
    if (graph.node(v).kind() == OpKind::kScalar) {
      bytes = bytes + SizeExpr(ItemSize(graph.type(v).dtype));
    } else {
      add(v);
    }
  }
  return bytes;
}

SizeExpr UnfusedBytes(const Graph& graph, absl::Span<const NodeId> nodes) {
  auto bytes = [&](Value v) {
    return NumElements(graph.type(v).dims) * ItemSize(graph.type(v).dtype);
  };
  auto is = [&](Value v, std::initializer_list<OpKind> kinds) {
    return std::find(kinds.begin(), kinds.end(), graph.node(v).kind()) != kinds.end();
  };
  SizeExpr total(0);
  for (NodeId id : nodes) {
    const Node& node = graph.node(id);
    if (is({id, 0},
           {OpKind::kInput, OpKind::kScalar, OpKind::kConstant, OpKind::kIota, OpKind::kView}))
      continue;
    for (size_t k = 0; k < node.in.size(); ++k) {
      Value source = node.in[k];  // an operand seen through views costs what the source holds
      while (is(source, {OpKind::kView})) source = graph.node(source).in[0];
      if (node.kind() == OpKind::kGather && k == 0) source = {id, 0};  // reads what it picks
      if (!is(source, {OpKind::kConstant, OpKind::kScalar})) total = total + bytes(source);
    }
    for (size_t r = 0; r < node.types.size(); ++r)
      total = total + bytes({id, static_cast<int32_t>(r)});
  }
  return total;
}

std::string FusionPlanToString(const Graph& graph, const FusionPlan& plan) {
  return FusionPlanToString(graph, plan, ValueNamer(graph));
}

std::string FusionPlanToString(const Graph& graph, const FusionPlan& plan, const ValueNamer& name) {
  Writer w;
  for (size_t i = 0; i < plan.groups.size(); ++i) WriteGroup(graph, name, plan.groups[i], i, &w);
  for (const Boundary& b : plan.boundaries) {
    w.Line(Named(graph, name, b.value), ", ", Place(b.from, "input"), " -> ", Place(b.to, "output"),
           ": ", ToAbsl(ReasonName(b.reason)), b.detail.empty() ? "" : ": ", b.detail);
  }
  for (const Note& note : plan.notes) {
    w.Line("note, group ", note.group, ": ", ToAbsl(ReasonName(note.reason)),
           note.detail.empty() ? "" : ": ", note.detail);
  }
  return w.Take();
}

}  // namespace jitfuse::internal
