#include "python/bindings/streams.h"

#include "python/bindings/errors.h"

namespace jitfuse::python {

void* CurrentStream(const TypeInfo& type, Device device) {
  void* stream = nullptr;
  if (device.kind != DeviceKind::kCuda) return stream;
  if (type.api != nullptr) {
    if (type.api->current_work_stream(kDLCUDA, device.index, &stream) != 0) ThrowCurrent();
  } else if (type.is_cupy) {
    static PyObject* get = nullptr;  // guarded by the GIL
    if (get == nullptr)
      get = nb::object(nb::module_::import_("cupy").attr("cuda").attr("get_current_stream"))
                .release()
                .ptr();
    static PyObject* const ptr = PyUnicode_InternFromString("ptr");
    nb::object current = nb::steal(CheckNew(PyObject_CallNoArgs(get)));
    nb::object number = nb::steal(CheckNew(PyObject_GetAttr(current.ptr(), ptr)));
    stream = PyLong_AsVoidPtr(number.ptr());
    if (stream == nullptr && PyErr_Occurred() != nullptr) ThrowCurrent();
  }
  return stream;
}

}  // namespace jitfuse::python
