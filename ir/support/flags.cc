#include "ir/support/flags.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <limits>
#include <optional>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "ir/support/check.h"
#include "ir/support/dump.h"
#include "ir/support/status.h"

namespace jitfuse::internal {
namespace {

// Digits, behind a minus perhaps; python/jitfuse/_logging.py reads LOG alike.
std::optional<int64_t> ParseInt(const std::string& text) {
  const size_t first = !text.empty() && text[0] == '-' ? 1 : 0;
  if (text.find_first_not_of("0123456789", first) != std::string::npos) return std::nullopt;
  char* end = nullptr;
  errno = 0;
  const long long value = std::strtoll(text.c_str(), &end, 10);
  if (end == text.c_str() || errno != 0) return std::nullopt;
  return value;
}

std::optional<int64_t> ParseBytes(std::string text) {
  constexpr std::string_view kUnits = "KMGT";
  const size_t unit = text.empty() ? std::string_view::npos : kUnits.find(text.back());
  const int shift = unit == std::string_view::npos ? 0 : 10 * (static_cast<int>(unit) + 1);
  if (shift > 0) text.pop_back();
  const std::optional<int64_t> value = ParseInt(text);
  if (!value || *value < 0 || *value > INT64_MAX >> shift) return std::nullopt;
  return *value << shift;
}

constexpr std::string_view kBytesWanted = "a number of bytes, as 500M or 2G";

absl::Status CheckBytes(std::string_view name) {
  const std::string text = EnvString(name);
  if (text.empty() || ParseBytes(text)) return absl::OkStatus();
  return InvalidArgument("JITFUSE_", ToAbsl(name), "=", text, ": expected ", ToAbsl(kBytesWanted));
}

struct IntFlag {
  std::string_view name;
  int64_t least, most;
  std::string_view wanted;
  bool checked;  // by CheckFlags
};
constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
constexpr IntFlag kIntFlags[] = {
    {"VERIFY", 0, 2, "0, 1 or 2", true},
    {"MAX_FUSIONS", -1, kMost, "a whole number of merges from 0 on, or -1 for no limit", true},
    {"NO_CACHE", 0, 1, "0 or 1", true},
    {"REQUIRE_CACHE", 0, 1, "0 or 1", true},
    {"NVTX", 0, 1, "0 or 1", false},
    {"NVRTC_NO_CACHE", 0, 1, "0 or 1", false},
    {"LOG", 0, std::numeric_limits<int>::max(), "a whole number from 0 on", false},
    {"NUM_THREADS", 1, kMost, "a whole number from 1 on", false},
};

const IntFlag& FlagNamed(std::string_view name) {
  const auto* const flag = std::find_if(std::begin(kIntFlags), std::end(kIntFlags),
                                        [name](const IntFlag& f) { return f.name == name; });
  JF_CHECK(flag != std::end(kIntFlags));
  return *flag;
}

void WarnNotSet(const absl::Status& wrong) {
  WarnOnce(absl::StrCat(wrong.message(), "; the variable counts as not set"));
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

// The folder of the process when this is first called; "" where it has none any more.
const std::string& StartFolder() {
  static const auto* folder = [] {
    std::error_code failed;
    return new std::string(std::filesystem::current_path(failed).string());
  }();
  return *folder;
}

[[maybe_unused]] const std::string& start_folder = StartFolder();  // when the library is loaded

std::string FromStartFolder(absl::string_view path) {
  if (path.empty() || path[0] == '/' || StartFolder().empty()) return std::string(path);
  return (std::filesystem::path(StartFolder()) / ToStd(path)).string();
}

}  // namespace

std::string EnvString(std::string_view name, std::string_view fallback) {
  std::string key = "JITFUSE_" + std::string(name);
  const char* value = std::getenv(key.c_str());
  return value != nullptr ? value : std::string(fallback);
}

std::string EnvPath(std::string_view name) { return FromStartFolder(EnvString(name)); }

std::vector<std::string> EnvPaths(std::string_view name) {
  std::vector<std::string> out;
  for (absl::string_view path : absl::StrSplit(EnvString(name), ':', absl::SkipEmpty()))
    out.push_back(FromStartFolder(path));
  return out;
}

absl::StatusOr<int64_t> ReadEnvInt(std::string_view name, int64_t fallback) {
  const IntFlag& flag = FlagNamed(name);
  const std::string text = EnvString(name);
  if (text.empty()) return fallback;
  const std::optional<int64_t> value = ParseInt(text);
  if (value && *value >= flag.least && *value <= flag.most) return *value;
  return InvalidArgument("JITFUSE_", ToAbsl(name), "=", text, ": expected ", ToAbsl(flag.wanted));
}

int64_t EnvInt(std::string_view name, int64_t fallback) {
  const absl::StatusOr<int64_t> value = ReadEnvInt(name, fallback);
  if (value.ok()) return *value;
  WarnNotSet(value.status());
  return fallback;
}

int64_t EnvBytes(std::string_view name, int64_t fallback) {
  const std::string text = EnvString(name);
  if (text.empty()) return fallback;
  if (const std::optional<int64_t> value = ParseBytes(text)) return *value;
  WarnNotSet(CheckBytes(name));
  return fallback;
}

absl::Status CheckFlags() {
  for (const IntFlag& flag : kIntFlags) {
    if (flag.checked) JF_RETURN_IF_ERROR(ReadEnvInt(flag.name, 0).status());
  }
  JF_RETURN_IF_ERROR(CheckBytes("CACHE_SIZE"));
  return CheckDump();
}

}  // namespace jitfuse::internal
