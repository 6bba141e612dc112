#include "tests/graph_fuzz/campaign.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <new>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/graph_fuzz/shrink.h"

namespace jitfuse::internal {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kMaxJobs = 256, kMaxFailures = 512, kCasesPerWorker = 2000;

double Since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Lies in memory that all processes share.
struct Shared {
  std::atomic<int64_t> next{0}, run{0}, failed{0}, elements{0}, held{0};
  std::atomic<int64_t> current[kMaxJobs];  // case number of each worker, -1: none
  struct Failure {
    uint64_t seed;
    char kind[24], text[2000];
    std::atomic<bool> written;
  } failures[kMaxFailures];

  void Add(uint64_t seed, const std::string& kind, const std::string& text) {
    const int64_t i = failed.fetch_add(1);
    if (i >= kMaxFailures) return;
    failures[i].seed = seed;
    std::snprintf(failures[i].kind, sizeof(failures[i].kind), "%s", kind.c_str());
    std::snprintf(failures[i].text, sizeof(failures[i].text), "%s", text.c_str());
    failures[i].written = true;
  }
};

class Workers {
 public:
  explicit Workers(const Campaign& c) : campaign_(c), start_(Clock::now()) {
    void* memory =
        mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    shared_ = memory == MAP_FAILED ? nullptr : new (memory) Shared;
    pids_.assign(static_cast<size_t>(std::clamp(c.jobs, 1, kMaxJobs)), 0);
  }
  ~Workers() {
    if (shared_ != nullptr) munmap(shared_, sizeof(Shared));
  }

  CampaignReport Run() {
    CampaignReport report;
    if (shared_ == nullptr) {
      report.failed = 1;
      report.failures.push_back({0, "error", "no shared memory", "", ""});
      return report;
    }
    int running = 0;
    for (size_t w = 0; w < pids_.size(); ++w) running += Start(w) ? 1 : 0;
    for (double next_line = 30; running > 0;) {
      int status = 0;
      const pid_t pid = WaitForAny(&status);
      TellFailures();
      if (!campaign_.quiet && Since(start_) > next_line) {
        std::fprintf(stderr, "%lld graphs, %lld failed, %.0f s\n",
                     static_cast<long long>(shared_->run), static_cast<long long>(shared_->failed),
                     Since(start_));
        next_line += 30;
      }
      if (pid <= 0) continue;
      const auto it = std::find(pids_.begin(), pids_.end(), pid);
      const auto w = static_cast<size_t>(it - pids_.begin());
      pids_[w] = 0;
      const bool died = WIFSIGNALED(status) || WEXITSTATUS(status) != 0;
      const bool between = died && !NoteDeath(w, status);
      const bool more = !between && shared_->next < campaign_.graphs && !OutOfTime();
      if (!more || !Start(w)) --running;
    }
    report.run = shared_->run;
    report.failed = shared_->failed;
    report.elements = static_cast<double>(shared_->elements);
    report.held = static_cast<double>(shared_->held);
    report.seconds = Since(start_);
    for (int64_t i = 0; i < std::min<int64_t>(report.failed, kMaxFailures); ++i) {
      const Shared::Failure& f = shared_->failures[i];
      report.failures.push_back({f.seed, f.kind, f.text, "", ""});
    }
    return report;
  }

 private:
  bool OutOfTime() const { return campaign_.seconds > 0 && Since(start_) > campaign_.seconds; }

  // As they come: a run that is broken off loses no seed.
  void TellFailures() {
    for (; told_ < kMaxFailures && shared_->failures[told_].written; ++told_) {
      const Shared::Failure& f = shared_->failures[told_];
      if (!campaign_.quiet)
        std::fprintf(stderr, "seed %llu: %s\n", static_cast<unsigned long long>(f.seed), f.kind);
    }
  }

  // Sleeps a little where none of ours has ended; other children of the process are left alone.
  pid_t WaitForAny(int* status) {
    for (pid_t pid : pids_) {
      if (pid > 0 && waitpid(pid, status, WNOHANG) == pid) return pid;
    }
    usleep(5000);
    return 0;
  }

  // False where it died of no case, as the next one would too.
  bool NoteDeath(size_t w, int status) {
    const int64_t number = shared_->current[w];
    const bool hangs = WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM;
    const std::string how =
        WIFSIGNALED(status)
            ? absl::StrCat("by signal ", WTERMSIG(status), ", ", strsignal(WTERMSIG(status)))
            : absl::StrCat("with exit code ", WEXITSTATUS(status));
    const std::string text = absl::StrCat("the process ended ", how);
    if (number < 0) {
      shared_->Add(0, "error", text);
      return false;
    }
    shared_->run++;
    shared_->Add(campaign_.seed + static_cast<uint64_t>(number), hangs ? "hang" : "crash", text);
    return true;
  }

  // False where no process could be made; an error where none is left to go on.
  bool Start(size_t w) {
    shared_->current[w] = -1;
    std::fflush(nullptr);
    const pid_t pid = campaign_.fork_process();
    if (pid == 0) {
      Work(w);
      _exit(0);
    }
    pids_[w] = std::max(pid, 0);
    if (pid > 0) return true;
    if (std::all_of(pids_.begin(), pids_.end(), [](pid_t p) { return p == 0; }))
      shared_->Add(0, "error", absl::StrCat("no process could be made: ", strerror(errno)));
    return false;
  }

  void Work(size_t w) {
    signal(SIGALRM, SIG_DFL);
    for (int done = 0; done < kCasesPerWorker && !OutOfTime(); ++done) {
      const int64_t number = shared_->next++;
      if (number >= campaign_.graphs) return;
      shared_->current[w] = number;
      alarm(static_cast<unsigned>(campaign_.case_seconds));
      const uint64_t seed = campaign_.seed + static_cast<uint64_t>(number);
      const FuzzCase c = MakeCase(seed);
      const Outcome outcome = campaign_.run_case(c, campaign_.executors);
      alarm(0);
      shared_->current[w] = -1;
      if (outcome.verdict != Verdict::kOk)
        shared_->Add(seed, std::string(VerdictName(outcome.verdict)), outcome.text);
      shared_->elements += static_cast<int64_t>(outcome.elements);
      shared_->held += static_cast<int64_t>(outcome.held);
      shared_->run++;
    }
  }

  const Campaign& campaign_;
  Clock::time_point start_;
  Shared* shared_ = nullptr;
  int told_ = 0;
  std::vector<pid_t> pids_;
};

constexpr int kDied = -1, kNoChild = -2;

// Runs `body` in a child; its exit status, kDied of a signal, or kNoChild.
int InChild(const Campaign& campaign, const std::function<int()>& body) {
  std::fflush(nullptr);
  const pid_t pid = campaign.fork_process();
  if (pid == 0) _exit(body());
  int status = 0;
  if (pid < 0 || waitpid(pid, &status, 0) != pid) return kNoChild;
  return WIFEXITED(status) ? WEXITSTATUS(status) : kDied;
}

bool WriteFile(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  return file.good();
}

}  // namespace

void ShrinkAndWrite(const FuzzCase& c, const Campaign& campaign, CampaignFailure* failure,
                    bool in_child) {
  const std::string path = absl::StrCat(campaign.out, "/fuzz_", failure->seed, ".jf");
  const bool died = failure->kind == "crash" || failure->kind == "hang";
  // The executor that failed, alone.
  std::vector<std::string> executors = campaign.executors;
  for (const std::string& e : campaign.executors) {
    if (absl::StartsWith(failure->text, absl::StrCat(e, ": "))) executors = {e};
  }
  auto verdict = [&](const FuzzCase& candidate) {
    return std::string(VerdictName(campaign.run_case(candidate, executors).verdict));
  };
  const std::string kind = failure->kind;
  const std::function<bool(const FuzzCase&)> fails = [&](const FuzzCase& candidate) {
    if (!died) return verdict(candidate) == kind;
    const int status = InChild(campaign, [&] {
      alarm(static_cast<unsigned>(campaign.case_seconds));
      (void)verdict(candidate);
      return 0;
    });
    return status != 0 && status != kNoChild;
  };
  const auto shrink = [&] {
    const FuzzCase small = Shrink(c, fails, campaign.shrink_seconds);
    const std::string again = died ? failure->text : campaign.run_case(small, executors).text;
    std::string text = absl::StrCat("# ", kind, ": ", again);
    for (char& ch : text) ch = ch == '\n' ? ' ' : ch;
    return WriteFile(path, absl::StrCat(text, "\n", CaseToText(small))) ? 0 : 1;
  };
  if ((in_child ? InChild(campaign, shrink) : shrink()) != 0) return;  // the seed must do
  failure->file = path;
  failure->command =
      absl::StrCat("jf_fuzz --replay ", path, " --executors ", absl::StrJoin(executors, ","));
}

CampaignReport RunCampaign(const Campaign& campaign) {
  CampaignReport report = Workers(campaign).Run();
  std::sort(report.failures.begin(), report.failures.end(),
            [](const CampaignFailure& a, const CampaignFailure& b) { return a.seed < b.seed; });
  const std::string executors = absl::StrJoin(campaign.executors, ",");
  for (size_t i = 0; i < report.failures.size(); ++i) {
    CampaignFailure& f = report.failures[i];
    f.command = absl::StrCat("jf_fuzz --graphs 1 --seed ", f.seed, " --executors ", executors);
    if (static_cast<int>(i) < campaign.shrink && f.kind != "no back end" && f.seed != 0)
      ShrinkAndWrite(MakeCase(f.seed), campaign, &f);
  }
  return report;
}

}  // namespace jitfuse::internal
