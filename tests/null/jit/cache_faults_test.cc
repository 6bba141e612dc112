// The disk cache under what machines do to it: writers that are killed, disks that are full or
// become read-only. No wrong code, no failed call. (Damaged entries, folders without rights and
// files of others: disk_cache_test.cc.)
#include <sys/mount.h>

#include <csignal>
#include <ctime>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/test_util/cache_kit.h"

namespace jitfuse::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int kKernels = 40;

KernelSource Numbered(int i) {  // of some kilobytes that do not compress, so that writes take time
  std::mt19937 own(static_cast<unsigned>(i));
  std::string text;
  for (int n = 0; n < 8000; ++n) text.push_back(static_cast<char>('a' + own() % 26));
  return ToySource(text);
}

// Whether kernel i is what its source says, wherever it came from.
bool IsRight(DiskCache* disk, int i) {
  const ToyBackend backend;
  const KernelSource source = Numbered(i);
  const auto kernel = KernelCache(disk).Get(source, backend);
  if (!kernel.ok()) return false;
  const DiskCache::Lookup found = disk->Find(source, backend);
  return !found.found || found.found->compiled.bytes == "code of " + CanonicalSource(source);
}

std::vector<std::string> Temporaries(const std::string& folder) {
  std::vector<std::string> out;
  for (const auto& file : std::filesystem::recursive_directory_iterator(folder)) {
    if (IsTemporary(file.path().string())) out.push_back(file.path().string());
  }
  return out;
}

// What a writer does until it is killed.
[[noreturn]] void WriteForEver(const DiskCacheOptions& options, unsigned seed) {
  alarm(120);
  std::mt19937 random(seed);
  while (true) {
    DiskCache disk(options);
    const int i = static_cast<int>(random() % kKernels);
    // Now and then an entry goes, so that there is something to write.
    if (random() % 4 == 0) {
      const std::vector<std::string> files = EntryFiles(options.dir);
      if (!files.empty()) unlink(files[random() % files.size()].c_str());
    }
    if (!IsRight(&disk, i)) _exit(1);
  }
}

// A hundred processes, a few at a time, each killed at a moment of its own, while this one reads.
TEST(CacheFaults, WritersThatAreKilledLeaveWholeEntriesOrNone) {
  constexpr int kProcesses = 100, kAtOnce = 5;
  const TempFolder folder;
  DiskCacheOptions options = In(folder.path);
  options.max_bytes = 200 * 1000;  // some sweep
  std::mt19937 random(11);
  std::vector<pid_t> alive;
  int started = 0, killed = 0;
  while (started < kProcesses || !alive.empty()) {
    while (started < kProcesses && alive.size() < kAtOnce) {
      const pid_t child = fork();
      if (child == 0) WriteForEver(options, static_cast<unsigned>(started));
      alive.push_back(child);
      ++started;
    }
    const timespec moment = {0, static_cast<int64_t>(random() % 4000000)};
    nanosleep(&moment, nullptr);
    DiskCache disk(options);
    EXPECT_TRUE(IsRight(&disk, static_cast<int>(random() % kKernels)));
    const size_t victim = random() % alive.size();
    kill(alive[victim], SIGKILL);
    int status = 0;
    EXPECT_EQ(waitpid(alive[victim], &status, 0), alive[victim]);
    killed += WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL ? 1 : 0;
    alive.erase(alive.begin() + static_cast<std::ptrdiff_t>(victim));
  }
  EXPECT_EQ(killed, kProcesses);  // none had found a wrong kernel
  for (const std::string& file : EntryFiles(folder.path))
    EXPECT_TRUE(DecodeEntry(ReadFile(file)).ok()) << file;
  options.max_bytes = int64_t{1} << 30;
  DiskCache disk(options);
  for (int i = 0; i < kKernels; ++i) EXPECT_TRUE(IsRight(&disk, i)) << i;
  EXPECT_EQ(EntryFiles(folder.path).size(), static_cast<size_t>(kKernels));
  // What the killed left behind goes when it is an hour old.
  for (const std::string& file : Temporaries(folder.path)) {
    const timespec then = {std::time(nullptr) - 7200, 0};
    const timespec times[2] = {then, then};
    ASSERT_EQ(utimensat(AT_FDCWD, file.c_str(), times, 0), 0);
  }
  for (const DiskCache::Root& root : disk.roots()) SweepCache(root.path, int64_t{1} << 30);
  EXPECT_THAT(Temporaries(folder.path), IsEmpty());
  EXPECT_EQ(EntryFiles(folder.path).size(), static_cast<size_t>(kKernels));
}

// A file system of its own, so that it can be filled; only root may make one.
class SmallDisk {
 public:
  explicit SmallDisk(const char* size)
      : mounted_(mount("jitfuse", folder_.path.c_str(), "tmpfs", MS_NOSUID,
                       absl::StrCat("mode=700,size=", size).c_str()) == 0) {}
  ~SmallDisk() {
    if (mounted_) umount(folder_.path.c_str());
  }
  bool mounted() const { return mounted_; }
  bool MakeReadOnly() const {
    return mount("jitfuse", folder_.path.c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr) == 0;
  }
  const std::string& path() const { return folder_.path; }

 private:
  const TempFolder folder_;
  const bool mounted_;
};

TEST(CacheFaults, OnAFullDiskKernelsAreCompiled) {
  const SmallDisk small("64k");
  if (!small.mounted()) GTEST_SKIP() << "no file system can be mounted here";
  {
    Warnings warnings;
    DiskCache disk(In(small.path()));
    for (int i = 0; i < kKernels; ++i) EXPECT_TRUE(IsRight(&disk, i)) << i;
    EXPECT_THAT(warnings.said, ElementsAre(HasSubstr("No space left on device")));
  }
  const std::vector<std::string> files = EntryFiles(small.path());
  EXPECT_FALSE(files.empty());
  EXPECT_LT(files.size(), static_cast<size_t>(kKernels));
  for (const std::string& file : files) EXPECT_TRUE(DecodeEntry(ReadFile(file)).ok()) << file;
  EXPECT_THAT(Temporaries(small.path()), IsEmpty());
  // Once there is room again, the next process keeps them.
  for (const std::string& file : files) unlink(file.c_str());
  DiskCache disk(In(small.path()));
  EXPECT_TRUE(IsRight(&disk, 0));
  EXPECT_EQ(EntryFiles(small.path()).size(), 1u);
}

TEST(CacheFaults, AReadOnlyDiskServesAndIsWarnedOfOnce) {
  const SmallDisk small("1m");
  if (!small.mounted()) GTEST_SKIP() << "no file system can be mounted here";
  {
    DiskCache disk(In(small.path()));
    EXPECT_TRUE(IsRight(&disk, 0));
  }
  ASSERT_TRUE(small.MakeReadOnly());
  Warnings warnings;
  const ToyBackend backend;
  const auto found = GetOnce(In(small.path()), Numbered(0), backend);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->origin, CodeOrigin::kDisk);
  EXPECT_THAT(warnings.said, IsEmpty());
  DiskCache disk(In(small.path()));
  for (int i = 1; i < 4; ++i) EXPECT_TRUE(IsRight(&disk, i)) << i;
  EXPECT_THAT(warnings.said, ElementsAre(HasSubstr("Read-only file system")));
}

}  // namespace
}  // namespace jitfuse::internal
