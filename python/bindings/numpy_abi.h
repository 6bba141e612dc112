// NumPy's C structures and the few functions used of it, in our own declarations.
//
// NumPy's headers are not needed to build, nor NumPy to import the module: its function table is
// taken from the module that the process has imported, when its first array comes. What is declared
// here has been the same since NumPy 1.7 and is in NumPy 2's ABI; a major version that is unknown
// is refused (its arrays then go through the buffer protocol), and so is a NumPy whose arrays do
// not read as their Python attributes say.
#ifndef JITFUSE_PYTHON_BINDINGS_NUMPY_ABI_H_
#define JITFUSE_PYTHON_BINDINGS_NUMPY_ABI_H_

#include <Python.h>

#include <optional>

#include "jitfuse/tensor.h"

namespace jitfuse::python {

struct NumpyDescr {
  PyObject ob_base;
  PyTypeObject* typeobj;
  char kind, type, byteorder, unused;
  int type_num;
};

struct NumpyArray {
  PyObject ob_base;
  char* data;
  int nd;
  Py_ssize_t* dims;
  Py_ssize_t* strides;  // in bytes
  PyObject* base;
  NumpyDescr* descr;
  int flags;
};

inline constexpr int kNumpyAligned = 0x100;
inline constexpr int kNumpyWriteable = 0x400;
inline constexpr int kNumpyCContiguous = 0x1;

struct Numpy {
  PyTypeObject* array_type = nullptr;
  // PyArray_NewFromDescr, which steals `descr`; PyArray_DescrFromType; PyArray_SetBaseObject, which
  // steals `base`.
  PyObject* (*new_from_descr)(PyTypeObject* type, PyObject* descr, int nd, const Py_ssize_t* dims,
                              const Py_ssize_t* strides, void* data, int flags,
                              PyObject* obj) = nullptr;
  PyObject* (*descr_from_type)(int type_num) = nullptr;
  int (*set_base)(PyObject* array, PyObject* base) = nullptr;
};

// Of the NumPy that is in sys.modules; null if there is none, or none that is understood.
const Numpy* LoadedNumpy();
// As LoadedNumpy, importing it where it can be.
const Numpy* ImportNumpy();

// The dtype of an array; nullopt if Jitfuse has none such. `foreign` byte orders are none.
std::optional<DType> DTypeOfNumpy(const NumpyDescr* descr);
// A new reference to the descr; null with a Python error set (bf16 where ml_dtypes is missing).
PyObject* NumpyDescrOf(const Numpy& numpy, DType dtype);

}  // namespace jitfuse::python

#endif  // JITFUSE_PYTHON_BINDINGS_NUMPY_ABI_H_
