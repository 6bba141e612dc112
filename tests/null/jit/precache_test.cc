// Layers that are written ahead of time: resumed, repaired, refused, indexed, compared.
#include "jit/precache.h"

#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/support/dump.h"
#include "ir/support/status.h"
#include "jit/tune_store.h"
#include "tests/test_util/cache_kit.h"

namespace jitfuse::internal {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class LayerTest : public testing::Test {
 protected:
  WantedKernel Want(const std::string& text, const std::string& entry) const {
    WantedKernel out{ToySource(text, entry), {}, &backend_};
    out.key = KeyOf(out.source, backend_.name());
    out.key.toolchain = ToolchainName(backend_.CompilerId());
    return out;
  }
  std::vector<WantedKernel> Some(int n) const {
    std::vector<WantedKernel> out;
    for (int i = 0; i < n; ++i)
      out.push_back(Want("body " + std::to_string(i), "k" + std::to_string(i)));
    return out;
  }
  absl::StatusOr<std::vector<LayerKernel>> Write(const std::vector<WantedKernel>& wanted) {
    LayerWriter layer;
    JF_RETURN_IF_ERROR(layer.Open(dir_));
    auto made = layer.Compile(wanted, nullptr, nullptr);
    if (!made.ok()) return made;
    JF_ASSIGN_OR_RETURN(deleted_, layer.Finish(nullptr, "1.2.3"));
    return made;
  }

  TempFolder folder_;
  std::string dir_ = folder_ / "layer";
  ToyBackend backend_;
  std::vector<std::string> deleted_;  // by the last Write
};

TEST_F(LayerTest, WhatIsThereIsNotCompiledAgain) {
  ASSERT_TRUE(Write(Some(3)).ok());
  EXPECT_EQ(backend_.compiles, 3);
  const auto made = Write(Some(5));
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(backend_.compiles, 5);
  ASSERT_EQ(made->size(), 5u);
  EXPECT_EQ((*made)[0].compile_ms, -1);
  EXPECT_EQ((*made)[4].compile_ms, 2.0);
  EXPECT_EQ((*made)[4].kernel, "k4");
  EXPECT_EQ(EntryFiles(dir_).size(), 5u);
}

TEST_F(LayerTest, AProcessFindsIt) {
  ASSERT_TRUE(Write(Some(2)).ok());
  DiskCacheOptions options;
  options.layers = {dir_};
  options.require = true;
  options.no_dir_reason = "an image that is read-only";
  std::string warned;  // nothing is to be written, so it does not matter
  SetLogSink([&](int, std::string_view message) { warned = std::string(message); });
  for (const WantedKernel& wanted : Some(2)) {
    const auto found = GetOnce(options, wanted.source, backend_);
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_EQ(found->origin, CodeOrigin::kLayer);
  }
  SetLogSink(nullptr);
  EXPECT_EQ(warned, "");
}

TEST_F(LayerTest, DamagedAndLeftOverFilesAreReplaced) {
  ASSERT_TRUE(Write(Some(2)).ok());
  const std::vector<std::string> files = EntryFiles(dir_);
  const std::string whole = ReadFile(files[0]), index = ReadFile(dir_ + "/index.json");
  WriteFile(files[0], whole.substr(1));
  WriteFile(files[0] + "-1-1.tmp", "half");
  WriteFile(dir_ + "/v" + std::to_string(kCacheFormat) + "/toy-1.0/" + std::string(32, '0'), "no");
  ASSERT_TRUE(Write(Some(2)).ok());
  EXPECT_EQ(ReadFile(files[0]), whole);
  EXPECT_EQ(ReadFile(dir_ + "/index.json"), index);
  EXPECT_EQ(EntryFiles(dir_), files);
  EXPECT_FALSE(std::filesystem::exists(files[0] + "-1-1.tmp"));
}

// Even where all that the process makes without modes of its own could be written by everyone.
TEST_F(LayerTest, AllMayReadItAndNobodyElseWriteIt) {
  const mode_t before = umask(0);
  const bool written = Write(Some(2)).ok();
  umask(before);
  ASSERT_TRUE(written);
  ASSERT_EQ(EntryFiles(dir_).size(), 2u);
  for (const auto& file : std::filesystem::recursive_directory_iterator(dir_)) {
    struct stat s{};
    ASSERT_EQ(stat(file.path().c_str(), &s), 0);
    EXPECT_EQ(s.st_mode & 0777, file.is_directory() ? 0755 : 0644) << file.path();
  }
}

// Whoever may read it has to come through the folders that were made for it.
TEST_F(LayerTest, FoldersAboveItMayBePassedAndNotWritten) {
  for (const mode_t mask : {0, 002, 022, 027, 077}) {
    const std::string top = "opt" + std::to_string(mask);
    dir_ = folder_ / (top + "/app/kernels");
    const mode_t before = umask(mask);
    const bool written = Write(Some(1)).ok();
    umask(before);
    ASSERT_TRUE(written);
    for (const std::string& above : {top, top + "/app", top + "/app/kernels"}) {
      struct stat s{};
      ASSERT_EQ(stat((folder_ / above).c_str(), &s), 0);
      EXPECT_EQ(s.st_mode & 0777, 0755) << above;
    }
  }
}

// Whoever could write to an entry may have put any code there: with another mode it would be run.
TEST_F(LayerTest, WhatOthersCouldWriteIsNotMadeTrusted) {
  ASSERT_TRUE(Write(Some(2)).ok());
  const std::string open = EntryPathOf(CacheRootOf(dir_), Some(2)[1].key);
  ASSERT_EQ(chmod(open.c_str(), 0666), 0);
  ASSERT_TRUE(Write(Some(1)).ok());  // which does not need it
  EXPECT_FALSE(std::filesystem::exists(open));
  EXPECT_THAT(deleted_, ElementsAre(open + ": everyone may write to it"));
  EXPECT_EQ(ReadFile(dir_ + "/index.json").find("\"k1\""), std::string::npos);
  ASSERT_TRUE(Write(Some(2)).ok());
  EXPECT_EQ(backend_.compiles, 3);
  EXPECT_THAT(GapsIn(dir_, Some(2)).missing, IsEmpty());
}

// Lookups take root's entries, in a layer of another user too.
TEST_F(LayerTest, WhatRootWroteIsKept) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, which gives the layer away";
  constexpr uid_t kOther = 65534;
  ASSERT_TRUE(Write(Some(1)).ok());
  const std::string file = EntryFiles(dir_).at(0);
  ASSERT_EQ(chmod(folder_.path.c_str(), 0755), 0);
  std::string folder = file.substr(0, file.rfind('/'));
  for (; folder.size() >= dir_.size(); folder.resize(folder.rfind('/')))
    ASSERT_EQ(chown(folder.c_str(), kOther, kOther), 0);
  ASSERT_EQ(seteuid(kOther), 0);
  const auto made = Write(Some(2));
  const size_t missing = GapsIn(dir_, Some(2)).missing.size();
  ASSERT_EQ(seteuid(0), 0);
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_THAT(deleted_, IsEmpty());
  EXPECT_EQ(missing, 0u);
  struct stat s{};
  ASSERT_EQ(stat(file.c_str(), &s), 0);
  EXPECT_EQ(s.st_uid, 0u);
}

// As `cache verify` has it; the index names what lookups find.
TEST_F(LayerTest, AnEntryUnderAnotherNameIsDeleted) {
  ASSERT_TRUE(Write(Some(1)).ok());
  const std::string file = EntryFiles(dir_).at(0), index = ReadFile(dir_ + "/index.json");
  const std::string wrong = file.substr(0, file.rfind('/') + 1) + std::string(32, 'b');
  WriteFile(wrong, ReadFile(file));
  ASSERT_EQ(chmod(wrong.c_str(), 0600), 0);
  ASSERT_TRUE(Write(Some(1)).ok());
  EXPECT_THAT(deleted_, ElementsAre(wrong + ": it is of another kernel than its name says"));
  EXPECT_EQ(EntryFiles(dir_), std::vector<std::string>{file});
  EXPECT_EQ(ReadFile(dir_ + "/index.json"), index);
}

// The index is of kernels, and its architectures are those that kernels can be compiled for.
TEST_F(LayerTest, TuningRecordsAreServedAndNotListed) {
  ASSERT_TRUE(Write(Some(1)).ok());
  const std::string index = ReadFile(dir_ + "/index.json");
  TuneRecord record;
  record.graph = record.call = std::string(32, '0');
  record.plans.resize(1);
  record.target = "cuda sm_90";
  record.library = "lt 1";
  {
    DiskCache as_own(In(dir_));
    KeepTuneRecord(&as_own, record, "f");
  }
  ASSERT_EQ(EntryFiles(dir_).size(), 2u);
  ASSERT_TRUE(Write(Some(1)).ok());
  EXPECT_EQ(ReadFile(dir_ + "/index.json"), index);
  DiskCacheOptions options;
  options.layers = {dir_};
  DiskCache disk(options);
  EXPECT_EQ(FindTuneRecords(&disk, record).records.size(), 1u);
}

TEST_F(LayerTest, FoldersThatAreNoLayersAreLeftAlone) {
  std::filesystem::create_directory(dir_);
  WriteFile(dir_ + "/1-1-1.tmp", "mine");
  EXPECT_THAT(std::string(Write(Some(1)).status().message()),
              HasSubstr("is not empty and is no layer"));
  EXPECT_EQ(ReadFile(dir_ + "/1-1-1.tmp"), "mine");
}

TEST_F(LayerTest, OneWriterAtATime) {
  LayerWriter first, second;
  ASSERT_TRUE(first.Open(dir_).ok());
  EXPECT_THAT(std::string(second.Open(dir_).message()),
              HasSubstr("another process is writing to " + dir_));
}

TEST_F(LayerTest, AnOpenFolderIsRefused) {
  std::filesystem::create_directory(dir_);
  ASSERT_EQ(chmod(dir_.c_str(), 0777), 0);
  EXPECT_THAT(std::string(Write(Some(1)).status().message()),
              HasSubstr("a layer there would not be used"));
}

TEST_F(LayerTest, FailuresAreNamedAndTheRestIsThere) {
  const ToyBackend none("");
  std::vector<WantedKernel> wanted = Some(6);
  for (size_t i = 1; i < 6; ++i) wanted[i].backend = &none;
  const auto made = Write(wanted);
  EXPECT_THAT(std::string(made.status().message()),
              testing::AllOf(HasSubstr("5 of 6 kernels could not be made: no compiler"),
                             HasSubstr("(the others are there)")));
  EXPECT_EQ(EntryFiles(dir_).size(), 1u);
}

TEST_F(LayerTest, TheIndexNamesCompilersAndKernels) {
  ASSERT_TRUE(Write(Some(1)).ok());
  const std::string index = ReadFile(dir_ + "/index.json");
  EXPECT_THAT(index, HasSubstr("\"jitfuse_layer\": 1"));
  EXPECT_THAT(index, HasSubstr("\"jitfuse\": \"1.2.3\""));
  EXPECT_THAT(index, HasSubstr("\"compiler\": \"toy-1.0\""));
  EXPECT_THAT(index, HasSubstr("\"kernel\": \"k0\""));
  EXPECT_EQ(index.find(dir_), std::string::npos);
  const auto archs = ArchsOfLayer(dir_);
  ASSERT_TRUE(archs.ok()) << archs.status();
  EXPECT_THAT(*archs, ElementsAre("toy_1"));
  WriteFile(dir_ + "/index.json", "[1");
  EXPECT_THAT(std::string(ArchsOfLayer(dir_).status().message()),
              HasSubstr("expected the index of a layer"));
}

TEST_F(LayerTest, WhatIsMissingIsFound) {
  ASSERT_TRUE(Write(Some(3)).ok());
  WriteFile(EntryFiles(dir_)[1], "damaged");
  std::vector<WantedKernel> wanted = Some(4);
  EXPECT_EQ(GapsIn(dir_, wanted).missing.size(), 2u);
  for (WantedKernel& w : wanted) w.key.toolchain.clear();  // by any compiler
  EXPECT_EQ(GapsIn(dir_, wanted).missing.size(), 2u);
  for (WantedKernel& w : wanted) w.key.toolchain = "toy-2.0";
  EXPECT_EQ(GapsIn(dir_, wanted).missing.size(), 4u);
  const LayerGaps nowhere = GapsIn(folder_ / "none", wanted);
  EXPECT_EQ(nowhere.missing.size(), 4u);
  EXPECT_EQ(nowhere.refused, "");
  EXPECT_THAT(nowhere.unused, IsEmpty());
}

TEST_F(LayerTest, WhatIsThereAndNotUsedIsMissingWithTheReason) {
  ASSERT_TRUE(Write(Some(3)).ok());
  const std::vector<WantedKernel> wanted = Some(3);
  const std::string root = CacheRootOf(dir_);
  const std::string open = EntryPathOf(root, wanted[0].key);
  const std::string damaged = EntryPathOf(root, wanted[1].key);
  const std::string other = EntryPathOf(root, wanted[2].key);
  ASSERT_EQ(chmod(open.c_str(), 0666), 0);
  WriteFile(damaged, ReadFile(damaged).substr(1));
  WriteFile(other, ReadFile(open));
  const LayerGaps gaps = GapsIn(dir_, wanted);
  EXPECT_EQ(gaps.missing.size(), 3u);
  EXPECT_EQ(gaps.refused, "");
  EXPECT_THAT(gaps.unused, ElementsAre(open + ": everyone may write to it",
                                       damaged + ": it does not begin as an entry does",
                                       other + ": it is of another kernel than its name says"));
  ASSERT_TRUE(Write(wanted).ok());  // which makes them anew
  EXPECT_THAT(GapsIn(dir_, wanted).missing, IsEmpty());
}

TEST_F(LayerTest, OfALayerThatIsRefusedAllIsMissing) {
  ASSERT_TRUE(Write(Some(2)).ok());
  const std::vector<WantedKernel> wanted = Some(2);
  ASSERT_THAT(GapsIn(dir_, wanted).missing, IsEmpty());
  ASSERT_EQ(chmod(dir_.c_str(), 0777), 0);
  const LayerGaps gaps = GapsIn(dir_, wanted);
  EXPECT_EQ(gaps.missing.size(), 2u);
  EXPECT_THAT(gaps.refused, HasSubstr(dir_ + ": everyone may write to it"));
}

}  // namespace
}  // namespace jitfuse::internal
