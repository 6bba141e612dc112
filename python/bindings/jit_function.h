// _core.JitFunction: the front of a jitted Python function, so that a warm call does no Python
// work.
//
// A Python class derives from it and has the method _call_slow(*args, **kwargs), which finds or
// makes the compiled function, calls it, and tells this front of it with jit_add. From then on a
// call whose key (call_key.h) and sizes fit goes straight to the compiled function. What it does
// not know goes to _call_slow. `out=` is taken here.
#ifndef JITFUSE_PYTHON_BINDINGS_JIT_FUNCTION_H_
#define JITFUSE_PYTHON_BINDINGS_JIT_FUNCTION_H_

#include <nanobind/nanobind.h>

namespace jitfuse::python {

void DefineJitFunction(nanobind::module_& m);

}  // namespace jitfuse::python

#endif  // JITFUSE_PYTHON_BINDINGS_JIT_FUNCTION_H_
