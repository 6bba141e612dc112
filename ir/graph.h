// Graph: what is computed. Nodes in topological order, hash-consed, typed; symbols, guards, inputs,
// outputs.
//
// In: Add* calls, which check and infer (ir/infer.cc) and return a Status for anything wrong,
// naming the op, the shapes and what was expected. Out: a value type that passes read and rebuild
// (Graph -> Graph); nothing is mutated in place once a pass has returned. Invariants: node i reads
// only nodes < i; equal (op, inputs, attrs) give the same node (inputs and scalars are never
// merged); every attribute of the schema is present; every symbol of a type is bound by some
// input's dim that is exactly that symbol. A guard says two sizes that inference unified must be
// equal when a call binds; SameDim knows them. Copyable; a copy costs the size of the graph. No
// recursion anywhere: graphs may be 1e5 nodes deep. Must not know: layouts, groups, back ends.
#ifndef JITFUSE_IR_GRAPH_H_
#define JITFUSE_IR_GRAPH_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ir/dtype.h"
#include "ir/op_def.h"
#include "ir/shape.h"
#include "ir/support/hash128.h"

namespace jitfuse::internal {

using NodeId = int32_t;

struct Value {
  NodeId node = -1;
  int32_t result = 0;
  friend bool operator==(const Value&, const Value&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const Value& v) {
    return H::combine(std::move(h), v.node, v.result);
  }
};

struct Node {
  Op op;
  absl::InlinedVector<TensorType, 1> types;  // one per result
  absl::InlinedVector<Value, 3> in;
  Attrs attrs;

  const OpDef& def() const { return GetOp(op); }
  OpKind kind() const { return def().kind; }
  template <typename T>
  const T& Get(std::string_view name) const {
    for (const Attr& a : attrs) {
      if (a.name == name) return std::get<T>(a.value);
    }
    __builtin_unreachable();
  }
};

struct Guard {
  Dim a, b;
  std::string where;  // "add(f32[n], f32[m])"
};

class Graph {
 public:
  // Inputs appear in the signature in the order added. `name` must be an identifier, or empty for
  // arg<i>.
  absl::StatusOr<Value> AddInput(std::string_view name, const TensorType& type);
  // A host scalar parameter, of rank 0.
  absl::StatusOr<Value> AddScalar(std::string_view name, DType dtype);
  // Constants have rank 0. Int is exact for 64-bit integers; Bits takes a register, which is
  // brought onto the dtype's grid.
  Value AddConstant(DType dtype, double v);
  Value AddConstantInt(DType dtype, int64_t v);
  Value AddConstantBits(DType dtype, ScalarValue v);
  // Any other op. Attributes may be given in any order and partly; missing ones take their
  // defaults. Result 0 is returned.
  absl::StatusOr<Value> Add(Op op, absl::Span<const Value> in, Attrs attrs = {});
  absl::Status AddOutput(Value v);

  const std::string& name() const { return name_; }
  void set_name(std::string_view name) { name_ = name; }
  int size() const { return static_cast<int>(nodes_.size()); }
  const Node& node(NodeId id) const { return nodes_[static_cast<size_t>(id)]; }
  const Node& node(Value v) const { return node(v.node); }
  const TensorType& type(Value v) const { return node(v).types[static_cast<size_t>(v.result)]; }
  // kInput and kScalar nodes, in signature order.
  absl::Span<const NodeId> inputs() const { return inputs_; }
  const std::string& input_name(int i) const { return input_names_[static_cast<size_t>(i)]; }
  absl::Span<const Value> outputs() const { return outputs_; }
  const std::vector<Guard>& guards() const { return guards_; }
  const SymbolTable& symbols() const { return symbols_; }
  SymbolTable& symbols() { return symbols_; }
  SizeExpr SymbolNamed(std::string_view name) { return SizeExpr::Symbol(symbols_.FindOrAdd(name)); }

  // For passes that rebuild: name, symbols and guards of the graph that is read, before anything is
  // added. Guards stay even if the node that made them goes.
  void InheritFrom(const Graph& from);

  // Symbols that guards equate with something are replaced by one of their class.
  Dim Canonical(const Dim& d) const;
  bool SameDim(const Dim& a, const Dim& b) const;  // equal in normal form, also through the guards
  bool SameShape(absl::Span<const Dim> a, absl::Span<const Dim> b) const;
  // Bit pattern of a kConstant node, in its register form.
  ScalarValue ConstantValue(NodeId id) const;
  std::string TypeString(Value v) const { return TypeToString(type(v), symbols_.names); }

  // The symbols' values for concrete input dims (one span per kInput in signature order, kScalar
  // inputs have rank 0), after checking rank, constants and guards. Errors name the input, the dim,
  // what was given and what was expected.
  absl::StatusOr<std::vector<int64_t>> BindSymbols(
      absl::Span<const std::vector<int64_t>> input_dims) const;

  // Stable over processes: of the structure, attributes, types and symbol names' positions (not of
  // names).
  Hash128 Fingerprint() const;

 private:
  friend struct GraphPeer;  // of tests, which break graphs to see VerifyGraph find it
  absl::StatusOr<Dim> Unify(const Dim& a, const Dim& b, const std::string& where);
  void Equate(const Dim& a, const Dim& b);
  void DropGuards(size_t keep);
  absl::StatusOr<Value> AddSource(Op op, std::string_view name, const TensorType& type);
  absl::Status CheckOperands(const OpDef& def, absl::Span<const Value> in) const;
  absl::Status CheckSymbolsBound(const OpDef& def, absl::Span<const TensorType> types,
                                 const Attrs& attrs) const;
  void RequireNonEmpty(const Node& node);
  Value Intern(Node node);

  std::string name_ = "f";
  std::vector<Node> nodes_;
  std::vector<NodeId> inputs_;
  std::vector<std::string> input_names_;
  absl::flat_hash_set<std::string> taken_names_;
  std::vector<Value> outputs_;
  std::vector<Guard> guards_;
  // `a` may not be 0 when a call binds: max over a symbolic size.
  std::vector<Guard> nonempty_;
  // By symbol, what guards make of it; shorter than the symbols where there is none.
  std::vector<Dim> representative_;
  std::vector<std::pair<Dim, Dim>> same_;  // guards between sums and products, in canonical form
  std::vector<bool> bound_;                // by symbol: some input's dim is exactly this symbol
  SymbolTable symbols_;
  // Full comparison decides, the hash only finds candidates.
  absl::flat_hash_map<Hash128, std::vector<NodeId>> consed_;
};

// The nodes that read each node, ascending, each once; outputs are not counted.
std::vector<std::vector<NodeId>> ComputeUsers(const Graph& graph);

}  // namespace jitfuse::internal

#endif  // JITFUSE_IR_GRAPH_H_
