#include "python/bindings/streams.h"

#include <string_view>

#include "python/bindings/errors.h"

namespace jitfuse::python {

void* CurrentStream(PyObject* array) {
  const nb::handle type(reinterpret_cast<PyObject*>(Py_TYPE(array)));
  const nb::object module = nb::getattr(type, "__module__", nb::str(""));
  if (!nb::isinstance<nb::str>(module) || nb::cast<std::string_view>(module).substr(0, 4) != "cupy")
    return nullptr;
  nb::object stream = nb::module_::import_("cupy").attr("cuda").attr("get_current_stream")();
  return reinterpret_cast<void*>(nb::cast<std::uintptr_t>(stream.attr("ptr")));
}

void* CurrentStream(const DLPackExchangeAPI& api, Device device) {
  void* stream = nullptr;
  if (device.kind != DeviceKind::kCuda) return stream;
  if (api.current_work_stream(kDLCUDA, device.index, &stream) != 0) ThrowCurrent();
  return stream;
}

}  // namespace jitfuse::python
