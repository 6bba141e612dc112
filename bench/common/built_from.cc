#include "built_from.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "cpu_backend/orc_compile.h"
#include "jit/cuda/driver_api.h"
#include "jit/cuda/nvrtc_api.h"

namespace jitfuse_bench {
namespace {

namespace fs = std::filesystem;

fs::path Folder() {  // of this program
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error).parent_path();
}

std::string FirstLine(const fs::path& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

std::string Commit() {
  if (const char* told = std::getenv("JITFUSE_COMMIT"); told != nullptr && *told != 0) return told;
  std::string line = FirstLine(Folder() / "../share/jitfuse/commit");
  if (!line.empty()) return line;
  std::string folder;
  for (char c : Folder().string()) folder += c == '\'' ? std::string("'\\''") : std::string(1, c);
  // Results and pages, which a benchmark writes, do not make the rest another commit.
  const std::string command = absl::StrCat(
      "cd '", folder, "' && commit=$(git rev-parse --short=12 HEAD 2>/dev/null) && { git diff ",
      "--quiet HEAD -- :/ ':(top,exclude)bench/results' ':(top,exclude)docs' ",
      "|| commit=$commit-dirty; echo $commit; }");
  std::FILE* git = popen(command.c_str(), "r");
  if (git == nullptr) return "unknown";
  char text[128] = "";
  if (std::fgets(text, sizeof text, git) != nullptr) line = text;
  pclose(git);
  while (!line.empty() && line.back() == '\n') line.pop_back();
  return line.empty() ? "unknown" : line;
}

}  // namespace

std::map<std::string, std::string> BuiltFrom() {
  using namespace jitfuse::internal;  // NOLINT: a benchmark of the inside
  std::map<std::string, std::string> out;
  out["commit"] = Commit();
#ifdef __clang__
  out["compiler"] = absl::StrCat("clang ", __clang_version__);
#else
  out["compiler"] = absl::StrCat("gcc ", __VERSION__);
#endif
  out["llvm"] = LlvmVersion();
  int driver = 0;
  if (auto api = LoadDriverApi(); api.ok() && (*api)->DriverGetVersion(&driver) == kCuSuccess)
    out["driver"] = absl::StrCat("CUDA ", driver / 1000, ".", driver % 1000 / 10);
  if (auto api = LoadNvrtcApi(driver / 1000); api.ok())
    out["nvrtc"] = absl::StrCat((*api)->major, ".", (*api)->minor);
  return out;
}

std::string DataDir() {
  if (const char* told = std::getenv("JITFUSE_TEST_DATA"); told != nullptr && *told != 0)
    return told;
  const fs::path folder = Folder();
  for (const fs::path& up : {folder / "../share/jitfuse", folder / "../../.."}) {
    std::error_code error;
    if (fs::is_directory(up / "bench/results", error)) return up.lexically_normal().string();
  }
  return "";
}

}  // namespace jitfuse_bench
