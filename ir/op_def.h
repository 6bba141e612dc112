// OpDef: one row of the open table of tensor ops (ir/ops.inc), and the types of its columns.
//
// A row says everything the layers ask about an op: shape and type inference, scalar body,
// expansion, index function, reduction, gradient, domain, error bound, documentation. No code
// outside the table's expansion switches over Op; code asks for `kind` and the columns. Adding a
// pointwise op is one row in ir/ops.inc; a new kind touches the files listed in HACKING.md.
// Pointwise ops broadcast their operands NumPy-wise by themselves; Expand (ir/expand.h) makes that
// explicit with `broadcast` views.
// Must not know: back ends, layouts, schedules.
#ifndef JITFUSE_IR_OP_DEF_H_
#define JITFUSE_IR_OP_DEF_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ir/dtype.h"
#include "ir/scalar_expr.h"
#include "ir/shape.h"

namespace jitfuse::internal {

class Graph;
struct Node;
struct IndexMap;
struct IndexSpace;

enum class Op : uint16_t;  // ir/op_enum.h

enum class OpKind : uint8_t {
  kInput,      // a tensor the caller passes; attr-free
  kScalar,     // a rank-0 run-time scalar passed by value from the host (learning rate, p ...)
  kConstant,   // a rank-0 literal
  kPointwise,  // body applied to broadcast operands
  kView,       // index function: a result element is an operand's element
  kJoin,     // index function: the element of the operand whose masks hold, else attr `value` or 0
  kGather,   // index function: an element of x (operand 0) at a position that `indices` (1) gives
  kIota,     // the element's own coordinate along attr `axis`
  kReduce,   // reduce definition over attr `axes`
  kScan,     // reduce definition, of all elements up to each one along attr `axis`
  kSort,     // positions along attr `axis` in the order of the indices there
  kSegment,  // index function: an element of x (operand 0), and those of src (1) whose positions
             // stand in order (2) from begin (3) to before end (4), added one after the other
  kMatMul,   // batched matrix product
  kComposite,  // expand() gives an equivalent graph of the kinds above
};
inline constexpr std::string_view kOpKindNames[] = {
    "input", "scalar", "constant", "pointwise", "view",    "join",   "gather",
    "iota",  "reduce", "scan",     "sort",      "segment", "matmul", "composite"};
static_assert(std::size(kOpKindNames) == static_cast<size_t>(OpKind::kComposite) + 1);
inline std::string_view OpKindName(OpKind kind) { return kOpKindNames[static_cast<size_t>(kind)]; }

struct TensorType {
  DType dtype = DType::kF32;
  Shape dims;
  friend bool operator==(const TensorType& a, const TensorType& b) {
    return a.dtype == b.dtype && a.dims == b.dims;
  }
};
std::string TypeToString(const TensorType& type,
                         absl::Span<const std::string> symbol_names = {});  // "f32[n,768]"

// Attributes. Order in a node is the schema's order; every attribute of the schema is present
// (defaults filled in by infer).
using AttrValue =
    std::variant<bool, int64_t, double, DType, std::vector<int64_t>, std::vector<Dim>>;
// The values are the variant's indices.
enum class AttrKind : uint8_t { kBool, kInt, kFloat, kDType, kInts, kDims };
// How an attribute is brought into the one form that nodes hold.
enum class AttrNorm : uint8_t {
  kNone,
  kAxis,      // -rank..rank-1 -> 0..rank-1; of operand 0, of attribute `shape` if there is none
  kAxes,      // as kAxis, sorted, no duplicates; empty or not given: every axis, written out
  kSomeAxes,  // as kAxes, but empty means none
  kNewAxes,   // as kSomeAxes, of the result, whose rank is that of operand 0 plus their number
  kPerm,      // a permutation of operand 0's axes; empty or not given: reversed
  kReshape,   // at most one dim -1, replaced by the size that fits
};
struct AttrDef {
  std::string_view name;
  AttrKind kind;
  std::optional<AttrValue> fallback;  // nullopt: required
  std::string_view doc;
  AttrNorm norm = AttrNorm::kNone;
};
struct Attr {
  std::string_view name;  // points into the schema
  AttrValue value;
  friend bool operator==(const Attr&, const Attr&) = default;
};
using Attrs = absl::InlinedVector<Attr, 2>;

// What inference sees and may do. Unify records the guard a == b (checked when a call binds) and
// returns the dim to use.
struct InferContext {
  const struct OpDef& def;
  absl::Span<const TensorType> in;
  const Attrs& attrs;
  absl::Span<const std::string> symbol_names;
  std::function<absl::StatusOr<Dim>(const Dim& a, const Dim& b)> unify;

  // "softmax(f32[n,768]): " for the front of messages.
  std::string Where() const;
  template <typename T>
  const T& Get(std::string_view name) const;
};
using InferFn = absl::StatusOr<absl::InlinedVector<TensorType, 1>> (*)(const InferContext&);

// One accumulation over the reduced elements. All texts are scalar bodies.
//   lift:     args x (the element; with AccRule::kSum already in the accumulators' type), i (i64,
//             its linear position in the reduced axes), r0, r1 (results of the earlier pass)
//             -> accumulators
//   combine:  args a0..ak, b0..bk -> accumulators; associative; a comes before b in position order
//   finalize: args a0..ak, n (the number of reduced elements, in the accumulators' type if that is
//             a float, else i64) -> this pass's results
// The accumulators' types follow from AccRule and the compute type of the operand.
struct ReducePass {
  std::string_view init;  // bodies too: "{0}" or "{-inf, 0}"; identifiers: lowest, highest, inf
  std::string_view lift;
  std::string_view combine;
  std::string_view finalize;
  int num_acc = 1;  // of a pass of two_pass
};
enum class AccRule : uint8_t {
  kSum,         // SumType of the compute type
  kSame,        // the compute type
  kValueIndex,  // the compute type, then i64
  kBool,
};
struct ReduceDef {
  int num_acc;      // of one_pass
  int num_results;  // >= 1
  AccRule acc_rule;
  ReducePass one_pass;
  // 0: only one_pass. 2: two_pass[0], then two_pass[1], which sees its results as r0, r1; the
  // op's results are {pass 0's result, pass 1's result}.
  int num_passes;
  ReducePass two_pass[2];
  bool empty_ok;  // false: reducing nothing is an error (max, min, argmax, argmin)
};

// An equivalent of `node`, whose operands are values of `graph`: one value per result, same types.
using ExpandFn = absl::StatusOr<absl::InlinedVector<struct Value, 1>> (*)(Graph* graph,
                                                                          const Node& node);
// Coordinates of an operand's element for given coordinates of the result, and for joins the masks
// under which the operand has it; nullopt if not expressible (then it is a boundary). Called
// through PullOperand (ir/view_index.h).
using IndexFn = std::optional<IndexMap> (*)(const Graph& graph, const Node& node, int operand,
                                            const IndexMap& out, const IndexSpace& space);

inline constexpr int kMaxOperands = 1024;  // of a variadic op

struct OpDef {
  Op op;
  std::string_view name;  // as in graph text
  OpKind kind;
  // Names of the operands, for docs, errors and bodies; one like "bias?" may be left out, a last
  // one like "xs..." stands for one or more.
  absl::Span<const std::string_view> args;
  absl::Span<const AttrDef> attrs;
  DTypeSet domain;  // of operand 0 (where: of the values)
  InferFn infer;
  std::string_view body;    // kPointwise
  const ReduceDef* reduce;  // kReduce, kScan (one_pass)
  ExpandFn expand;          // kComposite
  IndexFn index;            // kView, kJoin, kGather, kSegment
  // Body text of the operands' gradients (g: of the result, out: the result), "zero" where flat
  // almost everywhere, "" where none yet.
  std::string_view grad;
  double max_ulp_f32, max_ulp_f64;  // of the whole body against its exact meaning; infinity:
                                    // terms that may cancel, no bound relative to the result
  std::string_view doc;             // one sentence
  std::string_view example;         // a line of graph text

  int min_arity() const;  // operands that must be given
  int max_arity() const { return is_variadic() ? kMaxOperands : static_cast<int>(args.size()); }
  bool is_variadic() const { return !args.empty() && args.back().ends_with("..."); }
  int num_results() const;                                    // as the example shows; 1 for sources
  const AttrDef* FindAttr(std::string_view attr_name) const;  // null if there is none
};

const OpDef& GetOp(Op op);
const OpDef* FindOp(std::string_view name);  // null if there is none
absl::Span<const OpDef* const> AllOps();

template <typename T>
const T& InferContext::Get(std::string_view name) const {
  for (const Attr& a : attrs) {
    if (a.name == name) return std::get<T>(a.value);
  }
  __builtin_unreachable();  // the schema guarantees presence
}

}  // namespace jitfuse::internal

#endif  // JITFUSE_IR_OP_DEF_H_
