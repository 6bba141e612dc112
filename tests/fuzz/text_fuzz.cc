// libFuzzer target for graph text. Build with clang: -DJF_FUZZ=ON
// -DJF_SANITIZE=address,undefined,fuzzer-no-link, target text_fuzz; run bin/text_fuzz CORPUS
// examples -dict=tests/fuzz/text.dict -max_len=4096.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "tests/fuzz/text_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string problem =
      jitfuse::internal::CheckOneText({reinterpret_cast<const char*>(data), size});
  if (problem.empty()) return 0;
  std::fprintf(stderr, "%s\n", problem.c_str());
  std::abort();
}
