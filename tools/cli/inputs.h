// The arrays a command runs on: from a .npz file, or random, for given values of the graph's
// symbols.
//
// In: graph text, "PATH.npz" or "random:SEED" ("" is random:0), and --set n=1000 values. Out: one
// CPU array per input of the graph, in order, and the seed and offset of random ops where the .npz
// has integers named rng_seed and rng_offset. Random floats are uniform in [-2,2), integers in
// [-8,8) (0..7 if unsigned), bools fair; the same seed gives the same values everywhere. Symbols
// that --set leaves out are 64 for random inputs; at most 16 GiB an input. Inputs whose values are
// `given` by name need none of these. Errors name the input.
// Arrays of a file that no input takes are named on stderr.
#ifndef JITFUSE_TOOLS_CLI_INPUTS_H_
#define JITFUSE_TOOLS_CLI_INPUTS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "jitfuse/array.h"
#include "jitfuse/status.h"

namespace jitfuse_cli {

using SymbolValues = std::map<std::string, std::int64_t>;
constexpr std::int64_t kDefaultSize = 64;  // of symbols that --set leaves out

jitfuse::StatusOr<std::string> ReadFile(const std::string& path);
jitfuse::StatusOr<SymbolValues> ParseSets(const std::vector<std::string>& sets);
// A whole number from 0 to 2^64 - 1 in decimal digits; `option` is what the error names.
jitfuse::StatusOr<std::uint64_t> ParseWhole(const std::string& option, const std::string& text);
// What can be said of --inputs and --set without a file.
jitfuse::Status CheckSource(const std::string& source, const SymbolValues& symbols);

struct Inputs {
  std::vector<jitfuse::Array> arrays;
  std::optional<std::uint64_t> seed, offset;
};
jitfuse::StatusOr<Inputs> MakeInputs(const std::string& text, const std::string& source,
                                     const SymbolValues& symbols,
                                     const std::map<std::string, jitfuse::Array>& given = {});
// Shapes only: no data.
jitfuse::StatusOr<std::vector<jitfuse::Array>> MakeShapes(const std::string& text,
                                                          const SymbolValues& symbols);

}  // namespace jitfuse_cli

#endif  // JITFUSE_TOOLS_CLI_INPUTS_H_
