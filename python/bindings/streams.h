// Which CUDA stream a framework works on. Jitfuse enqueues there and nowhere else.
//
// torch's comes from its exchange table, CuPy's from cupy.cuda; what others work on nobody says,
// and the legacy default stream is taken.
#ifndef JITFUSE_PYTHON_BINDINGS_STREAMS_H_
#define JITFUSE_PYTHON_BINDINGS_STREAMS_H_

#include <Python.h>

#include <cstdint>

#include "jitfuse/array.h"
#include "python/bindings/array_types.h"

namespace jitfuse::python {

// Of the framework whose arrays are of this type, on this device; null on the CPU. Throws.
void* CurrentStream(const TypeInfo& type, Device device);
// As __dlpack__ wants it: the legacy default stream is 1.
inline std::uintptr_t StreamNumber(void* stream) {
  return stream == nullptr ? 1 : reinterpret_cast<std::uintptr_t>(stream);
}

}  // namespace jitfuse::python

#endif  // JITFUSE_PYTHON_BINDINGS_STREAMS_H_
