// Running one test of this binary in a process of its own: for what a process does once, as
// initialising a compiler.
#ifndef JITFUSE_TESTS_TEST_UTIL_FRESH_PROCESS_H_
#define JITFUSE_TESTS_TEST_UTIL_FRESH_PROCESS_H_

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <string>

namespace jitfuse::internal {

// Whether the test (which may be DISABLED_, so that nothing else runs it) passes, with these
// variables set.
inline bool PassesInAFreshProcess(const std::string& test,
                                  const std::map<std::string, std::string>& environment) {
  const std::string filter = "--gtest_filter=" + test;
  const pid_t child = fork();
  if (child == 0) {
    for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
    for (const char* name : {"GTEST_TOTAL_SHARDS", "GTEST_SHARD_INDEX"}) unsetenv(name);
    alarm(120);
    execl("/proc/self/exe", "tests", filter.c_str(), "--gtest_also_run_disabled_tests",
          "--gtest_brief=1", static_cast<char*>(nullptr));
    _exit(127);
  }
  int status = -1;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace jitfuse::internal

#endif  // JITFUSE_TESTS_TEST_UTIL_FRESH_PROCESS_H_
