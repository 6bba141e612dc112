// What NVRTC remarks of kernels: of ours nothing, but that some spill a little.
#ifndef JITFUSE_TESTS_TEST_UTIL_COMPILER_REMARKS_H_
#define JITFUSE_TESTS_TEST_UTIL_COMPILER_REMARKS_H_

#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"

namespace jitfuse::internal {

// How many kernels of the log spill. Fails where one spills more than `most_bytes`, and at any
// other remark. `what`: for the message.
inline int SpillsIn(const std::string& log, const std::string& what = "", int most_bytes = 128) {
  int spills = 0;
  for (const std::string& line :
       std::vector<std::string>(absl::StrSplit(log, '\n', absl::SkipEmpty()))) {
    const size_t at = line.find("', ");
    const bool is_spill =
        absl::StrContains(line, "Registers are spilled to local memory in function") &&
        at != std::string::npos;
    EXPECT_TRUE(is_spill && std::atoi(line.c_str() + at + 3) <= most_bytes) << line << what;
    ++spills;
  }
  return spills;
}

}  // namespace jitfuse::internal

#endif  // JITFUSE_TESTS_TEST_UTIL_COMPILER_REMARKS_H_
