// Traces as files: whole after every write, whoever ends how.
#include "ir/support/trace.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ir/support/dump.h"

namespace jitfuse::internal {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class TraceTest : public testing::Test {
 protected:
  TraceTest() {
    std::string name = testing::TempDir() + "jf_trace_XXXXXX";
    folder_ = mkdtemp(name.data());
    path_ = folder_ + "/t.json";
  }
  ~TraceTest() override {
    (void)StopTrace();
    std::filesystem::remove_all(folder_);
  }
  // The events that are no metadata. Fails unless the file is JSON.
  static std::vector<json> Events(const std::string& path) {
    std::ifstream file(path);
    const std::string text(std::istreambuf_iterator<char>(file), {});
    const json all = json::parse(text, nullptr, /*allow_exceptions=*/false);
    EXPECT_TRUE(all.is_array()) << path << ": " << text;
    std::vector<json> out;
    for (const json& e : all) {
      if (e["ph"] != "M") out.push_back(e);
    }
    return out;
  }
  static int WaitFor(pid_t child) {
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return status;
  }

  std::string folder_, path_;
};

TEST_F(TraceTest, SpansWithTheirTimesThreadAndWords) {
  ASSERT_TRUE(StartTrace(path_).ok());
  EXPECT_TRUE(Tracing());
  const double before = TraceNow();
  double ms = 0;
  {
    TraceSpan outer("compile", "outer \"quoted\" \\ \n \xff");
    outer.Add("kernel", "k\"1");
    TimedSpan inner("launch", "inner", &ms);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  TraceOnDevice("GPU 0", "k", before, before + 5);
  TraceOnDevice("GPU 0", "l", before + 5, before + 6);
  ASSERT_TRUE(StopTrace().ok());
  EXPECT_FALSE(Tracing());
  const std::vector<json> events = Events(path_);
  ASSERT_EQ(events.size(), 4u);
  const json &inner = events[0], &outer = events[1], &device = events[2];
  EXPECT_EQ(inner["name"], "inner");
  EXPECT_EQ(inner["cat"], "launch");
  EXPECT_EQ(outer["name"], "outer \"quoted\" \\ \n ?");
  EXPECT_EQ(outer["args"]["kernel"], "k\"1");
  EXPECT_EQ(outer["pid"], getpid());
  EXPECT_EQ(outer["tid"], inner["tid"]);
  EXPECT_GE(outer["ts"], before - 0.001);
  EXPECT_GE(inner["ts"], outer["ts"]);
  EXPECT_GE(inner["dur"].get<double>(), 2000);
  EXPECT_GE(ms, 2);
  EXPECT_LE(inner["ts"].get<double>() + inner["dur"].get<double>(),
            outer["ts"].get<double>() + outer["dur"].get<double>() + 0.002);
  EXPECT_EQ(device["dur"], 5);
  EXPECT_EQ(device["tid"], events[3]["tid"]);
  EXPECT_NE(device["tid"], outer["tid"]);
}

TEST_F(TraceTest, OffThereIsNothing) {
  double ms = 0;
  {
    TimedSpan span("compile", "x", &ms);
  }
  EXPECT_GT(ms, 0);
  EXPECT_FALSE(Tracing());
  EXPECT_THAT(std::string(StopTrace().message()), HasSubstr("no trace is being written"));
  ASSERT_TRUE(StartTrace(path_).ok());
  ASSERT_TRUE(StopTrace().ok());
  EXPECT_TRUE(Events(path_).empty());
}

// A span of before is not in the trace that starts during it, nor in the one after.
TEST_F(TraceTest, SpansBelongToTheTraceTheyBeganIn) {
  {
    TraceSpan before("call", "before");
    ASSERT_TRUE(StartTrace(path_).ok());
  }
  {
    TraceSpan cut("call", "cut");
    ASSERT_TRUE(StopTrace().ok());
    ASSERT_TRUE(StartTrace(path_ + "2").ok());
  }
  {
    TraceSpan inside("call", "inside");
  }
  ASSERT_TRUE(StopTrace().ok());
  EXPECT_TRUE(Events(path_).empty());
  const std::vector<json> events = Events(path_ + "2");
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0]["name"], "inside");
}

TEST_F(TraceTest, WrongPathsAndASecondTrace) {
  EXPECT_THAT(std::string(StartTrace("").message()), HasSubstr("needs the path of a file"));
  EXPECT_THAT(std::string(StartTrace(folder_ + "/no/t.json").message()),
              HasSubstr(folder_ + "/no/t.json cannot be written"));
  EXPECT_FALSE(StartTrace(folder_).ok());
  EXPECT_FALSE(Tracing());
  ASSERT_TRUE(StartTrace(path_).ok());
  EXPECT_THAT(std::string(StartTrace(folder_ + "/u.json").message()),
              HasSubstr("a trace is being written to " + path_));
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/u.json"));
}

TEST_F(TraceTest, APathWithANul) {
  EXPECT_THAT(std::string(StartTrace(path_ + std::string("\0x", 2)).message()),
              HasSubstr("t.json\\x00x"));
  EXPECT_FALSE(std::filesystem::exists(path_));
}

// Neither is waited for where nobody reads it, nor written to where somebody does. In a process of
// its own, which an alarm ends if it waits.
TEST_F(TraceTest, AFifoIsNoFile) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    const auto refused = [&] {
      return StartTrace(path_).message() ==
             "the trace " + path_ + " cannot be written: it is no file";
    };
    const bool unread = refused();
    const int reader = open(path_.c_str(), O_RDONLY | O_NONBLOCK);
    _exit(unread && reader >= 0 && refused() && !Tracing() ? 0 : 1);
  }
  EXPECT_EQ(WaitFor(child), 0);
}

TEST_F(TraceTest, ADiskThatIsFullIsSaid) { ASSERT_EQ(StartTrace("/dev/full").ok(), false); }

// A file that may not grow stands for a disk that fills up. In a process of its own, whose signal
// it is; a warning that is said under the trace's lock would end in the alarm.
void TraceUntilTheDiskIsFull(const std::string& path) {
  alarm(60);
  signal(SIGXFSZ, SIG_IGN);
  int warnings = 0;
  SetLogSink([&warnings](int level, std::string_view message) {
    if (level == 0 && message.ends_with("; the rest of it is lost")) ++warnings;
    const TraceSpan span("call", "of the sink");
  });
  if (!StartTrace(path).ok()) _exit(1);
  const rlimit limit{64 * 1024, 64 * 1024};
  if (setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(2);
  for (int i = 0; i < 3000; ++i) TraceSpan span("call", std::string(100, 'x'));
  if (warnings != 1) _exit(3);
  const absl::Status stopped = StopTrace();
  _exit(stopped.code() == absl::StatusCode::kDataLoss && warnings == 1 ? 0 : 4);
}
TEST_F(TraceTest, ASinkMayUseTheTraceWhoseLossItIsToldOf) {
  const pid_t child = fork();
  if (child == 0) TraceUntilTheDiskIsFull(path_);
  const int status = WaitFor(child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

// The child's file cannot be made, which its first span is told of.
TEST_F(TraceTest, ASinkMayUseTheTraceThatAChildCannotHave) {
  std::filesystem::create_directory(folder_ + "/gone");
  ASSERT_TRUE(StartTrace(folder_ + "/gone/t.json").ok());
  std::filesystem::remove_all(folder_ + "/gone");
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    static int warnings = 0;
    SetLogSink([](int, std::string_view message) {
      if (message.find("cannot be written") != message.npos) ++warnings;
      const TraceSpan span("call", "of the sink");
    });
    {
      const TraceSpan span("call", "child");
    }
    _exit(warnings == 1 ? 0 : 1);
  }
  const int status = WaitFor(child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST_F(TraceTest, ManyThreads) {
  ASSERT_TRUE(StartTrace(path_).ok());
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([t] {
      for (int i = 0; i < 500; ++i) TraceSpan span("call", std::to_string(t));
    });
  }
  for (std::thread& t : threads) t.join();
  ASSERT_TRUE(StopTrace().ok());
  const std::vector<json> events = Events(path_);
  EXPECT_EQ(events.size(), 4000u);
  std::set<int> rows;
  for (const json& e : events) rows.insert(e["tid"].get<int>());
  EXPECT_EQ(rows.size(), 8u);
}

// Killed in the midst of it: what was written is whole.
TEST_F(TraceTest, AKilledProcessLeavesJson) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    if (!StartTrace(path_).ok()) _exit(1);
    for (int i = 0;; ++i) {
      TraceSpan span("call", std::string(100, 'x'));
      if (i == 5000 && write(ready[1], "", 1) != 1) _exit(1);
    }
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  kill(child, SIGKILL);
  EXPECT_TRUE(WIFSIGNALED(WaitFor(child)));
  EXPECT_GT(Events(path_).size(), 1000u);
}

TEST_F(TraceTest, TheEndOfTheProcessWritesTheRest) {
  const pid_t child = fork();
  if (child == 0) {
    if (!StartTrace(path_).ok()) _exit(1);
    {
      TraceSpan span("call", "last");
    }
    std::exit(0);
  }
  EXPECT_EQ(WaitFor(child), 0);
  EXPECT_EQ(Events(path_).size(), 1u);
}

TEST_F(TraceTest, AForksChildHasAFileOfItsOwn) {
  ASSERT_TRUE(StartTrace(path_).ok());
  {
    TraceSpan span("call", "parent");
  }
  const pid_t child = fork();
  if (child == 0) {
    {
      TraceSpan span("call", "child");
    }
    _exit(StopTrace().ok() ? 0 : 1);
  }
  EXPECT_EQ(WaitFor(child), 0);
  {
    TraceSpan span("call", "parent again");
  }
  ASSERT_TRUE(StopTrace().ok());
  EXPECT_EQ(Events(path_).size(), 2u);
  const std::vector<json> events = Events(path_ + "." + std::to_string(child));
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0]["name"], "child");
  EXPECT_EQ(events[0]["pid"], child);
}

// A child that has the file's descriptor, until its pipe is closed.
class IdleChild {
 public:
  IdleChild() {
    if (pipe(end_) != 0) return;
    pid_ = fork();
    if (pid_ != 0) return;
    char byte = 0;
    close(end_[1]);
    _exit(read(end_[0], &byte, 1) == 0 ? 0 : 1);
  }
  ~IdleChild() {
    close(end_[1]);
    int status = -1;
    EXPECT_EQ(waitpid(pid_, &status, 0), pid_);
    EXPECT_EQ(status, 0);
    close(end_[0]);
  }
  IdleChild(const IdleChild&) = delete;
  IdleChild& operator=(const IdleChild&) = delete;

 private:
  int end_[2] = {-1, -1};
  pid_t pid_ = -1;
};

TEST_F(TraceTest, AChildThatLivesOnKeepsNoFile) {
  ASSERT_TRUE(StartTrace(path_).ok());
  const IdleChild idle;
  ASSERT_TRUE(StopTrace().ok());
  ASSERT_TRUE(StartTrace(path_).ok());
  {
    TraceSpan span("call", "second");
  }
  ASSERT_TRUE(StopTrace().ok());
  EXPECT_EQ(Events(path_).size(), 1u);
  EXPECT_FALSE(std::filesystem::exists(path_ + "." + std::to_string(getpid())));
}

// Nor does it when its parent's trace ended with the parent: here the child has a child.
TEST_F(TraceTest, AChildThatLivesLongerThanItsParentKeepsNoFile) {
  int alive[2];
  ASSERT_EQ(pipe(alive), 0);
  const pid_t child = fork();
  if (child == 0) {
    char byte = 0;
    close(alive[1]);
    if (!StartTrace(path_).ok()) _exit(1);
    if (fork() == 0) _exit(static_cast<int>(read(alive[0], &byte, 1)));
    std::exit(0);
  }
  EXPECT_EQ(WaitFor(child), 0);
  ASSERT_TRUE(StartTrace(path_).ok());
  ASSERT_TRUE(StopTrace().ok());
  EXPECT_FALSE(std::filesystem::exists(path_ + "." + std::to_string(getpid())));
  close(alive[0]);
  close(alive[1]);
}

// What a child closes is still locked by its parent.
TEST_F(TraceTest, AChildThatStopsTheTraceUnlocksNothing) {
  ASSERT_TRUE(StartTrace(path_).ok());
  const pid_t child = fork();
  if (child == 0) _exit(StopTrace().ok() ? 0 : 1);
  EXPECT_EQ(WaitFor(child), 0);
  const int other = open(path_.c_str(), O_RDONLY);
  EXPECT_NE(flock(other, LOCK_EX | LOCK_NB), 0);
  ASSERT_TRUE(StopTrace().ok());
  EXPECT_EQ(flock(other, LOCK_EX | LOCK_NB), 0);
  close(other);
}

// Two processes that are told of one path: the second finds it taken.
TEST_F(TraceTest, AProcessThatFindsThePathTakenWritesBesideIt) {
  int ready[2], done[2];
  ASSERT_EQ(pipe(ready), 0);
  ASSERT_EQ(pipe(done), 0);
  const pid_t child = fork();
  if (child == 0) {
    char byte = 0;
    const bool ok =
        StartTrace(path_).ok() && write(ready[1], "", 1) == 1 && read(done[0], &byte, 1) == 1;
    {
      TraceSpan span("call", "first");
    }
    _exit(ok && StopTrace().ok() ? 0 : 1);
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  ASSERT_TRUE(StartTrace(path_).ok());
  {
    TraceSpan span("call", "second");
  }
  ASSERT_TRUE(StopTrace().ok());
  ASSERT_EQ(write(done[1], "", 1), 1);
  EXPECT_EQ(WaitFor(child), 0);
  EXPECT_EQ(Events(path_).at(0)["name"], "first");
  EXPECT_EQ(Events(path_ + "." + std::to_string(getpid())).at(0)["name"], "second");
}

TEST_F(TraceTest, ThePathMayHaveTheProcess) {
  ASSERT_TRUE(StartTrace(folder_ + "/%p.json").ok());
  ASSERT_TRUE(StopTrace().ok());
  EXPECT_TRUE(Events(folder_ + "/" + std::to_string(getpid()) + ".json").empty());
}

}  // namespace
}  // namespace jitfuse::internal
