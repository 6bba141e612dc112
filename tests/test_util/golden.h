// Golden files: what a test made, compared with what is stored under tests/golden.
//
// In: a name below tests/golden ("plan/softmax.txt") and the text. Out: a test failure that shows
// the first line that differs. JITFUSE_UPDATE_GOLDEN=1 writes the file instead; JITFUSE_TEST_DATA
// is the source tree's place where it is not the one built from.
#ifndef JITFUSE_TESTS_TEST_UTIL_GOLDEN_H_
#define JITFUSE_TESTS_TEST_UTIL_GOLDEN_H_

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "codegen/plan/kernel_source.h"
#include "gtest/gtest.h"

namespace jitfuse::internal {

const char* SourceDir();  // the repository's root; tests/support/source_dir.cc

inline std::string TestDataPath(const std::string& below_source) {
  const char* root = std::getenv("JITFUSE_TEST_DATA");
  return std::string(root != nullptr ? root : SourceDir()) + "/" + below_source;
}

// An emitted source without the prelude, which would repeat itself in every golden.
inline std::string WithoutPrelude(const KernelSource& source) {
  const size_t blank = source.text.find("\n\n");
  return source.text.substr(0, blank + 1) +
         source.text.substr(source.text.find("\n\n", blank + 2) + 1);
}

inline void ExpectGolden(const std::string& name, const std::string& text) {
  const std::string path = TestDataPath("tests/golden/" + name);
  const char* update = std::getenv("JITFUSE_UPDATE_GOLDEN");
  if (update != nullptr && std::string(update) == "1") {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path) << text;
    return;
  }
  std::ifstream in(path);
  ASSERT_TRUE(in.good()) << "no golden file " << path
                         << "; JITFUSE_UPDATE_GOLDEN=1 (./dev golden --update) writes it";
  std::stringstream stored;
  stored << in.rdbuf();
  if (stored.str() == text) return;
  std::istringstream was(stored.str()), now(text);
  std::string a, b;
  int line = 0;
  do {
    ++line;
    a = b = "<end>";
    std::getline(was, a);
    std::getline(now, b);
  } while (a == b && (was.good() || now.good()));
  FAIL() << path << " differs from line " << line << " on\n  stored: " << a << "\n  now:    " << b
         << "\n(./dev golden --update renews the files; look at the diff)\n\n"
         << text;
}

}  // namespace jitfuse::internal

#endif  // JITFUSE_TESTS_TEST_UTIL_GOLDEN_H_
