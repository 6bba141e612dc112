// What every text must survive, for the libFuzzer target and the mutation test: parse; if it
// parses, print, parse and print again.
#ifndef JITFUSE_TESTS_FUZZ_TEXT_FUZZ_H_
#define JITFUSE_TESTS_FUZZ_TEXT_FUZZ_H_

#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "ir/rewrite/optimize.h"
#include "ir/text.h"

namespace jitfuse::internal {

// "" or what went wrong.
inline std::string CheckOneText(std::string_view text) {
  absl::StatusOr<Graph> graph = ParseGraph(text);
  if (!graph.ok()) {
    bool located = graph.status().code() == absl::StatusCode::kInvalidArgument &&
                   graph.status().message().size() > 4;
    return located ? "" : absl::StrCat("not a good error: ", graph.status().ToString());
  }
  std::string printed = GraphToString(*graph);
  absl::StatusOr<Graph> again = ParseGraph(printed);
  if (!again.ok())
    return absl::StrCat("printed text does not parse: ", again.status().ToString(), "\n", printed);
  if (!(again->Fingerprint() == graph->Fingerprint()))
    return absl::StrCat("fingerprints differ:\n", printed);
  if (GraphToString(*again) != printed)
    return absl::StrCat("not idempotent:\n", printed, GraphToString(*again));
  if (absl::StatusOr<Graph> optimized = Optimize(*graph); !optimized.ok()) {
    return absl::StrCat("Optimize fails: ", optimized.status().ToString(), "\n", printed);
  }
  return "";
}

}  // namespace jitfuse::internal

#endif  // JITFUSE_TESTS_FUZZ_TEXT_FUZZ_H_
