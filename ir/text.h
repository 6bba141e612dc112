// Graph text: graphs written down, one op a line with its types, and read back (docs/text.md has
// the grammar).
//
// In: text (.jf files, tests, the command) or a Graph. Out: a Graph or text. Guarantees:
//   ParseGraph(GraphToString(g)) is g again: the same nodes in the same order, an equal
//   Fingerprint, and the same text (if g's inputs were added before its ops; guards inherited from
//   ops that are gone have no text). The type written after an op must be the inferred one; the
//   error says both. No text crashes, hangs or overflows the stack; errors carry line, column, what
//   was expected, the line and a caret.
// Reading and printing are linear in the text. Must not know: files, back ends.
#ifndef JITFUSE_IR_TEXT_H_
#define JITFUSE_IR_TEXT_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "ir/graph.h"
#include "ir/op_def.h"
#include "ir/scalar_expr.h"
#include "ir/shape.h"

namespace jitfuse::internal {

inline constexpr size_t kMaxTextBytes = size_t{64} << 20;
inline constexpr size_t kMaxTokenLength = 512;  // of a name or a number
inline constexpr int kMaxInputs = 4096;
inline constexpr int kMaxSymbols = 64;
inline constexpr size_t kMaxDimBytes = 1024;
inline constexpr int kMaxDimNesting = 16;  // parentheses and functions inside each other in one dim
inline constexpr int kMaxDimTerms = 64;    // of one dim, multiplied out
inline constexpr int kMaxTypeTerms = 256;  // of the product of a type's dims, multiplied out
inline constexpr int kMaxDimFactors = 16;  // symbols and functions multiplied in one term

absl::StatusOr<Graph> ParseGraph(std::string_view text);
std::string GraphToString(const Graph& graph);

// "f32[n,768]". Symbols that `symbols` lacks are added to it.
absl::StatusOr<TensorType> ParseType(std::string_view text, SymbolTable* symbols);
absl::StatusOr<Dim> ParseDim(std::string_view text, SymbolTable* symbols);

// A literal of `dtype`: true, -3, 0.5, 0x1.8p-3, inf, nan. Read once as f64 (integers exactly) and
// then cast; what does not fit (300 as i8, 1e39 as f32) is an error. Printing gives the shortest
// digits that read back to the same bits.
absl::StatusOr<ScalarValue> ParseLiteral(DType dtype, std::string_view text);
std::string LiteralToString(DType dtype, ScalarValue value);

}  // namespace jitfuse::internal

#endif  // JITFUSE_IR_TEXT_H_
