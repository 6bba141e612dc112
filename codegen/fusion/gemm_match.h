// gemm_match: whether a matrix product fits a library call, and how.
//
// In: a matmul node, and for each operand the buffer beneath its views with that buffer's strides.
// Out: per operand how it is stored (transposed or not, distance of rows, distance of batches), or
// a Rejection with its Reason; and the GemmCall of two matched operands. An operand that is
// rejected is copied first; a product that is rejected (dtype, library, empty) is lowered to a loop
// group before partitioning. Pure: a list of named checks, each of which refuses with what it saw.
// What is not known to hold for all symbol values is refused. Must not know: which library, groups.
#ifndef JITFUSE_CODEGEN_FUSION_GEMM_MATCH_H_
#define JITFUSE_CODEGEN_FUSION_GEMM_MATCH_H_

#include <functional>
#include <optional>
#include <string>
#include <variant>

#include "absl/types/span.h"
#include "codegen/fusion/group.h"
#include "codegen/fusion/view_chain.h"
#include "ir/graph.h"

namespace jitfuse::internal {

struct Rejection {
  Reason reason = Reason::kDomainDiffers;
  std::string detail;
};

// Why a product goes to no library: the first that applies of gemm_off, gemm_empty and what
// `library` (its answer for the dtype) says.
std::optional<Rejection> RejectMatMul(const Graph& graph, const Node& node, bool use_library,
                                      const std::optional<Reason>& library);

struct OperandLayout {
  bool transposed = false;
  SizeExpr ld;  // distance of stored rows
  SizeExpr batch_stride;
};
// Operand `index` of the matmul `node`, read through `chain` (null: directly) from a buffer of
// shape `base` with `strides` in elements (empty: contiguous).
std::variant<OperandLayout, Rejection> MatchOperand(const Graph& graph, const Node& node, int index,
                                                    const ViewChain* chain, const Shape& base,
                                                    const Shape& strides);
// Strides, by the dims of `shape`, of what is read through `map` from a buffer of shape `base` with
// `base_strides` (empty: contiguous); nullopt if it has divisions or does not begin at element 0.
std::optional<Shape> StridesThrough(const IndexMap& map, const Shape& shape, const Shape& base,
                                    const Shape& base_strides);
// [..., rows, columns] with `strides` as matrices with contiguous rows.
struct GemmMatrix {
  SizeExpr ld, batch_stride;
};
std::optional<GemmMatrix> AsMatrix(const Shape& dims, const Shape& strides);
// Whether operand `index`, stored densely, has one distance between batches. If not (its batch is
// repeated inside another batch dim), LowerMatMul writes the repetition as a broadcast, and the
// copy of that is dense.
bool DenseBatchNests(const Graph& graph, const Node& node, int index);
// C as MatchEpilogues found it, if the epilogue has one. Where all matrices of a batch lie one
// behind the other and share B, their rows become rows of one product.
// The f16 or bf16 that `v`, f32, is a cast of.
std::optional<DType> CastFrom16Bits(const Graph& graph, Value v);
// The type of what the library reads: where both operands are f32 casts of one 16-bit type that
// the library gives f32 results of, that type, and what is cast is read; else the product's own.
DType OperandType(const Graph& graph, const Node& node,
                  const std::function<bool(DType)>& gives_f32);

GemmCall MakeGemmCall(const Graph& graph, const Node& node, const OperandLayout& a,
                      const OperandLayout& b, const GemmEpilogue& epilogue = {},
                      const GemmMatrix& c = {});

}  // namespace jitfuse::internal

#endif  // JITFUSE_CODEGEN_FUSION_GEMM_MATCH_H_
