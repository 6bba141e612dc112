// Graphs that have to give a reason code, by code.
//
// Out: for each of its codes a function that plans or calls a graph and gives the codes that were
// met on the way. What planning gives has its table in reasons_test.cc; here is what only calls
// give: how they are compared with the evaluator, what timing, bound inputs and the disk cache do,
// what they run while their code is compiled, and what compiled kernels take.
#ifndef JITFUSE_TESTS_NULL_FUSION_REASON_EXAMPLES_H_
#define JITFUSE_TESTS_NULL_FUSION_REASON_EXAMPLES_H_

#include <functional>
#include <map>
#include <set>
#include <string>

#include "codegen/fusion/group.h"

namespace jitfuse::internal {

using Codes = std::multiset<std::string>;
using ReasonExamples = std::map<Reason, std::function<Codes()>>;

const ReasonExamples& ReasonsOfCalls();

}  // namespace jitfuse::internal

#endif  // JITFUSE_TESTS_NULL_FUSION_REASON_EXAMPLES_H_
