#include "jit/cuda/nvrtc_api.h"

#include <dlfcn.h>

#include <cstdlib>
#include <map>
#include <mutex>
#include <string>

#include "absl/strings/str_cat.h"
#include "ir/support/fork.h"
#include "ir/support/status.h"

namespace jitfuse::internal {
namespace {

const LibrarySpec& NvrtcSpec() {
  static const auto* const spec = new LibrarySpec{
      .what = "NVRTC (libnvrtc)",
      .env = "NVRTC_PATH",
      .stem = "libnvrtc.so",
      .majors = {13, 12},
      .pip = {"nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib"},
      .remedy =
          "python3 -m venv VENV; VENV/bin/pip install nvidia-cuda-nvrtc (a driver older than 580: "
          "nvidia-cuda-nvrtc-cu12); then set VIRTUAL_ENV=VENV, or JITFUSE_NVRTC_PATH to the "
          "libnvrtc.so.13 in it",
  };
  return *spec;
}

absl::Status Fill(const Dynlib& library, NvrtcApi* api) {
#define JF_NVRTC(member, symbol, result, args)                             \
  api->member = reinterpret_cast<result(*) args>(library.Symbol(#symbol)); \
  if (api->member == nullptr) return NotFound("it has no " #symbol);
#include "jit/cuda/nvrtc_api.inc"
#undef JF_NVRTC
  api->path = library.path();
  if (api->Version(&api->major, &api->minor) != kNvrtcSuccess)
    return InternalError("nvrtcVersion failed");
  if (api->major < 12 || (api->major == 12 && api->minor < 4)) {
    return NotFound("version ", api->major, ".", api->minor, " is older than 12.4");
  }
  return absl::OkStatus();
}

using ByDriver = std::map<int, const NvrtcApi*>;

// Guarded by LockOf(ForkLock::kLibraries).
ByDriver& Loaded() {
  static auto* const loaded = new ByDriver;
  return *loaded;
}

// NVRTC opens a second library by its bare name when it compiles; that of some of pip's packages is
// not told to look beside itself. What is open already is found by name.
void OpenBuiltins(const NvrtcApi& api) {
  const std::size_t slash = api.path.rfind('/');
  if (slash == std::string::npos) return;
  const std::string path = absl::StrCat(api.path.substr(0, slash + 1), "libnvrtc-builtins.so.",
                                        api.major, ".", api.minor);
  dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);  // if it is not there, NVRTC says so
}

}  // namespace

absl::StatusOr<const NvrtcApi*> LoadNvrtcApi(int driver_major, std::vector<std::string>* searched) {
  std::lock_guard<std::mutex> lock(LockOf(ForkLock::kLibraries));
  if (auto it = Loaded().find(driver_major); it != Loaded().end()) return it->second;
  NvrtcApi api;
  absl::StatusOr<Dynlib> library = OpenLibrary(
      NvrtcSpec(), driver_major, [&](const Dynlib& lib) { return Fill(lib, &api); }, searched);
  if (!library.ok()) return library.status();
  OpenBuiltins(api);
  return Loaded()[driver_major] = new NvrtcApi(api);
}

const NvrtcApi* OpenNvrtcApi(int driver_major) {
  std::lock_guard<std::mutex> lock(LockOf(ForkLock::kLibraries));
  const auto it = Loaded().find(driver_major);
  return it == Loaded().end() ? nullptr : it->second;
}

std::string NvrtcClue(int driver_major) {
  std::string clue = absl::StrCat("nvrtc for driver ", driver_major);
  for (const char* name :
       {"JITFUSE_NVRTC_PATH", "VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONPATH", "LD_LIBRARY_PATH"}) {
    const char* value = std::getenv(name);
    absl::StrAppend(&clue, " ", value == nullptr ? "" : value);
  }
  return clue;
}

int NvrtcsOpened() {
  std::lock_guard<std::mutex> lock(LockOf(ForkLock::kLibraries));
  return static_cast<int>(Loaded().size());
}

}  // namespace jitfuse::internal
