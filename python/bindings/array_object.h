// _core.Array: an owned array that Python can hold, for results where no framework is at hand and
// as the keeper of memory that NumPy arrays show.
//
// It has the buffer protocol on the CPU, __dlpack__ and __dlpack_device__ everywhere.
#ifndef JITFUSE_PYTHON_BINDINGS_ARRAY_OBJECT_H_
#define JITFUSE_PYTHON_BINDINGS_ARRAY_OBJECT_H_

#include <nanobind/nanobind.h>

#include "jitfuse/array.h"

namespace jitfuse::python {

void DefineArray(nanobind::module_& m);
PyObject* NewArrayObject(Array array);  // a new reference

}  // namespace jitfuse::python

#endif  // JITFUSE_PYTHON_BINDINGS_ARRAY_OBJECT_H_
