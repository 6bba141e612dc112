// LowerMatMul: see codegen/fusion/partition.h.
#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "codegen/fusion/gemm_match.h"
#include "codegen/fusion/gemm_padding.h"
#include "codegen/fusion/partition.h"
#include "ir/op_enum.h"
#include "ir/support/status.h"
#include "ir/view_index.h"

namespace jitfuse::internal {
namespace {

class Lowering {
 public:
  Lowering(const Graph& from, const Options& options, const GemmLibrary& library,
           absl::Span<const Layout> layouts, const Target* target)
      : from_(from), options_(options), library_(library), layouts_(layouts), target_(target) {
    out_.graph.InheritFrom(from);
    map_.resize(static_cast<size_t>(from.size()));
  }

  absl::StatusOr<LoweredGraph> Run() {
    for (size_t i = 0; i < from_.inputs().size(); ++i)
      JF_RETURN_IF_ERROR(AddInput(static_cast<int>(i)));
    for (NodeId id = 0; id < from_.size(); ++id) {
      absl::StatusOr<Value> now = Rebuild(id);
      if (!now.ok()) return Annotate(now.status(), "lowering matmul");
      map_[static_cast<size_t>(id)] = *now;
    }
    for (Value v : from_.outputs()) JF_RETURN_IF_ERROR(out_.graph.AddOutput(Map(v)));
    return std::move(out_);
  }

 private:
  Value Map(Value v) const {
    Value now = map_[static_cast<size_t>(v.node)];
    return {now.node, now.result + v.result};
  }

  absl::Status AddInput(int i) {
    NodeId id = from_.inputs()[static_cast<size_t>(i)];
    const Node& node = from_.node(id);
    JF_ASSIGN_OR_RETURN(map_[static_cast<size_t>(id)],
                        node.kind() == OpKind::kScalar
                            ? out_.graph.AddScalar(from_.input_name(i), node.types[0].dtype)
                            : out_.graph.AddInput(from_.input_name(i), node.types[0]));
    return absl::OkStatus();
  }

  absl::StatusOr<Value> Rebuild(NodeId id) {
    const Node& node = from_.node(id);
    switch (node.kind()) {
      case OpKind::kInput:
      case OpKind::kScalar:
        return map_[static_cast<size_t>(id)];
      case OpKind::kConstant:
        return out_.graph.AddConstantBits(node.types[0].dtype, from_.ConstantValue(id));
      case OpKind::kMatMul:
        return MatMul(node);
      case OpKind::kSort:
      case OpKind::kSegment:
        return FromMemory(node);
      default:
        return Copy(node);
    }
  }

  absl::StatusOr<Value> Copy(const Node& node) {
    absl::InlinedVector<Value, 4> in;
    for (Value v : node.in) in.push_back(Map(v));
    return out_.graph.Add(node.op, in, node.attrs);
  }

  absl::StatusOr<Value> MatMul(const Node& node) {
    std::optional<Reason> library =
        options_.use_gemm_library ? library_.product(node.types[0].dtype) : std::nullopt;
    std::optional<Rejection> rejection =
        RejectMatMul(from_, node, options_.use_gemm_library, library);
    if (!rejection) return ForLibrary(node);
    JF_ASSIGN_OR_RETURN(Product product, AsLoop(node));
    if (product.sum >= 0)
      out_.lowered.push_back({product.sum, rejection->reason, rejection->detail});
    return product.value;
  }

  absl::StatusOr<Value> ForLibrary(const Node& node) {
    const std::optional<DType> narrow = NarrowType(node);
    absl::InlinedVector<Value, 2> in;
    for (int i = 0; i < 2; ++i) {
      Value v = Map(node.in[static_cast<size_t>(i)]);
      if (narrow) {
        JF_ASSIGN_OR_RETURN(v, Narrowed(v));
      }
      if (!DenseBatchNests(from_, node, i)) {
        const Shape& dims = out_.graph.type(v).dims;
        Shape full = Batch(node);
        full.insert(full.end(), dims.end() - 2, dims.end());
        JF_ASSIGN_OR_RETURN(v, Broadcast(v, full));
      } else if (IsStridedInput(node, i,
                                v)) {  // the copy needs a value of its own: a view of the input
        JF_ASSIGN_OR_RETURN(v, Reshape(v, Shape(out_.graph.type(v).dims)));
      }
      in.push_back(v);
    }
    const ProductChoice choice = options_.ChoiceOf(products_++);
    const bool may_pad =
        target_ != nullptr && options_.fuse && choice.padding == ProductChoice::Padding::kByCost;
    const std::optional<GemmPad> pad =
        may_pad ? PaddingOf(from_, node, narrow.value_or(node.types[0].dtype), *target_,
                            options_.numerics)
                : std::nullopt;
    return pad ? Padded(node, in, *pad) : Multiply(node, in);
  }

  // Of operands that may be narrower than the product means them: then by casts, which the library
  // does not see.
  absl::StatusOr<Value> Multiply(const Node& node, absl::InlinedVector<Value, 2> in) {
    for (Value& v : in) {
      JF_ASSIGN_OR_RETURN(v, Cast(v, node.types[0].dtype));
    }
    return out_.graph.Add(node.op, in, node.attrs);
  }

  // The 16-bit type that both operands are f32 casts of, if the library takes such.
  std::optional<DType> NarrowType(const Node& node) const {
    if (!library_.gives_f32 || node.types[0].dtype != DType::kF32) return std::nullopt;
    std::optional<DType> out;
    for (Value v : node.in) {
      v = Map(v);
      while (out_.graph.node(v).kind() == OpKind::kView) v = out_.graph.node(v).in[0];
      const std::optional<DType> own = CastFrom16Bits(out_.graph, v);
      if (!own || (out && *out != *own)) return std::nullopt;
      out = own;
    }
    return out && library_.gives_f32(*out) ? out : std::nullopt;
  }

  // What `v` is a cast of, behind the views that `v` has it behind.
  absl::StatusOr<Value> Narrowed(Value v) {
    std::vector<NodeId> views;
    for (; out_.graph.node(v).kind() == OpKind::kView; v = out_.graph.node(v).in[0])
      views.push_back(v.node);
    v = out_.graph.node(v).in[0];
    for (; !views.empty(); views.pop_back()) {
      const Node view = out_.graph.node(views.back());
      JF_ASSIGN_OR_RETURN(v, out_.graph.Add(view.op, {v}, view.attrs));
    }
    return v;
  }

  // With zeros behind k, and columns behind n that are cut off again.
  absl::StatusOr<Value> Padded(const Node& node, absl::InlinedVector<Value, 2> in,
                               const GemmPad& pad) {
    const Shape& a = from_.type(node.in[0]).dims;
    const size_t k_from_end = node.Get<bool>("transpose_a") ? 2 : 1;
    const int64_t k = a[a.size() - k_from_end].constant(), n = node.types[0].dims.back().constant();
    const std::string detail = PaddingToString(pad, k, n);
    const bool tb = node.Get<bool>("transpose_b");
    JF_ASSIGN_OR_RETURN(
        in[0], WithZeros(in[0], k_from_end == 1 ? 0 : pad.k, k_from_end == 1 ? pad.k : 0, detail));
    JF_ASSIGN_OR_RETURN(in[1], WithZeros(in[1], tb ? pad.n : pad.k, tb ? pad.k : pad.n, detail));
    JF_ASSIGN_OR_RETURN(Value product, Multiply(node, in));
    if (pad.n == 0) return product;
    const size_t rank = node.types[0].dims.size();
    std::vector<int64_t> starts(rank, 0), steps(rank, 1);
    std::vector<int64_t> stops(rank, std::numeric_limits<int64_t>::max());
    stops.back() = n;
    return out_.graph.Add(Op::kSlice, {product},
                          {{"starts", starts}, {"stops", stops}, {"steps", steps}});
  }

  // Behind the last dim but one, and behind the last.
  absl::StatusOr<Value> WithZeros(Value v, int64_t rows, int64_t columns,
                                  const std::string& detail) {
    if (rows == 0 && columns == 0) return v;
    const size_t rank = out_.graph.type(v).dims.size();
    std::vector<Dim> low(rank, Dim(0)), high(rank, Dim(0));
    high[rank - 2] = Dim(rows);
    high[rank - 1] = Dim(columns);
    JF_ASSIGN_OR_RETURN(Value padded,
                        out_.graph.Add(Op::kPad, {v}, {{"low", low}, {"high", high}}));
    const bool noted = std::any_of(out_.lowered.begin(), out_.lowered.end(),
                                   [&](const LoweredMatMul& l) { return l.node == padded.node; });
    if (!noted) out_.lowered.push_back({padded.node, Reason::kGemmPadded, detail});
    return padded;
  }

  // A sort reads a dense buffer, a segment sum any, but no number.
  absl::StatusOr<Value> FromMemory(const Node& node) {
    absl::InlinedVector<Value, 5> in;
    for (size_t k = 0; k < node.in.size(); ++k) {
      Value v = Map(node.in[k]);
      bool stored = node.kind() == OpKind::kSort ? LiesDense(v, node.in[k])
                                                 : !IsGathered(node, k) || LiesSomewhere(v);
      if (!stored) {
        JF_ASSIGN_OR_RETURN(v,
                            out_.graph.Add(Op::kCast, {v}, {{"dtype", out_.graph.type(v).dtype}}));
      }
      in.push_back(v);
    }
    return out_.graph.Add(node.op, in, node.attrs);
  }

  bool LiesDense(Value v, Value old) const {
    OpKind kind = out_.graph.node(v).kind();
    if (kind == OpKind::kInput) return !HasStrides(old);
    return kind != OpKind::kView && kind != OpKind::kConstant && kind != OpKind::kScalar &&
           kind != OpKind::kIota;
  }

  bool LiesSomewhere(Value v) const {
    while (out_.graph.node(v).kind() == OpKind::kView) v = out_.graph.node(v).in[0];
    OpKind kind = out_.graph.node(v).kind();
    return kind != OpKind::kConstant && kind != OpKind::kScalar && kind != OpKind::kIota;
  }

  // An input whose strides are not those of a dense tensor.
  bool HasStrides(Value input) const {
    const Shape& dims = from_.type(input).dims;
    const Shape dense = ContiguousStrides(dims);
    for (size_t p = 0; p < layouts_.size(); ++p) {
      if (from_.inputs()[p] != input.node || layouts_[p].strides.empty()) continue;
      for (size_t d = 0; d < dims.size(); ++d) {
        if (!dims[d].Is(1) && !(layouts_[p].strides[d] == dense[d])) return true;
      }
    }
    return false;
  }

  // Operand `i`, as it is now.
  bool IsStridedInput(const Node& node, int i, Value now) const {
    for (size_t p = 0; p < layouts_.size(); ++p) {
      if (Map({from_.inputs()[p], 0}) != now || layouts_[p].strides.empty()) continue;
      auto match =
          MatchOperand(from_, node, i, nullptr, out_.graph.type(now).dims, layouts_[p].strides);
      return std::holds_alternative<Rejection>(match);
    }
    return false;
  }

  struct Product {
    Value value;
    NodeId sum = -1;
  };

  // a as [.., m, n, k] times b as [.., m, n, k], summed over k.
  absl::StatusOr<Product> AsLoop(const Node& node) {
    DType dtype = node.types[0].dtype;
    DType compute = ComputeType(dtype);
    JF_ASSIGN_OR_RETURN(Value a,
                        Oriented(Map(node.in[0]), node.Get<bool>("transpose_a")));  // [.., m, k]
    JF_ASSIGN_OR_RETURN(Value b,
                        Oriented(Map(node.in[1]), !node.Get<bool>("transpose_b")));  // [.., n, k]
    Shape full = node.types[0].dims;
    const bool flat_batch = full.size() == kMaxRank;  // there is no dim left for k
    if (flat_batch) {
      JF_ASSIGN_OR_RETURN(a, OneBatchDim(a, Batch(node)));
      JF_ASSIGN_OR_RETURN(b, OneBatchDim(b, Batch(node)));
      full = {NumElements(Batch(node)), full[kMaxRank - 2], full[kMaxRank - 1]};
    }
    full.push_back(out_.graph.type(a).dims.back());
    JF_ASSIGN_OR_RETURN(a, Repeated(a, 1, compute, full));
    JF_ASSIGN_OR_RETURN(b, Repeated(b, 2, compute, full));
    JF_ASSIGN_OR_RETURN(Value product, out_.graph.Add(Op::kMultiply, {a, b}));
    std::vector<int64_t> axes = {static_cast<int64_t>(full.size()) - 1};
    JF_ASSIGN_OR_RETURN(Value sum, out_.graph.Add(Op::kSum, {product}, {{"axes", axes}}));
    JF_ASSIGN_OR_RETURN(Value result, Cast(sum, dtype));
    if (flat_batch) {
      JF_ASSIGN_OR_RETURN(result, Reshape(result, node.types[0].dims));
    }
    return Product{result, sum.node};
  }

  // The last two dims swapped if `swap`.
  absl::StatusOr<Value> Oriented(Value v, bool swap) {
    if (!swap) return v;
    auto rank = static_cast<int64_t>(out_.graph.type(v).dims.size());
    std::vector<int64_t> perm;
    for (int64_t i = 0; i < rank; ++i) perm.push_back(i);
    std::swap(perm[static_cast<size_t>(rank - 1)], perm[static_cast<size_t>(rank - 2)]);
    return out_.graph.Add(Op::kTranspose, {v}, {{"perm", perm}});
  }

  // `v` with a dim of 1 put in `from_end` dims before its end, in the compute type, repeated to
  // `full`.
  absl::StatusOr<Value> Repeated(Value v, int from_end, DType compute, const Shape& full) {
    JF_ASSIGN_OR_RETURN(v, Cast(v, compute));
    Shape dims = out_.graph.type(v).dims;
    dims.insert(dims.end() - from_end, Dim(1));
    JF_ASSIGN_OR_RETURN(v, Reshape(v, dims));
    return Broadcast(v, full);
  }

  // [.., m, k] as [number of batches, m, k].
  absl::StatusOr<Value> OneBatchDim(Value v, const Shape& batch) {
    const Shape dims = out_.graph.type(v).dims;
    Shape full = batch;
    full.insert(full.end(), dims.end() - 2, dims.end());
    JF_ASSIGN_OR_RETURN(v, Broadcast(v, full));
    return Reshape(v, {NumElements(batch), dims[dims.size() - 2], dims.back()});
  }

  absl::StatusOr<Value> Reshape(Value v, const Shape& shape) {
    return out_.graph.Add(Op::kReshape, {v},
                          {{"shape", std::vector<Dim>(shape.begin(), shape.end())}});
  }

  absl::StatusOr<Value> Cast(Value v, DType dtype) {
    if (out_.graph.type(v).dtype == dtype) return v;
    return out_.graph.Add(Op::kCast, {v}, {{"dtype", dtype}});
  }

  absl::StatusOr<Value> Broadcast(Value v, const Shape& shape) {
    if (out_.graph.type(v).dims == shape) return v;
    return out_.graph.Add(Op::kBroadcast, {v},
                          {{"shape", std::vector<Dim>(shape.begin(), shape.end())}});
  }

  static Shape Batch(const Node& node) {
    const Shape& dims = node.types[0].dims;
    return Shape(dims.begin(), dims.end() - 2);
  }

  const Graph& from_;
  const Options& options_;
  const GemmLibrary& library_;
  absl::Span<const Layout> layouts_;
  const Target* const target_;
  size_t products_ = 0;  // of the library, so far
  LoweredGraph out_;
  std::vector<Value> map_;
};

}  // namespace

absl::StatusOr<LoweredGraph> LowerMatMul(const Graph& graph, const Options& options,
                                         const GemmLibrary& library,
                                         absl::Span<const Layout> input_layouts,
                                         const Target* target) {
  bool any = false;
  for (NodeId id = 0; id < graph.size() && !any; ++id)
    any = graph.node(id).kind() == OpKind::kMatMul || graph.node(id).kind() == OpKind::kSort ||
          graph.node(id).kind() == OpKind::kSegment;
  if (!any) return LoweredGraph{graph, {}};
  return Lowering(graph, options, library, input_layouts, target).Run();
}

void AddLoweringNotes(const LoweredGraph& lowered, FusionPlan* plan) {
  std::vector<int> group_of(static_cast<size_t>(lowered.graph.size()), -1);
  for (size_t g = 0; g < plan->groups.size(); ++g) {
    for (NodeId id : plan->groups[g].nodes) group_of[static_cast<size_t>(id)] = static_cast<int>(g);
  }
  for (const LoweredMatMul& product : lowered.lowered) {
    int group = group_of[static_cast<size_t>(product.node)];
    if (group >= 0) plan->notes.push_back({group, product.reason, product.detail});
  }
}

}  // namespace jitfuse::internal
