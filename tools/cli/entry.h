// Where a command's graph comes from: a file of graph text, or a Python function that is traced.
//
// An entry is "module:function" or "path/file.py:function" (dots in the function's name reach
// attributes); an existing file of that name goes first. A Tracer turns an entry into a graph; one
// that is empty means that there is no Python here. It gets the values of --arg as they were
// written and answers kInvalidArgument where they are wrong, other errors where tracing failed.
#ifndef JITFUSE_TOOLS_CLI_ENTRY_H_
#define JITFUSE_TOOLS_CLI_ENTRY_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "inputs.h"
#include "jitfuse/array.h"
#include "jitfuse/options.h"
#include "jitfuse/status.h"

namespace jitfuse_cli {

struct TraceRequest {
  std::string entry;
  std::vector<std::string> arguments;  // "x:f32[n,1024]", "scale:float", "axis=1"
  SymbolValues symbols;                // of --set
  std::int64_t default_size = 0;       // of symbols that --set leaves out
  // Traced as a call with arrays of these sizes is: symbols of the graph are those that jit makes.
  bool as_called = false;
};

struct Source {
  std::string text;
  std::string where;                            // the file or entry, for messages
  SymbolValues symbols;                         // of --set, without those that the graph has not
  std::map<std::string, jitfuse::Array> given;  // inputs whose values are known, on the CPU
  jitfuse::CompileOptions options;              // of a jitted function
};

using Tracer = std::function<jitfuse::StatusOr<Source>(const TraceRequest&)>;

bool IsEntry(const std::string& file);
// What is wrong with these for any Tracer.
jitfuse::Status CheckEntry(const std::string& file, const std::vector<std::string>& arguments,
                           bool can_trace);
// `request` is that of an entry, or has a file in place of it.
jitfuse::StatusOr<Source> ReadSource(const TraceRequest& request, const Tracer& tracer);

}  // namespace jitfuse_cli

#endif  // JITFUSE_TOOLS_CLI_ENTRY_H_
