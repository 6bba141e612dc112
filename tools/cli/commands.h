// The commands behind `jitfuse`: each prints to stdout and returns a Status; main turns that into
// an exit code.
#ifndef JITFUSE_TOOLS_CLI_COMMANDS_H_
#define JITFUSE_TOOLS_CLI_COMMANDS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "entry.h"
#include "jitfuse/options.h"
#include "jitfuse/status.h"

namespace jitfuse_cli {

struct Args {
  std::string file;                    // or a Python function (entry.h)
  std::vector<std::string> arguments;  // of that
  std::string inputs;                  // "", "random:SEED" or a .npz
  std::vector<std::string> sets;       // "n=1000"
  jitfuse::CompileOptions options;
  bool check = false;
  std::string trace;                // the file of a trace of the run; "": none
  std::optional<long long> verify;  // as CompileOptions
  std::optional<jitfuse::Numerics> numerics;
  std::string stage = "groups";
  std::string arch;
  bool json = false;
  int repeat = 50;
  bool stats = false;
  std::optional<std::uint64_t> seed, offset;  // of random ops
  std::string cache_verb;
  std::vector<std::string> cache_operands;  // of diff: a layer and a manifest
  std::optional<std::uint64_t> max_bytes;
  std::string manifest, out;       // of precache
  std::vector<std::string> archs;  // and of cache diff
  int cuda = 0;
  bool record = false;
  std::vector<std::string> program;  // that --record runs
};

// What is wrong with the command line, before any file is read.
jitfuse::Status CheckArgs(const Args& args, bool can_trace);
// The graph of a command line, and its options put together.
jitfuse::StatusOr<Source> ReadSource(const Args& args, const Tracer& tracer);

jitfuse::Status Run(const Args& args, const Source& source);
jitfuse::Status Explain(const Args& args, const Source& source);
jitfuse::Status Bench(const Args& args, const Source& source);
jitfuse::Status Text(const Source& source);
jitfuse::Status Doctor();
// what: list, verify, prune (down to max_bytes, or the size that is set) or stats.
jitfuse::Status Cache(const std::string& what, std::optional<std::uint64_t> max_bytes);
jitfuse::Status Precache(const Args& args, const Tracer& tracer);
// What a layer lacks for a manifest; an error if that is anything.
jitfuse::Status CacheDiff(const Args& args, const Tracer& tracer);
// Runs the program in place of this one; returns where that cannot be.
jitfuse::Status RecordProgram(const Args& args);
void PrintStats();  // of this process

}  // namespace jitfuse_cli

#endif  // JITFUSE_TOOLS_CLI_COMMANDS_H_
