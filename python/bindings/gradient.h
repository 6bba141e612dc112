// Gradients of graphs under construction for Python: methods of Builder, and a computation with its
// gradient as two Functions. Errors are exceptions and leave the graph usable.
#ifndef JITFUSE_PYTHON_BINDINGS_GRADIENT_H_
#define JITFUSE_PYTHON_BINDINGS_GRADIENT_H_

#include <nanobind/nanobind.h>

#include "jitfuse/tensor.h"

namespace jitfuse::python {

void DefineGradients(nanobind::module_& m, nanobind::class_<Builder>& builder);

}  // namespace jitfuse::python

#endif  // JITFUSE_PYTHON_BINDINGS_GRADIENT_H_
