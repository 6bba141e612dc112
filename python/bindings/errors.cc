#include "python/bindings/errors.h"

namespace jitfuse::python {
namespace {

PyObject* TypeOf(StatusCode code) {
  switch (code) {
    case StatusCode::kInvalidArgument:
    case StatusCode::kOutOfRange:
      return PyExc_ValueError;
    case StatusCode::kUnimplemented:
      return PyExc_NotImplementedError;
    case StatusCode::kResourceExhausted:
      return PyExc_MemoryError;
    default:
      return PyExc_RuntimeError;
  }
}

}  // namespace

void ThrowCurrent() { throw nb::python_error(); }

void Throw(PyObject* type, const std::string& message) {
  // Names of files need not be UTF-8.
  PyObject* text = PyUnicode_DecodeUTF8(message.data(), static_cast<Py_ssize_t>(message.size()),
                                        "backslashreplace");
  if (text != nullptr) PyErr_SetObject(type, text);
  Py_XDECREF(text);
  ThrowCurrent();
}

void ThrowTypeError(const std::string& message) { Throw(PyExc_TypeError, message); }
void ThrowValueError(const std::string& message) { Throw(PyExc_ValueError, message); }
void ThrowStatus(const Status& status) { Throw(TypeOf(status.code()), status.message()); }

std::string TextOf(nb::handle object) {
  return nb::cast<std::string>(nb::steal(CheckNew(PyObject_Str(object.ptr()))));
}

std::string MessageOf(const nb::python_error& e) {
  return TextOf(e.type().attr("__name__")) + ": " + TextOf(e.value());
}

std::string TypeName(PyObject* object) {
  const nb::handle type(reinterpret_cast<PyObject*>(Py_TYPE(object)));
  std::string module = TextOf(nb::getattr(type, "__module__", nb::str("")));
  const std::string name = TextOf(nb::getattr(type, "__qualname__"));
  return module.empty() || module == "builtins" ? name : module + "." + name;
}

}  // namespace jitfuse::python
