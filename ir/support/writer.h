// Writer: builds indented text (emitted sources, dumps) without fiddling with spaces.
//
// In: lines, made of anything absl::StrCat takes, between Indent() and Dedent(). Out: one string by
// Take(). Block(open) writes "open {" and indents; End(close) dedents and writes "close" (default
// "}").
#ifndef JITFUSE_IR_SUPPORT_WRITER_H_
#define JITFUSE_IR_SUPPORT_WRITER_H_

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace jitfuse::internal {

class Writer {
 public:
  explicit Writer(int indent_width = 2) : width_(indent_width) {}

  template <typename... Args>
  Writer& Line(const Args&... args) {
    text_.append(static_cast<size_t>(depth_ * width_), ' ');
    absl::StrAppend(&text_, args...);
    text_.push_back('\n');
    return *this;
  }
  template <typename... Args>
  Writer& Block(const Args&... args) {
    return Line(args..., " {").Indent();
  }
  Writer& End(const char* close = "}") { return Dedent().Line(close); }
  Writer& Blank() {
    text_.push_back('\n');
    return *this;
  }
  Writer& Raw(const std::string& text) {
    text_ += text;
    return *this;
  }
  Writer& Indent() {
    ++depth_;
    return *this;
  }
  Writer& Dedent() {
    if (depth_ > 0) --depth_;
    return *this;
  }
  const std::string& text() const { return text_; }
  std::string Take() { return std::move(text_); }

 private:
  std::string text_;
  int width_;
  int depth_ = 0;
};

}  // namespace jitfuse::internal

#endif  // JITFUSE_IR_SUPPORT_WRITER_H_
