#include "python/bindings/borrow.h"

#include <cmath>
#include <memory>
#include <optional>
#include <typeinfo>
#include <utility>
#include <vector>

#include "jitfuse/dlpack.h"
#include "python/bindings/errors.h"
#include "python/bindings/numpy_abi.h"
#include "python/bindings/streams.h"
#include "python/bindings/torch_cxx.h"
#include "python/bindings/torch_state.h"

namespace jitfuse::python {

using nb::literals::operator""_a;

namespace {

constexpr int kMaxRank = 8;
using Dims = std::vector<std::int64_t>;

// Strides in elements, or none where they are those of a contiguous array; nullopt where one is
// no multiple of the item's size.
std::optional<Dims> StridesOf(const Py_ssize_t* dims, const Py_ssize_t* bytes, int rank,
                              Py_ssize_t item) {
  Dims out(static_cast<std::size_t>(rank));
  Py_ssize_t dense = item;
  bool contiguous = true;
  for (int d = rank - 1; d >= 0; --d) {
    if (bytes[d] % item != 0 && dims[d] > 1) return std::nullopt;
    out[static_cast<std::size_t>(d)] = bytes[d] / item;
    contiguous = contiguous && (dims[d] == 1 || bytes[d] == dense);
    dense *= dims[d];
  }
  if (contiguous) out.clear();
  return out;
}

void CheckRank(int rank, const ArgName& what) {
  if (rank > kMaxRank)
    ThrowValueError(what.Text() + ": expected a rank of 0 to " + std::to_string(kMaxRank) +
                    ", got " + std::to_string(rank));
}

[[noreturn]] void ThrowDType(const ArgName& what, const std::string& got) {
  ThrowTypeError(what.Text() + ": expected a dtype of bool, u8 to u64, i8 to i64, f16, bf16, f32 " +
                 "or f64 in the machine's byte order, got " + got);
}

Loan BorrowNumpy(PyObject* object, const TypeInfo& type, const ArgName& what, Array* array) {
  const auto* a = reinterpret_cast<const NumpyArray*>(object);
  const std::optional<DType> dtype = DTypeOfNumpy(a->descr);
  if (!dtype) ThrowDType(what, TextOf(nb::handle(object).attr("dtype")));
  CheckRank(a->nd, what);
  Loan out;
  out.type = &type;
  out.readonly = (a->flags & kNumpyWriteable) == 0;
  std::optional<Dims> strides;
  if ((a->flags & kNumpyCContiguous) == 0) {
    strides = StridesOf(a->dims, a->strides, a->nd, ItemSize(*dtype));
    if (!strides)
      ThrowValueError(what.Text() + ": its strides are no multiples of its item size; copy it");
  }
  if ((a->flags & kNumpyAligned) == 0)
    ThrowValueError(what.Text() + ": its data is not aligned to its item size; copy it");
  const bool strided = strides.has_value() && !strides->empty();
  array->ResetView(a->data, *dtype, a->nd, a->dims, strided ? strides->data() : nullptr);
  return out;
}

std::string DLTypeText(const DLDataType& t) {
  return "DLPack type code " + std::to_string(t.code) + " of " + std::to_string(t.bits) +
         " bits, " + std::to_string(t.lanes) + " lanes";
}

std::optional<DType> DTypeOfDLPack(const DLDataType& t) {
  if (t.lanes != 1) return std::nullopt;
  const auto by_bits = [&](DType b8, DType b16, DType b32, DType b64) -> std::optional<DType> {
    switch (t.bits) {
      case 8:
        return b8;
      case 16:
        return b16;
      case 32:
        return b32;
      case 64:
        return b64;
      default:
        return std::nullopt;
    }
  };
  switch (t.code) {
    case kDLBool:
      return t.bits == 8 ? std::optional<DType>(DType::kBool) : std::nullopt;
    case kDLInt:
      return by_bits(DType::kI8, DType::kI16, DType::kI32, DType::kI64);
    case kDLUInt:
      return by_bits(DType::kU8, DType::kU16, DType::kU32, DType::kU64);
    case kDLBfloat:
      return t.bits == 16 ? std::optional<DType>(DType::kBF16) : std::nullopt;
    case kDLFloat:
      if (t.bits == 16) return DType::kF16;
      if (t.bits == 32) return DType::kF32;
      if (t.bits == 64) return DType::kF64;
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

Device DeviceOf(const DLDevice& device, const ArgName& what) {
  switch (device.device_type) {
    case kDLCPU:
    case kDLCUDAHost:
      return {DeviceKind::kCpu, 0};
    case kDLCUDA:
    case kDLCUDAManaged:
      return {DeviceKind::kCuda, device.device_id};
    default:
      ThrowValueError(what.Text() + ": expected an array on the CPU or a CUDA device, got one on " +
                      "DLPack device type " + std::to_string(device.device_type));
  }
}

// The tensor is checked as far as its producer may be wrong.
void SetArray(const DLTensor& t, const ArgName& what, Array* array) {
  const std::optional<DType> dtype = DTypeOfDLPack(t.dtype);
  if (!dtype) ThrowDType(what, DLTypeText(t.dtype));
  const Device device = DeviceOf(t.device, what);
  CheckRank(t.ndim, what);
  bool contiguous = true;
  std::int64_t dense = 1;
  for (int d = t.ndim - 1; d >= 0 && t.strides != nullptr; --d) {
    contiguous = contiguous && (t.shape[d] == 1 || t.strides[d] == dense);
    dense *= t.shape[d];
  }
  void* data = t.data == nullptr ? nullptr : static_cast<char*>(t.data) + t.byte_offset;
  array->ResetView(data, *dtype, t.ndim, t.shape, contiguous ? nullptr : t.strides, device);
}

void CheckNotNegative(PyObject* object, const ArgName& what) {
  if (IsNegative(object)) [[unlikely]]
    ThrowValueError(what.Text() + ": its negative bit is set (is_neg()), so that its memory is " +
                    "not its value; pass .resolve_neg()");
}

Loan BorrowExchange(PyObject* object, const TypeInfo& type, const ArgName& what, Array* array) {
  DLTensor t;
  const bool lent = type.is_torch && LendTensor(object, &t);
  if (!lent && type.api->dltensor_from_py_object_no_sync(object, &t) != 0) {
    nb::python_error error;
    if (type.is_torch) CheckNotTransformed(object, what.Text());
    const std::string message = MessageOf(error);  // torch's goes on with frames of C++
    ThrowTypeError(what.Text() + ": expected a dense tensor with memory of its own, got a " +
                   TypeName(object) +
                   " that cannot be borrowed: " + message.substr(0, message.find('\n')));
  }
  SetArray(t, what, array);
  if (type.is_torch && t.data == nullptr && array->num_elements() > 0)
    CheckNotTransformed(object, what.Text());
  if (type.is_torch && !lent) CheckNotNegative(object, what);
  Loan out;
  out.type = &type;
  return out;
}

// The tensor of a capsule, which is then used up; `owner` frees it.
template <typename Managed>
const DLTensor& TakeCapsule(PyObject* capsule, const char* name, const char* used,
                            std::shared_ptr<void>* owner) {
  auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, name));
  if (managed == nullptr || PyCapsule_SetName(capsule, used) != 0) ThrowCurrent();
  owner->reset(managed, [](Managed* m) {
    if (m->deleter != nullptr) m->deleter(m);
  });
  return managed->dl_tensor;
}

// The capsule that __dlpack__ gives for work on `stream` (None on the CPU); producers from before
// DLPack 1.0 know no max_version. JAX's, where it cannot make a stream wait, are waited for.
nb::object CallDLPack(nb::handle object, nb::handle stream) {
  nb::object method = object.attr("__dlpack__");
  try {
    return stream.is_none() ? method("max_version"_a = nb::make_tuple(1, 0))
                            : method("stream"_a = stream, "max_version"_a = nb::make_tuple(1, 0));
  } catch (nb::python_error& e) {
    if (!e.matches(PyExc_TypeError)) {
      if (!e.matches(PyExc_Exception) || stream.is_none() ||
          !nb::hasattr(object, "block_until_ready"))
        throw;
      object.attr("block_until_ready")();
      return method("max_version"_a = nb::make_tuple(1, 0));
    }
  }
  return stream.is_none() ? method() : method("stream"_a = stream);
}

Loan BorrowDLPack(PyObject* object, const TypeInfo& type, const ArgName& what, Array* array) {
  if (type.is_torch) CheckNotNegative(object, what);
  Loan out;
  out.type = &type;
  std::shared_ptr<void> owner;
  try {
    nb::tuple device(nb::handle(object).attr("__dlpack_device__")());
    const int kind = nb::cast<int>(nb::int_(device[0]));
    const bool on_gpu = kind == kDLCUDA || kind == kDLCUDAManaged;
    nb::object stream = nb::none();
    if (on_gpu) {
      const Device at = {DeviceKind::kCuda, nb::cast<int>(nb::int_(device[1]))};
      stream = nb::int_(StreamNumber(CurrentStream(type, at)));
    }
    nb::object capsule = CallDLPack(object, stream);
    if (PyCapsule_IsValid(capsule.ptr(), "dltensor_versioned")) {
      SetArray(TakeCapsule<DLManagedTensorVersioned>(capsule.ptr(), "dltensor_versioned",
                                                     "used_dltensor_versioned", &owner),
               what, array);
      const auto* managed = static_cast<const DLManagedTensorVersioned*>(owner.get());
      if (managed->version.major != DLPACK_MAJOR_VERSION)
        ThrowTypeError(what.Text() + ": expected DLPack 1, got " +
                       std::to_string(managed->version.major));
      out.readonly = (managed->flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0;
    } else {
      SetArray(TakeCapsule<DLManagedTensor>(capsule.ptr(), "dltensor", "used_dltensor", &owner),
               what, array);
    }
  } catch (nb::python_error& e) {
    if (!e.matches(PyExc_Exception)) throw;  // KeyboardInterrupt and its like
    const std::string message = MessageOf(e);
    if (message.find(what.Text()) != std::string::npos) throw;  // one of those above
    ThrowTypeError(what.Text() + ": cannot be borrowed: " + message);
  } catch (const std::bad_cast&) {
    ThrowTypeError(what.Text() + ": its __dlpack_device__ gives no pair of ints");
  }
  out.owner = std::move(owner);
  return out;
}

// The dtype of struct's format characters; nullopt if Jitfuse has none such.
std::optional<DType> DTypeOfFormat(const char* format, Py_ssize_t item) {
  if (format == nullptr) return DType::kU8;
  std::string_view f = format;
  if (!f.empty() && (f[0] == '@' || f[0] == '=' || f[0] == '<')) f.remove_prefix(1);
  if (f.size() != 1) return std::nullopt;
  const bool is_signed = std::string_view("bhilqn").find(f[0]) != std::string_view::npos;
  const bool is_unsigned = std::string_view("BHILQN").find(f[0]) != std::string_view::npos;
  const auto bits = static_cast<std::uint8_t>(8 * item);
  if (is_signed) return DTypeOfDLPack({kDLInt, bits, 1});
  if (is_unsigned) return DTypeOfDLPack({kDLUInt, bits, 1});
  if (f[0] == '?') return DTypeOfDLPack({kDLBool, bits, 1});
  if (f[0] == 'e' || f[0] == 'f' || f[0] == 'd') return DTypeOfDLPack({kDLFloat, bits, 1});
  return std::nullopt;
}

Loan BorrowBuffer(PyObject* object, const TypeInfo& type, const ArgName& what, Array* array) {
  auto view = std::make_unique<Py_buffer>();
  if (PyObject_GetBuffer(object, view.get(), PyBUF_STRIDES | PyBUF_FORMAT) != 0) {
    nb::python_error error;
    ThrowTypeError(what.Text() + ": cannot be borrowed: " + MessageOf(error));
  }
  Loan out;
  out.owner.reset(view.release(), [](Py_buffer* b) {
    PyBuffer_Release(b);
    delete b;
  });
  const Py_buffer& b = *static_cast<Py_buffer*>(out.owner.get());
  out.type = &type;
  out.readonly = b.readonly != 0;
  const std::optional<DType> dtype = DTypeOfFormat(b.format, b.itemsize);
  if (!dtype) ThrowDType(what, std::string("the buffer format '") + b.format + "'");
  CheckRank(b.ndim, what);
  std::optional<Dims> strides = Dims();  // ctypes gives none: contiguous
  if (b.strides != nullptr) strides = StridesOf(b.shape, b.strides, b.ndim, b.itemsize);
  if (!strides || reinterpret_cast<std::uintptr_t>(b.buf) % static_cast<std::size_t>(b.itemsize))
    ThrowValueError(what.Text() +
                    ": its data or strides are no multiples of its item size; copy it");
  *array = Array::View(b.buf, *dtype, Dims(b.shape, b.shape + b.ndim), *std::move(strides));
  return out;
}

bool IsFloat(DType dtype) {
  return dtype == DType::kF16 || dtype == DType::kBF16 || dtype == DType::kF32 ||
         dtype == DType::kF64;
}

bool IsUnsigned(DType dtype) { return dtype >= DType::kU8 && dtype <= DType::kU64; }

// Beyond this a number rounds to an infinity.
double LargestOf(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return 65519.999999999993;
    case DType::kBF16:
      return 3.3961775292304566e38;
    case DType::kF32:
      return 3.4028235677973362e38;
    default:
      return HUGE_VAL;
  }
}

[[noreturn]] void ThrowNoFit(PyObject* number, DType dtype, const ArgName& what) {
  ThrowValueError(what.Text() + ": the number " + nb::cast<std::string>(nb::repr(number)) +
                  " does not fit " + DTypeName(dtype));
}

Array IntAs(PyObject* number, DType dtype, const ArgName& what) {
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(number, &overflow);
  if (value == -1 && PyErr_Occurred() != nullptr) ThrowCurrent();
  if (IsFloat(dtype)) {
    const double d = overflow == 0 ? static_cast<double>(value) : PyLong_AsDouble(number);
    if (d == -1 && PyErr_Occurred() != nullptr) {
      PyErr_Clear();
      ThrowNoFit(number, dtype, what);
    }
    if (std::abs(d) > LargestOf(dtype)) ThrowNoFit(number, dtype, what);
    return overflow == 0 ? Array::ScalarInt(dtype, value) : Array::Scalar(dtype, d);
  }
  if (overflow > 0 && dtype == DType::kU64) {
    const unsigned long long u = PyLong_AsUnsignedLongLong(number);
    if (PyErr_Occurred() == nullptr) return Array::ScalarInt(dtype, static_cast<std::int64_t>(u));
    PyErr_Clear();
  }
  const int bits = 8 * ItemSize(dtype);
  bool fits = overflow == 0;
  if (dtype == DType::kBool) {
    fits = fits && (value == 0 || value == 1);
  } else if (IsUnsigned(dtype)) {
    fits = fits && value >= 0 && (bits == 64 || value < (1LL << bits));
  } else if (bits < 64) {
    fits = fits && value >= -(1LL << (bits - 1)) && value < (1LL << (bits - 1));
  }
  if (!fits) ThrowNoFit(number, dtype, what);
  return Array::ScalarInt(dtype, value);
}

}  // namespace

std::string ArgName::Text() const {
  if (function[0] == 0) return name[0] == 0 ? "array" : std::string("input '") + name + "'";
  std::string out = std::string(function) + ": " + role + " " + std::to_string(index);
  if (name[0] != 0) out += std::string(" '") + name + "'";
  return out;
}

Loan BorrowInto(PyObject* object, const TypeInfo& type, const ArgName& what, Array* array) {
  switch (type.family) {
    case Family::kNumpy:
      return BorrowNumpy(object, type, what, array);
    case Family::kExchange:
      return BorrowExchange(object, type, what, array);
    case Family::kDLPack:
      return BorrowDLPack(object, type, what, array);
    case Family::kBuffer:
      return BorrowBuffer(object, type, what, array);
    case Family::kNone:
      break;
  }
  ThrowTypeError(what.Text() +
                 ": expected an array (NumPy, torch, or anything with __dlpack__ or " +
                 "the buffer protocol), got " + TypeName(object));
}

const TypeInfo& TypeInfoOf(PyObject* object, const ArgName& what) {
  try {
    return TypeInfoOf(object);
  } catch (const nb::python_error& e) {
    if (!e.matches(PyExc_TypeError)) throw;
    ThrowTypeError(what.Text() + ": " + TextOf(e.value()));
  }
}

Borrowed BorrowArray(PyObject* object, const ArgName& what) {
  Borrowed out;
  out.loan = BorrowInto(object, TypeInfoOf(object, what), what, &out.array);
  return out;
}

bool IsNumber(PyObject* object) {
  return PyFloat_Check(object) || PyLong_Check(object) ||
         (TypeInfoOf(object).family == Family::kNone && PyNumber_Check(object) != 0);
}

Array NumberAs(PyObject* object, DType dtype, const ArgName& what) {
  if (PyLong_Check(object)) return IntAs(object, dtype, what);
  if (!PyFloat_Check(object) && PyIndex_Check(object) != 0) {
    nb::object index = nb::steal(CheckNew(PyNumber_Index(object)));
    return IntAs(index.ptr(), dtype, what);
  }
  // NumPy's bool has no __index__, but it is an int of 0 or 1 to __int__, as a float is not.
  const double value = PyFloat_AsDouble(object);
  if (value == -1 && PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    ThrowTypeError(what.Text() + ": expected a number for " + DTypeName(dtype) + ", got " +
                   TypeName(object));
  }
  const bool is_bool = TypeName(object).find("bool") != std::string::npos;
  if (!IsFloat(dtype) && !is_bool)
    ThrowTypeError(what.Text() + ": expected an integer for " + DTypeName(dtype) + ", got " +
                   TypeName(object) + " " + nb::cast<std::string>(nb::repr(object)));
  if (std::isfinite(value) && std::abs(value) > LargestOf(dtype)) ThrowNoFit(object, dtype, what);
  return Array::Scalar(dtype, value);
}

std::string Describe(const Array& array) {
  std::string out = std::string(DTypeName(array.dtype())) + "[";
  for (std::size_t d = 0; d < array.dims().size(); ++d)
    out += (d == 0 ? "" : ",") + std::to_string(array.dims()[d]);
  return out + "]";
}

}  // namespace jitfuse::python
