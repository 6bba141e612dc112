#include "jit/cuda/driver_api.h"

#include <mutex>

#include "absl/strings/str_cat.h"
#include "ir/support/fork.h"
#include "ir/support/status.h"

namespace jitfuse::internal {
namespace {

const LibrarySpec& DriverSpec() {
  static const auto* const spec = new LibrarySpec{
      .what = "the CUDA driver (libcuda.so.1)",
      .env = "CUDA_PATH",
      .stem = "libcuda.so",
      .majors = {1},
      .pip = {},
      .remedy =
          "install NVIDIA's driver (Debian: apt install nvidia-driver libcuda1); in a container, "
          "run it with --gpus all",
  };
  return *spec;
}

absl::Status Fill(const Dynlib& library, DriverApi* api) {
#define JF_DRIVER(member, symbol, args)                                      \
  api->member = reinterpret_cast<CuResult(*) args>(library.Symbol(#symbol)); \
  if (api->member == nullptr)                                                \
    return NotFound("it has no " #symbol ": the driver is too old (11.2 or later is needed)");
#define JF_DRIVER_OPTIONAL(member, symbol, args) \
  api->member = reinterpret_cast<CuResult(*) args>(library.Symbol(#symbol));
#include "jit/cuda/driver_api.inc"
#undef JF_DRIVER
  api->path = library.path();
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<const DriverApi*> LoadDriverApi(std::vector<std::string>* searched) {
  static const DriverApi* loaded = nullptr;
  std::lock_guard<std::mutex> lock(LockOf(ForkLock::kLibraries));
  if (loaded != nullptr) return loaded;
  DriverApi api;
  absl::StatusOr<Dynlib> library =
      OpenLibrary(DriverSpec(), 0, [&](const Dynlib& lib) { return Fill(lib, &api); }, searched);
  if (!library.ok()) return library.status();
  loaded = new DriverApi(api);
  return loaded;
}

absl::Status DriverStatus(const DriverApi& api, CuResult result, std::string_view call,
                          std::string_view about) {
  if (result == kCuSuccess) return absl::OkStatus();
  const char* name = nullptr;
  const char* text = nullptr;
  api.GetErrorName(result, &name);
  api.GetErrorString(result, &text);
  const std::string message = absl::StrCat(
      ToAbsl(call), about.empty() ? "" : " (", ToAbsl(about), about.empty() ? "" : ")", " failed: ",
      name == nullptr ? absl::StrCat("CUDA error ", static_cast<int>(result)) : std::string(name),
      text == nullptr ? "" : ": ", text == nullptr ? "" : text);
  return result == kCuErrorOutOfMemory ? absl::ResourceExhaustedError(message)
                                       : absl::InternalError(message);
}

}  // namespace jitfuse::internal
