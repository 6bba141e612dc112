// Groups: which nodes become one kernel (or one library call), and why each border is where it is.
//
// In: an expanded, optimised Graph. Out: a FusionPlan: groups in execution order. Every output of
// the graph and every value read by another group is an output of exactly one group; a cheap node
// may be in several groups (recompute). Loop groups hold pointwise, view, iota, constant and reduce
// nodes over one domain; Gemm groups hold one matmul with the views that feed it and the pointwise
// nodes that the library computes with it; Copy groups make an operand dense; View groups name a
// buffer anew; Sort groups hold one node that groups positions. GemmCall and SortCall are plain,
// hashable data with sizes that may hold symbols; Concrete() of it is what a library prepares. Must
// not know: plans, schedules, devices (Target's budgets only).
#ifndef JITFUSE_CODEGEN_FUSION_GROUP_H_
#define JITFUSE_CODEGEN_FUSION_GROUP_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "codegen/target.h"
#include "ir/graph.h"
#include "ir/index_map.h"
#include "ir/options.h"
#include "ir/shape.h"

namespace jitfuse::internal {

// Why a border or a fallback is where it is: shown by explain(), counted, each reached by a test.
// Rows: JF_REASON(Name, "name", "meaning").
enum class Reason : uint8_t {
#define JF_REASON(Name, ...) k##Name,
#include "codegen/fusion/reasons.inc"
#undef JF_REASON
  kCount,
};
std::string_view ReasonName(Reason r);
std::string_view ReasonDoc(Reason r);

enum class GroupKind : uint8_t { kLoop, kGemm, kCopy, kView, kSort };
// What a library or the back end itself does as a whole: operands and results are dense.
inline bool IsCall(GroupKind kind) { return kind == GroupKind::kGemm || kind == GroupKind::kSort; }

// What a library does to a product before it writes it:
// D = activation(alpha * A B + beta * C + bias). C is of D's shape, bias has n elements, one a
// column; both of D's dtype. In f32 (f64 for f64), rounded once.
enum class GemmActivation : uint8_t { kNone, kRelu, kGelu, kGeluTanh, kSilu };
std::string_view GemmActivationName(GemmActivation a);
struct GemmEpilogue {
  double alpha = 1, beta = 0;  // beta 0: there is no C
  bool bias = false;
  GemmActivation activation = GemmActivation::kNone;
  bool has_c() const { return beta != 0; }
  bool empty() const { return *this == GemmEpilogue{}; }
  friend bool operator==(const GemmEpilogue&, const GemmEpilogue&) = default;
};
std::string EpilogueToString(const GemmEpilogue& e);  // "0.5 * product + c + bias, relu"

// Row-major D[batch, m, n] = op(A)[batch, m, k] * op(B)[batch, k, n], then the epilogue. Strides in
// elements. A stride of 0 along batch broadcasts. Batch dims are collapsed to one; a batch that
// cannot be (its strides do not nest) is not routed to a library.
struct GemmCall {
  Dim batch{1}, m, n, k;
  DType dtype = DType::kF32;  // of A and B, and of C, bias and D unless `f32_result`
  bool f32_result = false;    // of 16-bit A and B: C, bias and D are f32
  bool transpose_a = false,
       transpose_b = false;  // as stored: A is [m,k] (or [k,m] if transposed), rows contiguous
  SizeExpr lda, ldb, ldd;    // distance of stored rows
  SizeExpr batch_stride_a, batch_stride_b, batch_stride_d;
  GemmEpilogue epilogue = {};
  SizeExpr ldc, batch_stride_c;  // of C, if there is one
  bool allow_tf32 = false;       // f32 operands may be rounded to TF32
  DType result() const { return f32_result ? DType::kF32 : dtype; }
};
struct GemmProblem {  // GemmCall with numbers, and what pointers are aligned to
  int64_t batch = 1, m = 0, n = 0, k = 0;
  DType dtype = DType::kF32;
  bool f32_result = false;
  bool transpose_a = false, transpose_b = false;
  int64_t lda = 0, ldb = 0, ldd = 0;
  int64_t batch_stride_a = 0, batch_stride_b = 0, batch_stride_d = 0;
  GemmEpilogue epilogue = {};
  int64_t ldc = 0, batch_stride_c = 0;
  int align = 16;  // of the least aligned of A, B, C, D and bias, up to 16
  bool allow_tf32 = false;
  bool symbolic_m = false;  // other calls have other m
  DType result() const { return f32_result ? DType::kF32 : dtype; }
  Hash128 Key() const;
  friend bool operator==(const GemmProblem&, const GemmProblem&) = default;
};
GemmProblem Concrete(const GemmCall& call, absl::Span<const int64_t> symbols);

// indices[outer, positions, inner], each of the outer * inner lines by itself, stably by index:
// order[outer, positions, inner], begin and end[outer, groups, inner]. All dense.
struct SortCall {
  SizeExpr outer{1}, positions, inner{1}, groups;
  DType dtype = DType::kI64;  // of the indices
};
struct SortProblem {
  int64_t outer = 1, positions = 0, inner = 1, groups = 0;
  DType dtype = DType::kI64;
  int64_t lines() const { return outer * inner; }
  int64_t indices() const { return outer * inner * positions; }
  int64_t bounds() const { return outer * inner * groups; }
};
SortProblem Concrete(const SortCall& call, absl::Span<const int64_t> symbols);

struct Group {
  GroupKind kind = GroupKind::kLoop;
  std::vector<NodeId> nodes;   // ascending, hence topological; constants, iotas and views used only
                               // here are included
  std::vector<Value> inputs;   // values made outside (graph inputs, scalars, other groups' outputs)
                               // that `nodes` read, each once
  std::vector<Value> outputs;  // values of `nodes` read outside or returned; a copied graph input
                               // or scalar is both an input and an output
  Shape domain;  // kLoop, kCopy: the shape all elementwise work iterates over (before reduction)
  std::vector<int> reduce_axes;  // kLoop: axes of `domain` that are reduced or scanned (then it is
                                 // one), ascending; empty: pointwise
  // kLoop: sums over the axes of `domain` that are not in reduce_axes, which are then the innermost
  // ones: a value for each place in a row, known when all rows are done. All that is made of them
  // has an element a place too, and is an output; what they add is any value of a row's elements.
  std::vector<NodeId> column_sums;
  // kLoop, kCopy: where outputs[i] is stored from: its coordinates by the axes of `domain` (row
  // values: by the axes that are not reduced; column sums: by those that are). Always one to one.
  // Starting from these, a pull meets
  // each reduction at one map; its operand's reduced coordinates are the reduce axes in order
  // (extents of 1 aside).
  std::vector<IndexMap> output_maps;
  std::optional<GemmCall> gemm;  // kGemm; inputs are {A, B, then C and bias if it has them}, the
                                 // buffers beneath the views, all listed even if equal; the output
                                 // is the epilogue's last node, or the product
  std::optional<SortCall> sort;  // kSort; outputs are {order, begin, end}, read or not
};

struct Boundary {  // value `value` crosses from group `from` (-1: a graph input) to group `to` (-1:
                   // a graph output)
  Value value;
  int from = -1, to = -1;
  Reason reason;
  std::string detail;  // "broadcast recomputes exp 768 times"
};
struct Note {  // a fallback inside a group
  int group = -1;
  Reason reason;
  std::string detail;
};

struct FusionPlan {
  std::vector<Group> groups;
  std::vector<Boundary> boundaries;
  std::vector<Note> notes;
};

// Layout of a graph edge (input or output): strides in elements, which may hold symbols beyond the
// graph's own (see CallClass in jit); align: bytes the pointer is known to be aligned to, at
// most 16, at least the element's size.
struct Layout {
  Shape strides;
  int align = 16;
  friend bool operator==(const Layout&, const Layout&) = default;
};

// Bytes a group moves at least: each input read once, each output written once (symbols evaluated
// by the caller).
SizeExpr GroupBytes(const Graph& graph, const Group& group);
// Bytes that the nodes would move if each op were a kernel of its own: operands read, results
// written, views and numbers free.
SizeExpr UnfusedBytes(const Graph& graph, absl::Span<const NodeId> nodes);
std::string FusionPlanToString(const Graph& graph, const FusionPlan& plan);

}  // namespace jitfuse::internal

#endif  // JITFUSE_CODEGEN_FUSION_GROUP_H_
