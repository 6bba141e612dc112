// Looking inside: graph text, the reference evaluator, sources of every stage, the op table, and
// what was found on this machine. For tools and tests.
//
// Nothing here is needed to run a function. Texts are for reading; only those said to be stable are
// (graph text, JSON of explain).
#ifndef JITFUSE_API_INSPECT_H_
#define JITFUSE_API_INSPECT_H_

#include <map>
#include <string>
#include <vector>

#include "array.h"
#include "function.h"
#include "ops_support.h"
#include "options.h"
#include "status.h"

namespace jitfuse {
inline namespace v1 {

struct InputInfo {
  std::string name;
  DType dtype = DType::kF32;
  bool scalar = false;            // passed by value
  std::vector<std::string> dims;  // "n", "784", "n*4"
};
// The signature of graph text, without the seed and offset of random ops (scalars named rng_seed
// and rng_offset, which RunOptions::rng gives); also the check that it is well-formed.
StatusOr<std::vector<InputInfo>> ParseInputs(const std::string& graph_text);
// How many random ops it holds: by so much its calls advance RunOptions::rng.offset.
std::int64_t NumRandomOps(const Function& function);
// The signature of a function, in the order of its arguments, and its results. As ParseInputs: no
// seed, no offset; nor what is bound. Results have no name. None of an empty Function.
std::vector<InputInfo> InputsOf(const Function& function);
std::vector<InputInfo> OutputsOf(const Function& function);
StatusOr<std::string> FormatText(const std::string& graph_text);  // parsed and printed

// Concrete dims of the inputs when the graph's symbols have these values; every symbol must be
// given.
StatusOr<std::vector<std::vector<std::int64_t>>> InputDims(
    const std::string& graph_text, const std::map<std::string, std::int64_t>& symbols);

// The reference evaluator on CPU arrays (slow, exact meaning). One result per output.
StatusOr<std::vector<Array>> Evaluate(const std::string& graph_text,
                                      const std::vector<Array>& inputs, const Rng& rng = {});

struct CheckResult {
  bool ok = false;
  double max_ulp = 0;    // worst error in ulp of the output's dtype
  double max_bound = 0;  // worst error divided by the evaluator's bound; ok means <= 1
  std::string where;     // "output 0 [3,17]: got 1.5, expected 1.25 +- 1e-7"
  long long compared = 0, elements = 0;  // fewer are compared where anything would pass, or sampled
  bool sampled = false;                  // rows alone, since all would take too long
};
// Results of a run (CPU arrays) against the evaluator's values and error bounds. One per output.
// Where evaluating everything takes too long, rows that the same inputs always give are compared,
// if they can be had for less (docs/verify.md). `numerics`: what the results were computed with.
StatusOr<std::vector<CheckResult>> Check(const std::string& graph_text,
                                         const std::vector<Array>& inputs,
                                         const std::vector<Array>& results, const Rng& rng = {},
                                         Numerics numerics = Numerics::kDefault);

// stage: graph, groups, plan, cuda, llvm, ptx, sass, resources (compiled, and a line for each
// kernel: registers, spills, shared memory, occupancy; code and stack on a CPU). arch: "" (this
// machine's), "sm_90", "x86-64-v3" ... Shapes come from `inputs` (data may be null). Needs no GPU.
StatusOr<std::string> SourceOf(const std::string& graph_text, const std::vector<Array>& inputs,
                               const std::string& stage, const std::string& arch,
                               const CompileOptions& options = {});

struct Finding {
  std::string what;  // "NVRTC"
  bool found = false;
  std::string version;
  std::string where;   // path, or what was searched
  std::string remedy;  // the exact line that gets it, if missing
};
std::vector<Finding> Doctor();

struct AttrInfo {
  std::string name;
  std::string type;  // bool, int, float, dtype, ints or dims
  std::string doc;
  bool required = false;
  detail::AttrArg fallback;  // where it is not required
};
struct OpInfo {
  std::string name, kind, doc, example;
  std::vector<std::string> args, attrs;
  std::vector<AttrInfo> attr_infos;  // of `attrs`
  int num_results = 1;
};
std::vector<OpInfo> ListOps();

}  // namespace v1
}  // namespace jitfuse

#endif  // JITFUSE_API_INSPECT_H_
