#include "python/bindings/array_types.h"

#include <memory>
#include <string_view>
#include <vector>

#include "python/bindings/numpy_abi.h"

namespace jitfuse::python {
namespace {

constexpr std::size_t kMaxTypes = 256;

// The table of DLPack's major version 1 that the type offers; null if it has none.
const DLPackExchangeAPI* ExchangeOf(PyTypeObject* type) {
  auto* type_object = reinterpret_cast<PyObject*>(type);
  nb::object capsule = nb::steal(PyObject_GetAttrString(type_object, "__dlpack_c_exchange_api__"));
  if (!capsule.is_valid() || !PyCapsule_IsValid(capsule.ptr(), "dlpack_exchange_api")) {
    PyErr_Clear();
    return nullptr;
  }
  auto* header = static_cast<const DLPackExchangeAPIHeader*>(
      PyCapsule_GetPointer(capsule.ptr(), "dlpack_exchange_api"));
  while (header != nullptr && header->version.major != DLPACK_MAJOR_VERSION)
    header = header->prev_api;
  const auto* api = reinterpret_cast<const DLPackExchangeAPI*>(header);
  return api != nullptr && api->dltensor_from_py_object_no_sync != nullptr ? api : nullptr;
}

// Of a class that is defined in the library, or derived from one of its.
bool IsOf(PyTypeObject* type, std::string_view library) {
  for (nb::handle base :
       nb::borrow<nb::tuple>(nb::handle(reinterpret_cast<PyObject*>(type)).attr("__mro__"))) {
    const nb::object module = nb::getattr(base, "__module__", nb::none());
    if (nb::isinstance<nb::str>(module) &&
        nb::cast<std::string_view>(module).substr(0, library.size()) == library)
      return true;
  }
  return false;
}

// A tensor class of torch that is no plain tensor (a wrapper: DTensor, FakeTensor) has
// __torch_dispatch__ of its own; its memory is not its value.
bool IsTorchWrapper(PyTypeObject* type) {
  const nb::handle t(reinterpret_cast<PyObject*>(type));
  nb::object torch = nb::module_::import_("torch");
  return !nb::getattr(t, "__torch_dispatch__", nb::none())
              .is(nb::getattr(torch.attr("Tensor"), "__torch_dispatch__", nb::none()));
}

// They have the buffer protocol, but are numbers.
bool IsNumpyScalar(PyTypeObject* type) {
  nb::object generic = nb::module_::import_("numpy").attr("generic");
  return PyType_IsSubtype(type, reinterpret_cast<PyTypeObject*>(generic.ptr())) != 0;
}

bool IsMasked(PyTypeObject* type) {
  return PyObject_HasAttrString(reinterpret_cast<PyObject*>(type), "__array_finalize__") != 0 &&
         PyObject_HasAttrString(reinterpret_cast<PyObject*>(type), "harden_mask") != 0;
}

Nest NestOf(PyTypeObject* type, PyObject* object) {
  auto* type_object = reinterpret_cast<PyObject*>(type);
  if (PyTuple_Check(object) && PyObject_HasAttrString(type_object, "_fields") != 0)
    return Nest::kNamedTuple;
  if (PyDict_Check(object)) return Nest::kDict;
  return PyObject_HasAttrString(type_object, "__dataclass_fields__") != 0 ? Nest::kDataclass
                                                                          : Nest::kNone;
}

std::vector<nb::object> FieldsOf(PyTypeObject* type) {
  std::vector<nb::object> names;
  const nb::object fields = nb::module_::import_("dataclasses").attr("fields");
  for (nb::handle f : nb::iter(fields(nb::handle(reinterpret_cast<PyObject*>(type)))))
    names.push_back(f.attr("name"));
  return names;
}

TypeInfo Examine(PyTypeObject* type, PyObject* object) {
  TypeInfo info;
  info.type = type;
  info.nest = NestOf(type, object);
  if (info.nest == Nest::kDataclass) info.fields = FieldsOf(type);
  if (info.nest == Nest::kDict) {
    info.has_factory = PyObject_HasAttrString(object, "default_factory") != 0;
    info.has_attributes = PyObject_HasAttrString(object, "__dict__") != 0;
  }
  auto* type_object = reinterpret_cast<PyObject*>(type);
  if (info.nest != Nest::kNone && PyObject_HasAttrString(type_object, "__dlpack__") == 0)
    return info;
  const Numpy* numpy = LoadedNumpy();
  if (numpy != nullptr && PyType_IsSubtype(type, numpy->array_type)) {
    if (IsMasked(type))
      ThrowTypeError("arguments of type " + TypeName(object) +
                     " are not taken, since their mask would be lost; pass .filled(value)");
    info.family = Family::kNumpy;
    return info;
  }
  info.is_numpy_scalar = numpy != nullptr && IsNumpyScalar(type);
  if (info.is_numpy_scalar) return info;
  info.is_torch =
      PyObject_HasAttrString(type_object, "__torch_function__") != 0 && IsOf(type, "torch");
  if (info.is_torch && IsTorchWrapper(type))
    ThrowTypeError("arguments of type " + TypeName(object) +
                   " are not taken: what is in their memory is not their value; pass a plain "
                   "torch.Tensor (torch.export, make_fx and torch.fx cannot record a jitted "
                   "function)");
  info.api = ExchangeOf(type);
  if (info.api != nullptr) {
    info.family = Family::kExchange;
  } else if (PyObject_HasAttrString(type_object, "__dlpack__") != 0) {
    info.family = Family::kDLPack;
    info.is_cupy = IsOf(type, "cupy");
    info.is_jax = IsOf(type, "jax");
  } else if (PyObject_CheckBuffer(object) != 0 && !PyBytes_Check(object) &&
             !PyByteArray_Check(object)) {
    info.family = Family::kBuffer;
  }
  return info;
}

}  // namespace

const TypeInfo& TypeInfoOf(PyObject* object) {
  static const TypeInfo* last = nullptr;                             // guarded by the GIL, as
  static auto& types = *new std::vector<std::unique_ptr<TypeInfo>>;  // these
  // Never freed: it has Python objects, and a thread ends without the GIL.
  thread_local auto& beyond = *new TypeInfo;
  PyTypeObject* type = Py_TYPE(object);
  if (last != nullptr && last->type == type) return *last;
  for (const auto& info : types) {
    if (info->type == type) {
      last = info.get();
      return *last;
    }
  }
  TypeInfo info = Examine(type, object);
  // Those of arrays are few, and calls hold on to them.
  if (types.size() >= kMaxTypes && info.family == Family::kNone) return beyond = info;
  // A heap type is kept alive, so that no other takes its address.
  Py_INCREF(reinterpret_cast<PyObject*>(type));
  types.push_back(std::make_unique<TypeInfo>(info));
  last = types.back().get();
  return *last;
}

}  // namespace jitfuse::python
