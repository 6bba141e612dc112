#include "python/bindings/negative_bit.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "python/bindings/errors.h"
#include "python/bindings/torch_state.h"

namespace jitfuse::python {
namespace {

constexpr std::size_t kWord = sizeof(std::uint64_t);
// torch's TensorImpl has 176 bytes or more in all versions that have the table of DLPack.
constexpr std::size_t kBehind = 176;

// A bit of the object that a tensor points to: offsets in bytes, of the pointer in the tensor and
// of the word in what it points to. `mask` 0: none was found.
struct BitPlace {
  std::size_t pointer = 0;
  std::size_t word = 0;
  std::uint64_t mask = 0;
};

// The addresses of tensors, and those that they hold, in the same order.
struct Tensors {
  std::vector<const void*> objects, behind;
};

std::uint64_t WordAt(const void* address, std::size_t offset) {
  std::uint64_t word;
  std::memcpy(&word, static_cast<const char*>(address) + offset, kWord);
  return word;
}

// Where all objects hold the address of what is behind them; 0 if nowhere.
std::size_t PointerIn(const Tensors& tensors, std::size_t size) {
  for (std::size_t at = sizeof(PyObject); at + kWord <= size; at += kWord) {
    bool all = true;
    for (std::size_t i = 0; i < tensors.objects.size(); ++i)
      all = all &&
            WordAt(tensors.objects[i], at) == reinterpret_cast<std::uintptr_t>(tensors.behind[i]);
    if (all) return at;
  }
  return 0;
}

// The one bit that is set in all of `with` and clear in all of `without`, of whose objects the
// first `size` bytes may be read and `span` bytes behind them.
BitPlace FindBit(const Tensors& with, const Tensors& without, std::size_t size, std::size_t span) {
  BitPlace place;
  place.pointer = PointerIn(with, size);
  if (place.pointer == 0 || PointerIn(without, size) != place.pointer) return {};
  for (std::size_t at = 0; at + kWord <= span; at += kWord) {
    std::uint64_t bits = ~std::uint64_t{0};
    for (const void* behind : with.behind) bits &= WordAt(behind, at);
    for (const void* behind : without.behind) bits &= ~WordAt(behind, at);
    if (bits == 0) continue;
    if (place.mask != 0 || (bits & (bits - 1)) != 0) return {};  // more than one
    place.word = at;
    place.mask = bits;
  }
  return place;
}

void AddTo(const nb::object& list, Tensors* out) {
  for (nb::handle tensor : nb::iter(list)) {
    out->objects.push_back(tensor.ptr());
    out->behind.push_back(
        reinterpret_cast<const void*>(nb::cast<std::uintptr_t>(tensor.attr("_cdata"))));
  }
}

struct Found {
  PyTypeObject* type = nullptr;  // of what has the pointer, with its subclasses
  BitPlace place;
};

Found Look() {
  const WithoutDynamo without_dynamo;
  try {
    const nb::object pair = nb::module_::import_("jitfuse._torch_state").attr("negative_and_not")();
    Tensors with, without;
    AddTo(nb::object(pair[0]), &with);
    AddTo(nb::object(pair[1]), &without);
    const nb::object base = nb::module_::import_("torch").attr("Tensor").attr("__base__");
    const auto size = nb::cast<std::size_t>(base.attr("__basicsize__"));
    const BitPlace place = FindBit(with, without, size, kBehind);
    return {reinterpret_cast<PyTypeObject*>(nb::object(base).release().ptr()), place};
  } catch (const nb::python_error& e) {
    if (!e.matches(PyExc_Exception)) throw;
  } catch (const std::bad_cast&) {
  }
  return {};
}

bool AskTorch(PyObject* tensor) {
  const nb::object is_neg = nb::getattr(nb::handle(tensor), "is_neg", nb::none());
  return !is_neg.is_none() && is_neg().is(nb::handle(Py_True));
}

}  // namespace

bool IsNegative(PyObject* tensor) {
  static bool looked = false;  // guarded by the GIL, as is the next
  static Found found;
  if (!looked) {
    found = Look();
    looked = true;
  }
  if (found.place.mask != 0 && PyType_IsSubtype(Py_TYPE(tensor), found.type) != 0) [[likely]] {
    const auto* behind = reinterpret_cast<const void*>(WordAt(tensor, found.place.pointer));
    if ((WordAt(behind, found.place.word) & found.place.mask) == 0) return false;
  }
  return AskTorch(tensor);
}

}  // namespace jitfuse::python
