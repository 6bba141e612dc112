// Runs a FuzzCase on one executor and compares it with the wide evaluator.
//
// In: a case and the name of an executor: declared (the evaluator's other mode), interpret, cpu,
// cuda, or nvrtc, which compiles the kernels and runs nothing. Out: an Outcome. Each call of the
// case is made on one compiled function, so the second one binds other sizes to what is there.
// Beside the values it is checked that nothing is written between or around the elements of an
// output, and that inputs stay as they were. `share` is the share of result elements that the
// evaluator holds to a finite bound: what the case can show.
#ifndef JITFUSE_TESTS_GRAPH_FUZZ_RUN_CASE_H_
#define JITFUSE_TESTS_GRAPH_FUZZ_RUN_CASE_H_

#include <string>
#include <string_view>
#include <vector>

#include "ir/eval.h"
#include "tests/graph_fuzz/fuzz_case.h"

namespace jitfuse::internal {

enum class Verdict {
  kOk,
  kMismatch,   // a value beyond its bound, or memory touched that is none of the kernel's business
  kError,      // an executor refused or failed
  kEvaluator,  // the evaluator did; a case that it cannot take is a fault of the maker
  kNoBackend,  // not on this machine
};
std::string_view VerdictName(Verdict v);

struct Outcome {
  Verdict verdict = Verdict::kOk;
  std::string text;
  double elements = 0, held = 0;  // of the results; those with a finite bound
  int call = -1;                  // the one that failed
};

struct FuzzCall {
  std::vector<FuzzTensor> inputs;
  std::vector<WideTensor> expect;
};
// The calls with what they should give. Shared by the executors.
absl::StatusOr<std::vector<FuzzCall>> PrepareCalls(const FuzzCase& c);

Outcome RunCalls(const FuzzCase& c, const std::vector<FuzzCall>& calls, std::string_view executor);
// On all of them; the first that fails.
Outcome RunCase(const FuzzCase& c, const std::vector<std::string>& executors);

}  // namespace jitfuse::internal

#endif  // JITFUSE_TESTS_GRAPH_FUZZ_RUN_CASE_H_
