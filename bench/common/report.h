// What a benchmark prints and writes: one row per measured thing, medians, beside the peer of the
// same run.
//
// In: rows. Out: a table on stdout and, with --out FILE, JSON {"machine", "benchmark", "date",
// "built_from", "rows": [...]}, from which tools/bench_table.py makes the table in
// docs/benchmarks.md. "built_from" is what common/built_from.h found when the program ran. A row's
// `value` is in `unit`; `peer` is what it is compared with (a copy, a compiled loop, another
// library), measured in the same run and interleaved; `share` is the ratio that the goal speaks of,
// `goal` the least (or, with goal_is_max, the most) it should be; 0: no goal.
#ifndef JITFUSE_BENCH_COMMON_REPORT_H_
#define JITFUSE_BENCH_COMMON_REPORT_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace jitfuse_bench {

struct Row {
  std::string name;
  std::string unit;
  double value = 0;
  std::string peer;
  double peer_value = 0;
  double share = 0;
  double goal = 0;
  bool goal_is_max = false;
};

// A table of its own columns, for what no Row can say: cells are numbers or text, none are missing.
struct Cell {
  Cell(const char* t) : text(t) {}                // NOLINT: written as they come
  Cell(std::string t) : text(std::move(t)) {}     // NOLINT
  Cell(double v) : number(v), is_number(true) {}  // NOLINT
  Cell(int v) : number(v), is_number(true) {}     // NOLINT
  std::string text;
  double number = 0;
  bool is_number = false;
};

double Median(std::vector<double> values);
// Seconds of one call of each function: `samples` rounds, all functions in turn in each round (so
// that drifting clocks hit them alike), medians.
std::vector<double> TimeInterleaved(const std::vector<std::function<void()>>& functions,
                                    int samples);
std::string CpuName();  // model and number of hardware threads

class Report {
 public:
  Report(std::string benchmark, std::string machine)
      : benchmark_(std::move(benchmark)), machine_(std::move(machine)) {}
  void Add(Row row);  // prints it as well
  void SetColumns(std::vector<std::string> columns);
  void AddCells(std::vector<Cell> cells);  // as many as columns; prints them as well
  // Writes JSON if `path` is not empty. False if it could not.
  bool Write(const std::string& path) const;

 private:
  std::string benchmark_, machine_;
  std::vector<Row> rows_;
  std::vector<std::string> columns_;
  std::vector<std::vector<Cell>> cells_;
};

// What of a command line keeps a benchmark from running: --help (prints `usage`, exit code 0), or
// an argument that is none of `flags`, each of which has a value (2). nullopt: it may run, and
// neither finds kernels in the user's disk cache nor leaves any there.
std::optional<int> ExitCode(int argc, char** argv, const char* usage,
                            const std::vector<std::string>& flags);

// The value after `flag` on the command line, or `fallback`.
std::string Flag(int argc, char** argv, const std::string& flag, const std::string& fallback = "");

}  // namespace jitfuse_bench

#endif  // JITFUSE_BENCH_COMMON_REPORT_H_
