// explain(): what one call runs, and why it is cut where it is. Not installed; Function::Explain
// and ExplainJson show it.
//
// In: a BoundCall, and the user's names of values of its graph (jit/carry_names.h). Out: text for
// people or JSON ("version": 2; keys are only ever added). Never silent: every boundary between
// groups and every fallback is there with its reason code.
#ifndef JITFUSE_API_EXPLAIN_H_
#define JITFUSE_API_EXPLAIN_H_

#include <string>

#include "ir/value_names.h"
#include "jit/executable.h"

namespace jitfuse::internal {

inline constexpr int kExplainVersion = 2;

std::string ExplainText(const BoundCall& call, const ValueNames& names = {});
std::string ExplainJson(const BoundCall& call, const ValueNames& names = {});

}  // namespace jitfuse::internal

#endif  // JITFUSE_API_EXPLAIN_H_
