// Environment variables: values that are none of the accepted ones are errors or warned of, once.
#include "ir/support/flags.h"

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/support/dump.h"
#include "ir/support/status.h"

namespace jitfuse::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class FlagsTest : public ::testing::Test {
 protected:
  FlagsTest() {
    SetLogSink([this](int level, std::string_view message) {
      if (level == 0) warnings_.emplace_back(message);
    });
  }
  ~FlagsTest() override {
    SetLogSink(nullptr);
    for (const char* name : set_) unsetenv(name);
  }
  void Set(const char* name, const std::string& value) {
    setenv(name, value.c_str(), 1);
    set_.push_back(name);
  }
  std::string Refused(const char* name, const std::string& value) {
    Set(name, value);
    std::string message(CheckFlags().message());
    unsetenv(name);
    return message;
  }

  std::vector<std::string> warnings_;
  std::vector<const char*> set_;
};

// The test's process has not left the folder in which it began.
TEST_F(FlagsTest, PathsDoNotMoveWithTheProcess) {
  const std::filesystem::path start = std::filesystem::current_path();
  std::filesystem::current_path("/");
  Set("JITFUSE_RECORD", "a/m.json");
  Set("JITFUSE_CACHE_PATH", ":here:/there::../up");
  const std::string record = EnvPath("RECORD");
  const std::vector<std::string> layers = EnvPaths("CACHE_PATH");
  std::filesystem::current_path(start);
  EXPECT_EQ(record, (start / "a/m.json").string());
  EXPECT_THAT(layers, ElementsAre((start / "here").string(), "/there", (start / "../up").string()));
  Set("JITFUSE_RECORD", "");
  EXPECT_EQ(EnvPath("RECORD"), "");
}

TEST_F(FlagsTest, ValuesThatAreNotAcceptedAreErrors) {
  EXPECT_EQ(Refused("JITFUSE_VERIFY", "yes"), "JITFUSE_VERIFY=yes: expected 0, 1 or 2");
  EXPECT_EQ(Refused("JITFUSE_VERIFY", "3"), "JITFUSE_VERIFY=3: expected 0, 1 or 2");
  EXPECT_THAT(Refused("JITFUSE_MAX_FUSIONS", "many"), HasSubstr("expected a whole number"));
  EXPECT_THAT(Refused("JITFUSE_MAX_FUSIONS", "-2"), HasSubstr("or -1 for no limit"));
  EXPECT_THAT(Refused("JITFUSE_MAX_FUSIONS", "99999999999999999999"), HasSubstr("JITFUSE_MAX_F"));
  EXPECT_EQ(Refused("JITFUSE_DUMP", "graph,cudaa"),
            "JITFUSE_DUMP: unknown point 'cudaa'; expected all, or some of "
            "graph,expand,rewrite,groups,memory,plan,cuda,llvm,ptx,sass,cache separated by commas");
  for (const char* good : {"", "0", "1", "2"}) EXPECT_EQ(Refused("JITFUSE_VERIFY", good), "");
  for (const char* good : {"", "-1", "0", "17"})
    EXPECT_EQ(Refused("JITFUSE_MAX_FUSIONS", good), "");
  for (const char* good : {"", "all", "graph,sass"}) EXPECT_EQ(Refused("JITFUSE_DUMP", good), "");
}

TEST_F(FlagsTest, AnIntegerThatIsNoneIsWarnedOfOnce) {
  Set("JITFUSE_LOG", "12x");
  EXPECT_EQ(EnvInt("LOG", 7), 7);
  EXPECT_EQ(EnvInt("LOG", 7), 7);
  EXPECT_FALSE(LogEnabled(1));  // the log asks for it too
  EXPECT_THAT(warnings_,
              ElementsAre("JITFUSE_LOG=12x: expected a whole number from 0 on; the variable "
                          "counts as not set"));
  Set("JITFUSE_LOG", "-0");
  EXPECT_EQ(EnvInt("LOG", 7), 0);
  Set("JITFUSE_LOG", std::string(5000, '0') + "2");
  EXPECT_EQ(EnvInt("LOG", 7), 2);
  EXPECT_TRUE(LogEnabled(2));
}

// Each switch and number: what is out of its range is no more accepted than what is no number.
TEST_F(FlagsTest, WarningsNameWhatIsAccepted) {
  struct Case {
    const char *name, *wanted;
    std::vector<std::string> wrong;
  };
  for (const Case& c :
       {Case{"NVTX", "0 or 1", {"2", "-1", "yes", "1 ", "0x1", "+1", " 1", "-", "--1"}},
        Case{"NVRTC_NO_CACHE", "0 or 1", {"2", "anything"}},
        Case{"NO_CACHE", "0 or 1", {"2", "true"}}, Case{"REQUIRE_CACHE", "0 or 1", {"2", "on"}},
        Case{"VERIFY", "0, 1 or 2", {"3", "-1", "all"}},
        Case{"LOG", "a whole number from 0 on", {"-1", "2147483648", "info"}},
        Case{"NUM_THREADS", "a whole number from 1 on", {"0", "-2", "two", "1.5"}},
        Case{"MAX_FUSIONS",
             "a whole number of merges from 0 on, or -1 for no limit",
             {"-2", "x"}}}) {
    const std::string variable = std::string("JITFUSE_") + c.name;
    for (const std::string& wrong : c.wrong) {
      warnings_.clear();
      setenv(variable.c_str(), wrong.c_str(), 1);
      EXPECT_EQ(EnvInt(c.name, 77), 77);
      const std::string said = variable + "=" + wrong + ": expected " + c.wanted;
      EXPECT_THAT(warnings_, ElementsAre(said + "; the variable counts as not set"));
      EXPECT_EQ(ReadEnvInt(c.name, 77).status().message(), said);
    }
    warnings_.clear();
    setenv(variable.c_str(), "1", 1);
    EXPECT_EQ(EnvInt(c.name, 77), 1);
    setenv(variable.c_str(), "", 1);
    EXPECT_EQ(EnvInt(c.name, 77), 77);
    EXPECT_TRUE(warnings_.empty());
    unsetenv(variable.c_str());
  }
  Set("JITFUSE_CACHE_SIZE", "2X");
  EXPECT_EQ(EnvBytes("CACHE_SIZE", 5), 5);
  EXPECT_THAT(warnings_,
              ElementsAre("JITFUSE_CACHE_SIZE=2X: expected a number of bytes, as 500M or "
                          "2G; the variable counts as not set"));
}

TEST_F(FlagsTest, AFolderThatDoesNotExistIsWarnedOfOnce) {
  const std::string folder = ::testing::TempDir() + "no_such_folder";
  Set("JITFUSE_DUMP_DIR", folder);
  Set("JITFUSE_DUMP", "graph");
  Dump("graph", "one", "text");
  Dump("graph", "two", "text");
  EXPECT_THAT(warnings_, ElementsAre(HasSubstr("cannot write to " + folder)));
  ASSERT_FALSE(warnings_.empty());
  EXPECT_THAT(warnings_[0], HasSubstr("No such file or directory"));
}

}  // namespace
}  // namespace jitfuse::internal
