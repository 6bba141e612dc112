#include "python/bindings/framework_memory.h"

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>

#include "python/bindings/borrow.h"
#include "python/bindings/errors.h"
#include "python/bindings/results.h"
#include "python/bindings/torch_cxx.h"

namespace jitfuse::python {
namespace {

constexpr const char* kNumpyNames[] = {"bool", "uint8",   "uint16", "uint32", "uint64",
                                       "int8", "int16",   "int32",  "int64",  "float16",
                                       "",     "float32", "float64"};

void SetError(void* context, const char* kind, const char* message) {
  *static_cast<std::string*>(context) = std::string(kind) + ": " + message;
}

void Delete(DLManagedTensorVersioned* managed) {
  if (managed->deleter != nullptr) managed->deleter(managed);
}

void* DataOf(const DLTensor& t) {
  return t.data == nullptr ? nullptr : static_cast<char*>(t.data) + t.byte_offset;
}

constexpr std::size_t kAlign = 256;  // what Allocator promises; torch's for the CPU gives 64

void* AlignedDataOf(const DLManagedTensorVersioned& managed) {
  const auto address = reinterpret_cast<std::uintptr_t>(DataOf(managed.dl_tensor));
  return reinterpret_cast<void*>((address + kAlign - 1) / kAlign * kAlign);
}

nb::tuple TupleOf(const std::vector<std::int64_t>& values) {
  nb::object out = nb::steal(CheckNew(PyTuple_New(static_cast<Py_ssize_t>(values.size()))));
  for (std::size_t i = 0; i < values.size(); ++i)
    PyTuple_SetItem(out.ptr(), static_cast<Py_ssize_t>(i),
                    CheckNew(PyLong_FromLongLong(values[i])));
  return nb::borrow<nb::tuple>(out);
}

// torch's functions that make tensors on the current device: those that its compiler's code calls
// where torch has them, which take a quarter of the time of torch.empty_strided.
struct TorchMakers {
  nb::object on_cpu, on_gpu;  // (size, stride, dtype); invalid: not there
  nb::object empty_strided;
  std::vector<nb::object> dtypes;  // by DType
};

const TorchMakers& Torch() {
  static const TorchMakers* made = nullptr;  // guarded by the GIL
  if (made != nullptr) return *made;
  auto makers = std::make_unique<TorchMakers>();
  nb::object torch = nb::module_::import_("torch");
  makers->empty_strided = torch.attr("empty_strided");
  nb::object at = torch;
  for (const char* part : {"_C", "_dynamo", "guards"})
    at = at.is_none() ? at : nb::object(nb::getattr(at, part, nb::none()));
  for (auto [name, target] : {std::pair("_empty_strided_cpu", &makers->on_cpu),
                              std::pair("_empty_strided_cuda", &makers->on_gpu)}) {
    nb::object found = at.is_none() ? at : nb::object(nb::getattr(at, name, nb::none()));
    if (!found.is_none()) *target = std::move(found);
  }
  for (const char* name : kNumpyNames)
    makers->dtypes.push_back(torch.attr(name[0] == 0 ? "bfloat16" : name));
  made = makers.release();
  return *made;
}

// What a maker of TorchMakers is called with: (sizes, strides, dtype) of a dense tensor.
struct MakerArgs {
  std::vector<std::int64_t> dims;
  DType dtype = DType::kBool;
  nb::tuple args;
};

nb::tuple DenseStrides(const std::vector<std::int64_t>& dims) {
  std::vector<std::int64_t> strides(dims.size());
  std::int64_t dense = 1;
  for (std::size_t d = dims.size(); d-- > 0;) {
    strides[d] = dense;
    dense *= std::max<std::int64_t>(dims[d], 1);
  }
  return TupleOf(strides);
}

// Those that were asked for lately are kept.
nb::tuple ArgsOf(const TorchMakers& torch, DType dtype, const std::vector<std::int64_t>& dims) {
  constexpr std::size_t kSlots = 16;
  static auto* slots = new std::array<MakerArgs, kSlots>;  // guarded by the GIL; never freed
  auto hash = static_cast<std::uint64_t>(dtype);
  for (std::int64_t d : dims) hash = (hash ^ static_cast<std::uint64_t>(d)) * 0x9e3779b97f4a7c15u;
  MakerArgs& slot = (*slots)[hash >> 60];
  if (slot.args.ptr() != nullptr && slot.dtype == dtype && slot.dims == dims) return slot.args;
  // Made before the slot changes: making them may run the garbage collector, and that other calls.
  const nb::object& type = torch.dtypes[static_cast<std::size_t>(dtype)];
  MakerArgs fresh{dims, dtype, nb::make_tuple(TupleOf(dims), DenseStrides(dims), type)};
  slot = std::move(fresh);
  return slot.args;
}

nb::object NewTensor(DType dtype, const std::vector<std::int64_t>& dims, Device device,
                     bool anywhere) {
  const TorchMakers& torch = Torch();
  const nb::tuple args = ArgsOf(torch, dtype, dims);  // the slot may change meanwhile
  const bool on_gpu = device.kind == DeviceKind::kCuda;
  const nb::object& maker = on_gpu ? torch.on_gpu : torch.on_cpu;
  if (!anywhere && maker.is_valid())
    return nb::steal(CheckNew(PyObject_Call(maker.ptr(), args.ptr(), nullptr)));
  return torch.empty_strided(
      args[0], args[1], nb::arg("dtype") = args[2],
      nb::arg("device") = on_gpu ? "cuda:" + std::to_string(device.index) : std::string("cpu"));
}

}  // namespace

ExchangeMemory::~ExchangeMemory() {
  for (DLManagedTensorVersioned* managed : results_) Delete(managed);
  for (DLManagedTensorVersioned* managed : scratch_) Delete(managed);
}

StatusOr<DLManagedTensorVersioned*> ExchangeMemory::New(DType dtype,
                                                        const std::vector<std::int64_t>& dims,
                                                        Device device) {
  DLTensor prototype = {};
  prototype.device = {device.kind == DeviceKind::kCuda ? kDLCUDA : kDLCPU, device.index};
  prototype.ndim = static_cast<int>(dims.size());
  prototype.dtype = DLTypeOf(dtype);
  prototype.shape = const_cast<std::int64_t*>(dims.data());
  DLManagedTensorVersioned* out = nullptr;
  std::string error;
  if (api_.managed_tensor_allocator(&prototype, &out, &error, SetError) != 0 || out == nullptr)
    return Status(StatusCode::kResourceExhausted, "the framework's allocator: " + error);
  return out;
}

StatusOr<Array> ExchangeMemory::Make(int, DType dtype, const std::vector<std::int64_t>& dims,
                                     Device device) {
  StatusOr<DLManagedTensorVersioned*> made = New(dtype, dims, device);
  if (!made.ok()) return made.status();
  results_.push_back(*made);
  return Array::ViewOf(DataOf((*made)->dl_tensor), dtype, static_cast<int>(dims.size()),
                       dims.data(), nullptr, device);
}

void* ExchangeMemory::Allocate(std::size_t bytes, void*) {
  StatusOr<DLManagedTensorVersioned*> made =
      New(DType::kU8, {static_cast<std::int64_t>(bytes + kAlign)}, device_);
  if (!made.ok()) return nullptr;
  scratch_.push_back(*made);
  return AlignedDataOf(**made);
}

void ExchangeMemory::Free(void* ptr, std::size_t, void*) {
  const auto it = std::find_if(scratch_.begin(), scratch_.end(),
                               [&](const auto* managed) { return AlignedDataOf(*managed) == ptr; });
  if (it == scratch_.end()) return;
  Delete(*it);
  scratch_.erase(it);
}

void ExchangeMemory::Release(PyObject** results) {
  std::vector<nb::object> out;
  for (DLManagedTensorVersioned*& managed : results_) {
    void* object = nullptr;
    DLManagedTensorVersioned* given = managed;
    managed = nullptr;
    const bool ok = api_.managed_tensor_to_py_object_no_sync(given, &object) == 0;
    if (!ok) {
      results_.erase(std::remove(results_.begin(), results_.end(), nullptr), results_.end());
      ThrowCurrent();
    }
    out.push_back(nb::steal(static_cast<PyObject*>(object)));
  }
  results_.clear();
  for (std::size_t i = 0; i < out.size(); ++i) results[i] = out[i].release().ptr();
}

TorchMemory::~TorchMemory() {
  while (made_ > 0) Py_DECREF(std::exchange(results_[--made_], nullptr));
}

StatusOr<Array> TorchMemory::Make(int, DType dtype, const std::vector<std::int64_t>& dims,
                                  Device device) {
  try {
    DLTensor t = {};
    nb::object made;
    for (const bool anywhere : {false, true}) {
      made = NewTensor(dtype, dims, device, anywhere);
      if (!LendTensor(made.ptr(), &t) && api().dltensor_from_py_object_no_sync(made.ptr(), &t) != 0)
        ThrowCurrent();
      if (device.kind != DeviceKind::kCuda || t.device.device_id == device.index) break;
    }
    results_[made_++] = made.release().ptr();
    return Array::ViewOf(DataOf(t), dtype, static_cast<int>(dims.size()), dims.data(), nullptr,
                         device);
  } catch (nb::python_error& e) {
    return Status(StatusCode::kResourceExhausted, "torch's allocator: " + MessageOf(e));
  }
}

void TorchMemory::Release(PyObject**) { made_ = 0; }

CupyMemory::~CupyMemory() {
  for (PyObject* object : results_) Py_DECREF(object);
  for (const auto& [address, object] : scratch_) Py_DECREF(object);
}

StatusOr<Array> CupyMemory::Make(int output, DType dtype, const std::vector<std::int64_t>& dims,
                                 Device) {
  try {
    const char* name = kNumpyNames[static_cast<int>(dtype)];
    nb::object type = name[0] != 0 ? nb::object(nb::str(name))
                                   : nb::object(nb::module_::import_("ml_dtypes").attr("bfloat16"));
    nb::object cupy = nb::module_::import_("cupy");
    nb::object made = cupy.attr("empty")(TupleOf(dims), nb::arg("dtype") = type);
    Array array = BorrowArray(made.ptr(), ArgName{"result", "output", output, ""}).array;
    results_.push_back(made.release().ptr());
    return array;
  } catch (nb::python_error& e) {
    return Status(StatusCode::kResourceExhausted, "CuPy: " + MessageOf(e));
  }
}

void* CupyMemory::Allocate(std::size_t bytes, void*) {
  try {
    nb::object made = nb::module_::import_("cupy").attr("cuda").attr("alloc")(bytes + kAlign);
    const auto address = nb::cast<std::uintptr_t>(made.attr("ptr"));
    auto* aligned = reinterpret_cast<void*>((address + kAlign - 1) / kAlign * kAlign);
    scratch_.emplace_back(aligned, made.release().ptr());
    return aligned;
  } catch (nb::python_error&) {
    return nullptr;  // its message is lost; the call says what it needed
  }
}

void CupyMemory::Free(void* ptr, std::size_t, void*) {
  const auto it = std::find_if(scratch_.begin(), scratch_.end(),
                               [&](const auto& kept) { return kept.first == ptr; });
  if (it == scratch_.end()) return;
  Py_DECREF(it->second);
  scratch_.erase(it);
}

void CupyMemory::Release(PyObject** results) {
  std::copy(results_.begin(), results_.end(), results);
  results_.clear();
}

}  // namespace jitfuse::python
