// torch's own C++ functions, called without Python between.
//
// What a call asks of each tensor takes torch some ten instructions, and its Python wrappers some
// hundred: they install a handler of warnings, look for modes and count references. So the
// functions are looked for by their mangled names, which say what they take, among the libraries
// that torch has loaded, and the place of the tensor in its Python object by the address that torch
// gives for it. Each is tried once on tensors that are made for that; where it is not there, or
// does not say what Python does, the functions here say that they do not know, and the caller asks
// through Python. All of it needs the GIL.
#ifndef JITFUSE_PYTHON_BINDINGS_TORCH_CXX_H_
#define JITFUSE_PYTHON_BINDINGS_TORCH_CXX_H_

#include <Python.h>

#include <optional>

#include "dlpack/dlpack.h"

namespace jitfuse::python {

// Lends a tensor as the exchange table of DLPack does. False where that has to be asked, for its
// error too, and where the tensor is the negative of what is in its memory, of which no loan tells.
bool LendTensor(PyObject* tensor, DLTensor* out);
// tensor.requires_grad; nothing where its class defines that anew.
std::optional<bool> TensorRequiresGrad(PyObject* tensor);
// What autograd has saved of the tensor counts as changed from now on.
bool BumpVersion(PyObject* tensor);
// Whether torch.jit.trace is recording in this thread.
std::optional<bool> IsTracing();

}  // namespace jitfuse::python

#endif  // JITFUSE_PYTHON_BINDINGS_TORCH_CXX_H_
