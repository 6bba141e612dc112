// Dump points and log: what each pass produced, on request, never silently in the way.
//
// In: the name of a point (kDumpPoints lists them all), a stem that tells things apart, the text.
// Out: when JITFUSE_DUMP names the point ("graph,cuda" or "all"), the text goes to stderr, or, when
// JITFUSE_DUMP_DIR is set, to DIR/jitfuse_<pid>_<serial>_<stem>.<point>. WriteDump always writes a
// file (used for sources that failed to compile). Log writes to the sink (stderr by default) when
// JITFUSE_LOG or SetLogLevel is at least `level` (1..3); level 0 are warnings, which always are
// written. A dump that cannot be written to JITFUSE_DUMP_DIR is warned of once. Thread-safe.
#ifndef JITFUSE_IR_SUPPORT_DUMP_H_
#define JITFUSE_IR_SUPPORT_DUMP_H_

#include <functional>
#include <string>
#include <string_view>

namespace jitfuse::internal {

inline constexpr std::string_view kDumpPoints =
    "graph,expand,rewrite,groups,memory,plan,cuda,llvm,ptx,sass,cache";

bool DumpEnabled(std::string_view point);
void Dump(std::string_view point, std::string_view stem, std::string_view text);
// Writes `text` to a new file in JITFUSE_DUMP_DIR (else the temporary folder) that its owner alone
// may read, never through a link or over what is there; returns its path, or "" if none could be
// written.
std::string WriteDump(std::string_view stem, std::string_view extension, std::string_view text);

using LogSink = std::function<void(int level, std::string_view message)>;
void SetLogSink(LogSink sink);  // an empty sink restores stderr
void SetLogLevel(int level);    // -1: as JITFUSE_LOG says
bool LogEnabled(int level);
void Log(int level, std::string_view message);
// At level 0, the first time (of the first 64 warnings).
void WarnOnce(std::string_view message);

}  // namespace jitfuse::internal

#endif  // JITFUSE_IR_SUPPORT_DUMP_H_
