// The error currency inside Jitfuse: absl::Status and absl::StatusOr, with the macros that pass
// them on.
//
// Bad user input is InvalidArgument and names the op, the shapes and what was expected; a missing
// library is NotFound/FailedPrecondition and names what was searched; what a later release brings
// is Unimplemented. The public API converts at its border (api/status.h); exceptions exist only in
// Python. Also here: the two conversions between std::string_view and absl::string_view, which are
// different types in the Abseil that Debian 12 ships. Must not know: ir types.
#ifndef JITFUSE_IR_SUPPORT_STATUS_H_
#define JITFUSE_IR_SUPPORT_STATUS_H_

#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace jitfuse::internal {

inline absl::string_view ToAbsl(std::string_view s) { return {s.data(), s.size()}; }
inline std::string_view ToStd(absl::string_view s) { return {s.data(), s.size()}; }

template <typename... Args>
absl::Status InvalidArgument(const Args&... args) {
  return absl::InvalidArgumentError(absl::StrCat(args...));
}

template <typename... Args>
absl::Status Unimplemented(const Args&... args) {
  return absl::UnimplementedError(absl::StrCat(args...));
}

template <typename... Args>
absl::Status NotFound(const Args&... args) {
  return absl::NotFoundError(absl::StrCat(args...));
}

template <typename... Args>
absl::Status InternalError(const Args&... args) {
  return absl::InternalError(absl::StrCat(args...));
}

// The same error with `context` put in front of its message: "context: message".
absl::Status Annotate(const absl::Status& status, std::string_view context);

}  // namespace jitfuse::internal

#define JF_CONCAT_INNER(a, b) a##b
#define JF_CONCAT(a, b) JF_CONCAT_INNER(a, b)

#define JF_RETURN_IF_ERROR(expr)                                       \
  do {                                                                 \
    if (absl::Status jf_status = (expr); !jf_status.ok()) [[unlikely]] \
      return jf_status;                                                \
  } while (false)

#define JF_ASSIGN_OR_RETURN(lhs, expr) \
  JF_ASSIGN_OR_RETURN_IMPL(JF_CONCAT(jf_statusor_, __LINE__), lhs, expr)

#define JF_ASSIGN_OR_RETURN_IMPL(tmp, lhs, expr) \
  auto tmp = (expr);                             \
  if (!tmp.ok()) [[unlikely]]                    \
    return tmp.status();                         \
  lhs = std::move(tmp).value()

#endif  // JITFUSE_IR_SUPPORT_STATUS_H_
