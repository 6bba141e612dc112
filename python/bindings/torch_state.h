// What torch's own state means to a call: whether it records what is done with a tensor, whether a
// call would be lost among what it records, and whose random numbers a call draws.
//
// The first three are asked in every call on torch's tensors and cost an attribute or a look into a
// module's members each; what is rare is in jitfuse/_torch_state.py. All of it needs the GIL.
#ifndef JITFUSE_PYTHON_BINDINGS_TORCH_STATE_H_
#define JITFUSE_PYTHON_BINDINGS_TORCH_STATE_H_

#include <Python.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "jitfuse/options.h"
#include "python/bindings/errors.h"

namespace jitfuse::python {

// Whether torch has gradients switched on and the tensor asks for one.
bool RequiresGrad(PyObject* tensor);
// Whether a tensor is the negative of what is in its memory: is_neg() of it.
bool IsNegative(PyObject* tensor);
// What autograd has saved of these tensors counts as changed from now on.
void BumpVersions(PyObject* const* tensors, std::size_t count);
// Whether torch is inside of a dual_level of forward-mode differentiation; and whether the tensor
// has a tangent there.
bool MayHaveTangents();
bool HasTangent(PyObject* tensor);
// RuntimeError where torch.jit.trace or make_fx is recording: the results of the call of `function`
// would be constants there.
void CheckNotRecorded(const std::string& function);
// An error for a tensor without memory of its own, where it is in a transform of torch.func or
// known to be zero. `what` names it.
void CheckNotTransformed(PyObject* tensor, const std::string& what);

// Whether torch is capturing a CUDA graph on its current stream.
bool IsCapturing();

// The random numbers of one call.
struct DrawnRng {
  Rng rng;
  nb::object state;  // keeps rng.device_state; may be invalid
};
// For a call with so many random ops. From torch's generator for the device of `tensor`; where that
// is null, or the thread has a stream of its own (jitfuse.random.seeded), from Jitfuse's.
DrawnRng DrawRng(PyObject* tensor, std::int64_t count);
// The same as a tuple for Python, (seed, offset, tensor of both or None), and back.
nb::object TupleOf(const DrawnRng& drawn);
DrawnRng DrawnOf(nb::handle tuple);

// While it lives, torch's compiler does not look at the Python code that this thread runs.
class WithoutDynamo {
 public:
  WithoutDynamo();
  ~WithoutDynamo();
  WithoutDynamo(const WithoutDynamo&) = delete;
  WithoutDynamo& operator=(const WithoutDynamo&) = delete;

 private:
  nb::object before_;  // invalid: nothing to put back
};

}  // namespace jitfuse::python

#endif  // JITFUSE_PYTHON_BINDINGS_TORCH_STATE_H_
