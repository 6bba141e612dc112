// libFuzzer target for graph text. Build with clang and -DJF_SANITIZE=address,undefined,fuzzer-no-link, target jf_fuzz_text; run
// bin/jf_fuzz_text CORPUS examples -dict=tests/fuzz/text.dict.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "tests/fuzz/text_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string problem = jitfuse::internal::CheckOneText({reinterpret_cast<const char*>(data), size});
  if (problem.empty()) return 0;
  std::fprintf(stderr, "%s\n", problem.c_str());
  std::abort();
}
