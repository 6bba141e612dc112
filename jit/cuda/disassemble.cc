#include "jit/cuda/disassemble.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "ir/support/dump.h"
#include "ir/support/status.h"

namespace jitfuse::internal {
namespace {

// As one word of the shell's.
std::string Quoted(const std::string& path) {
  return absl::StrCat("'", absl::StrReplaceAll(path, {{"'", "'\\''"}}), "'");
}

}  // namespace

absl::StatusOr<std::string> Disassemble(const std::string& cubin) {
  std::string path = WriteDump("disassemble", "cubin", cubin);
  if (path.empty()) {
    return absl::UnavailableError("the cubin could not be written to a temporary file");
  }
  std::string out_path = absl::StrCat(path, ".sass");
  std::string command =
      absl::StrCat("nvdisasm ", Quoted(path), " > ", Quoted(out_path), " 2> /dev/null");
  int code = std::system(command.c_str());
  std::ifstream file(out_path);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  file.close();
  std::remove(path.c_str());
  std::remove(out_path.c_str());
  if (code == 0) return text;
  return NotFound(
      "SASS needs nvdisasm on PATH (pip's nvidia-cuda-nvdisasm or the CUDA toolkit); it was not "
      "found "
      "or failed");
}

}  // namespace jitfuse::internal
