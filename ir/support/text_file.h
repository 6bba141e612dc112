// Files of text that a user names: manifests, graphs.
//
// In: a path, of a file or of a pipe that somebody writes to (as a shell's <(COMMAND)). Out: all of
// its bytes, at most kMaxTextFile of them. NotFound names the path and why it cannot be read:
// folders, devices, what is too large. A pipe that nobody writes to is empty, and not waited for.
// Must not know: what is in the files.
#ifndef JITFUSE_IR_SUPPORT_TEXT_FILE_H_
#define JITFUSE_IR_SUPPORT_TEXT_FILE_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"

namespace jitfuse::internal {

inline constexpr size_t kMaxTextFile = size_t{1} << 30;

absl::StatusOr<std::string> ReadTextFile(const std::string& path, size_t max_bytes = kMaxTextFile);

}  // namespace jitfuse::internal

#endif  // JITFUSE_IR_SUPPORT_TEXT_FILE_H_
