// Recorder: what a process compiles, as a manifest (jit/manifest.h).
//
// With JITFUSE_RECORD=FILE each class of calls that becomes an executable is added to that file,
// whether its kernels were compiled or found: its graph, options, sizes and layouts, so that a
// pre-cached layer made of the file has all its kernels. The file grows: several runs, processes
// and threads add to one, each entry once; it is replaced as a whole, so that a process that is
// killed leaves it whole. A file that is no manifest, or a link, is left as it is. What goes wrong
// is warned of once and never fails a call. Must not know: back ends, kernels.
#ifndef JITFUSE_JIT_RECORDER_H_
#define JITFUSE_JIT_RECORDER_H_

#include <string>

#include "absl/status/status.h"
#include "ir/graph.h"
#include "ir/options.h"
#include "jit/call_class.h"
#include "jit/manifest.h"

namespace jitfuse::internal {

// If JITFUSE_RECORD is set.
void RecordClass(const Graph& graph, const CallClass& cls, const Options& options);

// Adds what `more` has and the file has not.
absl::Status AddToManifest(const std::string& path, const ManifestEntry& more);

}  // namespace jitfuse::internal

#endif  // JITFUSE_JIT_RECORDER_H_
