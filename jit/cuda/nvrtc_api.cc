#include "jit/cuda/nvrtc_api.h"

#include <dlfcn.h>

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
  static auto* const loaded = new std::map<int, const NvrtcApi*>;  // by driver_major
  std::lock_guard<std::mutex> lock(LockOf(ForkLock::kLibraries));
  if (auto it = loaded->find(driver_major); it != loaded->end()) return it->second;
  NvrtcApi api;
  absl::StatusOr<Dynlib> library = OpenLibrary(
      NvrtcSpec(), driver_major, [&](const Dynlib& lib) { return Fill(lib, &api); }, searched);
  if (!library.ok()) return library.status();
  OpenBuiltins(api);
  return (*loaded)[driver_major] = new NvrtcApi(api);
}

}  // namespace jitfuse::internal
