// What a Python type is to a call: a kind of array (how its objects are borrowed and how results of
// its kind are made), a nest of arguments (as jitfuse._pytree has them), or neither. Found once per
// type, then looked up.
#ifndef JITFUSE_PYTHON_BINDINGS_ARRAY_TYPES_H_
#define JITFUSE_PYTHON_BINDINGS_ARRAY_TYPES_H_

#include <Python.h>

#include <cstdint>
#include <vector>

#include "dlpack/dlpack.h"
#include "python/bindings/errors.h"

namespace jitfuse::python {

enum class Family : std::uint8_t {
  kNone,      // no array: a Python number, or what is an error
  kNumpy,     // numpy.ndarray, read through its C structure
  kExchange,  // has DLPack's C exchange table (torch.Tensor)
  kDLPack,    // has __dlpack__ (CuPy, JAX)
  kBuffer,    // has the buffer protocol (array.array, memoryview)
};

// Beside tuple, list and dict themselves.
enum class Nest : std::uint8_t {
  kNone,
  kNamedTuple,  // a tuple with _fields
  kDict,        // another class of dict
  kDataclass,   // its fields are in `fields`
};

struct TypeInfo {
  PyTypeObject* type = nullptr;
  Family family = Family::kNone;
  const DLPackExchangeAPI* api = nullptr;  // kExchange
  bool is_torch = false;                   // may require grad
  bool is_cupy = false, is_jax = false;
  bool is_numpy_scalar = false;    // kNone
  Nest nest = Nest::kNone;         // to a jitfuse.jit function, before the family
  std::vector<nb::object> fields;  // names, of a dataclass
  // Of a class of dict: objects have a default_factory, attributes of their own.
  bool has_factory = false, has_attributes = false;
};

// Of an object's type. The reference stays good for the life of the process where it is an array's
// type. Of others a bounded number is remembered; those beyond share a slot of the thread, good
// until the next call.
const TypeInfo& TypeInfoOf(PyObject* object);

}  // namespace jitfuse::python

#endif  // JITFUSE_PYTHON_BINDINGS_ARRAY_TYPES_H_
