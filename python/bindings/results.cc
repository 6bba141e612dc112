#include "python/bindings/results.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "python/bindings/array_object.h"
#include "python/bindings/errors.h"
#include "python/bindings/numpy_abi.h"

namespace jitfuse::python {
namespace {

// The tensor that is handed on, and what it points into.
struct Export {
  DLManagedTensorVersioned managed;
  Array array;
  std::int64_t strides[8];
};

PyObject* WrapNumpy(const Numpy& numpy, Array array) {
  PyObject* descr = CheckNew(NumpyDescrOf(numpy, array.dtype()));
  const std::vector<std::int64_t>& dims = array.dims();
  static_assert(sizeof(Py_ssize_t) == sizeof(std::int64_t));
  const auto rank = static_cast<int>(dims.size());
  const auto* shape = reinterpret_cast<const Py_ssize_t*>(dims.data());
  void* data = array.data();
  if (data == nullptr)  // an empty result: memory of NumPy's own
    return CheckNew(
        numpy.new_from_descr(numpy.array_type, descr, rank, shape, nullptr, nullptr, 0, nullptr));
  nb::object out = nb::steal(
      CheckNew(numpy.new_from_descr(numpy.array_type, descr, rank, shape, nullptr, data,
                                    kNumpyCContiguous | kNumpyAligned | kNumpyWriteable, nullptr)));
  PyObject* base = NewArrayObject(std::move(array));
  if (numpy.set_base(out.ptr(), base) != 0) ThrowCurrent();
  return out.release().ptr();
}

// Of frameworks without a table: their module's from_dlpack.
PyObject* WrapDLPack(Array array, PyObject* like) {
  const nb::handle type(reinterpret_cast<PyObject*>(Py_TYPE(like)));
  nb::object exported = nb::steal(NewArrayObject(std::move(array)));
  nb::object space;
  if (nb::hasattr(nb::handle(like), "__array_namespace__"))
    space = nb::handle(like).attr("__array_namespace__")();
  else
    space = nb::module_::import_(nb::cast<nb::str>(type.attr("__module__")).c_str());
  if (!nb::hasattr(space, "from_dlpack")) return exported.release().ptr();
  return space.attr("from_dlpack")(exported).release().ptr();
}

}  // namespace

DLDataType DLTypeOf(DType dtype) {
  const auto bits = static_cast<std::uint8_t>(8 * ItemSize(dtype));
  switch (dtype) {
    case DType::kBool:
      return {kDLBool, bits, 1};
    case DType::kBF16:
      return {kDLBfloat, bits, 1};
    case DType::kF16:
    case DType::kF32:
    case DType::kF64:
      return {kDLFloat, bits, 1};
    case DType::kI8:
    case DType::kI16:
    case DType::kI32:
    case DType::kI64:
      return {kDLInt, bits, 1};
    default:
      return {kDLUInt, bits, 1};
  }
}

DLManagedTensorVersioned* ExportVersioned(Array array) {
  auto out = std::make_unique<Export>();
  out->array = std::move(array);
  const Array& a = out->array;
  const std::vector<std::int64_t>& dims = a.dims();
  std::int64_t dense = 1;
  for (std::size_t d = dims.size(); d-- > 0;) {
    out->strides[d] = a.strides().empty() ? dense : a.strides()[d];
    dense *= dims[d];
  }
  out->managed = {};
  out->managed.version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
  out->managed.manager_ctx = out.get();
  out->managed.deleter = [](DLManagedTensorVersioned* self) {
    delete static_cast<Export*>(self->manager_ctx);
  };
  DLTensor& t = out->managed.dl_tensor;
  t.data = a.data();
  t.device = {a.device().kind == DeviceKind::kCuda ? kDLCUDA : kDLCPU, a.device().index};
  t.ndim = static_cast<int>(dims.size());
  t.dtype = DLTypeOf(a.dtype());
  t.shape = const_cast<std::int64_t*>(dims.data());
  t.strides = out->strides;
  return &out.release()->managed;
}

PyObject* WrapResult(Array array, const TypeInfo* type, PyObject* like) {
  const Family family = type == nullptr ? Family::kNone : type->family;
  if (family == Family::kExchange) {
    void* out = nullptr;
    if (type->api->managed_tensor_to_py_object_no_sync(ExportVersioned(std::move(array)), &out) !=
        0)
      ThrowCurrent();
    return static_cast<PyObject*>(out);
  }
  if (family == Family::kDLPack) return WrapDLPack(std::move(array), like);
  const bool on_gpu = array.device().kind == DeviceKind::kCuda;
  const Numpy* numpy = on_gpu ? nullptr : family == Family::kNumpy ? LoadedNumpy() : ImportNumpy();
  return numpy == nullptr ? NewArrayObject(std::move(array)) : WrapNumpy(*numpy, std::move(array));
}

}  // namespace jitfuse::python
