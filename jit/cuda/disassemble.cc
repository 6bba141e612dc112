#include "jit/cuda/disassemble.h"

#include <glob.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "ir/support/dump.h"
#include "ir/support/status.h"

namespace jitfuse::internal {
namespace {

// As one word of the shell's.
std::string Quoted(const std::string& path) {
  return absl::StrCat("'", absl::StrReplaceAll(path, {{"'", "'\\''"}}), "'");
}

}  // namespace

absl::StatusOr<std::string> FindNvdisasm() {
  const char* path = std::getenv("PATH");
  std::vector<std::string> folders = absl::StrSplit(path == nullptr ? "" : path, ':');
  glob_t found{};
  if (glob("/usr/local/cuda*/bin", 0, nullptr, &found) == 0)
    folders.insert(folders.end(), found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
  for (const std::string& folder : folders) {
    std::string file = absl::StrCat(folder, "/nvdisasm");
    if (!folder.empty() && access(file.c_str(), X_OK) == 0) return file;
  }
  return NotFound(
      "nvdisasm was not found; searched: PATH; /usr/local/cuda*/bin. To get it (explain --stage "
      "sass alone needs it): the CUDA toolkit, or python3 -m venv VENV; VENV/bin/pip install "
      "nvidia-cuda-nvdisasm; then put its folder on PATH");
}

std::string NvdisasmVersion(const std::string& path) {
  std::string text(4096, '\0');
  FILE* pipe = popen(absl::StrCat(Quoted(path), " --version 2> /dev/null").c_str(), "r");
  if (pipe == nullptr) return "unknown";
  text.resize(std::fread(text.data(), 1, text.size(), pipe));
  pclose(pipe);
  const std::string mark = "release ";
  const size_t at = text.find(mark);
  if (at == std::string::npos) return "unknown";
  return text.substr(at + mark.size(),
                     text.find_first_of(", \n", at + mark.size()) - at - mark.size());
}

absl::StatusOr<std::string> Disassemble(const std::string& cubin) {
  JF_ASSIGN_OR_RETURN(const std::string program, FindNvdisasm());
  std::string path = WriteDump("disassemble", "cubin", cubin);
  if (path.empty()) {
    return absl::UnavailableError("the cubin could not be written to a temporary file");
  }
  // Its output comes through a pipe: a second file's name could be guessed.
  std::string text;
  FILE* pipe =
      popen(absl::StrCat(Quoted(program), " ", Quoted(path), " 2> /dev/null").c_str(), "re");
  char buffer[4096];
  for (size_t n = 0; pipe != nullptr && (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;)
    text.append(buffer, n);
  const bool done = pipe != nullptr && pclose(pipe) == 0;
  std::remove(path.c_str());
  if (done) return text;
  return absl::UnavailableError(
      absl::StrCat(program, " failed on the cubin: is it as new as the NVRTC that compiled it?"));
}

}  // namespace jitfuse::internal
