// libFuzzer target for manifests: any bytes as a file; what is read is written, and read as the
// same. Built as tests/fuzz/text_fuzz.cc is.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "jit/manifest.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace jitfuse::internal;  // NOLINT: two functions
  const auto manifest = ParseManifest({reinterpret_cast<const char*>(data), size}, "m.json");
  if (!manifest.ok()) {
    const std::string message(manifest.status().message());
    if (message.rfind("m.json: ", 0) != 0) std::abort();
    return 0;
  }
  const std::string written = ManifestToJson(*manifest);
  const auto again = ParseManifest(written, "again.json");
  if (!again.ok() || ManifestToJson(*again) != written) std::abort();
  return 0;
}
