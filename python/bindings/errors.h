// How the C++ API's statuses become Python exceptions.
//
// Inside the bindings an error is a nanobind::python_error that is thrown; nanobind turns it back
// into Python's at its borders, GuardedCall does so in the slots that are written by hand.
//   kInvalidArgument, kOutOfRange  ValueError          kUnimplemented      NotImplementedError
//   kResourceExhausted             MemoryError         all others          RuntimeError
// TypeErrors are made by the bindings themselves: what is passed has no such type or dtype.
#ifndef JITFUSE_PYTHON_BINDINGS_ERRORS_H_
#define JITFUSE_PYTHON_BINDINGS_ERRORS_H_

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>       // here, so that no source is without these casters:
#include <nanobind/stl/string_view.h>  // one would break the others

#include <exception>
#include <new>
#include <string>
#include <utility>

#include "jitfuse/status.h"

namespace jitfuse::python {

namespace nb = nanobind;

[[noreturn]] void Throw(PyObject* type, const std::string& message);
[[noreturn]] void ThrowTypeError(const std::string& message);
[[noreturn]] void ThrowValueError(const std::string& message);
[[noreturn]] void ThrowStatus(const Status& status);
// Throws the Python error that is set.
[[noreturn]] void ThrowCurrent();

inline void Check(const Status& status) {
  if (!status.ok()) [[unlikely]]
    ThrowStatus(status);
}
template <typename T>
T Check(StatusOr<T> value) {
  if (!value.ok()) [[unlikely]]
    ThrowStatus(value.status());
  return *std::move(value);
}
// A new reference, or the Python error.
inline PyObject* CheckNew(PyObject* object) {
  if (object == nullptr) [[unlikely]]
    ThrowCurrent();
  return object;
}

// "numpy.ndarray", "list".
std::string TypeName(PyObject* object);

std::string TextOf(nb::handle object);             // str(object)
std::string MessageOf(const nb::python_error& e);  // "RuntimeError: no memory", without the trace

// What `body` returns; where it throws, the error is set for Python and null comes back.
template <typename Body>
PyObject* GuardedCall(Body body) noexcept {
  try {
    return body();
  } catch (nb::python_error& e) {
    e.restore();
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& e) {
    PyErr_SetString(PyExc_RuntimeError, e.what());
  }
  return nullptr;
}

}  // namespace jitfuse::python

#endif  // JITFUSE_PYTHON_BINDINGS_ERRORS_H_
