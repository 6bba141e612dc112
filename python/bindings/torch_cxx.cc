#include "python/bindings/torch_cxx.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <utility>
#include <vector>

#include "python/bindings/array_types.h"
#include "python/bindings/errors.h"
#include "python/bindings/torch_state.h"

namespace jitfuse::python {
namespace {

constexpr std::size_t kWord = sizeof(void*);

// at::Tensor is a pointer to a c10::TensorImpl, and is passed by its own address.
using Tensor = const void* const*;

struct Functions {
  void (*lend)(Tensor, DLTensor*) = nullptr;          // at::toDLPackNonOwning
  bool (*requires_grad)(const void* impl) = nullptr;  // c10::TensorImpl::requires_grad
  bool (*is_negative)(Tensor) = nullptr;              // at::native::is_neg
  void (*bump_version)(Tensor) = nullptr;             // torch::autograd::impl::bump_version
  const void* const* (*tracing_state)() = nullptr;    // torch::jit::tracer::getTracingState
};

struct Torch {
  PyTypeObject* type = nullptr;  // of what has a tensor in it, with its subclasses
  std::size_t place = 0;         // of the tensor in the object
  Functions functions;
};

Tensor TensorAt(PyObject* object, std::size_t place) {
  return reinterpret_cast<Tensor>(reinterpret_cast<const char*>(object) + place);
}

// Torch's function of that name, from a library that is loaded; else null.
template <typename Function>
void Find(const char* library, const char* name, Function* out) {
  void* handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return;
  *out = reinterpret_cast<Function>(dlsym(handle, name));
  dlclose(handle);  // torch, which is never unloaded, holds it
}

Functions FindFunctions() {
  Functions out;
  Find("libtorch_cpu.so", "_ZN2at17toDLPackNonOwningERKNS_6TensorEP8DLTensor", &out.lend);
  Find("libc10.so", "_ZNK3c1010TensorImpl13requires_gradEv", &out.requires_grad);
  Find("libtorch_cpu.so", "_ZN2at6native6is_negERKNS_6TensorE", &out.is_negative);
  Find("libtorch_cpu.so", "_ZN5torch8autograd4impl12bump_versionERKN2at6TensorE",
       &out.bump_version);
  Find("libtorch_cpu.so", "_ZN5torch3jit6tracer15getTracingStateEv", &out.tracing_state);
  return out;
}

// Where all objects, of that class, hold the address that is torch's for them; 0 if nowhere.
std::size_t PlaceIn(const std::vector<nb::object>& tensors, const nb::object& type) {
  const auto size = nb::cast<std::size_t>(type.attr("__basicsize__"));
  std::vector<const void*> impls;
  for (const nb::object& t : tensors) {
    if (!nb::isinstance(t, type)) return 0;
    impls.push_back(reinterpret_cast<const void*>(nb::cast<std::uintptr_t>(t.attr("_cdata"))));
  }
  for (std::size_t at = sizeof(PyObject); at + kWord <= size && !tensors.empty(); at += kWord) {
    bool all = true;
    for (std::size_t i = 0; i < tensors.size(); ++i)
      all = all && *TensorAt(tensors[i].ptr(), at) == impls[i];
    if (all) return at;
  }
  return 0;
}

bool SameLoan(const DLTensor& a, const DLTensor& b) {
  const auto numbers = static_cast<std::size_t>(a.ndim);
  return a.data == b.data && a.ndim == b.ndim && a.byte_offset == b.byte_offset &&
         std::memcmp(&a.dtype, &b.dtype, sizeof a.dtype) == 0 &&
         std::memcmp(&a.device, &b.device, sizeof a.device) == 0 &&
         std::equal(a.shape, a.shape + numbers, b.shape) &&
         (a.strides == nullptr) == (b.strides == nullptr) &&
         (a.strides == nullptr || std::equal(a.strides, a.strides + numbers, b.strides));
}

bool Lends(const Functions& f, const std::vector<nb::object>& tensors, std::size_t place) {
  for (const nb::object& t : tensors) {
    const TypeInfo& type = TypeInfoOf(t.ptr());
    DLTensor own, expected;
    if (type.api == nullptr) return false;
    if (type.api->dltensor_from_py_object_no_sync(t.ptr(), &expected) != 0) ThrowCurrent();
    f.lend(TensorAt(t.ptr(), place), &own);
    if (!SameLoan(own, expected)) return false;
  }
  return true;
}

bool KnowsGrad(const Functions& f, const std::vector<nb::object>& tensors, std::size_t place) {
  for (const nb::object& t : tensors) {
    if (f.requires_grad(*TensorAt(t.ptr(), place)) != nb::cast<bool>(t.attr("requires_grad")))
      return false;
  }
  return true;
}

bool KnowsNegative(const Functions& f, const std::vector<nb::object>& tensors, std::size_t place) {
  for (const nb::object& t : tensors) {
    if (f.is_negative(TensorAt(t.ptr(), place)) != nb::cast<bool>(t.attr("is_neg")())) return false;
  }
  return true;
}

bool Bumps(const Functions& f, const std::vector<nb::object>& tensors, std::size_t place) {
  for (const nb::object& t : tensors) {
    const auto before = nb::cast<std::int64_t>(t.attr("_version"));
    f.bump_version(TensorAt(t.ptr(), place));
    if (nb::cast<std::int64_t>(t.attr("_version")) != before + 1) return false;
  }
  return true;
}

bool KnowsTracing(const Functions& f) {
  const nb::object asked = nb::module_::import_("torch").attr("_C").attr("_is_tracing")();
  return (*f.tracing_state() != nullptr) == nb::cast<bool>(asked);
}

// Errors of torch and Python, but no ^C, are no.
template <typename Trial>
bool Passes(const Trial& trial) {
  try {
    return trial();
  } catch (const nb::python_error& e) {
    if (!e.matches(PyExc_Exception)) throw;
  } catch (const std::exception&) {  // torch's, or an attribute of another kind
  }
  return false;
}

// Keeps of torch's functions those that do what Python does.
void Try(const std::vector<nb::object>& tensors, std::size_t place, Functions* f) {
  const auto keep = [](auto* function, const auto& trial) {
    if (*function != nullptr && !Passes(trial)) *function = nullptr;
  };
  keep(&f->lend, [&] { return Lends(*f, tensors, place); });
  keep(&f->requires_grad, [&] { return KnowsGrad(*f, tensors, place); });
  keep(&f->is_negative, [&] { return KnowsNegative(*f, tensors, place); });
  keep(&f->bump_version, [&] { return Bumps(*f, tensors, place); });
  keep(&f->tracing_state, [&] { return KnowsTracing(*f); });
}

Torch Look() {
  const WithoutDynamo without_dynamo;
  Torch out;
  Passes([&] {
    std::vector<nb::object> tensors;
    for (nb::handle t : nb::iter(nb::module_::import_("jitfuse._torch_state").attr("samples")()))
      tensors.push_back(nb::borrow(t));
    nb::object base = nb::module_::import_("torch").attr("Tensor").attr("__base__");
    out.place = PlaceIn(tensors, base);
    if (out.place == 0) return false;
    Functions found = FindFunctions();
    Try(tensors, out.place, &found);
    out.functions = found;
    out.type = reinterpret_cast<PyTypeObject*>(base.release().ptr());
    return true;
  });
  return out;
}

const Torch* loaded = nullptr;  // guarded by the GIL

const Torch& Loaded() {
  if (loaded == nullptr) [[unlikely]]
    loaded = new Torch(Look());
  return *loaded;
}

// Whether the class's own __torch_function__, if any, is left out of what torch does.
bool IsNotAsked(nb::handle type, nb::handle tensor) {
  const auto body = [](nb::handle of) {
    return nb::getattr(nb::getattr(of, "__torch_function__", nb::none()), "__func__", nb::none());
  };
  const nb::object disabled =
      nb::module_::import_("torch").attr("_C").attr("_disabled_torch_function_impl");
  return nb::getattr(type, "__torch_function__", nb::none()).is(disabled) ||
         (!body(type).is_none() && body(type).is(body(tensor)));
}

// Whether objects of a class of tensors say what torch does of requires_grad.
bool SaysAsTorch(PyTypeObject* type) {
  const nb::handle own(reinterpret_cast<PyObject*>(type));
  const nb::handle object(reinterpret_cast<PyObject*>(&PyBaseObject_Type));
  const nb::object base = nb::module_::import_("torch").attr("Tensor");
  const auto same = [&](nb::handle other, const char* name) {
    return nb::getattr(own, name, nb::none()).is(nb::getattr(other, name, nb::none()));
  };
  return IsNotAsked(own, base) && same(base, "requires_grad") && same(object, "__getattribute__");
}

// A class of objects, as far as it matters here.
struct Seen {
  PyTypeObject* type = nullptr;
  std::size_t place = 0;  // of the tensor; 0: is not known
  bool plain = false;     // requires_grad is torch's
};

// Of classes that TypeInfoOf keeps alive. Calls have tensors and parameters in turn, and so the
// last two are remembered.
const Seen& See(PyObject* object) {
  static Seen seen[2];  // guarded by the GIL
  PyTypeObject* const type = Py_TYPE(object);
  if (seen[0].type == type) [[likely]]
    return seen[0];
  std::swap(seen[0], seen[1]);
  if (seen[0].type == type) return seen[0];
  const Torch& torch = Loaded();
  const bool known = torch.type != nullptr && PyType_IsSubtype(type, torch.type) != 0;
  const Seen fresh{type, known ? torch.place : 0, known && SaysAsTorch(type)};
  return seen[0] = fresh;
}

// The tensor in an object; null where that is not known, else torch is `loaded`.
Tensor TensorOf(PyObject* object) {
  const std::size_t place = See(object).place;
  return place == 0 ? nullptr : TensorAt(object, place);
}

}  // namespace

bool LendTensor(PyObject* tensor, DLTensor* out) {
  const Tensor t = TensorOf(tensor);
  if (t == nullptr) [[unlikely]]
    return false;
  const Functions& f = loaded->functions;
  if (f.lend == nullptr || f.is_negative == nullptr || f.is_negative(t)) [[unlikely]]
    return false;
  try {
    f.lend(t, out);
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

std::optional<bool> TensorRequiresGrad(PyObject* tensor) {
  const Seen& seen = See(tensor);
  if (!seen.plain || loaded->functions.requires_grad == nullptr) [[unlikely]]
    return std::nullopt;
  return loaded->functions.requires_grad(*TensorAt(tensor, seen.place));
}

bool BumpVersion(PyObject* tensor) {
  const Tensor t = TensorOf(tensor);
  if (t == nullptr || loaded->functions.bump_version == nullptr) [[unlikely]]
    return false;
  try {
    loaded->functions.bump_version(t);
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

std::optional<bool> IsTracing() {
  if (Loaded().functions.tracing_state == nullptr) [[unlikely]]
    return std::nullopt;
  return *Loaded().functions.tracing_state() != nullptr;
}

}  // namespace jitfuse::python
