#include "python/bindings/framework_memory.h"

#include <algorithm>
#include <string>
#include <utility>

#include "python/bindings/borrow.h"
#include "python/bindings/errors.h"
#include "python/bindings/results.h"

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

void* DataOf(const DLManagedTensorVersioned& managed) {
  const DLTensor& t = managed.dl_tensor;
  return t.data == nullptr ? nullptr : static_cast<char*>(t.data) + t.byte_offset;
}

constexpr std::size_t kAlign = 256;  // what Allocator promises; torch's for the CPU gives 64

void* AlignedDataOf(const DLManagedTensorVersioned& managed) {
  const auto address = reinterpret_cast<std::uintptr_t>(DataOf(managed));
  return reinterpret_cast<void*>((address + kAlign - 1) / kAlign * kAlign);
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
  return Array::View(DataOf(**made), dtype, dims, {}, device);
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

ModuleMemory::~ModuleMemory() {
  for (PyObject* object : results_) Py_DECREF(object);
}

StatusOr<Array> ModuleMemory::Make(int output, DType dtype, const std::vector<std::int64_t>& dims,
                                   Device) {
  try {
    const char* name = kNumpyNames[static_cast<int>(dtype)];
    nb::object type = name[0] != 0 ? nb::object(nb::str(name))
                                   : nb::object(nb::module_::import_("ml_dtypes").attr("bfloat16"));
    nb::list shape;
    for (std::int64_t d : dims) shape.append(d);
    nb::object made = nb::handle(module_).attr("empty")(nb::tuple(shape), nb::arg("dtype") = type);
    Array array = BorrowArray(made.ptr(), ArgName{"result", "output", output, ""}).array;
    results_.push_back(made.release().ptr());
    return array;
  } catch (nb::python_error& e) {
    return Status(StatusCode::kResourceExhausted, "the framework: " + MessageOf(e));
  }
}

void ModuleMemory::Release(PyObject** results) {
  std::copy(results_.begin(), results_.end(), results);
  results_.clear();
}

}  // namespace jitfuse::python
