// Whether a torch tensor is the negative of what is in its memory: torch's negative bit.
//
// No form in which torch lends a tensor tells of it, and to ask torch (is_neg()) costs more than to
// borrow the tensor. So the bit is read where torch keeps it, at a place that is looked for once
// among tensors that have the bit and such that have not; where that finds not exactly one place,
// torch is asked for each tensor. A bit that is set is confirmed by torch, so that a wrong place
// could refuse nothing. Needs the GIL.
#ifndef JITFUSE_PYTHON_BINDINGS_NEGATIVE_BIT_H_
#define JITFUSE_PYTHON_BINDINGS_NEGATIVE_BIT_H_

#include <Python.h>

namespace jitfuse::python {

// Of an object of one of torch's classes.
bool IsNegative(PyObject* tensor);

}  // namespace jitfuse::python

#endif  // JITFUSE_PYTHON_BINDINGS_NEGATIVE_BIT_H_
