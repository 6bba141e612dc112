// CallClass: what of a call's shapes, strides and pointers decides the code, and the graph
// specialised to it.
//
// In: a graph (with symbols) and one call's input and output descriptions. Out: the class key (L2),
// the specialised graph with its edge layouts, and the values of its symbols for this call. Calls
// of one class share an Executable: a call whose class is known needs its ClassKey alone, which
// costs little more than reading the call's sizes; layouts and sizes as expressions are made of it
// where code is.
//   * a symbol whose value is 0 or 1 becomes that constant;
//   * an inner symbol (last dim of some tensor of rank >= 2, or a reduced axis) becomes q * d,
//     where d is the largest power of two up to 16 that divides the value and q a symbol: that
//     vectors fit is then visible in the sizes themselves. A reduced symbol's power-of-two bucket
//     is in the key too, as its bound;
//   * a non-contiguous input or output gets strides that are 0, 1 or symbols (again with a
//     power-of-two factor);
//   * pointers are classed by alignment up to 16 bytes, offsets by whether 32 bits hold them,
//     outputs by which input they share a buffer with.
// So it is with Dynamic::kLeading. With kAll a symbol is only told from 0, symbols and strides have
// no known divisor, a reduced symbol has a coarse bound (ReducedBucket), and pointers are all
// aligned to 16 bytes or none is known to be. With kNone every symbol is a constant.
// Symbol ids: the graph's own keep theirs; stride symbols follow.
// Must not know: back ends, plans.
#ifndef JITFUSE_JIT_CALL_CLASS_H_
#define JITFUSE_JIT_CALL_CLASS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "codegen/fusion/group.h"
#include "ir/graph.h"
#include "ir/options.h"

namespace jitfuse::internal {

// One tensor of a call. Strides in elements; empty means contiguous. `ptr` may be null where only
// shapes are known (ahead of time): it counts as aligned.
struct TensorView {
  const void* ptr = nullptr;
  DType dtype = DType::kF32;
  absl::Span<const int64_t> dims;
  absl::Span<const int64_t> strides;
};

// Facts of a graph that every call needs; computed once per graph.
struct GraphShapeFacts {
  std::vector<bool> symbol_inner;    // by symbol: vectors or rows depend on it
  std::vector<bool> symbol_reduced;  // by symbol: an extent that is reduced
  std::vector<SizeExpr> extents;     // the greatest element counts of nodes, for the offset width
  std::vector<int> tensor_inputs;    // signature positions of the kInput nodes
};
GraphShapeFacts ComputeShapeFacts(const Graph& graph);

// What a symbol of the graph is in a class: a constant, or a factor times a new symbol.
struct SymbolClass {
  bool constant = false;
  int64_t factor = 1;
  int64_t bound = 0;  // of the new symbol's value; 0: none
};

// One stride of a view: a factor times a symbol, or, without one, 0 or 1.
struct StrideClass {
  int64_t factor = 0;
  SymbolId symbol = -1;
};

struct ViewClass {
  int align = 16;  // what code may count on
  bool dense = true;
  int like = -1;            // of outputs: its strides are those of this input
  size_t first_stride = 0;  // of a view that is neither: its strides, one per dim
};

// What tells a call's class from others, and what binding it to the class's code needs. In memory
// of the object itself but for the key, if there are few tensors and their layouts are dense.
struct ClassKey {
  std::string key;  // all that tells classes apart, not a hash of it
  // Values of the specialised graph's symbols and the stride symbols, for this call.
  absl::InlinedVector<int64_t, 8> symbols;
  absl::InlinedVector<SymbolClass, 4> graph_symbols;
  absl::InlinedVector<ViewClass, 8> views;  // by signature position, then by output number
  std::vector<StrideClass> strides;
  // By output: signature positions of the inputs whose buffer it is.
  absl::InlinedVector<std::vector<int>, 2> output_aliases;
  int offset_bits = 32;
  int least_align = 16;
  Dynamic dynamic = Dynamic::kLeading;  // as it was classified
  // By signature position: bound, so that calls do not pass it. Empty: none. Not of the key, as it
  // holds for all calls of a function.
  std::vector<bool> bound_inputs;
  bool IsBound(int position) const {
    return !bound_inputs.empty() && bound_inputs[static_cast<size_t>(position)];
  }
};

struct CallClass : ClassKey {
  std::vector<SizeExpr> replace;  // by graph symbol: what it becomes
  std::vector<int64_t> bound;     // by symbol: an upper bound of its value; 0: none
  std::vector<Layout> inputs;     // by signature position (empty strides for scalars)
  std::vector<Layout> outputs;    // by output number; strides over the specialised dims
};

// `inputs`: one view per signature position (scalars: rank 0). `outputs` may be empty (the executor
// allocates: contiguous, aligned) or one per output. Errors: wrong number, dtype, rank, dims,
// guard; an address that is no multiple of the element's size; an output that partly overlaps an
// input or any other output.
absl::StatusOr<ClassKey> ClassKeyOf(const Graph& graph, const GraphShapeFacts& facts,
                                    absl::Span<const TensorView> inputs,
                                    absl::Span<const TensorView> outputs,
                                    Dynamic dynamic = Dynamic::kLeading);
// What a symbol of the graph becomes in the class.
SizeExpr InClass(SymbolId symbol, const ClassKey& key);
// The class that a key of this graph's calls stands for.
CallClass ClassOf(const Graph& graph, ClassKey key);
absl::StatusOr<CallClass> ClassifyCall(const Graph& graph, const GraphShapeFacts& facts,
                                       absl::Span<const TensorView> inputs,
                                       absl::Span<const TensorView> outputs,
                                       Dynamic dynamic = Dynamic::kLeading);

// Of Dynamic::kAll: the bound of a reduced extent. 256, which a warp holds in registers, or a power
// of two from 1024 to 65536; 0, no bound, for rows too long to be kept on chip.
int64_t ReducedBucket(int64_t extent);

// Lowest and highest element offset a view reaches; {0, -1} if it is empty.
std::pair<int64_t, int64_t> OffsetRange(const TensorView& view);
// Whether the range from the view's first to its last byte reaches into these bytes.
bool Touches(const TensorView& view, const void* begin, int64_t bytes);

// The graph with each symbol replaced.
absl::StatusOr<Graph> SpecializeGraph(const Graph& graph, const CallClass& cls);

}  // namespace jitfuse::internal

#endif  // JITFUSE_JIT_CALL_CLASS_H_
