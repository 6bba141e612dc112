// _core.command: the whole command `jitfuse` (tools/cli/main.h) with Python functions as graphs.
//
// A Python callable (jitfuse._command) traces them: it gets entry, arguments, sizes of --set and
// the size of symbols without one, and gives a dict: text, symbols, given (arrays by input),
// options (keywords of jit) or, where it failed, error and usage (true: the command line is wrong).
#ifndef JITFUSE_PYTHON_BINDINGS_COMMAND_H_
#define JITFUSE_PYTHON_BINDINGS_COMMAND_H_

#include <nanobind/nanobind.h>

namespace jitfuse::python {

void DefineCommand(nanobind::module_& m);

}  // namespace jitfuse::python

#endif  // JITFUSE_PYTHON_BINDINGS_COMMAND_H_
