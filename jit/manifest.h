// Manifest: which graphs are to be compiled, for which calls, as a JSON file (docs/precache.md has
// the schema).
//
// In: JSON, written by hand or by a recorder (jit/recorder.h). Out: its entries, with every list
// and range of sizes written out; or InvalidArgument that names the file, the JSON pointer of what
// is wrong, what was expected and what is there. Nothing is taken in silence: unknown and repeated
// keys are errors. ManifestToJson writes what ParseManifest reads as the same entries. Any bytes
// may be given: nothing here recurses over them, and limits bound what they expand to. Must not
// know: graphs, files that entries name, back ends.
#ifndef JITFUSE_JIT_MANIFEST_H_
#define JITFUSE_JIT_MANIFEST_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "ir/options.h"

namespace jitfuse::internal {

inline constexpr int kManifestVersion = 1;
inline constexpr size_t kMaxManifestBytes = size_t{64} << 20;
inline constexpr size_t kMaxSizes = 65536;  // of one symbol, and combinations of one call
inline constexpr size_t kMaxAllSizes = size_t{1} << 22;  // of a manifest
inline constexpr int64_t kMaxSize = int64_t{1} << 48;

struct ManifestLayout {  // of an array of a call; without: dense and aligned to 16
  std::vector<int64_t> strides;
  int align = 16;
  std::vector<std::string> alias;  // of an output: the inputs whose buffer it is
  friend bool operator==(const ManifestLayout&, const ManifestLayout&) = default;
};

struct ManifestCall {
  std::map<std::string, std::vector<int64_t>> sizes;  // by symbol; all combinations
  std::map<std::string, ManifestLayout> inputs;       // by name
  std::map<int, ManifestLayout> outputs;              // by number
  std::string where;                                  // "FILE: /entries/0/calls/1", for messages
};
bool SameCall(const ManifestCall& a, const ManifestCall& b);  // but for `where`

enum class ManifestSource { kFile, kText, kPython };

struct ManifestEntry {
  ManifestSource source = ManifestSource::kFile;
  std::string what;                                        // a path, graph text, or a Python entry
  std::vector<std::string> args;                           // of a Python entry
  std::map<std::string, std::vector<std::string>> dtypes;  // $NAME in texts and args becomes each
  std::optional<Numerics> numerics;                        // as Options; unset: the function's, or
  std::optional<bool> fuse, rewrite, use_gemm_library;     // the default
  std::optional<int64_t> max_fusions;
  std::optional<Dynamic> dynamic;
  std::vector<std::string> bound;  // inputs that are bound, by name
  std::vector<ManifestCall> calls;
  std::string where;
};
bool SameButCalls(const ManifestEntry& a, const ManifestEntry& b);  // and but for `where`

struct Manifest {
  std::vector<ManifestEntry> entries;
};

absl::StatusOr<Manifest> ParseManifest(std::string_view json, std::string_view file);
std::string ManifestToJson(const Manifest& manifest);

// `text` with each $NAME replaced by its dtype.
std::string WithDTypes(std::string_view text, const std::map<std::string, std::string>& dtypes);
// Each combination of the entry's dtypes; one without any where it has none.
std::vector<std::map<std::string, std::string>> DTypeCombinations(const ManifestEntry& entry);

}  // namespace jitfuse::internal

#endif  // JITFUSE_JIT_MANIFEST_H_
