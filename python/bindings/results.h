// Results of a call as Python arrays of the kind that went in.
//
// In: an owned, contiguous jitfuse::Array and a TypeInfo (null or kBuffer: NumPy where it can be
// imported, else _core.Array). Out: a new reference; the Python array keeps the memory. All of it
// needs the GIL.
#ifndef JITFUSE_PYTHON_BINDINGS_RESULTS_H_
#define JITFUSE_PYTHON_BINDINGS_RESULTS_H_

#include <Python.h>

#include "dlpack/dlpack.h"
#include "jitfuse/array.h"
#include "python/bindings/array_types.h"

namespace jitfuse::python {

// `like` is an array of the kind that is wanted, for its framework's from_dlpack.
PyObject* WrapResult(Array array, const TypeInfo* type, PyObject* like);

DLDataType DLTypeOf(DType dtype);
// The array as DLPack hands it on, versioned and not; the caller calls ->deleter.
DLManagedTensorVersioned* ExportVersioned(Array array);

}  // namespace jitfuse::python

#endif  // JITFUSE_PYTHON_BINDINGS_RESULTS_H_
