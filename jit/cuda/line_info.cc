#include "jit/cuda/line_info.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "ir/support/flags.h"
#include "ir/support/hash128.h"
#include "ir/support/status.h"

namespace jitfuse::internal {
namespace {

constexpr std::string_view kSourceName = "jitfuse-source=";

// Beside its place and renamed, so that others see all of it.
absl::Status WriteSource(const std::filesystem::path& path, const std::string& text) {
  std::error_code failed;
  if (std::filesystem::exists(path, failed)) return absl::OkStatus();
  std::filesystem::create_directories(path.parent_path(), failed);
  const std::string temporary = absl::StrCat(path.string(), ".", getpid());
  std::ofstream file(temporary);
  file << text;
  file.close();
  if (file.good()) std::filesystem::rename(temporary, path, failed);
  if (file.good() && !failed) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("JITFUSE_LINE_INFO: the source cannot be written to ",
                                             path.string(),
                                             failed ? absl::StrCat(": ", failed.message()) : "",
                                             "; expected a folder that can be written"));
}

}  // namespace

absl::Status AddLineInfo(KernelSource* source) {
  const std::string folder = EnvString("LINE_INFO");
  if (folder.empty()) return absl::OkStatus();
  std::error_code failed;
  const std::filesystem::path path =
      std::filesystem::absolute(folder, failed).lexically_normal() /
      absl::StrCat(source->entry, "_", HashBytes(source->text.data(), source->text.size()).ToHex(),
                   ".cu");
  JF_RETURN_IF_ERROR(WriteSource(path, source->text));
  source->options.emplace_back("--generate-line-info");
  source->options.push_back(absl::StrCat(ToAbsl(kSourceName), path.string()));
  return absl::OkStatus();
}

bool IsSourceName(std::string_view option) {
  return option.substr(0, kSourceName.size()) == kSourceName;
}

std::string SourceNameOf(const KernelSource& source) {
  for (const std::string& option : source.options) {
    if (IsSourceName(option)) return option.substr(kSourceName.size());
  }
  return absl::StrCat(source.entry.empty() ? "kernels" : source.entry, ".cu");
}

}  // namespace jitfuse::internal
