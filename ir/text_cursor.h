// TextCursor: the lexer under the graph text parser, and the errors it shares with it.
//
// In: a text that outlives the cursor. Out: identifiers, %names, numbers and punctuation, one at a
// time, after skipping blanks, newlines and '#' comments. No token list is built, nothing recurses,
// every loop consumes a byte. Errors are InvalidArgument: "LINE:COLUMN: message", then the line
// (clipped, control bytes shown as '?') and a caret line. Lines and columns count from 1, columns
// in bytes; they are computed only when an error is made. Must not know: ops, graphs.
#ifndef JITFUSE_IR_TEXT_CURSOR_H_
#define JITFUSE_IR_TEXT_CURSOR_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace jitfuse::internal {

// A stretch of the text, for errors.
struct TextSpan {
  size_t begin = 0;
  size_t length = 1;
};

struct Word {
  std::string_view text;  // without the '%' of a name; empty if there was none
  TextSpan span;
  explicit operator bool() const { return !text.empty(); }
};

class TextCursor {
 public:
  explicit TextCursor(std::string_view text) : text_(text) {}

  void SkipSpace();
  bool AtEnd();  // skips space first, as all below do
  char Peek();   // '\0' at the end
  bool Accept(std::string_view punct);
  absl::Status Expect(std::string_view punct, std::string_view where);
  absl::StatusOr<Word> AcceptIdentifier();  // letter or '_', then letters, digits, '_'
  absl::StatusOr<Word> ExpectIdentifier(std::string_view what);
  absl::StatusOr<Word> ExpectName(std::string_view what);  // '%' and letters, digits, '_'
  // A literal: digits with fraction and exponent, 0x hexadecimal, inf, nan, true, false; the first
  // four with a '-'.
  absl::StatusOr<Word> ExpectLiteral(std::string_view what);

  size_t position() const { return pos_; }
  void set_position(size_t pos) { pos_ = pos; }
  std::string_view text() const { return text_; }
  TextSpan Here();  // the next token, roughly
  TextSpan Since(size_t begin) const { return {begin, pos_ > begin ? pos_ - begin : 1}; }

  absl::Status Error(TextSpan at, std::string_view message) const;
  // "expected WHAT, found 'xyz'".
  absl::Status Expected(std::string_view what);
  int LineOf(size_t pos) const;

 private:
  absl::StatusOr<Word> TakeWord(size_t begin, size_t end, size_t skip);

  std::string_view text_;
  size_t pos_ = 0;
};

bool IsIdentifier(std::string_view text);
// "; did you mean 'matmul'?" for the candidate nearest to `word` or abbreviated by it, or "" if
// none is near.
std::string NearestHint(std::string_view word, absl::Span<const std::string_view> candidates);

}  // namespace jitfuse::internal

#endif  // JITFUSE_IR_TEXT_CURSOR_H_
