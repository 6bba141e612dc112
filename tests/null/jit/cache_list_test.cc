// What `jitfuse cache` says of entries, and of files that are no entries.
#include "jit/cache_list.h"

#include <sys/stat.h>

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/test_util/cache_kit.h"

namespace jitfuse::internal {
namespace {

using testing::HasSubstr;

TEST(CacheListTest, ListsTellWhatIsDamagedFromWhatIsRefused) {
  const TempFolder folder;
  const ToyBackend backend;
  for (const char* text : {"1", "2", "3"})
    ASSERT_TRUE(GetOnce(In(folder.path), ToySource(text), backend).ok());
  const std::vector<std::string> files = EntryFiles(folder.path);
  WriteFile(files[0], "damaged");
  ASSERT_EQ(chmod(files[1].c_str(), 0666), 0);
  const std::string root = CacheRootOf(folder.path);
  const std::vector<ListedEntry> listed = ListEntries(root, Trust::kLayer);
  ASSERT_EQ(listed.size(), 3u);
  EXPECT_EQ(listed[0].damage, "it is shorter than an entry's head");
  EXPECT_FALSE(listed[0].refused);
  EXPECT_EQ(listed[1].damage, "everyone may write to it");
  EXPECT_TRUE(listed[1].refused);
  EXPECT_EQ(listed[2].damage, "");
  EXPECT_FALSE(listed[2].refused);
  EXPECT_EQ(PruneEntries(root, 1 << 20).damaged, 2);
  EXPECT_EQ(EntryFiles(folder.path), std::vector<std::string>{files[2]});
}

TEST(CacheFilesTest, LinksAreRefusedByName) {
  const TempFolder folder;
  WriteFile(folder / "real", "x");
  std::filesystem::create_symlink("real", folder / "link");
  EXPECT_EQ(ReadCacheFile(folder / "link", Trust::kOwn).status(),
            absl::PermissionDeniedError((folder / "link") +
                                        " is a symbolic link; expected the file itself"));
  std::filesystem::create_symlink("round", folder / "round");  // a folder that no path leads to
  EXPECT_THAT(ReadCacheFile(folder / "round/x", Trust::kOwn).status().message(),
              HasSubstr("cannot read " + (folder / "round/x")));
}

}  // namespace
}  // namespace jitfuse::internal
