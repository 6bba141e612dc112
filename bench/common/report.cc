#include "report.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "built_from.h"

namespace jitfuse_bench {

double Median(std::vector<double> values) {
  auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::vector<double> TimeInterleaved(const std::vector<std::function<void()>>& functions,
                                    int samples) {
  using Clock = std::chrono::steady_clock;
  std::vector<std::vector<double>> seconds(functions.size());
  for (const auto& f : functions) f();
  for (int s = 0; s < samples; ++s) {
    for (size_t i = 0; i < functions.size(); ++i) {
      auto start = Clock::now();
      functions[i]();
      seconds[i].push_back(std::chrono::duration<double>(Clock::now() - start).count());
    }
  }
  std::vector<double> out;
  for (auto& s : seconds) out.push_back(Median(s));
  return out;
}

std::string CpuName() {
  std::ifstream info("/proc/cpuinfo");
  std::string line, name = "unknown CPU";
  while (std::getline(info, line)) {
    if (line.rfind("model name", 0) == 0) {
      name = line.substr(line.find(':') + 2);
      break;
    }
  }
  return name + ", " + std::to_string(std::thread::hardware_concurrency()) + " threads";
}

void Report::Add(Row row) {
  if (rows_.empty())
    std::printf("%s on %s\n%-44s %12s %-6s %12s %8s %8s\n", benchmark_.c_str(), machine_.c_str(),
                "case", "value", "unit", "peer", "share", "goal");
  std::string goal =
      row.goal == 0 ? ""
                    : (row.goal_is_max ? "<= " : ">= ") + std::to_string(row.goal).substr(0, 6);
  std::printf("%-44s %12.3f %-6s %12.3f %8.3f %8s  %s\n", row.name.c_str(), row.value,
              row.unit.c_str(), row.peer_value, row.share, goal.c_str(), row.peer.c_str());
  std::fflush(stdout);
  rows_.push_back(std::move(row));
}

void Report::SetColumns(std::vector<std::string> columns) {
  columns_ = std::move(columns);
  std::printf("%s on %s\n", benchmark_.c_str(), machine_.c_str());
  for (size_t i = 0; i < columns_.size(); ++i)
    std::printf(i == 0 ? "%-54s" : "  %s", columns_[i].c_str());
  std::printf("\n");
}

void Report::AddCells(std::vector<Cell> cells) {
  for (size_t i = 0; i < cells.size(); ++i) {
    const int width = i == 0 ? 54 : static_cast<int>(columns_[i].size());
    if (!cells[i].is_number) {
      std::printf(i == 0 ? "%-*s" : "  %*s", width, cells[i].text.c_str());
    } else if (cells[i].number == static_cast<double>(static_cast<long long>(cells[i].number))) {
      std::printf("  %*.0f", width, cells[i].number);
    } else {
      std::printf("  %*.2f", width, cells[i].number);
    }
  }
  std::printf("\n");
  cells_.push_back(std::move(cells));
}

bool Report::Write(const std::string& path) const {
  if (path.empty()) return true;
  char date[16];
  std::time_t now = std::time(nullptr);
  std::strftime(date, sizeof date, "%Y-%m-%d", std::gmtime(&now));
  nlohmann::json out = {{"benchmark", benchmark_},
                        {"machine", machine_},
                        {"date", date},
                        {"built_from", nlohmann::json(BuiltFrom())},
                        {"rows", nlohmann::json::array()}};
  for (const Row& r : rows_) {
    nlohmann::json row = {{"name", r.name}, {"unit", r.unit}, {"value", r.value}};
    if (!r.peer.empty()) row.update({{"peer", r.peer}, {"peer_value", r.peer_value}});
    if (r.share != 0) row["share"] = r.share;
    if (r.goal != 0) row.update({{"goal", r.goal}, {"goal_is_max", r.goal_is_max}});
    out["rows"].push_back(std::move(row));
  }
  if (!columns_.empty()) out["columns"] = columns_;
  for (const std::vector<Cell>& cells : cells_) {
    nlohmann::json row = nlohmann::json::array();
    for (const Cell& c : cells)
      row.push_back(c.is_number ? nlohmann::json(c.number) : nlohmann::json(c.text));
    out["rows"].push_back(std::move(row));
  }
  std::ofstream file(path);
  file << out.dump(1) << "\n";
  return file.good();
}

std::optional<int> ExitCode(int argc, char** argv, const char* usage,
                            const std::vector<std::string>& flags) {
  for (int i = 1; i < argc; i += 2) {
    const std::string argument = argv[i];
    if (argument == "--help" || argument == "-h") {
      std::printf("usage: %s\n", usage);
      return 0;
    }
    const bool known = std::find(flags.begin(), flags.end(), argument) != flags.end();
    if (known && i + 1 < argc) continue;
    std::fprintf(stderr, known ? "%s: expected a value after it\n" : "%s: no such option\n",
                 argv[i]);
    std::fprintf(stderr, "usage: %s\n", usage);
    return 2;
  }
  setenv("JITFUSE_NO_CACHE", "1", /*overwrite=*/1);
  return std::nullopt;
}

std::string Flag(int argc, char** argv, const std::string& flag, const std::string& fallback) {
  for (int i = 1; i + 1 < argc; ++i) {
    if (flag == argv[i]) return argv[i + 1];
  }
  return fallback;
}

}  // namespace jitfuse_bench
