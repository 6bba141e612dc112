#include "python/bindings/array_object.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "jitfuse/context.h"
#include "jitfuse/dlpack.h"
#include "python/bindings/borrow.h"
#include "python/bindings/errors.h"
#include "python/bindings/results.h"

namespace jitfuse::python {
namespace {

// struct's format characters, by DType; bf16 has none.
constexpr const char* kFormats[] = {"?", "B", "H", "I", "Q", "b", "h", "i", "q", "e", "", "f", "d"};

struct Held {
  Array array;
};

// What a buffer's view points into.
struct ViewShape {
  std::vector<Py_ssize_t> dims, strides;
};

void FillBuffer(PyObject* self, Py_buffer* view) {
  const Array& a = nb::inst_ptr<Held>(nb::handle(self))->array;
  if (a.device().kind != DeviceKind::kCpu)
    Throw(PyExc_BufferError, "the array is on a GPU: it has no buffer; use __dlpack__");
  const char* format = kFormats[static_cast<int>(a.dtype())];
  if (format[0] == 0)
    Throw(PyExc_BufferError,
          std::string("buffers have no format for ") + DTypeName(a.dtype()) + "; use __dlpack__");
  auto shape = std::make_unique<ViewShape>();
  Py_ssize_t bytes = ItemSize(a.dtype());
  view->itemsize = bytes;
  shape->dims.assign(a.dims().begin(), a.dims().end());
  shape->strides.resize(shape->dims.size());
  for (std::size_t d = shape->dims.size(); d > 0; --d) {
    shape->strides[d - 1] = bytes;
    bytes *= shape->dims[d - 1];
  }
  view->buf = a.data();
  view->len = bytes;
  view->readonly = 0;
  view->format = const_cast<char*>(format);
  view->ndim = static_cast<int>(shape->dims.size());
  view->shape = shape->dims.data();
  view->strides = shape->strides.data();
  view->suboffsets = nullptr;
  view->internal = shape.release();
  view->obj = Py_NewRef(self);
}

int GetBuffer(PyObject* self, Py_buffer* view, int) {
  view->obj = nullptr;
  const auto fill = [&]() -> PyObject* {
    FillBuffer(self, view);
    return self;
  };
  return GuardedCall(fill) == nullptr ? -1 : 0;
}

void ReleaseBuffer(PyObject*, Py_buffer* view) { delete static_cast<ViewShape*>(view->internal); }

template <typename Managed>
nb::object Capsule(Managed* managed, const char* name) {
  PyObject* capsule = PyCapsule_New(managed, name, [](PyObject* c) {
    const char* now = PyCapsule_GetName(c);
    if (now == nullptr || std::string_view(now).substr(0, 4) == "used") return;
    auto* m = static_cast<Managed*>(PyCapsule_GetPointer(c, now));
    if (m != nullptr && m->deleter != nullptr) m->deleter(m);
  });
  if (capsule == nullptr) managed->deleter(managed);
  return nb::steal(CheckNew(capsule));
}

nb::object DLPack(const Held& held, nb::handle /*stream*/, nb::handle max_version,
                  nb::handle dl_device, nb::handle copy) {
  const Device own = held.array.device();
  bool elsewhere = false;
  if (!dl_device.is_none()) {
    const int kind = nb::cast<int>(nb::int_(dl_device[nb::int_(0)]));
    const int index = nb::cast<int>(nb::int_(dl_device[nb::int_(1)]));
    elsewhere =
        kind != (own.kind == DeviceKind::kCuda ? int{kDLCUDA} : int{kDLCPU}) || index != own.index;
  }
  if (elsewhere || (!copy.is_none() && nb::cast<bool>(copy)))
    Throw(PyExc_BufferError, "jitfuse's arrays export neither copies nor to another device");
  // Work on the array was enqueued on its framework's stream; another must not run ahead.
  if (held.array.device().kind == DeviceKind::kCuda) Check(Synchronize(DeviceKind::kCuda));
  const bool versioned =
      !max_version.is_none() && nb::cast<int>(nb::int_(max_version[nb::int_(0)])) >= 1;
  if (versioned) return Capsule(ExportVersioned(held.array), "dltensor_versioned");
  return Capsule(Check(ToDLPack(held.array)), "dltensor");
}

}  // namespace

PyObject* NewArrayObject(Array array) { return nb::cast(Held{std::move(array)}).release().ptr(); }

void DefineArray(nb::module_& m) {
  static PyType_Slot slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(GetBuffer)},
                                {Py_bf_releasebuffer, reinterpret_cast<void*>(ReleaseBuffer)},
                                {0, nullptr}};
  nb::class_<Held>(m, "Array", nb::type_slots(slots),
                   "An array that Jitfuse owns. numpy.asarray, torch.from_dlpack and memoryview "
                   "take it without a copy.")
      .def("__dlpack__", DLPack, nb::kw_only(), nb::arg("stream") = nb::none(),
           nb::arg("max_version") = nb::none(), nb::arg("dl_device") = nb::none(),
           nb::arg("copy") = nb::none(),
           nb::sig(
               "def __dlpack__(self, *, stream: typing.Any = None, max_version: typing.Any = None, "
               "dl_device: typing.Any = None, copy: bool | None = None) -> typing.Any"))
      .def(
          "__dlpack_device__",
          [](const Held& h) {
            const Device d = h.array.device();
            return nb::make_tuple(d.kind == DeviceKind::kCuda ? int{kDLCUDA} : int{kDLCPU},
                                  d.index);
          },
          nb::sig("def __dlpack_device__(self) -> tuple[int, int]"))
      .def_prop_ro(
          "shape",
          [](const Held& h) {
            nb::list out;
            for (std::int64_t d : h.array.dims()) out.append(d);
            return nb::tuple(out);
          },
          nb::sig("def shape(self) -> tuple[int, ...]"))
      .def_prop_ro("dtype", [](const Held& h) { return std::string(DTypeName(h.array.dtype())); })
      .def("__repr__",
           [](const Held& h) { return "<jitfuse._core.Array " + Describe(h.array) + ">"; });
}

}  // namespace jitfuse::python
