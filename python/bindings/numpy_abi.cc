#include "python/bindings/numpy_abi.h"

#include <iterator>
#include <memory>

#include "python/bindings/errors.h"

namespace jitfuse::python {
namespace {

// Positions in NumPy's function table.
enum Slot {
  kAbiVersion = 0,
  kArrayType = 2,
  kDescrFromType = 45,
  kNewFromDescr = 94,
  kSetBase = 282
};

// NPY_TYPES.
constexpr DType kTypes[] = {DType::kBool, DType::kI8,  DType::kU8,  DType::kI16, DType::kU16,
                            DType::kI32,  DType::kU32, DType::kI64, DType::kU64, DType::kI64,
                            DType::kU64,  DType::kF32, DType::kF64};
static_assert(sizeof(long) == 8, "NPY_LONG is taken for i64");
constexpr int kHalf = 23, kFirstUserType = 256;

int TypeNumOf(DType dtype) {
  if (dtype == DType::kF16) return kHalf;
  for (int i = 0; i < static_cast<int>(std::size(kTypes)); ++i) {
    if (kTypes[i] == dtype) return i;
  }
  return -1;
}

// Whether an array reads as NumPy itself says.
bool ReadsRight(const Numpy& numpy) {
  const Py_ssize_t dims[2] = {2, 3};
  PyObject* descr = numpy.descr_from_type(TypeNumOf(DType::kF32));
  if (descr == nullptr) return false;
  nb::object array = nb::steal(
      numpy.new_from_descr(numpy.array_type, descr, 2, dims, nullptr, nullptr, 0, nullptr));
  if (!array.is_valid()) return false;
  const auto* a = reinterpret_cast<const NumpyArray*>(array.ptr());
  const auto address = nb::cast<std::size_t>(array.attr("ctypes").attr("data"));
  return a->nd == 2 && a->dims[0] == 2 && a->dims[1] == 3 && a->strides[0] == 12 &&
         a->strides[1] == 4 && reinterpret_cast<std::size_t>(a->data) == address &&
         (a->flags & kNumpyWriteable) != 0 && (a->flags & kNumpyCContiguous) != 0 &&
         nb::cast<int>(array.attr("dtype").attr("num")) == a->descr->type_num &&
         DTypeOfNumpy(a->descr) == DType::kF32;
}

bool Fill(nb::handle module, Numpy* out) {
  nb::object capsule = module.attr("_ARRAY_API");
  auto** table = static_cast<void**>(PyCapsule_GetPointer(capsule.ptr(), nullptr));
  if (table == nullptr) throw nb::python_error();
  const unsigned version = reinterpret_cast<unsigned (*)()>(table[kAbiVersion])();
  if (version >> 24 != 1 && version >> 24 != 2) return false;
  out->array_type = static_cast<PyTypeObject*>(table[kArrayType]);
  // NOLINTBEGIN(bugprone-multi-level-implicit-pointer-conversion): the table holds functions so
  out->descr_from_type = reinterpret_cast<decltype(out->descr_from_type)>(table[kDescrFromType]);
  out->new_from_descr = reinterpret_cast<decltype(out->new_from_descr)>(table[kNewFromDescr]);
  out->set_base = reinterpret_cast<decltype(out->set_base)>(table[kSetBase]);
  // NOLINTEND(bugprone-multi-level-implicit-pointer-conversion)
  return ReadsRight(*out);
}

bool IsLoaded(const char* name) {
  PyObject* module = PyDict_GetItemString(PyImport_GetModuleDict(), name);
  return module != nullptr && module != Py_None;  // None: its import is forbidden
}

// Null where NumPy is one that is not known.
std::unique_ptr<Numpy> TryFill() {
  auto filled = std::make_unique<Numpy>();
  try {
    const char* name =
        IsLoaded("numpy._core") ? "numpy._core._multiarray_umath" : "numpy.core._multiarray_umath";
    if (Fill(nb::module_::import_(name), filled.get())) return filled;
  } catch (nb::python_error&) {
    return nullptr;  // the buffer protocol will do
  }
  return nullptr;
}

const Numpy* Load() {
  // Not a static's initialiser: its guard, held while an import gives up the GIL, would block
  // others.
  static const Numpy* numpy = nullptr;
  static bool done = false;
  if (done) return numpy;
  std::unique_ptr<Numpy> filled = TryFill();
  if (!done) numpy = filled.release();
  done = true;
  return numpy;
}

// ml_dtypes.bfloat16 and its descr; both null until NumPy arrays of it, or results, are met.
struct BFloat16 {
  int type_num = -1;
  PyObject* descr = nullptr;
};
BFloat16& Bf16() {
  static BFloat16 b;
  return b;
}

bool IsBFloat16(const NumpyDescr* descr) {
  if (descr->type_num == Bf16().type_num) return true;
  const nb::handle type(reinterpret_cast<PyObject*>(descr->typeobj));
  if (!nb::hasattr(type, "__name__")) return false;
  if (nb::cast<std::string_view>(type.attr("__name__")) != "bfloat16") return false;
  auto* mutable_descr = reinterpret_cast<PyObject*>(const_cast<NumpyDescr*>(descr));
  Bf16() = {descr->type_num, Py_NewRef(mutable_descr)};
  return true;
}

}  // namespace

const Numpy* LoadedNumpy() {
  static bool loaded = false;  // sys.modules keeps it
  if (!loaded && !IsLoaded("numpy")) return nullptr;
  loaded = true;
  return Load();
}

const Numpy* ImportNumpy() {
  if (!IsLoaded("numpy")) {
    PyObject* module = PyImport_ImportModule("numpy");
    if (module == nullptr) {
      PyErr_Clear();
      return nullptr;
    }
    Py_DECREF(module);
  }
  return LoadedNumpy();
}

std::optional<DType> DTypeOfNumpy(const NumpyDescr* descr) {
  if (descr->byteorder == '>') return std::nullopt;
  const int num = descr->type_num;
  if (num >= 0 && num < static_cast<int>(std::size(kTypes))) return kTypes[num];
  if (num == kHalf) return DType::kF16;
  if (num >= kFirstUserType && IsBFloat16(descr)) return DType::kBF16;
  return std::nullopt;
}

PyObject* NumpyDescrOf(const Numpy& numpy, DType dtype) {
  if (dtype != DType::kBF16) return numpy.descr_from_type(TypeNumOf(dtype));
  if (Bf16().descr == nullptr) {
    try {
      nb::object type = nb::module_::import_("ml_dtypes").attr("bfloat16");
      nb::object descr = nb::module_::import_("numpy").attr("dtype")(type);
      Bf16() = {reinterpret_cast<NumpyDescr*>(descr.ptr())->type_num, descr.release().ptr()};
    } catch (nb::python_error& e) {
      e.restore();
      PyErr_Clear();
      PyErr_SetString(PyExc_TypeError,
                      "NumPy has no bf16 of its own: a bf16 result needs the package ml_dtypes "
                      "(pip install ml_dtypes), or a cast to f32");
      return nullptr;
    }
  }
  return Py_NewRef(Bf16().descr);
}

}  // namespace jitfuse::python
