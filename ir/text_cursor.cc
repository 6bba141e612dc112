#include "ir/text_cursor.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ir/support/status.h"
#include "ir/text.h"

namespace jitfuse::internal {
namespace {

constexpr size_t kExcerpt = 96;  // columns of the offending line that an error shows

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsHexDigit(char c) { return IsDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool IsWordChar(char c) { return IsLetter(c) || IsDigit(c); }

std::string Printable(std::string_view s) {
  std::string out(s);
  for (char& c : out) {
    if (c == '\t') c = ' ';
    if (static_cast<unsigned char>(c) < 32 || static_cast<unsigned char>(c) > 126) c = '?';
  }
  return out;
}

// Scans [begin, ...) while `accept` holds.
template <typename Accept>
size_t ScanWhile(std::string_view text, size_t begin, Accept accept) {
  while (begin < text.size() && accept(text[begin])) ++begin;
  return begin;
}

// The end of an unsigned number at `begin`: [digits][.digits][(e|p)[sign]digits], with 0x for the
// hexadecimal forms.
size_t ScanNumber(std::string_view text, size_t begin) {
  bool hex = text.substr(begin, 2) == "0x" || text.substr(begin, 2) == "0X";
  auto digit = hex ? IsHexDigit : IsDigit;
  size_t end = ScanWhile(text, hex ? begin + 2 : begin, digit);
  if (end < text.size() && text[end] == '.') end = ScanWhile(text, end + 1, digit);
  char lower = end < text.size() ? static_cast<char>(text[end] | 0x20) : '\0';
  if (lower == (hex ? 'p' : 'e')) {
    ++end;
    if (end < text.size() && (text[end] == '+' || text[end] == '-')) ++end;
  }
  return ScanWhile(text, end,
                   IsWordChar);  // whatever is glued to it belongs to the (then bad) token
}

// Edit distance with insertions, deletions and replacements, given up above `limit`.
size_t EditDistance(std::string_view a, std::string_view b, size_t limit) {
  if (a.size() > b.size() + limit || b.size() > a.size() + limit) return limit + 1;
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row[b.size()];
}

}  // namespace

bool IsIdentifier(std::string_view text) {
  return !text.empty() && text.size() <= kMaxTokenLength && IsLetter(text[0]) &&
         ScanWhile(text, 1, IsWordChar) == text.size();
}

std::string NearestHint(std::string_view word, absl::Span<const std::string_view> candidates) {
  if (word.size() > 64) return "";
  size_t best =
      std::min<size_t>(3, 1 + word.size() / 4);  // the farthest that still counts as a slip
  std::string_view nearest;
  for (std::string_view candidate : candidates) {
    size_t distance = EditDistance(word, candidate, best);
    bool nothing_shared = distance >= std::max(word.size(), candidate.size());
    if (nothing_shared || distance > best || (distance == best && !nearest.empty())) continue;
    best = distance;
    nearest = candidate;
  }
  for (std::string_view candidate : candidates) {  // "mul" for "multiply"
    bool abbreviated = word.size() >= 2 && candidate.substr(0, word.size()) == word;
    if (abbreviated && (nearest.empty() || best > 1))
      return absl::StrCat("; did you mean '", ToAbsl(candidate), "'?");
  }
  return nearest.empty() ? "" : absl::StrCat("; did you mean '", ToAbsl(nearest), "'?");
}

void TextCursor::SkipSpace() {
  while (pos_ < text_.size()) {
    char c = text_[pos_];
    if (c == '#') {
      pos_ = std::min(text_.find('\n', pos_), text_.size());
    } else if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      ++pos_;
    } else {
      return;
    }
  }
}

bool TextCursor::AtEnd() {
  SkipSpace();
  return pos_ >= text_.size();
}

char TextCursor::Peek() { return AtEnd() ? '\0' : text_[pos_]; }

bool TextCursor::Accept(std::string_view punct) {
  SkipSpace();
  if (text_.substr(pos_, punct.size()) != punct) return false;
  pos_ += punct.size();
  return true;
}

absl::Status TextCursor::Expect(std::string_view punct, std::string_view where) {
  if (Accept(punct)) return absl::OkStatus();
  return Expected(absl::StrCat("'", ToAbsl(punct), "' ", ToAbsl(where)));
}

absl::StatusOr<Word> TextCursor::TakeWord(size_t begin, size_t end, size_t skip) {
  if (end - begin - skip > kMaxTokenLength) {
    return Error({begin, 1}, absl::StrCat("this token has ", end - begin - skip,
                                          " bytes; the limit is ", kMaxTokenLength));
  }
  pos_ = end;
  return Word{text_.substr(begin + skip, end - begin - skip),
              {begin, std::max<size_t>(1, end - begin)}};
}

absl::StatusOr<Word> TextCursor::AcceptIdentifier() {
  if (!IsLetter(Peek())) return Word{};
  return TakeWord(pos_, ScanWhile(text_, pos_, IsWordChar), 0);
}

absl::StatusOr<Word> TextCursor::ExpectIdentifier(std::string_view what) {
  if (!IsLetter(Peek())) return Expected(what);
  return AcceptIdentifier();
}

absl::StatusOr<Word> TextCursor::ExpectName(std::string_view what) {
  if (Peek() != '%') return Expected(what);
  size_t end = ScanWhile(text_, pos_ + 1, IsWordChar);
  if (end == pos_ + 1) return Error({pos_, 1}, "expected letters, digits or '_' after '%'");
  return TakeWord(pos_, end, 1);
}

absl::StatusOr<Word> TextCursor::ExpectLiteral(std::string_view what) {
  Peek();
  size_t body = pos_ < text_.size() && text_[pos_] == '-' ? pos_ + 1 : pos_;
  char first = body < text_.size() ? text_[body] : '\0';
  if (IsLetter(first)) {
    size_t end = ScanWhile(text_, body, IsWordChar);
    std::string_view word = text_.substr(body, end - body);
    bool number = word == "inf" || word == "nan";
    bool boolean = body == pos_ && (word == "true" || word == "false");
    return number || boolean ? TakeWord(pos_, end, 0) : absl::StatusOr<Word>(Expected(what));
  }
  if (!IsDigit(first) && first != '.') return Expected(what);
  return TakeWord(pos_, ScanNumber(text_, body), 0);
}

TextSpan TextCursor::Here() {
  SkipSpace();
  size_t begin = std::min(pos_, text_.size());
  size_t end = ScanWhile(text_, begin + (Peek() == '%' ? 1 : 0), IsWordChar);
  return {begin, std::max<size_t>(1, end - begin)};
}

int TextCursor::LineOf(size_t pos) const {
  std::string_view before = text_.substr(0, std::min(pos, text_.size()));
  return 1 + static_cast<int>(std::count(before.begin(), before.end(), '\n'));
}

absl::Status TextCursor::Error(TextSpan at, std::string_view message) const {
  size_t pos = std::min(at.begin, text_.size());
  size_t line_begin = pos == 0 ? 0 : text_.rfind('\n', pos - 1) + 1;  // npos + 1 is 0
  size_t line_end = std::min(text_.find('\n', pos), text_.size());
  size_t column = pos - line_begin;
  size_t shown = column > kExcerpt * 2 / 3 ? pos - kExcerpt / 2 : line_begin;
  std::string_view excerpt = text_.substr(shown, std::min(kExcerpt, line_end - shown));
  std::string marker(pos - shown, ' ');
  size_t room = shown + excerpt.size() > pos ? shown + excerpt.size() - pos : 1;
  marker += '^';
  marker.append(std::min(at.length, room) - std::min<size_t>(1, at.length), '~');
  return InvalidArgument(LineOf(pos), ":", column + 1, ": ", ToAbsl(message), "\n  ",
                         Printable(excerpt), "\n  ", marker);
}

absl::Status TextCursor::Expected(std::string_view what) {
  TextSpan here = Here();
  std::string found =
      here.begin >= text_.size()
          ? std::string("the end of the text")
          : absl::StrCat(
                "'", Printable(text_.substr(here.begin, std::min<size_t>(here.length, 40))), "'");
  return Error(here, absl::StrCat("expected ", ToAbsl(what), ", found ", found));
}

}  // namespace jitfuse::internal
