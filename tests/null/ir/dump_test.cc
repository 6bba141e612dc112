// Files that dumps write, in folders where others may have written first.
#include "ir/support/dump.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "jit/cuda/disassemble.h"

namespace jitfuse::internal {
namespace {

using ::testing::HasSubstr;

std::string Read(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A folder that dumps go to, and what files in it will be called.
class DumpTest : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(dir_);
    std::filesystem::create_directories(dir_);
    setenv("JITFUSE_DUMP_DIR", dir_.c_str(), 1);
  }
  void TearDown() override {
    unsetenv("JITFUSE_DUMP_DIR");
    std::filesystem::remove_all(dir_);
  }
  // The path that the `later`-th dump from now gets if nothing is in the way.
  std::string Guess(int later, const std::string& stem, const std::string& extension) {
    const std::string now = WriteDump("now", "txt", "");
    const std::string start = absl::StrCat(dir_, "/jitfuse_", getpid(), "_");
    EXPECT_EQ(now.rfind(start, 0), 0u) << now;
    std::filesystem::remove(now);
    return absl::StrCat(start, std::atoi(now.c_str() + start.size()) + later, "_", stem, ".",
                        extension);
  }

  const std::string dir_ = absl::StrCat(testing::TempDir(), "jf_dump_test_", getpid());
};

TEST_F(DumpTest, NeverThroughALinkOrOverAFile) {
  const std::string victim = dir_ + "/victim";
  std::ofstream(victim) << "precious";
  // Asking for a guess takes a number too.
  std::filesystem::create_symlink(victim, Guess(4, "k", "cu"));
  std::filesystem::create_symlink(dir_ + "/nowhere", Guess(4, "k", "cu"));
  const std::string there = Guess(4, "k", "cu"), free = Guess(4, "k", "cu");
  std::ofstream(there) << "there";
  const std::string path = WriteDump("k", "cu", "text");
  EXPECT_EQ(path, free);
  EXPECT_EQ(Read(path), "text");
  EXPECT_EQ(Read(victim), "precious");
  EXPECT_EQ(Read(there), "there");
  EXPECT_FALSE(std::filesystem::exists(dir_ + "/nowhere"));
  struct stat s{};
  ASSERT_EQ(lstat(path.c_str(), &s), 0);
  EXPECT_TRUE(S_ISREG(s.st_mode));
  EXPECT_EQ(s.st_mode & 0777, 0600u);
}

TEST_F(DumpTest, NoFileIsAnEmptyPath) {
  setenv("JITFUSE_DUMP_DIR", (dir_ + "/missing").c_str(), 1);
  EXPECT_EQ(WriteDump("k", "cu", "text"), "");
}

// A stand-in for nvdisasm says what it was given; a link where a second file might have gone is not
// followed.
TEST_F(DumpTest, DisassemblyWritesNoSecondFile) {
  const std::string tool = dir_ + "/bin/nvdisasm", victim = dir_ + "/victim";
  std::filesystem::create_directories(dir_ + "/bin");
  std::ofstream(tool) << "#!/bin/sh\necho \"SASS of $(cat \"$1\")\"\n";
  std::filesystem::permissions(tool, std::filesystem::perms::owner_all);
  const std::string before = std::getenv("PATH");
  setenv("PATH", absl::StrCat(dir_, "/bin:", before).c_str(), 1);
  std::ofstream(victim) << "precious";
  std::filesystem::create_symlink(victim, Guess(1, "disassemble", "cubin.sass"));
  absl::StatusOr<std::string> sass = Disassemble("a cubin");
  std::ofstream(tool) << "#!/bin/sh\necho half of it\nexit 3\n";
  absl::StatusOr<std::string> failed = Disassemble("a cubin");
  setenv("PATH", before.c_str(), 1);
  ASSERT_TRUE(sass.ok()) << sass.status();
  EXPECT_EQ(*sass, "SASS of a cubin\n");
  EXPECT_EQ(Read(victim), "precious");
  EXPECT_THAT(std::string(failed.status().message()), HasSubstr("failed on the cubin"));
  for (const auto& entry : std::filesystem::directory_iterator(dir_))
    EXPECT_NE(entry.path().extension(), ".cubin") << "left behind: " << entry.path();
}

}  // namespace
}  // namespace jitfuse::internal
