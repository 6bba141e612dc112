// libFuzzer target for files of the disk cache: any bytes as a file, and as the body of one whose
// frame is right. Built as tests/fuzz/text_fuzz.cc is.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "jit/cache_entry.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace jitfuse::internal;  // NOLINT: two functions
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  (void)DecodeEntry(bytes).ok();
  const std::string framed = FrameEntry(bytes);
  const auto entry = DecodeEntry(framed);
  if (entry.ok() && EncodeEntry(*entry) != framed) std::abort();
  return 0;
}
