#include "jit/cuda/cublaslt_api.h"

#include <map>
#include <mutex>

#include "absl/strings/str_cat.h"
#include "ir/support/fork.h"
#include "ir/support/status.h"

namespace jitfuse::internal {
namespace {

const LibrarySpec& CublasLtSpec() {
  static const auto* const spec = new LibrarySpec{
      .what = "cuBLASLt (libcublasLt)",
      .env = "CUBLASLT_PATH",
      .stem = "libcublasLt.so",
      .majors = {13, 12},
      .pip = {"nvidia/cu13/lib", "nvidia/cublas/lib"},
      .remedy =
          "python3 -m venv VENV; VENV/bin/pip install nvidia-cublas (a driver older than 580: "
          "nvidia-cublas-cu12); then set VIRTUAL_ENV=VENV, or JITFUSE_CUBLASLT_PATH to the "
          "libcublasLt.so.13 in it",
  };
  return *spec;
}

absl::Status Fill(const Dynlib& library, CublasLtApi* api) {
#define JF_CUBLASLT(member, symbol, result, args)                          \
  api->member = reinterpret_cast<result(*) args>(library.Symbol(#symbol)); \
  if (api->member == nullptr) return NotFound("it has no " #symbol);
#include "jit/cuda/cublaslt_api.inc"
#undef JF_CUBLASLT
  api->path = library.path();
  // 130100 is 13.1.0; 12.x counts alike.
  const size_t v = api->GetVersion();
  api->version = absl::StrCat(v / 10000, ".", v / 100 % 100, ".", v % 100);
  if (v < 120400) return NotFound("version ", api->version, " is older than 12.4");
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<const CublasLtApi*> LoadCublasLtApi(int driver_major,
                                                   std::vector<std::string>* searched) {
  static auto* const loaded = new std::map<int, const CublasLtApi*>;  // by driver_major
  std::lock_guard<std::mutex> lock(LockOf(ForkLock::kLibraries));
  if (auto it = loaded->find(driver_major); it != loaded->end()) return it->second;
  CublasLtApi api;
  absl::StatusOr<Dynlib> library = OpenLibrary(
      CublasLtSpec(), driver_major, [&](const Dynlib& lib) { return Fill(lib, &api); }, searched);
  if (!library.ok()) return library.status();
  return (*loaded)[driver_major] = new CublasLtApi(api);
}

}  // namespace jitfuse::internal
