#include "ir/support/flags.h"

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "ir/support/dump.h"
#include "ir/support/status.h"

namespace jitfuse::internal {
namespace {

std::optional<int64_t> ParseInt(const std::string& text) {
  char* end = nullptr;
  errno = 0;
  const long long value = std::strtoll(text.c_str(), &end, 10);
  if (text.empty() || *end != '\0' || errno != 0) return std::nullopt;
  return value;
}

// An integer of at least `least`, at most `most`; or not set.
absl::Status CheckInt(std::string_view name, int64_t least, int64_t most, std::string_view wanted) {
  const std::string text = EnvString(name);
  const std::optional<int64_t> value = ParseInt(text);
  if (text.empty() || (value && *value >= least && *value <= most)) return absl::OkStatus();
  return InvalidArgument("JITFUSE_", ToAbsl(name), "=", text, ": expected ", ToAbsl(wanted));
}

absl::Status CheckDump() {
  for (absl::string_view part : absl::StrSplit(EnvString("DUMP"), ',', absl::SkipEmpty())) {
    bool known = part == "all";
    for (absl::string_view point : absl::StrSplit(ToAbsl(kDumpPoints), ','))
      known = known || point == part;
    if (!known)
      return InvalidArgument("JITFUSE_DUMP: unknown point '", part, "'; expected all, or some of ",
                             ToAbsl(kDumpPoints), " separated by commas");
  }
  return absl::OkStatus();
}

}  // namespace

std::string EnvString(std::string_view name, std::string_view fallback) {
  std::string key = "JITFUSE_" + std::string(name);
  const char* value = std::getenv(key.c_str());
  return value != nullptr ? value : std::string(fallback);
}

int64_t EnvInt(std::string_view name, int64_t fallback) {
  std::string text = EnvString(name);
  if (text.empty()) return fallback;
  if (const std::optional<int64_t> value = ParseInt(text)) return *value;
  WarnOnce(absl::StrCat("JITFUSE_", ToAbsl(name), "=", text,
                        ": expected a whole number; the variable counts as not set"));
  return fallback;
}

absl::Status CheckFlags() {
  JF_RETURN_IF_ERROR(CheckInt("VERIFY", 0, 2, "0, 1 or 2"));
  JF_RETURN_IF_ERROR(CheckInt("MAX_FUSIONS", -1, INT64_MAX,
                              "a whole number of merges from 0 on, or -1 for no limit"));
  return CheckDump();
}

}  // namespace jitfuse::internal
