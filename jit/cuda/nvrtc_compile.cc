#include "jit/cuda/nvrtc_compile.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "codegen/cuda/emit_cuda.h"
#include "ir/support/dump.h"
#include "ir/support/flags.h"
#include "ir/support/status.h"
#include "jit/cuda/cubin_info.h"
#include "jit/cuda/line_info.h"

namespace jitfuse::internal {
namespace {

constexpr std::string_view kNoCache = "--no-cache";

// From 12.9 on, with that option.
bool HasCache(const NvrtcApi& nvrtc) {
  return nvrtc.major > 12 || (nvrtc.major == 12 && nvrtc.minor >= 9);
}

class Program {
 public:
  explicit Program(const NvrtcApi& nvrtc) : nvrtc_(nvrtc) {}
  ~Program() {
    if (program_ != nullptr) nvrtc_.DestroyProgram(&program_);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  NvrtcProgram* out() { return &program_; }
  NvrtcProgram get() const { return program_; }

 private:
  const NvrtcApi& nvrtc_;
  NvrtcProgram program_ = nullptr;
};

absl::Status NvrtcError(const NvrtcApi& nvrtc, NvrtcResult result, std::string_view call) {
  if (result == kNvrtcSuccess) return absl::OkStatus();
  return InternalError(ToAbsl(call), " failed: ", nvrtc.GetErrorString(result));
}

std::string LogOf(const NvrtcApi& nvrtc, NvrtcProgram program) {
  size_t size = 0;
  if (nvrtc.GetProgramLogSize(program, &size) != kNvrtcSuccess || size <= 1) return "";
  std::string log(size, '\0');
  if (nvrtc.GetProgramLog(program, log.data()) != kNvrtcSuccess) return "";
  while (!log.empty() && log.back() == '\0') log.pop_back();  // closing zeros
  return log;
}

struct Artifact {
  NvrtcResult (*size)(NvrtcProgram, size_t*);
  NvrtcResult (*get)(NvrtcProgram, char*);
  std::string_view call;
};

absl::StatusOr<CompiledKernel> Compile(const NvrtcApi& nvrtc, const KernelSource& source,
                                       const std::vector<std::string>& options,
                                       const Artifact& artifact) {
  if (source.lang != SourceLang::kCuda)
    return InternalError("CompileCuda(", source.entry, "): not a CUDA source");
  JF_RETURN_IF_ERROR(CheckNvrtcArch(nvrtc, source.arch));
  const auto start = std::chrono::steady_clock::now();
  Program program(nvrtc);
  const std::string name = SourceNameOf(source);
  JF_RETURN_IF_ERROR(NvrtcError(
      nvrtc,
      nvrtc.CreateProgram(program.out(), source.text.c_str(), name.c_str(), 0, nullptr, nullptr),
      "nvrtcCreateProgram"));
  std::vector<const char*> pointers;
  for (const std::string& o : options) pointers.push_back(o.c_str());
  const NvrtcResult result =
      nvrtc.CompileProgram(program.get(), static_cast<int>(pointers.size()), pointers.data());
  CompiledKernel out;
  out.log = LogOf(nvrtc, program.get());
  if (result != kNvrtcSuccess) {
    const std::string path = WriteDump(source.entry, "cu", source.text);
    return InternalError("NVRTC ", nvrtc.major, ".", nvrtc.minor, " could not compile ",
                         source.entry, " for ", source.arch, " (", nvrtc.GetErrorString(result),
                         "); source: ", path.empty() ? "(no file could be written)" : path,
                         "; options: ", absl::StrJoin(options, " "), "; log:\n", out.log);
  }
  size_t size = 0;
  JF_RETURN_IF_ERROR(NvrtcError(nvrtc, artifact.size(program.get(), &size), artifact.call));
  out.bytes.resize(size);
  JF_RETURN_IF_ERROR(
      NvrtcError(nvrtc, artifact.get(program.get(), out.bytes.data()), artifact.call));
  out.compile_ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  return out;
}

}  // namespace

absl::Status CheckNvrtcArch(const NvrtcApi& nvrtc, const std::string& arch) {
  int count = 0;
  JF_RETURN_IF_ERROR(
      NvrtcError(nvrtc, nvrtc.GetNumSupportedArchs(&count), "nvrtcGetNumSupportedArchs"));
  std::vector<int> archs(static_cast<size_t>(std::max(count, 1)));
  JF_RETURN_IF_ERROR(
      NvrtcError(nvrtc, nvrtc.GetSupportedArchs(archs.data()), "nvrtcGetSupportedArchs"));
  std::vector<std::string> names;
  for (int a : archs) names.push_back(absl::StrCat("sm_", a));
  if (std::find(names.begin(), names.end(), arch) != names.end()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("NVRTC ", nvrtc.major, ".", nvrtc.minor, " (", nvrtc.path,
                   ") does not compile for ", arch, "; it knows ", absl::StrJoin(names, ", "),
                   ". A newer one does: pip install -U nvidia-cuda-nvrtc"));
}

// What NVRTC takes from a cache of its own, which it has where there is a driver, comes without
// remarks: whether a kernel with local memory spills is then not known, and it is compiled again.
absl::StatusOr<CompiledKernel> CompileCuda(const NvrtcApi& nvrtc, const KernelSource& source) {
  const Artifact cubin = {nvrtc.GetCUBINSize, nvrtc.GetCUBIN, "nvrtcGetCUBIN"};
  std::vector<std::string> options = NvrtcOptions(nvrtc, source);
  JF_ASSIGN_OR_RETURN(CompiledKernel compiled, Compile(nvrtc, source, options, cubin));
  const bool maybe_cached = HasCache(nvrtc) && options.back() != kNoCache;
  if (!maybe_cached || !HasUnsaidLocalMemory(compiled, source.entry)) return compiled;
  options.emplace_back(kNoCache);
  absl::StatusOr<CompiledKernel> anew = Compile(nvrtc, source, options, cubin);
  if (!anew.ok()) return compiled;
  anew->compile_ms += compiled.compile_ms;
  return anew;
}

absl::StatusOr<std::string> CompileCudaToPtx(const NvrtcApi& nvrtc, const KernelSource& source) {
  JF_ASSIGN_OR_RETURN(CompiledKernel compiled,
                      Compile(nvrtc, source, NvrtcOptions(nvrtc, source),
                              {nvrtc.GetPTXSize, nvrtc.GetPTX, "nvrtcGetPTX"}));
  while (!compiled.bytes.empty() && compiled.bytes.back() == '\0') compiled.bytes.pop_back();
  return std::move(compiled.bytes);
}

// Cached code depends on these: a change raises kCacheFormat (jit/cache_entry.h).
std::vector<std::string> NvrtcOptions(const NvrtcApi& nvrtc, const KernelSource& source) {
  const bool since_12_9 = HasCache(nvrtc);  // which knows kQuickOption, too
  std::vector<std::string> options;
  for (const std::string& o : source.options) {
    if (IsSourceName(o) || (!since_12_9 && ToAbsl(kQuickOption) == o)) continue;
    options.push_back(o);
  }
  options.push_back(absl::StrCat("--gpu-architecture=", source.arch));
  options.push_back("--std=c++17");
  options.push_back("--minimal");  // leaves out textures and run-time calls: a fifth of a small
                                   // kernel's compile time
  options.push_back("--diag-suppress=177");  // "declared but never referenced"
  options.emplace_back(kWarnOfSpills);
  if (since_12_9 && EnvInt("NVRTC_NO_CACHE", 0) != 0) options.emplace_back(kNoCache);
  return options;
}

std::string NvrtcId(const NvrtcApi& nvrtc) {
  return absl::StrCat("nvrtc ", nvrtc.major, ".", nvrtc.minor);
}

}  // namespace jitfuse::internal
