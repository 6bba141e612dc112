// The whole command `jitfuse`: run, explain, text, bench, cache and doctor, over the public API
// alone.
//
// In: a command line, and what traces Python functions (entry.h) where there is a Python to do it:
// the program has none, the Python package's command of the same name has. Prints to stdout; exit
// codes: 0 all went well; 1 anything failed, with one message on stderr; 2 the command line itself
// was wrong (usage is printed).
#ifndef JITFUSE_TOOLS_CLI_MAIN_H_
#define JITFUSE_TOOLS_CLI_MAIN_H_

#include "entry.h"

namespace jitfuse_cli {

int Main(int argc, const char* const* argv, const Tracer& tracer);

}  // namespace jitfuse_cli

#endif  // JITFUSE_TOOLS_CLI_MAIN_H_
