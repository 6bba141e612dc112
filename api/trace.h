// Traces: when the process compiled, loaded and launched what (docs/trace.md).
//
// A file in Chrome's trace format, which Perfetto (ui.perfetto.dev) shows: stages of compiling,
// calls and launches by thread, and what a GPU did when. JITFUSE_TRACE=FILE starts one with the
// first function that is made and ends it with the process; these functions do it by hand. A traced
// call is slower than others; while there is no trace, calls cost nothing more. Safe to call from
// any thread. The child of a fork() writes to PATH.<pid>.
#ifndef JITFUSE_API_TRACE_H_
#define JITFUSE_API_TRACE_H_

#include <string>

#include "status.h"

namespace jitfuse {
inline namespace v1 {

// Creates or empties the file; "%p" in its path becomes the number of the process. An error if it
// cannot be written, or another trace has not been stopped.
Status StartTrace(const std::string& path);
// Waits for GPUs that have traced work to do, and closes the file. An error if there is no trace,
// or if not all of it could be written.
Status StopTrace();

}  // namespace v1
}  // namespace jitfuse

#endif  // JITFUSE_API_TRACE_H_
