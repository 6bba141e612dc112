// The disk cache: what one process compiles others find; damage, foreign files and folders that
// cannot be used cost a compilation, never a call.
#include "jit/disk_cache.h"

#include <fcntl.h>
#include <grp.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <random>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/test_util/cache_kit.h"

namespace jitfuse::internal {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

// For threads: remembers nothing of what it loads.
class LoadsAll : public ToyBackend {
  absl::StatusOr<std::shared_ptr<const Kernel>> Load(const KernelSource&,
                                                     const CompiledKernel&) const override {
    return std::shared_ptr<const Kernel>(std::make_shared<Kernel>());
  }
};

CodeOrigin OriginOf(const absl::StatusOr<CachedKernel>& kernel) {
  EXPECT_TRUE(kernel.ok()) << kernel.status();
  return kernel.ok() ? kernel->origin : CodeOrigin::kMemory;
}

bool Compiles(const DiskCacheOptions& options, const ToyBackend& backend) {
  const auto kernel = GetOnce(options, ToySource("1"), backend);
  return kernel.ok() && kernel->origin == CodeOrigin::kCompiled;
}

void Age(const std::string& path, int64_t seconds) {
  const timespec then = {std::time(nullptr) - seconds, 0};
  const timespec times[2] = {then, then};
  ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
}

TEST(DiskCacheTest, WhatOneProcessCompilesAnotherFinds) {
  const TempFolder folder;
  const DiskCacheOptions options = In(folder / "made/on/the/way");
  ToyBackend first, second;
  const auto compiled = GetOnce(options, ToySource("1", "f"), first);
  EXPECT_EQ(OriginOf(compiled), CodeOrigin::kCompiled);
  EXPECT_EQ(compiled->times.compile_ms, 2.0);
  DiskCache disk(options);
  KernelCache kernels(&disk);
  // A function of another name shares the code, which keeps the name it was made under.
  EXPECT_EQ(OriginOf(kernels.Get(ToySource("1", "g"), second)), CodeOrigin::kDisk);
  EXPECT_EQ(second.symbol, "f");
  EXPECT_EQ(OriginOf(kernels.Get(ToySource("1", "g"), second)), CodeOrigin::kMemory);
  EXPECT_EQ(OriginOf(kernels.Get(ToySource("2", "g"), second)), CodeOrigin::kCompiled);
  EXPECT_EQ(second.symbol, "g");
  EXPECT_EQ(second.compiles, 1);
  struct stat s{};
  ASSERT_EQ(stat(options.dir.c_str(), &s), 0);
  EXPECT_EQ(s.st_mode & 0777, 0700u);
  const std::vector<std::string> files = EntryFiles(options.dir);
  ASSERT_THAT(files, SizeIs(2));
  for (const std::string& file : files) {
    EXPECT_THAT(file, HasSubstr(absl::StrCat("/v", kCacheFormat, "/toy-1.0/")));
    ASSERT_EQ(stat(file.c_str(), &s), 0);
    EXPECT_EQ(s.st_mode & 0777, 0600u);
  }
}

TEST(DiskCacheTest, CodeOfAnotherCompilerOrArchitectureIsNotTaken) {
  const TempFolder folder;
  ToyBackend old("toy 1.0"), newer("toy 1.1");
  EXPECT_TRUE(Compiles(In(folder.path), old));
  EXPECT_TRUE(Compiles(In(folder.path), newer));
  KernelSource other = ToySource("1");
  other.arch = "toy_2";
  EXPECT_EQ(OriginOf(GetOnce(In(folder.path), other, newer)), CodeOrigin::kCompiled);
  other.options = {"-x"};
  EXPECT_EQ(OriginOf(GetOnce(In(folder.path), other, newer)), CodeOrigin::kCompiled);
  EXPECT_FALSE(Compiles(In(folder.path), old));
  EXPECT_THAT(EntryFiles(folder.path), SizeIs(4));
}

TEST(DiskCacheTest, ADamagedEntryIsDeletedCompiledAndCounted) {
  const TempFolder folder;
  ToyBackend backend;
  EXPECT_TRUE(Compiles(In(folder.path), backend));
  const std::string file = EntryFiles(folder.path).at(0), good = ReadFile(file);
  std::string flipped = good, format = good;
  flipped[good.size() / 2] ^= 1;
  format[8] ^= 2;
  CacheEntry entry = *DecodeEntry(good);
  entry.key.arch = "toy_9";  // a file that was renamed
  for (const std::string& bad : {std::string(), good.substr(0, 20), good.substr(0, good.size() - 1),
                                 flipped, format, good + "x", EncodeEntry(entry)}) {
    WriteFile(file, bad);
    const auto kernel = GetOnce(In(folder.path), ToySource("1"), backend);
    EXPECT_EQ(OriginOf(kernel), CodeOrigin::kCompiled);
    EXPECT_TRUE(kernel->healed);
    EXPECT_EQ(ReadFile(file), good);
    const auto again = GetOnce(In(folder.path), ToySource("1"), backend);
    EXPECT_EQ(OriginOf(again), CodeOrigin::kDisk);
    EXPECT_FALSE(again->healed);
  }
}

// Entries that were cut or had a byte changed: none is taken for code, all are deleted.
void DamageEntries(int times) {
  const TempFolder folder;
  ToyBackend backend;
  EXPECT_TRUE(Compiles(In(folder.path), backend));
  const std::string file = EntryFiles(folder.path).at(0), good = ReadFile(file);
  std::mt19937 random(3);
  DiskCache disk(In(folder.path));
  for (int i = 0; i < times; ++i) {
    std::string bad = good;
    if (i % 2 == 0) {
      bad.resize(random() % good.size());
    } else {
      bad[random() % bad.size()] ^= static_cast<char>(1 + random() % 255);
    }
    WriteFile(file, bad);
    DiskCache::Lookup lookup = disk.Find(ToySource("1"), backend);
    ASSERT_TRUE(!lookup.found && lookup.healed) << i;
    ASSERT_FALSE(std::filesystem::exists(file));
  }
}
TEST(DiskCacheTest, DamagesNeverReachADevice) { DamageEntries(10000); }
TEST(DiskCacheTest, DISABLED_AHundredThousandDamagesNeverReachADevice) { DamageEntries(100000); }

// What a compiler makes now says whose fault it is that code cannot be loaded.
TEST(DiskCacheTest, CodeThatCannotBeLoadedIsMadeAnewIfThatHelps) {
  const TempFolder folder;
  ToyBackend stale, backend;
  stale.code = stale.loads = "stale code of ";
  EXPECT_TRUE(Compiles(In(folder.path), stale));
  const auto kernel = GetOnce(In(folder.path), ToySource("1"), backend);
  EXPECT_EQ(OriginOf(kernel), CodeOrigin::kCompiled);
  EXPECT_TRUE(kernel->healed);
  EXPECT_EQ(OriginOf(GetOnce(In(folder.path), ToySource("1"), backend)), CodeOrigin::kDisk);
  backend.loads = "nothing";
  EXPECT_THAT(GetOnce(In(folder.path), ToySource("1"), backend).status().message(),
              HasSubstr("the device says no"));
  EXPECT_THAT(EntryFiles(folder.path), SizeIs(1));
}

TEST(DiskCacheTest, LayersAreSearchedFirstAndNeverWritten) {
  const TempFolder a, b, own;
  ToyBackend old("toy 0.9"), backend, none("");
  EXPECT_EQ(OriginOf(GetOnce(In(b.path), ToySource("1"), old)), CodeOrigin::kCompiled);
  DiskCacheOptions options = In(own.path);
  options.layers = {a.path, b.path};
  EXPECT_EQ(OriginOf(GetOnce(options, ToySource("1"), backend)), CodeOrigin::kLayer);
  EXPECT_EQ(OriginOf(GetOnce(options, ToySource("1"), none)), CodeOrigin::kLayer);
  EXPECT_EQ(backend.compiles + none.compiles, 0);
  EXPECT_EQ(OriginOf(GetOnce(options, ToySource("2"), backend)), CodeOrigin::kCompiled);
  EXPECT_EQ(OriginOf(GetOnce(options, ToySource("2"), backend)), CodeOrigin::kDisk);
  EXPECT_THAT(EntryFiles(a.path), IsEmpty());
  const std::string entry = EntryFiles(b.path).at(0);
  WriteFile(entry, "damaged");
  const auto healed = GetOnce(options, ToySource("1"), backend);
  EXPECT_EQ(OriginOf(healed), CodeOrigin::kCompiled);
  EXPECT_TRUE(healed->healed);
  EXPECT_EQ(ReadFile(entry), "damaged");
}

TEST(DiskCacheTest, ALayerThatOthersMayWriteToIsRefusedWithTheReason) {
  const TempFolder layer, own;
  ToyBackend backend;
  EXPECT_TRUE(Compiles(In(layer.path), backend));
  DiskCacheOptions options = In(own.path);
  options.layers = {layer.path, layer / "none"};
  options.require = true;
  const std::string file = EntryFiles(layer.path).at(0);
  const auto error_with = [&](const std::string& path, mode_t mode) {
    const mode_t before = std::filesystem::is_directory(path) ? 0700 : 0600;
    EXPECT_EQ(chmod(path.c_str(), mode), 0);
    Warnings warnings;
    const auto kernel = GetOnce(options, ToySource("1"), backend);
    EXPECT_EQ(chmod(path.c_str(), before), 0);
    return kernel.ok() ? std::string(CodeOriginName(kernel->origin))
                       : std::string(kernel.status().message());
  };
  EXPECT_EQ(error_with(layer.path, 0755), "layer");
  EXPECT_THAT(error_with(layer.path, 0777),
              AllOf(HasSubstr(layer.path + ": everyone may write to it"),
                    HasSubstr("none: No such file or directory")));
  EXPECT_THAT(error_with(layer.path, 01777), HasSubstr("everyone may write to it"));
  EXPECT_EQ(error_with(file, 0644), "layer");
  EXPECT_THAT(error_with(file, 0666), HasSubstr("is not in the cache"));
  if (geteuid() != 0) return;
  EXPECT_EQ(error_with(layer.path, 0775), "layer");  // root's own group
  ASSERT_EQ(chown(layer.path.c_str(), 0, 12345), 0);
  EXPECT_THAT(error_with(layer.path, 0775), HasSubstr("group 12345 may write to it"));
  ASSERT_EQ(chown(layer.path.c_str(), 12345, 0), 0);
  EXPECT_THAT(error_with(layer.path, 0755), HasSubstr("belongs to user 12345"));
}

TEST(DiskCacheTest, InASharedFolderEveryUserHasAPrivateOne) {
  const TempFolder folder;
  const std::string mine = folder / absl::StrCat("jitfuse-", geteuid());
  ASSERT_EQ(chmod(folder.path.c_str(), 01777), 0);
  ToyBackend backend;
  EXPECT_TRUE(Compiles(In(folder.path), backend));
  EXPECT_FALSE(Compiles(In(folder.path), backend));
  struct stat s{};
  ASSERT_EQ(stat(mine.c_str(), &s), 0);
  EXPECT_EQ(s.st_mode & 0777, 0700u);
  EXPECT_EQ(EntryFiles(folder.path), EntryFiles(mine));
  // Neither a link nor a folder that others may enter is ours.
  ASSERT_EQ(chmod(mine.c_str(), 0755), 0);
  {
    Warnings warnings;
    EXPECT_TRUE(Compiles(In(folder.path), backend));
    EXPECT_THAT(warnings.said, ElementsAre(HasSubstr("expected user")));
  }
  std::filesystem::remove_all(mine);
  const TempFolder elsewhere;
  std::filesystem::create_directory_symlink(elsewhere.path, mine);
  Warnings warnings;
  EXPECT_TRUE(Compiles(In(folder.path), backend));
  EXPECT_THAT(EntryFiles(elsewhere.path), IsEmpty());
  EXPECT_THAT(warnings.said, ElementsAre(HasSubstr("is no folder")));
}

TEST(DiskCacheTest, FoldersThatCannotBeUsedAreWarnedOfOnce) {
  const TempFolder folder;
  WriteFile(folder / "file", "");
  DiskCacheOptions homeless;
  homeless.no_dir_reason = "HOME is not set";
  for (const DiskCacheOptions& options :
       {In(folder / "file"), In(folder / "file/below"), homeless}) {
    ToyBackend backend;
    Warnings warnings;
    DiskCache disk(options);
    KernelCache kernels(&disk);
    for (const char* text : {"1", "2", "1"})
      EXPECT_TRUE(kernels.Get(ToySource(text), backend).ok());
    EXPECT_EQ(backend.compiles, 2);
    EXPECT_THAT(warnings.said, ElementsAre(AllOf(HasSubstr("the cache cannot be used"),
                                                 HasSubstr("JITFUSE_CACHE_DIR"))));
  }
}

// A user that the system does not know, without rights to anything.
TEST(DiskCacheTest, WithoutRightsKernelsAreCompiled) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to become another user";
  const TempFolder folder, full;
  ASSERT_EQ(chmod(folder.path.c_str(), 0755), 0);
  ToyBackend backend;
  EXPECT_TRUE(Compiles(In(folder / "layer"), backend));
  const auto as_another = [&](const std::function<bool()>& work) {
    return InChild([&] {
      return setgroups(0, nullptr) == 0 && setresgid(54321, 54321, 54321) == 0 &&
             setresuid(54321, 54321, 54321) == 0 && work();
    });
  };
  const auto warns_once = [&](const DiskCacheOptions& options) {
    Warnings warnings;
    DiskCache disk(options);
    KernelCache kernels(&disk);
    const bool ok =
        kernels.Get(ToySource("1"), backend).ok() && kernels.Get(ToySource("2"), backend).ok();
    return ok && warnings.said.size() == 1;
  };
  EXPECT_TRUE(as_another([&] { return warns_once(In(folder / "new")); }));
  EXPECT_TRUE(as_another([&] { return warns_once(In(folder.path)); }));
  EXPECT_TRUE(as_another([&] {
    unsetenv("HOME");
    unsetenv("XDG_CACHE_HOME");
    unsetenv("JITFUSE_NO_CACHE");
    return warns_once(DiskCacheOptionsFromEnv());
  }));
  // Root's layer serves them, once they may read it.
  DiskCacheOptions options;
  options.no_dir_reason = "none";
  options.layers = {folder / "layer"};
  for (const auto& file : std::filesystem::recursive_directory_iterator(folder.path))
    std::filesystem::permissions(file.path(),
                                 std::filesystem::perms(file.is_directory() ? 0755 : 0644));
  std::filesystem::permissions(folder / "layer", std::filesystem::perms(0755));
  EXPECT_TRUE(as_another([&] {
    Warnings quiet;
    return !Compiles(options, backend);
  }));
  ASSERT_EQ(chmod(full.path.c_str(), 0777), 0);
  EXPECT_TRUE(as_another([&] { return Compiles(In(full.path), backend); }));
  EXPECT_THAT(EntryFiles(full / "jitfuse-54321"), SizeIs(1));
}

// As on a full disk: nothing more can be written.
TEST(DiskCacheTest, WhatCannotBeWrittenIsWarnedOfOnce) {
  const TempFolder folder;
  EXPECT_TRUE(InChild([&] {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit none = {0, 0};
    Warnings warnings;
    ToyBackend backend;
    DiskCache disk(In(folder.path));
    KernelCache kernels(&disk);
    return setrlimit(RLIMIT_FSIZE, &none) == 0 && kernels.Get(ToySource("1"), backend).ok() &&
           kernels.Get(ToySource("2"), backend).ok() && warnings.said.size() == 1 &&
           absl::StrContains(warnings.said[0], "File too large");
  }));
  for (const auto& file : std::filesystem::recursive_directory_iterator(folder.path))
    EXPECT_TRUE(file.is_directory()) << file.path();
}

TEST(DiskCacheTest, ARequiredKernelThatIsMissingIsAnErrorThatNamesTheNearestEntry) {
  const TempFolder folder;
  ToyBackend backend, newer("toy 2.0");
  DiskCacheOptions options = In(folder.path);
  options.require = true;
  EXPECT_THAT(GetOnce(options, ToySource("1"), backend).status().message(),
              AllOf(HasSubstr("kernel kernel for toy_1 is not in the cache, and "
                              "JITFUSE_REQUIRE_CACHE is set"),
                    HasSubstr("(0 entries)")));
  EXPECT_TRUE(Compiles(In(folder.path), backend));
  EXPECT_EQ(OriginOf(GetOnce(options, ToySource("1"), backend)), CodeOrigin::kDisk);
  const auto nearest = [&](const KernelSource& source, const Backend& b) {
    return std::string(GetOnce(options, source, b).status().message());
  };
  const std::string file = EntryFiles(folder.path).at(0);
  EXPECT_THAT(nearest(ToySource("1"), newer),
              HasSubstr(absl::StrCat("; the nearest entry is ", file,
                                     ": compiler is 'toy-1.0' there, 'toy-2.0' here")));
  KernelSource arch = ToySource("1");
  arch.arch = "toy_2";
  EXPECT_THAT(nearest(arch, backend),
              HasSubstr(file + ": architecture is 'toy_1' there, 'toy_2' here"));
  arch.arch = "toy_1";
  arch.options = {"-x"};
  EXPECT_THAT(nearest(arch, backend), HasSubstr(file + ": options is '' there, '-x' here"));
  EXPECT_THAT(nearest(ToySource("2"), backend), HasSubstr(file + ": source is another"));
  options.enabled = false;
  EXPECT_THAT(nearest(ToySource("1"), backend), HasSubstr("JITFUSE_NO_CACHE is set"));
  EXPECT_EQ(backend.compiles + newer.compiles, 1);
}

TEST(DiskCacheTest, TheCompilerIsRememberedAndNotOpenedForAHit) {
  const TempFolder folder;
  WriteFile(folder / "compiler", "1");
  const auto backend = [&](const char* id) {
    auto made = std::make_unique<ToyBackend>(id);
    made->lazy = true;
    made->file = folder / "compiler";
    return made;
  };
  const auto first = backend("toy 1.0"), second = backend("toy 1.0"), updated = backend("toy 1.1"),
             last = backend("toy 1.1");
  EXPECT_TRUE(Compiles(In(folder / "cache"), *first));
  EXPECT_GT(first->opened, 0);
  EXPECT_FALSE(Compiles(In(folder / "cache"), *second));
  EXPECT_EQ(second->opened, 0);
  WriteFile(folder / "compiler", "another");
  EXPECT_TRUE(Compiles(In(folder / "cache"), *updated));
  EXPECT_FALSE(Compiles(In(folder / "cache"), *last));
  EXPECT_EQ(last->opened, 0);
  // Where there is no compiler any more, what it made still serves.
  std::filesystem::remove(folder / "compiler");
  const auto none = backend("");
  EXPECT_FALSE(Compiles(In(folder / "cache"), *none));
  EXPECT_EQ(none->compiles, 0);
}

TEST(DiskCacheTest, TheEntriesUsedLongestAgoMakeRoom) {
  const TempFolder folder;
  ToyBackend backend;
  const auto source = [](int i) {  // random, so that entries do not compress
    std::mt19937 own(static_cast<unsigned>(i));
    std::string text;
    for (int n = 0; n < 4000; ++n) text.push_back(static_cast<char>('a' + own() % 26));
    return ToySource(text);
  };
  DiskCacheOptions options = In(folder.path);
  std::vector<std::string> file;
  for (int i = 0; i < 8; ++i) {
    const std::vector<std::string> before = EntryFiles(folder.path);
    EXPECT_EQ(OriginOf(GetOnce(options, source(i), backend)), CodeOrigin::kCompiled);
    for (const std::string& f : EntryFiles(folder.path)) {
      if (std::find(before.begin(), before.end(), f) == before.end()) file.push_back(f);
    }
    Age(file.at(static_cast<size_t>(i)), 100000 - 1000 * i);
  }
  WriteFile(folder / absl::StrCat("v", kCacheFormat, "/toy-1.0/left.tmp"), "x");
  Age(folder / absl::StrCat("v", kCacheFormat, "/toy-1.0/left.tmp"), 7200);
  EXPECT_EQ(OriginOf(GetOnce(options, source(0), backend)), CodeOrigin::kDisk);  // used just now
  const auto size = static_cast<int64_t>(std::filesystem::file_size(file[0]));
  options.max_bytes = 6 * size;
  EXPECT_EQ(OriginOf(GetOnce(options, source(8), backend)), CodeOrigin::kCompiled);
  EXPECT_TRUE(std::filesystem::exists(file[0]));
  for (size_t i = 1; i <= 4; ++i) EXPECT_FALSE(std::filesystem::exists(file[i])) << i;
  for (size_t i = 5; i < 8; ++i) EXPECT_TRUE(std::filesystem::exists(file[i])) << i;
  EXPECT_FALSE(
      std::filesystem::exists(folder / absl::StrCat("v", kCacheFormat, "/toy-1.0/left.tmp")));
  options.max_bytes = 100;  // less than one entry: nothing is kept, nothing is swept
  EXPECT_EQ(OriginOf(GetOnce(options, source(9), backend)), CodeOrigin::kCompiled);
  EXPECT_TRUE(std::filesystem::exists(file[0]));
}

TEST(DiskCacheTest, ProcessesThatWriteTheSameEntriesLeaveThemWhole) {
  const TempFolder folder;
  constexpr int kProcesses = 4, kKernels = 24;
  std::vector<pid_t> children;
  for (int p = 0; p < kProcesses; ++p) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(120);
      ToyBackend backend;
      bool ok = true;
      for (int i = 0; i < kKernels; ++i) {
        DiskCache disk(In(folder.path));
        for (int round = 0; round < 2; ++round) {
          // One process damages what it finds, now and then.
          const std::vector<std::string> files = EntryFiles(folder.path);
          if (p == 0 && i % 8 == 7 && !files.empty()) WriteFile(files[0], "damage");
          ok = ok && KernelCache(&disk).Get(ToySource(absl::StrCat(i)), backend).ok();
        }
      }
      _exit(ok ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  // Whatever was damaged last is healed by one more round.
  ToyBackend backend;
  for (int i = 0; i < kKernels; ++i)
    EXPECT_TRUE(GetOnce(In(folder.path), ToySource(absl::StrCat(i)), backend).ok());
  const std::vector<std::string> files = EntryFiles(folder.path);
  EXPECT_THAT(files, SizeIs(kKernels));
  for (const std::string& file : files) EXPECT_TRUE(DecodeEntry(ReadFile(file)).ok()) << file;
  for (const auto& file : std::filesystem::recursive_directory_iterator(folder.path))
    EXPECT_FALSE(absl::EndsWith(file.path().string(), ".tmp")) << file.path();
}

TEST(DiskCacheConcurrencyTest, ThreadsShareOne) {
  const TempFolder folder;
  DiskCacheOptions options = In(folder.path);
  options.max_bytes = 4096;  // so that some sweep while others read
  for (int round = 0; round < 3; ++round) {
    LoadsAll quiet;
    DiskCache disk(options);
    std::vector<std::unique_ptr<KernelCache>> caches;
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t) caches.push_back(std::make_unique<KernelCache>(&disk));
    for (size_t t = 0; t < 8; ++t) {
      threads.emplace_back([&, t] {
        for (size_t i = 0; i < 20; ++i)
          EXPECT_TRUE(caches[t]->Get(ToySource(absl::StrCat((i * 7 + t) % 20)), quiet).ok());
      });
    }
    for (std::thread& t : threads) t.join();
  }
}

// The child of a process whose threads are at the cache can use it.
TEST(DiskCacheForkTest, TheChildGoesOn) {
  const TempFolder folder;
  LoadsAll quiet;
  DiskCache disk(In(folder.path));
  KernelCache kernels(&disk);
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; !done; ++i)
        EXPECT_TRUE(kernels.Get(ToySource(absl::StrCat(t, " ", i)), quiet).ok());
    });
  }
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(InChild([&] {
      const auto made = kernels.Get(ToySource(absl::StrCat("child ", i)), quiet);
      DiskCache fresh(In(folder.path));
      const auto found = KernelCache(&fresh).Get(ToySource(absl::StrCat("child ", i)), quiet);
      return made.ok() && found.ok() && found->origin == CodeOrigin::kDisk;
    }));
  }
  done = true;
  for (std::thread& t : threads) t.join();
}

// Of a writer that was ended.
TEST(DiskCacheTest, ATemporaryFileIsNotTheNearestEntry) {
  const TempFolder folder;
  const ToyBackend backend;
  DiskCacheOptions options = In(folder.path);
  EXPECT_TRUE(Compiles(options, backend));
  const std::string file = EntryFiles(folder.path).at(0);
  std::filesystem::rename(file, file.substr(0, file.rfind('/')) + "/1-2-abc.tmp");
  options.require = true;
  const std::string missing(GetOnce(options, ToySource("1"), backend).status().message());
  EXPECT_THAT(missing, HasSubstr("(0 entries)"));
  EXPECT_THAT(missing, Not(HasSubstr("nearest entry")));
}

TEST(DiskCacheTest, TheEnvironmentSaysWhere) {
  const auto options = [](std::vector<std::pair<const char*, const char*>> set) {
    const char* names[] = {"JITFUSE_CACHE_DIR",
                           "JITFUSE_CACHE_PATH",
                           "JITFUSE_CACHE_SIZE",
                           "JITFUSE_NO_CACHE",
                           "JITFUSE_REQUIRE_CACHE",
                           "XDG_CACHE_HOME",
                           "HOME"};
    std::vector<std::pair<std::string, std::string>> before;
    for (const char* name : names) {
      if (const char* value = std::getenv(name)) before.emplace_back(name, value);
      unsetenv(name);
    }
    for (const auto& [name, value] : set) setenv(name, value, 1);
    const DiskCacheOptions out = DiskCacheOptionsFromEnv();
    for (const char* name : names) unsetenv(name);
    for (const auto& [name, value] : before) setenv(name.c_str(), value.c_str(), 1);
    return out;
  };
  EXPECT_EQ(options({{"HOME", "/h"}}).dir, "/h/.cache/jitfuse");
  EXPECT_EQ(options({{"HOME", "/h"}, {"XDG_CACHE_HOME", "/x"}}).dir, "/x/jitfuse");
  EXPECT_EQ(options({{"HOME", "/h"}, {"XDG_CACHE_HOME", "relative"}}).dir, "/h/.cache/jitfuse");
  EXPECT_EQ(options({{"JITFUSE_CACHE_DIR", "/c"}, {"XDG_CACHE_HOME", "/x"}}).dir, "/c");
  EXPECT_EQ(options({{"JITFUSE_CACHE_DIR", "here"}}).dir,
            (std::filesystem::current_path() / "here").string());
  EXPECT_THAT(options({{"JITFUSE_CACHE_PATH", "/a::/b:"}}).layers, ElementsAre("/a", "/b"));
  EXPECT_EQ(options({}).max_bytes, int64_t{1} << 30);
  EXPECT_EQ(options({{"JITFUSE_CACHE_SIZE", "3M"}}).max_bytes, 3 << 20);
  EXPECT_TRUE(options({}).enabled);
  EXPECT_FALSE(options({{"JITFUSE_NO_CACHE", "1"}}).enabled);
  EXPECT_TRUE(options({{"JITFUSE_REQUIRE_CACHE", "1"}}).require);
}

}  // namespace
}  // namespace jitfuse::internal
