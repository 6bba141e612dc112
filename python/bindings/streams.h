// Which CUDA stream a framework works on. Jitfuse enqueues there and nowhere else.
//
// Untested where there is no GPU: torch's comes from its exchange table, CuPy's from cupy.cuda,
// others work on the legacy default stream.
#ifndef JITFUSE_PYTHON_BINDINGS_STREAMS_H_
#define JITFUSE_PYTHON_BINDINGS_STREAMS_H_

#include <Python.h>

#include <cstdint>

#include "jitfuse/array.h"
#include "python/bindings/array_types.h"

namespace jitfuse::python {

// Of the framework that an array of __dlpack__ belongs to.
void* CurrentStream(PyObject* array);
// Of the framework that has an exchange table.
void* CurrentStream(const DLPackExchangeAPI& api, Device device);
// As __dlpack__ wants it: the legacy default stream is 1.
inline std::uintptr_t StreamNumber(void* stream) {
  return stream == nullptr ? 1 : reinterpret_cast<std::uintptr_t>(stream);
}

}  // namespace jitfuse::python

#endif  // JITFUSE_PYTHON_BINDINGS_STREAMS_H_
