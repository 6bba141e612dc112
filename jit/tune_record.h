// TuneRecord: what timing has shown of one key, and what was chosen.
//
// A key is a graph, the class of a call with the power of two that each of its sizes does not
// exceed, a target and a matrix library. A plan says what of the nodes behind each product its
// library computes; for each product it lists the algorithms that were timed. Times are whole
// nanoseconds, so that the text form, which has a version, gives the same record back. The record
// is a value: it holds nothing of the process that made it. Must not know: how times are taken.
#ifndef JITFUSE_JIT_TUNE_RECORD_H_
#define JITFUSE_JIT_TUNE_RECORD_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "ir/options.h"

namespace jitfuse::internal {

struct TuneRecord {
  static constexpr int kVersion = 1;

  struct Algorithm {
    std::string id;    // PreparedGemm::algorithm()
    std::string text;  // PreparedGemm::Describe()
    double us = 0;     // of the product and what follows it up to the next one
    friend bool operator==(const Algorithm&, const Algorithm&) = default;
  };
  struct Product {
    std::string problem;           // what the library is asked for
    int like = -1;                 // the earlier product with the same problem, which was timed
    std::vector<Algorithm> tried;  // what the library says itself comes first
    int chosen = 0;
    friend bool operator==(const Product&, const Product&) = default;
  };
  struct Plan {
    std::vector<ProductChoice> choices;
    std::vector<Product> products;  // in the graph's order
    double us = 0;                  // of a whole call
    friend bool operator==(const Plan&, const Plan&) = default;
  };

  std::string graph, call;  // hashes
  std::string target;       // "cuda sm_90"
  std::string library;      // "cuBLASLt 13.1.0"
  std::vector<Plan> plans;  // what is planned without timing comes first
  int chosen = 0;

  const Plan& plan() const { return plans[static_cast<size_t>(chosen)]; }
  friend bool operator==(const TuneRecord&, const TuneRecord&) = default;
};

// By product: the algorithm that was chosen; empty where there was no choice.
std::vector<std::string> ChosenAlgorithms(const TuneRecord::Plan& plan);
// "all", or what of each product's epilogue is left: "all, sums, none".
std::string ChoicesToString(const std::vector<ProductChoice>& choices);

std::string TuneRecordToText(const TuneRecord& record);
// InvalidArgument names the line, what is there and what was expected; also for another version.
absl::StatusOr<TuneRecord> ParseTuneRecord(std::string_view text);

}  // namespace jitfuse::internal

#endif  // JITFUSE_JIT_TUNE_RECORD_H_
