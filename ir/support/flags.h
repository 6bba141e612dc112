// Environment variables, read in one place.
//
// In: a name without its prefix ("LOG" means JITFUSE_LOG). Out: its value, or the given default.
// Read on each call, so that tests may set them; callers on hot paths read once and keep the value.
// Those that are numbers or switches are rows of one table, which says what each accepts. A value
// that none of the accepted ones is never passes in silence: CheckFlags makes an error of it where
// a Status can be given, EnvInt logs it once, with what is accepted, and takes the default. All of
// them are in docs/environment.md (tools/check_environment.py is a test).
#ifndef JITFUSE_IR_SUPPORT_FLAGS_H_
#define JITFUSE_IR_SUPPORT_FLAGS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace jitfuse::internal {

std::string EnvString(std::string_view name, std::string_view fallback = "");
// `name` has to be in the table. A value that is not accepted counts as not set, with a warning.
int64_t EnvInt(std::string_view name, int64_t fallback);
// The same where no warning may be given yet; InvalidArgument is what EnvInt would warn of.
absl::StatusOr<int64_t> ReadEnvInt(std::string_view name, int64_t fallback);
// A number of bytes, with K, M, G or T for powers of 1024; else as EnvInt.
int64_t EnvBytes(std::string_view name, int64_t fallback);
// A path, or "". One that is relative is taken from the folder that the process was in when it
// loaded this library, so that it stays the same where the process goes to another folder.
std::string EnvPath(std::string_view name);
// The same of paths that are separated by colons.
std::vector<std::string> EnvPaths(std::string_view name);
// Of the variables that decide what is made of a graph: JITFUSE_VERIFY, JITFUSE_MAX_FUSIONS,
// JITFUSE_DUMP, and of those of the disk cache. InvalidArgument names the variable, its value and
// what is accepted.
absl::Status CheckFlags();

}  // namespace jitfuse::internal

#endif  // JITFUSE_IR_SUPPORT_FLAGS_H_
