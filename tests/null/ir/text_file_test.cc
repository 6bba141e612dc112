// Files that a user names: what can be read is, what cannot is said, and nothing waits or throws.
#include "ir/support/text_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/test_util/cache_kit.h"

namespace jitfuse::internal {
namespace {

std::string ErrorOf(const std::string& path, size_t max_bytes = kMaxTextFile) {
  return std::string(ReadTextFile(path, max_bytes).status().message());
}

TEST(TextFileTest, AllOfAFileIsRead) {
  const TempFolder folder;
  const std::string text = std::string(200000, 'x') + std::string("\0y", 2);
  WriteFile(folder / "f", text);
  const auto read = ReadTextFile(folder / "f");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, text);
  EXPECT_TRUE(ReadTextFile(folder / "f", text.size()).ok());
  EXPECT_EQ(ErrorOf(folder / "f", text.size() - 1),
            "cannot read " + (folder / "f") + ": it has more than 200001 bytes");
}

TEST(TextFileTest, WhatIsNoFileIsSaid) {
  const TempFolder folder;
  EXPECT_EQ(ErrorOf(folder / "none"),
            "cannot read " + (folder / "none") + ": No such file or directory");
  EXPECT_EQ(ErrorOf(folder.path), "cannot read " + folder.path + ": it is a directory");
  EXPECT_EQ(ErrorOf("/dev/zero"), "cannot read /dev/zero: it is no file");
  WriteFile(folder / "f", "other");
  EXPECT_EQ(ErrorOf((folder / "f") + std::string("\0g", 2)),
            "cannot read a file: its name has a NUL");
}

TEST(TextFileTest, PipesAreReadWhereSomebodyWrites) {
  const TempFolder folder;
  const std::string path = folder / "pipe";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  const auto nobody = ReadTextFile(path);
  ASSERT_TRUE(nobody.ok()) << nobody.status();
  EXPECT_EQ(*nobody, "");
  const int end = open(path.c_str(), O_RDWR | O_CLOEXEC);  // waits for no reader
  ASSERT_GE(end, 0);
  const std::string text(200000, 'x');  // more than a pipe holds
  std::thread writer([&] {
    size_t sent = 0;
    while (sent < text.size()) {
      const ssize_t n = write(end, text.data() + sent, text.size() - sent);
      if (n <= 0) break;
      sent += static_cast<size_t>(n);
    }
    close(end);
  });
  const auto read = ReadTextFile(path);
  writer.join();
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, text);
}

}  // namespace
}  // namespace jitfuse::internal
