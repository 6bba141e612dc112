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

#include <cstddef>
#include <cstdint>
#include <vector>

namespace jitfuse::python {

// A bit of the object that a tensor points to: offsets in bytes, of the pointer in the tensor and
// of the word in what it points to. `mask` 0: none was found.
struct BitPlace {
  std::size_t pointer = 0;
  std::size_t word = 0;
  std::uint64_t mask = 0;
};

// The one bit that is set in all of `with` and clear in all of `without`. These are addresses of
// tensors whose first `size` bytes may be read, and `behind` the addresses that they hold, in the
// same order, of which `span` bytes may be read.
struct Tensors {
  std::vector<const void*> objects, behind;
};
BitPlace FindBit(const Tensors& with, const Tensors& without, std::size_t size, std::size_t span);

// Of an object of one of torch's classes.
bool IsNegative(PyObject* tensor);

}  // namespace jitfuse::python

#endif  // JITFUSE_PYTHON_BINDINGS_NEGATIVE_BIT_H_
