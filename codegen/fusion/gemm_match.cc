#include "codegen/fusion/gemm_match.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "codegen/fusion/relation.h"
#include "ir/op_enum.h"
#include "ir/support/status.h"

namespace jitfuse::internal {
namespace {

struct OperandDims {
  size_t rows, cols;  // dims of the operand as the product means it: m,k of A; k,n of B
  bool transpose;     // the attribute: stored the other way round
};

OperandDims DimsOf(const Graph& graph, const Node& node, int index) {
  size_t rank = graph.type(node.in[static_cast<size_t>(index)]).dims.size();
  bool transpose = node.Get<bool>(index == 0 ? "transpose_a" : "transpose_b");
  return {rank - (transpose ? 1 : 2), rank - (transpose ? 2 : 1), transpose};
}

}  // namespace

// The offset in the buffer is then a sum of stride * axis.
std::optional<Shape> StridesThrough(const IndexMap& map, const Shape& operand, const Shape& base,
                                    const Shape& base_strides) {
  IndexMap
      linear;  // first as the row-major position, in which divisions meet again; else dim by dim
  if (base_strides.empty()) {
    std::optional<IndexMap> flat =
        ReshapeCoords(map, base, Shape{NumElements(base)}, IndexSpace{operand});
    if (!flat) return std::nullopt;
    linear = *std::move(flat);
  } else {
    IndexExpr sum;
    for (size_t d = 0; d < base.size(); ++d) sum = Sum(sum, Scale(map.coords[d], base_strides[d]));
    linear.coords.push_back(std::move(sum));
  }
  Shape strides(operand.size(), Dim(0));
  const IndexExpr& e = linear.coords[0];
  if (!e.constant.Is(0)) return std::nullopt;  // views so far start at element 0
  for (const IndexTerm& t : e.terms) {
    if (!t.IsPlain()) return std::nullopt;
    for (const auto& [axis, factor] : t.linear.coefs)
      strides[static_cast<size_t>(axis)] = strides[static_cast<size_t>(axis)] + factor * t.coef;
  }
  return strides;
}

namespace {

// Rows of `length` elements, `ld` apart, do not overlap, for all sizes.
bool RowsFit(const SizeExpr& ld, const SizeExpr& length) {
  if (ld.IsConstant() && length.IsConstant()) return ld.constant() >= length.constant();
  if (ld.Is(0)) return false;
  std::optional<SizeExpr> quotient = ld.DivExact(length);
  return (quotient && (*quotient - 1).IsKnownNonNegative()) || (ld - length).IsKnownNonNegative();
}

// rows x cols elements with strides (r, c): is a stored row one of `rows`, contiguous along cols?
std::optional<SizeExpr> AsRows(const SizeExpr& rows, const SizeExpr& cols, const SizeExpr& r,
                               const SizeExpr& c) {
  if (!c.Is(1) && !cols.Is(1)) return std::nullopt;
  if (rows.Is(1)) return cols;
  if (!RowsFit(r, cols)) return std::nullopt;
  return r;
}

struct Axis {
  SizeExpr extent, stride;
};

// Batch axes, outer to inner, as one axis; nullopt where strides do not nest.
std::optional<SizeExpr> CollapseBatch(const std::vector<Axis>& axes) {
  std::optional<Axis> all;
  for (auto it = axes.rbegin(); it != axes.rend(); ++it) {
    if (it->extent.Is(1)) continue;
    if (all && !(it->stride == all->stride * all->extent)) return std::nullopt;
    all = all ? Axis{it->extent * all->extent, all->stride} : *it;
  }
  return all ? all->stride : SizeExpr(0);
}

std::vector<Axis> BatchAxes(const Graph& graph, const Node& node, int index, const Shape& strides) {
  const Shape& out = node.types[0].dims;
  const Shape& in = graph.type(node.in[static_cast<size_t>(index)]).dims;
  std::vector<Axis> axes;
  for (size_t i = 0; i + 2 < out.size(); ++i) {
    size_t lead = out.size() - in.size();
    bool broadcast = i < lead || in[i - lead].Is(1);
    axes.push_back({out[i], broadcast ? SizeExpr(0) : strides[i - lead]});
  }
  return axes;
}

// Matrices that share B and whose rows go on where the last one's end: rows of one product.
void JoinBatchRows(GemmCall* call) {
  const bool rows = !call->batch.Is(1) && call->batch_stride_b.Is(0) && !call->transpose_a &&
                    call->batch_stride_a == call->m * call->lda &&
                    (!call->epilogue.has_c() || call->batch_stride_c == call->m * call->ldc);
  if (!rows) return;
  call->m = call->batch * call->m;
  call->batch = 1;
  call->batch_stride_a = call->batch_stride_c = call->batch_stride_d = 0;
}

Rejection BadLayout(std::string detail) { return {Reason::kGemmLayout, std::move(detail)}; }

}  // namespace

std::optional<Rejection> RejectMatMul(const Graph& graph, const Node& node, bool use_library,
                                      const std::optional<Reason>& library) {
  std::string what = absl::StrCat("matmul(", graph.TypeString(node.in[0]), ", ",
                                  graph.TypeString(node.in[1]), ")");
  if (!use_library) return Rejection{Reason::kGemmOff, what};
  OperandDims a = DimsOf(graph, node, 0);
  if (NumElements(node.types[0].dims).Is(0) || graph.type(node.in[0]).dims[a.cols].Is(0))
    return Rejection{Reason::kGemmEmpty, what};
  if (library) return Rejection{*library, what};
  return std::nullopt;
}

std::variant<OperandLayout, Rejection> MatchOperand(const Graph& graph, const Node& node, int index,
                                                    const ViewChain* chain, const Shape& base,
                                                    const Shape& strides) {
  Value operand = node.in[static_cast<size_t>(index)];
  const Shape& shape = graph.type(operand).dims;
  std::string what =
      absl::StrCat("operand ", index == 0 ? "a" : "b", " ", graph.TypeString(operand));
  std::optional<Shape> through =
      StridesThrough(chain != nullptr ? chain->map : IdentityOf(shape), shape, base, strides);
  if (!through) return BadLayout(absl::StrCat(what, ": its views have no strides"));
  OperandDims dims = DimsOf(graph, node, index);
  const SizeExpr &rows = shape[dims.rows], &cols = shape[dims.cols], &r = (*through)[dims.rows],
                 &c = (*through)[dims.cols];
  OperandLayout layout;
  if (std::optional<SizeExpr> ld = AsRows(rows, cols, r, c)) {
    layout.ld = *ld;
  } else if (std::optional<SizeExpr> ld = AsRows(cols, rows, c, r)) {
    layout.ld = *ld;
    layout.transposed = true;
  } else {
    return BadLayout(absl::StrCat(what, ": no unit stride, or rows overlap (strides ",
                                  r.ToString(graph.symbols().names), ", ",
                                  c.ToString(graph.symbols().names), ")"));
  }
  std::optional<SizeExpr> batch = CollapseBatch(BatchAxes(graph, node, index, *through));
  if (!batch) return BadLayout(absl::StrCat(what, ": the strides of its batch dims do not nest"));
  layout.batch_stride = *batch;
  return layout;
}

bool DenseBatchNests(const Graph& graph, const Node& node, int index) {
  Shape strides = ContiguousStrides(graph.type(node.in[static_cast<size_t>(index)]).dims);
  return CollapseBatch(BatchAxes(graph, node, index, strides)).has_value();
}

std::optional<GemmMatrix> AsMatrix(const Shape& dims, const Shape& strides) {
  const size_t rows = dims.size() - 2, columns = dims.size() - 1;
  std::optional<SizeExpr> ld = AsRows(dims[rows], dims[columns], strides[rows], strides[columns]);
  std::vector<Axis> batch;
  for (size_t d = 0; d < rows; ++d) batch.push_back({dims[d], strides[d]});
  std::optional<SizeExpr> batch_stride = CollapseBatch(batch);
  if (!ld || !batch_stride) return std::nullopt;
  return GemmMatrix{*ld, *batch_stride};
}

std::optional<DType> CastFrom16Bits(const Graph& graph, Value v) {
  const Node& node = graph.node(v);
  if (node.op != Op::kCast || node.types[0].dtype != DType::kF32) return std::nullopt;
  const DType from = graph.type(node.in[0]).dtype;
  return from == DType::kF16 || from == DType::kBF16 ? std::optional<DType>(from) : std::nullopt;
}

DType OperandType(const Graph& graph, const Node& node,
                  const std::function<bool(DType)>& gives_f32) {
  const DType own = node.types[0].dtype;
  if (!gives_f32) return own;
  const std::optional<DType> a = CastFrom16Bits(graph, node.in[0]),
                             b = CastFrom16Bits(graph, node.in[1]);
  return a && a == b && gives_f32(*a) ? *a : own;
}

GemmCall MakeGemmCall(const Graph& graph, const Node& node, const OperandLayout& a,
                      const OperandLayout& b, const GemmEpilogue& epilogue, const GemmMatrix& c) {
  const Shape& out = node.types[0].dims;
  GemmCall call;
  call.dtype = node.types[0].dtype;
  for (size_t i = 0; i + 2 < out.size(); ++i) call.batch = call.batch * out[i];
  call.m = out[out.size() - 2];
  call.n = out[out.size() - 1];
  call.k = graph.type(node.in[0]).dims[DimsOf(graph, node, 0).cols];
  call.transpose_a = a.transposed;
  call.transpose_b = b.transposed;
  call.lda = a.ld;
  call.ldb = b.ld;
  call.ldd = call.n;
  call.batch_stride_a = a.batch_stride;
  call.batch_stride_b = b.batch_stride;
  call.batch_stride_d = call.batch.Is(1) ? SizeExpr(0) : call.m * call.n;
  call.epilogue = epilogue;
  call.ldc = c.ld;
  call.batch_stride_c = call.batch.Is(1) ? SizeExpr(0) : c.batch_stride;
  JoinBatchRows(&call);
  return call;
}

}  // namespace jitfuse::internal
