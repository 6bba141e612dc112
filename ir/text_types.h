// Dims, shapes and types of graph text: reading them under the limits that keep SizeExpr arithmetic
// small and free of overflow.
//
// In: a cursor at the dim, bracket or type. Out: the SizeExpr in normal form; with it go upper
// bounds for its number of terms, factors and the size of its coefficients, which the reader keeps
// below the limits of ir/text.h before it multiplies anything. Nesting is limited, so the recursion
// (parentheses and functions) is too. Must not know: ops, graphs.
#ifndef JITFUSE_IR_TEXT_TYPES_H_
#define JITFUSE_IR_TEXT_TYPES_H_

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "ir/dtype.h"
#include "ir/op_def.h"
#include "ir/shape.h"
#include "ir/text_cursor.h"

namespace jitfuse::internal {

// The symbols a text may use. While `open`, a new name becomes a new symbol; afterwards it is an
// error.
class SymbolScope {
 public:
  explicit SymbolScope(SymbolTable* table) : table_(table) {}
  void Close() { open_ = false; }
  absl::StatusOr<SizeExpr> Lookup(TextCursor* cursor, const Word& name);
  absl::Status Declare(TextCursor* cursor, const Word& name);  // of the list <n, m>
  TextSpan FirstUse(SymbolId id) const { return first_use_[static_cast<size_t>(id)]; }
  // From now on only these symbols may be used: those whose value a call tells.
  void RequireBound(std::vector<bool> bound) { bound_ = std::move(bound); }
  absl::Status Unbound(TextCursor* cursor, SymbolId id, TextSpan at) const;  // the error
  int size() const { return static_cast<int>(first_use_.size()); }

 private:
  SymbolTable* table_;
  bool open_ = true;
  std::vector<TextSpan> first_use_;
  std::optional<std::vector<bool>> bound_;
};

bool IsSymbolName(std::string_view name);  // an identifier that is no function of the dim grammar

absl::StatusOr<Dim> ReadDim(TextCursor* cursor, SymbolScope* scope);
// "[n,768]". In an attribute a dim may also be negative: inference replaces -1 in
// reshape, and says what is wrong with others.
absl::StatusOr<Shape> ReadDims(TextCursor* cursor, SymbolScope* scope, bool attribute = false);
absl::StatusOr<DType> ReadDType(TextCursor* cursor);
absl::StatusOr<TensorType> ReadType(TextCursor* cursor, SymbolScope* scope);

}  // namespace jitfuse::internal

#endif  // JITFUSE_IR_TEXT_TYPES_H_
